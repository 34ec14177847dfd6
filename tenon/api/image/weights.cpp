#include "tenon/api/image/weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::image {
namespace {

// The formulas below are of numbers and of arrays.
double choose(bool condition, double yes, double no) { return condition ? yes : no; }
Array choose(const Array& condition, const Array& yes, const Array& no) { return where(condition, yes, no); }
double sine(double x) { return std::sin(x); }
Array sine(const Array& x) { return sin(x); }
double size_of(double x) { return std::abs(x); }
Array size_of(const Array& x) { return abs(x); }
double larger(double x, double y) { return std::max(x, y); }
Array larger(const Array& x, const Array& y) { return max(x, y); }
double smaller(double x, double y) { return std::min(x, y); }
Array smaller(const Array& x, const Array& y) { return min(x, y); }

constexpr double radius_of(ResizeMethod method) {
  switch (method) {
    case ResizeMethod::lanczos3:
      return 3;
    case ResizeMethod::lanczos5:
      return 5;
    case ResizeMethod::cubic:
    case ResizeMethod::cubic_pytorch:
      return 2;
    default:
      return 1;
  }
}

// Sums up to this are 0 but for rounding.
constexpr double least_sum = 1000.0 / (std::int64_t(1) << 23);

// Cubes in two pieces, up to 1 and up to 2, whose slope at 1 is `a`.
template <class T>
T cube(const T& x, double a) {
  const T inner = ((a + 2) * x - (a + 3)) * x * x + 1.0, outer = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return choose(x < 1.0, inner, choose(x < 2.0, outer, T(0.0 * x)));
}
// sinc(x) sinc(x / r)
template <class T>
T lanczos(const T& x, double r) {
  constexpr double pi = std::numbers::pi;
  const T there = choose(x > 1e-3, x, T(0.0 * x + 1.0));
  const T value = r * sine(pi * there) * sine(pi / r * there) / (pi * pi * there * there);
  return choose(x > r, T(0.0 * x), choose(x > 1e-3, value, T(0.0 * x + 1.0)));
}
// Of the distance x ≥ 0.
template <class T>
T weight_at(ResizeMethod method, const T& x) {
  switch (method) {
    case ResizeMethod::cubic:
      return cube(x, -0.5);
    case ResizeMethod::cubic_pytorch:
      return cube(x, -0.75);
    case ResizeMethod::lanczos3:
      return lanczos(x, 3);
    case ResizeMethod::lanczos5:
      return lanczos(x, 5);
    default:
      return larger(T(1.0 - x), T(0.0 * x));
  }
}

// What element i weighs in element j of the result, before weights are divided by their sum.
template <class T>
struct Axis {
  ResizeMethod method;
  T step, start, width;  // of an element of the result; where the first one begins; how much wider weights are
  Axis(const Resampling& how, const T& scale, const T& translation)
      : method(how.kind()),
        step(1.0 / scale),
        start(-translation * step),
        width(how.antialias ? larger(step, T(0.0 * step + 1.0)) : T(0.0 * step + 1.0)) {}

  T centre(const T& j) const { return (j + 0.5) * step + start - 0.5; }
  T weight(const T& i, const T& j) const {
    if (method != ResizeMethod::area) return weight_at(method, T(size_of(T(centre(j) - i)) / width));
    const T left = j * step + start, covered = smaller(T(left + step), T(i + 1.0)) - larger(left, i);
    return larger(covered, T(0.0 * covered));
  }
};

}  // namespace

Weights weights_between(const Resampling& how, std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(to) / static_cast<double>(from);
  const Axis<double> axis(how, scale, 0);
  const double reach = how.kind() == ResizeMethod::area ? axis.step / 2 + 1 : radius_of(axis.method) * axis.width;
  const bool to_ends = axis.method == ResizeMethod::cubic_pytorch;
  Weights weights{1, {}, {}};
  std::vector<std::vector<double>> rows;  // from the first to the last weight that is not 0
  for (std::int64_t j = 0; j < to; ++j) {
    const double place = static_cast<double>(j), centre = axis.centre(place);
    const auto low = static_cast<std::int64_t>(std::ceil(centre - reach)),
               high = static_cast<std::int64_t>(std::floor(centre + reach));
    const auto inside = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, from - 1); };
    std::vector<double> row(static_cast<std::size_t>(inside(high) - inside(low) + 1));
    double sum = 0;
    for (std::int64_t i = low; i <= high; ++i) {
      if (!to_ends && i != inside(i)) continue;
      const double weight = axis.weight(static_cast<double>(i), place);
      row[static_cast<std::size_t>(inside(i) - inside(low))] += weight;
      sum += weight;
    }
    for (double& weight : row) weight = std::abs(sum) > least_sum ? weight / sum : 0;
    const auto counts = [](double weight) { return weight != 0; };
    const auto begin = std::ranges::find_if(row, counts);
    weights.first.push_back(begin == row.end() ? 0 : inside(low) + (begin - row.begin()));
    row.erase(row.begin(), begin);
    while (!row.empty() && row.back() == 0) row.pop_back();
    weights.taps = std::max(weights.taps, static_cast<std::int64_t>(row.size()));
    rows.push_back(std::move(row));
  }
  for (std::size_t j = 0; j < rows.size(); ++j) {  // one number of taps for all: zeros before those at the end
    const std::int64_t first = std::min(weights.first[j], from - weights.taps), before = weights.first[j] - first;
    std::vector<double> row(static_cast<std::size_t>(weights.taps));
    std::ranges::copy(rows[j], row.begin() + before);
    weights.first[j] = first;
    weights.values.insert(weights.values.end(), row.begin(), row.end());
  }
  return weights;
}

Array weight_matrix(const Resampling& how, const Dim& from, const Dim& to, const Array& scale,
                    const Array& translation) {
  const DType d = scale.dtype();
  const Axis<Array> axis(how, scale, translation);
  const bool to_ends = axis.method == ResizeMethod::cubic_pytorch;
  const std::int64_t more = to_ends ? static_cast<std::int64_t>(radius_of(axis.method)) : 0;
  const Array i = expand_dims(arange(from + 2 * more, d) - convert(more, d), 1), j = expand_dims(arange(to, d), 0);
  Array weights = axis.weight(i, j);
  if (to_ends) {  // those beyond an end are those of its element
    const auto rows = [&](const Dim& first, const Dim& last) { return slice_in_dim(weights, first, last, 0); };
    const Array before = sum(rows(0, more), Axes(0).keepdims()),
                behind = sum(rows(from + more, from + 2 * more), Axes(0).keepdims());
    const Array number = expand_dims(arange(from), 1), none = zeros_like(before);
    weights = rows(more, from + more) + where(number == 0, before, none) +
              where(number == convert(size_as_array(from - 1), DType::i32), behind, none);
  }
  const Array total = sum(weights, Axes(0).keepdims());
  const Array some = abs(total) > convert(least_sum, d);
  weights = where(some, weights / where(some, total, ones_like(total)), zeros_like(weights));
  if (to_ends) return weights;
  const Array centre = axis.centre(j);
  const Array inside = (centre >= convert(-0.5, d)) & (centre <= convert(size_as_array(from), d) - convert(0.5, d));
  return where(inside, weights, zeros_like(weights));
}

}  // namespace tenon::image
