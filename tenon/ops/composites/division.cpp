#include "tenon/ops/composites/division.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"

namespace tenon {
namespace {

// x and y in the dtype and shape in which they meet.
struct Divided {
  Array x, y, zero;
};
Divided divided_by(std::string_view name, const Array& x, const Array& y) {
  const Met met = meet(name, {x, y});
  Array a = met.operands[0], b = met.operands[1];
  if (is_complex(a.dtype()))
    throw DTypeError(
        fmt::format("{}: of complex numbers there is none: {} and {}.", name, x.type().text(), y.type().text()),
        "Divide them, or take their parts.");
  if (a.dtype() == DType::bool_) a = convert(a, DType::i32), b = convert(b, DType::i32);
  return {a, b, Array(Scalar::zero(a.dtype()))};
}

}  // namespace

Array floor_divide(const Operand& x, const Operand& y) {
  const SourceScope place(x.where(), "floor_divide");
  auto [a, b, zero] = divided_by("floor_divide", x, y);
  const Array one(Scalar::one(a.dtype()));
  if (is_inexact(a.dtype())) {
    a = stop_gradient(a);  // steps have the derivative 0, at the pole too
    b = stop_gradient(b);
    const Array rest = a % b;
    // By zero: infinities, as the division has them.
    const Array quotient = where(b == zero, a / b, (a - rest) / b);
    const Array below = (rest != zero) & (sign(b) != sign(rest));
    const Array made = round(where(below, quotient - one, quotient));
    // A zero has the sign of the division's result.
    return where(made == zero, (a / b) * zero, made);
  }
  Array quotient = a / b;
  if (!is_signed_integer(a.dtype())) return quotient;
  const Array below = (sign(a) != sign(b)) & (a % b != zero);
  return where(below, quotient - one, quotient);
}

Array remainder(const Operand& x, const Operand& y) {
  const SourceScope place(x.where(), "remainder");
  const auto [a, b, zero] = divided_by("remainder", x, y);
  const Array rest = a % b;
  const Array other = ((rest < zero) != (b < zero)) & (rest != zero);
  const Array made = where(other, rest + b, rest);
  if (!is_inexact(a.dtype())) return where(b == zero, zero, made);
  // A zero gets the sign of the divisor; what is no zero stays as it is, and so does the derivative.
  return where(b < zero, -(zero - made), zero + made);
}

Array fmod(const Operand& x, const Operand& y) {
  const SourceScope place(x.where(), "fmod");
  const auto [a, b, zero] = divided_by("fmod", x, y);
  const Array rest = a % b;
  return is_inexact(a.dtype()) ? rest : where(b == zero, zero, rest);
}

}  // namespace tenon
