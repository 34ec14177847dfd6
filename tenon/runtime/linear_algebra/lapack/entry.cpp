#include <atomic>
#include <exception>

#include "tenon/base/dtype.h"
#include "tenon/runtime/linear_algebra/lapack/factors.h"
#include "tenon/runtime/linear_algebra/lapack/surroundings.h"
#include "tenon/runtime/linear_algebra/lapack/triangles.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon::lapack {
namespace {

// Multiplications that are worth a worker.
constexpr Count worth_a_fork = 1 << 18;

// Factor(of)(i, arrays) for every matrix: a worker has a Factor of its own. A few large matrices come one after
// another; their products are shared.
template <class Factor>
void each_matrix(const TenonLapack& of, void* const* arrays) {
  std::atomic<bool> failed{false};
  const auto factor_all = [&](Count begin, Count end) {
    try {
      reserve_product_memory();
      const Factor factor(of);
      for (Count i = begin; i < end; ++i) factor(i, arrays);
    } catch (const std::exception&) {
      failed.store(true);
    }
  };
  constexpr Count large = 256;
  const Count k = std::min(of.rows, of.columns);
  if (of.batch == 1 || (k >= large && of.batch < threads())) {
    factor_all(0, of.batch);
  } else {
    const Count work = 20 * of.rows * of.columns * k + 2000;
    each_range(of.batch, std::max<Count>(1, worth_a_fork / work), factor_all);
  }
  if (failed.load()) throw MemoryError("linear algebra: no memory is left to work in.");
}

template <class T>
void factor(const TenonLapack& of, void* const* arrays) {
  switch (of.kind) {
    case TenonLapack::hermitian:
      return each_matrix<Hermitian<T>>(of, arrays);
    case TenonLapack::singular:
      return each_matrix<Singular<T>>(of, arrays);
    case TenonLapack::general:
      return each_matrix<General<T>>(of, arrays);
    case TenonLapack::schur:
      return each_matrix<Schur<T>>(of, arrays);
    case TenonLapack::lu:
      return each_matrix<Lu<T>>(of, arrays);
    case TenonLapack::qr:
      return each_matrix<Qr<T>>(of, arrays);
    case TenonLapack::reflections:
      return each_matrix<Reflections<T>>(of, arrays);
    case TenonLapack::hessenberg:
      return each_matrix<Hessenberg<T>>(of, arrays);
    case TenonLapack::tridiagonal:
      return each_matrix<Tridiagonal<T>>(of, arrays);
    case TenonLapack::least_squares:
      return each_matrix<LeastSquares<T>>(of, arrays);
  }
}

template <class T>
void set_unit(T* to, Count batch, Count n) {
  for (Count i = 0; i < batch; ++i)
    for (Count row = 0; row < n; ++row)
      for (Count column = 0; column < n; ++column) to[(i * n + row) * n + column] = row == column ? T(1) : T(0);
}

void set_order(void* to, Count batch, Count n) {
  for (Count i = 0; i < batch; ++i)
    std::iota(part<std::int32_t>(&to, 0, i, n), part<std::int32_t>(&to, 0, i + 1, n), 0);
}

// Matrices without elements have no values; their vectors, where all are asked for, are the axes, and rows and columns
// stay in their order.
template <class T>
void of_no_elements(const TenonLapack& of, void* const* arrays) {
  switch (of.kind) {
    case TenonLapack::singular:
      if (of.vectors == 0 || of.full == 0) return;
      set_unit(static_cast<T*>(arrays[2]), of.batch, of.rows);
      return set_unit(static_cast<T*>(arrays[3]), of.batch, of.columns);
    case TenonLapack::lu:
      return set_order(arrays[3], of.batch, of.rows);
    case TenonLapack::qr:
      return of.vectors != 0 ? set_order(arrays[3], of.batch, of.columns) : void();
    case TenonLapack::least_squares:
      std::fill_n(static_cast<T*>(arrays[3]), of.batch * of.columns * of.others, T());
      return;
    default:
      return;
  }
}

}  // namespace
}  // namespace tenon::lapack

// What libtenon finds by lapack_library_symbol.
extern "C" __attribute__((visibility("default"))) std::int64_t tenon_lapack_library_3(const TenonLapack& of,
                                                                                      void* const* arrays) noexcept {
  using namespace tenon;
  try {
    if (of.batch == 0) return 0;
    dispatch(static_cast<DType>(of.dtype), [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_same_v<lapack::Part<T>, float> || std::is_same_v<lapack::Part<T>, double>) {
        if (of.rows == 0 || of.columns == 0)
          lapack::of_no_elements<T>(of, arrays);
        else
          lapack::factor<T>(of, arrays);
      }
    });
    return 0;
  } catch (const std::exception&) {
    return no_memory;
  }
}
