#include "numeric.h"

#include <fmt/format.h>

#include "dtypes.h"
#include "op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/indexing.h"
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

Array floor_divide(const Operand& x, const Operand& y) {
  auto [a, b] = met("floor_divide", x, y);
  if (is_complex(a.dtype())) throw DTypeError("floor_divide: of complex numbers there is none.", "");
  if (is_inexact(a.dtype())) {
    a = stop_gradient(op(a));  // steps have the derivative 0, at the pole too
    b = stop_gradient(op(b));
    const Array rest = op(a) % op(b), zero = number(0, a);
    // By zero: infinities, as the division has them.
    const Array quotient = where(op(op(b) == op(zero)), op(op(a) / op(b)), op(op(op(a) - op(rest)) / op(b)));
    const Array below = op(op(rest) != op(zero)) & op(op(sign(op(b))) != op(sign(op(rest))));
    const Array made = round(op(where(op(below), op(op(quotient) - op(number(1, a))), op(quotient))));
    // A zero has the sign of the division's result.
    return where(op(op(made) == op(zero)), op(op(op(a) / op(b)) * op(zero)), op(made));
  }
  Array quotient = op(a) / op(b);
  if (!is_signed_integer(a.dtype())) return quotient;
  const Array below = op(op(sign(op(a))) != op(sign(op(b)))) & op(op(op(a) % op(b)) != op(number(0, a)));
  return where(op(below), op(op(quotient) - op(number(1, a))), op(quotient));
}

Array remainder(const Operand& x, const Operand& y) {
  const auto [a, b] = met("remainder", x, y);
  if (is_complex(a.dtype())) throw DTypeError("remainder: of complex numbers there is none.", "");
  const Array rest = op(a) % op(b), zero = number(0, a);
  const Array other = op(op(op(rest) < op(zero)) != op(op(b) < op(zero))) & op(op(rest) != op(zero));
  const Array made = where(op(other), op(op(rest) + op(b)), op(rest));
  if (!is_inexact(a.dtype())) return where(op(op(b) == op(zero)), op(zero), op(made));
  // A zero gets the sign of the divisor; what is no zero stays as it is, and so does the derivative.
  return where(op(op(b) < op(zero)), op(-op(op(zero) - op(made))), op(op(zero) + op(made)));
}

Array truncated_remainder(const Operand& x, const Operand& y) {
  const auto [a, b] = met("fmod", x, y);
  const Array rest = op(a) % op(b);
  const Array zero = number(0, a);
  return is_inexact(a.dtype()) ? rest : where(op(op(b) == op(zero)), op(zero), op(rest));
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

Array arctan2(const Operand& y, const Operand& x) {
  const auto [a, b] = met("arctan2", y, x);
  return atan2(op(to_inexact(a)), op(to_inexact(b)));
}

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
  if (is_inexact(both.dtype)) {
    // Integers beside a narrower float become that one.
    const auto fits = [&](const Operand& z) {
      return is_inexact(z->dtype()) ? Array(z) : convert(z, both.dtype).with_weak(both.weak);
    };
    return pow(op(fits(x)), op(fits(y)));
  }
  const auto [a, b] = met("power", x, y);
  return integer_pow(op(a), op(b));
}

}  // namespace tenon::python::numeric
