// Compilation: what a Program becomes on its way to native code, as a value. compile(), explain() and the strict
// options of jit read one, so nothing is planned twice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/compile/plan/plan.h"
#include "tenon/compile/report.h"
#include "tenon/ir/program.h"

namespace tenon {

struct Compilation {
  ProgramRef program;         // as it was traced
  std::vector<bool> donated;  // inputs whose memory outputs may take
  ProgramRef flat;            // after all passes; null where these need the numbers of sizes that vary
  std::string not_native;     // why the Program has no native form as a whole, and `planned` nothing
  std::optional<Planned> planned;
  Report report;  // what was decided on the way; empty where it was not asked for

  bool native() const { return planned.has_value(); }
  // Without native form for all sizes: it is compiled for each that it meets.
  bool for_each_size() const { return !native() && !program->size_params().empty(); }
};

enum class Reasons : bool { left_out, reported };

// Runs the passes and plans. A Program with size parameters is planned for all its sizes, or, where that needs their
// numbers, has no native form: it is compiled for each of its sizes. `report` holds what is known already. Throws what
// the passes and the planner throw.
Compilation compilation_of(const ProgramRef& program, const std::vector<bool>& donated = {},
                           Reasons reasons = Reasons::left_out, Report report = {});

}  // namespace tenon
