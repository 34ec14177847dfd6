// Passes over loops of elementwise steps, and over sums of rows: kernels give the same to the bit behind them.
#include "tenon/kernel/passes/join_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tenon/kernel/parse.h"
#include "tenon/kernel/passes/merge_reductions.h"
#include "tenon/kernel/verify.h"
#include "tests/kernel/interpreter.h"

namespace tenon::kernel {
namespace {

std::vector<Bytes> interpreted(const Function& f) {
  std::vector<Bytes> memory;
  for (const Slot& s : f.slots) {
    if (s.place != Slot::Place::argument) continue;
    Bytes bytes(static_cast<std::size_t>(s.bytes().value()));
    for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
      const float x = std::sin(0.37f * static_cast<float>(i) + static_cast<float>(s.argument));
      std::memcpy(bytes.data() + i * sizeof x, &x, sizeof x);
    }
    memory.push_back(std::move(bytes));
  }
  interpret(f, memory, {}, Order::forward);
  return memory;
}

// What a pass makes of a kernel, which computes the same.
template <class Pass>
std::string after(const std::string& text, Pass pass) {
  const Function before = parse(text);
  Function now = before;
  pass(now);
  verify(now);
  EXPECT_EQ(interpreted(now), interpreted(before)) << print(now);
  return print(now);
}
bool changes(const std::string& text, void (*pass)(Function&, const Target&)) {
  return after(text, [&](Function& f) { pass(f, Target{.threads = 2}); }) != print(parse(text));
}

// A loop of 21 steps over 100 elements, whose body is given; m0 and m3 are read, rows of m1 are written.
std::string loop(const std::string& body) {
  return "function @f arguments=4\n"
         "  m0: f32[2400] argument 0\n  m1: f32[2400] argument 1\n  m2: f32[300] argument 2\n  m3: f32[300] argument "
         "3\n"
         "  for i0<21\n" +
         body;
}

TEST(JoinSteps, Carries) {
  EXPECT_TRUE(changes(loop("    each [i1<100]\n      m2[i1] = add(m2[i1], m0[add(mul(i0, 100), i1)])\n"), join_steps));
  EXPECT_FALSE(changes(loop("    each [i1<100]\n      m2[i1] = sub(m2[add(i1, 100)], m0[add(mul(i0, 100), i1)])\n"
                            "      m3[i1] = m0[i1]\n"
                            "    each [i2<100]\n      m1[add(mul(i0, 100), i2)] = mul(m2[i2], m3[i2])\n"),
                       join_steps));  // no step reads what another one writes
  EXPECT_TRUE(
      changes(loop("    each [i1<10, i2<10]\n"
                   "      m2[add(mul(i1, 10), i2)] = sub(m2[add(mul(i1, 10), i2)], m0[add(i0, i2)])\n"
                   "      m3[add(mul(i1, 10), i2)] = max(m3[add(mul(i1, 10), i2)], m2[add(mul(i1, 10), i2)])\n"),
              join_steps));
}
TEST(JoinSteps, StacksAreReadStepsBehind) {
  for (const char* lag : {"100", "200", "300"}) {
    const std::string place = std::string("add(add(mul(i0, 100), ") + lag + "), i1)";
    EXPECT_TRUE(changes(loop("    each [i1<100]\n      m1[" + place + "] = add(m1[add(mul(i0, 100), i1)], m0[i1])\n"),
                        join_steps))
        << lag;
  }
  EXPECT_TRUE(changes(loop("    each [i1<100]\n      m1[add(mul(sub(20, i0), 100), i1)] = "
                           "sub(m0[i1], m1[add(mul(sub(21, i0), 100), i1)])\n"),
                      join_steps));
}
TEST(JoinSteps, CopiesOfRows) {
  EXPECT_TRUE(changes(loop("    each [i1<100]\n      m2[i1] = sub(m0[add(mul(i0, 100), i1)], m2[i1])\n"
                           "    copy m1[mul(sub(20, i0), 100)] = m2[0], 100 elements, rows of 10\n"),
                      join_steps));
}
TEST(JoinSteps, NestsThatCountOtherwise) {
  EXPECT_TRUE(changes(loop("    each [i1<100]\n      m2[i1] = sub(m0[add(mul(i0, 100), i1)], m2[i1])\n"
                           "    each [i2<4, i3<25]\n      m3[add(mul(i2, 25), i3)] = "
                           "add(m3[add(mul(i2, 25), i3)], m2[add(mul(i2, 25), i3)])\n"),
                      join_steps));
  EXPECT_TRUE(changes(loop("    each [i2<4, i3<25]\n      m3[add(mul(i2, 25), i3)] = "
                           "add(m3[add(mul(i2, 25), i3)], m2[add(mul(i2, 25), i3)])\n"
                           "    each [i1<100]\n      m2[i1] = sub(m3[i1], m2[i1])\n"),
                      join_steps));
}
TEST(JoinSteps, LeavesWhatReadsNeighbours) {
  for (const char* body :
       {"    each [i1<99]\n      m2[i1] = add(m2[add(i1, 1)], m0[i1])\n",
        "    each [i1<100]\n      m1[add(mul(i0, 50), i1)] = add(m1[add(mul(i0, 50), i1)], m0[i1])\n",
        "    each [i1<100]\n      m1[add(mul(i0, 100), i1)] = add(m1[add(mul(i0, 99), i1)], m0[i1])\n",
        "    each [i1<100]\n      m2[i1] = add(m2[i1], m0[i1]) if lt(i1, 5)\n",
        "    each [i1<100]\n      m2[i1] = add(m2[i1], m3[i1])\n    each [i2<100]\n      m3[i2] = m2[sub(99, i2)]\n",
        "    each [i1<100]\n      m2[i1] = add(m2[i1], m3[sub(99, i1)])\n    each [i2<100]\n      m3[i2] = m2[i2]\n"})
    EXPECT_FALSE(changes(loop(body), join_steps)) << body;
}

TEST(MergeReductions, OfRows) {
  const std::string head =
      "function @f arguments=3\n  m0: f32[640] argument 0\n  m1: f32[640] argument 1\n  m2: f32[640] argument 2\n";
  const std::string flat = "  each [i0<640]\n    m1[i0] = neg(m0[i0])\n";
  const std::string rows = "  each [i0<10, i1<64]\n    m1[add(mul(i0, 64), i1)] = neg(m0[add(mul(i0, 64), i1)])\n";
  for (const std::string& nest : {flat, rows}) {
    EXPECT_TRUE(
        changes(head + nest + "  each [i2<10] m2[i2] = max over [i3<64] of m1[add(mul(i2, 64), i3)] from f32:-inf\n",
                merge_reductions));
    EXPECT_TRUE(
        changes(head + nest + "  each [] m2[0] = max over [i2<640] of m1[i2] from f32:-inf\n", merge_reductions));
    // Columns are no rows, and short rows stay.
    EXPECT_FALSE(
        changes(head + nest + "  each [i2<64] m2[i2] = max over [i3<10] of m1[add(mul(i3, 64), i2)] from f32:-inf\n",
                merge_reductions));
  }
}

}  // namespace
}  // namespace tenon::kernel
