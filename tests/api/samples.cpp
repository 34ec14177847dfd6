// Statistics of samples and densities of points: beside counts and sums as they are written. Beside SciPy in Python.
#include "tenon/api/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/api/agreement.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace {

namespace tn = tenon;
namespace of_samples = tenon::stats;
using of_samples::GaussianKde, of_samples::Ties;
using testing::ElementsAre;
using testing::HasSubstr;
using tn::Array;
using tn::DType;
using tn::Shape;

TEST(Samples, Modes) {
  const auto [value, count] = of_samples::mode(Array{{3, 1}, {2, 1}, {3, 5}});
  EXPECT_THAT(tn::all_values(value), ElementsAre(3, 1));
  EXPECT_THAT(tn::all_values(count), ElementsAre(2, 2));
  EXPECT_THAT(tn::all_values(of_samples::mode(Array{{4, 2, 4, 2}, {9, 8, 7, 6}}, 1).value), ElementsAre(2, 6));
  EXPECT_EQ(of_samples::mode(Array(3)).value.item<std::int32_t>(), 3);
  EXPECT_THAT(tn::message_of([] { of_samples::mode(tn::zeros({2, 0}), 1); }), HasSubstr("has no elements"));
}

TEST(Samples, Ranks) {
  const Array x{2.0, 1.0, 2.0, 3.0, 2.0};
  const auto ranks = [&](Ties ties) { return tn::all_values(of_samples::rankdata(x, 0, ties)); };
  EXPECT_THAT(ranks(Ties::average), ElementsAre(3, 1, 3, 5, 3));
  EXPECT_THAT(ranks(Ties::least), ElementsAre(2, 1, 2, 5, 2));
  EXPECT_THAT(ranks(Ties::greatest), ElementsAre(4, 1, 4, 5, 4));
  EXPECT_THAT(ranks(Ties::dense), ElementsAre(2, 1, 2, 3, 2));
  EXPECT_THAT(ranks(Ties::ordinal), ElementsAre(2, 1, 3, 5, 4));
  EXPECT_TRUE(std::isnan(tn::all_values(of_samples::rankdata(Array{1.0, std::nan("")}))[0]));
  EXPECT_EQ(of_samples::rankdata(tn::zeros({0, 3}), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(of_samples::rankdata(x, 0, Ties::average, DType::f64).dtype(), DType::f64);
}

TEST(Samples, StandardErrors) {
  EXPECT_NEAR(of_samples::sem(Array{1.0, 2.0, 4.0}).item<double>(), 0.8819171036881969, 1e-14);
  const Array holes{1.0, std::nan(""), 2.0, 4.0};
  EXPECT_NEAR(of_samples::sem(holes, {}, {.without_nan = true}).item<double>(), 0.8819171036881969, 1e-14);
}

const Array cloud{{0.0, 1.0, 2.5, -1.0, 0.3}, {1.0, 0.2, -0.5, 2.0, 0.1}};
const Array weights_of_cloud{1.0, 2.0, 0.5, 1.0, 3.0};

// The density as it is written, at one place.
double written(const GaussianKde& kde, double x, double y) {
  const auto c = tn::all_values(kde.inv_cov), points = tn::all_values(kde.dataset), w = tn::all_values(kde.weights);
  const std::size_t n = w.size();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double u = x - points[i], v = y - points[n + i];
    sum += w[i] * std::exp(-0.5 * (c[0] * u * u + (c[1] + c[2]) * u * v + c[3] * v * v));
  }
  return sum * std::sqrt(c[0] * c[3] - c[1] * c[2]) / (2 * std::numbers::pi);
}

TEST(Kde, DensitiesAreSums) {
  const GaussianKde kde = GaussianKde::init(cloud, {.weights = weights_of_cloud});
  const Array places{{0.1, -1.0, 40.0}, {0.4, 0.5, 0.0}};
  const auto p = tn::all_values(kde.pdf(places)), logarithms = tn::all_values(kde.logpdf(places));
  EXPECT_NEAR(p[0], written(kde, 0.1, 0.4), 1e-14);
  EXPECT_NEAR(p[1], written(kde, -1.0, 0.5), 1e-14);
  EXPECT_NEAR(logarithms[0], std::log(p[0]), 1e-13);
  EXPECT_TRUE(p[2] == 0 && logarithms[2] < -100);
  EXPECT_EQ(kde.pdf(Array{0.1, 0.4}).shape(), Shape{1});
  EXPECT_EQ(GaussianKde::init(tn::convert(cloud, DType::f32)).pdf(tn::convert(places, DType::f32)).dtype(), DType::f32);
  EXPECT_EQ(GaussianKde::init(tn::convert(cloud, DType::f16)).dataset.dtype(), DType::f32);
}

TEST(Kde, Integrals) {
  const Array x{0.0, 1.0, 2.5, -1.0};
  for (const auto& bandwidth : {of_samples::KdeOptions{}, of_samples::KdeOptions{of_samples::Bandwidth::silverman},
                                of_samples::KdeOptions{Array(0.4)}}) {
    const GaussianKde kde = GaussianKde::init(x, bandwidth);
    EXPECT_NEAR(kde.integrate_box_1d(-50.0, 50.0).item<double>(), 1, 1e-14);
    // By a fine sum.
    const Array at = tn::convert(tn::arange(4001), DType::f64) * 0.005 - 10.0, p = kde.pdf(at);
    EXPECT_NEAR(tn::sum(p * p).item<double>() * 0.005, kde.integrate_kde(kde).item<double>(), 1e-10);
    const Array other = tn::exp(-0.5 * tn::square(at - 0.5) / 2.0) / std::sqrt(2 * std::numbers::pi * 2);
    EXPECT_NEAR(tn::sum(p * other).item<double>() * 0.005,
                kde.integrate_gaussian(Array{0.5}, Array{{2.0}}).item<double>(), 1e-10);
  }
}

TEST(Kde, SamplesAreDistributedSo) {
  const GaussianKde kde = GaussianKde::init(cloud, {.weights = weights_of_cloud});
  const Array drawn = kde.resample(tn::random::key(3), {4000});
  EXPECT_EQ(drawn.shape(), (Shape{2, 4000}));
  const Array wanted = tn::sum(kde.dataset * kde.weights, -1);
  EXPECT_TRUE(tn::allclose(tn::mean(drawn, -1), wanted, 0.1, 0.1));
  EXPECT_EQ(kde.resample(tn::random::key(3)).shape(), Shape{2});
}

TEST(Kde, AgreesInEveryWay) {
  const Array places{{0.1, -0.7}, {0.4, 0.5}};
  tn::expect_agreement([&](Array x) { return tn::sum(GaussianKde::init(cloud).logpdf(x)); }, places);
  tn::expect_agreement([&](Array x) { return tn::sum(GaussianKde::init(x).logpdf(places)); }, cloud);
  const auto [jitted, batched] =
      std::pair(tn::jit([&](GaussianKde k) { return k.pdf(places); })(GaussianKde::init(cloud)),
                tn::vmap([&](Array x) { return GaussianKde::init(x).pdf(places); })(tn::stack({cloud, cloud + 1.0})));
  tn::expect_close(jitted, batched(0), "in a tree");
}

TEST(Kde, Errors) {
  const auto said = [](auto f) { return tn::message_of(f); };
  EXPECT_THAT(said([] { GaussianKde::init(Array{1.0}); }), HasSubstr("the points are f64[1]"));
  EXPECT_THAT(said([] { GaussianKde::init(tn::zeros({2, 2}, DType::c64)); }), HasSubstr("is complex"));
  EXPECT_THAT(said([] { GaussianKde::init(cloud, {.weights = Array{1.0}}); }), HasSubstr("weights f64[1] of 5 points"));
  EXPECT_THAT(said([] { GaussianKde::init(cloud).pdf(tn::zeros({3, 4})); }), HasSubstr("places f32[3,4]"));
  EXPECT_THAT(said([] { GaussianKde::init(cloud).integrate_box_1d(0.0, 1.0); }), HasSubstr("of 2 numbers"));
  EXPECT_THAT(said([] { GaussianKde::init(cloud).integrate_kde(GaussianKde::init(Array{1.0, 2.0})); }),
              HasSubstr("densities of 2 and of 1 numbers"));
  EXPECT_THAT(said([] { GaussianKde::init(cloud).integrate_gaussian(Array{1.0}, Array{{1.0}}); }),
              HasSubstr("integrate_gaussian"));
}

}  // namespace
