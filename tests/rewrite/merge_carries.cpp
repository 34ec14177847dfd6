// Carries that are equal at every step: how many a loop has left, and that results stay what they were.
#include "tenon/rewrite/merge_carries.h"

#include <gtest/gtest.h>

#include "tenon/transform/transforms.h"
#include "tests/fuzzing.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t merge_steps = 6, merge_width = 5;

std::int64_t carries_of(const ProgramRef& p) {
  std::int64_t all = 0;
  for (const Eqn& eqn : p->eqns())
    if (eqn.op == &loop_op()) all += eqn.params.as<LoopParams>().carries + carries_of(eqn.params.as<LoopParams>().body);
  return all;
}

using Carries = std::vector<Array>;
// The carries of so many arrays behind all steps, and the first one of each step.
std::vector<Array> run(const Carries& first, const Array& xs,
                       const std::function<Carries(const Carries&, const Array&)>& step) {
  auto [last, ys] = scan(
      [&](const Carries& c, const Array& x) {
        const Carries next = step(c, x);
        return std::pair(next, next[0]);
      },
      first, xs);
  last.push_back(ys);
  return last;
}

struct MergeCase {
  const char* name;
  std::int64_t carries, left;
  std::function<Carries(const Carries&, const Array&)> step;
};
const MergeCase merge_cases[]{
    {"TwoAlike", 2, 1, [](const Carries& c, const Array& x) { return Carries{sin(c[0] + x), sin(c[1] + x)}; }},
    {"Swapped", 2, 1, [](const Carries& c, const Array& x) { return Carries{cos(c[1] * x), cos(c[0] * x)}; }},
    {"TwoPairs", 4, 2,
     [](const Carries& c, const Array& x) { return Carries{c[0] + x, c[1] * 2 - x, c[2] + x, c[3] * 2 - x}; }},
    {"OneDiffers", 3, 2, [](const Carries& c, const Array& x) { return Carries{c[0] + x, c[1] + x, c[2] - x}; }},
    {"MadeOfOnesThatDiffer", 3, 3,
     [](const Carries& c, const Array& x) { return Carries{c[1] + x, c[2] + x, c[2] - x}; }},
    {"HandedOn", 20, 20,  // they differ one step after the other
     [](const Carries& c, const Array& x) {
       Carries next(c.begin() + 1, c.end());
       next.push_back(c.back() + x);
       return next;
     }},
    {"OfALoopInEachStep", 2, 2,  // one of each loop
     [](const Carries& c, const Array& x) {
       const auto inner = [&](const Array& a) {
         return scan([&](const Array& s, const Array& y) { return std::pair(s * 2 - y, std::tuple<>()); }, a,
                     stack({x, x + 1}))
             .first;
       };
       return Carries{inner(c[0]), inner(c[1])};
     }},
};

class MergedCarries : public testing::TestWithParam<std::tuple<MergeCase, DType>> {};
TEST_P(MergedCarries, AreOneWhereTheyAreEqual) {
  const auto& [each, dtype] = GetParam();
  const auto f = [&](const Array& c, const Array& xs) {
    return run(Carries(static_cast<std::size_t>(each.carries), c), xs, each.step);
  };
  const Array state = zeros({merge_width}, dtype), rows = zeros({merge_steps, merge_width}, dtype);
  const ProgramRef p = inline_calls(trace(f)(state, rows)), q = merge_carries(p);
  EXPECT_EQ(carries_of(q), each.left) << q;
  expect_same(p, q, waves_for(*p));
  EXPECT_EQ(merge_carries(q)->hash(), q->hash());
}
INSTANTIATE_TEST_SUITE_P(All, MergedCarries,
                         testing::Combine(testing::ValuesIn(merge_cases),
                                          testing::Values(DType::f32, DType::f64, DType::bf16, DType::c64)),
                         case_and_dtype);

TEST(MergeCarries, LeavesCarriesThatBeginApart) {
  const auto f = [](const Array& a, const Array& b, const Array& xs) {
    return run({a, b}, xs, [](const Carries& c, const Array& x) { return Carries{c[0] + x, c[1] + x}; });
  };
  const Array x = zeros({merge_width}, DType::f32), xs = zeros({merge_steps, merge_width}, DType::f32);
  const ProgramRef p = inline_calls(trace(f)(x, x, xs));
  EXPECT_EQ(carries_of(merge_carries(p)), 2);
}

TEST(MergeCarries, LeavesLoopsWithACondition) {
  const auto f = [](const Array& x) {
    return while_loop([](const Carries& c) { return all(c[0] + c[1] < 10); },
                      [](const Carries& c) { return Carries{c[0] + 1, c[1] + 1}; }, Carries{x, x});
  };
  const ProgramRef p = inline_calls(trace(f)(zeros({merge_width}, DType::f32))), q = merge_carries(p);
  EXPECT_EQ(q->hash(), p->hash());
}

}  // namespace
}  // namespace tenon
