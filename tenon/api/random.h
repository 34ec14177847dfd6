// Random numbers of distributions, made of uniform and normal ones (tenon/ops/random.h): as jax.random draws them, so
// of one key the same numbers but for roundings.
//
// `shape` is that of the result, to which parameters broadcast; where it is not given, the one in which they meet.
// Parameters are taken in `dtype`, a real one. Each key is used once. Throws ShapeError where parameters do not
// broadcast to the shape, or the key is not u32[2]; DTypeError where the dtype is no real one.
#pragma once

#include <optional>

#include "tenon/ops/random.h"

namespace tenon::random {

using MaybeShape = std::optional<Shape>;

// --- of uniform and normal numbers ---
// Of density exp(-|x|) / 2; of 1 / (π (1 + x²)); whose distribution is 1 / (1 + exp(-x)).
Array laplace(const Operand& key, const Shape& shape, DType dtype = DType::f32);
Array cauchy(const Operand& key, const Shape& shape, DType dtype = DType::f32);
Array logistic(const Operand& key, const Shape& shape, DType dtype = DType::f32);
// Of density b x^(-b-1), from 1 on.
Array pareto(const Operand& key, const Operand& b, const MaybeShape& shape = {}, DType dtype = DType::f32);
// Lengths of normal vectors in the plane, times a scale; in space; and those with a sign, times a scale, around loc.
Array rayleigh(const Operand& key, const Operand& scale, const MaybeShape& shape = {}, DType dtype = DType::f32);
Array maxwell(const Operand& key, const Shape& shape, DType dtype = DType::f32);
Array double_sided_maxwell(const Operand& key, const Operand& loc, const Operand& scale, const MaybeShape& shape = {},
                           DType dtype = DType::f32);
// scale · (-log u)^(1/concentration): Weibull's.
Array weibull_min(const Operand& key, const Operand& scale, const Operand& concentration, const MaybeShape& shape = {},
                  DType dtype = DType::f32);
// exp(sigma · normal).
Array lognormal(const Operand& key, const Operand& sigma = 1.0, const MaybeShape& shape = {}, DType dtype = DType::f32);
// When a Brownian motion with drift reaches 1, scaled to a mean (Michael, Schucany and Haas 1976).
Array wald(const Operand& key, const Operand& mean, const MaybeShape& shape = {}, DType dtype = DType::f32);
// Whose density is a triangle from left over mode to right.
Array triangular(const Operand& key, const Operand& left, const Operand& mode, const Operand& right,
                 const MaybeShape& shape = {}, DType dtype = DType::f32);
// Normal numbers, given that they lie in (lower, upper).
Array truncated_normal(const Operand& key, const Operand& lower, const Operand& upper, const MaybeShape& shape = {},
                       DType dtype = DType::f32);
// -1 or 1, of uniform numbers of `drawn`.
Array rademacher(const Operand& key, const Shape& shape, DType dtype = DType::i32, DType drawn = DType::f64);
// How many trials there are up to the first that succeeds, each with probability p.
Array geometric(const Operand& key, const Operand& p, const MaybeShape& shape = {}, DType dtype = DType::i32);

// --- gamma, and what is made of it ---
// Of density x^(a-1) exp(-x) / Γ(a), by Marsaglia and Tsang (2000), each number by itself; and their logarithms, which
// do not underflow where a is small. Derivatives in a, of any order, move a number so that its probability stays.
//   random::gamma(random::key(0), 2.0, Shape{3})
Array gamma(const Operand& key, const Operand& a, const MaybeShape& shape = {}, DType dtype = DType::f32);
Array loggamma(const Operand& key, const Operand& a, const MaybeShape& shape = {}, DType dtype = DType::f32);
// Of density x^(a-1) (1-x)^(b-1) / B(a, b).
Array beta(const Operand& key, const Operand& a, const Operand& b, const MaybeShape& shape = {},
           DType dtype = DType::f32);
// Vectors [..., n] of positive numbers whose sum is 1, of density Π xₖ^(alphaₖ - 1) / B(alpha); alpha: [..., n].
// `shape` is that of the vectors' batch.
Array dirichlet(const Operand& key, const Operand& alpha, const MaybeShape& shape = {}, DType dtype = DType::f32);
// Sums of df squares of normal numbers; quotients of the means of such; Student's.
Array chisquare(const Operand& key, const Operand& df, const MaybeShape& shape = {}, DType dtype = DType::f32);
Array f(const Operand& key, const Operand& dfnum, const Operand& dfden, const MaybeShape& shape = {},
        DType dtype = DType::f32);
Array t(const Operand& key, const Operand& df, const MaybeShape& shape = {}, DType dtype = DType::f32);

// --- counts ---
// How many events there are where `rate` are expected (NaN: -1): few by products of uniform numbers (Knuth), many by
// transformed rejection (Hörmann 1993). The rate is taken in f32; `dtype` is an integer one.
Array poisson(const Operand& key, const Operand& rate, const MaybeShape& shape = {}, DType dtype = DType::i32);
// How many of n trials succeed, each with probability p, as real numbers; NaN where n < 0 or p < 0. Few by geometric
// numbers (Devroye 1986), many by transformed rejection.
Array binomial(const Operand& key, const Operand& n, const Operand& p, const MaybeShape& shape = {},
               DType dtype = DType::f32);

}  // namespace tenon::random
