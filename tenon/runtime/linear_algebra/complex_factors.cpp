// Matrices are kept as two real rows for each row of numbers, the real parts before the imaginary ones. A triangle with
// a diagonal of ones is then a real one of twice the rows and columns, of blocks (re, -im; im, re), and substitution by
// it and what follows from it is that of real matrices (triangular_strips.h), 32 columns at a time. Diagonals become
// ones by division of whole rows.
#include "tenon/runtime/linear_algebra/complex_factors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tenon/base/dtype.h"
#include "tenon/runtime/linear_algebra/products.h"
#include "tenon/runtime/linear_algebra/triangular_strips.h"

namespace tenon {
namespace {

using Size = std::int64_t;
template <class T>
using Number = std::complex<T>;

constexpr Size wide_block = longest_block / 2;

// The product by its formula: std::complex's own looks for NaN.
template <class T>
Number<T> times(Number<T> x, Number<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
template <class T>
T size_of_parts(Number<T> x) {
  return std::abs(x.real()) + std::abs(x.imag());
}
template <class T>
bool has_reciprocal(Number<T> x) {
  return size_of_parts(x) >= 4 * std::numeric_limits<T>::min() && size_of_parts(x) <= std::numeric_limits<T>::max() / 4;
}

// Numbers as pairs of real rows `distance` apart.
template <class T>
struct Rows {
  T* at;
  Size distance;
  T* re(Size i) const { return at + 2 * i * distance; }
  T* im(Size i) const { return at + (2 * i + 1) * distance; }
  Number<T> get(Size i, Size j) const { return {re(i)[j], im(i)[j]}; }
  void set(Size i, Size j, Number<T> x) const { re(i)[j] = x.real(), im(i)[j] = x.imag(); }
  void exchange(Size i, Size k, Size begin, Size end) const {
    std::swap_ranges(re(i) + begin, re(i) + end, re(k) + begin);
    std::swap_ranges(im(i) + begin, im(i) + end, im(k) + begin);
  }
  // Divides elements [begin, end) of a row.
  void divide(Size i, Size begin, Size end, Number<T> by) const {
    const bool quick = has_reciprocal(by);
    const Number<T> inverse = Number<T>(1) / by;
    for (Size j = begin; j < end; ++j) set(i, j, quick ? times(get(i, j), inverse) : get(i, j) / by);
  }
};

// x := L⁻¹·x of `size` rows of x from `first` on, and x -= (what is below L)·x of `below` rows more; number (i, j) of L
// and what is below it is l(i, j), and 1 on the diagonal. `upwards`: rows come in the opposite order.
template <class T, class L>
void substitute_numbers(Size size, Size below, bool upwards, L l, const Rows<T>& x, Size first, Size begin, Size end,
                        T* panel) {
  const Size row = 2 * size;
  for (Size i = 0; i < size + below; ++i) {
    T *of_first = panel + 2 * i * row, *of_second = of_first + row;
    for (Size j = 0; j < std::min(i, size); ++j) {
      const Number<T> value = l(i, j);
      const T im = upwards ? -value.imag() : value.imag();
      of_first[2 * j] = value.real(), of_first[2 * j + 1] = -im;
      of_second[2 * j] = im, of_second[2 * j + 1] = value.real();
    }
    if (i < size) of_first[2 * i] = of_second[2 * i + 1] = 1, of_first[2 * i + 1] = of_second[2 * i] = 0;
  }
  T* const start = (upwards ? x.im(first) : x.re(first)) + begin;
  substitute<T>({panel, row, 1, row, 2 * below, true}, start, upwards ? -x.distance : x.distance, end - begin);
}

// The same of a whole triangle of n rows.
template <class T, class L>
void substitute_all(Size n, bool upwards, L l, const Rows<T>& x, Size begin, Size end, T* panel) {
  for (Size k = 0; k < n; k += wide_block) {
    const Size size = std::min(wide_block, n - k);
    substitute_numbers(
        size, n - k - size, upwards, [&](Size i, Size j) { return l(k + i, k + j); }, x, upwards ? n - 1 - k : k, begin,
        end, panel);
  }
}

// Row i of narrow_block columns from `begin` on loses a multiple of the pivot's row, which has zeros up to its column.
template <class T>
void subtract_multiple(const Rows<T>& a, Size i, Size begin, Number<T> multiple,
                       const std::array<T, 2 * narrow_block>& chosen) {
  T* const __restrict re = a.re(i) + begin;
  T* const __restrict im = a.im(i) + begin;
  const T r = multiple.real(), s = multiple.imag();
  for (Size j = 0; j < narrow_block; ++j) {
    const T x = chosen[static_cast<std::size_t>(j)], y = chosen[static_cast<std::size_t>(narrow_block + j)];
    re[j] -= r * x - s * y;
    im[j] -= r * y + s * x;
  }
}

// Elimination in columns [begin, end), at most narrow_block of them, from row `begin` on; whole rows of `width` numbers
// change places.
template <class T>
void eliminate_narrow(const Rows<T>& a, Size n, Size begin, Size end, Size width) {
  const auto largest = [&](Size k) {
    Size found = k;
    for (Size i = k + 1; i < n; ++i)
      if (size_of_parts(a.get(i, k)) > size_of_parts(a.get(found, k))) found = i;
    return found;
  };
  for (Size k = begin; k < end; ++k) {
    if (const Size pivot = largest(k); pivot != k) a.exchange(k, pivot, 0, width);
    const Number<T> diagonal = a.get(k, k);
    if (diagonal == Number<T>(0)) continue;  // nothing is left of the column: the matrix is singular
    const bool quick = has_reciprocal(diagonal);
    const Number<T> inverse = Number<T>(1) / diagonal;
    std::array<T, 2 * narrow_block> chosen{};
    for (Size j = k + 1; j < end; ++j) {
      chosen[static_cast<std::size_t>(j - begin)] = a.re(k)[j];
      chosen[static_cast<std::size_t>(narrow_block + j - begin)] = a.im(k)[j];
    }
    for (Size i = k + 1; i < n; ++i) {
      const Number<T> multiple = quick ? times(a.get(i, k), inverse) : a.get(i, k) / diagonal;
      a.set(i, k, multiple);
      if (end - begin == narrow_block)
        subtract_multiple(a, i, begin, multiple, chosen);
      else
        for (Size j = k + 1; j < end; ++j) a.set(i, j, a.get(i, j) - times(multiple, a.get(k, j)));
    }
  }
}

// P·a = L·U in columns [begin, end), what is right of them up to `width` included.
template <class T>
void eliminate_wide(const Rows<T>& a, Size n, Size begin, Size end, Size width, T* panel) {
  for (Size k = begin; k < end; k += narrow_block) {
    const Size after = std::min(end, k + narrow_block);
    eliminate_narrow(a, n, k, after, width);
    if (after < end)
      substitute_numbers(
          after - k, n - after, false, [&](Size i, Size j) { return a.get(k + i, k + j); }, a, k, after, end, panel);
  }
  if (end < width)
    substitute_numbers(
        end - begin, n - end, false, [&](Size i, Size j) { return a.get(begin + i, begin + j); }, a, begin, end, width,
        panel);
}

// An odd number of lines of the cache, so that elements of a column do not meet in one place of it.
Size row_distance(Size width, Size bytes_of_part) {
  const Size line = 64 / bytes_of_part;
  return width <= line ? width : (width + line - 1) / (2 * line) * (2 * line) + line;
}
Size panel_elements(Size n) { return 4 * n * std::min(n, wide_block); }

template <class T>
void read_rows(const Number<T>* from, Size n, Size columns, const Rows<T>& to, Size begin) {
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < columns; ++j) to.set(i, begin + j, from[i * columns + j]);
}
template <class T>
void write_rows(const Rows<T>& from, Size begin, Size n, Size columns, Number<T>* to) {
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < columns; ++j) to[i * columns + j] = from.get(i, begin + j);
}

template <class T>
void solve_with(Size n, Size columns, bool transpose, const Number<T>* a, Number<T>* x, T* work) {
  const Size width = n + columns;
  const Rows<T> rows{work, row_distance(width, sizeof(T))};
  T* const panel = work + 2 * n * rows.distance;
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j) rows.set(i, j, transpose ? a[j * n + i] : a[i * n + j]);
  read_rows(x, n, columns, rows, n);
  for (Size k = 0; k < n; k += wide_block) eliminate_wide(rows, n, k, std::min(n, k + wide_block), width, panel);
  for (Size i = 0; i < n; ++i) rows.divide(i, i + 1, width, rows.get(i, i));
  substitute_all(n, true, [&](Size i, Size j) { return rows.get(n - 1 - i, n - 1 - j); }, rows, n, width, panel);
  write_rows(rows, n, n, columns, x);
}

template <class T>
void solve_triangle(Size n, Size columns, bool lower, bool transpose, bool unit_diagonal, const Number<T>* a,
                    Number<T>* x, T* work) {
  const Rows<T> rows{work, columns};
  auto* const inverse = reinterpret_cast<Number<T>*>(work + 2 * n * columns);
  T* const panel = work + 2 * n * columns + 2 * n;
  read_rows(x, n, columns, rows, 0);
  for (Size i = 0; i < n; ++i) {
    inverse[i] = unit_diagonal ? Number<T>(1) : Number<T>(1) / a[i * n + i];
    if (!unit_diagonal) rows.divide(i, 0, columns, a[i * n + i]);
  }
  const bool upwards = lower == transpose;
  const auto element = [&](Size i, Size j) {
    const Size row = upwards ? n - 1 - i : i, column = upwards ? n - 1 - j : j;
    const Number<T> of_a = transpose ? a[column * n + row] : a[row * n + column];
    return unit_diagonal                      ? of_a
           : has_reciprocal(a[row * n + row]) ? times(of_a, inverse[row])
                                              : of_a / a[row * n + row];
  };
  substitute_all(n, upwards, element, rows, 0, columns, panel);
  write_rows(rows, 0, n, columns, x);
}

// Left-looking, narrow_block columns at a time: what the columns before them take away is one product.
template <class T>
void factor_numbers(Size n, const Number<T>* a, Number<T>* l, T* work) {
  auto* const above = reinterpret_cast<Number<T>*>(work);
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < n; ++j) l[i * n + j] = j > i ? Number<T>(0) : a[i * n + j];
  bool positive = true;
  for (Size k = 0; k < n && positive; k += narrow_block) {
    const Size end = std::min(n, k + narrow_block), size = end - k;
    for (Size i = 0; i < size; ++i)
      for (Size j = 0; j < k; ++j) above[i * k + j] = -std::conj(l[(k + i) * n + j]);
    const TenonGemm g{static_cast<std::int32_t>(sizeof(T) == sizeof(float) ? DType::c64 : DType::c128),
                      1,
                      1,
                      n - k,
                      size,
                      k,
                      0,
                      n,
                      1,
                      0,
                      1,
                      k,
                      0,
                      n,
                      1};
    if (k > 0 && tenon_gemm(&g, l + k * n, above, l + k * n + k) != 0) positive = false;
    for (Size j = k; j < end && positive; ++j) {
      const T square = l[j * n + j].real();
      positive = square > 0;
      const T root = std::sqrt(square);
      l[j * n + j] = root;
      for (Size i = j + 1; i < n; ++i) {
        l[i * n + j] /= root;
        for (Size c = j + 1; c < std::min(end, i + 1); ++c)
          l[i * n + c] -= times(l[i * n + j], std::conj(c == i ? l[i * n + j] : l[c * n + j]));
      }
    }
  }
  for (Size i = 0; i < n; ++i) {
    if (!positive) std::fill_n(l + i * n, i + 1, Number<T>(std::numeric_limits<T>::quiet_NaN()));
    std::fill(l + i * n + i + 1, l + (i + 1) * n, Number<T>(0));
  }
}

}  // namespace

Size solve_elements(Size n, Size columns, Size bytes_of_part) {
  return 2 * n * row_distance(n + columns, bytes_of_part) + panel_elements(n);
}
Size triangular_elements(Size n, Size columns) { return 2 * n * columns + 2 * n + panel_elements(n); }
Size cholesky_elements(Size n) { return 2 * n * narrow_block; }

template <class T>
void solve_numbers(Size n, Size columns, bool transpose, const Number<T>* a, Number<T>* x, T* work) {
  solve_with(n, columns, transpose, a, x, work);
}
template <class T>
void triangular_solve_numbers(Size n, Size columns, bool lower, bool transpose, bool unit_diagonal, const Number<T>* a,
                              Number<T>* x, T* work) {
  solve_triangle(n, columns, lower, transpose, unit_diagonal, a, x, work);
}
template <class T>
void cholesky_numbers(Size n, const Number<T>* a, Number<T>* l, T* work) {
  factor_numbers(n, a, l, work);
}
template void solve_numbers<float>(Size, Size, bool, const Number<float>*, Number<float>*, float*);
template void solve_numbers<double>(Size, Size, bool, const Number<double>*, Number<double>*, double*);
template void triangular_solve_numbers<float>(Size, Size, bool, bool, bool, const Number<float>*, Number<float>*,
                                              float*);
template void triangular_solve_numbers<double>(Size, Size, bool, bool, bool, const Number<double>*, Number<double>*,
                                               double*);
template void cholesky_numbers<float>(Size, const Number<float>*, Number<float>*, float*);
template void cholesky_numbers<double>(Size, const Number<double>*, Number<double>*, double*);

}  // namespace tenon
