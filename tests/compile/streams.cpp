// Reductions of what loops stack, through all passes: nothing as large as the stack is made.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/compile/pipeline.h"
#include "tenon/rewrite/pass.h"
#include "tenon/transform/transforms.h"
#include "tests/fuzzing.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t stream_steps = 12, stream_rows = 5, stream_width = 7;

Array stream_of(const Array& h, const Array& xs, const ScanOptions& options = {}) {
  return scan(sine_step, h, xs, options).second;
}
// Of one lane a row.
template <class F>
Array of_lanes(F of, const Array& h, const Array& xs) {
  const auto one = [&](const Array& h, const Array& xs) { return of(stream_of(h, xs)); };
  return vmap(one, {.in_axes = {0, 1}})(h, xs);
}

struct StreamedCase {
  const char* name;
  std::function<Array(const Array& h, const Array& xs)> f;  // [rows, width], [steps, rows, width]
  bool varies = true;                                       // whether it takes other sizes, too
};
Array with_rows(const Array& x) { return expand_dims(x, 1); }

const StreamedCase streamed_cases[]{
    {"MeanSquare", [](const Array& h, const Array& xs) { return mean(square(stream_of(h, xs))); }},
    {"OverSteps", [](const Array& h, const Array& xs) { return prod(stream_of(h, xs), 0); }},
    {"OverWhatStepsHave", [](const Array& h, const Array& xs) { return sum(stream_of(h, xs), {1, 2}); }},
    {"LogSumExp", [](const Array& h, const Array& xs) { return logsumexp(stream_of(h, xs), 0); }},
    {"LogSumExpOfWeights",
     [](const Array& h, const Array& xs) { return nn::logsumexp(stream_of(h, xs), 0, {.weights = max(xs, 0.0)}); }},
    {"Variance", [](const Array& h, const Array& xs) { return var(stream_of(h, xs), 0); }},
    {"ArgMax", [](const Array& h, const Array& xs) { return argmax(stream_of(h, xs), 0); }},
    {"ArgMaxOfAll", [](const Array& h, const Array& xs) { return argmax(stream_of(h, xs)); }},
    {"ArgMinOfRows", [](const Array& h, const Array& xs) { return argmin(stream_of(h, xs), 2); }},
    {"OfLanes",
     [](const Array& h, const Array& xs) { return of_lanes([](const Array& ys) { return var(ys, 0); }, h, xs); }},
    {"LogSumExpOfLanes",
     [](const Array& h, const Array& xs) { return of_lanes([](const Array& ys) { return logsumexp(ys, 0); }, h, xs); }},
    {"ArgMaxOfLanes",
     [](const Array& h, const Array& xs) { return of_lanes([](const Array& ys) { return argmax(ys, 0); }, h, xs); }},
    {"OfLanesOfTheSecondAxis",
     [](const Array& h, const Array& xs) {
       const auto one = [](const Array& h, const Array& xs) { return mean(square(stream_of(h, xs)), 0); };
       return vmap(one, {.in_axes = {1, 2}, .out_axes = 1})(h, xs);
     }},
    {"Unrolled", [](const Array& h, const Array& xs) { return mean(square(stream_of(h, xs, {.unroll = 4}))); }},
    {"Reverse", [](const Array& h, const Array& xs) { return argmin(stream_of(h, xs, {.reverse = true}), 0); }},
    {"OfChunks",
     [](const Array& h, const Array& xs) {
       const auto chunk = [](const Array& c, const Array& x) { return scan(sine_step, c, x); };
       return var(scan(chunk, h, reshape(xs, {3, stream_steps / 3, stream_rows, stream_width})).second, {0, 1});
     }},
    {"OfWrittenRows",
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& i, const std::pair<Array, Array>& c) {
         const Array next = sin(c.first + xs(i));
         return std::pair(next, c.second.at(i).set(next));
       };
       const Array rows = fori_loop(0, stream_steps, step, std::pair(h, zeros_like(xs))).second;
       return mean(square(rows));
     }},
    {"AFewStepsATurn",  // and what is left
     [](const Array& h, const Array& xs) { return var(stream_of(h, xs, {.unroll = 5}), 0); }},
    {"AFewStepsATurnOfLanes",
     [](const Array& h, const Array& xs) {
       const auto one = [](const Array& h, const Array& xs) { return var(stream_of(h, xs, {.unroll = 5}), 0); };
       return vmap(one)(h, transpose(xs, {1, 0, 2}));
     }},
    {"OfAPathWithItsBegin",
     [](const Array& h, const Array& xs) {
       const Array path = concatenate({expand_dims(h, 0), stream_of(h, xs)}, 0);
       return sum(square(diff(path, 1, 0)), {1, 2}) + mean(path) + amax(path);
     }},
    {"OfPathsOfLanes",
     [](const Array& h, const Array& xs) {
       const auto one = [](const Array& h, const Array& xs) {
         const Array path = concatenate({expand_dims(h, 0), stream_of(h, xs)}, 0);
         return logsumexp(path(slice(1, none)) * path(slice(0, -1)), 0) + sum(path(slice(0, -1)) * xs, 0);
       };
       return vmap(one, {.in_axes = {0, 1}})(h, xs);
     }},
    {"OfStepsBeforeThese",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs), before = concatenate({expand_dims(h, 0), ys(slice(0, -1))}, 0);
       return sum(before * ys, 0) + einsum("t,tbd->bd", xs(all, 0, 0), ys) + ys(-1);
     }},
    {"LabelsOfEachStep",
     [](const Array& h, const Array& xs) {
       const Array labels = reshape(arange(stream_steps * stream_rows) % stream_width, {stream_steps, stream_rows, 1});
       return -mean(take_along_axis(nn::log_softmax(stream_of(h, xs)), labels, 2));
     }},
    {"LabelsThatTheStepsMake",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs);
       return sum(take_along_axis(ys, expand_dims(argmin(xs * ys, 2), 2), 2), 0);
     }},
    {"LabelsOfLanes",
     [](const Array& h, const Array& xs) {
       const auto one = [](const Array& h, const Array& xs, const Array& label) {
         return sum(take_along_axis(stream_of(h, xs), broadcast_to(label, {stream_steps, 1}), 1));
       };
       return vmap(one, {.in_axes = {0, 1, 0}})(h, xs, arange(stream_rows) % 3);
     }},
    {"WeightedSumsOfABatch",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs), weights = xs(all, all, 2);
       return einsum("tbd,tb->bd", ys, weights) * einsum("tbd,tb->d", cos(ys), weights);
     }},
    {"RowsThatIndicesChoose",
     [](const Array& h, const Array& xs) {
       const auto row = [](const Array& y, const Array& i) { return y(i); };
       return sum(vmap(row)(stream_of(h, xs), arange(stream_steps) % stream_rows), 0);
     }},
    {"VarianceUnderAMask",
     [](const Array& h, const Array& xs) { return var(stream_of(h, xs), 0, {.where = xs > 0.1}); }},
    {"VarianceOfStepsUnderAMask",
     [](const Array& h, const Array& xs) {
       const Array mask = broadcast_to(reshape(xs(all, 0, 0) > 0.0, {stream_steps, 1, 1}), xs.shape());
       return var(stream_of(h, xs) + 1e3, {0, 2}, {.where = mask});
     }},
    {"ExponentialsUnderAMask",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs);
       return sum(where(xs > 0.0, exp(ys * 100.0 - amax(ys, 0)), 0.0), 0);
     }},
    {"OfTheBranchThatIsTaken",
     [](const Array& h, const Array& xs) {
       const Array ys = cond(
           h(0, 0) > 0.0, [](const Array& h, const Array& xs) { return stream_of(h, xs); },
           [](const Array& h, const Array& xs) { return stream_of(-h, xs * 2.0) - 1.0; }, h, xs);
       return mean(square(ys - xs));
     }},
    {"OfRowsThatAreMadeOfTheRowBefore",
     [](const Array& h, const Array& xs) {
       const Array begin = zeros({stream_steps + 1, stream_rows, stream_width}, DType::f64).at(0).set(h);
       const auto step = [&](const Array& i, const Array& rows) { return rows.at(i + 1).set(sin(rows(i) + xs(i))); };
       return mean(square(fori_loop(0, stream_steps, step, begin)));
     }},
    {"OfRowsThatAreMadeOfTwoBefore",
     [](const Array& h, const Array& xs) {
       const Array begin =
           concatenate({xs(slice(0, 2)), zeros({stream_steps, stream_rows, stream_width}, DType::f64)}, 0);
       const auto step = [&](const Array& i, const Array& rows) {
         return rows.at(i).set(2.0 * rows(i - 1) - rows(i - 2) - 0.1 * sin(rows(i - 1)) + 0.1 * h);
       };
       return var(fori_loop(2, stream_steps + 2, step, begin), 0);
     }},
    {"OfRowsWrittenFromTheLast",  // made of the row behind, as values of a finite horizon are
     [](const Array& h, const Array& xs) {
       const Array end = zeros({stream_steps + 1, stream_rows, stream_width}, DType::f64).at(stream_steps).set(h);
       const auto step = [&](const Array& k, const Array& rows) {
         const Array i = stream_steps - 1 - k;
         return rows.at(i).set(sin(rows(i + 1) + xs(i)));
       };
       return mean(square(fori_loop(0, stream_steps, step, end)));
     }},
    {"OfRowsAddedToZeros",
     [](const Array& h, const Array& xs) {
       const Array begin = zeros({stream_steps + 1, stream_rows, stream_width}, DType::f64).at(0).set(h);
       const auto step = [&](const Array& i, const Array& rows) { return rows.at(i + 1).add(sin(rows(i) + xs(i))); };
       return mean(square(fori_loop(0, stream_steps, step, begin)));
     }},
    {"StepsInReverse",
     [](const Array& h, const Array& xs) {
       const Array ys = flip(stream_of(h, xs), {0});
       return sum(ys * xs, 0) + var(ys(slice(0, 7)), 0) + ys(2) + convert(argmax(ys, 0), DType::f64);
     }},
    {"AmongNumbers",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs), all = pad(ys, 0.5, {2, 0, 0}, {1, 0, 0});
       return sum(square(all(slice(1, none)) - all(slice(0, -1))), 0) + amax(pad(ys, -3.0, {0, 0, 0}, {4, 0, 0}), 0);
     }},
    {"AttentionOverTheSteps",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs);
       return einsum("tb,tbd->bd", softmax(matmul(ys, xs(0, 0)), 0), ys);
     }},
    {"AttentionAsASum",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs), weights = softmax(sum(ys * h(0), 2) * 30.0, 0);
       return sum(expand_dims(weights, 2) * cos(ys), {0, 1});
     }},
    {"AttentionUnderAMask",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs);
       const Array scores = where(xs(all, all, 0) > -0.5, sum(ys, 2), -std::numeric_limits<double>::infinity());
       return sum(expand_dims(softmax(scores, 0), 2) * ys, 0);
     }},
    {"AttentionToOtherSteps",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs);
       return einsum("tb,td->db", softmax(ys(all, all, 0) * 3.0, 0), ys(all, 1));
     }},
    {"AttentionOfLanes",
     [](const Array& h, const Array& xs) {
       const auto one = [](const Array& h, const Array& xs) {
         const Array ys = stream_of(h, xs);
         return matmul(softmax(matmul(ys, h), 0), ys);
       };
       return vmap(one, {.in_axes = {0, 1}})(h, xs);
     }},
    {"SoftmaxWeights",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs) * 40.0;
       return sum(softmax(ys, 0) * xs, 0) + sum(softmax(ys, 0) * ys) + logsumexp(ys, 0);
     }},
    {"Entropy",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs) * 5.0;
       return -sum(softmax(ys, {0, 2}) * log_softmax(ys, {0, 2}), {0, 2});
     }},
    {"ThirdMoment",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs) + 10.0;
       return mean(pow(ys - mean(ys, 0), 3), 0);
     }},
    {"Kurtosis",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs), off = ys - mean(ys, {0, 1});
       return mean(pow(off, 4), {0, 1}) / square(var(ys, {0, 1}));
     }},
    {"CovarianceOfTwo",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs), zs = cos(ys * 2.0);
       return mean((ys - mean(ys, 0)) * (zs - mean(zs, 0)), 0);
     }},
    {"WeightedSquaresUnderAMask",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs);
       return sum(where(xs > 0.0, square(ys - mean(ys, 0)) * xs, 0.25), 0);
     }},
    {"WeightedExponentialsInReverse",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs, {.reverse = true, .unroll = 3});
       return sum(exp(ys - amax(ys, 0)) / (2.0 + xs), 0);
     }},
    {"EveryOtherStep",
     [](const Array& h, const Array& xs) { return mean(square(stream_of(h, xs)(slice(0, none, 2)))); }},
    {"EveryThirdStepOfProducts",
     [](const Array& h, const Array& xs) {
       const Array some = (stream_of(h, xs) * xs)(slice(1, none, 3));
       return var(some, 0) + logsumexp(some, 0) + some(2);
     }},
    {"DifferencesOfEveryOtherStep",
     [](const Array& h, const Array& xs) {
       const Array some = stream_of(h, xs)(slice(1, none, 2));
       return sum(square(diff(some, 1, 0)) * xs(slice(2, none, 2)), 0) + convert(argmax(some, 0), DType::f64);
     }},
    {"OfWindows",  // of three steps each
     [](const Array& h, const Array& xs) {
       const Array windows = reshape(square(stream_of(h, xs)), {stream_steps / 3, 3, stream_rows, stream_width});
       return mean(windows, 1) + amax(windows, Axes{1, 3}.keepdims())(all, 0);
     },
     false},
    {"OfWindowsAndOfAllSteps",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, sin(xs), {.reverse = true});
       return var(reshape(ys, {stream_steps / 4, 4, stream_rows, stream_width}), 1) + sum(abs(ys), 0);
     },
     false},
    {"OfTheInnerOfTwoLoops",
     [](const Array& h, const Array& xs) {
       const auto chunk = [](const Array& c, const Array& x) {
         const auto [last, ys] = scan(sine_step, c, x);
         return std::pair(last, logsumexp(ys, 0));
       };
       return scan(chunk, h, reshape(xs, {3, stream_steps / 3, stream_rows, stream_width})).second;
     },
     false},
    {"OfWindowsOfLanes",
     [](const Array& h, const Array& xs) {
       const auto of = [](const Array& ys) { return sum(reshape(ys, {stream_steps / 2, 2, stream_width}), 1); };
       return of_lanes(of, h, xs);
     },
     false},
    {"MaskedBySteps",
     [](const Array& h, const Array& xs) {
       const Array mask = sum(xs, {1, 2}) > 0.0;
       return sum(where(with_rows(with_rows(mask)), square(stream_of(h, xs)), 0.0)) / sum(convert(mask, DType::f64));
     }},
};

class Streamed : public testing::TestWithParam<StreamedCase> {};

TEST_P(Streamed, NoStackIsMade) {
  const Shape shape{stream_steps, stream_rows, stream_width};
  const Array xs = reshape(sin(arange(shape.elements().value(), DType::f64) * 1.3 + 0.4), shape), h = cos(xs(3));
  const auto& f = GetParam().f;
  const ProgramRef p = inline_calls(trace(f)(h, xs)), q = run_passes(compile_passes(), p);
  EXPECT_LT(most_elements(*q), shape.elements().value()) << p << q;
  const std::vector<Value> in{h.value(), xs.value()};
  const DType dtype = p->output_types()[0].dtype;
  expect_native({jit(f)(h, xs)}, evaluate(*p, {}, in), dtype);
  if (GetParam().varies) expect_native({jit(f, {.sizes = Sizes::symbolic})(h, xs)}, evaluate(*p, {}, in), dtype);
}

// Compiled code gives what the evaluator does of a function as it is written: of lanes, tangents, gradients, gradients
// of lanes and second derivatives. Once: on every processor the passes make the same of them.
TEST_P(Streamed, AreTheSameUnderTransformations) {
  if (fuzzing::is_repetition()) return;
  const Shape shape{stream_steps, stream_rows, stream_width};
  const Array xs = reshape(sin(arange(shape.elements().value(), DType::f64) * 1.3 + 0.4), shape), h = cos(xs(3)),
              two_h = stack({h, h * 0.5}, 0), two_xs = stack({xs, cos(xs)}, 0);
  const auto& f = GetParam().f;
  const auto expect_same = [](const auto& g, const Array& h, const Array& xs) {
    const auto leaves = leaves_of(g);
    const ProgramRef p = inline_calls(trace(leaves)(h, xs));
    expect_native(jit(leaves)(h, xs), evaluate(*p, {}, std::vector<Value>{h.value(), xs.value()}),
                  p->output_types()[0].dtype);
  };
  expect_same(vmap(f), two_h, two_xs);
  const DType dtype = trace(f)(h, xs)->output_types()[0].dtype;
  if (!is_real(dtype)) return;
  const auto loss = [&](const Array& h, const Array& xs) { return sum(log1p(square(convert(f(h, xs), DType::f64)))); };
  auto slope = grad<0, 1>(loss);
  expect_same([&](const Array& h, const Array& xs) { return jvp(f, std::tuple(h, xs), std::tuple(cos(h), sin(xs))); },
              h, xs);
  expect_same(slope, h, xs);
  expect_same(vmap(slope), two_h, two_xs);
  const auto length = [&](const Array& h, const Array& xs) {
    const auto [by_h, by_xs] = slope(h, xs);
    return sum(square(by_h)) + sum(square(by_xs));
  };
  expect_same(grad<0, 1>(length), h, xs);
}
INSTANTIATE_TEST_SUITE_P(All, Streamed, testing::ValuesIn(streamed_cases),
                         [](const auto& info) { return std::string(info.param.name); });

// Products with a matrix of more columns than a step takes one by one, of steps that have rows enough for them.
struct StreamedProduct {
  const char* name;
  std::function<Array(const Array& h, const Array& xs, const Array& w)> f;
};
const StreamedProduct streamed_products[]{
    {"MeanSquare",
     [](const Array& h, const Array& xs, const Array& w) { return mean(square(matmul(stream_of(h, xs), w))); }},
    {"CrossEntropy",
     [](const Array& h, const Array& xs, const Array& w) {
       const Array z = matmul(stream_of(h, xs), w), target = cos(xs(all, all, slice(0, w.dim(1))));
       return mean(logsumexp(z, 2) - sum(z * target, 2));
     }},
    {"OfTheOtherSide", [](const Array& h, const Array& xs,
                          const Array& w) { return amax(einsum("dc,tbd->ctb", w, stream_of(h, xs)), {1, 2}); }},
    {"OfLayers", [](const Array& h, const Array& xs,
                    const Array& w) { return var(matmul(tanh(matmul(stream_of(h, xs), w)), transpose(w)), 0); }},
    {"InReverseOfSomeSteps",
     [](const Array& h, const Array& xs, const Array& w) {
       return logsumexp(matmul(stream_of(h, xs, {.reverse = true})(slice(1, none, 2)), w), {0, 1});
     }},
    {"InF32",
     [](const Array& h, const Array& xs, const Array& w) {
       const Array ys = stream_of(convert(h, DType::f32), convert(xs, DType::f32));
       return sum(abs(matmul(ys, convert(w, DType::f32))), 0);
     }},
    {"InBF16",
     [](const Array& h, const Array& xs, const Array& w) {
       return sum(abs(matmul(convert(stream_of(h, xs), DType::bf16), convert(w, DType::bf16))), 0);
     }},
};
class StreamedProducts : public testing::TestWithParam<StreamedProduct> {};

TEST_P(StreamedProducts, AreMadeInSteps) {
  constexpr std::int64_t rows = 32, columns = 6;
  const Shape shape{stream_steps, rows, stream_width};
  const Array xs = reshape(sin(arange(shape.elements().value(), DType::f64) * 1.3 + 0.4), shape), h = cos(xs(3)),
              w = cos(xs(slice(0, columns), 2, all)) * 0.3;
  const auto f = [](const Array& h, const Array& xs, const Array& w) { return GetParam().f(h, xs, transpose(w)); };
  const ProgramRef p = inline_calls(trace(f)(h, xs, w)), q = run_passes(compile_passes(), p);
  EXPECT_LT(most_elements(*q), stream_steps * rows * columns / 2) << p << q;
  const std::vector<Value> in{h.value(), xs.value(), w.value()};
  const DType dtype = p->output_types()[0].dtype;
  for (const Sizes sizes : {Sizes::fixed, Sizes::symbolic})
    expect_native({jit(f, {.sizes = sizes})(h, xs, w)}, evaluate(*p, {}, in), dtype);
  const auto slope =
      grad<2>([&](const Array& h, const Array& xs, const Array& w) { return sum(convert(f(h, xs, w), DType::f64)); });
  expect_native({jit(slope)(h, xs, w)}, evaluate(*inline_calls(trace(slope)(h, xs, w)), {}, in), dtype);
}
INSTANTIATE_TEST_SUITE_P(All, StreamedProducts, testing::ValuesIn(streamed_products),
                         [](const auto& info) { return std::string(info.param.name); });

// A step of few rows would read the matrix for each of them: the stack is a product of all rows.
TEST(StreamedProducts, OfFewRowsAreOneBehindTheLoop) {
  const Shape shape{stream_steps, 2, stream_width};
  const auto f = [](const Array& h, const Array& xs, const Array& w) {
    return sum(square(matmul(stream_of(h, xs), w)));
  };
  const Array xs = full(shape, Array(0.5)), w = full({stream_width, 6}, Array(0.25));
  const ProgramRef q = run_passes(compile_passes(), inline_calls(trace(f)(xs(0), xs, w)));
  EXPECT_GE(most_elements(*q), shape.elements().value()) << q;
}

// Sums of f16 are taken in f32, which is what the mean is of that they wait for.
TEST(Streams, MomentsOfHalvesAreThoseAroundTheirMean) {
  const auto cubes = [](const Array& xs) {
    const Array ys = scan([](const Array& c, const Array& x) { return std::pair(c, c + x); }, xs(0) * 0, xs).second;
    const Array off = ys - mean(ys, 0);
    return mean(off * off * off, 0);
  };
  const Array xs = convert(reshape(3.0 + sin(square(arange(400, DType::f64))) * 0.05, {200, 2}), DType::f16);
  const Array got = convert(jit(cubes)(xs), DType::f64),
              want = convert(jit(cubes, {.numerics = Numerics::strict})(xs), DType::f64);
  EXPECT_TRUE(all(abs(got - want) < 0.1 * std::pow(0.035, 3)).item<bool>()) << got << want;
}

TEST(StreamsOfNothing, SumToZero) {
  const Array xs = zeros({stream_steps, 0, stream_width}, DType::f64), h = zeros({0, stream_width}, DType::f64);
  const auto f = [](const Array& h, const Array& xs) {
    const Array ys = stream_of(h, xs);
    return sum(pow(ys - mean(ys, {0, 1}), 3) * xs, {0, 1});
  };
  for (const Sizes sizes : {Sizes::fixed, Sizes::symbolic})
    EXPECT_TRUE(array_equal(jit(f, {.sizes = sizes})(h, xs), zeros({stream_width}, DType::f64)));
}

// Stacks that are parts of arrays are made where they belong, whatever lies around them.
const StreamedCase parts_of_arrays[]{
    {"BehindTheBegin",
     [](const Array& h, const Array& xs) { return concatenate({expand_dims(h, 0), stream_of(h, xs)}, 0); }},
    {"BehindOtherRows",
     [](const Array& h, const Array& xs) { return concatenate({xs(slice(2, 5)), stream_of(h, xs)}, 0); }},
    {"BeforeTheBegin",
     [](const Array& h, const Array& xs) { return concatenate({stream_of(h, xs), expand_dims(h, 0)}, 0); }},
    {"InReverse",
     [](const Array& h, const Array& xs) {
       return concatenate({stream_of(h, xs, {.reverse = true}), expand_dims(h, 0)}, 0);
     }},
    {"InReverseBehindOtherRows",
     [](const Array& h, const Array& xs) {
       return concatenate({xs(slice(0, 1)), stream_of(h, xs, {.reverse = true}), expand_dims(h, 0)}, 0);
     }},
    {"BetweenRowsThatItMakes",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs);
       return concatenate({ys(slice(-1, none)), ys, ys(slice(0, 2))}, 0);
     }},
    {"TwoOfThem",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs);
       return concatenate({expand_dims(h, 0), ys, stream_of(ys(-1), -xs)}, 0);
     }},
    {"ReadLater",
     [](const Array& h, const Array& xs) {
       const Array ys = stream_of(h, xs), all = concatenate({expand_dims(h, 0), ys}, 0);
       return all + sum(ys * ys, 0) + all(0) * stream_of(ys(3), ys)(-1);
     }},
    {"InALoop",
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& c, const Array& x) {
         const Array all = concatenate({expand_dims(c, 0), stream_of(c * x, xs)}, 0);
         return std::pair(all(-1), all);
       };
       return scan(step, h, xs(slice(0, 3))).second;
     }},
    {"ColumnsOfALargerOne",
     [](const Array& h, const Array& xs) { return concatenate({xs, stream_of(h, xs), xs + 1.0}, 1); }},
    {"WrittenInto",
     [](const Array& h, const Array& xs) {
       return concatenate({xs, xs}, 0).at(slice(3, 3 + stream_steps)).set(stream_of(h, xs));
     }},
    {"WrittenIntoBehindTheBegin",
     [](const Array& h, const Array& xs) {
       const Array rows = zeros({stream_steps + 3, stream_rows, stream_width}, DType::f64).at(0).set(h * 2.0);
       return rows.at(slice(1, 1 + stream_steps)).set(stream_of(h, xs));
     }},
};
const StreamedCase rows_of_rows[]{
    {"OfTheRowBefore",
     [](const Array& h, const Array& xs) {
       const Array begin = zeros({stream_steps + 1, stream_rows, stream_width}, xs.dtype()).at(0).set(h);
       const auto step = [&](const Array& i, const Array& rows) { return rows.at(i + 1).set(sin(rows(i) + xs(i))); };
       return fori_loop(0, stream_steps, step, begin);
     }},
    {"OfTheRowBehind",  // from the last to the first
     [](const Array& h, const Array& xs) {
       const Array end = zeros({stream_steps + 2, stream_rows, stream_width}, xs.dtype()).at(stream_steps).set(h);
       const auto step = [&](const Array& k, const Array& rows) {
         const Array i = stream_steps - 1 - k;
         return rows.at(i).set(sin(rows(i + 1) - rows(i + 2) + xs(k)));
       };
       return fori_loop(0, stream_steps, step, end);
     }},
    {"CombinedWithWhatIsThere",
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& i, const Array& rows) { return rows.at(i).mul(rows(i - 1) + h); };
       const auto largest = [&](const Array& i, const Array& rows) { return rows.at(i).max(rows(i - 1) * 0.5f); };
       return fori_loop(1, stream_steps, step, xs * 2.0f) + fori_loop(1, stream_steps, largest, xs * 3.0f);
     }},
    {"WrittenFromTheLastAndFromTheFirst",
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& i, const std::pair<Array, Array>& c) {
         return std::pair(c.first.at(i).set(xs(i) * h), c.second.at(stream_steps - 1 - i).add(cos(xs(i))));
       };
       const auto [a, b] = fori_loop(0, stream_steps, step, std::pair(zeros_like(xs), xs * 2.0f));
       return a - b;
     }},
    {"OfTwoBeforeAndRowsBehind",
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& i, const Array& rows) {
         return rows.at(i).set(rows(i - 1) - rows(i - 3) * 0.5f + h);
       };
       return fori_loop(3, stream_steps, step, concatenate({xs, xs(slice(0, 2)) * 2.0f}, 0));
     }},
    {"OfALaterRow",  // which stays
     [](const Array&, const Array& xs) {
       const auto step = [&](const Array& i, const Array& rows) { return rows.at(i).set(rows(i + 1) * 0.5f); };
       return fori_loop(0, stream_steps - 1, step, xs * 2.0f);
     }},
    {"OfAllRows",  // which stays
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& i, const Array& rows) { return rows.at(i).set(sum(rows, 0) * 0.1f + h); };
       return fori_loop(1, stream_steps, step, xs * 2.0f);
     }},
    {"OfTheRowThatItWrites",
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& i, const Array& rows) { return rows.at(i).set(rows(i) * 0.5f + h); };
       return fori_loop(1, stream_steps, step, xs * 2.0f);
     }},
    {"FewRows",  // which are written in place
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& i, const Array& rows) { return rows.at(i + 2).set(rows(i + 1) + h); };
       return fori_loop(0, 3, step, xs * 2.0f);
     }},
    {"OfAnArgument",  // which is copied
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& i, const Array& rows) { return rows.at(i).set(rows(i - 1) + h); };
       return fori_loop(1, stream_steps, step, xs);
     }},
    {"AndReadsItAfterwards",
     [](const Array& h, const Array& xs) {
       const auto step = [&](const Array& i, const Array& rows) {
         const Array next = rows.at(i).set(rows(i - 1) * 0.5f + h);
         return next.at(i).add(next(i) * 0.25f);
       };
       return fori_loop(1, stream_steps, step, xs * 2.0f);
     }},
    {"WithGradients",
     [](const Array& h, const Array& xs) {
       const auto loss = [](const Array& h, const Array& xs) {
         const Array begin = zeros({stream_steps + 1, stream_rows, stream_width}, xs.dtype()).at(0).set(h);
         const auto step = [&](const Array& i, const Array& rows) { return rows.at(i + 1).set(sin(rows(i) + xs(i))); };
         return sum(square(fori_loop(0, stream_steps, step, begin)));
       };
       const auto [dh, dx] = grad<0, 1>(loss)(h, xs);
       return dx + dh;
     }},
    {"OfLanes",
     [](const Array& h, const Array& xs) {
       const auto one = [](const Array& h, const Array& xs) {
         const Array begin = zeros({stream_steps + 1, stream_width}, xs.dtype()).at(0).set(h);
         const auto step = [&](const Array& i, const Array& rows) { return rows.at(i + 1).set(sin(rows(i) + xs(i))); };
         return fori_loop(0, stream_steps, step, begin);
       };
       return vmap(one, {.in_axes = {0, 1}})(h, xs);
     }},
};

class PartOfAnArray : public testing::TestWithParam<std::tuple<StreamedCase, DType>> {};

TEST_P(PartOfAnArray, ComesOutAsItIs) {
  const auto& [c, dtype] = GetParam();
  const Shape shape{stream_steps, stream_rows, stream_width};
  const Array wide = reshape(sin(arange(shape.elements().value(), DType::f64) * 1.3 + 0.4), shape);
  const Array xs = convert(wide, dtype), h = convert(cos(wide(3)), dtype);
  const ProgramRef p = inline_calls(trace(c.f)(h, xs));
  const std::vector<Value> in{h.value(), xs.value()};
  expect_native({jit(c.f)(h, xs)}, evaluate(*p, {}, in), dtype);
  const auto symbolic = jit(c.f, {.sizes = Sizes::symbolic});
  expect_native({symbolic(h, xs)}, evaluate(*p, {}, in), dtype);
}
INSTANTIATE_TEST_SUITE_P(All, PartOfAnArray,
                         testing::Combine(testing::ValuesIn(parts_of_arrays), testing::Values(DType::f64, DType::f32)),
                         case_and_dtype);
INSTANTIATE_TEST_SUITE_P(RowsOfRows, PartOfAnArray,
                         testing::Combine(testing::ValuesIn(rows_of_rows), testing::Values(DType::f64, DType::f32)),
                         case_and_dtype);

}  // namespace
}  // namespace tenon
