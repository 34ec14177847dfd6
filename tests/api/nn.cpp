// Functions of neural networks: values, kinks, masks, complex numbers, derivatives, first values of parameters, errors.
// Beside JAX in Python.
#include "tenon/api/nn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>

#include "tenon/api/initializers.h"
#include "tests/api/agreement.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace of_nn {
namespace {

namespace tn = tenon;
namespace nn = tenon::nn;
namespace first_values = tenon::nn::initializers;
using testing::ElementsAre;
using testing::HasSubstr;
using tn::Array;
using tn::DType;
using tn::Shape;

constexpr double endless = std::numeric_limits<double>::infinity();

TEST(Activations, Values) {
  const Array x{-8.0, -1.0, 0.0, 0.5, 1.0, 7.0};
  const auto of = [&](Array (*f)(const tn::Operand&)) { return tn::all_values(f(x)); };
  EXPECT_THAT(of(nn::relu6), ElementsAre(0, 0, 0, 0.5, 1, 6));
  EXPECT_THAT(of(nn::hard_tanh), ElementsAre(-1, -1, 0, 0.5, 1, 1));
  EXPECT_THAT(of(nn::sparse_plus), ElementsAre(0, 0, 0.25, 0.5625, 1, 7));
  EXPECT_THAT(of(nn::sparse_sigmoid), ElementsAre(0, 0, 0.5, 0.75, 1, 1));
  EXPECT_THAT(of(nn::soft_sign), ElementsAre(-8. / 9, -0.5, 0, 0.5 / 1.5, 0.5, 7. / 8));
  tn::expect_close(nn::hard_silu(x), x * tn::clamp(x + 3.0, 0.0, 6.0) / 6.0, "hard_silu");
  tn::expect_close(nn::celu(x, 2.0), tn::where(x > 0, x, 2.0 * tn::expm1(x / 2.0)), "celu");
  tn::expect_close(nn::selu(x), 1.0507009873554805 * tn::where(x > 0, x, 1.6732632423543772 * tn::expm1(x)), "selu");
  tn::expect_close(nn::mish(x), x * tn::tanh(tn::log1p(tn::exp(x))), "mish");
  tn::expect_close(nn::squareplus(x, 2), (x + tn::sqrt(x * x + 2.0)) / 2.0, "squareplus");
  tn::expect_close(nn::glu(x), x(tn::slice(3)) * tn::sigmoid(x(tn::slice(3, {}))), "glu");
  const Array small{1e-20, 1.0, 40.0};
  tn::expect_close(nn::log1mexp(small), Array{-46.051701859880914, -0.4586751453870819, -4.248354255291589e-18},
                   "log1mexp", 1e-15);
}

TEST(Activations, DtypesStayAndNansToo) {
  for (const DType d : {DType::f16, DType::bf16, DType::f32})
    for (const auto f : {nn::relu6, nn::hard_silu, nn::hard_tanh, nn::selu, nn::soft_sign, nn::mish, nn::sparse_plus,
                         nn::sparse_sigmoid, nn::log1mexp}) {
      const Array x = tn::convert(Array{std::nan(""), 0.5}, d), y = f(x);
      EXPECT_EQ(y.dtype(), d);
      EXPECT_TRUE(std::isnan(tn::all_values(y)[0]) && !std::isnan(tn::all_values(y)[1]));
      EXPECT_EQ(f(tn::zeros({0, 3}, d)).shape(), (Shape{0, 3}));
      EXPECT_EQ(f(tn::zeros({}, d)).shape(), Shape{});
    }
  EXPECT_EQ(nn::relu6(tn::ones({2}, DType::i8)).dtype(), DType::f32);
  EXPECT_THAT(tn::all_values(nn::hard_tanh(tn::convert(Array{3, 0}, DType::u8))), ElementsAre(1, 0));
  EXPECT_EQ(nn::hard_tanh(tn::ones({2}, DType::i8)).dtype(), DType::i8);
}

TEST(Activations, SlopesAtKinks) {
  const auto slope = [](const std::function<Array(Array)>& f, double at) {
    return tn::grad(f)(Array(tn::Scalar(at))).item<double>();
  };
  EXPECT_EQ(slope(nn::relu6, 0.0), 0);
  EXPECT_EQ(slope(nn::relu6, 6.0), 0);
  EXPECT_EQ(slope(nn::hard_tanh, 1.0), 1);
  EXPECT_EQ(slope(nn::hard_tanh, -1.0), 1);
  EXPECT_EQ(slope([](Array x) { return nn::celu(x, 3.0); }, 0.0), 1);
  EXPECT_EQ(slope(nn::sparse_sigmoid, 1.0), 0.25);
  EXPECT_EQ(slope(nn::sparse_plus, 0.5), 0.75);
}

TEST(Activations, OfComplexNumbers) {
  using C = std::complex<double>;
  const std::vector<C> numbers{{1, 2}, {0, -0.5}, {0.3, -1}, {-3, 0.2}, {0, 4}};
  const Array z = tn::array<C>(numbers, {5});
  const auto each = [&](const Array& made, auto f) {
    const tn::Buffer b = made.to_buffer();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_LT(std::abs(b.as<C>()[i] - f(numbers[i])), 1e-13) << numbers[i] << " gave " << b.as<C>()[i];
  };
  const auto positive = [](C x) { return x.real() > 0 || (x.real() == 0 && x.imag() > 0); };
  each(tn::relu(z), [&](C x) { return positive(x) ? x : C(0); });
  each(tn::elu(z), [&](C x) { return positive(x) ? x : std::exp(x) - 1.0; });
  each(tn::leaky_relu(z), [&](C x) { return positive(x) ? x : 0.01 * x; });
  each(tn::softplus(z), [](C x) { return std::log(1.0 + std::exp(x)); });
  each(nn::celu(z, 2.0), [&](C x) { return positive(x) ? x : 2.0 * (std::exp(x / 2.0) - 1.0); });
  each(nn::log1mexp(z + 0.5), [](C x) { return std::log(1.0 - std::exp(-x - 0.5)); });
  each(tn::softmax(z, {}), [&](C x) {
    C total = 0;
    for (const C& y : numbers) total += std::exp(y);
    return std::exp(x) / total;
  });
}

TEST(Activations, AgreeInEveryWay) {
  const Array x{-1.7, -0.4, 0.3, 2.2};
  for (const auto f : {nn::hard_silu, nn::selu, nn::soft_sign, nn::mish, nn::sparse_plus})
    tn::expect_agreement([f](Array x) { return tn::sum(f(x) * f(x + 0.1)); }, x);
  tn::expect_agreement([](Array x) { return tn::sum(nn::log1mexp(x * x + 0.2)); }, x);
  const Array counted{true, true, false, true};
  tn::expect_agreement([&](Array x) { return tn::sum(nn::softmax(x, -1, counted) * x); }, x);
  tn::expect_agreement([&](Array x) { return nn::logmeanexp(x, {}, counted); }, x);
  tn::expect_agreement(
      [&](Array x) { return nn::logsumexp(x, {}, {.weights = tn::square(x) + 0.5, .counted = counted}); }, x);
  tn::expect_agreement(
      [&](Array x) { return tn::sum(nn::standardize(x, -1, {.counted = counted}) * Array{1.0, 2.0, 3.0, -1.0}); }, x);
}

TEST(Masked, WhatIsNotCounted) {
  const Array x{{1.0, 2.0, 900.0}, {3.0, 3.0, 3.0}}, counted{{true, true, false}, {false, false, false}};
  const auto rows = [](const Array& a) { return tn::all_values(a); };
  const double e = std::exp(1.0);
  tn::expect_close(nn::softmax(x, -1, counted)(0), Array{1 / (1 + e), e / (1 + e), 0.0}, "softmax");
  tn::expect_close(nn::log_softmax(x, -1, counted)(0)(tn::slice(2)), Array{-std::log(1 + e), 1 - std::log(1 + e)},
                   "log");
  EXPECT_EQ(rows(nn::log_softmax(x, -1, counted))[2], -endless);
  EXPECT_EQ(rows(nn::logsumexp(x, -1, {.counted = counted}))[1], -endless);
  EXPECT_NEAR(rows(nn::logmeanexp(x, -1, counted))[0], std::log((e + e * e) / 2), 1e-13);
  EXPECT_THAT(rows(nn::standardize(x, -1, {.mean = 1.0, .variance = 3.0, .epsilon = 1.0})(1)), ElementsAre(1, 1, 1));
  EXPECT_NEAR(rows(nn::standardize(x, -1, {.counted = counted, .epsilon = 0.0}))[1], 1, 1e-12);
}

TEST(Masked, WeighedSums) {
  const Array x{0.0, 1.0, 2.0};
  const auto one = [](const Array& a) { return a.template item<double>(); };
  EXPECT_NEAR(one(nn::logsumexp(x, {}, {.weights = Array{2.0, 1.0, 0.0}})), std::log(2 + std::exp(1.0)), 1e-14);
  EXPECT_TRUE(std::isnan(one(nn::logsumexp(x, {}, {.weights = Array{1.0, -1.0, 0.0}}))));
  const auto [logarithm, sign] = nn::signed_logsumexp(x, {}, {.weights = Array{1.0, -1.0, 0.0}});
  EXPECT_NEAR(one(logarithm), std::log(std::exp(1.0) - 1), 1e-14);
  EXPECT_EQ(one(sign), -1);
  // What weighs nothing may be of any size, and has a derivative in its weight.
  const Array far{0.0, 1.0, 1e6};
  EXPECT_NEAR(one(nn::logsumexp(far, {}, {.weights = Array{2.0, 1.0, 0.0}})), std::log(2 + std::exp(1.0)), 1e-14);
  const Array slopes = tn::grad([&](Array w) { return nn::logsumexp(x, {}, {.weights = w}); })(Array{2.0, 1.0, 0.0});
  tn::expect_close(slopes, tn::exp(x) / (2 + std::exp(1.0)), "in weights");
  EXPECT_THAT(tn::all_values(nn::logsumexp(tn::zeros({2, 0}), 1, {.weights = tn::zeros({2, 0})})),
              ElementsAre(-endless, -endless));
  EXPECT_EQ(nn::logsumexp(tn::zeros({2, 3}), tn::Axes(-1).keepdims(), {.weights = 2.0f}).shape(), (Shape{2, 1}));
  EXPECT_EQ(nn::logmeanexp(tn::zeros({2, 3}), tn::Axes(0).keepdims()).shape(), (Shape{1, 3}));
}

TEST(Masked, OneHot) {
  const Array hot = tn::one_hot(Array{1, 3, 0}, 3, DType::f64, 0);
  tn::expect_close(hot, Array{{0.0, 0.0, 1.0}, {1.0, 0.0, 0.0}, {0.0, 0.0, 0.0}}, "one_hot");
}

TEST(ScaledDot, OfBlocks) {
  const Array a = tn::numbers({2, 3, 8}), b = tn::numbers({2, 8, 5}, 0.3);
  const Array of_a = tn::numbers({2, 3, 4}) + 1.0, of_b = tn::numbers({2, 2, 5}) + 2.0;
  const auto repeated = [](const Array& x, std::int64_t times, std::int64_t axis) {
    return tn::take(x, tn::arange(x.size(axis) * times) / times, axis);
  };
  const Array wanted = tn::matmul(a * repeated(of_a, 2, 2), b * repeated(of_b, 4, 1));
  const auto of = [&](Array a, Array s) { return tn::scaled_dot(a, b, {s, of_b, {}, DType::f64}); };
  tn::expect_close(of(a, of_a), wanted, "scaled_dot");
  EXPECT_EQ(tn::scaled_dot(tn::ones({2, 4}, DType::i8), tn::ones({4, 2}, DType::i8), {.dtype = DType::bf16}).dtype(),
            DType::bf16);
  tn::expect_agreement([&](Array s) { return tn::sum(of(a, s)); }, of_a);
  EXPECT_THAT(tn::message_of([&] { of(a, tn::ones({2, 3, 3})); }),
              HasSubstr("scaled_dot: a scale f64[2,3,3] of f64[2,3,8]"));
  EXPECT_THAT(tn::message_of([] { tn::scaled_dot(tn::ones({3}), tn::ones({3})); }), HasSubstr("not both matrices"));
}

TEST(Initializers, VariancesAndShapes) {
  const Array key = tn::random::key(5);
  const auto variance = [&](const first_values::Initializer& draw, const Shape& shape, DType d = DType::f64) {
    const Array x = draw(key, shape, d);
    EXPECT_EQ(x.dtype(), d);
    EXPECT_EQ(x.shape(), shape);
    return tn::mean(tn::square(tn::abs(x))).item<double>();
  };
  EXPECT_NEAR(variance(first_values::he_normal(), {200, 100}) * 100, 1, 0.03);
  EXPECT_NEAR(variance(first_values::lecun_uniform(), {200, 100}) * 200, 1, 0.03);
  EXPECT_NEAR(variance(first_values::glorot_normal(), {3, 3, 40, 60}) * 450, 1, 0.03);
  EXPECT_NEAR(variance(first_values::glorot_uniform({.in = {0}, .out = {1}}), {150, 150, 1}) * 150, 1, 0.03);
  using first_values::Fan, first_values::Spread;
  for (const Spread spread : {Spread::normal, Spread::truncated_normal, Spread::uniform})
    EXPECT_NEAR(
        variance(first_values::variance_scaling(2, Fan::geometric_average, spread), {400, 100}, DType::c128) * 100, 1,
        0.03);
  EXPECT_NEAR(variance(first_values::normal(0.5), {300, 100}), 0.25, 0.01);
  EXPECT_NEAR(variance(first_values::uniform(3.0), {300, 100}), 3, 0.1);
  EXPECT_LE(tn::amax(tn::abs(first_values::truncated_normal(2.0)(key, {1000}))).item<float>(), 4.0f);
  EXPECT_THAT(tn::all_values(first_values::constant(7)(key, {2}, DType::i32)), ElementsAre(7, 7));
  EXPECT_THAT(tn::all_values(first_values::ones(key, {2})), ElementsAre(1, 1));
  EXPECT_EQ(first_values::he_normal()(key, {0, 4}).shape(), (Shape{0, 4}));
}

TEST(Initializers, Orthogonal) {
  const Array key = tn::random::key(6);
  const Array q = first_values::orthogonal(2.0)(key, {2, 3, 4}, DType::f64), rows = tn::reshape(q, {6, 4});
  tn::expect_close(tn::matmul(tn::transpose(rows), rows), 4.0 * tn::eye(4, DType::f64), "columns");
  const Array wide = first_values::orthogonal(1.0, 0)(key, {2, 5}, DType::f64);
  tn::expect_close(tn::matmul(wide, tn::transpose(wide)), tn::eye(2, DType::f64), "rows");
  const Array kernel = first_values::delta_orthogonal()(key, {3, 4, 2, 2}, DType::f64), middle = kernel(1, 1);
  tn::expect_close(tn::matmul(tn::transpose(middle), middle), tn::eye(2, DType::f64), "middle");
  EXPECT_EQ(tn::sum(tn::convert(kernel != 0.0, DType::i32)).item<std::int32_t>(), 4);
}

TEST(Initializers, Errors) {
  const Array key = tn::random::key(0);
  const auto said = [](auto f) { return tn::message_of(f); };
  EXPECT_THAT(said([&] { nn::glu(tn::zeros({3})); }), HasSubstr("does not divide into 2"));
  EXPECT_THAT(said([&] { nn::softmax(tn::zeros({3}), -1, tn::ones({2}, DType::bool_)); }), HasSubstr("nn::softmax"));
  EXPECT_THAT(said([&] { nn::softmax(tn::zeros({3}), -1, tn::ones({3})); }), HasSubstr("not bool"));
  EXPECT_THAT(said([&] { nn::softmax(tn::zeros({3}), -1, tn::ones({2, 3}, DType::bool_)); }),
              HasSubstr("the mask bool[2,3] does not broadcast to f32[3]"));
  EXPECT_THAT(said([&] { first_values::he_normal()(key, {3}); }), HasSubstr("1-dimensional weights tensor"));
  EXPECT_THAT(said([&] { first_values::he_normal({.in = {4}})(key, {3, 2}); }), HasSubstr("nn::initializers"));
  EXPECT_THAT(said([&] { first_values::he_normal()(key, {3, 2}, DType::i32); }), HasSubstr("i32"));
  EXPECT_THAT(said([&] { first_values::orthogonal()(key, {3}); }), HasSubstr("no rows and columns"));
  EXPECT_THAT(said([&] { first_values::delta_orthogonal()(key, {3, 4, 2}); }), HasSubstr("more inputs"));
  EXPECT_THAT(said([&] { first_values::delta_orthogonal()(key, {4, 2}); }), HasSubstr("has 2 axes"));
}

TEST(FirstValues, HaveTheVarianceOfTheirNames) {
  struct Named {
    const char* name;
    first_values::Initializer initializer;
    double variance;
  };
  const double inputs = 400, outputs = 100;
  const Named all[] = {{"glorot_uniform", first_values::glorot_uniform(), 2 / (inputs + outputs)},
                       {"glorot_normal", first_values::glorot_normal(), 2 / (inputs + outputs)},
                       {"xavier_uniform", first_values::xavier_uniform(), 2 / (inputs + outputs)},
                       {"xavier_normal", first_values::xavier_normal(), 2 / (inputs + outputs)},
                       {"lecun_uniform", first_values::lecun_uniform(), 1 / inputs},
                       {"lecun_normal", first_values::lecun_normal(), 1 / inputs},
                       {"he_uniform", first_values::he_uniform(), 2 / inputs},
                       {"he_normal", first_values::he_normal(), 2 / inputs},
                       {"kaiming_uniform", first_values::kaiming_uniform(), 2 / inputs},
                       {"kaiming_normal", first_values::kaiming_normal(), 2 / inputs}};
  for (const Named& each : all) {
    const Array drawn = each.initializer(tn::random::key(1), {400, 100}, DType::f64);
    EXPECT_EQ(drawn.shape(), Shape({400, 100}));
    const double deviation = std::sqrt(each.variance);
    EXPECT_NEAR(tn::mean(drawn).item<double>(), 0, 0.03 * deviation) << each.name;
    EXPECT_NEAR(tn::stddev(drawn).item<double>(), deviation, 0.02 * deviation) << each.name;
    const double most = tn::amax(tn::abs(drawn)).item<double>();
    const bool uniform = std::string_view(each.name).ends_with("uniform");
    EXPECT_LE(most, (uniform ? std::sqrt(3.0) : 2 / 0.87962566103423978) * deviation) << each.name;
  }
}

}  // namespace
}  // namespace of_nn
