// Special functions: values beside SciPy's, dtypes, shapes, derivatives to second order, transformations, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "../error_message.h"
#include "tenon/tenon.h"

namespace {

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::Arrays;
using tn::DType;
using In = std::span<const Array>;

struct Special {
  const char* name;
  std::size_t arguments;
  std::size_t first;  // argument in which the derivatives are looked at
  Array (*of)(In x);
  std::vector<std::vector<double>> points;  // arguments, then the value by scipy.special
};
const std::vector<Special> all{
    {"lgamma",
     1,
     0,
     [](In x) { return tn::special::lgamma(x[0]); },
     {{0.05, 2.968879201051731},
      {0.5, 0.5723649429247},
      {0.97, 0.018067733126022167},
      {1.7, -0.09580769740706585},
      {2.0, 0.0},
      {4.25, 2.1144569274503717},
      {9.9, 12.57717990421988},
      {10.0, 12.801827480081469},
      {33.0, 81.55795945611503},
      {-0.4, 1.31452458994339},
      {-3.7, -1.3797399049658245}}},
    {"digamma",
     1,
     0,
     [](In x) { return tn::special::digamma(x[0]); },
     {{0.05, -20.49784499129987},
      {0.5, -1.9635100260214235},
      {0.97, -0.6276756262377752},
      {1.7, 0.20854787487349394},
      {2.0, 0.42278433509846713},
      {4.25, 1.324683218760487},
      {9.9, 2.2411803166063815},
      {10.0, 2.251752589066721},
      {33.0, 3.4812795305349873},
      {-0.4, 0.9593807861068092},
      {-3.7, -0.8450768588704185}}},
    {"i0",
     1,
     0,
     [](In x) { return tn::special::i0(x[0]); },
     {{0.0, 1.0},
      {0.3, 1.0226268793515974},
      {-2.0, 2.279585302336067},
      {7.9, 389.406283282158},
      {8.1, 469.5006067101214},
      {30.0, 781672297823.9775},
      {-55.0, 4.1487895607331774e+22}}},
    {"i1",
     1,
     0,
     [](In x) { return tn::special::i1(x[0]); },
     {{0.0, 0.0},
      {0.3, 0.15169384000359282},
      {-2.0, -1.5906368546373295},
      {7.9, 363.8539440845081},
      {8.1, 439.48430891035844},
      {30.0, 768532038938.9569},
      {-55.0, -4.11089864529928e+22}}},
    {"i0e",
     1,
     0,
     [](In x) { return tn::special::i0e(x[0]); },
     {{0.0, 1.0},
      {0.3, 0.7575806251825481},
      {-2.0, 0.308508322553671},
      {7.9, 0.14436986414104191},
      {8.1, 0.14251180948829525},
      {30.0, 0.0731459464822373},
      {-55.0, 0.053916898493938756}}},
    {"i1e",
     1,
     0,
     [](In x) { return tn::special::i1e(x[0]); },
     {{0.0, 0.0},
      {0.3, 0.11237756063983881},
      {-2.0, -0.2152692892489377},
      {7.9, 0.13489649943989365},
      {8.1, 0.13340068832583662},
      {30.0, 0.07191633059864755},
      {-55.0, -0.05342447519519452}}},
    {"cbrt",
     1,
     0,
     [](In x) { return tn::cbrt(x[0]); },
     {{0.0, 0.0}, {1e-30, 1e-10}, {-8.0, -2.0}, {3.0, 1.4422495703074083}, {1e+20, 4641588.833612779}}},
    {"polygamma",
     2,
     1,
     [](In x) { return tn::special::polygamma(x[0], x[1]); },
     {{0.0, 2.5, 0.7031566406452432},
      {1.0, 0.3, 12.245364546107734},
      {2.0, 4.0, -0.0800397322451145},
      {3.0, 12.0, 0.001310093231070826}}},
    {"zeta",
     2,
     1,
     [](In x) { return tn::special::zeta(x[0], x[1]); },
     {{2.0, 1.0, 1.6449340668482266},
      {1.5, 0.25, 10.213055360466601},
      {3.0, 7.0, 0.011765236492927617},
      {8.0, 2.5, 0.0007073881651831611}}},
    {"gammainc",
     2,
     0,
     [](In x) { return tn::special::gammainc(x[0], x[1]); },
     {{0.3, 0.2, 0.6575067242697217},
      {0.3, 4.0, 0.9979774893543891},
      {1.0, 2.0, 0.8646647167633873},
      {5.0, 4.9, 0.5417881317722049},
      {5.0, 12.0, 0.992399609318933},
      {100.0, 101.0, 0.5528962934345113},
      {2.0, 0.0, 0.0}}},
    {"gammaincc",
     2,
     0,
     [](In x) { return tn::special::gammaincc(x[0], x[1]); },
     {{0.3, 0.2, 0.3424932757302783},
      {0.3, 4.0, 0.002022510645610877},
      {1.0, 2.0, 0.1353352832366127},
      {5.0, 4.9, 0.45821186822779514},
      {5.0, 12.0, 0.007600390681066992},
      {100.0, 101.0, 0.44710370656548876},
      {2.0, 0.0, 1.0}}},
    {"betainc",
     3,
     0,
     [](In x) { return tn::special::betainc(x[0], x[1], x[2]); },
     {{2.0, 1.0, 0.5, 0.25},
      {0.3, 4.0, 0.01, 0.41023606739596147},
      {50.0, 60.0, 0.45, 0.4642352914306031},
      {1.5, 2.5, 0.9, 0.9937926042795521},
      {3.0, 2.0, 0.0, 0.0},
      {3.0, 2.0, 1.0, 1.0}}},
    {"gamma",
     1,
     0,
     [](In x) { return tn::special::gamma(x[0]); },
     {{0.1, 9.513507698668732},
      {0.5, 1.7724538509055159},
      {3.7, 4.170651783796604},
      {12.3, 83385367.89996998},
      {-0.4, -3.722980622032043},
      {-3.7, 0.2516439959024227}}},
    {"gammasgn",
     1,
     0,
     [](In x) { return tn::special::gammasgn(x[0]); },
     {{0.5, 1.0}, {-0.5, -1.0}, {-1.5, 1.0}, {4.0, 1.0}}},
    {"factorial",
     1,
     0,
     [](In x) { return tn::special::factorial(x[0]); },
     {{0.0, 1.0}, {4.0, 24.0}, {2.5, 3.323350970447843}, {7.25, 8376.512350919924}}},
    {"entr",
     1,
     0,
     [](In x) { return tn::special::entr(x[0]); },
     {{0.3, 0.3611918412977808}, {1.0, -0.0}, {2.5, -2.2907268296853878}, {0.0, 0.0}}},
    {"logit",
     1,
     0,
     [](In x) { return tn::special::logit(x[0]); },
     {{0.1, -2.197224577336219}, {0.5, 0.0}, {0.93, 2.5866893440979433}, {1e-05, -11.512915464920228}}},
    {"poch",
     2,
     0,
     [](In x) { return tn::special::poch(x[0], x[1]); },
     {{3.2, 2.0, 13.440000000000001}, {0.7, 1.3, 0.770383183866566}, {5.5, 0.4, 1.9347500361929308}, {2.0, 3.0, 24.0}}},
    {"beta",
     2,
     0,
     [](In x) { return tn::special::beta(x[0], x[1]); },
     {{2.0, 3.0, 0.08333333333333333},
      {0.3, 0.6, 4.16891417890789},
      {7.5, 1.25, 0.07157146347025727},
      {20.3, 11.2, 1.175929935595907e-09}}},
    {"betaln",
     2,
     0,
     [](In x) { return tn::special::betaln(x[0], x[1]); },
     {{2.0, 3.0, -2.4849066497880004},
      {0.3, 0.6, 1.4276556131525677},
      {1200.5, 3.5, -23.619394635353274},
      {20.3, 400.2, -81.88515493237742}}},
    {"xlogy",
     2,
     0,
     [](In x) { return tn::special::xlogy(x[0], x[1]); },
     {{0.0, 0.0, 0.0}, {0.4, 2.5, 0.3665162927496621}, {3.2, 0.01, -14.736544595161892}}},
    {"xlog1py",
     2,
     0,
     [](In x) { return tn::special::xlog1py(x[0], x[1]); },
     {{0.0, -1.0, 0.0}, {0.4, 2.5, 0.5011051873981472}, {3.2, 0.01, 0.031841058730137865}}},
    {"rel_entr",
     2,
     0,
     [](In x) { return tn::special::rel_entr(x[0], x[1]); },
     {{0.4, 2.5, -0.7330325854993242}, {3.2, 0.31, 7.469868132187604}, {0.0, 2.0, 0.0}}},
    {"kl_div",
     2,
     0,
     [](In x) { return tn::special::kl_div(x[0], x[1]); },
     {{0.4, 2.5, 1.3669674145006758}, {3.2, 0.31, 4.579868132187603}, {0.0, 2.0, 2.0}}},
};
void PrintTo(const Special& f, std::ostream* to) { *to << f.name; }

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
      expect(twice, by_grad, 1e-5);
      EXPECT_NEAR(forward(Array(at), x).item<double>(), 2 * got, 1e-12 * (1 + std::abs(got)));
    }
  }
}

TEST_P(SpecialFunctions, RefuseComplexNumbersAndShapesThatDoNotMeet) {
  const Special& f = GetParam();
  const Array z = tn::complex(Array{1.f}, Array{2.f});
  const Arrays complex(f.arguments, z);
  EXPECT_THAT(tn::message_of<tn::DTypeError>([&] { f.of(complex); }), AllOf(HasSubstr(f.name), HasSubstr("complex")));
  if (f.arguments == 1) return;
  Arrays apart(f.arguments, Array{1.0, 2.0});
  apart[0] = Array{1.0, 2.0, 3.0};
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { f.of(apart); }), AllOf(HasSubstr(f.name), HasSubstr("broadcast")));
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
  EXPECT_NEAR(value(sp::multigammaln(3.0, 2)), 1.5501949939575645, 1e-14);
  EXPECT_THAT(tn::message_of<tn::ShapeError>([] { sp::multigammaln(3.0, 0); }), HasSubstr("dimensions"));
  EXPECT_EQ(sp::lgamma(3).dtype(), DType::f32);  // as log of an integer
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
