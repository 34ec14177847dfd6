// Bits of a state that counts on, as XLA has them.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/random.h"
#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"
#include "tenon/ops/random/threefry.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::random {
namespace {

Array state_word(const Array& state, std::int64_t i) { return squeeze(slice_in_dim(state, i, i + 1, 0), 0); }

// How many blocks of two words there are along each axis, and along which axis the words of a block are neighbours.
struct PairsOfWords {
  std::vector<std::int64_t> blocks;
  std::size_t axis;
};
PairsOfWords pairs_of(const Shape& shape) {
  if (!shape.known())
    throw UnsupportedError(
        fmt::format("random::rng_bit_generator: Threefry's words of a shape {} that is not known.", shape.text()),
        "Draw u64, or by Philox.");
  PairsOfWords made{shape.sizes(), 0};
  auto& sizes = made.blocks;
  auto chosen = std::ranges::find_if(sizes, [](std::int64_t n) { return n % 2 == 0; });
  if (chosen == sizes.end()) chosen = std::ranges::max_element(sizes);
  made.axis = static_cast<std::size_t>(chosen - sizes.begin());
  *chosen = (*chosen + 1) / 2;
  return made;
}

// The ciphertexts of the counter and of those behind it, in a shape.
TwoWords encrypted(const Array& key, const Array& counter, const Shape& shape) {
  const Array number = iota(DType::u64, {shape.elements()}, 0);
  const TwoWords counters = words_of(reshape(number + counter, shape)), keys = words_of(key);
  const auto word = [&](ThreefryOutput output) {
    return threefry2x32(output, broadcast_to(keys.lower, shape), broadcast_to(keys.upper, shape), counters.lower,
                        counters.upper);
  };
  return {word(ThreefryOutput::second), word(ThreefryOutput::first)};
}

struct Counted {
  Array bits;
  Dim blocks;
};
Counted by_threefry(const Array& state, const Shape& shape, DType dtype) {
  const Array key = state_word(state, 0), counter = state_word(state, 1);
  if (dtype == DType::u64) {
    const TwoWords words = encrypted(key, counter, shape);
    return {convert(words.lower, DType::u64) | shift_left(convert(words.upper, DType::u64), 32), shape.elements()};
  }
  if (shape.rank() == 0) return {convert(encrypted(key, counter, shape).lower, dtype), 1};
  const PairsOfWords pairs = pairs_of(shape);
  const Shape blocks(std::vector<Dim>(pairs.blocks.begin(), pairs.blocks.end()));
  const auto axis = static_cast<std::int64_t>(pairs.axis);
  const TwoWords words = encrypted(key, counter, blocks);
  std::vector<Dim> both(blocks.begin(), blocks.end());
  both[pairs.axis] = both[pairs.axis] * 2;
  const Array whole = reshape(stack({words.lower, words.upper}, axis + 1), Shape(both));
  return {convert(slice_in_dim(whole, 0, shape[pairs.axis], axis), dtype), blocks.elements()};
}

}  // namespace

StateAndBits rng_bit_generator(const Operand& given, const Shape& shape, DType dtype, BitGenerator generator) {
  const SourceScope place(given.where(), "random::rng_bit_generator");
  const Type& type = given->type();
  const bool halves = type.is_array() && type.dtype == DType::u32;
  if (!(halves || type.dtype == DType::u64) || type.rank() != 1 || type.shape[0] != Dim(halves ? 4 : 2))
    throw ShapeError(fmt::format("random::rng_bit_generator: the state is {}.", type.text()),
                     "Give u32[4] or u64[2], a key and a counter.");
  if (!is_unsigned_integer(dtype))
    throw DTypeError(fmt::format("random::rng_bit_generator: {} is not an unsigned integer dtype.", tenon::name(dtype)),
                     "Ask for u32.");
  if (std::ranges::any_of(shape, [](const Dim& n) { return decided_less(n, 0).value_or(false); }))
    throw ShapeError(fmt::format("random::rng_bit_generator: a size of the shape {} is negative.", shape.text()),
                     "Give sizes of 0 or more.");
  const Array state = halves ? bitcast(reshape(given, {2, 2}), DType::u64) : given.array();
  const auto in_halves = [](const Array& x) { return reshape(bitcast(x, DType::u32), {4}); };
  Counted made;
  if (generator == BitGenerator::philox4x32) {
    const Dim count = dtype == DType::u64 ? shape.elements() * 2 : shape.elements();
    made = {bits(in_halves(state), shape, dtype), floor_div(count + 3, 4)};
  } else {
    made = by_threefry(state, shape, dtype);
  }
  const Array behind = state_word(state, 1) + convert(size_as_array(made.blocks), DType::u64);
  const Array next = stack({state_word(state, 0), behind});
  return {halves ? in_halves(next) : next, made.bits};
}

}  // namespace tenon::random
