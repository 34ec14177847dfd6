// bitcast: the bits of a number as one of another dtype; regroup_bits: as several, or of several as one.
#include <fmt/format.h>

#include <cstring>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"
#include "tenon/ops/families.h"

namespace tenon {

struct BitcastParams {
  DType dtype;
};
BOOST_DESCRIBE_STRUCT(BitcastParams, (), (dtype))

namespace {

extern const OpInfo bitcast_info, regroup_info;
using kernel::Binary;
using kernel::Expr;

bool has_bits(DType d) { return d != DType::bool_ && !is_complex(d); }
std::int64_t bits_of(DType d) { return static_cast<std::int64_t>(8 * size_of(d)); }

void require_bits(std::string_view op, std::span<const Type> in, DType to) {
  if (in.size() != 1 || !in[0].is_array()) throw VerifyError(fmt::format("{}: takes one array.", op));
  if (!has_bits(in[0].dtype) || !has_bits(to))
    throw DTypeError(
        fmt::format("{}: from {} to {}: bools and complex numbers are not seen as bits.", op, in[0].text(), name(to)),
        "Convert bools to u8, and take real() and imag() of complex numbers.");
}

std::vector<Type> bitcast_type(const Params& params, std::span<const Type> in, TypeContext&) {
  const DType to = params.as<BitcastParams>().dtype;
  require_bits("bitcast", in, to);
  if (size_of(to) != size_of(in[0].dtype))
    throw VerifyError(fmt::format("bitcast: {} and {} differ in size.", in[0].text(), name(to)));
  return {Type::array(to, in[0].shape)};
}

std::vector<Type> regroup_type(const Params& params, std::span<const Type> in, TypeContext&) {
  const DType to = params.as<BitcastParams>().dtype;
  require_bits("bitcast", in, to);
  const std::int64_t from_bits = bits_of(in[0].dtype), to_bits = bits_of(to);
  std::vector<Dim> dims = in[0].shape.dims();
  if (from_bits > to_bits) {
    dims.push_back(Dim(from_bits / to_bits));
  } else {
    const std::int64_t parts = to_bits / from_bits;
    if (dims.empty() || dims.back() != Dim(parts))
      throw ShapeError(fmt::format("bitcast: {} to {} takes a last axis of {}, which becomes one number.", in[0].text(),
                                   name(to), parts),
                       fmt::format("Reshape it so that its last axis has {} elements.", parts));
    dims.pop_back();
  }
  return {Type::array(to, Shape(std::move(dims)))};
}

std::vector<Value> eval_bits(const Params&, std::span<const Value> in, const EvalContext& context) {
  const Buffer x = family::contiguous(in[0]);
  Buffer out = Buffer::allocate(context.out[0].dtype, context.out[0].shape.sizes());
  std::memcpy(out.data(), x.data(), static_cast<std::size_t>(x.elements()) * size_of(x.dtype()));
  return {out};
}

Expr shift_constant(DType dtype, std::int64_t value) { return kernel::constant(dtype, &value); }

Expr regroup_element(const LowerArgs& args) {
  const DType from = args.in[0].dtype, to = args.params.as<BitcastParams>().dtype;
  const DType from_bits = unsigned_of(from), to_bits = unsigned_of(to);
  std::vector<Expr> index(args.index.begin(), args.index.end());
  if (size_of(from) > size_of(to)) {
    const Expr place = kernel::convert(from_bits, index.back() * Expr(bits_of(to)));
    index.pop_back();
    const Expr whole = kernel::bitcast(from_bits, args.load(0, index));
    return kernel::bitcast(to, kernel::convert(to_bits, kernel::binary(Binary::shift_right, whole, place)));
  }
  Expr whole;
  index.emplace_back();
  for (std::int64_t i = 0; i < bits_of(to) / bits_of(from); ++i) {
    index.back() = Expr(i);
    Expr part = kernel::convert(to_bits, kernel::bitcast(from_bits, args.load(0, index)));
    part = kernel::binary(Binary::shift_left, part, shift_constant(to_bits, i * bits_of(from)));
    whole = whole ? kernel::binary(Binary::or_, whole, part) : part;
  }
  return kernel::bitcast(to, whole);
}

// Between floats the result has no tangent: its values jump with the operand's.
JvpRule without_tangent(const OpInfo& op) {
  return [&op](const JvpArgs& args) { return JvpResult{{bind1(op, args.params, {args.primals[0]})}, {std::nullopt}}; };
}

std::vector<SampleCase> bitcast_samples(DType from, bool regroup) {
  if (!has_bits(from)) return {};
  std::vector<SampleCase> cases;
  for (const DType to :
       {DType::u8, DType::i16, DType::f16, DType::bf16, DType::u32, DType::f32, DType::i64, DType::f64}) {
    if (from == to || (size_of(from) != size_of(to)) != regroup) continue;
    for (std::vector<std::int64_t> sizes : {std::vector<std::int64_t>{}, {5}, {2, 9}, {0}}) {
      if (size_of(from) < size_of(to)) sizes.push_back(bits_of(to) / bits_of(from));
      cases.push_back({.params = make_params(BitcastParams{to}),
                       .types = {Type::array(from, Shape(sizes))},
                       .domains = {{is_real(from) ? -3e4 : 0, is_real(from) ? 3e4 : 100}},
                       .by_values = false});
    }
  }
  return cases;
}

OpInfo of_bits(const OpInfo& self, std::string_view name, std::string_view summary, TypeRule type, LowerElement lower,
               bool regroup) {
  return OpInfo{.name = name,
                .summary = summary,
                .params = &describe::params_ops<BitcastParams>,
                .type = std::move(type),
                .eval = EvalRule(eval_bits),
                .jvp = without_tangent(self),
                .transpose = Absent{"it has no tangent"},
                .batch = BatchRule([&self](const BatchArgs& args) { return family::batch_in_front(self, args); }),
                .split = Absent{"wholly known or not"},
                .guard = Absent{"no Programs inside"},
                .lower = LowerRule(std::move(lower)),
                .alias = Absent{"its result has another dtype"},
                .effect = Absent{"pure"},
                .sample = SampleRule([regroup](DType d) { return bitcast_samples(d, regroup); })};
}

const OpInfo bitcast_info =
    of_bits(bitcast_info, "bitcast", "the bits of x as another dtype of the same size", bitcast_type,
            {[](const LowerArgs& args) {
               return kernel::bitcast(args.params.as<BitcastParams>().dtype, args.load(0, args.index));
             },
             true},
            false);
const OpInfo regroup_info =
    of_bits(regroup_info, "regroup_bits", "the bits of x as a smaller or larger dtype: a last axis more or less",
            regroup_type, {regroup_element}, true);

const bool bitcast_installed = (install_op(bitcast_info), install_op(regroup_info), true);

}  // namespace

Array bitcast(const Operand& x, DType dtype) {
  if (x->dtype() == dtype) return x.array().with_weak(false);
  const SourceScope place(x.where(), "bitcast");
  const bool same_size = size_of(x->dtype()) == size_of(dtype);
  return bind1(same_size ? bitcast_info : regroup_info, make_params(BitcastParams{dtype}), {x});
}

TwoWords words_of(const Array& x) {
  const Array lowest(Scalar(std::uint64_t(0xFFFFFFFFu)));
  return {convert(shift_right(x, 32), DType::u32), convert(x & lowest, DType::u32)};
}

}  // namespace tenon
