#include "tenon/compile/compilation.h"

#include "tenon/base/dump.h"
#include "tenon/base/error.h"
#include "tenon/ir/print.h"
#include "tenon/rewrite/engine.h"

namespace tenon {
namespace {

void pass_and_plan(Compilation& c, Reasons reasons) {
  std::optional<NotesApplied> notes;
  if (reasons == Reasons::reported) notes.emplace();
  c.flat = flattened(c.program);
  if (notes) c.report.applied.insert(c.report.applied.end(), notes->applied().begin(), notes->applied().end());
  notes.reset();
  c.not_native = why_not_native(*c.flat);
  if (!c.not_native.empty()) return;
  c.planned = plan(*c.flat, c.donated, reasons == Reasons::reported ? &c.report : nullptr);
  // A value that a pass has removed had a size, too, and the user asked for it: a negative one is still an error.
  for (const Type& type : c.program->parts().types)
    type.visit_dims([&](const Dim& d) {
      if (!d.known()) c.planned->function.not_negative.push_back(d);
    });
}

}  // namespace

Compilation compilation_of(const ProgramRef& program, const std::vector<bool>& donated, Reasons reasons,
                           Report report) {
  if (dumping()) dump("traced.tn", print(*program));
  Compilation c{.program = program, .donated = donated, .report = std::move(report)};
  const auto decides = [](const Eqn& eqn) { return !eqn.new_sizes.empty(); };
  if (program->size_params().empty() && find_eqn(*program, decides) == nullptr) {
    pass_and_plan(c, reasons);
  } else {
    try {
      pass_and_plan(c, reasons);
    } catch (const ConcretizationError& e) {
      c.not_native = e.what();
      if (c.flat == nullptr) c.flat = program;
    }
  }
  if (dumping() && c.native()) dump("kernels.txt", kernel::print(c.planned->function));
  return c;
}

}  // namespace tenon
