// guard: a Program that acts only where a condition holds. By it lanes that have ended, and lanes that do not take a
// branch, cost nothing for each element of what they pass on, and cannot run on.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tenon/ir/op.h"
#include "tenon/ir/program.h"

namespace tenon {

// The input that an output is, up to elements that updates have replaced and steps that loops have made: what it
// becomes again where all of these are left out. Of each output.
std::vector<std::optional<std::size_t>> origins(const ProgramRef& program);
// Those on which all branches of a cond agree.
std::vector<std::optional<std::size_t>> origins(std::span<const ProgramRef> branches);

// The Program with one input more, the first: `running`, bool[]. Where it is false no loop with a condition makes a
// step, no function of the user's is called, and the outputs of the mask `kept` are their origins: updates write what
// is there already, in place. The other outputs are anything then, and an infinite derivative on the way to them does
// not reach the inputs. Inputs of the mask `shared` are the same in all lanes. The size parameters stay.
ProgramRef guard(const ProgramRef& program, const Mask& kept, const Mask& shared);

}  // namespace tenon
