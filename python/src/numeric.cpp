#include "numeric.h"

#include <fmt/format.h>

#include "dtypes.h"
#include "op.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"

namespace tenon::python::numeric {
namespace {

// x and y in the dtype and shape in which they meet; bools as i32, of which they are numbers.
std::pair<Array, Array> met(const char* name, const Array& x, const Array& y) {
  const Met both = meet(name, {x, y});
  if (both.operands[0].dtype() != DType::bool_) return {both.operands[0], both.operands[1]};
  return {convert(op(both.operands[0]), DType::i32), convert(op(both.operands[1]), DType::i32)};
}

bool both_bool(const Operand& x, const Operand& y) { return x->dtype() == DType::bool_ && y->dtype() == DType::bool_; }

}  // namespace

Array positive(const Operand& x) { return x; }
Array add(const Operand& x, const Operand& y) { return both_bool(x, y) ? x | y : x + y; }
Array multiply(const Operand& x, const Operand& y) { return both_bool(x, y) ? x & y : x * y; }

Array true_divide(const Operand& x, const Operand& y) {
  const Promoted both = promote(x->dtype(), x->weak(), y->dtype(), y->weak());
  if (is_inexact(both.dtype)) return x / y;
  const auto [a, b] = met("true_divide", x, y);
  return op(to_inexact(a).with_weak(both.weak)) / op(to_inexact(b).with_weak(both.weak));
}

Array absolute(const Operand& x) { return x->dtype() == DType::bool_ ? Array(x) : abs(x); }
Array square(const Operand& x) { return x->dtype() == DType::bool_ ? convert(x, DType::i32) : tenon::square(x); }

Array shift_left(const Operand& x, const Operand& y) {
  const auto [a, b] = met("left_shift", x, y);
  return tenon::shift_left(op(a), op(b));
}
Array shift_right(const Operand& x, const Operand& y) {
  const auto [a, b] = met("right_shift", x, y);
  return tenon::shift_right(op(a), op(b));
}

Array arctan2(const Operand& y, const Operand& x) { return atan2(y, x); }

Array power(const Operand& x, const Operand& y) {
  // A Python integer as the exponent: products.
  if (const Scalar* n = y->number(); n != nullptr && y->weak() && is_integer(n->dtype())) {
    const std::int64_t exponent = n->convert(DType::i64).as<std::int64_t>();
    if (exponent < 0 && !is_inexact(x->dtype()))
      throw DTypeError(
          fmt::format("power: {} to the power {}: integers have no negative powers.", x->type().text(), exponent),
          "Convert the base to a floating dtype.");
    const Array base = x->dtype() == DType::bool_ ? convert(x, DType::i32) : Array(x);
    return integer_pow(op(base), exponent);
  }
  const Promoted both = promote(x->dtype(), x->weak(), y->dtype(), y->weak());
  if (is_inexact(both.dtype)) return pow(x, y);
  const auto [a, b] = met("power", x, y);
  return integer_pow(op(a), op(b));
}

}  // namespace tenon::python::numeric
