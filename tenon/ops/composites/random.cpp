#include "tenon/ops/composites/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenon/ops/composites/pcg.h"
#include "tenon/ops/composites/philox.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/random/generator_words.h"
#include "tenon/ops/random/threefry.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::random {

std::optional<Generator> generator_of_words(std::int64_t count) {
  if (count == 2) return Generator::threefry2x32;
  if (count == 4) return Generator::philox4x32;
  if (count == 8) return Generator::pcg64dxsm;
  return std::nullopt;
}

namespace {

// Which generator a key is of. Throws ShapeError where it is none.
Generator generator_of(std::string_view op, const Array& key) {
  if (key.dtype() == DType::u32 && key.rank() == 1 && key.shape()[0].known())
    if (const auto found = generator_of_words(key.shape()[0].value())) return *found;
  throw ShapeError(
      fmt::format("random::{}: the key is {}, not u32[2].", op, key.type().text()),
      "Make keys with random::key(seed) and random::split() (tn::split cuts an array into parts), u32[4] those of "
      "Philox, u32[8] those of PCG; map over several with vmap.");
}
void require_key(std::string_view op, const Array& key) { generator_of(op, key); }
void require_real(std::string_view op, DType dtype) {
  if (!is_real(dtype) || is_powers(dtype))
    throw DTypeError(fmt::format("random::{}: {} is not a real dtype.", op, name(dtype)), "Ask for f32 or f64.");
}

void require_sizes(std::string_view op, const Shape& shape) {
  if (std::ranges::any_of(shape.dims(), [](const Dim& n) { return decided_less(n, 0) == true; }))
    throw ShapeError(fmt::format("random::{}: the shape {} has a negative size.", op, shape.text()),
                     "Sizes are at least 0.");
}

Array word_of(const Array& key, std::int64_t i) { return reshape(slice(key, {Dim(i)}, {Dim(i + 1)}), Shape{}); }

// 0, 1, 2, … in row-major order, as the upper and lower words of 64 bits.
std::pair<Array, Array> counters(const Shape& shape) {
  const Dim count = shape.elements();
  const auto number = [&](DType dtype) {
    Array sum = zeros(shape, dtype);
    Dim stride = 1;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      const Array along = iota(dtype, shape, static_cast<std::int64_t>(axis));
      sum = sum + along * (stride.known() ? Array(Scalar(static_cast<std::uint64_t>(stride.value())).convert(dtype))
                                          : convert(size_as_array(stride), dtype));
      stride = stride * shape[axis];
    }
    return sum;
  };
  if (decided_less(count, Dim((std::int64_t(1) << 32) + 1)).value_or(false))
    return {zeros(shape, DType::u32), number(DType::u32)};
  const TwoWords words = words_of(number(DType::u64));
  return {words.upper, words.lower};
}

Array block(const Array& key, const Shape& shape, ThreefryOutput output) {
  const auto [upper, lower] = counters(shape);
  return threefry2x32(output, broadcast_to(word_of(key, 0), shape), broadcast_to(word_of(key, 1), shape), upper, lower);
}

Array half_of(const Array& key, std::int64_t i) { return slice(key, {Dim(2 * i)}, {Dim(2 * i + 2)}); }
Array key_at(const Array& keys, std::int64_t i) {
  return reshape(slice_in_dim(keys, Dim(i), Dim(i + 1), 0), {keys.shape()[1]});
}

// So many words of blocks, of a key of four words: the first two are Philox's key and the upper half of the first
// counter, the last two its lower half.
Array philox_words(const Array& key, const Dim& count) {
  const Dim blocks = floor_div(count + 3, 4);
  const auto half = [&](std::int64_t i) {
    const auto wide = [&](std::int64_t word) { return convert(word_of(key, word), DType::u64); };
    return wide(i) | shift_left(wide(i + 1), 32);
  };
  const Array start = half(2), lower = start + iota(DType::u64, {blocks}, 0);
  const Array upper = half(0) + convert(lower < start, DType::u64);
  const TwoWords first = words_of(lower), second = words_of(upper);
  const auto words =
      philox4x32({word_of(key, 0), word_of(key, 1)}, {first.lower, first.upper, second.lower, second.upper});
  return slice_in_dim(reshape(stack(words, 1), {blocks * 4}), 0, count, 0);
}

pcg::Words pcg_words(const Array& key) {
  pcg::Words words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_of(key, static_cast<std::int64_t>(i));
  return words;
}
// The bits of numbers of 64, the low ones first.
Array pcg_bits(const Array& key, const Shape& shape, DType dtype) {
  const Dim count = shape.elements();
  if (dtype == DType::u64) return reshape(pcg::numbers(pcg_words(key), count), shape);
  const std::int64_t each = 8 / static_cast<std::int64_t>(size_of(dtype));
  const Dim drawn = floor_div(count + (each - 1), each);
  const Array parts = reshape(bitcast(pcg::numbers(pcg_words(key), drawn), dtype), {drawn * each});
  return reshape(slice_in_dim(parts, 0, count, 0), shape);
}

// New keys of PCG by one of its keys, u32[…, 8]: of each pair of numbers (x, first), …, (x, first + 3), encrypted by
// the key's pairs of words one after another, the two words. The increment is odd.
Array pcg_keys(const Array& key, const Array& x, const Array& first) {
  const auto wide = [&](const Array& word) { return broadcast_to(word, x.shape()); };
  std::vector<Array> words;
  for (std::uint32_t pair = 0; pair < 4; ++pair) {
    TwoWords made{x, wide(first + Array(Scalar(pair)))};
    for (std::int64_t i = 0; i < 8; i += 2)
      made = words_of(
          threefry2x32(ThreefryOutput::wide, wide(word_of(key, i)), wide(word_of(key, i + 1)), made.upper, made.lower));
    words.insert(words.end(), {made.upper, made.lower});
  }
  words.back() = words.back() | Array(Scalar(std::uint32_t(1)));
  return stack(words, static_cast<std::int64_t>(x.rank()));
}

struct Mantissa {
  DType bits_dtype;
  int bits, mantissa;
};
Mantissa mantissa_of(DType dtype) {
  const int mantissa = format_of(dtype).mantissa_bits;
  const DType bits = mantissa < 8 ? DType::u8 : unsigned_of(dtype);
  return {bits, 8 * static_cast<int>(size_of(bits)), mantissa};
}

// The integer itself where the dtype can hold it, else its nearest one.
Array clipped(const Array& x, DType dtype) {
  if (!is_integer(x.dtype()))
    throw DTypeError("random::randint: a bound is " + x.type().text() + ".", "Bounds are integers.");
  return dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return dispatch(x.dtype(), [&]<class From>(std::type_identity<From>) {
        if constexpr (std::is_integral_v<From> && !std::is_same_v<From, bool>) {
          Array value = x;
          if (std::cmp_less(std::numeric_limits<From>::min(), std::numeric_limits<T>::min()))
            value = max(value, Array(Scalar(static_cast<From>(std::numeric_limits<T>::min()))));
          if (std::cmp_greater(std::numeric_limits<From>::max(), std::numeric_limits<T>::max()))
            value = min(value, Array(Scalar(static_cast<From>(std::numeric_limits<T>::max()))));
          return convert(value, dtype);
        }
        return convert(x, dtype);
      });
    } else
      throw DTypeError(fmt::format("random::randint: {} is not an integer dtype.", name(dtype)), "Ask for i32.");
    return Array();
  });
}

// The least number of a small integer dtype, and the one behind its greatest.
std::pair<int, int> ends_of(DType dtype) {
  const int bits = 8 * static_cast<int>(size_of(dtype));
  return is_signed_integer(dtype) ? std::pair(-(1 << (bits - 1)), 1 << (bits - 1)) : std::pair(0, 1 << bits);
}

// Two numbers for each place, of one draw.
std::pair<Array, Array> two_uniform(const Array& key, const Shape& shape, DType dtype) {
  const Array both = uniform(key, shape.with_axis(0, 2), dtype);
  const auto part = [&](std::int64_t i) { return reshape(slice_in_dim(both, Dim(i), Dim(i + 1), 0), shape); };
  return {part(0), part(1)};
}

}  // namespace

Array key(std::int64_t seed, const Where& where) {
  const SourceScope place(where, "random::key");
  const auto all = static_cast<std::uint64_t>(seed);
  const Array words[] = {Array(Scalar(static_cast<std::uint32_t>(all >> 32))),
                         Array(Scalar(static_cast<std::uint32_t>(all)))};
  return stack(words);
}

Array key(const Operand& seed) {
  const SourceScope place(seed.where(), "random::key");
  if (!is_integer(seed->dtype()) && seed->dtype() != DType::bool_)
    throw DTypeError("random::key: the seed is " + seed->type().text() + ", not an integer.");
  if (seed->rank() != 0)
    throw ShapeError("random::key: the seed is " + seed->type().text() + ", not one integer.",
                     "Map over several, with vmap.");
  const auto word = [](const Array& x) { return convert(x, DType::u32).with_weak(false); };
  // As unsigned numbers: a conversion of signed ones would keep them within bounds.
  const Array whole = size_of(seed->dtype()) == 8 ? bitcast(seed, DType::u64) : seed.array();
  if (size_of(seed->dtype()) < 8) {
    const Array lower = is_signed_integer(seed->dtype()) ? bitcast(convert(seed, DType::i32), DType::u32) : word(whole);
    return stack({zeros({}, DType::u32), lower.with_weak(false)});
  }
  const TwoWords words = words_of(whole);
  return stack({words.upper.with_weak(false), words.lower.with_weak(false)});
}

namespace {

// The key of the two words of a seed.
Array key_of_words(const Array& words, Generator generator) {
  switch (generator) {
    case Generator::threefry2x32:
      return words;
    case Generator::philox4x32:
      return concatenate({words, words}, 0);
    case Generator::pcg64dxsm:
      return stack(pcg::seeded(word_of(words, 0), word_of(words, 1)));
  }
  __builtin_unreachable();
}

}  // namespace

Array key(std::int64_t seed, Generator generator, const Where& where) {
  return key_of_words(key(seed, where), generator);
}
Array key(const Operand& seed, Generator generator) { return key_of_words(key(seed), generator); }

Array split(const Operand& key, const Dim& n) {
  const SourceScope place(key.where(), "random::split");
  require_sizes("split", {n});
  switch (generator_of("split", key)) {
    case Generator::threefry2x32:
      break;
    case Generator::philox4x32:
      return concatenate({split(half_of(key, 0), n), split(half_of(key, 1), n)}, 1);
    case Generator::pcg64dxsm:
      return pcg_keys(key, iota(DType::u32, {n}, 0), zeros({}, DType::u32));
  }
  const Array words[] = {block(key, {n}, ThreefryOutput::first), block(key, {n}, ThreefryOutput::second)};
  return stack(words, 1);
}

Array fold_in(const Operand& key, const Operand& data) {
  const SourceScope place(key.where(), "random::fold_in");
  const Generator generator = generator_of("fold_in", key);
  if (!is_integer(data->dtype()) || data->rank() != 0)
    throw DTypeError("random::fold_in: the data are " + data->type().text() + ", not one integer.");
  if (generator == Generator::philox4x32)
    return concatenate({fold_in(half_of(key, 0), data), fold_in(half_of(key, 1), data)}, 0);
  const Array k0 = word_of(key, 0), k1 = word_of(key, 1), x1 = convert(data, DType::u32).with_weak(false);
  if (generator == Generator::pcg64dxsm) return pcg_keys(key, x1, Array(Scalar(std::uint32_t(4))));
  const Array zero = zeros({}, DType::u32);
  const Array words[] = {threefry2x32(ThreefryOutput::first, k0, k1, zero, x1),
                         threefry2x32(ThreefryOutput::second, k0, k1, zero, x1)};
  return stack(words);
}

Array bits(const Operand& key, const Shape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::bits");
  const Generator generator = generator_of("bits", key);
  require_sizes("bits", shape);
  if (!is_unsigned_integer(dtype))
    throw DTypeError(fmt::format("random::bits: {} is not an unsigned integer dtype.", name(dtype)), "Ask for u32.");
  if (generator == Generator::pcg64dxsm) return pcg_bits(key, shape, dtype);
  if (generator == Generator::philox4x32) {
    const Dim count = shape.elements();
    if (dtype != DType::u64) return convert(reshape(philox_words(key, count), shape), dtype);
    const Array words = convert(reshape(philox_words(key, count * 2), {count, 2}), DType::u64);
    const auto half = [&](std::int64_t i) { return slice_in_dim(words, Dim(i), Dim(i + 1), 1); };
    return reshape(half(0) | shift_left(half(1), 32), shape);
  }
  if (dtype == DType::u64) return block(key, shape, ThreefryOutput::wide);
  return convert(block(key, shape, ThreefryOutput::mixed), dtype);
}

// The upper bits as the fraction of a number in [0, 1): n · 2^-mantissa is exact.
Array uniform(const Operand& key, const Shape& shape, DType dtype, const Operand& low, const Operand& high) {
  const SourceScope place(key.where(), "random::uniform");
  require_real("uniform", dtype);
  const Mantissa m = mantissa_of(dtype);
  for (const Operand* bound : {&low, &high})
    if (is_complex((*bound)->dtype()))
      throw DTypeError(fmt::format("random::uniform: a bound is {}.", (*bound)->type().text()),
                       "Bounds are real numbers.");
  const Array fraction = shift_right(bits(key, shape, m.bits_dtype), m.bits - m.mantissa);
  const Array unit = convert(fraction, dtype) * std::ldexp(1.0, -m.mantissa);
  const Array from = convert(low, dtype).with_weak(false), to = convert(high, dtype).with_weak(false);
  return max(from, unit * (to - from) + from);
}

Array normal(const Operand& key, const Shape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::normal");
  if (is_complex(dtype)) {
    require_key("normal", key);
    const DType part = real_part_of(dtype);
    const Array keys = split(key);
    return complex(normal(key_at(keys, 0), shape, part), normal(key_at(keys, 1), shape, part)) / std::sqrt(2.0);
  }
  require_real("normal", dtype);
  const int digits = mantissa_of(dtype).mantissa + 1;
  const double above_minus_one = -1 + std::ldexp(1.0, -digits);  // the next number after -1
  return erf_inv(uniform(key, shape, dtype, above_minus_one, 1)) * std::sqrt(2.0);
}

// Two draws make a number of twice the bits; its remainder by the size of the interval is nearly unbiased. That of 16
// or 32 bits would not be: smaller integers are drawn as those of 32 bits.
Array randint(const Operand& key, const Shape& shape, const Operand& low, const Operand& high, DType dtype) {
  const SourceScope place(key.where(), "random::randint");
  require_key("randint", key);
  if (is_integer(dtype) && size_of(dtype) < 4) {
    const auto [least, beyond] = ends_of(dtype);
    const Array from = min(max(clipped(low, DType::i32), least), beyond - 1);
    const Array to = min(max(clipped(high, DType::i32), least), beyond);
    return convert(randint(key, shape, from, to, DType::i32), dtype);
  }
  const Array from = clipped(low, dtype), to = clipped(high, dtype);
  const DType raw = unsigned_of(dtype);
  const auto constant = [&](std::uint64_t value) { return Array(Scalar(value).convert(raw)); };
  const Array keys = split(key);
  const auto draw = [&](std::int64_t i) { return bits(key_at(keys, i), shape, raw); };
  Array size = where(to <= from, constant(1), convert(to - from, raw));
  // The end of the interval may lie one above what the dtype holds.
  size = where((high.array() != convert(to, high->dtype())) & (to > from), size + constant(1), size);
  const int width = static_cast<int>(size_of(dtype)) * 8;
  Array multiplier = constant(std::uint64_t(1) << (width / 2)) % size;
  multiplier = (multiplier * multiplier) % size;
  const Array offset = ((draw(0) % size) * multiplier + draw(1) % size) % size;
  return from + convert(offset, dtype);
}

Array bernoulli(const Operand& key, const Operand& p, std::optional<Shape> shape, Resolution resolution) {
  const SourceScope place(key.where(), "random::bernoulli");
  const Array probability = to_inexact(p).with_weak(false);
  const DType dtype = p->number() != nullptr && p->weak() ? DType::f32 : probability.dtype();
  const Shape wide = shape ? *shape : p->shape();
  const Array limit = convert(probability, dtype).with_weak(false);
  if (resolution == Resolution::low) return uniform(key, wide, dtype) < limit;
  const auto [first, second] = two_uniform(key, wide, dtype);
  return second * std::ldexp(1.0, -mantissa_of(dtype).mantissa) < limit - first;
}

Array exponential(const Operand& key, const Shape& shape, DType dtype) {
  const SourceScope place(key.where(), "random::exponential");
  return -log1p(-uniform(key, shape, dtype));
}

Array gumbel(const Operand& key, const Shape& shape, DType dtype, Resolution resolution) {
  const SourceScope place(key.where(), "random::gumbel");
  require_real("gumbel", dtype);
  const double smallest = std::ldexp(1.0, format_of(dtype).least_normal());
  if (resolution == Resolution::low) return -log(-log(uniform(key, shape, dtype, smallest, 1)));
  const auto [first, second] = two_uniform(key, shape, dtype);
  const Array finer = first + std::ldexp(1.0, -mantissa_of(dtype).mantissa) * second + smallest;
  return -log(-log1p(-where(first >= 0.5, first, finer)));
}

Array categorical(const Operand& key, const Operand& logits, std::int64_t axis) {
  const SourceScope place(key.where(), "random::categorical");
  require_real("categorical", logits->dtype());
  return argmax(gumbel(key, logits->shape(), logits->dtype()) + logits.array(), axis);
}

}  // namespace tenon::random
