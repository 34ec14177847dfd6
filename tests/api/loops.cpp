// Loops and branches as users spell them: steps written out, branches by number, associative scans; their values beside
// plain loops, under every transformation, and the text of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::close;
using tn::message_of;
using tn::numbers;

namespace {

Array integers(std::vector<std::int32_t> values, std::vector<std::int64_t> shape) {
  return tn::array<std::int32_t>(values, std::move(shape));
}

// --- steps written out ---
auto stepped(std::int64_t unroll, bool reverse) {
  return [=](Array c, Array xs, Array w) {
    return tn::scan(
        [&](Array carry, std::tuple<Array, Array> x) {
          const Array next = tn::sin(carry * w + std::get<0>(x)) + std::get<1>(x)(0);
          return std::pair(next, std::map<std::string, Array>{{"twice", next * 2.0}, {"sum", tn::sum(next)}});
        },
        c, std::tuple(xs, xs(tn::all, tn::slice(0, 2))), {.reverse = reverse, .unroll = unroll});
  };
}

TEST(Unroll, GivesWhatSingleStepsGive) {
  const Array c = numbers({3}), w = numbers({3}, 0.3);
  for (const std::int64_t n : {0, 1, 2, 5, 8})
    for (const std::int64_t unroll : {1, 2, 3, 8, 100})
      for (const bool reverse : {false, true}) {
        SCOPED_TRACE(testing::Message() << n << " steps, " << unroll << " a turn, reverse " << reverse);
        const Array xs = numbers({n, 3}, 0.2);
        const auto one = stepped(1, reverse), many = stepped(unroll, reverse);
        const auto [end, ys] = one(c, xs, w);
        const auto plain = many(c, xs, w);
        const auto compiled = tn::jit(many)(c, xs, w);
        for (const auto& [last, out] : {plain, compiled}) {
          EXPECT_TRUE(close(last, end));
          EXPECT_TRUE(close(out.at("twice"), ys.at("twice")));
          EXPECT_TRUE(close(out.at("sum"), ys.at("sum")));
        }
        const auto loss = [](auto f) {
          return [f](Array c, Array xs, Array w) {
            const auto [end, ys] = f(c, xs, w);
            return tn::sum(end) + tn::sum(tn::square(ys.at("twice"))) + tn::sum(ys.at("sum"));
          };
        };
        const auto want = tn::grad<0, 1, 2>(loss(one))(c, xs, w);
        const auto got = tn::jit(tn::grad<0, 1, 2>(loss(many)))(c, xs, w);
        const tn::Arrays a = tn::tree::leaves(want), b = tn::tree::leaves(got);
        for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(close(b[i], a[i])) << i;
      }
  const Array batch = numbers({4, 3});
  EXPECT_TRUE(
      close(tn::vmap(stepped(3, false), {.in_axes = {0, tn::none, tn::none}})(batch, numbers({7, 3}), w).first,
            tn::vmap(stepped(1, false), {.in_axes = {0, tn::none, tn::none}})(batch, numbers({7, 3}), w).first));
}

TEST(Unroll, WithoutElements) {
  const auto count = [](std::int64_t unroll) {
    return tn::scan([](Array c, std::tuple<>) { return std::pair(c + 1, c); }, Array(0), std::tuple<>(),
                    {.length = 7, .unroll = unroll});
  };
  EXPECT_EQ(count(3).first.item<int>(), 7);
  EXPECT_TRUE(tn::array_equal(count(3).second, count(1).second));
}

TEST(Unroll, OfAnImpossibleNumber) {
  EXPECT_THAT(message_of([] { stepped(0, false)(numbers({3}), numbers({2, 3}), numbers({3})); }),
              AllOf(HasSubstr("scan: `unroll` is 0"), HasSubstr("at least one step"), HasSubstr("loops.cpp")));
}

// --- branches by number ---
Array chosen_branch(Array i, Array x) {
  return tn::switch_case(
      i, std::tuple([](Array v) { return tn::sin(v); }, [](Array v) { return v * v; }, [](Array v) { return -v; }), x);
}

TEST(SwitchCase, TakesTheNearestBranch) {
  const Array x = numbers({4});
  const std::array<Array, 3> want{tn::sin(x), x * x, -x};
  const auto derivative = tn::grad<1>([](Array i, Array v) { return tn::sum(chosen_branch(i, v)); });
  const std::array<Array, 3> slope{tn::cos(x), 2 * x, tn::full({4}, -1.0)};
  for (const std::int64_t i : {-(std::int64_t(1) << 40), std::int64_t(-1), std::int64_t(0), std::int64_t(1),
                               std::int64_t(2), std::int64_t(3), (std::int64_t(1) << 32) + 1}) {
    SCOPED_TRACE(i);
    const auto at = static_cast<std::size_t>(std::clamp<std::int64_t>(i, 0, 2));
    const Array index = Array(tn::Scalar(i));
    EXPECT_TRUE(close(chosen_branch(index, x), want[at]));
    EXPECT_TRUE(close(tn::jit(chosen_branch)(index, x), want[at]));
    EXPECT_TRUE(close(tn::tree::leaves(derivative(index, x))[0], slope[at]));
  }
  for (const tn::DType dtype : {tn::DType::u32, tn::DType::u64, tn::DType::i32})
    EXPECT_TRUE(close(chosen_branch(tn::convert(Array(7), dtype), x), want[2]));
  EXPECT_TRUE(close(chosen_branch(1, x), want[1]));
  const Array rows = numbers({5, 4}), indices = integers({0, 1, 2, -1, 9}, {5});
  const Array many = tn::jit(tn::vmap(chosen_branch))(indices, rows);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(close(many(i), chosen_branch(indices(i), rows(i))));
}

TEST(SwitchCase, OfTreesAndOfOneBranch) {
  using Pair = std::map<std::string, Array>;
  const auto one =
      tn::switch_case(5, std::tuple([](const Pair& p) { return Pair{{"a", p.at("b")}, {"b", p.at("a")}}; }),
                      Pair{{"a", 1.0}, {"b", 2.0}});
  EXPECT_EQ(one.at("a").item<double>(), 2);
  EXPECT_EQ(one.at("b").item<double>(), 1);
}

TEST(SwitchCase, WrongCalls) {
  EXPECT_THAT(message_of([] { chosen_branch(1.5, numbers({2})); }),
              AllOf(HasSubstr("switch_case: the index is f64[], not an integer"), HasSubstr("loops.cpp")));
  EXPECT_THAT(message_of([] { chosen_branch(integers({0, 1}, {2}), numbers({2})); }),
              AllOf(HasSubstr("switch_case: the index is i32[2], not one integer"), HasSubstr("vmap")));
  EXPECT_THAT(message_of([] {
                tn::switch_case(0, std::tuple([](Array v) { return v; }, [](Array v) { return tn::sum(v); }),
                                numbers({2}));
              }),
              AllOf(HasSubstr("switch_case"), HasSubstr("f64[2]"), HasSubstr("loops.cpp")));
}

// --- associative scans ---
struct Affine {  // x -> a·x + b
  Array a, b;
};
Affine then(const Affine& f, const Affine& g) { return {g.a * f.a, g.a * f.b + g.b}; }

TEST(AssociativeScan, GivesWhatALoopGives) {
  for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 8, 13})
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(testing::Message() << n << " elements, reverse " << reverse);
      const Affine xs{numbers({n, 2}), numbers({n, 2}, 0.4)};
      const auto prefixes = [=](const Affine& maps) { return tn::associative_scan(then, maps, {.reverse = reverse}); };
      const auto by_loop = [=](const Affine& maps) {
        const Affine identity{tn::ones({2}, tn::DType::f64), tn::zeros({2}, tn::DType::f64)};
        return tn::scan(
                   [](const Affine& all, const Affine& next) {
                     const Affine both = then(all, next);
                     return std::pair(both, both);
                   },
                   identity, maps, {.reverse = reverse})
            .second;
      };
      const Affine want = by_loop(xs);
      for (const Affine& got : {prefixes(xs), tn::jit(prefixes)(xs)}) {
        EXPECT_TRUE(close(got.a, want.a));
        EXPECT_TRUE(close(got.b, want.b));
      }
      const auto loss = [](auto f) {
        return [f](const Affine& maps) {
          const Affine all = f(maps);
          return tn::sum(tn::sin(all.a)) + tn::sum(all.b * all.b);
        };
      };
      const Affine slope = tn::jit(tn::grad(loss(prefixes)))(xs), same = tn::grad(loss(by_loop))(xs);
      EXPECT_TRUE(close(slope.a, same.a));
      EXPECT_TRUE(close(slope.b, same.b));
    }
}

TEST(AssociativeScan, AlongAnyAxisAndInBatches) {
  const Array x = integers({1, 2, 3, 4, 5, 6}, {2, 3});
  const auto sums = [](std::int64_t axis) {
    return [axis](Array v) { return tn::associative_scan([](Array a, Array b) { return a + b; }, v, {.axis = axis}); };
  };
  EXPECT_TRUE(tn::array_equal(sums(-1)(x), integers({1, 3, 6, 4, 9, 15}, {2, 3})));
  EXPECT_TRUE(tn::array_equal(sums(1)(x), sums(-1)(x)));
  EXPECT_TRUE(tn::array_equal(sums(0)(x), integers({1, 2, 3, 5, 7, 9}, {2, 3})));
  EXPECT_TRUE(tn::array_equal(tn::vmap(sums(0))(x), sums(1)(x)));
  EXPECT_TRUE(
      tn::array_equal(tn::associative_scan([](Array a, Array b) { return a | b; }, integers({0, 1, 0}, {3}) > 0),
                      integers({0, 1, 1}, {3}) > 0));
}

TEST(AssociativeScan, WrongCalls) {
  const auto add = [](Array a, Array b) { return a + b; };
  EXPECT_THAT(message_of([&] { tn::associative_scan(add, Array(1.0)); }),
              AllOf(HasSubstr("associative_scan"), HasSubstr("axis 0"), HasSubstr("loops.cpp")));
  EXPECT_THAT(message_of([&] { tn::associative_scan(then, Affine{numbers({3}), numbers({4})}); }),
              AllOf(HasSubstr("associative_scan: leaf .1 of xs is f64[4]: 4 elements where there are 3"),
                    HasSubstr("loops.cpp")));
  EXPECT_THAT(message_of([&] { tn::associative_scan([](Array a, Array b) { return tn::sum(a + b); }, numbers({4})); }),
              AllOf(HasSubstr("associative_scan: the function makes f64[] of two f64[2]"), HasSubstr("loops.cpp")));
}

// --- carries that the body gives on as they are ---
TEST(FixedCarries, AreTheSameAsCaptured) {
  const Array a = numbers({4}), b = numbers({4}, 0.3), c = numbers({4}, 0.2), xs = numbers({5, 4});
  const auto carried = [](Array a, Array b, Array c, Array xs) {
    const auto [state, ys] = tn::scan(
        [](std::tuple<Array, Array, Array> s, Array x) {
          const auto& [p, q, r] = s;
          return std::pair(std::tuple(p, tn::sin(q * r) + x * p, r), q * p);
        },
        std::tuple(a, b, c), xs);
    return std::tuple(std::get<0>(state), std::get<1>(state), std::get<2>(state), ys);
  };
  const auto captured = [](Array a, Array b, Array c, Array xs) {
    const auto [q, ys] = tn::scan([&](Array q, Array x) { return std::pair(tn::sin(q * c) + x * a, q * a); }, b, xs);
    return std::tuple(a, q, c, ys);
  };
  const auto want = captured(a, b, c, xs);
  tn::expect_close(carried(a, b, c, xs), want, "eager");
  tn::expect_close(tn::jit(carried)(a, b, c, xs), want, "compiled");
  const auto total = [](auto f) {
    return [f](Array a, Array b, Array c, Array xs) {
      Array sum(0.0);
      for (const Array& leaf : tn::tree::leaves(f(a, b, c, xs))) sum = sum + tn::sum(tn::sin(leaf));
      return sum;
    };
  };
  const auto slopes = tn::grad<0, 1, 2, 3>(total(captured))(a, b, c, xs);
  tn::expect_close(tn::grad<0, 1, 2, 3>(total(carried))(a, b, c, xs), slopes, "gradient");
  tn::expect_close(tn::jit(tn::grad<0, 1, 2, 3>(total(carried)))(a, b, c, xs), slopes, "compiled gradient");
  const auto by_lanes = [&](auto f) {
    return tn::vmap([&](Array a) { return tn::grad<0, 2>(total(f))(a, b, c, xs); })(numbers({3, 4}));
  };
  tn::expect_close(by_lanes(carried), by_lanes(captured), "lanes of gradients");
}

// A condition reads them among the others, and what no step runs gives the operands.
TEST(FixedCarries, InConditions) {
  const auto f = [](Array limit, Array x) {
    return tn::while_loop([](std::tuple<Array, Array, Array> s) { return tn::sum(std::get<2>(s)) < std::get<0>(s); },
                          [](std::tuple<Array, Array, Array> s) {
                            const auto& [limit, step, x] = s;
                            return std::tuple(limit, step, x * x + step);
                          },
                          std::tuple(limit, Array(0.5), x));
  };
  for (const double limit : {-10.0, 3.0, 100.0}) {
    const Array x = numbers({3});
    std::vector<double> v;
    for (std::int64_t i = 0; i < 3; ++i) v.push_back(x(i).item<double>());
    while (v[0] + v[1] + v[2] < limit)
      for (double& e : v) e = e * e + 0.5;
    const auto got = f(Array(limit), x);
    EXPECT_TRUE(close(std::get<2>(got), tn::array<double>(v, {3})));
    tn::expect_close(tn::jit(f)(Array(limit), x), got, "compiled");
    EXPECT_EQ(std::get<1>(got).item<double>(), 0.5);
  }
}

}  // namespace
