#include "tenon/rewrite/delay_splits.h"

#include <algorithm>
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

// An axis of an array that lies divided into several axes of a variable, from `axis` on.
struct SplitAxis {
  std::int64_t axis;
  std::vector<Dim> parts;
  bool operator==(const SplitAxis&) const = default;

  std::int64_t end() const { return axis + static_cast<std::int64_t>(parts.size()); }
  bool holds(std::int64_t a) const { return a >= axis && a < end(); }
  // Of a sorted list of axes: how many are of these.
  std::size_t count_in(const std::vector<std::int64_t>& axes) const {
    return static_cast<std::size_t>(std::ranges::count_if(axes, [&](std::int64_t a) { return holds(a); }));
  }
  // Where an axis of the variable lies in the undivided array.
  std::int64_t undivided(std::int64_t a) const { return a < end() ? std::min(a, axis) : a - (end() - axis) + 1; }
  std::vector<std::int64_t> undivided(const std::vector<std::int64_t>& axes) const {
    std::vector<std::int64_t> all;
    for (const std::int64_t a : axes)
      if (const std::int64_t one = undivided(a); all.empty() || all.back() != one) all.push_back(one);
    return all;
  }
  Shape undivided(const Shape& shape) const {
    Dim all = 1;
    for (const Dim& d : parts) all = all * d;
    std::vector<Dim> sizes;
    for (std::size_t i = 0; i < shape.rank(); ++i)
      if (const auto a = static_cast<std::int64_t>(i); !holds(a) || a == axis)
        sizes.push_back(holds(a) ? all : shape[i]);
    return Shape(std::move(sizes));
  }
};

class SplitDelay {
 public:
  explicit SplitDelay(const Program& program)
      : program_(program),
        maker_(makers_of(program)),
        steps_(program.vars(), false),
        split_(program.vars()),
        delayed_(program.vars(), false) {
    for (const Eqn& eqn : program.eqns()) note(eqn);
    // Where a reduction over all of the axes is made of it.
    for (std::size_t e = program.eqns().size(); e-- > 0;) {
      const Eqn& eqn = program.eqns()[e];
      const bool ends = is_end(eqn);
      some_ = some_ || ends;
      if (ends || (eqn.out.size() == 1 && delayed_[eqn.out[0]] && split_[eqn.out[0]]))
        for (const Var v : eqn.in) delayed_[v] = true;
    }
    for (Var v = 0; v < program.vars(); ++v) delayed_[v] = delayed_[v] && split_[v].has_value();
  }

  bool empty() const { return !some_; }

  void bind(Replay& replay) {
    undivided_.resize(program_.vars());
    for (const Eqn& eqn : program_.eqns()) {
      const bool delayed = eqn.out.size() == 1 && delayed_[eqn.out[0]];
      if (delayed || is_end(eqn)) {
        const EqnScope place(eqn);
        Array x = of_undivided(eqn, replay);
        delayed ? void(undivided_[eqn.out[0]] = std::move(x)) : replay.set(eqn.out[0], std::move(x));
        continue;
      }
      for (const Var v : eqn.in) divide(v, replay);
      replay.bind_eqn(eqn);
    }
    for (const Var v : program_.outputs()) divide(v, replay);
  }

 private:
  const Type& type(Var v) const { return program_.type(v); }

  void note(const Eqn& eqn) {
    if (eqn.op == &loop_op()) {
      for (const Var v : stacks_of(program_, eqn)) steps_[v] = true;
    } else if (eqn.out.size() == 1 && effect_of(eqn) == Effect::none && eqn.new_sizes.empty()) {
      steps_[eqn.out[0]] = is_elementwise(eqn) && std::ranges::any_of(eqn.in, [&](Var v) { return bool(steps_[v]); });
      split_[eqn.out[0]] = split_of(eqn);
    }
  }

  // How the axis lies in the result of what can be made of the undivided array.
  std::optional<SplitAxis> split_of(const Eqn& eqn) const {
    if (eqn.op == &reshape_op() && steps_[eqn.in[0]]) return divided(type(eqn.in[0]).shape, type(eqn.out[0]).shape);
    const auto from = std::ranges::find_if(eqn.in, [&](Var v) { return split_[v].has_value(); });
    if (from == eqn.in.end()) return {};
    SplitAxis split = *split_[*from];
    const auto fits = [&](Var v) {
      return type(v).rank() == type(eqn.out[0]).rank() && (!split_[v] || *split_[v] == split);
    };
    if (is_elementwise(eqn) && !std::ranges::all_of(eqn.in, fits)) return {};
    if (eqn.numerics == Numerics::strict && reduction_of(eqn, program_)) return {};
    std::optional<std::int64_t> first;
    for (std::int64_t axis = split.axis; axis < split.end(); ++axis) {
      const auto to = axis_in_result(program_, eqn, *from, axis);
      if (!to || (first && *to != *first + axis - split.axis)) return {};
      if (!first) first = to;
    }
    split.axis = *first;
    return split;
  }
  static std::optional<SplitAxis> divided(const Shape& from, const Shape& to) {
    if (from.rank() == 0 || to.rank() <= from.rank()) return {};
    SplitAxis split{0, {}};
    const std::size_t parts = to.rank() - from.rank() + 1;
    Dim all = 1;
    for (std::size_t i = 0; i < parts; ++i) split.parts.push_back(to[i]), all = all * to[i];
    for (std::size_t i = parts; i < to.rank(); ++i)
      if (to[i] != from[i - parts + 1]) return {};
    return all == from[0] ? std::optional(split) : std::nullopt;
  }
  // A reduction over all axes of a divided one.
  bool is_end(const Eqn& eqn) const {
    if (eqn.in.size() != 1 || eqn.out.size() != 1 || !split_[eqn.in[0]] || eqn.numerics == Numerics::strict)
      return false;
    const auto form = reduction_of(eqn, program_);
    return form && split_[eqn.in[0]]->count_in(form->axes) == split_[eqn.in[0]]->parts.size();
  }

  // --- in the scope of the new Program ---

  // The result of an eqn, its own axis undivided, or of a reduction over it.
  Array of_undivided(const Eqn& eqn, Replay& replay) {
    const Var x = eqn.in[0];
    if (eqn.op == &reshape_op() && !split_[x]) {
      divide(x, replay);
      return replay.get(x);
    }
    if (const auto form = reduction_of(eqn, program_))
      return bind1(*eqn.op, reduction_params(split_[x]->undivided(form->axes)), {undivided(x, *split_[x], replay)});
    const SplitAxis split = *split_[eqn.out[0]];
    if (eqn.op == &broadcast_op()) {
      const BroadcastForm form = broadcast_form(replay.params(eqn));
      return broadcast_in_dim(undivided(x, *split_[x], replay), mapped(split, replay).undivided(form.shape),
                              split.undivided(form.dims));
    }
    if (eqn.op == &transpose_op())
      return transpose(undivided(x, *split_[x], replay), split_[x]->undivided(permutation_of(eqn.params)));
    Arrays operands;
    for (const Var v : eqn.in) operands.push_back(undivided(v, split, replay));
    return bind_op(*eqn.op, replay.params(eqn), operands)[0];
  }
  static SplitAxis mapped(SplitAxis split, const Replay& replay) {
    for (Dim& d : split.parts) d = substitute(d, replay.sizes());
    return split;
  }

  // A variable with these axes as one.
  Array undivided(Var v, const SplitAxis& of, Replay& replay) {
    if (delayed_[v]) return undivided_[v];
    const SplitAxis split = mapped(of, replay);
    Array& made = beside_[{v, split.axis, split.parts.size()}];
    if (made.empty()) made = reshaped(v, split, replay);
    return made;
  }
  Array reshaped(Var v, const SplitAxis& split, Replay& replay) {
    divide(v, replay);
    const Shape shape = split.undivided(replay.type(v).shape);
    const Eqn* eqn = maker_[v];
    if (eqn == nullptr || eqn->op != &broadcast_op()) return reshape(replay.get(v), shape);
    // What repeats along other axes is repeated again, behind the reshape.
    const BroadcastForm form = broadcast_form(replay.params(*eqn));
    divide(eqn->in[0], replay);
    const Array& x = replay.get(eqn->in[0]);
    if (split.count_in(form.dims) == 0) return broadcast_in_dim(x, shape, split.undivided(form.dims));
    std::vector<Dim> sizes;
    std::vector<std::int64_t> axes, dims;
    for (std::int64_t a = 0; a < static_cast<std::int64_t>(form.shape.rank()); ++a) {
      const auto own = std::ranges::find(form.dims, a);
      if (own == form.dims.end() && !split.holds(a)) continue;
      if (own != form.dims.end()) dims.push_back(static_cast<std::int64_t>(axes.size()));
      sizes.push_back(split.holds(a) ? form.shape[static_cast<std::size_t>(a)]
                                     : x.shape()[static_cast<std::size_t>(own - form.dims.begin())]);
      axes.push_back(a);
    }
    const Shape whole(sizes);
    SplitAxis inner = split;
    inner.axis = std::ranges::find(axes, split.axis) - axes.begin();
    const Array all = whole == x.shape() ? x : broadcast_in_dim(x, whole, dims);
    return broadcast_in_dim(reshape(all, inner.undivided(whole)), shape, split.undivided(axes));
  }
  // Makes a delayed variable as the Program has it, where something reads it so.
  void divide(Var v, Replay& replay) {
    if (delayed_[v] && replay.get(v).empty()) replay.set(v, reshape(undivided_[v], replay.type(v).shape));
  }

  const Program& program_;
  const std::vector<const Eqn*> maker_;
  std::vector<bool> steps_;  // whose first axis is that of a loop's steps
  std::vector<std::optional<SplitAxis>> split_;
  std::vector<bool> delayed_;
  bool some_ = false;
  std::vector<Array> undivided_;  // of delayed variables
  std::map<std::tuple<Var, std::int64_t, std::size_t>, Array> beside_;
};

}  // namespace

ProgramRef delay_splits(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("delay_splits")(program->hash()).finish(), [&] {
    const ProgramRef inner = with_regions(program, delay_splits);
    SplitDelay delay(*inner);
    return delay.empty() ? inner : rewritten(*inner, [&](Replay& replay) { delay.bind(replay); });
  });
}

}  // namespace tenon
