// Reductions of some of the elements, quantiles, histograms, sets.
#include <nanobind/stl/optional.h>
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
#include "tenon/api/histograms.h"
#include "tenon/api/quantiles.h"
#include "tenon/api/reductions.h"
#include "tenon/api/sets.h"

namespace tenon::python {
namespace {

// --- reductions ---

struct Masked {
  const char* name;
  Array (*f)(const Operand& x, const Axes& axes, const ReduceOptions& options);
};
constexpr Masked masked[] = {{"masked_sum", sum},  {"masked_prod", prod}, {"masked_any", any}, {"masked_max", amax},
                             {"masked_min", amin}, {"masked_mean", mean}, {"nansum", nansum},  {"nanprod", nanprod},
                             {"nanmax", nanmax},   {"nanmin", nanmin},    {"nanmean", nanmean}};
struct Spread {
  const char* name;
  Array (*f)(const Operand& x, const Axes& axes, const VarOptions& options);
};
constexpr Spread spreads[] = {{"masked_var", var}, {"masked_std", stddev}, {"nanvar", nanvar}, {"nanstd", nanstd}};
struct AlongAxes {
  const char* name;
  Array (*f)(const Operand& x, const Axes& axes);
};
constexpr AlongAxes along_axes[] = {{"ptp", ptp},       {"nanargmax", nanargmax}, {"nanargmin", nanargmin},
                                    {"median", median}, {"nanmedian", nanmedian}, {"count_nonzero", count_nonzero}};

void add_masked(nb::module_& module) {
  for (const Masked& r : masked)
    module.def(r.name, [name = r.name, f = r.f](ArrayLike x, nb::handle axis, bool keepdims, nb::handle where,
                                                nb::handle initial, std::optional<DTypeArgument> dtype) {
      const Array a = x.array(name);
      const Axes axes = axes_from(axis, keepdims);
      ReduceOptions options{operand_or_none(name, where), operand_or_none(name, initial), {}};
      if (dtype) options.dtype = *dtype;
      return call_op(name, [&] { return f(op(a), axes, options); });
    });
  for (const Spread& r : spreads)
    module.def(r.name, [name = r.name, f = r.f](ArrayLike x, nb::handle axis, bool keepdims, nb::handle where,
                                                nb::handle mean, ArrayLike ddof) {
      const Array a = x.array(name);
      const Axes axes = axes_from(axis, keepdims);
      const VarOptions options{operand_or_none(name, where), operand_or_none(name, mean), ddof.array(name)};
      return call_op(name, [&] { return f(op(a), axes, options); });
    });
  for (const AlongAxes& r : along_axes)
    module.def(r.name, [name = r.name, f = r.f](ArrayLike x, nb::handle axis, bool keepdims) {
      const Array a = x.array(name);
      const Axes axes = axes_from(axis, keepdims);
      return call_op(name, [&] { return f(op(a), axes); });
    });
  module.def("nancumsum", [](ArrayLike x, std::int64_t axis) {
    const Array a = x.array("nancumsum");
    return call_transformation("nancumsum", [&] { return nancumsum(op(a), axis); });
  });
  module.def("nancumprod", [](ArrayLike x, std::int64_t axis) {
    const Array a = x.array("nancumprod");
    return call_transformation("nancumprod", [&] { return nancumprod(op(a), axis); });
  });
  module.def("weighted_mean", [](ArrayLike x, ArrayLike weights, nb::handle axis, bool keepdims) {
    const char* name = "average";
    const Array a = x.array(name), w = weights.array(name);
    const Axes axes = axes_from(axis, keepdims);
    const WeightedMean made = call_op(name, [&] { return weighted_mean(op(a), op(w), axes); });
    return nb::make_tuple(made.mean, made.weight);
  });
}

// --- quantiles ---

constexpr Named<QuantileMethod> quantile_methods[] = {
    {"linear", QuantileMethod::linear},
    {"lower", QuantileMethod::lower},
    {"higher", QuantileMethod::higher},
    {"nearest", QuantileMethod::nearest},
    {"midpoint", QuantileMethod::midpoint},
    {"inverted_cdf", QuantileMethod::inverted_cdf},
    {"averaged_inverted_cdf", QuantileMethod::averaged_inverted_cdf},
    {"closest_observation", QuantileMethod::closest_observation},
    {"interpolated_inverted_cdf", QuantileMethod::interpolated_inverted_cdf},
    {"hazen", QuantileMethod::hazen},
    {"weibull", QuantileMethod::weibull},
    {"median_unbiased", QuantileMethod::median_unbiased},
    {"normal_unbiased", QuantileMethod::normal_unbiased}};
struct OfParts {
  const char* name;
  Array (*f)(const Operand& x, const Operand& q, const Axes& axes, const QuantileOptions& options);
};
constexpr OfParts of_parts[] = {
    {"quantile", quantile}, {"percentile", percentile}, {"nanquantile", nanquantile}, {"nanpercentile", nanpercentile}};

void add_quantiles(nb::module_& module) {
  nb::list names;
  for (const Named<QuantileMethod>& method : quantile_methods) names.append(method.name);
  module.attr("quantile_methods") = names;
  for (const OfParts& r : of_parts)
    module.def(r.name, [name = r.name, f = r.f](ArrayLike x, ArrayLike q, nb::handle axis, bool keepdims,
                                                const std::string& method, nb::handle weights) {
      const Array a = x.array(name), parts = q.array(name);
      const Axes axes = axes_from(axis, keepdims);
      const QuantileOptions options{by_name(name, "method", quantile_methods, method), operand_or_none(name, weights)};
      return call_op(name, [&] { return f(op(a), op(parts), axes, options); });
    });
}

// --- histograms ---

Bins bins_from(const char* name, nb::handle bins) {
  if (PyIndex_Check(bins.ptr()) != 0 && !is_array(bins.ptr())) return Bins(dim_from(bins));
  const Array a = operand(name, bins);
  return a.rank() == 0 ? Bins(dim_from(bins)) : Bins(a);
}
BinRange range_from(const char* name, nb::handle range) {
  if (range.is_none()) return {};
  return std::pair(operand(name, range[0]), operand(name, range[1]));
}

void add_histograms(nb::module_& module) {
  module.def("bincount", [](ArrayLike x, nb::handle weights, SizeLike length) {
    const char* name = "bincount";
    const Array a = x.array(name);
    const BincountOptions options{operand_or_none(name, weights), length.size, 0};
    return call_op(name, [&] { return bincount(op(a), options); });
  });
  module.def("histogram_bin_edges", [](ArrayLike x, nb::handle bins, nb::handle range) {
    const char* name = "histogram_bin_edges";
    const Array a = x.array(name);
    const Bins b = bins_from(name, bins);
    const BinRange r = range_from(name, range);
    return call_op(name, [&] { return histogram_bin_edges(op(a), b, r); });
  });
  module.def("histogram", [](ArrayLike x, nb::handle bins, nb::handle range, nb::handle weights, bool density) {
    const char* name = "histogram";
    const Array a = x.array(name);
    const Bins b = bins_from(name, bins);
    const HistogramOptions options{range_from(name, range), operand_or_none(name, weights), density};
    const Histogram made = call_op(name, [&] { return histogram(op(a), b, options); });
    return nb::make_tuple(made.counts, made.edges);
  });
  module.def("histogramdd", [](ArrayLike points, const std::vector<nb::object>& bins,
                               const std::vector<nb::object>& ranges, nb::handle weights, bool density) {
    const char* name = "histogramdd";
    const Array a = points.array(name);
    std::vector<Bins> each;
    HistogramddOptions options{{}, operand_or_none(name, weights), density};
    for (const nb::object& b : bins) each.push_back(bins_from(name, b));
    for (const nb::object& r : ranges) options.ranges.push_back(range_from(name, r));
    const HistogramOfAxes made = call_op(name, [&] { return histogramdd(op(a), each, options); });
    nb::list edges;
    for (const Array& e : made.edges) edges.append(array_object(e));
    return nb::make_tuple(made.counts, edges);
  });
  def_function(module, "digitize", digitize);
}

// --- sets ---

struct OfTwoSets {
  const char* name;
  Array (*f)(const Operand& x, const Operand& y, const TwoSetsOptions& options);
};
Array either(const Operand& x, const Operand& y, const TwoSetsOptions& options) { return union1d(x, y, options); }
constexpr OfTwoSets of_two_sets[] = {
    {"union1d", either}, {"intersect1d", intersect1d}, {"setdiff1d", setdiff1d}, {"setxor1d", setxor1d}};

void add_sets(nb::module_& module) {
  module.def("unique", [](ArrayLike x, std::optional<std::int64_t> axis, bool equal_nan, nb::handle size,
                          nb::handle fill, bool indices, bool inverse, bool counts) {
    const char* name = "unique";
    const Array a = x.array(name);
    const UniqueOptions options{{size_or_none(size), operand_or_none(name, fill)}, axis, equal_nan};
    const Unique made = call_op(name, [&] { return unique_all(op(a), options, {indices, inverse, counts}); });
    nb::list all;
    for (const Array* part : {&made.values, &made.indices, &made.inverse, &made.counts})
      if (!part->empty()) all.append(array_object(*part));
    return all;
  });
  def_function(module, "isin", isin);
  for (const OfTwoSets& r : of_two_sets)
    module.def(r.name,
               [name = r.name, f = r.f](ArrayLike x, ArrayLike y, bool unique, nb::handle size, nb::handle fill) {
                 const Array a = x.array(name), b = y.array(name);
                 const TwoSetsOptions options{{size_or_none(size), operand_or_none(name, fill)}, unique};
                 return call_op(name, [&] { return f(op(a), op(b), options); });
               });
  module.def("intersection_and_places", [](ArrayLike x, ArrayLike y, nb::handle size, nb::handle fill) {
    const char* name = "intersect1d";
    const Array a = x.array(name), b = y.array(name);
    const SetOptions options{size_or_none(size), operand_or_none(name, fill)};
    const Intersection made = call_op(name, [&] { return intersection_and_places(op(a), op(b), options); });
    return nb::make_tuple(made.values, made.of_x, made.of_y);
  });
  module.def("nonzero_of_size",
             [](ArrayLike x, SizeLike size, const std::vector<nb::object>& fill, DTypeArgument dtype) {
               const char* name = "nonzero";
               const Array a = x.array(name);
               Arrays fills;
               for (const nb::object& f : fill) fills.push_back(operand(name, f));
               return call_op(name, [&] { return nonzero(op(a), size.size, fills, dtype); });
             });
  module.def("compress_of_size", [](ArrayLike x, ArrayLike mask, SizeLike size, ArrayLike fill) {
    const char* name = "compress";
    const Array a = x.array(name), m = mask.array(name), f = fill.array(name);
    return call_op(name, [&] { return compress(op(a), op(m), size.size, op(f)); });
  });
}

}  // namespace

void add_summaries(nb::module_& module) {
  add_masked(module);
  add_quantiles(module);
  add_histograms(module);
  add_sets(module);
}

}  // namespace tenon::python
