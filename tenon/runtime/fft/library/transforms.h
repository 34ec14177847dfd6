// Transforms of one precision.
#pragma once

#include "tenon/runtime/fft/fft.h"

namespace tenon {

template <class T>
void transform(const TenonFft& of, const void* x, void* y);

}  // namespace tenon
