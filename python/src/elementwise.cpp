// Functions of each element by itself: a line a function.
#include "tenon/api/elementwise.h"

#include <nanobind/stl/string.h>

#include "call.h"
#include "dtypes.h"
#include "numeric.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/api/float_parts.h"
#include "tenon/api/nn.h"
#include "tenon/api/special.h"
#include "tenon/ops/composites/activations.h"
#include "tenon/ops/composites/division.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/composites/order.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"
#include "tenon/ops/promotion.h"

namespace tenon::python {
namespace {

struct OfOne {
  const char* name;
  Array (*f)(const Operand& x);
  const char* text;
};
constexpr OfOne of_one[] = {
    {"abs", numeric::absolute, "|x|; of complex numbers the modulus."},
    {"sign", tenon::sign, "-1, 0 or 1; of complex numbers x / |x|."},
    {"floor", tenon::floor, "The largest integer not above x."},
    {"ceil", tenon::ceil, "The smallest integer not below x."},
    {"rint", tenon::round, "The nearest integer, halves to even."},
    {"sqrt", tenon::sqrt, "The square root."},
    {"rsqrt", tenon::rsqrt, "1 / sqrt(x)."},
    {"square", numeric::square, "x * x."},
    {"exp", tenon::exp, "e to the power x."},
    {"expm1", tenon::expm1, "exp(x) - 1, exact near 0."},
    {"log", tenon::log, "The natural logarithm."},
    {"log1p", tenon::log1p, "log(1 + x), exact near 0."},
    {"sin", tenon::sin, "The sine of x, in radians."},
    {"cos", tenon::cos, "The cosine of x, in radians."},
    {"tan", tenon::tan, "The tangent of x, in radians."},
    {"sinh", tenon::sinh, "The hyperbolic sine."},
    {"cosh", tenon::cosh, "The hyperbolic cosine."},
    {"tanh", tenon::tanh, "The hyperbolic tangent."},
    {"arcsin", tenon::asin, "The inverse sine."},
    {"arccos", tenon::acos, "The inverse cosine."},
    {"arctan", tenon::atan, "The inverse tangent."},
    {"logistic", tenon::logistic, "1 / (1 + exp(-x))."},
    {"erf", tenon::erf, "The error function."},
    {"erfc", tenon::erfc, "1 - erf(x), exact until it underflows."},
    {"erf_inv", tenon::erf_inv, "The inverse of the error function."},
    {"isfinite", tenon::is_finite, "Whether x is neither infinite nor NaN."},
    {"isnan", tenon::is_nan, "Whether x is NaN."},
    {"isinf", tenon::is_inf, "Whether x is infinite."},
    {"signbit", tenon::sign_bit, "Whether the sign is minus."},
    {"trunc", tenon::trunc, "x rounded toward zero."},
    {"log2", tenon::log2, "The logarithm to base 2."},
    {"log10", tenon::log10, "The logarithm to base 10."},
    {"exp2", tenon::exp2, "2 to the power x."},
    {"arcsinh", tenon::asinh, "The inverse hyperbolic sine."},
    {"arccosh", tenon::acosh, "The inverse hyperbolic cosine."},
    {"arctanh", tenon::atanh, "The inverse hyperbolic tangent."},
    {"sinc", tenon::sinc, "sin(πx) / (πx)."},
    {"spacing", tenon::spacing, "How far the next float is."},
    {"popcount", tenon::popcount, "How many bits are set."},
    {"countl_zero", tenon::countl_zero, "How many bits before the first one that is set are not."},
    {"deg2rad", tenon::radians, "Degrees as radians."},
    {"rad2deg", tenon::degrees, "Radians as degrees."},
    {"negative", tenon::operator-, "-x."},
    {"positive", numeric::positive, "x."},
    {"invert", tenon::operator!, "Not x of bools; the bits of integers turned round."},
    {"real", tenon::real, "The real part."},
    {"imag", tenon::imag, "The imaginary part."},
    {"conj", tenon::conj, "The complex conjugate."},
    {"stop_gradient", tenon::stop_gradient, "x, through which no derivative flows."},
    {"log_sigmoid", tenon::log_sigmoid, "log(sigmoid(x)), without underflow."},
    {"softplus", tenon::softplus, "log(1 + exp(x)), without overflow."},
    {"relu", tenon::relu, "max(x, 0); its derivative at 0 is 0."},
    {"silu", tenon::silu, "x * sigmoid(x)."},
};

struct OfTwo {
  const char* name;
  Array (*f)(const Operand& x, const Operand& y);
  const char* text;
};
constexpr OfTwo of_two[] = {
    {"add", numeric::add, "x1 + x2."},
    {"subtract", tenon::operator-, "x1 - x2."},
    {"multiply", numeric::multiply, "x1 * x2."},
    {"true_divide", numeric::true_divide, "x1 / x2, of integers real."},
    {"floor_divide", tenon::floor_divide, "x1 / x2 rounded down."},
    {"remainder", tenon::remainder, "What floor_divide leaves, with the sign of x2."},
    {"fmod", tenon::fmod, "What division toward zero leaves, with the sign of x1."},
    {"truncated_divide", tenon::operator/, "x1 / x2; of integers rounded toward zero, and -1 where x2 is 0."},
    {"power", numeric::power, "x1 to the power x2."},
    {"float_power", tenon::pow, "x1 to the power x2, of real or complex numbers."},
    {"arctan2", numeric::arctan2, "The angle of the point (x2, x1)."},
    {"maximum", order::maximum, "The larger of both; NaN where either is."},
    {"minimum", order::minimum, "The smaller of both; NaN where either is."},
    {"bitwise_and", tenon::operator&, "And of the bits of integers, or of bools."},
    {"bitwise_or", tenon::operator|, "Or of the bits of integers, or of bools."},
    {"bitwise_xor", tenon::operator^, "Either, but not both: of the bits of integers, or of bools."},
    {"left_shift", numeric::shift_left, "The bits of x1 moved x2 places up."},
    {"right_shift", numeric::shift_right, "The bits of x1 moved x2 places down."},
    {"equal", tenon::operator==, "x1 == x2, element by element."},
    {"not_equal", tenon::operator!=, "x1 != x2, element by element."},
    {"less", order::less, "x1 < x2, element by element."},
    {"less_equal", order::less_equal, "x1 <= x2, element by element."},
    {"greater", order::greater, "x1 > x2, element by element."},
    {"greater_equal", order::greater_equal, "x1 >= x2, element by element."},
    {"logaddexp", tenon::logaddexp, "log(exp(x1) + exp(x2))."},
    {"logaddexp2", tenon::logaddexp2, "log2(2^x1 + 2^x2)."},
    {"ldexp", tenon::ldexp, "x1 * 2^x2."},
    {"hypot", tenon::hypot, "sqrt(x1² + x2²)."},
    {"copysign", tenon::copysign, "x1 with the sign of x2."},
    {"heaviside", tenon::heaviside, "0 below 0, 1 above, x2 at 0."},
    {"fmax", tenon::fmax, "The larger of both; where one is NaN the other."},
    {"fmin", tenon::fmin, "The smaller of both; where one is NaN the other."},
    {"gcd", tenon::gcd, "The greatest common divisor."},
    {"lcm", tenon::lcm, "The least common multiple."},
    {"complex", tenon::complex, "x1 + x2·i."},
    {"leaky_relu", tenon::leaky_relu, "x1 where it is not negative, else x2 * x1."},
    {"elu", tenon::elu, "x1 where it is positive, else x2 * (exp(x1) - 1)."},
    {"nextafter", tenon::nextafter, "The float next to x1 in the direction of x2."},
};

}  // namespace

void add_elementwise(nb::module_& module) {
  for (const OfOne& f : of_one)
    module.def(
        f.name,
        [name = f.name, f = f.f](ArrayLike x) {
          const Array a = x.array(name);
          return call_op(name, [&] { return f(op(a)); });
        },
        f.text);
  for (const OfTwo& f : of_two)
    module.def(
        f.name,
        [name = f.name, f = f.f](ArrayLike x, ArrayLike y) {
          const Array a = x.array(name), b = y.array(name);
          return call_op(name, [&] { return f(op(a), op(b)); });
        },
        f.text);
  module.def(
      "where",
      [](ArrayLike condition, ArrayLike x, ArrayLike y) {
        const Array c = condition.array("where"), a = x.array("where"), b = y.array("where");
        return call_op("where", [&] {
          return where(op(c.dtype() == DType::bool_ ? c : convert(op(c), DType::bool_)), op(a), op(b));
        });
      },
      "x where the condition holds, else y; all three broadcast.");
  module.def(
      "clamp",
      [](ArrayLike low, ArrayLike x, ArrayLike high) {
        const Array l = low.array("clamp"), a = x.array("clamp"), h = high.array("clamp");
        return call_op("clamp", [&] { return clamp(op(a), op(l), op(h)); });
      },
      "x limited to [low, high].");
  module.def(
      "convert",
      [](ArrayLike x, DTypeArgument dtype) {
        const Array a = x.array("astype");
        return call_op("astype", [&] { return convert(op(a), dtype).with_weak(false); });
      },
      "The values in another dtype.");
  module.def(
      "bitcast",
      [](ArrayLike x, DTypeArgument dtype) {
        const Array a = x.array("bitcast_convert_type");
        return call_op("bitcast_convert_type", [&] { return bitcast(op(a), dtype); });
      },
      "The bits of the values as another dtype.");
  module.def(
      "reduce_precision",
      [](ArrayLike x, std::int64_t exponent_bits, std::int64_t mantissa_bits) {
        const Array a = x.array("reduce_precision");
        return call_op("reduce_precision", [&] { return reduce_precision(op(a), exponent_bits, mantissa_bits); });
      },
      "The values rounded to a format of so many bits.");
  module.def(
      "with_weak", [](ArrayLike x, bool weak) { return x.array("asarray").with_weak(weak); },
      "The same, weakly typed or not.");
  module.def(
      "to_inexact",
      [](ArrayLike x) {
        const Array a = x.array("asarray");
        return call_op("astype", [&] { return to_inexact(a); });
      },
      "Real or complex numbers as they are; integers become real.");
  module.def("frexp", [](ArrayLike x) {
    const Array a = x.array("frexp");
    const FloatParts made = call_op("frexp", [&] { return frexp(op(a)); });
    return nb::make_tuple(made.fraction, made.exponent);
  });
  module.def("round", [](ArrayLike x, std::int64_t decimals) {
    const Array a = x.array("round");
    return call_op("round", [&] { return round(op(a), decimals); });
  });
  module.def("nan_to_num", [](ArrayLike x, ArrayLike nan, nb::handle above, nb::handle below) {
    const char* name = "nan_to_num";
    const Array a = x.array(name);
    const NanToNumOptions options{nan.array(name), operand_or_none(name, above), operand_or_none(name, below)};
    return call_op(name, [&] { return nan_to_num(op(a), options); });
  });
  module.def("isclose", [](ArrayLike x, ArrayLike y, ArrayLike rtol, ArrayLike atol, bool equal_nan) {
    const char* name = "isclose";
    const Array a = x.array(name), b = y.array(name);
    const CloseOptions options{rtol.array(name), atol.array(name), equal_nan};
    return call_op(name, [&] { return is_close(op(a), op(b), options); });
  });
  module.def("gelu", [](ArrayLike x, bool approximate) {
    const Array a = x.array("gelu");
    return call_op("gelu", [&] { return gelu(op(a), approximate ? Gelu::by_tanh : Gelu::exact); });
  });
}

}  // namespace tenon::python
