#include "tenon/ops/indexing/index_map.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {

const Type& one_array(std::string_view op, std::span<const Type> in) {
  if (in.size() != 1) throw VerifyError(fmt::format("{}: takes one operand.", op));
  if (!in[0].is_array())
    throw DTypeError(fmt::format("{}: {} is not an array.", op, in[0].text()), "Stack the list first.");
  return in[0];
}

void for_each_index(std::span<const std::int64_t> sizes, FunctionRef<void(std::span<const std::int64_t>)> f) {
  std::vector<std::int64_t> index(sizes.size(), 0);
  for (std::int64_t s : sizes)
    if (s == 0) return;
  while (true) {
    f(index);
    std::size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

namespace {

// Which of x's bytes a map reads for an index of the result.
auto byte_places(const IndexMap& map, const Params& params, const Buffer& x, const Shape& to) {
  const std::vector<Dim> from_sizes(x.dims().begin(), x.dims().end()), to_sizes = to.dims();
  return [&map, &params, &x, from_sizes, to_sizes](std::span<const std::int64_t> index) {
    const auto from = map.numbers(params, from_sizes, to_sizes, index);
    return row_major<std::int64_t>(x.dims(), from) * static_cast<std::int64_t>(size_of(x.dtype()));
  };
}

}  // namespace

EvalRule eval_index_map(IndexMap map) {
  return [map](const Params& params, std::span<const Value> in, const EvalContext& context) {
    const Buffer x = family::contiguous(in[0]);
    const auto place = byte_places(map, params, x, context.out[0].shape);
    Buffer out = Buffer::allocate(x.dtype(), context.out[0].shape.sizes());
    const std::size_t size = size_of(x.dtype());
    std::size_t at = 0;
    for_each_index(out.dims(), [&](std::span<const std::int64_t> index) {
      std::memcpy(out.data() + at++ * size, x.data() + place(index), size);
    });
    return std::vector<Value>{out};
  };
}

EvalRule eval_strided_map(IndexMap map) {
  return [map](const Params& params, std::span<const Value> in, const EvalContext& context) {
    const Buffer x = family::contiguous(in[0]);
    const std::vector<std::int64_t> sizes = context.out[0].shape.sizes();
    if (std::ranges::count(sizes, 0) > 0) return std::vector<Value>{Buffer::allocate(x.dtype(), sizes)};
    const auto place = byte_places(map, params, x, context.out[0].shape);
    std::vector<std::int64_t> index(sizes.size(), 0), strides(sizes.size(), 0);
    const std::int64_t first = place(index);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      if (sizes[axis] == 1) continue;
      index[axis] = 1;
      strides[axis] = place(index) - first;
      index[axis] = 0;
    }
    return std::vector<Value>{x.view(x.dtype(), sizes, strides, first).contiguous_copy()};
  };
}

LowerRule lower_index_map(IndexMap map) {
  return LowerElement{[map](const LowerArgs& args) {
    return args.load(0, map.exprs(args.params, args.in[0].shape.dims(), args.out[0].shape.dims(), args.index));
  }};
}

JvpRule jvp_by_itself(const OpInfo& op) {
  return [&op](const JvpArgs& args) {
    return JvpResult{{bind1(op, args.params, {args.primals[0]})}, {bind1(op, args.params, {*args.tangents[0]})}};
  };
}

}  // namespace tenon
