#include "tenon/rewrite/end_streams.h"

#include "tenon/ir/adapt.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/running_sums.h"

namespace tenon {
namespace {

// The number that argmax() gives where there are no elements.
Scalar number_of_none(const Program& program, std::span<const std::size_t> maker, const Eqn& argmax) {
  const Eqn& chosen = program.eqns()[maker[argmax.in[0]]];
  return literal_value(filling_literal(program, maker, chosen.in[2])->params);
}

}  // namespace

Stream stream_of(const StreamEnd& end, std::span<const std::size_t> maker, const Replay& replay, bool goes_back) {
  const Program& program = replay.program();
  const Eqn& eqn = program.eqns()[end.eqn];
  const Type result = replay.type(eqn.out[0]);
  const Type& of = program.type(end.of[0].var);
  switch (end.kind) {
    case StreamEnd::Kind::monoid: {
      const ReductionForm form = *reduction_of(eqn, program);
      const OpInfo& op = *eqn.op;
      return monoid_stream(form.combine, form.initial, result, [&op](const Array& x, std::vector<std::int64_t> axes) {
        return bind1(op, reduction_params(std::move(axes)), {x});
      });
    }
    case StreamEnd::Kind::product:
      return monoid_stream(
          kernel::Combine::add, Scalar::zero(result.dtype), result,
          [](const Array& x, std::vector<std::int64_t> axes) { return sum(x, Axes(std::move(axes))); });
    case StreamEnd::Kind::exponentials:
      return end.mask() ? masked_exponentials_stream(result) : exponentials_stream(result);
    case StreamEnd::Kind::squares: {
      if (end.mask()) return masked_squares_stream(result);
      Dim count = 1;
      for (std::int64_t axis : end.axes)
        count = count * replay.type(end.of[0].var).shape[static_cast<std::size_t>(axis)];
      return squares_stream(result, count);
    }
    case StreamEnd::Kind::waiting:
      return RunningSums(end, replay).stream();
    case StreamEnd::Kind::first_index: {
      const ReductionForm best = *reduction_of(program.eqns()[maker[*end.reference]], program);
      return first_index_stream(best.combine, best.initial, result, of.dtype,
                                replay.type(end.of[0].var).shape[at(end.axes[0])], number_of_none(program, maker, eqn),
                                goes_back);
    }
    case StreamEnd::Kind::row:
      return row_stream(Type::array(of.dtype, step_shape(replay.type(end.of[0].var).shape, end.of[0].steps)));
    case StreamEnd::Kind::part:
      break;
    case StreamEnd::Kind::first_in_order:
      return first_in_order_stream(result, replay.type(eqn.out[1]),
                                   replay.type(end.of[0].var).shape[static_cast<std::size_t>(end.axes[0])],
                                   few_in_order(eqn)->smallest, goes_back);
  }
  __builtin_unreachable();
}

// What a product of arrays sums, of a step: its batch axes, those of its operands' own, and then those that are
// summed.
StreamStep product_step(const Program& program, const Eqn& eqn, const std::array<Array, 2>& parts,
                        const std::array<std::optional<StepsIn>, 2>& steps) {
  const ProductForm form = product_form(eqn.params, program.type(eqn.in[0]), program.type(eqn.in[1]));
  const DType dtype = computed_in(program.type(eqn.out[0]).dtype);
  const auto ordered = [&](std::size_t side, std::vector<std::int64_t> axes, const std::vector<std::int64_t>& free,
                           const std::vector<std::int64_t>& summed) {
    axes.insert(axes.end(), free.begin(), free.end());
    axes.insert(axes.end(), summed.begin(), summed.end());
    if (steps[side]) axes = step_axes(*steps[side], axes);
    return convert(transpose(parts[side], axes), dtype);
  };
  Array a = ordered(0, form.batch_a, form.free_a, form.contract_a),
        b = ordered(1, form.batch_b, form.free_b, form.contract_b);
  const auto own = [&](std::size_t side, const std::vector<std::int64_t>& axes) {
    return steps[side] ? step_axes(*steps[side], axes).size() : axes.size();
  };
  const std::size_t batch = own(0, form.batch_a), free_a = own(0, form.free_a), free_b = own(1, form.free_b);
  std::vector<Dim> sizes;
  for (std::size_t axis = 0; axis < batch + free_a; ++axis) sizes.push_back(a.shape()[axis]);
  for (std::size_t axis = batch; axis < b.rank(); ++axis) sizes.push_back(b.shape()[axis]);
  const Shape all(sizes);
  const auto repeated = [&](const Array& x, std::size_t before, std::size_t skipped) {
    std::vector<std::int64_t> dims;
    for (std::size_t axis = 0; axis < x.rank(); ++axis)
      dims.push_back(static_cast<std::int64_t>(axis < before ? axis : axis + skipped));
    return skipped == 0 ? x : broadcast_in_dim(x, all, dims);
  };
  const Array x = repeated(a, batch + free_a, free_b);
  StreamStep step{.elements = x * repeated(b, batch, free_a), .axes = {}};
  for (std::size_t axis = batch + free_a + free_b; axis < all.rank(); ++axis)
    step.axes.push_back(static_cast<std::int64_t>(axis));
  return step;
}

Array whole_product(const Program& program, const Eqn& eqn, const std::array<Array, 2>& parts,
                    const std::array<std::optional<StepsIn>, 2>& steps) {
  const ProductForm form = product_form(eqn.params, program.type(eqn.in[0]), program.type(eqn.in[1]));
  const auto own = [&](std::size_t side, const std::vector<std::int64_t>& axes) {
    return steps[side] ? step_axes(*steps[side], axes) : axes;
  };
  return dot_general(parts[0], parts[1],
                     {own(0, form.contract_a), own(1, form.contract_b), own(0, form.batch_a), own(1, form.batch_b)},
                     program.type(eqn.out[0]).dtype);
}

}  // namespace tenon
