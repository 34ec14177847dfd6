// Which calls of a Program repeat: the same function called again and again, in steps that differ in numbers alone.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/ir/program.h"

namespace tenon {

// What an operand of a rolled eqn is in each step.
struct RollOperand {
  enum class From : std::uint8_t {
    same,     // one variable for all steps
    before,   // what the step before computed, in the first step anything
    here,     // what this step computes
    number,   // literals
    stacked,  // what each step of another roll computed
  };
  From from = From::same;
  Var same = 0;
  std::size_t roll = 0;          // stacked: which
  std::size_t eqn = 0, out = 0;  // before, here, stacked: which result of which eqn of that roll
  std::size_t first = 0;         // stacked: the other roll's step that the first step reads
  bool backwards = false;        // stacked: whether the next one reads the step before that
};

// One eqn of the body: in each step, an eqn of the Program that has its op and params. One that follows from numbers
// alone may be that of several steps, and stays outside for others too.
struct RollEqn {
  bool of_numbers = false;
  std::vector<RollOperand> operands;
  std::vector<std::size_t> at;  // the Program's eqn in each step
};

// Steps that become a loop. An eqn of the body stands behind what it reads of its own step.
struct Roll {
  std::vector<RollEqn> body;
  std::size_t steps() const { return body[0].at.size(); }
};

// A result that is read by itself: outside of its roll, or in the first step of one as what was before.
struct ReadApart {
  Var var;
  std::size_t roll, eqn, out, step;
};

// Of these calls. What else a step computes for the call or makes of its result alone
// belongs to it. No two rolls share an eqn, and nothing that a roll reads needs what it computes: `order` says in which
// order eqns and rolls can be bound, a roll as the number of eqns and its own. A result is read from outside by other
// rolls, in the last step, or in few steps. Time: operands of eqns, times a bounded number of tries; n log n to order.
struct Rolls {
  std::vector<Roll> rolls;
  std::vector<std::size_t> order;
  std::vector<ReadApart> read;
};
Rolls find_rolls(const Program& program, FunctionRef<bool(const Eqn& call)> is_wanted);

}  // namespace tenon
