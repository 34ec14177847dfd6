// What a loop reads step by step is computed in the step that reads it, where that is worth it.
#include "tenon/rewrite/sink_operands.h"

#include <gtest/gtest.h>

#include "tenon/compile/pipeline.h"
#include "tenon/ir/print.h"
#include "tenon/ops/control/region.h"
#include "tenon/rewrite/pass.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t steps = 5, width = 40;

Array wave(std::vector<Dim> shape, double by, DType dtype = DType::f64) {
  const Shape s(std::move(shape));
  return convert(reshape(sin(arange(s.elements().value(), DType::f64) * by + 0.4) * 4.0, s), dtype);
}
Array xs(DType d = DType::f64) { return wave({steps, width}, 1.3, d); }
Array ys(DType d = DType::f64) { return wave({steps, width}, 0.7, d); }
Array w(DType d = DType::f64) { return wave({width}, 0.3, d); }

// Eqns of the outermost loops' operands that elementwise ops, broadcasts and slices make.
int made_outside(const Program& p) {
  int count = 0;
  for (const Eqn& loop : p.eqns()) {
    if (loop.op != &loop_op()) continue;
    const auto& q = loop.params.as<LoopParams>();
    for (std::size_t i = static_cast<std::size_t>(q.consts + q.carries); i < loop.in.size(); ++i)
      for (const Eqn& eqn : p.eqns())
        count += eqn.out[0] == loop.in[i] && p.type(eqn.out[0]).shape.rank() > 1 &&
                 std::holds_alternative<LowerElement>(*eqn.op->lower);
  }
  return count;
}

// The sum of rows, and all sums so far.
std::pair<Array, Array> scanned(const Array& rows, ScanOptions options = {}) {
  const Array start = zeros({rows.dim(1)}, rows.dtype());
  return scan([](const Array& c, const Array& x) { return std::pair(c * x + x, c + x); }, start, rows, options);
}

struct Case {
  const char* name;
  std::function<Arrays(Array xs, Array ys, Array w)> f;
  int before, after;  // operands of loops that are made of others
};
// Two sequences of half as wide rows, in memory; and their steps' rows.
Array batches(const Array& x) { return sort(reshape(x, {2, steps, width / 2}), 2); }
Array turned(const Array& b) { return reshape(transpose(b, {1, 0, 2}), {steps, width}); }
Arrays both(const std::pair<Array, Array>& p) { return {p.first, p.second}; }

const Case cases[]{
    {"Elementwise", [](Array x, Array y, Array) { return both(scanned(x * y - x)); }, 1, 0},
    {"Reversed", [](Array x, Array y, Array) { return both(scanned(x * y, {.reverse = true})); }, 1, 0},
    {"Chosen", [](Array x, Array y, Array) { return both(scanned(where(x < y, x, y + x))); }, 1, 0},
    // What is compared is read for that alone: truths are less.
    {"ChosenByOthers", [](Array x, Array y, Array) { return both(scanned(where(x < y, x * 2.0, x + 1.0))); }, 1, 1},
    {"AlikeInAllSteps", [](Array x, Array, Array w) { return both(scanned(x + broadcast_to(w, {steps, width}))); }, 1,
     0},
    {"OneNumber", [](Array x, Array, Array w) { return both(scanned(x * w(0))); }, 1, 0},
    {"OneNumberAStep",
     [](Array x, Array, Array w) {
       return both(scanned(x * broadcast_in_dim(w(slice(0, steps)), {steps, width}, {0})));
     },
     1, 0},
    {"ACostlyNumberAStep",  // is stored, and not what it is broadcast to
     [](Array x, Array, Array w) {
       return both(scanned(x * broadcast_in_dim(w(slice(0, steps)) / w(slice(1, steps + 1)), {steps, width}, {0})));
     },
     1, 0},
    {"BatchFirst", [](Array x, Array, Array) { return both(scanned(turned(batches(x)))); }, 1, 0},
    {"BatchFirstElementwise",
     [](Array x, Array y, Array) { return both(scanned(turned(batches(x) * 2.0 - batches(y)))); }, 1, 0},
    {"BatchFirstReversed",
     [](Array x, Array y, Array) { return both(scanned(turned(batches(x)) + y, {.reverse = true})); }, 1, 0},
    {"BatchFirstLater", [](Array x, Array, Array) { return both(scanned(turned(batches(x))(slice(1, steps)))); }, 1, 0},
    {"BatchFirstAlikeInBatches",
     [](Array x, Array, Array) {
       const Array half = sort(x(all, slice(0, width / 2)), 1);
       return both(scanned(turned(broadcast_in_dim(half, {2, steps, width / 2}, {1, 2}))));
     },
     1, 0},
    {"BatchFirstAlikeInSteps",
     [](Array, Array, Array w) {
       const Array row = sort(reshape(w, {2, width / 2}), 1);
       return both(scanned(turned(broadcast_in_dim(row, {2, steps, width / 2}, {0, 2}))));
     },
     1, 0},
    {"BatchFirstReadTwice",
     [](Array x, Array, Array) {
       const Array rows = turned(batches(x));
       const auto step = [](const Array& c, const std::pair<Array, Array>& xs) {
         return std::pair(c * xs.first + xs.second, c - xs.second);
       };
       return both(scan(step, zeros({width}, x.dtype()), std::pair(rows, rows)));
     },
     2, 0},
    {"LastAxisFirst",  // rows would not lie along memory
     [](Array x, Array, Array) {
       return both(scanned(reshape(transpose(sort(reshape(x, {width / 2, 2, steps}), 2), {2, 1, 0}), {steps, width})));
     },
     1, 1},
    {"AMaskAStep",
     [](Array x, Array y, Array w) {
       const Array mask = broadcast_in_dim(w(slice(0, steps)) > 0, {steps, width}, {0});
       return both(scanned(where(mask, x, y)));
     },
     1, 0},
    {"PartsOfALongerAxis",
     [](Array x, Array y, Array) {
       return both(scanned(reshape(reshape(x, {steps * width}) * reshape(y, {steps * width}), {steps, width})));
     },
     1, 0},
    {"OtherAxesInAnotherOrder",
     [](Array x, Array y, Array) {
       const auto divided = [](Array a) { return transpose(reshape(a, {steps, 8, width / 8}), {0, 2, 1}); };
       return both(scanned(reshape(divided(x) + divided(y), {steps, width})));
     },
     1, 0},
    {"Costly", [](Array x, Array y, Array) { return both(scanned(x / y)); }, 1, 1},
    {"OfWhatIsCostly", [](Array x, Array y, Array) { return both(scanned(y + x / y)); }, 1, 1},
    {"AnOutputToo",
     [](Array x, Array y, Array) {
       const Array z = x + y;
       return Arrays{scanned(z).second, z};
     },
     1, 1},
    {"ReadByAReductionToo",
     [](Array x, Array y, Array) {
       const Array z = x + y;
       return Arrays{scanned(z).second, sum(z * z)};
     },
     1, 0},
    {"ReadByTwoLoops",
     [](Array x, Array y, Array) {
       const Array z = x + y;
       return Arrays{scanned(z).second, scanned(z, {.reverse = true}).second};
     },
     2, 2},
    {"ReadTwiceByOneLoop",
     [](Array x, Array y, Array) {
       const Array z = x + y;
       return Arrays{
           scan([](const Array& c,
                   const std::pair<Array, Array>& r) { return std::pair(c + r.first * r.second, std::tuple<>()); },
                zeros_like(z(0)), std::pair(z, z))
               .first};
     },
     2, 0},
    {"ReadByOneLoopAndMadeForAnother",
     [](Array x, Array y, Array w) {
       const Array mask = convert(broadcast_in_dim(w(slice(0, steps)) > 0, {steps, width}, {0}), x.dtype());
       return Arrays{scanned(mask).second, scanned(x * mask - y, {.reverse = true}).second};
     },
     2, 0},
    {"OfAnotherOperand",
     [](Array x, Array y, Array) {
       const Array z = x + y;
       return Arrays{
           scan([](const Array& c,
                   const std::pair<Array, Array>& r) { return std::pair(c + r.first * r.second, std::tuple<>()); },
                zeros_like(z(0)), std::pair(x, z - y))
               .first};
     },
     1, 0},
    {"ShiftedByOne",
     [](Array x, Array, Array w) {
       return both(scanned(concatenate({reshape(w, {1, width}), x}, 0)(slice(0, steps))));
     },
     1, 0},
    {"ShiftedBack",
     [](Array x, Array, Array w) {
       return both(scanned(concatenate({x, reshape(w, {1, width})}, 0)(slice(1, steps + 1)), {.reverse = true}));
     },
     1, 0},
    {"PartsOfTwo",
     [](Array x, Array y, Array) { return both(scanned(concatenate({x, y}, 0)(slice(3, 3 + steps)) * 2.0)); }, 1, 0},
    {"PartsOfTwoByTwo",
     [](Array x, Array y, Array) { return both(scanned(concatenate({x, y}, 0)(slice(0, 2 * steps, 2)))); }, 1, 1},
    {"ColumnsOfTwo",
     [](Array x, Array y, Array) { return both(scanned(concatenate({x, y}, 1)(all, slice(1, width + 1)))); }, 1, 1},
    {"SomeOfMore",
     [](Array x, Array y, Array) { return both(scanned((concatenate({x, y}, 0) * 1.5)(slice(2, 2 + steps)))); }, 1, 0},
    {"LaterOnes", [](Array x, Array y, Array) { return both(scanned(x(slice(1, steps)) * y(slice(0, steps - 1)))); }, 1,
     0},
    {"PartsOfThree",
     [](Array x, Array y, Array w) {
       const Array last = reshape(w, {1, width});
       return both(scanned(concatenate({x(slice(3)), y(slice(1, 3)), last}, 0)(slice(1, 1 + steps)) + x));
     },
     1, 0},
    {"PaddedInFront",
     [](Array x, Array y, Array) {
       return both(scanned(pad(x(slice(2, steps)) * y(slice(2, steps)), 0, {2, 0}, {0, 0})));
     },
     1, 0},
    {"PaddedBehind",
     [](Array x, Array y, Array w) {
       return both(scanned(pad(x(slice(3)) - y(slice(2, steps)), w(1), {0, 0}, {2, 0}), {.reverse = true}));
     },
     1, 0},
    {"PaddedAround", [](Array x, Array, Array) { return both(scanned(pad(x, 3, {2, 0}, {1, 0}) * 2.0)); }, 1, 0},
    {"CutAndPadded", [](Array x, Array, Array) { return both(scanned(pad(x * 2.0, 3, {-2, 0}, {1, 0}))); }, 1, 0},
    {"PaddedBetween", [](Array x, Array, Array) { return both(scanned(pad(x, 0, {0, 0}, {0, 0}, {1, 0}))); }, 1, 1},
    {"PaddedColumns", [](Array x, Array, Array) { return both(scanned(pad(x, 0, {1, 1}, {0, 0}))); }, 1, 1},
    {"PaddedInAnotherShape",
     [](Array x, Array y, Array) {
       const Array padded = pad(reshape(x * y, {steps, 8, width / 8}), 0, {1, 0, 0}, {0, 0, 0});
       return both(scanned(reshape(padded, {steps + 1, width}) + 1.0));
     },
     1, 0},
    {"PaddedAsPartsOfALongerAxis",  // rows are not a step's
     [](Array x, Array y, Array) {
       return both(scanned(reshape(pad(reshape(x * y, {-1}), 0, {4}, {36}), {-1, width})));
     },
     1, 1},
    {"SumsOfNeighbours",
     [](Array x, Array y, Array) {
       const Array z = x + y;
       return both(scanned(z(slice(1, steps)) + z(slice(0, steps - 1))));
     },
     1, 0},
    {"SumsOfManyNeighbours",  // the same sums would be made again for each neighbour
     [](Array x, Array y, Array) {
       const Array z = x + y;
       Array all = z(slice(0, steps - 4));
       for (int k = 1; k < 5; ++k) all = all + z(slice(k, steps - 4 + k));
       return both(scanned(all));
     },
     1, 1},
    {"Neighbours", [](Array x, Array, Array) { return both(scanned(x(slice(1, steps)) + x(slice(0, steps - 1)))); }, 1,
     0},
    {"ShortRows", [](Array x, Array y, Array) { return both(scanned((x + y)(all, slice(0, 8)) + 1.0)); }, 1, 1},
    {"NoSteps", [](Array x, Array y, Array) { return both(scanned(x(slice(0)) + y(slice(0)))); }, 1, 1},
    {"OfItsOwnCarry",
     [](Array x, Array y, Array) {
       const Array start = sort(x, 0);
       return Arrays{
           scan([](const Array& c, const Array& r) { return std::pair(c.at(0).set(c(1) + r), std::tuple<>()); }, start,
                start * y)
               .first};
     },
     1, 1},
    {"OfWhatIsUpdated",
     [](Array x, Array y, Array) {
       const Array sorted = sort(x, 0);
       return Arrays{scanned(sorted + y).second, sorted.at(0).set(y(0))};
     },
     1, 1},
    {"InALoop",
     [](Array x, Array y, Array w) {
       return Arrays{fori_loop(0, 3, [&](Array, Array c) { return scanned(x * c + y).first; }, w)};
     },
     0, 0},
};

class Sunk : public testing::TestWithParam<std::tuple<Case, DType>> {};

TEST_P(Sunk, StepsComputeTheSame) {
  const auto& [c, dtype] = GetParam();
  const ProgramRef p = inline_calls(trace(c.f)(xs(dtype), ys(dtype), w(dtype))), q = sink_operands(p);
  EXPECT_EQ(made_outside(*p), c.before) << p;
  EXPECT_EQ(made_outside(*q), c.after) << q;
  EXPECT_EQ(made_outside(*sink_operands(q)), c.after);
  expect_same(p, q, {xs(dtype).value(), ys(dtype).value(), w(dtype).value()});
  const auto native = jit(c.f)(xs(dtype), ys(dtype), w(dtype));
  const std::vector<Value> in{xs(dtype).value(), ys(dtype).value(), w(dtype).value()};
  expect_native(native, evaluate(*p, {}, in), dtype);
}
INSTANTIATE_TEST_SUITE_P(All, Sunk,
                         testing::Combine(testing::ValuesIn(cases),
                                          testing::Values(DType::f64, DType::f32, DType::i32)),
                         case_and_dtype);

// What is costly, and large, is made in the steps where these are elementwise and nothing else reads it but a
// reduction.
TEST(SinkOperands, CostlyOnesOfLargeArrays) {
  const auto made = [](auto f, std::int64_t width) {
    const ProgramRef p = inline_calls(trace(f)(wave({600, width}, 1.3), wave({600, width}, 0.7)));
    const ProgramRef q = sink_operands(p);
    expect_same(p, q, {wave({600, width}, 1.3).value(), wave({600, width}, 0.7).value()});
    return made_outside(*q);
  };
  const auto sunk = [](const Array& x, const Array& y) {
    return scanned(exp(-square(x) / (square(y) + 1.0)), {.reverse = true}).second;
  };
  EXPECT_EQ(made(sunk, 256), 0);
  EXPECT_EQ(made(sunk, 128), 1);  // short rows
  EXPECT_EQ(made(
                [](const Array& x, const Array& y) {
                  const Array z = exp(x - y);
                  return std::pair(scanned(z).second, sum(z));
                },
                256),
            0);
  EXPECT_EQ(made(
                [](const Array& x, const Array& y) {
                  const Array z = exp(x - y);
                  return std::tuple(scanned(z).second, sum(z), amax(z));
                },
                256),
            1);
  EXPECT_EQ(made(
                [](const Array& x, const Array& y) {
                  const Array z = exp(x - y);
                  return std::pair(scanned(z).second, z);
                },
                256),
            1);
  EXPECT_EQ(
      made([](const Array& x, const Array& y) { return scanned(exp(x)(slice(1, 600)) + y(slice(1, 600))).second; },
           256),
      1);
  EXPECT_EQ(made(
                [](const Array& x, const Array& y) {
                  const auto step = [](const Array& c, const Array& row) {
                    const Array m = reshape(c, {16, 16});
                    return std::pair(reshape(matmul(m, reshape(row, {16, 16})), {256}) * 0.01, c);
                  };
                  return scan(step, x(0), exp(x - y)).second;
                },
                256),
            1);
}

// A loss of stacked outputs: reverse mode makes its cotangents, and the carries before each step, in the steps.
TEST(SinkOperands, AGradientStoresNoCotangentsOfAStack) {
  const auto loss = [](const Array& x, const Array& y) {
    const Array stack = stacked_sines(x);
    return mean(square(y - stack));
  };
  const ProgramRef p = inline_calls(trace(value_and_grad(loss))(xs(), ys())), q = sink_operands(p);
  EXPECT_EQ(made_outside(*p), 2) << p;
  EXPECT_EQ(made_outside(*q), 0) << q;
  expect_same(p, q, {xs().value(), ys().value()});
  const auto of_lanes = vmap(grad(loss));
  const Array lanes = stack({xs(), xs() * 0.5}, 0), more = stack({ys(), ys() + 1.0}, 0);
  const ProgramRef batched = inline_calls(trace(of_lanes)(lanes, more));
  expect_same(batched, sink_operands(batched), {lanes.value(), more.value()});
  EXPECT_TRUE(allclose(jit(of_lanes)(lanes, more)(1), grad(loss)(lanes(1), more(1)), 1e-12, 1e-12));
}

// Loops of one program that read the same slice read what is in memory: of sequences in lanes, in as many steps a turn
// as divide them or do not, a gradient stores the carries, and no slice of its operands.
TEST(SinkOperands, LoopsShareWhatSlicesRead) {
  constexpr std::int64_t lanes = 6;
  for (const std::int64_t unroll : {1, 2, 4}) {
    const auto one = [&](const Array& h, const Array& rows) {
      return scan(sine_step, h, rows, {.unroll = unroll}).second;
    };
    const auto loss = [&](const Array& h, const Array& x) {
      return mean(square(vmap(one, {.in_axes = {0, 1}})(h, x)));
    };
    const Array h = wave({lanes, width}, 0.3), x = wave({9, lanes, width}, 1.3);
    const ProgramRef p = inline_calls(trace(grad<0, 1>(loss))(h, x)), q = run_passes(compile_passes(), p);
    for (const Eqn& eqn : q->eqns()) {
      const bool views = eqn.op == &transpose_op() || eqn.op == &slice_op();
      EXPECT_FALSE(views && std::ranges::count(q->inputs(), eqn.in[0]) > 0) << "unroll " << unroll << "\n" << q;
    }
    expect_same(p, q, {h.value(), x.value()});
    const std::vector<Value> wanted = evaluate(*p, {}, {{h.value(), x.value()}});
    const auto [dh, dx] = jit(grad<0, 1>(loss))(h, x);
    expect_native({dh, dx}, wanted, DType::f64);
  }
}

}  // namespace
}  // namespace tenon
