// Special functions: values beside SciPy's, dtypes, shapes, derivatives to second order, transformations, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <string>

#include "../error_message.h"
#include "../fuzzing.h"
#include "special_table.h"
#include "tenon/tenon.h"

namespace {

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::Arrays;
using tn::DType;

using special_table::all;
using special_table::Special;

class SpecialFunctions : public testing::TestWithParam<Special> {
 protected:
  // The arguments at all points.
  Arrays arguments(DType dtype) const {
    Arrays columns;
    for (std::size_t i = 0; i <= GetParam().arguments; ++i) {
      std::vector<double> column;
      for (const std::vector<double>& point : GetParam().points) column.push_back(point[i]);
      const auto n = static_cast<std::int64_t>(column.size());
      columns.push_back(tn::convert(tn::array<double>(column, {n}), i < GetParam().arguments ? dtype : DType::f64));
    }
    return columns;
  }
  // |got - value| against what the dtype can tell of it: arguments are rounded to it, too.
  static void expect_near(const Array& got, const Array& value, double tolerance) {
    const Array apart = tn::max(tn::abs(tn::convert(got, DType::f64) - value) / (1.0 + tn::abs(value)));
    EXPECT_LT(apart.item<double>(), tolerance) << got << " for " << value;
  }
};

TEST_P(SpecialFunctions, AreSciPys) {
  for (const auto& [dtype, tolerance] : {std::pair(DType::f64, 3e-13), {DType::f32, 2e-4}, {DType::bf16, 0.3}}) {
    SCOPED_TRACE(tn::name(dtype));
    Arrays x = arguments(dtype);
    const Array value = x.back();
    x.pop_back();
    const Array alone = GetParam().of(x);
    EXPECT_EQ(alone.dtype(), dtype);
    if (dtype == DType::bf16) {  // beside f32 at the rounded arguments
      Arrays wide;
      for (const Array& each : x) wide.push_back(tn::convert(each, DType::f32));
      EXPECT_TRUE(tn::array_equal(alone, tn::convert(GetParam().of(wide), dtype)));
      continue;
    }
    expect_near(alone, value, tolerance);
    expect_near(tn::jit([](const Arrays& x) { return GetParam().of(x); })(x), value, tolerance);
    expect_near(tn::vmap([](const Arrays& x) { return GetParam().of(x); })(x), value, tolerance);
  }
}

TEST_P(SpecialFunctions, OfEveryShape) {
  Arrays x = arguments(DType::f64);
  x.pop_back();
  for (const tn::Shape& shape : {tn::Shape{}, tn::Shape{0}, tn::Shape{3, 0, 2}, tn::Shape{2, 3}, tn::Shape{1, 1, 5}}) {
    Arrays given;
    for (const Array& each : x) given.push_back(tn::broadcast_to(each(1), shape));
    const Array got = GetParam().of(given);
    EXPECT_EQ(got.shape(), shape);
    EXPECT_TRUE(tn::allclose(got, tn::broadcast_to(GetParam().of(x)(1), shape), 1e-14));
  }
  if (GetParam().arguments == 1) return;
  // A row beside a column.
  Arrays crossed = x;
  crossed[0] = tn::reshape(x[0], {x[0].shape()[0], 1});
  const Array table = GetParam().of(crossed), alone = GetParam().of(x);
  for (const std::int64_t k : {0, 1, 2}) EXPECT_TRUE(tn::allclose(table(k, k), alone(k), 1e-14));
}

TEST_P(SpecialFunctions, HaveDerivativesToSecondOrder) {
  const Special& f = GetParam();
  for (std::size_t i = f.first; i < f.arguments; ++i) {
    const auto along = [&f, i](const Array& t, Arrays x) {
      x[i] = t;
      return f.of(x);
    };
    const auto first = tn::grad<0>(along);
    const auto value = tn::jit(along);
    const auto by_grad = tn::jit(first);
    const auto twice = tn::jit(tn::grad<0>(first));
    const auto forward = tn::jit([&](const Array& t, const Arrays& x) {
      return tn::jvp([&](const Array& t) { return along(t, x); }, std::tuple(t), std::tuple(Array(2.0))).second;
    });
    for (const std::vector<double>& point : f.points) {
      const double at = point[i], step = 1e-5 * std::abs(at);
      if (std::floor(at) == at) continue;  // edges, and where one side has another formula
      SCOPED_TRACE(testing::Message() << "argument " << i << " at " << testing::PrintToString(point));
      Arrays x;
      for (std::size_t k = 0; k < f.arguments; ++k) x.emplace_back(point[k]);
      const auto expect = [&](const auto& g, const auto& integral, double tolerance) {
        const auto of = [&](const auto& h, double t) { return h(Array(t), x).template item<double>(); };
        const double by_differences = (of(integral, at + step) - of(integral, at - step)) / (2 * step);
        EXPECT_NEAR(of(g, at), by_differences, tolerance * (1 + std::abs(by_differences)));
        return of(g, at);
      };
      const double got = expect(by_grad, value, 1e-6);
      // Of the longest functions in one argument, unless all is wanted.
      if (fuzzing::is_full() || f.arguments < 4 || i + 1 == f.arguments) expect(twice, by_grad, 1e-5);
      EXPECT_NEAR(forward(Array(at), x).item<double>(), 2 * got, 1e-12 * (1 + std::abs(got)));
    }
  }
}

TEST_P(SpecialFunctions, RefuseComplexNumbersAndShapesThatDoNotMeet) {
  const Special& f = GetParam();
  const Array z = tn::complex(Array{1.f}, Array{2.f});
  const Arrays complex(f.arguments, z);
  const std::string name = std::string(f.name).substr(0, std::string_view(f.name).find("__"));
  if (!f.takes_complex) {
    EXPECT_THAT(tn::message_of<tn::DTypeError>([&] { f.of(complex); }), AllOf(HasSubstr(name), HasSubstr("complex")));
  }
  if (f.arguments == 1) return;
  Arrays apart(f.arguments, Array{1.0, 2.0});
  apart[0] = Array{1.0, 2.0, 3.0};
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { f.of(apart); }), AllOf(HasSubstr(name), HasSubstr("broadcast")));
}

INSTANTIATE_TEST_SUITE_P(All, SpecialFunctions, testing::ValuesIn(all),
                         [](const auto& info) { return info.param.name; });

TEST(Special, Edges) {
  namespace sp = tn::special;
  const double inf = std::numeric_limits<double>::infinity();
  const auto value = [](const Array& x) { return x.item<double>(); };
  for (const double pole : {0.0, -1.0, -2.0, -40.0}) {
    EXPECT_EQ(value(sp::lgamma(pole)), inf);
    EXPECT_TRUE(std::isnan(value(sp::digamma(pole))));
    EXPECT_EQ(value(sp::zeta(2.0, pole)), inf);
  }
  EXPECT_EQ(value(sp::zeta(1.0, 3.0)), inf);
  EXPECT_EQ(value(sp::gammainc(2.0, inf)), 1);
  EXPECT_EQ(value(sp::gammaincc(2.0, inf)), 0);
  EXPECT_TRUE(std::isnan(value(sp::gammainc(-1.0, 2.0))));
  EXPECT_TRUE(std::isnan(value(sp::betainc(1.0, 1.0, 1.5))));
  EXPECT_EQ(value(tn::cbrt(-inf)), -inf);
  EXPECT_TRUE(std::isnan(value(sp::gamma(-2.0))));
  EXPECT_EQ(value(sp::gamma(-0.0)), -inf);
  EXPECT_EQ(value(sp::factorial(-3.0)), 0);
  EXPECT_EQ(value(sp::entr(-1.0)), -inf);
  EXPECT_EQ(value(sp::rel_entr(1.0, 0.0)), inf);
  EXPECT_EQ(value(sp::kl_div(-1.0, 2.0)), inf);
  EXPECT_TRUE(std::isnan(value(sp::xlogy(0.0, std::nan("")))));
  EXPECT_NEAR(value(sp::betaln(3.0, 1e15)), std::log(2.0) - 3 * std::log(1e15), 1e-13);
  EXPECT_NEAR(value(sp::betaln(-0.5, 1e8)), 10.475852491710828, 1e-13);
  // Beside 0, -1, -2, …, as SciPy has it.
  EXPECT_EQ(value(sp::beta(-1.0, 1.0)), -1);
  EXPECT_NEAR(value(sp::beta(1.0, -2.0)), -0.5, 1e-15);
  EXPECT_NEAR(value(sp::beta(-3.0, 2.0)), 1.0 / 6, 1e-15);
  EXPECT_NEAR(value(sp::betaln(-3.0, 2.0)), -std::log(6.0), 1e-15);
  EXPECT_NEAR(value(sp::beta(-0.5, 1.5)), -std::numbers::pi, 1e-14);
  EXPECT_EQ(value(sp::beta(-2.5, -0.5)), 0);
  for (const auto& [a, b] : {std::pair(-1.0, 2.0), {-2.0, 0.5}, {0.0, 3.0}, {-0.0, -1.5}, {3.0, -2.0}}) {
    EXPECT_EQ(value(sp::beta(a, b)), inf) << a << " " << b;
    EXPECT_EQ(value(sp::betaln(a, b)), inf) << a << " " << b;
  }
  EXPECT_EQ(value(sp::beta(-2.0, -1.0)), -inf);
  EXPECT_TRUE(std::isnan(value(sp::beta(-2.0, std::nan("")))));
  EXPECT_NEAR(value(sp::poch(1e8, 0.5)), 9999.9999875, 1e-9);
  EXPECT_NEAR(value(sp::poch(1.0, 170.0)) / std::tgamma(171.0), 1, 1e-13);
  EXPECT_NEAR(value(sp::gammaincc(1e-20, 1.0)) * 1e20, 0.21938393439552028, 1e-14);  // a E₁(x)
  for (const double power : {1.0, 0.5, 2.0}) EXPECT_TRUE(std::isnan(value(sp::boxcox(-2.5, power))));
  EXPECT_NEAR(value(sp::multigammaln(3.0, 2)), 1.5501949939575645, 1e-14);
  EXPECT_THAT(tn::message_of<tn::ShapeError>([] { sp::multigammaln(3.0, 0); }), HasSubstr("dimensions"));
  EXPECT_EQ(sp::lgamma(3).dtype(), DType::f32);  // as log of an integer
  for (const auto& f : {sp::exp1, sp::spence, sp::loggamma, sp::ndtri}) EXPECT_TRUE(std::isnan(value(f(-1.0))));
  EXPECT_EQ(value(sp::exp1(0.0)), inf);
  EXPECT_EQ(value(sp::expi(0.0)), -inf);
  EXPECT_EQ(value(sp::expi(inf)), inf);
  EXPECT_EQ(value(sp::expn(1, 0.0)), inf);
  EXPECT_EQ(value(sp::expn(3, 0.0)), 0.5);
  EXPECT_TRUE(std::isnan(value(sp::expn(1.5, 1.0))));
  EXPECT_EQ(value(sp::sici(-inf).first), -std::numbers::pi / 2);
  EXPECT_TRUE(std::isnan(value(sp::sici(-inf).second)));
  EXPECT_EQ(value(sp::fresnel(inf).first), 0.5);
  EXPECT_EQ(value(sp::spence(inf)), -inf);
  EXPECT_EQ(value(sp::ndtri(0.0)), -inf);
  EXPECT_EQ(value(sp::ndtri(1.0)), inf);
  EXPECT_EQ(value(sp::log_ndtr(-inf)), -inf);
  EXPECT_EQ(value(sp::erfcx(-inf)), inf);
  EXPECT_EQ(value(sp::erfcx(inf)), 0);
  EXPECT_EQ(value(sp::comb(5, 2, true)), 15);
  EXPECT_EQ(value(sp::comb(2, 5)), 0);
  EXPECT_EQ(value(sp::hyp2f1(1.0, 2.0, -3.0, 0.5)), inf);
  EXPECT_NEAR(value(sp::hyp2f1(-2.0, 1.0, 3.0, 7.0)), 1 - 14.0 / 3 + 49.0 / 6, 1e-14);
  EXPECT_NEAR(value(sp::hyp2f1(0.5, 1.0, 2.5, 1.0)), 1.5, 1e-14);
  EXPECT_NEAR(value(sp::hyp2f1(1.0, 1.0, 2.0, 0.99)), -std::log(0.01) / 0.99, 1e-14);  // c - a - b is an integer
}
// Where terms cancel, parts overflow, or a logarithm has digits before its point; beside mpmath.
TEST(Special, KeepDigits) {
  namespace sp = tn::special;
  const auto near = [](const Array& got, double exact, double digits = 2e-15) {
    EXPECT_LE(std::abs(got.item<double>() / exact - 1), digits) << got.item<double>() << " and not " << exact;
  };
  near(sp::hyp2f1(127.0, 3.0, 4.0, -100.0), 3.0721966205837174e-12, 1e-12);
  near(sp::hyp2f1(126.0, 15.0, 32.0, -2.0), 3.4232561610179592e-16, 1e-12);
  near(sp::hyp2f1(2.0, 64.0, 4.0, 3.0), 0.00017254291888524217, 1e-13);
  near(sp::hyp2f1(7.0, 7.0, 1.0, 32.0), -1.0365372909172413e-10, 1e-13);
  near(sp::hyp2f1(-60.0, 2.5, 1.25, 0.75), 1.7962195033819579e-5, 1e-13);
  near(sp::hyp1f1(-100.0, -1.2807, 33.0), -35242357749.989314, 1e-12);
  near(sp::hyp1f1(63.0, 1.0, -3.0), 0.0055066776465232974, 1e-13);
  near(sp::hyp1f1(-40.0, 0.5, 20.0), 12287.956964898869, 1e-13);
  near(sp::hyp1f1(-40.5, 0.5, 20.0), 18231.543872593917, 1e-9);
  near(sp::beta(84.25, 34.5), 4.2380640731369341e-32);
  near(sp::beta(0.001, 50.0), 995.53161967825222);
  near(sp::beta(0.25, 0.5), 5.2441151085842396);
  near(sp::beta(1e15, 2.0), 1e-30);
  near(sp::beta(3e-5, 2e-7), 5033333.3332836576);
  near(sp::comb(31.5, 12.25), 200410710.82863016);
  near(sp::comb(1000.0, 500.0), 2.7028824094543657e+299);
  near(sp::comb(1e20, 2.0), 5e39);
  near(sp::boxcox1p(73.125, 9.375), 36219949948804134.0);
  near(sp::boxcox1p(-0.5, -8.5), -42.475137878530863);
  near(sp::boxcox1p(1e-20, 1e21), 2.2025465794806704e-17);
}

void near(const Array& got, double re, double im) {
  EXPECT_NEAR(tn::real(got).item<double>(), re, 1e-14 * (1 + std::abs(re)));
  EXPECT_NEAR(tn::imag(got).item<double>(), im, 1e-14 * (1 + std::abs(im)));
}

TEST(Special, OfComplexNumbers) {
  const auto z = [](double re, double im) { return tn::complex(Array(re), Array(im)); };
  near(tn::special::wofz(z(1.0, 1.0)), 0.30474420525691254, 0.2082189382028316);
  near(tn::special::wofz(z(-0.3, 0.02)), 0.8954863691846323, -0.3081844540840693);
  near(tn::special::wofz(z(2.5, -1.2)), -0.0868711055757956, 0.17938999203590644);
  near(tn::special::wofz(z(6.0, 0.1)), 0.001637027778205248, 0.09536765976488126);
  near(tn::special::wofz(z(-4.0, 8.0)), 0.05634363422457204, -0.027827036159218967);
  near(tn::special::loggamma(z(1.0, 1.0)), -0.6509231993018592, -0.30164032046753286);
  near(tn::special::loggamma(z(-3.3, 0.2)), -1.0805559442999593, -11.914238004764485);
  near(tn::special::loggamma(z(2.5, -1.2)), -0.05110524087110235, -0.9061116489966645);
  near(tn::special::loggamma(z(-6.5, -4.5)), -18.475028379782007, 12.95420572761277);
  near(tn::special::loggamma(z(30.0, 40.0)), 49.23280849407029, 143.83479582266483);
  near(tn::special::wofz(z(1e200, 1e-3)), 0, 1 / (std::sqrt(std::numbers::pi) * 1e200));
  EXPECT_EQ(tn::special::wofz(tn::convert(Array(0.5), DType::bf16)).dtype(), DType::c64);
  // Holomorphic: the derivative along the imaginary axis is i times that along the real one.
  for (const auto& f : {tn::special::wofz, tn::special::loggamma}) {
    const auto along = [&](bool imaginary) {
      return tn::jvp(
                 [&](const Array& t) {
                   return f(imaginary ? tn::complex(Array(0.7), t) : tn::complex(t, Array(-0.4)));
                 },
                 std::tuple(Array(imaginary ? -0.4 : 0.7)), std::tuple(Array(1.0)))
          .second;
    };
    const Array x = along(false), y = along(true);
    near(y, -tn::imag(x).item<double>(), tn::real(x).item<double>());
  }
}

TEST(Special, BesselsFunctionsAndSphericalHarmonics) {
  namespace sp = tn::special;
  EXPECT_TRUE(tn::allclose(sp::bessel_jn(Array{0.0, 2.0, -7.5}, 2),
                           tn::stack({Array{1.0, 0.22389077914123562, 0.26633965788037844},
                                      Array{0.0, 0.5767248077568736, -0.13524842757970548},
                                      Array{0.0, 0.35283402861563773, -0.23027341052579028}}),
                           1e-14, 1e-15));
  EXPECT_EQ(sp::bessel_jn(tn::zeros({2, 0}, DType::f32), 3).shape(), (tn::Shape{4, 2, 0}));
  const double slope = tn::grad<0>([](const Array& z) { return sp::bessel_jn(z, 1)(0); })(Array(2.0)).item<double>();
  EXPECT_NEAR(slope, -sp::bessel_jn(2.0, 1)(1).item<double>(), 1e-14);  // J₀' = -J₁
  EXPECT_THAT(tn::message_of<tn::ShapeError>([] { sp::bessel_jn(1.0, -1); }), HasSubstr("order"));
  const auto harmonic = [](int n, int m) { return sp::sph_harm_y(n, m, 0.7, 2.1, 6); };
  near(harmonic(0, 0), 0.28209479177387814, 0.0);
  near(harmonic(1, -1), -0.11236533514401496, -0.1921274798383003);
  near(harmonic(3, 2), -0.15904097739128137, -0.282739832924338);
  near(harmonic(6, -5), -0.06753558767333245, 0.1249340831926437);
  near(harmonic(6, 0), -0.3260379254207493, 0.0);
  EXPECT_EQ(tn::abs(harmonic(2, 3)).item<double>(), 0);
  EXPECT_THAT(tn::message_of<tn::DTypeError>([] { sp::sph_harm_y(1.0, 0, 0.7, 2.1, 1); }), HasSubstr("integers"));
  const Array b = sp::bernoulli(20);
  EXPECT_NEAR(b(12).item<double>(), -691.0 / 2730, 1e-16);
  EXPECT_EQ(b(7).item<double>(), 0);
  EXPECT_NEAR(b(20).item<double>(), -174611.0 / 330, 1e-12);
}

// A program that a user writes: the log-density of a gamma distribution, fitted.
TEST(Special, InAProgram) {
  const Array x = tn::exp(tn::sin(tn::arange(200, DType::f64)));
  const auto loss = [&](const Array& a, const Array& b) {
    return -tn::mean(a * tn::log(b) + (a - 1.0) * tn::log(x) - b * x - tn::special::lgamma(a));
  };
  const auto step = tn::jit([&](std::pair<Array, Array> p, Array) {
    const auto [da, db] = tn::grad<0, 1>(loss)(p.first, p.second);
    return std::pair(p.first - 0.1 * da, p.second - 0.1 * db);
  });
  std::pair<Array, Array> p(Array(1.0), Array(1.0));
  for (int i = 0; i < 2000; ++i) p = step(p, Array(0.0));
  EXPECT_NEAR((p.first / p.second).item<double>(), tn::mean(x).item<double>(), 1e-3);
  EXPECT_NEAR((tn::special::digamma(p.first) - tn::log(p.second)).item<double>(), tn::mean(tn::log(x)).item<double>(),
              1e-3);
}

}  // namespace
