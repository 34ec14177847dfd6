#include "tenon/rewrite/hoist_reductions.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/ir/adapt.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/region.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/structure.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

constexpr std::size_t nowhere = ~std::size_t(0);

std::optional<ReductionForm> reduction_of(const Eqn& eqn, const Program& program) {
  const auto* reduction = rule_of<LowerReduction>(*eqn.op);
  if (reduction == nullptr || eqn.in.size() != 1) return std::nullopt;
  const Type in[]{program.type(eqn.in[0])};
  return reduction->rule(eqn.params, in);
}

// How many elements the axes of a shape have together that lie before one, and behind it.
std::pair<Dim, Dim> around(const Shape& shape, std::size_t axis) {
  std::pair<Dim, Dim> both(1, 1);
  for (std::size_t i = 0; i < shape.rank(); ++i)
    if (i != axis) (i < axis ? both.first : both.second) = (i < axis ? both.first : both.second) * shape[i];
  return both;
}

// The axis of a reshape's result that is axis `axis` of its operand as it was: as many elements lie before it and
// behind it, which does not follow where there are none.
std::optional<std::int64_t> reshaped_axis(const Shape& from, const Shape& to, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  for (std::size_t i = 0; i < to.rank(); ++i)
    if (to[i] == from[at] && around(to, i) == around(from, at)) return static_cast<std::int64_t>(i);
  return std::nullopt;
}

// What moves into one loop.
struct Hoist {
  std::size_t loop;                               // of the Program's eqns
  std::set<std::size_t> moved;                    // eqns that become part of the body
  std::vector<std::size_t> reductions;            // eqns that become carries
  std::vector<std::optional<std::int64_t>> axis;  // of each variable: the one along which the loop's steps lie
};

// Finds what can move into the loops of one Program.
class HoistSearch {
 public:
  explicit HoistSearch(const Program& program)
      : program_(program), readers_(program.vars()), maker_(program.vars(), nowhere) {
    for (std::size_t e = 0; e < program.eqns().size(); ++e) {
      for (Var v : program.eqns()[e].in) readers_[v].push_back(e);
      for (Var v : program.eqns()[e].out) maker_[v] = e;
    }
    is_output_.assign(program.vars(), false);
    for (Var v : program.outputs()) is_output_[v] = true;
  }

  std::optional<Hoist> find() {
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      if (program_.eqns()[e].op != &loop_op()) continue;
      Hoist hoist{e, {}, {}};
      if (fill(hoist)) return hoist;
    }
    return std::nullopt;
  }

 private:
  bool fill(Hoist& hoist) {
    const Eqn& loop = program_.eqns()[hoist.loop];
    const auto& p = loop.params.as<LoopParams>();
    if (p.cond || !p.length || p.lanes) return false;
    const auto carries = static_cast<std::size_t>(p.carries);
    if (loop.out.size() == carries) return false;
    steps_ = *p.length;
    loop_ = hoist.loop;
    axis_.assign(program_.vars(), std::nullopt);
    before_.assign(program_.vars(), true);
    for (Var v : loop.out) before_[v] = false;
    for (std::size_t i = carries; i < loop.out.size(); ++i)
      if (program_.type(loop.out[i]).is_array()) axis_[loop.out[i]] = 0;
    std::vector<std::size_t> ends;
    std::set<std::size_t> cone;
    for (std::size_t e = hoist.loop + 1; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      const bool early = effect_of(eqn) == Effect::none && eqn.new_sizes.empty() &&
                         std::ranges::all_of(eqn.in, [&](Var v) { return before_[v]; });
      for (Var v : eqn.out) before_[v] = early;
      if (!std::ranges::any_of(eqn.in, [&](Var v) { return axis_[v].has_value(); })) continue;
      if (ends_steps(eqn)) {
        ends.push_back(e);
      } else if (const auto axis = steps_along(eqn)) {
        cone.insert(e);
        axis_[eqn.out[0]] = axis;
      }
    }
    // What is read outside of what moves needs its stack, and so does all that it is made of.
    while (true) {
      std::set<std::size_t> moved;
      for (std::size_t e : ends) collect(e, cone, moved);
      const auto spoiled = [&](std::size_t end) {
        std::set<std::size_t> own;
        collect(end, cone, own);
        own.insert(end);
        for (std::size_t e : own)
          for (Var v : program_.eqns()[e].in)
            if (axis_[v] && read_outside(v, moved, ends)) return true;
        return false;
      };
      std::vector<std::size_t> kept;
      for (std::size_t e : ends)
        if (!spoiled(e)) kept.push_back(e);
      if (kept.size() == ends.size()) {
        hoist.moved = std::move(moved);
        hoist.reductions = std::move(ends);
        hoist.axis = std::move(axis_);
        return !hoist.reductions.empty();
      }
      ends = std::move(kept);
    }
  }

  bool read_outside(Var v, const std::set<std::size_t>& moved, const std::vector<std::size_t>& ends) const {
    return is_output_[v] || std::ranges::any_of(readers_[v], [&](std::size_t e) {
             return !moved.contains(e) && std::ranges::find(ends, e) == ends.end();
           });
  }

  // The eqns of the cone that an eqn is made of.
  void collect(std::size_t e, const std::set<std::size_t>& cone, std::set<std::size_t>& into) const {
    std::vector<std::size_t> open{e};
    while (!open.empty()) {
      const Eqn& eqn = program_.eqns()[open.back()];
      open.pop_back();
      for (Var v : eqn.in)
        if (maker_[v] != nowhere && cone.contains(maker_[v]) && into.insert(maker_[v]).second)
          open.push_back(maker_[v]);
    }
  }

  // A reduction over the steps.
  bool ends_steps(const Eqn& eqn) const {
    const auto form = reduction_of(eqn, program_);
    return form && eqn.numerics == Numerics::relaxed && std::ranges::binary_search(form->axes, *axis_[eqn.in[0]]);
  }

  // Where the steps lie in the result of what gives step t of it from step t of its operands.
  std::optional<std::int64_t> steps_along(const Eqn& eqn) const {
    if (eqn.out.size() != 1 || !eqn.new_sizes.empty()) return std::nullopt;
    std::optional<std::int64_t> axis;
    for (Var v : eqn.in) {
      if (!axis_[v] && !before_[v]) return std::nullopt;
      if (axis_[v] && axis && axis_[v] != axis) return std::nullopt;
      if (axis_[v]) axis = axis_[v];
    }
    if (eqn.op == &broadcast_op()) {
      axis = broadcast_form(eqn.params).dims[static_cast<std::size_t>(*axis)];
    } else if (eqn.op == &transpose_op()) {
      const auto permutation = permutation_of(eqn.params);
      axis = std::ranges::find(permutation, *axis) - permutation.begin();
    } else if (eqn.op == &reshape_op()) {
      axis = reshaped_axis(program_.type(eqn.in[0]).shape, program_.type(eqn.out[0]).shape, *axis);
      if (!axis) return std::nullopt;
    } else if (const auto form = reduction_of(eqn, program_)) {
      if (std::ranges::binary_search(form->axes, *axis)) return std::nullopt;
      axis = *axis - std::ranges::count_if(form->axes, [&](std::int64_t a) { return a < *axis; });
    } else if (!is_elementwise(eqn)) {
      return std::nullopt;
    }
    const Type& out = program_.type(eqn.out[0]);
    if (!out.is_array() || out.shape[static_cast<std::size_t>(*axis)] != steps_) return std::nullopt;
    return axis;
  }

  const Program& program_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<std::size_t> maker_;
  std::vector<bool> is_output_;
  std::size_t loop_ = 0;
  Dim steps_;
  std::vector<std::optional<std::int64_t>> axis_;  // along which the steps of the loop lie
  std::vector<bool> before_;                       // can be computed before the loop
};

// Builds the Program in which a Hoist has happened.
class Rebuild {
 public:
  Rebuild(const Program& program, const Hoist& hoist)
      : program_(program), hoist_(hoist), maker_(program.vars(), nowhere) {
    for (std::size_t e = 0; e < program.eqns().size(); ++e)
      for (Var v : program.eqns()[e].out) maker_[v] = e;
    done_ = std::vector<bool>(program.eqns().size(), false);
    for (std::size_t e : hoist.moved) done_[e] = true;
    for (std::size_t e : hoist.reductions) done_[e] = true;
  }

  ProgramRef run() {
    return rewritten(program_, [&](Replay& replay) {
      for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
        if (done_[e]) continue;
        if (e == hoist_.loop)
          bind_loop(replay);
        else
          replay.bind_eqn(program_.eqns()[e]);
      }
    });
  }

 private:
  using Along = std::pair<Var, std::int64_t>;  // a variable, and the axis of it along which the steps lie
  // What is made behind the loop and needed by it is bound before it.
  void bind_now(Var v, Replay& replay) {
    std::set<std::size_t> needed;
    std::vector<Var> open{v};
    while (!open.empty()) {
      const std::size_t e = maker_[open.back()];
      open.pop_back();
      if (e == nowhere || e < hoist_.loop || done_[e] || !needed.insert(e).second) continue;
      open.insert(open.end(), program_.eqns()[e].in.begin(), program_.eqns()[e].in.end());
    }
    for (std::size_t e : needed) {
      done_[e] = true;
      replay.bind_eqn(program_.eqns()[e]);
    }
  }

  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }

  // The operands of a broadcast, transpose or elementwise op, and where in them the axis of its result lies: nowhere
  // where a broadcast makes it. Nothing for other ops.
  std::optional<std::optional<std::int64_t>> operand_axis(const Eqn& eqn, std::int64_t axis) const {
    if (eqn.op == &broadcast_op()) {
      const auto dims = broadcast_form(eqn.params).dims;
      const auto at = std::ranges::find(dims, axis);
      return at == dims.end() ? std::optional<std::int64_t>() : std::optional<std::int64_t>(at - dims.begin());
    }
    if (eqn.op == &transpose_op()) return permutation_of(eqn.params)[static_cast<std::size_t>(axis)];
    if (is_elementwise(eqn)) return axis;
    return std::nullopt;
  }

  // Whether a value is the same at every step: made by broadcasts over the steps.
  bool is_same_at_each(Along along) {
    if (const auto known = same_.find(along); known != same_.end()) return known->second;
    const Eqn* eqn = maker(along.first);
    const auto inner = eqn != nullptr ? operand_axis(*eqn, along.second) : std::nullopt;
    const bool same =
        inner && (!*inner || (program_.type(eqn->in[0]).shape[static_cast<std::size_t>(**inner)] ==
                                  program_.type(along.first).shape[static_cast<std::size_t>(along.second)] &&
                              std::ranges::all_of(eqn->in, [&](Var v) { return is_same_at_each({v, **inner}); })));
    same_.emplace(along, same);
    return same;
  }

  // What the body reads of what it does not make: consts for what is the same at every step, xs for the rest.
  void collect_outside(Replay& replay) {
    for (std::size_t e : hoist_.moved) {
      const Eqn& eqn = program_.eqns()[e];
      // Only elementwise ops read from outside: the steps lie there as in the result.
      for (Var v : eqn.in)
        if (!hoist_.axis[v]) collect(Along{v, *hoist_.axis[eqn.out[0]]}, replay);
    }
  }
  void collect(Along along, Replay& replay) {
    if (!is_same_at_each(along)) {
      bind_now(along.first, replay);
      xs_.emplace(along, move_axis(replay.get(along.first), along.second, 0));
      return;
    }
    const Eqn& eqn = *maker(along.first);
    const auto inner = *operand_axis(eqn, along.second);
    for (Var v : eqn.in) {
      if (inner) {
        collect({v, *inner}, replay);
      } else if (const Eqn* source = maker(v); source == nullptr || source->op != &literal_op()) {
        bind_now(v, replay);
        consts_.emplace(v, replay.get(v));
      }
    }
  }

  void bind_loop(Replay& replay) {
    const Eqn& eqn = program_.eqns()[hoist_.loop];
    collect_outside(replay);
    const EqnScope place(eqn);
    LoopParams p = replay.params(eqn).as<LoopParams>();
    const auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
    const Arrays given = replay.operands(eqn);
    Arrays operands(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(consts));
    for (const auto& [v, value] : consts_) operands.push_back(value);
    p.consts = static_cast<std::int64_t>(operands.size());
    operands.insert(operands.end(), given.begin() + static_cast<std::ptrdiff_t>(consts),
                    given.begin() + static_cast<std::ptrdiff_t>(consts + carries));
    for (std::size_t e : hoist_.reductions) operands.push_back(initial(e, replay));
    p.carries = static_cast<std::int64_t>(operands.size()) - p.consts;
    operands.insert(operands.end(), given.begin() + static_cast<std::ptrdiff_t>(consts + carries), given.end());
    for (const auto& [along, value] : xs_) operands.push_back(value);
    // Stacks that are still read.
    std::vector<std::size_t> stacked;
    for (std::size_t i = carries; i < eqn.out.size(); ++i)
      if (!read_by_moved(eqn.out[i])) stacked.push_back(i);
    const TraceResult body = trace_body(p, operands, consts, carries, stacked, replay);
    p.body = body.program;
    p.body_sizes = body.sizes;
    const Arrays results = loop(p, operands);
    for (std::size_t i = 0; i < carries; ++i) replay.set(eqn.out[i], results[i]);
    for (std::size_t i = 0; i < hoist_.reductions.size(); ++i) {
      const Var v = program_.eqns()[hoist_.reductions[i]].out[0];
      replay.set(v, convert(results[carries + i], program_.type(v).dtype));
    }
    for (std::size_t i = 0; i < stacked.size(); ++i)
      replay.set(eqn.out[stacked[i]], results[carries + hoist_.reductions.size() + i]);
  }

  bool read_by_moved(Var v) const {
    const auto reads = [&](std::size_t e) { return std::ranges::count(program_.eqns()[e].in, v) > 0; };
    return std::ranges::any_of(hoist_.moved, reads) || std::ranges::any_of(hoist_.reductions, reads);
  }

  Array initial(std::size_t e, const Replay& replay) const {
    const Eqn& eqn = program_.eqns()[e];
    const Type out = replay.type(eqn.out[0]);
    const Scalar start = reduction_of(eqn, program_)->initial.convert(computed_in(out.dtype));
    return full(out.shape, Array(start));
  }

  TraceResult trace_body(const LoopParams& p, const Arrays& operands, std::size_t consts, std::size_t carries,
                         const std::vector<std::size_t>& stacked, const Replay& replay) {
    const Eqn& eqn = program_.eqns()[hoist_.loop];
    const auto all_consts = static_cast<std::size_t>(p.consts), all_carries = static_cast<std::size_t>(p.carries);
    Scope scope;
    Arrays inputs;
    std::vector<Type> types;
    for (const Array& a : operands) types.push_back(a.type());
    for (const Type& t : body_input_types(p, types)) inputs.push_back(scope.input(t));
    // The old body's inputs, and the new ones behind each role.
    Arrays own(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(consts));
    own.insert(own.end(), inputs.begin() + static_cast<std::ptrdiff_t>(all_consts),
               inputs.begin() + static_cast<std::ptrdiff_t>(all_consts + carries));
    const std::size_t xs = eqn.in.size() - consts - carries;
    own.insert(own.end(), inputs.begin() + static_cast<std::ptrdiff_t>(all_consts + all_carries),
               inputs.begin() + static_cast<std::ptrdiff_t>(all_consts + all_carries + xs));
    const Arrays made = inline_program(*p.body, p.body_sizes, own);
    std::map<Along, Array> step;  // the value of this step
    for (std::size_t i = carries; i < eqn.out.size(); ++i) step.emplace(Along{eqn.out[i], 0}, made[i]);
    std::map<Var, Array> whole;
    std::size_t next_const = consts, next_xs = all_consts + all_carries + xs;
    for (const auto& [v, value] : consts_) whole.emplace(v, inputs[next_const++]);
    for (const auto& [along, value] : xs_) step.emplace(along, inputs[next_xs++]);
    for (std::size_t e : hoist_.moved)
      for (Var v : program_.eqns()[e].in)
        if (!hoist_.axis[v]) same_step({v, *hoist_.axis[program_.eqns()[e].out[0]]}, whole, step, replay);
    for (std::size_t e : hoist_.moved)
      step.emplace(along(program_.eqns()[e].out[0]), moved(program_.eqns()[e], step, replay));
    Arrays outputs(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(carries));
    for (std::size_t i = 0; i < hoist_.reductions.size(); ++i) {
      const Eqn& reduction = program_.eqns()[hoist_.reductions[i]];
      outputs.push_back(combined(reduction, inputs[all_consts + carries + i], step.at(along(reduction.in[0]))));
    }
    for (std::size_t i : stacked) outputs.push_back(made[i]);
    return scope.finish(outputs, p.body->name());
  }

  // Axes of a whole array as those of one step of it, without axis `axis`.
  static std::vector<std::int64_t> without(std::int64_t axis, const std::vector<std::int64_t>& axes) {
    std::vector<std::int64_t> inner;
    for (std::int64_t a : axes)
      if (a != axis) inner.push_back(a > axis ? a - 1 : a);
    return inner;
  }

  static Array broadcast_step(const Eqn& eqn, const Array& x, std::int64_t axis, const Replay& replay) {
    const BroadcastForm form = broadcast_form(replay.params(eqn));
    return broadcast_in_dim(x, form.shape.without_axis(static_cast<std::size_t>(axis)), without(axis, form.dims));
  }

  // What is the same at every step, made within the body.
  const Array& same_step(Along at, const std::map<Var, Array>& whole, std::map<Along, Array>& step,
                         const Replay& replay) const {
    if (const auto found = step.find(at); found != step.end()) return found->second;
    const Eqn& eqn = *maker(at.first);
    const auto inner = *operand_axis(eqn, at.second);
    if (!inner) {
      const auto given = whole.find(eqn.in[0]);
      const Array x = given != whole.end() ? given->second : bind1(literal_op(), maker(eqn.in[0])->params, {});
      return step.emplace(at, broadcast_step(eqn, x, at.second, replay)).first->second;
    }
    for (Var v : eqn.in) same_step({v, *inner}, whole, step, replay);
    return step.emplace(at, at_step(eqn, at.second, *inner, step, replay)).first->second;
  }

  Along along(Var v) const { return {v, *hoist_.axis[v]}; }

  Array moved(const Eqn& eqn, const std::map<Along, Array>& step, const Replay& replay) const {
    const EqnScope place(eqn);
    const std::int64_t axis = *hoist_.axis[eqn.out[0]];
    if (const auto form = reduction_of(eqn, program_))
      return bind1(*eqn.op, inner_axes(eqn, *form), {step.at(along(eqn.in[0]))});
    if (eqn.op == &reshape_op())
      return reshape(step.at(along(eqn.in[0])),
                     replay.type(eqn.out[0]).shape.without_axis(static_cast<std::size_t>(axis)));
    return at_step(eqn, axis, **operand_axis(eqn, axis), step, replay);
  }

  // A broadcast, transpose or elementwise op on operands of one step; the steps lie at `axis` of its result, at `inner`
  // of its operands.
  Array at_step(const Eqn& eqn, std::int64_t axis, std::int64_t inner, const std::map<Along, Array>& step,
                const Replay& replay) const {
    if (eqn.op == &broadcast_op()) return broadcast_step(eqn, step.at({eqn.in[0], inner}), axis, replay);
    if (eqn.op == &transpose_op())
      return transpose(step.at({eqn.in[0], inner}), without(inner, permutation_of(eqn.params)));
    Arrays operands;
    for (Var v : eqn.in) operands.push_back(step.at({v, inner}));
    return bind_op(*eqn.op, replay.params(eqn), operands)[0];
  }

  Params inner_axes(const Eqn& eqn, const ReductionForm& form) const {
    return reduction_params(without(*hoist_.axis[eqn.in[0]], form.axes));
  }

  Array combined(const Eqn& eqn, const Array& so_far, const Array& element) const {
    const EqnScope place(eqn);
    const auto form = *reduction_of(eqn, program_);
    Array part = convert(element, so_far.dtype());
    if (form.axes.size() > 1) part = bind1(*eqn.op, inner_axes(eqn, form), {part});
    switch (form.combine) {
      case kernel::Combine::add:
        return so_far + part;
      case kernel::Combine::mul:
        return so_far * part;
      case kernel::Combine::max:
        return max(so_far, part);
      case kernel::Combine::min:
        return min(so_far, part);
      case kernel::Combine::and_:
        return so_far & part;
      case kernel::Combine::or_:
        return so_far | part;
    }
    __builtin_unreachable();
  }

  const Program& program_;
  const Hoist& hoist_;
  std::vector<std::size_t> maker_;
  std::vector<bool> done_;
  std::map<Along, bool> same_;   // at every step
  std::map<Along, Array> xs_;    // read a step at a time; the steps are axis 0
  std::map<Var, Array> consts_;  // broadcast over the steps
};

}  // namespace

ProgramRef hoist_reductions(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("hoist_reductions")(program->hash()).finish(), [&] {
    ProgramRef result = with_regions(*program, hoist_reductions);
    while (const auto hoist = HoistSearch(*result).find()) result = Rebuild(*result, *hoist).run();
    return result;
  });
}

}  // namespace tenon
