// Factors of one matrix as textbooks have them, in complex numbers of double precision: what ops are evaluated
// by. Of an element that is not finite everything is NaN.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace tenon::textbook {

using Number = std::complex<double>;
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<Number> elements = std::vector<Number>(static_cast<std::size_t>(rows * columns));  // row-major
  Number& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i * columns + j)]; }
  Number operator()(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
};
Matrix unit(std::int64_t n);
Matrix adjoint(const Matrix& a);
Matrix product(const Matrix& a, const Matrix& b);
bool is_finite_matrix(const Matrix& a);

// a = v·diag(w)·vᴴ of Hermitian a, w ascending: by Jacobi's rotations (Golub and Van Loan, 8.5).
struct Hermitian {
  std::vector<double> w;
  Matrix v;
};
Hermitian hermitian(Matrix a);

// a = u·diag(s)·vᴴ, s descending, of min(rows, columns) columns and rows, or all: by rotations of the columns
// (Hestenes; Golub and Van Loan, 8.6.3).
struct Singular {
  Matrix u;
  std::vector<double> s;
  Matrix vh;
};
Singular singular(const Matrix& a, bool full);

// a = z·t·zᴴ, t upper triangular: by the QR iteration with shifts (Golub and Van Loan, 7.5).
struct Schur {
  Matrix t, z;
};
Schur schur(const Matrix& a);
// Of a real matrix: everything is real, and t has blocks of 2 rows for conjugate pairs, with equal diagonals.
Schur real_schur(const Matrix& a);

// a·v = v·diag(w), columns of v of length 1 whose largest element is real. Of a real matrix conjugate pairs stand
// beside each other, the one with a positive imaginary part first.
struct General {
  std::vector<Number> w;
  Matrix v;
};
General general(const Matrix& a, bool is_real);

// l·u = a of rows in another order, l below the diagonal: by elimination, the row with the largest |re| + |im| first.
struct Lu {
  Matrix factors;
  std::vector<double> pivots, order;  // row k and row pivots[k] changed places; row k of l·u is row order[k] of a
};
Lu lu(const Matrix& a);

// What reflections 1 - τ·v·vᴴ (v[0] = 1, the rest below the diagonal of h) make of a matrix: the diagonal of what they
// leave is real (Golub and Van Loan, 5.2 and 5.4).
struct Reflections {
  Matrix h;
  std::vector<Number> taus;
  std::vector<double> order;  // of columns
};
Reflections qr(const Matrix& a, bool pivoting);
Matrix reflections_product(const Matrix& h, const std::vector<Number>& taus);  // as many columns as h has
Reflections hessenberg(const Matrix& a);
struct Tridiagonal {
  Reflections of;  // what stands above the diagonal is a's
  std::vector<double> d, e;
};
Tridiagonal tridiagonal(const Matrix& a);

// The shortest x with the least |a·x - b|: singular values up to the bound times the largest count as 0.
struct LeastSquares {
  Matrix x;
  std::vector<double> s;
};
LeastSquares least_squares(const Matrix& a, const Matrix& b, double bound);

}  // namespace tenon::textbook
