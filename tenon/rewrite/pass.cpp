#include "tenon/rewrite/pass.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/ir/print.h"
#include "tenon/ir/unify.h"

namespace tenon {
namespace {

// Sizes that data decide may have other numbers.
bool same_types(const Program& a, const Program& b) {
  const std::vector<Type> x = a.output_types(), y = b.output_types();
  SizeBinding numbers;
  bool same = a.input_types() == b.input_types() && x.size() == y.size();
  for (std::size_t i = 0; i < x.size() && same; ++i) same = unify(x[i], y[i], numbers);
  return same;
}

}  // namespace

std::string PassSubject<ProgramRef>::text(const ProgramRef& program) { return print(*program); }

void PassSubject<ProgramRef>::verify(const std::string& pass, const ProgramRef& before, const ProgramRef& after) {
  if (after != before && !same_types(*before, *after))
    throw VerifyError(
        fmt::format("the pass {} has changed the types of {}'s inputs or outputs.", pass, before->name()));
}

ProgramRef run_passes(std::span<const ProgramPass> passes, const ProgramRef& program) {
  ProgramRef result = program;
  for (const ProgramPass& pass : passes) result = run_pass(pass, result);
  return result;
}

}  // namespace tenon
