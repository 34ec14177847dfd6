// custom_vmap: a batch rule of the user's, alone and under vmap of vmap, jit, derivatives, loops and branches; what it
// is told, and its errors. A rule that computes something else shows that it is the rule which is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tn::Array;
using tn::BatchedTree;
using tn::Dim;
using tn::expect_close;
using tn::message_of;

namespace {

const Array xs{0.0, 1.0, 2.0};

// sin, of which a batch is cos; and how many lanes there were.
auto cosine_in_lanes(std::vector<std::int64_t>& seen) {
  return tn::custom_vmap([](Array x) { return tn::sin(x); },
                         [&seen](const Dim& lanes, const BatchedTree& batched, Array x) {
                           seen.push_back(lanes.value());
                           EXPECT_TRUE(batched[0]);
                           EXPECT_EQ(x.dim(0), lanes);
                           return std::pair(tn::cos(x), batched[0]);
                         });
}

TEST(CustomVmap, RulesAreForBatches) {
  std::vector<std::int64_t> seen;
  const auto f = cosine_in_lanes(seen);
  expect_close(f(Array(1.0)), tn::sin(Array(1.0)));
  expect_close(tn::jit(f)(Array(1.0)), tn::sin(Array(1.0)));
  expect_close(tn::grad(f)(Array(1.0)), tn::cos(Array(1.0)));
  EXPECT_TRUE(seen.empty());
  expect_close(tn::vmap(f)(xs), tn::cos(xs));
  EXPECT_THAT(seen, ElementsAre(3));
  expect_close(tn::jit(tn::vmap(f))(xs), tn::cos(xs));
  expect_close(tn::vmap(tn::jit(f))(xs), tn::cos(xs));
  expect_close(tn::vmap([&](Array) { return f(Array(2.0)); })(xs), tn::sin(Array{2.0, 2.0, 2.0}));  // the same in all
}

// The example of the header.
TEST(CustomVmap, Example) {
  bool by_rule = false;
  auto product = tn::custom_vmap([](Array x, Array y) { return tn::sum(x * y); },
                                 [&](const tn::Dim& lanes, const tn::BatchedTree& batched, Array x, Array y) {
                                   by_rule = lanes == 3 && batched[0] && batched[1];
                                   return std::pair(tn::sum(x * y, -1), true);
                                 });
  const Array rows = tn::reshape(tn::arange(6, tn::DType::f64), {3, 2});
  expect_close(tn::vmap(product)(rows, rows), Array{1.0, 13.0, 41.0});
  EXPECT_TRUE(by_rule);
}

TEST(CustomVmap, BatchesOfBatches) {
  std::vector<std::int64_t> seen;
  const auto f = cosine_in_lanes(seen);
  const Array both = tn::reshape(tn::arange(6, tn::DType::f64), {2, 3});
  expect_close(tn::vmap(tn::vmap(f))(both), tn::cos(both));
  EXPECT_THAT(seen, ElementsAre(3));  // of the innermost
  const auto of_outer = [&](Array x) { return tn::vmap([&](Array y) { return f(x) + y; })(tn::ones({2}, x.dtype())); };
  const Array outer = tn::jit(tn::vmap(of_outer))(xs);
  expect_close(outer(tn::all, 1), tn::cos(xs) + 1.0);
  EXPECT_EQ(seen.back(), 3);
  // A rule that calls the function is for the batches around.
  std::function<Array(Array)> again;
  const auto twice =
      tn::custom_vmap([](Array x) { return x; },
                      [&](const Dim&, const BatchedTree&, Array x) { return std::pair(2.0 * again(x), true); });
  again = [&](Array x) { return twice(x); };
  expect_close(tn::vmap(tn::vmap(again))(both), 4.0 * both);
}

struct Pair {
  Array x, y;
  int times = 2;  // static
};
struct Made {
  Array dot;
  std::vector<Array> kept;
};

// Trees, with leaves that are not batched.
TEST(CustomVmap, Trees) {
  std::vector<bool> told;
  const auto f = tn::custom_vmap(
      [](const Pair& p, Array v) { return Made{p.times * tn::sum(p.x * v) + p.y, {v, p.y}}; },
      [&](const Dim& lanes, const BatchedTree& batched, const Pair& p, Array v) {
        EXPECT_EQ(p.times, 3);
        told = {bool(batched),       bool(batched[0]), bool(batched[0][0]),
                bool(batched[0][1]), bool(batched[1]), bool(batched[7])};
        const Array y = batched[0][1] ? p.y : tn::broadcast_to(p.y, {lanes});
        const Array sums = tn::sum(p.x * v, -1);
        return std::pair(
            Made{3.0 * (batched[0][0] || batched[1] ? sums : tn::broadcast_to(sums, {lanes})) + y, {v, p.y}},
            BatchedTree{true, {bool(batched[1]), bool(batched[0][1])}});
      });
  const Pair one{Array{1.0, 2.0}, Array(0.5), 3};
  const Array v{3.0, 4.0}, three = tn::stack({v, 2.0 * v, 3.0 * v}), ys{1.0, 2.0, 3.0};
  const Made wanted = f(one, v);
  expect_close(wanted.dot, Array(33.5));
  const Made of_v = tn::vmap(f, {.in_axes = {tn::none, 0}, .out_axes = {0, {0, tn::none}}})(one, three);
  expect_close(of_v.dot, Array{33.5, 66.5, 99.5});
  expect_close(of_v.kept[0], three);
  expect_close(of_v.kept[1], one.y);
  EXPECT_THAT(told, ElementsAre(true, false, false, false, true, false));
  const Pair some{one.x, ys, 3};
  const Made of_y =
      tn::jit(tn::vmap(f, {.in_axes = {{tn::none, 0}, tn::none}, .out_axes = {0, {tn::none, 0}}}))(some, v);
  expect_close(of_y.dot, Array{34.0, 35.0, 36.0});
  expect_close(of_y.kept[0], v);
  EXPECT_THAT(told, ElementsAre(true, true, false, true, false, false));
  // As axes: what is done without a rule.
  const auto plain = [](const Pair& p, Array v) { return p.times * tn::sum(p.x * v) + p.y; };
  const auto by_axes = tn::custom_vmap(plain, [&](const Dim&, const BatchedTree& batched, const Pair& p, Array v) {
    return std::pair(tn::vmap(plain, {.in_axes = batched.axes()})(p, v), true);
  });
  expect_close(tn::vmap(by_axes, {.in_axes = {{tn::none, 0}, tn::none}})(some, v), of_y.dot);
}

TEST(CustomVmap, Derivatives) {
  std::vector<std::int64_t> seen;
  const auto f = cosine_in_lanes(seen);
  const auto total = [&](Array x) { return tn::sum(tn::vmap(f)(x)); };
  expect_close(tn::grad(total)(xs), -tn::sin(xs));  // of the rule
  expect_close(tn::jit(tn::grad(total))(xs), -tn::sin(xs));
  const auto [value, tangent] = tn::jvp(tn::vmap(f), std::tuple(xs), std::tuple(2.0 * xs));
  expect_close(value, tn::cos(xs));
  expect_close(tangent, -2.0 * xs * tn::sin(xs));
  const auto honest = tn::custom_vmap(
      [](Array x) { return tn::sin(x) * x; },
      [](const Dim&, const BatchedTree& batched, Array x) { return std::pair(tn::sin(x) * x, batched[0]); });
  const Array slope = tn::cos(xs) * xs + tn::sin(xs);
  expect_close(tn::vmap(tn::grad(honest))(xs), slope);
  expect_close(tn::grad([&](Array x) { return tn::sum(tn::vmap(honest)(x)); })(xs), slope);
  expect_close(tn::jit(tn::vmap(tn::grad(tn::grad(honest))))(xs), 2.0 * tn::cos(xs) - xs * tn::sin(xs));
  expect_close(tn::vmap(tn::jacfwd(honest))(xs), slope);
}

TEST(CustomVmap, InLoopsAndBranches) {
  std::vector<std::int64_t> seen;
  const auto f = cosine_in_lanes(seen);
  const auto steps = [&](Array x) {
    return tn::scan([&](Array c, Array y) { return std::pair(f(c) + y, c); }, x, Array{1.0, 1.0}).first;
  };
  expect_close(steps(Array(1.0)), tn::sin(tn::sin(Array(1.0)) + 1.0) + 1.0);
  expect_close(tn::vmap(steps)(xs), tn::cos(tn::cos(xs) + 1.0) + 1.0);
  expect_close(tn::jit(tn::vmap(steps))(xs), tn::cos(tn::cos(xs) + 1.0) + 1.0);
  const auto until = [&](Array x) {
    return tn::while_loop([](Array c) { return c < 2.0; }, [&](Array c) { return c + tn::abs(f(c)) + 0.1; }, x);
  };
  const auto plainly = [](Array x) {
    return tn::while_loop([](Array c) { return c < 2.0; }, [](Array c) { return c + tn::abs(tn::cos(c)) + 0.1; }, x);
  };
  expect_close(tn::jit(tn::vmap(until))(xs), tn::vmap(plainly)(xs));
  const auto branch = [&](Array x) {
    return tn::cond(x > 0.5, [&](Array v) { return f(v); }, [](Array v) { return v; }, x);
  };
  expect_close(tn::vmap(branch)(xs), tn::where(xs > 0.5, tn::cos(xs), xs));
  // No lane and one, and a number of lanes that varies.
  expect_close(tn::vmap(f)(tn::zeros({0}, tn::DType::f64)), tn::zeros({0}, tn::DType::f64));
  expect_close(tn::vmap(f)(Array{2.0}), tn::cos(Array{2.0}));
}

TEST(CustomVmap, Errors) {
  const auto by = [](auto rule) {
    return [=] { tn::vmap(tn::custom_vmap([](Array x) { return std::vector<Array>{x, x}; }, rule))(xs); };
  };
  const auto said = [&](auto rule) { return message_of(by(rule)); };
  using Two = std::vector<Array>;
  EXPECT_THAT(
      said([](const Dim&, const BatchedTree&, Array x) { return std::pair(Two{x}, true); }),
      AllOf(HasSubstr("TreeError"), HasSubstr("custom_vmap: the results of the function and of the rule differ"),
            HasSubstr("2 elements and 1 element"), HasSubstr("custom_batches.cpp:")));
  EXPECT_THAT(
      said([](const Dim&, const BatchedTree&, Array x) { return std::pair(Two{x, x(0)}, true); }),
      AllOf(HasSubstr("ShapeError"), HasSubstr("custom_vmap: leaf 1 of what the rule returns is f64[], not f64[3]"),
            HasSubstr("custom_batches.cpp:")));
  EXPECT_THAT(said([](const Dim&, const BatchedTree&, Array x) { return std::pair(Two{x, x}, false); }),
              HasSubstr("leaf 0 of what the rule returns is f64[3], not f64[]"));
  EXPECT_THAT(said([](const Dim&, const BatchedTree&, Array x) {
                return std::pair(Two{x, tn::convert(x, tn::DType::f32)}, true);
              }),
              AllOf(HasSubstr("DTypeError"), HasSubstr("is f32[3], not f64[3]")));
  EXPECT_THAT(
      said([](const Dim&, const BatchedTree&, Array x) { return std::pair(Two{x, x}, BatchedTree{true}); }),
      AllOf(HasSubstr("ShapeError"),
            HasSubstr("custom_vmap: what the rule says is batched has 1 entry, but the result has more fields or "
                      "elements."),
            HasSubstr("Give true or false for each of them; or one for all."), HasSubstr("custom_batches.cpp:")));
  EXPECT_THAT(said([](const Dim&, const BatchedTree&, Array x) {
                return std::pair(Two{x, x}, BatchedTree{{true, false}, true});
              }),
              HasSubstr("has a list where the result, leaf .0 is one array"));
  EXPECT_THAT(
      said([](const Dim&, const BatchedTree&, Array x) { return std::pair(Two{x, x}, BatchedTree{true, true, true}); }),
      HasSubstr("has 3 entries where there are arrays for 2"));
}

}  // namespace
