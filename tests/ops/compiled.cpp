// Every op × dtype × sample case: native code against the reference evaluator, and so its jvp.
#include <gtest/gtest.h>

#include "tenon/compile/executable.h"
#include "tenon/compile/plan/plan.h"
#include "tests/ops/checks.h"

namespace tenon::sample {
namespace {

class Compiled : public OpCase {
 protected:
  void compare(const ProgramRef& p, const std::vector<Value>& in) {
    const auto got = compile(p)->run(in), want = run(p, in);
    for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], p);
  }
};
TEST_P(Compiled, IsTheReference) { compare(program(), inputs()); }
INSTANTIATE_TEST_SUITE_P(All, Compiled, testing::ValuesIn(cases([](DType) { return true; }, {has_native_form})),
                         name_of);

class CompiledJvp : public Compiled {};
TEST_P(CompiledJvp, IsTheReference) {
  const ProgramRef p = program();
  const Mask in = active(p), out = active_out(p);
  std::vector<Value> all = inputs();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i]) all.push_back(random_buffer(c().sample.types[i], {-1, 1}));
  compare(jvp(p, in, out), all);
}
INSTANTIATE_TEST_SUITE_P(All, CompiledJvp,
                         testing::ValuesIn(cases([](DType) { return true; }, {has_native_form, has_derivative})),
                         name_of);

}  // namespace
}  // namespace tenon::sample
