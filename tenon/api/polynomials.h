// Polynomials as vectors of coefficients, the highest first, as NumPy has them.
//
// Of real or complex numbers; operands meet in one dtype. Derivatives of any order in coefficients and places, but for
// roots(), whose derivatives are those of eigenvalues. Throws ShapeError where coefficients are no vector.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/ir/array.h"

namespace tenon {

// p[0] xⁿ + … + p[n] at each element of x, by Horner's rule: x's shape. Of no coefficients 0.
//   polyval(Array{1.f, 0.f, -1.f}, Array{2.f, 3.f})   // 3 8
Array polyval(const Operand& p, const Operand& x);

// Sums, differences and products; of the longer one's size, or n + m - 1. Zeros in front stay. Products of integers are
// those of f32 (of 64-bit ones f64).
//   polymul(Array{1.f, 1.f}, Array{1.f, -1.f})   // 1 0 -1
Array polyadd(const Operand& p, const Operand& q);
Array polysub(const Operand& p, const Operand& q);
Array polymul(const Operand& p, const Operand& q);
// u = quotient·v + remainder, of max(n - m + 1, 1) and n coefficients. Integers become f32 (64-bit ones f64). Not
// finite where v begins with 0. Throws ShapeError where v is empty.
//   polydiv(Array{1.f, 2.f, 3.f, 4.f}, Array{1.f, 2.f}).quotient   // 1 0 3
struct PolynomialDivision {
  Array quotient, remainder;
};
PolynomialDivision polydiv(const Operand& u, const Operand& v);

// The m-th derivative, and the m-th integral with the constants of integration, the first of them of the first integral
// (0, where they are not given; one for all, or m of them). Integers become f32 (64-bit ones f64).
//   polyder(Array{1.f, 2.f, 3.f})   // 2 2
//   polyint(Array{2.f, 2.f})        // 1 2 0
Array polyder(const Operand& p, std::int64_t m = 1);
Array polyint(const Operand& p, std::int64_t m = 1, const MaybeArray& constants = {});

// The polynomial with these zeros, a vector, and first coefficient 1; of a square matrix the characteristic one.
//   poly(Array{1.f, 2.f})   // 1 -3 2
Array poly(const Operand& zeros);
// The n - 1 zeros of n coefficients, complex, as eigenvalues of the companion matrix. Of zeros in front each has NaN in
// place of a zero, at the end; of zeros behind it a zero at 0.
//   roots(Array{1.f, -3.f, 2.f})   // 2 1
Array roots(const Operand& p);
// [..., n] -> [..., n - 1, n - 1], whose eigenvalues are the zeros.
//   companion(Array{1.f, -3.f, 2.f})   // 3 -2, 1 0
Array companion(const Operand& p);

// The powers of a vector's elements as columns, n of them (as many as there are elements), the highest first, or the
// lowest.
//   vander(Array{2.f, 3.f}, 3)   // 4 2 1, 9 3 1
struct VanderOptions {
  bool increasing = false;
};
Array vander(const Operand& x, const std::optional<Dim>& n = {}, const VanderOptions& options = {});

// The polynomial of a degree with the least Σ (w (p(x) - y))². x: [m], y: [m] or [m, k] for k of them, w: [m], 1 where
// it is not given. Singular values up to `rcond` times the largest count as 0 (m units of rounding). coefficients:
// [degree + 1] or [degree + 1, k]; residuals, rank and singular values as those of linalg::lstsq. Throws ShapeError
// where sizes differ, or the degree is negative.
//   polyfit(Array{0.f, 1.f, 2.f}, Array{1.f, 3.f, 5.f}, 1).coefficients   // 2 1
struct PolyfitOptions {
  MaybeArray weights = {}, rcond = {};
  bool covariance = false;  // whether the coefficients' is wanted
};
struct PolynomialFit {
  Array coefficients, residuals, rank, singular_values;
  Array unscaled_covariance;  // of the coefficients, [degree + 1, degree + 1]: times the variance of y about p
};
PolynomialFit polyfit(const Operand& x, const Operand& y, std::int64_t degree, const PolyfitOptions& options = {});

}  // namespace tenon
