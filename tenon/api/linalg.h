// Eigenvalues, singular values and what follows from them, of matrices in the last two axes; the axes before them are a
// batch. What NumPy, SciPy and JAX have under these names.
//
// Of f32, f64, c64 and c128; integers become f32 (64-bit ones f64); f16 and bf16 are computed in f32. By LAPACK, each
// matrix by one thread's calls and a batch on all threads; products of large matrices are shared too. Vectors have
// length 1 and otherwise the signs (of complex numbers the phases) that LAPACK gives them. Of a matrix with an element
// that is not finite, and where iterations do not converge, results are NaN: nothing is thrown. ShapeError where an
// operand is no matrix, or not square where it has to be.
//
// Derivatives of any order, forward and reverse. Those of eigenvalues and singular values alone are finite wherever
// values differ; those of vectors divide by the differences of values, and are not finite where two are equal. Those of
// pinv, lstsq and polar do not divide by differences.
#pragma once

#include <optional>

#include "tenon/ir/array.h"
#include "tenon/ops/linear_algebra.h"

namespace tenon::linalg {

using tenon::cholesky, tenon::inv, tenon::solve, tenon::triangular_solve;

// Hermitian a: [..., n, n]. Eigenvalues [..., n], real and ascending, and eigenvectors [..., n, n], which are columns:
// a·v = v·w. The mean of a and aᴴ is taken, unless `symmetrize` is false: then the lower triangle counts alone, or the
// upper one.
//   linalg::eigvalsh(Array{{2.f, 1.f}, {1.f, 2.f}})   // 1 3
struct EighOptions {
  bool lower = true, symmetrize = true;
};
struct Eigh {
  Array eigenvalues, eigenvectors;
};
Eigh eigh(const Operand& a, const EighOptions& options = {});
Array eigvalsh(const Operand& a, const EighOptions& options = {});

// Any square a: [..., n, n]. Complex eigenvalues [..., n] in LAPACK's order, and eigenvectors [..., n, n], columns,
// whose largest element is real; of aᴴ the left ones. Of a real matrix conjugate pairs stand beside each other.
// Derivatives where the matrix has n eigenvectors.
//   linalg::eigvals(Array{{0.f, 1.f}, {-1.f, 0.f}})   // i -i
struct Eig {
  Array eigenvalues, eigenvectors;
};
struct EigOfBothSides {
  Array eigenvalues, left, right;  // aᴴ·left = left·conj(eigenvalues), a·right = right·eigenvalues
};
Eig eig(const Operand& a);
EigOfBothSides eig_of_both_sides(const Operand& a);
Array eigvals(const Operand& a);

// a = u·diag(s)·vh, a: [..., m, n], k = min(m, n). s: [..., k], real, not negative and descending; u: [..., m, m] and
// vh: [..., n, n], or unless `full_matrices` [..., m, k] and [..., k, n].
//   linalg::svdvals(Array{{3.f, 0.f}, {0.f, -4.f}})   // 4 3
struct SvdOptions {
  bool full_matrices = true;
};
struct Svd {
  Array u, s, vh;
};
Svd svd(const Operand& a, const SvdOptions& options = {});
Array svdvals(const Operand& a);

// a = z·t·zᴴ, a: [..., n, n], t upper triangular, z unitary. Real a has a real t with blocks of two rows on its
// diagonal for conjugate pairs; `complex` makes it complex before. No derivatives: a DifferentiationError.
//   linalg::schur(a).t
struct SchurOptions {
  bool complex = false;
};
struct Schur {
  Array t, z;
};
Schur schur(const Operand& a, const SchurOptions& options = {});

// The pseudoinverse [..., n, m] of a: [..., m, n] (Moore, Penrose). Singular values up to `rtol` times the largest
// count as 0; where it is not given, 10·max(m, n) units of rounding. `hermitian`: by eigenvalues, of the mean of a and
// aᴴ. Derivatives where the rank stays as it is.
//   linalg::pinv(Array{{2.f, 0.f}, {0.f, 0.f}})   // {{0.5, 0}, {0, 0}}
struct PinvOptions {
  std::optional<Array> rtol = {};
  bool hermitian = false;
};
Array pinv(const Operand& a, const PinvOptions& options = {});

// How many singular values of a are more than `rtol` times the largest: [...], i32. Where it is not given, max(m, n)
// units of rounding; `tol` is a bound of its own in place of that.
//   linalg::matrix_rank(Array{{1.f, 2.f}, {2.f, 4.f}})   // 1
struct RankOptions {
  std::optional<Array> rtol = {}, tol = {};
  bool hermitian = false;
};
Array matrix_rank(const Operand& a, const RankOptions& options = {});

// The shortest x with the least |a·x - b|. a: [..., m, n]; b: [m], or [..., m, k]; the axes before broadcast. Singular
// values less than `rcond` times the largest count as 0; where it is not given, max(m, n) units of rounding; where it
// is negative, one unit. `residuals`: the squares of |a·x - b|, of columns; `rank`: i32.
//   linalg::lstsq(Array{{1.f, 0.f}, {1.f, 1.f}, {1.f, 2.f}}, Array{1.f, 3.f, 5.f}).x   // 1 2
struct LeastSquaresOptions {
  std::optional<Array> rcond = {};
};
struct LeastSquares {
  Array x, residuals, rank, s;
};
LeastSquares lstsq(const Operand& a, const Operand& b, const LeastSquaresOptions& options = {});

// a = u·p, or p·u where `left`: columns or rows of u orthonormal, p Hermitian without negative eigenvalues. a: [..., m,
// n]. Derivatives where a has full rank.
//   linalg::polar(Array{{0.f, -2.f}, {2.f, 0.f}}).u   // {{0, -1}, {1, 0}}
struct PolarOptions {
  bool left = false;
};
struct Polar {
  Array u, p;
};
Polar polar(const Operand& a, const PolarOptions& options = {});

// The x with x·x = a, complex, whose eigenvalues have no negative real parts: by Schur's form (Björck and Hammarling
// 1983). a: [..., n, n]. Not finite where a is singular beyond its simple zeros. No derivatives.
//   linalg::sqrtm(Array{{4.f, 0.f}, {0.f, 9.f}})   // {{2, 0}, {0, 3}}
Array sqrtm(const Operand& a);

}  // namespace tenon::linalg
