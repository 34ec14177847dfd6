#include "tenon/ops/structure/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "tenon/ir/describe_params.h"
#include "tenon/ir/origins.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/ops/structure/with_shape.h"

namespace tenon {

struct BroadcastParams {
  Shape shape;
  std::vector<std::int64_t> dims;
};
BOOST_DESCRIBE_STRUCT(BroadcastParams, (), (shape, dims))
struct ReshapeParams {
  Shape shape;
};
BOOST_DESCRIBE_STRUCT(ReshapeParams, (), (shape))
struct TransposeParams {
  std::vector<std::int64_t> permutation;
};
BOOST_DESCRIBE_STRUCT(TransposeParams, (), (permutation))
namespace {

extern const OpInfo broadcast_info, reshape_info, transpose_info;
using Sizes = std::span<const Dim>;

Array with_batch(const BatchArgs& args, const OpInfo& op, Params params) {
  return bind1(op, params, {args.operands[0]});
}

// --- broadcast ---
Type broadcast_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<BroadcastParams>();
  const Type& x = one_array("broadcast", in);
  if (p.dims.size() != x.rank())
    throw ShapeError(fmt::format("broadcast: {} has {} axes, {} are placed.", x.text(), x.rank(), p.dims.size()));
  for (std::size_t i = 0; i < p.dims.size(); ++i) {
    if (p.dims[i] < 0 || p.dims[i] >= static_cast<std::int64_t>(p.shape.rank()) ||
        (i > 0 && p.dims[i] <= p.dims[i - 1]))
      throw ShapeError(fmt::format("broadcast: the places of the axes of {} do not ascend within rank {}.", x.text(),
                                   p.shape.rank()),
                       "Name the axis of the result for each axis of the operand, in ascending order.");
    if (x.shape[i] != Dim(1))
      context.require_equal(x.shape[i], p.shape[static_cast<std::size_t>(p.dims[i])],
                            [&] { return fmt::format("broadcast: {} cannot become {}.", x.text(), p.shape.text()); });
  }
  return Type::array(x.dtype, p.shape);
}
const IndexMap broadcast_map = index_map([](const Params& params, Sizes in, Sizes, auto index) {
  using Index = std::remove_cvref_t<decltype(index[0])>;
  const auto& p = params.as<BroadcastParams>();
  std::vector<Index> from;
  for (std::size_t i = 0; i < in.size(); ++i)
    from.push_back(in[i] == Dim(1) ? Index(std::int64_t(0)) : index[static_cast<std::size_t>(p.dims[i])]);
  return from;
});

// The sum over the axes that were made or grew from 1. Sizes that are written differently are equal otherwise, or the
// type would not hold.
void broadcast_transpose(const TransposeArgs& args) {
  if (!args.cotangents[0]) return;
  const auto& p = args.params.as<BroadcastParams>();
  const Shape& shape = args.operands[0].type.shape;
  std::vector<std::int64_t> summed;
  for (std::size_t axis = 0; axis < p.shape.rank(); ++axis) {
    const auto at = std::ranges::find(p.dims, static_cast<std::int64_t>(axis));
    const auto grew = [&] { return shape[static_cast<std::size_t>(at - p.dims.begin())] == Dim(1); };
    if (at == p.dims.end() || (grew() && p.shape[axis] != Dim(1))) summed.push_back(static_cast<std::int64_t>(axis));
  }
  const Array ct = summed.empty() ? *args.cotangents[0] : sum(*args.cotangents[0], Axes(summed));
  args.sink.add(0, reshape(ct, shape));
}

const OpInfo broadcast_info{
    .name = "broadcast",
    .summary = "axes of x placed among new ones",
    .params = &describe::params_ops<BroadcastParams>,
    .type = TypeRule([](const Params& p, std::span<const Type> in, TypeContext& c) {
      return std::vector{broadcast_type(p, in, c)};
    }),
    .eval = eval_strided_map(broadcast_map),
    .jvp = jvp_by_itself(broadcast_info),
    .transpose = TransposeRule(broadcast_transpose),
    .batch = BatchRule([](const BatchArgs& args) {
      auto p = args.params.as<BroadcastParams>();
      p.shape = p.shape.with_axis(0, args.size);
      for (auto& d : p.dims) ++d;
      p.dims.insert(p.dims.begin(), 0);
      return BatchResult{{with_batch(args, broadcast_info, make_params(p))}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = lower_index_map(broadcast_map),
    .alias = Absent{"the result is larger"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      return {{make_params(BroadcastParams{{Dim(2), Dim(3)}, {1}}), {Type::array(d, {Dim(3)})}, {{-3, 3}}},
              {make_params(BroadcastParams{{Dim(2), Dim(3)}, {0, 1}}), {Type::array(d, {Dim(2), Dim(1)})}, {{-3, 3}}},
              {make_params(BroadcastParams{{Dim(4)}, {}}), {Type::array(d, {})}, {{-3, 3}}},
              {make_params(BroadcastParams{{Dim(0), Dim(2)}, {1}}), {Type::array(d, {Dim(2)})}, {{-3, 3}}}};
    }),
    .traits = {.determined = true, .rearranges = true}};

// --- reshape ---
const IndexMap reshape_map = index_map([](const Params&, Sizes in, Sizes out, auto index) {
  using Index = std::remove_cvref_t<decltype(index[0])>;
  return from_row_major<Index>(in, row_major<Index>(out, index));
});
const OpInfo reshape_info{
    .name = "reshape",
    .summary = "the same elements in another shape",
    .params = &describe::params_ops<ReshapeParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext& context) {
      const Type& x = one_array("reshape", in);
      const Shape& shape = params.as<ReshapeParams>().shape;
      context.require_equal(x.shape.elements(), shape.elements(), [&] {
        return fmt::format("reshape: {} has {} elements, {} has {}.", x.text(), x.shape.elements().text(), shape.text(),
                           shape.elements().text());
      });
      return std::vector{Type::array(x.dtype, shape)};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const Buffer x = family::contiguous(in[0]);
      const std::vector<std::int64_t> sizes = context.out[0].shape.sizes();
      return std::vector<Value>{x.view(x.dtype(), sizes, contiguous_strides(x.dtype(), sizes), 0).contiguous_copy()};
    }),
    .jvp = jvp_by_itself(reshape_info),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (args.cotangents[0]) args.sink.add(0, reshape(*args.cotangents[0], args.operands[0].type.shape));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      return BatchResult{
          {with_batch(args, reshape_info,
                      make_params(ReshapeParams{args.params.as<ReshapeParams>().shape.with_axis(0, args.size)}))},
          {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = lower_index_map(reshape_map),
    .alias = AliasRule{0, 0},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      return {{make_params(ReshapeParams{{Dim(3), Dim(2)}}), {Type::array(d, {Dim(2), Dim(3)})}, {{-3, 3}}},
              {make_params(ReshapeParams{{}}), {Type::array(d, {Dim(1), Dim(1)})}, {{-3, 3}}},
              {make_params(ReshapeParams{{Dim(5), Dim(0)}}), {Type::array(d, {Dim(0)})}, {{-3, 3}}}};
    }),
    .traits = {.determined = true, .rearranges = true}};

// --- transpose ---
const IndexMap transpose_map = index_map([](const Params& params, Sizes, Sizes, auto index) {
  using Index = std::remove_cvref_t<decltype(index[0])>;
  const auto& permutation = params.as<TransposeParams>().permutation;
  std::vector<Index> from(permutation.size(), Index(std::int64_t(0)));
  for (std::size_t i = 0; i < permutation.size(); ++i) from[static_cast<std::size_t>(permutation[i])] = index[i];
  return from;
});
const OpInfo transpose_info{
    .name = "transpose",
    .summary = "axes permuted",
    .params = &describe::params_ops<TransposeParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      const Type& x = one_array("transpose", in);
      const auto& permutation = params.as<TransposeParams>().permutation;
      std::vector<bool> seen(x.rank(), false);
      bool good = permutation.size() == x.rank();
      std::vector<Dim> dims;
      for (std::size_t i = 0; good && i < permutation.size(); ++i) {
        const auto p = static_cast<std::size_t>(permutation[i]);
        good = permutation[i] >= 0 && p < x.rank() && !seen[p];
        if (good) seen[p] = true, dims.push_back(x.shape[p]);
      }
      if (!good)
        throw ShapeError(
            fmt::format("transpose: [{}] is no permutation of the axes of {}.", fmt::join(permutation, ", "), x.text()),
            fmt::format("Name each axis once, from 0 to {}.", static_cast<std::int64_t>(x.rank()) - 1));
      return std::vector{Type::array(x.dtype, Shape(std::move(dims)))};
    }),
    .eval = eval_strided_map(transpose_map),
    .jvp = jvp_by_itself(transpose_info),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (args.cotangents[0])
        args.sink.add(
            0, transpose(*args.cotangents[0], inverse_permutation(args.params.as<TransposeParams>().permutation)));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      auto p = args.params.as<TransposeParams>();
      for (auto& axis : p.permutation) ++axis;
      p.permutation.insert(p.permutation.begin(), 0);
      return BatchResult{{with_batch(args, transpose_info, make_params(p))}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = lower_index_map(transpose_map),
    .alias = Absent{"elements change places"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      return {{make_params(TransposeParams{{1, 0}}), {Type::array(d, {Dim(2), Dim(3)})}, {{-3, 3}}},
              {make_params(TransposeParams{{2, 0, 1}}), {Type::array(d, {Dim(2), Dim(1), Dim(3)})}, {{-3, 3}}},
              {make_params(TransposeParams{{}}), {Type::array(d, {})}, {{-3, 3}}}};
    }),
    .traits = {.determined = true, .rearranges = true}};

const bool shape_installed = [] {
  for (const OpInfo* op : {&broadcast_info, &reshape_info, &transpose_info}) install_op(*op);
  return true;
}();

std::vector<std::int64_t> normalized(const std::vector<std::int64_t>& axes, const Type& x, std::string_view op) {
  std::vector<std::int64_t> result;
  for (std::int64_t axis : axes) result.push_back(static_cast<std::int64_t>(normalize_axis(axis, x, op)));
  return result;
}

}  // namespace

namespace {

void require_sizes(std::string_view op, const Type& x, const Shape& shape) {
  for (const Dim& d : shape)
    if (d.known() && d.value() < 0)
      throw ShapeError(fmt::format("{}: {} to {}: a size is negative.", op, x.text(), shape.text()),
                       "Sizes are at least 0.");
}

}  // namespace

Array broadcast_in_dim(const Operand& x, const Shape& shape, std::vector<std::int64_t> dims) {
  const SourceScope place(x.where(), "broadcast_in_dim");
  const auto is_own = [&, axis = std::int64_t(0)](std::int64_t dim) mutable { return dim == axis++; };
  if (x->rank() > 0 && x->shape() == shape && dims.size() == x->rank() && std::ranges::all_of(dims, is_own)) return x;
  return bind1(broadcast_info, make_params(BroadcastParams{shape, std::move(dims)}), {x}).with_weak(x->weak());
}

Array broadcast_to(const Operand& x, const Shape& shape) {
  const SourceScope place(x.where(), "broadcast_to");
  const Shape from = x->shape();
  if (from == shape) return x;
  if (from.rank() > shape.rank())
    throw ShapeError(fmt::format("broadcast_to: {} has more axes than {}.", x->type().text(), shape.text()),
                     "Take a part of it, x(0), or reduce it with sum() first.");
  for (std::size_t i = 0; i < from.rank(); ++i) {
    const Dim &n = from[i], &wanted = shape[shape.rank() - from.rank() + i];
    if (n != wanted && n != Dim(1) && n.known() && wanted.known())
      throw ShapeError(
          fmt::format("broadcast_to: {} does not broadcast to {}: sizes {} and {} differ.{}", x->type().text(),
                      shape.text(), n.text(), wanted.text(), lines_of(std::vector<Array>{x})),
          "Sizes must be equal or 1, counted from the last axis; reshape or index it.");
  }
  require_sizes("broadcast_to", x->type(), shape);
  std::vector<std::int64_t> dims(from.rank());
  std::iota(dims.begin(), dims.end(), static_cast<std::int64_t>(shape.rank() - from.rank()));
  return broadcast_in_dim(x, shape, std::move(dims));
}

Array add_batch_axis(const Array& x, const Dim& size) { return broadcast_to(x, x.shape().with_axis(0, size)); }

Array reshape(const Operand& x, const Shape& shape) {
  const SourceScope place(x.where(), "reshape");
  Shape wanted = shape;
  std::optional<std::size_t> open;
  Dim others = 1;
  for (std::size_t i = 0; i < wanted.rank(); ++i) {
    if (wanted[i] == Dim(-1)) {
      if (open)
        throw ShapeError(fmt::format("reshape: {} to {}: two sizes are -1.", x->type().text(), shape.text()),
                         "At most one size can be found from the others.");
      open = i;
    } else {
      others = others * wanted[i];
    }
  }
  if (open) {
    const Dim elements = x->shape().elements();
    if (others == Dim(0))
      throw ShapeError(
          fmt::format("reshape: {} to {}: -1 beside a size of 0 is not decided.", x->type().text(), shape.text()),
          "Write the size.");
    if (elements.known() && others.known() && elements.value() % others.value() != 0)
      throw ShapeError(fmt::format("reshape: {} to {}: {} elements are not a multiple of {}.", x->type().text(),
                                   shape.text(), elements.text(), others.text()),
                       "The sizes multiply to the number of elements.");
    wanted[*open] = floor_div(elements, others);
  }
  require_sizes("reshape", x->type(), wanted);
  const Dim have = x->shape().elements(), want = wanted.elements();
  if (have.known() && want.known() && have != want)
    throw ShapeError(fmt::format("reshape: {} has {} elements, {} has {}.", x->type().text(), have.text(),
                                 wanted.text(), want.text()),
                     "The sizes multiply to the number of elements; one of them may be -1, to be found.");
  if (wanted == x->shape()) return x;
  return bind1(reshape_info, make_params(ReshapeParams{wanted}), {x}).with_weak(x->weak());
}

Array transpose(const Operand& x, std::vector<std::int64_t> permutation) {
  const SourceScope place(x.where(), "transpose");
  permutation = normalized(permutation, x->type(), "transpose");
  if (permutation.size() == x->rank() &&
      std::ranges::adjacent_find(permutation, std::greater_equal()) == permutation.end())
    return x;
  return bind1(transpose_info, make_params(TransposeParams{std::move(permutation)}), {x}).with_weak(x->weak());
}

Array transpose(const Operand& x) {
  const SourceScope place(x.where(), "transpose");
  std::vector<std::int64_t> axes(x->rank());
  std::iota(axes.rbegin(), axes.rend(), 0);
  return transpose(x, std::move(axes));
}

Array move_axis(const Operand& x, std::int64_t from, std::int64_t to) {
  const SourceScope place(x.where(), "move_axis");
  const Type type = x->type();
  const auto f = static_cast<std::int64_t>(normalize_axis(from, type, "move_axis")),
             t = static_cast<std::int64_t>(normalize_axis(to, type, "move_axis"));
  std::vector<std::int64_t> axes(type.rank());
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + f);
  axes.insert(axes.begin() + t, f);
  return transpose(x, std::move(axes));
}

Array expand_dims(const Operand& x, std::int64_t axis) {
  const SourceScope place(x.where(), "expand_dims");
  const Shape shape = x->shape();
  const auto rank = static_cast<std::int64_t>(shape.rank());
  if (axis < -rank - 1 || axis > rank)
    throw ShapeError(fmt::format("expand_dims: axis {} of what {} becomes.", axis, x->type().text()),
                     fmt::format("The new axis is 0 to {}, or {} to -1 from the end.", rank, -rank - 1));
  return reshape(x, shape.with_axis(static_cast<std::size_t>(axis < 0 ? axis + rank + 1 : axis), 1));
}

Array squeeze(const Operand& x, std::int64_t axis) {
  const SourceScope place(x.where(), "squeeze");
  const Shape shape = x->shape();
  const std::size_t at = normalize_axis(axis, x->type(), "squeeze");
  if (shape[at] != Dim(1))
    throw ShapeError(
        fmt::format("squeeze: axis {} of {} has size {}, not 1.", axis, x->type().text(), shape[at].text()),
        "Take one element along it with x(…), or reduce it.");
  return reshape(x, shape.without_axis(at));
}

Eqn reshape_eqn(const Shape& shape, Var from, Var to) {
  return {.op = &reshape_info, .params = make_params(ReshapeParams{shape}), .in = {from}, .out = {to}};
}

Array stack(std::span<const Array> parts, std::int64_t axis, const Source& where) {
  const SourceScope place(where, "stack");
  std::vector<Array> expanded;
  for (const Array& part : parts) {
    const Array same = with_shape(part, parts[0].shape(), [&] {
      return ShapeError(fmt::format("stack: {} and {} differ in shape.", parts[0].type().text(), part.type().text()),
                        "Arrays of one shape are stacked; concatenate() puts them one after another along an axis.");
    });
    expanded.push_back(expand_dims(Operand(same, where), axis));
  }
  return concatenate(expanded, axis, where);
}

Array full(const Shape& shape, const Operand& value) {
  const SourceScope place(value.where(), "full");
  return broadcast_to(value, shape).with_weak(false);
}
Array zeros(const Shape& shape, DType dtype, const Source& where) {
  const SourceScope place(where, "zeros");
  return full(shape, Operand(Array(Scalar::zero(dtype)), where));
}
Array ones(const Shape& shape, DType dtype, const Source& where) {
  const SourceScope place(where, "ones");
  return full(shape, Operand(Array(Scalar::one(dtype)), where));
}
Array zeros_like(const Operand& x) {
  const SourceScope place(x.where(), "zeros_like");
  return zeros_like(x->type());
}
Array ones_like(const Operand& x) {
  const SourceScope place(x.where(), "ones_like");
  return ones_like(x->type());
}
Array zeros_like(const Type& type) { return broadcast_to(Array(Scalar::zero(type.dtype)), type.shape); }
Array ones_like(const Type& type) { return broadcast_to(Array(Scalar::one(type.dtype)), type.shape); }

const OpInfo& reshape_op() { return reshape_info; }
const OpInfo& transpose_op() { return transpose_info; }
std::vector<std::int64_t> permutation_of(const Params& params) { return params.as<TransposeParams>().permutation; }

const OpInfo& broadcast_op() { return broadcast_info; }
std::int64_t place_of(std::span<const std::int64_t> axes, std::int64_t axis) {
  const auto found = std::ranges::find(axes, axis);
  return found == axes.end() ? no_axis : found - axes.begin();
}

std::vector<std::int64_t> ascending(std::span<const std::int64_t> numbers) {
  std::vector<std::int64_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; });
  return order;
}

Array spread_in_dim(const Array& x, const Shape& shape, std::vector<std::int64_t> dims) {
  if (std::ranges::is_sorted(dims)) return broadcast_in_dim(x, shape, std::move(dims));
  const Array in_order = transpose(x, ascending(dims));
  std::ranges::sort(dims);
  return broadcast_in_dim(in_order, shape, std::move(dims));
}

std::int64_t axis_left(const std::vector<std::int64_t>& reduced, std::int64_t axis) {
  return axis - (std::ranges::lower_bound(reduced, axis) - reduced.begin());
}

std::vector<std::int64_t> inverse_permutation(std::span<const std::int64_t> permutation) {
  std::vector<std::int64_t> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return inverse;
}
BroadcastForm broadcast_form(const Params& params) {
  const auto& p = params.as<BroadcastParams>();
  return {p.shape, p.dims};
}

Array in_a_row(const Array& x) { return x.rank() == 1 ? x : reshape(x, {x.shape().elements()}); }
Array along_axis(const Array& vector, std::size_t axis, std::size_t rank) {
  std::vector<Dim> shape(rank, Dim(1));
  shape[axis] = vector.shape()[0];
  return reshape(vector, Shape(std::move(shape)));
}

}  // namespace tenon
