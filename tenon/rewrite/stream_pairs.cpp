#include "tenon/rewrite/stream_pairs.h"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <set>

#include "tenon/base/fork.h"
#include "tenon/base/settings.h"
#include "tenon/ir/adapt.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/region.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/structure.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

using Axes64 = std::vector<std::int64_t>;
constexpr std::int64_t none = -1;

// When a loop pays. With TENON_BLOCKS=small in the environment it always does, so that small arrays test everything.
struct Limits {
  double pairs = 1 << 18;  // elements of all steps
  double row = 256;        // of a step
  double lanes = 32;       // of its longest axis
  double steps = 16;
  double leaf = 8;  // what is read has so many times fewer elements
};
const Limits& limits() {
  static constinit Lasting<const Limits> found;
  return found.get([] { return setting("TENON_BLOCKS") == "small" ? Limits{4, 2, 2, 2, 1.5} : Limits(); });
}
constexpr std::size_t most_parts = 400;  // of one reduction, eqns
constexpr double most_columns = 64;      // of a product, and terms of one that is computed again
constexpr double costly = 16;            // operations
constexpr std::size_t most_loops = 64;   // of a Program

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }
std::int64_t place_of(const Axes64& axes, std::int64_t axis) {
  const auto found = std::ranges::find(axes, axis);
  return found == axes.end() ? none : found - axes.begin();
}

// One step's part of a variable: that of the axis along which the steps lie, if it has it; its vectors go along `lane`.
struct Part {
  Var v;
  std::int64_t loop = none, lane = none;
  friend auto operator<=>(const Part&, const Part&) = default;
};
// A product with an axis for each of the result's, and behind them those that it sums: which axis of either operand it
// is, or none.
struct ProductAxes {
  Axes64 a, b;
  std::vector<Dim> sizes;
  std::size_t summed;  // the first of them

  ProductAxes(const Eqn& eqn, const Program& program) {
    const Type &x = program.type(eqn.in[0]), &y = program.type(eqn.in[1]);
    const ProductForm form = product_form(eqn.params, x, y);
    const auto add = [&](std::int64_t of_a, std::int64_t of_b) {
      a.push_back(of_a), b.push_back(of_b);
      sizes.push_back(of_a == none ? y.shape[at(of_b)] : x.shape[at(of_a)]);
    };
    for (std::size_t i = 0; i < form.batch_a.size(); ++i) add(form.batch_a[i], form.batch_b[i]);
    for (const std::int64_t axis : form.free_a) add(axis, none);
    for (const std::int64_t axis : form.free_b) add(none, axis);
    summed = sizes.size();
    for (std::size_t i = 0; i < form.contract_a.size(); ++i) add(form.contract_a[i], form.contract_b[i]);
  }
  Part operand(const Eqn& eqn, int k, const Part& of) const {
    const Axes64& axes = k == 0 ? a : b;
    const auto here = [&](std::int64_t axis) { return axis == none ? none : axes[at(axis)]; };
    return {eqn.in[at(k)], here(of.loop), here(of.lane)};
  }
  double terms() const {
    const auto first = sizes.begin() + static_cast<std::ptrdiff_t>(summed);
    return kernel::estimate(std::vector<Dim>(first, sizes.end()));
  }
};

// A reduction over pairs: of a step's part, or of the products of two.
struct PairEnd {
  std::size_t eqn;
  bool product;
  Part of;                            // of a product: of the result, with the axes that it sums behind it
  Axes64 axes;                        // of the whole that are reduced, the loop's among them
  double pairs;                       // elements of the whole
  std::set<Part> parts, leaves = {};  // what is computed, and what is read
  bool as_it_is = false;              // it reduces an array that the loop stacks
  bool forms_pairs = false;           // it has a product or a reduction below
};
struct PairLoop {
  Dim steps;
  std::int64_t together;  // steps that a turn of the loop takes
  std::vector<PairEnd> ends;
  std::set<Part> stacked = {};  // arrays that others compare with a result
  std::uint64_t needs = 0;      // of other loops, a bit each
};

class PairSearch {
 public:
  explicit PairSearch(const Program& program)
      : program_(program), maker_(maker_numbers(program)), needs_(program.vars(), 0) {}

  std::vector<PairLoop> find() {
    std::map<std::size_t, PairEnd> ends = candidates();
    if (ends.empty()) return {};
    keep_those_that_pay(ends);
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      std::uint64_t needs = 0;
      for (const Var v : eqn.in) needs |= needs_[v];
      if (const auto end = ends.find(e); end != ends.end()) needs |= place(std::move(end->second));
      for (const Var v : eqn.out) needs_[v] = needs;
    }
    for (PairLoop& loop : loops_) loop.together = steps_together(loop);
    return std::move(loops_);
  }

 private:
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }
  const Type& type(Var v) const { return program_.type(v); }
  double elements(Var v) const { return type(v).is_array() ? kernel::estimate(type(v).shape.elements()) : 0; }

  // --- what may be one ---
  std::map<std::size_t, PairEnd> candidates() const {
    std::map<std::size_t, PairEnd> ends;
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      if (eqn.numerics != Numerics::relaxed || eqn.out.size() != 1 || !eqn.new_sizes.empty()) continue;
      std::optional<PairEnd> end;
      if (const auto form = reduction_of(eqn, program_))
        end = reduction_end(e, form->axes);
      else if (is_product(*eqn.op))
        end = product_end(e);
      if (end) ends.emplace(e, std::move(*end));
    }
    return ends;
  }
  std::optional<PairEnd> reduction_end(std::size_t e, const Axes64& axes) const {
    const Eqn& eqn = program_.eqns()[e];
    const Var v = eqn.in[0];
    PairEnd end{e, false, {v}, axes, elements(v), {}};
    if (!choose_axes(end, type(v).shape.dims())) return {};
    if (end.pairs < limits().leaf * elements(eqn.out[0]) || !collect({end.of}, end)) return {};
    return end;
  }
  std::optional<PairEnd> product_end(std::size_t e) const {
    const Eqn& eqn = program_.eqns()[e];
    const DType dtype = type(eqn.out[0]).dtype;
    if (dtype == DType::bool_) return {};
    const ProductAxes product(eqn, program_);
    PairEnd end{e, true, {eqn.out[0]}, {}, kernel::estimate(product.sizes), {}};
    for (std::size_t i = product.summed; i < product.sizes.size(); ++i)
      end.axes.push_back(static_cast<std::int64_t>(i));
    // Of a computed operand; what the other one's columns repeat of it are few.
    const double whole = std::max(elements(eqn.in[0]), elements(eqn.in[1]));
    if (end.axes.empty() || end.pairs > most_columns * whole || whole < limits().pairs) return {};
    if (!choose_axes(end, product.sizes)) return {};
    const double pairs = std::exchange(end.pairs, whole);
    if (!collect({product.operand(eqn, 0, end.of), product.operand(eqn, 1, end.of)}, end) || end.parts.empty())
      return {};
    if (pairs < limits().leaf * elements(eqn.out[0])) return {};
    end.forms_pairs = true;
    return end;
  }
  // The longest axis that is reduced is the loop's; the lanes are the longest one that stays, or else that is there.
  static bool choose_axes(PairEnd& end, const std::vector<Dim>& sizes) {
    const auto size = [&](std::int64_t axis) { return axis == none ? 0 : kernel::estimate(sizes[at(axis)]); };
    for (const std::int64_t axis : end.axes)
      if (size(axis) > size(end.of.loop)) end.of.loop = axis;
    for (const bool reduced : {false, true})
      for (std::int64_t axis = 0; at(axis) < sizes.size(); ++axis)
        if (axis != end.of.loop && std::ranges::count(end.axes, axis) == reduced &&
            (end.of.lane == none || size(end.of.lane) < limits().lanes || !reduced) && size(axis) >= size(end.of.lane))
          end.of.lane = axis;
    return end.pairs >= limits().pairs && size(end.of.loop) >= limits().steps && size(end.of.lane) >= limits().lanes &&
           end.pairs >= limits().row * size(end.of.loop);
  }

  // Notes what a step computes for these parts and what it reads, if it can.
  bool collect(std::vector<Part> roots, PairEnd& end) const {
    std::vector<Part> open = std::move(roots);
    while (!open.empty()) {
      const Part part = open.back();
      open.pop_back();
      if (end.parts.contains(part) || end.leaves.contains(part)) continue;
      if (!type(part.v).is_array()) return false;
      const Eqn* eqn = maker(part.v);
      const bool number = eqn != nullptr && eqn->op == &literal_op();
      if (!number && elements(part.v) * limits().leaf <= end.pairs) {
        end.leaves.insert(part);
        continue;
      }
      const auto operands = eqn == nullptr ? std::nullopt : operands_of(*eqn, part);
      if (!operands || end.parts.size() >= most_parts) return false;
      end.parts.insert(part);
      end.forms_pairs =
          end.forms_pairs || reduction_of(*eqn, program_) || (is_product(*eqn->op) && operands->size() == 2);
      open.insert(open.end(), operands->begin(), operands->end());
    }
    return true;
  }
  // Of which parts of its operands a part of an eqn's result is made.
  std::optional<std::vector<Part>> operands_of(const Eqn& eqn, const Part& part) const {
    if (eqn.out.size() != 1 || !eqn.new_sizes.empty() || effect_of(eqn) != Effect::none) return {};
    const Type& out = type(part.v);
    if (eqn.op == &literal_op() || counted_axis(eqn)) return std::vector<Part>();
    if (eqn.op == &broadcast_op()) {
      const BroadcastForm form = broadcast_form(eqn.params);
      const Shape& from = type(eqn.in[0]).shape;
      const Part of{eqn.in[0], place_of(form.dims, part.loop), place_of(form.dims, part.lane)};
      for (const std::int64_t axis : {of.loop, of.lane})
        if (axis != none && from[at(axis)] != out.shape[at(form.dims[at(axis)])]) return {};
      if (!std::ranges::is_sorted(form.dims)) return {};
      return std::vector{of};
    }
    if (eqn.op == &transpose_op()) {
      const Axes64 permutation = permutation_of(eqn.params);
      const auto before = [&](std::int64_t axis) { return axis == none ? none : permutation[at(axis)]; };
      return std::vector{Part{eqn.in[0], before(part.loop), before(part.lane)}};
    }
    if (const auto form = reduction_of(eqn, program_)) {
      const auto before = [&](std::int64_t axis) {
        for (const std::int64_t reduced : form->axes) axis += axis != none && reduced <= axis;
        return axis;
      };
      return std::vector{Part{eqn.in[0], before(part.loop), before(part.lane)}};
    }
    if (is_product(*eqn.op)) {
      const ProductAxes product(eqn, program_);
      if (out.dtype == DType::bool_ || product.terms() > most_columns) return {};
      return std::vector{product.operand(eqn, 0, part), product.operand(eqn, 1, part)};
    }
    if (!is_elementwise(eqn)) return {};
    std::vector<Part> parts;
    for (const Var v : eqn.in) {
      if (!type(v).is_array()) return {};
      parts.push_back(type(v).rank() == out.rank() ? Part{v, part.loop, part.lane} : Part{v});
    }
    return parts;
  }

  // --- which of them pay ---
  // Something as large as all pairs would be stored else: by a product or a reduction below, or since several read it.
  // Where it is stored anyway, nothing is saved.
  void keep_those_that_pay(std::map<std::size_t, PairEnd>& ends) const {
    std::vector<int> readers(program_.vars(), 0);  // of costly values
    for (const auto& [e, end] : ends)
      for (const Part& part : end.parts) ++readers[part.v];
    const auto shares = [&](const Part& part) {
      return readers[part.v] > 1 && element_form(program_, *maker(part.v)).operations >= costly;
    };
    std::erase_if(ends, [&](const auto& end) {
      return !end.second.forms_pairs && std::ranges::none_of(end.second.parts, shares);
    });
    for (std::size_t before = ends.size() + 1; before != ends.size();) {
      before = ends.size();
      std::vector<bool> in_memory(program_.vars(), false);
      for (const Var v : program_.outputs()) in_memory[v] = true;
      for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
        const Eqn& eqn = program_.eqns()[e];
        if (ends.contains(e) || rule_of<LowerElement>(*eqn.op) != nullptr || reduction_of(eqn, program_)) continue;
        if (is_product(*eqn.op) && operands_of(eqn, {eqn.out[0]})) continue;
        for (const Var v : eqn.in) in_memory[v] = true;
      }
      std::erase_if(ends, [&](const auto& end) {
        return std::ranges::any_of(end.second.parts, [&](const Part& part) { return in_memory[part.v]; });
      });
    }
  }

  // --- which share a loop ---
  std::uint64_t all_needs(std::uint64_t needs) const {
    for (std::uint64_t before = 0; before != needs;) {
      before = needs;
      for (std::size_t i = 0; i < loops_.size(); ++i)
        if (needs >> i & 1) needs |= loops_[i].needs;
    }
    return needs;
  }
  std::uint64_t needs_of(const std::set<Part>& leaves) const {
    std::uint64_t needs = 0;
    for (const Part& leaf : leaves) needs |= needs_[leaf.v];
    return all_needs(needs);
  }
  // The loop that has it, as a bit.
  std::uint64_t place(PairEnd end) {
    const Eqn& eqn = program_.eqns()[end.eqn];
    const Dim steps =
        end.product ? ProductAxes(eqn, program_).sizes[at(end.of.loop)] : type(end.of.v).shape[at(end.of.loop)];
    const std::uint64_t needs = needs_of(end.leaves);
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      PairLoop& loop = loops_[i];
      if (loop.steps != steps) continue;
      const std::uint64_t own = std::uint64_t(1) << i;
      if (needs & own) {
        if (compares(loop, end)) return own;
        continue;
      }
      loop.needs |= needs;
      loop.ends.push_back(std::move(end));
      return own;
    }
    if (loops_.size() == most_loops) return 0;
    loops_.push_back({steps, 1, {}, {}, needs});
    loops_.back().ends.push_back(std::move(end));
    return std::uint64_t(1) << (loops_.size() - 1);
  }
  // Several steps a turn read and write the rows of a result once. What is compared with a result is taken in step by
  // step.
  std::int64_t steps_together(const PairLoop& loop) const {
    constexpr double most = 64;  // elements of a row: they are written out
    if (!loop.steps.known() || !loop.stacked.empty()) return 1;
    double widest = 1;
    for (const PairEnd& end : loop.ends) {
      for (const Part& part : end.parts) widest = std::max(widest, beside_lanes(type(part.v).shape.dims(), part));
      if (end.product)
        widest = std::max(widest, beside_lanes(ProductAxes(program_.eqns()[end.eqn], program_).sizes, end.of));
    }
    for (const std::int64_t count : {4, 3, 2})
      if (loop.steps.value() % count == 0 && static_cast<double>(count) * widest <= most) return count;
    return 1;
  }
  static double beside_lanes(const std::vector<Dim>& sizes, const Part& part) {
    double count = 1;
    for (std::int64_t axis = 0; at(axis) < sizes.size(); ++axis)
      if (axis != part.loop && axis != part.lane) count *= kernel::estimate(sizes[at(axis)]);
    return count;
  }
  // Whether what it reduces is compared with a result of the same elements, as hoist_reductions takes it in together
  // with that: the elements are stacked then.
  bool compares(PairLoop& loop, const PairEnd& end) const {
    const auto compared = compared_end(program_, maker_, end.eqn);
    if (!compared) return false;
    const Part of{compared->end.of[0].var, end.of.loop, end.of.lane};
    const auto is_of_it = [&](const PairEnd& other) { return !other.product && other.of == of; };
    if (!std::ranges::any_of(loop.ends, is_of_it)) return false;
    for (PairEnd& other : loop.ends) other.as_it_is = other.as_it_is || is_of_it(other);
    loop.stacked.insert(of);
    return true;
  }

  const Program& program_;
  const std::vector<std::size_t> maker_;
  std::vector<PairLoop> loops_;
  std::vector<std::uint64_t> needs_;  // of which loops each variable is made
};

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
  Type type(Var v) const { return replay_.type(v); }

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
    std::set<Part> parts, leaves;
    for (const PairEnd& end : pairs.ends) {
      parts.insert(end.parts.begin(), end.parts.end());
      leaves.insert(end.leaves.begin(), end.leaves.end());
    }
    std::erase_if(leaves, [&](const Part& leaf) { return parts.contains(leaf); });
    for (const Part& leaf : leaves) bind_now(leaf.v);
    together_ = pairs.together;
    const EqnScope place(program_.eqns()[pairs.ends[0].eqn]);
    LoopParams p;
    const Dim steps = substitute(pairs.steps, replay_.sizes());
    p.length = exact_quotient(steps, together_);
    Arrays operands;
    std::vector<Part> order;
    for (const bool by_step : {false, true}) {
      for (const Part& leaf : leaves)
        if ((leaf.loop != none) == by_step) operands.push_back(laid_out(leaf)), order.push_back(leaf);
      if (!by_step) p.consts = static_cast<std::int64_t>(operands.size());
    }
    const auto counts_steps = [&](const Part& part) {
      return part.loop != none && counted_axis(program_.eqns()[maker_[part.v]]) == part.loop;
    };
    const bool numbered = std::ranges::any_of(parts, counts_steps);
    if (numbered) operands.push_back(by_turn(arange(steps, DType::i64)));
    const TraceResult body = body_of(pairs, parts, order, numbered, body_input_types(p, types_of(operands)));
    p.body = body.program;
    p.body_sizes = body.sizes;
    const Arrays results = loop(p, operands);
    std::size_t next = 0;
    for (const PairEnd& end : pairs.ends) results_[i].push_back(end.as_it_is ? Array() : results[next++]);
    for (const Part& part : pairs.stacked) replay_.set(part.v, in_order(results[next++], part));
  }
  // A step: `leaves` are its inputs, and its number where that is asked for.
  TraceResult body_of(const PairLoop& pairs, const std::set<Part>& parts, const std::vector<Part>& leaves,
                      bool numbered, const std::vector<Type>& inputs) const {
    Scope scope;
    std::map<Part, Array> made;
    for (std::size_t k = 0; k < leaves.size(); ++k) made.emplace(leaves[k], scope.input(inputs[k]));
    const Array number = numbered ? scope.input(inputs.back()) : Array();
    for (const Part& part : parts) {
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
    for (const Part& part : pairs.stacked) outputs.push_back(made.at(part));
    return scope.finish(outputs, "pairs");
  }

  // The axes of a whole array that its part has, in their order there: the steps of a turn first, where it has several,
  // and the lanes last.
  Axes64 axes_of(std::size_t rank, const Part& part) const {
    Axes64 axes;
    if (part.loop != none && together_ > 1) axes.push_back(part.loop);
    for (std::int64_t axis = 0; at(axis) < rank; ++axis)
      if (axis != part.loop && axis != part.lane) axes.push_back(axis);
    if (part.lane != none) axes.push_back(part.lane);
    return axes;
  }
  // The shape of a part, of an array of such sizes.
  Shape shape_of(const std::vector<Dim>& sizes, const Part& part) const {
    std::vector<Dim> own;
    for (const std::int64_t axis : axes_of(sizes.size(), part))
      own.push_back(axis == part.loop ? Dim(together_) : substitute(sizes[at(axis)], replay_.sizes()));
    return Shape(own);
  }
  // Of steps along axis 0, those of a turn one behind the other.
  Array by_turn(const Array& x) const {
    if (together_ == 1) return x;
    const Dim turns = *exact_quotient(x.shape()[0], together_);
    return reshape(x, x.shape().without_axis(0).with_axis(0, together_).with_axis(0, turns));
  }

  // What a loop reads, with the steps along the first axis and the lanes along the last one.
  Array laid_out(const Part& leaf) const {
    const Array& x = replay_.get(leaf.v);
    Axes64 axes = axes_of(x.rank(), leaf);
    if (leaf.loop == none) return std::ranges::is_sorted(axes) ? x : transpose(x, axes);
    if (together_ == 1) axes.insert(axes.begin(), leaf.loop);
    return by_turn(std::ranges::is_sorted(axes) ? x : transpose(x, axes));
  }
  // A stack as the array that it is.
  Array in_order(const Array& stack, const Part& part) const {
    Axes64 axes = axes_of(stack.rank(), part);
    axes.insert(axes.begin(), part.loop);
    const Axes64 order = inverse_permutation(axes);
    return std::ranges::is_sorted(order) ? stack : transpose(stack, order);
  }

  // A step's part, of parts that are there.
  Array computed(const Eqn& eqn, const Part& part, const std::map<Part, Array>& made, const Array& number) const {
    const Type of = type(part.v);
    const Axes64 axes = axes_of(of.rank(), part);
    const Shape shape = shape_of(program_.type(part.v).shape.dims(), part);
    if (eqn.op == &literal_op()) return bind1(literal_op(), eqn.params, {});
    if (const auto counted = counted_axis(eqn)) {
      if (*counted == part.loop)
        return broadcast_in_dim(convert(number, of.dtype), shape, together_ > 1 ? Axes64{0} : Axes64());
      return broadcast_in_dim(arange(of.shape[at(*counted)], of.dtype), shape, {place_of(axes, *counted)});
    }
    if (eqn.op == &broadcast_op()) {
      const Axes64 dims = broadcast_form(eqn.params).dims;
      const Part from{eqn.in[0], place_of(dims, part.loop), place_of(dims, part.lane)};
      Axes64 to;
      for (const std::int64_t axis : axes_of(dims.size(), from)) to.push_back(place_of(axes, dims[at(axis)]));
      const Array& x = made.at(from);
      return x.shape() == shape ? x : broadcast_in_dim(x, shape, to);
    }
    if (eqn.op == &transpose_op()) {
      const Axes64 permutation = permutation_of(eqn.params);
      const auto before = [&](std::int64_t axis) { return axis == none ? none : permutation[at(axis)]; };
      const Part from{eqn.in[0], before(part.loop), before(part.lane)};
      const Axes64 given = axes_of(of.rank(), from);
      Axes64 order;
      for (const std::int64_t axis : axes) order.push_back(place_of(given, permutation[at(axis)]));
      const Array& x = made.at(from);
      return std::ranges::is_sorted(order) ? x : transpose(x, order);
    }
    if (const auto form = reduction_of(eqn, program_)) {
      const auto before = [&](std::int64_t axis) {
        for (const std::int64_t reduced : form->axes) axis += axis != none && reduced <= axis;
        return axis;
      };
      const Part from{eqn.in[0], before(part.loop), before(part.lane)};
      const Axes64 given = axes_of(program_.type(from.v).rank(), from);
      Axes64 reduced;
      for (const std::int64_t axis : form->axes) reduced.push_back(place_of(given, axis));
      std::ranges::sort(reduced);
      return bind1(*eqn.op, reduction_params(reduced), {made.at(from)});
    }
    if (is_product(*eqn.op)) {
      const Array products = multiplied(eqn, part, made);
      const auto summed = static_cast<std::int64_t>(products.rank() - axes.size());
      if (summed == 0) return convert(products, of.dtype);
      Axes64 reduced;
      const std::int64_t first = static_cast<std::int64_t>(axes.size()) - (part.lane != none);
      for (std::int64_t k = 0; k < summed; ++k) reduced.push_back(first + k);
      return convert(sum(products, Axes(reduced)), of.dtype);
    }
    Arrays operands;
    for (const Var v : eqn.in)
      operands.push_back(made.at(program_.type(v).rank() == of.rank() ? Part{v, part.loop, part.lane} : Part{v}));
    return bind_op(*eqn.op, replay_.params(eqn), operands)[0];
  }
  // The products that a product of arrays sums, with an axis for each of those.
  Array multiplied(const Eqn& eqn, const Part& part, const std::map<Part, Array>& made) const {
    const ProductAxes product(eqn, program_);
    const DType dtype = computed_in(program_.type(eqn.out[0]).dtype);
    const Axes64 axes = axes_of(product.sizes.size(), part);
    const Shape shape = shape_of(product.sizes, part);
    const auto operand = [&](int k) {
      const Part from = product.operand(eqn, k, part);
      const Axes64 given = axes_of(program_.type(from.v).rank(), from);
      const Axes64& of = k == 0 ? product.a : product.b;
      // Its axes in the order of the result's, and which of these they are.
      Axes64 order, dims;
      for (std::size_t i = 0; i < axes.size(); ++i)
        if (const std::int64_t axis = of[at(axes[i])]; axis != none)
          order.push_back(place_of(given, axis)), dims.push_back(static_cast<std::int64_t>(i));
      Array x = convert(made.at(from), dtype);
      if (!std::ranges::is_sorted(order)) x = transpose(x, order);
      return x.shape() == shape ? x : broadcast_in_dim(x, shape, dims);
    };
    return operand(0) * operand(1);
  }

  // The reduction of a stack: over the steps and short axes first, so that a step adds rows to rows.
  Array finished(const PairEnd& end, Array stack) const {
    const Eqn& eqn = program_.eqns()[end.eqn];
    const std::size_t rank = end.product ? ProductAxes(eqn, program_).sizes.size() : program_.type(end.of.v).rank();
    const auto reduced = [&](const Array& x, Axes64 axes) {
      return end.product ? sum(x, Axes(axes)) : bind1(*eqn.op, reduction_params(axes), {x});
    };
    Axes64 first{0}, rest;
    const Axes64 axes = axes_of(rank, end.of);
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
    // The axes that stay in their order: of a product, and of what else is reduced.
    Axes64 order(rest.size());
    for (std::size_t i = 0; i < rest.size(); ++i)
      order[at(std::ranges::count_if(rest, [&](std::int64_t axis) { return axis < rest[i]; }))] =
          static_cast<std::int64_t>(i);
    if (!std::ranges::is_sorted(order)) x = transpose(x, order);
    return convert(x, program_.type(eqn.out[0]).dtype);
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
    const ProgramRef inner = with_regions(*program, stream_pairs);
    std::vector<PairLoop> loops = PairSearch(*inner).find();
    if (loops.empty()) return inner;
    return rewritten(*inner, [&](Replay& replay) { PairsRebuild(*inner, std::move(loops), replay).run(); });
  });
}

}  // namespace tenon
