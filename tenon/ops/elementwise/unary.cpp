// Elementwise ops of one operand, each with its whole story.
#include <numbers>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/families.h"

namespace tenon {
namespace {

using kernel::Unary;
using std::numbers::pi;

// e^z - 1 and log(1 + z) in as many digits as there are, so that what cancels leaves enough of them.
template <std::floating_point T>
T expm1_of(T x) {
  return std::expm1(x);
}
template <class T>
std::complex<T> expm1_of(std::complex<T> z) {
  const long double x = z.real(), y = z.imag(), half = std::sin(y / 2);
  const std::complex<T> whole = std::exp(z);
  if (y == 0) return {std::expm1(z.real()), z.imag()};
  if (!std::isfinite(z.real()) || !std::isfinite(z.imag())) return whole - T(1);
  return {static_cast<T>(x > 1 ? std::exp(x) * std::cos(y) - 1 : std::expm1(x) * std::cos(y) - 2 * half * half),
          whole.imag()};
}
template <std::floating_point T>
T log1p_of(T x) {
  return std::log1p(x);
}
template <class T>
std::complex<T> log1p_of(std::complex<T> z) {
  const long double x = z.real(), y = z.imag();
  const std::complex<long double> whole = std::log(std::complex<long double>(1 + x, y));
  const bool near = std::abs(x) < 0.5L && std::abs(y) < 0.5L;
  return {static_cast<T>(near ? std::log1p(x * (2 + x) + y * y) / 2 : whole.real()), static_cast<T>(whole.imag())};
}

// 1 + z and 1 - z of complex numbers, and √(1 - z²) as their roots, whose branch cuts are those of asin.
Array one_and(const Array& z, double sign) { return complex(1 + sign * real(z), sign * imag(z)); }
Array root_of_rest(const Array& z) { return sqrt(one_and(z, -1)) * sqrt(one_and(z, 1)); }
// The slopes of asin and atan.
Array slope_of_asin(const Array& x) { return is_complex(x.dtype()) ? 1 / root_of_rest(x) : rsqrt(1 - x * x); }
Array times_slope_of_atan(const Array& dx, const Array& x) {
  if (!is_complex(x.dtype())) return dx / (1 + x * x);
  return dx / one_and(times_i(x), -1) / one_and(times_i(x), 1);
}

TransposeRule transposed_by(std::function<Array(const Array&)> rule) {
  return [rule](const TransposeArgs& args) {
    if (args.cotangents[0]) args.sink.add(0, rule(*args.cotangents[0]));
  };
}

extern const OpInfo neg_info, abs_op, sign_op, floor_op, ceil_op, round_op, sqrt_op, rsqrt_op, exp_info, expm1_op,
    log_info, log1p_op, sin_op, cos_op, tan_op, tanh_op, sinh_op, cosh_op, asin_op, acos_op, atan_op, logistic_op,
    erf_op, erfc_op, is_finite_op, not_op;

// d(-x) = -dx
const OpInfo neg_info = unary(
    neg_info, UnarySpec{.name = "neg",
                        .summary = "-x",
                        .dtypes = dtypes::numbers,
                        .eval =
                            [](auto x) {
                              if constexpr (std::is_integral_v<decltype(x)>)
                                return static_cast<decltype(x)>(0u - static_cast<std::make_unsigned_t<decltype(x)>>(x));
                              else
                                return -x;
                            },
                        .jvp = TangentRule([](const Array&, const Array&, const Array& dx) { return -dx; }),
                        .lower = Unary::neg,
                        .sample = {-3, 3},
                        .transpose = transposed_by([](const Array& ct) { return -ct; }),
                        .traits = {.involution = true, .determined = true}});

// d|x| = dx where x is at least 0, else -dx, so that at 0 it is the slope on the right; of complex, abs is composed
// from real parts.
const OpInfo abs_op = unary(
    abs_op,
    UnarySpec{.name = "abs",
              .summary = "|x|",
              .dtypes = dtypes::ordered_numbers,
              .eval =
                  [](auto x) {
                    if constexpr (std::is_unsigned_v<decltype(x)>)
                      return x;
                    else if constexpr (std::is_integral_v<decltype(x)>)
                      return x < 0 ? static_cast<decltype(x)>(0u - static_cast<std::make_unsigned_t<decltype(x)>>(x))
                                   : x;
                    else
                      return std::abs(x);
                  },
              .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) { return where(x >= 0, dx, -dx); }),
              .lower = Unary::abs,
              .sample = {-3, 3},
              .traits = {.idempotent = true, .even = true, .determined = true}});

const OpInfo sign_op = unary(sign_op, UnarySpec{.name = "sign",
                                                .summary = "-1, 0 or 1; NaN and signed zero stay",
                                                .dtypes = dtypes::ordered_numbers,
                                                .eval =
                                                    [](auto x) {
                                                      using T = decltype(x);
                                                      if constexpr (std::is_unsigned_v<T>)
                                                        return static_cast<T>(x != 0);
                                                      else if (x > 0)
                                                        return T(1);
                                                      else if (x < 0)
                                                        return T(-1);
                                                      else
                                                        return x;
                                                    },
                                                .jvp = FlatEverywhere(),
                                                .lower = Unary::sign,
                                                .sample = {-3, 3},
                                                .traits = {.idempotent = true, .determined = true}});

const OpInfo floor_op = unary(floor_op, UnarySpec{.name = "floor",
                                                  .summary = "the largest integer not above x",
                                                  .dtypes = dtypes::real,
                                                  .eval = [](auto x) { return std::floor(x); },
                                                  .jvp = FlatEverywhere(),
                                                  .lower = Unary::floor,
                                                  .sample = {-3, 3},
                                                  .traits = {.idempotent = true, .determined = true}});
const OpInfo ceil_op = unary(ceil_op, UnarySpec{.name = "ceil",
                                                .summary = "the smallest integer not below x",
                                                .dtypes = dtypes::real,
                                                .eval = [](auto x) { return std::ceil(x); },
                                                .jvp = FlatEverywhere(),
                                                .lower = Unary::ceil,
                                                .sample = {-3, 3},
                                                .traits = {.idempotent = true, .determined = true}});
const OpInfo round_op = unary(round_op, UnarySpec{.name = "round",
                                                  .summary = "the nearest integer, halves to even",
                                                  .dtypes = dtypes::real,
                                                  .eval = [](auto x) { return std::nearbyint(x); },
                                                  .jvp = FlatEverywhere(),
                                                  .lower = Unary::round,
                                                  .sample = {-3, 3},
                                                  .traits = {.idempotent = true, .determined = true}});

// d√x = dx / (2√x)
const OpInfo sqrt_op = unary(
    sqrt_op, UnarySpec{.name = "sqrt",
                       .summary = "square root",
                       .dtypes = dtypes::inexact,
                       .eval = [](auto x) { return std::sqrt(x); },
                       .jvp = TangentRule([](const Array&, const Array& y, const Array& dx) { return dx * (0.5 / y); }),
                       .lower = Unary::sqrt,
                       .sample = {0.1, 4},
                       .traits = {.determined = true}});
// d x^(-1/2) = -y³/2·dx
const OpInfo rsqrt_op = unary(
    rsqrt_op,
    UnarySpec{.name = "rsqrt",
              .summary = "1 / sqrt(x)",
              .dtypes = dtypes::inexact,
              .eval = [](auto x) { return decltype(x)(1) / std::sqrt(x); },
              .jvp = TangentRule([](const Array& x, const Array& y, const Array& dx) { return dx * (-0.5 * y / x); }),
              .lower = Unary::rsqrt,
              .sample = {0.1, 4}});
const OpInfo exp_info =
    unary(exp_info, UnarySpec{.name = "exp",
                              .summary = "e^x",
                              .dtypes = dtypes::inexact,
                              .eval = [](auto x) { return std::exp(x); },
                              .jvp = TangentRule([](const Array&, const Array& y, const Array& dx) { return dx * y; }),
                              .lower = Unary::exp,
                              .sample = {-2, 2}});
const OpInfo expm1_op = unary(
    expm1_op, UnarySpec{.name = "expm1",
                        .summary = "e^x - 1, exact near 0",
                        .dtypes = dtypes::inexact,
                        .eval = [](auto x) { return expm1_of(x); },
                        .jvp = TangentRule([](const Array&, const Array& y, const Array& dx) { return dx * (y + 1); }),
                        .lower = Unary::expm1,
                        .sample = {-2, 2}});
const OpInfo log_info =
    unary(log_info, UnarySpec{.name = "log",
                              .summary = "natural logarithm",
                              .dtypes = dtypes::inexact,
                              .eval = [](auto x) { return std::log(x); },
                              .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) { return dx / x; }),
                              .lower = Unary::log,
                              .sample = {0.1, 4}});
const OpInfo log1p_op = unary(
    log1p_op, UnarySpec{.name = "log1p",
                        .summary = "log(1 + x), exact near 0",
                        .dtypes = dtypes::inexact,
                        .eval = [](auto x) { return log1p_of(x); },
                        .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) { return dx / (x + 1); }),
                        .lower = Unary::log1p,
                        .sample = {-0.5, 3}});
const OpInfo sin_op = unary(
    sin_op, UnarySpec{.name = "sin",
                      .summary = "sine",
                      .dtypes = dtypes::inexact,
                      .eval = [](auto x) { return std::sin(x); },
                      .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) { return dx * cos(x); }),
                      .lower = Unary::sin,
                      .sample = {-3, 3}});
const OpInfo cos_op = unary(
    cos_op, UnarySpec{.name = "cos",
                      .summary = "cosine",
                      .dtypes = dtypes::inexact,
                      .eval = [](auto x) { return std::cos(x); },
                      .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) { return dx * -sin(x); }),
                      .lower = Unary::cos,
                      .sample = {-3, 3},
                      .traits = {.even = true}});
const OpInfo tan_op =
    unary(tan_op,
          UnarySpec{.name = "tan",
                    .summary = "tangent",
                    .dtypes = dtypes::inexact,
                    .eval = [](auto x) { return std::tan(x); },
                    .jvp = TangentRule([](const Array&, const Array& y, const Array& dx) { return dx * (1 + y * y); }),
                    .lower = Unary::tan,
                    .sample = {-1, 1}});
const OpInfo tanh_op =
    unary(tanh_op,
          UnarySpec{.name = "tanh",
                    .summary = "hyperbolic tangent",
                    .dtypes = dtypes::inexact,
                    .eval = [](auto x) { return std::tanh(x); },
                    .jvp = TangentRule([](const Array&, const Array& y, const Array& dx) { return dx * (1 - y * y); }),
                    .lower = Unary::tanh,
                    .sample = {-3, 3}});
const OpInfo sinh_op = unary(
    sinh_op, UnarySpec{.name = "sinh",
                       .summary = "hyperbolic sine",
                       .dtypes = dtypes::inexact,
                       .eval = [](auto x) { return std::sinh(x); },
                       .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) { return dx * cosh(x); }),
                       .lower = Unary::sinh,
                       .sample = {-2, 2}});
const OpInfo cosh_op = unary(
    cosh_op, UnarySpec{.name = "cosh",
                       .summary = "hyperbolic cosine",
                       .dtypes = dtypes::inexact,
                       .eval = [](auto x) { return std::cosh(x); },
                       .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) { return dx * sinh(x); }),
                       .lower = Unary::cosh,
                       .sample = {-2, 2},
                       .traits = {.even = true}});
const OpInfo asin_op = unary(
    asin_op,
    UnarySpec{.name = "asin",
              .summary = "inverse sine",
              .dtypes = dtypes::inexact,
              .eval = [](auto x) { return std::asin(x); },
              .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) { return dx * slope_of_asin(x); }),
              .lower = Unary::asin,
              .sample = {-0.8, 0.8}});
const OpInfo acos_op = unary(
    acos_op,
    UnarySpec{.name = "acos",
              .summary = "inverse cosine",
              .dtypes = dtypes::inexact,
              .eval = [](auto x) { return std::acos(x); },
              .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) { return dx * -slope_of_asin(x); }),
              .lower = Unary::acos,
              .sample = {-0.8, 0.8}});
const OpInfo atan_op = unary(atan_op, UnarySpec{.name = "atan",
                                                .summary = "inverse tangent",
                                                .dtypes = dtypes::inexact,
                                                .eval = [](auto x) { return std::atan(x); },
                                                .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) {
                                                  return times_slope_of_atan(dx, x);
                                                }),
                                                .lower = Unary::atan,
                                                .sample = {-3, 3}});
// σ' = σ(1 - σ)
const OpInfo logistic_op = unary(
    logistic_op,
    UnarySpec{.name = "logistic",
              .summary = "1 / (1 + e^-x)",
              .dtypes = dtypes::real,
              .eval =
                  [](auto x) {  // the exponential never overflows
                    const auto e = std::exp(-std::abs(x));
                    return (x < 0 ? e : 1) / (1 + e);
                  },
              .jvp = TangentRule([](const Array&, const Array& y, const Array& dx) { return dx * (y * (1 - y)); }),
              .lower = Unary::logistic,
              .sample = {-4, 4}});
// erf' = 2/√π·e^(-x²)
const OpInfo erf_op = unary(erf_op, UnarySpec{.name = "erf",
                                              .summary = "the error function",
                                              .dtypes = dtypes::real,
                                              .eval = [](auto x) { return std::erf(x); },
                                              .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) {
                                                return dx * (2 / std::sqrt(pi) * exp(-(x * x)));
                                              }),
                                              .lower = Unary::erf,
                                              .sample = {-2, 2}});
// erfc' = -erf'
const OpInfo erfc_op = unary(erfc_op, UnarySpec{.name = "erfc",
                                                .summary = "1 - erf(x), exact where that is small",
                                                .dtypes = dtypes::real,
                                                .eval = [](auto x) { return std::erfc(x); },
                                                .jvp = TangentRule([](const Array& x, const Array&, const Array& dx) {
                                                  return dx * (-2 / std::sqrt(pi) * exp(-(x * x)));
                                                }),
                                                .lower = Unary::erfc,
                                                .sample = {-2, 2}});
const OpInfo is_finite_op = unary(is_finite_op, UnarySpec{.name = "is_finite",
                                                          .summary = "neither infinite nor NaN",
                                                          .dtypes = dtypes::real,
                                                          .eval = [](auto x) { return std::isfinite(x); },
                                                          .jvp = Absent{"its result is a bool"},
                                                          .lower = Unary::is_finite,
                                                          .sample = {-3, 3},
                                                          .result = family::boolean,
                                                          .traits = {.even = true, .determined = true}});
const OpInfo not_op = unary(not_op, UnarySpec{.name = "not",
                                              .summary = "logical of bool, bitwise of integers",
                                              .dtypes = dtypes::logical,
                                              .eval =
                                                  [](auto x) {
                                                    if constexpr (std::is_same_v<decltype(x), bool>)
                                                      return !x;
                                                    else
                                                      return static_cast<decltype(x)>(~x);
                                                  },
                                              .jvp = Absent{"defined for bool and integers"},
                                              .lower = Unary::not_,
                                              .sample = {0, 5},
                                              .traits = {.involution = true, .determined = true}});

Array apply(const OpInfo& op, const Operand& x, bool inexact) {
  const SourceScope place(x.where(), op.name);
  const Array operand = inexact ? to_inexact(x) : x.array();
  return bind1(op, {}, {operand}).with_weak(x->weak());
}

const bool unary_installed = [] {
  for (const OpInfo* op :
       {&neg_info, &abs_op,   &sign_op,  &floor_op,    &ceil_op, &round_op, &sqrt_op,      &rsqrt_op, &exp_info,
        &expm1_op, &log_info, &log1p_op, &sin_op,      &cos_op,  &tan_op,   &tanh_op,      &sinh_op,  &cosh_op,
        &asin_op,  &acos_op,  &atan_op,  &logistic_op, &erf_op,  &erfc_op,  &is_finite_op, &not_op})
    install_op(*op);
  return true;
}();

}  // namespace

Array operator-(const Operand& x) { return apply(neg_info, x, false); }
// Of complex: scaled by the larger part, so that squares neither overflow nor vanish; the derivative at 0 is 0.
Array abs(const Operand& x) {
  if (!is_complex(x->dtype())) return apply(abs_op, x, false);
  const SourceScope place(x.where(), "abs");
  const Array re = real(x), im = imag(x);
  const Array larger = stop_gradient(max(abs(re), abs(im)));
  const Array scale = where((larger == 0) | !is_finite(larger), 1, larger);
  const Array a = re / scale, b = im / scale, zero = larger == 0;
  return where(zero, 0, scale * sqrt(where(zero, 1, a * a + b * b)));
}
Array sign(const Operand& x) {
  if (!is_complex(x->dtype())) return apply(sign_op, x, false);
  const SourceScope place(x.where(), "sign");
  const Array modulus = abs(x);
  return x.array() / where(modulus == 0, 1, modulus);
}
Array floor(const Operand& x) { return apply(floor_op, x, true); }
Array ceil(const Operand& x) { return apply(ceil_op, x, true); }
Array round(const Operand& x) { return apply(round_op, x, true); }
Array sqrt(const Operand& x) { return apply(sqrt_op, x, true); }
Array rsqrt(const Operand& x) { return apply(rsqrt_op, x, true); }
Array exp(const Operand& x) { return apply(exp_info, x, true); }
Array expm1(const Operand& x) { return apply(expm1_op, x, true); }
Array log(const Operand& x) { return apply(log_info, x, true); }
Array log1p(const Operand& x) { return apply(log1p_op, x, true); }
Array sin(const Operand& x) { return apply(sin_op, x, true); }
Array cos(const Operand& x) { return apply(cos_op, x, true); }
Array tan(const Operand& x) { return apply(tan_op, x, true); }
Array tanh(const Operand& x) { return apply(tanh_op, x, true); }
Array sinh(const Operand& x) { return apply(sinh_op, x, true); }
Array cosh(const Operand& x) { return apply(cosh_op, x, true); }
Array asin(const Operand& x) { return apply(asin_op, x, true); }
Array acos(const Operand& x) { return apply(acos_op, x, true); }
Array atan(const Operand& x) { return apply(atan_op, x, true); }
// Of complex: by the exponential whose modulus is at most 1.
Array logistic(const Operand& x) {
  if (!is_complex(x->dtype())) return apply(logistic_op, x, true);
  const SourceScope place(x.where(), "logistic");
  const Array right = real(x) > 0, e = exp(where(right, -x, x));
  return where(right, 1, e) / (1 + e);
}
Array erf(const Operand& x) { return apply(erf_op, x, true); }
Array erfc(const Operand& x) { return apply(erfc_op, x, true); }
const OpInfo& neg_op() { return neg_info; }
const OpInfo& exp_op() { return exp_info; }
const OpInfo& log_op() { return log_info; }

Array square(const Operand& x) {
  const SourceScope place(x.where(), "square");
  return x.array() * x.array();
}
Array is_finite(const Operand& x) {
  if (is_complex(x->dtype())) return is_finite(real(x)) & is_finite(imag(x));
  return apply(is_finite_op, x, true).with_weak(false);
}
Array is_nan(const Operand& x) {
  const SourceScope place(x.where(), "is_nan");
  return x.array() != x.array();
}
Array operator!(const Operand& x) { return apply(not_op, x, false); }

}  // namespace tenon
