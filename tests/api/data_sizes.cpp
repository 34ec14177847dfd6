// Arrays whose size the data decide, under every transformation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenon/tenon.h"
#include "tests/error_message.h"
#include "tests/fuzzing.h"

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
  const auto near = [](double value) { return testing::DoubleEq(value); };  // of native code: to a few last places
  EXPECT_THAT(of(g), ElementsAre(near(std::sin(5.0)), 0, near(std::sin(3.0)), near(std::sin(2.0)), 0));
  EXPECT_THAT(of(tn::grad<1>(masked_product)(x, y, mask)),
              ElementsAre(near(std::cos(5.0)), 0, near(3 * std::cos(3.0)), near(4 * std::cos(2.0)), 0));
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
struct NamedFunction {
  const char* name;
  Function f;
};

// Rows chosen outside, that loops and branches take, read and give.
const std::vector<NamedFunction>& chosen_outside() {
  static const std::vector<NamedFunction> all{
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
  };
  return all;
}

// Rows chosen by a step or a branch itself.
const std::vector<NamedFunction>& chosen_inside() {
  static const std::vector<NamedFunction> all{
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

Array kept(const Array& v) { return tn::sin(tn::compress(v * v, v > 1.5)); }
Array both(const Array& v) {
  const Array p = tn::compress(v * 2.0, tn::sin(v) > 0.0), q = tn::compress(tn::exp(-v), v > 1.5);
  return tn::sum(tn::sin(p) * p) * tn::sum(q * q);
}

// Results of checkpoints and calls that have such sizes.
const std::vector<NamedFunction>& results_of_calls() {
  static const std::vector<NamedFunction> all{
      {"result of a checkpoint", [](const Array& a) { return tn::sum(tn::checkpoint(kept)(a) * 2.0); }},
      {"result of a checkpoint, squared", [](const Array& a) { return tn::sum(tn::square(tn::checkpoint(kept)(a))); }},
      {"results of two checkpoints",
       [](const Array& a) { return tn::sum(tn::checkpoint(kept)(a)) * tn::sum(tn::checkpoint(kept)(tn::sin(a) + a)); }},
      {"result of a call, squared",
       [](const Array& a) {
         static const auto part = tn::jit(kept);
         return tn::sum(tn::square(part(a)));
       }},
      {"result of a checkpoint in a checkpoint",
       [](const Array& a) {
         const auto k2 = [&](const Array& v) { return tn::sin(tn::checkpoint(kept)(v) * 2.0); };
         return tn::sum(tn::square(tn::checkpoint(k2)(a)));
       }},
      {"two results of a checkpoint",
       [](const Array& a) {
         const auto k2 = [&](const Array& v) {
           const Array m = v > 1.5;
           return std::tuple(tn::compress(tn::sin(v), m), tn::compress(v * v, v > 2.5), tn::exp(tn::compress(v, m)));
         };
         const auto [p, q, r] = tn::checkpoint(k2)(a);
         return tn::sum(p * r) * tn::sum(q * q);
       }},
      {"rows beside all elements",
       [](const Array& a) {
         const auto k2 = [&](const Array& v) { return tn::concatenate({tn::compress(v * v, v > 1.5), v}, 0); };
         const auto p = tn::checkpoint(k2)(a);
         return tn::sum(p * tn::reverse(p, {0}));
       }},
      {"two choices of rows beside each other",
       [](const Array& a) {
         const auto k2 = [&](const Array& v) {
           return tn::concatenate({tn::compress(v * v, v > 1.5), tn::compress(tn::sin(v), v > 2.5)}, 0);
         };
         const auto p = tn::checkpoint(k2)(a);
         static const auto q = tn::jit(k2);
         return tn::sum(p * tn::reverse(p, {0})) + tn::sum(tn::square(q(a)));
       }},
      {"inside a call, and outside by the same mask",
       [](const Array& a) {
         const Array m = tn::sin(a) > 0.0;
         const auto k2 = [](const Array& v, const Array& m) { return tn::sum(tn::sin(tn::compress(v * v, m))); };
         static const auto k3 = tn::jit(k2);
         return k3(a, m) * tn::mean(tn::square(tn::compress(a, m))) + tn::checkpoint(k2)(a, m);
       }},
      {"result of a checkpoint as the steps of a scan",
       [](const Array& a) {
         const Array r = tn::checkpoint(kept)(a);
         const auto [c, ys] = tn::scan(
             [](const Array& c, const Array& v) { return std::pair(tn::sin(c) * v + 1.0, c * v); }, tn::sum(a), r);
         return tn::sum(ys * r) + c;
       }},
      {"operand of a checkpoint",
       [](const Array& a) {
         return tn::sum(tn::checkpoint([](const Array& v) { return tn::sin(v) * v; })(tn::compress(a, a > 1.5)));
       }},
  };
  return all;
}

// Several sizes in one checkpoint or branch.
const std::vector<NamedFunction>& several_in_branches() {
  static const std::vector<NamedFunction> all{
      {"inside a checkpoint", [](const Array& a) { return tn::checkpoint(both)(tn::sin(a) + a) * tn::sum(a); }},
      {"inside a checkpoint in a scan",
       [](const Array& a) {
         const auto step = [&](const Array& c, const Array& v) {
           return std::pair(c * 0.5 + tn::checkpoint(both)(a * c * 0.1 + v), c);
         };
         return tn::scan(step, tn::sum(a), y).first;
       }},
      {"two inside a branch",
       [](const Array& a) {
         return tn::cond(tn::sum(a) > 3.0, both, [](const Array& v) { return tn::sum(v) * 2.0; }, a);
       }},
      {"two inside each branch",
       [](const Array& a) {
         return tn::cond(
             tn::sum(a) > 3.0, both,
             [](const Array& v) { return both(v * 0.5) + tn::sum(tn::compress(tn::sin(v), v > 2.5)); }, a);
       }},
      {"two outside, read by branches",
       [](const Array& a) {
         const Array s = tn::compress(a, a > 1.5), t = tn::compress(tn::sin(a), a > 2.5);
         return tn::cond(
             tn::sum(a) > 3.0, [&](const Array& v) { return tn::sum(s * s) * tn::sum(t * tn::exp(t)) + tn::sum(v); },
             [&](const Array& v) { return tn::sum(v * v) * tn::sum(t); }, a);
       }},
      {"a branch in a branch",
       [](const Array& a) {
         return tn::cond(
             tn::sum(a) > 3.0,
             [](const Array& v) {
               const Array p = tn::compress(v * v, v > 1.5);
               return tn::cond(
                   tn::sum(p) > 4.0, [&](const Array& w) { return both(w) * tn::sum(tn::sin(p)); }, both, v);
             },
             both, a);
       }},
  };
  return all;
}

// Several sizes in one step.
const std::vector<NamedFunction>& several_in_loops() {
  static const std::vector<NamedFunction> all{
      {"two inside a scan",
       [](const Array& a) {
         const auto step = [&](const Array& c, const Array& v) {
           return std::pair(c * 0.3 + both(a * v), c * both(a));
         };
         const auto [end, all] = tn::scan(step, tn::sum(a), y * 0.37);
         return end + tn::sum(all * all) * 0.01;
       }},
      {"two inside a while",
       [](const Array& a) {
         return tn::while_loop([](const Array& c) { return c < 40.0; },
                               [&](const Array& c) { return c + both(a + c * 0.01) + 7.0; }, tn::sum(a) * 0.1);
       }},
      {"a branch in a scan",
       [](const Array& a) {
         const auto step = [&](const Array& c, const Array& v) {
           const Array n = tn::cond(
               v > 2.5, [](const Array& w, const Array& k) { return both(w * k); },
               [](const Array& w, const Array& k) { return tn::sum(w) * k; }, a, c);
           return std::pair(tn::sin(n), c);
         };
         return tn::scan(step, tn::sum(a) * 0.1, y).first;
       }},
      {"rows put back inside a branch",
       [](const Array& a) {
         return tn::cond(
             tn::sum(a) > 3.0,
             [](const Array& v) {
               const Array i = tn::nonzero(v > 2.5)[0];
               return tn::sum(tn::square(tn::zeros_like(v).at(i).set(tn::compress(v * v, v > 2.5))) * v);
             },
             both, a);
       }},
      {"indices of nonzero elements in a scan",
       [](const Array& a) {
         const auto step = [&](const Array& c, const Array& v) {
           const Array i = tn::nonzero(a > v * 0.5 + 1.2)[0];
           return std::pair(c * 0.4 + tn::sum(tn::square(a(i)) * c), c);
         };
         return tn::scan(step, tn::sum(a) * 0.1, y).first;
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

void expect_first_derivatives(const Function& f) {
  const std::vector<double> slope = differences(f);
  const double value = f(x).item<double>();
  EXPECT_NEAR(tn::jit(f)(x).item<double>(), value, 1e-12 * (1 + std::abs(value)));
  expect_near(tn::grad(f)(x), slope);
  expect_near(tn::jit(tn::grad(f))(x), slope);
  expect_near(tn::grad(tn::jit(f))(x), slope);
  expect_near(tn::jacfwd(f)(x), slope);
  expect_near(tn::jacrev(f)(x), slope);
  double along = 0;
  for (std::size_t i = 0; i < 5; ++i) along += slope[i] * of(y)[i];
  expect_near(tn::jvp(f, std::tuple<Array>(x), std::tuple<Array>(y)).second, {along});
}
void expect_second_derivatives(const Function& f) {
  const Function weighed = [&](const Array& a) { return tn::sum(tn::grad(f)(a) * y); };
  const std::vector<double> curvature = differences(weighed);
  const Function along = [&](const Array& a) { return tn::jvp(f, std::tuple<Array>(a), std::tuple<Array>(y)).second; };
  for (const auto& twice : std::vector<Function>{
           [&](const Array& a) { return tn::hvp(f, a, y); }, [&](const Array& a) { return tn::grad(weighed)(a); },
           [&](const Array& a) { return tn::grad(along)(a); }, [&](const Array& a) { return tn::jacfwd(along)(a); },
           [&](const Array& a) { return tn::dot(tn::hessian(f)(a), y); },
           [&](const Array& a) { return tn::dot(tn::jacrev(tn::grad(f))(a), y); }}) {
    expect_near(twice(x), curvature);
    expect_near(tn::jit(twice)(x), curvature);
  }
}
// Lanes that agree about every mask.
void expect_batches(const Function& f) {
  expect_near(tn::vmap([&](const Array& k) { return f(x) * k; })(y), of(f(x) * y));
  const auto lanes = tn::vmap([&](const Array& k) { return tn::grad([&](const Array& a) { return f(a) * k; })(x); });
  const std::vector<double> want = of(tn::outer(y, tn::grad(f)(x)));
  expect_near(lanes(y), want);
  expect_near(tn::jit(lanes)(y), want);
}

void expect_all(const std::vector<NamedFunction>& programs) {
  for (std::size_t n = 0; n < programs.size(); ++n) {
    const auto& [name, f] = programs[n];
    SCOPED_TRACE(name);
    if (fuzzing::takes(n, 0, 3)) expect_first_derivatives(f);
    if (fuzzing::takes(n, 1, 3)) expect_second_derivatives(f);
    if (fuzzing::takes(n, 2, 3)) expect_batches(f);
  }
}
TEST(DataSizes, AcrossLoopsAndBranches) { expect_all(chosen_outside()); }
TEST(DataSizes, InsideLoopsAndBranches) { expect_all(chosen_inside()); }
TEST(DataSizes, ResultsOfCalls) { expect_all(results_of_calls()); }
TEST(DataSizes, SeveralInBranches) { expect_all(several_in_branches()); }
TEST(DataSizes, SeveralInLoops) { expect_all(several_in_loops()); }

// Data that differ from lane to lane, of rows that one mask chooses.
TEST(DataSizes, LanesOfRowsThatOneMaskChooses) {
  const Array m = tn::reshape(Array{true, false, true, false, false, true}, {2, 3});
  const auto loss = [&](const Array& a, const Array& b) {
    return tn::sum(tn::square(tn::compress(a, m)) * tn::sin(tn::compress(b, m)));
  };
  const Array as = tn::sin(tn::reshape(tn::arange(48, tn::DType::f64), {2, 2, 3, 4})), b = tn::cos(as(0)) + 0.3;
  const auto slope = tn::vmap([&](const Array& a) { return tn::grad(loss)(a, b); });
  const Array inside = tn::expand_dims(tn::convert(m, tn::DType::f64), -1);
  expect_near(slope(as), of(2.0 * as * tn::sin(b) * inside));
  expect_near(tn::jit(slope)(as), of(2.0 * as * tn::sin(b) * inside));
  const auto rows = tn::vmap(tn::vmap([](const Array& a) { return tn::compress(a, mask); }));
  const Array lanes = tn::sin(tn::reshape(tn::arange(30, tn::DType::f64), {2, 3, 5}));
  EXPECT_EQ(rows(lanes).shape(), (tn::Shape{2, 3, 3}));
  expect_near(rows(lanes), of(tn::take(lanes, Array{0, 2, 3}, 2)));
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
      AllOf(HasSubstr("compress cannot be batched by a mask that differs from lane to lane, bool[3,4]"),
            HasSubstr("Use where() with the mask"), HasSubstr("data_sizes.cpp:")));
  const auto stacked = [](const Array& a) {
    return tn::scan([&](const Array& c, const Array& v) { return std::pair(c, tn::compress(a, a > v)); }, a(0), a)
        .second;
  };
  EXPECT_THAT(message_of([&] { tn::jit(stacked)(x); }),
              AllOf(HasSubstr("of a size that the step's data decide"), HasSubstr("f64["),
                    HasSubstr("reduce it inside"), HasSubstr("data_sizes.cpp:")));
}

TEST(DataSizes, DifferentMasksDoNotAgree) {
  const auto wrong = [](const Array& a, const Array& m) { return tn::sum(tn::compress(a, m) * tn::compress(a, !m)); };
  EXPECT_THROW(tn::jit(wrong)(x, mask), tn::ShapeError);
}

}  // namespace
