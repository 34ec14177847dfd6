#include "tenon/api/random/parameters.h"

#include <fmt/format.h>

#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::random {

void require_real(std::string_view name, DType dtype, std::initializer_list<Operand> parameters) {
  if (!is_real(dtype) || is_powers(dtype))
    throw DTypeError(fmt::format("random::{}: {} is not a real dtype.", name, tenon::name(dtype)),
                     "Ask for f32 or f64.");
  for (const Operand& p : parameters)
    if (is_complex(p->dtype()))
      throw DTypeError(fmt::format("random::{}: a parameter is {}.", name, p->type().text()),
                       "Parameters are real numbers.");
}

Arrays in_dtype(std::string_view name, DType dtype, std::initializer_list<Operand> parameters) {
  require_real(name, dtype, parameters);
  Arrays all;
  for (const Operand& p : parameters) all.push_back(convert(p, dtype).with_weak(false));
  return all;
}

Shape shape_of(std::string_view name, const MaybeShape& asked, std::span<const Array> parameters) {
  const Shape met = broadcast_shapes(name, parameters);
  if (!asked) return met;
  Arrays all(parameters.begin(), parameters.end());
  all.push_back(zeros(*asked, DType::bool_));
  if (broadcast_shapes(name, all) != *asked)
    throw ShapeError(fmt::format("random::{}: the parameters meet in the shape {}, which does not broadcast to {}.",
                                 name, met.text(), asked->text()),
                     "Ask for a shape that ends in theirs.");
  return *asked;
}

Arrays spread(std::string_view name, const MaybeShape& asked, DType dtype, std::initializer_list<Operand> parameters) {
  Arrays all = in_dtype(name, dtype, parameters);
  const Shape shape = shape_of(name, asked, all);
  for (Array& a : all) a = broadcast_to(a, shape);
  return all;
}

}  // namespace tenon::random
