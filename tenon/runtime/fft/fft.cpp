#include "tenon/runtime/fft/fft.h"

#include "tenon/base/error.h"
#include "tenon/base/library.h"
#include "tenon/runtime/symbols.h"

namespace tenon {
namespace {

constinit LibraryFunction<FftLibrary> library("libtenon_fft.so", fft_library_symbol,
                                              "the library of Fourier transforms");

FftLibrary fft_library() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    throw CompileError("fft: this processor has no AVX2, which Fourier transforms use.");
  return library.get();
}

const RuntimeSymbol fft_symbol("tenon_fft", &tenon_fft);

}  // namespace

void require_fft_library() { fft_library(); }

}  // namespace tenon

std::int64_t tenon_fft(const TenonFft* transform, const void* x, void* y, void*) {
  try {
    return tenon::fft_library()(*transform, x, y);
  } catch (const tenon::Error&) {
    return -1;
  }
}
