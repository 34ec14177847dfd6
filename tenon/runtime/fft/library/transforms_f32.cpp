#define TENON_FFT_REAL float
#include "tenon/runtime/fft/library/transforms_impl.h"

template void tenon::transform<float>(const TenonFft& of, const void* x, void* y);
