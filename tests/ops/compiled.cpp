// Every op × dtype × sample case: native code against the reference evaluator, and so its jvp.
#include <gtest/gtest.h>

#include "tenon/compile/executable.h"
#include "tenon/compile/plan.h"
#include "tests/ops/checks.h"

namespace tenon::sample {
namespace {

class Compiled : public OpCase {
 protected:
  void compare(const ProgramRef& p, const std::vector<Value>& in) {
    if (!p->size_params().empty() || !why_not_native(*inline_calls(p)).empty()) return;
    const auto got = compile(p)->run(in), want = run(p, in);
    for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], p);
  }
};
TEST_P(Compiled, IsTheReference) { compare(program(), inputs()); }
TEST_P(Compiled, JvpIsTheReference) {
  const ProgramRef p = program();
  const Mask in = active(p), out = active_out(p);
  if (!c().op->jvp || std::ranges::find(in, true) == in.end()) return;
  std::vector<Value> all = inputs();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i]) all.push_back(random_buffer(c().sample.types[i], {-1, 1}));
  compare(jvp(p, in, out), all);
}
INSTANTIATE_TEST_SUITE_P(All, Compiled, testing::ValuesIn(cases([](DType d) { return !is_complex(d); })), name_of);

}  // namespace
}  // namespace tenon::sample
