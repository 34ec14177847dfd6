#include "tenon/rewrite/sink_operands.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tenon/base/settings.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/loop_edit.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/structure.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Elements. Where blocks are small (settings.h) rows of one are taken too, so that small arrays test everything.
std::int64_t shortest_row() { return blocks_are_small() ? 1 : 32; }

// One step's part of an array of which equal parts, one behind the other, belong to the steps: a row, or, of a longer
// first axis, several. Nothing where its sizes are not known, or the first axis has no such parts.
std::optional<Shape> part_of(const Type& t, const Dim& steps) {
  if (!t.is_array() || t.rank() == 0 || steps == Dim(0)) return {};
  Shape row = t.shape.without_axis(0);
  if (!row.known()) return {};
  if (t.shape[0] == steps) return row;
  if (!t.shape[0].known() || !steps.known() || t.shape[0].value() % steps.value() != 0) return {};
  return row.with_axis(0, t.shape[0].value() / steps.value());
}
bool has_rows(const Type& t) { return t.is_array() && t.rank() > 0 && t.shape.without_axis(0).known(); }
Shape row_shape(const Type& t) { return t.shape.without_axis(0); }

// Rows [start, …) of two arrays, one behind the other.
struct Shift {
  Var first, second;
  std::int64_t start;
};

// What the rows of a loop's operands are made of.
struct Made {
  std::vector<std::size_t> xs;  // which of the loop's operands
  std::set<const Eqn*> eqns;    // that make them, in the order of the Program
  std::set<Var> parts, whole;   // what is read a step's part at a time, and as it is
  bool by_number = false;       // of the step
};

class Sink {
 public:
  explicit Sink(const Program& program)
      : program_(program),
        maker_(makers_of(program)),
        stored_for_(program.vars(), 0),
        overwritten_(program.vars(), false) {
    for (const Eqn& eqn : program.eqns()) {
      for (std::size_t i = 0; i < eqn.in.size(); ++i)
        if (may_overwrite(eqn, i)) overwritten_[eqn.in[i]] = true;
      if (rule_of<LowerElement>(*eqn.op) != nullptr || rule_of<LowerReduction>(*eqn.op) != nullptr) continue;
      for (const Var v : eqn.in) ++stored_for_[v];
    }
    for (const Var v : program.outputs()) ++stored_for_[v];
  }

  Made made_for(const Eqn& loop) const {
    const auto& p = loop.params.as<LoopParams>();
    Made made;
    if (p.cond || p.lanes || !p.length) return made;
    std::map<Var, bool> able;
    for (std::size_t i = LoopRoles(p).consts + LoopRoles(p).carries; i < loop.in.size(); ++i) {
      const Var v = loop.in[i];
      if (stored_for_[v] > 1 || !has_rows(program_.type(v))) continue;
      const Type& type = program_.type(v);
      if (type.shape[0] == Dim(0) || (row_shape(type).elements().value() < shortest_row() && !is_fill(v))) continue;
      if (is_stored(v, loop)) continue;
      decide(v, loop, able);
      if (!able.at(v)) continue;
      collect(v, loop, able, made);
      made.xs.push_back(i);
    }
    make_truths(loop, made);
    return made;
  }

  Arrays bind(const Eqn& eqn, const LoopParams& p, const Made& made, const Replay& replay) const {
    const Dim& steps = *eqn.params.as<LoopParams>().length;  // in the sizes of the Program, as its types
    LoopEdit edit(p, replay.operands(eqn));
    for (const std::size_t i : made.xs) edit.drop(i);
    std::map<Var, LoopEdit::Added> whole, parts;
    for (const Var v : made.whole) whole.emplace(v, edit.add_const(replay.get(v)));
    for (const Var v : made.parts) {
      const Array& x = replay.get(v);
      const Shape part = *part_of(program_.type(v), steps);
      parts.emplace(v, edit.add_xs(x.shape()[0] == *p.length ? x : reshape(x, part.with_axis(0, *p.length))));
    }
    std::optional<LoopEdit::Added> number;
    if (made.by_number) number = edit.add_xs(arange(*p.length, DType::i64));
    const auto write = [&](LoopEdit::Step& body) {
      Step step;
      for (const auto& [v, added] : whole) step.whole.emplace(v, body.at(added));
      for (const auto& [v, added] : parts) step.parts.emplace(v, body.at(added));
      if (number) step.number = body.at(*number);
      for (const Eqn* maker : made.eqns) {
        const EqnScope place(*maker);
        step.parts.emplace(maker->out[0], made_part(*maker, steps, step));
      }
      for (const std::size_t i : made.xs) body.old.set(p.body->inputs()[i], step.parts.at(eqn.in[i]));
      body.bind_all();
    };
    return edit.build(write).results;
  }

 private:
  // Whether memory has it anyway, without this loop.
  bool is_stored(Var v, const Eqn& loop) const {
    const Eqn* made = maker_[v];
    return made == nullptr || rule_of<LowerElement>(*made->op) == nullptr ||
           stored_for_[v] > std::ranges::count(loop.in, v);
  }

  // Elementwise, and less than a round trip through memory.
  bool is_cheap(const Eqn& eqn) const {
    constexpr double cheap = 3;  // operations
    return is_elementwise(eqn) && !eqn.in.empty() && element_form(program_, eqn).operations <= cheap;
  }
  // Truths are a byte each: stored, they are less to read than what they compare, unless that is read anyway.
  bool compares(const Eqn& eqn) const {
    return is_elementwise(eqn) && !eqn.in.empty() && program_.type(eqn.out[0]).dtype == DType::bool_;
  }
  bool is_number(Var v) const { return maker_[v] != nullptr && maker_[v]->op == &literal_op(); }
  // One number everywhere: no step reads anything for it.
  bool is_fill(Var v) const {
    return maker_[v] != nullptr && maker_[v]->op == &broadcast_op() && is_number(maker_[v]->in[0]);
  }
  // What a broadcast repeats along its first axis.
  std::optional<Var> repeated(const Eqn& eqn) const {
    if (eqn.op != &broadcast_op()) return {};
    const BroadcastForm form = broadcast_form(eqn.params);
    return std::ranges::count(form.dims, 0) == 0 ? std::optional(eqn.in[0]) : std::nullopt;
  }
  // What has other axes behind the first one: each step's part of the result is made of that step's part of it.
  bool keeps_parts(const Eqn& eqn) const {
    if (eqn.in.empty()) return false;
    const Type &from = program_.type(eqn.in[0]), &to = program_.type(eqn.out[0]);
    if (eqn.op == &broadcast_op()) {
      const BroadcastForm form = broadcast_form(eqn.params);
      return !form.dims.empty() && form.dims[0] == 0 && from.shape[0] == to.shape[0];
    }
    if (eqn.op == &transpose_op()) return from.rank() > 0 && permutation_of(eqn.params)[0] == 0;
    return eqn.op == &reshape_op();
  }
  std::optional<Shift> shifted(const Eqn& eqn) const {
    const Eqn* whole = eqn.op == &slice_op() ? maker_[eqn.in[0]] : nullptr;
    if (whole == nullptr || whole->in.size() != 2 || concatenated_axis(*whole) != 0) return {};
    const Type &x = program_.type(eqn.in[0]), &y = program_.type(eqn.out[0]);
    if (!has_rows(x) || row_shape(x) != row_shape(y)) return {};
    const SliceForm form = slice_form(eqn.params);
    if (form.stride[0] != 1) return {};
    if (!form.start[0].known() || !x.shape.known()) return {};
    return Shift{whole->in[0], whole->in[1], form.start[0].value()};
  }
  std::int64_t rows_in(Var v) const { return program_.type(v).shape[0].value(); }

  // What an eqn reads a step's part of.
  std::vector<Var> read_by_parts(const Eqn& eqn) const {
    if (repeated(eqn) || shifted(eqn)) return {};
    return keeps_parts(eqn) || is_cheap(eqn) ? eqn.in : std::vector<Var>();
  }
  // Whether parts of what memory has can be read.
  bool can_be_read(Var v, const Dim& steps) const { return part_of(program_.type(v), steps) && !overwritten_[v]; }
  // An operand that an eqn widens is stored, if its parts cannot be made: the result is the larger one.
  bool may_be_stored(const Eqn& eqn, const Dim& steps) const {
    return eqn.op == &broadcast_op() && can_be_read(eqn.in[0], steps);
  }

  // Comparisons that were to be stored are made in the steps where all that they read is read there anyway.
  void make_truths(const Eqn& loop, Made& made) const {
    const std::set<Var> parts = made.parts;
    for (const Var v : parts) {
      if (is_stored(v, loop) || !compares(*maker_[v])) continue;
      std::map<Var, bool> able;
      decide(v, loop, able, true);
      if (!able.at(v)) continue;
      Made more;
      collect(v, loop, able, more);
      if (!std::ranges::includes(parts, more.parts)) continue;
      made.parts.erase(v);
      made.eqns.merge(more.eqns), made.whole.merge(more.whole);
      made.by_number = made.by_number || more.by_number;
    }
  }

  // Decides for all that v is made of, down to what is stored, whether its parts can be made in the steps; comparisons
  // are stored unless `truths_too`.
  void decide(Var v, const Eqn& loop, std::map<Var, bool>& able, bool truths_too = false) const {
    std::set<const Eqn*> cone;
    std::vector<Var> open{v};
    while (!open.empty()) {
      const Var u = open.back();
      open.pop_back();
      if (able.contains(u)) continue;
      if (is_stored(u, loop)) {
        able.emplace(u, can_be_read(u, *loop.params.as<LoopParams>().length));
      } else if (!truths_too && compares(*maker_[u])) {
        able.emplace(u, false);
      } else if (cone.insert(maker_[u]).second) {
        for (const Var x : read_by_parts(*maker_[u])) open.push_back(x);
      }
    }
    for (const Eqn* eqn : cone) able.emplace(eqn->out[0], can_make(*eqn, loop, able));
  }
  bool can_make(const Eqn& eqn, const Eqn& loop, const std::map<Var, bool>& able) const {
    const Dim& steps = *loop.params.as<LoopParams>().length;
    if (!part_of(program_.type(eqn.out[0]), steps)) return false;
    if (const auto alike = repeated(eqn)) return program_.type(*alike).shape.known() && !overwritten_[*alike];
    if (const auto shift = shifted(eqn)) {
      const auto readable = [&](Var part) {
        return !overwritten_[part] && (rows_in(part) == 1 || is_stored(part, loop));
      };
      return program_.type(eqn.out[0]).shape[0] == steps && readable(shift->first) && readable(shift->second);
    }
    const std::vector<Var> read = read_by_parts(eqn);
    const auto is_able = [&](Var x) {
      return able.at(x) || (maker_[x] != nullptr && compares(*maker_[x]) && can_be_read(x, steps));
    };
    return !read.empty() && (may_be_stored(eqn, steps) || std::ranges::all_of(read, is_able));
  }

  // Notes what v, of which parts can be made, is made of.
  void collect(Var v, const Eqn& loop, const std::map<Var, bool>& able, Made& made) const {
    std::vector<Var> open{v};
    while (!open.empty()) {
      const Var u = open.back();
      open.pop_back();
      if (is_stored(u, loop) || !able.at(u)) {  // the latter is a comparison, or an operand that is widened
        made.parts.insert(u);
        continue;
      }
      const Eqn& eqn = *maker_[u];
      if (!made.eqns.insert(&eqn).second) continue;
      if (const auto alike = repeated(eqn); alike && !is_number(*alike)) made.whole.insert(*alike);
      if (const auto shift = shifted(eqn)) {
        made.whole.insert({shift->first, shift->second});
        made.by_number = true;
      }
      for (const Var x : read_by_parts(eqn)) open.push_back(x);
    }
  }

  // In the body that is being made: the handles of what rows are made of, and the rows that are there.
  struct Step {
    std::map<Var, Array> whole, parts;
    Array number;
  };

  Array made_part(const Eqn& eqn, const Dim& steps, const Step& step) const {
    const Shape shape = *part_of(program_.type(eqn.out[0]), steps);
    const bool rows = shape.rank() < program_.type(eqn.out[0]).rank();  // one a step: without the first axis
    if (const auto alike = repeated(eqn)) {
      std::vector<std::int64_t> dims = broadcast_form(eqn.params).dims;
      for (std::int64_t& d : dims) d -= rows;
      const Array x = is_number(*alike) ? bind1(literal_op(), maker_[*alike]->params, {}) : step.whole.at(*alike);
      return x.shape() == shape ? x : broadcast_in_dim(x, shape, dims);
    }
    if (const auto shift = shifted(eqn)) {
      const Array number = step.number + shift->start, behind = number - rows_in(shift->first);
      return where(behind < 0, numbered(shift->first, number, step), numbered(shift->second, behind, step));
    }
    Arrays operands;
    for (const Var x : eqn.in) operands.push_back(step.parts.at(x));
    if (eqn.op == &reshape_op()) return reshape(operands[0], shape);
    const auto behind_first = [&](std::vector<std::int64_t> axes) {
      if (rows) axes.erase(axes.begin());
      for (std::int64_t& axis : axes) axis -= rows;
      return axes;
    };
    if (eqn.op == &broadcast_op())
      return broadcast_in_dim(operands[0], shape, behind_first(broadcast_form(eqn.params).dims));
    if (eqn.op == &transpose_op()) return transpose(operands[0], behind_first(permutation_of(eqn.params)));
    return bind_op(*eqn.op, eqn.params, operands)[0];
  }
  Array numbered(Var v, const Array& number, const Step& step) const {
    const Array& x = step.whole.at(v);
    return rows_in(v) == 1 ? squeeze(x, 0) : row_at(x, number);
  }

  const Program& program_;
  std::vector<const Eqn*> maker_;
  std::vector<int> stored_for_;    // how many readers have it in memory
  std::vector<bool> overwritten_;  // a later reader would make what updates it in place copy it
};

}  // namespace

ProgramRef sink_operands(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("sink_operands")(program->hash()).finish(), [&] {
    return rewritten(*program, [&](Replay& replay) {
      const Sink sink(*program);
      for (const Eqn& eqn : program->eqns()) {
        const Made made = eqn.op == &loop_op() ? sink.made_for(eqn) : Made();
        if (made.xs.empty()) {
          replay.bind_eqn(eqn, sink_operands);
          continue;
        }
        const EqnScope place(eqn);
        const Params params =
            replay.params(eqn).map_programs([](const ProgramRef& p) { return p ? sink_operands(p) : p; });
        replay.set_results(eqn, sink.bind(eqn, params.as<LoopParams>(), made, replay));
      }
    });
  });
}

}  // namespace tenon
