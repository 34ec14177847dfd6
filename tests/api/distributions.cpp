// Random numbers of distributions: beside those that JAX draws of the same key, their means and variances, derivatives,
// lanes, dtypes, and the text of their errors. More of the numbers is tested in Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenon/api/random.h"
#include "tenon/tenon.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace tn = tenon;
namespace random_of = tenon::random;
using testing::HasSubstr;
using tn::Array;
using tn::DType;
using tn::expect_close;
using tn::message_of;
using tn::Shape;

namespace {

const Array key = random_of::key(7);

// As jax.random 0.10 has them.
TEST(Distributions, NumbersOfJax) {
  const Shape three{3}, four{4};
  const auto check = [](const char* name, const Array& got, const Array& want) {
    expect_close(tn::convert(got, DType::f64), want, name, 1e-12);
  };
  check("gamma", random_of::gamma(key, 2.0, three, DType::f64),
        Array{4.014100037817279, 0.7362964253571684, 0.924288763293625});
  check("beta", random_of::beta(key, 2.0, 3.0, three, DType::f64),
        Array{0.2231560829434036, 0.6066072050211242, 0.500626219549071});
  check("laplace", random_of::laplace(key, three, DType::f64),
        Array{-1.1654378716660514, 2.3988188263562535, 0.7985760288063726});
  check("wald", random_of::wald(key, 2.0, three, DType::f64),
        Array{1.222488559813012, 0.4505433598517179, 2.1349619813755516});
  check("dirichlet", random_of::dirichlet(key, Array{1.0, 2.0, 3.0}, Shape{}, DType::f64),
        Array{0.5000451574630164, 0.15172189233842973, 0.3482329501985538});
  check("poisson", random_of::poisson(key, 20.0, four), Array{22.0, 25.0, 18.0, 29.0});
  check("binomial", random_of::binomial(key, 40.0, 0.4, four, DType::f64), Array{14.0, 15.0, 19.0, 17.0});
}

// With the mean and the variance of the distribution, of 20,000 numbers.
struct Drawn {
  const char* name;
  std::function<Array(const Array& key, const Shape& shape, DType dtype)> draw;
  double mean, variance;
};

TEST(Distributions, MeansAndVariances) {
  namespace r = random_of;
  const Drawn all[] = {
      {"laplace", [](auto& k, auto& s, DType d) { return r::laplace(k, s, d); }, 0, 2},
      {"logistic", [](auto& k, auto& s, DType d) { return r::logistic(k, s, d); }, 0, 3.289868},
      {"pareto", [](auto& k, auto& s, DType d) { return r::pareto(k, 6.0, s, d); }, 1.2, 0.06},
      {"rayleigh", [](auto& k, auto& s, DType d) { return r::rayleigh(k, 2.0, s, d); }, 2.506628, 1.716815},
      {"maxwell", [](auto& k, auto& s, DType d) { return r::maxwell(k, s, d); }, 1.595769, 0.453521},
      {"double_sided_maxwell", [](auto& k, auto& s, DType d) { return r::double_sided_maxwell(k, 1.0, 2.0, s, d); }, 1,
       12},
      {"weibull_min", [](auto& k, auto& s, DType d) { return r::weibull_min(k, 2.0, 2.0, s, d); }, 1.772454, 0.858407},
      {"lognormal", [](auto& k, auto& s, DType d) { return r::lognormal(k, 0.5, s, d); }, 1.133148, 0.364696},
      {"wald", [](auto& k, auto& s, DType d) { return r::wald(k, 0.5, s, d); }, 0.5, 0.125},
      {"triangular", [](auto& k, auto& s, DType d) { return r::triangular(k, 0.0, 1.0, 4.0, s, d); }, 5. / 3, 13. / 18},
      {"truncated_normal", [](auto& k, auto& s, DType d) { return r::truncated_normal(k, -1.0, 1.0, s, d); }, 0,
       0.291125},
      {"gamma", [](auto& k, auto& s, DType d) { return r::gamma(k, 0.7, s, d); }, 0.7, 0.7},
      {"loggamma", [](auto& k, auto& s, DType d) { return tn::exp(r::loggamma(k, 3.0, s, d)); }, 3, 3},
      {"beta", [](auto& k, auto& s, DType d) { return r::beta(k, 2.0, 3.0, s, d); }, 0.4, 0.04},
      {"chisquare", [](auto& k, auto& s, DType d) { return r::chisquare(k, 3.0, s, d); }, 3, 6},
      {"f", [](auto& k, auto& s, DType d) { return r::f(k, 4.0, 20.0, s, d); }, 20. / 18, 0.848765},
      {"t", [](auto& k, auto& s, DType d) { return r::t(k, 12.0, s, d); }, 0, 1.2},
      {"binomial", [](auto& k, auto& s, DType d) { return r::binomial(k, 30.0, 0.2, s, d); }, 6, 4.8},
      {"binomial, many", [](auto& k, auto& s, DType d) { return r::binomial(k, 300.0, 0.7, s, d); }, 210, 63},
      {"poisson", [](auto& k, auto& s, DType) { return tn::convert(r::poisson(k, 4.0, s), DType::f64); }, 4, 4},
      {"poisson, many", [](auto& k, auto& s, DType) { return tn::convert(r::poisson(k, 50.0, s), DType::f64); }, 50,
       50},
      {"geometric", [](auto& k, auto& s, DType) { return tn::convert(r::geometric(k, 0.25, s), DType::f64); }, 4, 12},
      {"rademacher", [](auto& k, auto& s, DType d) { return r::rademacher(k, s, d); }, 0, 1},
  };
  for (const Drawn& d : all) {
    const Array x = d.draw(key, Shape{20000}, DType::f64), mean = tn::mean(x),
                variance = tn::mean(tn::square(x - mean));
    EXPECT_EQ(x.dtype(), DType::f64) << d.name;
    EXPECT_NEAR(mean.item<double>(), d.mean, 0.04 * std::sqrt(d.variance)) << d.name;
    EXPECT_NEAR(variance.item<double>(), d.variance, 0.12 * d.variance) << d.name;
  }
}

TEST(Distributions, LanesHaveKeysOfTheirOwn) {
  const auto draw = [](Array key) {
    return std::tuple(random_of::beta(key, 2.0, 0.5, Shape{3}), random_of::poisson(key, Array{3.0, 30.0}),
                      random_of::binomial(key, 50.0, Array{0.1, 0.5}), random_of::wald(key, 1.0, Shape{3}));
  };
  const Array keys = random_of::split(key);
  const auto [beta, poisson, binomial, wald] = tn::jit(tn::vmap(draw))(keys);
  expect_close(std::tuple(beta(1), poisson(1), binomial(1), wald(1)), draw(keys(1)), "lane", 1e-6);
}

TEST(Distributions, ShapesDtypesAndDerivatives) {
  const Array a{0.5, 1.0, 4.0};
  EXPECT_EQ(random_of::gamma(key, a).shape(), Shape{3});
  EXPECT_EQ(random_of::gamma(key, a, Shape{2, 3}, DType::f16).dtype(), DType::f16);
  EXPECT_EQ(random_of::gamma(key, tn::zeros({0})).shape(), Shape{0});
  EXPECT_EQ(random_of::dirichlet(key, a, Shape{5}).shape(), (Shape{5, 3}));
  const auto total = [](Array a) { return tn::sum(random_of::gamma(key, a, {}, DType::f64)); };
  const double h = 1e-6;
  const Array x = random_of::gamma(key, 1.5, {}, DType::f64);
  expect_close(tn::grad(total)(1.5), tn::special::gamma_variate_grad(Array(tn::Scalar(1.5)), x), "reverse", 1e-9);
  expect_close(tn::jacfwd(total)(1.5), tn::grad(total)(1.5), "forward", 1e-12);
  const auto logarithm = [](Array a) { return tn::sum(random_of::loggamma(key, a, {}, DType::f64)); };
  expect_close(tn::grad(logarithm)(1.5), tn::grad(total)(1.5) / x, "of the logarithm", 1e-9);
  const Array second = tn::grad(tn::grad(logarithm))(1.5);
  const Array difference = (tn::grad(logarithm)(1.5 + h) - tn::grad(logarithm)(1.5 - h)) / (2 * h);
  EXPECT_TRUE(tn::is_finite(second).item<bool>() && tn::is_finite(difference).item<bool>());
}

TEST(Distributions, Errors) {
  EXPECT_THAT(message_of([] { random_of::gamma(key, Array{1.0, 2.0}, Shape{3}); }), HasSubstr("gamma"));
  EXPECT_THAT(message_of([] { random_of::gamma(key, Array{1.0, 2.0}, Shape{1}); }),
              HasSubstr("random::gamma: the parameters meet in the shape [2], which does not broadcast to [1]."));
  EXPECT_THAT(message_of([] { random_of::beta(key, 1.0, 2.0, {}, DType::i32); }),
              HasSubstr("random::beta: i32 is not a real dtype."));
  EXPECT_THAT(message_of([] { random_of::poisson(key, 1.0, {}, DType::f32); }),
              HasSubstr("random::poisson: f32 is not an integer dtype."));
  EXPECT_THAT(message_of([] { random_of::dirichlet(key, 1.0); }), HasSubstr("no axis of outcomes"));
  EXPECT_THAT(message_of([] { random_of::gamma(tn::zeros({2}), 1.0); }), HasSubstr("the key is f32[2], not u32[2]."));
}

}  // namespace
