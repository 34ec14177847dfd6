#define TENON_FFT_REAL double
#include "tenon/runtime/fft/library/transforms_impl.h"

template void tenon::transform<double>(const TenonFft& of, const void* x, void* y);
