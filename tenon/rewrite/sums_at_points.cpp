#include "tenon/rewrite/sums_at_points.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/rewrite/steps_in.h"
#include "tenon/rewrite/streams.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

// What a source gives of some ends.
class OfSource {
 public:
  OfSource(const Program& program, std::span<const std::size_t> maker, const PointPlan& plan, std::size_t source,
           bool rows, const std::map<Var, Array>& whole, SourcePoints points)
      : program_(program),
        maker_(maker),
        plan_(plan),
        source_(source),
        rows_(rows),
        parts_(program, maker, plan.sources, plan.zero_with, source, rows),
        whole_(whole),
        points_(std::move(points)) {}

  // One for each of the ends that have the source, whole.
  Arrays compute(const std::vector<const PointEnd*>& ends) {
    PointBody body;
    for (const PointEnd* end : ends) {
      const PointEnd::Of& of = end->of.at(source_);
      const PointBody& own = rows_ ? of.in_rows : of.at_points;
      body.parts.insert(own.parts.begin(), own.parts.end());
      body.leaves.insert(own.leaves.begin(), own.leaves.end());
    }
    std::vector<PointPart> leaves;
    Arrays operands;
    std::vector<Share> shares;
    for (const Share share : {Share::all, Share::lanes, Share::each})
      for (const PointPart& leaf : body.leaves) {
        if (share_of(leaf) != share) continue;
        leaves.push_back(leaf);
        Array x = read(leaf, share == Share::lanes);
        if (const auto along = along_rows(leaf.labels)) x = move_axis(x, *along + (share != Share::all), -1);
        operands.push_back(std::move(x));
        shares.push_back(share);
      }
    for (const PointPart& part : body.parts)
      if (const auto label = counted_label(part); label && parts_.is_fixed(*label)) counted_.insert(*label);
    const auto add_each = [&](const Array& x) {
      operands.push_back(reshape(x, Shape({points_.count()})));
      shares.push_back(Share::each);
    };
    for (const std::int64_t label : counted_) add_each(points_.number(label));
    if (!points_.added.empty()) add_each(points_.added);
    std::vector<Type> inputs;
    Mask batched;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      batched.push_back(shares[k] != Share::all);
      inputs.push_back(batched[k] ? type_of_one(operands[k].type()) : operands[k].type());
    }
    const TraceResult made = traced(ends, body, leaves, inputs);
    Arrays values = rows_ ? by_rows(made, ends, batched, shares, std::move(operands))
                          : inline_program(*vmap(made.program, batched, Mask(ends.size(), true), points_.count()),
                                           made.sizes, operands);
    for (std::size_t k = 0; k < ends.size(); ++k) values[k] = finished(*ends[k], values[k]);
    return values;
  }

 private:
  // Who reads a part of an array: all points the same, all steps of rows the same along their lanes, or each its own.
  enum class Share : std::uint8_t { all, lanes, each };
  Share share_of(const PointPart& leaf) const {
    Share share = Share::all;
    for (const std::int64_t label : leaf.labels)
      if (parts_.is_fixed(label))
        share = std::max(share, has_lanes() && points_.along[at(label)].axis != 0 ? Share::lanes : Share::each);
    return share;
  }
  bool has_lanes() const { return rows_ && points_.shape.size() > 1; }
  const Eqn& maker(Var v) const { return program_.eqns()[maker_[v]]; }
  std::optional<std::int64_t> counted_label(const PointPart& part) const {
    if (maker_[part.v] == nowhere) return {};
    const auto axis = counted_axis(maker(part.v));
    return axis ? std::optional(part.labels[at(*axis)]) : std::nullopt;
  }

  // Of the axes that there are, the one that goes along rows, where these are whole. Loops along it are the innermost.
  std::optional<std::int64_t> along_rows(const PointLabels& labels) const {
    if (!rows_) return {};
    const std::vector<std::int64_t> axes = parts_.kept(labels);
    const auto along =
        std::ranges::find_if(axes, [&](std::int64_t axis) { return labels[at(axis)] == plan_.sources[source_].axis; });
    return along == axes.end() ? std::nullopt : std::optional(along - axes.begin());
  }

  // Of an array that is there, its part for each point, these along the first axis; of lanes: for each of these.
  Array read(const PointPart& leaf, bool of_lanes) const {
    const Array& x = whole_.at(leaf.v);
    const std::size_t left_out = of_lanes ? 1 : 0;
    std::vector<std::int64_t> fixed, labels, rest = parts_.kept(leaf.labels);
    bool in_step = true;
    for (std::size_t axis = 0; axis < leaf.labels.size(); ++axis)
      if (const std::int64_t label = leaf.labels[axis]; parts_.is_fixed(label)) {
        fixed.push_back(static_cast<std::int64_t>(axis));
        labels.push_back(label);
        in_step = in_step && points_.along[at(label)].axis;
      }
    if (fixed.empty()) return x;
    std::vector<std::int64_t> order = fixed;
    order.insert(order.end(), rest.begin(), rest.end());
    Array rows = transpose(x, order);
    std::vector<Dim> beside;
    for (std::size_t k = fixed.size(); k < order.size(); ++k) beside.push_back(rows.shape()[k]);
    if (in_step) {
      std::vector<Dim> sizes(points_.shape.begin() + static_cast<std::ptrdiff_t>(left_out), points_.shape.end());
      const std::size_t first = sizes.size();
      sizes.insert(sizes.end(), beside.begin(), beside.end());
      std::vector<std::int64_t> dims;
      for (const std::int64_t label : labels)
        dims.push_back(*points_.along[at(label)].axis - static_cast<std::int64_t>(left_out));
      for (std::size_t k = 0; k < beside.size(); ++k) dims.push_back(static_cast<std::int64_t>(first + k));
      rows = spread_in_dim(rows, Shape(sizes), dims);
    } else {
      Arrays numbers;
      std::vector<std::int64_t> axes(labels.size());
      std::iota(axes.begin(), axes.end(), 0);
      for (const std::int64_t label : labels) numbers.push_back(points_.number(label));
      rows = gather_at(rows, numbers, axes, {.mode = IndexMode::promise_in_bounds});
    }
    beside.insert(beside.begin(), of_lanes ? lanes() : points_.count());
    return reshape(rows, Shape(beside));
  }

  Dim lanes() const { return floor_div(points_.count(), points_.shape[0]); }
  // A loop over the first axis of the points, several rows a step, with lanes along the others. What is summed over the
  // rows is summed in the steps, for the loop to go on with.
  Arrays by_rows(const TraceResult& made, const std::vector<const PointEnd*>& ends, const Mask& batched,
                 const std::vector<Share>& shares, Arrays operands) const {
    const std::int64_t count = points_.shape[0].value(), together = rows_a_step(count);
    LoopParams p;
    p.length = count / together;
    p.consts = static_cast<std::int64_t>(shares.size()) - std::ranges::count(shares, Share::each);
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (shares[k] == Share::each)
        operands[k] = reshape(
            operands[k], operands[k].shape().without_axis(0).with_axis(0, together * lanes()).with_axis(0, *p.length));
    const TraceResult step =
        several_rows(made, ends, batched, shares, together, body_input_types(p, types_of(operands)));
    p.body = step.program;
    p.body_sizes = step.sizes;
    Arrays values = loop(p, operands);
    for (std::size_t k = 0; k < ends.size(); ++k)
      if (!sums_rows(*ends[k])) {
        const Shape rest = values[k].shape().without_axis(0).without_axis(0);
        values[k] = reshape(values[k], rest.with_axis(0, count));
      }
    return values;
  }
  TraceResult several_rows(const TraceResult& made, const std::vector<const PointEnd*>& ends, const Mask& batched,
                           const std::vector<Share>& shares, std::int64_t together,
                           const std::vector<Type>& types) const {
    Scope scope;
    Arrays given;
    for (std::size_t k = 0; k < types.size(); ++k) {
      Array x = scope.input(types[k]);
      if (shares[k] == Share::lanes) {  // for each of the rows
        std::vector<std::int64_t> dims(x.rank());
        std::iota(dims.begin(), dims.end(), 1);
        const Shape rest = x.shape().without_axis(0);
        x = reshape(broadcast_in_dim(x, x.shape().with_axis(0, together), dims), rest.with_axis(0, together * lanes()));
      }
      given.push_back(std::move(x));
    }
    Arrays values =
        inline_program(*vmap(made.program, batched, Mask(ends.size(), true), together * lanes()), made.sizes, given);
    for (std::size_t k = 0; k < ends.size(); ++k) {
      Shape shape = values[k].shape().without_axis(0);
      if (has_lanes()) shape = shape.with_axis(0, lanes());
      values[k] = reshape(values[k], shape.with_axis(0, together));
      if (sums_rows(*ends[k])) values[k] = sum(values[k], Axes(0));
    }
    return scope.finish(values, "rows");
  }
  // Of which the elements of pairs stay in the second-level cache.
  std::int64_t rows_a_step(std::int64_t count) const {
    constexpr double pairs = 1 << 17;
    const double row = plan_.sources[source_].pairs / static_cast<double>(count);
    for (std::int64_t rows = std::min<std::int64_t>(count, static_cast<std::int64_t>(pairs / row)); rows > 1; --rows)
      if (count % rows == 0) return rows;
    return 1;
  }
  // Labels of the axes of an end's result.
  std::vector<std::int64_t> wanted(const PointEnd& end) const {
    const Eqn& eqn = program_.eqns()[end.eqn];
    const PointLabels& labels = end.of.at(source_).labels;
    const auto form = reduction_of(eqn, program_);
    const std::size_t all = form ? labels.size() : ProductAxes(program_, eqn).summed;
    std::vector<std::int64_t> wanted;
    for (std::size_t axis = 0; axis < all; ++axis)
      if (!form || std::ranges::count(form->axes, static_cast<std::int64_t>(axis)) == 0) wanted.push_back(labels[axis]);
    return wanted;
  }
  bool sums_rows(const PointEnd& end) const {
    return std::ranges::none_of(
        wanted(end), [&](std::int64_t label) { return parts_.is_fixed(label) && points_.along[at(label)].axis == 0; });
  }

  // --- at one point ---
  TraceResult traced(const std::vector<const PointEnd*>& ends, const PointBody& body,
                     const std::vector<PointPart>& leaves, const std::vector<Type>& inputs) {
    Scope scope;
    Arrays given;
    for (const Type& type : inputs) given.push_back(scope.input(type));
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      const auto along = along_rows(leaves[k].labels);
      made_.emplace(leaves[k], along ? move_axis(given[k], -1, *along) : given[k]);
    }
    std::size_t next = leaves.size();
    for (const std::int64_t label : counted_) number_.emplace(label, given[next++]);
    if (!points_.added.empty()) added_ = given[next++];
    for (const PointPart& part : body.parts) {  // in the order of their eqns
      const EqnScope place(maker(part.v));
      made_.emplace(part, computed(part));
    }
    Arrays outputs;
    for (const PointEnd* end : ends) {
      const EqnScope place(program_.eqns()[end->eqn]);
      outputs.push_back(value(*end));
    }
    return scope.finish(outputs, "points");
  }
  Shape shape(const PointPart& part) const {
    std::vector<Dim> sizes;
    for (const std::int64_t axis : parts_.kept(part.labels)) sizes.push_back(program_.type(part.v).shape[at(axis)]);
    return Shape(sizes);
  }
  Array computed(const PointPart& part) const {
    const Eqn& eqn = maker(part.v);
    const Type& type = program_.type(part.v);
    if (parts_.is_of_others(part)) return zeros(shape(part), type.dtype);
    if (parts_.is_the_point(part)) return points_.added.empty() ? Array(true) : added_;
    if (eqn.op == &literal_op()) return bind1(literal_op(), eqn.params, {});
    const std::vector<std::int64_t> axes = parts_.kept(part.labels);
    if (const auto axis = counted_axis(eqn)) {
      const std::int64_t label = part.labels[at(*axis)];
      if (parts_.is_fixed(label)) return broadcast_in_dim(convert(number_.at(label), type.dtype), shape(part), {});
      return broadcast_in_dim(arange(type.shape[at(*axis)], type.dtype), shape(part), {place_of(axes, *axis)});
    }
    if (is_product(*eqn.op)) {
      const PointLabels labels = parts_.labels_of_product(eqn, part);
      return product(eqn, labels, parts_.operands_of_product(eqn, labels, part.linear));
    }
    const std::vector<PointPart> from = *parts_.operands(part);
    Arrays operands;
    for (const PointPart& operand : from) operands.push_back(made_.at(operand));
    if (eqn.op == &scatter_op()) return operands[0];  // to which it adds
    std::vector<std::int64_t> places;
    if (eqn.op == &broadcast_op()) {
      const auto dims = broadcast_form(eqn.params).dims;
      for (const std::int64_t axis : parts_.kept(from[0].labels)) places.push_back(place_of(axes, dims[at(axis)]));
      return broadcast_in_dim(operands[0], shape(part), places);
    }
    if (eqn.op == &transpose_op()) {
      const auto permutation = permutation_of(eqn.params);
      const std::vector<std::int64_t> given = parts_.kept(from[0].labels);
      for (const std::int64_t axis : axes) places.push_back(place_of(given, permutation[at(axis)]));
      return transpose(operands[0], places);
    }
    if (const auto form = reduction_of(eqn, program_)) return reduced(eqn, operands[0], from[0].labels, form->axes);
    return bind_op(*eqn.op, eqn.params, operands)[0];
  }
  // Of axes that the operand has here.
  Array reduced(const Eqn& eqn, const Array& x, const PointLabels& labels,
                const std::vector<std::int64_t>& axes) const {
    const std::vector<std::int64_t> given = parts_.kept(labels);
    std::vector<std::int64_t> places;
    for (const std::int64_t axis : axes)
      if (const std::int64_t place = place_of(given, axis); place != no_axis) places.push_back(place);
    return places.empty() ? x : bind1(*eqn.op, reduction_params(places), {x});
  }
  Array product(const Eqn& eqn, const PointLabels& labels, const std::vector<PointPart>& from) const {
    const ProductAxes product(program_, eqn);
    std::vector<std::int64_t> of[2], wanted, made_of, free[2];
    for (const std::size_t k : {0, 1})
      for (const std::int64_t axis : parts_.kept(from[k].labels)) of[k].push_back(product.of[k][at(axis)]);
    for (const std::int64_t axis : parts_.kept(labels))
      if (at(axis) < product.summed) wanted.push_back(axis);
    const Array &a = made_.at(from[0]), &b = made_.at(from[1]);
    DotAxes dot;
    for (std::size_t i = 0; i < of[0].size(); ++i) {
      const std::int64_t axis = of[0][i], other = place_of(of[1], axis);
      const bool summed = at(axis) >= product.summed;
      if (other == no_axis) {
        free[0].push_back(axis);
        continue;
      }
      (summed ? dot.contract_a : dot.batch_a).push_back(static_cast<std::int64_t>(i));
      (summed ? dot.contract_b : dot.batch_b).push_back(other);
      if (!summed) made_of.push_back(axis);
    }
    for (const std::int64_t axis : of[1])
      if (place_of(of[0], axis) == no_axis) free[1].push_back(axis);
    const DType dtype = program_.type(eqn.out[0]).dtype;
    if (dot.contract_a.empty()) {
      std::vector<Dim> sizes;
      for (const std::int64_t axis : wanted) sizes.push_back(product.sizes[at(axis)]);
      const auto spread = [&](const Array& x, std::size_t k) {
        std::vector<std::int64_t> dims;
        for (const std::int64_t axis : of[k]) dims.push_back(place_of(wanted, axis));
        return convert(spread_in_dim(x, Shape(sizes), dims), dtype);
      };
      return spread(a, 0) * spread(b, 1);
    }
    for (const auto& axes : free) made_of.insert(made_of.end(), axes.begin(), axes.end());
    std::vector<std::int64_t> order;
    for (const std::int64_t axis : wanted) order.push_back(place_of(made_of, axis));
    return transpose(convert(dot_general(a, b, dot), dtype), order);
  }
  Array value(const PointEnd& end) const {
    const Eqn& eqn = program_.eqns()[end.eqn];
    const PointEnd::Of& of = end.of.at(source_);
    if (is_product(*eqn.op)) return product(eqn, of.labels, of.operands);
    if (eqn.op == &gather_op()) return made_.at(of.operands[0]);
    return reduced(eqn, made_.at(of.operands[0]), of.labels, reduction_of(eqn, program_)->axes);
  }

  // --- of all points ---
  // Values of each point, [points, axes that are left]: summed where no axis of the result goes along, else at the
  // place in the result that each point says.
  Array finished(const PointEnd& end, Array values) const {
    const Eqn& eqn = program_.eqns()[end.eqn];
    const Type& type = program_.type(eqn.out[0]);
    if (eqn.op == &gather_op()) {
      values = reshape(values, type.shape);
      return points_.fill ? where(points_.inside, values, Array(*points_.fill)) : values;
    }
    const std::vector<std::int64_t> wanted = this->wanted(end);
    std::vector<std::int64_t> own;  // labels that the result has
    for (const std::int64_t label : wanted)
      if (parts_.is_fixed(label)) own.push_back(label);
    const auto place = [&](std::int64_t label) { return points_.along[at(label)].axis; };
    const bool in_step = std::ranges::all_of(own, [&](std::int64_t label) { return place(label).has_value(); });
    std::vector<std::int64_t> before = own, gone;  // labels before the axes beside them; points that are summed
    if (in_step) {
      before.clear();
      for (std::int64_t axis = 0; at(axis) < points_.shape.size(); ++axis) {
        const auto label = std::ranges::find_if(own, [&](std::int64_t label) { return place(label) == axis; });
        label == own.end() ? gone.push_back(axis) : before.push_back(*label);
      }
    }
    std::vector<Dim> sizes = points_.shape;
    const bool summed = rows_ && sums_rows(end);  // in the steps, and now over these
    if (summed) values = sum(values, Axes(0));
    const std::size_t first = (has_lanes() ? 2 : 1) - summed;
    std::vector<Dim> beside(values.shape().dims().begin() + static_cast<std::ptrdiff_t>(first),
                            values.shape().dims().end());
    if (summed) {
      sizes.erase(sizes.begin()), gone.erase(gone.begin());
      for (std::int64_t& axis : gone) --axis;
    }
    sizes.insert(sizes.end(), beside.begin(), beside.end());
    values = reshape(values, Shape(sizes));
    if (!gone.empty()) values = sum(values, Axes(gone));
    if (!in_step) {
      std::vector<Dim> all;
      Arrays numbers;
      std::vector<std::int64_t> axes(own.size());
      std::iota(axes.begin(), axes.end(), 0);
      for (std::size_t axis = 0; axis < wanted.size(); ++axis)
        if (parts_.is_fixed(wanted[axis]))
          all.push_back(type.shape[axis]), numbers.push_back(points_.number(wanted[axis]));
      all.insert(all.end(), beside.begin(), beside.end());
      values = scatter_at(ScatterKind::add, zeros(Shape(all), values.dtype()), numbers, axes, values,
                          {.mode = IndexMode::promise_in_bounds});
    }
    std::vector<std::int64_t> order;
    auto next = static_cast<std::int64_t>(before.size());
    for (const std::int64_t label : wanted) order.push_back(parts_.is_fixed(label) ? place_of(before, label) : next++);
    return convert(transpose(values, order), type.dtype);
  }

  const Program& program_;
  const std::span<const std::size_t> maker_;
  const PointPlan& plan_;
  const std::size_t source_;
  const bool rows_;
  const PointParts parts_;
  const std::map<Var, Array>& whole_;
  const SourcePoints points_;
  std::set<std::int64_t> counted_;  // labels whose numbers are read
  // Of the point that is traced.
  std::map<PointPart, Array> made_;
  std::map<std::int64_t, Array> number_;
  Array added_;
};

}  // namespace

Array SourcePoints::number(std::int64_t label) const {
  const Place& place = along[at(label)];
  if (!place.axis) return reshape(place.number, Shape(shape));
  return broadcast_in_dim(arange(shape[at(*place.axis)], DType::i64), Shape(shape), {*place.axis});
}

Arrays sums_at_points(const Program& program, std::span<const std::size_t> maker, const PointPlan& plan,
                      std::size_t source, bool rows, const std::map<Var, Array>& whole, SourcePoints points,
                      const std::vector<const PointEnd*>& ends) {
  return OfSource(program, maker, plan, source, rows, whole, std::move(points)).compute(ends);
}

}  // namespace tenon
