#include "tenon/api/scaled_dot.h"

#include <fmt/format.h>

#include <numeric>

#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

// Each element of the scale as often as its block has elements, axis by axis.
Array over_blocks(const Array& scale, const Array& of) {
  const auto refuse = [&] {
    throw ShapeError(fmt::format("scaled_dot: a scale {} of {}.", scale.type().text(), of.type().text()),
                     "It has the operand's rank, and sizes that divide the operand's.");
  };
  if (scale.rank() != of.rank()) refuse();
  std::vector<Dim> apart, blocks;
  for (std::size_t i = 0; i < of.rank(); ++i) {
    const Dim n = of.shape()[i], m = scale.shape()[i];
    if (decided_equal(n, m) != true && (m == Dim(0) || decided_equal(modulo(n, m), Dim(0)) != true)) refuse();
    const Dim each = decided_equal(n, m) == true ? Dim(1) : floor_div(n, m);
    apart.insert(apart.end(), {m, 1});
    blocks.insert(blocks.end(), {m, each});
  }
  return reshape(broadcast_to(reshape(scale, Shape(apart)), Shape(blocks)), of.shape());
}

Array scaled_operand(const Array& x, const std::optional<Array>& scale, DType dtype) {
  const Array values = convert(x, dtype).with_weak(false);
  return scale ? values * over_blocks(convert(*scale, dtype).with_weak(false), values) : values;
}

}  // namespace

Array scaled_dot(const Operand& a, const Operand& b, const ScaledDotOptions& options) {
  const SourceScope place(a.where(), "scaled_dot");
  if (!is_inexact(options.dtype))
    throw DTypeError(fmt::format("scaled_dot: {} is not a real or complex dtype.", name(options.dtype)),
                     "Ask for f32.");
  const DType wide = computed_in(options.dtype);
  DotAxes axes;
  if (options.axes) {
    axes = *options.axes;
  } else {
    const auto rank = static_cast<std::int64_t>(a->rank());
    if (rank < 2 || b->rank() != a->rank())
      throw ShapeError(fmt::format("scaled_dot: {} and {} are not both matrices, or batches of them.", a->type().text(),
                                   b->type().text()),
                       "Give two of one rank, 2 or more, or say which axes are summed over.");
    axes.contract_a = {rank - 1}, axes.contract_b = {rank - 2};
    axes.batch_a.resize(static_cast<std::size_t>(rank - 2));
    std::iota(axes.batch_a.begin(), axes.batch_a.end(), 0);
    axes.batch_b = axes.batch_a;
  }
  return convert(dot_general(scaled_operand(a, options.a_scale, wide), scaled_operand(b, options.b_scale, wide), axes),
                 options.dtype);
}

}  // namespace tenon
