// Reductions of what a scan stacks: moved into the scan where nothing else reads the stack, and equal to what they
// were.
#include "tenon/rewrite/hoist_reductions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/ir/recurse.h"
#include "tenon/rewrite/pass.h"
#include "tenon/tenon.h"
#include "tenon/transform/gradient.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t steps = 7;  // no other size is 7 or a multiple of it

// Arrays with an axis of all steps that depend on a loop.
int stacks(const Program& p) {
  std::vector<bool> depends(p.vars(), false);
  int count = 0;
  for (const Eqn& eqn : p.eqns()) {
    if (eqn.op->name != "loop" && std::ranges::none_of(eqn.in, [&](Var v) { return depends[v]; })) continue;
    for (Var v : eqn.out) {
      depends[v] = true;
      for (const Dim& d : p.type(v).shape) count += d == Dim(steps);
    }
  }
  return count;
}

// The order of summation alone differs: a few roundings of the dtype a step.
void expect_equal(const std::vector<Value>& got, const std::vector<Value>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const DType d = type_of(want[i]).dtype;
    ASSERT_EQ(type_of(got[i]), type_of(want[i]));
    const double tolerance = d == DType::f64 ? 1e-13 : d == DType::f32 ? 1e-5 : 1e-2;
    const auto wide = [](const Value& v) { return convert(Array(std::get<Buffer>(v)), DType::f64).to_buffer(); };
    const Buffer g = wide(got[i]), w = wide(want[i]);
    for (std::int64_t k = 0; k < w.elements(); ++k)
      if (std::isnan(w.as<double>()[k]))
        EXPECT_TRUE(std::isnan(g.as<double>()[k]));
      else
        EXPECT_NEAR(g.as<double>()[k], w.as<double>()[k], tolerance * (1 + std::abs(w.as<double>()[k])));
  }
}

void expect_hoisted(const ProgramRef& program) {
  const ProgramRef p = inline_calls(program), q = hoist_reductions(p);
  EXPECT_EQ(stacks(*q), 0) << q;
  const std::vector<Value> in = waves_for(*p);
  expect_equal(evaluate(*q, {}, in), evaluate(*p, {}, in));
  EXPECT_EQ(hoist_reductions(q)->hash(), q->hash());  // nothing is left to do
}

Array h0() { return zeros({3}, DType::f64); }
Array xs() { return zeros({steps, 3}, DType::f64); }
Array stacked(const Array& h, const Array& xs, bool reverse = false) {
  return scan(
             [](Array h, Array x) {
               h = tanh(h + x);
               return std::pair(h, h * 1.5);
             },
             h, xs, {.reverse = reverse})
      .second;
}

using Loss = Array (*)(Array, Array);
const std::vector<std::pair<const char*, Loss>> losses{
    {"SumOverAllAxes", [](Array h, Array xs) { return sum(stacked(h, xs)); }},
    {"SumOverTheSteps", [](Array h, Array xs) { return sum(stacked(h, xs), {{0}}); }},
    {"Reverse", [](Array h, Array xs) { return sum(stacked(h, xs, true)); }},
    {"Prod", [](Array h, Array xs) { return prod(stacked(h, xs)); }},
    {"Max", [](Array h, Array xs) { return amax(stacked(h, xs), {{0}}); }},
    {"Min", [](Array h, Array xs) { return amin(stacked(h, xs)); }},
    {"Any", [](Array h, Array xs) { return convert(any(stacked(h, xs) > 0.5), DType::f64); }},
    {"All", [](Array h, Array xs) { return convert(all(stacked(h, xs) > -2.0, {{0}}), DType::f64); }},
    {"MeanSquareBesideTargets", [](Array h, Array xs) { return mean(square(stacked(h, xs) - cos(xs))); }},
    {"WithAScale", [](Array h, Array xs) { return sum(stacked(h, xs) * sum(h) + h); }},
    {"ArgMaxOfAll", [](Array h, Array xs) { return convert(argmax(stacked(h, xs)), DType::f64); }},
    {"ArgMaxOfEachStep",
     [](Array h, Array xs) { return sum(convert(argmax(stacked(h, xs), 1), DType::f64) * sum(xs, 1)); }},
    {"ChainOfReductions", [](Array h, Array xs) { return sum(square(sum(stacked(h, xs), 1))); }},
    {"BroadcastBetween",
     [](Array h, Array xs) {
       const Array row = amax(stacked(h, xs), Axes(1).keepdims());
       return sum(exp(stacked(h, xs) - row));
     }},
    {"Transposed", [](Array h, Array xs) { return sum(transpose(stacked(h, xs)) * transpose(xs), 1); }},
    {"TwoReductions",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs);
       return sum(ys) + amax(ys);
     }},
    {"MadeBehindTheLoop",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs);
       return sum(ys * sum(h * 2.0));
     }},
    {"InF32", [](Array h, Array xs) { return sum(convert(stacked(h, xs), DType::f32)); }},
    {"InF16", [](Array h, Array xs) { return sum(convert(stacked(h, xs), DType::f16), {{0}}); }},
    {"InBF16", [](Array h, Array xs) { return sum(convert(stacked(h, xs), DType::bf16)); }},
    {"OfIntegers", [](Array h, Array xs) { return sum(convert(stacked(h, xs) * 10.0, DType::i32)); }},
    {"InAnotherOrder", [](Array h, Array xs) { return sum(reshape(stacked(h, xs), {-1}) * reshape(xs, {-1})); }},
    {"MaxOfAllInARow", [](Array h, Array xs) { return amax(reshape(stacked(h, xs) - xs, {-1})); }},
    {"LogSumExpOfAllInARow", [](Array h, Array xs) { return logsumexp(reshape(stacked(h, xs) - xs, {-1})); }},
    {"VarianceOfAllInARow", [](Array h, Array xs) { return var(reshape(stacked(h, xs), {-1})); }},
    {"ArgMaxOfAllInARow",
     [](Array h, Array xs) { return convert(argmax(reshape(stacked(h, xs), {-1})), DType::f64) + 0.0 * sum(h); }},
    {"ArgMinInReverseOfAllInARow",
     [](Array h, Array xs) { return convert(argmin(reshape(floor(3.0 * stacked(h, xs, true)), {-1})), DType::f64); }},
    {"LaterSteps",
     [](Array h, Array xs) { return sum(square(stacked(h, xs)(slice(2, steps)) - xs(slice(2, steps)))); }},
    {"EarlierSteps", [](Array h, Array xs) { return prod(stacked(h, xs)(slice(0, 3)) + xs(slice(4, steps)), {{0}}); }},
    {"OneArrayBesideDifferentSteps",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs), some = cos(xs(slice(0, 5)));
       return sum(ys(slice(2, 7)) * some) - sum(ys(slice(1, 6)) * some * some) + sum(ys(slice(0, 5)) * some);
     }},
    {"SomeColumns", [](Array h, Array xs) { return sum(square(stacked(h, xs)(all, slice(1, 3)))); }},
    {"LaterStepsInReverse",
     [](Array h, Array xs) { return amax(stacked(h, xs, true)(slice(2, 6)) * xs(slice(1, 5)), {{0}}); }},
    {"LastStep", [](Array h, Array xs) { return stacked(h, xs)(-1) * 2.0; }},
    {"FirstStepInReverse", [](Array h, Array xs) { return stacked(h, xs, true)(0); }},
    {"SomeSteps",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs);
       return ys(2) * ys(-1) - ys(4, slice(1, 3))(0) + sum(ys);
     }},
    {"FirstAndLastStepInReverse",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs, true);
       return ys(0) - ys(-1);
     }},
    {"Differences", [](Array h, Array xs) { return sum(square(diff(stacked(h, xs), 1, 0))); }},
    {"DifferencesInReverse", [](Array h, Array xs) { return amax(diff(stacked(h, xs, true), 1, 0), {{0}}); }},
    {"SecondDifferencesBesideData",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs);
       const auto part = [](const Array& x, std::int64_t first) { return x(slice(first, first + 5)); };
       return sum(abs(part(ys, 2) - 2.0 * part(ys, 1) + part(ys, 0)) * part(xs, 1), {{0}});
     }},
    {"LaggedProductsOfLogs",
     [](Array h, Array xs) {
       const Array ys = log(2.0 + stacked(h, xs));
       return sum(ys(slice(3, steps)) * ys(slice(0, steps - 3))) + sum(ys);
     }},
    {"LaggedInReverse",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs, true);
       return logsumexp(ys(slice(2, steps)) * ys(slice(0, steps - 2)) - ys(slice(1, steps - 1)), {{0}});
     }},
    {"WeightedSum", [](Array h, Array xs) { return einsum("t,td->d", xs(all, 0), stacked(h, xs)); }},
    {"WeightedSumTheOtherWay", [](Array h, Array xs) { return matmul(transpose(stacked(h, xs)), xs(all, 1)); }},
    {"WeightedByWhatStepsMake",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs);
       return einsum("td,t->d", cos(xs), ys(all, 0)) + einsum("td,t->d", ys, ys(all, 1));
     }},
    {"InnerProduct", [](Array h, Array xs) { return dot(reshape(stacked(h, xs), {-1}), reshape(xs, {-1})); }},
    {"InnerProductWithItself",
     [](Array h, Array xs) {
       const Array ys = reshape(stacked(h, xs), {-1});
       return dot(ys, ys);
     }},
    {"BatchedInnerProducts", [](Array h, Array xs) { return einsum("td,td->d", stacked(h, xs), xs); }},
    {"InnerProductsOfTransposes", [](Array h, Array xs) { return einsum("td,dt->", stacked(h, xs), transpose(xs)); }},
    {"MaskedByRows",
     [](Array h, Array xs) {
       const Array mask = broadcast_in_dim(sum(xs, 1) > 0, {steps, 3}, {0});
       return sum(where(mask, square(stacked(h, xs)), 0));
     }},
    {"LogSumExp", [](Array h, Array xs) { return logsumexp(stacked(h, xs), {{0}}); }},
    {"LogSumExpOfAll", [](Array h, Array xs) { return logsumexp(stacked(h, xs) * 300.0); }},
    {"LogSumExpOfInfinities",
     [](Array h, Array xs) { return max(logsumexp(log(max(stop_gradient(stacked(h, xs)), 0)), {{0}}), -9.0); }},
    {"Variance", [](Array h, Array xs) { return var(stacked(h, xs) + 1e3, {{0}}); }},
    {"VarianceOfAll", [](Array h, Array xs) { return var(stacked(h, xs, true)); }},
    {"VarianceOfLaterSteps", [](Array h, Array xs) { return var(stacked(h, xs)(slice(3, steps)), {{0}}); }},
    {"VarianceUnderAMask", [](Array h, Array xs) { return var(stacked(h, xs) + 1e3, {{0}}, {.where = xs > 0.2}); }},
    {"ExponentialsUnderAMask",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs) * 300.0;
       return sum(where(xs > 0.0, exp(ys - amax(ys, Axes(0).keepdims())), 0.0), {{0}});
     }},
    {"LargestBesideExponentialsUnderAMask",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs), largest = amax(ys, Axes(0).keepdims());
       return sum(where(xs < -0.5, exp(ys - largest), 0.0), {{0}}) * largest;
     }},
    {"SquaresAroundAnotherMiddle",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs);
       return sum(square(ys - amax(ys, Axes(0).keepdims())), {{0}});
     }},
    {"ArgMax", [](Array h, Array xs) { return convert(argmax(stacked(h, xs), {{0}}), DType::f64); }},
    {"ArgMinInReverse", [](Array h, Array xs) { return convert(argmin(stacked(h, xs, true), {{0}}), DType::f64); }},
    {"ArgMaxOfEqualOnes", [](Array h, Array xs) { return convert(argmax(floor(stacked(h, xs)), {{0}}), DType::f64); }},
    {"ArgMaxOfNaNs",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs);
       return convert(argmax(where(abs(ys) < 0.7, std::nan(""), ys), {{0}}), DType::f64);
     }},
    {"ArgMinOfNaNsInReverse",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs, true);
       return convert(argmin(where(abs(ys) < 0.7, std::nan(""), ys), {{0}}), DType::f64);
     }},
    {"ArgMaxOfInfinities",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs);
       return convert(argmax(where(ys > 2, ys, -HUGE_VAL), {{0}}), DType::f64);
     }},
    {"ArgMaxOfInfinitiesInReverse",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs, true);
       return convert(argmax(where(ys > 2, ys, -HUGE_VAL), {{0}}), DType::f64);
     }},
    {"ArgMaxOfTheLeastIntegers",
     [](Array h, Array xs) {
       const Array ys = stacked(h, xs);
       const Array least(std::numeric_limits<std::int32_t>::min());
       return convert(argmax(where(ys > 2, 0, broadcast_to(least, ys.shape())), {{0}}), DType::f64);
     }},
    {"TopK", [](Array h, Array xs) { return sum(top_k(transpose(stacked(h, xs)), 3).values, 1); }},
    {"PlacesOfTopKOfEqualOnes",
     [](Array h, Array xs) {
       return convert(transpose(top_k(transpose(floor(stacked(h, xs))), 4).indices), DType::f64)(0);
     }},
    {"PlacesOfTopKOfEqualOnesInReverse",
     [](Array h, Array xs) {
       return convert(transpose(top_k(transpose(floor(stacked(h, xs, true))), 4).indices), DType::f64)(3);
     }},
    {"TheLeastOfEqualOnes",
     [](Array h, Array xs) {
       const TopK least = top_k(log(floor(3.0 * transpose(stacked(h, xs)))), 5, {.smallest = true});
       return convert(transpose(least.indices), DType::f64)(4) + 0.0 * sum(h);
     }},
    {"TheLeastOfEqualOnesInReverse",
     [](Array h, Array xs) {
       const TopK least = top_k(floor(3.0 * transpose(stacked(h, xs, true))), 5, {.smallest = true});
       return sum(convert(transpose(least.indices), DType::f64) * expand_dims(arange(5, DType::f64), -1), 0);
     }},
    {"TopKOfSomeSteps",
     [](Array h, Array xs) {
       const Array some = slice_in_dim(stacked(h, xs), 1, xs.shape()[0], 0);
       return convert(transpose(top_k(transpose(some), 2).indices), DType::f64)(1);
     }},
    {"ArgMaxOfEqualOnesInReverse",
     [](Array h, Array xs) { return convert(argmax(floor(stacked(h, xs, true)), {{0}}), DType::f64); }},
    {"ArgMinOfLaterSteps",
     [](Array h, Array xs) { return convert(argmin(stacked(h, xs)(slice(2, 6)), {{0}}), DType::f64); }},
    {"Unrolled",
     [](Array h, Array xs) {
       const Array ys = scan([](Array h, Array x) { return std::pair(h = tanh(h + x), h * 1.5); }, h,
                             concatenate({xs, xs}, 0), {.unroll = 2})
                            .second;
       return sum(square(ys - 0.25));
     }},
    {"InABranch",
     [](Array h, Array xs) {
       return cond(
           sum(h) > 0, [](Array ys, Array xs) { return sum(square(ys - xs)); },
           [](Array ys, Array) { return amax(ys); }, stacked(h, xs), xs);
     }},
    {"OfAScanInAScan",
     [](Array h, Array xs) {
       const auto outer = [&](Array c, Array x) {
         const Array inner = scan([&](Array c, Array) { return std::pair(c + x, sin(c)); }, c, xs).second;
         return std::pair(c * 0.5, sum(inner));
       };
       return sum(scan(outer, h, xs).second);
     }},
};

class Hoisted : public testing::TestWithParam<std::pair<const char*, Loss>> {
 protected:
  ProgramRef program() const { return trace(GetParam().second)(h0(), xs()); }
};
TEST_P(Hoisted, NoStackIsLeft) { expect_hoisted(program()); }
TEST_P(Hoisted, NoStackIsLeftOfItsLanes) {
  const ProgramRef p = program();
  const ProgramRef lanes = inline_calls(vmap(p, {false, true}, {true}, Dim(4)));
  const ProgramRef q = hoist_reductions(lanes);
  EXPECT_EQ(stacks(*q), 0) << q;
  const std::vector<Value> in = waves_for(*lanes);
  expect_equal(evaluate(*q, {}, in), evaluate(*lanes, {}, in));
}
// Its derivatives are those of what it was, before the derivative is taken as after it.
TEST_P(Hoisted, ItsDerivativesAreTheSame) {
  const ProgramRef p = inline_calls(program());
  if (!has_tangent(p->output_types()[0])) return;
  const std::string name = GetParam().first;
  const Mask in{true, true}, out{true};
  const std::vector<Value> x = waves_for(*jvp(p, in, out));
  expect_equal(evaluate(*hoist_reductions(jvp(p, in, out)), {}, x), evaluate(*jvp(p, in, out), {}, x));
  expect_equal(evaluate(*jvp(hoist_reductions(p), in, out), {}, x), evaluate(*jvp(p, in, out), {}, x));
  const ProgramRef back = inline_calls(pullback(p, in, out)), of_hoisted = pullback(hoist_reductions(p), in, out);
  const std::vector<Value> y = waves_for(*back);
  expect_equal(evaluate(*hoist_reductions(back), {}, y), evaluate(*back, {}, y));
  expect_equal(evaluate(*of_hoisted, {}, y), evaluate(*back, {}, y));
}
TEST_P(Hoisted, CompiledIsTheReference) {
  const ProgramRef p = program();
  const std::vector<Value> in = waves_for(*p);
  expect_equal(executor().run(p, {}, in), evaluate(*p, {}, in));
}
INSTANTIATE_TEST_SUITE_P(Losses, Hoisted, testing::ValuesIn(losses),
                         [](const auto& info) { return std::string(info.param.first); });

// --- what stays as it is ---
void expect_unchanged(const ProgramRef& program) {
  const ProgramRef p = inline_calls(program);
  EXPECT_EQ(hoist_reductions(p)->hash(), p->hash()) << hoist_reductions(p);
}
TEST(NotHoisted, AStackThatIsReadElsewhere) {
  expect_unchanged(trace([](Array h, Array xs) {
    const Array ys = stacked(h, xs);
    return std::pair(sum(ys), ys);
  })(h0(), xs()));
  expect_unchanged(trace([](Array h, Array xs) {
    const Array squares = square(stacked(h, xs));
    return std::pair(sum(squares), reverse(squares, {0}));
  })(h0(), xs()));
}
// --- stacks that are kept and large ---
Array kept_h() { return zeros({48, 64}, DType::f64); }
Array kept_xs() { return zeros({steps * 8, 48, 64}, DType::f64); }  // 1.4 MB
const std::vector<std::pair<const char*, Loss>> kept{
    {"Sum", [](Array h, Array xs) { return sum(stacked(h, xs)); }},
    {"MeanSquareBesideTargets", [](Array h, Array xs) { return mean(square(stacked(h, xs) - cos(xs))); }},
    {"OverTheStepsInReverse", [](Array h, Array xs) { return sum(square(sum(stacked(h, xs, true) * xs, 0))); }},
    {"Max", [](Array h, Array xs) { return sum(amax(stacked(h, xs), 0)); }},
    {"Logsumexp", [](Array h, Array xs) { return sum(logsumexp(stacked(h, xs), 0)); }},
    {"Var", [](Array h, Array xs) { return sum(var(stacked(h, xs), 0)); }},
    {"OverAnotherAxis", [](Array h, Array xs) { return sum(square(mean(square(stacked(h, xs)), 2))); }},
    {"OverAnotherAxisInReverse", [](Array h, Array xs) { return sum(exp(mean(stacked(h, xs, true), 1))); }},
    {"OverAnotherAxisOfTransposed",
     [](Array h, Array xs) { return sum(square(mean(transpose(stacked(h, xs), {1, 0, 2}) * 2.0, 2))); }},
    {"OverAnotherAxisOfLaterSteps",
     [](Array h, Array xs) { return sum(square(mean(square(stacked(h, xs)(slice(3, steps * 8))), 2))); }},
    {"InOneRow", [](Array h, Array xs) { return sum(square(reshape(stacked(h, xs), {-1}))); }},
    {"OverTheOtherAxes", [](Array h, Array xs) { return sum(sqrt(mean(square(stacked(h, xs) - cos(xs)), {1, 2}))); }},
    {"OverTheOtherAxesInReverse", [](Array h, Array xs) { return sum(exp(amax(stacked(h, xs, true), {1, 2}))); }},
    {"OverTheOtherAxesOfTransposed",
     [](Array h, Array xs) { return sum(square(mean(transpose(stacked(h, xs), {1, 0, 2}), {0, 2}))); }},
    {"OverTheOtherAxesOfLaterSteps",
     [](Array h, Array xs) { return sum(square(mean(stacked(h, xs)(slice(3, steps * 8)), {1, 2}))); }},
    {"OverAnotherAxisForOthersUnrolled",
     [](Array h, Array xs) {
       const auto step = [](Array h, Array x) { return std::pair(h = tanh(h + x), h * 1.5); };
       return sum(sort(mean(square(scan(step, h, xs, {.unroll = 4}).second), 2), 0)(slice(5, 9)));
     }},
    {"OverAnotherAxisForOthersInReverse",
     [](Array h, Array xs) { return sum(sort(mean(stacked(h, xs, true), 1), 0)(slice(5, 9))); }},
    {"OverAnotherAxisForOthersOfTransposed",
     [](Array h, Array xs) { return sum(sort(amax(transpose(stacked(h, xs), {2, 0, 1}), 0), 0)(slice(5, 9))); }},
    {"OverAnotherAxisForOthersOfLaterSteps",
     [](Array h, Array xs) { return sum(sort(mean(stacked(h, xs)(slice(3, steps * 8)), 2), 0)(slice(5, 9))); }},
    {"OverAnotherAxisForOthersOfRows",
     [](Array h, Array xs) { return sum(sort(mean(reshape(stacked(h, xs), {-1, 64}), 1))(slice(5, 9))); }},
    {"OverTheOtherAxesUnrolled",
     [](Array h, Array xs) {
       const auto step = [](Array h, Array x) { return std::pair(h = tanh(h + x), h * 1.5); };
       return sum(square(mean(scan(step, h, xs, {.reverse = true, .unroll = 4}).second, {1, 2})));
     }},
    {"OverAnotherAxisOfRows",
     [](Array h, Array xs) { return sum(square(mean(reshape(stacked(h, xs), {-1, 64}), 1))); }},
    {"OverAnotherAxisUnrolled",
     [](Array h, Array xs) {
       const auto step = [](Array h, Array x) { return std::pair(h = tanh(h + x), h * 1.5); };
       return sum(square(mean(square(scan(step, h, xs, {.unroll = 4}).second), 2)));
     }},
    {"OverAnotherAxisUnrolledInReverse",
     [](Array h, Array xs) {
       const auto step = [](Array h, Array x) { return std::pair(h = tanh(h + x), h * 1.5); };
       return sum(square(mean(square(scan(step, h, xs, {.reverse = true, .unroll = 4}).second), 2)));
     }},
};
class HoistedBesideItsStack : public testing::TestWithParam<std::pair<const char*, Loss>> {
 protected:
  static bool has(const Program& p, std::string_view op) {
    return std::ranges::any_of(p.eqns(), [&](const Eqn& eqn) { return eqn.op->name == op; });
  }
  // Whether an eqn reduces what has the steps.
  static bool reduces_stack(const Program& p) {
    return std::ranges::any_of(p.eqns(), [&](const Eqn& eqn) {
      return rule_of<LowerReduction>(*eqn.op) != nullptr &&
             p.type(eqn.in[0]).shape.elements() == kept_xs().shape().elements();
    });
  }
};
TEST_P(HoistedBesideItsStack, WhichIsAResult) {
  const auto with_stack = [&](Array h, Array xs) { return std::pair(GetParam().second(h, xs), stacked(h, xs)); };
  const ProgramRef p = inline_calls(trace(with_stack)(kept_h(), kept_xs())), q = hoist_reductions(p);
  EXPECT_FALSE(reduces_stack(*q)) << q;
  const std::vector<Value> in = waves_for(*p);
  expect_equal(evaluate(*q, {}, in), evaluate(*p, {}, in));
}
TEST_P(HoistedBesideItsStack, OfAGradient) {
  const ProgramRef p = inline_calls(trace(value_and_grad<1>(GetParam().second))(kept_h(), kept_xs()));
  const ProgramRef q = hoist_reductions(p);
  const std::vector<Value> in = waves_for(*p);
  const std::vector<Value> want = evaluate(*p, {}, in);
  expect_equal(evaluate(*q, {}, in), want);
  expect_equal(executor().run(p, {}, in), want);
}
INSTANTIATE_TEST_SUITE_P(Losses, HoistedBesideItsStack, testing::ValuesIn(kept),
                         [](const auto& info) { return std::string(info.param.first); });

TEST(Hoisted, AMaskThatChoosesNone) {
  expect_hoisted(
      trace([](Array h, Array xs) { return var(stacked(h, xs, true), {{0}}, {.where = xs > 5.0}); })(h0(), xs()));
}
// Nothing is added where the mask chooses none, whatever the elements are compared with.
TEST(Hoisted, ExponentialsOfNone) {
  for (const double all : {-HUGE_VAL, HUGE_VAL, std::nan("")}) {
    const auto f = [=](Array h, Array xs) {
      const Array ys = where(xs < 5.0, all, stacked(h, xs));
      const Array terms = exp(ys - amax(ys, Axes(0).keepdims()));
      return sum(where(xs > 5.0, terms, 0.0), {{0}});
    };
    expect_hoisted(trace(f)(h0(), xs()));
  }
}
TEST(Hoisted, InfinitiesThatAMaskLeavesOut) {
  const auto f = [](Array h, Array xs) {
    const Array ys = stacked(h, xs);
    return var(where(ys > 0.0, ys, HUGE_VAL), {}, {.where = ys > 0.0});
  };
  expect_hoisted(trace(f)(h0(), xs()));
}
TEST(Hoisted, LagsOfStepsThatATurnDoes) {
  for (const bool reverse : {false, true}) {
    const auto f = [=](Array h, Array xs) {
      const auto step = [](Array h, Array x) { return std::pair(h = tanh(h + x), h * 1.5); };
      const Array ys = scan(step, h, concatenate({xs, xs}, 0), {.reverse = reverse, .unroll = 2}).second;
      return sum(square(ys(slice(1, 2 * steps)) - ys(slice(0, 2 * steps - 1)))) +
             sum(ys(slice(3, 2 * steps)) * ys(slice(0, 2 * steps - 3)), {{0}});
    };
    expect_hoisted(trace(f)(h0(), xs()));
  }
}
TEST(NotHoisted, RowsOfAllSteps) {  // each step would choose all of them
  const auto f = [](Array h, Array xs) {
    const Array ys = stacked(h, xs);
    Array all = ys(0);
    for (std::int64_t i = 1; i < 12; ++i) all = all * ys(i);
    return all;
  };
  expect_unchanged(trace(f)(h0(), zeros({12, 3}, DType::f64)));
}
TEST(NotHoisted, SumsOfAllThatLargeStepsHave) {  // which threads share behind the loop
  const auto f = [](Array h, Array xs) { return sum(stacked(h, xs), 1); };
  expect_unchanged(trace(f)(zeros({5'000}, DType::f64), zeros({steps, 5'000}, DType::f64)));
}
TEST(NotHoisted, WhatDependsOnTheLoopsEnd) {
  expect_unchanged(trace([](Array h, Array xs) {
    const auto [end, ys] = scan([](Array h, Array x) { return std::pair(h + x, h * x); }, h, xs);
    return sum(ys * end);
  })(h0(), xs()));
}
TEST(NotHoisted, StrictNumerics) {
  const ProgramRef p = trace([](Array h, Array xs) { return sum(stacked(h, xs)); })(h0(), xs());
  ProgramParts parts = p->parts();
  for (Eqn& eqn : parts.eqns) eqn.numerics = Numerics::strict;
  expect_unchanged(Program::finish(std::move(parts)));
}

// Sizes may be symbols.
TEST(Hoisted, OfAnyNumberOfSteps) {
  const ProgramRef p = vmap(trace([](Array h) { return sum(stacked(h, zeros({steps, 3}, DType::f64))); })(h0()), {true},
                            {true}, Dim::variable(0));
  const ProgramRef q = hoist_reductions(inline_calls(p));
  const std::vector<Value> in{waves(Type::array(DType::f64, {Dim(5), Dim(3)}))};
  const std::int64_t size[]{5};
  expect_equal(evaluate(*q, size, in), evaluate(*p, size, in));
  EXPECT_EQ(print(*q).find("f64[7,s0,3] = loop"), std::string::npos) << q;
}

// A step's part of a slice of the steps is the part itself: one nest computes the step and takes it in.
TEST(Hoisted, LaterStepsAreNoSliceOfAStep) {
  const ProgramRef p =
      trace([](Array h, Array xs) { return sum(square(stacked(h, xs)(slice(2, steps)))); })(h0(), xs());
  const std::string text = print(*hoist_reductions(inline_calls(p)));
  EXPECT_EQ(text.find("slice"), std::string::npos) << text;
}

// --- passes ---
// No step, no elements: an axis of the flat stack has as many as the steps, and is none of theirs.
TEST(NotHoisted, FlatStacksOfNoSteps) {
  const auto f = [](Array x) {
    const auto step = [](Array c, std::tuple<>) { return std::pair(c, broadcast_to(c, {4})); };
    return sum(reshape(scan(step, x, std::tuple<>(), {.length = 0}).second, {0}));
  };
  EXPECT_EQ(jit(f)(Array(2.f)).item<float>(), 0.f);
  EXPECT_TRUE(array_equal(jit(vmap(f))(Array{1.f, 2.f}), Array{0.f, 0.f}));
}

TEST(Pass, MustKeepTheTypes) {
  const ProgramPass wrong{"wrong", "gives another type",
                          [](const ProgramRef& p) { return jvp(p, Mask{true, true}, Mask{true}); }};
  const ProgramRef p = trace([](Array x, Array y) { return x * y; })(1.f, 2.f);
  try {
    run_pass(wrong, p);
    FAIL();
  } catch (const VerifyError& e) {
    EXPECT_NE(std::string(e.what()).find("the pass wrong has changed the types"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tenon
