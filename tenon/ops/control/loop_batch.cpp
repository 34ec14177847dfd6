// vmap of loop: lanes run together; where they end at different steps, those that have ended keep their carries.
#include <algorithm>

#include "tenon/ir/replay.h"
#include "tenon/ops/control/guard.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

Array lanes_of(const Array& active, const Array& value) {  // bool[B] spread over the axes of a batched value
  return broadcast_in_dim(active, value.shape(), {0});
}
Array choose(const Array& active, const Array& yes, const Array& no) {
  if (yes.type().is_list()) return list_select(active, yes, no);
  return bind1(select_op(), {}, {lanes_of(active, yes), yes, no});
}

// What a loop along batched lists reads beside them: which lanes have an element in one of its lists, then which have
// one in each list that may be zero of some lanes.
struct Marks {
  Arrays xs;                         // of all lists; then of those that are
  std::vector<std::size_t> of_list;  // these operands
};

Marks marks_along(const Arrays& operands, const Mask& batched, std::size_t first_xs, const Dim& size) {
  Arrays lists, same;
  Marks marks;
  for (std::size_t i = first_xs; i < operands.size(); ++i) {
    if (!operands[i].type().is_list()) continue;
    (batched[i] ? lists : same).push_back(operands[i]);
    if (batched[i] && is_differentiable(leaf_type(operands[i].type()).dtype)) marks.of_list.push_back(i);
  }
  if (lists.empty()) return {};
  if (lists.size() + same.size() == 1) marks.of_list.clear();
  for (std::size_t i : marks.of_list) marks.xs.push_back(list_active({&operands[i], 1}, 1));
  // A list that is not batched has as many elements in every lane.
  for (const Array& list : same) lists.push_back(one_for_all_lanes(list_active({&list, 1}, 0), size));
  marks.xs.insert(marks.xs.begin(), list_active(lists, 1));
  return marks;
}

// A step's inputs, where lanes that run and have no element in a list read zeros.
void read_zeros(Arrays& inputs, const Marks& marks, std::size_t first_mark) {
  const Array ended = !inputs[first_mark];
  for (std::size_t k = 0; k < marks.of_list.size(); ++k) {
    Array& x = inputs[marks.of_list[k]];
    x = choose(inputs[first_mark + 1 + k] | ended, x, zeros_of(x.type()));
  }
}

// A loop whose lanes end apart: those that have ended keep their carries. Where a condition of each lane says so, it is
// computed once a step, behind the body: which lanes go on is a carry more, the last.
class LanesApart {
 public:
  LanesApart(const BatchArgs& args, const LoopParams& p, const LoopRoles& roles, const Mask& in, Arrays operands)
      : args_(args), p_(p), roles_(roles), state_(roles.consts + roles.carries), operands_(std::move(operands)) {
    if (p.cond) {
      const Mask cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state_));
      of_each_lane_ = args.recurse.reach(p.cond, cond_in)[0];
      cond_ = args.recurse.vmap(p.cond, cond_in, {of_each_lane_}, args.size);
    }
    marks_ = marks_along(operands_, in, state_, args.size);
    // Carries that the body updates stay updates.
    const auto from = origins(p.body);
    updated_.assign(p.body->outputs().size(), false);
    Mask body_in = in, shared = in;
    shared.flip();
    for (std::size_t i = 0; i < roles.carries; ++i) updated_[i] = end_apart() && from[i] == roles.consts + i;
    if (end_apart()) body_in.insert(body_in.begin(), true);
    body_ = args.recurse.vmap(end_apart() ? guard(p.body, updated_, shared) : p.body, body_in,
                              Mask(p.body->outputs().size(), true), args.size);
  }

  BatchResult bound() {
    LoopParams q = p_;
    if (of_each_lane_) {
      const Array go_on = condition({operands_.data(), state_});
      operands_.insert(operands_.begin() + static_cast<std::ptrdiff_t>(state_), go_on);
      ++q.carries;
    }
    operands_.insert(operands_.end(), marks_.xs.begin(), marks_.xs.end());
    const std::vector<Type> types = body_input_types(q, types_of(operands_));
    TraceResult body = traced_body(types);
    q.body = body.program;
    q.body_sizes = body.sizes;
    q.lanes = p_.lanes || end_apart();
    if (of_each_lane_) {
      TraceResult cond = any_goes_on(std::span(types).first(state_ + 1));
      q.cond = cond.program;
      q.cond_sizes = cond.sizes;
    } else if (p_.cond) {
      q.cond = cond_;
      q.cond_sizes = with_lanes(p_.cond_sizes);
    }
    Arrays outputs = bind_op(loop_op(), make_params(std::move(q)), operands_);
    if (of_each_lane_) outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(roles_.carries));
    return {outputs, std::vector<bool>(roles_.results(), true)};
  }

 private:
  bool end_apart() const { return of_each_lane_ || !marks_.xs.empty(); }
  // A number of lanes that is not known is one size parameter more, the last.
  std::vector<Dim> with_lanes(std::vector<Dim> sizes) const {
    if (!args_.size.known()) sizes.push_back(args_.size);
    return sizes;
  }
  Array condition(std::span<const Array> state) const {
    return inline_program(*cond_, with_lanes(p_.cond_sizes), state)[0];
  }

  TraceResult traced_body(std::span<const Type> types) const {
    Scope scope;
    Arrays inputs;
    for (const Type& t : types) inputs.push_back(scope.input(t));
    MaybeArray active;
    if (of_each_lane_) {
      active = inputs[state_];
      inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(state_));
    }
    if (!marks_.xs.empty()) {
      const Array& there = inputs[roles_.operands()];
      active = active ? there & *active : there;
      read_zeros(inputs, marks_, roles_.operands());
    }
    Arrays given(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(roles_.operands()));
    if (active) given.insert(given.begin(), *active);
    Arrays outputs = inline_program(*body_, with_lanes(p_.body_sizes), given);
    for (std::size_t i = 0; i < roles_.carries; ++i)
      if (active && !updated_[i]) outputs[i] = choose(*active, outputs[i], inputs[roles_.consts + i]);
    if (p_.lanes && active)
      outputs.back() = outputs.back() & lanes_of(*active, outputs.back());
    else if (active)
      outputs.push_back(*active);
    if (of_each_lane_) {
      Arrays state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(roles_.consts));
      const auto behind_carries = outputs.begin() + static_cast<std::ptrdiff_t>(roles_.carries);
      state.insert(state.end(), outputs.begin(), behind_carries);
      outputs.insert(behind_carries, condition(state));
    }
    return scope.finish(outputs, p_.body->name() + "_lanes");
  }
  TraceResult any_goes_on(std::span<const Type> state) const {
    Scope scope;
    Arrays inputs;
    for (const Type& t : state) inputs.push_back(scope.input(t));
    return scope.finish(Arrays{any(inputs.back())}, p_.cond->name() + "_any");
  }

  const BatchArgs& args_;
  const LoopParams& p_;
  const LoopRoles& roles_;
  const std::size_t state_;  // operands that the condition reads
  Arrays operands_;
  ProgramRef cond_, body_;
  bool of_each_lane_ = false;
  Marks marks_;
  Mask updated_;  // outputs of the body
};

}  // namespace

BatchResult loop_batch(const BatchArgs& args) {
  const auto& p = args.params.as<LoopParams>();
  const LoopRoles roles(p);
  const std::size_t state = roles.consts + roles.carries;
  Mask in = loop_body_mask(p, Mask(args.batched.begin(), args.batched.end()), args.recurse);
  const bool by_list = lanes_end_apart(p, Mask(args.batched.begin(), args.batched.end()));
  const bool by_cond =
      p.cond && args.recurse.reach(p.cond, Mask(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state)))[0];
  if (by_list || by_cond)
    std::fill(in.begin() + static_cast<std::ptrdiff_t>(roles.consts), in.begin() + static_cast<std::ptrdiff_t>(state),
              true);
  Arrays operands;
  for (std::size_t i = 0; i < roles.operands(); ++i) {
    Array x = args.operands[i];
    if (roles.is_carry(i) && in[i] && !args.batched[i]) x = one_for_all_lanes(x, args.size);
    if (roles.is_xs(i) && args.batched[i] && !x.type().is_list()) x = move_axis(x, 0, 1);
    operands.push_back(x);
  }
  BatchResult result;
  if (by_list || by_cond) {
    result = LanesApart(args, p, roles, in, operands).bound();
  } else {
    Mask out = args.recurse.reach(p.body, in);
    for (std::size_t i = 0; i < roles.carries; ++i) out[i] = in[roles.consts + i];
    LoopParams q = p;
    q.body = args.recurse.vmap(p.body, in, out, args.size);
    if (!args.size.known()) q.body_sizes.push_back(args.size);
    if (p.cond) {
      const Mask cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state));
      q.cond = args.recurse.vmap(p.cond, cond_in, {false}, args.size);
      if (!args.size.known()) q.cond_sizes.push_back(args.size);
    }
    out.resize(roles.results());
    result = {bind_op(loop_op(), make_params(q), operands), out};
  }
  for (std::size_t i = roles.carries; i < roles.results(); ++i)
    if (result.batched[i] && !result.outputs[i].type().is_list())
      result.outputs[i] = move_axis(result.outputs[i], 1, 0);
  return result;
}

}  // namespace tenon
