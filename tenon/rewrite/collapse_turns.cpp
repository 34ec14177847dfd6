#include "tenon/rewrite/collapse_turns.h"

#include <algorithm>

#include "tenon/ir/adapt.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/callee.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// What a step takes, the same in every turn: an input of the body as it is, the result of the step before where that is
// a carry, or its own row of an input, along one of its axes.
struct Taken {
  enum class Kind : std::uint8_t { whole, carry, row } kind;
  std::size_t input;
  std::int64_t axis = 0;
  bool operator==(const Taken&) const = default;
};
// What an output of the body stacks of the steps, along one of its axes.
struct Stacked {
  std::size_t result;  // of the step
  std::int64_t axis;
  bool operator==(const Stacked&) const = default;
};
struct Turn {
  const Eqn* step;  // the first call
  std::int64_t steps;
  std::vector<Taken> operands;
  std::vector<std::size_t> carries;  // of each, which result of the step it becomes
  std::vector<Stacked> stacks;
};

// Reads the body of a loop as calls of one function, one behind the other.
class TurnSearch {
 public:
  explicit TurnSearch(const LoopParams& p)
      : p_(p), roles_(p), body_(*p.body), makers_(makers_of(body_)), input_(body_.vars(), nothing) {
    for (std::size_t i = 0; i < body_.inputs().size(); ++i) input_[body_.inputs()[i]] = i;
  }

  std::optional<Turn> find() {
    for (const Eqn& eqn : body_.eqns())
      if (is_call(*eqn.op)) calls_.push_back(&eqn);
    if (calls_.size() < 2 || !std::ranges::all_of(calls_, [&](const Eqn* call) { return is_like_first(*call); }))
      return {};
    Turn turn{calls_[0], std::ssize(calls_), {}, {}, {}};
    for (std::size_t c = 0; c < roles_.carries; ++c) {
      const auto result = place_in(calls_.back()->out, body_.outputs()[c]);
      if (!result) return {};
      turn.carries.push_back(*result);
    }
    for (std::size_t k = 0; k < turn.step->in.size(); ++k) {
      const auto first = taken(0, k, turn);
      if (!first) return {};
      for (std::size_t call = 1; call < calls_.size(); ++call)
        if (taken(call, k, turn) != first) return {};
      turn.operands.push_back(*first);
    }
    for (std::size_t y = roles_.carries; y < roles_.results(); ++y) {
      const auto found = stacked(body_.outputs()[y]);
      if (!found) return {};
      turn.stacks.push_back(*found);
    }
    return turn;
  }

 private:
  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);

  bool is_like_first(const Eqn& call) const {
    const auto &p = call.params.as<CallParams>(), &first = calls_[0]->params.as<CallParams>();
    return call.op == calls_[0]->op && p.program->hash() == first.program->hash() && p.sizes.empty() &&
           first.sizes.empty() && call.new_sizes.empty() && call.recompute == 0 &&
           call.numerics == calls_[0]->numerics && call.in.size() == calls_[0]->in.size();
  }
  static std::optional<std::size_t> place_in(std::span<const Var> vars, Var v) {
    const auto found = std::ranges::find(vars, v);
    return found == vars.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - vars.begin()));
  }
  // Where along an axis of rows the one of a call lies.
  std::int64_t row_of(std::size_t call) const {
    return static_cast<std::int64_t>(p_.reverse ? calls_.size() - 1 - call : call);
  }

  std::optional<Taken> taken(std::size_t call, std::size_t operand, const Turn& turn) const {
    const Var v = calls_[call]->in[operand];
    if (const std::size_t i = input_[v]; i != nothing) {
      if (roles_.is_const(i)) return Taken{Taken::Kind::whole, i};
      return roles_.is_carry(i) && call == 0 ? std::optional(Taken{Taken::Kind::carry, i}) : std::nullopt;
    }
    if (call > 0)
      if (const auto result = place_in(calls_[call - 1]->out, v))
        if (const auto c = place_in_carries(*result, operand, turn)) return Taken{Taken::Kind::carry, *c};
    return row(call, v);
  }
  // The carry that a result becomes; of several the one that the first call takes there.
  std::optional<std::size_t> place_in_carries(std::size_t result, std::size_t operand, const Turn& turn) const {
    const std::size_t i = input_[calls_[0]->in[operand]];
    if (i == nothing || !roles_.is_carry(i) || turn.carries[i - roles_.consts] != result) return {};
    return i;
  }
  // A reshape that drops the axis along which a slice takes one row.
  std::optional<Taken> row(std::size_t call, Var v) const {
    const Eqn* dropped = makers_[v];
    const Eqn* cut = dropped != nullptr && dropped->op == &reshape_op() ? makers_[dropped->in[0]] : nullptr;
    if (cut == nullptr || cut->op != &slice_op()) return {};
    const std::size_t i = input_[cut->in[0]];
    if (i == nothing || !roles_.is_xs(i)) return {};
    const Shape &all = body_.type(cut->in[0]).shape, &one = body_.type(cut->out[0]).shape;
    const SliceForm form = slice_form(cut->params);
    for (std::size_t axis = 0; axis < all.rank(); ++axis)
      if (all[axis] == Dim(std::ssize(calls_)) && form.start[axis] == Dim(row_of(call)) &&
          one == all.without_axis(axis).with_axis(axis, 1) && body_.type(v).shape == one.without_axis(axis))
        return Taken{Taken::Kind::row, i, static_cast<std::int64_t>(axis)};
    return {};
  }

  // A concatenation of what the steps give, each with a new axis.
  std::optional<Stacked> stacked(Var v) const {
    const Eqn* joined = makers_[v];
    const auto axis = joined == nullptr ? std::nullopt : concatenated_axis(*joined);
    if (!axis || joined->in.size() != calls_.size()) return {};
    std::optional<Stacked> all;
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      const Eqn* one = makers_[joined->in[static_cast<std::size_t>(row_of(call))]];
      if (one == nullptr || one->op != &reshape_op()) return {};
      const auto result = place_in(calls_[call]->out, one->in[0]);
      const auto at = static_cast<std::size_t>(*axis);
      const Shape &with = body_.type(one->out[0]).shape, &without = body_.type(one->in[0]).shape;
      if (!result || with[at] != Dim(1) || with.without_axis(at) != without) return {};
      if (all && all->result != *result) return {};
      all = Stacked{*result, *axis};
    }
    return all;
  }

  const LoopParams& p_;
  const LoopRoles roles_;
  const Program& body_;
  const std::vector<const Eqn*> makers_;
  std::vector<std::size_t> input_;  // that each variable is
  std::vector<const Eqn*> calls_;
};

std::optional<Turn> turn_of(const Eqn& eqn) {
  if (eqn.op != &loop_op() || eqn.recompute != 0 || !eqn.new_sizes.empty()) return {};
  const LoopParams& p = loop_of(eqn);
  if (!p.length || p.cond || p.lanes || p.checkpoints || !p.body_sizes.empty()) return {};
  return TurnSearch(p).find();
}

// The two axes from `axis` on as one, and in front.
Array rows_of_turns(const Array& x, std::int64_t axis) {
  const Array turns_first = move_axis(x, axis + 1, 1);
  const Shape& shape = turns_first.shape();
  return reshape(turns_first, shape.without_axis(0).without_axis(0).with_axis(0, shape[0] * shape[1]));
}

// The body of a loop over all steps, which takes these operands.
ProgramRef step_alone(const Program& body, const Turn& turn, const LoopRoles& roles, const Arrays& operands) {
  const std::size_t state = roles.consts + roles.carries;
  Scope scope;
  Arrays inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Type& type = operands[i].type();
    inputs.push_back(scope.input(i < state ? type : Type::array(type.dtype, type.shape.without_axis(0))));
  }
  Arrays taken_in;
  std::size_t row = state;
  for (const Taken& taken : turn.operands)
    taken_in.push_back(inputs[taken.kind == Taken::Kind::row ? row++ : taken.input]);
  // Eqn by eqn, so that reverse mode sees what of a step is there anyway; a call that is to stay one does.
  const Arrays made = turn.step->op == &call_op()
                          ? inline_program(*turn.step->params.as<CallParams>().program, {}, taken_in)
                          : bind_op(*turn.step->op, turn.step->params, taken_in);
  Arrays outputs;
  for (const std::size_t result : turn.carries) outputs.push_back(made[result]);
  for (const Stacked& stack : turn.stacks) outputs.push_back(made[stack.result]);
  return scope.finish(outputs, body.name()).program;
}

Arrays with_one_step(const Eqn& eqn, const Turn& turn, const Replay& replay) {
  auto p = replay.params(eqn).as<LoopParams>();
  const LoopRoles roles(p);
  const Arrays given = replay.operands(eqn);
  const Dim turns = *p.length, steps = turn.steps;
  Arrays operands(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(roles.consts + roles.carries));
  for (const Taken& taken : turn.operands)
    if (taken.kind == Taken::Kind::row) operands.push_back(rows_of_turns(given[taken.input], taken.axis));
  p.body = step_alone(*p.body, turn, roles, operands);
  p.length = turns * steps;
  Arrays results = loop(std::move(p), operands);
  for (std::size_t y = 0; y < turn.stacks.size(); ++y) {
    Array& rows = results[roles.carries + y];
    const Shape all = rows.shape().without_axis(0).with_axis(0, steps).with_axis(0, turns);
    rows = move_axis(reshape(rows, all), 1, turn.stacks[y].axis + 1);
  }
  return results;
}

// Whether the elements of a step are computed one by one, in long rows: code takes several steps of these at once.
bool is_elementwise_turn(const Turn& turn) {
  constexpr std::int64_t long_row = 256;  // elements
  const ProgramRef& step = turn.step->params.as<CallParams>().program;
  const auto is_long = [&](const Type& t) { return t.is_array() && at_least(t.shape.elements() - long_row, 0); };
  return std::ranges::all_of(turn.carries, [&](std::size_t result) { return is_long(step->output_types()[result]); }) &&
         std::ranges::all_of(step->eqns(), is_element);
}

}  // namespace

ProgramRef collapse_elementwise_turns(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("collapse_elementwise_turns")(program->hash()).finish(), [&] {
    const auto found = [](const Eqn& eqn) {
      auto turn = turn_of(eqn);
      return turn && turn->step->op == &call_op() && is_elementwise_turn(*turn) ? std::move(turn) : std::nullopt;
    };
    return with_regions(with_replaced(program, found, with_one_step), collapse_elementwise_turns);
  });
}

ProgramRef collapse_turns(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("collapse_turns")(program->hash()).finish(),
                  [&] { return with_regions(with_replaced(program, turn_of, with_one_step), collapse_turns); });
}

}  // namespace tenon
