#include "tenon/ops/elementwise/bits.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/ir/bind.h"
#include "tenon/ir/describe_params.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

struct PackBitsParams {
  std::int64_t axis;
};
BOOST_DESCRIBE_STRUCT(PackBitsParams, (), (axis))
struct UnpackBitsParams {
  std::int64_t axis, n;
};
BOOST_DESCRIBE_STRUCT(UnpackBitsParams, (), (axis, n))

namespace {

extern const OpInfo pack_bits_info, unpack_bits_info;
using kernel::Binary;
using kernel::Expr;

constexpr std::int64_t byte_bits = 8, fewest = 64;

std::int64_t bytes_for(std::int64_t n) { return (n + byte_bits - 1) / byte_bits; }

// The axis of the operand, which is an array of that dtype.
std::size_t require_axis(std::string_view op, std::span<const Type> in, DType dtype, std::int64_t axis) {
  if (in.size() != 1) throw VerifyError(fmt::format("{}: takes one operand.", op));
  if (!in[0].is_array() || in[0].dtype != dtype)
    throw DTypeError(fmt::format("{}: {} is not an array of {}.", op, in[0].text(), name(dtype)),
                     dtype == DType::bool_ ? "Compare it with something." : "Give what pack_bits gave.");
  if (axis < 0 || axis >= static_cast<std::int64_t>(in[0].rank()) ||
      !in[0].shape[static_cast<std::size_t>(axis)].known())
    throw ShapeError(fmt::format("{}: {} has no axis {} of a known size.", op, in[0].text(), axis));
  return static_cast<std::size_t>(axis);
}

Type with_size(const Type& type, DType dtype, std::size_t axis, std::int64_t n) {
  std::vector<Dim> dims = type.shape.dims();
  dims[axis] = Dim(n);
  return Type::array(dtype, Shape(std::move(dims)));
}

std::uint8_t bit(std::int64_t k) { return static_cast<std::uint8_t>(1u << k); }
Expr constant(std::uint8_t value) { return kernel::constant(DType::u8, &value); }

// Calls f(offset of a run of elements, offset of its bytes, stride of both along the axis), for each place before and
// behind the axis.
void for_each_run(std::span<const std::int64_t> elements, std::size_t axis, std::int64_t bytes, auto f) {
  std::int64_t before = 1, stride = 1;
  for (std::size_t i = 0; i < elements.size(); ++i) (i < axis ? before : stride) *= i == axis ? 1 : elements[i];
  for (std::int64_t i = 0; i < before; ++i)
    for (std::int64_t j = 0; j < stride; ++j) f(i * elements[axis] * stride + j, i * bytes * stride + j, stride);
}

std::vector<Value> eval_pack(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto axis = static_cast<std::size_t>(params.as<PackBitsParams>().axis);
  const Buffer x = family::contiguous(in[0]);
  Buffer out = Buffer::allocate(DType::u8, context.out[0].shape.sizes());
  const std::int64_t n = x.dims()[axis], m = out.dims()[axis];
  const auto* from = reinterpret_cast<const bool*>(x.data());
  auto* to = reinterpret_cast<std::uint8_t*>(out.data());
  for_each_run(x.dims(), axis, m, [&](std::int64_t elements, std::int64_t bytes, std::int64_t stride) {
    for (std::int64_t j = 0; j < m; ++j) to[bytes + j * stride] = 0;
    for (std::int64_t i = 0; i < n; ++i)
      if (std::uint8_t& byte = to[bytes + i % m * stride]; from[elements + i * stride])
        byte = static_cast<std::uint8_t>(byte | bit(i / m));
  });
  return {out};
}

std::vector<Value> eval_unpack(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto axis = static_cast<std::size_t>(params.as<UnpackBitsParams>().axis);
  const Buffer x = family::contiguous(in[0]);
  Buffer out = Buffer::allocate(DType::bool_, context.out[0].shape.sizes());
  const std::int64_t n = out.dims()[axis], m = x.dims()[axis];
  const auto* from = reinterpret_cast<const std::uint8_t*>(x.data());
  auto* to = reinterpret_cast<bool*>(out.data());
  for_each_run(out.dims(), axis, m, [&](std::int64_t elements, std::int64_t bytes, std::int64_t stride) {
    for (std::int64_t i = 0; i < n; ++i) to[elements + i * stride] = (from[bytes + i % m * stride] & bit(i / m)) != 0;
  });
  return {out};
}

Expr pack_element(const LowerArgs& args) {
  const auto axis = static_cast<std::size_t>(args.params.as<PackBitsParams>().axis);
  const std::int64_t n = args.in[0].shape[axis].value(), m = bytes_for(n);
  std::vector<Expr> index(args.index.begin(), args.index.end());
  const Expr j = args.index[axis];
  Expr byte;
  for (std::int64_t k = 0; k < byte_bits && k * m < n; ++k) {
    const Expr at = j + Expr(k * m);
    const bool inside = k * m + m <= n;
    index[axis] = inside ? at : kernel::binary(Binary::min, at, Expr(n - 1));
    Expr set = kernel::select(args.load(0, index), constant(bit(k)), constant(0));
    if (!inside) set = kernel::select(kernel::binary(Binary::lt, at, Expr(n)), set, constant(0));
    byte = byte ? kernel::binary(Binary::or_, byte, set) : set;
  }
  return byte ? byte : constant(0);
}

Expr unpack_element(const LowerArgs& args) {
  const auto& p = args.params.as<UnpackBitsParams>();
  const auto axis = static_cast<std::size_t>(p.axis);
  const std::int64_t n = p.n, m = bytes_for(n);
  std::vector<Expr> index(args.index.begin(), args.index.end());
  const Expr i = args.index[axis];
  Expr value;
  for (std::int64_t k = byte_bits; k-- > 0;) {
    if (k * m >= n) continue;
    // Of the runs that are not taken some byte of the row is read.
    index[axis] =
        kernel::binary(Binary::max, kernel::binary(Binary::min, i - Expr(k * m), Expr(m - 1)), Expr(std::int64_t(0)));
    const Expr set =
        kernel::binary(Binary::ne, kernel::binary(Binary::and_, args.load(0, index), constant(bit(k))), constant(0));
    value = value ? kernel::select(kernel::binary(Binary::lt, i, Expr((k + 1) * m)), set, value) : set;
  }
  if (!value) value = kernel::binary(Binary::ne, args.load(0, args.index), constant(0));
  return value;
}

template <class P>
BatchRule batched(const OpInfo& op) {
  return [&op](const BatchArgs& args) {
    P p = args.params.as<P>();
    ++p.axis;
    return BatchResult{bind_op(op, make_params(p), args.operands), {true}};
  };
}

std::vector<SampleCase> samples(DType d, bool packed) {
  if (d != DType::bool_) return {};
  std::vector<SampleCase> cases;
  for (const std::int64_t n : {1, 8, 13, 67, 0})
    for (const auto& [shape, axis] :
         {std::pair(std::vector<std::int64_t>{n}, 0), std::pair(std::vector<std::int64_t>{3, n}, 1),
          std::pair(std::vector<std::int64_t>{2, n, 3}, 1)}) {
      std::vector<std::int64_t> sizes = shape;
      if (packed) sizes[static_cast<std::size_t>(axis)] = bytes_for(n);
      cases.push_back({packed ? make_params(UnpackBitsParams{axis, n}) : make_params(PackBitsParams{axis}),
                       {Type::array(packed ? DType::u8 : d, Shape(sizes))},
                       {{0, packed ? 255 : 1}}});
    }
  return cases;
}

const OpInfo pack_bits_info{
    .name = "pack_bits",
    .summary = "booleans as bits, eight runs along `axis` in one of bytes",
    .params = &describe::params_ops<PackBitsParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      const std::size_t axis = require_axis("pack_bits", in, DType::bool_, params.as<PackBitsParams>().axis);
      return std::vector{with_size(in[0], DType::u8, axis, bytes_for(in[0].shape[axis].value()))};
    }),
    .eval = EvalRule(eval_pack),
    .jvp = Absent{"booleans have no tangent"},
    .transpose = Absent{"not linear"},
    .batch = batched<PackBitsParams>(pack_bits_info),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{pack_element}),
    .alias = Absent{"the result is smaller"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) { return samples(d, false); })};

const OpInfo unpack_bits_info{
    .name = "unpack_bits",
    .summary = "the `n` booleans along `axis` that pack_bits made bits of",
    .params = &describe::params_ops<UnpackBitsParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      const auto& p = params.as<UnpackBitsParams>();
      const std::size_t axis = require_axis("unpack_bits", in, DType::u8, p.axis);
      if (p.n < 0 || bytes_for(p.n) != in[0].shape[axis].value())
        throw ShapeError(fmt::format("unpack_bits: {} does not hold {} bits along axis {}.", in[0].text(), p.n, p.axis),
                         "Give the size that the axis had before pack_bits.");
      return std::vector{with_size(in[0], DType::bool_, axis, p.n)};
    }),
    .eval = EvalRule(eval_unpack),
    .jvp = Absent{"booleans have no tangent"},
    .transpose = Absent{"not linear"},
    .batch = batched<UnpackBitsParams>(unpack_bits_info),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerElement{unpack_element}),
    .alias = Absent{"the result is larger"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) { return samples(d, true); })};

const bool bits_installed = (install_op(pack_bits_info), install_op(unpack_bits_info), true);

}  // namespace

Array pack_bits(const Array& x, std::int64_t axis) {
  return bind1(pack_bits_info, make_params(PackBitsParams{axis}), {x});
}
Array unpack_bits(const Array& bytes, std::int64_t axis, std::int64_t n) {
  return bind1(unpack_bits_info, make_params(UnpackBitsParams{axis, n}), {bytes});
}

namespace {

// The size of groups of a long axis: whole bytes, near 512 elements. 0: none.
std::int64_t group_size(std::int64_t n) {
  constexpr std::int64_t wanted = 512;
  for (std::int64_t off = 0; n >= 2 * wanted && off <= wanted / 2; off += byte_bits)
    for (const std::int64_t size : {wanted + off, wanted - off})
      if (n % size == 0) return size;
  return 0;
}

}  // namespace

std::optional<Bits> kept_as_bits(const Type& type, const std::optional<Dim>& steps) {
  if (!type.is_array() || type.dtype != DType::bool_ || !type.shape.known()) return std::nullopt;
  constexpr std::int64_t many = 512, of_all_steps = std::int64_t(1) << 22;
  const std::int64_t elements = type.shape.elements().value();
  if (steps && steps->known() ? elements < fewest || elements * steps->value() < of_all_steps : elements < many)
    return std::nullopt;
  std::vector<std::int64_t> sizes = type.shape.sizes();
  auto axis = static_cast<std::size_t>(std::ranges::max_element(sizes) - sizes.begin());
  if (sizes.back() >= fewest / 2) axis = sizes.size() - 1;
  if (const std::int64_t group = group_size(sizes[axis]); group != 0 && axis + 1 == sizes.size()) {
    sizes.insert(sizes.end() - 1, sizes.back() / group);
    sizes.back() = group;
    ++axis;
  }
  const Type grouped = Type::array(DType::bool_, Shape(sizes));
  return Bits{grouped, static_cast<std::int64_t>(axis), with_size(grouped, DType::u8, axis, bytes_for(sizes[axis]))};
}

Var pack_in(ProgramParts& program, const Bits& bits, Var booleans) {
  const auto made = [&](const Type& type) {
    program.types.push_back(type);
    return static_cast<Var>(program.types.size() - 1);
  };
  if (program.types[booleans] != bits.grouped) {
    const Var grouped = made(bits.grouped);
    program.eqns.push_back(reshape_eqn(bits.grouped.shape, booleans, grouped));
    booleans = grouped;
  }
  const Var packed = made(bits.packed);
  program.eqns.push_back(
      {.op = &pack_bits_info, .params = make_params(PackBitsParams{bits.axis}), .in = {booleans}, .out = {packed}});
  return packed;
}

std::vector<Eqn> unpack_in(ProgramParts& program, const Bits& bits, Var packed, Var booleans) {
  const std::int64_t n = bits.grouped.shape[static_cast<std::size_t>(bits.axis)].value();
  Eqn unpack{.op = &unpack_bits_info,
             .params = make_params(UnpackBitsParams{bits.axis, n}),
             .in = {packed},
             .out = {booleans}};
  const Type type = program.types[booleans];
  if (type == bits.grouped) return {unpack};
  program.types.push_back(bits.grouped);
  unpack.out = {static_cast<Var>(program.types.size() - 1)};
  return {unpack, reshape_eqn(type.shape, unpack.out[0], booleans)};
}

const OpInfo& pack_bits_op() { return pack_bits_info; }

}  // namespace tenon
