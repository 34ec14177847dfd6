// The same Program behind another list of inputs and outputs.
#pragma once

#include <optional>

#include "tenon/base/function_ref.h"
#include "tenon/ir/program.h"

namespace tenon {

// Input i of the result feeds the Program's input from[i], or nothing where from[i] is empty (then it has type
// types[i]). Inputs that are not named must not be read. Outputs are the Program's outputs at `outputs`.
ProgramRef adapt(const Program& program, std::span<const std::optional<std::size_t>> from, std::span<const Type> types,
                 std::span<const std::size_t> outputs);

// The same inside another Program: `sizes` are the sizes there that the Program's size parameters stand for, and
// `types` have sizes from there too. Those that no parameter stands for yet become parameters.
ProgramRef adapt(const Program& program, std::span<const std::optional<std::size_t>> from, std::span<const Type> types,
                 std::span<const std::size_t> outputs, std::vector<Dim>& sizes);

// Whether eqns of the Program have Programs in their params.
bool holds_programs(const Program& program);
// The Program with `region` of each of these; itself where none of them changes.
ProgramRef with_regions(const ProgramRef& program, FunctionRef<ProgramRef(const ProgramRef&)> region);

}  // namespace tenon
