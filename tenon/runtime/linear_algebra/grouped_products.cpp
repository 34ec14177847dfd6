#include "tenon/runtime/linear_algebra/grouped_products.h"

#include <emmintrin.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "tenon/runtime/context.h"
#include "tenon/runtime/linear_algebra/few_rows.h"
#include "tenon/runtime/linear_algebra/grouped_panels.h"
#include "tenon/runtime/linear_algebra/half_rows.h"
#include "tenon/runtime/linear_algebra/product_blocks.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {
namespace {

using Size = std::int64_t;
using Byte = std::byte;
using Stop = const std::atomic<std::uint32_t>&;
constexpr Size panel_rows = GroupedFactors::panel_lanes, tile_bytes = panel_rows * panel_rows * 4;

Size up(Size n, Size d) { return (n + d - 1) / d; }

// One product, or a piece of one, in elements of its operands.
struct GroupedShape {
  Size m, n, k;
  Size a_row, a_column, b_row, b_column, c_row, c_column;
  bool accumulate;
};

GroupedShape shape_of(const TenonGemm& g, Size m, Size n) {
  return {m, n, g.k, g.a_row, g.a_column, g.b_row, g.b_column, g.c_row, g.c_column, g.accumulate != 0};
}

// A row of sums to where it goes, added to what is there or not.
template <class Real>
void put_row(const float* from, Real* to, Size count, Size stride, bool add) {
  if (!add && stride == 1) {
    if constexpr (std::is_same_v<Real, float>) return void(std::copy_n(from, count, to));
    if constexpr (!std::is_same_v<Real, float>) return round_row(from, to, count);
  }
  for (Size j = 0; j < count; ++j) to[j * stride] = Real(add ? static_cast<float>(to[j * stride]) + from[j] : from[j]);
}
// Integers wrap: of 16 numbers the lowest bytes.
Size put_bytes(const std::uint32_t* from, std::uint8_t* to, Size count) {
  const __m128i lowest = _mm_set1_epi32(255);
  const auto four = [&](Size j) {
    return _mm_and_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + j)), lowest);
  };
  Size j = 0;
  for (; j + 16 <= count; j += 16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + j), _mm_packus_epi16(_mm_packs_epi32(four(j), four(j + 4)),
                                                                          _mm_packs_epi32(four(j + 8), four(j + 12))));
  return j;
}
template <class Integer>
void put_row(const std::uint32_t* from, Integer* to, Size count, Size stride, bool add) {
  Size j = 0;
  if (!add && stride == 1) {
    if constexpr (sizeof(Integer) == 4) return void(std::memcpy(to, from, static_cast<std::size_t>(count) * 4));
    if constexpr (sizeof(Integer) == 1) j = put_bytes(from, reinterpret_cast<std::uint8_t*>(to), count);
  }
  for (; j < count; ++j) {
    const std::uint32_t sum = from[j] + (add ? static_cast<std::uint32_t>(to[j * stride]) : 0);
    to[j * stride] = static_cast<Integer>(sum);
  }
}

// f32, or integers of 32 bits, to the elements of a result from `at` on.
void put_sums(DType result, const void* from, Byte* c, Size at, Size count, Size stride, bool add) {
  dispatch(result, [&]<class T>(std::type_identity<T>) {
    T* const to = reinterpret_cast<T*>(c) + at;
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
      put_row(static_cast<const float*>(from), to, count, stride, add);
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      put_row(static_cast<const std::uint32_t*>(from), to, count, stride, add);
  });
}

// Blocks of c of 16 panels of rows, whose rows of a stay in the second-level cache while panels of b pass by. Where a
// row of a is longer than that admits, sums of 16 by 16 panels wait for the rest.
class GroupedProduct {
 public:
  GroupedProduct(const GroupedWay& way, DType result, const GroupedShape& shape)
      : way_(way), f_(way.factors), p_(shape), result_(result) {
    steps_ = up(p_.k, f_.terms());
    whole_steps_ = std::min(steps_, row_bytes / (f_.step_bytes() / panel_rows));
    rows_ = std::min(up(p_.m, panel_rows), Size(16));
    columns_ = steps_ > whole_steps_ ? std::min(up(p_.n, panel_rows), Size(16)) : up(p_.n, panel_rows);
    together_ = std::min(columns_, Size(4));
  }

  Grouped run(const Byte* a, const Byte* b, Byte* c, Stop stop) const {
    const Size of_a = rows_ * whole_steps_ * f_.step_bytes(), of_b = together_ * whole_steps_ * f_.step_bytes(),
               of_c = rows_ * (steps_ > whole_steps_ ? columns_ : 1) * tile_bytes;
    auto* const memory = static_cast<Byte*>(product_scratch(static_cast<std::size_t>(of_a + of_b + of_c)));
    if (memory == nullptr) return Grouped::no_memory;
    const Scratch scratch{memory, memory + of_a, memory + of_a + of_b};
    const TileScope tiles(way_.tiles);
    for (Size i = 0; i < p_.m; i += rows_ * panel_rows)
      for (Size j = 0; j < p_.n; j += columns_ * panel_rows)
        for (Size s = 0; s < steps_; s += whole_steps_) {
          if (stop.load(std::memory_order_relaxed) == Context::stopped) return Grouped::done;
          if (!block(i, j, s, a, b, c, scratch)) return Grouped::declined;
        }
    return Grouped::done;
  }

 private:
  struct Scratch {
    Byte *a, *b, *c;
  };
  static constexpr Size row_bytes = 2048;

  bool block(Size i, Size j, Size s, const Byte* a, const Byte* b, Byte* c, const Scratch& scratch) const {
    const Size rows = std::min(rows_ * panel_rows, p_.m - i), end = std::min(j + columns_ * panel_rows, p_.n);
    const Size steps = std::min(whole_steps_, steps_ - s), first = s * f_.terms();
    const Size terms = std::min(steps * f_.terms(), p_.k - first), panel_bytes = steps * f_.step_bytes();
    const Byte* const left = a + (i * p_.a_row + first * p_.a_column) * f_.element;
    if (!pack_panels(f_, OperandSide::a, {left, p_.a_row, p_.a_column, rows, terms}, scratch.a)) return false;
    for (Size at = j; at < end; at += together_ * panel_rows) {
      const Size columns = std::min(together_ * panel_rows, end - at);
      const Byte* const right = b + (first * p_.b_row + at * p_.b_column) * f_.element;
      if (!pack_panels(f_, OperandSide::b, {right, p_.b_column, p_.b_row, columns, terms}, scratch.b)) return false;
      for (Size in = 0; in < columns; in += panel_rows) {
        const Size wide = std::min(panel_rows, columns - in);
        Byte* const sums = scratch.c + (steps_ > whole_steps_ ? (at - j + in) / panel_rows * rows_ * tile_bytes : 0);
        multiply(scratch.a, scratch.b + in / panel_rows * panel_bytes, sums, steps, rows, wide, s > 0);
        if (s + steps == steps_) put(sums, rows, wide, i, at + in, c);
      }
    }
    return true;
  }

  // All panels of a with one of b.
  void multiply(const Byte* a, const Byte* b, Byte* sums, Size steps, Size rows, Size columns, bool add) const {
    for (Size i = 0; i < rows; i += panel_rows)
      way_.kernel(a + i * steps * f_.step_bytes() / panel_rows, b, sums + i / panel_rows * tile_bytes, steps,
                  std::min(panel_rows, rows - i), columns, add);
  }

  void put(const Byte* sums, Size rows, Size columns, Size i, Size j, Byte* c) const {
    for (Size r = 0; r < rows; ++r)
      put_sums(result_, sums + r * panel_rows * 4, c, (i + r) * p_.c_row + j * p_.c_column, columns, p_.c_column,
               p_.accumulate);
  }

  const GroupedWay way_;
  const GroupedFactors f_;
  const GroupedShape p_;
  const DType result_;
  Size steps_, whole_steps_;  // of the sum, and of what is laid out at a time
  Size rows_, columns_, together_;
};

// A product of few rows, or columns, whose other operand is not laid out.
class FewRowsOrColumns {
 public:
  static std::optional<FewRowsOrColumns> of(DType a, DType b, DType result, const GroupedShape& p) {
    FewRowsOrColumns few;
    few.exchanged_ = p.n < p.m;
    few.product_ = few.exchanged_ ? FewRows{p.n, p.m, p.k, p.b_column, p.b_row, p.a_column, p.a_row, b, a}
                                  : FewRows{p.m, p.n, p.k, p.a_row, p.a_column, p.b_row, p.b_column, a, b};
    few.result_ = result, few.accumulate_ = p.accumulate;
    few.c_row_ = few.exchanged_ ? p.c_column : p.c_row, few.c_column_ = few.exchanged_ ? p.c_row : p.c_column;
    return are_few_rows(few.product_) ? std::optional(few) : std::nullopt;
  }
  bool exchanged() const { return exchanged_; }
  double bytes_read() const { return double(product_.columns) * double(product_.terms) * double(size_of(product_.b)); }

  // So many of its rows and columns.
  Grouped run(Size rows, Size columns, const Byte* a, const Byte* b, Byte* c, Stop stop) const {
    FewRows part = product_;
    part.rows = exchanged_ ? columns : rows, part.columns = exchanged_ ? rows : columns;
    const auto take = [&](Size row, Size first, Size count, const void* sums) {
      put_sums(result_, sums, c, row * c_row_ + first * c_column_, count, c_column_, accumulate_);
    };
    return multiply_few_rows(part, exchanged_ ? b : a, exchanged_ ? a : b, stop, take) ? Grouped::done
                                                                                       : Grouped::no_memory;
  }

 private:
  FewRowsOrColumns() = default;

  FewRows product_ = {};
  bool exchanged_ = false, accumulate_ = false;
  DType result_ = {};
  Size c_row_ = 0, c_column_ = 0;
};

// A product in rows x columns pieces of whole panels.
struct GroupedPieces {
  Size rows = 1, columns = 1;
  Size count() const { return rows * columns; }
};
struct LineRange {
  Size first, size;
};
LineRange range_of(Size size, Size pieces, Size at) {
  const Size panels = up(size, panel_rows), first = std::min(size, panels * at / pieces * panel_rows);
  return {first, std::min(size, panels * (at + 1) / pieces * panel_rows) - first};
}

// So many pieces that each worker has one, and lays out least beside what it multiplies.
GroupedPieces pieces_for(Size workers, Size m, Size n, Size multiplied_a_cycle) {
  constexpr double laid_out_a_cycle = 8;
  GroupedPieces best;
  double least = 0;
  for (Size rows = 1; rows <= workers; ++rows) {
    if (workers % rows != 0) continue;
    const GroupedPieces pieces{rows, workers / rows};
    const double high = double(up(up(m, panel_rows), pieces.rows) * panel_rows),
                 wide = double(up(up(n, panel_rows), pieces.columns) * panel_rows);
    const double cycles = high * wide / double(multiplied_a_cycle) + (high + wide) / laid_out_a_cycle;
    if (least == 0 || cycles < least) best = pieces, least = cycles;
  }
  return best;
}

// Whether panels are filled well enough, and laying out pays.
bool is_worth_it(const GroupedWay& way, const TenonGemm& g) {
  if (way.kernel == nullptr) return false;
  const bool integers = is_integer(static_cast<DType>(g.dtype));
  if (integers) return true;
  if (way.factors.parts() > 1 && g.accumulate != 0) return false;
  const double work = double(g.m) * double(g.n) * double(g.k);
  return g.m >= 8 && g.n >= 8 && g.k >= 16 && work >= (1 << 15);
}

// A batch of products, of which threads take pieces.
struct Batch {
  const TenonGemm& g;
  const GroupedWay& way;
  const std::optional<FewRowsOrColumns>& few;
  DType result;
  Size element;
  const Byte *a, *b;
  Byte* c;
  Stop stop;
  GroupedPieces pieces = {};
  std::atomic<bool> failed{false}, declined{false};

  void run(Size begin, Size end) {
    const auto result_element = static_cast<Size>(size_of(result));
    for (Size task = begin; task < end && !declined.load(std::memory_order_relaxed); ++task) {
      const Size n = task / pieces.count(), piece = task % pieces.count();
      const LineRange rows = range_of(g.m, pieces.rows, piece / pieces.columns),
                      columns = range_of(g.n, pieces.columns, piece % pieces.columns);
      if (rows.size == 0 || columns.size == 0) continue;
      const Byte* const x = a + (n * g.a_batch + rows.first * g.a_row) * element;
      const Byte* const y = b + (n * g.b_batch + columns.first * g.b_column) * element;
      Byte* const to = c + (n * g.c_batch + rows.first * g.c_row + columns.first * g.c_column) * result_element;
      const Grouped made = few ? few->run(rows.size, columns.size, x, y, to, stop)
                               : GroupedProduct(way, result, shape_of(g, rows.size, columns.size)).run(x, y, to, stop);
      if (made == Grouped::no_memory) failed.store(true, std::memory_order_relaxed);
      if (made == Grouped::declined) declined.store(true, std::memory_order_relaxed);
    }
  }
};

}  // namespace

Grouped multiply_grouped(const TenonGemm& g, DType a, DType b, const void* x, const void* y, void* z) {
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return Grouped::done;
  if (g.k <= 0) return Grouped::declined;
  const GroupedWay way = grouped_way(a, b);
  const auto result = static_cast<DType>(g.dtype);
  // Tiles multiply halves so fast that laying out pays for few rows, too.
  const bool worth_it = is_worth_it(way, g), by_tiles = worth_it && way.tiles && is_half(a);
  const auto few = by_tiles ? std::nullopt : FewRowsOrColumns::of(a, b, result, shape_of(g, g.m, g.n));
  if (!few && !worth_it) return Grouped::declined;
  // Of few rows it is the other operand's bytes that take time.
  constexpr double parallel_work = 1 << 22, parallel_bytes = 1 << 19;
  const bool small = few ? double(g.batch) * few->bytes_read() < parallel_bytes
                         : double(g.batch) * double(g.m) * double(g.n) * double(g.k) < parallel_work;
  static constinit const std::atomic<std::uint32_t> unstopped{0};
  Batch batch{g,
              way,
              few,
              result,
              static_cast<Size>(size_of(a)),
              static_cast<const Byte*>(x),
              static_cast<const Byte*>(y),
              static_cast<Byte*>(z),
              small ? unstopped : *Context::current().flag()};
  if (small || tenon_inside_parallel()) {
    batch.run(0, g.batch);
  } else {
    const Size workers = threads();
    const Size multiplied = way.tiles ? 512 / way.factors.parts() / way.factors.parts() * 2 / way.factors.element : 64;
    if (g.batch < 4 * workers)
      batch.pieces = !few               ? pieces_for(workers, g.m, g.n, multiplied)
                     : few->exchanged() ? GroupedPieces{workers, 1}
                                        : GroupedPieces{1, workers};
    each_range(g.batch * batch.pieces.count(), 1, [&](Size begin, Size end) { batch.run(begin, end); });
  }
  return batch.failed ? Grouped::no_memory : batch.declined ? Grouped::declined : Grouped::done;
}

}  // namespace tenon
