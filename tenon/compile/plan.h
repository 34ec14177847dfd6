// Planning: from a Program to one Function of the loop language. What fuses, what is kept in memory, what loops.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/compile/report.h"
#include "tenon/ir/program.h"
#include "tenon/kernel/function.h"

namespace tenon {

// Why a Program has no native form: an op or a dtype without one. Empty: it has.
std::string why_not_native(const Program& program);
std::string why_not_native(const Program& program, const Eqn& eqn);  // the same of one eqn

// Arguments are the Program's inputs, then its outputs, contiguous. The Program has no calls (inline_calls) and known
// sizes. Cost: a few walks over the eqns; expressions are shared, so their size is linear in the eqns that fuse.
// What was decided on the way is added to the report, where one is given.
kernel::Function plan(const Program& program, Report* report = nullptr);

// Where memory of the inputs `donated` may be used again: for each output the input in whose memory it is computed.
struct Planned {
  kernel::Function function;
  std::vector<std::optional<std::size_t>> shared;
};
Planned plan(const Program& program, const std::vector<bool>& donated, Report* report = nullptr);

}  // namespace tenon
