// Blocked factors, right-looking: a block of columns is factored, then its product is subtracted from what is left,
// strip by strip of columns (Golub and Van Loan, "Matrix Computations", 4th edition, 3.4.6 and 4.2.6). Blocks of 64
// columns are factored in the same way by blocks of 8. A batch is shared by workers matrix by matrix, a large matrix
// strip by strip; what is computed does not depend on how many they are.
#include "tenon/runtime/linear_algebra/factors.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"
#include "tenon/runtime/linear_algebra/complex_factors.h"
#include "tenon/runtime/linear_algebra/triangular_strips.h"
#include "tenon/runtime/memory/workspace.h"
#include "tenon/runtime/symbols.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {
namespace {

using Size = std::int64_t;

template <class T>
inline constexpr bool is_number = false;
template <class T>
inline constexpr bool is_number<std::complex<T>> = true;

Size block_inside(Size block) { return block > narrow_block ? narrow_block : 1; }

// Multiplications that are worth a worker.
constexpr Size worth_a_fork = 1 << 18;

// strip(first column, columns) for each strip of [begin, end); each has about `work` multiplications.
template <class T, class Strip>
void each_strip(Size begin, Size end, Size work, Strip strip) {
  const Size width = strip_kernels<T>().width;
  each_range((end - begin + width - 1) / width, std::max<Size>(1, worth_a_fork / std::max<Size>(work, 1)),
             [&](Size first, Size last) {
               for (Size i = first; i < last; ++i) {
                 const Size column = begin + i * width;
                 strip(column, std::min(width, end - column));
               }
             });
}

}  // namespace

template <class T>
void substitute(const LowerPanel<T>& p, T* x, Size row, Size columns) {
  const Size width = strip_kernels<T>().width;
  each_strip<T>(0, columns, p.size * (p.size / 2 + p.below) * width,
                [&](Size first, Size count) { strip_kernels<T>().substitute(p, {x + first, row, 1}, count); });
}
template void substitute<float>(const LowerPanel<float>&, float*, Size, Size);
template void substitute<double>(const LowerPanel<double>&, double*, Size, Size);

namespace {

// --- Cholesky ---
// The lower triangle of n rows that lie `row` apart becomes L; what stands above the diagonal is lost. False where
// there is no L.
template <class T>
bool factor(T* a, Size n, Size row, Size block) {
  if (block == 1) {
    for (Size j = 0; j < n; ++j)
      for (Size i = j; i < n; ++i) {
        T rest = a[i * row + j];
        for (Size k = 0; k < j; ++k) rest -= a[i * row + k] * a[j * row + k];
        if (i == j && !(rest > 0)) return false;
        a[i * row + j] = i == j ? std::sqrt(rest) : rest / a[j * row + j];
      }
    return true;
  }
  const StripKernels<T>& kernels = strip_kernels<T>();
  for (Size k = 0; k < n; k += block) {
    const Size size = std::min(block, n - k), after = k + size;
    T* const diagonal = a + k * (row + 1);
    if (!factor(diagonal, size, row, block_inside(block))) return false;
    // The rows below: L₂₁·L₁₁ᵀ = a₂₁, so each is a column of L₁₁⁻¹·a₂₁ᵀ.
    const LowerPanel<T> panel{diagonal, row, 1, size, 0, false};
    each_strip<T>(after, n, size * size / 2 * kernels.width,
                  [&](Size first, Size count) { kernels.substitute(panel, {a + first * row + k, 1, row}, count); });
    // a₂₂ -= L₂₁·L₂₁ᵀ, from the diagonal downwards.
    each_strip<T>(after, n, (n - after) / 2 * size * kernels.width, [&](Size first, Size count) {
      const T* const from = a + first * row + k;
      kernels.subtract(from, row, 1, n - first, size, {from, 1, row}, count, a + first * (row + 1), row);
    });
  }
  return true;
}

template <class T>
void cholesky(Size n, const T* a, T* l) {
  for (Size i = 0; i < n; ++i) std::copy_n(a + i * n, i + 1, l + i * n);
  const bool positive = factor(l, n, n, n <= narrow_block ? 1 : longest_block);
  for (Size i = 0; i < n; ++i) {
    if (!positive) std::fill_n(l + i * n, i + 1, std::numeric_limits<T>::quiet_NaN());
    std::fill(l + i * n + i + 1, l + (i + 1) * n, T(0));
  }
}

// --- Triangles ---
// op(a) as a lower triangle, of rows that lie `distance` apart: rows in the opposite order where it is an upper one.
template <class T>
void triangular_solve(Size n, const T* a, Size distance, bool lower, bool transpose, bool unit_diagonal, T* x,
                      Size columns) {
  const Size last = n - 1;
  Size row = transpose ? 1 : distance, column = transpose ? distance : 1, x_row = columns;
  if (lower == transpose) {
    a += last * (row + column), x += last * columns;
    row = -row, column = -column, x_row = -x_row;
  }
  if (n > narrow_block || columns > 2) return substitute<T>({a, row, column, n, 0, unit_diagonal}, x, x_row, columns);
  // So few that it takes longer to lay them out in strips.
  for (Size i = 0; i < n; ++i)
    for (Size j = 0; j < columns; ++j) {
      T rest = x[i * x_row + j];
      for (Size k = 0; k < i; ++k) rest -= a[i * row + k * column] * x[k * x_row + j];
      x[i * x_row + j] = unit_diagonal ? rest : rest / a[i * (row + column)];
    }
}

// --- Elimination ---
// Where column k has its largest element, from row k on.
template <class T>
Size largest(const T* a, Size n, Size row, Size k) {
  Size found = k;
  for (Size i = k + 1; i < n; ++i)
    if (std::abs(a[i * row + k]) > std::abs(a[found * row + k])) found = i;
  return found;
}

// Columns [begin, end) of a, of n rows `row` apart, from row `begin` on: below the diagonal the multipliers of rows, on
// and above it what is left. Whole rows change places with the one that has the largest element.
template <class T>
void eliminate_columns(T* a, Size n, Size row, Size begin, Size end, std::int32_t* exchanged) {
  Size pivot = largest(a, n, row, begin);
  for (Size k = begin; k < end; ++k) {
    exchanged[k] = static_cast<std::int32_t>(pivot);
    if (pivot != k) std::swap_ranges(a + k * row, a + k * row + n, a + pivot * row);
    const T* const chosen = a + k * row;
    if (end - begin == narrow_block && std::abs(chosen[k]) >= std::numeric_limits<T>::min()) {
      pivot =
          k + 1 + strip_kernels<T>().eliminate(chosen + begin, k - begin, a + (k + 1) * row + begin, row, n - k - 1);
      continue;
    }
    // Where nothing is left of the column, the matrix is singular.
    for (Size i = k + 1; i < n && chosen[k] != 0; ++i) {
      T* const to = a + i * row;
      const T multiplier = to[k] /= chosen[k];
      for (Size j = k + 1; j < end; ++j) to[j] -= multiplier * chosen[j];
    }
    if (k + 1 < end) pivot = largest(a, n, row, k + 1);
  }
}

template <class T>
void eliminate(T* a, Size n, Size row, Size begin, Size end, Size block, std::int32_t* exchanged) {
  if (block == 1) return eliminate_columns(a, n, row, begin, end, exchanged);
  for (Size k = begin; k < end; k += block) {
    const Size after = std::min(end, k + block);
    eliminate(a, n, row, k, after, block_inside(block), exchanged);
    if (after < end)
      substitute<T>({a + k * (row + 1), row, 1, after - k, n - after, true}, a + k * row + after, row, end - after);
  }
}

Size line(Size bytes) { return (bytes + 63) / 64 * 64; }

// An odd number of lines of the cache, so that elements of a column do not meet in one place of it.
Size factor_row(Size n, Size element) { return n <= 2 * narrow_block ? n : (line(n * element) | 64) / element; }

// P·a = L·U. So a·x = b is L·U·x = P·b, and aᵀ·x = b is Uᵀ·Lᵀ·P·x = b.
template <class T>
void solve(const TenonMatrices& m, const T* a, T* x, T* factors, std::int32_t* exchanged) {
  const Size n = m.n, columns = m.columns, row = factor_row(n, sizeof(T));
  for (Size i = 0; i < n; ++i) std::copy_n(a + i * n, n, factors + i * row);
  eliminate(factors, n, row, 0, n, n <= narrow_block ? 1 : longest_block, exchanged);
  const auto exchange = [&](Size i) {
    if (const Size j = exchanged[i]; i != j) std::swap_ranges(x + i * columns, x + (i + 1) * columns, x + j * columns);
  };
  if (m.transpose != 0) {
    triangular_solve<T>(n, factors, row, false, true, false, x, columns);
    triangular_solve<T>(n, factors, row, true, true, true, x, columns);
    for (Size i = n; i-- > 0;) exchange(i);
  } else {
    for (Size i = 0; i < n; ++i) exchange(i);
    triangular_solve<T>(n, factors, row, true, false, true, x, columns);
    triangular_solve<T>(n, factors, row, false, false, false, x, columns);
  }
}

// one(number, number of its part) for every matrix, in parts of equal size. A few large ones come one after another,
// each shared by all workers.
template <class One>
void each_matrix(const TenonMatrices& m, One one) {
  constexpr Size large = 256;
  if (m.parts > 0 && m.n >= large && m.batch < threads()) {
    for (Size i = 0; i < m.batch; ++i) one(i, 0);
    return;
  }
  each_range(m.parts, 1, [&](Size begin, Size end) {
    for (Size part = begin; part < end; ++part)
      for (Size i = part * m.batch / m.parts; i < (part + 1) * m.batch / m.parts; ++i) one(i, part);
  });
}

template <class F>
void of_dtype(const TenonMatrices& m, F f) {
  dispatch(static_cast<DType>(m.dtype), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || is_number<T>) f(T());
  });
}

// What each worker has of its own, one behind the other.
struct Parts {
  std::byte* workspace;
  Size bytes;  // of each
  template <class T>
  T* own(Size part) const {
    return reinterpret_cast<T*>(workspace + part * bytes);
  }
};

// run(m, its workspace): matrices whose sizes were not known when the code was made get parts and memory here.
template <class Run>
std::int64_t with_workspace(TenonMatrices m, void* given, Size (*bytes_of)(const TenonMatrices&), Run run) {
  try {
    if (m.parts == TenonMatrices::any_parts) m.parts = matrix_parts(m.batch, m.n, m.columns);
    const Size bytes = bytes_of(m);
    const Workspace workspace(given, static_cast<std::size_t>(bytes));
    run(m, Parts{static_cast<std::byte*>(workspace.memory()), bytes / std::max<Size>(m.parts, 1)});
    return 0;
  } catch (const MemoryError&) {
    return no_memory;
  }
}

Size part_bytes(const TenonMatrices& m) {
  return static_cast<Size>(size_of(real_part_of(static_cast<DType>(m.dtype))));
}
Size in_lines(const TenonMatrices& m, Size elements) { return m.parts * line(elements * part_bytes(m)); }

}  // namespace

Size matrix_parts(Size batch, Size n, Size columns) {
  constexpr Size most = 16;
  if (batch == 0 || n == 0 || columns == 0) return 0;
  const auto work = static_cast<double>(batch) * static_cast<double>(n) * static_cast<double>(n) *
                    static_cast<double>(std::max(n, columns));
  return work < worth_a_fork ? 1 : std::min(batch, most);
}

Size cholesky_workspace(const TenonMatrices& m) {
  return is_complex(static_cast<DType>(m.dtype)) ? in_lines(m, cholesky_elements(m.n)) : 0;
}
Size triangular_workspace(const TenonMatrices& m) {
  return is_complex(static_cast<DType>(m.dtype)) ? in_lines(m, triangular_elements(m.n, m.columns)) : 0;
}
Size solve_workspace(const TenonMatrices& m) {
  if (is_complex(static_cast<DType>(m.dtype))) return in_lines(m, solve_elements(m.n, m.columns, part_bytes(m)));
  const auto size = static_cast<Size>(size_of(static_cast<DType>(m.dtype)));
  return m.parts * (line(m.n * factor_row(m.n, size) * size) + line(m.n * static_cast<Size>(sizeof(std::int32_t))));
}

}  // namespace tenon

std::int64_t tenon_cholesky(const TenonMatrices* of, const void* a, void* l, void* workspace) {
  using namespace tenon;
  return with_workspace(*of, workspace, cholesky_workspace, [&](const TenonMatrices& m, const Parts& parts) {
    const Size matrix = m.n * m.n;
    of_dtype(m, [&]<class T>(T) {
      each_matrix(m, [&](Size i, [[maybe_unused]] Size part) {
        const T* const from = static_cast<const T*>(a) + i * matrix;
        T* const to = static_cast<T*>(l) + i * matrix;
        if constexpr (is_number<T>)
          cholesky_numbers(m.n, from, to, parts.own<typename T::value_type>(part));
        else
          cholesky(m.n, from, to);
      });
    });
  });
}

std::int64_t tenon_triangular_solve(const TenonMatrices* of, const void* a, const void* b, void* x, void* workspace) {
  using namespace tenon;
  return with_workspace(*of, workspace, triangular_workspace, [&](const TenonMatrices& m, const Parts& parts) {
    const Size matrix = m.n * m.n, side = m.n * m.columns;
    of_dtype(m, [&]<class T>(T) {
      each_matrix(m, [&](Size i, [[maybe_unused]] Size part) {
        const T* const from = static_cast<const T*>(a) + i * matrix;
        T* const to = static_cast<T*>(x) + i * side;
        std::copy_n(static_cast<const T*>(b) + i * side, side, to);
        const bool lower = m.lower != 0, transpose = m.transpose != 0, unit = m.unit_diagonal != 0;
        if constexpr (is_number<T>)
          triangular_solve_numbers(m.n, m.columns, lower, transpose, unit, from, to,
                                   parts.own<typename T::value_type>(part));
        else
          triangular_solve(m.n, from, m.n, lower, transpose, unit, to, m.columns);
      });
    });
  });
}

std::int64_t tenon_solve(const TenonMatrices* of, const void* a, const void* b, void* x, void* workspace) {
  using namespace tenon;
  return with_workspace(*of, workspace, solve_workspace, [&](const TenonMatrices& m, const Parts& parts) {
    const Size matrix = m.n * m.n, side = m.n * m.columns;
    of_dtype(m, [&]<class T>(T) {
      each_matrix(m, [&](Size i, Size part) {
        const T* const from = static_cast<const T*>(a) + i * matrix;
        T* const to = static_cast<T*>(x) + i * side;
        std::copy_n(static_cast<const T*>(b) + i * side, side, to);
        if constexpr (is_number<T>) {
          solve_numbers(m.n, m.columns, m.transpose != 0, from, to, parts.own<typename T::value_type>(part));
        } else {
          auto* const own = parts.own<std::byte>(part);
          const Size behind = line(m.n * factor_row(m.n, sizeof(T)) * static_cast<Size>(sizeof(T)));
          solve(m, from, to, reinterpret_cast<T*>(own), reinterpret_cast<std::int32_t*>(own + behind));
        }
      });
    });
  });
}

namespace tenon {
namespace {

const RuntimeSymbol symbols_of_factors[] = {
    {"tenon_cholesky", &tenon_cholesky},
    {"tenon_triangular_solve", &tenon_triangular_solve},
    {"tenon_solve", &tenon_solve},
};

}  // namespace
}  // namespace tenon
