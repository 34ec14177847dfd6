#include "tenon/ops/promotion.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/bind.h"
#include "tenon/ir/origins.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

namespace {

std::string types_text(std::span<const Array> operands) {
  std::string types;
  for (const Array& a : operands) types += (types.empty() ? "" : " and ") + a.type().text();
  return types;
}

}  // namespace

Shape broadcast_shapes(std::string_view op, std::span<const Array> operands) {
  std::vector<Dim> dims;
  for (const Array& operand : operands) {
    const Shape shape = operand.shape();
    if (shape.rank() > dims.size()) dims.insert(dims.begin(), shape.rank() - dims.size(), Dim(1));
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      Dim& met = dims[dims.size() - shape.rank() + i];
      const Dim& d = shape[i];
      if (d == met || d == Dim(1)) continue;
      if (met == Dim(1)) {
        met = d;
        continue;
      }
      const std::string types = types_text(operands);
      if (!met.known() || !d.known()) {  // asked when it runs
        require_equal(met, d, fmt::format("{}: operands {} do not broadcast.{}", op, types, lines_of(operands)));
        continue;
      }
      throw ShapeError(fmt::format("{}: operands {} do not broadcast: sizes {} and {} differ.{}", op, types, met.text(),
                                   d.text(), lines_of(operands)),
                       "Sizes must be equal or 1, counted from the last axis; reshape or index one of them.");
    }
  }
  return Shape(std::move(dims));
}

Promoted promoted(std::string_view op, std::span<const Array> operands) {
  Promoted met{operands[0].dtype(), operands[0].weak()};
  for (const Array& operand : operands) {
    const auto next = try_promote(met.dtype, met.weak, operand.dtype(), operand.weak());
    if (!next)
      throw DTypeError(
          fmt::format("{}: {} have no dtype in which they meet.{}", op, types_text(operands), lines_of(operands)),
          "Floats of 8 bits become no other ones by themselves: convert(x, dtype) says which is meant.");
    met = *next;
  }
  return met;
}

namespace {

Met converted(std::span<const Array> operands, const Promoted& to) {
  Met met{{}, to.weak};
  for (const Array& operand : operands) met.operands.push_back(convert(operand, to.dtype));
  return met;
}
Met in_one_shape(std::string_view op, std::span<const Array> operands, const Promoted& to) {
  const Shape first = operands[0].shape();
  const bool same_shape = std::ranges::all_of(operands, [&](const Array& x) { return x.shape() == first; });
  const Shape shape = same_shape ? first : broadcast_shapes(op, operands);
  Met met = converted(operands, to);
  if (!same_shape)
    for (Array& operand : met.operands) operand = broadcast_to(operand, shape);
  return met;
}

DType inexact(DType d) { return is_inexact(d) ? d : size_of(d) == 8 ? DType::f64 : DType::f32; }
// Operands become it at once: a negative number beside unsigned ones is no large one.
Promoted inexact(Promoted met) { return {inexact(met.dtype), met.weak}; }

}  // namespace

Met in_one_dtype(std::span<const Array> operands) { return converted(operands, promoted("promote", operands)); }
Met in_one_inexact_dtype(std::span<const Array> operands) {
  return converted(operands, inexact(promoted("promote", operands)));
}
Met meet(std::string_view op, std::span<const Array> operands) {
  return in_one_shape(op, operands, promoted(op, operands));
}
Met meet_inexact(std::string_view op, std::span<const Array> operands) {
  return in_one_shape(op, operands, inexact(promoted(op, operands)));
}

namespace {

bool goes_into(DType into, const Array& value) {
  const DType d = value.dtype();
  const Scalar* number = value.weak() ? value.number() : nullptr;
  const auto met = try_promote(into, false, d, value.weak());
  if (number == nullptr) return met && met->dtype == into;
  if (is_complex(into) || (is_real(into) && !is_complex(d))) return true;
  const Scalar back = number->convert(into).convert(d);
  return back == *number || (!is_integer(d) && back.as_complex() == number->as_complex());
}

}  // namespace

Array convert_into(std::string_view op, const Array& into, const Array& value) {
  const DType dtype = into.dtype();
  if (value.dtype() == dtype) return convert(value, dtype);
  if (!goes_into(dtype, value)) {
    const Scalar* number = value.number();
    throw DTypeError(
        fmt::format("{}: {} does not go into {}.", op,
                    number != nullptr ? number->text() + " (" + value.type().text() + ")" : value.type().text(),
                    into.type().text()),
        fmt::format(
            "Convert what is put in, or the array to {}: convert(x, dtype).",
            name(try_promote(dtype, false, value.dtype(), value.weak()).value_or(Promoted{value.dtype()}).dtype)));
  }
  return convert(value, dtype);
}

Array to_inexact(const Array& x) { return convert(x, inexact(x.dtype())).with_weak(x.weak()); }

}  // namespace tenon
