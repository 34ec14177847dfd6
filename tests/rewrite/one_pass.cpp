// Reductions that wait for each other: each reads a large array once, and results stay what they were.
#include "tenon/rewrite/one_pass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/kernel/function.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/share_calls.h"
#include "tenon/rewrite/simplify.h"
#include "tenon/rewrite/strictly.h"
#include "tenon/tenon.h"
#include "tests/fuzzing.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Of x and weights of its shape, along some axes.
using OfRows = Array (*)(const Array& x, const Array& w, const Axes& axes);
struct Case {
  const char* name;
  OfRows f;
};
Array exponentials(const Array& x, const Axes& axes) { return exp(x - stop_gradient(amax(x, axes.keepdims()))); }
const std::vector<Case> cases{
    {"Softmax", [](const Array& x, const Array&, const Axes& axes) { return softmax(x, axes); }},
    {"LogSoftmax", [](const Array& x, const Array&, const Axes& axes) { return log_softmax(x, axes); }},
    {"LogSumExp", [](const Array& x, const Array&, const Axes& axes) { return logsumexp(x, axes); }},
    {"SoftmaxByHand",
     [](const Array& x, const Array&, const Axes& axes) {
       const Array e = exponentials(x, axes);
       return e / sum(e, axes.keepdims());
     }},
    {"MaskedSoftmax", [](const Array& x, const Array& w,
                         const Axes& axes) { return where(w > 0, softmax(where(w > 0, x, -infinity), axes), 0); }},
    {"MaskedAfterwards",
     [](const Array& x, const Array& w, const Axes& axes) {
       const Array e = where(w > 0.2, exponentials(x, axes), 0);
       return e / (sum(e, axes.keepdims()) + 1e-3);
     }},
    {"WeightedMean",
     [](const Array& x, const Array& w, const Axes& axes) {
       const Array e = exponentials(x, axes);
       return sum(e * w, axes) / sum(e, axes);
     }},
    {"Entropy",
     [](const Array& x, const Array&, const Axes& axes) {
       const Array off = x - stop_gradient(amax(x, axes.keepdims())), e = exp(off), s = sum(e, axes);
       return log(s) - sum(e * off, axes) / s;
     }},
    {"TemperedBySquares",
     [](const Array& x, const Array& w, const Axes& axes) {
       const Array e = exponentials(x, axes);
       return sum(-e * e / (w + 3), axes) + sum(e - w, axes) * 0.5;
     }},
    {"Variance", [](const Array& x, const Array&, const Axes& axes) { return var(x, axes); }},
    {"StandardDeviation", [](const Array& x, const Array&, const Axes& axes) { return stddev(x, axes, 1); }},
    {"Standardize", [](const Array& x, const Array&, const Axes& axes) { return standardize(x, axes); }},
    {"LayerNorm",
     [](const Array& x, const Array& w, const Axes& axes) {
       const Array off = x - mean(x, axes.keepdims());
       return off * rsqrt(mean(square(off), axes.keepdims()) + 1e-3) * w + 0.5;
     }},
    {"Covariance", [](const Array& x, const Array& w,
                      const Axes& axes) { return sum((x - mean(x, axes.keepdims())) * (w - 0.25), axes); }},
};

// A layout: which axes are reduced, of a shape of 2^16 elements or a little more.
struct Layout {
  std::vector<std::int64_t> sizes, axes;
};
const std::vector<Layout> layouts{
    {{2, 65536}, {1}},      {{66041}, {0}},          {{300, 257}, {0}}, {{3, 23000, 3}, {1}}, {{9000, 8}, {0}},
    {{40, 50, 40}, {0, 2}}, {{2, 660, 101}, {1, 2}}, {{66000, 1}, {0}}, {{1, 66000}, {1}},    {{40, 41, 42}, {0, 1, 2}},
};

std::vector<Value> inputs_of(const Program& p, std::uint32_t seed, const std::vector<double>& among = {}) {
  std::mt19937 random(seed);
  std::vector<Value> in;
  for (const Type& t : p.input_types()) {
    Buffer b = Buffer::allocate(DType::f64, t.shape.sizes());
    for (std::int64_t i = 0; i < b.elements(); ++i) {
      b.as<double>()[i] = std::normal_distribution<>(0, 2)(random);
      if (!among.empty() && in.empty() && random() % 3 == 0) b.as<double>()[i] = among[random() % among.size()];
    }
    in.push_back(std::get<Buffer>(convert(Array(b), t.dtype).value()));
  }
  return in;
}

void expect_close(const std::vector<Value>& got, const std::vector<Value>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(type_of(got[i]), type_of(want[i]));
    const auto wide = [](const Value& v) { return convert(Array(std::get<Buffer>(v)), DType::f64).to_buffer(); };
    const Buffer g = wide(got[i]), w = wide(want[i]);
    double largest = 0;
    for (std::int64_t k = 0; k < w.elements(); ++k)
      if (std::isfinite(w.as<double>()[k])) largest = std::max(largest, std::abs(w.as<double>()[k]));
    // What cancels to nothing, as the gradient of a norm of what is normed, is a rounding of numbers around 1.
    largest = std::max(largest, tolerance > 1e-2 ? 0.1 : 1e-2);
    for (std::int64_t k = 0; k < w.elements(); ++k) {
      const double x = g.as<double>()[k], y = w.as<double>()[k];
      if (std::isfinite(y))
        ASSERT_NEAR(x, y, tolerance * largest) << k;
      else
        ASSERT_TRUE(std::isnan(y) ? std::isnan(x) : x == y) << k << ": " << x << " is not " << y;
    }
  }
}
double tolerance(DType dtype) { return is_narrow(dtype) ? 4e-2 : dtype == DType::f32 ? 1e-4 : 1e-10; }

ProgramRef prepared(const ProgramRef& p) { return simplify(share_calls(p)); }
// Reductions that read an array as a whole.
int of_wholes(const Program& p, const Shape& whole) {
  int count = 0;
  for (const Eqn& eqn : p.eqns())
    if (reduction_of(eqn, p)) count += p.type(eqn.in[0]).shape == whole;
  return count;
}

Array zeros_of(const Layout& layout, DType dtype) {
  return zeros(Shape(std::vector<Dim>(layout.sizes.begin(), layout.sizes.end())), dtype);
}
ProgramRef traced(const Case& c, const Layout& layout, DType dtype, int mode) {
  const Array x = zeros_of(layout, dtype);
  const Axes axes(layout.axes);
  const auto loss = [&](const Array& x, const Array& w) {
    const DType wide = computed_in(dtype);
    const Array y = convert(c.f(x, w, axes), wide);
    const Array weights = y.shape() == w.shape() ? convert(w, wide) : Array(1.5);
    return sum((mode == 1 ? square(y) : y) * weights);
  };
  if (mode == 0) return trace([&](const Array& x, const Array& w) { return c.f(x, w, axes); })(x, x);
  return trace([&](const Array& x, const Array& w) { return grad([&](const Array& x) { return loss(x, w); })(x); })(x,
                                                                                                                    x);
}

TEST(OnePass, ReadsALargeArrayOnce) {
  for (const Case& c : cases)
    for (const Layout& layout : layouts) {
      const ProgramRef p = prepared(traced(c, layout, DType::f32, 0)), q = one_pass(p);
      const Shape whole = p->input_types()[0].shape;
      EXPECT_GT(of_wholes(*p, whole), 1) << c.name;
      EXPECT_EQ(of_wholes(*q, whole), 0) << c.name << print(*q);
      EXPECT_EQ(one_pass(q)->hash(), q->hash()) << "nothing is left to do";
    }
}

class OnePassOf : public testing::TestWithParam<std::size_t> {};
TEST_P(OnePassOf, GivesTheSame) {
  const Case& c = cases[GetParam()];
  std::mt19937 random(static_cast<std::uint32_t>(GetParam()));
  for (int round = 0; round < (fuzzing::is_repetition() ? 1 : 5); ++round) {
    const Layout& layout = layouts[random() % layouts.size()];
    const DType dtype = std::array{DType::f64, DType::f32, DType::f16, DType::bf16}[random() % 4];
    const int mode = static_cast<int>(random() % 3);
    SCOPED_TRACE(testing::Message() << c.name << " of layout " << &layout - layouts.data() << ", " << name(dtype)
                                    << ", gradient " << mode);
    const ProgramRef p = prepared(traced(c, layout, dtype, mode)), q = one_pass(p);
    const std::vector<Value> in = inputs_of(*p, random());
    expect_close(evaluate(*q, {}, in), evaluate(*p, {}, in), tolerance(dtype));
  }
}
// Infinities and NaN, in all rows and in some.
TEST_P(OnePassOf, KeepsWhatIsNotFinite) {
  const Case& c = cases[GetParam()];
  for (const std::vector<double>& among :
       {std::vector{-infinity}, {infinity, -infinity}, {std::nan(""), 1.0}, {-infinity, 3.0}}) {
    SCOPED_TRACE(testing::Message() << c.name << among[0]);
    const ProgramRef p = prepared(traced(c, layouts[2], DType::f32, 0)), q = one_pass(p);
    const std::vector<Value> in = inputs_of(*p, 3, among);
    expect_close(evaluate(*q, {}, in), evaluate(*p, {}, in), tolerance(DType::f32));
    if (fuzzing::is_repetition()) return;
  }
  for (const double one : {-infinity, infinity, std::nan(""), 0.0}) {
    SCOPED_TRACE(testing::Message() << c.name << " of nothing but " << one);
    const ProgramRef p = prepared(traced(c, layouts[0], DType::f64, 0)), q = one_pass(p);
    std::vector<Value> in = inputs_of(*p, 3);
    in[0] = full(p->input_types()[0].shape, Array(one)).value();
    expect_close(evaluate(*q, {}, in), evaluate(*p, {}, in), tolerance(DType::f64));
  }
}
INSTANTIATE_TEST_SUITE_P(Cases, OnePassOf, testing::Range(std::size_t(0), cases.size()),
                         [](const auto& info) { return cases[info.param].name; });

TEST(OnePass, ReadsOnceInReverseToo) {
  const auto gradient = [](OfRows f) {
    return prepared(trace([&](const Array& x, const Array& w) {
      return std::get<1>(vjp([&](const Array& x) { return f(x, w, Axes(1)); }, x))(w);
    })(zeros({2, 65536}), zeros({2, 65536})));
  };
  // The cotangent waits for nothing.
  const ProgramRef p = gradient([](const Array& x, const Array&, const Axes& axes) { return softmax(x, axes); });
  EXPECT_EQ(of_wholes(*one_pass(p), {2, 65536}), 0) << print(*one_pass(p));
}

TEST(OnePass, LeavesTheRest) {
  const auto stays = [](const ProgramRef& p) {
    const ProgramRef q = prepared(p);
    EXPECT_EQ(one_pass(q)->hash(), q->hash()) << print(*one_pass(q));
  };
  const Axes rows(1);
  const auto soft = [&](const Array& x) { return softmax(x, rows); };
  stays(trace(soft)(zeros({64, 1024})));  // rows stay in the cache
  stays(trace(soft)(zeros({0, 65536})));
  stays(trace([&](const Array& x) { return sum(exp(x), rows) - amax(x, rows); })(zeros({2, 65536})));  // none waits
  // What is summed waits otherwise than by a factor.
  stays(trace([&](const Array& x) { return sum(cos(x - mean(x, rows.keepdims())), rows); })(zeros({2, 65536})));
  stays(strictly(share_calls(trace(soft)(zeros({2, 65536})))));
}

TEST(OnePass, LooksIntoLoops) {
  const auto f = [](const Array& x, const Array& w) {
    return fori_loop(0, 2, [&](const Array&, const Array& c) { return softmax(c * w, 0) + 0.5; }, x);
  };
  const ProgramRef p = prepared(trace(f)(zeros({66041}), zeros({66041}))), q = one_pass(p);
  EXPECT_NE(p->hash(), q->hash());
  const std::vector<Value> in = inputs_of(*p, 5);
  expect_close(evaluate(*q, {}, in), evaluate(*p, {}, in), tolerance(DType::f32));
}

// Compiled, lanes of a batch included, beside the evaluator; and what each block reads.
TEST(OnePass, RunsAsNativeCode) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    for (const Layout& layout : {Layout{{3, 70001}, {1}}, {{5000, 20}, {0}}}) {
      const auto f = [&](const Array& x, const Array& w) { return c.f(x, w, Axes(layout.axes)); };
      const ProgramRef p = share_calls(trace(f)(zeros_of(layout, DType::f32), zeros_of(layout, DType::f32)));
      const std::vector<Value> in = inputs_of(*p, 9);
      const Array x = std::get<Buffer>(in[0]), w = std::get<Buffer>(in[1]);
      expect_close({jit(f)(x, w).value()}, evaluate(*p, {}, in), tolerance(DType::f32));
      const auto lanes = jit(vmap(f))(stack({x, x}), stack({w, w}));
      expect_close({lanes(1).value()}, evaluate(*p, {}, in), tolerance(DType::f32));
      if (fuzzing::is_repetition()) break;
    }
  }
}
TEST(OnePass, BlocksReadWhatFitsTheCache) {
  const std::string text = explain([](const Array& x) { return logsumexp(x, 1); })(zeros({4, 1 << 18}));
  EXPECT_NE(text.find("in 64 blocks of rows"), std::string::npos) << text;
  EXPECT_NE(text.find("max over [4096] -> f32[]; 4,096 operations, 16,384 bytes read"), std::string::npos) << text;
  EXPECT_NE(text.find("sum over [4096] of exp, sub"), std::string::npos) << text;
  EXPECT_EQ(text.find("1,048,576 bytes read"), std::string::npos) << text;
}

}  // namespace
}  // namespace tenon
