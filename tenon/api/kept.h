// What derivatives keep: where it comes from; and where what is traced tells explain() of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/ir/program.h"
#include "tenon/ir/recurse.h"

namespace tenon::api_detail {

// What made a variable, looked up inside of regions and calls: the op that a user wrote, and where. Empty of inputs.
struct Origin {
  std::string op;
  Source where;
  const Eqn* eqn = nullptr;          // the innermost: of a carry that a loop stacks, the loop
  std::vector<const Eqn*> around;    // the regions and calls that it is a result of, the outermost first
  const Program* program = nullptr;  // of eqn
  std::optional<Type> booleans;      // what it is, in one step, where it is kept as bits
  std::size_t packed_rank = 0;       // of these bits

  // The type of a stack of what it is, which is kept as `stack`.
  Type kept_type(const Type& stack) const;
};
Origin origin_of(const Program& program, Var v);

// What the first part of a function with that many outputs stores for the second; noted where explain() asks for it on
// this thread.
void note_kept(const Partitioned& parts, std::size_t outputs);
// Likewise the reductions that hoist_reductions moves in a Program.
void note_hoisted(const ProgramRef& program);

}  // namespace tenon::api_detail
