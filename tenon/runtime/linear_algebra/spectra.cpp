#include "tenon/runtime/linear_algebra/spectra.h"

#include "tenon/base/error.h"
#include "tenon/base/library.h"
#include "tenon/runtime/symbols.h"

namespace tenon {
namespace {

constinit LibraryFunction<LapackLibrary> lapack("libtenon_lapack.so", lapack_library_symbol,
                                                "the library of eigenvalues and singular values");

const RuntimeSymbol spectrum_symbol("tenon_spectrum", &tenon_spectrum);

}  // namespace

void require_lapack_library() { lapack.get(); }

}  // namespace tenon

std::int64_t tenon_spectrum(const TenonSpectrum* of, void* const* arrays) {
  try {
    return tenon::lapack.get()(*of, arrays);
  } catch (const tenon::Error&) {
    return -1;
  }
}
