#include "tenon/rewrite/fold_tables.h"

#include <algorithm>
#include <optional>

#include "tenon/ir/replay.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/ops/structure/table.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Values that are known, of a Program's variables; those that follow from a table are to be one.
class Known {
 public:
  explicit Known(const Program& program)
      : program_(program), values_(program.vars()), of_table_(program.vars(), false) {}

  // Notes the result, where it is known. Whether it is to be a table that is none yet.
  bool note(const Eqn& eqn) {
    if (eqn.out.size() != 1 || !is_small(program_.type(eqn.out[0])) || eqn.params.hold_programs() ||
        effect_of(eqn) != Effect::none || !eqn.op->eval || depends_on_sizes(eqn))
      return false;
    std::vector<Value> in;
    bool of_table = eqn.op == &table_op(), counts = false;
    for (const Var v : eqn.in) {
      if (!values_[v]) return false;
      in.push_back(*values_[v]);
      of_table = of_table || of_table_[v];
      counts = counts || !of_table_[v];
    }
    const Type out[]{program_.type(eqn.out[0])};
    values_[eqn.out[0]] = (*eqn.op->eval)(eqn.params, in, {{}, out})[0];
    of_table_[eqn.out[0]] = of_table;
    // An index vector of which a part only counts, as in x[table, arange(n)], stays one: rules look for such parts.
    if (counts && concatenated_axis(eqn)) return false;
    return of_table && eqn.op != &table_op() && fits_table(out[0]);
  }
  const Value& value(Var v) const { return *values_[v]; }

 private:
  static bool depends_on_sizes(const Eqn& eqn) {
    bool depends = false;
    eqn.params.visit_dims([&](const Dim& d) { depends = depends || !d.known(); });
    return depends;
  }
  static bool is_small(const Type& type) {
    return type.is_array() && type.shape.known() && type.shape.elements().value() <= largest_table;
  }
  const Program& program_;
  std::vector<std::optional<Value>> values_;
  std::vector<bool> of_table_;
};

}  // namespace

ProgramRef fold_tables(const ProgramRef& program) {
  if (find_eqn(*program, [](const Eqn& eqn) { return eqn.op == &table_op(); }) == nullptr) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("fold_tables")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      Known known(*program);
      for (const Eqn& eqn : program->eqns()) {
        if (!known.note(eqn)) {
          replay.bind_eqn(eqn, fold_tables);
          continue;
        }
        const EqnScope place(eqn);
        const auto& value = std::get<Buffer>(known.value(eqn.out[0]));
        replay.set(eqn.out[0], bind1(table_op(), table_params(value), {}));
      }
    });
  });
}

}  // namespace tenon
