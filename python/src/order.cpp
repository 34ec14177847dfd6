#include "order.h"

#include <limits>

#include "op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/promotion.h"

namespace tenon::python::order {
namespace {

using OfTwo = Array(const Operand& x, const Operand& y);
using OfAxes = Array(const Operand& x, const Axes& axes);

bool any_complex(const Operand& x, const Operand& y) { return is_complex(x->dtype()) || is_complex(y->dtype()); }

struct Parts {
  explicit Parts(const Array& z) : re(real(op(z))), im(imag(op(z))) {}
  Array re, im;
};

template <OfTwo Compare>
Array of_parts(const Parts& a, const Parts& b) {
  return where(op(op(a.re) == op(b.re)), op(Compare(op(a.im), op(b.im))), op(Compare(op(a.re), op(b.re))));
}

template <OfTwo Compare>
Array compared(const char* name, const Operand& x, const Operand& y) {
  if (!any_complex(x, y)) return Compare(x, y);
  const Met met = meet(name, {x, y});
  return of_parts<Compare>(Parts(met.operands[0]), Parts(met.operands[1]));
}

Array half_of_each(const Array& a, const Array& b) {
  const Array half = number(0.5, a);
  return op(op(a) * op(half)) + op(op(b) * op(half));
}

// Part by part, as products of complex numbers make NaN of what is infinite.
template <OfTwo OfReal, OfTwo Compare>
Array extreme(const char* name, const Operand& x, const Operand& y) {
  if (!any_complex(x, y)) return OfReal(x, y);
  const Met met = meet(name, {x, y});
  const Array &a = met.operands[0], &b = met.operands[1];
  const Parts p(a), q(b);
  const Array first = op(of_parts<Compare>(p, q)) | op(is_nan(op(a))), same = op(a) == op(b);
  const auto chosen = [&](const Array& u, const Array& v) {
    return where(op(same), op(half_of_each(u, v)), op(where(op(first), op(u), op(v))));
  };
  return complex(op(chosen(p.re, q.re)), op(chosen(p.im, q.im)));
}

template <OfAxes OfReal, int Sign>
Array extreme_along(const Operand& x, const Axes& axes) {
  if (!is_complex(x->dtype())) return OfReal(x, axes);
  const Parts p(x);
  const Array beyond = number(-Sign * std::numeric_limits<double>::infinity(), p.re), zero = number(0, p.re);
  const auto found = [&](const Array& part) { return OfReal(op(part), axes.keepdims()); };
  const Array in_front = op(p.re) == op(found(p.re));
  const Array best = found(where(op(in_front), op(p.im), op(beyond)));
  const Array nan = is_nan(x), without = op(any(op(nan), axes.keepdims())) == op(Array(Scalar(false)));
  const Array hit = where(op(without), op(op(in_front) & op(op(p.im) == op(best))), op(nan));
  const Array count = sum(op(convert(op(hit), p.re.dtype())), axes);
  const auto shared = [&](const Array& part) {
    return op(sum(op(where(op(hit), op(part), op(zero))), axes)) / op(count);
  };
  return complex(op(shared(p.re)), op(shared(p.im)));
}

}  // namespace

Array less(const Operand& x, const Operand& y) { return compared<(tenon::operator<)>("less", x, y); }
Array less_equal(const Operand& x, const Operand& y) { return compared<(tenon::operator<=)>("less_equal", x, y); }
Array greater(const Operand& x, const Operand& y) { return compared<(tenon::operator>)>("greater", x, y); }
Array greater_equal(const Operand& x, const Operand& y) { return compared<(tenon::operator>=)>("greater_equal", x, y); }
Array maximum(const Operand& x, const Operand& y) { return extreme<tenon::max, (tenon::operator>)>("maximum", x, y); }
Array minimum(const Operand& x, const Operand& y) { return extreme<tenon::min, (tenon::operator<)>("minimum", x, y); }
Array largest(const Operand& x, const Axes& axes) { return extreme_along<tenon::amax, 1>(x, axes); }
Array smallest(const Operand& x, const Axes& axes) { return extreme_along<tenon::amin, -1>(x, axes); }

}  // namespace tenon::python::order
