// Numbers in equal steps, neighbours, polynomials, covariances, diagonals, elements in other places: the examples of
// their headers, properties, derivatives, sizes that vary, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "../error_message.h"
#include "agreement.h"
#include "tenon/tenon.h"
#include "values.h"

namespace of_vectors {
namespace {

namespace tn = tenon;
namespace linalg = tenon::linalg;
using testing::ElementsAre;
using testing::HasSubstr;
using tn::Array;
using tn::DType;
using tn::PadMode;
using tn::Shape;

std::vector<double> of(const Array& x) { return tn::all_values(x); }
testing::Matcher<double> number(double x) {
  return std::isnan(x) ? testing::Matcher<double>(testing::IsNan()) : testing::DoubleNear(x, 1e-5 * (1 + std::abs(x)));
}
template <class... T>
auto are(T... x) {
  return ElementsAre(number(static_cast<double>(x))...);
}
// With sizes that a program takes for any.
template <class F>
auto varying(F f) {
  return tn::jit(f, {.sizes = tn::Sizes::symbolic});
}

// --- grids ---

TEST(Grids, EqualSteps) {
  EXPECT_THAT(of(tn::linspace(0.f, 1.f, 5)), are(0, 0.25, 0.5, 0.75, 1));
  EXPECT_EQ(tn::linspace(0.f, 1.f, 5).dtype(), DType::f32);
  EXPECT_EQ(tn::linspace(0., 1.).shape(), Shape({50}));
  EXPECT_THAT(of(tn::linspace(0, 4, 4, {.endpoint = false})), are(0, 1, 2, 3));
  EXPECT_THAT(of(tn::linspace(0, 5, 3, {.dtype = DType::i32})), are(0, 2, 5));
  EXPECT_THAT(of(tn::linspace(Array{0.f, 1.f}, 2.f, 3, {.axis = 1})), are(0, 1, 2, 1, 1.5, 2));
  EXPECT_EQ(tn::linspace(0.f, 0.1f, 7)(-1).item<float>(), 0.1f);
  EXPECT_EQ(tn::linspace_and_step(1.f, 3.f, 5).step.item<float>(), 0.5f);
  EXPECT_TRUE(std::isnan(tn::linspace_and_step(1.f, 3.f, 1).step.item<float>()));
  EXPECT_THAT(of(tn::linspace(1.f, 3.f, 1)), are(1));
  EXPECT_THAT(of(tn::linspace(1.f, 3.f, 0)), are());
  EXPECT_THAT(of(tn::logspace(0.f, 2.f, 3)), are(1, 10, 100));
  EXPECT_THAT(of(tn::geomspace(1.f, 100.f, 3)), are(1, 10, 100));
  EXPECT_THAT(of(tn::geomspace(-1.f, -8.f, 4)), are(-1, -2, -4, -8));
  EXPECT_THAT(of(varying([](const Array& x) { return tn::linspace(0.f, 1.f, x.dim(0)); })(tn::zeros({3}))),
              are(0, 0.5, 1));
  tn::expect_agreement([](const Array& x) { return tn::linspace(x * x, tn::sin(x), 4); }, tn::numbers({2}));
}

TEST(Grids, Mesh) {
  const std::vector<Array> grid = tn::meshgrid({tn::linspace(0.f, 1.f, 3), tn::linspace(0.f, 1.f, 2)});
  EXPECT_EQ(grid[0].shape(), Shape({2, 3}));
  EXPECT_THAT(of(grid[0]), are(0, 0.5, 1, 0, 0.5, 1));
  EXPECT_THAT(of(grid[1]), are(0, 0, 0, 1, 1, 1));
  EXPECT_EQ(tn::meshgrid({tn::arange(3), tn::arange(2)}, {.matrix_order = true})[0].shape(), Shape({3, 2}));
  EXPECT_EQ(tn::meshgrid({tn::arange(3), tn::arange(2)}, {.sparse = true})[0].shape(), Shape({1, 3}));
}

// --- neighbours ---

TEST(Differences, Examples) {
  EXPECT_THAT(of(tn::diff(Array{1, 4, 9})), are(3, 5));
  EXPECT_THAT(of(tn::diff(Array{1, 4, 9}, 2)), are(2));
  EXPECT_THAT(of(tn::diff(Array{1, 4, 9}, 5)), are());
  EXPECT_THAT(of(tn::diff(Array{{1, 4}, {2, 8}}, 1, 0, {.prepend = Array(0)})), are(1, 4, 1, 4));
  EXPECT_THAT(of(tn::diff(Array{true, true, false})), are(0, 1));
  EXPECT_THAT(of(tn::ediff1d(Array{1, 4, 9}, {.to_begin = Array(0)})), are(0, 3, 5));
  EXPECT_THAT(of(tn::gradient(Array{1.f, 4.f, 9.f, 16.f}, 0)), are(3, 4, 6, 7));
  EXPECT_THAT(of(tn::gradient(Array{1.f, 4.f, 9.f}, 0, Array{1.f, 2.f, 3.f})), are(3, 4, 5));
  EXPECT_THAT(of(tn::gradient(Array{{1, 2}, {5, 2}}, 0, 2)), are(2, 0, 2, 0));
  EXPECT_EQ(tn::trapezoid(Array{1.f, 2.f, 3.f}).item<float>(), 4);
  EXPECT_EQ(tn::trapezoid(Array{1.f, 2.f, 3.f}, {.x = Array{0.f, 1.f, 3.f}}).item<float>(), 6.5);
  EXPECT_EQ(tn::trapezoid(Array{1.f}).item<float>(), 0);
  EXPECT_THAT(of(tn::unwrap(Array{0.f, 3.f, -3.f})), are(0, 3, -3 + 2 * M_PI));
  EXPECT_THAT(of(tn::unwrap(Array{0, 3, 1}, {.period = Array(4)})), are(0, -1, -3));
  tn::expect_agreement([](const Array& x) { return tn::gradient(x * x, 0, Array{0.0, 1.0, 3.0}); },
                       tn::numbers({3, 2}));
  tn::expect_agreement([](const Array& x) { return tn::unwrap(4 * x * x); }, tn::numbers({5}));
}

// --- polynomials ---

TEST(Polynomials, Examples) {
  EXPECT_THAT(of(tn::polyval(Array{1.f, 0.f, -1.f}, Array{2.f, 3.f})), are(3, 8));
  EXPECT_THAT(of(tn::polyadd(Array{1, 2}, Array{5})), are(1, 7));
  EXPECT_THAT(of(tn::polysub(Array{5}, Array{1, 2})), are(-1, 3));
  EXPECT_THAT(of(tn::polymul(Array{1.f, 1.f}, Array{1.f, -1.f})), are(1, 0, -1));
  const auto [quotient, rest] = tn::polydiv(Array{1.f, 2.f, 3.f, 4.f}, Array{1.f, 2.f});
  EXPECT_THAT(of(quotient), are(1, 0, 3));
  EXPECT_THAT(of(rest), are(0, 0, 0, -2));
  EXPECT_THAT(of(tn::polydiv(Array{1.f}, Array{1.f, 2.f}).quotient), are(0));
  EXPECT_THAT(of(tn::polyder(Array{1.f, 2.f, 3.f})), are(2, 2));
  EXPECT_THAT(of(tn::polyder(Array{1.f}, 2)), are());
  EXPECT_THAT(of(tn::polyint(Array{2.f, 2.f})), are(1, 2, 0));
  EXPECT_THAT(of(tn::polyint(Array{6.f}, 2, Array{5.f, 7.f})), are(3, 5, 7));
  EXPECT_THAT(of(tn::poly(Array{1.f, 2.f})), are(1, -3, 2));
  EXPECT_THAT(of(tn::poly(Array{{2., 1.}, {1., 2.}})), are(1, -4, 3));
  EXPECT_THAT(of(tn::vander(Array{2.f, 3.f}, 3)), are(4, 2, 1, 9, 3, 1));
  EXPECT_THAT(of(tn::vander(Array{2, 3}, {}, {.increasing = true})), are(1, 2, 1, 3));
  // As long as a loop: Σ x^i.
  EXPECT_NEAR(tn::polyval(tn::ones({100}), Array(0.5f)).item<float>(), 2, 1e-6);
  tn::expect_agreement([](const Array& p) { return tn::polyval(p, p * p); }, tn::numbers({4}));
}

TEST(Polynomials, Roots) {
  std::vector<double> found = of(tn::real(tn::roots(Array{1.0, -6.0, 11.0, -6.0})));
  std::ranges::sort(found);
  EXPECT_THAT(found, are(1, 2, 3));
  const Array padded = tn::roots(Array{0.0, 1.0, -3.0, 2.0});  // one zero in front: one root fewer
  EXPECT_THAT(of(tn::real(padded))[2], testing::IsNan());
  EXPECT_NEAR(tn::nansum(tn::real(padded)).item<double>(), 3, 1e-12);
  EXPECT_THAT(of(tn::real(tn::roots(Array{1.0, -1.0, 0.0}))), testing::UnorderedElementsAre(number(0), number(1)));
  EXPECT_EQ(tn::roots(Array{1.0}).shape(), Shape({0}));
}

TEST(Polynomials, Fits) {
  const Array x = {0.0, 1.0, 2.0, 3.0}, y = 2.0 * x * x - x + 0.5;
  EXPECT_THAT(of(tn::polyfit(x, y, 2).coefficients), are(2, -1, 0.5));
  const tn::PolynomialFit fit =
      tn::polyfit(x, tn::stack({y, -y}, 1), 1, {.weights = tn::ones({4}), .covariance = true});
  EXPECT_EQ(fit.coefficients.shape(), Shape({2, 2}));
  EXPECT_THAT(of(fit.unscaled_covariance), are(0.2, -0.3, -0.3, 0.7));
  EXPECT_THAT(of(tn::polyfit(Array{0.f, 1.f, 2.f}, Array{1.f, 3.f, 5.f}, 1).coefficients), are(2, 1));
}

// --- covariances, products ---

TEST(Covariances, Examples) {
  const Array x = {{0.f, 1.f, 2.f}, {2.f, 1.f, 0.f}};
  EXPECT_THAT(of(tn::cov(x)), are(1, -1, -1, 1));
  EXPECT_THAT(of(tn::corrcoef(x)), are(1, -1, -1, 1));
  EXPECT_THAT(of(tn::cov(tn::transpose(x), {.columns = true})), are(1, -1, -1, 1));
  EXPECT_THAT(of(tn::cov(x, {.ddof = Array(0)})), are(2. / 3, -2. / 3, -2. / 3, 2. / 3));
  EXPECT_THAT(of(tn::cov(x, {.frequencies = Array{1, 2, 1}})), are(2. / 3, -2. / 3, -2. / 3, 2. / 3));
  EXPECT_THAT(of(tn::cov(x, {.weights = Array{1.f, 0.f, 1.f}})), are(2, -2, -2, 2));
  EXPECT_EQ(tn::cov(Array{1.f, 3.f}).item<float>(), 2);
  EXPECT_THAT(of(tn::cov(Array{1.f, 3.f}, Array{5.f, 1.f})), are(2, -4, -4, 8));
  EXPECT_EQ(tn::corrcoef(Array{1.f, 3.f}).item<float>(), 1);
}

TEST(Vectors, Products) {
  EXPECT_EQ(tn::cross(Array{1.f, 0.f}, Array{0.f, 1.f}, tn::CrossAxes{}).item<float>(), 1);
  const Array a = {1.f, 2.f, 3.f}, b = {-2.f, 0.f, 5.f}, flat = {4.f, 5.f};
  EXPECT_THAT(of(tn::cross(a, b, tn::CrossAxes{})), are(10, -11, 4));
  EXPECT_THAT(of(tn::cross(a, flat, tn::CrossAxes{})), are(-15, 12, -3));
  EXPECT_THAT(of(tn::cross(flat, a, tn::CrossAxes{})), are(15, -12, 3));
  EXPECT_THAT(of(tn::kron(Array{1, 2}, Array{1, 1})), are(1, 1, 2, 2));
  EXPECT_EQ(tn::kron(tn::ones({2, 3}), tn::ones({4})).shape(), Shape({2, 12}));
}

// --- diagonals ---

TEST(Diagonals, Examples) {
  const Array x = {{1, 2}, {3, 4}};
  EXPECT_THAT(of(tn::diagonal(x)), are(1, 4));
  EXPECT_THAT(of(tn::diagonal(x, -1)), are(3));
  EXPECT_THAT(of(tn::diagonal(x, 5)), are());
  EXPECT_EQ(tn::diagonal(tn::zeros({2, 3, 4}), 1, 0, 2).shape(), Shape({3, 2}));
  EXPECT_THAT(of(tn::diag(Array{1, 2})), are(1, 0, 0, 2));
  EXPECT_THAT(of(tn::diag(Array{1, 2}, 1)), are(0, 1, 0, 0, 0, 2, 0, 0, 0));
  EXPECT_THAT(of(tn::tril(x)), are(1, 0, 3, 4));
  EXPECT_THAT(of(tn::triu(x, 1)), are(0, 2, 0, 0));
  EXPECT_THAT(of(tn::tri(2, 3)), are(1, 0, 0, 1, 1, 0));
  EXPECT_THAT(of(tn::eye(2, 3, 1)), are(0, 1, 0, 0, 0, 1));
  EXPECT_EQ(linalg::trace(Array{{1.f, 2.f}, {3.f, 4.f}}).item<float>(), 5);
  EXPECT_THAT(of(varying([](const Array& v) { return tn::diag(v, -1) + tn::tri(v.dim(0) + 1, v.dim(0) + 1); })(
                  Array{5.f, 6.f})),
              are(1, 0, 0, 6, 1, 0, 1, 7, 1));
  tn::expect_agreement([](const Array& m) { return tn::diag(tn::diagonal(m * m, 1)); }, tn::numbers({3, 3}));
}

// --- elements in other places ---

TEST(Rearranged, Examples) {
  const Array x = {1, 2, 3}, m = {{1, 2}, {3, 4}};
  EXPECT_THAT(of(tn::flip(x)), are(3, 2, 1));
  EXPECT_THAT(of(tn::flip(m, 0)), are(3, 4, 1, 2));
  EXPECT_THAT(of(tn::rot90(m)), are(2, 4, 1, 3));
  EXPECT_THAT(of(tn::rot90(m, 2)), are(4, 3, 2, 1));
  EXPECT_THAT(of(tn::rot90(m, -1)), are(3, 1, 4, 2));
  EXPECT_THAT(of(tn::roll(x, 1, 0)), are(3, 1, 2));
  EXPECT_THAT(of(tn::roll(m, -1)), are(2, 3, 4, 1));
  EXPECT_THAT(of(tn::jit([](const Array& v, const Array& by) { return tn::roll(v, by, 0); })(x, Array(-4))),
              are(2, 3, 1));
  EXPECT_THAT(of(varying([](const Array& v) { return tn::roll(v, v.dim(0) - 1, 0); })(x)), are(2, 3, 1));
  EXPECT_THAT(of(tn::tile(Array{1, 2}, {2})), are(1, 2, 1, 2));
  EXPECT_EQ(tn::tile(m, {3, 1, 2}).shape(), Shape({3, 2, 4}));
  EXPECT_THAT(of(tn::repeat(Array{1, 2}, 2)), are(1, 1, 2, 2));
  EXPECT_THAT(of(tn::repeat(m, 2, 0)), are(1, 2, 1, 2, 3, 4, 3, 4));
  EXPECT_THAT(of(tn::repeat(Array{1, 2}, Array{1, 3}, 4, 0)), are(1, 2, 2, 2));
  EXPECT_THAT(of(tn::repeat(Array{1, 2}, Array{0, 1}, 3, 0)), are(2, 2, 2));
  EXPECT_THAT(of(tn::pad(x, {{1, 2}}, PadMode::reflect)), are(2, 1, 2, 3, 2, 1));
  EXPECT_THAT(of(tn::pad(x, {{1, 4}}, PadMode::symmetric)), are(1, 1, 2, 3, 3, 2, 1, 1));
  EXPECT_THAT(of(tn::pad(x, {{4, 1}}, PadMode::wrap)), are(3, 1, 2, 3, 1, 2, 3, 1));
  EXPECT_THAT(of(tn::pad(m, {{0, 1}, {1, 0}}, PadMode::edge)), are(1, 1, 2, 3, 3, 4, 3, 3, 4));
  tn::expect_agreement([](const Array& y) { return tn::pad(y * y, {{2, 2}, {0, 1}}, PadMode::reflect); },
                       tn::numbers({3, 2}));
}

TEST(Windows, Tapers) {
  EXPECT_THAT(of(tn::bartlett(5)), are(0, 0.5, 1, 0.5, 0));
  EXPECT_THAT(of(tn::hanning(5)), are(0, 0.5, 1, 0.5, 0));
  EXPECT_THAT(of(tn::hamming(3)), are(0.08, 1, 0.08));
  EXPECT_THAT(of(tn::blackman(3)), are(0, 1, 0));
  EXPECT_THAT(of(tn::kaiser(3, 2.0, DType::f64)), are(0.438676276, 1, 0.438676276));
  EXPECT_THAT(of(tn::hanning(1)), are(1));
  EXPECT_THAT(of(tn::hanning(0)), are());
  EXPECT_THAT(of(varying([](const Array& x) { return x * tn::hanning(x.dim(0)); })(tn::ones({3}))), are(0, 1, 0));
}

TEST(Bits, Packed) {
  EXPECT_THAT(of(tn::packbits(Array{1, 0, 1})), are(160));
  EXPECT_THAT(of(tn::packbits(Array{1, 0, 1}, {.bitorder = tn::BitOrder::little})), are(5));
  const Array bytes = tn::convert(Array{5}, DType::u8);
  EXPECT_THAT(of(tn::unpackbits(bytes)), are(0, 0, 0, 0, 0, 1, 0, 1));
  EXPECT_THAT(of(tn::unpackbits(bytes, {.count = 10, .bitorder = tn::BitOrder::little})),
              are(1, 0, 1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(of(tn::unpackbits(bytes, {.count = -6})), are(0, 0));
  const Array many = tn::convert(tn::arange(24) * 11, DType::u8);
  EXPECT_TRUE(tn::all(tn::packbits(tn::unpackbits(tn::reshape(many, {4, 6}), {.axis = 0}), {.axis = 0}) ==
                      tn::reshape(many, {4, 6}))
                  .item<bool>());
}

TEST(Division, RoundedDown) {
  EXPECT_THAT(of(tn::floor_divide(Array{7, -7}, 2)), are(3, -4));
  EXPECT_THAT(of(tn::floor_divide(Array{7.5f, -7.5f}, 2.f)), are(3, -4));
  EXPECT_THAT(of(tn::remainder(Array{7, -7}, 3)), are(1, 2));
  EXPECT_THAT(of(tn::fmod(Array{7, -7}, 3)), are(1, -1));
  EXPECT_THAT(of(tn::remainder(Array{7, -7}, 0)), are(0, 0));
}

TEST(Order, OfComplexNumbers) {
  using C = std::complex<float>;
  const Array z = tn::complex(Array{1.f, 1.f, 0.f}, Array{2.f, 3.f, 9.f});
  EXPECT_TRUE(tn::order::less(Array(C(1, 2)), Array(C(1, 3))).item<bool>());
  EXPECT_EQ(tn::order::largest(z).item<C>(), C(1, 3));
  EXPECT_EQ(tn::order::smallest(z).item<C>(), C(0, 9));
}

TEST(Places, Insert) {
  EXPECT_THAT(of(tn::insert(Array{1, 2, 3}, 1, 5)), are(1, 5, 2, 3));
  EXPECT_THAT(of(tn::insert(Array{1, 2, 3}, Array{0, 3}, Array{5, 6})), are(5, 1, 2, 3, 6));
  EXPECT_THAT(of(tn::insert(Array{1, 2, 3}, Array{3, 0, 0}, Array{5, 6, 7})), are(6, 7, 1, 2, 3, 5));
  EXPECT_THAT(of(tn::insert(Array{1, 2, 3}, -1, Array{5, 6})), are(1, 2, 5, 6, 3));
  EXPECT_THAT(of(tn::insert(Array{1, 2}, Array{9, -9}, 0)), are(0, 1, 2, 0));
  const Array m{{1., 2.}, {3., 4.}};
  EXPECT_THAT(of(tn::insert(m, 1, 9, 1)), are(1, 9, 2, 3, 9, 4));
  EXPECT_THAT(of(tn::insert(m, 0, Array{8., 9.}, 1)), are(8, 1, 2, 9, 3, 4));
  EXPECT_THAT(of(tn::insert(m, Array{0}, Array{8., 9.}, 0)), are(8, 9, 1, 2, 3, 4));
  EXPECT_THAT(of(tn::insert(m, 4, 9)), are(1, 2, 3, 4, 9));
  EXPECT_EQ(tn::insert(m, tn::zeros({0}, DType::i32), 9, 0).shape(), (Shape{2, 2}));
  EXPECT_THAT(of(tn::insert(tn::zeros({0}), Array{0, 0}, Array{1, 2})), are(1, 2));
  tn::expect_agreement([](const Array& x) { return tn::insert(x, Array{2, 0}, x * x, 1); }, tn::numbers({3, 2}));
  tn::expect_agreement([](const Array& x) { return tn::insert(x * x, Array{1, 1}, tn::sin(x)); }, tn::numbers({2}));
  EXPECT_THAT(
      of(varying([](const Array& x, const Array& at) { return tn::insert(x, at, 9); })(Array{1, 2, 3}, Array{2, 0})),
      are(9, 1, 2, 9, 3));
}

TEST(Places, Without) {
  EXPECT_THAT(of(tn::without(Array{1, 2, 3}, {0, -1})), are(2));
  EXPECT_THAT(of(tn::without(Array{1, 2, 3}, {1, 1, -2})), are(1, 3));
  EXPECT_THAT(of(tn::without(Array{1, 2, 3}, Array{2, 0}, 0)), are(2));
  EXPECT_THAT(of(tn::without(Array{1, 2, 3}, std::vector<std::int64_t>{})), are(1, 2, 3));
  EXPECT_THAT(of(tn::without(Array{{1, 2}, {3, 4}}, {0}, 1)), are(2, 4));
  EXPECT_THAT(of(tn::without(Array{{1, 2}, {3, 4}}, {0, 3})), are(2, 3));
  EXPECT_EQ(tn::without(Array{{1, 2}, {3, 4}}, {0, 1}, 1).shape(), (Shape{2, 0}));
  std::vector<std::int64_t> odd;
  for (int i = 1; i < 40; i += 2) odd.push_back(i);
  EXPECT_EQ(of(tn::without(tn::arange(40), odd)), of(tn::arange(20) * 2));
  tn::expect_agreement([](const Array& x) { return tn::without(x * x, {1}, 1); }, tn::numbers({2, 3}));
  tn::expect_agreement([](const Array& x) { return tn::without(x * x, Array{2, -4}, 0); }, tn::numbers({4}));
  EXPECT_THAT(of(varying([](const Array& x) { return tn::without(x, {1}); })(Array{1, 2, 3})), are(1, 3));
  EXPECT_THAT(of(varying([](const Array& x) { return tn::without(x, {-1, -3}); })(Array{1, 2, 3})), are(2));
}

TEST(Places, Choose) {
  EXPECT_THAT(of(tn::choose(Array{1, 0}, {Array{1, 2}, Array{10, 20}})), are(10, 2));
  EXPECT_THAT(of(tn::choose(Array{-1, 5}, {Array{1, 2}, Array{10, 20}})), are(1, 20));
  EXPECT_THAT(of(tn::choose(Array{-1, 2}, {Array{1, 2}, Array{10, 20}}, tn::ChooseMode::wrap)), are(10, 2));
  EXPECT_THAT(of(tn::choose(1, {Array{1, 2}, Array{10, 20}}, tn::ChooseMode::refuse)), are(10, 20));
  EXPECT_EQ(tn::choose(Array{{0}, {1}}, {Array{1, 2}, Array(0.5f)}).shape(), (Shape{2, 2}));
  std::vector<Array> many;
  for (int i = 0; i < 50; ++i) many.push_back(Array{i, -i});
  EXPECT_THAT(of(tn::choose(Array{49, 3}, many)), are(49, -3));
  tn::expect_agreement([](const Array& x) { return tn::choose(Array{1, 0, 1}, {x, x * x}); }, tn::numbers({3}));
}

TEST(Places, SelectsByConditions) {
  const Array x{-1.f, 0.5f, 2.f};
  EXPECT_THAT(of(tn::select({x < 0, x > 1}, {Array(0), Array(1)}, x)), are(0, 0.5, 1));
  EXPECT_THAT(of(tn::select({Array{1, 0}, Array{1, 1}}, {Array{3, 3}, Array{4, 4}})), are(3, 4));
  tn::expect_agreement([](const Array& v) { return tn::select({v < 0.47, v < 0.83}, {v * v, tn::sin(v)}, 2 * v); },
                       tn::numbers({4}));
}

TEST(Places, NumbersInARow) {
  const auto at = tn::unravel_index(Array{5, -1, 2, 99, -99}, {2, 3});
  EXPECT_THAT(of(at[0]), are(1, 1, 0, 1, 0));
  EXPECT_THAT(of(at[1]), are(2, 2, 2, 2, 0));
  const Array most = tn::convert(Array(-1), DType::u64);
  EXPECT_THAT(of(tn::unravel_index(most, {2, 3})[0]), are(1));
  EXPECT_THAT(of(tn::ravel_index({Array{0, 1}, Array{2, 2}}, {2, 3})), are(2, 5));
  EXPECT_THAT(of(tn::ravel_index({Array{0, 3}, Array{-1, 4}}, {2, 3}, tn::Outside::clip)), are(0, 5));
  EXPECT_THAT(of(tn::ravel_index({Array{0, 3}, Array{-1, 4}}, {2, 3}, tn::Outside::wrap)), are(2, 4));
  const auto sized = varying([](const Array& x, const Array& i) {
    const auto each = tn::unravel_index(i, x.shape());
    return tn::ravel_index(each, x.shape());
  });
  EXPECT_THAT(of(sized(tn::zeros({2, 3}), Array{4, 0})), are(4, 0));
}

TEST(Places, ValuesPutThere) {
  EXPECT_THAT(of(tn::put(Array{1, 2, 3, 4}, Array{0, -1}, Array{8, 9})), are(8, 2, 3, 9));
  EXPECT_THAT(of(tn::put(Array{{1, 2}, {3, 4}}, Array{1, 2, 9}, 7)), are(1, 7, 7, 7));
  EXPECT_THAT(of(tn::put(Array{1, 2}, Array{1, 9}, 7, tn::Outside::ignore)), are(1, 7));
  EXPECT_THAT(of(tn::put(Array{1, 2}, Array{2, 3}, Array{7, 8}, tn::Outside::wrap)), are(7, 8));
  EXPECT_THAT(of(tn::place(Array{1, 2, 3}, Array{true, false, true}, Array{8, 9})), are(8, 2, 9));
  EXPECT_THAT(of(tn::place(Array{1, 2, 3}, Array{1, 1, 1}, Array{8, 9})), are(8, 9, 8));
  EXPECT_THAT(of(tn::fill_diagonal(tn::zeros({2, 2}), Array{1, 2})), are(1, 0, 0, 2));
  EXPECT_THAT(of(tn::fill_diagonal(tn::zeros({3, 2}), 1)), are(1, 0, 0, 1, 0, 0));
  EXPECT_THAT(of(tn::fill_diagonal(tn::zeros({3, 3}), Array{1, 2})), are(1, 0, 0, 0, 2, 0, 0, 0, 1));
  tn::expect_agreement([](const Array& x) { return tn::put(x * x, Array{1, 0}, tn::sin(x)); }, tn::numbers({3}));
  tn::expect_agreement([](const Array& x) { return tn::place(x * x, Array{0, 1, 1}, tn::sin(x)); }, tn::numbers({3}));
  tn::expect_agreement([](const Array& x) { return tn::fill_diagonal(x * x, tn::sin(x)); }, tn::numbers({2, 2}));
  const auto sized = varying([](const Array& x, const Array& v) { return tn::fill_diagonal(x, v); });
  EXPECT_THAT(of(sized(tn::zeros({2, 3}), Array{5.f})), are(5, 0, 0, 0, 5, 0));
}

TEST(Places, Partition) {
  EXPECT_THAT(of(tn::partition(Array{3, 1, 2}, {0})), are(1, 2, 3));
  EXPECT_THAT(of(tn::argpartition(Array{3, 1, 2}, {-1})), are(1, 2, 0));
  EXPECT_THAT(of(tn::partition(Array{{3, 1}, {2, 5}}, {1, 0}, 0)), are(2, 1, 3, 5));
  EXPECT_THAT(of(varying([](const Array& x) { return tn::partition(x, {7}); })(Array{2, 1})), are(1, 2));
}

TEST(Elementwise, OfComplexNumbers) {
  using C = std::complex<double>;
  const C z(0.3, -2.0), w(-1.5, 0.25);
  const auto near = [](const Array& x, C wanted) {
    EXPECT_NEAR(std::abs(x.item<C>() - wanted), 0, 1e-14 * std::abs(wanted)) << wanted;
  };
  near(tn::asinh(Array(z)), std::asinh(z)), near(tn::acosh(Array(w)), std::acosh(w));
  near(tn::atanh(Array(z)), std::atanh(z)), near(tn::log1p(Array(w)), std::log(1. + w));
  near(tn::atan2(Array(z), Array(w)), -C(0, 1) * std::log((w + C(0, 1) * z) / std::sqrt(w * w + z * z)));
  near(tn::logaddexp2(Array(z), Array(w)), std::log(std::pow(2., z) + std::pow(2., w)) / std::log(2.));
  EXPECT_EQ(tn::acosh(Array(C(-2, -0.))).item<C>(), std::conj(tn::acosh(Array(C(-2, 0.))).item<C>()));
  EXPECT_TRUE(std::signbit(tn::asinh(Array(C(-0., 1e-300))).item<C>().real()));
}

TEST(Elementwise, Examples) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(of(tn::log2(Array{8.f, 1.f})), are(3, 0));
  EXPECT_THAT(of(tn::log10(1000)), are(3));
  EXPECT_THAT(of(tn::exp2(Array{3, -1})), are(8, 0.5));
  EXPECT_THAT(of(tn::logaddexp2(Array{1.f, -infinity}, Array{1.f, -infinity})),
              are(2, -std::numeric_limits<double>::infinity()));
  EXPECT_THAT(of(tn::asinh(Array{1., 1e300, -0.})), are(0.881373587, 691.468675, 0));
  EXPECT_THAT(of(tn::acosh(Array{2., 0.})), are(1.316957897, nan));
  EXPECT_THAT(of(tn::atanh(Array{0.5})), are(0.549306144));
  EXPECT_THAT(of(tn::hypot(Array{3.f, 3e38f}, Array{4.f, 0.f})), are(5, 3e38));
  EXPECT_THAT(of(tn::sinc(Array{0., 0.5, 1.})), are(1, 2 / M_PI, 0));
  EXPECT_THAT(of(tn::trunc(Array{1.7f, -1.7f})), are(1, -1));
  EXPECT_THAT(of(tn::round(Array{1.25f, -2.75f}, 1)), are(1.2, -2.8));
  EXPECT_THAT(of(tn::round(Array{125, 135, -125, 4}, -1)), are(120, 140, -120, 0));
  EXPECT_THAT(of(tn::sign_bit(Array{-0.f, 0.f, -nan})), are(1, 0, 1));
  EXPECT_THAT(of(tn::copysign(3.f, Array{-0.f, 2.f})), are(-3, 3));
  EXPECT_THAT(of(tn::heaviside(Array{-1.f, 0.f, 2.f}, 0.25f)), are(0, 0.25, 1));
  EXPECT_THAT(of(tn::fmax(Array{nan, 2.f}, 1.f)), are(1, 2));
  EXPECT_THAT(of(tn::fmin(Array{nan, 2.f}, 1.f)), are(1, 1));
  EXPECT_THAT(of(tn::is_inf(Array{infinity, nan, 1.f})), are(1, 0, 0));
  EXPECT_THAT(of(tn::nan_to_num(Array{nan, 1.f, infinity}, {.above = Array(9)})), are(0, 1, 9));
  EXPECT_THAT(of(tn::nan_to_num(Array{-infinity})), are(-std::numeric_limits<float>::max()));
  EXPECT_THAT(of(tn::is_close(Array{1.f, infinity, nan}, Array{1.000001f, infinity, nan})), are(1, 1, 0));
  EXPECT_THAT(of(tn::is_close(Array{nan}, Array{nan}, {.equal_nan = true})), are(1));
  EXPECT_THAT(of(tn::radians(180.)), are(M_PI));
  EXPECT_THAT(of(tn::degrees(M_PI)), are(180));
  EXPECT_THAT(of(tn::gcd(Array{12, -4, 0, 0}, Array{18, 6, 5, 0})), are(6, 2, 5, 0));
  EXPECT_THAT(of(tn::lcm(Array{4, 0}, Array{6, 5})), are(12, 0));
  tn::expect_agreement(
      [](const Array& x) { return tn::asinh(x) + tn::sinc(x) + tn::log2(2 + x * x) + tn::atanh(x / 2); },
      tn::numbers({5}, 0.15));
  tn::expect_agreement([](const Array& x) { return tn::logaddexp2(x, x * x) + tn::hypot(x, 1 + x); },
                       tn::numbers({4}, 0.17));
}

TEST(FloatParts, Examples) {
  const auto [fraction, exponent] = tn::frexp(Array{-6.f, 0.f, 1e-40f, 8.f});
  EXPECT_THAT(of(fraction), are(-0.75, 0, std::ldexp(1e-40f, 132), 0.5));
  EXPECT_THAT(of(exponent), are(3, 0, -132, 4));
  EXPECT_THAT(of(tn::ldexp(0.75f, Array{3, -1, 5000})), are(6, 0.375, std::numeric_limits<double>::infinity()));
  EXPECT_EQ(tn::spacing(1.f).item<float>(), 0x1p-23f);
  EXPECT_EQ(tn::spacing(Array(-1.0)).item<double>(), -0x1p-52);
  EXPECT_THAT(of(tn::popcount(Array{3, -1})), are(2, 32));
  EXPECT_THAT(of(tn::countl_zero(Array{1, 0})), are(31, 32));
  EXPECT_EQ(tn::mulhi(Array{2000000000}, 2000000000)(0).item<std::int32_t>(), 931322574);
  tn::expect_agreement([](const Array& x) { return tn::frexp(x).fraction; }, tn::numbers({2}, 0.3));
}

template <class T>
void expect_shifts() {
  using Unsigned = std::make_unsigned_t<T>;
  using Signed = std::make_signed_t<T>;
  constexpr int width = 8 * sizeof(T);
  for (const T x : {T(0), T(12), T(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()})
    for (const int y : {0, 1, 5, width - 1, width, width + 3}) {
      const Array places(static_cast<T>(y));
      const auto zeros = tn::shift_right_logical(Array(x), places), sign = tn::shift_right_arithmetic(Array(x), places);
      EXPECT_EQ(zeros.template item<T>(), y < width ? static_cast<T>(static_cast<Unsigned>(x) >> y) : T(0));
      EXPECT_EQ(sign.template item<T>(), static_cast<T>(static_cast<Signed>(x) >> std::min(y, width - 1)));
    }
}

TEST(FloatParts, ShiftsOfBits) {
  expect_shifts<std::int8_t>(), expect_shifts<std::uint8_t>(), expect_shifts<std::int16_t>();
  expect_shifts<std::uint16_t>(), expect_shifts<std::int32_t>(), expect_shifts<std::uint32_t>();
  expect_shifts<std::int64_t>(), expect_shifts<std::uint64_t>();
  EXPECT_THAT(of(tn::shift_right_logical(Array{12, -1}, -1)), are(0, 0));
  EXPECT_THAT(of(tn::shift_right_arithmetic(Array{12, -1}, -1)), are(0, -1));
  EXPECT_THAT(tn::message_of([] { tn::shift_right_logical(Array{1.f}, 1); }),
              HasSubstr("shift_right_logical does not accept f32[1]"));
}

TEST(FloatParts, HalvesAwayFromZero) {
  for (const tn::DType d : {tn::DType::f32, tn::DType::f64, tn::DType::f16, tn::DType::bf16}) {
    const Array x = tn::convert(Array{0.5, -0.5, 1.5, -2.5, 2.4, -2.6, 0.0}, d);
    EXPECT_EQ(tn::round_half_away(x).dtype(), d);
    EXPECT_THAT(of(tn::round_half_away(x)), are(1, -1, 2, -3, 2, -3, 0));
  }
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(of(tn::round_half_away(Array{inf, -inf, 0x1p60, std::nextafter(0.5, 0.0)})), are(inf, -inf, 0x1p60, 0));
  EXPECT_TRUE(std::isnan(tn::round_half_away(Array(std::nan(""))).item<double>()));
  EXPECT_THAT(of(tn::round_half_away(Array{3, -4})), are(3, -4));
  EXPECT_EQ(tn::grad([](const Array& x) { return tn::round_half_away(x); })(1.25).item<double>(), 0);
  EXPECT_THAT(tn::message_of([] { tn::round_half_away(tn::zeros({1}, tn::DType::c64)); }),
              HasSubstr("does not accept complex numbers"));
}

// Beside products of 128 bits.
template <class T>
void expect_upper_halves() {
  using Limits = std::numeric_limits<T>;
  __extension__ using Whole = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  std::vector<T> values{0, 1, 2, 7, Limits::max(), Limits::max() - 1, Limits::max() / 3, Limits::max() / 2 + 1};
  for (const T v : {Limits::min(), T(Limits::min() / 5), T(-1), T(-7)}) values.push_back(v);
  const auto n = static_cast<std::int64_t>(values.size());
  const Array x = tn::array<T>(values, {n, 1}), y = tn::reshape(x, {n});
  const auto f = [](const Array& a, const Array& b) { return tn::mulhi(a, b); };
  for (const Array& made : {f(x, y), tn::jit(f)(x, y), tn::vmap(f, {.in_axes = {0, tn::none}})(x, y),
                            tn::jit(tn::vmap(f, {.in_axes = {0, tn::none}}))(x, y)}) {
    ASSERT_EQ(made.type(), tn::Type::array(*tn::dtype_of<T>, {n, n}));
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t j = 0; j < values.size(); ++j)
        EXPECT_EQ(made.span<T>()[i * values.size() + j],
                  static_cast<T>(Whole(values[i]) * Whole(values[j]) >> (8 * sizeof(T))))
            << +values[i] << " " << +values[j];
  }
  EXPECT_EQ(f(tn::zeros({0}, *tn::dtype_of<T>), y(0)).type(), tn::Type::array(*tn::dtype_of<T>, {0}));
  EXPECT_EQ(f(x(4, 0), y(4)).rank(), 0);
}

TEST(FloatParts, UpperHalvesOfProducts) {
  expect_upper_halves<std::int8_t>();
  expect_upper_halves<std::int16_t>();
  expect_upper_halves<std::int32_t>();
  expect_upper_halves<std::int64_t>();
  expect_upper_halves<std::uint8_t>();
  expect_upper_halves<std::uint16_t>();
  expect_upper_halves<std::uint32_t>();
  expect_upper_halves<std::uint64_t>();
  EXPECT_EQ(tn::mulhi(Array{std::uint8_t(200)}, 100).dtype(), tn::DType::u8);  // a number does not widen
  EXPECT_EQ(tn::mulhi(Array{std::uint32_t(1)}, Array{1}).dtype(), tn::DType::i64);
}

TEST(Vectors, Errors) {
  const auto said = [](auto f) { return tn::message_of(f); };
  const Array x = {1.f, 2.f};
  EXPECT_THAT(said([&] { tn::mulhi(x, 2); }), HasSubstr("mulhi: f32[2] and i32[] meet in f32, not in integers"));
  EXPECT_THAT(said([&] { tn::mulhi(Array{1}, Array{std::uint64_t(1)}); }), HasSubstr("meet in f64"));
  EXPECT_THAT(said([&] { tn::mulhi(true, false); }), HasSubstr("meet in bool"));
  EXPECT_THAT(said([&] { tn::linspace(0, 1, -1); }), HasSubstr("linspace: -1 numbers"));
  EXPECT_THAT(said([&] { tn::meshgrid({tn::zeros({2, 2})}); }), HasSubstr("meshgrid: f32[2,2] is no vector"));
  EXPECT_THAT(said([&] { tn::diff(x, -1); }), HasSubstr("diff: order must be non-negative but got -1"));
  EXPECT_THAT(said([&] { tn::diff(x, 1, 2); }), HasSubstr("diff: axis 2"));
  EXPECT_THAT(said([&] { tn::gradient(tn::zeros({1})); }), HasSubstr("at least two elements are required"));
  EXPECT_THAT(said([&] { tn::gradient(x, 0, tn::zeros({3})); }), HasSubstr("coordinates f32[3] of axis 0 of f32[2]"));
  EXPECT_THAT(said([&] { tn::polyval(tn::zeros({2, 2}), x); }), HasSubstr("polyval: Input must be a rank-1 array"));
  EXPECT_THAT(said([&] { tn::polyfit(x, tn::zeros({3}), 1); }), HasSubstr("same length"));
  EXPECT_THAT(said([&] { tn::companion(tn::zeros({1})); }), HasSubstr("two coefficients or more"));
  EXPECT_THAT(said([&] { tn::cov(tn::zeros({2, 2, 2})); }), HasSubstr("cov: of arrays of two axes at most"));
  EXPECT_THAT(said([&] { tn::cov(x, {.frequencies = x}); }), HasSubstr("cov: frequencies are f32[2]"));
  EXPECT_THAT(said([&] { tn::cross(tn::zeros({4}), x, tn::CrossAxes{}); }), HasSubstr("must be either 2 or 3"));
  EXPECT_THAT(said([&] { tn::tril(x); }), HasSubstr("tril: Argument to tril must be at least 2D: f32[2]"));
  EXPECT_THAT(said([&] { tn::diagonal(tn::zeros({2, 2}), 0, 1, -1); }), HasSubstr("axis 1 of f32[2,2] is named twice"));
  EXPECT_THAT(said([&] { tn::pad(x, {{1, -1}}, PadMode::edge); }), HasSubstr("pad: 1 and -1 elements around axis 0"));
  EXPECT_THAT(said([&] { tn::pad(tn::zeros({0}), {{1, 1}}, PadMode::edge); }), HasSubstr("can't extend empty axis 0"));
  EXPECT_THAT(said([&] { tn::repeat(x, -1); }), HasSubstr("repeat: -1 times"));
  EXPECT_THAT(said([&] { tn::hanning(3, DType::i32); }), HasSubstr("hanning: a window of i32"));
  EXPECT_THAT(said([&] { tn::packbits(x); }), HasSubstr("integer or boolean data type: f32[2]"));
  EXPECT_THAT(said([&] { tn::hypot(tn::complex(x, x), x); }), HasSubstr("hypot: c64[2] is complex"));
  EXPECT_THAT(said([&] { tn::insert(x, x, 1); }), HasSubstr("insert: places of f32[2]"));
  EXPECT_THAT(said([&] { tn::insert(x, tn::zeros({1, 1}, DType::i32), 1); }), HasSubstr("insert: places of i32[1,1]"));
  EXPECT_THAT(said([&] { tn::insert(x, 0, tn::zeros({1, 2})); }), HasSubstr("insert: values of f32[1,2] into f32[2]"));
  EXPECT_THAT(said([&] { tn::without(x, {2}); }), HasSubstr("without: place 2 of 2 elements of f32[2]"));
  EXPECT_THAT(said([&] { varying([](const Array& v) { return tn::without(v, {0, -1}); })(x); }),
              HasSubstr("whose size is not known: they may be one"));
  EXPECT_THAT(said([&] { tn::choose(0, {}); }), HasSubstr("choose: there are no choices"));
  EXPECT_THAT(said([&] { tn::choose(x, {x}); }), HasSubstr("choose: choices by f32[2]"));
  EXPECT_THAT(said([&] { tn::choose(1, {x}, tn::ChooseMode::refuse); }), HasSubstr("invalid entry in choice array"));
  EXPECT_THAT(
      said([&] { tn::jit([&](const Array& i) { return tn::choose(i, {x}, tn::ChooseMode::refuse); })(Array(0)); }),
      HasSubstr("the values of the indices are asked for, and one is traced"));
  EXPECT_THAT(said([&] { tn::select({x > 0}, {x, x}); }), HasSubstr("select: 1 conditions and 2 choices"));
  EXPECT_THAT(said([&] { tn::unravel_index(x, {2}); }), HasSubstr("unravel_index: indices are integers, not f32[2]"));
  EXPECT_THAT(said([&] { tn::ravel_index({Array(0)}, {2, 3}); }), HasSubstr("ravel_index: 1 indices for 2 axes"));
  EXPECT_THAT(said([&] { tn::place(x, x > 0, tn::zeros({0})); }), HasSubstr("place: there are no values"));
  EXPECT_THAT(said([&] { tn::place(x, Array{1, 1, 1}, 1); }), HasSubstr("place: a mask of i32[3] for f32[2]"));
  EXPECT_THAT(said([&] { tn::fill_diagonal(x, 1); }), HasSubstr("fill_diagonal: f32[2] has no diagonal"));
  EXPECT_THAT(said([&] { tn::partition(x, {-3}); }), HasSubstr("partition: place -3 of 2 elements of f32[2]"));
  EXPECT_THAT(said([&] { tn::gcd(x, x); }), HasSubstr("Arguments to gcd must be integers: f32[2] and f32[2]"));
  EXPECT_THAT(said([&] { tn::round(x > 0, 1); }), HasSubstr("of bools there is nothing to round"));
  EXPECT_THAT(said([&] { tn::remainder(tn::complex(x, x), x); }),
              HasSubstr("remainder: of complex numbers there is none"));
}

}  // namespace
}  // namespace of_vectors
