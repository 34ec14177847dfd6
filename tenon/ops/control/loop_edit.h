// Writes one loop anew: with operands more or less, results more or less, and a body of which its old one is a part.
//
//   LoopEdit edit(params, operands);
//   const auto count = edit.add_carry(Array(0));
//   edit.drop(old_xs);
//   const LoopEdit::Built built = edit.build([&](LoopEdit::Step& step) {
//     step.old.set(params.body->inputs()[old_xs], made_of(step.at(count)));
//     step.bind_all();
//     step.carry_on(count, step.at(count) + 1);
//   });
//   built.results, built.carries[count.index]
#pragma once

#include "tenon/base/function_ref.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/loop_roles.h"

namespace tenon {

class LoopEdit {
 public:
  // Of a loop with these operands; the params' sizes are those of where it is bound.
  LoopEdit(LoopParams params, Arrays operands);

  // Operands more. They stand behind those that were there, each with its kind, in the order in which they are added.
  enum class Kind : std::uint8_t { constant, carry, xs };
  struct Added {
    Kind kind;
    std::size_t index;  // among those added of its kind
  };
  Added add_const(const Array& x) { return add(Kind::constant, x); }
  Added add_carry(const Array& first) { return add(Kind::carry, first); }
  Added add_xs(const Array& all) { return add(Kind::xs, all); }

  // The loop has this operand no more, and of a carry no result. Neither the condition nor what the body is to be reads
  // it, unless the writer of the body sets it.
  void drop(std::size_t operand);
  // The loop stacks this result (a ys) no more.
  void drop_result(std::size_t result) { result_stays_[result] = false; }

  // What the writer of the body has in hand: the replay of the old body, whose inputs that stay are set.
  class Step {
   public:
    Step(const Program& body, std::span<const Dim> sizes) : old(body, sizes) {}
    Replay old;
    const Array& at(Added added) const { return added_[static_cast<std::size_t>(added.kind)][added.index]; }
    // What an added carry becomes. Each is said once.
    void carry_on(Added carry, Array next) { next_[carry.index] = std::move(next); }
    // Stacks one more value; the numbers count them.
    std::size_t stack(Array value);
    void bind_all();  // eqns of the old body

   private:
    friend class LoopEdit;
    Arrays added_[3], next_, stacked_;
  };
  struct Built {
    Arrays results;  // one for each of the old loop; what was dropped is no array
    Arrays carries;  // of added carries, behind the last step
    Arrays stacks;   // of added values
  };
  Built build(FunctionRef<void(Step&)> write) const;

 private:
  Added add(Kind kind, const Array& x);
  bool has_result(std::size_t i) const { return result_stays_[i]; }
  std::vector<std::optional<std::size_t>> old_of_new() const;
  TraceResult traced_body(std::span<const std::optional<std::size_t>> from, std::span<const Type> types,
                          FunctionRef<void(Step&)> write, std::vector<std::size_t>& stacks) const;

  const LoopParams params_;
  const LoopRoles roles_;
  const Arrays operands_;
  std::vector<bool> operand_stays_, result_stays_;
  Arrays added_[3];
};

// The Program with each loop in which `of` finds something written anew by `with`, inner loops first; `pass` does this,
// for the Programs within. found = of(eqn, params); with(params, found, operands) gives the loop's results.
template <class Of, class With>
ProgramRef with_loops(const ProgramRef& program, ProgramRef pass(const ProgramRef&), Of of, With with) {
  return rewritten(*program, [&](Replay& replay) {
    for (const Eqn& eqn : program->eqns()) {
      if (eqn.op != &loop_op()) {
        replay.bind_eqn(eqn, pass);
        continue;
      }
      const EqnScope place(eqn);
      const Params params = replay.params(eqn).map_programs([&](const ProgramRef& p) { return p ? pass(p) : p; });
      const auto& p = params.as<LoopParams>();
      const auto found = of(eqn, p);
      const Arrays operands = replay.operands(eqn);
      replay.set_results(eqn, found.empty() ? bind_op(*eqn.op, params, operands) : with(p, found, operands));
    }
  });
}

}  // namespace tenon
