// Planning: from a Program to one Function of the loop language. What fuses, what is kept in memory, what loops.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/compile/report.h"
#include "tenon/compile/units.h"
#include "tenon/ir/program.h"
#include "tenon/kernel/function.h"
#include "tenon/kernel/target.h"

namespace tenon {

// Why a Program has no native form: an op or a dtype without one. Empty: it has.
std::string why_not_native(const Program& program);
std::string why_not_native(const Program& program, const Eqn& eqn);  // the same of one eqn

// The Program after all passes. Its calls are of units; where one has no native form, it is an island.
ProgramRef flattened(const ProgramRef& program);

// The statements of a flattened Program, before kernel passes.
std::pair<kernel::Function, Units> statements_of(const Program& program, const kernel::Target& target,
                                                 Report* report = nullptr);

struct Planned {
  kernel::Function function;
  std::vector<std::optional<std::size_t>> shared;
  Units units = {};
  std::vector<SizeVar> found = {};  // sizes of results that data decide: the last argument takes them, i64, in order
};
// Arguments are the Program's inputs, then its outputs, contiguous. The Program is flattened, and its sizes are known.
// Cost: a few walks over the eqns; expressions are shared, so their size is linear in the eqns that fuse. Memory of the
// inputs `donated` may be used again: `shared` tells for each output the input in whose memory it is computed. What was
// decided on the way is added to the report, where one is given. It is statements_of, and kernel_passes (pipeline.h).
Planned plan(const Program& program, const std::vector<bool>& donated = {}, Report* report = nullptr);

}  // namespace tenon
