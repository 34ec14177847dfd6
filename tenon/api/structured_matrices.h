// Matrices whose elements follow from their places: of a vector's elements (Toeplitz, Hankel, Leslie, companion), and
// of their size alone (Hilbert, Pascal, Hadamard, Fourier), as SciPy names them.
//
// Vectors stand along the last axis, a number is one of one element; the axes before are a batch, and those of two
// operands broadcast. Elements keep their dtype, of any kind where nothing else is said, and two operands meet in one.
// Sizes of vectors, and those given as a Dim, may vary. Derivatives of any order by the vectors' elements. DTypeError
// where a dtype is given that is not as it says.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/api/polynomials.h"
#include "tenon/api/signal.h"
#include "tenon/ir/array.h"

namespace tenon::linalg {

using tenon::companion;

// The matrices one behind the other along a diagonal, zeros beside them: as many rows and columns as they have
// together. A vector is a row, a number a matrix of one element; of no matrices [1, 0]. ShapeError where one has more
// axes.
//   linalg::block_diag({Array{{1, 2}}, Array{{3}}})   // {{1, 2, 0}, {0, 0, 3}}
Array block_diag(const Arrays& blocks, const Source& where = std::source_location::current());

// Constant diagonals, [..., m, n] of the first column c: [..., m] and the first row r: [..., n], whose first element is
// not read: c[i - j], or r[j - i]. Where r is not given, the conjugate of c: a Hermitian matrix if c[0] is real.
//   linalg::toeplitz(Array{1, 2, 3}, Array{9, 4})   // {{1, 4}, {2, 1}, {3, 2}}
Array toeplitz(const Operand& c, const MaybeArray& r = {});
// Constant antidiagonals, [..., m, n] of the first column c: [..., m] and the last row r: [..., n], whose first element
// is not read: c[i + j], or r[i + j - m + 1]. Where r is not given, zeros: [..., m, m].
//   linalg::hankel(Array{1, 2, 3}, Array{3, 4})   // {{1, 2}, {2, 3}, {3, 4}}
Array hankel(const Operand& c, const MaybeArray& r = {});
// Each column is the one before, moved down by one and around its end; c: [..., n] is the first: [..., n, n].
//   linalg::circulant(Array{1, 2, 3})   // {{1, 3, 2}, {2, 1, 3}, {3, 2, 1}}
Array circulant(const Operand& c);

// The matrix whose product with a vector of n elements is signal::convolve(a, vector), or the part of it that `mode`
// says: of a: [..., m] and of all of it [..., m + n - 1, n]. ShapeError where a or the vector has no elements.
//   linalg::convolution_matrix(Array{1, 2}, 2)   // {{1, 0}, {2, 1}, {0, 2}}
Array convolution_matrix(const Operand& a, const Dim& n, signal::Extent mode = signal::Extent::full);

// How a population of n ages goes on in a step: fertilities f: [..., n] in the first row, rates of survival s: [..., n
// - 1] below the diagonal, zeros elsewhere. ShapeError where n is less than 2, or s has another size.
//   linalg::leslie(Array{0.5f, 2.f}, Array{0.25f})   // {{0.5, 2}, {0.25, 0}}
Array leslie(const Operand& f, const Operand& s);

// The distances |a[i] - a[j]| of the elements of a: [..., n], real where they are complex. Differences of unsigned
// integers wrap. Not of bool: a DTypeError.
//   linalg::fiedler(Array{1, 4, 6})   // {{0, 3, 5}, {3, 0, 2}, {5, 2, 0}}
Array fiedler(const Operand& a);
// The matrix of five diagonals, [..., n, n], whose characteristic polynomial has the coefficients a: [..., n + 1], the
// highest first (Fiedler 2003), as companion() has one in its first row. Integers become f32 (64-bit ones f64). Not
// finite where a begins with 0; ShapeError where it has no element.
//   linalg::fiedler_companion(Array{1.f, -3.f, 2.f})   // {{3, -2}, {1, 0}}
Array fiedler_companion(const Operand& a);

// 1 / (i + j + 1): [n, n] of f32 or another real dtype, rounded once.
//   linalg::hilbert(2)   // {{1, 0.5}, {0.5, 0.33333333}}
Array hilbert(const Dim& n, DType dtype = DType::f32, const Source& where = std::source_location::current());
// Its inverse, of whole numbers: exact where the dtype holds them, and rounded elsewhere.
//   linalg::invhilbert(2)   // {{4, -6}, {-6, 12}}
Array invhilbert(std::int64_t n, DType dtype = DType::f32, const Source& where = std::source_location::current());

// Binomial coefficients, [n, n] of f32 or another real dtype: C(i + j, i), or C(i, j) below the diagonal and on it, or
// C(j, i) above. The symmetric matrix is the product of the two others. Exact where the dtype holds them, and rounded
// elsewhere.
//   linalg::pascal(3)   // {{1, 1, 1}, {1, 2, 3}, {1, 3, 6}}
enum class PascalKind { symmetric, lower, upper };
Array pascal(std::int64_t n, PascalKind kind = PascalKind::symmetric, DType dtype = DType::f32,
             const Source& where = std::source_location::current());
// Its inverse, of whole numbers.
//   linalg::invpascal(2)   // {{2, -1}, {-1, 1}}
Array invpascal(std::int64_t n, PascalKind kind = PascalKind::symmetric, DType dtype = DType::f32,
                const Source& where = std::source_location::current());

// Orthogonal rows of 1 and -1, [n, n] (Sylvester's): -1 where the binary digits that i and j share are odd in number.
// n is a positive power of 2: otherwise a ShapeError. Any dtype; -1 of unsigned integers is the largest of them.
//   linalg::hadamard(2)   // {{1, 1}, {1, -1}}
Array hadamard(std::int64_t n, DType dtype = DType::i32, const Source& where = std::source_location::current());

// Orthonormal contrasts of n values, a row each, [n - 1, n] of f32 or another real dtype: the sum of the first i less i
// times the next one. `full`: a row of equal elements before them, [n, n]. ShapeError where n is not positive.
//   linalg::helmert(2)   // {{0.70710678, -0.70710678}}
struct HelmertOptions {
  bool full = false;
};
Array helmert(std::int64_t n, DType dtype = DType::f32, const HelmertOptions& options = {},
              const Source& where = std::source_location::current());

// The matrix of the discrete Fourier transform of n samples, exp(-2πi jk / n): [n, n] of c64 or c128. Quarters of a
// turn are exact. Divided by √n, which makes it unitary, or by n. DTypeError of a dtype that is not complex.
//   linalg::dft(2)   // {{1, 1}, {1, -1}}
enum class DftScale { sqrtn, n };
Array dft(std::int64_t n, std::optional<DftScale> scale = {}, DType dtype = DType::c64,
          const Source& where = std::source_location::current());

}  // namespace tenon::linalg
