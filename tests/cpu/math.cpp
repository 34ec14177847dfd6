// The inlined mathematics against long double: dense samples and special values, in vector lanes and in remainders.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include "tenon/compile/native/codegen.h"

namespace tenon {
namespace {

using kernel::Binary;
using kernel::Expr;
using kernel::Unary;

template <class T>
constexpr DType dtype_of = sizeof(T) == 4 ? DType::f32 : DType::f64;

// How a function is run over arrays: lanes of vectors; one scalar a step of a loop; several registers side by side, in
// a body that is long enough for it.
enum class Form { lanes, scalars, registers };

// Runs `value(x, y)` for every element of xs and ys as native code.
template <class T>
std::vector<T> run(const std::function<Expr(Expr, Expr)>& value, const std::vector<T>& xs, const std::vector<T>& ys,
                   Form form = Form::lanes) {
  const auto n = static_cast<std::int64_t>(xs.size());
  kernel::Function f{.name = "math", .arguments = 4, .vars = 1};
  for (std::uint32_t i = 0; i < 4; ++i)
    f.slots.push_back({.dtype = dtype_of<T>, .elements = n, .place = kernel::Slot::Place::argument, .argument = i});
  const Expr i = kernel::variable(0), x = kernel::load(0, dtype_of<T>, i), y = kernel::load(1, dtype_of<T>, i);
  kernel::Nest nest{
      .vars = {0}, .sizes = {n}, .stores = {{.slot = 2, .offset = i, .value = value(x, y), .condition = {}}}};
  if (form == Form::registers) {
    Expr chain = y;
    for (int k = 0; k < 5; ++k) chain = kernel::unary(Unary::tanh, chain);
    nest.stores.push_back({.slot = 3, .offset = i, .value = chain, .condition = {}});
  }
  if (form == Form::scalars) {
    nest.vars.clear();
    nest.sizes.clear();
    f.body.push_back(kernel::For{.var = 0, .count = n, .body = {nest}});
  } else {
    f.body.push_back(nest);
  }
  std::vector<T> result(xs.size()), other(xs.size());
  void* arguments[] = {const_cast<T*>(xs.data()), const_cast<T*>(ys.data()), result.data(), other.data()};
  compile_native(f)->entry(arguments, nullptr, &never_cancelled);
  return result;
}

// Distance from the exact value in units of the last place of T there; results below the normal numbers may be flushed.
template <class T>
double ulps(T got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const auto rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (got == rounded) return 0;
    return std::fabs(static_cast<long double>(got)) >= std::numeric_limits<T>::max() * 0.9999999L &&
                   std::fabs(exact) >= std::numeric_limits<T>::max() * 0.9999999L && std::signbit(got) == (exact < 0)
               ? 1
               : 1e9;
  }
  const auto least = static_cast<long double>(std::numeric_limits<T>::min());
  if (std::fabs(exact) < least) return std::fabs(got - exact) <= least ? 0 : 1e9;
  int exponent;
  std::frexp(exact, &exponent);
  return static_cast<double>(std::fabs(got - exact) / std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (T v :
       {T(0),   L::min(),      L::max(), L::infinity(),    L::epsilon(), T(1),          T(0.5),       T(2),
        T(3),   T(0.99999994), T(88.5),  T(89.2),          T(104),       T(709.5),      T(710.2),     T(746),
        T(1e5), T(1e8),        T(1e20),  T(1.57079632679), T(0.75),      T(0.41421357), T(2.4142137), T(8388608.5)})
    for (T s : {v, -v}) values.push_back(s);
  values.push_back(L::quiet_NaN());
  return values;
}

// Even samples of [low, high], values of all magnitudes inside it, and the special ones; not a multiple of any vector.
template <class T>
std::vector<T> samples(double low, double high) {
  std::mt19937 random(17);
  std::vector<T> values = special_values<T>();
  for (int i = 0; i < 40000; ++i) values.push_back(static_cast<T>(low + (high - low) * i / 39999.0));
  std::uniform_real_distribution<double> exponent(std::numeric_limits<T>::min_exponent + 1, 8);
  for (int i = 0; i < 20000; ++i) {
    const double v = std::exp2(exponent(random)) * (i % 2 == 0 ? 1 : -1);
    if (v >= low && v <= high) values.push_back(static_cast<T>(v));
  }
  if (values.size() % 8 == 0) values.push_back(T(1));
  return values;
}

template <class T>
void expect_close(const std::string& what, const std::vector<T>& got, const std::vector<T>& xs,
                  const std::function<long double(long double)>& exact, double bound) {
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (const double error = ulps(got[i], exact(xs[i])); error > worst) worst = error, at = i;
  std::printf("%-28s %s %8.2f ulp at %.9g\n", what.c_str(), sizeof(T) == 4 ? "f32" : "f64", worst,
              static_cast<double>(xs[at]));
  EXPECT_LE(worst, bound) << what << "(" << xs[at] << ") gave " << got[at] << ", exactly "
                          << static_cast<double>(exact(xs[at]));
}

struct Case {
  Unary op;
  long double (*exact)(long double);
  double low, high, bound_f32, bound_f64;
};

// Bounds a little above what dense sampling found.
const Case cases[] = {
    {Unary::exp, expl, -750, 715, 2, 2},
    {Unary::expm1, expm1l, -50, 715, 3, 3},
    {Unary::log, logl, 0, 100, 2, 2},
    {Unary::log1p, log1pl, -1, 50, 3, 3},
    {Unary::sin, sinl, -200, 200, 2, 2},
    {Unary::cos, cosl, -200, 200, 2.1, 2},
    {Unary::tan, tanl, -200, 200, 4, 4},
    {Unary::tanh, tanhl, -22, 22, 3, 3},
    {Unary::sinh, sinhl, -715, 715, 4, 4},
    {Unary::cosh, coshl, -715, 715, 3, 3},
    {Unary::asin, asinl, -1, 1, 3, 3},
    {Unary::acos, acosl, -1, 1, 3, 3},
    {Unary::atan, atanl, -30, 30, 3, 3},
    {Unary::erf, erfl, -7, 7, 3, 3},
    {Unary::erfc, erfcl, -6, 29, 3, 3},
    {Unary::logistic, [](long double x) { return 1 / (1 + expl(-x)); }, -87, 40, 3, 3},
    {Unary::rsqrt, [](long double x) { return x == 0 ? 1 / x : 1 / sqrtl(x); }, 0, 100, 2, 2},
    {Unary::sqrt, sqrtl, 0, 100, 1, 1},
    {Unary::round, rintl, -100, 100, 0, 0},
    {Unary::sign, [](long double x) { return x > 0   ? 1.0L
                                             : x < 0 ? -1.0L
                                                     : x; }, -10, 10, 0, 0},
};

template <class T>
void check(const Case& c, double bound) {
  const std::vector<T> xs = samples<T>(c.low, c.high);
  for (const Form form : {Form::lanes, Form::scalars, Form::registers}) {
    const auto value = [&](Expr x, Expr) { return kernel::unary(c.op, x); };
    const std::string_view how = form == Form::lanes ? "lanes" : form == Form::scalars ? "scalars" : "registers";
    expect_close<T>(fmt::format("{} of {}", name(c.op), how), run<T>(value, xs, xs, form), xs, c.exact, bound);
    if (c.op == Unary::sin || c.op == Unary::cos) {
      for (const T y : run<T>(value, xs, xs, form)) EXPECT_FALSE(std::fabs(y) > 1);
    }
    // 0 keeps its sign in the odd functions.
    if (c.exact(-0.0L) == 0 && std::signbit(c.exact(-0.0L))) {
      EXPECT_TRUE(std::signbit(run<T>(value, {T(-0.0)}, {T(0)}, form)[0])) << name(c.op);
    }
  }
}

class MathOf : public testing::TestWithParam<Case> {};
TEST_P(MathOf, F32) { check<float>(GetParam(), GetParam().bound_f32); }
TEST_P(MathOf, F64) { check<double>(GetParam(), GetParam().bound_f64); }
INSTANTIATE_TEST_SUITE_P(Functions, MathOf, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(name(info.param.op)); });

// What the form of an argument bounds takes shorter ways: the same bounds hold there.
template <class T>
void check_bounded() {
  const auto clamp = [](Expr x, double low, double high) {
    return kernel::binary(Binary::max, kernel::binary(Binary::min, x, kernel::constant_like(x, high)),
                          kernel::constant_like(x, low));
  };
  const auto exactly = [](long double (*f)(long double), T low, T high) {
    return [=](long double x) { return std::isnan(x) ? x : f(std::fmin(std::fmax(x, low), high)); };
  };
  const std::vector<T> xs = samples<T>(-4, 4);
  for (const Form form : {Form::lanes, Form::scalars, Form::registers})
    for (const double limit : {1.2, 4.0}) {
      const auto bounded = [&](Unary op) {
        return run<T>([&](Expr x, Expr) { return kernel::unary(op, clamp(x, -limit, limit)); }, xs, xs, form);
      };
      const T low = static_cast<T>(-limit), high = static_cast<T>(limit);
      expect_close<T>("bounded sin", bounded(Unary::sin), xs, exactly(sinl, low, high), 2);
      expect_close<T>("bounded cos", bounded(Unary::cos), xs, exactly(cosl, low, high), 2.1);
      expect_close<T>("bounded tan", bounded(Unary::tan), xs, exactly(tanl, low, high), 4);
      expect_close<T>("bounded exp", bounded(Unary::exp), xs, exactly(expl, low, high), 2);
    }
}
TEST(Math, BoundedF32) { check_bounded<float>(); }
TEST(Math, BoundedF64) { check_bounded<double>(); }

// The sine and the cosine of one angle are computed together.
template <class T>
void check_sine_and_cosine() {
  const std::vector<T> xs = samples<T>(-200, 200);
  for (const Form form : {Form::lanes, Form::scalars, Form::registers})
    for (const bool sine : {true, false}) {
      const auto got = run<T>(
          [&](Expr x, Expr) {
            const Expr s = kernel::unary(Unary::sin, x), c = kernel::unary(Unary::cos, x);
            return kernel::select(kernel::binary(sine ? Binary::ge : Binary::lt, c * c, kernel::constant_like(x, -1)),
                                  s, c);
          },
          xs, xs, form);
      expect_close<T>(sine ? "sin beside cos" : "cos beside sin", got, xs, sine ? sinl : cosl, 2.1);
    }
}
TEST(Math, SineAndCosineF32) { check_sine_and_cosine<float>(); }
TEST(Math, SineAndCosineF64) { check_sine_and_cosine<double>(); }

// Where they are largest they are 1 to the bit: of a turn by nothing the matrix is the identity.
template <class T>
void check_where_they_are_one() {
  const T half_pi = std::numbers::pi_v<T> / 2;
  std::vector<T> turns, right_angles, ones;
  for (int i = 0; i < 96; ++i) {
    turns.push_back(std::array<T, 4>{0, -T(0), 2 * half_pi, -2 * half_pi}[static_cast<std::size_t>(i % 4)]);
    right_angles.push_back(std::array<T, 4>{half_pi, half_pi, -half_pi, -half_pi}[static_cast<std::size_t>(i % 4)]);
    ones.push_back(i % 4 < 2 ? 1 : -1);
  }
  for (const Form form : {Form::lanes, Form::scalars, Form::registers}) {
    const auto of = [&](Unary op, const std::vector<T>& xs) {
      return run<T>([&](Expr x, Expr) { return kernel::unary(op, x); }, xs, xs, form);
    };
    EXPECT_EQ(of(Unary::cos, turns), ones);
    EXPECT_EQ(of(Unary::sin, right_angles), ones);
  }
}
TEST(Math, WhereSineAndCosineAreOneF32) { check_where_they_are_one<float>(); }
TEST(Math, WhereSineAndCosineAreOneF64) { check_where_they_are_one<double>(); }

using Draw = std::pair<double, double> (*)(std::mt19937&, bool f32);
template <class T>
void check_pairs(Binary op, long double (*exact)(long double, long double), double scale, double bound,
                 Draw hard = nullptr) {
  std::vector<T> xs, ys;
  for (T x : special_values<T>())
    for (T y : special_values<T>()) xs.push_back(x), ys.push_back(y);
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 40000; ++i) {
    xs.push_back(static_cast<T>(std::exp(3 * normal(random)) * (i % 3 == 0 ? -1 : 1)));
    const double y = scale * normal(random);
    ys.push_back(static_cast<T>(i % 5 == 0 ? std::round(y) : y));
  }
  for (int i = 0; hard != nullptr && i < 100000; ++i) {
    const auto [x, y] = hard(random, sizeof(T) == 4);
    xs.push_back(static_cast<T>(x)), ys.push_back(static_cast<T>(y));
  }
  const std::vector<T> got = run<T>([&](Expr x, Expr y) { return kernel::binary(op, x, y); }, xs, ys);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (const double error = ulps(got[i], exact(xs[i], ys[i])); error > worst) worst = error, at = i;
  std::printf("%-9s %s %8.2f ulp at %.9g, %.9g\n", std::string(name(op)).c_str(), sizeof(T) == 4 ? "f32" : "f64", worst,
              static_cast<double>(xs[at]), static_cast<double>(ys[at]));
  EXPECT_LE(worst, bound) << name(op) << "(" << xs[at] << ", " << ys[at] << ") gave " << got[at] << ", exactly "
                          << static_cast<double>(exact(xs[at], ys[at]));
}
// Bases of all magnitudes and near 1, to powers that have results of all magnitudes.
std::pair<double, double> hard_power(std::mt19937& random, bool f32) {
  std::uniform_real_distribution<double> unit(-1, 1);
  const double reach = std::pow(unit(random), 3), x = std::exp((f32 ? 87 : 700) * reach);
  return {x, (f32 ? 88.5 : 709.5) * unit(random) / std::log(f32 ? static_cast<double>(static_cast<float>(x)) : x)};
}
// Quotients of all sizes up to 2^60 beside integers, where rounding them may go beyond.
std::pair<double, double> hard_quotient(std::mt19937& random, bool f32) {
  std::uniform_real_distribution<double> unit(0, 1);
  const double y = std::exp2(60 * unit(random) - 30), whole = std::floor(std::exp2(60 * std::pow(unit(random), 2)));
  const double x = static_cast<double>(f32 ? static_cast<float>(y) : y) * whole;
  const double beside = unit(random) < 0.3 ? 0 : (unit(random) - 0.5) * (f32 ? 0x1p-22 : 0x1p-51);
  return {x * (1 + beside) * (unit(random) < 0.5 ? -1 : 1), y * (unit(random) < 0.5 ? -1 : 1)};
}
TEST(MathPairs, PowF32) { check_pairs<float>(Binary::pow, powl, 5, 1, hard_power); }
TEST(MathPairs, PowF64) { check_pairs<double>(Binary::pow, powl, 30, 1.5, hard_power); }
TEST(MathPairs, Atan2F32) { check_pairs<float>(Binary::atan2, atan2l, 10, 4); }
TEST(MathPairs, Atan2F64) { check_pairs<double>(Binary::atan2, atan2l, 10, 4); }
TEST(MathPairs, RemF32) { check_pairs<float>(Binary::rem, fmodl, 10, 0, hard_quotient); }
TEST(MathPairs, RemF64) { check_pairs<double>(Binary::rem, fmodl, 10, 0, hard_quotient); }

}  // namespace
}  // namespace tenon
