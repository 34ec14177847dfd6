// Ops that put arrays together out of others or out of nothing: concatenate, pad, iota.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tenon/ir/describe_params.h"
#include "tenon/ir/origins.h"
#include "tenon/ir/scope.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/lists/list_elements.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/as_size.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

struct ConcatenateParams {
  std::int64_t axis;
};
BOOST_DESCRIBE_STRUCT(ConcatenateParams, (), (axis))
struct PadParams {
  std::vector<std::int64_t> low, high, interior;
};
BOOST_DESCRIBE_STRUCT(PadParams, (), (low, high, interior))
struct IotaParams {
  DType dtype;
  Shape shape;
  std::int64_t axis;
};
BOOST_DESCRIBE_STRUCT(IotaParams, (), (dtype, shape, axis))
struct SizeParams {
  Dim size;
};
BOOST_DESCRIBE_STRUCT(SizeParams, (), (size))

namespace {

extern const OpInfo concatenate_info, pad_info, iota_info;
using kernel::Binary;
using kernel::Expr;

// --- concatenate ---
// Throws ShapeError where two parts cannot stand behind one another, whatever their dtypes.
void require_joinable(const Type& first, const Type& part, std::int64_t axis, FunctionRef<std::string()> lines) {
  if (!first.is_array() || !part.is_array() || part.rank() != first.rank())
    throw ShapeError(fmt::format("concatenate: {} and {} differ in rank.", first.text(), part.text()),
                     "Reshape one of them; stack() puts arrays of one shape along a new axis.");
  for (std::size_t i = 0; i < first.rank(); ++i) {
    const Dim &a = first.shape[i], &b = part.shape[i];
    if (static_cast<std::int64_t>(i) != axis && a.known() && b.known() && a != b)
      throw ShapeError(fmt::format("concatenate: {} and {} along axis {} differ on axis {}.{}", first.text(),
                                   part.text(), axis, i, lines()),
                       "Only the axis along which arrays are put together may differ.");
  }
}

Type concatenate_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const std::int64_t axis = params.as<ConcatenateParams>().axis;
  if (in.empty()) throw ShapeError("concatenate: there is nothing to put together.", "Give at least one array.");
  if (!in[0].is_array() || axis < 0 || axis >= static_cast<std::int64_t>(in[0].rank()))
    throw ShapeError(fmt::format("concatenate: {} has no axis {}.", in[0].text(), axis),
                     "Use stack() to make a new axis.");
  Shape shape = in[0].shape;
  const auto at = static_cast<std::size_t>(axis);
  for (std::size_t k = 1; k < in.size(); ++k) {
    require_joinable(in[0], in[k], axis, [] { return std::string(); });
    if (in[k].dtype != in[0].dtype)
      throw DTypeError(fmt::format("concatenate: {} and {} differ in dtype.", in[0].text(), in[k].text()),
                       "Convert one of them.");
    for (std::size_t i = 0; i < shape.rank(); ++i)
      if (i != at)
        context.require_equal(shape[i], in[k].shape[i], [&] {
          return fmt::format("concatenate: {} and {} along axis {} differ on axis {}.", in[0].text(), in[k].text(),
                             axis, i);
        });
    shape[at] = shape[at] + in[k].shape[at];
  }
  return Type::array(in[0].dtype, shape);
}

std::vector<Value> concatenate_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto at = static_cast<std::size_t>(params.as<ConcatenateParams>().axis);
  const auto sizes = context.out[0].shape.sizes();
  Buffer out = Buffer::allocate(context.out[0].dtype, sizes);
  std::int64_t start = 0;
  for (const Value& value : in) {
    const Buffer& part = std::get<Buffer>(value);
    Buffer place = out.view(out.dtype(), part.dims(), out.strides(), start * out.strides()[at]);
    copy_into(place, part);
    start += part.dims()[at];
  }
  return {out};
}

Expr concatenate_element(const LowerArgs& args) {
  const auto at = static_cast<std::size_t>(args.params.as<ConcatenateParams>().axis);
  std::vector<Dim> starts;
  Dim start = 0;
  for (const Type& type : args.in) {
    starts.push_back(start);
    start = start + type.shape[at];
  }
  std::vector<Expr> index(args.index.begin(), args.index.end());
  Expr value;
  for (std::size_t k = args.in.size(); k-- > 0;) {
    const Dim& size = args.in[k].shape[at];
    if (size == Dim(0)) continue;
    // A part that is not taken is read at an index that it has.
    const Expr inside = kernel::binary(Binary::min, args.index[at] - kernel::size(starts[k]), kernel::size(size - 1));
    index[at] = kernel::binary(Binary::max, inside, Expr(std::int64_t(0)));
    const Expr element = args.load(k, index), end = kernel::size(starts[k] + size);
    value = value ? kernel::select(kernel::binary(Binary::lt, args.index[at], end), element, value) : element;
  }
  if (!value) value = args.load(0, args.index);
  return value;
}

const OpInfo concatenate_info{
    .name = "concatenate",
    .summary = "arrays one after another along an axis",
    .params = &describe::params_ops<ConcatenateParams>,
    .type = TypeRule([](const Params& p, std::span<const Type> in, TypeContext& c) {
      return std::vector{concatenate_type(p, in, c)};
    }),
    .eval = EvalRule(concatenate_eval),
    .jvp = JvpRule([](const JvpArgs& args) {
      Arrays tangents;
      for (std::size_t i = 0; i < args.primals.size(); ++i) tangents.push_back(tangent_or_zero(args, i));
      return JvpResult{bind_op(concatenate_info, args.params, args.primals),
                       {bind_op(concatenate_info, args.params, tangents)[0]}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      const std::int64_t axis = args.params.as<ConcatenateParams>().axis;
      Dim start = 0;
      for (std::size_t i = 0; i < args.operands.size(); ++i) {
        const Dim size = args.operands[i].type.shape[static_cast<std::size_t>(axis)];
        if (args.operands[i].linear()) args.sink.add(i, slice_in_dim(*args.cotangents[0], start, start + size, axis));
        start = start + size;
      }
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      Arrays parts;
      for (std::size_t i = 0; i < args.operands.size(); ++i)
        parts.push_back(args.batched[i] ? args.operands[i] : add_batch_axis(args.operands[i], args.size));
      return BatchResult{bind_op(concatenate_info,
                                 make_params(ConcatenateParams{args.params.as<ConcatenateParams>().axis + 1}), parts),
                         {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{concatenate_element}),
    .alias = Absent{"the result is larger"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      return {
          {make_params(ConcatenateParams{0}), {Type::array(d, {Dim(2)}), Type::array(d, {Dim(3)})}, {{-3, 3}, {-3, 3}}},
          {make_params(ConcatenateParams{1}),
           {Type::array(d, {Dim(2), Dim(1)}), Type::array(d, {Dim(2), Dim(3)}), Type::array(d, {Dim(2), Dim(0)})},
           {{-3, 3}, {-3, 3}, {-3, 3}}}};
    })};

// --- pad ---
Type pad_type(const Params& params, std::span<const Type> in) {
  const auto& p = params.as<PadParams>();
  if (in.size() != 2) throw VerifyError("pad: takes an array and the value to put around it.");
  if (!in[0].is_array() || in[1] != Type::array(in[0].dtype, {}))
    throw ShapeError(fmt::format("pad: the value put around {} is not one element of its dtype.", in[0].text()));
  if (p.low.size() != in[0].rank() || p.high.size() != in[0].rank() || p.interior.size() != in[0].rank())
    throw ShapeError(fmt::format("pad: {} needs {} widths before, after and between.", in[0].text(), in[0].rank()),
                     "Give one width an axis; 0 leaves an axis as it is.");
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < in[0].rank(); ++i) {
    const Dim n = in[0].shape[i];
    if (p.interior[i] < 0)
      throw ShapeError(fmt::format("pad: a width of {} between elements of {}.", p.interior[i], in[0].text()),
                       "Widths between elements are at least 0.");
    const Dim between = n == Dim(0) ? Dim(0) : (n - Dim(1)) * Dim(p.interior[i]);
    dims.push_back(n + between + Dim(p.low[i]) + Dim(p.high[i]));
    if (dims.back().known() && dims.back().value() < 0)
      throw ShapeError(fmt::format("pad: more is cut from axis {} of {} than it has.", i, in[0].text()),
                       "Negative widths cut off at most the size of the axis.");
  }
  return Type::array(in[0].dtype, Shape(std::move(dims)));
}
std::vector<Value> pad_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto& p = params.as<PadParams>();
  const Buffer x = family::contiguous(in[0]);
  const Buffer& value = std::get<Buffer>(in[1]);
  const auto sizes = context.out[0].shape.sizes();
  Buffer out = Buffer::allocate(x.dtype(), sizes);
  const std::size_t size = size_of(x.dtype());
  std::size_t at = 0;
  std::vector<std::int64_t> from;
  for_each_index(sizes, [&](std::span<const std::int64_t> index) {
    from.clear();
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::int64_t step = p.interior[i] + 1, offset = index[i] - p.low[i];
      if (offset >= 0 && offset % step == 0 && offset / step < x.dims()[i]) from.push_back(offset / step);
    }
    const std::byte* source = from.size() == index.size()
                                  ? x.data() + static_cast<std::size_t>(row_major<std::int64_t>(x.dims(), from)) * size
                                  : value.data();
    std::memcpy(out.data() + at++ * size, source, size);
  });
  return {out};
}
Expr pad_element(const LowerArgs& args) {
  const auto& p = args.params.as<PadParams>();
  std::vector<Expr> from;
  Expr inside;
  const auto require = [&](const Expr& condition) {
    inside = inside ? kernel::binary(Binary::and_, inside, condition) : condition;
  };
  const Expr zero(std::int64_t(0));
  for (std::size_t i = 0; i < args.index.size(); ++i) {
    const Dim& n = args.in[0].shape[i];
    const std::int64_t step = p.interior[i] + 1;
    if (n == Dim(0)) return args.load(1, {});
    Expr offset = args.index[i] - Expr(p.low[i]);
    if (p.low[i] > 0) require(kernel::binary(Binary::ge, offset, zero));
    if (step > 1) {
      require(kernel::binary(Binary::eq, offset % Expr(step), zero));
      offset = offset / Expr(step);
    }
    if (p.high[i] > 0 || step > 1) require(kernel::binary(Binary::lt, offset, kernel::size(n)));
    from.push_back(p.low[i] > 0 || p.high[i] > 0 || step > 1
                       ? kernel::binary(Binary::max, kernel::binary(Binary::min, offset, kernel::size(n - 1)), zero)
                       : offset);
  }
  const Expr element = args.load(0, from);
  return inside ? kernel::select(inside, element, args.load(1, {})) : element;
}
const OpInfo pad_info{
    .name = "pad",
    .summary = "a value around and between elements",
    .params = &describe::params_ops<PadParams>,
    .type =
        TypeRule([](const Params& p, std::span<const Type> in, TypeContext&) { return std::vector{pad_type(p, in)}; }),
    .eval = EvalRule(pad_eval),
    .jvp = JvpRule([](const JvpArgs& args) {
      return JvpResult{bind_op(pad_info, args.params, args.primals),
                       {bind1(pad_info, args.params, {tangent_or_zero(args, 0), tangent_or_zero(args, 1)})}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      const auto& p = args.params.as<PadParams>();
      const Array& ct = *args.cotangents[0];
      // Back: cut what was put around (put back zeros where elements were cut), then take every (interior + 1)th.
      std::vector<std::int64_t> low, high, stride;
      for (std::size_t i = 0; i < p.low.size(); ++i) {
        low.push_back(-p.low[i]);
        high.push_back(-p.high[i]);
        stride.push_back(p.interior[i] + 1);
      }
      const Array cut = pad(ct, zeros_like(Type::array(ct.dtype(), {})), low, high);
      const Array mine = slice(cut, std::vector<Dim>(p.low.size(), 0), cut.shape().dims(), stride);
      if (args.operands[0].linear()) args.sink.add(0, mine);
      if (args.operands[1].linear()) args.sink.add(1, sum(ct) - sum(mine));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      auto p = args.params.as<PadParams>();
      for (auto* widths : {&p.low, &p.high, &p.interior}) widths->insert(widths->begin(), 0);
      if (!args.batched[1])
        return BatchResult{{bind1(pad_info, make_params(p), {args.operands[0], args.operands[1]})}, {true}};
      // The value differs by lane: pad a mask too, and choose.
      const Array x = args.batched[0] ? args.operands[0] : add_batch_axis(args.operands[0], args.size);
      const Array zero = zeros_like(Type::array(x.dtype(), {}));
      const Array padded = bind1(pad_info, make_params(p), {x, zero});
      const Array inside =
          bind1(pad_info, make_params(p),
                {ones_like(Type::array(DType::bool_, x.shape())), zeros_like(Type::array(DType::bool_, {}))});
      return BatchResult{{where(inside, padded, broadcast_in_dim(args.operands[1], padded.shape(), {0}))}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{pad_element}),
    .alias = Absent{"the result has another size"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      const Type cell = Type::array(d, {});
      return {{make_params(PadParams{{1}, {2}, {0}}), {Type::array(d, {Dim(3)}), cell}, {{-3, 3}, {-3, 3}}},
              {make_params(PadParams{{-1, 0}, {1, -1}, {0, 1}}),
               {Type::array(d, {Dim(2), Dim(3)}), cell},
               {{-3, 3}, {-3, 3}}},
              {make_params(PadParams{{2}, {0}, {0}}), {Type::array(d, {Dim(0)}), cell}, {{-3, 3}, {-3, 3}}}};
    })};

// --- iota ---
const OpInfo iota_info{
    .name = "iota",
    .summary = "0, 1, 2, … along an axis",
    .params = &describe::params_ops<IotaParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      const auto& p = params.as<IotaParams>();
      if (!in.empty() || p.axis < 0 || p.axis >= static_cast<std::int64_t>(p.shape.rank()))
        throw ShapeError(fmt::format("iota: {} has no axis {}.", p.shape.text(), p.axis),
                         p.shape.rank() == 0 ? "An array of rank 0 counts nothing: give a shape with at least one axis."
                                             : "Axes are numbered from 0, the first of the shape.");
      if (p.dtype == DType::bool_)
        throw DTypeError("iota: bool has no numbers to count with.",
                         "Count in i32, and compare or convert the result.");
      return std::vector{Type::array(p.dtype, p.shape)};
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value>, const EvalContext& context) {
      const auto at = static_cast<std::size_t>(params.as<IotaParams>().axis);
      const auto sizes = context.out[0].shape.sizes();
      Buffer out = Buffer::allocate(context.out[0].dtype, sizes);
      const std::size_t size = size_of(out.dtype());
      std::size_t i = 0;
      for_each_index(sizes, [&](std::span<const std::int64_t> index) {
        const Scalar value = Scalar(index[at]).convert(out.dtype());
        std::memcpy(out.data() + i++ * size, value.data(), size);
      });
      return std::vector<Value>{out};
    }),
    .jvp = Absent{"it has no operand"},
    .transpose = Absent{"it has no operand"},
    .batch = Absent{"it has no operand"},
    .split = Absent{"wholly known"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{[](const LowerArgs& args) {
      const auto& p = args.params.as<IotaParams>();
      return kernel::convert(p.dtype, args.index[static_cast<std::size_t>(p.axis)]);
    }}),
    .alias = Absent{"it has no operand"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      if (d == DType::bool_) return {};
      return {{make_params(IotaParams{d, {Dim(5)}, 0}), {}, {}},
              {make_params(IotaParams{d, {Dim(2), Dim(3)}, 1}), {}, {}}};
    })};

// --- size ---
const OpInfo size_info{
    .name = "size",
    .summary = "a size, or what is computed of sizes, as a number",
    .params = &describe::params_ops<SizeParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      if (!in.empty()) throw VerifyError("size: takes no operands.");
      params.as<SizeParams>();
      return std::vector{Type::array(DType::i64, {})};
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value>, const EvalContext&) {
      Buffer out = Buffer::allocate(DType::i64, {});
      *out.as<std::int64_t>() = params.as<SizeParams>().size.value();
      return std::vector<Value>{out};
    }),
    .jvp = Absent{"it has no operand"},
    .transpose = Absent{"it has no operand"},
    .batch = Absent{"it has no operand"},
    .split = Absent{"wholly known"},
    .guard = Absent{"no Programs inside"},
    .lower =
        LowerRule(LowerElement{[](const LowerArgs& args) { return kernel::size(args.params.as<SizeParams>().size); }}),
    .alias = Absent{"it has no operand"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      if (d != DType::i64) return {};
      return {{make_params(SizeParams{Dim(3)}), {}, {}}, {make_params(SizeParams{Dim(-2)}), {}, {}}};
    })};

const bool assemble_installed = [] {
  for (const OpInfo* op : {&concatenate_info, &pad_info, &iota_info, &size_info}) install_op(*op);
  return true;
}();

}  // namespace

const OpInfo& pad_op() { return pad_info; }
PadForm pad_form(const Params& params) {
  const auto& p = params.as<PadParams>();
  return {p.low, p.high, p.interior};
}

std::optional<std::int64_t> counted_axis(const Eqn& eqn) {
  return eqn.op == &iota_info ? std::optional(eqn.params.as<IotaParams>().axis) : std::nullopt;
}
std::optional<std::int64_t> concatenated_axis(const Eqn& eqn) {
  return eqn.op == &concatenate_info ? std::optional(eqn.params.as<ConcatenateParams>().axis) : std::nullopt;
}

Array concatenate(std::span<const Array> parts, std::int64_t axis, const Source& where) {
  const SourceScope place(where, "concatenate");
  if (parts.empty()) throw ShapeError("concatenate: there is nothing to put together.", "Give at least one array.");
  const auto at = static_cast<std::int64_t>(normalize_axis(axis, parts[0].type(), "concatenate"));
  // Told before the parts meet in one dtype: of the types that the caller gave.
  for (const Array& part : parts)
    require_joinable(parts[0].type(), part.type(), at, [&] { return lines_of(std::vector<Array>{parts[0], part}); });
  const Promoted met = promoted("concatenate", parts);
  Arrays operands;
  for (const Array& part : parts) operands.push_back(convert(part, met.dtype));
  return operands.size() == 1 ? operands[0]
                              : bind_op(concatenate_info, make_params(ConcatenateParams{at}), operands)[0];
}

Array pad(const Operand& x, const Operand& value, std::vector<std::int64_t> low, std::vector<std::int64_t> high,
          std::vector<std::int64_t> interior) {
  const SourceScope place(x.where(), "pad");
  if (interior.empty()) interior.assign(low.size(), 0);
  const Array around = convert_into("pad", x, value);
  const auto is_nothing = [](std::int64_t width) { return width == 0; };
  const auto are_nothing = [&](const std::vector<std::int64_t>& widths) {
    return widths.size() == x->rank() && std::ranges::all_of(widths, is_nothing);
  };
  if (around.rank() == 0 && x->rank() > 0 && are_nothing(low) && are_nothing(high) && are_nothing(interior)) return x;
  return bind1(pad_info, make_params(PadParams{std::move(low), std::move(high), std::move(interior)}), {x, around});
}

Array iota(DType dtype, const Shape& shape, std::int64_t axis, const Source& where) {
  const SourceScope place(where, "iota");
  return bind1(iota_info, make_params(IotaParams{dtype, shape, axis}), {});
}
Array arange(const Dim& n, DType dtype, const Source& where) {
  const SourceScope place(where, "arange");
  return iota(dtype, Shape{n}, 0, where);
}
Array size_as_array(const Dim& size, const Source& where) {
  if (size.known()) return Array(Scalar(size.value()));
  const SourceScope place(where, "size_as_array");
  return bind1(size_info, make_params(SizeParams{size}), {});
}
Array size_as_array(const Dim& size, DType dtype) {
  return size.known() ? Array(Scalar(size.value()).convert(dtype)) : convert(size_as_array(size), dtype);
}

namespace {

// What made a number while tracing; nullptr of arguments, and of what is known.
const Eqn* maker_of(const Array& number) {
  const Traced* traced = number.traced();
  return traced == nullptr || !Scope::open(*traced) ? nullptr : Scope::of(*traced).maker(traced->var);
}
Array first_operand(const Array& result, const Eqn& maker) {
  return Array(Traced{result.traced()->scope, maker.in[0]}, false);
}

// Whether a number is at least 0 whatever is given, as a count of truths is.
bool is_count(Array number) {
  for (;;) {
    if (number.dtype() == DType::bool_ || is_unsigned_integer(number.dtype())) return true;
    const Eqn* maker = maker_of(number);
    if (maker == nullptr) return false;
    const std::string_view op = maker->op->name;
    if (op == "size") return true;
    if (op != "convert" && op != "sum" && op != "max") return false;
    number = first_operand(number, *maker);
  }
}

}  // namespace

std::optional<Dim> as_size(const Array& number) {
  if (const Scalar* known = number.number(); known != nullptr && is_integer(known->dtype()))
    return Dim(known->convert(DType::i64).as<std::int64_t>());
  const Eqn* maker = maker_of(number);
  if (maker != nullptr && maker->op->name == "convert") maker = maker_of(first_operand(number, *maker));
  if (maker == nullptr || maker->op != &size_info) return std::nullopt;
  const Dim& size = maker->params.as<SizeParams>().size;
  // Narrower integers hold what they say of sizes that fit.
  const bool fits = size_of(number.dtype()) == 8 || decided_less(size, Dim(std::int64_t(1) << 31)) == true;
  return fits && (number.dtype() == DType::i64 || number.dtype() == DType::i32) ? std::optional(size) : std::nullopt;
}
Dim array_as_size(const Operand& number) {
  const SourceScope place(number.where(), "array_as_size");
  if (number->rank() != 0 || !is_integer(number->dtype()))
    throw DTypeError(fmt::format("a size is {}, which is no single integer.", number->type().text()),
                     "Take one element, and convert() it to an integer dtype.");
  if (const auto size = as_size(number)) return *size;
  const Traced* traced = number->traced();
  if (traced == nullptr || Scope::of(*traced).knows(traced->var))
    return Dim(number->item_scalar(number.where()).convert(DType::i64).as<std::int64_t>());
  return extent(convert(number, DType::i64));
}
Dim array_as_bound(const Operand& number) {
  const Traced* traced = number->traced();
  const bool known = traced == nullptr || !Scope::open(*traced) || Scope::of(*traced).knows(traced->var);
  if (known || number->rank() != 0 || !is_integer(number->dtype()) || is_count(number)) return array_as_size(number);
  const SourceScope place(number.where(), "array_as_bound");
  const Eqn* maker = maker_of(number);
  if (maker != nullptr && maker->op == &neg_op() && is_count(first_operand(number, *maker)))
    return Dim(0) - array_as_size(first_operand(number, *maker));
  return array_as_size(max(number, 0)) - array_as_size(max(-number, 0));
}

Array eye(const Dim& n, DType dtype, const Source& where) {
  const SourceScope place(where, "eye");
  const Shape shape{n, n};
  return convert(iota(DType::i32, shape, 0, where) == iota(DType::i32, shape, 1, where), dtype);
}

}  // namespace tenon
