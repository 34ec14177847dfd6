#include "tenon/api/quantiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "tenon/api/cumulative.h"
#include "tenon/api/reductions.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

using enum QuantileMethod;
constexpr double no_quantile = std::numeric_limits<double>::quiet_NaN();

// The arithmetic of places, of numbers that are known and of arrays.
double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }
double nearest_of(double x) { return std::nearbyint(x); }
double limited(double x, double last) { return std::clamp(x, 0.0, last); }
double choose(bool condition, double a, double b) { return condition ? a : b; }
bool is_odd(double x) { return std::fmod(x, 2) != 0; }
bool both(bool a, bool b) { return a && b; }
double at_least_0(double x) { return std::max(x, 0.0); }
Array floor_of(const Array& x) { return floor(x); }
Array ceil_of(const Array& x) { return ceil(x); }
Array nearest_of(const Array& x) { return round(x); }
Array limited(const Array& x, const Array& last) { return clamp(x, 0, last); }
Array choose(const Array& condition, const Array& a, const Array& b) { return where(condition, a, b); }
Array is_odd(const Array& x) { return x % 2 != 0; }
Array both(const Array& a, const Array& b) { return a & b; }
Array at_least_0(const Array& x) { return max(x, 0); }

// The elements before and behind, and what the latter weighs.
template <class Number>
struct QuantilePlace {
  Number below, above, weight;
};

// n q + α + q (1 - α - β) - 1: the parameters of a method that lies between elements.
struct Plotting {
  double alpha, beta;
};
std::optional<Plotting> plotting_of(QuantileMethod method) {
  switch (method) {
    case interpolated_inverted_cdf:
      return Plotting{0, 1};
    case hazen:
      return Plotting{0.5, 0.5};
    case weibull:
      return Plotting{0, 0};
    case median_unbiased:
      return Plotting{1.0 / 3, 1.0 / 3};
    case normal_unbiased:
      return Plotting{3.0 / 8, 3.0 / 8};
    default:
      return {};
  }
}

// The place of the part q of `count` elements.
template <class Number>
QuantilePlace<Number> quantile_place(QuantileMethod method, const Number& q, const Number& count) {
  const Number last = at_least_0(count - 1);
  const auto between = [](const Number& at) {
    const Number below = floor_of(at);
    return QuantilePlace<Number>{below, ceil_of(at), at - below};
  };
  const auto one = [](const Number& at) { return QuantilePlace<Number>{at, at, Number(0.0)}; };
  if (const auto p = plotting_of(method))
    return between(limited(count * q + (p->alpha + q * (1 - p->alpha - p->beta)) - 1, last));
  const Number at = q * last;  // exact where it falls on an element
  switch (method) {
    case lower:
      return one(floor_of(at));
    case higher:
      return one(ceil_of(at));
    case nearest:
      return one(nearest_of(at));
    case midpoint:
      return {floor_of(at), ceil_of(at), Number(0.5)};
    case inverted_cdf:
    case averaged_inverted_cdf:
    case closest_observation: {
      const Number step = count * q - (method == closest_observation ? 1.5 : 1.0), below = floor_of(step);
      const auto whole = step == below;
      if (method == averaged_inverted_cdf)
        return {limited(below, last), limited(below + 1, last), choose(whole, Number(0.5), Number(1.0))};
      // To the even one, counted from 1.
      const auto stays = method == closest_observation ? both(whole, is_odd(below)) : whole;
      return one(limited(choose(stays, below, below + 1), last));
    }
    default:
      return between(at);
  }
}

bool takes_one(QuantileMethod method) {
  return method == lower || method == higher || method == nearest || method == inverted_cdf ||
         method == closest_observation;
}

// x with the axes that are reduced as one, the last; and the shape that is left.
struct LastAxis {
  Array rows;
  std::vector<Dim> kept;  // sizes of 1 in place of those that are reduced, where they are kept
};
LastAxis with_last_axis(std::string_view name, const Array& x, const Axes& axes) {
  const std::vector<std::int64_t> reduced = axes.of(x.type(), name);
  std::vector<std::int64_t> order;
  std::vector<Dim> rows, kept;
  Dim count = 1;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const Dim n = x.shape()[i];
    if (std::ranges::binary_search(reduced, static_cast<std::int64_t>(i))) {
      count = count * n;
      if (axes.keeps_dims()) kept.emplace_back(1);
    } else {
      order.push_back(static_cast<std::int64_t>(i));
      rows.push_back(n);
      kept.push_back(n);
    }
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  rows.push_back(count);
  return {reshape(transpose(x, order), Shape(rows)), kept};
}

Array last_elements(const Array& x, const Dim& i) {
  return squeeze(slice_in_dim(x, i, i + 1, -1), static_cast<std::int64_t>(x.rank()) - 1);
}

// A known number, or several: their values.
std::optional<std::vector<double>> known_values(const Array& q) {
  if (!q.concrete()) return {};
  const Buffer values = convert(q, DType::f64).to_buffer();
  return std::vector(values.as<double>(), values.as<double>() + values.elements());
}

// Of rows in order at places that are known: [axes of q…, axes of rows but the last…].
Array at_known_places(QuantileMethod method, const Array& ordered, const Array& q, const std::vector<double>& values,
                      std::int64_t count) {
  Buffer below = Buffer::allocate(DType::i32, q.shape().sizes()),
         above = Buffer::allocate(DType::i32, q.shape().sizes());
  Buffer weights = Buffer::allocate(DType::f64, q.shape().sizes());
  bool between = false;
  const auto index = [count](double place) {  // of q outside of [0, 1] and NaN too
    return static_cast<std::int32_t>(std::isnan(place) ? 0
                                                       : std::clamp<double>(place, 0, static_cast<double>(count - 1)));
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = quantile_place<double>(method, values[i], static_cast<double>(count));
    below.as<std::int32_t>()[i] = index(place.below), above.as<std::int32_t>()[i] = index(place.above);
    weights.as<double>()[i] = place.weight;
    between |= place.weight != 0 && !takes_one(method);
  }
  const std::size_t rank = ordered.rank() - 1;
  const auto pick = [&](const Buffer& places) {
    if (q.rank() == 0) return last_elements(ordered, places.as<std::int32_t>()[0]);
    const Array picked =
        take(ordered, Array(places), static_cast<std::int64_t>(rank), {.mode = IndexMode::promise_in_bounds});
    std::vector<std::int64_t> order;
    for (std::size_t i = 0; i < picked.rank(); ++i)
      order.push_back(static_cast<std::int64_t>((i + rank) % picked.rank()));
    return transpose(picked, order);
  };
  const Array low = pick(below);
  if (!between) return low;
  const Array high = pick(above);
  if (method == midpoint) return (low + high) / 2;
  if (q.rank() == 0) {
    const double weight = weights.as<double>()[0];
    return low * (1 - weight) + high * weight;
  }
  std::vector<Dim> wide = q.shape().dims();
  wide.resize(wide.size() + rank, Dim(1));
  const Array weight = convert(reshape(Array(weights), Shape(wide)), ordered.dtype());
  return where(weight == 0, low, low * (1 - weight) + high * weight);
}

// The same at places that are computed, of `count` elements of each row, [axes of rows but the last…] or a number.
Array at_places(QuantileMethod method, const Array& ordered, const Array& q, const Array& count) {
  const std::size_t rank = ordered.rank() - 1;
  const Shape rows = ordered.shape().without_axis(rank);
  std::vector<Dim> lead = q.shape().dims();
  lead.resize(lead.size() + rank, Dim(1));
  std::vector<Dim> wide = q.shape().dims(), once(q.rank(), Dim(1));
  wide.insert(wide.end(), rows.begin(), rows.end());
  const Shape whole = ordered.shape();
  once.insert(once.end(), whole.begin(), whole.end());
  const DType d = ordered.dtype();
  const Array parts = broadcast_to(reshape(convert(q, computed_in(d)), Shape(lead)), Shape(wide));
  const auto place = quantile_place<Array>(method, parts, count);
  const Array all = reshape(ordered, Shape(once));
  const auto axis = static_cast<std::int64_t>(all.rank()) - 1;
  const Array last = convert(size_as_array(max(ordered.shape()[rank] - 1, 0)), DType::i32);
  const auto pick = [&](const Array& at) {
    const Array index = clamp(convert(at, DType::i32), 0, last);
    return squeeze(take_along_axis(all, expand_dims(index, axis), axis), axis);
  };
  const Array low = pick(place.below);
  if (takes_one(method)) return low;
  const Array high = pick(place.above);
  if (method == midpoint) return (low + high) / 2;
  return where(place.weight == 0, low, convert(widened(low) * (1 - place.weight) + widened(high) * place.weight, d));
}

// The first element of each row up to which the weights are parts q of all of them.
Array by_weights(const Array& rows, const Array& weights, const Array& q) {
  const auto axis = static_cast<std::int64_t>(rows.rank()) - 1;
  const std::vector<Array> sorted = sort_together({rows, weights}, 1, axis);
  const Array sums = cumsum(sorted[1], axis);
  const Dim n = rows.shape()[rows.rank() - 1];
  std::vector<Dim> wide = q.shape().dims(), once(q.rank(), Dim(1));
  wide.resize(wide.size() + rows.rank(), Dim(1));
  const Array wanted = reshape(convert(q, rows.dtype()), Shape(wide)) * slice_in_dim(sums, n - 1, n, axis);
  // Elements that weigh nothing are not found, so that the part 0 is the first that weighs something.
  const Array found = (sums >= wanted) & (sums > 0);
  const Shape whole = rows.shape();
  once.insert(once.end(), whole.begin(), whole.end());
  const auto last = static_cast<std::int64_t>(found.rank()) - 1;
  const Array at = argmax(found, Axes(last).keepdims());
  return squeeze(take_along_axis(reshape(sorted[0], Shape(once)), at, last), last);
}

Array quantile_of(std::string_view name, const Operand& given, const Operand& q, const Axes& axes,
                  const QuantileOptions& options, bool of_numbers) {
  const SourceScope place(given.where(), name);
  const Array x = to_inexact(given);
  if (is_complex(x.dtype()))
    throw DTypeError(fmt::format("{}: complex numbers, {}, have no order.", name, x.type().text()),
                     "Take that of real(x) and imag(x), or of abs(x).");
  if (is_complex(q->dtype()))
    throw DTypeError(fmt::format("{}: the part {} is complex.", name, q->type().text()), "Parts are real numbers.");
  LastAxis last = with_last_axis(name, x, axes);
  const auto shaped = [&](const Array& made) {
    if (!axes.keeps_dims()) return made;
    std::vector<Dim> dims = q->shape().dims();
    dims.insert(dims.end(), last.kept.begin(), last.kept.end());
    return reshape(made, Shape(dims));
  };
  Array& rows = last.rows;
  const std::size_t axis = rows.rank() - 1;
  const auto along = static_cast<std::int64_t>(axis);
  if (rows.shape()[axis].try_value() == 0) {  // of no elements there is no value
    std::vector<Dim> one = rows.shape().dims();
    one.back() = 1;
    rows = full(Shape(one), Array(Scalar(no_quantile).convert(x.dtype())));
  }
  if (options.weights) {
    if (options.method != inverted_cdf)
      throw UnsupportedError(fmt::format("{}: weights, and another method than inverted_cdf.", name),
                             "Say .method = QuantileMethod::inverted_cdf.");
    const Array of_each = api_detail::weights_of_elements(name, x, *options.weights, axes);
    const Array each = convert(broadcast_to(of_each, x.shape()), x.dtype());
    const Array counting = of_numbers ? where(is_nan(x), 0, each) : each;
    const Array weights =
        rows.shape().elements() == x.shape().elements() ? with_last_axis(name, counting, axes).rows : ones_like(rows);
    const Array made = by_weights(rows, weights, q);
    return shaped(of_numbers ? made : where(any(is_nan(rows), along), no_quantile, made));
  }
  const Dim n = rows.shape()[axis];
  const Array ordered = sort(rows, along);
  if (of_numbers) {
    const Array count = sum(convert(!is_nan(rows), computed_in(rows.dtype())), along);
    return shaped(at_places(options.method, ordered, q, count));
  }
  const auto parts = n.known() ? known_values(q) : std::nullopt;
  const Array made = parts
                         ? at_known_places(options.method, ordered, q, *parts, n.value())
                         : at_places(options.method, ordered, q, convert(size_as_array(n), computed_in(rows.dtype())));
  const Array greatest = last_elements(ordered, n - 1);  // NaN stands behind all
  return shaped(where(is_nan(greatest), no_quantile, made));
}

}  // namespace

Array quantile(const Operand& x, const Operand& q, const Axes& axes, const QuantileOptions& options) {
  return quantile_of("quantile", x, q, axes, options, false);
}
Array percentile(const Operand& x, const Operand& q, const Axes& axes, const QuantileOptions& options) {
  return quantile_of("percentile", x, to_inexact(q) / 100, axes, options, false);
}
Array median(const Operand& x, const Axes& axes) { return quantile_of("median", x, 0.5, axes, {}, false); }
Array nanquantile(const Operand& x, const Operand& q, const Axes& axes, const QuantileOptions& options) {
  return quantile_of("nanquantile", x, q, axes, options, true);
}
Array nanpercentile(const Operand& x, const Operand& q, const Axes& axes, const QuantileOptions& options) {
  return quantile_of("nanpercentile", x, to_inexact(q) / 100, axes, options, true);
}
Array nanmedian(const Operand& x, const Axes& axes) { return quantile_of("nanmedian", x, 0.5, axes, {}, true); }

}  // namespace tenon
