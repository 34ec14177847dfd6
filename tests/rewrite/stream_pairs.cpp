// Reductions over pairs: nothing as large as all pairs is left, and results stay what they were.
#include "tenon/rewrite/stream_pairs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/ir/recurse.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/control/region.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/hoist_reductions.h"
#include "tenon/rewrite/simplify.h"
#include "tenon/tenon.h"
#include "tenon/transform/gradient.h"
#include "tests/fuzzing.h"
#include "tests/rewrite/pairs.h"

namespace tenon {
namespace {

ProgramRef streamed(const ProgramRef& p) { return hoist_reductions(stream_pairs(p)); }

Array gaussian(const Array& x, const Array& y) { return exp(-squared_distances(x, y)); }

using Reduction = Array (*)(Array x, Array y, Array b);
const std::vector<std::pair<const char*, Reduction>> reductions{
    {"Product", [](Array x, Array y, Array b) { return dot(gaussian(x, y), b); }},
    {"ProductOfTheOtherSide", [](Array x, Array y, Array b) { return dot(b, transpose(gaussian(x, y))); }},
    {"AlongTheRows", [](Array x, Array y, Array b) { return dot(x(all, 0), gaussian(x, y)) + b; }},
    {"Sum", [](Array x, Array y, Array b) { return sum(gaussian(x, y) * b, 1); }},
    {"SumOfAll", [](Array x, Array y, Array) { return sum(gaussian(x, y)); }},
    {"SumOverTheFirstAxis", [](Array x, Array y, Array) { return sum(sqrt(squared_distances(x, y) + 0.1), {{0}}); }},
    {"Columns", [](Array x, Array y, Array b) { return dot(gaussian(x, y), stack({b, b * b, cos(b)}, 1)); }},
    {"ColumnsInFront",
     [](Array x, Array y, Array b) { return einsum("ij,cj->ci", gaussian(x, y), stack({b, b * b})); }},
    {"Sums",
     [](Array x, Array y, Array b) {
       const Array k = gaussian(x, y);
       return sum(dot(k, b)) + sum(cos(sum(k, {{0}})));
     }},
    {"AlongBothSides",  // other ways of combining, and what is longer: some lanes of the last part are not there
     [](Array x, Array y, Array b) {
       const Array k = gaussian(x, concatenate({y, y + 1.0}, 0)), columns = stack({x(all, 0), cos(x(all, 1))});
       const Array lines = concatenate({b, -b}, 0) * sum(dot(columns, k), {{0}}) + prod(1.0 - 0.001 * k, {{0}});
       return dot(k, stack({lines, amin(k, {{0}})}, 1)) +
              expand_dims(amax(k - lines, 1) + convert(any(k > 0.9, 1), DType::f64), 1);
     }},
    {"AlongBothSidesInF16",
     [](Array x, Array y, Array b) {
       const Array k = gaussian(convert(x, DType::f16), convert(y, DType::f16));
       return mean(dot(k, convert(b, DType::f16))) + mean(square(0.01 * sum(k, {{0}})));
     }},
    {"AlongBothSidesOfComplexNumbers",
     [](Array x, Array y, Array b) {
       const Array z = exp(complex(zeros({M, N}, DType::f64), -squared_distances(x, y)));
       return real(dot(z, complex(b, b))) * real(sum(prod(1.0 + 0.001 * z, {{0}})));
     }},
    {"Vectors",
     [](Array x, Array y, Array) {
       const Shape all{M, N, D};
       const Array off = broadcast_in_dim(x, all, {0, 2}) - broadcast_in_dim(y, all, {1, 2});
       return sum(off / broadcast_in_dim(squared_distances(x, y) + 0.1, all, {0, 1}), 1);
     }},
    {"Max", [](Array x, Array y, Array b) { return amax(b - squared_distances(x, y), 1); }},
    {"Min", [](Array x, Array y, Array) { return amin(squared_distances(x, y), {{0}}); }},
    {"Prod", [](Array x, Array y, Array) { return prod(1.0 - 0.001 * gaussian(x, y), 1); }},
    {"Any", [](Array x, Array y, Array) { return convert(any(squared_distances(x, y) < 0.01, 1), DType::f64); }},
    {"LogSumExp", [](Array x, Array y, Array b) { return logsumexp(b - squared_distances(x, y), 1); }},
    {"LogSumExpTwice",
     [](Array x, Array y, Array b) {
       const Array f = logsumexp(b - squared_distances(x, y), 1);
       return logsumexp(broadcast_in_dim(f, {M, N}, {0}) - squared_distances(x, y), {{0}});
     }},
    {"Variance", [](Array x, Array y, Array) { return var(sqrt(squared_distances(x, y) + 0.1), 1); }},
    {"ArgMin", [](Array x, Array y, Array) { return convert(argmin(squared_distances(x, y), 1), DType::f64); }},
    {"ArgMax", [](Array x, Array y, Array) { return convert(argmax(squared_distances(x, y), {{0}}), DType::f64); }},
    {"LeastAndWhere",
     [](Array x, Array y, Array) {
       const Array d = squared_distances(x, y);
       return amin(d, 1) * convert(argmin(d, 1), DType::f64);
     }},
    {"ArgMinOfEquals",
     [](Array x, Array y, Array) { return convert(argmin(floor(squared_distances(x, y)), 1), DType::f64); }},
    {"ArgMaxOfNaNs",
     [](Array x, Array y, Array) {
       const Array d = squared_distances(x, y);
       return convert(argmax(where((d > 0.2) & (d < 0.2001), std::nan(""), d), 1), DType::f64);
     }},
    {"WhereTheLargestIntegerLies",
     [](Array x, Array y, Array) {
       const Array d = squared_distances(convert(x * 9.0, DType::i32), convert(y * 9.0, DType::i32));
       return convert(argmax(d, {{0}}), DType::f64);
     }},
    {"LogSumExpOfInfinities",
     [](Array x, Array y, Array b) {
       const Array d = squared_distances(x, y);
       return logsumexp(where(d > 0.01 * cos(b), -std::numeric_limits<double>::infinity(), d), 1);
     }},
    {"LogSumExpOverTheFirstAxis",
     [](Array x, Array y, Array b) {
       const Array z = b - squared_distances(x, y), most = amax(z, {{0}});
       return logsumexp(z, {{0}}) + most;
     }},
    {"WithoutTheDiagonal",
     [](Array x, Array, Array) {
       const Array others = broadcast_in_dim(arange(M), {M, M}, {0}) != broadcast_in_dim(arange(M), {M, M}, {1});
       return sum(where(others, rsqrt(squared_distances(x, x) + 0.1), 0.0), 1);
     }},
    {"InnerProducts", [](Array x, Array y, Array b) { return dot(exp(0.1 * dot(x, transpose(y))), b); }},
    {"OfProductsOfTwo",
     [](Array x, Array y, Array) { return einsum("ij,ij->i", gaussian(x, y), sqrt(squared_distances(x, y) + 0.1)); }},
    {"InF32",
     [](Array x, Array y, Array b) {
       return dot(gaussian(convert(x, DType::f32), convert(y, DType::f32)), convert(b, DType::f32));
     }},
    {"InF16",
     [](Array x, Array y, Array b) {
       return sum(gaussian(convert(x, DType::f16), convert(y, DType::f16)) * convert(b, DType::f16), 1);
     }},
    {"OfIntegers",
     [](Array x, Array y, Array) {
       return sum(squared_distances(convert(x * 9.0, DType::i32), convert(y * 9.0, DType::i32)), 1);
     }},
    {"OfComplexNumbers",
     [](Array x, Array y, Array b) {
       const Array z = exp(complex(zeros({M, N}, DType::f64), -squared_distances(x, y)));
       return real(dot(z, complex(b, b)));
     }},
    {"TheFiveNearest",
     [](Array x, Array y, Array b) {
       const TopK found = top_k(-squared_distances(x, y), 5);
       return found.values * sum(b) + convert(found.indices, DType::f64);
     }},
    {"TheSixteenLargestProducts",
     [](Array x, Array y, Array) { return sum(top_k(dot(x, transpose(y)), 16).values, 1); }},
    {"PlacesOfTheNearestOfEqualOnes",  // and of infinities and NaNs
     [](Array x, Array y, Array b) {
       const Array d = log(floor(3.0 * squared_distances(x, y)) - 1.0) * floor(b + 1.5);
       return convert(top_k(convert(d, DType::f32), 7).indices, DType::f64);
     }},
    {"TheNearestOfASort",
     [](Array x, Array y, Array b) {
       const Array d = log(floor(3.0 * squared_distances(x, y)) - 1.0) * floor(b + 1.5);
       return convert(slice_in_dim(argsort(d), 0, 7, -1), DType::f64);
     }},
    {"TheLeastAmongFewNumbers",  // the others are infinite or NaN
     [](Array x, Array y, Array b) {
       const Array j = broadcast_in_dim(arange(N), {M, N}, {1}), d = squared_distances(x, y) + b;
       const Array few = where(j < 3, d, where(j < 5, INFINITY, NAN));
       return convert(top_k(few, 9, {.smallest = true}).indices, DType::f64);
     }},
    {"TheThreeLargestIntegers",
     [](Array x, Array y, Array) {
       return top_k(squared_distances(convert(x * 9.0, DType::i32), convert(y * 9.0, DType::i32)), 3).values;
     }},
    {"OfTransposes", [](Array x, Array y, Array b) { return sum(transpose(gaussian(x, y)), {{0}}) * sum(b); }},
    {"ATenthLaterInALoop",
     [](Array x, Array y, Array b) {
       const auto step = [&](Array x, std::tuple<>) {
         return std::pair(x + 0.1 * broadcast_in_dim(dot(gaussian(x, y), b), {M, D}, {0}), std::tuple<>());
       };
       return scan(step, x, std::tuple<>(), {.length = 2}).first;
     }},
};

class Pairs : public testing::TestWithParam<std::pair<const char*, Reduction>> {
 protected:
  ProgramRef program() const {
    return simplify(compose_views(inline_calls(trace(GetParam().second)(x0(), y0(), b0()))));
  }
};
// Evaluates what the passes made of a Program, and the Program. The evaluator takes seconds for all pairs under
// sanitizers, and what it computes is the same on every processor: repetitions leave it out.
void expect_same_evaluated(const ProgramRef& p, const ProgramRef& q) {
  if (fuzzing::is_repetition()) return;
  const std::vector<Value> in = waves_for(*p);
  expect_same_results(p, evaluate(*q, {}, in), in);
}
// No array of all pairs is left, and results are the same, evaluated and compiled.
void expect_streamed(const ProgramRef& p, bool evaluated = true) {
  const ProgramRef q = streamed(p);
  EXPECT_EQ(of_all_pairs(*q), 0) << q;
  const std::vector<Value> in = waves_for(*p), want = evaluate(*p, {}, in);
  if (evaluated) expect_close(p, evaluate(*q, {}, in), want);
  expect_close(p, executor().run(p, {}, in), want);
}
TEST_P(Pairs, AreNotStored) {
  const ProgramRef p = program(), q = streamed(p);
  expect_streamed(p, !fuzzing::is_repetition());
  EXPECT_EQ(stream_pairs(q)->hash(), q->hash());  // nothing is left to do
}
TEST_P(Pairs, TheirDerivativesAreTheSame) {
  const ProgramRef p = program();
  if (!has_tangent(p->output_types()[0])) return;
  const Mask in{true, true, true}, out{true};
  const ProgramRef forward = compose_views(inline_calls(jvp(p, in, out)));
  expect_same_evaluated(forward, streamed(forward));
  const ProgramRef back = compose_views(inline_calls(pullback(p, in, out)));
  expect_same_evaluated(back, streamed(back));
}
// Of lanes, and of the tangents of derivatives.
TEST_P(Pairs, TheirLanesAndSecondDerivativesAreTheSame) {
  const ProgramRef p = program();
  const Mask in{true, true, true}, out{true};
  const ProgramRef lanes = compose_views(inline_calls(vmap(p, in, out, Dim(2))));
  expect_same_evaluated(lanes, streamed(lanes));
  if (!has_tangent(p->output_types()[0])) return;
  const ProgramRef back = inline_calls(pullback(p, in, out));
  const auto differentiable = [](const std::vector<Type>& types) {
    Mask mask;
    for (const Type& type : types) mask.push_back(has_tangent(type));
    return mask;
  };
  const ProgramRef second =
      compose_views(inline_calls(jvp(back, differentiable(back->input_types()), differentiable(back->output_types()))));
  expect_same_evaluated(second, streamed(second));
}
INSTANTIATE_TEST_SUITE_P(Reductions, Pairs, testing::ValuesIn(reductions),
                         [](const auto& info) { return std::string(info.param.first); });

// In any number of dimensions: what has one element for each pair is far less than what has one for each of them.
TEST(Pairs, OfGradientsAreNotStored) {
  const auto loss = [](Array x, Array y, Array b) { return sum(square(dot(gaussian(x, y), b))); };
  for (const std::int64_t dimensions : {D, std::int64_t(17)}) {
    const Array x = zeros({M, dimensions}, DType::f64), y = zeros({N, dimensions}, DType::f64);
    const ProgramRef p = compose_views(inline_calls(trace(value_and_grad<0, 1, 2>(loss))(x, y, b0())));
    const ProgramRef q = streamed(p);
    EXPECT_EQ(of_all_pairs(*q), 0) << q;
    expect_same_evaluated(p, q);
  }
}
// In a space of many dimensions, for batches, and beside other reductions of the same distances.
// Signs and twos of all terms are taken behind the sums: what is computed of a pair has none.
TEST(Pairs, SumsLeaveFactorsOut) {
  const auto f = [](const Array& x, const Array& y) {
    const Shape all{M, N, D};
    const Array off = broadcast_in_dim(x, all, {0, 2}) - broadcast_in_dim(y, all, {1, 2});
    const Array k = broadcast_in_dim(gaussian(x, y), all, {0, 1}), twice = off + off;
    return std::tuple(sum(-(k * twice), 1), sum(k * (-twice) * -off, {{0}}), sum((twice + twice) * k, {{0}}));
  };
  const ProgramRef p = compose_views(inline_calls(trace(f)(x0(), y0()))), q = streamed(p);
  EXPECT_EQ(of_all_pairs(*q), 0) << q;
  int inside = 0;
  for (const Eqn& eqn : q->eqns()) {
    if (eqn.op != &loop_op()) continue;
    const Program& body = *eqn.params.as<LoopParams>().body;
    for (const Eqn& e : body.eqns())  // the one in front of exp is no factor
      inside += (e.op->name == "neg" && body.type(e.out[0]).rank() > 2) || (e.op->name == "add" && e.in[0] == e.in[1]);
  }
  EXPECT_EQ(inside, 0) << q;
  const std::vector<Value> in = waves_for(*p);
  expect_same_results(p, evaluate(*q, {}, in), in);
  expect_same_results(p, executor().run(p, {}, in), in);
}
// What reads the pairs by rows of x and by rows of y is of one loop: the exponentials are computed once.
TEST(Pairs, OfBothSidesShareALoop) {
  const auto loss = [](const Array& x, const Array& y, const Array& b) { return sum(dot(gaussian(x, y), b)); };
  for (const auto& [n, dimensions] : {std::pair(M, D), std::pair(N, D), std::pair(N, std::int64_t(9))}) {
    const Array x = zeros({M, dimensions}, DType::f64), y = zeros({n, dimensions}, DType::f64),
                b = zeros({n}, DType::f64);
    const ProgramRef p = compose_views(inline_calls(trace(grad<0, 1, 2>(loss))(x, y, b))), q = streamed(p);
    EXPECT_EQ(std::ranges::count_if(q->eqns(), [](const Eqn& eqn) { return eqn.op == &loop_op(); }), 1) << q;
    for (const Eqn& eqn : q->eqns()) {
      if (eqn.op != &loop_op()) continue;
      const auto is_exp = [](const Eqn& e) { return e.op->name == "exp"; };
      EXPECT_EQ(std::ranges::count_if(eqn.params.as<LoopParams>().body->eqns(), is_exp), 1) << q;
    }
    expect_streamed(p);
  }
}
TEST(Pairs, NearestOnesBesideOthers) {
  const auto f = [](Array x, Array y, Array b) {
    const Array d = squared_distances(x, y);
    const TopK found = top_k(d, 10, {.smallest = true});
    return std::tuple(found.values, found.indices, dot(exp(-d), b), amin(d, 1), argmin(d, 1), top_k(d, 2).values);
  };
  for (const std::int64_t dimensions : {D, std::int64_t(17)})
    expect_streamed(compose_views(inline_calls(
                        trace(f)(zeros({M, dimensions}, DType::f64), zeros({N, dimensions}, DType::f64), b0()))),
                    !fuzzing::is_repetition());
}
// So many are not written out, and all distances are stored.
TEST(NotPairs, ManyNearest) {
  const auto f = [](Array x, Array y) { return top_k(-squared_distances(x, y), 40).indices; };
  EXPECT_GT(of_all_pairs(*streamed(compose_views(inline_calls(trace(f)(x0(), y0()))))), 0);
}
// Rows that are too long for registers: blocks of lanes, the last of which has fewer.
TEST(Pairs, OfLongRows) {
  const auto f = [](Array x, Array y, Array b) {
    const Array d = squared_distances(x, y), k = exp(-d);
    return std::tuple(dot(k, b), amin(d, 1), argmin(d, 1), logsumexp(b - d, 1), sum(sum(k, {{0}})),
                      dot(b, transpose(k)));
  };
  const ProgramRef p = compose_views(
      inline_calls(trace(f)(zeros({M, 17}, DType::f64), zeros({N, 17}, DType::f64), zeros({N}, DType::f64))));
  expect_streamed(p);
}
// Blocks of products of matrices.
TEST(Pairs, OfProductsOfLongRows) {
  const auto loss = [](Array x, Array y, Array v) {
    const Array near = exp(0.1 * dot(x, transpose(y)) - 0.05 * sum(square(y), 1));
    return sum(square(dot(near, v))) + sum(near);
  };
  const auto dtype = DType::f64;
  const ProgramRef p = compose_views(
      inline_calls(trace(grad<0, 2>(loss))(zeros({M, 32}, dtype), zeros({N, 32}, dtype), zeros({N, 16}, dtype))));
  expect_streamed(p);
}
// Such blocks sum every axis but the lanes, not the steps' alone.
TEST(Pairs, OfProductsThatSumTwoAxes) {
  const auto f = [](const Array& x, const Array& y, const Array& v) {
    const Shape all{M, N, D};
    const Array off = broadcast_in_dim(x, all, {0, 2}) - broadcast_in_dim(y, all, {1, 2});
    return einsum("ijk,jkc->ic", exp(-square(off)), v);
  };
  expect_streamed(compose_views(inline_calls(trace(f)(x0(), y0(), zeros({N, D, 16}, DType::f64)))));
}
TEST(Pairs, OfBatches) {
  const auto f = [](Array x, Array y, Array b) { return dot(gaussian(x, y), b); };
  const auto three = [](const Array& x) {
    return broadcast_in_dim(x, x.shape().with_axis(0, 3),
                            x.rank() == 1 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, 2});
  };
  const ProgramRef p = compose_views(inline_calls(trace(vmap(f))(three(x0()), three(y0()), three(b0()))));
  const ProgramRef q = streamed(p);
  EXPECT_EQ(of_all_pairs(*q), 0) << q;
  expect_same_evaluated(p, q);
}

// --- what stays as it is ---
void expect_unchanged(const ProgramRef& program) {
  const ProgramRef p = compose_views(inline_calls(program));
  EXPECT_EQ(stream_pairs(p)->hash(), p->hash()) << stream_pairs(p);
}
TEST(NotPairs, WhatIsAnOutputToo) {
  expect_unchanged(trace([](Array x, Array y, Array b) {
    const Array k = gaussian(x, y);
    return std::pair(k, dot(k, b));
  })(x0(), y0(), b0()));
}
TEST(NotPairs, WhatOneNestComputes) {
  expect_unchanged(trace([](Array x, Array b) {
    return sum(exp(-square(broadcast_in_dim(x, {M, N}, {0}) - broadcast_in_dim(b, {M, N}, {1}))), 1);
  })(zeros({M}, DType::f64), b0()));
}
// The distances that a gradient compares with the least of them are those that it was the least of: sums in another
// order would differ from it.
TEST(NotPairs, WhatIsComparedWithItsExtremum) {
  const auto least = [](Array x, Array y) { return sum(amin(squared_distances(x, y), 1)); };
  const auto mask = [](Array x, Array y) {
    const Array d = squared_distances(x, y);
    return std::tuple(d >= expand_dims(amax(d, 1), 1), amin(d, 0));
  };
  constexpr std::int64_t points = 1000, centres = 50, dimensions = 16;
  const auto drawn = [](std::int64_t rows, double by) {
    return sin(by * reshape(square(arange(rows * dimensions, DType::f64)), {rows, dimensions}));
  };
  const Array x = drawn(points, 0.37), y = drawn(centres, 0.11);
  const auto one_of = [](Array a, Array b) { return one_hot(argmin(squared_distances(a, b), 1), centres, DType::f64); };
  const Array nearest = jit(one_of)(x, y);
  const Array slope = 2. * (expand_dims(sum(nearest, 0), 1) * y - dot(transpose(nearest), x));
  const Array got = jit(grad<1>(least))(x, y);
  EXPECT_LT(amax(abs(got - slope)).item<double>(), 1e-10);
  EXPECT_EQ(sum(convert(std::get<0>(jit(mask)(x, y)), DType::i64)).item<std::int64_t>(), points);
}
TEST(NotPairs, FewOfThem) {
  expect_unchanged(trace([](Array x, Array y, Array b) { return dot(gaussian(x, y), b); })(
      zeros({100, D}, DType::f64), zeros({90, D}, DType::f64), zeros({90}, DType::f64)));
}
TEST(NotPairs, StrictNumerics) {
  const ProgramRef p = trace([](Array x, Array y, Array b) { return dot(gaussian(x, y), b); })(x0(), y0(), b0());
  ProgramParts parts = p->parts();
  for (Eqn& eqn : parts.eqns) eqn.numerics = Numerics::strict;
  expect_unchanged(Program::finish(std::move(parts)));
}
TEST(NotPairs, MatricesThatAreGiven) {
  expect_unchanged(trace([](Array k, Array b) { return dot(k, b); })(zeros({M, N}, DType::f64), b0()));
}

}  // namespace
}  // namespace tenon
