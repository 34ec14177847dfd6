#include "tenon/ops/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/index_map.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/structure.h"

namespace tenon {

struct DynamicSliceParams {
  std::vector<std::int64_t> sizes;
};
BOOST_DESCRIBE_STRUCT(DynamicSliceParams, (), (sizes))
// x[batch…, n, rest…] at indices[batch…, i…]
struct GatherParams {
  std::int64_t batch;
};
BOOST_DESCRIBE_STRUCT(GatherParams, (), (batch))
BOOST_DEFINE_ENUM_CLASS(ScatterKind, add, set)
struct ScatterParams {
  std::int64_t batch;
  ScatterKind kind;
};
BOOST_DESCRIBE_STRUCT(ScatterParams, (), (batch, kind))

namespace {

extern const OpInfo dynamic_slice_info, dynamic_update_slice_info, gather_info, scatter_info;
using kernel::Binary;
using kernel::Expr;

void require_index(std::string_view op, const Type& type) {
  if (!type.is_array() || (type.dtype != DType::i32 && type.dtype != DType::i64))
    throw DTypeError(fmt::format("{}: indices are {}, not i32 or i64.", op, type.text()), "Convert them to i32.");
}

std::int64_t index_value(const Value& value, std::int64_t element = 0) {
  const auto& b = std::get<Buffer>(value);
  return b.dtype() == DType::i32 ? b.as<std::int32_t>()[element] : b.as<std::int64_t>()[element];
}

std::int64_t inside(std::int64_t start, std::int64_t limit) {
  return std::max<std::int64_t>(0, std::min(start, limit));
}
Expr inside(const Expr& start, std::int64_t limit) {
  return kernel::binary(Binary::max, kernel::binary(Binary::min, kernel::convert(DType::i64, start), Expr(limit)),
                        Expr(std::int64_t(0)));
}

// --- dynamic_slice: x, one start an axis ---
std::vector<std::int64_t> starts_of(std::span<const Value> starts, std::span<const std::int64_t> whole,
                                    std::span<const std::int64_t> part) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < starts.size(); ++i) result.push_back(inside(index_value(starts[i]), whole[i] - part[i]));
  return result;
}

void check_starts(std::string_view op, const Type& x, const std::vector<Dim>& part, std::span<const Type> starts) {
  if (!x.is_array() || starts.size() != x.rank() || part.size() != x.rank())
    throw ShapeError(fmt::format("{}: {} needs a start and a size for each axis.", op, x.text()));
  for (std::size_t i = 0; i < x.rank(); ++i) {
    require_index(op, starts[i]);
    if (starts[i].rank() != 0)
      throw ShapeError(fmt::format("{}: a start is {}, not one number.", op, starts[i].text()));
    const Dim left = x.shape[i] - part[i];
    if ((left.known() && left.value() < 0) || (part[i].known() && part[i].value() < 0))
      throw ShapeError(
          fmt::format("{}: a part of size {} does not fit axis {} of {}.", op, part[i].text(), i, x.text()));
  }
}

// Per-lane starts: the lanes' parts as rows of x flattened, by gather and scatter. Returns i64 [lanes, elements of a
// part].
Array flat_indices(const Shape& whole, const Shape& part, std::span<const Array> starts, const Dim& lanes) {
  const Dim count = part.elements();
  Array flat = zeros_like(Type::array(DType::i64, {lanes, count}));
  for (std::size_t i = 0; i < whole.rank(); ++i) {
    Dim inner = 1;
    for (std::size_t k = i + 1; k < whole.rank(); ++k) inner = inner * whole[k];
    const Array within = reshape(iota(DType::i64, part, static_cast<std::int64_t>(i)), {Dim(1), count});
    Array start = clamp(convert(starts[i], DType::i64), std::int64_t(0), (whole[i] - part[i]).value());
    if (start.rank() == 0) start = add_batch_axis(start, lanes);
    flat = flat + (reshape(start, {lanes, Dim(1)}) + within) * inner.value();
  }
  return flat;
}

Array batched_or_spread(const BatchArgs& args, std::size_t i) {
  return args.batched[i] ? args.operands[i] : add_batch_axis(args.operands[i], args.size);
}
bool any_batched(std::span<const bool> batched, std::size_t from) {
  return std::find(batched.begin() + static_cast<std::ptrdiff_t>(from), batched.end(), true) != batched.end();
}

const OpInfo dynamic_slice_info{
    .name = "dynamic_slice",
    .summary = "the part that starts at given indices",
    .params = &describe::params_ops<DynamicSliceParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      const auto& sizes = params.as<DynamicSliceParams>().sizes;
      if (in.empty()) throw VerifyError("dynamic_slice: has no operand.");
      const std::vector<Dim> part(sizes.begin(), sizes.end());
      check_starts("dynamic_slice", in[0], part, in.subspan(1));
      return std::vector{Type::array(in[0].dtype, Shape(part))};
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext&) {
      const auto& sizes = params.as<DynamicSliceParams>().sizes;
      const auto& x = std::get<Buffer>(in[0]);
      const auto starts = starts_of(in.subspan(1), x.dims(), sizes);
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < starts.size(); ++i) offset += starts[i] * x.strides()[i];
      Buffer out = Buffer::allocate(x.dtype(), sizes);
      copy_into(out, x.view(x.dtype(), sizes, x.strides(), offset));
      return std::vector<Value>{out};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      Arrays tangent(args.primals.begin(), args.primals.end());
      tangent[0] = *args.tangents[0];
      return JvpResult{bind_op(dynamic_slice_info, args.params, args.primals),
                       {bind_op(dynamic_slice_info, args.params, tangent)[0]}};
    }),
    // The part's cotangent is added in place to the sum so far: O(part), never a dense array of zeros.
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      Arrays starts;
      for (std::size_t i = 1; i < args.operands.size(); ++i) starts.push_back(*args.operands[i].value);
      const auto& sizes = args.params.as<DynamicSliceParams>().sizes;
      args.sink.update(0, [&](const Array& total) {
        return dynamic_update_slice(total, dynamic_slice(total, starts, sizes) + *args.cotangents[0], starts);
      });
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      const auto& sizes = args.params.as<DynamicSliceParams>().sizes;
      if (!any_batched(args.batched, 1)) {
        std::vector<std::int64_t> with_lanes(sizes);
        with_lanes.insert(with_lanes.begin(), args.size.value());
        Arrays starts{Array(Scalar(std::int64_t(0)))};
        starts.insert(starts.end(), args.operands.begin() + 1, args.operands.end());
        return BatchResult{{dynamic_slice(args.operands[0], starts, with_lanes)}, {true}};
      }
      const Array x = batched_or_spread(args, 0);
      const Shape whole = x.shape().without_axis(0), part{std::span<const std::int64_t>(sizes)};
      const Array flat = flat_indices(whole, part, args.operands.subspan(1), args.size);
      const Array rows =
          bind1(gather_info, make_params(GatherParams{1}), {reshape(x, {args.size, whole.elements()}), flat});
      return BatchResult{{reshape(rows, part.with_axis(0, args.size))}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerElement{[](const LowerArgs& args) {
      const auto& sizes = args.params.as<DynamicSliceParams>().sizes;
      std::vector<Expr> index;
      for (std::size_t i = 0; i < sizes.size(); ++i)
        index.push_back(inside(args.load(i + 1, {}), args.in[0].shape[i].value() - sizes[i]) + args.index[i]);
      return args.load(0, index);
    }}),
    .alias = Absent{"the result is smaller"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      const Type start = Type::array(DType::i32, {});
      return {{make_params(DynamicSliceParams{{2}}), {Type::array(d, {Dim(5)}), start}, {{-3, 3}, {-1, 6}}},
              {make_params(DynamicSliceParams{{1, 2}}),
               {Type::array(d, {Dim(3), Dim(4)}), start, start},
               {{-3, 3}, {0, 2}, {0, 4}}}};
    })};

// --- dynamic_update_slice: x, update, one start an axis ---
const OpInfo dynamic_update_slice_info{
    .name = "dynamic_update_slice",
    .summary = "x with the part that starts at given indices replaced",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() < 2 || !in[1].is_array() || in[0].dtype != in[1].dtype)
        throw DTypeError("dynamic_update_slice: the update has another dtype than the array.",
                         "Convert the update first.");
      check_starts("dynamic_update_slice", in[0], in[1].shape.dims(), in.subspan(2));
      return std::vector{in[0]};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext&) {
      const auto &x = std::get<Buffer>(in[0]), &update = std::get<Buffer>(in[1]);
      Buffer out = x.contiguous_copy();
      const auto starts = starts_of(in.subspan(2), x.dims(), update.dims());
      std::int64_t offset = 0;
      for (std::size_t i = 0; i < starts.size(); ++i) offset += starts[i] * out.strides()[i];
      Buffer place = out.view(out.dtype(), update.dims(), out.strides(), offset);
      copy_into(place, update);
      return std::vector<Value>{out};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      Arrays tangent(args.primals.begin(), args.primals.end());
      for (std::size_t i : {0, 1})
        tangent[i] = args.tangents[i] ? *args.tangents[i] : zeros_like(args.primals[i].type());
      return JvpResult{bind_op(dynamic_update_slice_info, {}, args.primals),
                       {bind_op(dynamic_update_slice_info, {}, tangent)[0]}};
    }),
    // The update gets the part's cotangent; the array gets the rest, with zeros where it was overwritten.
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      const Array& ct = *args.cotangents[0];
      Arrays starts;
      for (std::size_t i = 2; i < args.operands.size(); ++i) starts.push_back(*args.operands[i].value);
      if (args.operands[1].linear()) args.sink.add(1, dynamic_slice(ct, starts, args.operands[1].type.shape.sizes()));
      if (args.operands[0].linear())
        args.sink.add(0, dynamic_update_slice(ct, zeros_like(args.operands[1].type), starts));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      const Array x = batched_or_spread(args, 0), update = batched_or_spread(args, 1);
      if (!any_batched(args.batched, 2)) {
        Arrays starts{Array(Scalar(std::int64_t(0)))};
        starts.insert(starts.end(), args.operands.begin() + 2, args.operands.end());
        return BatchResult{{dynamic_update_slice(x, update, starts)}, {true}};
      }
      const Shape whole = x.shape().without_axis(0), part = update.shape().without_axis(0);
      const Array flat = flat_indices(whole, part, args.operands.subspan(2), args.size);
      const Array rows =
          bind1(scatter_info, make_params(ScatterParams{1, ScatterKind::set}),
                {reshape(x, {args.size, whole.elements()}), flat, reshape(update, {args.size, part.elements()})});
      return BatchResult{{reshape(rows, x.shape())}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::update_slice}),
    .alias = AliasRule{0, 0},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      const Type start = Type::array(DType::i32, {});
      return {{Params(), {Type::array(d, {Dim(5)}), Type::array(d, {Dim(2)}), start}, {{-3, 3}, {-3, 3}, {-1, 6}}},
              {Params(),
               {Type::array(d, {Dim(3), Dim(4)}), Type::array(d, {Dim(1), Dim(2)}), start, start},
               {{-3, 3}, {-3, 3}, {0, 2}, {0, 4}}}};
    })};

// --- gather and scatter ---
struct GatherShape {
  std::size_t batch, index_rank;
  Shape result;
};
GatherShape gather_shape(std::string_view op, std::int64_t batch, const Type& x, const Type& indices,
                         TypeContext& context) {
  require_index(op, indices);
  const auto b = static_cast<std::size_t>(batch);
  if (!x.is_array() || batch < 0 || x.rank() < b + 1 || indices.rank() < b)
    throw ShapeError(fmt::format("{}: {} at {} with {} batch axes.", op, x.text(), indices.text(), batch));
  std::vector<Dim> dims(indices.shape.begin(), indices.shape.end());
  for (std::size_t i = 0; i < b; ++i)
    context.require_equal(x.shape[i], indices.shape[i],
                          fmt::format("{}: {} and {} differ on batch axis {}.", op, x.text(), indices.text(), i));
  for (std::size_t i = b + 1; i < x.rank(); ++i) dims.push_back(x.shape[i]);
  return {b, indices.rank() - b, Shape(std::move(dims))};
}

// For each element of the updates: its offset into x and into indices.
void for_each_row(const Buffer& x, const Buffer& indices, std::int64_t batch,
                  const std::function<void(std::int64_t x_row, std::int64_t row, std::int64_t index)>& f) {
  std::int64_t lanes = 1;
  for (std::int64_t i = 0; i < batch; ++i) lanes *= x.dims()[static_cast<std::size_t>(i)];
  const std::int64_t n = x.dims()[static_cast<std::size_t>(batch)];
  const std::int64_t each = lanes == 0 ? 0 : indices.elements() / lanes;
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    for (std::int64_t k = 0; k < each; ++k) f(lane * n, lane * each + k, index_value(Value(indices), lane * each + k));
}

const OpInfo gather_info{
    .name = "gather",
    .summary = "rows of x at indices",
    .params = &describe::params_ops<GatherParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 2) throw VerifyError("gather: takes an array and indices.");
      const auto batch = params.as<GatherParams>().batch;
      const GatherShape shape = gather_shape("gather", batch, in[0], in[1], context);
      if (in[0].shape[shape.batch] == Dim(0) && shape.result.elements() != Dim(0))
        throw ShapeError(fmt::format("gather: {} has no rows to take.", in[0].text()));
      return std::vector{Type::array(in[0].dtype, shape.result)};
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const Buffer x = family::contiguous(in[0]), indices = family::contiguous(in[1]);
      const auto batch = params.as<GatherParams>().batch;
      Buffer out = Buffer::allocate(x.dtype(), context.out[0].shape.sizes());
      std::size_t row_bytes = size_of(x.dtype());
      for (std::size_t i = static_cast<std::size_t>(batch) + 1; i < x.rank(); ++i)
        row_bytes *= static_cast<std::size_t>(x.dims()[i]);
      const std::int64_t n = x.dims()[static_cast<std::size_t>(batch)];
      if (out.elements() > 0)
        for_each_row(x, indices, batch, [&](std::int64_t base, std::int64_t row, std::int64_t index) {
          std::memcpy(out.data() + static_cast<std::size_t>(row) * row_bytes,
                      x.data() + static_cast<std::size_t>(base + inside(index, n - 1)) * row_bytes, row_bytes);
        });
      return std::vector<Value>{out};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      return JvpResult{bind_op(gather_info, args.params, args.primals),
                       {bind1(gather_info, args.params, {*args.tangents[0], args.primals[1]})}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      const auto batch = args.params.as<GatherParams>().batch;
      const Dim n = args.operands[0].type.shape[static_cast<std::size_t>(batch)];
      const Array clamped = clamp(*args.operands[1].value, 0, n.value() - 1);
      args.sink.update(0, [&](const Array& total) {
        return bind1(scatter_info, make_params(ScatterParams{batch, ScatterKind::add}),
                     {total, clamped, *args.cotangents[0]});
      });
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      const auto p = args.params.as<GatherParams>();
      if (!args.batched[0] && p.batch == 0)
        return BatchResult{{bind1(gather_info, args.params, {args.operands[0], args.operands[1]})}, {true}};
      return BatchResult{{bind1(gather_info, make_params(GatherParams{p.batch + 1}),
                                {batched_or_spread(args, 0), batched_or_spread(args, 1)})},
                         {true}};
    }),
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerElement{[](const LowerArgs& args) {
      const auto b = static_cast<std::size_t>(args.params.as<GatherParams>().batch);
      const std::size_t index_rank = args.in[1].rank();
      std::vector<Expr> at(args.index.begin(), args.index.begin() + static_cast<std::ptrdiff_t>(index_rank));
      std::vector<Expr> from(args.index.begin(), args.index.begin() + static_cast<std::ptrdiff_t>(b));
      from.push_back(inside(args.load(1, at), args.in[0].shape[b].value() - 1));
      from.insert(from.end(), args.index.begin() + static_cast<std::ptrdiff_t>(index_rank), args.index.end());
      return args.load(0, from);
    }}),
    .alias = Absent{"elements change places"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      return {{make_params(GatherParams{0}),
               {Type::array(d, {Dim(5)}), Type::array(DType::i32, {Dim(2), Dim(3)})},
               {{-3, 3}, {-1, 6}}},
              {make_params(GatherParams{1}),
               {Type::array(d, {Dim(2), Dim(3), Dim(2)}), Type::array(DType::i32, {Dim(2), Dim(4)})},
               {{-3, 3}, {0, 2}}}};
    })};

std::vector<Value> scatter_eval(const Params& params, std::span<const Value> in, const EvalContext&) {
  const auto& p = params.as<ScatterParams>();
  const Buffer indices = family::contiguous(in[1]), updates = family::contiguous(in[2]);
  Buffer out = std::get<Buffer>(in[0]).contiguous_copy();
  std::int64_t row = 1;
  for (std::size_t i = static_cast<std::size_t>(p.batch) + 1; i < out.rank(); ++i) row *= out.dims()[i];
  const std::int64_t n = out.dims()[static_cast<std::size_t>(p.batch)];
  dispatch(out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* to = out.as<T>();
    const T* from = updates.as<T>();
    for_each_row(out, indices, p.batch, [&](std::int64_t base, std::int64_t update, std::int64_t index) {
      if (index < 0 || index >= n) return;
      for (std::int64_t k = 0; k < row; ++k) {
        T& target = to[(base + index) * row + k];
        const T value = from[update * row + k];
        if (p.kind == ScatterKind::set)
          target = value;
        else
          target = static_cast<T>(widen(target) + widen(value));
      }
    });
  });
  return {out};
}
const OpInfo scatter_info{
    .name = "scatter",
    .summary = "x with rows added to, or set at, indices",
    .params = &describe::params_ops<ScatterParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 3) throw VerifyError("scatter: takes an array, indices and updates.");
      const GatherShape shape = gather_shape("scatter", params.as<ScatterParams>().batch, in[0], in[1], context);
      if (in[2] != Type::array(in[0].dtype, shape.result))
        throw ShapeError(fmt::format("scatter: the updates are {}; {} at {} takes {}.", in[2].text(), in[0].text(),
                                     in[1].text(), Type::array(in[0].dtype, shape.result).text()));
      return std::vector{in[0]};
    }),
    .eval = EvalRule(scatter_eval),
    .jvp = JvpRule([](const JvpArgs& args) {
      // Linear as well when it sets: the last write of an index decides for value and tangent alike.
      const auto tangent = [&](std::size_t i) {
        return args.tangents[i] ? *args.tangents[i] : zeros_like(args.primals[i].type());
      };
      return JvpResult{bind_op(scatter_info, args.params, args.primals),
                       {bind1(scatter_info, args.params, {tangent(0), args.primals[1], tangent(2)})}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      const auto& p = args.params.as<ScatterParams>();
      const Array &ct = *args.cotangents[0], &indices = *args.operands[1].value;
      const Type updates = args.operands[2].type;
      const std::int64_t n = ct.shape()[static_cast<std::size_t>(p.batch)].value();
      const auto spread = [&](const Array& rows_mask) {  // over the axes of a row
        std::vector<std::int64_t> dims(indices.rank());
        std::iota(dims.begin(), dims.end(), 0);
        return broadcast_in_dim(rows_mask, updates.shape, dims);
      };
      Array taken = (indices >= 0) & (indices < n);
      if (p.kind == ScatterKind::set) {
        // Only the last update of an index counts: number the updates, scatter the numbers, and see who stayed.
        Array number = iota(DType::i32, Shape{indices.shape().elements()}, 0);
        number = reshape(number, indices.shape());
        const Shape whole = ct.shape();
        std::vector<Dim> flat(whole.begin(), whole.begin() + p.batch + 1);
        const Array owner =
            bind1(scatter_info, args.params, {full(Shape(flat), Array(Scalar(std::int32_t(-1)))), indices, number});
        taken = taken & (bind1(gather_info, make_params(GatherParams{p.batch}), {owner, indices}) == number);
      }
      if (args.operands[2].linear()) {
        const Array rows = bind1(gather_info, make_params(GatherParams{p.batch}), {ct, indices});
        args.sink.add(2, where(spread(taken), rows, zeros_like(updates)));
      }
      if (args.operands[0].linear())
        args.sink.add(
            0, p.kind == ScatterKind::add ? ct : bind1(scatter_info, args.params, {ct, indices, zeros_like(updates)}));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      auto p = args.params.as<ScatterParams>();
      ++p.batch;
      return BatchResult{{bind1(scatter_info, make_params(p),
                                {batched_or_spread(args, 0), batched_or_spread(args, 1), batched_or_spread(args, 2)})},
                         {true}};
    }),
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::scatter}),
    .alias = AliasRule{0, 0},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      if (d == DType::bool_) return {};
      std::vector<SampleCase> cases;
      for (ScatterKind kind : {ScatterKind::add, ScatterKind::set}) {
        cases.push_back({make_params(ScatterParams{0, kind}),
                         {Type::array(d, {Dim(5)}), Type::array(DType::i32, {Dim(4)}), Type::array(d, {Dim(4)})},
                         {{-3, 3}, {-1, 6}, {-3, 3}}});
        cases.push_back({make_params(ScatterParams{1, kind}),
                         {Type::array(d, {Dim(2), Dim(3), Dim(2)}), Type::array(DType::i32, {Dim(2), Dim(4)}),
                          Type::array(d, {Dim(2), Dim(4), Dim(2)})},
                         {{-3, 3}, {0, 2}, {-3, 3}}});
      }
      return cases;
    })};

const bool installed = [] {
  for (const OpInfo* op : {
           &dynamic_slice_info,
           &dynamic_update_slice_info,
           &gather_info,
           &scatter_info,
       })
    install_op(*op);
  return true;
}();

Array from_end(const Array& index, const Dim& n) {
  if (is_unsigned_integer(index.dtype())) return convert(index, DType::i32);
  if (!is_integer(index.dtype()))
    throw DTypeError(fmt::format("an index is {}.", index.type().text()), "Indices are integers.");
  const Array i = size_of(index.dtype()) < 4 ? convert(index, DType::i32) : index;
  return where(i < 0, i + n.value(), i).with_weak(false);
}

Arrays starts_at(const Array& x, const Array& index) {
  Arrays starts(x.rank(), Array(Scalar(std::int32_t(0))));
  starts[0] = from_end(index, x.shape()[0]);
  return starts;
}

}  // namespace

ScatterForm scatter_form(const Params& params) {
  const auto& p = params.as<ScatterParams>();
  return {p.batch, p.kind == ScatterKind::add};
}

Array dynamic_slice(const Operand& x, std::span<const Array> start, std::vector<std::int64_t> sizes) {
  const SourceScope place(x.where());
  Arrays operands{x};
  operands.insert(operands.end(), start.begin(), start.end());
  return bind_op(dynamic_slice_info, make_params(DynamicSliceParams{std::move(sizes)}), operands)[0];
}

Array dynamic_update_slice(const Operand& x, const Operand& update, std::span<const Array> start) {
  const SourceScope place(x.where());
  Arrays operands{x, convert(update, x->dtype())};
  operands.insert(operands.end(), start.begin(), start.end());
  return bind_op(dynamic_update_slice_info, {}, operands)[0];
}

Array at_index(const Operand& x, const Operand& index) {
  const SourceScope place(x.where());
  const Shape shape = x->shape();
  if (shape.rank() == 0) throw ShapeError("an array of rank 0 cannot be indexed.");
  if (index->rank() != 0) return take(x, index, 0);
  auto sizes = shape.sizes();
  sizes[0] = 1;
  return reshape(dynamic_slice(x, starts_at(x, index), sizes), shape.without_axis(0));
}

Array update_at_index(const Operand& x, const Operand& index, const Operand& value) {
  const SourceScope place(x.where());
  const Shape shape = x->shape();
  if (shape.rank() == 0) throw ShapeError("an array of rank 0 cannot be indexed.");
  Shape row = shape;
  row[0] = 1;
  return dynamic_update_slice(x, reshape(broadcast_to(value, shape.without_axis(0)), row), starts_at(x, index));
}

Array take(const Operand& x, const Operand& indices, std::int64_t axis) {
  const SourceScope place(x.where());
  const std::size_t at = normalize_axis(axis, x->rank(), "take");
  const Array first = move_axis(x, axis, 0);
  const Array rows = bind1(gather_info, make_params(GatherParams{0}), {first, from_end(indices, first.shape()[0])});
  if (at == 0) return rows;
  // The axes of `indices` go back to where the axis was.
  const std::size_t index_rank = indices->rank(), rank = rows.rank();
  std::vector<std::int64_t> permutation;
  for (std::size_t i = 0; i < at; ++i) permutation.push_back(static_cast<std::int64_t>(index_rank + i));
  for (std::size_t i = 0; i < index_rank; ++i) permutation.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = index_rank + at; i < rank; ++i) permutation.push_back(static_cast<std::int64_t>(i));
  return transpose(rows, permutation);
}

namespace {
Array scatter(ScatterKind kind, const Operand& x, const Operand& indices, const Operand& updates) {
  const SourceScope place(x.where());
  const Shape shape = x->shape();
  if (shape.rank() == 0) throw ShapeError("an array of rank 0 cannot be indexed.");
  std::vector<Dim> dims = indices->shape().dims();
  dims.insert(dims.end(), shape.begin() + 1, shape.end());
  const Array rows = broadcast_to(convert(updates, x->dtype()), Shape(dims));
  return bind1(scatter_info, make_params(ScatterParams{0, kind}), {x, from_end(indices, shape[0]), rows});
}
}  // namespace
Array scatter_add(const Operand& x, const Operand& indices, const Operand& updates) {
  return scatter(ScatterKind::add, x, indices, updates);
}
Array scatter_set(const Operand& x, const Operand& indices, const Operand& updates) {
  return scatter(ScatterKind::set, x, indices, updates);
}

}  // namespace tenon
