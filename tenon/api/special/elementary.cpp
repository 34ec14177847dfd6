// Exponentials and logarithms of other bases, the inverse hyperbolic functions, and the length of a vector of two.
#include <cmath>
#include <cstdint>

#include "tenon/api/elementwise.h"
#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"

namespace tenon {
namespace special {
namespace {

// The bits of a dtype: 1.5 · 2^fraction rounds what it is added to, and leaves it in the low bits.
struct Layout {
  explicit Layout(DType dtype) : wide(dtype == DType::f64), ints(wide ? DType::i64 : DType::i32) {}
  bool wide;
  DType ints;
  std::int64_t fraction() const { return wide ? 52 : 23; }
  std::int64_t bias() const { return wide ? 1023 : 127; }
  double magic() const { return wide ? 0x1.8p52 : 0x1.8p23; }
};

// Of positive numbers: x = 2^k·m, m from √½ to √2.
struct Split {
  explicit Split(const Array& x) {
    const Layout layout(x.dtype());
    const Array small = x < least_normal_of(x.dtype());
    const Array bits = bitcast(where(small, x * 0x1p64, x), layout.ints);
    const std::int64_t least = layout.wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
    const Array power = shift_right(bits - least, layout.fraction());
    m = bitcast(bits - shift_left(power, layout.fraction()), x.dtype());
    // As an integer in the low bits of a large number, since processors convert whole vectors of few kinds.
    const Array shifted = bitcast(power + (layout.wide ? 0x4338000000000000 : 0x4b400000), x.dtype());
    k = (shifted - layout.magic()) - where(small, 64.0, 0.0);
  }
  Array k, m;
};
// Of a logarithm: -∞ at 0, NaN below, and ∞ at ∞.
Array with_ends(const Array& x, const Array& usable, const Array& made) {
  return where(usable, made, where(x == 0.0, -infinity, where(x > 0.0, x, nan)));
}

// c·x for a constant of more digits than the dtype has.
Array times(double c, double rest, const Array& x) {
  const double high = x.dtype() == DType::f64 ? c : static_cast<float>(c);
  return x * high + x * ((c - high) + rest);
}

Array log2_of(In in) {
  const Array& x = in[0];
  const Array usable = (x > 0.0) & (x < infinity);
  const Split parts(where(usable, x, 1.0));
  return with_ends(x, usable, parts.k + times(0x1.71547652b82fep0, 0x1.777d0ffda0d24p-56, log(parts.m)));
}
Array log10_of(In in) {
  const Array& x = in[0];
  const bool wide = x.dtype() == DType::f64;
  const Array usable = (x > 0.0) & (x < infinity);
  const Split parts(where(usable, x, 1.0));
  // log10 2 in two, of which the first leaves products with exponents exact.
  const double high = wide ? 0x1.34413509f6p-2 : 0x1.344p-2;
  const double low = wide ? 0x1.9fef311f12b36p-42 : 0x1.3509f79fef312p-18;
  const Array rest = times(0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, log(parts.m)) + parts.k * low;
  return with_ends(x, usable, parts.k * high + rest);
}

// 2^n for a whole n of a normal result.
Array power_of_two(const Array& n) {
  const Layout layout(n.dtype());
  const Array shifted = shift_left(bitcast(n + layout.magic(), layout.ints), layout.fraction());
  return bitcast(shifted + (layout.bias() << layout.fraction()), n.dtype());
}
Array exp2_of(In in) {
  const Array& x = in[0];
  const bool wide = x.dtype() == DType::f64;
  const Array within = clamp(x, wide ? -1080.0 : -155.0, wide ? 1025.0 : 129.0);
  const Array n = round(within), half = floor(n * 0.5);
  const Array rest = exp(times(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, within - n));
  return where(is_nan(x), x, rest * power_of_two(half) * power_of_two(n - half));
}

// Where 1 beside x² is less than rounding.
Array is_far(const Array& size) { return size > (size.dtype() == DType::f64 ? 1e8 : 1e4); }
Array log_of_twice(const Array& x) { return log(x) + std::numbers::ln2; }

Array asinh_of(In in) {
  const Array& x = in[0];
  const Array size = abs(x), far = is_far(size), near = where(far, 1.0, size), square = near * near;
  const Array made = log1p(near + square / (1.0 + sqrt(square + 1.0)));
  return sign(x) * where(far, log_of_twice(where(far, size, 1.0)), made);
}
Array acosh_of(In in) {
  const Array& x = in[0];
  const Array far = is_far(x), above = where(far, 2.0, x) - 1.0;
  // The root is the larger term: what their sum rounds off is known.
  const Array root = sqrt(above * above + 2.0 * above), both = above + root, rest = above - (both - root);
  const Array made = log1p(both) + rest / (1.0 + both);
  return where(far, log_of_twice(where(far, x, 1.0)), where(x < 1.0, nan, made));
}
Array atanh_of(In in) {
  const Array& x = in[0];
  const Array size = abs(x), low = size < 0.5, twice = size + size, rest = 1.0 - size;
  return sign(x) * (0.5 * log1p(where(low, twice + twice * size / rest, twice / rest)));
}

// sqrt(x² + y²): by powers of two that keep squares among the normal numbers.
Array hypot_of(In in) {
  const Array a = abs(in[0]), b = abs(in[1]), high = max(a, b), low = min(a, b);
  const bool wide = high.dtype() == DType::f64;
  const double most = wide ? 0x1p510 : 0x1p62, least = wide ? 0x1p-450 : 0x1p-40, up = wide ? 0x1p600 : 0x1p80;
  const Array usable = (high > 0.0) & (high < infinity);
  const Array large = high > most, small = high < least;
  const Array into = where(large, 1 / up, where(small, up, 1.0)), back = where(large, up, where(small, 1 / up, 1.0));
  const Array p = where(usable, high, 1.0) * into, q = where(usable, low, 0.0) * into;
  const Array infinite = (a == infinity) | (b == infinity);
  return where(infinite, infinity, where(usable, sqrt(p * p + q * q) * back, high));
}

constinit const SpecialFunction exp2_function("exp2", exp2_of, [](In x) { return std::numbers::ln2 * exp2(x[0]); });
constinit const SpecialFunction log2_function("log2", log2_of, [](In x) { return std::numbers::log2e / x[0]; });
constinit const SpecialFunction log10_function("log10", log10_of, [](In x) { return std::numbers::log10e / x[0]; });
constinit const SpecialFunction asinh_function("asinh", asinh_of, [](In x) { return 1.0 / hypot(1.0, x[0]); });
constinit const SpecialFunction acosh_function("acosh", acosh_of,
                                               [](In x) { return 1.0 / (sqrt(x[0] - 1.0) * sqrt(x[0] + 1.0)); });
constinit const SpecialFunction atanh_function("atanh", atanh_of,
                                               [](In x) { return 1.0 / ((1.0 - x[0]) * (1.0 + x[0])); });
constinit const SpecialFunction hypot_function("hypot", hypot_of);

}  // namespace
}  // namespace special

// Of complex numbers by their logarithms.
Array exp2(const Operand& x) {
  const SourceScope place(x.where(), "exp2");
  return is_complex(x->dtype()) ? exp(x.array() * std::numbers::ln2) : special::exp2_function({x});
}
Array log2(const Operand& x) {
  const SourceScope place(x.where(), "log2");
  return is_complex(x->dtype()) ? log(x) / std::numbers::ln2 : special::log2_function({x});
}
Array log10(const Operand& x) {
  const SourceScope place(x.where(), "log10");
  return is_complex(x->dtype()) ? log(x) / std::numbers::ln10 : special::log10_function({x});
}
namespace {
Array times_minus_i(const Array& z) { return complex(imag(z), -real(z)); }
}  // namespace

// Of complex numbers asinh z = -i·asin(iz), acosh z = ±i·acos z and atanh z = -i·atan(iz), with the signs of zeros.
Array asinh(const Operand& x) {
  const SourceScope place(x.where(), "asinh");
  return is_complex(x->dtype()) ? times_minus_i(asin(times_i(x))).with_weak(x->weak()) : special::asinh_function({x});
}
Array acosh(const Operand& x) {
  const SourceScope place(x.where(), "acosh");
  if (!is_complex(x->dtype())) return special::acosh_function({x});
  const Array angle = acos(x);
  return where(sign_bit(imag(x)), times_minus_i(angle), times_i(angle)).with_weak(x->weak());
}
Array atanh(const Operand& x) {
  const SourceScope place(x.where(), "atanh");
  return is_complex(x->dtype()) ? times_minus_i(atan(times_i(x))).with_weak(x->weak()) : special::atanh_function({x});
}
Array hypot(const Operand& x, const Operand& y) { return special::hypot_function({x, y}); }

}  // namespace tenon
