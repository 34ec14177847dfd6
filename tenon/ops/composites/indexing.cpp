#include "tenon/ops/composites/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/indexing/points.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

Array from_end(std::string_view op, const Array& index, const Dim& n) {
  if (!is_integer(index.dtype()))
    throw DTypeError(fmt::format("{}: an index is {}, not integers.", op, index.type().text()),
                     index.dtype() == DType::bool_
                         ? "Take elements by a mask with x(mask), that is compress(); choose with where()."
                         : "Convert it with convert(index, DType::i32).");
  const Scalar* number = index.number();
  if (number != nullptr && number->convert(DType::i64).as<std::int64_t>() >= 0) return index.with_weak(false);
  if (is_unsigned_integer(index.dtype()))
    return size_of(index.dtype()) < 4 ? convert(index, DType::u32) : index.with_weak(false);
  const Array i = size_of(index.dtype()) < 4 ? convert(index, DType::i32) : index;
  const Array size = n.known() ? Array(Scalar(n.value()).convert(i.dtype())) : convert(size_as_array(n), i.dtype());
  return where(i < 0, i + size, i).with_weak(false);
}

PointForm point_form(std::string_view op, const Array& x, std::span<const Array> indices,
                     std::vector<std::int64_t> axes) {
  if (indices.empty() || indices.size() != axes.size())
    throw ShapeError(fmt::format("{}: {} index arrays for {} axes.", op, indices.size(), axes.size()),
                     "Give one array for each axis.");
  PointForm form{{}, {}, x.shape().dims(), {}};
  Arrays parts;
  DType dtype = DType::i32;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::size_t axis = normalize_axis(axes[k], x.type(), op);
    axes[k] = static_cast<std::int64_t>(axis);
    if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(k), axes[k]) !=
        axes.begin() + static_cast<std::ptrdiff_t>(k))
      throw ShapeError(fmt::format("{}: axis {} of {} is indexed twice.", op, axis, x.type().text()));
    parts.push_back(from_end(op, indices[k], x.shape()[axis]));
    dtype = k == 0 || parts[k].dtype() == dtype ? parts[k].dtype() : DType::i64;
    form.slice_sizes[axis] = 1;
  }
  const Shape common = broadcast_shapes(op, parts);
  for (Array& part : parts) part = broadcast_to(convert(part, dtype), common);
  form.vectors = stack(parts, -1);
  form.axes.map = axes;
  form.axes.collapsed = axes;
  std::ranges::sort(form.axes.collapsed);
  const auto& sorted = form.axes.collapsed;
  const bool together = sorted.back() - sorted.front() + 1 == static_cast<std::int64_t>(sorted.size());
  const auto at = static_cast<std::size_t>(together ? sorted.front() : 0);
  std::vector<Dim> kept;
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (!std::ranges::binary_search(sorted, static_cast<std::int64_t>(i))) kept.push_back(x.shape()[i]);
  for (std::size_t i = 0; i < kept.size(); ++i)
    form.axes.window.push_back(static_cast<std::int64_t>(i < at ? i : i + common.rank()));
  kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(at), common.begin(), common.end());
  form.result = Shape(std::move(kept));
  return form;
}

namespace {

void require_axis(std::string_view op, const Array& x) {
  if (x.rank() == 0)
    throw ShapeError(fmt::format("{}: {} has rank 0 and cannot be indexed.", op, x.type().text()),
                     "Give it an axis with reshape().");
}

}  // namespace

Array gather_at(const Operand& x, std::span<const Array> indices, std::vector<std::int64_t> axes,
                const GatherOptions& options) {
  const SourceScope place(x.where(), "gather_at");
  const PointForm form = point_form("gather_at", x, indices, std::move(axes));
  return gather(x, form.vectors, form.axes, form.slice_sizes, options);
}

Array scatter_at(ScatterKind kind, const Operand& x, std::span<const Array> indices, std::vector<std::int64_t> axes,
                 const Operand& updates, const ScatterOptions& options) {
  const SourceScope place(x.where(), "scatter_at");
  const PointForm form = point_form("scatter_at", x, indices, std::move(axes));
  const Array rows = broadcast_to(convert_into("scatter_at", x, updates), form.result);
  if (x->shape().elements() == Dim(0)) return x;  // all lies outside
  return scatter(kind, x, form.vectors, rows, form.axes, options);
}

DType index_dtype(const Dim& elements) {
  return decided_less(elements, Dim(std::int64_t(1) << 31)).value_or(true) ? DType::i32 : DType::i64;
}

Array take(const Operand& x, const Operand& indices, std::int64_t axis, const GatherOptions& options) {
  const SourceScope place(x.where(), "take");
  require_axis("take", x);
  const Array one[] = {indices};
  return gather_at(x, one, {axis}, options);
}

Array take_along_axis(const Operand& x, const Operand& indices, std::int64_t axis, const GatherOptions& options) {
  const SourceScope place(x.where(), "take_along_axis");
  const std::size_t at = normalize_axis(axis, x->type(), "take_along_axis");
  if (indices->rank() != x->rank())
    throw ShapeError(
        fmt::format("take_along_axis: {} at {}: the ranks differ.", x->type().text(), indices->type().text()),
        "Indices have the axes of the array; use take() for one list of indices for all of them.");
  // Where only one of the two has size 1 along another axis, it is repeated.
  Shape points = x->shape(), whole = x->shape();
  points[at] = 1;
  Shape other = indices->shape();
  other[at] = 1;
  const Arrays both{zeros_like(Type::array(DType::bool_, points)), zeros_like(Type::array(DType::bool_, other))};
  const Shape common = broadcast_shapes("take_along_axis", both);
  Shape of_indices = common;
  of_indices[at] = indices->shape()[at];
  whole = common;
  whole[at] = x->shape()[at];
  IndexAxes axes;
  for (std::size_t i = 0; i < whole.rank(); ++i)
    if (i != at) axes.batch.push_back(static_cast<std::int64_t>(i));
  axes.indices_batch = axes.batch;
  axes.collapsed = axes.map = {static_cast<std::int64_t>(at)};
  const Array starts = expand_dims(broadcast_to(from_end("take_along_axis", indices, whole[at]), of_indices), -1);
  return gather(broadcast_to(x, whole), starts, axes, std::vector<Dim>(whole.rank(), Dim(1)), options);
}

Array scatter_add(const Operand& x, const Operand& indices, const Operand& updates) {
  const SourceScope place(x.where(), "scatter_add");
  require_axis("scatter_add", x);
  const Array one[] = {indices};
  return scatter_at(ScatterKind::add, x, one, {0}, updates);
}
Array scatter_set(const Operand& x, const Operand& indices, const Operand& updates) {
  const SourceScope place(x.where(), "scatter_set");
  require_axis("scatter_set", x);
  const Array one[] = {indices};
  return scatter_at(ScatterKind::set, x, one, {0}, updates);
}

}  // namespace tenon
