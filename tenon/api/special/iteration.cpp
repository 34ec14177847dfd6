#include "tenon/api/special/iteration.h"

#include "tenon/api/tangents.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/shape.h"

namespace tenon::special {

Array value_of_fraction(Array going, const std::function<Fraction(const Array& p, In others)>& terms, Array p,
                        Arrays others, bool with_slope) {
  if (with_slope) {
    const Array apart = floor(stop_gradient(p)) + 0.5;
    going = stack({going, going}), p = stack({p, apart});
    for (Array& x : others) x = stack({x, x});
  }
  const Fraction fraction = terms(p, others);
  const double tiny = least_normal_of(p.dtype()) * (1 << 20), rounding = epsilon_of(p.dtype());
  const auto off_zero = [&](const Array& x) { return where(abs(x) < tiny, tiny, x); };
  const auto step = [&](const Arrays& carry, const Array& count) {
    const Array n = fraction.numerator(count), b = fraction.denominator(count);
    const Array d = 1.0 / off_zero(b + n * carry[1]), c = off_zero(b + n / carry[0]);
    const Array more = abs(c * d - 1.0) > 4 * rounding;
    return Step{{c, d, carry[2] * (c * d)}, with_slope ? broadcast_to(any(more, 0), more.shape()) : more};
  };
  const Array first = off_zero(fraction.first);
  const Array made = until_done(going, step, {first, zeros_like(first), first})[2];
  return with_slope ? made(0) : made;
}

}  // namespace tenon::special
