// Numbers in equal steps, neighbours, polynomials, covariances, products of vectors, diagonals, elements in other
// places.
#include "tenon/api/vectors.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "axes.h"
#include "call.h"
#include "def_function.h"
#include "dtypes.h"
#include "named.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"
#include "shapes.h"
#include "tenon/api/covariance.h"
#include "tenon/api/diagonals.h"
#include "tenon/api/differences.h"
#include "tenon/api/grids.h"
#include "tenon/api/packed_bits.h"
#include "tenon/api/places.h"
#include "tenon/api/polynomials.h"
#include "tenon/api/rearrange.h"
#include "tenon/api/tapers.h"

namespace tenon::python {
namespace {

SpacedOptions spaced_options(bool endpoint, std::optional<DTypeArgument> dtype, std::int64_t axis) {
  SpacedOptions options{endpoint, {}, axis};
  if (dtype) options.dtype = *dtype;
  return options;
}

std::vector<Array> arrays_of(const char* name, const std::vector<ArrayLike>& given) {
  std::vector<Array> all;
  for (const ArrayLike& each : given) all.push_back(each.array(name));
  return all;
}

void add_grids(nb::module_& module) {
  module.def("linspace", [](ArrayLike start, ArrayLike stop, SizeLike num, bool endpoint,
                            std::optional<DTypeArgument> dtype, std::int64_t axis) {
    const char* name = "linspace";
    const Array a = start.array(name), b = stop.array(name);
    const SpacedNumbers made =
        call_op(name, [&] { return linspace_and_step(op(a), op(b), num.size, spaced_options(endpoint, dtype, axis)); });
    return nb::make_tuple(made.numbers, made.step);
  });
  module.def("logspace", [](ArrayLike start, ArrayLike stop, SizeLike num, bool endpoint, ArrayLike base,
                            std::optional<DTypeArgument> dtype, std::int64_t axis) {
    const char* name = "logspace";
    const Array a = start.array(name), b = stop.array(name), c = base.array(name);
    return call_op(name,
                   [&] { return logspace(op(a), op(b), num.size, op(c), spaced_options(endpoint, dtype, axis)); });
  });
  module.def("geomspace", [](ArrayLike start, ArrayLike stop, SizeLike num, bool endpoint,
                             std::optional<DTypeArgument> dtype, std::int64_t axis) {
    const char* name = "geomspace";
    const Array a = start.array(name), b = stop.array(name);
    return call_op(name, [&] { return geomspace(op(a), op(b), num.size, spaced_options(endpoint, dtype, axis)); });
  });
  module.def("meshgrid", [](const std::vector<ArrayLike>& vectors, bool matrix_order, bool sparse) {
    const std::vector<Array> all = arrays_of("meshgrid", vectors);
    return call_op("meshgrid", [&] { return meshgrid(all, {matrix_order, sparse}, Source()); });
  });
}

void add_differences(nb::module_& module) {
  module.def("diff", [](ArrayLike x, std::int64_t n, std::int64_t axis, nb::handle prepend, nb::handle append) {
    const char* name = "diff";
    const Array a = x.array(name);
    const DiffOptions options{operand_or_none(name, prepend), operand_or_none(name, append)};
    return call_op(name, [&] { return diff(op(a), n, axis, options); });
  });
  module.def("ediff1d", [](ArrayLike x, nb::handle to_begin, nb::handle to_end) {
    const char* name = "ediff1d";
    const Array a = x.array(name);
    const Ediff1dOptions options{operand_or_none(name, to_begin), operand_or_none(name, to_end)};
    return call_op(name, [&] { return ediff1d(op(a), options); });
  });
  def_function(module, "gradient", gradient);
  module.def("trapezoid", [](ArrayLike y, nb::handle x, ArrayLike dx, std::int64_t axis) {
    const char* name = "trapezoid";
    const Array a = y.array(name);
    const TrapezoidOptions options{operand_or_none(name, x), dx.array(name), axis};
    return call_op(name, [&] { return trapezoid(op(a), options); });
  });
  module.def("unwrap", [](ArrayLike p, std::optional<double> discont, std::int64_t axis, ArrayLike period) {
    const char* name = "unwrap";
    const Array a = p.array(name);
    const UnwrapOptions options{discont, axis, period.array(name)};
    return call_op(name, [&] { return unwrap(op(a), options); });
  });
}

void add_polynomials(nb::module_& module) {
  def_function(module, "polyval", polyval);
  def_function(module, "polyadd", polyadd);
  def_function(module, "polysub", polysub);
  def_function(module, "polymul", polymul);
  def_function(module, "kron", kron);
  def_function(module, "poly", poly);
  def_function(module, "roots", roots);
  def_function(module, "companion", companion);
  def_function(module, "polyder", polyder);
  module.def("polydiv", [](ArrayLike u, ArrayLike v) {
    const Array a = u.array("polydiv"), b = v.array("polydiv");
    const PolynomialDivision made = call_op("polydiv", [&] { return polydiv(op(a), op(b)); });
    return nb::make_tuple(made.quotient, made.remainder);
  });
  module.def("polyint", [](ArrayLike p, std::int64_t m, nb::handle constants) {
    const Array a = p.array("polyint");
    const MaybeArray k = operand_or_none("polyint", constants);
    return call_op("polyint", [&] { return polyint(op(a), m, k); });
  });
  module.def("vander", [](ArrayLike x, nb::handle n, bool increasing) {
    const Array a = x.array("vander");
    const std::optional<Dim> columns = size_or_none(n);
    return call_op("vander", [&] { return vander(op(a), columns, {increasing}); });
  });
  module.def("polyfit",
             [](ArrayLike x, ArrayLike y, std::int64_t degree, nb::handle weights, nb::handle rcond, bool covariance) {
               const char* name = "polyfit";
               const Array a = x.array(name), b = y.array(name);
               const PolyfitOptions options{operand_or_none(name, weights), operand_or_none(name, rcond), covariance};
               const PolynomialFit made = call_op(name, [&] { return polyfit(op(a), op(b), degree, options); });
               const nb::object of = covariance ? array_object(made.unscaled_covariance) : nb::none();
               return nb::make_tuple(made.coefficients, made.residuals, made.rank, made.singular_values, of);
             });
}

void add_variables(nb::module_& module) {
  const auto add = [&](const char* name, auto of_one, auto of_two) {
    module.def(name, [=](ArrayLike x, nb::handle y, bool columns, nb::handle ddof, nb::handle frequencies,
                         nb::handle weights) {
      const Array a = x.array(name);
      const MaybeArray b = operand_or_none(name, y);
      const CovOptions options{columns, operand_or_none(name, ddof), operand_or_none(name, frequencies),
                               operand_or_none(name, weights)};
      return call_op(name, [&] { return b ? of_two(op(a), op(*b), options) : of_one(op(a), options); });
    });
  };
  using OfOneArray = Array (*)(const Operand& x, const CovOptions& options);
  using OfTwoArrays = Array (*)(const Operand& x, const Operand& y, const CovOptions& options);
  add("cov", static_cast<OfOneArray>(cov), static_cast<OfTwoArrays>(cov));
  add("corrcoef", static_cast<OfOneArray>(corrcoef), static_cast<OfTwoArrays>(corrcoef));
  module.def("cross", [](ArrayLike x, ArrayLike y, std::int64_t of_x, std::int64_t of_y, std::int64_t result) {
    const Array a = x.array("cross"), b = y.array("cross");
    return call_op("cross", [&] { return cross(op(a), op(b), CrossAxes{of_x, of_y, result}); });
  });
}

void add_diagonals(nb::module_& module) {
  def_function(module, "diagonal", diagonal);
  def_function(module, "diag", diag);
  def_function(module, "tril", tril);
  def_function(module, "triu", triu);
}

constexpr Named<PadMode> pad_modes[] = {
    {"edge", PadMode::edge}, {"wrap", PadMode::wrap}, {"reflect", PadMode::reflect}, {"symmetric", PadMode::symmetric}};

constexpr Named<ChooseMode> choose_modes[] = {
    {"raise", ChooseMode::refuse}, {"wrap", ChooseMode::wrap}, {"clip", ChooseMode::clip}};

// With parts more or less, chosen among others, and in order about some.
void add_places(nb::module_& module) {
  using Places = std::vector<std::int64_t>;
  using Along = std::optional<std::int64_t>;
  module.def(
      "insert",
      [](ArrayLike x, ArrayLike places, ArrayLike values, Along axis) {
        const Array a = x.array("insert"), at = places.array("insert"), rows = values.array("insert");
        return call_op("insert", [&] { return insert(op(a), op(at), op(rows), axis); });
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  module.def(
      "delete_known",
      [](ArrayLike x, const Places& places, Along axis) {
        const Array a = x.array("delete");
        return call_op("delete", [&] { return without(op(a), places, axis); });
      },
      nb::arg(), nb::arg(), nb::arg().none());
  module.def(
      "delete_distinct",
      [](ArrayLike x, ArrayLike places, Along axis) {
        const Array a = x.array("delete"), at = places.array("delete");
        return call_op("delete", [&] { return without(op(a), at, axis); });
      },
      nb::arg(), nb::arg(), nb::arg().none());
  module.def("choose", [](ArrayLike which, const std::vector<ArrayLike>& choices, const std::string& mode) {
    const Array at = which.array("choose");
    const std::vector<Array> each = arrays_of("choose", choices);
    const ChooseMode outside = by_name("choose", "mode", choose_modes, mode);
    return call_op("choose", [&] { return choose(op(at), each, outside); });
  });
  module.def("partition", [](ArrayLike x, const Places& places, std::int64_t axis) {
    const Array a = x.array("partition");
    return call_op("partition", [&] { return partition(op(a), places, axis); });
  });
  module.def("argpartition", [](ArrayLike x, const Places& places, std::int64_t axis) {
    const Array a = x.array("argpartition");
    return call_op("argpartition", [&] { return argpartition(op(a), places, axis); });
  });
}

constexpr Named<Outside> outsides[] = {{"clip", Outside::clip}, {"wrap", Outside::wrap}, {"ignore", Outside::ignore}};

// Elements by their numbers in a row, by conditions and on diagonals.
void add_numbered(nb::module_& module) {
  module.def("select",
             [](const std::vector<ArrayLike>& conditions, const std::vector<ArrayLike>& choices, ArrayLike otherwise) {
               const std::vector<Array> all = arrays_of("select", conditions), of = arrays_of("select", choices);
               const Array rest = otherwise.array("select");
               return call_op("select", [&] { return tenon::select(all, of, op(rest)); });
             });
  module.def("unravel_index", [](ArrayLike numbers, ShapeLike shape) {
    const Array at = numbers.array("unravel_index");
    return call_op("unravel_index", [&] { return unravel_index(op(at), shape.shape); });
  });
  module.def("ravel_multi_index", [](const std::vector<ArrayLike>& indices, ShapeLike shape, const std::string& mode) {
    const char* name = "ravel_multi_index";
    const std::vector<Array> all = arrays_of(name, indices);
    const Outside outside = by_name(name, "mode", outsides, mode);
    return call_op(name, [&] { return ravel_index(all, shape.shape, outside, Source()); });
  });
  module.def("put", [](ArrayLike x, ArrayLike numbers, ArrayLike values, const std::string& mode) {
    const Array a = x.array("put"), at = numbers.array("put"), v = values.array("put");
    const Outside outside = by_name("put", "mode", outsides, mode);
    return call_op("put", [&] { return put(op(a), op(at), op(v), outside); });
  });
  def_function(module, "place", tenon::place);
  def_function(module, "fill_diagonal", tenon::fill_diagonal);
}

void add_rearranged(nb::module_& module) {
  add_numbered(module);
  add_places(module);
  def_function(module, "rot90", rot90);
  module.def("roll", [](ArrayLike x, nb::handle shift, std::int64_t axis) {
    const Array a = x.array("roll");
    const bool traced = is_array(shift.ptr()) && array_of(shift.ptr()).traced() != nullptr;
    if (traced) return call_op("roll", [&] { return roll(op(a), array_of(shift.ptr()), axis); });
    const Dim by = dim_from(shift);
    return call_op("roll", [&] { return roll(op(a), by, axis); });
  });
  module.def("tile", [](ArrayLike x, ShapeLike times) {
    const Array a = x.array("tile");
    return call_op("tile", [&] { return tile(op(a), times.shape); });
  });
  module.def("repeat", [](ArrayLike x, SizeLike times, std::int64_t axis) {
    const Array a = x.array("repeat");
    return call_op("repeat", [&] { return repeat(op(a), times.size, axis); });
  });
  module.def("repeat_each", [](ArrayLike x, ArrayLike times, SizeLike total, std::int64_t axis) {
    const Array a = x.array("repeat"), each = times.array("repeat");
    return call_op("repeat", [&] { return repeat(op(a), each, total.size, axis); });
  });
  module.def("pad_by",
             [](ArrayLike x, const std::vector<std::pair<nb::object, nb::object>>& widths, const std::string& mode) {
               const Array a = x.array("pad");
               std::vector<PadWidth> each;
               for (const auto& [before, behind] : widths) each.push_back({dim_from(before), dim_from(behind)});
               const PadMode how = by_name("pad", "mode", pad_modes, mode);
               return call_op("pad", [&] { return pad(op(a), each, how); });
             });
}

struct Taper {
  const char* name;
  Array (*f)(const Dim& n, DType dtype);
};
constexpr Taper tapers[] = {{"bartlett", bartlett}, {"hanning", hanning}, {"hamming", hamming}, {"blackman", blackman}};
constexpr Named<BitOrder> bit_orders[] = {{"big", BitOrder::big}, {"little", BitOrder::little}};

void add_tapers_and_bits(nb::module_& module) {
  for (const Taper& r : tapers)
    module.def(r.name, [name = r.name, f = r.f](SizeLike n, DTypeArgument dtype) {
      return call_op(name, [&] { return f(n.size, dtype); });
    });
  module.def("kaiser", [](SizeLike n, ArrayLike beta, DTypeArgument dtype) {
    const Array b = beta.array("kaiser");
    return call_op("kaiser", [&] { return kaiser(n.size, op(b), dtype); });
  });
  module.def("packbits", [](ArrayLike x, std::optional<std::int64_t> axis, const std::string& order) {
    const Array a = x.array("packbits");
    const PackOptions options{axis, by_name("packbits", "bitorder", bit_orders, order)};
    return call_op("packbits", [&] { return packbits(op(a), options); });
  });
  module.def("unpackbits", [](ArrayLike x, std::optional<std::int64_t> axis, std::optional<std::int64_t> count,
                              const std::string& order) {
    const Array a = x.array("unpackbits");
    const UnpackOptions options{axis, count, by_name("unpackbits", "bitorder", bit_orders, order)};
    return call_op("unpackbits", [&] { return unpackbits(op(a), options); });
  });
}

}  // namespace

void add_vectors(nb::module_& module) {
  add_grids(module);
  add_differences(module);
  add_polynomials(module);
  add_variables(module);
  add_diagonals(module);
  add_rearranged(module);
  add_tapers_and_bits(module);
}

}  // namespace tenon::python
