#include "tenon/ops/composites/order.h"

#include <limits>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"

namespace tenon::order {
namespace {

using OfTwo = Array(const Operand& x, const Operand& y);
using OfAxes = Array(const Operand& x, const Axes& axes);

bool any_complex(const Operand& x, const Operand& y) { return is_complex(x->dtype()) || is_complex(y->dtype()); }

struct ComplexParts {
  explicit ComplexParts(const Array& z) : re(real(z)), im(imag(z)) {}
  Array re, im;
};

template <OfTwo Compare>
Array of_parts(const ComplexParts& a, const ComplexParts& b) {
  return where(a.re == b.re, Compare(a.im, b.im), Compare(a.re, b.re));
}

template <OfTwo Compare>
Array compared(const char* name, const Operand& x, const Operand& y) {
  if (!any_complex(x, y)) return Compare(x, y);
  const SourceScope place(x.where(), name);
  const Met met = meet(name, {x, y});
  return of_parts<Compare>(ComplexParts(met.operands[0]), ComplexParts(met.operands[1]));
}

Array half_of_each(const Array& a, const Array& b) { return a * 0.5 + b * 0.5; }

// Part by part, as products of complex numbers make NaN of what is infinite.
template <OfTwo OfReal, OfTwo Compare>
Array extreme(const char* name, const Operand& x, const Operand& y) {
  if (!any_complex(x, y)) return OfReal(x, y);
  const SourceScope place(x.where(), name);
  const Met met = meet(name, {x, y});
  const Array &a = met.operands[0], &b = met.operands[1];
  const ComplexParts p(a), q(b);
  const Array first = of_parts<Compare>(p, q) | is_nan(a), same = a == b;
  const auto chosen = [&](const Array& u, const Array& v) {
    return where(same, half_of_each(u, v), where(first, u, v));
  };
  return complex(chosen(p.re, q.re), chosen(p.im, q.im));
}

template <OfAxes OfReal, int Sign>
Array extreme_along(const char* name, const Operand& x, const Axes& axes) {
  if (!is_complex(x->dtype())) return OfReal(x, axes);
  const SourceScope place(x.where(), name);
  const ComplexParts p(x);
  const auto found = [&](const Array& part) { return OfReal(part, axes.keepdims()); };
  const Array in_front = p.re == found(p.re);
  const Array best = found(where(in_front, p.im, -Sign * std::numeric_limits<double>::infinity()));
  const Array nan = is_nan(x);
  const Array hit = where(any(nan, axes.keepdims()), nan, in_front & (p.im == best));
  const Array count = sum(convert(hit, p.re.dtype()), axes);
  const auto shared = [&](const Array& part) { return sum(where(hit, part, 0), axes) / count; };
  return complex(shared(p.re), shared(p.im));
}

}  // namespace

Array less(const Operand& x, const Operand& y) { return compared<(tenon::operator<)>("less", x, y); }
Array less_equal(const Operand& x, const Operand& y) { return compared<(tenon::operator<=)>("less_equal", x, y); }
Array greater(const Operand& x, const Operand& y) { return compared<(tenon::operator>)>("greater", x, y); }
Array greater_equal(const Operand& x, const Operand& y) { return compared<(tenon::operator>=)>("greater_equal", x, y); }
Array maximum(const Operand& x, const Operand& y) { return extreme<tenon::max, (tenon::operator>)>("maximum", x, y); }
Array minimum(const Operand& x, const Operand& y) { return extreme<tenon::min, (tenon::operator<)>("minimum", x, y); }
Array largest(const Operand& x, const Axes& axes) { return extreme_along<tenon::amax, 1>("max", x, axes); }
Array smallest(const Operand& x, const Axes& axes) { return extreme_along<tenon::amin, -1>("min", x, axes); }

}  // namespace tenon::order
