// Sums of what is zero but at few of all pairs: none of these is stored, and results stay what they were.
#include "tenon/rewrite/reduce_at_points.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/compile/pipeline.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/narrow_products.h"
#include "tenon/rewrite/pass.h"
#include "tenon/rewrite/simplify.h"
#include "tenon/transform/transforms.h"
#include "tests/fuzzing.h"
#include "tests/rewrite/pairs.h"

namespace tenon {
namespace {

// As derivatives of nearest neighbours are compiled.
ProgramRef simplified(const ProgramRef& p) { return narrow_products(compose_views(simplify(inline_calls(p)))); }
ProgramRef without_pairs(const ProgramRef& p) { return run_passes(compile_passes(), p); }

// The same numbers with many equal ones among them, through which derivatives flow.
Array coarse(const Array& x) { return x + stop_gradient(floor(2.0 * x) / 2.0 - x); }
Array distances_by_products(const Array& x, const Array& y) {
  return expand_dims(sum(square(x), 1), 1) + sum(square(y), 1) - 2.0 * dot(x, transpose(y));
}

using Loss = Array (*)(Array x, Array y);
const std::vector<std::pair<const char*, Loss>> losses{
    {"Nearest", [](Array x, Array y) { return sum(amin(squared_distances(x, y), 1)); }},
    {"OfEqualOnes", [](Array x, Array y) { return sum(sin(amin(squared_distances(coarse(x), coarse(y)), 1))); }},
    {"BothWays",
     [](Array x, Array y) {
       const Array d = squared_distances(x, y);
       return mean(sqrt(0.1 + amin(d, 1))) + mean(amin(d, 0));
     }},
    {"BothWaysOfEqualOnes",
     [](Array x, Array y) {
       const Array d = squared_distances(coarse(x), y);
       return mean(amin(d, 1)) + mean(square(amax(d, 0)));
     }},
    {"Hausdorff",
     [](Array x, Array y) {
       const Array d = squared_distances(x, y);
       return max(amax(amin(d, 1)), amax(amin(d, 0)));
     }},
    {"OfAll", [](Array x, Array y) { return exp(amin(amin(squared_distances(x, y), 1))); }},
    {"OfProducts", [](Array x, Array y) { return sum(cos(amax(dot(x, transpose(y)), 1))); }},
    {"ByProducts", [](Array x, Array y) { return sum(amin(distances_by_products(x, y), 0)); }},
    {"Weighted",
     [](Array x, Array y) {
       const Array d = squared_distances(x, y), by_place = 1.0 + arange(N, DType::f64);
       return sum(amin(sqrt(d + 1.0) * by_place, 1) * x(all, 0));
     }},
    {"TheFirstFew",
     [](Array x, Array y) { return sum(sin(top_k(-squared_distances(x, y), 3).values) * arange(3, DType::f64)); }},
    {"TheFirstFewOfEqualOnes",
     [](Array x, Array y) { return sum(square(top_k(squared_distances(coarse(x), coarse(y)), 4).values)); }},
    {"TheFirstFewBesideTheNearest",
     [](Array x, Array y) {
       const Array d = squared_distances(x, y);
       return sum(top_k(-d, 2).values) + sum(sqrt(0.1 + amin(d, 1)));
     }},
    {"Labels",  // as contrastive losses read them; what is added to their cotangents is of all pairs
     [](Array x, Array y) {
       const Array labels = expand_dims((7 * arange(M)) % N, 1);
       return -mean(take_along_axis(log_softmax(-squared_distances(x, y)), labels, 1));
     }},
    {"LabelsBothWays",
     [](Array x, Array y) {
       const Array scores = dot(x, transpose(y)), same = arange(N);
       const auto read = [&](const Array& from) { return sum(gather_at(from, Arrays{same, same}, {0, 1})); };
       return read(log_softmax(scores, 0)) + read(log_softmax(scores, 1)) + sum(amax(scores, 1));
     }},
    {"ReadsOutside",
     [](Array x, Array y) {
       const Array d = squared_distances(x, y), rows = Array{3, -2, 700, 5}, columns = Array{516, 2, 3, -900};
       Array all = sum(gather_at(d, Arrays{rows, columns}, {0, 1}));
       for (const GatherOptions& options :
            {GatherOptions{.mode = IndexMode::fill, .fill = Scalar(2.0)}, GatherOptions{.mode = IndexMode::clip}})
         all = all + sum(sin(gather_at(d, Arrays{rows, columns}, {0, 1}, options)));
       return all;
     }},
    {"OfBatches",
     [](Array x, Array y) {
       const auto nearest = [](Array x, Array y) { return amin(squared_distances(x, y), 0); };
       return sum(vmap(nearest, {.in_axes = {0, 1}})(stack({x, coarse(2.0 * x)}), stack({coarse(y), y - 1.0}, 1)));
     }},
    {"OfBatchesOfOneSide",
     [](Array x, Array y) {
       const auto nearest = [&](Array by) { return amin(squared_distances(by * x, y), 1); };
       return sum(vmap(nearest)(Array{1.0, 2.0, 0.5}));
     }},
    {"InF32",
     [](Array x, Array y) {
       return sum(convert(amin(squared_distances(convert(x, DType::f32), convert(y, DType::f32)), 1), DType::f64));
     }},
};

class Points : public testing::TestWithParam<std::pair<const char*, Loss>> {
 protected:
  // Nothing of all pairs is left, and results are the same: evaluated, and compiled through all passes.
  static void expect_at_points(const ProgramRef& p) {
    const ProgramRef q = without_pairs(p);
    EXPECT_EQ(of_all_pairs(*q), 0) << p << q;
    if (fuzzing::is_repetition()) return;
    const std::vector<Value> in = waves_for(*p), want = evaluate(*p, {}, in);
    expect_close(p, evaluate(*q, {}, in), want);
    expect_close(p, executor().run(p, {}, in), want);
  }
};
TEST_P(Points, OfGradients) {
  const ProgramRef p = simplified(trace(grad<0, 1>(GetParam().second))(x0(), y0()));
  expect_at_points(p);
  EXPECT_NE(reduce_at_points(p)->hash(), p->hash());
}
TEST_P(Points, OfOneSide) {
  const ProgramRef p = simplified(trace(grad<1>(GetParam().second))(x0(), y0()));
  EXPECT_EQ(of_all_pairs(*without_pairs(p)), 0) << p;
}
TEST_P(Points, OfTangents) {
  expect_at_points(simplified(jvp(simplified(trace(GetParam().second)(x0(), y0())), Mask{true, true}, Mask{true})));
}
TEST_P(Points, OfSecondDerivatives) {
  if (fuzzing::is_repetition()) return;
  const auto slope = [&](Array x, Array y) {
    const auto [dx, dy] = grad<0, 1>(GetParam().second)(x, y);
    return sum(sin(dx)) + sum(square(dy));
  };
  const ProgramRef p = simplified(trace(grad<0, 1>(slope))(x0(), y0()));
  const std::vector<Value> in = waves_for(*p), want = evaluate(*p, {}, in);
  expect_close(p, evaluate(*without_pairs(p), {}, in), want);
  expect_close(p, executor().run(p, {}, in), want);
}
INSTANTIATE_TEST_SUITE_P(Losses, Points, testing::ValuesIn(losses),
                         [](const auto& info) { return std::string(info.param.first); });

// Rows of which an element is NaN, or several are equal, are computed whole.
TEST(PointsOfFewRows, WithNaN) {
  if (fuzzing::is_repetition()) return;
  const auto loss = [](Array x, Array y) { return sum(amin(squared_distances(x, y), 1)); };
  const ProgramRef p = simplified(trace(grad<0, 1>(loss))(x0(), y0()));
  std::vector<Value> in = waves_for(*p);
  std::get<Buffer>(in[0]).as<double>()[2] = std::nan("");
  const std::vector<Value> want = evaluate(*p, {}, in), got = executor().run(p, {}, in);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Buffer &w = std::get<Buffer>(want[i]), &g = std::get<Buffer>(got[i]);
    for (std::int64_t k = 0; k < w.elements(); ++k) {
      if (std::isnan(w.as<double>()[k]))
        ASSERT_TRUE(std::isnan(g.as<double>()[k])) << i << " " << k;
      else
        ASSERT_NEAR(g.as<double>()[k], w.as<double>()[k], 1e-9) << i << " " << k;
    }
  }
}

// What a product sums for each point is as large as all pairs, and summed in its turn.
TEST(PointsOfFewRows, ThroughWideProducts) {
  const auto drawn = [](std::int64_t rows, std::int64_t columns, double by) {
    return sin(by * reshape(square(arange(rows * columns, DType::f64)), {rows, columns}));
  };
  const auto loss = [](Array x, Array keys, Array weights) {
    return sum(amax(dot(sin(dot(x, weights)), transpose(keys)), 1));
  };
  const Array x = drawn(2000, 5, 0.37), keys = drawn(600, 80, 0.11), weights = drawn(5, 80, 0.23);
  const Array want = jit(grad<2>(loss), {.numerics = Numerics::strict})(x, keys, weights);
  EXPECT_LT(amax(abs(jit(grad<2>(loss))(x, keys, weights) - want)).item<double>(), 1e-10);
}

void expect_unchanged(const ProgramRef& p) { EXPECT_EQ(reduce_at_points(p)->hash(), p->hash()); }
TEST(NotPoints, StrictNumerics) {
  ProgramParts parts = simplified(trace(grad<0, 1>(losses[0].second))(x0(), y0()))->parts();
  for (Eqn& eqn : parts.eqns) eqn.numerics = Numerics::strict;
  expect_unchanged(Program::finish(std::move(parts)));
}
TEST(NotPoints, OfMatricesThatAreGiven) {
  expect_unchanged(simplified(
      trace(grad<1>([](Array d, Array b) { return sum(amin(d * b, 1)); }))(zeros({M, N}, DType::f64), b0())));
}
TEST(NotPoints, WhatIsAnOutputToo) {
  const auto mask_too = [](Array x, Array y) {
    const Array d = squared_distances(x, y), nearest = d == expand_dims(amin(d, 1), 1);
    return std::pair(sum(convert(nearest, DType::f64), 1), nearest);
  };
  expect_unchanged(simplified(trace(mask_too)(x0(), y0())));
}
TEST(NotPoints, FewOfThem) {
  expect_unchanged(
      simplified(trace(grad<0, 1>(losses[0].second))(zeros({100, D}, DType::f64), zeros({90, D}, DType::f64))));
}

}  // namespace
}  // namespace tenon
