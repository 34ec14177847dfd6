// Factors of matrices of complex numbers, and linear systems of them: one matrix at a time.
#pragma once

#include <complex>
#include <cstdint>

namespace tenon {

// Real elements that each of them works in, of T for std::complex<T>.
std::int64_t solve_elements(std::int64_t n, std::int64_t columns, std::int64_t bytes_of_part);
std::int64_t triangular_elements(std::int64_t n, std::int64_t columns);
std::int64_t cholesky_elements(std::int64_t n);

// x := op(a)⁻¹·x, of n rows and as many columns as are given.
template <class T>
void solve_numbers(std::int64_t n, std::int64_t columns, bool transpose, const std::complex<T>* a, std::complex<T>* x,
                   T* work);
// The same of one triangle of a.
template <class T>
void triangular_solve_numbers(std::int64_t n, std::int64_t columns, bool lower, bool transpose, bool unit_diagonal,
                              const std::complex<T>* a, std::complex<T>* x, T* work);
// L of the lower triangle of a, whose diagonal counts by its real parts; NaN where there is none.
template <class T>
void cholesky_numbers(std::int64_t n, const std::complex<T>* a, std::complex<T>* l, T* work);

extern template void solve_numbers<float>(std::int64_t, std::int64_t, bool, const std::complex<float>*,
                                          std::complex<float>*, float*);
extern template void solve_numbers<double>(std::int64_t, std::int64_t, bool, const std::complex<double>*,
                                           std::complex<double>*, double*);
extern template void triangular_solve_numbers<float>(std::int64_t, std::int64_t, bool, bool, bool,
                                                     const std::complex<float>*, std::complex<float>*, float*);
extern template void triangular_solve_numbers<double>(std::int64_t, std::int64_t, bool, bool, bool,
                                                      const std::complex<double>*, std::complex<double>*, double*);
extern template void cholesky_numbers<float>(std::int64_t, const std::complex<float>*, std::complex<float>*, float*);
extern template void cholesky_numbers<double>(std::int64_t, const std::complex<double>*, std::complex<double>*,
                                              double*);

}  // namespace tenon
