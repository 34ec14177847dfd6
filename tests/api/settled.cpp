// Choices of meaning that are settled: ties share, products with zeros, integer division by zero, gradients of complex
// functions, NaN and signed zero. For every dtype they concern, eager, compiled, batched and by the reference
// evaluator, alone and inside of loops and branches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>

#include "tenon/tenon.h"
#include "tests/by_oracle.h"

namespace tn = tenon;
using tn::Array;
using tn::Dim;
using tn::DType;

namespace {

using Function = std::function<Array(const Array&)>;

constexpr DType reals[] = {DType::f16, DType::bf16, DType::f32, DType::f64};
constexpr double nan_ = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

Array of(DType d, const std::vector<double>& values) { return tn::convert(tn::array<double>(values), d); }
std::vector<double> numbers(const Array& a) {
  const tn::Buffer b = tn::convert(a, DType::f64).to_buffer();
  return {b.as<double>(), b.as<double>() + b.elements()};
}

// The function in every surrounding in which it must mean the same.
std::vector<std::pair<std::string, Function>> surroundings(const Function& f) {
  return {
      {"eager", f},
      {"compiled", tn::jit(f)},
      {"reference",
       [f](const Array& x) {
         const tn::ByOracle reference;
         return Array(f(x).to_buffer());
       }},
      {"batched", [f](const Array& x) { return tn::vmap(f)(tn::stack(tn::Arrays{tn::ones_like(x), x}))(1); }},
      {"checkpointed", tn::checkpoint(f)},
      {"in a loop",
       [f](const Array& x) {
         return tn::scan([&](const Array& c, const Array&) { return std::pair(c, f(c)); }, x, tn::arange(2)).second(1);
       }},
      {"in a branch", [f](const Array& x) {
         return tn::jit([f](const Array& v) {
           return tn::cond(tn::sum(v * 0) == 1, [&](const Array& u) { return f(u * 0); }, f, v);
         })(x);
       }}};
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}
// Equal with the sign of zero, and NaN equal to itself.
void expect_everywhere(const Function& f, const Array& x, const std::vector<double>& want) {
  for (const auto& [name, g] : surroundings(f)) {
    SCOPED_TRACE(name + ", " + x.type().text());
    std::vector<double> got;
    try {
      got = numbers(g(x));
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
      continue;
    }
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(same(got[i], want[i])) << "element " << i << ": " << got[i] << ", not " << want[i];
  }
}
Function gradient(const Function& f) {
  return [f](const Array& x) { return tn::grad([&](const Array& v) { return tn::sum(f(v)); })(x); };
}

// --- ties ---
TEST(Settled, TiesOfTwoShare) {
  for (DType d : reals) {
    const Array x = of(d, {1, 2, 3}), y = of(d, {1, 3, 2});
    for (const bool largest : {true, false}) {
      const auto extremum = [&](const Array& a, const Array& b) { return largest ? tn::max(a, b) : tn::min(a, b); };
      expect_everywhere(gradient([&](const Array& a) { return extremum(a, y); }), x,
                        largest ? std::vector<double>{0.5, 0, 1} : std::vector<double>{0.5, 1, 0});
      expect_everywhere(gradient([&](const Array& a) { return extremum(y, a); }), x,
                        largest ? std::vector<double>{0.5, 0, 1} : std::vector<double>{0.5, 1, 0});
      // Of a value with itself the halves are one.
      expect_everywhere(gradient([&](const Array& a) { return extremum(a, a); }), x, {1, 1, 1});
      expect_everywhere(gradient(gradient([&](const Array& a) { return extremum(a * a, y); })), x,
                        largest ? std::vector<double>{1, 2, 2} : std::vector<double>{1, 0, 0});
    }
  }
}

TEST(Settled, TiesOfAReductionShare) {
  for (DType d : reals) {
    const Array x = of(d, {4, 1, 4, 4, 4, 0});
    expect_everywhere(gradient([](const Array& a) { return tn::amax(a); }), x, {0.25, 0, 0.25, 0.25, 0.25, 0});
    expect_everywhere(gradient([](const Array& a) { return tn::amin(-a); }), x,
                      {-0.25, -0.0, -0.25, -0.25, -0.25, -0.0});
    const auto columns = [](const Array& a) { return tn::amax(tn::reshape(a, {Dim(2), Dim(3)}), 0); };
    expect_everywhere(gradient(columns), x, {0.5, 0, 1, 0.5, 1, 0});
    // The derivative of the shares is none: of 3·max(x)² it is 6/n² for each pair of those that tie.
    const Function squared = [](const Array& a) { return tn::square(tn::amax(a)) * 8; };
    expect_everywhere(gradient([&](const Array& a) { return gradient(squared)(a)(0); }), x, {1, 0, 1, 1, 1, 0});
  }
}

// --- products with zeros ---
double product_without(const std::vector<double>& x, std::vector<std::size_t> left_out) {
  double p = 1;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::ranges::find(left_out, i) == left_out.end()) p *= x[i];
  return p;
}
TEST(Settled, ProductsWithZeros) {
  const std::vector<double> all[] = {{2, 3, 0.5, 4}, {2, 0, 0.5, 4}, {2, 0, 0.5, 0}, {0, 0, 0.5, 0}, {0, 0, 0, 0}};
  for (DType d : reals)
    for (const std::vector<double>& x : all) {
      std::vector<double> slopes, row;
      for (std::size_t i = 0; i < 4; ++i) {
        slopes.push_back(product_without(x, {i}));
        row.push_back(i == 1 ? 0 : product_without(x, {1, i}));
      }
      const Function product = [](const Array& a) { return tn::prod(a); };
      expect_everywhere(gradient(product), of(d, x), slopes);
      expect_everywhere(gradient([&](const Array& a) { return gradient(product)(a)(1); }), of(d, x), row);
      double third = product_without(x, {0, 1, 2});
      expect_everywhere(
          [&](const Array& a) {
            return gradient([&](const Array& b) {
              return gradient([&](const Array& c) { return gradient(product)(c)(1); })(b)(0);
            })(a)(2);
          },
          of(d, x), {third});
    }
}

// --- integers divided by zero ---
constexpr DType integers[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                              DType::u8, DType::u16, DType::u32, DType::u64};
TEST(Settled, IntegersDividedByZero) {
  for (DType d : integers) {
    const Array x = tn::convert(Array{7, 0, 1}, d), zero = tn::zeros_like(x);
    const Array minus_one = tn::convert(Array{-1, -1, -1}, d);
    for (const auto& [name, f] : surroundings([&](const Array& a) { return a / zero; })) {
      SCOPED_TRACE(name + ", " + x.type().text());
      EXPECT_TRUE(tn::array_equal(f(x), minus_one)) << f(x);
    }
    for (const auto& [name, f] : surroundings([&](const Array& a) { return a % zero; })) {
      SCOPED_TRACE(name + ", " + x.type().text());
      EXPECT_TRUE(tn::array_equal(f(x), x)) << f(x);
    }
  }
}
// The most negative number divided by -1 is itself, and never a trap.
TEST(Settled, MostNegativeIntegers) {
  const Array x = tn::convert(Array{-128, 5}, DType::i8), y = tn::convert(Array{-1, -1}, DType::i8);
  for (const auto& [name, f] : surroundings([&](const Array& a) { return a / y; })) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(tn::array_equal(f(x), tn::convert(Array{-128, -5}, DType::i8))) << f(x);
  }
  const Array low(tn::Scalar(std::numeric_limits<std::int64_t>::min())), one(tn::Scalar(std::int64_t(-1)));
  EXPECT_EQ(tn::jit([](const Array& a, const Array& b) { return a / b; })(low, one).item<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(tn::jit([](const Array& a, const Array& b) { return a % b; })(low, one).item<std::int64_t>(), 0);
}

// --- complex gradients: of a real function of z = x + iy, ∂f/∂x - i·∂f/∂y ---
TEST(Settled, GradientsOfComplexFunctions) {
  using C = std::complex<double>;
  const std::vector<std::pair<const char*, Function>> all{
      {"|z|²", [](const Array& z) { return tn::sum(tn::real(z * tn::conj(z))); }},
      {"re exp z", [](const Array& z) { return tn::sum(tn::real(tn::exp(z))); }},
      {"im z³", [](const Array& z) { return tn::sum(tn::imag(z * z * z)); }},
      {"|sin z|", [](const Array& z) { return tn::sum(tn::abs(tn::sin(z))); }},
      {"re² + im", [](const Array& z) { return tn::sum(tn::square(tn::real(z)) + tn::imag(z) * tn::real(z)); }},
      {"in a loop", [](const Array& z) {
         return tn::sum(tn::abs(
             tn::scan([&](const Array& c, const Array&) { return std::pair(c * z + tn::conj(c), c); }, z, tn::arange(3))
                 .first));
       }}};
  const std::vector<C> points{{0.3, 0.7}, {-1.1, 0.4}, {0.5, -0.2}};
  const Array z = tn::array<C>(points);
  for (const auto& [name, f] : all) {
    SCOPED_TRACE(name);
    std::vector<C> want;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto slope = [&, f = f](C direction) {
        std::vector<C> low = points, high = points;
        low[i] -= direction * 1e-6;
        high[i] += direction * 1e-6;
        return (f(tn::array<C>(high)).item<double>() - f(tn::array<C>(low)).item<double>()) / 2e-6;
      };
      want.push_back(slope(1) - C(0, 1) * slope(C(0, 1)));
    }
    for (const bool compiled : {false, true}) {
      const Array got = compiled ? tn::jit(tn::grad(f))(z) : tn::grad(f)(z);
      const tn::Buffer b = got.to_buffer();
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(std::abs(b.as<C>()[i] - want[i]), 0, 1e-8) << i;
      const tn::Buffer single = tn::convert(tn::grad(f)(tn::convert(z, DType::c64)), DType::c128).to_buffer();
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(std::abs(single.as<C>()[i] - want[i]), 0, 1e-4) << i;
    }
  }
}

// --- NaN and the sign of zero ---
TEST(Settled, NaNIsKept) {
  for (DType d : reals) {
    const Array x = of(d, {nan_, 1, nan_}), y = of(d, {0, nan_, nan_});
    for (const Function& f : std::vector<Function>{[&](const Array& a) { return tn::max(a, y); },
                                                   [&](const Array& a) { return tn::min(y, a); },
                                                   [&](const Array& a) { return a * 0.0 + y * 0.0; },
                                                   [&](const Array& a) { return tn::clamp(a + y, -1.0, 1.0); }})
      expect_everywhere(f, x, {nan_, nan_, nan_});
    for (const Function& f : std::vector<Function>{
             [](const Array& a) { return tn::amax(a); }, [](const Array& a) { return tn::amin(a); },
             [](const Array& a) { return tn::sum(a * 0.0); }, [](const Array& a) { return tn::prod(a * 0.0); }})
      expect_everywhere(f, x, {nan_});
    expect_everywhere([](const Array& a) { return a == a; }, x, {0, 1, 0});
    expect_everywhere([](const Array& a) { return tn::where(a == a, a, 7.0); }, x, {7, 1, 7});
    // 0 · ∞ in a derivative is NaN; where() takes the other side's zero.
    expect_everywhere(gradient([](const Array& a) { return tn::sqrt(a) * 0.0; }), of(d, {0, 4}), {nan_, 0});
    expect_everywhere(gradient([](const Array& a) { return tn::where(a > 0.0, a * 2.0, 1.0); }), of(d, {nan_, 4}),
                      {0, 2});
  }
}
TEST(Settled, TheSignOfZeroIsKept) {
  for (DType d : reals) {
    const Array x = of(d, {-0.0, 0.0, -0.25});
    expect_everywhere([](const Array& a) { return -a; }, x, {0.0, -0.0, 0.25});
    expect_everywhere([](const Array& a) { return a * 1.0; }, x, {-0.0, 0.0, -0.25});
    expect_everywhere([](const Array& a) { return a + 0.0; }, x, {0.0, 0.0, -0.25});
    expect_everywhere([](const Array& a) { return a - 0.0; }, x, {-0.0, 0.0, -0.25});
    expect_everywhere([](const Array& a) { return 0.0 - a; }, x, {0.0, 0.0, 0.25});
    expect_everywhere([](const Array& a) { return a * 0.0; }, x, {-0.0, 0.0, -0.0});
    expect_everywhere([](const Array& a) { return tn::sqrt(a * 4.0 + tn::abs(a) * 4.0) * a; }, x, {-0.0, 0.0, -0.0});
    expect_everywhere([](const Array& a) { return tn::abs(a); }, x, {0.0, 0.0, 0.25});
    expect_everywhere([](const Array& a) { return tn::sign(a); }, x, {-0.0, 0.0, -1});
    expect_everywhere([](const Array& a) { return tn::round(a); }, x, {-0.0, 0.0, -0.0});
    expect_everywhere([](const Array& a) { return tn::ceil(a); }, x, {-0.0, 0.0, -0.0});
    expect_everywhere([](const Array& a) { return 1.0 / a; }, x, {-infinity, infinity, -4});
    expect_everywhere([](const Array& a) { return tn::sin(a) * 1.0; }, of(d, {-0.0, 0.0}), {-0.0, 0.0});
    expect_everywhere([](const Array& a) { return tn::where(a < 1.0, a, -a); }, x, {-0.0, 0.0, -0.25});
    expect_everywhere([](const Array& a) { return tn::reverse(tn::concatenate(tn::Arrays{a, -a}, 0), {0}); }, x,
                      {0.25, -0.0, 0.0, -0.25, 0.0, -0.0});
  }
}

}  // namespace
