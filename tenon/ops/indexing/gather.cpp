#include "tenon/ops/indexing/gather.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_axes.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

struct GatherParams {
  std::vector<std::int64_t> window, collapsed, map, batch, indices_batch;
  std::vector<Dim> slice_sizes;
  IndexMode mode = IndexMode::clip;
  std::optional<Scalar> fill;  // there where the mode is fill
  bool sorted = false;
  bool unique = false;
};
BOOST_DESCRIBE_STRUCT(GatherParams, (),
                      (window, collapsed, map, batch, indices_batch, slice_sizes, mode, fill, sorted, unique))

namespace {

extern const OpInfo gather_info;
using kernel::Expr;

IndexAxes axes_of(const GatherParams& p) { return {p.window, p.collapsed, p.map, p.batch, p.indices_batch}; }

Params params_of(const IndexAxes& axes, std::vector<Dim> slice_sizes, const GatherOptions& options) {
  return make_params(GatherParams{axes.window, axes.collapsed, axes.map, axes.batch, axes.indices_batch,
                                  std::move(slice_sizes), options.mode, options.fill, options.hints.sorted,
                                  options.hints.unique});
}

std::vector<Type> gather_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<GatherParams>();
  if (in.size() != 2) throw VerifyError("gather: takes an array and indices.");
  const IndexGeometry g = index_geometry("gather", axes_of(p), in[0], in[1]);
  if (p.slice_sizes.size() != in[0].rank())
    throw ShapeError(fmt::format("gather: {} slice sizes for {}.", p.slice_sizes.size(), in[0].text()));
  if ((p.mode == IndexMode::fill) != p.fill.has_value() || (p.fill && p.fill->dtype() != in[0].dtype))
    throw VerifyError("gather: the fill value is that of mode fill, of the array's dtype.");
  std::vector<Dim> dims(g.window_axes.size() + g.lane_axes.size());
  for (std::size_t k = 0; k < g.window_axes.size(); ++k) dims[g.window_axes[k]] = p.slice_sizes[g.slice_axes[k]];
  for (std::size_t k = 0; k < g.lane_axes.size(); ++k) dims[g.lane_axes[k]] = in[1].shape[k];
  const Shape out(std::move(dims));
  check_slices("gather", g, in[0], in[1], p.slice_sizes, out.elements(), p.mode, context);
  return {Type::array(in[0].dtype, out)};
}

std::vector<Value> gather_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto& p = params.as<GatherParams>();
  const Buffer x = family::contiguous(in[0]), indices = family::contiguous(in[1]);
  Buffer out = Buffer::allocate(x.dtype(), context.out[0].shape.sizes());
  const IndexGeometry g = index_geometry("gather", axes_of(p), type_of(in[0]), type_of(in[1]));
  const SliceWalk walk = walk_slices(g, x.dims(), indices, out.dims(), p.mode);
  const std::size_t size = size_of(x.dtype());
  const auto byte = [&](std::int64_t element) { return static_cast<std::size_t>(element) * size; };
  walk.each([&](std::int64_t from, std::int64_t to) {
    for (std::size_t k = 0; k < walk.x_offsets.size(); ++k)
      std::memcpy(out.data() + byte(to + walk.windowed_offsets[k]),
                  from < 0 ? p.fill->data() : x.data() + byte(from + walk.x_offsets[k]), size);
  });
  return {out};
}

// A tangent outside is zero, whatever the value read there.
JvpResult gather_jvp(const JvpArgs& args) {
  GatherParams p = args.params.as<GatherParams>();
  if (p.fill) p.fill = Scalar::zero(p.fill->dtype());
  return {bind_op(gather_info, args.params, args.primals),
          {bind1(gather_info, make_params(p), {*args.tangents[0], args.primals[1]})}};
}

void gather_transpose(const TransposeArgs& args) {
  if (!args.cotangents[0]) return;
  const auto& p = args.params.as<GatherParams>();
  args.sink.update(0, [&](const Array& total) {
    return scatter(ScatterKind::add, total, *args.operands[1].value, *args.cotangents[0], axes_of(p),
                   {p.mode, {p.sorted, p.unique}});
  });
}

BatchResult gather_batch(const BatchArgs& args) {
  GatherParams p = args.params.as<GatherParams>();
  const std::size_t rank = args.operands[0].rank() - (args.batched[0] ? 1 : 0);
  const IndexAxes axes = batch_axes(axes_of(p), rank, args.batched[0], args.batched[1], args.size, p.slice_sizes);
  // Lanes of indices are each in order, not all of them together.
  const IndexHints hints{p.sorted && !args.batched[1], p.unique && (args.batched[0] || !args.batched[1])};
  return {bind_op(gather_info, params_of(axes, p.slice_sizes, {p.mode, p.fill, hints}), args.operands), {true}};
}

Expr gather_lower(const LowerArgs& args) {
  const auto& p = args.params.as<GatherParams>();
  const bool fill = p.mode == IndexMode::fill;
  if (args.in[0].shape.elements() == Dim(0))
    return kernel::constant(args.in[0].dtype, (fill ? *p.fill : Scalar::zero(args.in[0].dtype)).data());
  const IndexGeometry g = index_geometry("gather", axes_of(p), args.in[0], args.in[1]);
  const IndexTarget from = index_target(g, args.in[0].shape.dims(), args.out[0].shape.dims(), fill, args.index,
                                        [&](std::span<const Expr> index) { return args.load(1, index); });
  for (const Dim& limit : from.limits) args.require_not_negative(limit);
  const Expr value = args.load(0, from.index);
  return from.inside ? kernel::select(from.inside, value, kernel::constant(value.dtype(), p.fill->data())) : value;
}

Scalar default_fill(DType dtype) {
  return dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>)
      return Scalar(true);
    else if constexpr (std::is_integral_v<T>)
      return Scalar(std::is_signed_v<T> ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
    else
      return Scalar(std::nan("")).convert(dtype);
  });
}

std::vector<SampleCase> gather_samples(DType d) {
  const auto fill = [&](IndexMode mode) {
    return mode == IndexMode::fill ? std::optional(Scalar(2).convert(d)) : std::nullopt;
  };
  std::vector<SampleCase> cases;
  for (IndexMode mode : {IndexMode::clip, IndexMode::fill}) {
    // rows; slices of a matrix at two starts, the lanes in front, then between the slice's axes; lanes of their own
    cases.push_back({params_of({{}, {0}, {0}, {}, {}}, {Dim(1)}, {mode, fill(mode)}),
                     {Type::array(d, {Dim(5)}), Type::array(DType::i32, {Dim(2), Dim(3), Dim(1)})},
                     {{-3, 3}, {-2, 6}}});
    cases.push_back({params_of({{1, 2}, {}, {1, 0}, {}, {}}, {Dim(2), Dim(3)}, {mode, fill(mode)}),
                     {Type::array(d, {Dim(3), Dim(4)}), Type::array(DType::i64, {Dim(4), Dim(2)})},
                     {{-3, 3}, {-1, 3}}});
    cases.push_back({params_of({{0, 2}, {1}, {1}, {}, {}}, {Dim(2), Dim(1), Dim(3)}, {mode, fill(mode)}),
                     {Type::array(d, {Dim(2), Dim(3), Dim(4)}), Type::array(DType::u32, {Dim(5), Dim(1)})},
                     {{-3, 3}, {0, 5}}});
    cases.push_back({params_of({{2}, {2}, {2}, {1}, {0}}, {Dim(2), Dim(1), Dim(1)}, {mode, fill(mode)}),
                     {Type::array(d, {Dim(2), Dim(3), Dim(4)}), Type::array(DType::i32, {Dim(3), Dim(2), Dim(1)})},
                     {{-3, 3}, {-1, 4}}});
  }
  cases.push_back({params_of({{0}, {}, {0}, {}, {}}, {Dim(0)}, {}),
                   {Type::array(d, {Dim(0)}), Type::array(DType::i32, {Dim(1)})},
                   {{-3, 3}, {0, 0}}});
  return cases;
}

const OpInfo gather_info{.name = "gather",
                         .summary = "slices of x at indices",
                         .params = &describe::params_ops<GatherParams>,
                         .type = TypeRule(gather_type),
                         .eval = EvalRule(gather_eval),
                         .jvp = JvpRule(gather_jvp),
                         .transpose = TransposeRule(gather_transpose),
                         .batch = BatchRule(gather_batch),
                         .split = Absent{"wholly known or not"},
                         .guard = Absent{"no Programs inside"},
                         .lower = LowerRule(LowerElement{gather_lower}),
                         .alias = Absent{"elements change places"},
                         .effect = Absent{"pure"},
                         .sample = SampleRule(gather_samples)};
const bool gather_installed = (install_op(gather_info), true);

}  // namespace

const OpInfo& gather_op() { return gather_info; }

std::optional<ElementPoints> elements_read(const Params& params, const Type& x, const Type& indices) {
  const auto& p = params.as<GatherParams>();
  auto points = points_of(index_geometry("gather", axes_of(p), x, indices), p.mode);
  if (points) points->fill = p.fill;
  return points;
}

std::optional<RowPoints> row_points_read(const Params& params, const Type& x, const Type& indices) {
  const auto& p = params.as<GatherParams>();
  auto points = row_points_of(index_geometry("gather", axes_of(p), x, indices), p.mode, x.shape, p.slice_sizes);
  if (points) points->fill = p.fill;
  return points;
}

IndexAxes axes_of_gather(const Params& params) { return axes_of(params.as<GatherParams>()); }
Array gather_along(const Params& params, const Array& x, const Array& indices, const IndexAxes& axes) {
  const auto& p = params.as<GatherParams>();
  return gather(x, indices, axes, p.slice_sizes, {p.mode, p.fill, {.unique = p.unique}});
}

std::optional<GatherBatch> gather_batch(const Params& params, std::int64_t array_axis, std::size_t result_rank) {
  const auto& p = params.as<GatherParams>();
  const auto at = std::ranges::find(p.batch, array_axis) - p.batch.begin();
  if (at == std::ssize(p.batch)) return {};
  const std::int64_t indices = p.indices_batch[static_cast<std::size_t>(at)];
  std::int64_t lanes = 0;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(result_rank); ++axis)
    if (!std::ranges::binary_search(p.window, axis) && lanes++ == indices)
      return GatherBatch{array_axis, indices, axis};
  return {};
}
Array gather_of_batch(const Params& params, const GatherBatch& batch, const Array& x, const Array& indices) {
  const auto& p = params.as<GatherParams>();
  const auto without = [](std::vector<std::int64_t> axes, std::int64_t left_out) {
    std::erase(axes, left_out);
    for (std::int64_t& axis : axes) axis -= axis > left_out;
    return axes;
  };
  std::vector<Dim> sizes = p.slice_sizes;
  sizes.erase(sizes.begin() + batch.array);
  const IndexAxes axes{without(p.window, batch.result), without(p.collapsed, batch.array), without(p.map, batch.array),
                       without(p.batch, batch.array), without(p.indices_batch, batch.indices)};
  return gather(x, indices, axes, std::move(sizes),
                {.mode = p.mode, .fill = p.fill, .hints = {.sorted = p.sorted, .unique = p.unique}});
}

namespace {

std::optional<RowsRead> rows_of_gather(const Params& params, const Type& x, const Array& indices) {
  const auto& p = params.as<GatherParams>();
  if (x.rank() == 0 || p.map != std::vector<std::int64_t>{0} || !p.batch.empty() || p.slice_sizes[0] != Dim(1) ||
      !std::equal(p.slice_sizes.begin() + 1, p.slice_sizes.end(), x.shape.begin() + 1))
    return std::nullopt;
  const IndexGeometry g = index_geometry("gather", axes_of(p), x, indices.type());
  const Shape& vectors = indices.shape();
  Dim n = 1;
  std::vector<Dim> apart;  // the lanes' axes, then those of a slice
  for (std::size_t i = 0; i + 1 < vectors.rank(); ++i) apart.push_back(vectors[i]), n = n * vectors[i];
  std::vector<Dim> row{n};
  for (std::size_t i = 1; i < x.rank(); ++i) row.push_back(x.shape[i]);
  for (const std::size_t axis : g.slice_axes) apart.push_back(p.slice_sizes[axis]);
  std::vector<std::int64_t> permutation(apart.size());
  for (std::size_t i = 0; i < g.lane_axes.size(); ++i) permutation[g.lane_axes[i]] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < g.window_axes.size(); ++i)
    permutation[g.window_axes[i]] = static_cast<std::int64_t>(g.lane_axes.size() + i);
  const Array count = size_as_array(x.shape[0]), start = convert(reshape(indices, {n}), DType::i64);
  const Array inside = (start >= Array(Scalar(std::int64_t(0)))) & (start < count);
  return RowsRead{
      p.mode == IndexMode::clip ? clamp(start, Array(Scalar(std::int64_t(0))), count - Array(Scalar(std::int64_t(1))))
                                : where(inside, start, count),
      Type::array(x.dtype, Shape(std::move(row))), [apart = Shape(std::move(apart)), permutation](const Array& rows) {
        return transpose(reshape(rows, apart), permutation);
      }};
}

}  // namespace

std::optional<RowsRead> rows_read(const OpInfo& op, const Params& params, const Type& x,
                                  std::span<const Array> indices) {
  if (!x.is_array() || x.rank() == 0) return std::nullopt;
  if (&op == &gather_op()) return rows_of_gather(params, x, indices[0]);
  if (&op == &slice_op()) return rows_of_slice(params, x);
  if (&op == &dynamic_slice_op()) return rows_of_dynamic_slice(params, x, indices);
  return std::nullopt;
}

Array gather(const Operand& x, const Operand& indices, const IndexAxes& axes, std::vector<Dim> slice_sizes,
             const GatherOptions& options) {
  const SourceScope place(x.where(), "gather");
  GatherOptions given = options;
  if (given.mode == IndexMode::fill)
    given.fill = given.fill ? given.fill->convert(x->dtype()) : default_fill(x->dtype());
  else
    given.fill.reset();
  return bind1(gather_info, params_of(axes, std::move(slice_sizes), given), {x, indices});
}

}  // namespace tenon
