#include "tenon/ops/composites/complex_order.h"

#include "tenon/ops/composites/order.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"

namespace tenon {
namespace {

Array compared_with(const Array& x, double bound, Array (*compare)(const Operand& x, const Operand& y)) {
  // A whole bound is an integer, which does not change the dtype that integers have.
  const auto whole = static_cast<int>(bound);
  const Operand limit = static_cast<double>(whole) == bound ? Operand(whole) : Operand(bound);
  return is_complex(x.dtype()) ? compare(x, limit) & !is_nan(x) : compare(x, limit);
}

}  // namespace

Array is_above(const Array& x, double bound) { return compared_with(x, bound, order::greater); }
Array is_at_least(const Array& x, double bound) { return compared_with(x, bound, order::greater_equal); }
Array is_below(const Array& x, double bound) { return compared_with(x, bound, order::less); }
Array is_at_most(const Array& x, double bound) { return compared_with(x, bound, order::less_equal); }

}  // namespace tenon
