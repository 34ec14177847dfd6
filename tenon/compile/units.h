// Functions that a Program calls and that are compiled by themselves, once for all that call them.
#pragma once

#include <memory>
#include <vector>

#include "tenon/compile/executable.h"
#include "tenon/runtime/units.h"

namespace tenon {

// Native code of a caller reads `unit` here; it is null until whoever plans the caller has compiled it.
struct UnitSlot {
  explicit UnitSlot(ProgramRef callee) : program(std::move(callee)) {}
  const Unit* unit = nullptr;
  ProgramRef program;                                 // null where its code comes from a file
  std::shared_ptr<const Executable> executable = {};  // which owns it
};
// One a function, however often it is called. The code of the caller needs them.
using Units = std::vector<std::shared_ptr<UnitSlot>>;

}  // namespace tenon
