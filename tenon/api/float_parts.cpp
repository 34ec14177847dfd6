#include "tenon/api/float_parts.h"

#include <fmt/format.h>

#include <limits>

#include "tenon/api/elementwise.h"
#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/division.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

Array real_float(std::string_view name, const Array& given) {
  const Array x = to_inexact(given);
  if (is_complex(x.dtype()))
    throw DTypeError(fmt::format("{}: {} does not accept complex numbers: {}.", name, name, x.type().text()),
                     "Take the parts, real(x) and imag(x).");
  return x;
}

// The bits of integers in an unsigned dtype of their width.
Array bits_of_integers(std::string_view name, const Array& x) {
  if (!is_integer(x.dtype()))
    throw DTypeError(fmt::format("{}: {} does not accept {}.", name, name, x.type().text()), "Give integers.");
  return convert(x, unsigned_of(x.dtype()));
}

Array number_of_bits(const Array& bits) {
  const auto word = [](std::uint64_t value) { return Array(Scalar(value)); };
  Array x = convert(bits, DType::u64);
  x = x - (shift_right(x, word(1)) & word(0x5555555555555555));
  x = (x & word(0x3333333333333333)) + (shift_right(x, word(2)) & word(0x3333333333333333));
  x = (x + shift_right(x, word(4))) & word(0x0F0F0F0F0F0F0F0F);
  return shift_right(x * word(0x0101010101010101), word(56));
}
Array zeros_in_front(const Array& given) {
  Array bits = given;
  const auto width = static_cast<std::int64_t>(8 * size_of(bits.dtype()));
  for (std::int64_t by = 1; by < width; by *= 2)  // every bit behind the first one that is set
    bits = bits | shift_right(bits, Array(Scalar(by).convert(bits.dtype())));
  return static_cast<std::int32_t>(width) - convert(number_of_bits(bits), DType::i32);
}

// The same in a signed one.
Array signed_bits_of_integers(std::string_view name, const Array& x) {
  const Array bits = bits_of_integers(name, x);
  constexpr int between = static_cast<int>(DType::u8) - static_cast<int>(DType::i8);
  return convert(bits, static_cast<DType>(static_cast<int>(bits.dtype()) - between));
}
using BitsOfIntegers = Array (*)(std::string_view name, const Array& x);
Array shifted_right(std::string_view name, BitsOfIntegers bits_of, const Operand& x, const Operand& y) {
  const SourceScope place(x.where(), name);
  const Array bits = bits_of(name, x), places = bits_of(name, y);
  return convert(shift_right(bits, convert(places, bits.dtype())), x->dtype()).with_weak(x->weak() && y->weak());
}

// Of integers of less than 64 bits: of the whole product, in the next dtype of their kind.
Array upper_half(const Array& x, const Array& y) {
  const auto whole = static_cast<DType>(static_cast<int>(x.dtype()) + 1);
  const auto bits = static_cast<std::int64_t>(8 * size_of(x.dtype()));
  return convert(shift_right(convert(x, whole) * convert(y, whole), Array(Scalar(bits).convert(whole))), x.dtype());
}
// Of u64 by halves, of which no sum overflows (Knuth, The Art of Computer Programming 2, 4.3.1).
Array upper_half_by_halves(const Array& x, const Array& y) {
  const auto low = [](const Array& a) { return a & Array(Scalar(std::uint64_t(0xFFFFFFFF))); };
  const auto high = [](const Array& a) { return shift_right(a, Array(Scalar(std::uint64_t(32)))); };
  const Array carried = high(x) * low(y) + high(low(x) * low(y));
  return high(x) * high(y) + high(carried) + high(low(x) * high(y) + low(carried));
}

}  // namespace

// By their bits: arithmetic takes subnormal numbers for zeros.
FloatParts frexp(const Operand& given) {
  constexpr std::string_view name = "frexp";
  const SourceScope place(given.where(), name);
  const Array x = real_float(name, given), wide = widened(x), fixed = stop_gradient(wide);
  const bool is_double = wide.dtype() == DType::f64;
  const DType d = is_double ? DType::u64 : DType::u32;
  const std::int64_t size = is_double ? 64 : 32, places = is_double ? 52 : 23;
  const std::int64_t half = (std::int64_t(1) << (size - 2 - places)) - 2;  // the exponent's bits from 0.5 to 1
  const auto word = [d](std::uint64_t value) { return Array(Scalar(value).convert(d)); };
  const Array bits = bitcast(fixed, d), below = word((std::uint64_t(1) << places) - 1);
  const Array minus = bits & word(std::uint64_t(1) << (size - 1));
  const auto most = static_cast<std::int32_t>(2 * half + 3), middle = static_cast<std::int32_t>(half);
  const Array biased = convert(
      shift_right(bits, word(static_cast<std::uint64_t>(places))) & word(static_cast<std::uint64_t>(most)), DType::i32);
  const Array ordinary = ((bits ^ minus) != word(0)) & (biased != most), subnormal = biased == 0;
  const Array missing =
      where(subnormal, zeros_in_front(bits & below) - static_cast<std::int32_t>(size - 1 - places), 0);
  const Array fraction = shift_left(bits & below, convert(missing, d)) & below;
  const Array exponent = where(ordinary, where(subnormal, 1 - missing, biased) - middle, 0);
  const Array in_front = word(static_cast<std::uint64_t>(half) << places);
  Array m = bitcast(where(ordinary, minus | in_front | fraction, bits), wide.dtype());
  // The derivative of m is 2^-n, a product of two as that alone may be infinite.
  const Array part = shift_right(exponent, 1), kept = where(ordinary, wide, 0);
  const auto power = [&](const Array& n) { return exp2(convert(n, wide.dtype())); };
  m = where(ordinary, m + (kept - stop_gradient(kept)) * power(-part) * power(part - exponent), m);
  return {convert(m, x.dtype()), exponent};
}

Array ldexp(const Operand& given, const Operand& by) {
  constexpr std::string_view name = "ldexp";
  const SourceScope place(given.where(), name);
  const Array x = real_float(name, given);
  if (is_inexact(by->dtype()))
    throw DTypeError(fmt::format("{}: {} by exponents {}.", name, x.type().text(), by->type().text()),
                     "Exponents are integers.");
  if (is_narrow(x.dtype())) return convert(ldexp(widened(x), by), x.dtype());  // rounded once
  // So many places lead from any number to 0 or infinity. In three steps, as 2^n may be too large where x 2^n is not.
  const std::int32_t most = x.dtype() == DType::f64 ? 2200 : 300;
  const bool wide = size_of(by->dtype()) >= 4, is_unsigned = is_unsigned_integer(by->dtype());
  const Array exponents = !wide ? Array(by) : is_unsigned ? min(by, most) : clamp(by, -most, most);
  const FloatParts parts = frexp(x);
  const Array n = clamp(convert(exponents, DType::i32) + parts.exponent, -most, most), step = floor_divide(n, 3);
  const auto power = [&](const Array& k) { return exp2(convert(k, x.dtype())); };
  return parts.fraction * power(step) * power(step) * power(n - 2 * step);
}

Array spacing(const Operand& given) {
  constexpr std::string_view name = "spacing";
  const SourceScope place(given.where(), name);
  const Array x = real_float(name, given);
  const DType d = x.dtype();
  const auto number = [d](double value) { return Array(Scalar(value).convert(d)); };
  const Array above = Array(highest(d)), none = number(std::numeric_limits<double>::quiet_NaN());
  // Not by comparison: subnormal numbers may be taken for 0.
  const Array bits = bitcast(x, unsigned_of(d)), zero = Array(Scalar::zero(bits.dtype()));
  const Array one = Array(Scalar::one(bits.dtype()));
  const Array outward = d == DType::f16 ? above : where(sign_bit(x) & (shift_left(bits, one) != zero), -above, above);
  // The difference of subnormal numbers may be taken for 0.
  const Array step =
      where(abs(x) < number(2 * special::least_normal_of(d)), nextafter(number(0), outward), nextafter(x, outward) - x);
  const bool ends = !format_of(d).has_infinity();  // with a number that has none above it
  return where(ends ? abs(x) < above : is_finite(x), step, none);
}

Array popcount(const Operand& x) {
  constexpr std::string_view name = "popcount";
  const SourceScope place(x.where(), name);
  return convert(number_of_bits(bits_of_integers(name, x)), x->dtype());
}
Array countl_zero(const Operand& x) {
  constexpr std::string_view name = "countl_zero";
  const SourceScope place(x.where(), name);
  return convert(zeros_in_front(bits_of_integers(name, x)), x->dtype());
}

Array shift_right_logical(const Operand& x, const Operand& y) {
  return shifted_right("shift_right_logical", bits_of_integers, x, y);
}
Array shift_right_arithmetic(const Operand& x, const Operand& y) {
  return shifted_right("shift_right_arithmetic", signed_bits_of_integers, x, y);
}

Array mulhi(const Operand& given, const Operand& by) {
  constexpr std::string_view name = "mulhi";
  const SourceScope place(given.where(), name);
  const Met met = meet(name, {given, by});
  const Array &x = met.operands[0], &y = met.operands[1];
  const DType d = x.dtype();
  if (!is_integer(d))
    throw DTypeError(fmt::format("{}: {} and {} meet in {}, not in integers.", name, given->type().text(),
                                 by->type().text(), tenon::name(d)),
                     "Give integers, both signed or both unsigned.");
  const bool is_signed = !is_unsigned_integer(d);
  Array made;
  if (size_of(d) < 8) {
    made = upper_half(x, y);
  } else if (!is_signed) {
    made = upper_half_by_halves(x, y);
  } else {  // two's complement of a negative number is larger by 2^64
    const auto times_sign = [](const Array& a, const Array& b) { return shift_right(a, Array(std::int64_t(63))) & b; };
    made = convert(upper_half_by_halves(convert(x, DType::u64), convert(y, DType::u64)), d) - times_sign(x, y) -
           times_sign(y, x);
  }
  return made.with_weak(met.weak);
}

}  // namespace tenon
