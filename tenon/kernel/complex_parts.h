// Real expressions that functions of complex numbers are made of.
#pragma once

#include <utility>

#include "tenon/kernel/complex_numbers.h"

namespace tenon::kernel::parts {

inline Expr number(const Expr& like, double value) { return constant_like(like, value); }
inline Expr zero(const Expr& like) { return number(like, 0); }
Expr infinity(const Expr& like);
inline Expr half_of(const Expr& x) { return x * number(x, 0.5); }

inline Expr magnitude(const Expr& x) { return unary(Unary::abs, x); }
inline Expr root(const Expr& x) { return unary(Unary::sqrt, x); }
inline Expr is_equal(const Expr& x, const Expr& y) { return binary(Binary::eq, x, y); }
inline Expr is_less(const Expr& x, const Expr& y) { return binary(Binary::lt, x, y); }
inline Expr both(const Expr& x, const Expr& y) { return binary(Binary::and_, x, y); }
inline Expr either(const Expr& x, const Expr& y) { return binary(Binary::or_, x, y); }
inline Expr is_zero(const Expr& x) { return is_equal(x, zero(x)); }
inline Expr is_infinite(const Expr& x) { return is_equal(magnitude(x), infinity(x)); }
inline Expr is_nan(const Expr& x) { return binary(Binary::ne, x, x); }
// x with the sign of y.
Expr with_sign(const Expr& x, const Expr& y);
// The larger and the smaller magnitude of the parts.
std::pair<Expr, Expr> magnitudes(const Pair& z);
// |z|, without overflow on the way: times `factor`.
Expr modulus(const Pair& z, const Expr& factor);
Pair exponential(const Pair& z);
Pair logarithm(const Pair& z);

// By the formulas of Hull, Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions using
// exception handling" (1997), and of Kahan, "Branch cuts for complex elementary functions" (1987). On a branch cut the
// sign of the zero beside it says which side is meant; infinities and NaN are as in C's Annex G.
Pair inverse_sine(const Pair& z);
Pair inverse_cosine(const Pair& z);
Pair inverse_tangent(const Pair& z);
// e^z - 1 and log(1 + z), within rounding of |result| near 0.
Pair exponential_less_one(const Pair& z);
Pair logarithm_of_one_and(const Pair& z);

}  // namespace tenon::kernel::parts
