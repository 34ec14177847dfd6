#include "tenon/rewrite/pair_factors.h"

#include <map>

#include "tenon/ir/replay.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/hoist_search.h"

namespace tenon {
namespace {

// What is ± 2^twos times x.
struct Factored {
  Var of;   // of the Program, as it is
  Array x;  // or else what has been made of others
  bool negative = false;
  int twos = 0;
};

class Factors {
 public:
  Factors(const Program& program, Replay& replay) : program_(program), maker_(makers_of(program)), replay_(replay) {}

  // Whether it has bound the eqn, as a sum without factors.
  bool bind(const Eqn& eqn) {
    const auto form = reduction_of(eqn, program_);
    if (!form || form->combine != kernel::Combine::add || eqn.numerics != Numerics::relaxed) return false;
    const Factored found = factored(eqn.in[0]);
    if (!found.negative && found.twos == 0) return false;
    const EqnScope place(eqn);
    Array sum = bind1(*eqn.op, replay_.params(eqn), {array(found)});
    for (int i = 0; i < found.twos; ++i) sum = sum + sum;
    replay_.set(eqn.out[0], found.negative ? -sum : sum);
    return true;
  }

 private:
  static constexpr int deepest = 32;  // ops of each other that are looked through

  const Array& array(const Factored& f) const { return f.x.empty() ? replay_.get(f.of) : f.x; }

  Factored factored(Var v, int depth = 0) {
    if (const auto known = known_.find(v); known != known_.end()) return known->second;
    const Factored found = depth < deepest && maker_[v] != nullptr ? looked_through(v, depth + 1) : Factored{v, {}};
    known_.emplace(v, found);
    return found;
  }
  Factored looked_through(Var v, int depth) {
    const Eqn* eqn = maker_[v];
    Factored found{v, {}};
    if (eqn->numerics != Numerics::relaxed) return found;
    if (eqn->op == &neg_op()) {
      found = factored(eqn->in[0], depth);
      found.negative = !found.negative;
    } else if (eqn->op == &add_op() && eqn->in[0] == eqn->in[1]) {
      found = factored(eqn->in[0], depth);
      ++found.twos;
    } else if (eqn->op == &mul_op()) {
      found = product(*eqn, depth);
    }
    return found;
  }
  Factored product(const Eqn& eqn, int depth) {
    const Factored a = factored(eqn.in[0], depth), b = factored(eqn.in[1], depth);
    const bool changed = a.negative || a.twos > 0 || b.negative || b.twos > 0;
    if (!changed) return {eqn.out[0], {}};
    const EqnScope place(eqn);
    return {eqn.out[0], bind1(mul_op(), {}, {array(a), array(b)}), a.negative != b.negative, a.twos + b.twos};
  }

  const Program& program_;
  const std::vector<const Eqn*> maker_;
  Replay& replay_;
  std::map<Var, Factored> known_;
};

}  // namespace

ProgramRef without_factors(const ProgramRef& program, const std::set<std::size_t>& sums) {
  bool changed = false;
  const ProgramRef without = rewritten(*program, [&](Replay& replay) {
    Factors factors(*program, replay);
    for (std::size_t e = 0; e < program->eqns().size(); ++e) {
      const Eqn& eqn = program->eqns()[e];
      const bool bound = sums.contains(e) && factors.bind(eqn);
      if (!bound) replay.bind_eqn(eqn);
      changed = changed || bound;
    }
  });
  return changed ? without : program;
}

}  // namespace tenon
