#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/elementwise/arithmetic.h"

namespace tenon {
namespace special {
namespace {

Array cbrt_of(In in) {
  const Array& x = in[0];
  const Array size = abs(x), usual = (size > 0.0) & is_finite(size), safe = where(usual, size, 1.0);
  const Array near = exp(log(safe) / 3.0);
  const Array root = near - (near - safe / (near * near)) / 3.0;  // a step of Newton's
  return where(usual, sign(x) * root, x);
}
Array slope(In in) {
  const Array root = cbrt(in[0]);
  return 1.0 / (3.0 * root * root);
}
constinit const SpecialFunction cbrt_function("cbrt", cbrt_of, slope);

}  // namespace

}  // namespace special

Array cbrt(const Operand& x) { return special::cbrt_function({x}); }

}  // namespace tenon
