// OpenBLAS's own products, on one thread, by names without the letter of the dtype. Matrices are column-major.
#pragma once

#include <complex>

#include "tenon/runtime/linear_algebra/lapack/routines.h"

namespace tenon::lapack {

// Numbers of CBLAS.
constexpr int by_columns = 102;
constexpr int transposition(char letter) {
  return letter == 'N' || letter == 'n' ? 111 : letter == 'T' || letter == 't' ? 112 : 113;
}
constexpr int triangle_of(char letter) { return letter == 'U' || letter == 'u' ? 121 : 122; }
constexpr int diagonal_of(char letter) { return letter == 'U' || letter == 'u' ? 132 : 131; }
constexpr int side_of(char letter) { return letter == 'L' || letter == 'l' ? 141 : 142; }

// How CBLAS takes a factor: real numbers by value, complex ones by address.
template <class T>
struct Factor {
  using Type = T;
  static T of(const T& x) { return x; }
};
template <class T>
struct Factor<std::complex<T>> {
  using Type = const void*;
  static const void* of(const std::complex<T>& x) { return &x; }
};
template <class T>
using FactorOf = typename Factor<T>::Type;

// `R`: the dtype of the second factor of hermitian products.
#define TENON_CBLAS(T, R, gemm_, gemv_, hemv_, her2k_, trmm_)                                                          \
  extern "C" void gemm_(int, int, int, Size, Size, Size, FactorOf<T>, const T*, Size, const T*, Size, FactorOf<T>, T*, \
                        Size);                                                                                         \
  extern "C" void gemv_(int, int, Size, Size, FactorOf<T>, const T*, Size, const T*, Size, FactorOf<T>, T*, Size);     \
  extern "C" void hemv_(int, int, Size, FactorOf<T>, const T*, Size, const T*, Size, FactorOf<T>, T*, Size);           \
  extern "C" void her2k_(int, int, int, Size, Size, FactorOf<T>, const T*, Size, const T*, Size, R, T*, Size);         \
  extern "C" void trmm_(int, int, int, int, int, Size, Size, FactorOf<T>, const T*, Size, T*, Size);                   \
  inline void gemm(int op_a, int op_b, Size m, Size n, Size k, T alpha, const T* a, Size a_column, const T* b,         \
                   Size b_column, T beta, T* c, Size c_column) {                                                       \
    gemm_(by_columns, op_a, op_b, m, n, k, Factor<T>::of(alpha), a, a_column, b, b_column, Factor<T>::of(beta), c,     \
          c_column);                                                                                                   \
  }                                                                                                                    \
  inline void gemv(int op, Size m, Size n, T alpha, const T* a, Size a_column, const T* x, Size x_step, T beta, T* y,  \
                   Size y_step) {                                                                                      \
    gemv_(by_columns, op, m, n, Factor<T>::of(alpha), a, a_column, x, x_step, Factor<T>::of(beta), y, y_step);         \
  }                                                                                                                    \
  inline void hemv(int triangle, Size n, T alpha, const T* a, Size a_column, const T* x, Size x_step, T beta, T* y,    \
                   Size y_step) {                                                                                      \
    hemv_(by_columns, triangle, n, Factor<T>::of(alpha), a, a_column, x, x_step, Factor<T>::of(beta), y, y_step);      \
  }                                                                                                                    \
  inline void her2k(int triangle, int op, Size n, Size k, T alpha, const T* a, Size a_column, const T* b,              \
                    Size b_column, R beta, T* c, Size c_column) {                                                      \
    her2k_(by_columns, triangle, op, n, k, Factor<T>::of(alpha), a, a_column, b, b_column, beta, c, c_column);         \
  }                                                                                                                    \
  inline void trmm(int side, int triangle, int op, int diagonal, Size m, Size n, T alpha, const T* a, Size a_column,   \
                   T* b, Size b_column) {                                                                              \
    trmm_(by_columns, side, triangle, op, diagonal, m, n, Factor<T>::of(alpha), a, a_column, b, b_column);             \
  }

TENON_CBLAS(float, float, cblas_sgemm, cblas_sgemv, cblas_ssymv, cblas_ssyr2k, cblas_strmm)
TENON_CBLAS(double, double, cblas_dgemm, cblas_dgemv, cblas_dsymv, cblas_dsyr2k, cblas_dtrmm)
TENON_CBLAS(std::complex<float>, float, cblas_cgemm, cblas_cgemv, cblas_chemv, cblas_cher2k, cblas_ctrmm)
TENON_CBLAS(std::complex<double>, double, cblas_zgemm, cblas_zgemv, cblas_zhemv, cblas_zher2k, cblas_ztrmm)
#undef TENON_CBLAS

}  // namespace tenon::lapack
