// Reductions along axes.
#include <nanobind/nanobind.h>

#include "axes.h"
#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/ops/order.h"
#include "tenon/ops/statistics.h"

namespace tenon::python {
namespace {

struct Reduction {
  const char* name;
  Array (*f)(const Operand& x, const Axes& axes);
  const char* text;
};
Array every(const Operand& x, const Axes& axes) { return tenon::all(x, axes); }
constexpr Reduction reductions[] = {
    {"sum", tenon::sum, "The sum along axes."},
    {"prod", tenon::prod, "The product along axes."},
    {"max", order::largest, "The largest element along axes; NaN where any is."},
    {"min", order::smallest, "The smallest element along axes; NaN where any is."},
    {"any", tenon::any, "Whether any element is true."},
    {"all", every, "Whether all elements are true."},
    {"argmax", tenon::argmax, "Where the first largest element is, i32."},
    {"argmin", tenon::argmin, "Where the first smallest element is, i32."},
    {"mean", tenon::mean, "The mean along axes."},
    {"softmax", tenon::softmax, "exp(x) / sum(exp(x))."},
    {"log_softmax", tenon::log_softmax, "log(softmax(x)), without underflow."},
};

}  // namespace

void add_reductions(nb::module_& module) {
  for (const Reduction& r : reductions)
    module.def(
        r.name,
        [name = r.name, f = r.f](ArrayLike x, nb::handle axis, bool keepdims) {
          const Array a = x.array(name);
          const Axes axes = axes_from(axis, keepdims);
          return call_op(name, [&] { return f(op(a), axes); });
        },
        r.text);
}

}  // namespace tenon::python
