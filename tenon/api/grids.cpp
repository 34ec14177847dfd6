#include "tenon/api/grids.h"

#include <fmt/format.h>

#include <limits>

#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

DType inexact_dtype(DType d) { return is_inexact(d) ? d : size_of(d) == 8 ? DType::f64 : DType::f32; }

// The ends, in the dtype that numbers between them are computed in.
struct Ends {
  Array start, stop;
  DType dtype;  // of the result
};
Ends ends_of(const Operand& start, const Operand& stop, const SpacedOptions& options) {
  const DType met = in_one_dtype(Arrays{start, stop}).operands[0].dtype();
  const DType d = inexact_dtype(options.dtype.value_or(met));
  return {convert(start, d).with_weak(false), convert(stop, d).with_weak(false), options.dtype.value_or(d)};
}

// The numbers along the first axis, and the step.
SpacedNumbers spaced(std::string_view name, const Array& start, const Array& stop, const Dim& num, bool endpoint) {
  if (num.try_value().value_or(0) < 0)
    throw ShapeError(fmt::format("{}: {} numbers.", name, num.text()), "Give 0 or more.");
  const DType d = start.dtype(), real_dtype = computed_in(real_part_of(d));
  const Dim parts = endpoint ? num - 1 : num;
  const auto more = decided_less(0, parts);  // nothing: it may be that there is one number alone
  const Array count = size_as_array(max(parts, 1), real_dtype);
  const Array nan = Array(Scalar(std::numeric_limits<double>::quiet_NaN()).convert(d));
  const Array from = widened(start), to = widened(stop);
  Array step = more == false ? nan : convert((to - from) / count, d);
  if (!more) step = where(size_as_array(parts, real_dtype) > 0, step, nan);
  const Shape shape = broadcast_shapes(name, Arrays{start, stop});
  const Shape whole = shape.with_axis(0, num), row = shape.with_axis(0, 1);
  const Array at = along_axis(iota(real_dtype, {num}, 0), 0, whole.rank()), part = at / count;
  Array made = convert(from * (1 - part) + to * part, d);
  if (endpoint && !more)
    made = where((at == size_as_array(parts, real_dtype)) & (at > 0), stop, made);
  else if (endpoint && *more)
    made = concatenate({slice_in_dim(made, 0, num - 1, 0), broadcast_to(stop, row)}, 0);
  return {broadcast_to(made, whole), step};
}

Array placed(const Array& numbers, DType dtype, std::int64_t axis) {
  return move_axis(convert(is_integer(dtype) ? floor(numbers) : numbers, dtype), 0, axis);
}

}  // namespace

SpacedNumbers linspace_and_step(const Operand& start, const Operand& stop, const Dim& num,
                                const SpacedOptions& options) {
  constexpr std::string_view name = "linspace";
  const SourceScope place(start.where(), name);
  const Ends ends = ends_of(start, stop, options);
  SpacedNumbers made = spaced(name, ends.start, ends.stop, num, options.endpoint);
  made.numbers = placed(made.numbers, ends.dtype, options.axis);
  return made;
}
Array linspace(const Operand& start, const Operand& stop, const Dim& num, const SpacedOptions& options) {
  return linspace_and_step(start, stop, num, options).numbers;
}

Array logspace(const Operand& start, const Operand& stop, const Dim& num, const Operand& base,
               const SpacedOptions& options) {
  const SourceScope place(start.where(), "logspace");
  SpacedOptions exponents = options;
  exponents.dtype = {};
  const Array made = pow(to_inexact(base), linspace(start, stop, num, exponents));
  return options.dtype ? convert(made, *options.dtype).with_weak(false) : made;
}

Array geomspace(const Operand& first, const Operand& last, const Dim& num, const SpacedOptions& options) {
  constexpr std::string_view name = "geomspace";
  const SourceScope place(first.where(), name);
  const Met met = in_one_inexact_dtype(Arrays{first, last});
  const Array start = met.operands[0].with_weak(false), stop = met.operands[1].with_weak(false);
  // From 1 on in the direction of start, so that two negative numbers have real ones between them.
  const Array exponents = spaced(name, log(start / start), log(stop / start), num, options.endpoint).numbers;
  Array made = exp(exponents) * start;
  const Array at = along_axis(iota(DType::i32, {num}, 0), 0, made.rank());
  if (options.endpoint) made = where((at == size_as_array(num - 1, DType::i32)) & (at > 0), stop, made);
  made = where(at == 0, start, made);
  if (options.dtype && is_integer(*options.dtype))
    made = where(abs(made - round(made)) < 1e-6 * abs(made), round(made), made);
  made = move_axis(made, 0, options.axis);
  return options.dtype ? convert(made, *options.dtype) : made;
}

std::vector<Array> meshgrid(std::span<const Array> vectors, const MeshgridOptions& options, const Source& where) {
  constexpr std::string_view name = "meshgrid";
  const SourceScope place(where, name);
  const std::size_t n = vectors.size();
  // The axis of the grid that a vector spans.
  const auto axis_of = [&](std::size_t i) { return options.matrix_order || i > 1 || n < 2 ? i : 1 - i; };
  Shape whole(std::vector<Dim>(n, Dim(1)));
  for (std::size_t i = 0; i < n; ++i) {
    if (vectors[i].rank() > 1)
      throw ShapeError(fmt::format("{}: {} is no vector.", name, vectors[i].type().text()),
                       "Give vectors, or numbers.");
    whole[axis_of(i)] = vectors[i].shape().elements();
  }
  std::vector<Array> grid;
  for (std::size_t i = 0; i < n; ++i) {
    const Array column = along_axis(in_a_row(vectors[i]), axis_of(i), n);
    grid.push_back(options.sparse ? column : broadcast_to(column, whole));
  }
  return grid;
}

}  // namespace tenon
