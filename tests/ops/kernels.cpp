// What each sample of an op is planned as, as text, behind each kernel pass: it is read back as what it is.
#include <gtest/gtest.h>

#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/compile/target.h"
#include "tenon/kernel/parse.h"
#include "tests/ops/cases.h"

namespace tenon::sample {
namespace {

void expect_read_back(const kernel::Function& f, const std::string& stage) {
  const std::string text = print(f);
  EXPECT_EQ(print(kernel::parse(text)), text) << stage;
}

TEST(Kernels, OfSamplesAreReadBack) {
  int planned = 0;
  for (const Case& c : cases([](DType d) { return d == DType::f32 || d == DType::c64 || d == DType::i32; })) {
    const ProgramRef flat = flattened(program_of(*c.op, c.sample.params, c.sample.types));
    if (!why_not_native(*flat).empty()) continue;
    SCOPED_TRACE(c.op->name);
    kernel::Function f = statements_of(*flat, target()).first;
    expect_read_back(f, "planned");
    for (const kernel::Pass& pass : kernel_passes(target())) {
      f = run_pass(pass, std::move(f));
      expect_read_back(f, pass.name);
    }
    ++planned;
  }
  EXPECT_GT(planned, 100);
}

}  // namespace
}  // namespace tenon::sample
