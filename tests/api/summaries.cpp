// Reductions of some elements, quantiles, histograms, sets: the examples of their headers, values beside sums as they
// are written, derivatives, batches, native code, sizes that data decide, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "../error_message.h"
#include "agreement.h"
#include "tenon/tenon.h"
#include "values.h"

namespace of_summaries {
namespace {

namespace tn = tenon;
using testing::ElementsAre;
using testing::HasSubstr;
using tn::Array;
using tn::Axes;
using tn::DType;
using tn::QuantileMethod;
using tn::Shape;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> of(const Array& x) { return tn::all_values(x); }
testing::Matcher<double> number(double x) {
  return std::isnan(x) ? testing::Matcher<double>(testing::IsNan()) : testing::DoubleNear(x, 1e-6 * (1 + std::abs(x)));
}
template <class... T>
auto are(T... x) {
  return ElementsAre(number(static_cast<double>(x))...);
}

// --- reductions ---

TEST(Reductions, CountSomeElements) {
  const Array x = {1.f, -2.f, 3.f};
  EXPECT_EQ(tn::sum(x, -1, {.where = x > 0}).item<float>(), 4);
  EXPECT_EQ(tn::sum(x, {}, {.initial = Array(10)}).item<float>(), 12);
  EXPECT_EQ(tn::sum(x, {}, {.dtype = DType::f64}).dtype(), DType::f64);
  EXPECT_EQ(tn::prod(x, {}, {.where = x > 0}).item<float>(), 3);
  EXPECT_TRUE(tn::any(x > 2, {}, {.where = x > 0}).item<bool>());
  EXPECT_FALSE(tn::any(x > 2, {}, {.where = x < 0}).item<bool>());
  EXPECT_EQ(tn::amax(x, 0, {.where = x < 2, .initial = Array(0)}).item<float>(), 1);
  EXPECT_EQ(tn::amin(x, 0, {.initial = Array(-7)}).item<float>(), -7);
  EXPECT_THAT(of(tn::amax(tn::zeros({2, 0}), Axes(1).keepdims(), {.initial = Array(3)})), are(3, 3));
  EXPECT_EQ(tn::mean(Array{1.f, 2.f, 9.f}, {}, {.where = Array{true, true, false}}).item<float>(), 1.5);
  EXPECT_TRUE(std::isnan(tn::mean(x, {}, {.where = x > 9}).item<float>()));
  const Array half = tn::convert(tn::full({3000}, 1.f), DType::f16);
  EXPECT_EQ(tn::mean(half, {}, {.where = half > 0}).item<float>(), 1);  // f16 does not hold 3000 ones' sum exactly
}

TEST(Reductions, SpreadsOfSomeElements) {
  const Array x = {1.f, 2.f, 6.f, 100.f};
  const Array three = x < 50;
  EXPECT_NEAR(tn::var(x, {}, {.where = three}).item<float>(), 14. / 3, 1e-5);
  EXPECT_NEAR(tn::var(x, {}, {.where = three, .ddof = 1}).item<float>(), 7, 1e-5);
  EXPECT_NEAR(tn::stddev(x, {}, {.where = three, .ddof = 1}).item<float>(), std::sqrt(7.), 1e-5);
  EXPECT_NEAR(tn::var(x, {}, {.where = three, .mean = Array(0.f)}).item<float>(), 41. / 3, 1e-4);
  EXPECT_NEAR(tn::var(Array{1.f, 3.f}, {}, {.ddof = 0.5}).item<float>(), 4. / 3, 1e-5);
  EXPECT_TRUE(std::isnan(tn::var(Array{1.f, 3.f}, {}, {.ddof = 2}).item<float>()));
  EXPECT_EQ(tn::var(tn::complex(x, x), {}, tn::VarOptions{.where = three}).dtype(), DType::f32);
}

TEST(Reductions, WithoutNan) {
  const Array x = {{1.f, nan, 2.f}, {nan, nan, nan}};
  EXPECT_THAT(of(tn::nansum(x, 1)), are(3, 0));
  EXPECT_THAT(of(tn::nanprod(x, 1)), are(2, 1));
  EXPECT_THAT(of(tn::nanmax(x, 1)), are(2, nan));
  EXPECT_THAT(of(tn::nanmin(x, 1)), are(1, nan));
  EXPECT_THAT(of(tn::nanmin(x, 1, {.initial = Array(9)})), are(1, 9));
  EXPECT_THAT(of(tn::nanargmax(x, 1)), are(2, -1));
  EXPECT_THAT(of(tn::nanargmin(x, 1)), are(0, -1));
  EXPECT_THAT(of(tn::nanmean(x, 1)), are(1.5, nan));
  EXPECT_THAT(of(tn::nanvar(x, 1, {.ddof = 1})), are(0.5, nan));
  EXPECT_THAT(of(tn::nanstd(x, 1)), are(0.5, nan));
  EXPECT_THAT(of(tn::nancumsum(Array{1.f, nan, 2.f})), are(1, 1, 3));
  EXPECT_THAT(of(tn::nancumprod(Array{2.f, nan, 2.f})), are(2, 2, 4));
  EXPECT_EQ(tn::nanmax(Array{1, 5, 3}).item<int>(), 5);
  const Array z = tn::complex(Array{1.f, nan, 1.f}, Array{2.f, 0.f, 3.f});
  EXPECT_EQ(tn::nanmax(z).item<std::complex<float>>(), std::complex<float>(1, 3));
  const Array absent = {{true, false, false}, {false, false, true}, {false, false, false}};
  tn::expect_agreement([&](const Array& y) { return tn::nanmean(tn::where(absent, std::nan(""), y * y), 0); },
                       tn::numbers({3, 3}));
}

TEST(Reductions, WeightsRangesAndCounts) {
  EXPECT_EQ(tn::average(Array{1.f, 2.f}, Array{3.f, 1.f}).item<float>(), 1.25);
  const Array x = {{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}};
  EXPECT_THAT(of(tn::average(x, Array{1.f, 0.f, 1.f}, 1)), are(2, 5));
  const auto [mean, weight] = tn::weighted_mean(x, Array{{1, 1, 2}}, Axes(1).keepdims());
  EXPECT_EQ(mean.shape(), Shape({2, 1}));
  EXPECT_THAT(of(mean), are(2.25, 5.25));
  EXPECT_THAT(of(weight), are(4, 4));
  EXPECT_EQ(tn::ptp(Array{3.f, 1.f, 7.f}).item<float>(), 6);
  EXPECT_THAT(of(tn::count_nonzero(Array{{1, 0}, {2, 3}}, 0)), are(2, 1));
}

// --- quantiles ---

TEST(Quantiles, Examples) {
  EXPECT_EQ(tn::quantile(Array{1.f, 2.f, 4.f, 9.f}, 0.5f).item<float>(), 3);
  EXPECT_EQ(tn::median(Array{3.f, 1.f, 2.f}).item<float>(), 2);
  EXPECT_EQ(tn::nanmedian(Array{3.f, nan, 1.f}).item<float>(), 2);
  EXPECT_TRUE(std::isnan(tn::median(Array{3.f, nan, 1.f}).item<float>()));
  EXPECT_TRUE(std::isnan(tn::median(tn::zeros({0})).item<float>()));
  EXPECT_EQ(tn::median(Array{1, 2}).item<float>(), 1.5);
  const Array x = {{1.f, 5.f, 3.f}, {2.f, 2.f, 8.f}};
  EXPECT_THAT(of(tn::quantile(x, Array{0.f, 1.f}, 0)), are(1, 2, 3, 2, 5, 8));
  EXPECT_EQ(tn::quantile(x, Array{0.f, 0.5f}, Axes({0, 1}).keepdims()).shape(), Shape({2, 1, 1}));
  EXPECT_THAT(of(tn::percentile(x, 50, 1)), are(3, 2));
  EXPECT_THAT(of(tn::nanpercentile(x, Array{50.f}, 1)), are(3, 2));
  EXPECT_EQ(tn::median(Array(7.f)).item<float>(), 7);
  EXPECT_EQ(tn::median(tn::convert(Array{1.f, 2.f}, DType::bf16)).dtype(), DType::bf16);
  EXPECT_EQ(tn::quantile(Array{infinity, infinity}, 0.3).item<double>(), infinity);
}

// The definitions of Hyndman and Fan, at known parts and at parts that a function is given.
TEST(Quantiles, Methods) {
  const Array x = {15.0, 20.0, 35.0, 40.0, 50.0};
  using enum QuantileMethod;
  const std::vector<std::pair<QuantileMethod, double>> wanted = {{linear, 29},
                                                                 {lower, 20},
                                                                 {higher, 35},
                                                                 {nearest, 35},
                                                                 {midpoint, 27.5},
                                                                 {inverted_cdf, 20},
                                                                 {averaged_inverted_cdf, 27.5},
                                                                 {closest_observation, 20},
                                                                 {interpolated_inverted_cdf, 20},
                                                                 {hazen, 27.5},
                                                                 {weibull, 26},
                                                                 {median_unbiased, 27},
                                                                 {normal_unbiased, 27.125}};
  for (const auto& [method, value] : wanted) {
    const tn::QuantileOptions options{.method = method};
    SCOPED_TRACE(static_cast<int>(method));
    EXPECT_NEAR(tn::quantile(x, 0.4, {}, options).item<double>(), value, 1e-12);
    EXPECT_NEAR(tn::nanquantile(x, 0.4, {}, options).item<double>(), value, 1e-12);
    const auto at = tn::jit([&](const Array& q) { return tn::quantile(x, q, {}, options); });
    EXPECT_NEAR(at(Array(0.4).with_weak(false)).item<double>(), value, 1e-12);
  }
}

TEST(Quantiles, DerivativesAndBatches) {
  tn::expect_agreement([](const Array& x) { return tn::median(x * x * x, 0); }, tn::numbers({4, 3}, 0.37));
  tn::expect_agreement([](const Array& x) { return tn::quantile(x, Array{0.2, 0.8}, 1); }, tn::numbers({2, 5}, 0.37));
  const auto slope = tn::grad([](const Array& q) { return tn::quantile(Array{1.0, 2.0, 5.0}, q); });
  EXPECT_NEAR(slope(Array(0.75)).item<double>(), 6, 1e-12);
}

TEST(Quantiles, Weights) {
  const tn::QuantileOptions weighted{.method = QuantileMethod::inverted_cdf, .weights = Array{1, 1, 3}};
  EXPECT_EQ(tn::quantile(Array{1.0, 2.0, 4.0}, 0.5, {}, weighted).item<double>(), 4);
  EXPECT_EQ(tn::nanquantile(Array{1.f, 2.f, nan}, 0.5, {}, weighted).item<float>(), 1);
}

// --- histograms ---

TEST(Histograms, Counts) {
  EXPECT_THAT(of(tn::bincount(Array{1, 1, 3})), are(0, 2, 0, 1));
  EXPECT_THAT(of(tn::bincount(Array{1, 1, 3}, {.length = 2})), are(0, 2));
  EXPECT_THAT(of(tn::bincount(Array{0, 1}, {.minlength = 3})), are(1, 1, 0));
  EXPECT_THAT(of(tn::bincount(Array{0, 1, 1}, {.weights = Array{0.5, 1.0, 2.0}})), are(0.5, 3));
  EXPECT_THAT(of(tn::bincount(tn::zeros({0}, DType::i32))), are());
  const auto compiled = tn::jit([](const Array& x) { return tn::bincount(x); });  // data decide how many
  EXPECT_THAT(of(compiled(Array{2, 0, 2})), are(1, 0, 2));
  EXPECT_THAT(of(compiled(Array{1, 0, 0})), are(2, 1));
  EXPECT_THAT(of(tn::digitize(Array{0.5f, 2.f, 9.f}, Array{1.f, 2.f, 3.f})), are(0, 2, 3));
  EXPECT_THAT(of(tn::digitize(Array{0.5f, 2.f, 9.f}, Array{3.f, 2.f, 1.f}, true)), are(3, 2, 0));
}

TEST(Histograms, OneAxis) {
  EXPECT_THAT(of(tn::histogram_bin_edges(Array{0.f, 4.f}, 2)), are(0, 2, 4));
  EXPECT_THAT(of(tn::histogram_bin_edges(Array{2.f}, 2)), are(1.5, 2, 2.5));
  const auto [counts, edges] = tn::histogram(Array{1.f, 2.f, 2.f, 5.f}, 2);
  EXPECT_THAT(of(counts), are(3, 1));
  EXPECT_THAT(of(edges), are(1, 3, 5));
  EXPECT_THAT(of(tn::histogram(Array{0.f, 1.f, 2.f, nan}, Array{0.f, 1.f, 2.f}).counts), are(1, 2));
  EXPECT_THAT(of(tn::histogram(Array{0.f, 1.f, 7.f}, 2, {.range = std::pair(Array(0), Array(2))}).counts), are(1, 1));
  EXPECT_THAT(of(tn::histogram(Array{0.0, 1.0}, 2, {.weights = Array{1.5, 2.5}}).counts), are(1.5, 2.5));
  const auto density = tn::histogram(tn::numbers({50}), 7, {.density = true});
  EXPECT_NEAR(tn::sum(density.counts * tn::diff(density.edges)).item<double>(), 1, 1e-12);
}

TEST(Histograms, SeveralAxes) {
  const Array points = {{0.0, 0.0}, {1.0, 3.0}, {4.0, 3.5}};
  const tn::HistogramOfAxes made = tn::histogramdd(points, 2);
  EXPECT_THAT(of(made.counts), are(1, 1, 0, 1));
  EXPECT_THAT(of(made.edges[1]), are(0, 1.75, 3.5));
  const std::vector<tn::Bins> bins = {tn::Bins(2), tn::Bins(Array{0.0, 3.2, 9.0})};
  EXPECT_THAT(of(tn::histogramdd(points, bins).counts), are(2, 0, 0, 1));
  EXPECT_THAT(of(tn::histogram2d(Array{0.0, 1.0, 4.0}, Array{0.0, 3.0, 4.0}, 2).counts), are(1, 1, 0, 1));
}

// --- sets ---

TEST(Sets, Unique) {
  EXPECT_THAT(of(tn::unique(Array{3, 1, 3})), are(1, 3));
  const tn::Unique all = tn::unique_all(Array{3, 1, 3});
  EXPECT_THAT(of(all.indices), are(1, 0));
  EXPECT_THAT(of(all.inverse), are(1, 0, 1));
  EXPECT_THAT(of(all.counts), are(1, 2));
  EXPECT_THAT(of(tn::unique(Array{nan, 1.f, nan})), are(1, nan));
  EXPECT_THAT(of(tn::unique(Array{nan, 1.f, nan}, {.equal_nan = false})), are(1, nan, nan));
  const Array rows = {{1, 2}, {0, 5}, {1, 2}};
  EXPECT_THAT(of(tn::unique(rows, {.axis = 0})), are(0, 5, 1, 2));
  EXPECT_THAT(of(tn::unique(rows, {.axis = 1})), are(1, 2, 0, 5, 1, 2));
  EXPECT_THAT(of(tn::unique(rows, {{.size = 5}})), are(0, 1, 2, 5, 0));
  EXPECT_THAT(of(tn::unique(rows, {{.size = 5, .fill = Array(9)}})), are(0, 1, 2, 5, 9));
  EXPECT_EQ(tn::unique(tn::zeros({0, 2})).shape(), Shape({0}));
  EXPECT_EQ(tn::unique_all(rows).inverse.shape(), rows.shape());
  const auto compiled = tn::jit([](const Array& x) { return tn::sum(tn::unique(x)); });
  EXPECT_EQ(compiled(Array{3, 1, 3}).item<int>(), 4);
  EXPECT_EQ(compiled(Array{5, 1, 3}).item<int>(), 9);
}

TEST(Sets, Members) {
  EXPECT_THAT(of(tn::isin(Array{1, 2, 3}, Array{3, 1})), are(1, 0, 1));
  EXPECT_THAT(of(tn::isin(Array{1.f, nan}, Array{nan, 1.f})), are(1, 0));
  EXPECT_THAT(of(tn::isin(Array{true, false}, tn::zeros({10000}, DType::bool_))), are(0, 1));
  // Many others: by their order.
  const Array others = 2 * tn::arange(4000), x = tn::arange(8002) - 1;
  const Array found = tn::isin(x, others);
  EXPECT_TRUE(tn::all(found == ((x >= 0) & (x % 2 == 0) & (x < 8000))).item<bool>());
  const auto each = tn::vmap([](const Array& a, const Array& b) { return tn::isin(a, b); });
  EXPECT_THAT(of(each(Array{{1, 2}, {1, 2}}, Array{{1, 9}, {2, 9}})), are(1, 0, 0, 1));
}

TEST(Sets, OfTwo) {
  const Array x = {1, 2}, y = {2, 3};
  EXPECT_THAT(of(tn::union1d(x, y)), are(1, 2, 3));
  EXPECT_THAT(of(tn::intersect1d(x, y)), are(2));
  EXPECT_THAT(of(tn::setdiff1d(x, y)), are(1));
  EXPECT_THAT(of(tn::setxor1d(x, y)), are(1, 3));
  EXPECT_THAT(of(tn::setxor1d(x, y, {.unique = true})), are(1, 3));
  EXPECT_THAT(of(tn::setdiff1d(Array{3, 1, 3}, y, {{.size = 3}})), are(1, 0, 0));
  EXPECT_THAT(of(tn::intersect1d(x, y, {{.size = 2, .fill = Array(7)}})), are(2, 7));
  const tn::Intersection both = tn::intersection_and_places(Array{5, 2, 1, 2}, Array{2, 3, 5});
  EXPECT_THAT(of(both.values), are(2, 5));
  EXPECT_THAT(of(both.of_x), are(1, 0));
  EXPECT_THAT(of(both.of_y), are(0, 2));
  EXPECT_THAT(of(tn::intersection_and_places(x, y, {.size = 2}).of_y), are(0, 2));
}

TEST(Sets, FixedNumbersOfElements) {
  EXPECT_THAT(of(tn::nonzero(Array{false, true, true}, 3)[0]), are(1, 2, 0));
  const Array fill[] = {Array(-1), Array(-2)};
  const std::vector<Array> at = tn::nonzero(Array{{0, 4}, {3, 0}}, 3, fill);
  EXPECT_THAT(of(at[0]), are(0, 1, -1));
  EXPECT_THAT(of(at[1]), are(1, 0, -2));
  EXPECT_THAT(of(tn::compress(Array{{1, 2}, {3, 4}}, Array{false, true}, 2, 9)), are(3, 4, 9, 9));
}

// --- errors ---

template <class F>
std::string said(const F& f) {
  return tn::message_of(f);
}

TEST(Summaries, Errors) {
  const Array x = {1.f, 2.f};
  EXPECT_THAT(said([&] { tn::sum(x, 0, {.where = x}); }), HasSubstr("sum: where must be a boolean array, not f32[2]"));
  EXPECT_THAT(said([&] { tn::sum(x, 0, {.initial = x}); }), HasSubstr("initial value must be a scalar, not f32[2]"));
  EXPECT_THAT(said([&] { tn::amax(x, 0, {.where = x > 0}); }), HasSubstr("an initial value is needed"));
  EXPECT_THAT(said([&] { tn::average(x, Array{{1.f, 2.f}}); }), HasSubstr("average: weights f32[1,2] of f32[2]"));
  EXPECT_THAT(said([&] { tn::median(tn::complex(x, x)); }),
              HasSubstr("median: complex numbers, c64[2], have no order"));
  EXPECT_THAT(said([&] { tn::quantile(x, 0.5f, {}, {.weights = x}); }), HasSubstr("inverted_cdf"));
  EXPECT_THAT(said([&] { tn::quantile(x, 0.5f, 1); }), HasSubstr("quantile: axis 1 of f32[2]"));
  EXPECT_THAT(said([&] { tn::bincount(x); }), HasSubstr("bincount: f32[2] is not of integers"));
  EXPECT_THAT(said([&] { tn::bincount(Array{{1}}); }), HasSubstr("bincount: i32[1,1]"));
  EXPECT_THAT(said([&] { tn::histogram(tn::zeros({0})); }), HasSubstr("no smallest and no largest"));
  EXPECT_THAT(said([&] { tn::histogramdd(x); }), HasSubstr("points are an array [n, axes], not f32[2]"));
  EXPECT_THAT(said([&] { tn::digitize(x, 1.f); }), HasSubstr("digitize: the borders f32[] are no vector"));
  EXPECT_THAT(said([&] { tn::unique(tn::zeros({0}), {{.size = 2}}); }), HasSubstr("fill_value must be specified"));
  EXPECT_THAT(said([&] { tn::unique(x, {.axis = 1}); }), HasSubstr("unique: axis 1"));
  EXPECT_THAT(said([&] { tn::nonzero(Array(1), 3); }), HasSubstr("nonzero: i32[] has no axes"));
  EXPECT_THAT(said([&] { tn::compress(x, x, 1); }), HasSubstr("compress: f32[2] by f32[2]"));
}

}  // namespace
}  // namespace of_summaries
