#include "tenon/runtime/linear_algebra/spectra.h"

#include "tenon/base/error.h"
#include "tenon/base/fork.h"
#include "tenon/base/library.h"
#include "tenon/runtime/symbols.h"

namespace tenon {
namespace {

LapackLibrary open_lapack() {
  return reinterpret_cast<LapackLibrary>(
      symbol_beside("libtenon_lapack.so", lapack_library_symbol, "the library of eigenvalues and singular values"));
}

LapackLibrary lapack_library() {
  const ForkSection at_once;  // the loader's lock is held there only
  static constinit Lasting<const LapackLibrary> library;
  return library.get(open_lapack);
}

const RuntimeSymbol spectrum_symbol("tenon_spectrum", &tenon_spectrum);

}  // namespace

void require_lapack_library() { lapack_library(); }

}  // namespace tenon

std::int64_t tenon_spectrum(const TenonSpectrum* of, void* const* arrays) {
  try {
    return tenon::lapack_library()(*of, arrays);
  } catch (const tenon::Error&) {
    return -1;
  }
}
