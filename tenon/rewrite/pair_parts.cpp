#include "tenon/rewrite/pair_parts.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tenon/ir/literal.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/labelled_product.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/streams.h"

namespace tenon {

void PairParts::enter(const PairLoop& pairs) {
  together_ = pairs.together;
  block_ = pairs.block;
  part_ = pairs.part;
  tiles_ = pairs.tiles;
  steps_ = substitute(pairs.steps, replay_.sizes());
  has_rest_ = together_ > 1 && steps_.value() % together_ != 0;
}

Dim PairParts::all_turns() const { return together_ == 1 ? steps_ : Dim((steps_.value() + together_ - 1) / together_); }

Array PairParts::numbers() const { return by_turn(arange(all_turns() * together_, DType::i64), together_); }

Array PairParts::by_step(Array stack) const {
  if (together_ == 1) return stack;
  if (block_ > 0) stack = move_axis(stack, 2, 1);
  const Shape rows = stack.shape().without_axis(0).without_axis(0);
  return reshape(stack, rows.with_axis(0, all_turns() * together_));
}

std::vector<std::int64_t> PairParts::axes_of(std::size_t rank, const PairPart& part) const {
  std::vector<std::int64_t> axes;
  if (part.lane != no_axis && block_ > 0) axes.push_back(block_axis);
  if (part.loop != no_axis && together_ > 1) axes.push_back(part.loop);
  for (std::int64_t axis = 0; at(axis) < rank; ++axis)
    if (axis != part.loop && axis != part.lane) axes.push_back(axis);
  if (part.lane != no_axis) axes.push_back(part.lane);
  return axes;
}

std::vector<std::int64_t> PairParts::axes_of_steps(std::size_t rank, const PairPart& part) const {
  std::vector<std::int64_t> axes = axes_of(rank, part);
  if (part.loop == no_axis) return axes;
  std::erase(axes, part.loop);
  axes.insert(axes.begin(), part.loop);
  return axes;
}

Shape PairParts::shape_of(const std::vector<Dim>& sizes, const PairPart& part) const {
  std::vector<Dim> own;
  for (const std::int64_t axis : axes_of(sizes.size(), part))
    own.push_back(axis == part.loop                 ? Dim(together_)
                  : one_lane_ && axis == part.lane  ? Dim(1)
                  : axis == block_axis              ? Dim(blocks_of(sizes[at(part.lane)].value()))
                  : block_ > 0 && axis == part.lane ? Dim(block_)
                  : part_ > 0 && axis == part.lane  ? Dim(in_whole_parts(sizes[at(axis)].value()))
                                                    : substitute(sizes[at(axis)], replay_.sizes()));
  return Shape(own);
}

std::int64_t PairParts::blocks_of(std::int64_t lanes) const { return (lanes + block_ - 1) / block_; }

std::int64_t PairParts::in_whole_parts(std::int64_t lanes) const { return (lanes + part_ - 1) / part_ * part_; }

Array PairParts::in_blocks(Array x) const {
  if (block_ == 0) return x;
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  const std::int64_t lanes = x.shape()[at(last)].value(), blocks = blocks_of(lanes);
  if (blocks * block_ != lanes) x = padded(x, last, blocks * block_ - lanes);
  return move_axis(reshape(x, x.shape().without_axis(at(last)).with_axis(at(last), block_).with_axis(at(last), blocks)),
                   last, 0);
}

Array PairParts::out_of_blocks(const Array& x, std::int64_t lanes) const {
  if (block_ == 0) return x;
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  const Array together = move_axis(x, 0, last - 1);
  const Shape rows = x.shape().without_axis(at(last)).without_axis(0);
  const Array all = reshape(together, rows.with_axis(at(last) - 1, x.shape()[0] * block_));
  return slice_in_dim(all, 0, lanes, last - 1);
}

Array PairParts::padded(const Array& x, std::int64_t axis, std::int64_t more) {
  std::vector<std::int64_t> none(x.rank(), 0), high = none;
  high[at(axis)] = more;
  return pad(x, Array(Scalar::zero(x.dtype())), none, high);
}

Array PairParts::laid_out(const PairPart& leaf) const {
  const Array& x = replay_.get(leaf.v);
  std::vector<std::int64_t> axes = axes_of_steps(x.rank(), leaf);
  std::erase(axes, block_axis);
  const Array ordered = transpose(x, axes);
  if (leaf.loop == no_axis && leaf.lane == no_axis) return ordered;
  if (leaf.loop == no_axis) {
    const auto last = static_cast<std::int64_t>(x.rank()) - 1;
    if (part_ == 0) return in_blocks(ordered);
    const std::int64_t lanes = ordered.shape()[at(last)].value(), more = in_whole_parts(lanes) - lanes;
    return more == 0 ? ordered : padded(ordered, last, more);
  }
  const std::int64_t more = has_rest_ ? all_turns().value() * together_ - steps_.value() : 0;
  return by_turn(has_rest_ ? padded(ordered, 0, more) : ordered, together_);
}

Array PairParts::broadcast(const Array& x, const Shape& shape, const std::vector<std::int64_t>& dims) {
  return x.shape() == shape ? x : broadcast_in_dim(x, shape, dims);
}

Array PairParts::computed(const Eqn& eqn, const PairPart& part, const std::map<PairPart, Array>& made,
                          std::span<const Array> numbers) const {
  const Type& of = program_.type(part.v);
  const std::vector<std::int64_t> axes = axes_of(of.rank(), part);
  const auto shape = [&] { return shape_of(of.shape.dims(), part); };
  if (eqn.op == &literal_op()) return bind1(literal_op(), eqn.params, {});
  if (const auto counted = counted_axis(eqn)) {
    const std::int64_t axis = place_of(axes, *counted);
    if (*counted == part.lane && block_ > 0) {
      const Array all = in_blocks(arange(of.shape[at(part.lane)], of.dtype));
      return broadcast_in_dim(all, shape(), {place_of(axes, block_axis), axis});
    }
    const Array count = *counted == part.loop                ? convert(numbers.front(), of.dtype)
                        : *counted == part.lane && one_lane_ ? convert(numbers.back(), of.dtype)
                                                             : arange(shape()[at(axis)], of.dtype);
    return broadcast_in_dim(count, shape(), count.rank() == 0 ? std::vector<std::int64_t>() : std::vector{axis});
  }
  if (is_product(*eqn.op) && is_tile(eqn, nullptr)) return tile(eqn, part, made, false);
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
    for (const std::int64_t axis : renumbered(given(), [&](std::int64_t axis) { return dims[at(axis)]; }))
      places.push_back(place_of(axes, axis));
    return broadcast(operands[0], shape(), places);
  }
  if (eqn.op == &transpose_op()) {
    const auto permutation = permutation_of(eqn.params);
    for (const std::int64_t axis : renumbered(axes, [&](std::int64_t axis) { return permutation[at(axis)]; }))
      places.push_back(place_of(given(), axis));
    return transpose(operands[0], places);
  }
  if (const auto form = reduction_of(eqn, program_)) {
    for (const std::int64_t axis : form->axes) places.push_back(place_of(given(), axis));
    std::ranges::sort(places);
    return bind1(*eqn.op, reduction_params(places), {operands[0]});
  }
  return bind_op(*eqn.op, replay_.params(eqn), operands)[0];
}

bool PairParts::is_tile(const Eqn& eqn, const PairEnd* end) const {
  return tiles_ && block_ > 0 && tenon::is_tile(program_, eqn, end);
}

Array PairParts::tile(const Eqn& eqn, const PairPart& part, const std::map<PairPart, Array>& made, bool summed) const {
  const ProductAxes product(program_, eqn);
  const auto is_summed = [&](std::int64_t axis) {
    return axis != block_axis && (at(axis) >= product.summed ? axis != part.loop || summed : false);
  };
  std::vector<std::int64_t> axes = axes_of(product.sizes.size(), part);
  std::erase_if(axes, is_summed);
  std::array<Array, 2> operands;
  std::array<std::vector<std::int64_t>, 2> labels;
  for (const std::size_t k : {0, 1}) {
    const PairPart from = operand_part(product, eqn, k, part);
    operands[k] = made.at(from);
    labels[k] = renumbered(axes_of(program_.type(from.v).rank(), from),
                           [&](std::int64_t axis) { return product.of[k][at(axis)]; });
  }
  const Dim blocks = blocks_of(product.sizes[at(part.lane)].value());
  for (const std::size_t k : {0, 1}) {
    if (place_of(labels[k], block_axis) != no_axis) continue;
    std::vector<std::int64_t> dims(labels[k].size());
    std::iota(dims.begin(), dims.end(), 1);
    operands[k] = broadcast_in_dim(operands[k], operands[k].shape().with_axis(0, blocks), dims);
    labels[k].insert(labels[k].begin(), block_axis);
  }
  // Lanes come last.
  const std::size_t last = place_of(labels[0], part.lane) != no_axis ? 0 : 1;
  const auto &a = labels[1 - last], &b = labels[last];
  const auto [dot, made_of] = labelled_product(a, b, [&](std::int64_t axis) { return !is_summed(axis); });
  std::vector<std::int64_t> order;
  for (const std::int64_t axis : axes) order.push_back(place_of(made_of, axis));
  return transpose(dot_general(operands[1 - last], operands[last], dot), order);
}

Array PairParts::multiplied(const Eqn& eqn, const PairPart& part, const std::map<PairPart, Array>& made) const {
  const ProductAxes product(program_, eqn);
  const std::vector<std::int64_t> axes = axes_of(product.sizes.size(), part);
  const Shape shape = shape_of(product.sizes, part);
  const auto operand = [&](std::size_t k) {
    const PairPart from = operand_part(product, eqn, k, part);
    const std::vector<std::int64_t> given =  // as axes of the product
        renumbered(axes_of(program_.type(from.v).rank(), from),
                   [&](std::int64_t axis) { return product.of[k][at(axis)]; });
    // Its axes in the order of the result's, and which of these they are.
    std::vector<std::int64_t> order, dims;
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (const std::int64_t place = place_of(given, axes[i]); place != no_axis)
        order.push_back(place), dims.push_back(static_cast<std::int64_t>(i));
    const Array x = convert(made.at(from), computed_in(program_.type(eqn.out[0]).dtype));
    return broadcast(transpose(x, order), shape, dims);
  };
  return operand(0) * operand(1);
}

std::int64_t PairParts::turn_axis() const { return block_ > 0 ? 1 : 0; }

}  // namespace tenon
