// Products of matrices of complex numbers, by products of real ones.
#pragma once

#include "tenon/runtime/linear_algebra/products.h"

namespace tenon {

// As tenon_gemm, of c64 or c128, whose numbers are pairs of T. False where memory is lacking.
template <class T>
bool multiply_complex(const TenonGemm& product, const T* a, const T* b, T* c);
extern template bool multiply_complex<float>(const TenonGemm&, const float*, const float*, float*);
extern template bool multiply_complex<double>(const TenonGemm&, const double*, const double*, double*);

}  // namespace tenon
