// Random numbers of distributions, vectors and choices, made of uniform and normal ones
// (tenon/ops/composites/random.h): as jax.random draws them, so of one key the same numbers but for roundings.
//
// `shape` is that of the result, to which parameters broadcast; where it is not given, the one in which they meet.
// Parameters are taken in `dtype`, a real one. Each key is used once. Throws ShapeError where parameters do not
// broadcast to the shape, or the key is not u32[2]; DTypeError where the dtype is no real one.
#pragma once

#include <concepts>
#include <optional>

#include "tenon/ops/composites/random.h"

namespace tenon::random {

using MaybeShape = std::optional<Shape>;

// --- of uniform and normal numbers ---
// Of density exp(-|x|) / 2; of 1 / (π (1 + x²)); whose distribution is 1 / (1 + exp(-x)).
//   random::laplace(random::key(0), {3})
//   random::cauchy(random::key(0), {3}, DType::f64)
Array laplace(const Operand& key, const Shape& shape, DType dtype = DType::f32);
Array cauchy(const Operand& key, const Shape& shape, DType dtype = DType::f32);
Array logistic(const Operand& key, const Shape& shape, DType dtype = DType::f32);
// Of density b x^(-b-1), from 1 on.
//   random::pareto(random::key(0), 3.f, Shape{2})
Array pareto(const Operand& key, const Operand& b, const MaybeShape& shape = {}, DType dtype = DType::f32);
// Lengths of normal vectors in the plane, times a scale; in space; and those with a sign, times a scale, around loc.
//   random::rayleigh(random::key(0), Array{1.f, 2.f})   // of shape [2]
Array rayleigh(const Operand& key, const Operand& scale, const MaybeShape& shape = {}, DType dtype = DType::f32);
Array maxwell(const Operand& key, const Shape& shape, DType dtype = DType::f32);
Array double_sided_maxwell(const Operand& key, const Operand& loc, const Operand& scale, const MaybeShape& shape = {},
                           DType dtype = DType::f32);
// scale · (-log u)^(1/concentration): Weibull's. Parameters of more axes than `shape` share its numbers.
//   random::weibull_min(random::key(0), 0.f, 2.f)   // 0
Array weibull_min(const Operand& key, const Operand& scale, const Operand& concentration, const MaybeShape& shape = {},
                  DType dtype = DType::f32);
// exp(sigma · normal).
//   random::lognormal(random::key(0), 0.0, Shape{2})   // 1 1
Array lognormal(const Operand& key, const Operand& sigma = 1.0, const MaybeShape& shape = {}, DType dtype = DType::f32);
// When a Brownian motion with drift reaches 1, scaled to a mean (Michael, Schucany and Haas 1976).
//   random::wald(random::key(0), 2.f, Shape{3})
Array wald(const Operand& key, const Operand& mean, const MaybeShape& shape = {}, DType dtype = DType::f32);
// Whose density is a triangle from left over mode to right.
//   random::triangular(random::key(0), 0.f, 1.f, 4.f, Shape{3})
Array triangular(const Operand& key, const Operand& left, const Operand& mode, const Operand& right,
                 const MaybeShape& shape = {}, DType dtype = DType::f32);
// Normal numbers, given that they lie in (lower, upper).
//   random::truncated_normal(random::key(0), -1.f, 1.f, Shape{3})
Array truncated_normal(const Operand& key, const Operand& lower, const Operand& upper, const MaybeShape& shape = {},
                       DType dtype = DType::f32);
// -1 or 1, of uniform numbers of `drawn`.
//   random::rademacher(random::key(0), {4})   // 1 1 -1 -1
Array rademacher(const Operand& key, const Shape& shape, DType dtype = DType::i32, DType drawn = DType::f64);
// How many trials there are up to the first that succeeds, each with probability p.
//   random::geometric(random::key(0), 1.0)   // 1
Array geometric(const Operand& key, const Operand& p, const MaybeShape& shape = {}, DType dtype = DType::i32);

// --- gamma, and what is made of it ---
// Of density x^(a-1) exp(-x) / Γ(a), by Marsaglia and Tsang (2000), each number by itself; and their logarithms, which
// do not underflow where a is small. Derivatives in a, of any order, move a number so that its probability stays.
//   random::gamma(random::key(0), 2.0, Shape{3})
Array gamma(const Operand& key, const Operand& a, const MaybeShape& shape = {}, DType dtype = DType::f32);
Array loggamma(const Operand& key, const Operand& a, const MaybeShape& shape = {}, DType dtype = DType::f32);
// Of density x^(a-1) (1-x)^(b-1) / B(a, b).
//   random::beta(random::key(0), 2.f, 3.f, Shape{4})
Array beta(const Operand& key, const Operand& a, const Operand& b, const MaybeShape& shape = {},
           DType dtype = DType::f32);
// Vectors [..., n] of positive numbers whose sum is 1, of density Π xₖ^(alphaₖ - 1) / B(alpha); alpha: [..., n].
// `shape` is that of the vectors' batch.
//   sum(random::dirichlet(random::key(0), Array{1.f, 2.f, 3.f}))   // 1
Array dirichlet(const Operand& key, const Operand& alpha, const MaybeShape& shape = {}, DType dtype = DType::f32);
// Sums of df squares of normal numbers; quotients of the means of such; Student's.
//   random::chisquare(random::key(0), 3.f, Shape{2})
//   random::t(random::key(0), 5.f, Shape{2})
Array chisquare(const Operand& key, const Operand& df, const MaybeShape& shape = {}, DType dtype = DType::f32);
Array f(const Operand& key, const Operand& dfnum, const Operand& dfden, const MaybeShape& shape = {},
        DType dtype = DType::f32);
Array t(const Operand& key, const Operand& df, const MaybeShape& shape = {}, DType dtype = DType::f32);

// --- counts ---
// How many events there are where `rate` are expected (NaN: -1): few by products of uniform numbers (Knuth), many by
// transformed rejection (Hörmann 1993). The rate is taken in f32; `dtype` is an integer one.
//   random::poisson(random::key(0), Array{0.f, NAN})   // 0 -1
Array poisson(const Operand& key, const Operand& rate, const MaybeShape& shape = {}, DType dtype = DType::i32);
// How many of n trials succeed, each with probability p, as real numbers; NaN where n < 0 or p < 0. Few by geometric
// numbers (Devroye 1986), many by transformed rejection.
//   random::binomial(random::key(0), 5.0, 1.0)   // 5
Array binomial(const Operand& key, const Operand& n, const Operand& p, const MaybeShape& shape = {},
               DType dtype = DType::f32);
// How many of n trials have each of the outcomes along the last axis of p, [..., m], their probabilities: [..., m],
// real numbers whose sum is n. One binomial number after another; n broadcasts to the axes before. `shape` is that of
// the result, the last axis too.
//   random::multinomial(random::key(0), 5, Array{0.f, 1.f})   // 0 5
Array multinomial(const Operand& key, const Operand& n, const Operand& p, const MaybeShape& shape = {},
                  DType dtype = DType::f32);

// --- vectors and matrices ---
// Normal vectors [..., n] of mean [..., n] and covariance [..., n, n], by the factor of the covariance that is named:
// `cholesky` where it is positive definite, the others where it has no negative eigenvalues. `shape` is that of the
// vectors' batch. Derivatives in both.
//   random::multivariate_normal(random::key(0), Array{1.f, 2.f}, eye(2), {.shape = Shape{100}})
enum class Factor : std::uint8_t { cholesky, eigh, svd };
struct MultivariateNormalOptions {
  MaybeShape shape = {};
  DType dtype = DType::f32;
  Factor factor = Factor::cholesky;
};
Array multivariate_normal(const Operand& key, const Operand& mean, const Operand& covariance,
                          const MultivariateNormalOptions& options = {});
// Matrices [*shape, n, m] with orthonormal columns, or rows where m is larger, all rotations of one being as likely
// (Mezzadri 2007). Real or complex.
//   random::orthogonal(random::key(0), 3, 2)   // of shape [3, 2]
Array orthogonal(const Operand& key, const Dim& n, const Dim& m, const Shape& shape = {}, DType dtype = DType::f32);
// Numbers of density exp(-|x|^p) up to a factor; signs are made of uniform numbers of `drawn`.
//   random::generalized_normal(random::key(0), 3.f, Shape{2})
Array generalized_normal(const Operand& key, const Operand& p, const MaybeShape& shape = {}, DType dtype = DType::f32,
                         DType drawn = DType::f64);
// Points [*shape, d], uniform in the ball of radius 1 of the norm (Σ |xₖ|^p)^(1/p) (Barthe et al. 2005).
//   random::ball(random::key(0), 3)
Array ball(const Operand& key, const Dim& d, const Operand& p = 2, const Shape& shape = {}, DType dtype = DType::f32,
           DType drawn = DType::f64);

// --- of what is there ---
// Indices along `axis`, i32, with the probabilities softmax(logits). `shape` is that of the result: the logits' other
// axes, or more in front of them. Without `replace` those in front are all different.
//   random::categorical(random::key(0), zeros({3}), 0, {.shape = Shape{3}, .replace = false})   // no two alike
struct CategoricalOptions {
  MaybeShape shape = {};
  bool replace = true;
  Resolution resolution = Resolution::low;
};
Array categorical(const Operand& key, const Operand& logits, std::int64_t axis, const CategoricalOptions& options);

// 0 … n - 1 in another order, all orders being as likely but for less than 1 in n³; and the elements of x along an
// axis, whole slices of the others together, or each line by itself (`independent`).
//   random::permutation(random::key(0), 5)
Array permutation(const Operand& key, const Dim& n, DType dtype = DType::i32);
struct PermutationOptions {
  std::int64_t axis = 0;
  bool independent = false;
};
//   random::permutation(random::key(0), Array{{1, 2}, {3, 4}}, {.axis = 1})
template <std::same_as<Array> A>
Array permutation(const Operand& key, const A& x, const PermutationOptions& options = {});

// Numbers of 0 … n - 1 in a shape, with or without replacement, as likely as `p` says, [n] (where it is not given, all
// alike); and the elements of x along an axis, which the shape's axes replace. The indices are drawn in the dtype
// `index`. Throws ShapeError where more are asked for without replacement than there are.
//   random::choice(random::key(0), 3, Shape{10}, {.p = Array{0.5f, 0.25f, 0.25f}})
struct ChoiceOptions {
  bool replace = true;
  std::optional<Array> p = {};
  std::int64_t axis = 0;
  DType index = DType::i32;
  Resolution resolution = Resolution::low;  // of draws with probabilities, without replacement
};
Array choice(const Operand& key, const Dim& n, const Shape& shape = {}, const ChoiceOptions& options = {});
template <std::same_as<Array> A>
Array choice(const Operand& key, const A& x, const Shape& shape = {}, const ChoiceOptions& options = {});

// --- bits of a state ---
// Uniform bits u8, u16, u32 or u64 of a state, and the state behind them, of which the next ones are: those that XLA's
// RngBitGenerator gives on processors, which jax.lax.rng_bit_generator is. state: u64[2], a key and a counter, or
// u32[4], their halves, the lower ones first. Philox takes a block of four words for each count, its key also the upper
// half of the counter; Threefry one of two words: halves of numbers of 64 bits, or neighbours along the first axis of
// even size, where there is none along the longest axis, with one more. Narrower ones are the low bits of 32. No
// derivatives. Under vmap a batch of states gives what a loop over them gives.
//   random::rng_bit_generator(random::key(7, random::Generator::philox4x32), {2}).bits   // 3109483441 1367189518
enum class BitGenerator : std::uint8_t { threefry2x32, philox4x32 };
struct StateAndBits {
  Array state, bits;
};
StateAndBits rng_bit_generator(const Operand& state, const Shape& shape, DType dtype = DType::u32,
                               BitGenerator generator = BitGenerator::philox4x32);

// --- definitions of templates ---
namespace detail {
Array permuted(const Operand& key, const Array& x, const PermutationOptions& options);
Array chosen(const Operand& key, const Array& x, const Shape& shape, const ChoiceOptions& options);
}  // namespace detail
template <std::same_as<Array> A>
Array permutation(const Operand& key, const A& x, const PermutationOptions& options) {
  return detail::permuted(key, x, options);
}
template <std::same_as<Array> A>
Array choice(const Operand& key, const A& x, const Shape& shape, const ChoiceOptions& options) {
  return detail::chosen(key, x, shape, options);
}

}  // namespace tenon::random
