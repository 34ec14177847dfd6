// Linear systems and factors of matrices in the last two axes; the axes before them are a batch.
//
// Of f32, f64, c64 and c128; integers become f32 (64-bit ones f64); f8, f16 and bf16 are factored in f32.
// Derivatives of any order, forward and reverse. Real matrices run natively, a batch of them or the parts of a large
// one on all threads, with the same result on any number of them.
#pragma once

#include "tenon/ir/array.h"

namespace tenon {

// The lower triangular L with L·Lᴴ = a, zero above the diagonal. a: [..., n, n], symmetric (Hermitian) and positive
// definite; the mean of a and aᴴ is factored, unless `symmetrize` is false: then a's lower triangle counts alone. A
// matrix that is not positive definite gives NaN in the whole lower triangle. ShapeError where a is not square.
//
//   cholesky(Array{{4.f, 2.f}, {2.f, 5.f}})   // {{2, 0}, {1, 2}}
struct CholeskyOptions {
  bool symmetrize = true;
};
Array cholesky(const Operand& a, const CholeskyOptions& options = {});

// x with op(a)·x = b (left_side) or x·op(a) = b, where a is triangular: what stands in its other triangle is not read,
// and with unit_diagonal its diagonal counts as ones. op(a) is a, its transpose, or with conjugate_a the conjugate of
// either. a: [..., n, n]; b: [..., n, m] ([..., m, n] on the right side), with the same axes before, or none of them. A
// zero on the diagonal gives Inf or NaN.
//
//   triangular_solve(Array{{2.f, 0.f}, {1.f, 2.f}}, Array{{2.f}, {5.f}}, {.left_side = true, .lower = true})   // 1, 2
struct TriangularOptions {
  bool left_side = false, lower = false, transpose_a = false, conjugate_a = false, unit_diagonal = false;
};
Array triangular_solve(const Operand& a, const Operand& b, const TriangularOptions& options = {});

// x with a·x = b, by factors with pivoting. a: [..., n, n]; b: [n], a vector, or [..., n, m]; the axes before
// broadcast. A singular matrix gives Inf or NaN: nothing is thrown. Under jit factors of one matrix are made once: for
// a value and its gradient, and before a loop whose steps all solve with it.
//
//   solve(Array{{2.f, 1.f}, {1.f, 3.f}}, Array{3.f, 5.f})   // 0.8 1.4
Array solve(const Operand& a, const Operand& b);

// The inverse: solve(a, eye(n)) of each matrix. a: [..., n, n]. solve(a, b) is faster and more accurate than inv(a)·b.
//   inv(Array{{2.f, 0.f}, {0.f, 4.f}})   // 0.5 0, 0 0.25
Array inv(const Operand& a);

}  // namespace tenon
