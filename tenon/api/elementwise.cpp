#include "tenon/api/elementwise.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "tenon/api/custom.h"
#include "tenon/api/grad.h"
#include "tenon/api/loops.h"
#include "tenon/api/special.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/division.h"
#include "tenon/ops/composites/order.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();
constexpr double ln2 = std::numbers::ln2;

Array real_only(std::string_view name, const Array& x) {
  if (is_complex(x.dtype()))
    throw DTypeError(fmt::format("{}: {} does not accept complex numbers: {}.", name, name, x.type().text()),
                     "Take the parts, real(x) and imag(x), or abs(x).");
  return x;
}
struct RealPair {
  Array x, y;
};
RealPair inexact_of_both(const Array& x, const Array& y) {
  const Met met = in_one_inexact_dtype(Arrays{x, y});
  return {met.operands[0], met.operands[1]};
}
RealPair real_of_both(std::string_view name, const Array& x, const Array& y) {
  const RealPair both = inexact_of_both(x, y);
  return {real_only(name, both.x), real_only(name, both.y)};
}

Array is_minus(const Array& x) {
  constexpr DType by_size[] = {DType::i8, DType::i16, DType::i32, DType::i64};
  return bitcast(x, by_size[std::countr_zero(size_of(x.dtype()))]) < 0;
}

Array of_both_parts(const Array& z, FunctionRef<Array(const Array&)> f) { return complex(f(real(z)), f(imag(z))); }

// log(base^x + base^y): the larger + log(1 + base^-|x - y|). Its derivatives weigh the tangents by what each is of the
// sum.
Array log_of_sum(Array (*power)(const Operand&), double log_base, const Array& x, const Array& y) {
  // base^-|x - y|, by halves that are smooth where both are equal. Of equal infinities the difference is NaN.
  const auto smaller_share = [power](const Array& larger, const Array& a, const Array& b) {
    return power(where(larger, b - a, where((a == b) & !is_finite(a), 0, a - b)));
  };
  const auto sum = [log_base](const Array& above, const Array& share, const Array& a, const Array& b) {
    const Array more = log1p(share);
    return where(above, a, b) + (log_base == 1 ? more : more / log_base);
  };
  const auto value = [=](const Array& a, const Array& b) {
    const Array above = a > b;
    return sum(above, smaller_share(above, a, b), a, b);
  };
  const auto rule = [=](const Array& a, const Array& b, const Array& da, const Array& db) {
    const Array above = a > b, share = smaller_share(above, a, b);
    const Array larger = 1 / (1 + share), smaller = share * larger;
    // What has no share chooses its tangent away: an infinite one times 0 would be NaN.
    const Array of_larger = where(above, da, db), of_smaller = where(smaller == 0, 0, where(above, db, da));
    return std::pair(sum(above, share, a, b), of_larger * larger + of_smaller * smaller);
  };
  return custom_jvp(value, rule)(x, y);
}

// The nearest multiple of a unit, of two as near the even one.
Array nearest_multiple(const Array& x, std::uint64_t unit) {
  const Scalar most = highest(x.dtype());
  if (most.as_double() < static_cast<double>(unit)) return zeros_like(x);
  const Array step = Array(Scalar(unit).convert(x.dtype())), count = floor_divide(x, step), rest = x - count * step;
  const Array half = Array(Scalar(unit / 2).convert(x.dtype()));
  const Array odd = count % Array(Scalar(2).convert(x.dtype())) != 0;
  const Array up = unit % 2 != 0 ? rest > half : (rest > half) | ((rest == half) & odd);
  return (count + convert(up, x.dtype())) * step;
}

}  // namespace

// Of complex numbers the larger real part is taken out, and the logarithm's imaginary part is between -π and π.
Array logaddexp(const Operand& x, const Operand& y) {
  const SourceScope place(x.where(), "logaddexp");
  const Met met = meet_inexact("logaddexp", {x, y});
  const Array &a = met.operands[0], &b = met.operands[1];
  if (!is_complex(a.dtype())) return log_of_sum(exp, 1, a, b);
  const Array largest = max(real(a), real(b)), shift = stop_gradient(where(is_finite(largest), largest, 0));
  return log(exp(a - shift) + exp(b - shift)) + shift;
}

Array logaddexp2(const Operand& x, const Operand& y) {
  constexpr std::string_view name = "logaddexp2";
  const SourceScope place(x.where(), name);
  if (is_complex(x->dtype()) || is_complex(y->dtype())) {
    const Met met = meet_inexact(name, {x, y});
    return (logaddexp(met.operands[0] * ln2, met.operands[1] * ln2) / ln2).with_weak(met.weak);
  }
  const RealPair both = real_of_both(name, x, y);
  return log_of_sum(exp2, ln2, both.x, both.y);
}

Array sinc(const Operand& given) {
  const SourceScope place(given.where(), "sinc");
  const Array x = to_inexact(given), at_zero = x == 0, scaled = std::numbers::pi * where(at_zero, 1, x);
  // At 0 the first terms of the series, of which the derivatives are right to the fifteenth.
  const Array squared = square(std::numbers::pi * where(at_zero, x, 0));
  Array series = 1.0;
  for (int k = 7; k > 0; --k) series = 1 - squared * series / static_cast<double>(2 * k * (2 * k + 1));
  return where(at_zero, series, sin(scaled) / scaled);
}

Array trunc(const Operand& x) {
  const SourceScope place(x.where(), "trunc");
  return is_inexact(x->dtype()) ? where(x < 0, ceil(x), floor(x)) : Array(x);
}
Array round_half_away(const Operand& given) {
  constexpr std::string_view name = "round_half_away";
  const SourceScope place(given.where(), name);
  const Array x = real_only(name, given);
  if (!is_inexact(x.dtype())) return x;
  const Array fixed = stop_gradient(x), size = abs(fixed), below = floor(size);
  return sign(fixed) * (below + convert(size - below >= 0.5, x.dtype()));
}

Array round(const Operand& given, std::int64_t decimals) {
  constexpr std::string_view name = "round";
  const SourceScope place(given.where(), name);
  const Array x = given;
  const DType d = x.dtype();
  if (d == DType::bool_) throw DTypeError(fmt::format("{}: of bools there is nothing to round.", name), "");
  if (is_complex(d)) return of_both_parts(x, [&](const Array& part) { return round(part, decimals); });
  if (is_integer(d)) {
    if (decimals >= 0) return x;
    if (decimals < -19) return zeros_like(x);
    std::uint64_t unit = 1;
    for (std::int64_t i = 0; i < -decimals; ++i) unit *= 10;
    return nearest_multiple(x, unit);
  }
  if (decimals == 0) return round(x);
  if (is_narrow(d)) return convert(round(widened(x), decimals), d);  // in which the factor may be infinite
  if (std::abs(decimals) > (d == DType::f64 ? 300 : 37)) return decimals > 0 ? x : x * 0;
  const double factor = std::pow(10.0, static_cast<double>(decimals));
  return round(x * factor) / factor;
}

Array sign_bit(const Operand& x) {
  constexpr std::string_view name = "sign_bit";
  const SourceScope place(x.where(), name);
  if (x->dtype() == DType::bool_) return zeros_like(x);
  return is_integer(x->dtype()) ? x < 0 : is_minus(real_only(name, x));
}
Array copysign(const Operand& x, const Operand& y) {
  constexpr std::string_view name = "copysign";
  const SourceScope place(x.where(), name);
  const RealPair both = real_of_both(name, x, y);
  const Array size = abs(both.x);
  return where(is_minus(both.y), -size, size);
}
Array heaviside(const Operand& x, const Operand& y) {
  constexpr std::string_view name = "heaviside";
  const SourceScope place(x.where(), name);
  const RealPair both = real_of_both(name, x, y);
  return where(is_nan(both.x), both.x, where(both.x == 0, both.y, convert(both.x > 0, both.x.dtype())));
}

Array fmax(const Operand& x, const Operand& y) {
  const SourceScope place(x.where(), "fmax");
  return where(is_nan(x), y, where(is_nan(y), x, order::maximum(x, y)));
}
Array fmin(const Operand& x, const Operand& y) {
  const SourceScope place(x.where(), "fmin");
  return where(is_nan(x), y, where(is_nan(y), x, order::minimum(x, y)));
}

Array is_inf(const Operand& x) {
  const SourceScope place(x.where(), "is_inf");
  if (is_complex(x->dtype())) return is_inf(real(x)) | is_inf(imag(x));
  return is_inexact(x->dtype()) ? abs(x) == endless : x != x;
}
Array nan_to_num(const Operand& given, const NanToNumOptions& options) {
  const SourceScope place(given.where(), "nan_to_num");
  const Array x = given;
  const DType d = x.dtype();
  if (!is_inexact(d)) return x;
  if (is_complex(d)) return of_both_parts(x, [&](const Array& part) { return nan_to_num(part, options); });
  const double most = largest_finite_of(d);
  const auto number = [&](const Array& value) { return convert(value, d).with_weak(false); };
  const Array nan = number(options.nan), above = number(options.above ? *options.above : Array(most));
  const Array below = number(options.below ? *options.below : Array(-most));
  return where(is_nan(x), nan, where(x == endless, above, where(x == -endless, below, x)));
}
Array is_close(const Operand& x, const Operand& y, const CloseOptions& options) {
  const SourceScope place(x.where(), "is_close");
  const RealPair both = inexact_of_both(x, y);
  const Array &a = both.x, &b = both.y;
  const Array near = abs(a - b) <= options.atol + options.rtol * abs(b);
  const Array close = where(is_finite(a) & is_finite(b), near, a == b);
  return options.equal_nan ? close | (is_nan(a) & is_nan(b)) : close;
}

Array radians(const Operand& x) {
  const SourceScope place(x.where(), "radians");
  return to_inexact(x) * (std::numbers::pi / 180);
}
Array degrees(const Operand& x) {
  const SourceScope place(x.where(), "degrees");
  return to_inexact(x) * (180 / std::numbers::pi);
}

Array gcd(const Operand& x, const Operand& y) {
  constexpr std::string_view name = "gcd";
  const SourceScope place(x.where(), name);
  const Met met = meet(name, {x, y});
  if (!is_integer(met.operands[0].dtype()))
    throw DTypeError(
        fmt::format("{}: Arguments to {} must be integers: {} and {}.", name, name, x->type().text(), y->type().text()),
        "Convert them to an integer dtype.");
  const Array zero(Scalar::zero(met.operands[0].dtype())), one(Scalar::one(zero.dtype()));
  using State = std::pair<Array, Array>;
  const auto more = [&](const State& s) { return any(s.second != zero); };
  const auto step = [&](const State& s) {
    const Array done = s.second == zero;
    return State(where(done, s.first, s.second), where(done, zero, s.first % where(done, one, s.second)));
  };
  return while_loop(more, step, State(abs(met.operands[0]), abs(met.operands[1]))).first;
}
Array lcm(const Operand& x, const Operand& y) {
  constexpr std::string_view name = "lcm";
  const SourceScope place(x.where(), name);
  const Met met = in_one_dtype(Arrays{x, y});
  const Array divisor = gcd(met.operands[0], met.operands[1]), zero(Scalar::zero(divisor.dtype()));
  const Array one(Scalar::one(zero.dtype()));
  const Array multiple = abs(met.operands[0]) * (abs(met.operands[1]) / where(divisor == zero, one, divisor));
  return where(divisor == zero, zero, multiple);
}

}  // namespace tenon
