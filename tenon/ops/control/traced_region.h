// Loops and branches written with functions of handles, for rules that make whole programs. What a function reads from
// outside becomes an operand of the op.
#pragma once

#include <functional>

#include "tenon/ops/control/region.h"

namespace tenon {

using HandleFunction = std::function<Arrays(const Arrays&)>;

// A traced function's Program, (arguments…, captures…), with its captures first (behind `before` others that it does
// not read, and with `behind` others that it does not read behind them), then its arguments. `sizes`: what its size
// parameters stand for; those that only the others have are added.
ProgramRef captures_first(const Program& program, std::size_t arguments, std::size_t captures,
                          std::span<const Type> before, std::span<const Type> behind, std::vector<Dim>& sizes);

// body of the state while cond(state)[0] holds.
Arrays while_loop_of(const HandleFunction& cond, const HandleFunction& body, const Arrays& state);
// body of the state so many times.
Arrays counted_loop_of(const Dim& steps, const HandleFunction& body, const Arrays& state);
// What branch `index` gives, i32[].
Arrays branch_of(const Array& index, std::span<const std::function<Arrays()>> branches);

}  // namespace tenon
