// Forward substitution and what follows from it, a strip of columns at a time: what factors and linear systems spend
// their time on. Backward substitution, upper triangles and transposes are the same with other strides.
#pragma once

#include <cstdint>

namespace tenon {

// A lower triangle of `size` rows, and `below` rows of as many columns under it; strides may have any value and sign.
template <class T>
struct LowerPanel {
  const T* a;
  std::int64_t row, column;
  std::int64_t size, below;
  bool unit_diagonal;
};

// Rows of a matrix; columns lie `column` apart.
template <class T>
struct StripOf {
  T* x;
  std::int64_t row, column;
};

template <class T>
struct StripKernels {
  std::int64_t width;  // the most columns of a strip
  // x := L⁻¹·x of the first `size` rows of x, then x -= (the rows below L)·x of those under them, whose columns must
  // be contiguous.
  void (*substitute)(const LowerPanel<T>&, StripOf<T> x, std::int64_t columns);
  // c -= a·b, where b has `depth` rows, at most longest_block, and c contiguous columns.
  void (*subtract)(const T* a, std::int64_t a_row, std::int64_t a_column, std::int64_t rows, std::int64_t depth,
                   StripOf<const T> b, std::int64_t columns, T* c, std::int64_t c_row);
  // One step of elimination in narrow_block columns: `chosen` is the pivot's row, whose element `at` is normal; that of
  // each of `rows` rows becomes its multiplier, and the multiple is subtracted from what is right of it. The row, from
  // 0, that then has the largest next element.
  std::int64_t (*eliminate)(const T* chosen, std::int64_t at, T* rows, std::int64_t row, std::int64_t count);
};
inline constexpr std::int64_t longest_block = 64, narrow_block = 8;

// For this processor, or as much of it as TENON_CPU admits.
template <class T>
const StripKernels<T>& strip_kernels();
extern template const StripKernels<float>& strip_kernels();
extern template const StripKernels<double>& strip_kernels();

// x := L⁻¹·x, and x -= (what is below L)·x of the rows below, of contiguous columns: on all threads.
template <class T>
void substitute(const LowerPanel<T>& panel, T* x, std::int64_t row, std::int64_t columns);
extern template void substitute<float>(const LowerPanel<float>&, float*, std::int64_t, std::int64_t);
extern template void substitute<double>(const LowerPanel<double>&, double*, std::int64_t, std::int64_t);

}  // namespace tenon
