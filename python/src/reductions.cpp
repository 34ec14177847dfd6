// Reductions along axes, statistics, and elements in order.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "axes.h"
#include "call.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "tenon/ops/order.h"
#include "tenon/ops/sorting.h"
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
    {"logsumexp", tenon::logsumexp, "log(sum(exp(x))), without overflow."},
    {"softmax", tenon::softmax, "exp(x) / sum(exp(x))."},
    {"log_softmax", tenon::log_softmax, "log(softmax(x)), without underflow."},
    {"norm", tenon::norm, "sqrt(sum(|x|²))."},
};

template <Array (*F)(const Operand&, const Axes&, std::int64_t)>
auto spread(const char* name) {
  return [name](ArrayLike x, nb::handle axis, std::int64_t ddof, bool keepdims) {
    const Array a = x.array(name);
    const Axes axes = axes_from(axis, keepdims);
    return call_op(name, [&] { return F(op(a), axes, ddof); });
  };
}

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
  module.def("var", spread<tenon::var>("var"), "The mean squared distance from the mean.");
  module.def("std", spread<tenon::stddev>("std"), "The square root of var.");
  module.def("standardize", [](ArrayLike x, nb::handle axis, double epsilon) {
    const Array a = x.array("standardize");
    const Axes axes = axes_from(axis, false);
    return call_op("standardize", [&] { return standardize(op(a), axes, epsilon); });
  });
  module.def(
      "sort",
      [](ArrayLike x, std::int64_t axis, bool descending) {
        const Array a = x.array("sort");
        return call_op("sort", [&] { return sort(op(a), axis, {.descending = descending}); });
      },
      "The elements in order along an axis; NaN last.");
  module.def(
      "argsort",
      [](ArrayLike x, std::int64_t axis, bool descending) {
        const Array a = x.array("argsort");
        return call_op("argsort", [&] { return argsort(op(a), axis, {.descending = descending}); });
      },
      "Where the elements in order are, i32.");
  module.def(
      "sort_together",
      [](const std::vector<ArrayLike>& xs, std::int64_t keys, std::int64_t axis) {
        Arrays all;
        for (const ArrayLike& x : xs) all.push_back(x.array("sort"));
        return call_op("sort", [&] { return sort_together(all, keys, axis, {}, Source()); });
      },
      "Arrays of one shape, all in the order of the first `keys`.");
  module.def(
      "top_k",
      [](ArrayLike x, SizeLike k) {
        const Array a = x.array("top_k");
        TopK top = call_op("top_k", [&] { return top_k(op(a), k.size); });
        return std::pair(std::move(top.values), std::move(top.indices));
      },
      "The k largest elements along the last axis, and where they are.");
}

}  // namespace tenon::python
