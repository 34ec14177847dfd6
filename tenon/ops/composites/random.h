// Random numbers that are functions of a key, by counter-based generators, bit for bit as JAX has them.
// A key is u32[2], of Threefry, u32[4], of Philox, or u32[8], of PCG; nothing is consumed by drawing, so use each key
// once and split() it for more. Under vmap a batch of keys gives what a loop over them gives. Source of the generators:
// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#pragma once

#include "tenon/ir/array.h"

namespace tenon::random {

using Where = Source;

// The key of a seed: its upper and lower 32 bits. Of an array, one integer, of fewer bits the upper ones are 0.
//   random::key(7)   // 0 7
Array key(std::int64_t seed, const Where& where = std::source_location::current());
Array key(const Operand& seed);
// The same for a generator, which all that is drawn of the key, and of keys that are split from it, comes from. Philox:
// keys are split by Threefry, each half of four words; numbers are those that JAX's keys "rbg" give on processors. PCG:
// the words of a state and of an odd increment, the upper ones first; the key of a seed is the generator
// numpy.random.PCG64DXSM(seed), of negative seeds that of seed + 2^64, and bits() are those that it gives, 64 at once,
// the low ones first where fewer are asked for. Key j of split() is the ciphertext of (j, 0), …, (j, 3) under the key's
// four pairs of words, one after another, by Threefry; that of fold_in() of (data, 4), …, (data, 7).
//   random::key(7, random::Generator::philox4x32)   // 0 7 0 7
enum class Generator : std::uint8_t { threefry2x32, philox4x32, pcg64dxsm };
Array key(std::int64_t seed, Generator generator, const Where& where = std::source_location::current());
Array key(const Operand& seed, Generator generator);
// n new keys, u32[n,2], u32[n,4] or u32[n,8].
//   random::split(random::key(0))   // 1797259609 2579123966, 928981903 3453687069
Array split(const Operand& key, const Dim& n = 2);
// A new key for each number: fold_in(key, step). `data` is one integer, taken modulo 2^32.
//   random::fold_in(random::key(0), 1)   // 928981903 3453687069
Array fold_in(const Operand& key, const Operand& data);

// Uniform bits: u8, u16, u32 or u64 of this shape.
//   random::bits(random::key(0), {2})   // 4070199207 4202968722
Array bits(const Operand& key, const Shape& shape, DType dtype = DType::u32);
// Real numbers uniform in [low, high); as many random bits as the mantissa has.
//   random::uniform(random::key(0), {2})   // 0.947667 0.9785799
Array uniform(const Operand& key, const Shape& shape, DType dtype = DType::f32, const Operand& low = 0,
              const Operand& high = 1);
// Of mean 0 and variance 1; complex ones have that variance together, half of it in each part. Within 2 units in the
// last place of JAX's, which come through another logarithm.
//   random::normal(random::key(0), {2})   // 1.622642 2.025265
Array normal(const Operand& key, const Shape& shape, DType dtype = DType::f32);
// Integers in [low, high); low where the interval is empty. A size that is no power of two biases by less than
// size²/2^(2·bits of the dtype).
//   random::randint(random::key(0), {4}, 0, 10)   // 9 0 2 3
Array randint(const Operand& key, const Shape& shape, const Operand& low, const Operand& high,
              DType dtype = DType::i32);
// Of how many random bits a number is made: as many as its mantissa has, or twice as many, of which small
// probabilities and rare large numbers are made as often as they should.
enum class Resolution : std::uint8_t { low, high };
// true with probability p; the shape is p's where none is given.
//   random::bernoulli(random::key(0), 0.5, Shape{4})   // false false true true
Array bernoulli(const Operand& key, const Operand& p, std::optional<Shape> shape = std::nullopt,
                Resolution resolution = Resolution::low);
// -log(1 - u) of uniform u: of mean 1.
//   random::exponential(random::key(0), {2})   // 2.950128 3.843425
Array exponential(const Operand& key, const Shape& shape, DType dtype = DType::f32);
// -log(-log u): what is added to logits so that the largest is a sample of their distribution.
//   random::gumbel(random::key(0), {2})   // 2.923373 3.832618
Array gumbel(const Operand& key, const Shape& shape, DType dtype = DType::f32, Resolution resolution = Resolution::low);
// An index along `axis`, i32, with the probabilities softmax(logits).
//   random::categorical(random::key(0), Array{0.f, 200.f})   // 1
Array categorical(const Operand& key, const Operand& logits, std::int64_t axis = -1);

}  // namespace tenon::random
