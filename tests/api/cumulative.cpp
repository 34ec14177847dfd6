// Cumulative reductions: every dtype, axis and direction beside a plain loop; long ones, whose steps are divided among
// the threads; derivatives, and loops that users write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <functional>

#include "../by_oracle.h"
#include "../error_message.h"
#include "tenon/tenon.h"

namespace {

namespace tn = tenon;
using tn::Array;
using tn::DType;

struct Kind {
  const char* name;
  Array (*of)(const tn::Operand& x, std::int64_t axis, const tn::CumulativeOptions& options);
  std::function<double(double x, double y)> combine;
};
const std::vector<Kind> kinds{
    {"cumsum", tn::cumsum, [](double x, double y) { return x + y; }},
    {"cumprod", tn::cumprod, [](double x, double y) { return x * y; }},
    {"cummax", tn::cummax, [](double x, double y) { return std::max(x, y); }},
    {"cummin", tn::cummin, [](double x, double y) { return std::min(x, y); }},
    {"cumlogsumexp", tn::cumlogsumexp, [](double x, double y) { return std::log(std::exp(x) + std::exp(y)); }},
};

// By a loop over an array of doubles [outer, n, inner].
std::vector<double> by_hand(const Kind& kind, std::vector<double> x, std::int64_t outer, std::int64_t n,
                            std::int64_t inner, bool reverse) {
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i)
      for (std::int64_t k = 1; k < n; ++k) {
        const auto at = [&](std::int64_t step) -> double& {
          return x[static_cast<std::size_t>((o * n + (reverse ? n - 1 - step : step)) * inner + i)];
        };
        at(k) = kind.combine(at(k - 1), at(k));
      }
  return x;
}

// Numbers near 1, so that long products stay.
Array numbers(const std::vector<std::int64_t>& shape, DType dtype, double spread) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  const Array x = tn::sin(tn::arange(n, DType::f64) * 0.7) * spread + 1.0;
  return tn::reshape(tn::convert(tn::is_inexact(dtype) ? x : x * 3.0, dtype),
                     tn::Shape(std::vector<tn::Dim>(shape.begin(), shape.end())));
}

template <class T>
std::vector<T> to_vector(const Array& x) {
  const std::span<const T> all = x.span<T>();
  return {all.begin(), all.end()};
}

class Cumulative : public testing::TestWithParam<Kind> {};

TEST_P(Cumulative, AlongEveryAxisOfEveryDType) {
  struct Case {
    std::vector<std::int64_t> shape;
    std::int64_t axis, outer, n, inner;
  };
  const std::vector<Case> cases{{{7}, 0, 1, 7, 1},
                                {{1}, -1, 1, 1, 1},
                                {{0}, 0, 1, 0, 1},
                                {{3, 5, 4}, 0, 1, 3, 20},
                                {{3, 5, 4}, 1, 3, 5, 4},
                                {{3, 5, 4}, -1, 15, 4, 1},
                                {{4, 0}, 1, 4, 0, 1},
                                {{0, 4}, 1, 0, 4, 1},
                                {{30'011}, 0, 1, 30'011, 1},
                                {{2, 20'000}, -1, 2, 20'000, 1},
                                {{20'000, 3}, 0, 1, 20'000, 3}};
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::u8, DType::bf16})
    for (const Case& c : cases) {
      if (c.n > 100 && dtype != DType::f32 && dtype != DType::f64) continue;
      if (std::string_view(GetParam().name) == "cumlogsumexp" && !tn::is_inexact(dtype)) continue;
      const Array x = numbers(c.shape, dtype, c.n > 100 ? 1e-3 : 0.2);
      for (const bool reverse : {false, true}) {
        SCOPED_TRACE(testing::Message() << tn::name(dtype) << " axis " << c.axis << " of " << x.shape().text());
        const auto of = [&](const Array& x) { return GetParam().of(x, c.axis, {.reverse = reverse}); };
        const Array got = tn::convert(tn::jit(of)(x), DType::f64);
        const std::vector<double> expected =
            by_hand(GetParam(), to_vector<double>(tn::convert(x, DType::f64)), c.outer, c.n, c.inner, reverse);
        const double tolerance = dtype == DType::f64    ? 1e-11
                                 : dtype == DType::bf16 ? 0.05
                                 : dtype == DType::f32  ? 2e-3
                                                        : 0;
        const std::vector<double> values = to_vector<double>(got);
        ASSERT_EQ(values.size(), expected.size());
        for (std::size_t i = 0; i < values.size(); ++i)
          if (dtype == DType::u8)
            ASSERT_EQ(values[i], static_cast<std::uint8_t>(static_cast<std::int64_t>(expected[i]))) << i;
          else
            ASSERT_NEAR(values[i], expected[i], tolerance * std::abs(expected[i])) << i;
      }
    }
}

TEST_P(Cumulative, HasItsDerivatives) {
  const Array x = numbers({2, 6}, DType::f64, 0.4), w = numbers({2, 6}, DType::f64, 0.9);
  for (const bool reverse : {false, true}) {
    const auto loss = [&](const Array& x) { return tn::sum(GetParam().of(x, -1, {.reverse = reverse}) * w); };
    const Array gradient = tn::jit(tn::grad(loss))(x);
    const double step = 1e-6;
    for (std::int64_t i = 0; i < 12; ++i) {
      const Array one = tn::reshape(tn::convert(tn::arange(12) == static_cast<int>(i), DType::f64) * step, {2, 6});
      const double slope = (loss(x + one) - loss(x - one)).item<double>() / (2 * step);
      EXPECT_NEAR(gradient(i / 6, i % 6).item<double>(), slope, 1e-7);
    }
    const auto of = [&](const Array& x) { return GetParam().of(x, -1, {.reverse = reverse}); };
    EXPECT_TRUE(tn::allclose(tn::vmap(of)(x), of(x)));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Cumulative, testing::ValuesIn(kinds), [](const auto& info) { return info.param.name; });

TEST(CumulativeSums, KeepSignsOfZeroAndWrapAround) {
  EXPECT_TRUE(std::signbit(tn::cumsum(Array{-0.f, -0.f})(1).item<float>()));
  const Array large = tn::cumsum(Array{std::numeric_limits<std::int32_t>::max(), 1});
  EXPECT_EQ(large(1).item<std::int32_t>(), std::numeric_limits<std::int32_t>::min());
  const Array z = tn::cumprod(tn::complex(Array{0.f, 2.f}, Array{1.f, 0.f}));
  EXPECT_EQ(z(1).item<std::complex<float>>(), std::complex<float>(0, 2));
  EXPECT_TRUE(std::isnan(tn::cummax(Array{1.f, std::nanf(""), 3.f})(2).item<float>()));
}

TEST(CumulativeSums, OfManyExponentialsLoseNothing) {
  const auto of = [](const Array& x) { return tn::cumlogsumexp(x); };
  const Array got = tn::jit(of)(tn::zeros({1'000'000}, DType::f32));
  const Array counts = tn::arange(1'000'000, DType::f64) + 1.0;
  EXPECT_LT(tn::amax(tn::abs(tn::convert(got, DType::f64) - tn::log(counts))).item<double>(), 1e-5);
  const Array x = numbers({5000}, DType::f64, 0.3);
  const Array slope = tn::jit(tn::grad([&](const Array& x) { return of(x)(4321); }))(x);
  const Array first = x(tn::slice(0, 4322)), shares = tn::softmax(first);
  EXPECT_LT(tn::amax(tn::abs(slope(tn::slice(0, 4322)) - shares)).item<double>(), 1e-15);
  EXPECT_EQ(tn::amax(slope(tn::slice(4322, tn::none))).item<double>(), 0);
}

TEST(CumulativeSums, AreInOrderWhereThatIsAskedFor) {
  const Array x = numbers({2'000'000}, DType::f32, 0.5);
  const std::vector<float> values = to_vector<float>(x),
                           sums = to_vector<float>(tn::jit([](const Array& x) { return tn::cumsum(x); },
                                                           {.numerics = tn::Numerics::strict})(x));
  float sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(sums[i], sum += values[i]) << i;
}

TEST(CumulativeSums, SayWhatIsWrong) {
  EXPECT_THAT(tn::message_of([] { tn::cumsum(Array{1.f}, 1); }), testing::HasSubstr("cumsum"));
  EXPECT_THAT(tn::message_of([] { tn::cummax(tn::complex(Array{0.f}, Array{1.f})); }),
              testing::AllOf(testing::HasSubstr("cummax"), testing::HasSubstr("tests/api/cumulative.cpp")));
}

// Loops that users write: several carries, the values before each step, lanes, what is stacked beside the carries, and
// carries alone; the last carry is what was stacked last.
TEST(DividedLoops, AreAsOneByOne) {
  const Array xs = numbers({40'003, 2}, DType::f64, 0.3);
  const auto f = [](const Array& xs) {
    using Carry = std::tuple<Array, Array, Array>;
    const auto step = [](const Carry& c, const Array& x) {
      const auto& [sum, most, count] = c;
      const Array next = sum + x * 0.5;
      return std::pair(Carry(next, tn::max(most, tn::sin(x(0))), count + 1), std::pair(sum, next * x));
    };
    return tn::scan(step, Carry(tn::zeros({2}, DType::f64), Array(-1.0), Array(0)), xs);
  };
  const auto [carry, stacked] = tn::jit(f)(xs);
  const tn::ByOracle oracle;
  const auto [expected, beside] = f(xs);
  EXPECT_TRUE(tn::allclose(std::get<0>(carry), std::get<0>(expected), 1e-11, 0));
  EXPECT_NEAR(std::get<1>(carry).item<double>(), std::get<1>(expected).item<double>(), 1e-14);
  EXPECT_EQ(std::get<2>(carry).item<std::int32_t>(), 40'003);
  EXPECT_TRUE(tn::allclose(stacked.first, beside.first, 1e-11, 1e-11));
  EXPECT_TRUE(tn::allclose(stacked.second, beside.second, 1e-11, 1e-11));
}

TEST(DividedLoops, OfAnyLength) {
  const auto f = tn::jit([](const Array& x) { return std::pair(tn::cumsum(x), tn::cumprod(x, 0, {.reverse = true})); },
                         {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {1, 5, 4096, 8193, 30'000}) {
    const Array x = numbers({n}, DType::f64, 1e-3);
    const auto [sums, products] = f(x);
    EXPECT_TRUE(tn::allclose(sums, tn::cumsum(x), 1e-12, 0)) << n;
    EXPECT_TRUE(tn::allclose(products, tn::cumprod(x, 0, {.reverse = true}), 1e-10, 0)) << n;
  }
}

TEST(DividedLoops, LastCarryIsWhatWasStackedLast) {
  const auto f = tn::jit([](const Array& x) {
    return tn::scan([](const Array& c, const Array& x) { return std::pair(c + x, c + x); }, Array(0.f), x);
  });
  for (const std::int64_t n : {16'384, 50'000, 100'001}) {
    const auto [last, all] = f(numbers({n}, DType::f32, 0.7));
    EXPECT_EQ(last.item<float>(), all(n - 1).item<float>());
  }
}

}  // namespace
