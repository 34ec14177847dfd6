// Slices read and written at indices, in their general form: what lax.gather and lax.scatter are made of.
#include "gathers.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "errors.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/ops/elementwise/convert.h"

namespace tenon::python {

IndexMode index_mode_from(const std::string& text) {
  if (text == "clip") return IndexMode::clip;
  if (text == "fill" || text == "drop") return IndexMode::fill;
  if (text == "promise_in_bounds") return IndexMode::promise_in_bounds;
  throw_option_error(fmt::format("mode: '{}' is none of 'clip', 'fill', 'drop' and 'promise_in_bounds'.", text));
}

GatherOptions gather_options(const std::string& mode, nb::handle fill, const Array& x, bool sorted, bool unique) {
  GatherOptions options{.mode = index_mode_from(mode), .hints = {.sorted = sorted, .unique = unique}};
  if (!fill.is_none()) options.fill = operand("take", fill).item_scalar(Source()).convert(x.dtype());
  return options;
}

namespace {

using Integers = std::vector<std::int64_t>;

ScatterKind kind_from(const std::string& text) {
  if (text == "add") return ScatterKind::add;
  if (text == "mul") return ScatterKind::mul;
  if (text == "min") return ScatterKind::min;
  if (text == "max") return ScatterKind::max;
  return ScatterKind::set;
}

// In the order of the fields of jax.lax.GatherDimensionNumbers.
IndexAxes axes_from(const std::vector<Integers>& given) { return {given[0], given[1], given[2], given[3], given[4]}; }

}  // namespace

void add_gathers(nb::module_& module) {
  module.def("gather", [](ArrayLike x, ArrayLike indices, const std::vector<Integers>& axes, nb::handle sizes,
                          const std::string& mode, nb::handle fill, bool sorted, bool unique) {
    const Array a = x.array("gather"), i = indices.array("gather");
    const GatherOptions options = gather_options(mode, fill, a, sorted, unique);
    const std::vector<Dim> slices = shape_from(sizes).dims();
    return call_op("gather", [&] { return gather(op(a), op(i), axes_from(axes), slices, options); });
  });
  module.def("scatter", [](const std::string& kind, ArrayLike x, ArrayLike indices, ArrayLike updates,
                           const std::vector<Integers>& axes, const std::string& mode, bool sorted, bool unique) {
    const Array a = x.array("scatter"), i = indices.array("scatter"), u = updates.array("scatter");
    const ScatterOptions options{.mode = index_mode_from(mode), .hints = {.sorted = sorted, .unique = unique}};
    return call_op("scatter", [&] { return scatter(kind_from(kind), op(a), op(i), op(u), axes_from(axes), options); });
  });
}

}  // namespace tenon::python
