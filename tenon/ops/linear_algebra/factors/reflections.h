// Products of Householder's reflections 1 - τ·v·vᴴ, as products of matrices.
//
// The product of k of them is 1 - v·t·vᴴ, where t⁻¹ is diag(1/τ) and above its diagonal vᴴ·v (Puglisi 1992; Joffrain
// and others 2006). t is applied by a triangular system that holds for τ = 0 too, no reflection.
#pragma once

#include "tenon/ir/array.h"

namespace tenon::matrices {

// The first k columns of h: [..., m, n] below their diagonal, which is 1.
Array reflection_vectors(const Array& h, const Dim& k);
// What t⁻¹ times τ has: 1 on the diagonal, and this above.
Array reflection_system(const Array& v, const Array& taus);
// The product of the reflections times x: [..., m, n], or `backwards` its adjoint times x. v: [..., m, k]; taus: [...,
// k].
Array reflected(const Array& v, const Array& taus, const Array& x, bool backwards = false);
}  // namespace tenon::matrices
