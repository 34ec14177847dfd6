// Regular parts of arrays, and axes walked backwards.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/describe_params.h"
#include "tenon/ir/literal.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/ops/structure/with_shape.h"

namespace tenon {

struct SliceParams {
  std::vector<Dim> start, limit;
  std::vector<std::int64_t> stride;
};
BOOST_DESCRIBE_STRUCT(SliceParams, (), (start, limit, stride))
struct ReverseParams {
  std::vector<std::int64_t> axes;
};
BOOST_DESCRIBE_STRUCT(ReverseParams, (), (axes))

namespace {

extern const OpInfo slice_info, reverse_info;
using Sizes = std::span<const Dim>;

// --- slice ---
const IndexMap slice_map = index_map([](const Params& params, Sizes, Sizes, auto index) {
  using Index = std::remove_cvref_t<decltype(index[0])>;
  const auto& p = params.as<SliceParams>();
  std::vector<Index> from;
  for (std::size_t i = 0; i < p.start.size(); ++i)
    from.push_back(index_of<Index>(p.start[i]) + index[i] * Index(p.stride[i]));
  return from;
});
Type slice_type(const Params& params, std::span<const Type> in) {
  const Type& x = one_array("slice", in);
  const auto& p = params.as<SliceParams>();
  if (p.start.size() != x.rank() || p.limit.size() != x.rank() || p.stride.size() != x.rank())
    throw ShapeError(fmt::format("slice: {} needs {} starts, limits and strides.", x.text(), x.rank()),
                     "Give one of each an axis; x(slice(1, 3)) slices first axes alone.");
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const Dim length = p.limit[i] - p.start[i];
    const bool outside = (p.start[i].known() && p.start[i].value() < 0) || (length.known() && length.value() < 0) ||
                         (x.shape[i] - p.limit[i]).try_value().value_or(0) < 0;
    if (outside || p.stride[i] < 1)
      throw ShapeError(fmt::format("slice: {} to {} by {} is not within axis {} of {}.", p.start[i].text(),
                                   p.limit[i].text(), p.stride[i], i, x.text()),
                       "Start and limit lie in the axis, start not after limit; strides are at least 1.");
    dims.push_back(floor_div(length + Dim(p.stride[i] - 1), Dim(p.stride[i])));
  }
  return Type::array(x.dtype, Shape(std::move(dims)));
}
// The cotangent of a slice where it lies in the whole: between zeros, or written into them where sizes are not known.
Array unsliced(const SliceParams& p, const Shape& whole, const Array& part) {
  std::vector<std::int64_t> low, high, interior;
  bool known = true;
  for (std::size_t i = 0; i < p.start.size(); ++i) {
    const Dim n = part.shape()[i];
    const Dim covered = n == Dim(0) ? n : (n - Dim(1)) * Dim(p.stride[i]) + Dim(1);
    const Dim behind = whole[i] - p.start[i] - covered;
    known = known && p.start[i].known() && behind.known();
    low.push_back(p.start[i].try_value().value_or(0));
    high.push_back(behind.try_value().value_or(0));
    interior.push_back(p.stride[i] - 1);
  }
  const Array zero = zeros_like(Type::array(part.dtype(), {}));
  if (known) return pad(part, zero, low, high, interior);
  const std::vector<std::int64_t> none(low.size(), 0);
  Arrays start;
  for (const Dim& d : p.start) start.push_back(size_as_array(d));
  return dynamic_update_slice(zeros_like(Type::array(part.dtype(), whole)), pad(part, zero, none, none, interior),
                              start);
}
const OpInfo slice_info{
    .name = "slice",
    .summary = "a regular part",
    .params = &describe::params_ops<SliceParams>,
    .type = TypeRule(
        [](const Params& p, std::span<const Type> in, TypeContext&) { return std::vector{slice_type(p, in)}; }),
    .eval = eval_strided_map(slice_map),
    .jvp = jvp_by_itself(slice_info),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (args.cotangents[0])
        args.sink.add(0, unsliced(args.params.as<SliceParams>(), args.operands[0].type.shape, *args.cotangents[0]));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      auto p = args.params.as<SliceParams>();
      p.start.insert(p.start.begin(), Dim(0));
      p.limit.insert(p.limit.begin(), args.size);
      p.stride.insert(p.stride.begin(), 1);
      return BatchResult{{bind1(slice_info, make_params(p), {args.operands[0]})}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = lower_index_map(slice_map),
    .alias = Absent{"the result is smaller"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      return {{make_params(SliceParams{{Dim(1)}, {Dim(4)}, {1}}), {Type::array(d, {Dim(5)})}, {{-3, 3}}},
              {make_params(SliceParams{{Dim(0), Dim(1)}, {Dim(2), Dim(6)}, {1, 2}}),
               {Type::array(d, {Dim(2), Dim(7)})},
               {{-3, 3}}},
              {make_params(SliceParams{{Dim(2)}, {Dim(2)}, {1}}), {Type::array(d, {Dim(4)})}, {{-3, 3}}}};
    }),
    .traits = {.determined = true, .rearranges = true}};

// --- reverse ---
const IndexMap reverse_map = index_map([](const Params& params, Sizes in, Sizes, auto index) {
  using Index = std::remove_cvref_t<decltype(index[0])>;
  std::vector<Index> from(index.begin(), index.end());
  for (std::int64_t axis : params.as<ReverseParams>().axes) {
    const auto a = static_cast<std::size_t>(axis);
    from[a] = index_of<Index>(in[a] - 1) - from[a];
  }
  return from;
});
const OpInfo reverse_info{.name = "reverse",
                          .summary = "axes walked backwards",
                          .params = &describe::params_ops<ReverseParams>,
                          .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
                            const Type& x = one_array("reverse", in);
                            const auto& axes = params.as<ReverseParams>().axes;
                            for (std::int64_t axis : axes)
                              normalize_axis(axis < 0 ? static_cast<std::int64_t>(x.rank()) : axis, x, "reverse");
                            static_cast<void>(Axes(axes).of(x, "reverse"));  // none twice
                            return std::vector{x};
                          }),
                          .eval = eval_strided_map(reverse_map),
                          .jvp = jvp_by_itself(reverse_info),
                          .transpose = TransposeRule([](const TransposeArgs& args) {
                            if (args.cotangents[0])
                              args.sink.add(0, reverse(*args.cotangents[0], args.params.as<ReverseParams>().axes));
                          }),
                          .batch = BatchRule([](const BatchArgs& args) {
                            auto p = args.params.as<ReverseParams>();
                            for (auto& axis : p.axes) ++axis;
                            return BatchResult{{bind1(reverse_info, make_params(p), {args.operands[0]})}, {true}};
                          }),
                          .split = Absent{"wholly known or not"},
                          .guard = Absent{"no Programs inside"},
                          .lower = lower_index_map(reverse_map),
                          .alias = Absent{"elements change places"},
                          .effect = Absent{"pure"},
                          .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
                            return {{make_params(ReverseParams{{0}}), {Type::array(d, {Dim(5)})}, {{-3, 3}}},
                                    {make_params(ReverseParams{{0, 1}}), {Type::array(d, {Dim(2), Dim(3)})}, {{-3, 3}}},
                                    {make_params(ReverseParams{{0}}), {Type::array(d, {Dim(0)})}, {{-3, 3}}}};
                          }),
                          .traits = {.determined = true, .rearranges = true}};

const bool slices_installed = (install_op(slice_info), install_op(reverse_info), true);

}  // namespace

const OpInfo& slice_op() { return slice_info; }
const OpInfo& reverse_op() { return reverse_info; }
std::vector<std::int64_t> reversed_axes(const Params& params) { return params.as<ReverseParams>().axes; }

std::optional<RowsRead> rows_of_slice(const Params& params, const Type& x) {
  const auto& p = params.as<SliceParams>();
  const Type type = result_types(slice_info, params, std::vector{x})[0];
  if (!std::equal(type.shape.begin() + 1, type.shape.end(), x.shape.begin() + 1)) return std::nullopt;
  const Array places = arange(type.shape[0], DType::i64);
  return RowsRead{size_as_array(p.start[0]) + places * Array(Scalar(p.stride[0])), type,
                  [](const Array& rows) { return rows; }};
}

void require_at_most(const Dim& size, const Dim& most, FunctionRef<std::string()> what) {
  if (decided_less(most, size) == false) return;
  require_equal(max(size, most), most, what());
}

Array with_shape(const Array& x, const Shape& shape, FunctionRef<ShapeError()> error) {
  if (x.shape() == shape) return x;
  if (x.rank() != shape.rank()) throw error();
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (x.shape()[i] == shape[i]) continue;
    if (x.shape()[i].known() && shape[i].known()) throw error();
    require_equal(shape[i], x.shape()[i], error().asked());
  }
  return slice_inside(x, std::vector<Dim>(shape.rank(), Dim(0)), {shape.begin(), shape.end()}, {});
}

Array slice(const Operand& x, std::vector<Dim> start, std::vector<Dim> limit, std::vector<std::int64_t> stride) {
  const SourceScope place(x.where(), "slice");
  const Shape& shape = x->shape();
  for (std::size_t i = 0; i < std::min({start.size(), limit.size(), shape.rank()}); ++i) {
    if (start[i].known() && limit[i].known() && shape[i].known()) continue;  // the op's rule says it
    const auto what = [&] {
      return fmt::format("slice: {} to {} is not within axis {} of {}.", start[i].text(), limit[i].text(), i,
                         x->type().text());
    };
    require_at_most(Dim(0), start[i], what);
    require_at_most(start[i], limit[i], what);
    require_at_most(limit[i], shape[i], what);
  }
  return slice_inside(x, std::move(start), std::move(limit), std::move(stride));
}

Array slice_inside(const Operand& x, std::vector<Dim> start, std::vector<Dim> limit, std::vector<std::int64_t> stride) {
  const SourceScope place(x.where(), "slice");
  if (stride.empty()) stride.assign(start.size(), 1);
  return bind1(slice_info, make_params(SliceParams{std::move(start), std::move(limit), std::move(stride)}), {x})
      .with_weak(x->weak());
}
Array slice_of_shape(const Array& x, std::vector<Dim> start, const Shape& shape, std::vector<std::int64_t> stride) {
  std::vector<Dim> limit;
  for (std::size_t i = 0; i < shape.rank(); ++i)
    limit.push_back(shape[i] == Dim(0) ? start[i] : start[i] + (shape[i] - 1) * stride[i] + 1);
  return slice_inside(x, std::move(start), std::move(limit), std::move(stride));
}

Array slice_in_dim(const Operand& x, const Dim& start, const Dim& limit, std::int64_t axis, std::int64_t stride) {
  const SourceScope place(x.where(), "slice_in_dim");
  const Shape shape = x->shape();
  const std::size_t at = normalize_axis(axis, x->type(), "slice_in_dim");
  std::vector<Dim> starts(shape.rank(), 0), limits = shape.dims();
  std::vector<std::int64_t> strides(shape.rank(), 1);
  starts[at] = start;
  limits[at] = limit;
  strides[at] = stride;
  return slice(x, std::move(starts), std::move(limits), std::move(strides));
}

std::vector<Array> split(const Operand& x, std::int64_t parts, std::int64_t axis) {
  const SourceScope place(x.where(), "split");
  const Dim size = x->dim(axis);
  if (parts < 1 || (size.known() && size.value() % parts != 0))
    throw ShapeError(
        fmt::format("split: axis {} of {} does not divide into {} equal parts.", axis, x->type().text(), parts),
        "Slice it into unequal ones, x(slice(0, 2)), or pad it first.");
  const Dim each = floor_div(size, Dim(parts));
  require_at_most(modulo(size, Dim(parts)), Dim(0), [&] {
    return fmt::format("split: axis {} of {} does not divide into {} equal parts.", axis, x->type().text(), parts);
  });
  std::vector<Array> result;
  for (std::int64_t i = 0; i < parts; ++i) result.push_back(slice_in_dim(x, each * Dim(i), each * Dim(i + 1), axis));
  return result;
}

Array reverse(const Operand& x, std::vector<std::int64_t> axes) {
  const SourceScope place(x.where(), "reverse");
  return bind1(reverse_info, make_params(ReverseParams{Axes(std::move(axes)).of(x->type(), "reverse")}), {x})
      .with_weak(x->weak());
}

SliceForm slice_form(const Params& params) {
  const auto& p = params.as<SliceParams>();
  return {p.start, p.stride};
}

}  // namespace tenon
