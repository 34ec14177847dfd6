// Numbers in equal steps, neighbours, polynomials, covariances, products of vectors, diagonals, elements in other
// places.
#include "tenon/api/vectors.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "axes.h"
#include "call.h"
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
#include "tenon/api/polynomials.h"
#include "tenon/api/rearrange.h"
#include "tenon/api/tapers.h"

namespace tenon::python {
namespace {

MaybeArray array_or_none(const char* name, nb::handle x) {
  return x.is_none() ? MaybeArray() : MaybeArray(operand(name, x));
}
SpacedOptions spaced_options(bool endpoint, std::optional<DTypeArgument> dtype, std::int64_t axis) {
  SpacedOptions options{endpoint, {}, axis};
  if (dtype) options.dtype = *dtype;
  return options;
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
    Arrays all;
    for (const ArrayLike& x : vectors) all.push_back(x.array("meshgrid"));
    return call_op("meshgrid", [&] { return meshgrid(all, {matrix_order, sparse}, Source()); });
  });
}

void add_differences(nb::module_& module) {
  module.def("diff", [](ArrayLike x, std::int64_t n, std::int64_t axis, nb::handle prepend, nb::handle append) {
    const char* name = "diff";
    const Array a = x.array(name);
    const DiffOptions options{array_or_none(name, prepend), array_or_none(name, append)};
    return call_op(name, [&] { return diff(op(a), n, axis, options); });
  });
  module.def("ediff1d", [](ArrayLike x, nb::handle to_begin, nb::handle to_end) {
    const char* name = "ediff1d";
    const Array a = x.array(name);
    const Ediff1dOptions options{array_or_none(name, to_begin), array_or_none(name, to_end)};
    return call_op(name, [&] { return ediff1d(op(a), options); });
  });
  module.def("gradient", [](ArrayLike f, std::int64_t axis, ArrayLike spacing) {
    const Array a = f.array("gradient"), h = spacing.array("gradient");
    return call_op("gradient", [&] { return gradient(op(a), axis, op(h)); });
  });
  module.def("trapezoid", [](ArrayLike y, nb::handle x, ArrayLike dx, std::int64_t axis) {
    const char* name = "trapezoid";
    const Array a = y.array(name);
    const TrapezoidOptions options{array_or_none(name, x), dx.array(name), axis};
    return call_op(name, [&] { return trapezoid(op(a), options); });
  });
  module.def("unwrap", [](ArrayLike p, std::optional<double> discont, std::int64_t axis, ArrayLike period) {
    const char* name = "unwrap";
    const Array a = p.array(name);
    const UnwrapOptions options{discont, axis, period.array(name)};
    return call_op(name, [&] { return unwrap(op(a), options); });
  });
}

struct OfTwoPolynomials {
  const char* name;
  Array (*f)(const Operand& p, const Operand& q);
};
constexpr OfTwoPolynomials of_two_polynomials[] = {
    {"polyval", polyval}, {"polyadd", polyadd}, {"polysub", polysub}, {"polymul", polymul}, {"kron", kron}};
struct OfPolynomial {
  const char* name;
  Array (*f)(const Operand& p);
};
constexpr OfPolynomial of_polynomial[] = {{"poly", poly}, {"roots", roots}, {"companion", companion}};

void add_polynomials(nb::module_& module) {
  for (const OfTwoPolynomials& r : of_two_polynomials)
    module.def(r.name, [name = r.name, f = r.f](ArrayLike p, ArrayLike q) {
      const Array a = p.array(name), b = q.array(name);
      return call_op(name, [&] { return f(op(a), op(b)); });
    });
  for (const OfPolynomial& r : of_polynomial)
    module.def(r.name, [name = r.name, f = r.f](ArrayLike p) {
      const Array a = p.array(name);
      return call_op(name, [&] { return f(op(a)); });
    });
  module.def("polydiv", [](ArrayLike u, ArrayLike v) {
    const Array a = u.array("polydiv"), b = v.array("polydiv");
    const PolynomialDivision made = call_op("polydiv", [&] { return polydiv(op(a), op(b)); });
    return nb::make_tuple(made.quotient, made.remainder);
  });
  module.def("polyder", [](ArrayLike p, std::int64_t m) {
    const Array a = p.array("polyder");
    return call_op("polyder", [&] { return polyder(op(a), m); });
  });
  module.def("polyint", [](ArrayLike p, std::int64_t m, nb::handle constants) {
    const Array a = p.array("polyint");
    const MaybeArray k = array_or_none("polyint", constants);
    return call_op("polyint", [&] { return polyint(op(a), m, k); });
  });
  module.def("vander", [](ArrayLike x, nb::handle n, bool increasing) {
    const Array a = x.array("vander");
    const std::optional<Dim> columns = n.is_none() ? std::optional<Dim>() : dim_from(n);
    return call_op("vander", [&] { return vander(op(a), columns, {increasing}); });
  });
  module.def("polyfit",
             [](ArrayLike x, ArrayLike y, std::int64_t degree, nb::handle weights, nb::handle rcond, bool covariance) {
               const char* name = "polyfit";
               const Array a = x.array(name), b = y.array(name);
               const PolyfitOptions options{array_or_none(name, weights), array_or_none(name, rcond), covariance};
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
      const MaybeArray b = array_or_none(name, y);
      const CovOptions options{columns, array_or_none(name, ddof), array_or_none(name, frequencies),
                               array_or_none(name, weights)};
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
  module.def("diagonal", [](ArrayLike x, std::int64_t k, std::int64_t axis1, std::int64_t axis2) {
    const Array a = x.array("diagonal");
    return call_op("diagonal", [&] { return diagonal(op(a), k, axis1, axis2); });
  });
  module.def("diag", [](ArrayLike x, std::int64_t k) {
    const Array a = x.array("diag");
    return call_op("diag", [&] { return diag(op(a), k); });
  });
  module.def("tril", [](ArrayLike x, std::int64_t k) {
    const Array a = x.array("tril");
    return call_op("tril", [&] { return tril(op(a), k); });
  });
  module.def("triu", [](ArrayLike x, std::int64_t k) {
    const Array a = x.array("triu");
    return call_op("triu", [&] { return triu(op(a), k); });
  });
}

constexpr Named<PadMode> pad_modes[] = {
    {"edge", PadMode::edge}, {"wrap", PadMode::wrap}, {"reflect", PadMode::reflect}, {"symmetric", PadMode::symmetric}};

void add_rearranged(nb::module_& module) {
  module.def("rot90", [](ArrayLike x, std::int64_t k, std::int64_t axis1, std::int64_t axis2) {
    const Array a = x.array("rot90");
    return call_op("rot90", [&] { return rot90(op(a), k, axis1, axis2); });
  });
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
