// evaluate(), which tells of each eqn what went in and came out.
#include "tenon/eval/evaluate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tenon/tenon.h"

namespace tenon {
namespace {

TEST(Evaluate, TellsOfEqnsInRegionsBeforeTheEqnThatHasThem) {
  const ProgramRef program =
      trace([](Array x) { return fori_loop(0, 2, [](Array, Array c) { return sin(c); }, x + 1.0f); })(Array(0.5f));
  std::vector<std::string> told;
  ReferenceExecutor reference;
  const std::vector<Value> results =
      evaluate(*program, {}, std::vector<Value>{Array(0.5f).value()}, reference,
               [&](const Eqn& eqn, std::span<const Value> in, std::span<const Value> out) {
                 EXPECT_EQ(in.size(), eqn.in.size());
                 EXPECT_EQ(out.size(), eqn.out.size());
                 told.emplace_back(eqn.op->name);
               });
  EXPECT_EQ(std::ranges::count(told, "sin"), 2);
  EXPECT_LT(std::ranges::find(told, "add"), std::ranges::find(told, "sin"));
  EXPECT_NE(told.back(), "sin");  // the loop
  EXPECT_FLOAT_EQ(*std::get<Buffer>(results[0]).as<float>(), std::sin(std::sin(1.5f)));
}

}  // namespace
}  // namespace tenon
