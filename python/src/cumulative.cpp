// Cumulative sums and their kin.
#include "tenon/api/cumulative.h"

#include <complex>
#include <limits>

#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/ops/composites/order.h"

namespace tenon::python {
namespace {

struct Cumulative {
  const char* name;
  Array (*of)(const Operand& x, std::int64_t axis, const CumulativeOptions& options);
  const char* text;
  // Of complex numbers, where they are put in order: which of two comes first, and what comes behind all.
  Array (*in_order)(const Operand& x, const Operand& y) = nullptr;
  double behind = 0;
};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Cumulative all[] = {
    {"cumsum", cumsum, "The sums of the elements up to each, along an axis."},
    {"cumprod", cumprod, "The products of the elements up to each, along an axis."},
    {"cummax", cummax, "The largest of the elements up to each, along an axis.", order::maximum, -infinity},
    {"cummin", cummin, "The smallest of the elements up to each, along an axis.", order::minimum, infinity},
    {"cumlogsumexp", cumlogsumexp, "The logarithms of the sums of the exponentials up to each, along an axis."},
};

Array cumulative(const Cumulative& f, const Array& x, std::int64_t axis, bool reverse) {
  if (f.in_order == nullptr || !is_complex(x.dtype())) return f.of(op(x), axis, {.reverse = reverse});
  const Scalar behind(std::complex<double>(f.behind, f.behind));
  return api_detail::accumulated(f.name, f.in_order, behind, op(x), axis, {.reverse = reverse});
}

}  // namespace

void add_cumulative(nb::module_& module) {
  for (const Cumulative& f : all)
    module.def(
        f.name,
        [&f](ArrayLike x, std::int64_t axis, bool reverse) {
          const Array a = x.array(f.name);
          return call_transformation(f.name, [&] { return cumulative(f, a, axis, reverse); });
        },
        f.text);
}

}  // namespace tenon::python
