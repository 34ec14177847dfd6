// Factors of matrices in the last two axes, and what follows from them; the axes before them are a batch. What NumPy,
// SciPy and JAX have under these names.
//
// Of f32, f64, c64 and c128; integers become f32 (64-bit ones f64); f8, f16 and bf16 are computed in f32. By LAPACK,
// each matrix by one thread's calls and a batch on all threads; products of large matrices are shared too. Vectors have
// length 1 and otherwise the signs (of complex numbers the phases) that LAPACK gives them. Of a matrix with an element
// that is not finite, and where iterations do not converge, results are NaN: nothing is thrown. ShapeError where an
// operand is no matrix, or not square where it has to be. Of n rows, factors take time that grows as n³.
//
// Derivatives of any order, forward and reverse. Those of eigenvalues and singular values alone are finite wherever
// values differ; those of vectors divide by the differences of values, and are not finite where two are equal. Those of
// pinv, lstsq and polar do not divide by differences, of whatever order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tenon/ir/array.h"
#include "tenon/ops/linear_algebra/linear_algebra.h"
#include "tenon/ops/reductions/reduce.h"

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
// The generalised problem of Hermitian a and b: [..., n, n], b positive definite: a·v = b·v·w of `type` 1, a·b·v = v·w
// of 2, b·a·v = v·w of 3, as LAPACK and SciPy number them; the axes before broadcast. vᴴ·b·v = 1, or of type 3
// vᴴ·b⁻¹·v = 1. By the factor of Cholesky of b: NaN where b is not positive definite, and errors that grow with its
// condition. Throws ShapeError where sizes differ or there is no such type.
//   linalg::eigvalsh(Array{{2.f, 0.f}, {0.f, 3.f}}, Array{{1.f, 0.f}, {0.f, 0.5f}})   // 2 6
struct GeneralizedEighOptions {
  std::int64_t type = 1;
  bool lower = true, symmetrize = true;  // of a and of b
};
Eigh eigh(const Operand& a, const Operand& b, const GeneralizedEighOptions& options = {});
Array eigvalsh(const Operand& a, const Operand& b, const GeneralizedEighOptions& options = {});
// eigh and eigvalsh of the Hermitian matrix with these diagonals: the main one [..., n], of which the real part counts,
// and the one below it [..., n - 1]; the axes before broadcast. `first` and `last`: the eigenvalues of those indices
// alone, and those between them. By the whole matrix, in time that grows as n³. ShapeError where sizes or indices do
// not fit.
//   linalg::eigvalsh_tridiagonal(Array{2.f, 2.f}, Array{1.f})   // 1 3
struct EighTridiagonalOptions {
  std::optional<std::int64_t> first = {}, last = {};
};
Eigh eigh_tridiagonal(const Operand& diagonal, const Operand& below, const EighTridiagonalOptions& options = {});
Array eigvalsh_tridiagonal(const Operand& diagonal, const Operand& below, const EighTridiagonalOptions& options = {});

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
// vh: [..., n, n], or unless `full_matrices` [..., m, k] and [..., k, n]. `hermitian`: by eigenvalues, of the mean of a
// and aᴴ, square.
//   linalg::svdvals(Array{{3.f, 0.f}, {0.f, -4.f}})   // 4 3
struct SvdOptions {
  bool full_matrices = true, hermitian = false;
};
struct SvdvalsOptions {
  bool hermitian = false;
};
struct Svd {
  Array u, s, vh;
};
Svd svd(const Operand& a, const SvdOptions& options = {});
Array svdvals(const Operand& a, const SvdvalsOptions& options = {});

// a = z·t·zᴴ, a: [..., n, n], t upper triangular, z unitary. Real a has a real t with blocks of two rows on its
// diagonal for conjugate pairs; `complex` makes it complex before. No derivatives: a DifferentiationError.
//   linalg::schur(Array{{2.f, 0.f}, {0.f, 3.f}}).t   // 2 0, 0 3
struct SchurOptions {
  bool complex = false;
};
struct Schur {
  Array t, z;
};
Schur schur(const Operand& a, const SchurOptions& options = {});
// The complex form of the real one, a = z·t·zᴴ: t is made triangular, and z is turned with it. t, z: [..., n, n]; the
// axes before broadcast.
//   linalg::rsf2csf(Array{{2.f, 1.f}, {0.f, 3.f}}, eye(2)).t   // 2 1, 0 3
Schur rsf2csf(const Operand& t, const Operand& z);

// The triangular factor of a positive definite a: [..., n, n], of which that triangle alone is read: u with uᴴ·u = a,
// or with `lower` l with l·lᴴ = a; zeros in the other triangle, and NaN where a is not positive definite. And x with
// a·x = b by that factor, of which the other triangle is not read. b: [n], or [..., n, k]; the axes before broadcast.
//   linalg::cho_solve(linalg::cho_factor(Array{{4.f, 2.f}, {2.f, 5.f}}), Array{8.f, 12.f})   // 1 2
struct FactorOptions {
  bool lower = false;
};
Array cho_factor(const Operand& a, const FactorOptions& options = {});
Array cho_solve(const Operand& factor, const Operand& b, const FactorOptions& options = {});

// a[permutation] = l·u of a: [..., m, n], l with ones on its diagonal, by elimination with the largest element of each
// column first. factors: [..., m, n], l below the diagonal and u; pivots: [..., min(m, n)], i32, the row that each row
// changed places with; permutation: [..., m], i32. Derivatives where a has full rank.
//   linalg::lu_factor(Array{{1.f, 2.f}, {4.f, 4.f}}).pivots   // 1 1
struct LuFactors {
  Array factors, pivots, permutation;
};
LuFactors lu_factor(const Operand& a);
// a = p·l·u, l: [..., m, k], u: [..., k, n], k = min(m, n), p a matrix of zeros and ones.
//   linalg::lu(Array{{1.f, 2.f}, {4.f, 4.f}}).u   // {{4, 4}, {0, 1}}
struct Lu {
  Array p, l, u;
};
Lu lu(const Operand& a);
// x with a·x = b by the factors and pivots of a, or aᵀ·x = b (transpose), aᴴ·x = b (and conjugate). b: [n], or [..., n,
// k]; the axes before broadcast.
//   const auto [factors, pivots, permutation] = linalg::lu_factor(Array{{1.f, 2.f}, {4.f, 4.f}});
//   linalg::lu_solve(factors, pivots, Array{3.f, 8.f})   // 1 1
struct LuSolveOptions {
  bool transpose = false, conjugate = false;
};
Array lu_solve(const Operand& factors, const Operand& pivots, const Operand& b, const LuSolveOptions& options = {});
// The order of so many rows after pivots: [..., k] exchanged them, one after the other: [..., rows], i32.
//   linalg::lu_pivots_to_permutation(Array{1, 1}, 2)   // 1 0
Array lu_pivots_to_permutation(const Operand& pivots, const Dim& rows);

// The determinant [...] of a: [..., n, n]. Its first derivatives are right for any matrix, those of higher order where
// the rank is n - 1 or n.
//   linalg::det(Array{{1.f, 2.f}, {3.f, 4.f}})   // -2
Array det(const Operand& a);
// Its sign (of complex numbers on the unit circle), and the logarithm of its absolute value, real: nothing overflows.
// Of a singular matrix 0 and -inf, whose derivatives are not finite.
//   linalg::slogdet(Array{{1.f, 2.f}, {3.f, 4.f}})   // -1, 0.6931472
struct Slogdet {
  Array sign, logabsdet;
};
Slogdet slogdet(const Operand& a);

// a = q·r of a: [..., m, n], columns of q orthonormal, r upper triangular with a real diagonal: [..., m, k] and [...,
// k, n] of k = min(m, n), or with `full_matrices` [..., m, m] and [..., m, n]. pivoted_qr: a[..., permutation] = q·r,
// with a diagonal of r that falls in size. Derivatives where the first k columns (by pivoting those taken first) are
// independent; of full matrices with m > n also where each of them has something to reflect.
//   linalg::qr(Array{{3.f}, {4.f}}).r   // -5
struct QrOptions {
  bool full_matrices = false;
};
struct Qr {
  Array q, r;
};
struct PivotedQr {
  Array q, r, permutation;
};
Qr qr(const Operand& a, const QrOptions& options = {});
PivotedQr pivoted_qr(const Operand& a, const QrOptions& options = {});
// The product c·q of a = q·r, or with `left` q·c, and r, of q: [..., m, k] and r: [..., k, n], k = min(m, n). c: [...,
// j, m], or of the left side [..., k, j], or a vector. `conjugate`: q's conjugate takes its place in the product. With
// pivoting, a[..., permutation] = q·r.
//   linalg::qr_multiply(Array{{0.f}, {2.f}}, Array{{1.f, 3.f}}).product   // -3
struct QrMultiplyOptions {
  bool left = false, conjugate = false;
};
struct QrProduct {
  Array product, r;
};
struct PivotedQrProduct {
  Array product, r, permutation;
};
QrProduct qr_multiply(const Operand& a, const Operand& c, const QrMultiplyOptions& options = {});
PivotedQrProduct pivoted_qr_multiply(const Operand& a, const Operand& c, const QrMultiplyOptions& options = {});

// LAPACK's own results: r and below its diagonal vectors v (whose first element is 1) of reflections 1 - τ·v·vᴴ, whose
// product is q. h: [..., m, n]; taus: [..., min(m, n)].
//   linalg::geqrf(Array{{3.f}, {4.f}})   // {{-5}, {0.5}}, 1.6
struct Reflections {
  Array h, taus;
};
Reflections geqrf(const Operand& a);
// The first n columns of the product of reflections a: [..., m, n], n <= m, with taus: [..., k], k <= n; and the whole
// product, or its adjoint (transpose), times c from the left or the right, by products of matrices (Puglisi 1992).
// Derivatives by a and by taus.
//   linalg::householder_product(Array{{1.f}, {0.f}}, Array{2.f})   // {{-1}, {0}}
struct OrmqrOptions {
  bool left = true, transpose = false;
};
Array householder_product(const Operand& a, const Operand& taus);
Array ormqr(const Operand& a, const Operand& taus, const Operand& c, const OrmqrOptions& options = {});

// a = q·h·qᴴ of a: [..., n, n], h zero below the diagonal under the main one; gehrd: LAPACK's own results, taus: [...,
// n - 1]. No derivatives: a DifferentiationError.
//   linalg::hessenberg(Array{{1.f, 2.f}, {3.f, 4.f}}).h   // {{1, 2}, {3, 4}}
struct Hessenberg {
  Array h, q;
};
Hessenberg hessenberg(const Operand& a);
Reflections gehrd(const Operand& a);
// The real tridiagonal form of the Hermitian matrix that a triangle of a: [..., n, n] stands for: its diagonal [..., n]
// and the one beside it [..., n - 1]; h and taus as LAPACK gives them. No derivatives.
//   linalg::tridiagonal(Array{{1.f, 2.f}, {2.f, 4.f}}).diagonal   // 1 4
struct TridiagonalOptions {
  bool lower = true;
};
struct Tridiagonal {
  Array h, diagonal, beside, taus;
};
Tridiagonal tridiagonal(const Operand& a, const TridiagonalOptions& options = {});

// x with a·x = b, a tridiagonal: below[..., 0] and above[..., n - 1] are not read. Diagonals: [..., n]; b: [..., n, k];
// the axes before broadcast. By rotations, in time that grows as n·k. Derivatives by all four. Of a singular matrix x
// is Inf or NaN; with `perturb_singular` it is finite: pivots that rounding alone could have left of the largest
// element are as large as that, which inverse iteration asks for.
//   linalg::tridiagonal_solve(Array{0.f, 1.f}, Array{2.f, 2.f}, Array{1.f, 0.f}, Array{{3.f}, {3.f}})   // {{1}, {1}}
struct TridiagonalSolveOptions {
  bool perturb_singular = false;
};
Array tridiagonal_solve(const Operand& below, const Operand& diagonal, const Operand& above, const Operand& b,
                        const TridiagonalSolveOptions& options = {});
// x with a·x = b, a zero but for so many diagonals below and above its main one: ab[..., above + i - j, j] = a[..., i,
// j], as SciPy and LAPACK have it; what ab has outside of a is not read. ab: [..., below + above + 1, n]; b: [n], or
// [..., n, k]; the axes before broadcast. By reflections, in time that grows as n·below·(below + above + k): no rows
// are exchanged, whatever the elements are. Derivatives by ab and b. Of a singular matrix x is Inf, NaN or large.
//   linalg::solve_banded(1, 0, Array{{2.f, 2.f}, {1.f, 0.f}}, Array{2.f, 5.f})   // 1 2
Array solve_banded(std::int64_t below, std::int64_t above, const Operand& ab, const Operand& b);
// The same of a Hermitian matrix, which need not be positive definite, by the main diagonal, of which the real part
// counts, and those above it; or with `lower` those below it: ab[..., i - j, j] = a[..., i, j].
//   linalg::solveh_banded(Array{{0.f, 1.f}, {2.f, 2.f}}, Array{3.f, 3.f})   // 1 1
struct BandedOptions {
  bool lower = false;
};
Array solveh_banded(const Operand& ab, const Operand& b, const BandedOptions& options = {});
// The upper triangular R' with R'ᵀ·R' = Rᵀ·R + w·wᵀ, real. r: [n, n]; w: [n]. Time that grows as n².
//   linalg::cholesky_update(eye(2), Array{0.f, 0.75f})   // {{1, 0}, {0, 1.25}}
Array cholesky_update(const Operand& r, const Operand& w);

// The pseudoinverse [..., n, m] of a: [..., m, n] (Moore, Penrose). Singular values up to `rtol` times the largest
// count as 0; where it is not given, 10·max(m, n) units of rounding of the dtype that is computed in. `hermitian`: by
// eigenvalues, of the mean of a and aᴴ. Derivatives where the rank stays as it is.
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
// values up to `rcond` times the largest count as 0; where it is not given, max(m, n) units of rounding; where it
// is negative, one unit. `residuals`: the squares of |a·x - b|, of columns; `rank`: i32.
//   linalg::lstsq(Array{{1.f, 0.f}, {1.f, 1.f}, {1.f, 2.f}}, Array{1.f, 3.f, 5.f}).x   // 1 2
struct LeastSquaresOptions {
  std::optional<Array> rcond = {};
};
struct LeastSquares {
  Array x, residuals, rank, s;
};
LeastSquares lstsq(const Operand& a, const Operand& b, const LeastSquaresOptions& options = {});

// Of vectors along axes: (Σ|x|^ord)^(1/ord); of `ord` infinity and -infinity the largest and the least |x|, of 0 how
// many are not 0. Derivatives at 0 of the norm of order 2: 0.
//   linalg::vector_norm(Array{3.f, -4.f})   // 5
Array vector_norm(const Operand& x, double ord = 2, const Axes& axes = {});
// Of matrices in two axes: the root of the sum of squares; the greatest or least sum of a column (one) or row
// (infinity); the greatest or least singular value (two); their sum (nuclear).
//   linalg::matrix_norm(Array{{1.f, -2.f}, {3.f, 4.f}}, linalg::MatrixNorm::one)   // 6
enum class MatrixNorm { frobenius, nuclear, one, minus_one, two, minus_two, infinity, minus_infinity };
struct MatrixNormOptions {
  std::int64_t rows = -2, columns = -1;  // axes
  bool keepdims = false;
};
Array matrix_norm(const Operand& x, MatrixNorm ord = MatrixNorm::frobenius, const MatrixNormOptions& options = {});
// The norm of a times that of its inverse: [...], infinity of a singular matrix; of `two` and `minus_two` matrices need
// not be square.
//   linalg::cond(Array{{2.f, 0.f}, {0.f, 0.5f}})   // 4
Array cond(const Operand& a, MatrixNorm ord = MatrixNorm::two);

// a times itself, n times, a: [..., m, m]; of negative n the powers of its inverse. About 2·log2(n) products.
//   linalg::matrix_power(Array{{1, 1}, {1, 0}}, 10)   // {{89, 55}, {55, 34}}
Array matrix_power(const Operand& a, std::int64_t n);
// The product of several matrices, in the order that takes the fewest multiplications; the first may be a row, the last
// a column. Finding it takes time that grows as the cube of their number.
//   linalg::multi_dot({Array{{1.f, 2.f}}, Array{{1.f}, {1.f}}, Array{{2.f}}})   // 6
Array multi_dot(const Arrays& factors, const Source& where = std::source_location::current());

// x with tensordot(a, x, rank of x) = b, where `axes` of a go to its end first, in their order: then a has b's shape in
// front and x's behind it, of as many elements each. ShapeError where they differ.
//   linalg::tensorsolve(reshape(2.f * eye(4), {2, 2, 4}), Array{{2.f, 4.f}, {6.f, 8.f}})   // 1 2 3 4
Array tensorsolve(const Operand& a, const Operand& b, const std::vector<std::int64_t>& axes = {});
// The inverse of a as a map from arrays with the axes behind the first `ind` to arrays with those: the shapes of both
// change places. ShapeError where their elements differ in number.
//   linalg::tensorinv(reshape(4.f * eye(4), {2, 2, 4}))   // of shape [4, 2, 2]
Array tensorinv(const Operand& a, std::int64_t ind = 2);

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
// The same of m >= n, a = u·h, by iterations that are products, Q·R and Cholesky factors alone: those of Halley with
// weights that follow the least singular value (Nakatsukasa, Bai and Gygi 2010). Of full rank; a column or row of zeros
// stays one in u. `eps`: the unit of rounding by which weights and the end are chosen; where it is not given, that of
// the dtype that is computed in. num_iters: [...], i32, how many iterations each matrix took, of at most
// `max_iterations`; is_converged: [...], bool. Derivatives as those of polar. ShapeError where m < n.
//   linalg::qdwh(Array{{0.f, -2.f}, {2.f, 0.f}}).h   // {{2, 0}, {0, 2}}
struct QdwhOptions {
  std::int64_t max_iterations = 10;
  std::optional<double> eps = {};
};
struct Qdwh {
  Array u, h, num_iters, is_converged;
};
Qdwh qdwh(const Operand& a, const QdwhOptions& options = {});

// The x with x·x = a, complex, whose eigenvalues have no negative real parts: by Schur's form (Björck and Hammarling
// 1983), which upper triangular matrices are themselves, however far apart their elements are. a: [..., n, n]. Not
// finite where there is none, which can be where 0 is an eigenvalue twice. No derivatives.
//   linalg::sqrtm(Array{{4.f, 0.f}, {0.f, 9.f}})   // {{2, 0}, {0, 3}}
Array sqrtm(const Operand& a);

// The x with expm(x) = a, complex, also of a real a, whose eigenvalues have imaginary parts from -π to π. a: [..., n,
// n]. By Schur's form, square roots until it is near 1, and Padé's approximant in partial fractions (Al-Mohy and Higham
// 2012). Of a near 1 each element is exact to roundings of a - 1. NaN where a is singular. Derivatives where no
// eigenvalue is real and negative: there log jumps.
//   real(linalg::logm(Array{{1.f, 1.f}, {0.f, 1.f}}))   // {{0, 1}, {0, 0}}
Array logm(const Operand& a);

// The function of a: [..., n, n] that is f of its eigenvalues, which f takes as a complex array [..., n] and gives
// element by element: complex, by Schur's form and Parlett's recurrence, which wants eigenvalues that differ. `error`:
// [...], about how large its relative error may be, where they come near each other. No derivatives.
//   linalg::funm(Array{{1.f, 0.f}, {0.f, 4.f}}, [](const Array& w) { return sqrt(w); }).value   // {{1, 0}, {0, 2}}
struct FunctionOfMatrix {
  Array value, error;
};
FunctionOfMatrix funm(const Operand& a, const std::function<Array(const Array& eigenvalues)>& f);

// The exponential of a: [..., n, n], by Padé's approximants and squarings (Higham 2005). NaN where more than
// `max_squarings` squarings would be needed.
//   linalg::expm(Array{{0.f, 1.f}, {0.f, 0.f}})   // {{1, 1}, {0, 1}}
struct ExpmOptions {
  std::int64_t max_squarings = 16;
};
Array expm(const Operand& a, const ExpmOptions& options = {});
// The same and its derivative at a along e (Fréchet's), of one shape and dtype.
//   linalg::expm_frechet(zeros({2, 2}), Array{{0.f, 1.f}, {2.f, 0.f}}).derivative   // 0 1, 2 0
struct ExpmFrechet {
  Array value, derivative;
};
ExpmFrechet expm_frechet(const Operand& a, const Operand& e, const ExpmOptions& options = {});

// x with a·x + x·b = c, a: [..., m, m], b: [..., n, n], c: [..., m, n]; the axes before broadcast. By Schur's forms
// (Bartels and Stewart 1972), or `by_eigenvectors`. NaN where eigenvalues of a and -b come nearer than `tolerance`.
// Derivatives of any order.
//   linalg::solve_sylvester(Array{{1.f}}, Array{{2.f}}, Array{{6.f}})   // {{2}}
struct SylvesterOptions {
  bool by_eigenvectors = false;
  double tolerance = 1e-8;
};
Array solve_sylvester(const Operand& a, const Operand& b, const Operand& c, const SylvesterOptions& options = {});

}  // namespace tenon::linalg
