// Statistics and activations: values at the edges, and derivatives against finite differences and known limits.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan_ = std::numeric_limits<double>::quiet_NaN();

double at(const Array& a, std::size_t i) { return a.to_buffer().as<double>()[i]; }

// Central differences leave about h² + 1e-16 / h.
template <class F>
void expect_derivative(F f, double x) {
  constexpr double h = 1e-5;
  const double want = (f(Array(x + h)).template item<double>() - f(Array(x - h)).template item<double>()) / (2 * h);
  EXPECT_NEAR(tn::grad(f)(Array(x)).template item<double>(), want, 1e-8 * (1 + std::abs(want))) << "at " << x;
}

TEST(Activations, ValuesAndDerivatives) {
  struct Named {
    const char* name;
    Array (*f)(const Array&);
    double (*expected)(double);
  };
  const Named all[] = {
      {"sigmoid", [](const Array& x) { return tn::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"log_sigmoid", [](const Array& x) { return tn::log_sigmoid(x); },
       [](double x) { return -std::log1p(std::exp(-x)); }},
      {"softplus", [](const Array& x) { return tn::softplus(x); }, [](double x) { return std::log1p(std::exp(x)); }},
      {"relu", [](const Array& x) { return tn::relu(x); }, [](double x) { return std::max(x, 0.0); }},
      {"leaky_relu", [](const Array& x) { return tn::leaky_relu(x, 0.2); },
       [](double x) { return x < 0 ? 0.2 * x : x; }},
      {"elu", [](const Array& x) { return tn::elu(x); }, [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"silu", [](const Array& x) { return tn::silu(x); }, [](double x) { return x / (1 + std::exp(-x)); }},
      {"gelu", [](const Array& x) { return tn::gelu(x, tn::Gelu::exact); },
       [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
  };
  for (const Named& named : all)
    for (double x : {-2.5, -0.7, 0.4, 1.0, 3.0}) {
      SCOPED_TRACE(named.name);
      EXPECT_NEAR(named.f(Array(x)).item<double>(), named.expected(x), 1e-14) << x;
      expect_derivative(named.f, x);
    }
}

TEST(Activations, AtTheEdges) {
  EXPECT_EQ(tn::grad([](Array x) { return tn::relu(x); })(Array(0.0)).item<double>(), 0);
  EXPECT_TRUE(std::isnan(tn::relu(Array(nan_)).item<double>()));
  EXPECT_EQ(tn::softplus(Array(1000.0)).item<double>(), 1000);
  EXPECT_EQ(tn::softplus(Array(infinity)).item<double>(), infinity);
  EXPECT_EQ(tn::softplus(Array(-infinity)).item<double>(), 0);
  EXPECT_EQ(tn::log_sigmoid(Array(-1000.0)).item<double>(), -1000);
  auto slope = tn::grad([](Array x) { return tn::softplus(x); });
  EXPECT_DOUBLE_EQ(slope(Array(0.0)).item<double>(), 0.5);
  EXPECT_EQ(slope(Array(-1000.0)).item<double>(), 0);
  EXPECT_EQ(slope(Array(1000.0)).item<double>(), 1);
  EXPECT_DOUBLE_EQ(tn::grad(slope)(Array(0.0)).item<double>(), 0.25);
  EXPECT_EQ(tn::grad([](Array x) { return tn::elu(x); })(Array(1000.0)).item<double>(), 1);
  // The tanh form stays within 5e-4 of the exact one.
  for (double x = -4; x <= 4; x += 0.125)
    EXPECT_NEAR(tn::gelu(Array(x)).item<double>(), tn::gelu(Array(x), tn::Gelu::exact).item<double>(), 5e-4) << x;
}

TEST(Activations, OneHot) {
  const Array x = {1, 0, 3, -1};
  const auto hot = tn::one_hot(x, 3, tn::DType::f64).to_buffer();
  ASSERT_EQ(hot.dims()[1], 3);
  const double want[] = {0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(hot.as<double>()[i], want[i]) << i;
  EXPECT_THROW(tn::one_hot(Array(1.0), 3), tn::DTypeError);
}

TEST(Statistics, MeanAndVariance) {
  const Array x = {{1.0, 2.0, 4.0}, {3.0, 3.0, 3.0}};
  EXPECT_DOUBLE_EQ(at(tn::mean(x, 1), 0), 7.0 / 3);
  EXPECT_DOUBLE_EQ(at(tn::var(x, 1), 0), 14.0 / 9);
  EXPECT_DOUBLE_EQ(at(tn::var(x, tn::Axes(1).keepdims(), 1), 0), 7.0 / 3);
  EXPECT_DOUBLE_EQ(at(tn::stddev(x, 1), 0), std::sqrt(14.0 / 9));
  EXPECT_EQ(at(tn::stddev(x, 1), 1), 0);
  const Array s = tn::standardize(x, 1, 0);
  EXPECT_NEAR(at(s, 0) + at(s, 1) + at(s, 2), 0, 1e-15);
  EXPECT_NEAR(tn::var(tn::slice_in_dim(s, 0, 1, 0)).item<double>(), 1, 1e-15);
  EXPECT_TRUE(std::isnan(tn::mean(tn::zeros({0})).item<float>()));
}

TEST(Statistics, DoNotOverflowOnTheWay) {
  const Array big = tn::full({tn::Dim(4)}, Array(tn::Scalar(std::int32_t(2000000000))));
  EXPECT_EQ(tn::mean(big).item<float>(), 2e9f);
  const Array halves = tn::full({tn::Dim(4)}, Array(tn::Scalar(tn::Float16(40000.0f))));
  EXPECT_EQ(tn::mean(halves).dtype(), tn::DType::f16);
  EXPECT_EQ(tn::mean(halves).item<float>(), 40000);
  EXPECT_EQ(tn::stddev(halves).item<float>(), 0);
}

TEST(Statistics, OfComplexNumbersAreReal) {
  const Array z = tn::complex(Array{3.0, -3.0}, Array{4.0, -4.0});
  EXPECT_EQ(tn::var(z).dtype(), tn::DType::f64);
  EXPECT_DOUBLE_EQ(tn::var(z).item<double>(), 25);
  EXPECT_DOUBLE_EQ(tn::norm(z).item<double>(), std::sqrt(50.0));
  const Array huge = tn::complex(Array{3e300, 0.0, infinity}, Array{4e300, 0.0, 1.0});
  EXPECT_DOUBLE_EQ(at(tn::abs(huge), 0), 5e300);
  EXPECT_EQ(at(tn::abs(huge), 1), 0);
  EXPECT_EQ(at(tn::abs(huge), 2), infinity);
}

TEST(Statistics, LogSumExpAtTheEdges) {
  const Array x = {{1000.0, 1000.0}, {-infinity, -infinity}, {infinity, 0.0}, {-infinity, 3.0}};
  const Array rows = tn::logsumexp(x, 1);
  EXPECT_DOUBLE_EQ(at(rows, 0), 1000 + std::log(2.0));
  EXPECT_EQ(at(rows, 1), -infinity);
  EXPECT_EQ(at(rows, 2), infinity);
  EXPECT_EQ(at(rows, 3), 3);
  EXPECT_EQ(tn::logsumexp(tn::zeros({0})).item<float>(), -std::numeric_limits<float>::infinity());
  const Array g = tn::grad([](Array v) { return tn::logsumexp(v); })(Array{-infinity, -infinity});
  EXPECT_EQ(at(g, 0), 0);
  const Array h = tn::grad([](Array v) { return tn::logsumexp(v); })(Array{-infinity, 2.0});
  EXPECT_EQ(at(h, 0), 0);
  EXPECT_EQ(at(h, 1), 1);
}

TEST(Statistics, SoftmaxAndItsLogarithm) {
  const Array x = {{1.0, 2.0, 3.0}, {-1000.0, 0.0, 1000.0}};
  const Array p = tn::softmax(x), l = tn::log_softmax(x);
  const double total = std::exp(-2.0) + std::exp(-1.0) + 1;
  EXPECT_DOUBLE_EQ(at(p, 1), std::exp(-1.0) / total);
  EXPECT_DOUBLE_EQ(at(l, 1), -1 - std::log(total));
  EXPECT_EQ(at(l, 3), -2000);
  EXPECT_EQ(at(p, 5), 1);
  EXPECT_EQ(tn::softmax(tn::zeros({2, 0})).size(1), 0);
  for (double v : {-1.0, 0.0, 2.0}) {
    const auto three = [](const Array& a) { return tn::stack(std::vector{a, Array(0.5), a * a}); };
    const Array weights = {1.0, 2.0, 3.0};
    expect_derivative([&](Array a) { return tn::sum(tn::softmax(three(a)) * weights); }, v);
    expect_derivative([&](Array a) { return tn::sum(tn::log_softmax(three(a)) * weights); }, v);
  }
}

TEST(Statistics, LogAddExp) {
  const Array x = {0.0, infinity, -infinity, infinity, 1000.0}, y = {1.0, infinity, -infinity, -infinity, 1000.0};
  const Array z = tn::logaddexp(x, y);
  EXPECT_DOUBLE_EQ(at(z, 0), std::log(1 + std::exp(1.0)));
  EXPECT_EQ(at(z, 1), infinity);
  EXPECT_EQ(at(z, 2), -infinity);
  EXPECT_EQ(at(z, 3), infinity);
  EXPECT_DOUBLE_EQ(at(z, 4), 1000 + std::log(2.0));
  auto slope = tn::grad([](Array a) { return tn::logaddexp(a, 0.0); });
  EXPECT_DOUBLE_EQ(slope(Array(0.0)).item<double>(), 0.5);
  EXPECT_DOUBLE_EQ(tn::grad(slope)(Array(0.0)).item<double>(), 0.25);
}

TEST(Filled, ByShapeOrLikeAnother) {
  EXPECT_EQ(tn::zeros({}).rank(), 0u);
  EXPECT_EQ(tn::zeros({0}).shape(), tn::Shape{0});
  EXPECT_EQ(tn::ones({2, 0}).shape(), (tn::Shape{2, 0}));
  const Array x = {{1, 2, 3}};
  EXPECT_TRUE(tn::array_equal(tn::ones_like(x), Array{{1, 1, 1}}));
  EXPECT_TRUE(tn::array_equal(tn::zeros_like(x.type()), Array{{0, 0, 0}}));
}

TEST(Powers, OfWholeNumbersMultiply) {
  const Array i = {-3, 2, 0};
  const Array cubes = tn::pow(i, 3);
  EXPECT_EQ(cubes.dtype(), tn::DType::i32);
  EXPECT_EQ(cubes.to_buffer().as<std::int32_t>()[0], -27);
  EXPECT_EQ(tn::pow(i, -1).dtype(), tn::DType::f32);
  auto f = [](Array x) { return tn::pow(x, 3); };
  EXPECT_EQ(tn::grad(tn::grad(f))(Array(0.0)).item<double>(), 0);
  EXPECT_EQ(tn::grad(f)(Array(-2.0)).item<double>(), 12);
  const Array half(tn::Scalar(tn::Float16(1.5f)));
  EXPECT_EQ(tn::pow(half, 100).dtype(), tn::DType::f16);  // a C++ number does not widen
  EXPECT_EQ(tn::atan2(half, 2).dtype(), tn::DType::f16);
  EXPECT_DOUBLE_EQ(tn::pow(Array(1.0 + 1e-9), 1000000000).item<double>(), std::pow(1.0 + 1e-9, 1e9));
}

// A template for numbers is one for Arrays: what std:: says of Arrays stands behind Tenon's own functions.
template <class T>
T of_numbers(const T& x, const T& y) {
  using std::exp, std::sin, std::pow, std::abs, std::sqrt, std::atan2;
  return sin(x) + pow(x, y) + abs(x - y) + exp(-y) + pow(x, 2.0) + sqrt(y) + atan2(x, y);
}
TEST(StdFunctions, AreFoundBesideTenons) {
  EXPECT_DOUBLE_EQ(of_numbers(tn::Array(0.5), tn::Array(1.25)).item<double>(), of_numbers(0.5, 1.25));
}

}  // namespace
