// What is made step by step of what a loop stacks.
#pragma once

#include "tenon/base/function_ref.h"
#include "tenon/rewrite/steps_in.h"

namespace tenon {

using StepsOf = FunctionRef<std::optional<StepsIn>(Var)>;

// Where the steps lie in the result of what gives step t of it from step t of its operands, or from earlier ones, which
// are few. `steps`: where they lie in an operand; others are the same at each step, or have parts for them, if they can
// be computed before the loop, which is `is_before`. `reverse`: the loop goes from the last step to the first.
std::optional<StepsIn> steps_behind(const Program& program, const Eqn& eqn, StepsOf steps,
                                    FunctionRef<bool(Var)> is_before, bool reverse);

// Whether a product makes few numbers of each row of an operand: a step takes these one by one.
bool makes_few_of_rows(const Program& program, const Eqn& product);

}  // namespace tenon
