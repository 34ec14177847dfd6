#include "tenon/rewrite/stream_pairs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "tenon/ir/adapt.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/pair_factors.h"
#include "tenon/rewrite/pair_parts.h"
#include "tenon/rewrite/pair_search.h"
#include "tenon/rewrite/streams.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

// Writes a Program anew with these loops.
class PairsRebuild : PairParts {
 public:
  PairsRebuild(const Program& program, std::vector<PairLoop> loops, Replay& replay)
      : PairParts(program, replay), loops_(std::move(loops)), done_(program.eqns().size(), false) {
    for (std::size_t i = 0; i < loops_.size(); ++i)
      for (std::size_t k = 0; k < loops_[i].ends.size(); ++k) end_at_.emplace(loops_[i].ends[k].eqn, std::pair(i, k));
    results_.resize(loops_.size());
  }

  void run() {
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) bind(e);
  }

 private:
  void bind(std::size_t e) {
    if (done_[e]) return;
    done_[e] = true;
    const auto end = end_at_.find(e);
    if (end == end_at_.end()) return replay_.bind_eqn(program_.eqns()[e]);
    const auto [i, k] = end->second;
    if (results_[i].empty()) bind_loop(i);
    const PairEnd& reduction = loops_[i].ends[k];
    if (reduction.as_it_is) return replay_.bind_eqn(program_.eqns()[e]);
    const EqnScope place(program_.eqns()[e]);
    enter(loops_[i]);
    const Array& stack = results_[i][k];
    if (const auto few = few_in_order(program_.eqns()[e])) {
      const TopK found = first_in_order(reduction, stack, *few);
      replay_.set(program_.eqns()[e].out[0], found.values);
      return replay_.set(program_.eqns()[e].out[1], found.indices);
    }
    const Array result = !reduction.compared                                         ? finished(reduction, stack)
                         : reduction.compared->kind == StreamEnd::Kind::exponentials ? exponentials(reduction, stack)
                                                                                     : index(reduction, stack);
    replay_.set(program_.eqns()[e].out[0], result);
  }
  // What a loop reads is bound before it: loops that it needs, too, none of which needs it.
  void bind_now(Var v) {
    std::set<std::size_t> found;
    for (std::vector<Var> open{v}; !open.empty();) {
      const std::size_t e = maker_[open.back()];
      open.pop_back();
      if (e == nowhere || done_[e] || !found.insert(e).second || (end_at_.contains(e) && !as_it_is(e))) continue;
      const Eqn& eqn = program_.eqns()[e];
      open.insert(open.end(), eqn.in.begin(), eqn.in.end());
    }
    for (const std::size_t e : found) bind(e);
  }
  bool as_it_is(std::size_t e) const {
    const auto [i, k] = end_at_.at(e);
    return loops_[i].ends[k].as_it_is;
  }

  // What it computes, and what it reads: that of all steps behind what is the same at each.
  struct Body {
    std::set<PairPart> parts;
    std::vector<PairPart> leaves;
    bool numbered = false;  // whether it reads the numbers of its steps
  };
  Body body_of(std::span<const PairEnd> ends) const {
    Body body;
    std::set<PairPart> leaves;
    for (const PairEnd& end : ends) {
      body.parts.insert(end.parts.begin(), end.parts.end());
      leaves.insert(end.leaves.begin(), end.leaves.end());
    }
    for (const bool by_step : {false, true})
      for (const PairPart& leaf : leaves)
        if (!body.parts.contains(leaf) && (leaf.loop != no_axis) == by_step) body.leaves.push_back(leaf);
    const auto counts_steps = [&](const PairPart& part) {
      return part.loop != no_axis && counted_axis(program_.eqns()[maker_[part.v]]) == part.loop;
    };
    body.numbered = has_rest_ || std::ranges::any_of(body.parts, counts_steps);
    return body;
  }

  void bind_loop(std::size_t i) {
    const PairLoop& pairs = loops_[i];
    enter(pairs);
    const Body body = body_of(pairs.ends);
    for (const PairPart& leaf : body.leaves) bind_now(leaf.v);
    enter(pairs);
    const EqnScope place(program_.eqns()[pairs.ends[0].eqn]);
    LoopParams p;
    p.length = all_turns();
    Arrays operands;
    for (const PairPart& leaf : body.leaves) {
      p.consts += leaf.loop == no_axis;
      operands.push_back(laid_out(leaf));
    }
    if (body.numbered) operands.push_back(numbers());
    const TraceResult made = traced(pairs.ends, pairs.stacked, body, body_input_types(p, types_of(operands)));
    p.body = made.program;
    p.body_sizes = made.sizes;
    const Arrays results = loop(p, operands);
    std::size_t next = 0;
    results_[i].resize(pairs.ends.size());
    for (std::size_t k = 0; k < pairs.ends.size(); ++k)
      if (has_output(pairs.ends, k))
        results_[i][k] = stacks_turns(pairs.ends[k]) ? results[next++] : by_step(results[next++]);
    for (std::size_t k = 0; k < pairs.ends.size(); ++k) results_[i][k] = results_[i][output_of(pairs.ends, k)];
    for (const PairPart& part : pairs.stacked) {  // the steps lie along the first axis
      const std::vector<std::int64_t> axes = axes_of_steps(program_.type(part.v).rank(), part);
      replay_.set(part.v, transpose(by_step(results[next++]), inverse_permutation(axes)));
    }
  }
  static bool is_index(const PairEnd& end) {
    return end.compared && end.compared->kind == StreamEnd::Kind::first_index;
  }
  kernel::Combine combine(const PairEnd& end) const {
    if (end.product) return kernel::Combine::add;
    if (end.compared && !is_index(end)) return kernel::Combine::max;
    const Eqn& eqn = program_.eqns()[is_index(end) ? maker_[*end.compared->reference] : end.eqn];
    return reduction_of(eqn, program_)->combine;
  }
  // The end whose elements it reduces: an extremum those of what compares them with it.
  std::size_t output_of(std::span<const PairEnd> ends, std::size_t k) const {
    if (ends[k].product || ends[k].compared || few_in_order(program_.eqns()[ends[k].eqn])) return k;
    for (std::size_t j = 0; j < ends.size(); ++j)
      if (ends[j].compared && ends[j].of == ends[k].of && combine(ends[j]) == combine(ends[k])) return j;
    return k;
  }
  bool has_output(std::span<const PairEnd> ends, std::size_t k) const {
    return !ends[k].as_it_is && output_of(ends, k) == k;
  }
  // A turn's elements for each end that the loop reduces, and what it stacks besides. `inputs`: the leaves, and the
  // numbers of the turn's steps where these are asked for; of one lane its number behind them.
  TraceResult traced(std::span<const PairEnd> ends, const std::set<PairPart>& stacked, const Body& body,
                     const std::vector<Type>& inputs) {
    Scope scope;
    std::map<PairPart, Array> made;
    Arrays given;
    for (const Type& type : inputs) given.push_back(scope.input(type));
    for (std::size_t k = 0; k < body.leaves.size(); ++k) made.emplace(body.leaves[k], given[k]);
    const std::span<const Array> numbers = std::span(given).subspan(body.leaves.size());
    for (const PairPart& part : body.parts) {
      const Eqn& eqn = program_.eqns()[maker_[part.v]];
      const EqnScope place(eqn);
      made.emplace(part, computed(eqn, part, made, numbers));
    }
    Arrays outputs;
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const PairEnd& end = ends[k];
      if (!has_output(ends, k)) continue;
      const Eqn& eqn = program_.eqns()[end.eqn];
      const EqnScope place(eqn);
      if (end.product && is_tile(eqn, &end)) {
        outputs.push_back(tile(eqn, end.of, has_rest_ ? without_rest(eqn, end.of, body, made, numbers) : made, true));
        continue;
      }
      Array x = end.product ? multiplied(eqn, end.of, made) : made.at(end.of);
      if (end.by_lanes()) {
        outputs.push_back(sum_of_lanes(end, x));
        continue;
      }
      if (has_rest_) x = where_there(numbers[0], steps_, turn_axis(), x, identity(end, x.dtype()));
      outputs.push_back(is_index(end) && !one_lane_ && together_ > 1 ? extremum(end, x, {turn_axis()}) : x);
    }
    for (const PairPart& part : stacked) outputs.push_back(made.at(part));
    return scope.finish(outputs, "pairs");
  }
  // Of each step what its lanes come to, in the loop's parts of them: these come first.
  Array sum_of_lanes(const PairEnd& end, Array x) const {
    const std::vector<std::int64_t> axes = axes_of(end.sizes.size(), end.of);
    const auto lane = static_cast<std::int64_t>(axes.size()) - 1;
    const Dim lanes = lanes_of(end);
    const Dim all = x.shape()[at(lane)];
    if (all != lanes) x = where_there(arange(all, DType::i64), lanes, lane, x, identity(end, x.dtype()));
    x = reshape(x,
                x.shape().without_axis(at(lane)).with_axis(at(lane), part_).with_axis(at(lane), all.value() / part_));
    std::vector<std::int64_t> summed{lane + 1};
    for (std::int64_t i = 0; i < lane; ++i)
      if (std::ranges::count(end.axes, axes[at(i)]) > 0) summed.push_back(i + 1);
    std::ranges::sort(summed);
    return reduced(end, move_axis(x, lane, 0), summed);
  }
  Array reduced(const PairEnd& end, const Array& x, const std::vector<std::int64_t>& axes) const {
    return end.product ? sum(x, Axes(axes)) : bind1(*program_.eqns()[end.eqn].op, reduction_params(axes), {x});
  }
  // Of a product's operands that are computed, zeros for steps that are not there: what is read has them already.
  std::map<PairPart, Array> without_rest(const Eqn& eqn, const PairPart& part, const Body& body,
                                         std::map<PairPart, Array> made, std::span<const Array> numbers) const {
    const ProductAxes product(program_, eqn);
    for (const std::size_t k : {0, 1}) {
      const PairPart from = operand_part(product, eqn, k, part);
      const std::int64_t turn = place_of(axes_of(program_.type(from.v).rank(), from), from.loop);
      if (from.loop == no_axis || std::ranges::count(body.leaves, from) > 0) continue;
      Array& x = made.at(from);
      x = where_there(numbers[0], steps_, turn, x, Scalar::zero(x.dtype()));
    }
    return made;
  }
  // Another number where an axis of x has elements whose numbers are none of so many.
  static Array where_there(const Array& numbers, const Dim& count, std::int64_t axis, const Array& x,
                           const Scalar& otherwise) {
    return where(broadcast(numbers < size_as_array(count), x.shape(), {axis}), x, Array(otherwise));
  }
  // What changes no result.
  Scalar identity(const PairEnd& end, DType dtype) const {
    if (end.product) return Scalar::zero(dtype);
    if (end.compared && !is_index(end)) return lowest(dtype);
    const Eqn& eqn = program_.eqns()[end.compared ? maker_[*end.compared->reference] : end.eqn];
    if (const auto few = few_in_order(eqn))  // the last in order; of equal elements the first ones are there
      return !few->smallest   ? lowest(dtype)
             : is_real(dtype) ? Scalar(std::numeric_limits<double>::quiet_NaN()).convert(dtype)
                              : highest(dtype);
    return reduction_of(eqn, program_)->initial.convert(dtype);
  }
  // The extremum by which an index is found.
  Array extremum(const PairEnd& end, const Array& x, const std::vector<std::int64_t>& axes) const {
    return bind1(*program_.eqns()[maker_[*end.compared->reference]].op, reduction_params(axes), {x});
  }
  // Where the extremum lies: the first turn that has it, and its place among those of that turn, which are computed
  // again.
  Array index(const PairEnd& end, const Array& stack) {
    const Eqn& eqn = program_.eqns()[end.eqn];
    const auto first = [&](const Array& x, std::int64_t axis) {
      return combine(end) == kernel::Combine::max ? argmax(x, axis) : argmin(x, axis);
    };
    const DType dtype = program_.type(eqn.out[0]).dtype;
    const Array turn = all_lanes(end, first(stack, 0));  // of each lane
    block_ = 0;
    if (together_ == 1) return convert(turn, dtype);
    const std::vector<PairEnd> ends{end};
    const Body body = body_of(ends);
    Arrays operands;
    Mask batched;
    std::vector<Type> inputs;
    for (const PairPart& leaf : body.leaves) {
      Array x = laid_out(leaf);
      if (leaf.loop != no_axis)
        x = take(x, turn);
      else if (leaf.lane != no_axis)
        x = expand_dims(move_axis(x, static_cast<std::int64_t>(x.rank()) - 1, 0), -1);
      operands.push_back(x);
      batched.push_back(leaf.loop != no_axis || leaf.lane != no_axis);
    }
    if (body.numbered) operands.push_back(take(numbers(), turn)), batched.push_back(true);
    const Dim lanes = turn.shape()[0];
    operands.push_back(expand_dims(arange(lanes, DType::i64), -1)), batched.push_back(true);
    for (std::size_t k = 0; k < operands.size(); ++k)
      inputs.push_back(batched[k] ? type_of_one(operands[k].type()) : operands[k].type());
    one_lane_ = true;
    const TraceResult made = traced(ends, {}, body, inputs);
    one_lane_ = false;
    const ProgramRef all = vmap(made.program, batched, {true}, lanes);
    const Array elements = inline_program(*all, made.sizes, operands)[0];  // [lanes, steps of a turn, 1]
    return convert(turn, dtype) * Array(Scalar(together_).convert(dtype)) +
           convert(squeeze(first(elements, 1), 1), dtype);
  }
  // sum(exp(x - reference)).
  Array exponentials(const PairEnd& end, const Array& stack) const {
    const std::vector<std::int64_t> axes = axes_of_steps(end.sizes.size(), end.of);
    const StreamEnd& compared = *end.compared;
    const Array& whole = replay_.get(*compared.reference);
    std::vector<std::int64_t> reduced, dims, order;
    std::vector<Dim> sizes;  // of the reference, without the axes that are reduced
    std::vector<std::int64_t> own;
    for (std::size_t k = 0; k < compared.reference_dims.size(); ++k) {
      if (std::ranges::count(end.axes, compared.reference_dims[k]) > 0) continue;
      sizes.push_back(whole.shape()[k]);
      own.push_back(compared.reference_dims[k]);
    }
    bool lanes_too = false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const bool goes = std::ranges::count(end.axes, axes[i]) > 0;
      lanes_too = lanes_too || (goes && axes[i] == end.of.lane);
      if (goes) reduced.push_back(static_cast<std::int64_t>(i));
      const std::int64_t k = axes[i] == block_axis ? no_axis : place_of(own, axes[i]);
      if (k != no_axis) order.push_back(k);
      if (k != no_axis || (axes[i] == block_axis && place_of(own, end.of.lane) != no_axis))
        dims.push_back(static_cast<std::int64_t>(i));
    }
    if (lanes_too && block_ > 0) reduced.push_back(place_of(axes, block_axis));
    std::ranges::sort(reduced);
    Array reference = transpose(reshape(whole, Shape(sizes)), order);
    if (place_of(own, end.of.lane) != no_axis) reference = in_blocks(reference);
    const Array x = sum(exp(stack - broadcast(reference, stack.shape(), dims)), Axes(reduced));
    return transpose(lanes_too ? x : all_lanes(end, x), to_whole(end, axes));
  }
  Dim lanes_of(const PairEnd& end) const { return substitute(end.sizes[at(end.of.lane)], replay_.sizes()); }
  // The order in which the axes that stay, all lanes among them, are those of the whole.
  static std::vector<std::int64_t> to_whole(const PairEnd& end, std::vector<std::int64_t> axes) {
    std::erase(axes, block_axis);
    std::erase_if(axes, [&](std::int64_t axis) { return std::ranges::count(end.axes, axis) > 0; });
    std::vector<std::int64_t> sorted = axes, order;
    std::ranges::sort(sorted);
    for (const std::int64_t axis : sorted) order.push_back(place_of(axes, axis));
    return order;
  }

  // Whether a turn's elements are reduced to those of one step where they are made.
  bool reduces_turns(const PairEnd& end) const {
    return is_index(end) || (end.product && is_tile(program_.eqns()[end.eqn], &end));
  }

  // Whether what it stacks is no row for each step.
  bool stacks_turns(const PairEnd& end) const { return reduces_turns(end) || end.by_lanes(); }

  // The first elements in order of all steps, and which steps these are.
  TopK first_in_order(const PairEnd& end, const Array& stack, const FirstInOrder& few) const {
    const std::vector<std::int64_t> axes = axes_of_steps(end.sizes.size(), end.of);
    const auto last = static_cast<std::int64_t>(stack.rank()) - 1;
    const TopK found = top_k(move_axis(stack, 0, last), few.count, {.smallest = few.smallest});
    std::vector<std::int64_t> order = to_whole(end, axes);
    order.push_back(static_cast<std::int64_t>(order.size()));
    const auto whole = [&](const Array& x) {
      // Blocks of lanes come first and lanes last, with the axis of those that were found behind the blocks.
      return transpose(block_ == 0 ? x : move_axis(all_lanes(end, move_axis(x, last, 1)), 0, last - 1), order);
    };
    return {whole(found.values), whole(found.indices)};
  }
  // All lanes along the last axis, and none that is not there.
  Array all_lanes(const PairEnd& end, const Array& x) const {
    if (block_ > 0) return out_of_blocks(x, lanes_of(end).value());
    const auto last = static_cast<std::int64_t>(x.rank()) - 1;
    return part_ > 0 ? slice_in_dim(x, 0, lanes_of(end), last) : x;
  }
  // The reduction of a stack: over the steps and short axes first, so that a step adds rows to rows.
  Array finished(const PairEnd& end, Array stack) const {
    const Eqn& eqn = program_.eqns()[end.eqn];
    std::vector<std::int64_t> axes = axes_of_steps(end.sizes.size(), end.of);
    if (end.by_lanes()) {
      const Array sums = reduced(end, together_ == 1 ? stack : by_step(move_axis(stack, 1, 2)), {1});
      const Array all = has_rest_ ? slice_in_dim(sums, 0, steps_, 0) : sums;
      return convert(transpose(all, to_whole(end, axes)), program_.type(eqn.out[0]).dtype);
    }
    if (end.product && reduces_turns(end))  // other axes that it sums are gone
      std::erase_if(axes, [&](std::int64_t axis) {
        return axis != end.of.loop && axis != block_axis && std::ranges::count(end.axes, axis) > 0;
      });
    std::vector<std::int64_t> first;
    bool lanes_too = false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (std::ranges::count(end.axes, axes[i]) == 0) continue;
      if (axes[i] == end.of.lane)
        lanes_too = true;
      else
        first.push_back(static_cast<std::int64_t>(i));
    }
    Array x = reduced(end, stack, first);
    const auto last = static_cast<std::int64_t>(x.rank()) - 1;
    if (lanes_too)
      x = reduced(end, x, block_ > 0 ? std::vector<std::int64_t>{0, last} : std::vector{last});
    else
      x = all_lanes(end, x);
    return convert(transpose(x, to_whole(end, axes)), program_.type(eqn.out[0]).dtype);
  }

  const std::vector<PairLoop> loops_;
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> end_at_;
  std::vector<Arrays> results_;  // of each loop, what each end reduces
  std::vector<bool> done_;
};

}  // namespace

ProgramRef stream_pairs(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("stream_pairs")(program->hash()).finish(), [&] {
    ProgramRef inner = with_regions(program, stream_pairs);
    std::vector<PairLoop> loops = find_pairs(*inner);
    if (loops.empty()) return inner;
    std::set<std::size_t> sums;
    for (const PairLoop& loop : loops)
      for (const PairEnd& end : loop.ends) sums.insert(end.eqn);
    if (const ProgramRef without = without_factors(inner, sums); without != inner) {
      inner = without;
      loops = find_pairs(*inner);
    }
    return rewritten(*inner, [&](Replay& replay) { PairsRebuild(*inner, std::move(loops), replay).run(); });
  });
}

}  // namespace tenon
