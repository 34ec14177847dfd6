// A matrix of m × k numbers whose rows are contiguous is a real one of m × 2k. With each number of b as the block
// (re, im; -im, re) of a real matrix of 2k × 2n, their real product is the complex one, in its place. Where it is less
// to lay out, the parts of a become 2m rows instead, which are multiplied by b as it lies; of the four sums that this
// gives for each number, one is subtracted and one added. Either may take c's transpose, bᵀ·aᵀ.
#include "tenon/runtime/linear_algebra/complex_products.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "tenon/base/dtype.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {
namespace {

using Size = std::int64_t;

constexpr Size most_bytes = 16 << 20;  // of a matrix that is laid out, unless one row or column of it has more

TenonGemm transposed(TenonGemm g) {
  std::swap(g.m, g.n);
  std::swap(g.a_batch, g.b_batch);
  std::swap(g.a_row, g.b_column);
  std::swap(g.a_column, g.b_row);
  std::swap(g.c_row, g.c_column);
  return g;
}

template <class T>
class Memory {
 public:
  explicit Memory(Size elements)
      : at_(static_cast<T*>(operator new(static_cast<std::size_t>(elements) * sizeof(T), line, std::nothrow))) {}
  ~Memory() { operator delete(at_, line); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  T* get() const { return at_; }

 private:
  static constexpr std::align_val_t line{64};
  T* at_;
};

// row(i) for each row, on all threads where there is much to do.
template <class Row>
void each_row(Size rows, Size columns, Row row) {
  constexpr Size worth_a_fork = 1 << 15;
  each_range(rows, std::max<Size>(1, worth_a_fork / std::max<Size>(columns, 1)), [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) row(i);
  });
}

// A matrix of numbers, by strides in real elements.
template <class T>
struct Numbers {
  const T* at;
  Size rows, columns, row, column;
  const T* of(Size i, Size j) const { return at + i * row + j * column; }
};

// Each number x as (re, im; -im, re) in a matrix of twice the rows and columns, whose elements are `row` and `column`
// apart.
template <class T>
void as_blocks(const Numbers<T>& x, T* to, Size row, Size column) {
  each_row(x.rows, x.columns, [&](Size i) {
    T *first = to + 2 * i * row, *second = first + row;
    for (Size j = 0; j < x.columns; ++j, first += 2 * column, second += 2 * column) {
      const T re = x.of(i, j)[0], im = x.of(i, j)[1];
      first[0] = re, first[column] = im;
      second[0] = -im, second[column] = re;
    }
  });
}

// The real parts of a matrix, row-major, and behind them the imaginary ones.
template <class T>
void as_planes(const Numbers<T>& x, T* to) {
  each_row(x.rows, x.columns, [&](Size i) {
    T *re = to + i * x.columns, *im = re + x.rows * x.columns;
    for (Size j = 0; j < x.columns; ++j) re[j] = x.of(i, j)[0], im[j] = x.of(i, j)[1];
  });
}
// A matrix of numbers with contiguous rows.
template <class T>
void as_rows(const Numbers<T>& x, T* to) {
  each_row(x.rows, x.columns, [&](Size i) {
    T* at = to + 2 * i * x.columns;
    for (Size j = 0; j < x.columns; ++j) at[2 * j] = x.of(i, j)[0], at[2 * j + 1] = x.of(i, j)[1];
  });
}

// The description of one real product.
template <class T>
TenonGemm real_product(Size m, Size n, Size k) {
  TenonGemm g{};
  g.dtype = static_cast<std::int32_t>(sizeof(T) == sizeof(float) ? DType::f32 : DType::f64);
  g.batch = 1, g.m = m, g.n = n, g.k = k;
  return g;
}

// c (+)= a·b, of which b becomes blocks, as many of its rows at a time as memory allows. Rows of a are contiguous, or
// laid out so; those of c are.
template <class T>
bool by_blocks(const TenonGemm& g, const T* a, const T* b, T* c) {
  const bool copies = g.a_column != 1 && g.k > 1;
  const Size few = 4, of_row = 4 * g.n + (copies ? 2 * g.m : 0);
  const Size most = std::clamp<Size>(most_bytes / (of_row * static_cast<Size>(sizeof(T))), 1, g.k);
  const Memory<T> memory(of_row * most);
  if (memory.get() == nullptr) return false;
  T* const rows = memory.get() + 4 * g.n * most;
  for (Size first = 0; first < g.k; first += most) {
    const Size depth = std::min(most, g.k - first);
    TenonGemm real = real_product<T>(g.m, 2 * g.n, 2 * depth);
    real.b_row = g.n <= few ? 1 : 2 * g.n, real.b_column = g.n <= few ? 2 * depth : 1;
    const T* left = a + 2 * first * g.a_column;
    as_blocks<T>({b + 2 * first * g.b_row, depth, g.n, 2 * g.b_row, 2 * g.b_column}, memory.get(), real.b_row,
                 real.b_column);
    if (copies) as_rows<T>({left, g.m, depth, 2 * g.a_row, 2 * g.a_column}, rows), left = rows;
    real.a_row = copies ? 2 * depth : 2 * g.a_row, real.a_column = 1;
    real.c_row = 2 * g.c_row, real.c_column = 1;
    real.accumulate = first > 0 ? 1 : g.accumulate;
    if (tenon_gemm(&real, left, memory.get(), c) != 0) return false;
  }
  return true;
}

// c (+)= a·b, of which the parts of a become rows. Rows of b are contiguous, or laid out so.
template <class T>
bool by_planes(const TenonGemm& g, const T* a, const T* b, T* c) {
  const bool copies = g.b_column != 1 && g.n > 1;
  const Size sums = 4 * g.m * g.n, parts = 2 * g.m * g.k;
  const Memory<T> memory(sums + parts + (copies ? 2 * g.k * g.n : 0));
  if (memory.get() == nullptr) return false;
  T *const planes = memory.get() + sums, *const rows = planes + parts;
  as_planes<T>({a, g.m, g.k, 2 * g.a_row, 2 * g.a_column}, planes);
  if (copies) as_rows<T>({b, g.k, g.n, 2 * g.b_row, 2 * g.b_column}, rows);
  TenonGemm real = real_product<T>(2 * g.m, 2 * g.n, g.k);
  real.a_row = g.k, real.a_column = 1;
  real.b_row = copies ? 2 * g.n : 2 * g.b_row, real.b_column = 1;
  real.c_row = 2 * g.n, real.c_column = 1;
  if (tenon_gemm(&real, planes, copies ? rows : b, memory.get()) != 0) return false;
  each_row(g.m, g.n, [&](Size i) {
    const T *of_re = memory.get() + 2 * i * g.n, *of_im = of_re + 2 * g.m * g.n;
    for (Size j = 0; j < g.n; ++j) {
      T* to = c + 2 * (i * g.c_row + j * g.c_column);
      const T re = of_re[2 * j] - of_im[2 * j + 1], im = of_re[2 * j + 1] + of_im[2 * j];
      to[0] = g.accumulate != 0 ? to[0] + re : re;
      to[1] = g.accumulate != 0 ? to[1] + im : im;
    }
  });
  return true;
}

// Elements that are written besides c, and read again.
double cost_of_blocks(const TenonGemm& g) {
  if (g.c_column != 1 && g.n > 1) return std::numeric_limits<double>::infinity();
  const double copied = g.a_column != 1 && g.k > 1 ? 2 * double(g.m) * double(g.k) : 0;
  return 4 * double(g.k) * double(g.n) + copied;
}
double cost_of_planes(const TenonGemm& g) {
  const double copied = g.b_column != 1 && g.n > 1 ? 2 * double(g.k) * double(g.n) : 0;
  return 2 * double(g.m) * double(g.k) + 8 * double(g.m) * double(g.n) + copied;
}

}  // namespace

template <class T>
bool multiply_complex(const TenonGemm& g, const T* a, const T* b, T* c) {
  const TenonGemm turned = transposed(g);
  const double costs[] = {cost_of_blocks(g), cost_of_planes(g), cost_of_blocks(turned), cost_of_planes(turned)};
  const auto best = std::ranges::min_element(costs) - costs;
  for (Size i = 0; i < g.batch; ++i) {
    const T *left = a + 2 * i * g.a_batch, *right = b + 2 * i * g.b_batch;
    T* const to = c + 2 * i * g.c_batch;
    if (best >= 2) std::swap(left, right);
    const TenonGemm& one = best >= 2 ? turned : g;
    if (!(best % 2 == 0 ? by_blocks(one, left, right, to) : by_planes(one, left, right, to))) return false;
  }
  return true;
}
template bool multiply_complex<float>(const TenonGemm&, const float*, const float*, float*);
template bool multiply_complex<double>(const TenonGemm&, const double*, const double*, double*);

}  // namespace tenon
