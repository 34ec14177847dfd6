#include "tenon/runtime/linear_algebra/product_blocks.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "tenon/runtime/context.h"

namespace tenon {
namespace {

using Size = std::int64_t;

constexpr Size stage = 256;

template <class T>
Size lanes() {
  const VectorUnit unit = vector_unit();
  return Size(unit == VectorUnit::avx512 ? 64 : unit == VectorUnit::avx2 ? 32 : 16) / Size(sizeof(T));
}

// The transpose of c is the transpose of b times the transpose of a.
ProductShape transposed(const ProductShape& p) {
  return {p.n, p.m, p.k, p.b_column, p.b_row, p.a_column, p.a_row, p.c_column, p.c_row, p.accumulate};
}

// Rows of `columns` elements that a kernel can read where they are; a block has at most `most_k` of them, and offsets
// inside a kernel are below 2^31 bytes.
constexpr Size most_k = 1024, longest_row = Size(1) << 17;
bool rows_in_place(Size row, Size column, Size columns) { return column == 1 && row >= columns && row <= longest_row; }

bool a_in_place(const ProductShape& p) {
  return rows_in_place(p.a_row, p.a_column, p.k) || rows_in_place(p.a_column, p.a_row, p.m);
}

// About how many cycles a product takes with vectors along the columns of c: one a multiply-add, one or two an element
// that is laid out anew (it is found in the cache, but goes through a transposition).
template <class T>
double cycles(const ProductShape& p) {
  const Size width = lanes<T>(), rest = p.n % width;
  // Only AVX-512 has masks that make the last vector of a row one like others.
  const std::int64_t whole = p.n / width;
  const double vectors = double(whole) + (vector_unit() == VectorUnit::avx512 ? rest > 0 : double(rest) / 2);
  const double m = double(p.m), n = double(p.n), k = double(p.k);
  double total = m * k * vectors;
  if (!rows_in_place(p.b_row, p.b_column, p.n)) total += k * n;
  if (!a_in_place(p)) total += 2 * m * k;
  if (!rows_in_place(p.c_row, p.c_column, p.n)) total += 2 * m * n;
  return total;
}

template <class T>
double cycles_of_inner_products(const ProductShape& p) {
  const std::int64_t vectors = p.k / lanes<T>();
  return double(p.m) * double(p.n) * (1.3 * double(vectors) + double(p.k % lanes<T>()) + 4);
}

// --- Layout: `rows` by `columns` elements, from any strides to contiguous rows `distance` apart ---
template <class T>
void transpose_square(const T* from, Size distance, T* to, Size to_distance) {
  if constexpr (std::is_same_v<T, float>) {
    __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + distance), c = _mm_loadu_ps(from + 2 * distance),
           d = _mm_loadu_ps(from + 3 * distance);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + to_distance, b);
    _mm_storeu_ps(to + 2 * to_distance, c);
    _mm_storeu_ps(to + 3 * to_distance, d);
  } else {
    const __m128d a = _mm_loadu_pd(from), b = _mm_loadu_pd(from + distance);
    _mm_storeu_pd(to, _mm_unpacklo_pd(a, b));
    _mm_storeu_pd(to + to_distance, _mm_unpackhi_pd(a, b));
  }
}

template <class T>
void lay_out(const T* from, Size row, Size column, Size rows, Size columns, T* to, Size distance) {
  if (column == 1) {
    for (Size i = 0; i < rows; ++i) std::copy_n(from + i * row, columns, to + i * distance);
    return;
  }
  constexpr Size square = std::is_same_v<T, float> ? 4 : 2;
  Size i = 0;
  if (row == 1)
    for (; i + square <= rows; i += square) {
      Size j = 0;
      for (; j + square <= columns; j += square)
        transpose_square(from + i + j * column, column, to + i * distance + j, distance);
      for (; j < columns; ++j)
        for (Size r = i; r < i + square; ++r) to[r * distance + j] = from[r + j * column];
    }
  for (; i < rows; ++i)
    for (Size j = 0; j < columns; ++j) to[i * distance + j] = from[i * row + j * column];
}

// The way back, added to what is there or not.
template <class T>
void put_back(const T* from, Size distance, Size rows, Size columns, T* to, Size row, Size column, bool add) {
  if (!add && row == 1) return lay_out(from, 1, distance, columns, rows, to, column);
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < columns; ++j) {
      T& at = to[i * row + j * column];
      at = add ? at + from[i * distance + j] : from[i * distance + j];
    }
}

// For shapes that have no kernel.
template <class T>
void plain_block(const KernelShape& s, const T* b, const T* a, T* c) {
  const Size a_row = s.a_by_columns != 0 ? 1 : s.a_distance, a_column = s.a_by_columns != 0 ? s.a_distance : 1;
  for (Size i = 0; i < Size(s.m); ++i) {
    T* const to = c + i * s.c_distance;
    if (s.accumulate == 0) std::fill_n(to, s.n, T(0));
    for (Size l = 0; l < Size(s.k); ++l) {
      const T x = a[i * a_row + l * a_column];
      const T* const row = b + l * s.b_distance;
      for (Size j = 0; j < Size(s.n); ++j) to[j] += x * row[j];
    }
  }
}

}  // namespace

void* product_scratch(std::size_t bytes, ScratchOf of) {
  struct Scratch {
    void* memory = nullptr;
    std::size_t size = 0;
    ~Scratch() { std::free(memory); }
  };
  static thread_local Scratch both[2];
  Scratch& scratch = both[static_cast<std::size_t>(of)];
  if (scratch.size < bytes) {
    std::free(scratch.memory);
    scratch.memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    scratch.size = scratch.memory == nullptr ? 0 : bytes;
  }
  return scratch.memory;
}

// Blocks of a large product, as Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008),
// arrange them: a panel of b, `kb` by `nb`, stays in the first two caches while rows of a pass by.
template <class T>
BlockedProduct<T>::BlockedProduct(const ProductShape& shape) : p_(shape) {
  // The stride of an axis of one element may be taken to be what suits.
  const auto suit = [](ProductShape& p) {
    if (p.k == 1) p.a_column = 1, p.b_row = p.n;
    if (p.m == 1) p.a_row = p.a_column == 1 ? p.k : 1, p.c_row = p.n;
    if (p.n == 1) p.b_column = p.c_column = 1;
  };
  ProductShape turned = transposed(shape);
  suit(p_);
  suit(turned);
  const double by_rows = cycles<T>(p_), by_columns = cycles<T>(turned);
  inner_ = (shape.k == 1 || shape.a_column == 1) && (shape.k == 1 || shape.b_row == 1) &&
           cycles_of_inner_products<T>(shape) < std::min(by_rows, by_columns);
  if (inner_) {
    p_ = shape;
    return;
  }
  exchanged_ = by_columns < by_rows;
  if (exchanged_) p_ = turned;
  stage_c_ = !rows_in_place(p_.c_row, p_.c_column, p_.n);
  const bool wide = vector_unit() == VectorUnit::avx512;
  constexpr Size size = sizeof(T);
  kb_ = wide ? 1024 / size : 512 / size;
  nb_ = wide ? 256 / size : 128 / size;
  mb_ = stage_c_ ? stage : 384;
  pack_a_ = !a_in_place(p_);
  pack_b_ = !rows_in_place(p_.b_row, p_.b_column, p_.n);
  // Where few rows of a pass by, or b stays in the second-level cache, a copy of it does not pay. Kernels for AVX2 read
  // narrower pieces of more rows, so far apart that they meet in the same places of the cache, and gain from copies
  // earlier.
  const Size few = wide ? 64 : 16;
  if (!pack_b_ && (p_.m <= few || p_.k * p_.b_row * size <= 256 * 1024)) {
    // For one or two rows memory decides: b is read as it lies, as many of its rows at a time as are worth a call.
    constexpr Size worth_a_call = 32 * 1024 / size;
    kb_ = p_.m <= 2 ? std::clamp<Size>(worth_a_call / p_.n, 8, most_k) : p_.m <= few ? most_k : p_.k;
    nb_ = p_.m <= few ? longest_row : p_.n;
  } else {
    pack_b_ = true;
    pack_a_ |= !wide && p_.n >= 4 * nb_ && p_.k > kb_;
  }
  mb_ = std::min(mb_, p_.m);
  nb_ = std::min(nb_, p_.n);
  kb_ = std::min(kb_, p_.k);
  if (!stage_c_ && !pack_a_ && !pack_b_ && mb_ == p_.m && nb_ == p_.n && kb_ == p_.k) {
    const bool by_columns = !rows_in_place(p_.a_row, p_.a_column, p_.k);
    const auto number = [](Size n) { return static_cast<std::uint32_t>(n); };
    whole_ = product_kernel({number(p_.m), number(p_.n), number(p_.k), number(by_columns ? p_.a_column : p_.a_row),
                             number(p_.b_row), number(p_.c_row), std::is_same_v<T, double>, by_columns, p_.accumulate});
  }
}

// What kernels write of c is there, or in scratch memory of at most 256 rows and columns, since c is laid out
// otherwise.
template <class T>
bool BlockedProduct<T>::run(const T* a, const T* b, T* c, const std::atomic<std::uint32_t>& stop) const {
  if (inner_) {
    inner_products(p_, a, b, c);
    return true;
  }
  if (exchanged_) std::swap(a, b);
  if (whole_ != nullptr) {
    whole_(b, a, c);
    leave_vectors();
    return true;
  }
  const Size tile_m = std::min(p_.m, stage), tile_n = std::min(p_.n, stage);
  const Size staged = stage_c_ ? tile_m * tile_n : 0, packed_a = pack_a_ ? mb_ * kb_ : 0,
             packed_b = pack_b_ ? kb_ * nb_ : 0;
  T* memory = nullptr;
  if (staged + packed_a + packed_b > 0) {
    memory = static_cast<T*>(product_scratch(sizeof(T) * static_cast<std::size_t>(staged + packed_a + packed_b)));
    if (memory == nullptr) return false;
  }
  const Scratch scratch{memory + staged, memory + staged + packed_a, stop};
  if (!stage_c_) {
    blocks(p_.m, p_.n, a, b, c, p_.c_row, p_.accumulate, scratch);
  } else {
    for (Size i = 0; i < p_.m; i += tile_m)
      for (Size j = 0; j < p_.n; j += tile_n) {
        const Size m = std::min(tile_m, p_.m - i), n = std::min(tile_n, p_.n - j);
        blocks(m, n, a + i * p_.a_row, b + j * p_.b_column, memory, n, false, scratch);
        put_back(memory, n, m, n, c + i * p_.c_row + j * p_.c_column, p_.c_row, p_.c_column, p_.accumulate);
      }
  }
  leave_vectors();
  return true;
}

template <class T>
void BlockedProduct<T>::blocks(Size m, Size n, const T* a, const T* b, T* c, Size c_distance, bool accumulate,
                               const Scratch& scratch) const {
  const bool by_columns = !pack_a_ && !rows_in_place(p_.a_row, p_.a_column, p_.k);
  KernelShape shape{};
  shape.f64 = std::is_same_v<T, double>;
  shape.a_by_columns = by_columns;
  shape.c_distance = static_cast<std::uint32_t>(c_distance);
  for (Size l = 0; l < p_.k; l += kb_) {
    const Size k = std::min(kb_, p_.k - l);
    shape.k = static_cast<std::uint32_t>(k);
    shape.accumulate = accumulate || l > 0;
    for (Size i = 0; i < m; i += mb_) {
      if (scratch.stop.load(std::memory_order_relaxed) == Context::stopped) return;
      const Size rows = std::min(mb_, m - i);
      const T* left = a + i * p_.a_row + l * p_.a_column;
      shape.a_distance = static_cast<std::uint32_t>(by_columns ? p_.a_column : p_.a_row);
      if (pack_a_) {
        lay_out(left, p_.a_row, p_.a_column, rows, k, scratch.a, k);
        left = scratch.a;
        shape.a_distance = shape.k;
      }
      shape.m = static_cast<std::uint32_t>(rows);
      for (Size j = 0; j < n; j += nb_) {
        const Size columns = std::min(nb_, n - j);
        const T* right = b + l * p_.b_row + j * p_.b_column;
        shape.n = static_cast<std::uint32_t>(columns);
        shape.b_distance = static_cast<std::uint32_t>(p_.b_row);
        if (pack_b_) {
          lay_out(right, p_.b_row, p_.b_column, k, columns, scratch.b, columns);
          right = scratch.b;
          shape.b_distance = shape.n;
        }
        T* const to = c + i * c_distance + j;
        if (const ProductKernel kernel = product_kernel(shape))
          kernel(right, left, to);
        else
          plain_block(shape, right, left, to);
      }
    }
  }
}

template class BlockedProduct<float>;
template class BlockedProduct<double>;

}  // namespace tenon
