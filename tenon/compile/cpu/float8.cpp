#include "tenon/compile/cpu/float8.h"

#include <bit>
#include <cmath>

namespace tenon::cpu {
namespace {

using llvm::Value;

constexpr std::uint32_t infinity_bits = 0x7f800000, nan_bits = 0x7fc00000, sign_bit = 0x80000000;

std::uint32_t power_bits(int exponent) { return static_cast<std::uint32_t>(exponent + 127) << 23; }

// The least f32 that rounds beyond the largest number: half way to what would be the next one where that rounds up,
// which is where the largest is odd.
std::uint32_t first_beyond(const FloatFormat& format) {
  const std::uint64_t largest = format.largest();
  const int exponent = static_cast<int>(largest >> format.mantissa_bits) - format.bias;
  const double half_way = number_of_code(format, largest) + std::ldexp(1.0, exponent - format.mantissa_bits - 1);
  return std::bit_cast<std::uint32_t>(static_cast<float>(half_way)) + static_cast<std::uint32_t>(1 - (largest & 1));
}

// Lanes of 32 bits as words and as floats. Comparisons are those of signed words: of magnitudes they are the same, and
// AVX2 has no others.
class Words {
 public:
  Words(Builder& b, Value* lanes)
      : b_(b),
        type_(lanes->getType()->getWithNewType(b.getInt32Ty())),
        float_(lanes->getType()->getWithNewType(b.getFloatTy())) {}

  llvm::Type* type() const { return type_; }
  Value* operator()(std::uint64_t n) const { return llvm::ConstantInt::get(type_, n); }
  Value* of(Value* floats) const { return b_.CreateBitCast(floats, type_); }
  Value* as_float(Value* words) const { return b_.CreateBitCast(words, float_); }
  llvm::Type* float_type() const { return float_; }
  Value* both(Value* x, std::uint64_t n) const { return b_.CreateAnd(x, (*this)(n)); }
  Value* above(Value* x, std::uint64_t n) const { return b_.CreateICmpSGT(x, (*this)(n)); }
  // The sum of positive floats, rounded by itself: not as part of a fused multiplication.
  Value* sum(Value* x, Value* y) const {
    return by_itself([&] { return b_.CreateFAdd(x, y); });
  }
  Value* difference(Value* x, Value* y) const {
    return by_itself([&] { return b_.CreateFSub(x, y); });
  }
  // The sign, at the place that it has in `value`; without -0, none of zero.
  Value* sign_of(const FloatFormat& format, Value* sign, Value* value) const {
    if (format.has_negative_zero()) return sign;
    return b_.CreateSelect(b_.CreateICmpEQ(value, (*this)(0)), (*this)(0), sign);
  }

 private:
  Value* by_itself(const auto& make) const {
    const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
    b_.clearFastMathFlags();
    return make();
  }

  Builder& b_;
  llvm::Type *type_, *float_;
};

// What lies beyond the numbers: infinity where there is one and the value is no NaN.
Value* beyond(Builder& b, const Words& words, const FloatFormat& format, Value* magnitude, std::uint64_t infinity,
              std::uint64_t nan) {
  if (!format.has_infinity()) return words(nan);
  return b.CreateSelect(words.above(magnitude, infinity_bits), words(nan), words(infinity));
}

// Of a format of powers of two: the codes of words of f32, as words, and back.
Value* power_codes(Builder& b, const Words& words, const FloatFormat& format, Value* whole) {
  constexpr std::uint32_t least_normal = 1u << 23;
  Value* half =
      b.CreateSelect(words.above(whole, least_normal - 1), words(least_normal / 2), words(least_normal / 2 - 1));
  Value* code = b.CreateLShr(b.CreateAdd(whole, half), 23);
  Value* is_number = b.CreateAnd(words.above(whole, 0), b.CreateNot(words.above(whole, infinity_bits - 1)));
  return b.CreateSelect(is_number, code, words(format.nan()));
}
Value* power_words(Builder& b, const Words& words, const FloatFormat& format, Value* code) {
  constexpr std::uint32_t least = 1u << 22;
  Value* bits = b.CreateSelect(words.above(code, 0), b.CreateShl(code, 23), words(least));
  return b.CreateSelect(words.above(code, format.largest()), words(nan_bits), bits);
}

}  // namespace

Value* float8_decoded(Builder& b, const FloatFormat& format, Value* codes) {
  const Words words(b, codes);
  Value* code = b.CreateZExt(codes, words.type());
  if (!format.has_sign()) return words.as_float(power_words(b, words, format, code));
  Value* magnitude = words.both(code, 0x7f);
  const auto dropped = static_cast<std::uint64_t>(23 - format.mantissa_bits);
  Value* placed = b.CreateShl(magnitude, dropped);
  Value* normal = b.CreateAdd(placed, words(power_bits(-format.bias)));
  Value* least = llvm::ConstantFP::get(words.float_type(), std::ldexp(1.0, format.least()));
  Value* subnormal = words.of(b.CreateFMul(b.CreateSIToFP(magnitude, words.float_type()), least));
  Value* bits = b.CreateSelect(words.above(magnitude, format.mantissas()), normal, subnormal);
  if (format.has_infinity()) {
    Value* nan_or_infinity =
        b.CreateSelect(words.above(magnitude, format.exponents()), words(nan_bits), words(infinity_bits));
    bits = b.CreateSelect(words.above(magnitude, format.largest()), nan_or_infinity, bits);
  } else {
    Value* is_nan = b.CreateICmpEQ(format.has_negative_zero() ? magnitude : code, words(format.nan()));
    bits = b.CreateSelect(is_nan, words(nan_bits), bits);
  }
  return words.as_float(b.CreateOr(bits, b.CreateShl(words.both(code, 0x80), 24)));
}

Value* float8_encoded(Builder& b, const FloatFormat& format, Value* values) {
  const Words words(b, values);
  Value* whole = words.of(values);
  llvm::Type* bytes = values->getType()->getWithNewType(b.getInt8Ty());
  if (!format.has_sign()) return b.CreateTrunc(power_codes(b, words, format, whole), bytes);
  Value* magnitude = words.both(whole, sign_bit - 1);
  const auto dropped = static_cast<std::uint64_t>(23 - format.mantissa_bits);
  const std::uint32_t least_normal = power_bits(format.least_normal()), place = power_bits(format.least() + 23);
  // Half of the last place that stays, less one where that place is even, carries; subnormal numbers the adder rounds.
  Value* odd = words.both(b.CreateLShr(magnitude, dropped), 1);
  const std::uint32_t half = (1u << (dropped - 1)) - 1, kept = 1u << format.mantissa_bits;
  Value* carried = b.CreateAdd(magnitude, b.CreateAdd(odd, words(half - least_normal + (kept << dropped))));
  Value* normal = b.CreateLShr(carried, dropped);
  Value* subnormal =
      b.CreateSub(words.of(words.sum(words.as_float(magnitude), words.as_float(words(place)))), words(place));
  Value* code = b.CreateSelect(words.above(magnitude, least_normal - 1), normal, subnormal);
  Value* special = beyond(b, words, format, magnitude, format.overflow(), format.nan());
  code = b.CreateSelect(words.above(magnitude, first_beyond(format) - 1), special, code);
  Value* sign = words.both(b.CreateLShr(whole, 24), 0x80);
  code = b.CreateOr(code, words.sign_of(format, sign, code));
  return b.CreateTrunc(code, bytes);
}

// A power of two so large that the last place of its sums is that of the result; it is taken off again.
Value* float8_rounded(Builder& b, const FloatFormat& format, Value* values) {
  const Words words(b, values);
  Value* whole = words.of(values);
  if (!format.has_sign()) return words.as_float(power_words(b, words, format, power_codes(b, words, format, whole)));
  Value* magnitude = words.both(whole, sign_bit - 1);
  Value* exponent = words.both(magnitude, infinity_bits);
  exponent = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, exponent, words(power_bits(format.least_normal())));
  Value* place = words.as_float(b.CreateAdd(exponent, words(std::uint64_t(23 - format.mantissa_bits) << 23)));
  Value* nearest = words.of(words.difference(words.sum(words.as_float(magnitude), place), place));
  Value* special = beyond(b, words, format, magnitude, infinity_bits, nan_bits);
  nearest = b.CreateSelect(words.above(magnitude, first_beyond(format) - 1), special, nearest);
  return words.as_float(b.CreateOr(nearest, words.sign_of(format, words.both(whole, sign_bit), nearest)));
}

// The bits are in the order of the numbers, NaN behind all.
Value* powers_compared(Builder& b, llvm::CmpInst::Predicate of_signed, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  if (of_signed == P::ICMP_NE) return b.CreateNot(powers_compared(b, P::ICMP_EQ, x, y));
  const Words words(b, x);
  Value *of_x = words.of(x), *of_y = words.of(y);
  Value* last = of_signed == P::ICMP_SLT || of_signed == P::ICMP_SLE ? of_y : of_x;
  return b.CreateAnd(b.CreateICmp(of_signed, of_x, of_y), b.CreateICmpNE(last, words(nan_bits)));
}

Value* powers_as_f64(Builder& b, const FloatFormat& format, Value* values) {
  const Words words(b, values);
  llvm::Type* wide = words.type()->getWithNewType(b.getInt64Ty());
  const auto number = [&](std::uint64_t n) { return llvm::ConstantInt::get(wide, n); };
  Value* code = power_codes(b, words, format, words.of(values));
  Value* exponent = b.CreateAdd(b.CreateZExt(code, wide), number(static_cast<std::uint64_t>(1023 - format.bias)));
  Value* is_nan = b.CreateICmpEQ(code, words(format.nan()));
  Value* bits = b.CreateSelect(is_nan, number(0x7ff8000000000000), b.CreateShl(exponent, 52));
  return b.CreateBitCast(bits, wide->getWithNewType(b.getDoubleTy()));
}

Value* powers_of_f64(Builder& b, const FloatFormat& format, Value* values) {
  llvm::Type *wide = values->getType()->getWithNewType(b.getInt64Ty()),
             *narrow = values->getType()->getWithNewType(b.getFloatTy());
  const auto number = [&](std::int64_t n) { return llvm::ConstantInt::getSigned(wide, n); };
  Value* bits = b.CreateBitCast(values, wide);
  // Those above 2^-127, and below the next power, become that.
  constexpr std::int64_t half = std::int64_t(1) << 51;
  Value* is_ordinary = b.CreateICmpSGE(bits, number(std::int64_t(1024 - format.bias) << 52));
  Value* carries = b.CreateSelect(is_ordinary, number(half), number(2 * half - 1));
  Value* exponent = b.CreateLShr(b.CreateAdd(bits, carries), 52);
  exponent = b.CreateSub(exponent, number(1023 - format.bias));
  const auto largest = static_cast<std::int64_t>(format.largest());
  Value* is_number = b.CreateAnd(b.CreateICmpSGT(bits, number(0)), b.CreateICmpSLE(exponent, number(largest)));
  Value* code = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, exponent, number(0));
  code = b.CreateSelect(is_number, code, number(static_cast<std::int64_t>(format.nan())));
  const Words words(b, llvm::Constant::getNullValue(narrow));
  return words.as_float(power_words(b, words, format, b.CreateTrunc(code, words.type())));
}

}  // namespace tenon::cpu
