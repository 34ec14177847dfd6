#include "tenon/rewrite/stream_pairs.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "tenon/ir/adapt.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/region.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/structure.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/pair_search.h"
#include "tenon/rewrite/streams.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

// Writes a Program anew with these loops.
class PairsRebuild {
 public:
  PairsRebuild(const Program& program, std::vector<PairLoop> loops, Replay& replay)
      : program_(program),
        maker_(maker_numbers(program)),
        loops_(std::move(loops)),
        replay_(replay),
        done_(program.eqns().size(), false) {
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
    together_ = loops_[i].together;
    replay_.set(program_.eqns()[e].out[0], finished(reduction, results_[i][k]));
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

  void bind_loop(std::size_t i) {
    const PairLoop& pairs = loops_[i];
    std::set<PairPart> parts, leaves;
    for (const PairEnd& end : pairs.ends) {
      parts.insert(end.parts.begin(), end.parts.end());
      leaves.insert(end.leaves.begin(), end.leaves.end());
    }
    std::erase_if(leaves, [&](const PairPart& leaf) { return parts.contains(leaf); });
    for (const PairPart& leaf : leaves) bind_now(leaf.v);
    together_ = pairs.together;
    const EqnScope place(program_.eqns()[pairs.ends[0].eqn]);
    LoopParams p;
    const Dim steps = substitute(pairs.steps, replay_.sizes());
    p.length = exact_quotient(steps, together_);
    Arrays operands;
    std::vector<PairPart> order;
    for (const bool by_step : {false, true}) {
      for (const PairPart& leaf : leaves)
        if ((leaf.loop != no_axis) == by_step) operands.push_back(laid_out(leaf)), order.push_back(leaf);
      if (!by_step) p.consts = static_cast<std::int64_t>(operands.size());
    }
    const auto counts_steps = [&](const PairPart& part) {
      return part.loop != no_axis && counted_axis(program_.eqns()[maker_[part.v]]) == part.loop;
    };
    const bool numbered = std::ranges::any_of(parts, counts_steps);
    if (numbered) operands.push_back(by_turn(arange(steps, DType::i64), together_));
    const TraceResult body = body_of(pairs, parts, order, numbered, body_input_types(p, types_of(operands)));
    p.body = body.program;
    p.body_sizes = body.sizes;
    const Arrays results = loop(p, operands);
    std::size_t next = 0;
    for (const PairEnd& end : pairs.ends) results_[i].push_back(end.as_it_is ? Array() : results[next++]);
    for (const PairPart& part : pairs.stacked) {  // the steps lie along the first axis
      std::vector<std::int64_t> axes = axes_of(program_.type(part.v).rank(), part);
      axes.insert(axes.begin(), part.loop);
      replay_.set(part.v, in_order(results[next++], inverse_permutation(axes)));
    }
  }
  // A step: `leaves` are its inputs, and its number where that is asked for.
  TraceResult body_of(const PairLoop& pairs, const std::set<PairPart>& parts, const std::vector<PairPart>& leaves,
                      bool numbered, const std::vector<Type>& inputs) const {
    Scope scope;
    std::map<PairPart, Array> made;
    for (std::size_t k = 0; k < leaves.size(); ++k) made.emplace(leaves[k], scope.input(inputs[k]));
    const Array number = numbered ? scope.input(inputs.back()) : Array();
    for (const PairPart& part : parts) {
      const Eqn& eqn = program_.eqns()[maker_[part.v]];
      const EqnScope place(eqn);
      made.emplace(part, computed(eqn, part, made, number));
    }
    Arrays outputs;
    for (const PairEnd& end : pairs.ends) {
      const Eqn& eqn = program_.eqns()[end.eqn];
      const EqnScope place(eqn);
      if (!end.as_it_is) outputs.push_back(end.product ? multiplied(eqn, end.of, made) : made.at(end.of));
    }
    for (const PairPart& part : pairs.stacked) outputs.push_back(made.at(part));
    return scope.finish(outputs, "pairs");
  }

  // The axes of a whole array that its part has, in their order there: the steps of a turn first, where it has several,
  // and the lanes last.
  std::vector<std::int64_t> axes_of(std::size_t rank, const PairPart& part) const {
    std::vector<std::int64_t> axes;
    if (part.loop != no_axis && together_ > 1) axes.push_back(part.loop);
    for (std::int64_t axis = 0; at(axis) < rank; ++axis)
      if (axis != part.loop && axis != part.lane) axes.push_back(axis);
    if (part.lane != no_axis) axes.push_back(part.lane);
    return axes;
  }
  // The shape of a part, of an array of such sizes.
  Shape shape_of(const std::vector<Dim>& sizes, const PairPart& part) const {
    std::vector<Dim> own;
    for (const std::int64_t axis : axes_of(sizes.size(), part))
      own.push_back(axis == part.loop ? Dim(together_) : substitute(sizes[at(axis)], replay_.sizes()));
    return Shape(own);
  }
  // What a loop reads, with the steps along the first axis and the lanes along the last one.
  Array laid_out(const PairPart& leaf) const {
    const Array& x = replay_.get(leaf.v);
    std::vector<std::int64_t> axes = axes_of(x.rank(), leaf);
    if (leaf.loop != no_axis && together_ == 1) axes.insert(axes.begin(), leaf.loop);
    const Array ordered = in_order(x, axes);
    return leaf.loop == no_axis ? ordered : by_turn(ordered, together_);
  }
  static Array in_order(const Array& x, const std::vector<std::int64_t>& axes) {
    return std::ranges::is_sorted(axes) ? x : transpose(x, axes);
  }
  static Array broadcast(const Array& x, const Shape& shape, const std::vector<std::int64_t>& dims) {
    return x.shape() == shape ? x : broadcast_in_dim(x, shape, dims);
  }

  // A step's part, of parts that are there.
  Array computed(const Eqn& eqn, const PairPart& part, const std::map<PairPart, Array>& made,
                 const Array& number) const {
    const Type& of = program_.type(part.v);
    const std::vector<std::int64_t> axes = axes_of(of.rank(), part);
    const auto shape = [&] { return shape_of(of.shape.dims(), part); };
    if (eqn.op == &literal_op()) return bind1(literal_op(), eqn.params, {});
    if (const auto counted = counted_axis(eqn)) {
      const std::int64_t axis = place_of(axes, *counted);
      const Array numbers = *counted == part.loop ? convert(number, of.dtype) : arange(shape()[at(axis)], of.dtype);
      return broadcast_in_dim(numbers, shape(), numbers.rank() == 0 ? std::vector<std::int64_t>() : std::vector{axis});
    }
    if (is_product(*eqn.op)) {
      const Array products = multiplied(eqn, part, made);
      std::vector<std::int64_t> summed(products.rank() - axes.size());
      std::iota(summed.begin(), summed.end(), static_cast<std::int64_t>(axes.size()) - (part.lane != no_axis));
      return convert(summed.empty() ? products : sum(products, Axes(summed)), of.dtype);
    }
    const std::vector<PairPart> read = *parts_read(program_, eqn, part);
    Arrays operands;
    for (const PairPart& from : read) operands.push_back(made.at(from));
    const auto given = [&] { return axes_of(program_.type(read[0].v).rank(), read[0]); };
    std::vector<std::int64_t> places;
    if (eqn.op == &broadcast_op()) {
      const auto dims = broadcast_form(eqn.params).dims;
      for (const std::int64_t axis : given()) places.push_back(place_of(axes, dims[at(axis)]));
      return broadcast(operands[0], shape(), places);
    }
    if (eqn.op == &transpose_op()) {
      for (const std::int64_t axis : permuted(permutation_of(eqn.params), axes))
        places.push_back(place_of(given(), axis));
      return in_order(operands[0], places);
    }
    if (const auto form = reduction_of(eqn, program_)) {
      for (const std::int64_t axis : form->axes) places.push_back(place_of(given(), axis));
      std::ranges::sort(places);
      return bind1(*eqn.op, reduction_params(places), {operands[0]});
    }
    return bind_op(*eqn.op, replay_.params(eqn), operands)[0];
  }
  // The products that a product of arrays sums, with an axis for each of those.
  Array multiplied(const Eqn& eqn, const PairPart& part, const std::map<PairPart, Array>& made) const {
    const ProductAxes product(program_, eqn);
    const std::vector<std::int64_t> axes = axes_of(product.sizes.size(), part);
    const Shape shape = shape_of(product.sizes, part);
    const auto operand = [&](std::size_t k) {
      const PairPart from = product.operand(eqn, k, part);
      const std::vector<std::int64_t> given =
          permuted(product.of[k], axes_of(program_.type(from.v).rank(), from));  // as axes of the product
      // Its axes in the order of the result's, and which of these they are.
      std::vector<std::int64_t> order, dims;
      for (std::size_t i = 0; i < axes.size(); ++i)
        if (const std::int64_t place = place_of(given, axes[i]); place != no_axis)
          order.push_back(place), dims.push_back(static_cast<std::int64_t>(i));
      const Array x = convert(made.at(from), computed_in(program_.type(eqn.out[0]).dtype));
      return broadcast(in_order(x, order), shape, dims);
    };
    return operand(0) * operand(1);
  }

  // The reduction of a stack: over the steps and short axes first, so that a step adds rows to rows.
  Array finished(const PairEnd& end, Array stack) const {
    const Eqn& eqn = program_.eqns()[end.eqn];
    const auto reduced = [&](const Array& x, std::vector<std::int64_t> axes) {
      return end.product ? sum(x, Axes(axes)) : bind1(*eqn.op, reduction_params(axes), {x});
    };
    std::vector<std::int64_t> first{0}, rest;
    const std::vector<std::int64_t> axes = axes_of(end.sizes.size(), end.of);
    bool lanes_too = false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const bool goes = std::ranges::count(end.axes, axes[i]) > 0;
      if (goes && axes[i] == end.of.lane)
        lanes_too = true;
      else if (goes)
        first.push_back(static_cast<std::int64_t>(i) + 1);
      else
        rest.push_back(axes[i]);
    }
    Array x = reduced(stack, first);
    if (lanes_too) x = reduced(x, {static_cast<std::int64_t>(x.rank()) - 1});
    std::vector<std::int64_t> sorted = rest, order;
    std::ranges::sort(sorted);
    for (const std::int64_t axis : sorted) order.push_back(place_of(rest, axis));
    return convert(in_order(x, order), program_.type(eqn.out[0]).dtype);
  }

  const Program& program_;
  const std::vector<std::size_t> maker_;
  const std::vector<PairLoop> loops_;
  Replay& replay_;
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> end_at_;
  std::int64_t together_ = 1;    // of the loop that is being made
  std::vector<Arrays> results_;  // of each loop, the stack of each end
  std::vector<bool> done_;
};

}  // namespace

ProgramRef stream_pairs(const ProgramRef& program) {
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("stream_pairs")(program->hash()).finish(), [&] {
    const bool regions = std::ranges::any_of(program->eqns(), [](const Eqn& e) { return e.params.hold_programs(); });
    const ProgramRef inner = regions ? with_regions(*program, stream_pairs) : program;
    std::vector<PairLoop> loops = find_pairs(*inner);
    if (loops.empty()) return inner;
    return rewritten(*inner, [&](Replay& replay) { PairsRebuild(*inner, std::move(loops), replay).run(); });
  });
}

}  // namespace tenon
