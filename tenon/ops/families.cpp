#include "tenon/ops/families.h"

#include <fmt/format.h>

#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

Array tangent_or_zero(const JvpArgs& args, std::size_t i) {
  return args.tangents[i] ? *args.tangents[i] : zeros_of(args.primals[i].type());
}

namespace family {

Buffer contiguous(const Value& value) {
  const auto& buffer = std::get<Buffer>(value);
  return buffer.contiguous() ? buffer : buffer.contiguous_copy();
}

std::string dtype_advice(bool (*has)(DType), DType dtype) {
  if (dtype == DType::bool_) return "Of bools use |, & and !, or convert them to a dtype of numbers.";
  if (is_powers(dtype))
    return "It has no sign and no zero: convert it to f32, convert(x, dtype), and compute with that.";
  if (is_complex(dtype)) return "Take abs(), real() or imag() of it, or convert it to a real dtype.";
  if (has(DType::bool_) && !has(dtype)) return "Compare it first, x != 0, or convert it to bool.";
  return "Convert it to another dtype first.";
}

namespace {

std::vector<Type> elementwise_type(std::string_view name, std::size_t operands, bool (*has)(DType),
                                   DType (*result)(DType), std::span<const Type> in, TypeContext& context) {
  if (in.size() != operands)
    throw VerifyError(fmt::format("{}: takes {} operands, not {}.", name, operands, in.size()));
  for (const Type& type : in) {
    if (!type.is_array())
      throw DTypeError(fmt::format("{}: {} is not an array.", name, type.text()), "Stack the list first.");
    if (!has(type.dtype))
      throw DTypeError(fmt::format("{}: not defined for {}.", name, type.text()), dtype_advice(has, type.dtype));
    if (type.dtype != in[0].dtype)
      throw DTypeError(fmt::format("{}: operands {} and {} differ in dtype.", name, in[0].text(), type.text()),
                       "Convert one of them.");
    if (type.rank() != in[0].rank())
      throw ShapeError(fmt::format("{}: operands {} and {} differ in shape.", name, in[0].text(), type.text()),
                       "Broadcast or reshape one of them.");
    for (std::size_t i = 0; i < type.rank(); ++i)
      context.require_equal(in[0].shape[i], type.shape[i], [&] {
        return fmt::format("{}: operands {} and {} differ in shape.", name, in[0].text(), type.text());
      });
  }
  return {Type::array(result(in[0].dtype), in[0].shape)};
}

}  // namespace

BatchResult batch_in_front(const OpInfo& op, const BatchArgs& args) {
  Arrays operands;
  for (std::size_t i = 0; i < args.operands.size(); ++i)
    operands.push_back(args.batched[i] ? args.operands[i] : add_batch_axis(args.operands[i], args.size));
  Arrays made = bind_op(op, args.params, operands);
  std::vector<bool> batched(made.size(), true);
  return {std::move(made), std::move(batched)};
}

EvalRule first_operand() {
  return [](const Params&, std::span<const Value> in, const EvalContext&) { return std::vector<Value>{in[0]}; };
}
LowerElement first_operand_lowered(bool elementwise) {
  return {.rule = [](const LowerArgs& args) { return args.load(0, args.index); },
          .elementwise = elementwise,
          .identity = true};
}

OpInfo elementwise(std::string_view name, std::string_view summary, std::size_t operands, bool (*has)(DType),
                   EvalRule eval, Slot<JvpRule> jvp, Slot<TransposeRule> transpose,
                   std::function<kernel::Expr(std::span<const kernel::Expr>)> lower, std::vector<Domain> domains,
                   DType (*result)(DType), Traits traits) {
  return OpInfo{
      .name = name,
      .summary = summary,
      .params = nullptr,
      .type = TypeRule([=](const Params&, std::span<const Type> in, TypeContext& context) {
        return elementwise_type(name, operands, has, result, in, context);
      }),
      .eval = std::move(eval),
      .jvp = std::move(jvp),
      .transpose = std::move(transpose),
      .batch = BatchRule([name](const BatchArgs& args) { return batch_in_front(*find_op(name), args); }),
      .split = Absent{"wholly known or not"},
      .guard = Absent{"no Programs inside"},
      .lower = LowerRule(LowerElement{[operands, lower](const LowerArgs& args) {
                                        std::vector<kernel::Expr> values;
                                        for (std::size_t i = 0; i < operands; ++i)
                                          values.push_back(args.load(i, args.index));
                                        return lower(values);
                                      },
                                      true}),
      .alias = result == same ? Slot<AliasRule>(AliasRule{0, 0})
                              : Slot<AliasRule>(Absent{"its result has another size of elements"}),
      .effect = Absent{"pure"},
      .sample = SampleRule([=](DType dtype) -> std::vector<SampleCase> {
        if (!has(dtype)) return {};
        std::vector<SampleCase> cases;
        for (const Shape& shape : {Shape{}, Shape{Dim(3)}, Shape{Dim(2), Dim(3)}, Shape{Dim(0)}, Shape{Dim(1)}})
          cases.push_back({Params(), std::vector<Type>(operands, Type::array(dtype, shape)), domains});
        return cases;
      }),
      .traits = traits,
  };
}

JvpRule unary_jvp(const OpInfo& op, FlatEverywhere) {
  return [&op](const JvpArgs& args) { return JvpResult{{bind1(op, args.params, {args.primals[0]})}, {std::nullopt}}; };
}

JvpRule unary_jvp(const OpInfo& op, TangentRule rule) {
  return [&op, rule](const JvpArgs& args) {
    const Array y = bind1(op, args.params, {args.primals[0]});
    return JvpResult{{y}, {rule(args.primals[0], y, *args.tangents[0])}};
  };
}

JvpRule binary_jvp(const OpInfo& op, PartialRule first, PartialRule second) {
  return [&op, first, second](const JvpArgs& args) {
    const Array& x = args.primals[0];
    const Array& y = args.primals[1];
    const Array z = bind1(op, args.params, {x, y});
    MaybeArray tangent;
    if (args.tangents[0]) tangent = first(x, y, z, *args.tangents[0]);
    if (args.tangents[1]) {
      const Array other = second(x, y, z, *args.tangents[1]);
      tangent = tangent ? *tangent + other : other;
    }
    return JvpResult{{z}, {tangent}};
  };
}

}  // namespace family
}  // namespace tenon
