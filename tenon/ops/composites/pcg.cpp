#include "tenon/ops/composites/pcg.h"

#include <algorithm>
#include <span>
#include <vector>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::pcg {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr std::uint64_t multiplier = 0xda942042e4dd58b5;
// Of the one step that NumPy takes where a generator is seeded.
constexpr Wide first_multiplier = (Wide(0x2360ed051fc65da4) << 64) | 0x4385df649fccf645;
constexpr std::int64_t width = 256;  // numbers that are found from one state

// How many of so many numbers: a divisor where there is one near, so that they lie in whole rows.
std::int64_t row_of_numbers(const Dim& count) {
  if (!count.known()) return width;
  const std::int64_t n = count.value();
  if (n <= width) return n;
  for (std::int64_t each = 2 * width; each >= width / 4; --each)
    if (n % each == 0) return each;
  return width;
}

Array word(std::uint32_t value) { return Array(Scalar(value)); }
Array number(std::uint64_t value) { return Array(Scalar(value)); }

// Integers of 128 bits, u64 each.
struct WideArray {
  Array upper, lower;
};
WideArray operator+(const WideArray& x, const WideArray& y) {
  const Array lower = x.lower + y.lower;
  return {x.upper + y.upper + convert(lower < x.lower, DType::u64), lower};
}
// The product of all bits of two numbers of 64, by halves.
WideArray product(const Array& x, const Array& y) {
  const Array mask = number(0xffffffff);
  const Array a = x & mask, b = shift_right(x, 32), c = y & mask, d = shift_right(y, 32);
  const Array low = a * c, first = a * d, second = b * c;
  const Array middle = shift_right(low, 32) + (first & mask) + (second & mask);
  return {b * d + shift_right(first, 32) + shift_right(second, 32) + shift_right(middle, 32),
          shift_left(middle, 32) | (low & mask)};
}
WideArray operator*(const WideArray& x, const WideArray& y) {
  const WideArray lower = product(x.lower, y.lower);
  return {lower.upper + x.upper * y.lower + x.lower * y.upper, lower.lower};
}

Array u64_of(const Array& upper, const Array& lower) {
  return shift_left(convert(upper, DType::u64), 32) | convert(lower, DType::u64);
}
WideArray wide_of(const Words& words, std::size_t first) {
  return {u64_of(words[first], words[first + 1]), u64_of(words[first + 2], words[first + 3])};
}

Array row_of(const std::vector<std::uint64_t>& values) {
  Buffer row = Buffer::allocate(DType::u64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), row.as<std::uint64_t>());
  return Array(row);
}
WideArray constants(std::span<const Wide> values) {
  std::vector<std::uint64_t> upper, lower;
  for (const Wide value : values) {
    upper.push_back(static_cast<std::uint64_t>(value >> 64));
    lower.push_back(static_cast<std::uint64_t>(value));
  }
  return {row_of(upper), row_of(lower)};
}

// Some steps: state ↦ factor · state + share · increment.
struct Map {
  Wide factor = 1, share = 0;
};
Map after(const Map& first, const Map& then) {
  return {then.factor * first.factor, then.factor * first.share + then.share};
}
constexpr Map one_step{multiplier, 1};

// States that lie `step` apart from each other, so many from each of `states` on, in a row.
WideArray states_from(const WideArray& states, const WideArray& increment, const Map& step, std::int64_t count) {
  std::vector<Wide> factors, shares;
  Map map;
  for (std::int64_t i = 0; i < count; ++i, map = after(map, step)) {
    factors.push_back(map.factor);
    shares.push_back(map.share);
  }
  const auto each = [](const Array& x) { return expand_dims(x, 1); };
  const WideArray made =
      WideArray{each(states.upper), each(states.lower)} * constants(factors) + constants(shares) * increment;
  const auto in_row = [](const Array& x) { return reshape(x, {x.shape()[0] * x.shape()[1]}); };
  return {in_row(made.upper), in_row(made.lower)};
}

// DXSM: a double xorshift with a multiplication between.
Array output_of(const WideArray& state) {
  Array x = state.upper ^ shift_right(state.upper, 32);
  x = x * number(multiplier);
  x = x ^ shift_right(x, 48);
  return x * (state.lower | number(1));
}

// What SeedSequence does to words: `factor` and the number with which it is mixed change each time.
struct Hash {
  std::uint32_t number, factor;
  Array operator()(Array x) {
    x = x ^ word(number);
    number *= factor;
    x = x * word(number);
    return x ^ shift_right(x, 16);
  }
};
Array mixed(const Array& x, const Array& y) {
  const Array made = word(0xca01f9dd) * x - word(0x4973f715) * y;
  return made ^ shift_right(made, 16);
}

}  // namespace

Words seeded(const Array& upper, const Array& lower) {
  Hash hash{0x43b0d7e5, 0x931e8875};
  const Array zero = word(0);
  std::array<Array, 4> pool{hash(lower), hash(upper), hash(zero), hash(zero)};
  for (std::size_t from = 0; from < 4; ++from)
    for (std::size_t to = 0; to < 4; ++to)
      if (from != to) pool[to] = mixed(pool[to], hash(pool[from]));
  Hash drawn{0x8b51f9dd, 0x58f38ded};
  Words words;  // of four numbers of 64 bits: a state and which sequence, the upper half of each first
  for (std::size_t i = 0; i < 8; ++i) words[i ^ 1] = drawn(pool[i % 4]);
  const WideArray start = wide_of(words, 0), sequence = wide_of(words, 4);
  const WideArray increment{shift_left(sequence.upper, 1) | shift_right(sequence.lower, 63),
                            shift_left(sequence.lower, 1) | number(1)};
  const WideArray factor{number(static_cast<std::uint64_t>(first_multiplier >> 64)),
                         number(static_cast<std::uint64_t>(first_multiplier))};
  const WideArray state = factor * (start + increment) + increment;
  const TwoWords parts[] = {words_of(state.upper), words_of(state.lower), words_of(increment.upper),
                            words_of(increment.lower)};
  for (std::size_t i = 0; i < 4; ++i) words[2 * i] = parts[i].upper, words[2 * i + 1] = parts[i].lower;
  return words;
}

Array numbers(const Words& words, const Dim& count) {
  const WideArray increment = [&] {
    const WideArray made = wide_of(words, 4);
    return WideArray{made.upper, made.lower | number(1)};
  }();
  // How many states there are at each distance: all of them, one of `width`, one of their square, and so on.
  struct Level {
    Dim states;
    std::int64_t each;
    Map step;
  };
  std::vector<Level> levels;
  Dim left = count;
  constexpr std::size_t most = 5;  // 2⁴⁰ numbers
  for (Map step = one_step; levels.size() < most && left.try_value() != 1;) {
    const std::int64_t each = row_of_numbers(left);
    if (each == 0) return zeros({left}, DType::u64);
    levels.push_back({left, each, step});
    left = floor_div(left + (each - 1), each);
    Map all;
    for (std::int64_t i = 0; i < each; ++i) all = after(all, step);
    step = all;
  }
  const auto first = [&](const Array& x) { return broadcast_to(reshape(x, {1}), {left}); };
  const WideArray start = wide_of(words, 0);
  WideArray states{first(start.upper), first(start.lower)};
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    states = states_from(states, increment, level->step, level->each);
    const auto used = [&](const Array& x) { return slice_in_dim(x, 0, level->states, 0); };
    states = {used(states.upper), used(states.lower)};
  }
  return output_of(states);
}

}  // namespace tenon::pcg
