// Arrays whose size the data decide, under every transformation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::ElementsAre;
using tn::Array;
using tn::message_of;

namespace {

const Array x = {1.0, 2.0, 3.0, 4.0, 5.0}, y = {5.0, 4.0, 3.0, 2.0, 1.0};
const Array mask = {true, false, true, true, false};

Array masked_product(const Array& a, const Array& b, const Array& m) {
  return tn::sum(tn::compress(a, m) * tn::compress(tn::sin(b), m));
}
std::vector<double> of(const Array& a) {
  const tn::Buffer b = a.to_buffer();
  return {b.as<double>(), b.as<double>() + b.elements()};
}

TEST(DataSizes, GradientOfAMaskedProduct) {
  const Array g = tn::grad(masked_product)(x, y, mask);
  EXPECT_THAT(of(g), ElementsAre(std::sin(5.0), 0, std::sin(3.0), std::sin(2.0), 0));
  EXPECT_THAT(of(tn::grad<1>(masked_product)(x, y, mask)),
              ElementsAre(std::cos(5.0), 0, 3 * std::cos(3.0), 4 * std::cos(2.0), 0));
}

// Only the mask is kept for the second part: the size is found from it again.
TEST(DataSizes, GradientOfAMaskedSum) {
  const auto loss = [](const Array& a, const Array& m) { return tn::sum(tn::compress(a, m)); };
  EXPECT_THAT(of(tn::grad(loss)(x, mask)), ElementsAre(1, 0, 1, 1, 0));
  EXPECT_THAT(of(tn::jit(tn::grad(loss))(x, mask)), ElementsAre(1, 0, 1, 1, 0));
}

// The mask itself is computed on the way, and the size takes part in the value.
TEST(DataSizes, GradientThroughAComputedMask) {
  const auto loss = [](const Array& a) { return tn::mean(tn::square(tn::compress(a, a > 2.5))); };
  const auto want = ElementsAre(0, 0, 2.0, testing::DoubleEq(8.0 / 3), testing::DoubleEq(10.0 / 3));
  EXPECT_THAT(of(tn::grad(loss)(x)), want);
  EXPECT_THAT(of(tn::jit(tn::grad(loss))(x)), want);
  EXPECT_THAT(of(tn::grad(tn::jit(loss))(x)), want);
}

TEST(DataSizes, SecondDerivatives) {
  const auto loss = [](const Array& a) { return tn::sum(tn::exp(tn::compress(a, mask))); };
  EXPECT_THAT(of(tn::hvp(loss, x, y)),
              ElementsAre(testing::DoubleEq(5 * std::exp(1.0)), 0, testing::DoubleEq(3 * std::exp(3.0)),
                          testing::DoubleEq(2 * std::exp(4.0)), 0));
  const auto of_gradient = [&](const Array& a) { return tn::sum(tn::grad(loss)(a) * y); };
  EXPECT_THAT(of(tn::grad(of_gradient)(x)),
              ElementsAre(testing::DoubleEq(5 * std::exp(1.0)), 0, testing::DoubleEq(3 * std::exp(3.0)),
                          testing::DoubleEq(2 * std::exp(4.0)), 0));
}

// A function that is called twice with different masks gives two sizes; with one mask, one.
TEST(DataSizes, CallsShareTheSizeOfOneMask) {
  auto pick = tn::jit([](const Array& a, const Array& m) { return tn::compress(a, m) * 2.0; });
  const auto both = [&](const Array& a, const Array& b, const Array& m) { return tn::sum(pick(a, m) * pick(b, m)); };
  EXPECT_DOUBLE_EQ(tn::jit(both)(x, y, mask).item<double>(), 4 * (5 + 9 + 8));
  EXPECT_THAT(of(tn::grad(both)(x, y, mask)), ElementsAre(20, 0, 12, 8, 0));
  const auto two = [&](const Array& a, const Array& m) { return tn::sum(pick(a, m)) * tn::sum(pick(a, !m)); };
  EXPECT_DOUBLE_EQ(tn::jit(two)(x, mask).item<double>(), 16 * 14);
  EXPECT_THAT(of(tn::grad(two)(x, mask)), ElementsAre(28, 32, 28, 28, 32));
}

// What was looked at on the way is known from then on.
TEST(DataSizes, ValuesOnDemand) {
  const auto loss = [](const Array& a) {
    const Array part = tn::compress(a, a > 2.5);
    return tn::sum(part).item<double>() > 0 ? tn::sum(part * part) : tn::sum(part);
  };
  EXPECT_THAT(of(tn::grad(loss)(x)), ElementsAre(0, 0, 6, 8, 10));
}

// --- sizes that data decide, across loops and branches: against finite differences ---
using Function = std::function<Array(const Array&)>;
struct Named {
  const char* name;
  Function f;
};

const std::vector<Named>& programs() {
  static const std::vector<Named> all{
      {"carry",
       [](const Array& a) {
         const auto step = [](const Array& c, const Array& v) { return std::pair(tn::sin(c) * v, c * 0.5); };
         const auto [end, all] = tn::scan(step, tn::compress(a, mask), y);
         return tn::sum(end) + tn::sum(all);
       }},
      {"carry of a while",
       [](const Array& a) {
         return tn::sum(tn::while_loop([](const Array& c) { return tn::sum(c) < 40.0; },
                                       [](const Array& c) { return c * 1.5 + tn::sin(c); }, tn::compress(a, a > 1.5)));
       }},
      {"captured by a scan",
       [](const Array& a) {
         const Array s = tn::compress(a, mask);
         return tn::scan([&](const Array& c, const Array& v) { return std::pair(tn::sin(c) + v * tn::sum(s * s), c); },
                         tn::sum(a), y)
             .first;
       }},
      {"captured by a while",
       [](const Array& a) {
         const Array s = tn::compress(a, mask), limit = tn::compress(a, !mask);
         return tn::while_loop([&](const Array& c) { return c < tn::sum(limit) * 9.0; },
                               [&](const Array& c) { return c + tn::sum(s * tn::sin(s) + 4.0); }, tn::sum(a) * 0.1);
       }},
      {"captured by branches",
       [](const Array& a) {
         const Array s = tn::compress(a, mask), others = tn::compress(a, !mask);
         return tn::cond(
             tn::sum(a) > 3.0, [&](const Array& v) { return tn::sum(s * v(0)); },
             [&](const Array& v) { return tn::sum(v) + tn::sum(others * s(0)); }, a);
       }},
      {"operand and result of a branch",
       [](const Array& a) {
         const Array s = tn::compress(a, mask);
         return tn::sum(tn::cond(
             tn::sum(a) > 3.0, [&](const Array& v) { return tn::sin(v) * s; }, [](const Array& v) { return v * 2.0; },
             s));
       }},
      {"inside a scan",
       [](const Array& a) {
         const auto step = [&](const Array& c, const Array& v) {
           const Array part = tn::compress(a * tn::sin(c), a > v + 0.5);
           return std::pair(c * 0.5 + tn::sum(tn::sin(part) * part) / (1.0 + tn::sum(tn::ones_like(part))), c);
         };
         return tn::scan(step, tn::sum(a), y).first;
       }},
      {"inside a scan, twice",
       [](const Array& a) {
         const auto step = [&](const Array& c, const Array& v) {
           const Array part = tn::compress(a * c, a > v - 0.3);
           return std::pair(tn::sin(c) + tn::sum(tn::square(tn::compress(part, part > part(0) + 0.01))) * 0.01, c);
         };
         return tn::scan(step, tn::sum(a) * 0.1, tn::stop_gradient(a * 0.5)).first;
       }},
      {"inside a while",
       [](const Array& a) {
         return tn::while_loop(
             [](const Array& c) { return c < 40.0; },
             [&](const Array& c) { return c + tn::sum(tn::square(tn::compress(a, a > c * 0.1))) + 3.0; },
             tn::sum(a) * 0.1);
       }},
      {"inside a branch",
       [](const Array& a) {
         return tn::cond(
             tn::sum(a) > 3.0,
             [](const Array& v) {
               const Array part = tn::compress(v * 2.0, tn::sin(v) > 0.0);
               return tn::sum(tn::sin(part) * part);
             },
             [](const Array& v) { return tn::sum(v) * 2.0; }, a);
       }},
      {"of a call inside a scan",
       [](const Array& a) {
         static const auto part = tn::jit([](const Array& v) { return tn::compress(v * v, v > 1.5); });
         const auto step = [&](const Array& c, const Array& v) { return std::pair(c * v * 0.3 + tn::sum(part(a)), c); };
         return tn::scan(step, tn::sum(a), y).first;
       }},
      {"as the number of steps",
       [](const Array& a) {
         const Array s = tn::compress(a, a > 1.5);
         const auto step = [](const Array& c, const Array& v) { return std::pair(tn::sin(c) * v + 1.0, c * v); };
         const auto [end, all] = tn::scan(step, tn::sum(a), s);
         return end + tn::sum(s * all);
       }},
  };
  return all;
}

std::vector<double> differences(const Function& f) {
  std::vector<double> all;
  for (std::size_t i = 0; i < 5; ++i) {
    std::vector<double> low = of(x), high = low;
    low[i] -= 1e-6;
    high[i] += 1e-6;
    all.push_back((f(tn::array<double>(high)).item<double>() - f(tn::array<double>(low)).item<double>()) / 2e-6);
  }
  return all;
}
void expect_near(const Array& got, const std::vector<double>& want) {
  ASSERT_EQ(of(got).size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(of(got)[i], want[i], 2e-7 * (1 + std::abs(want[i]))) << "element " << i;
}

TEST(DataSizes, InLoopsAndBranches) {
  for (const auto& [name, f] : programs()) {
    SCOPED_TRACE(name);
    const std::vector<double> slope = differences(f);
    EXPECT_NEAR(tn::jit(f)(x).item<double>(), f(x).item<double>(), 1e-12);
    expect_near(tn::grad(f)(x), slope);
    expect_near(tn::jit(tn::grad(f))(x), slope);
    expect_near(tn::grad(tn::jit(f))(x), slope);
    double along = 0;
    for (std::size_t i = 0; i < 5; ++i) along += slope[i] * of(y)[i];
    expect_near(tn::jvp(f, std::tuple<Array>(x), std::tuple<Array>(y)).second, {along});
    const Function weighed = [&](const Array& a) { return tn::sum(tn::grad(f)(a) * y); };
    const std::vector<double> curvature = differences(weighed);
    expect_near(tn::hvp(f, x, y), curvature);
    expect_near(tn::grad(weighed)(x), curvature);
    expect_near(tn::jit(tn::grad(weighed))(x), curvature);
    // Lanes that agree about the mask.
    expect_near(tn::vmap([&](const Array& k) { return f(x) * k; })(y), of(f(x) * y));
  }
}

// The size is decided where the operand is computed again.
TEST(DataSizes, Checkpointed) {
  const auto kept = [](const Array& v) { return tn::sin(tn::compress(v * v, v > 1.5)); };
  const Function f = [&](const Array& a) { return tn::sum(tn::checkpoint(kept)(a) * 2.0); };
  expect_near(tn::grad(f)(x), differences(f));
  expect_near(tn::jit(tn::grad(f))(x), differences(f));
}

TEST(DataSizes, WhatCannotBe) {
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(
      message_of([] { tn::vmap([](const Array& a) { return tn::sum(tn::compress(a, a > 1.0)); })(tn::ones({3, 4})); }),
      AllOf(HasSubstr("compress cannot be batched"), HasSubstr("use where() with the mask"),
            HasSubstr("data_sizes.cpp:")));
  const auto stacked = [](const Array& a) {
    return tn::scan([&](const Array& c, const Array& v) { return std::pair(c, tn::compress(a, a > v)); }, a(0), a)
        .second;
  };
  EXPECT_THAT(message_of([&] { tn::jit(stacked)(x); }),
              AllOf(HasSubstr("of a size that the step's data decide"), HasSubstr("f64["),
                    HasSubstr("reduce it inside"), HasSubstr("data_sizes.cpp:")));
  const auto chosen = [](const Array& a) {
    return tn::cond(
        a(0) > 0.0, [](const Array& v) { return tn::compress(v, v > 1.0); },
        [](const Array& v) { return tn::compress(v, v > 2.0); }, a);
  };
  EXPECT_THAT(message_of([&] { tn::jit(chosen)(x); }),
              AllOf(HasSubstr("of a size that the branch's data decide"), HasSubstr("reduce it inside"),
                    HasSubstr("data_sizes.cpp:")));
  const auto growing = [](const Array& a) {
    return tn::while_loop([](const Array& c) { return tn::sum(c) > 3.0; },
                          [](const Array& c) { return tn::compress(c, c > 1.0); }, a);
  };
  EXPECT_THAT(
      message_of([&] { tn::jit(growing)(x); }),
      AllOf(HasSubstr("the carry enters a step as f64[5] and leaves it as f64["), HasSubstr("data_sizes.cpp:")));
}

TEST(DataSizes, DifferentMasksDoNotAgree) {
  const auto wrong = [](const Array& a, const Array& m) { return tn::sum(tn::compress(a, m) * tn::compress(a, !m)); };
  EXPECT_THROW(tn::jit(wrong)(x, mask), tn::ShapeError);
}

}  // namespace
