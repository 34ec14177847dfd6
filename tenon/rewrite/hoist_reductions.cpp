#include "tenon/rewrite/hoist_reductions.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <ranges>

#include "tenon/ir/adapt.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/composites/division.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/loop_edit.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/end_streams.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/loops_into_branches.h"
#include "tenon/rewrite/running_sums.h"
#include "tenon/rewrite/step_reads.h"
#include "tenon/rewrite/steps_behind.h"
#include "tenon/rewrite/streams.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Writes one loop anew, as a Hoist says. `done`: eqns that are bound already, or by this and others that are written
// anew.
class LoopRebuild {
 public:
  LoopRebuild(const Program& program, const Hoist& hoist, const std::vector<std::size_t>& maker,
              std::vector<bool>& done)
      : program_(program), hoist_(hoist), maker_(maker), done_(done), reads_(program, hoist, maker) {
    for (std::size_t e : hoist.taken) done_[e] = true;
  }

  void bind(Replay& replay) {
    const Eqn& eqn = program_.eqns()[hoist_.loop];
    sizes_ = replay.sizes();
    collect_outside(replay);
    const EqnScope place(eqn);
    const LoopParams p = replay.params(eqn).as<LoopParams>();
    const auto carries = static_cast<std::size_t>(p.carries);
    LoopEdit edit(p, replay.operands(eqn));
    for (const auto& [v, value] : consts_) added_.whole.emplace(v, edit.add_const(value));
    for (const auto& [at, value] : numbered_) added_.by_number.emplace(at, edit.add_const(value));
    for (const auto& [along, value] : xs_) added_.parts.emplace(along, edit.add_xs(value));
    for (std::size_t i = 0; i < hoist_.ends.size(); ++i) {
      const StreamEnd& end = hoist_.ends[i];
      streams_.push_back(is_part(end) || holder_of(end) ? Stream() : stream_of(end, maker_, replay, goes_back(end)));
      centres_.push_back(centre_of(i));
      if (centres_[i]) streams_[i].initial.erase(streams_[i].initial.begin());
      for (const Array& part : streams_[i].initial) added_.state.push_back(edit.add_carry(part));
      if (streams_[i].beside)
        for (const Array& x : streams_[i].beside(steps_before(end, p)))
          added_.beside[i].push_back(edit.add_xs(by_turn(x)));
    }
    for (const auto& [v, most] : reads_.lags())
      for (std::int64_t lag = 0; lag < most; ++lag) added_.earlier[v].push_back(edit.add_carry(nothing_of(v, replay)));
    if (is_numbered()) added_.number = edit.add_xs(arange(*p.length, DType::i64));
    for (std::size_t i = carries; i < eqn.out.size(); ++i)
      if (hoist_.gone[i]) edit.drop_result(i);
    const LoopEdit::Built built = edit.build([&](LoopEdit::Step& body) { write_body(p, body, replay); });
    for (std::size_t i = 0; i < eqn.out.size(); ++i)
      if (!built.results[i].empty()) replay.set(eqn.out[i], built.results[i]);
    auto next = built.carries.begin();
    auto stacked = built.stacks.begin();
    for (std::size_t i = 0; i < hoist_.ends.size(); ++i) {
      const auto first = next;
      next += static_cast<std::ptrdiff_t>(streams_[i].initial.size());
      ends_.emplace_back(first, next);
      if (centres_[i]) ends_[i].insert(ends_[i].begin(), ends_[*centres_[i]][0]);
      if (is_part(hoist_.ends[i])) ends_.back().push_back(*stacked++);
    }
  }

  // Where the eqn stood: what the result is compared with may be made behind the loop.
  void finish(std::size_t i, Replay& replay) {
    const StreamEnd& end = hoist_.ends[i];
    const Eqn& eqn = program_.eqns()[end.eqn];
    const EqnScope place(eqn);
    if (is_part(end)) return replay.set(eqn.out[0], stacked_part(end, ends_[i][0]));
    const auto holder = holder_of(end);
    if (holder) return replay.set(eqn.out[0], convert(ends_[*holder][0], replay.type(eqn.out[0]).dtype));
    if (end.kind == StreamEnd::Kind::row) return replay.set(eqn.out[0], row_behind(end, ends_[i][0], replay));
    if (end.kind == StreamEnd::Kind::waiting)
      return replay.set(eqn.out[0], RunningSums(end, replay).finish(ends_[i], maker_, replay));
    const Arrays results = streams_[i].finish(ends_[i], reference(end, replay));
    for (std::size_t k = 0; k < results.size(); ++k) replay.set(eqn.out[k], results[k]);
  }

 private:
  // One step's part of a variable, before the first step.
  Array nothing_of(Var v, const Replay& replay) const {
    const Type whole = replay.type(v);
    return zeros_like(Type::array(whole.dtype, step_shape(whole.shape, hoist_.steps.at(v))));
  }
  static bool is_part(const StreamEnd& end) { return end.kind == StreamEnd::Kind::part; }
  // The result of a reduction over other axes than that of the steps, of what these stack.
  Array stacked_part(const StreamEnd& end, const Array& x) const {
    const Eqn& eqn = program_.eqns()[end.eqn];
    if (end.axes.empty()) return of_all_steps(x, hoist_.steps.at(eqn.out[0]));
    StepsIn steps = end.of[0].steps;
    steps.axis = axis_left(end.axes, steps.axis);
    const std::int64_t rows = axis_left(end.axes, reduction_of(eqn, program_)->axes[0]);
    return bind1(*eqn.op, reduction_params({rows}), {of_all_steps(x, steps)});
  }
  // A slice of one step, of what that step made.
  Array row_behind(const StreamEnd& end, const Array& row, const Replay& replay) const {
    const Eqn& eqn = program_.eqns()[end.eqn];
    const SliceForm form = slice_form(replay.params(eqn));
    const Shape whole = row.shape().with_axis(at(end.of[0].steps.axis), 1), part = replay.type(eqn.out[0]).shape;
    const Array x = reshape(row, whole);
    if (whole == part) return x;
    std::vector<Dim> start = form.start;
    start[at(end.of[0].steps.axis)] = 0;
    return slice_of_shape(x, std::move(start), part, form.stride);
  }
  // What the steps stack, as it lies behind the loop.
  Array of_all_steps(Array x, const StepsIn& steps) const {
    if (hoist_.steps_a_turn != 1)
      x = reshape(x, x.shape().without_axis(0).without_axis(0).with_axis(0, x.shape()[0] * hoist_.steps_a_turn));
    if (!reads_.is_of_all_steps(steps)) {
      std::vector<Dim> start(x.rank(), 0);
      std::vector<std::int64_t> stride(x.rank(), 1);
      const bool turned = steps.stride < 0;
      start[0] = here(turned ? steps.first + (steps.count - 1) * steps.stride : steps.first);
      stride[0] = std::abs(steps.stride);
      x = slice_of_shape(x, std::move(start), x.shape().without_axis(0).with_axis(0, here(steps.count)),
                         std::move(stride));
      if (turned) x = reverse(x, {0});
    }
    x = move_axis(x, 0, steps.axis);
    if (!steps.chunk) return x;
    const auto axis = static_cast<std::size_t>(steps.axis);
    return reshape(x,
                   x.shape().without_axis(axis).without_axis(axis).with_axis(axis, here(steps.count * *steps.chunk)));
  }

  // The end that holds an extremum in its state, as what it compares the same elements with.
  std::optional<std::size_t> holder_of(const StreamEnd& end) const {
    const auto combine = end.kind == StreamEnd::Kind::monoid ? reduction_of(program_.eqns()[end.eqn], program_)->combine
                                                             : kernel::Combine::add;
    if (combine != kernel::Combine::max && combine != kernel::Combine::min) return {};
    for (std::size_t i = 0; i < hoist_.ends.size(); ++i) {
      const StreamEnd& other = hoist_.ends[i];
      const bool holds =
          other.kind == StreamEnd::Kind::exponentials
              ? combine == kernel::Combine::max && !other.mask() && other.of[0].var == end.of[0].var &&
                    other.of[0].steps == end.of[0].steps && other.axes == end.axes
          : other.kind == StreamEnd::Kind::waiting
              ? combine == kernel::Combine::max && other.waits->first.eqn == end.eqn
              : other.kind == StreamEnd::Kind::first_index && *other.reference == program_.eqns()[end.eqn].out[0];
      if (holds) return i;
    }
    return {};
  }
  // The end before this one whose state begins as this one's does: with the largest of the same elements.
  std::optional<std::size_t> centre_of(std::size_t i) const {
    const auto is_around_largest = [](const StreamEnd& end) {
      return end.kind == StreamEnd::Kind::waiting ? end.waits->first.largest
                                                  : end.kind == StreamEnd::Kind::exponentials && !end.mask();
    };
    const auto dtype = [&](const StreamEnd& e) {
      return computed_in(program_.type(program_.eqns()[e.eqn].out[0]).dtype);
    };
    const StreamEnd& end = hoist_.ends[i];
    if (!is_around_largest(end)) return {};
    for (std::size_t j = 0; j < i; ++j) {
      const StreamEnd& other = hoist_.ends[j];
      if (is_around_largest(other) && other.of[0].var == end.of[0].var && other.of[0].steps == end.of[0].steps &&
          other.axes == end.axes && dtype(other) == dtype(end))
        return j;
    }
    return {};
  }
  // What is made behind the loop and needed by it is bound before it.
  void bind_now(Var v, Replay& replay) {
    for (std::size_t e :
         makers_behind(program_, maker_, hoist_.loop, {v}, [&](std::size_t e) { return bool(done_[e]); })) {
      done_[e] = true;
      replay.bind_eqn(program_.eqns()[e]);
    }
  }

  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }

  // What the body reads of what it does not make: consts for what is the same at every step, xs for the rest.
  void collect_outside(Replay& replay) {
    reads_.for_each_outside([&](const Along& along) { collect(along, replay); });
    for (const Var v : reads_.whole()) {
      bind_now(v, replay);
      consts_.emplace(v, replay.get(v));
    }
  }
  void collect(const Along& along, Replay& replay) {
    if (!reads_.is_same_at_each(along)) {
      if (xs_.contains(step_key(along)) || numbered_.contains(step_key(along))) return;
      if (reads_.is_of_all_steps(along.steps))
        xs_.emplace(step_key(along), by_turn(by_step(along, replay)));
      else if (const auto whole = reads_.with_all_steps(along))
        xs_.emplace(step_key(along), by_turn(by_step(*whole, replay)));
      else
        numbered_.emplace(step_key(along), by_step(along, replay));
      return;
    }
    if (reads_.counts_elsewhere(along)) return;
    const Eqn& eqn = *maker(along.var);
    const auto inner = *reads_.operand_axis(eqn, along.steps.axis);
    for (Var v : eqn.in) {
      if (inner) {
        collect({v, with_axis(along.steps, *inner)}, replay);
      } else if (const Eqn* source = maker(v); source == nullptr || source->op != &literal_op()) {
        bind_now(v, replay);
        consts_.emplace(v, replay.get(v));
      }
    }
  }
  Array by_turn(const Array& x) const { return tenon::by_turn(x, hoist_.steps_a_turn); }
  Array of_turn(const Array& x, std::int64_t step) const {
    return hoist_.steps_a_turn == 1 ? x : squeeze(slice_in_dim(x, step, step + 1, 0), 0);
  }
  // The array with the steps along axis 0, made of what it is a transpose of.
  Array by_step(const Along& along, Replay& replay) {
    if (along.steps.chunk) {
      bind_now(along.var, replay);
      const Array& x = replay.get(along.var);
      const auto axis = static_cast<std::size_t>(along.steps.axis);
      const Shape divided = x.shape()
                                .without_axis(axis)
                                .with_axis(axis, here(*along.steps.chunk))
                                .with_axis(axis, here(along.steps.count));
      return move_axis(reshape(x, divided), along.steps.axis, 0);
    }
    std::vector<std::int64_t> order{along.steps.axis};
    for (std::size_t axis = 0; axis < program_.type(along.var).rank(); ++axis)
      if (static_cast<std::int64_t>(axis) != along.steps.axis) order.push_back(static_cast<std::int64_t>(axis));
    Var v = along.var;
    for (const Eqn* eqn = maker(v); eqn != nullptr && eqn->op == &transpose_op(); eqn = maker(v)) {
      order = permuted(permutation_of(eqn->params), order);
      v = eqn->in[0];
    }
    bind_now(v, replay);
    return transpose(replay.get(v), order);
  }

  bool is_numbered() const {
    const auto chooses = [&](const StreamEnd& end) {
      return !reads_.is_of_all_steps(end.of[0].steps) && !is_last_step(end);
    };
    return !numbered_.empty() || std::ranges::any_of(streams_, &Stream::numbered) ||
           std::ranges::any_of(hoist_.ends, chooses);
  }

  // Of each element along the steps, how many of an end's come before it: none before those that are not its own.
  Array steps_before(const StreamEnd& end, const LoopParams& p) const {
    const StepsIn& steps = end.of[0].steps;
    const Array index = place_among(steps, arange(*p.length * hoist_.steps_a_turn, DType::i64));
    const Array before = p.reverse != (steps.stride < 0) ? size_as_array(here(steps.count)) - 1 - index : index;
    return reads_.is_of_all_steps(steps) ? before : max(before, 0);
  }
  // What the elements were compared with, in the shape of the result.
  Array reference(const StreamEnd& end, const Replay& replay) const {
    if (!end.reference || end.kind == StreamEnd::Kind::first_index) return {};
    return of_rows(replay.get(*end.reference), end.reference_dims, end.axes,
                   replay.type(program_.eqns()[end.eqn].out[0]).shape);
  }

  // Whether the loop comes to the last of an end's elements first.
  bool goes_back(const StreamEnd& end) const {
    return program_.eqns()[hoist_.loop].params.as<LoopParams>().reverse != (end.of[0].steps.stride < 0);
  }

  // What a step of the body that is being made knows: its parts of what lies outside and of what moves, what is the
  // same at every step, and its number among the elements.
  struct Step {
    std::map<StepKey, Array> parts;
    std::map<Var, Array> whole;
    std::map<StepKey, Array> by_number;
    std::map<std::size_t, Arrays> beside;  // what streams have asked for
    Array number;
  };

  void write_body(const LoopParams& p, LoopEdit::Step& body, const Replay& replay) {
    const Eqn& eqn = program_.eqns()[hoist_.loop];
    body.bind_all();
    const auto made = [&](std::size_t result) { return body.old.get(p.body->outputs()[result]); };
    Turn turn{
        {}, std::vector<std::optional<StreamStep>>(hoist_.ends.size()), std::vector<Arrays>(hoist_.ends.size()), {}};
    for (const LoopEdit::Added part : added_.state) turn.state.push_back(body.at(part));
    for (const auto& [v, added] : added_.earlier)
      for (const LoopEdit::Added& one : added) turn.earlier[v].push_back(body.at(one));
    for (std::int64_t k = 0; k < hoist_.steps_a_turn; ++k) {
      const std::int64_t turn_step = p.reverse ? hoist_.steps_a_turn - 1 - k : k;
      Step step;
      if (hoist_.unrolled.empty())
        for (std::size_t i = static_cast<std::size_t>(p.carries); i < eqn.out.size(); ++i)
          if (hoist_.steps.contains(eqn.out[i])) step.parts.emplace(step_key(reads_.along(eqn.out[i])), made(i));
      for (const auto& [v, i] : hoist_.unrolled)
        step.parts.emplace(step_key(reads_.along(v)), of_turn(made(i), turn_step));
      for (const auto& [v, at] : added_.whole) step.whole.emplace(v, body.at(at));
      for (const auto& [along, at] : added_.by_number) step.by_number.emplace(along, body.at(at));
      for (const auto& [along, at] : added_.parts) step.parts.emplace(along, of_turn(body.at(at), turn_step));
      for (const auto& [i, added] : added_.beside)
        for (const LoopEdit::Added one : added) step.beside[i].push_back(of_turn(body.at(one), turn_step));
      if (added_.number) step.number = body.at(*added_.number) * hoist_.steps_a_turn + turn_step;
      take_step(turn, step, k + 1 == hoist_.steps_a_turn, replay);
    }
    for (std::size_t i = 0; i < turn.state.size(); ++i) body.carry_on(added_.state[i], turn.state[i]);
    for (const auto& [v, added] : added_.earlier)
      for (std::size_t i = 0; i < added.size(); ++i) body.carry_on(added[i], turn.earlier.at(v)[i]);
    for (Arrays& parts : turn.parts) {
      if (parts.empty()) continue;
      if (p.reverse) std::ranges::reverse(parts);
      body.stack(hoist_.steps_a_turn == 1 ? parts[0] : stack(parts));
    }
  }

  // What the ends of the turn that is being made have taken in so far, and elements that join those of its next steps.
  struct Turn {
    Arrays state;
    std::vector<std::optional<StreamStep>> joined;
    std::vector<Arrays> parts;      // that it stacks
    std::map<Var, Arrays> earlier;  // what the last steps made, the last one first
  };
  void take_step(Turn& turn, Step& step, bool last, const Replay& replay) const {
    reads_.for_each_outside([&](const Along& along) { outside_part(along, step, replay); });
    for (std::size_t e : hoist_.moved) {
      const Eqn& moving = program_.eqns()[e];
      step.parts.emplace(step_key(reads_.along(moving.out[0])), moved(moving, step, turn, replay));
    }
    for (auto& [v, values] : turn.earlier) {
      values.insert(values.begin(), step.parts.at(step_key(reads_.along(v))));
      values.pop_back();
    }
    std::size_t at = 0;
    std::map<std::size_t, Array> centres;  // of ends, before this step
    for (std::size_t i = 0; i < hoist_.ends.size(); ++i) {
      if (is_part(hoist_.ends[i])) turn.parts[i].push_back(part_of_step(hoist_.ends[i], step));
      if (streams_[i].initial.empty()) continue;  // another one holds it
      const std::span<Array> state = std::span(turn.state).subspan(at, streams_[i].initial.size());
      at += state.size();
      Arrays given(state.begin(), state.end());
      if (centres_[i]) given.insert(given.begin(), centres.at(*centres_[i]));
      centres.emplace(i, given[0]);
      const EqnScope place(program_.eqns()[hoist_.ends[i].eqn]);
      StreamStep now = elements_of(i, step);
      const StepsIn& steps = hoist_.ends[i].of[0].steps;
      if (streams_[i].join) {
        if (!takes_all(steps)) {
          const Scalar& identity = *streams_[i].identity;
          now.elements = where(is_among(steps, step), convert(now.elements, identity.dtype()), Array(identity));
        }
        auto& joined = turn.joined[i];
        if (joined) now.elements = streams_[i].join(joined->elements, now.elements);
        joined = std::move(now);
        if (last) std::ranges::move(streams_[i].take(state, *joined), state.begin());
        continue;
      }
      Arrays next = streams_[i].take(given, now);
      if (centres_[i]) next.erase(next.begin());
      const bool each = takes_all(steps) || is_last_step(hoist_.ends[i]);
      for (std::size_t k = 0; k < next.size(); ++k)
        state[k] = each ? next[k] : where(is_among(steps, step), next[k], state[k]);
    }
  }
  // Whether it is the row of the step that the loop ends with: what all steps before left is overwritten.
  bool is_last_step(const StreamEnd& end) const {
    const auto& p = program_.eqns()[hoist_.loop].params.as<LoopParams>();
    const Dim last = p.reverse ? Dim(0) : *p.length * hoist_.steps_a_turn - 1;
    return end.kind == StreamEnd::Kind::row && end.of[0].steps.first == last;
  }
  // What a step stacks.
  Array part_of_step(const StreamEnd& end, const Step& step) const {
    const Eqn& eqn = program_.eqns()[end.eqn];
    if (end.axes.empty()) return step.parts.at(step_key(reads_.along(eqn.out[0])));
    const EqnScope place(eqn);
    return bind1(*eqn.op, reduction_params(step_axes(end.of[0].steps, end.axes)), {step.parts.at(step_key(end.of[0]))});
  }
  // Whether every step is one of them, in whatever order.
  bool takes_all(StepsIn steps) const {
    steps.stride = std::abs(steps.stride);
    return reads_.is_of_all_steps(steps);
  }
  // A number of steps, which is one of the Program's, where the loop is written.
  Dim here(const Dim& steps) const { return substitute(steps, sizes_); }
  // Where a step lies among some of all, and whether it is one of them.
  Array place_among(const StepsIn& steps, const Array& number) const {
    const Array from = number - size_as_array(here(steps.first));
    return steps.stride == 1 ? from : floor_divide(from, steps.stride);
  }
  Array is_among(const StepsIn& steps, const Step& step) const {
    const Array place = place_among(steps, step.number);
    const Array among = (place >= 0) & (place < size_as_array(here(steps.count)));
    if (steps.stride == 1) return among;
    return among & (step.number - size_as_array(here(steps.first)) == place * steps.stride);
  }

  StreamStep elements_of(std::size_t i, const Step& step) const {
    const StreamEnd& end = hoist_.ends[i];
    const StepsIn& steps = end.of[0].steps;
    const bool row = end.kind == StreamEnd::Kind::row;  // whose steps are other ones than those of its elements
    StreamStep now =
        end.kind == StreamEnd::Kind::product
            ? multiplied(end, step)
            : StreamStep{.elements = step.parts.at(step_key(row ? reads_.along(end.of[0].var) : end.of[0])),
                         .axes = step_axes(steps, end.axes)};
    if (end.kind == StreamEnd::Kind::waiting)
      for (const Along& other : end.of | std::views::drop(1)) now.others.push_back(step.parts.at(step_key(other)));
    if (const Along* mask = end.mask()) now.mask = step.parts.at(step_key(*mask));
    if (streams_[i].numbered) now.index = reads_.is_of_all_steps(steps) ? step.number : place_among(steps, step.number);
    if (streams_[i].beside) now.beside = step.beside.at(i);
    return now;
  }
  StreamStep multiplied(const StreamEnd& end, const Step& step) const {
    return product_step(program_, program_.eqns()[end.eqn],
                        {step.parts.at(step_key(end.of[0])), step.parts.at(step_key(end.of[1]))},
                        {end.of[0].steps, end.of[1].steps});
  }

  static Array broadcast_step(const Eqn& eqn, const Array& x, const StepsIn& steps, const Replay& replay) {
    const BroadcastForm form = broadcast_form(replay.params(eqn));
    return broadcast_in_dim(x, step_shape(form.shape, steps), step_axes(steps, form.dims));
  }

  // A step's part of what lies outside: what is the same at every step is made within the body.
  const Array& outside_part(const Along& along, Step& step, const Replay& replay) const {
    if (const auto found = step.parts.find(step_key(along)); found != step.parts.end()) return found->second;
    if (const auto found = step.by_number.find(step_key(along)); found != step.by_number.end())
      return step.parts.emplace(step_key(along), row_at(found->second, place_among(along.steps, step.number)))
          .first->second;
    const Eqn& eqn = *maker(along.var);
    if (reads_.counts_elsewhere(along)) {
      const Type whole = replay.type(along.var);
      const std::int64_t axis = step_axes(along.steps, {*counted_axis(eqn)})[0];
      return step.parts.emplace(step_key(along), iota(whole.dtype, step_shape(whole.shape, along.steps), axis))
          .first->second;
    }
    const auto inner = *reads_.operand_axis(eqn, along.steps.axis);
    if (!inner) {
      const auto given = step.whole.find(eqn.in[0]);
      const Array x = given != step.whole.end() ? given->second : bind1(literal_op(), maker(eqn.in[0])->params, {});
      return step.parts.emplace(step_key(along), broadcast_step(eqn, x, along.steps, replay)).first->second;
    }
    for (Var v : eqn.in) outside_part({v, with_axis(along.steps, *inner)}, step, replay);
    return step.parts.emplace(step_key(along), part(eqn, along.steps, *inner, step, replay)).first->second;
  }

  Array moved(const Eqn& eqn, const Step& step, const Turn& turn, const Replay& replay) const {
    const EqnScope place(eqn);
    const StepsIn& steps = hoist_.steps.at(eqn.out[0]);
    const auto operand = [&]() -> const Array& { return step.parts.at(step_key(reads_.along(eqn.in[0]))); };
    if (const auto form = reduction_of(eqn, program_))
      return bind1(*eqn.op, reduction_params(step_axes(hoist_.steps.at(eqn.in[0]), form->axes)), {operand()});
    if (eqn.op == &reshape_op()) return reshape(operand(), step_shape(replay.type(eqn.out[0]).shape, steps));
    if (eqn.op == &slice_op()) return sliced(eqn, operand(), replay);
    if (eqn.op == &reverse_op()) {
      const std::vector<std::int64_t> axes = step_axes(steps, reversed_axes(eqn.params));
      return axes.empty() ? operand() : reverse(operand(), axes);
    }
    if (eqn.op == &gather_op()) {
      const Var v = eqn.in[1];
      const Along indices = hoist_.steps.contains(v) ? reads_.along(v) : reads_.outside(eqn, v);
      return gather_of_batch(replay.params(eqn), reads_.batch_of(eqn), operand(), step.parts.at(step_key(indices)));
    }
    if (is_product(*eqn.op)) return product(eqn, step);
    if (!is_elementwise(eqn)) return part(eqn, steps, **reads_.operand_axis(eqn, steps.axis), step, replay);
    Arrays operands;
    for (const Var v : eqn.in) {
      const std::int64_t lag = hoist_.lag(eqn, v);
      operands.push_back(lag > 0 ? turn.earlier.at(v)[static_cast<std::size_t>(lag) - 1]
                                 : step.parts.at(step_key({v, steps})));
    }
    return bind_op(*eqn.op, replay.params(eqn), operands)[0];
  }
  // Of a step's rows and what is the same at each step.
  Array product(const Eqn& eqn, const Step& step) const {
    std::array<Array, 2> parts;
    std::array<std::optional<StepsIn>, 2> steps;
    for (std::size_t side = 0; side < 2; ++side) {
      const Var v = eqn.in[side];
      if (hoist_.steps.contains(v)) steps[side] = hoist_.steps.at(v);
      parts[side] = steps[side] ? step.parts.at(step_key(reads_.along(v))) : step.whole.at(v);
    }
    if (!makes_few_of_rows(program_, eqn)) return whole_product(program_, eqn, parts, steps);
    const StreamStep terms = product_step(program_, eqn, parts, steps);
    return convert(sum(terms.elements, Axes(terms.axes)), program_.type(eqn.out[0]).dtype);
  }
  // A slice along the other axes than that of the steps, whose part has all of them.
  Array sliced(const Eqn& eqn, const Array& x, const Replay& replay) const {
    const SliceForm form = slice_form(replay.params(eqn));
    const StepsIn& from = hoist_.steps.at(eqn.in[0]);
    const Shape size = step_shape(replay.type(eqn.out[0]).shape, hoist_.steps.at(eqn.out[0]));
    if (size == x.shape()) return x;  // steps alone were left out
    std::vector<Dim> start;
    std::vector<std::int64_t> stride;
    for (std::size_t axis = 0; axis < form.start.size(); ++axis) {
      const bool of_steps = static_cast<std::int64_t>(axis) == from.axis;
      if (of_steps && !from.chunk) continue;
      start.push_back(of_steps ? Dim(0) : form.start[axis]);
      stride.push_back(of_steps ? 1 : form.stride[axis]);
    }
    return slice_of_shape(x, std::move(start), size, std::move(stride));
  }

  // A broadcast, transpose or elementwise op on parts of its operands, in which the steps lie along axis `inner`.
  Array part(const Eqn& eqn, const StepsIn& steps, std::int64_t inner, const Step& step, const Replay& replay) const {
    const auto at = [&](Var v) -> const Array& { return step.parts.at(step_key({v, with_axis(steps, inner)})); };
    if (eqn.op == &broadcast_op()) return broadcast_step(eqn, at(eqn.in[0]), steps, replay);
    if (eqn.op == &transpose_op()) {
      return transpose(at(eqn.in[0]), step_axes(with_axis(steps, inner), permutation_of(eqn.params)));
    }
    Arrays operands;
    for (Var v : eqn.in) operands.push_back(at(v));
    return bind_op(*eqn.op, replay.params(eqn), operands)[0];
  }

  const Program& program_;
  const Hoist& hoist_;
  const std::vector<std::size_t>& maker_;
  std::vector<bool>& done_;
  StepReads reads_;
  SizeBinding sizes_;                                // of the Program, where the loop is written
  std::map<StepKey, Array> xs_;                      // read a step at a time; the steps are axis 0
  std::map<StepKey, Array> numbered_;                // of some steps: read by number
  std::map<Var, Array> consts_;                      // broadcast over the steps
  std::vector<Stream> streams_;                      // of each end
  std::vector<std::optional<std::size_t>> centres_;  // whose state's first is that of this end, too
  struct {                                           // what the loop is given for these, and for streams
    std::map<StepKey, LoopEdit::Added> parts, by_number;
    std::map<Var, LoopEdit::Added> whole;
    std::map<std::size_t, std::vector<LoopEdit::Added>> beside;
    std::vector<LoopEdit::Added> state;
    std::map<Var, std::vector<LoopEdit::Added>> earlier;
    std::optional<LoopEdit::Added> number;
  } added_;
  std::vector<Arrays> ends_;  // their states behind the loop
};

// The Program with all these hoists done.
ProgramRef rebuilt(const Program& program, const std::vector<Hoist>& hoists) {
  return rewritten_together<LoopRebuild>(
      program, hoists, [](const Hoist& hoist) { return hoist.loop; },
      [](const Hoist& hoist) -> const auto& { return hoist.ends; });
}

// Told of the hoists that are done, in the program as it is then.
using Seen = std::function<void(const Program&, const std::vector<Hoist>&)>;

ProgramRef hoisted(const ProgramRef& program, const Seen& seen) {
  const auto region = [&](const ProgramRef& inner) { return seen ? hoisted(inner, seen) : hoist_reductions(inner); };
  ProgramRef result = with_regions(program, region);
  while (true) {
    ProgramRef next;
    if (const auto hoists = find_hoists(*result); !hoists.empty()) {
      if (seen) seen(*result, hoists);
      next = compose_views(rebuilt(*result, hoists));  // what they read are views of views
    } else {
      next = move_loop_into_branches(*result);
    }
    if (next == nullptr) break;
    // A body that has got a reduction may have a loop whose stacks that reduces, and so may branches.
    result = with_regions(next, region);
  }
  return result;
}

void add_notes_of_what_stays(const ProgramRef& program, std::vector<HoistNote>& notes) {
  for (HoistNote& note : notes_of_what_stays(*program)) notes.push_back(std::move(note));
  with_regions(program, [&](const ProgramRef& inner) {
    add_notes_of_what_stays(inner, notes);
    return inner;
  });
}

}  // namespace

ProgramRef hoist_reductions(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("hoist_reductions")(program->hash()).finish(), [&] { return hoisted(program, {}); });
}

std::vector<HoistNote> hoist_notes(const ProgramRef& program) {
  std::vector<HoistNote> notes;
  const ProgramRef result = hoisted(program, [&](const Program& now, const std::vector<Hoist>& hoists) {
    for (const Hoist& hoist : hoists)
      for (const StreamEnd& end : hoist.ends) notes.push_back(note_of(now, end.eqn, hoist.loop));
  });
  add_notes_of_what_stays(result, notes);
  return notes;
}

}  // namespace tenon
