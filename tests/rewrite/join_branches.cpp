// What follows a choice of branches, and reads what they give, is part of them.
#include "tenon/rewrite/join_branches.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/ops/control/region.h"
#include "tenon/rewrite/pass.h"
#include "tenon/rewrite/sink_operands.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t joined_steps = 5, joined_width = 40;

Array joined_rows(double by, DType d) {
  const Array flat = sin(arange(joined_steps * joined_width, DType::f64) * by + 0.4) * 4.0;
  return convert(reshape(flat, {joined_steps, joined_width}), d);
}

// Conds and loops that are in no other's region.
int outermost(const Program& p) {
  return static_cast<int>(
      std::ranges::count_if(p.eqns(), [](const Eqn& eqn) { return eqn.op == &cond_op() || eqn.op == &loop_op(); }));
}

Array sums_of_rows(const Array& rows) {
  return scan([](const Array& c, const Array& x) { return std::pair(c - x, c + x); }, zeros_like(rows(0)), rows).second;
}

struct JoinedCase {
  const char* name;
  std::function<Arrays(const Array& x, const Array& y)> f;
  int before, after;  // conds and loops
};
Array is_chosen(const Array& x) { return x(0, 0) > 0; }
Array twice(const Array& x) { return x + x; }

const JoinedCase joined_cases[]{
    {"TwoWithOneIndex",
     [](const Array& x, const Array& y) {
       const Array p = is_chosen(x);
       const Array z = cond(p, [](Array a) { return a * a; }, twice, y);
       return Arrays{
           cond(p, [](Array a, Array b) { return sum(a * b); }, [](Array a, Array b) { return sum(a - b); }, z, x)};
     },
     2, 1},
    {"ThreeWithOneIndex",
     [](const Array& x, const Array& y) {
       const Array p = is_chosen(x);
       const Array z = cond(p, [](Array a) { return a * a; }, twice, y);
       const Array u = cond(p, twice, [](Array a) { return a * a; }, z + x);
       return Arrays{cond(p, [](Array a) { return sum(a); }, [](Array a) { return sum(a * a); }, u - y)};
     },
     3, 1},
    {"OfTwoIndices",
     [](const Array& x, const Array& y) {
       const Array z = cond(is_chosen(x), [](Array a) { return a * a; }, twice, y);
       return Arrays{cond(is_chosen(y), [](Array a) { return sum(a * a); }, [](Array a) { return sum(a); }, z)};
     },
     2, 2},
    {"AResultToo",
     [](const Array& x, const Array& y) {
       const Array p = is_chosen(x), z = cond(p, [](Array a) { return a * a; }, twice, y);
       return Arrays{z, cond(p, [](Array a) { return sum(a * a); }, [](Array a) { return sum(a); }, z)};
     },
     2, 2},
    {"ReadByOthersToo",
     [](const Array& x, const Array& y) {
       const Array p = is_chosen(x), z = cond(p, [](Array a) { return a * a; }, twice, y);
       return Arrays{cond(p, [](Array a) { return sum(a * a); }, [](Array a) { return sum(a); }, z), amax(z)};
     },
     2, 2},
    {"OneOfTwoResults",
     [](const Array& x, const Array& y) {
       const Array p = is_chosen(x);
       const auto both = cond(
           p, [](Array a) { return std::pair(sum(a), a * a); }, [](Array a) { return std::pair(amax(a), a + a); }, y);
       return Arrays{both.first,
                     cond(p, [](Array a) { return sum(a * a); }, [](Array a) { return sum(a); }, both.second)};
     },
     2, 1},
    {"FewElements",
     [](const Array& x, const Array& y) {
       const Array p = is_chosen(x), z = cond(p, [](Array a) { return a * a; }, twice, y(0, slice(0, 8)));
       return Arrays{cond(p, [](Array a) { return sum(a * a); }, [](Array a) { return sum(a); }, z)};
     },
     2, 2},
    {"WaitsForBoth",  // for what a reduction makes of the first
     [](const Array& x, const Array& y) {
       const Array p = is_chosen(x);
       const auto both = cond(
           p, [](Array a) { return std::pair(sum(a, 0), a * a); }, [](Array a) { return std::pair(a(0), a + a); }, y);
       const Array m = amax(both.first);
       return Arrays{cond(
           p, [](Array a, Array m) { return sum(a * m); }, [](Array a, Array m) { return sum(a - m); }, both.second,
           m)};
     },
     2, 2},
    {"ASumInBetween",  // of what does not wait for the first
     [](const Array& x, const Array& y) {
       const Array p = is_chosen(x), z = cond(p, [](Array a) { return a * a; }, twice, y), s = sum(x, 0);
       return Arrays{
           cond(p, [](Array a, Array s) { return sum(a * s); }, [](Array a, Array s) { return sum(a - s); }, z, s)};
     },
     2, 1},
    {"ALoop",
     [](const Array& x, const Array& y) {
       return Arrays{
           sums_of_rows(cond(is_chosen(x), [](Array a) { return a * 2.0; }, [](Array a) { return a + 1.0; }, y))};
     },
     2, 1},
    {"ALoopAndOthersOfFills",
     [](const Array& x, const Array& y) {
       const Array some = full(y.shape(), convert(Array(2.5), y.dtype()));
       return Arrays{sums_of_rows(cond(is_chosen(x), twice, [](Array a) { return -a; }, y) * some), some};
     },
     2, 1},
    {"ALoopOfWhatIsStoredAnyway",
     [](const Array& x, const Array& y) {
       const auto sorted = [](Array a) { return sort(a, 0); };
       return Arrays{sums_of_rows(cond(is_chosen(x), sorted, [](Array a) { return a; }, y))};
     },
     2, 2},
    {"ALoopOfFiveBranches",
     [](const Array& x, const Array& y) {
       const auto times = [](double by) { return [by](Array a) { return a * by; }; };
       const Array i = convert(is_chosen(x), DType::i32);
       return Arrays{
           sums_of_rows(switch_case(i, std::tuple(times(1.5), times(2.0), times(0.5), times(3.0), times(2.5)), y))};
     },
     2, 2},
    {"InALoop",
     [](const Array& x, const Array& y) {
       const auto step = [&](Array, Array c) {
         const Array p = c(0, 0) > 0, z = cond(p, [](Array a) { return a * a; }, twice, c);
         return cond(p, [](Array a, Array b) { return a - b; }, [](Array a, Array b) { return a + b; }, z, y);
       };
       return Arrays{fori_loop(0, 2, step, x)};
     },
     1, 1},
};

class JoinedBranches : public testing::TestWithParam<std::tuple<JoinedCase, DType>> {};

TEST_P(JoinedBranches, ComputeTheSame) {
  const auto& [c, dtype] = GetParam();
  const Array x = joined_rows(1.3, dtype), y = joined_rows(0.7, dtype);
  const ProgramRef p = inline_calls(trace(c.f)(x, y)), q = join_branches(p);
  EXPECT_EQ(outermost(*p), c.before) << p;
  EXPECT_EQ(outermost(*q), c.after) << q;
  EXPECT_EQ(join_branches(q)->hash(), q->hash());
  for (const Array& other : {x, -x}) {
    expect_same(p, q, {other.value(), y.value()});
    expect_native(jit(c.f)(other, y), evaluate(*p, {}, std::vector<Value>{other.value(), y.value()}), dtype);
  }
}
INSTANTIATE_TEST_SUITE_P(All, JoinedBranches,
                         testing::Combine(testing::ValuesIn(joined_cases), testing::Values(DType::f64, DType::f32)),
                         case_and_dtype);

// Of a chosen loss of a stack: one cond, which goes back through the steps, and no cotangents of the stack are stored.
TEST(JoinBranches, GradientsOfAChosenLoss) {
  const auto loss = [](const Array& x, const Array& y) {
    const Array stack = stacked_sines(x);
    return cond(
        is_chosen(y), [](Array a, Array b) { return mean(square(a - b)); }, [](Array a, Array) { return mean(a); },
        stack, y);
  };
  const Array x = joined_rows(1.3, DType::f64), y = joined_rows(0.7, DType::f64);
  const ProgramRef p = inline_calls(trace(value_and_grad(loss))(x, y)), q = join_branches(p);
  EXPECT_EQ(outermost(*p), 4) << p;
  EXPECT_EQ(outermost(*q), 2) << q;
  for (const Array& other : {y, -y}) {
    expect_same(p, q, {x.value(), other.value()});
    expect_same(p, sink_operands(q), {x.value(), other.value()});
    EXPECT_TRUE(allclose(jit(grad(loss))(x, other), grad(loss)(x, other), 1e-12, 1e-12));
  }
  const Array lanes = stack({x, x * 0.5}, 0);
  const auto of_lanes = [&](const Array& l) { return vmap([&](const Array& a) { return grad(loss)(a, y); })(l); };
  EXPECT_TRUE(allclose(jit(of_lanes)(lanes)(1), grad(loss)(x * 0.5, y), 1e-12, 1e-12));
}

}  // namespace
}  // namespace tenon
