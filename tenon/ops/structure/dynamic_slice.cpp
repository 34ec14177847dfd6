// dynamic_slice and dynamic_update_slice: the part of an array at one place that is known only when the program runs.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_axes.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

struct DynamicSliceParams {
  std::vector<Dim> sizes;
};
BOOST_DESCRIBE_STRUCT(DynamicSliceParams, (), (sizes))

namespace {

extern const OpInfo dynamic_slice_info, dynamic_update_slice_info;
using kernel::Expr;

std::vector<std::int64_t> starts_of(std::span<const Value> starts, std::span<const std::int64_t> whole,
                                    std::span<const std::int64_t> part) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (part[i] > whole[i])  // sizes that were symbolic when the type was checked
      throw ShapeError(fmt::format("a part of size {} does not fit an axis of size {}.", part[i], whole[i]));
    result.push_back(clamped_start(index_value(std::get<Buffer>(starts[i]), 0), whole[i] - part[i]));
  }
  return result;
}

void check_starts(std::string_view op, const Type& x, const std::vector<Dim>& part, std::span<const Type> starts) {
  if (!x.is_array() || starts.size() != x.rank() || part.size() != x.rank())
    throw ShapeError(fmt::format("{}: {} needs a start and a size for each axis.", op, x.text()),
                     "Give one number an axis; x(i) indexes first axes alone.");
  for (std::size_t i = 0; i < x.rank(); ++i) {
    require_index_dtype(op, starts[i]);
    if (starts[i].rank() != 0)
      throw ShapeError(fmt::format("{}: a start is {}, not one number.", op, starts[i].text()),
                       "For many starts use x(indices), gather(), or vmap().");
    const Dim left = x.shape[i] - part[i];
    if ((left.known() && left.value() < 0) || (part[i].known() && part[i].value() < 0))
      throw ShapeError(
          fmt::format("{}: a part of size {} does not fit axis {} of {}.", op, part[i].text(), i, x.text()),
          "Take a part of at most the axis' size.");
  }
}

bool any_batched(const BatchArgs& args, std::size_t from) {
  return std::find(args.batched.begin() + static_cast<std::ptrdiff_t>(from), args.batched.end(), true) !=
         args.batched.end();
}

// Starts of each lane as one index vector, i64[lanes, axes].
Array index_vectors(const BatchArgs& args, std::size_t from) {
  Arrays starts;
  for (std::size_t i = from; i < args.operands.size(); ++i) {
    const Array start = convert(args.operands[i], DType::i64);
    starts.push_back(args.batched[i] ? start : add_batch_axis(start, args.size));
  }
  return stack(starts, 1);
}

// A part is a slice whose axes are all kept and all moved.
IndexAxes axes_of_part(std::size_t rank) {
  IndexAxes axes;
  axes.window.resize(rank);
  std::iota(axes.window.begin(), axes.window.end(), 0);
  axes.map = axes.window;
  return axes;
}

BatchResult dynamic_slice_batch(const BatchArgs& args) {
  std::vector<Dim> sizes = args.params.as<DynamicSliceParams>().sizes;
  const std::size_t rank = sizes.size();
  if (!any_batched(args, 1)) {
    sizes.insert(sizes.begin(), args.size);
    Arrays starts{Array(Scalar(std::int64_t(0)))};
    starts.insert(starts.end(), args.operands.begin() + 1, args.operands.end());
    return {{dynamic_slice(args.operands[0], starts, std::move(sizes))}, {true}};
  }
  const IndexAxes axes = batch_axes(axes_of_part(rank), rank, args.batched[0], true, args.size, sizes);
  return {{gather(args.operands[0], index_vectors(args, 1), axes, std::move(sizes))}, {true}};
}

BatchResult dynamic_update_slice_batch(const BatchArgs& args) {
  const auto spread = [&](std::size_t i) {
    return args.batched[i] ? args.operands[i] : add_batch_axis(args.operands[i], args.size);
  };
  const Array x = spread(0), update = spread(1);
  if (!any_batched(args, 2)) {
    Arrays starts{Array(Scalar(std::int64_t(0)))};
    starts.insert(starts.end(), args.operands.begin() + 2, args.operands.end());
    return {{dynamic_update_slice(x, update, starts)}, {true}};
  }
  std::vector<Dim> none;
  const std::size_t rank = x.rank() - 1;
  const IndexAxes axes = batch_axes(axes_of_part(rank), rank, true, true, args.size, none);
  return {{scatter(ScatterKind::set, x, index_vectors(args, 2), update, axes, {IndexMode::clip, {true, true}})},
          {true}};
}

const OpInfo dynamic_slice_info{
    .name = "dynamic_slice",
    .summary = "the part that starts at given indices",
    .params = &describe::params_ops<DynamicSliceParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      const auto& sizes = params.as<DynamicSliceParams>().sizes;
      if (in.empty()) throw VerifyError("dynamic_slice: has no operand.");
      check_starts("dynamic_slice", in[0], sizes, in.subspan(1));
      return std::vector{Type::array(in[0].dtype, Shape(sizes))};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const auto& x = std::get<Buffer>(in[0]);
      const std::vector<std::int64_t> sizes = context.out[0].shape.sizes();
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
    .batch = BatchRule(dynamic_slice_batch),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{[](const LowerArgs& args) {
      std::vector<Expr> index;
      for (std::size_t i = 0; i < args.index.size(); ++i) {
        const Dim limit = args.in[0].shape[i] - args.out[0].shape[i];
        args.require_not_negative(limit);
        index.push_back(clamped_start(start_expr(args.load(i + 1, {})), limit) + args.index[i]);
      }
      return args.load(0, index);
    }}),
    .alias = Absent{"the result is smaller"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      const Type start = Type::array(DType::i32, {});
      return {{make_params(DynamicSliceParams{{Dim(2)}}), {Type::array(d, {Dim(5)}), start}, {{-3, 3}, {-1, 6}}},
              {make_params(DynamicSliceParams{{Dim(1), Dim(2)}}),
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
      for (std::size_t i : {0, 1}) tangent[i] = tangent_or_zero(args, i);
      return JvpResult{bind_op(dynamic_update_slice_info, {}, args.primals),
                       {bind_op(dynamic_update_slice_info, {}, tangent)[0]}};
    }),
    // The update gets the part's cotangent; the array gets the rest, with zeros where it was overwritten.
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      const Array& ct = *args.cotangents[0];
      Arrays starts;
      for (std::size_t i = 2; i < args.operands.size(); ++i) starts.push_back(*args.operands[i].value);
      if (args.operands[1].linear()) args.sink.add(1, dynamic_slice(ct, starts, args.operands[1].type.shape.dims()));
      if (args.operands[0].linear())
        args.sink.add(0, dynamic_update_slice(ct, zeros_like(args.operands[1].type), starts));
    }),
    .batch = BatchRule(dynamic_update_slice_batch),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
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

const bool dynamic_slice_installed = (install_op(dynamic_slice_info), install_op(dynamic_update_slice_info), true);

}  // namespace

const OpInfo& dynamic_slice_op() { return dynamic_slice_info; }

std::optional<RowsRead> rows_of_dynamic_slice(const Params& params, const Type& x, std::span<const Array> starts) {
  const auto& sizes = params.as<DynamicSliceParams>().sizes;
  if (!std::equal(sizes.begin() + 1, sizes.end(), x.shape.begin() + 1)) return std::nullopt;
  const Array zero(Scalar(std::int64_t(0)));
  const Array start = clamp(convert(starts[0], DType::i64), zero, size_as_array(x.shape[0] - sizes[0]));
  return RowsRead{start + arange(sizes[0], DType::i64), Type::array(x.dtype, Shape(sizes)),
                  [](const Array& rows) { return rows; }};
}

namespace {

// The only axis along which a part is not the whole: starts along the others can only be 0.
std::optional<std::size_t> partial_axis(const Type& x, const Type& part) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (part.shape[i] == x.shape[i]) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace

std::optional<RowsSet> rows_set_by_update_slice(const Type& x, const Type& updates) {
  const auto axis = partial_axis(x, updates);
  return axis ? std::optional(RowsSet{*axis, 2 + *axis, 1, updates.shape[*axis]}) : std::nullopt;
}

std::optional<RowsTaken> rows_taken(const Eqn& eqn, const Program& program) {
  if (eqn.op != &dynamic_slice_info) return std::nullopt;
  const Type& part = program.type(eqn.out[0]);
  const auto axis = partial_axis(program.type(eqn.in[0]), part);
  return axis ? std::optional(RowsTaken{*axis, 1 + *axis, part.shape[*axis]}) : std::nullopt;
}

Array guarded_update_slice(const Params& params, Arrays operands, const Array& running) {
  const std::span<const Array> start = std::span(operands).subspan(2);
  operands[1] = where(running, operands[1], dynamic_slice(operands[0], start, operands[1].shape().dims()));
  return bind_op(dynamic_update_slice_info, params, operands)[0];
}

Array dynamic_slice(const Operand& x, std::span<const Array> start, std::vector<Dim> sizes) {
  const SourceScope place(x.where(), "dynamic_slice");
  Arrays operands{x};
  operands.insert(operands.end(), start.begin(), start.end());
  return bind_op(dynamic_slice_info, make_params(DynamicSliceParams{std::move(sizes)}), operands)[0];
}

Array row_at(const Array& x, const Array& i, std::size_t axis) {
  Arrays start(x.rank(), Array(Scalar(std::int64_t(0))));
  start[axis] = i;
  std::vector<Dim> sizes = x.shape().dims();
  sizes[axis] = Dim(1);
  return squeeze(dynamic_slice(x, start, sizes), static_cast<std::int64_t>(axis));
}

Array dynamic_update_slice(const Operand& x, const Operand& update, std::span<const Array> start) {
  const SourceScope place(x.where(), "dynamic_update_slice");
  Arrays operands{x, convert(update, x->dtype())};
  operands.insert(operands.end(), start.begin(), start.end());
  return bind_op(dynamic_update_slice_info, {}, operands)[0];
}

}  // namespace tenon
