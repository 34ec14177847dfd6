#include <exception>

#include "tenon/runtime/fft/library/transforms.h"
#include "tenon/runtime/memory/workspace.h"

// What libtenon finds by fft_library_symbol.
extern "C" __attribute__((visibility("default"))) std::int64_t tenon_fft_library_1(const TenonFft& of, const void* x,
                                                                                   void* y) noexcept {
  try {
    of.is_double != 0 ? tenon::transform<double>(of, x, y) : tenon::transform<float>(of, x, y);
    return 0;
  } catch (const std::exception&) {
    return tenon::no_memory;
  }
}
