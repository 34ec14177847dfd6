// nextafter and reduce_precision: evaluated by arithmetic, compiled as integer operations on the bits.
#include "tenon/ops/elementwise/float_bits.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_map.h"

namespace tenon {

struct ReducePrecisionParams {
  std::int64_t exponent_bits, mantissa_bits;
};
BOOST_DESCRIBE_STRUCT(ReducePrecisionParams, (), (exponent_bits, mantissa_bits))

namespace {

extern const OpInfo nextafter_info, reduce_precision_info;
using kernel::Binary;
using kernel::Expr;

// Bits while they are computed with.
struct Word {
  DType dtype;
  Expr operator()(std::uint64_t value) const { return kernel::constant(dtype, &value); }
};
Expr both(const Expr& x, const Expr& y) { return kernel::binary(Binary::and_, x, y); }
Expr either(const Expr& x, const Expr& y) { return kernel::binary(Binary::or_, x, y); }
Expr is(Binary comparison, const Expr& x, const Expr& y) { return kernel::binary(comparison, x, y); }

// --- nextafter ---

// In double, which holds all numbers of the smaller formats and those beside them.
template <class T>
T next_in_double(T x, T y, const FloatFormat& format) {
  const auto from = static_cast<double>(static_cast<float>(x)), to = static_cast<double>(static_cast<float>(y));
  if (std::isnan(from)) return x;
  if (std::isnan(to) || from == to) return y;
  const double largest = number_of_code(format, format.largest());
  if (std::isinf(from)) return T(static_cast<float>(std::copysign(largest, from)));
  int exponent = 1 - format.bias;
  if (from != 0) exponent = std::max(exponent, std::ilogb(from));
  double step = std::ldexp(1, exponent - format.mantissa_bits);
  const bool inward = (to < from) == (from > 0);
  if (inward && exponent > 1 - format.bias && std::abs(from) == std::ldexp(1, exponent)) step /= 2;
  const double next = from + (to > from ? step : -step);
  if (std::abs(next) > largest) return T(static_cast<float>(std::copysign(HUGE_VAL, next)));
  return T(static_cast<float>(next == 0 ? std::copysign(next, from) : next));
}

std::vector<Value> eval_nextafter(const Params&, std::span<const Value> in, const EvalContext& context) {
  const Buffer x = family::contiguous(in[0]), y = family::contiguous(in[1]);
  Buffer out = Buffer::allocate(context.out[0].dtype, x.dims());
  dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (dtypes::real.has(*dtype_of<T>)) {
      for (std::int64_t i = 0; i < x.elements(); ++i)
        if constexpr (std::is_floating_point_v<T>)
          out.as<T>()[i] = std::nextafter(x.as<T>()[i], y.as<T>()[i]);
        else
          out.as<T>()[i] = next_in_double(x.as<T>()[i], y.as<T>()[i], format_of(x.dtype()));
    }
  });
  return {out};
}

// Native code may take subnormal numbers for 0 where it computes: bits are compared instead. Those of numbers of one
// sign are ordered as the numbers, and those of NaN are above all of them, or are what -0 would have.
Expr nan_bits(const Expr& bits, const FloatFormat& format) {
  const Word word{bits.dtype()};
  if (!format.has_negative_zero()) return is(Binary::eq, bits, word(format.nan()));
  const std::uint64_t above = format.has_infinity() ? format.exponents() : format.largest();
  return is(Binary::gt, both(bits, word(format.sign() - 1)), word(above));
}
// Of a number without its sign, and the sign.
Expr with_sign(const Expr& size, const Expr& sign, const FloatFormat& format) {
  if (format.has_negative_zero()) return either(size, sign);
  const Expr zero = Word{size.dtype()}(0);
  return kernel::select(is(Binary::eq, size, zero), zero, either(size, sign));
}

Expr lower_nextafter(std::span<const Expr> in) {
  const FloatFormat format = format_of(in[0].dtype());
  const Word word{unsigned_of(in[0].dtype())};
  const Expr from = kernel::bitcast(word.dtype, in[0]), to = kernel::bitcast(word.dtype, in[1]);
  const Expr size = both(from, word(format.sign() - 1)), size_to = both(to, word(format.sign() - 1));
  const Expr sign = both(from, word(format.sign())), sign_to = both(to, word(format.sign()));
  const Expr outward = both(is(Binary::eq, sign, sign_to), is(Binary::lt, size, size_to));
  const Expr stepped = with_sign(kernel::select(outward, size + word(1), size - word(1)), sign, format);
  const Expr zero = is(Binary::eq, size, word(0)), both_zero = is(Binary::eq, either(size, size_to), word(0));
  const Expr next = kernel::select(zero, either(sign_to, word(1)), stepped);
  const Expr stays = either(either(both_zero, is(Binary::eq, from, to)), nan_bits(to, format));
  const Expr moved = kernel::select(stays, to, next);
  return kernel::bitcast(in[0].dtype(), kernel::select(nan_bits(from, format), from, moved));
}

OpInfo nextafter_op() {
  return family::elementwise("nextafter", "the float next to x in the direction of y", 2, &dtypes::real.has,
                             EvalRule(eval_nextafter), JvpRule([](const JvpArgs& args) {
                               return JvpResult{{bind1(nextafter_info, {}, {args.primals[0], args.primals[1]})},
                                                {args.tangents[0]}};
                             }),
                             Absent{"not linear"}, lower_nextafter, {{-3, 3}, {-3, 3}}, family::same);
}
const OpInfo nextafter_info = nextafter_op();

// --- reduce_precision ---

// A number is a whole multiple of its last place, which is rounded to a multiple of a higher place.
double rounded(double x, const FloatFormat& from, int exponent_bits, int mantissa_bits) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int lowest = 1 - from.bias;
  if (mantissa_bits < from.mantissa_bits) {
    const int exponent = std::max(std::ilogb(x), lowest), place = exponent - mantissa_bits;
    const double whole = std::ldexp(x, -place);
    // Without a mantissa the last place that stays is that of the exponent: it is made even.
    const bool stays = mantissa_bits == 0 && std::abs(whole) == 1.5 && (exponent + from.bias) % 2 == 0;
    x = std::ldexp(stays ? std::trunc(whole) : std::nearbyint(whole), place);
  }
  if (exponent_bits >= from.exponent_bits || x == 0) return x;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (std::ilogb(x) > bias) return std::copysign(HUGE_VAL, x);
  return std::ilogb(x) <= -bias ? std::copysign(0.0, x) : x;
}

std::vector<Value> eval_reduce_precision(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto& p = params.as<ReducePrecisionParams>();
  const Buffer x = family::contiguous(in[0]);
  Buffer out = Buffer::allocate(context.out[0].dtype, x.dims());
  const FloatFormat format = format_of(x.dtype());
  const int exponents = static_cast<int>(std::min<std::int64_t>(p.exponent_bits, format.exponent_bits)),
            mantissas = static_cast<int>(std::min<std::int64_t>(p.mantissa_bits, format.mantissa_bits));
  dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (dtypes::real.has(*dtype_of<T>))
      for (std::int64_t i = 0; i < x.elements(); ++i) {
        const auto value = static_cast<double>(widen(x.as<T>()[i]));
        out.as<T>()[i] = narrow<T>(static_cast<decltype(widen(T()))>(rounded(value, format, exponents, mantissas)));
      }
  });
  return {out};
}

Expr lower_reduce_precision(const LowerArgs& args) {
  const auto& p = args.params.as<ReducePrecisionParams>();
  const Expr x = args.load(0, args.index);
  const FloatFormat format = format_of(x.dtype());
  const Word word{unsigned_of(x.dtype())};
  const Expr whole = kernel::bitcast(word.dtype, x), overflow = word(format.overflow());
  const Expr sign = both(whole, word(format.sign()));
  Expr bits = both(whole, word(format.sign() - 1));
  if (p.mantissa_bits < format.mantissa_bits) {  // half of the last place that stays, less one where that is even
    const auto dropped = static_cast<std::uint64_t>(format.mantissa_bits - p.mantissa_bits);
    const Expr odd = both(kernel::binary(Binary::shift_right, bits, word(dropped)), word(1));
    bits = bits + (odd + word((std::uint64_t(1) << (dropped - 1)) - 1));
    bits = both(bits, word(~((std::uint64_t(1) << dropped) - 1)));
  }
  Expr over = is(Binary::gt, bits, word(format.largest()));
  if (p.exponent_bits < format.exponent_bits) {
    const int bias = (1 << (p.exponent_bits - 1)) - 1;
    const auto biased = [&](int exponent) {
      return word(static_cast<std::uint64_t>(format.bias + exponent) << format.mantissa_bits);
    };
    const Expr exponent = both(bits, word(format.exponents()));
    over = either(over, is(Binary::gt, exponent, biased(bias)));
    bits = kernel::select(is(Binary::le, exponent, biased(-bias)), word(0), bits);
  }
  bits = kernel::select(over, either(sign, overflow), with_sign(bits, sign, format));
  return kernel::bitcast(x.dtype(), kernel::select(nan_bits(whole, format), whole, bits));
}

OpInfo reduce_precision_op() {
  OpInfo op = family::elementwise(
      "reduce_precision", "x rounded to a format of fewer bits", 1, &dtypes::real.has, EvalRule(eval_reduce_precision),
      jvp_by_itself(reduce_precision_info), TransposeRule([](const TransposeArgs& args) {
        if (args.cotangents[0]) args.sink.add(0, bind1(reduce_precision_info, args.params, {*args.cotangents[0]}));
      }),
      nullptr, {{-3, 3}}, family::same);
  op.params = &describe::params_ops<ReducePrecisionParams>;
  op.lower = LowerRule(LowerElement{lower_reduce_precision, true});
  const TypeRule elementwise = *op.type;
  op.type = TypeRule([elementwise](const Params& params, std::span<const Type> in, TypeContext& context) {
    const auto& p = params.as<ReducePrecisionParams>();
    if (p.exponent_bits < 1 || p.mantissa_bits < 0)
      throw DTypeError(fmt::format("reduce_precision: {} bits for the exponent and {} for the mantissa.",
                                   p.exponent_bits, p.mantissa_bits),
                       "An exponent takes at least 1 bit, a mantissa at least 0.");
    return elementwise(params, in, context);
  });
  const SampleRule plain = *op.sample;
  op.sample = SampleRule([plain](DType d) {
    std::vector<SampleCase> cases;
    for (const auto& [exponent_bits, mantissa_bits] : {std::pair(5, 10), {8, 7}, {2, 3}, {1, 2}, {4, 0}, {11, 52}})
      for (SampleCase c : plain(d)) {
        c.params = make_params(ReducePrecisionParams{exponent_bits, mantissa_bits});
        c.by_values = false;
        cases.push_back(c);
      }
    return cases;
  });
  return op;
}
const OpInfo reduce_precision_info = reduce_precision_op();

const bool float_bits_installed = (install_op(nextafter_info), install_op(reduce_precision_info), true);

}  // namespace

Array nextafter(const Operand& x, const Operand& y) {
  const SourceScope place(x.where(), "nextafter");
  const Met met = meet_inexact("nextafter", {x, y});
  return bind1(nextafter_info, {}, {met.operands[0], met.operands[1]}).with_weak(met.weak);
}

Array reduce_precision(const Operand& x, std::int64_t exponent_bits, std::int64_t mantissa_bits) {
  const SourceScope place(x.where(), "reduce_precision");
  return bind1(reduce_precision_info, make_params(ReducePrecisionParams{exponent_bits, mantissa_bits}), {x})
      .with_weak(x->weak());
}

}  // namespace tenon
