#include "tenon/rewrite/divide_concatenations.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/ir/adapt.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/steps_in.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

constexpr std::size_t most_parts = 8;

// Where a variable is cut along an axis: behind these elements, the last of which is the end.
struct Cuts {
  std::int64_t axis;
  std::vector<std::int64_t> ends;
  bool operator==(const Cuts&) const = default;
};

std::vector<std::int64_t> together(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

// What a pad puts before and behind an array, where that lies along one axis.
struct Around {
  std::int64_t axis, before, behind;
};
std::optional<Around> padded_axis(const Eqn& eqn) {
  if (eqn.op != &pad_op()) return {};
  const PadForm form = pad_form(eqn.params);
  std::optional<Around> found;
  for (std::size_t axis = 0; axis < form.low.size(); ++axis) {
    if (form.low[axis] == 0 && form.high[axis] == 0) continue;
    if (found || form.low[axis] < 0 || form.high[axis] < 0) return {};
    found = Around{static_cast<std::int64_t>(axis), form.low[axis], form.high[axis]};
  }
  return std::ranges::all_of(form.interior, [](auto n) { return n == 0; }) ? found : std::nullopt;
}

class Division {
 public:
  explicit Division(const Program& program)
      : program_(program),
        maker_(makers_of(program)),
        steps_(program.vars()),
        cuts_(program.vars()),
        divided_(program.vars(), false) {
    for (const Eqn& eqn : program.eqns()) note(eqn);
    // Those that nothing reads but reductions, in the end.
    std::vector<bool> stays(program.vars(), false);
    for (const Var v : program.outputs()) stays[v] = true;
    for (std::size_t e = program.eqns().size(); e-- > 0;) {
      const Eqn& eqn = program.eqns()[e];
      const bool goes =
          is_end(eqn) || (eqn.out.size() == 1 && cuts_[eqn.out[0]] && (!stays[eqn.out[0]] || is_reduction(eqn)));
      if (!goes)
        for (const Var v : eqn.in) stays[v] = true;
    }
    for (Var v = 0; v < program.vars(); ++v) divided_[v] = cuts_[v] && !stays[v];
    for (const Eqn& eqn : program.eqns()) some_ = some_ || (is_reduction(eqn) && divided_[eqn.in[0]]);
  }

  bool empty() const { return !some_; }

  void bind(Replay& replay) {
    parts_.resize(program_.vars());
    for (const Eqn& eqn : program_.eqns()) {
      const EqnScope place(eqn);
      if (is_end(eqn) && divided_[eqn.in[0]])
        replay.set(eqn.out[0], reduced(eqn));
      else if (eqn.out.size() == 1 && divided_[eqn.out[0]])
        parts_[eqn.out[0]] = parts(eqn, replay);
      else if (is_reduction(eqn) && cuts_[eqn.out[0]] && divided_[eqn.in[0]])  // of which less is left
        replay.set(eqn.out[0], concatenate(parts(eqn, replay), cuts_[eqn.out[0]]->axis));
      else
        replay.bind_eqn(eqn);
    }
  }

 private:
  const Type& type(Var v) const { return program_.type(v); }
  Dim size(Var v, std::int64_t axis) const { return type(v).shape[static_cast<std::size_t>(axis)]; }

  void note(const Eqn& eqn) {
    if (eqn.op == &loop_op()) {
      for (const Var v : stacks_of(program_, eqn)) steps_[v] = 0;
    } else if (eqn.out.size() == 1 && !eqn.in.empty() && effect_of(eqn) == Effect::none && eqn.new_sizes.empty()) {
      for (const Var v : eqn.in)
        if (steps_[v]) steps_[eqn.out[0]] = axis_behind(eqn, v, *steps_[v]);
      cuts_[eqn.out[0]] = cuts_of(eqn);
    }
  }

  // Where an axis of an operand lies in the result of what keeps its elements apart.
  std::optional<std::int64_t> axis_behind(const Eqn& eqn, Var operand, std::int64_t axis) const {
    if (eqn.op == &slice_op() || concatenated_axis(eqn) || padded_axis(eqn)) return axis;
    // The axis with all before it stays, or, of the steps of a loop, the first one becomes part of the first one.
    if (eqn.op == &reshape_op()) {
      const Shape &from = type(operand).shape, &to = type(eqn.out[0]).shape;
      if (axis == 0 && !cuts_[operand] && to.rank() > 0) return 0;
      const auto count = static_cast<std::size_t>(axis) + 1;
      if (to.rank() < count || !std::equal(from.begin(), from.begin() + axis + 1, to.begin())) return {};
      return axis;
    }
    return axis_in_result(program_, eqn, operand, axis);
  }

  std::optional<Cuts> cuts_of(const Eqn& eqn) const {
    if (const auto axis = concatenated_axis(eqn)) return cuts_of_parts(eqn, *axis);
    if (const auto around = padded_axis(eqn)) return cuts_around(eqn, *around);
    if (eqn.op == &pad_op()) return {};
    std::optional<Cuts> cuts;
    for (const Var v : eqn.in) {
      if (!cuts_[v]) {
        if (type(v).rank() != type(eqn.out[0]).rank() && is_elementwise(eqn)) return {};
        continue;
      }
      const auto axis = axis_behind(eqn, v, cuts_[v]->axis);
      if (!axis || (cuts && cuts->axis != *axis)) return {};
      cuts = Cuts{*axis, cuts ? together(cuts->ends, cuts_[v]->ends) : cuts_[v]->ends};
    }
    if (!cuts || cuts->ends.size() > most_parts) return {};
    if (eqn.op != &slice_op()) return cuts;
    const SliceForm form = slice_form(eqn.params);
    const auto axis = static_cast<std::size_t>(cuts->axis);
    const auto first = form.start[axis].try_value(), count = type(eqn.out[0]).shape[axis].try_value();
    if (!first || !count || *count == 0 || form.stride[axis] != 1) return {};
    std::vector<std::int64_t> ends;
    for (const std::int64_t end : cuts->ends)
      if (const std::int64_t here = std::min(end - *first, *count); here > 0 && (ends.empty() || ends.back() < here))
        ends.push_back(here);
    return Cuts{cuts->axis, std::move(ends)};
  }
  std::optional<Cuts> cuts_around(const Eqn& eqn, const Around& around) const {
    const Var v = eqn.in[0];
    const auto count = size(v, around.axis).try_value();
    const bool divided = cuts_[v] && cuts_[v]->axis == around.axis;
    if (!count || *count == 0 || (steps_[v] != around.axis && !divided) || (cuts_[v] && !divided)) return {};
    Cuts cuts{around.axis, {}};
    if (around.before > 0) cuts.ends.push_back(around.before);
    for (const std::int64_t end : divided ? cuts_[v]->ends : std::vector{*count})
      cuts.ends.push_back(around.before + end);
    if (around.behind > 0) cuts.ends.push_back(around.before + *count + around.behind);
    return cuts.ends.size() <= most_parts ? std::optional(std::move(cuts)) : std::nullopt;
  }
  std::optional<Cuts> cuts_of_parts(const Eqn& eqn, std::int64_t axis) const {
    Cuts cuts{axis, {}};
    std::int64_t begin = 0;
    bool of_steps = false;
    for (const Var v : eqn.in) {
      const auto count = size(v, axis).try_value();
      if (!count) return {};
      of_steps = of_steps || steps_[v] == axis || (cuts_[v] && cuts_[v]->axis == axis);
      if (cuts_[v] && cuts_[v]->axis == axis)
        for (const std::int64_t end : cuts_[v]->ends) cuts.ends.push_back(begin + end);
      else if (*count > 0)
        cuts.ends.push_back(begin + *count);
      begin += *count;
    }
    return of_steps && !cuts.ends.empty() && cuts.ends.size() <= most_parts ? std::optional(std::move(cuts))
                                                                            : std::nullopt;
  }

  bool is_reduction(const Eqn& eqn) const {
    return eqn.in.size() == 1 && eqn.out.size() == 1 && reduction_of(eqn, program_).has_value();
  }
  bool is_end(const Eqn& eqn) const {
    if (eqn.in.size() != 1 || eqn.out.size() != 1 || !cuts_[eqn.in[0]] || cuts_[eqn.in[0]]->ends.size() < 2)
      return false;
    const auto form = reduction_of(eqn, program_);
    const bool in_order = form && (form->combine == kernel::Combine::add || form->combine == kernel::Combine::mul);
    return form && (eqn.numerics == Numerics::relaxed || !in_order) &&
           std::ranges::binary_search(form->axes, cuts_[eqn.in[0]]->axis);
  }

  // --- in the scope of the new Program ---

  Array reduced(const Eqn& eqn) const {
    Array result;
    const ReductionForm form = *reduction_of(eqn, program_);
    for (const Array& part : parts_[eqn.in[0]]) {
      const Array one = bind1(*eqn.op, reduction_params(form.axes), {part});
      result = result.empty() ? one : bind1(combining_op(form.combine), {}, {result, one});
    }
    return result;
  }

  Arrays parts(const Eqn& eqn, const Replay& replay) {
    const Cuts& cuts = *cuts_[eqn.out[0]];
    Arrays all;
    std::int64_t begin = 0;
    for (const std::int64_t end : cuts.ends)
      all.push_back(part(eqn, cuts.axis, std::exchange(begin, end), end, replay));
    return all;
  }
  // Elements from one to before another along the axis of the result.
  Array part(const Eqn& eqn, std::int64_t axis, std::int64_t begin, std::int64_t end, const Replay& replay) {
    if (concatenated_axis(eqn)) {
      for (const Var v : eqn.in) {
        const std::int64_t count = size(v, axis).value();
        if (begin < count) return of(v, axis, begin, end, replay);
        begin -= count, end -= count;
      }
    }
    const auto at = static_cast<std::size_t>(axis);
    const Shape shape = replay.type(eqn.out[0]).shape.without_axis(at).with_axis(at, end - begin);
    if (const auto around = padded_axis(eqn)) {
      const std::int64_t first = begin - around->before, behind = size(eqn.in[0], axis).value();
      if (first < 0 || first >= behind) return broadcast_in_dim(replay.get(eqn.in[1]), shape, {});
      return of(eqn.in[0], axis, first, end - around->before, replay);
    }
    if (is_elementwise(eqn)) {
      Arrays operands;
      for (const Var v : eqn.in) operands.push_back(of(v, axis, begin, end, replay));
      return bind_op(*eqn.op, replay.params(eqn), operands)[0];
    }
    const std::int64_t before = cuts_[eqn.in[0]]->axis;
    if (eqn.op == &slice_op()) {
      SliceForm form = slice_form(replay.params(eqn));
      const std::int64_t first = std::exchange(form.start[at], Dim(0)).value();
      const Array x = of(eqn.in[0], axis, first + begin, first + end, replay);
      if (x.shape() == shape) return x;
      return slice_of_shape(x, std::move(form.start), shape, std::move(form.stride));
    }
    const Array x = of(eqn.in[0], before, begin, end, replay);
    if (eqn.op == &broadcast_op()) return broadcast_in_dim(x, shape, broadcast_form(eqn.params).dims);
    if (eqn.op == &transpose_op()) return transpose(x, permutation_of(eqn.params));
    if (eqn.op == &reshape_op()) return reshape(x, shape);
    return bind1(*eqn.op, reduction_params(reduction_of(eqn, program_)->axes), {x});
  }
  // Of a variable, whether it is divided or not.
  Array of(Var v, std::int64_t axis, std::int64_t begin, std::int64_t end, const Replay& replay) {
    if (divided_[v]) {
      std::int64_t first = 0;
      for (std::size_t k = 0; k < parts_[v].size(); first = cuts_[v]->ends[k++])
        if (begin < cuts_[v]->ends[k]) return cut(parts_[v][k], axis, begin - first, end - first);
    }
    Array& made = cut_[{v, axis, begin, end}];
    if (!made.empty()) return made;
    // What repeats along the axis is repeated less often.
    const Eqn* eqn = maker_[v];
    const auto at = static_cast<std::size_t>(axis);
    if (eqn != nullptr && eqn->op == &broadcast_op() && !divided_[eqn->in[0]]) {
      const BroadcastForm form = broadcast_form(replay.params(*eqn));
      const auto own = std::ranges::find(form.dims, axis);
      if (own == form.dims.end() || size(eqn->in[0], own - form.dims.begin()) != form.shape[at])
        return made = broadcast_in_dim(replay.get(eqn->in[0]), form.shape.without_axis(at).with_axis(at, end - begin),
                                       form.dims);
    }
    return made = cut(replay.get(v), axis, begin, end);
  }
  static Array cut(const Array& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
    if (x.shape()[static_cast<std::size_t>(axis)] == Dim(end - begin)) return x;
    return slice_in_dim(x, begin, end, axis);
  }

  const Program& program_;
  const std::vector<const Eqn*> maker_;
  std::vector<std::optional<std::int64_t>> steps_;  // along which axis the steps of a loop lie
  std::vector<std::optional<Cuts>> cuts_;
  std::vector<bool> divided_;
  bool some_ = false;
  std::vector<Arrays> parts_;  // of what is divided
  std::map<std::tuple<Var, std::int64_t, std::int64_t, std::int64_t>, Array> cut_;
};

}  // namespace

ProgramRef divide_concatenations(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("divide_concatenations")(program->hash()).finish(), [&] {
    const ProgramRef inner = with_regions(program, divide_concatenations);
    Division division(*inner);
    return division.empty() ? inner : rewritten(*inner, [&](Replay& replay) { division.bind(replay); });
  });
}

}  // namespace tenon
