#include <atomic>
#include <exception>

#include "tenon/base/dtype.h"
#include "tenon/runtime/linear_algebra/lapack/factors.h"
#include "tenon/runtime/linear_algebra/lapack/surroundings.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon::lapack {
namespace {

// Multiplications that are worth a worker.
constexpr Count worth_a_fork = 1 << 18;

// Factor(of)(i, arrays) for every matrix: a worker has a Factor of its own. A few large matrices come one after
// another; their products are shared.
template <class Factor>
void each_matrix(const TenonSpectrum& of, void* const* arrays) {
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
void factor(const TenonSpectrum& of, void* const* arrays) {
  switch (of.kind) {
    case TenonSpectrum::hermitian:
      return each_matrix<Hermitian<T>>(of, arrays);
    case TenonSpectrum::singular:
      return each_matrix<Singular<T>>(of, arrays);
    case TenonSpectrum::general:
      return each_matrix<General<T>>(of, arrays);
    case TenonSpectrum::schur:
      return each_matrix<Schur<T>>(of, arrays);
  }
}

template <class T>
void set_unit(T* to, Count batch, Count n) {
  for (Count i = 0; i < batch; ++i)
    for (Count row = 0; row < n; ++row)
      for (Count column = 0; column < n; ++column) to[(i * n + row) * n + column] = row == column ? T(1) : T(0);
}

// Matrices without elements have no values; where all vectors are asked for, they are the axes.
template <class T>
void of_no_elements(const TenonSpectrum& of, void* const* arrays) {
  if (of.kind != TenonSpectrum::singular || of.vectors == 0 || of.full == 0) return;
  set_unit(static_cast<T*>(arrays[2]), of.batch, of.rows);
  set_unit(static_cast<T*>(arrays[3]), of.batch, of.columns);
}

}  // namespace
}  // namespace tenon::lapack

// What libtenon finds by lapack_library_symbol.
extern "C" __attribute__((visibility("default"))) std::int64_t tenon_lapack_library_1(const TenonSpectrum& of,
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
