// Images in other sizes, axis by axis.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/image.h"
#include "tenon/api/image/weights.h"
#include "tenon/api/jit.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::image {
namespace {

DType real_dtype(DType d) { return is_complex(d) ? (d == DType::c128 ? DType::f64 : DType::f32) : d; }

void require_rank(std::string_view name, const Array& x, const Shape& shape) {
  if (shape.rank() != x.rank())
    throw ShapeError(fmt::format("{}: {} in the shape {}.", name, x.type().text(), shape.text()),
                     "Give as many sizes as it has axes.");
}
void require_elements(std::string_view name, const Array& x, std::size_t axis, const Dim& to) {
  if (x.shape()[axis].try_value() == 0 && to.try_value() != 0)
    throw ShapeError(fmt::format("{}: {} elements of axis {} of {}.", name, to.text(), axis, x.type().text()),
                     "Give an axis with elements.");
}
bool is_same(const Dim& a, const Dim& b) { return decided_equal(a, b).value_or(false); }

// Σ x[…, i, …] w[i, j]
Array contracted(const Array& x, const Array& w, std::int64_t axis) {
  return move_axis(dot_general(x, convert(w, x.dtype()), {{axis}, {0}, {}, {}}), -1, axis);
}

Array nearest(const Array& given, const Shape& shape) {
  Array x = given;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (is_same(x.shape()[i], shape[i])) continue;
    require_elements("resize", x, i, shape[i]);
    // The middle of an element lies in ⌊(2j + 1) from / 2 to⌋.
    const auto number = [](const Dim& n) { return size_as_array(n); };
    const Array at = (2 * arange(shape[i], DType::i64) + 1) * number(x.shape()[i]) / (2 * number(shape[i]));
    x = take(x, convert(at, DType::i32), static_cast<std::int64_t>(i), {.mode = IndexMode::promise_in_bounds});
  }
  return x;
}

// Σ x[…, first[j] + k, …] w[j, k] over the taps k.
Array banded(const Array& x, const Weights& weights, std::int64_t to, std::int64_t axis) {
  Buffer indices = Buffer::allocate(DType::i32, std::vector{to, weights.taps});
  Buffer values = Buffer::allocate(DType::f64, std::vector{to, weights.taps});
  for (std::int64_t j = 0; j < to; ++j)
    for (std::int64_t k = 0; k < weights.taps; ++k)
      indices.as<std::int32_t>()[j * weights.taps + k] =
          static_cast<std::int32_t>(weights.first[static_cast<std::size_t>(j)] + k);
  std::ranges::copy(weights.values, values.as<double>());
  std::vector<Dim> shape(x.rank() + 1, Dim(1));
  shape[static_cast<std::size_t>(axis)] = to, shape[static_cast<std::size_t>(axis) + 1] = weights.taps;
  const Array elements = take(x, Array(indices), axis, {.mode = IndexMode::promise_in_bounds});
  return sum(elements * reshape(convert(Array(values), x.dtype()), Shape(shape)), axis + 1);
}

Array resized(const Array& x, const Resampling& how, std::size_t axis, const Dim& to) {
  const Dim from = x.shape()[axis];
  const auto at = static_cast<std::int64_t>(axis);
  if (to.try_value() == 0) return slice_in_dim(x, 0, 0, at);
  if (from.known() && to.known()) return banded(x, weights_between(how, from.value(), to.value()), to.value(), at);
  const DType d = real_dtype(x.dtype());
  const auto number = [&](const Dim& n) { return convert(size_as_array(n), d); };
  return contracted(x, weight_matrix(how, from, to, number(to) / number(from), zeros({}, d)), at);
}

// What happens outside of traces, compiled as one program for each kind of image.
struct ResizeSteps {
  ResizeMethod method;
  bool antialias;
  std::vector<std::pair<std::size_t, std::int64_t>> sizes;  // of axes
  Resampling how() const { return {method, antialias}; }
};
struct OfSteps {
  Array operator()(Array x, const ResizeSteps& steps) const {
    for (const auto& [axis, size] : steps.sizes) x = resized(x, steps.how(), axis, size);
    return x;
  }
};
Lasting<Jitted<OfSteps>> compiled_steps;

// How much larger an axis becomes: those that shrink the most come first.
double growth(const Dim& from, const Dim& to) {
  return from.known() && to.known() && from.value() > 0
             ? static_cast<double>(to.value()) / static_cast<double>(from.value())
             : 1;
}

}  // namespace

Array resize(const Operand& given, const Shape& shape, const ResizeOptions& options) {
  constexpr std::string_view name = "resize";
  const SourceScope place(given.where(), name);
  require_rank(name, given.array(), shape);
  if (options.method == ResizeMethod::nearest) return nearest(given.array(), shape);
  const Array numbers = to_inexact(given);
  Array x = widened(numbers);
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (is_same(x.shape()[i], shape[i])) continue;
    require_elements(name, x, i, shape[i]);
    axes.push_back(i);
  }
  if (axes.empty()) return numbers;
  std::ranges::stable_sort(axes, [&](std::size_t a, std::size_t b) {
    return growth(x.shape()[a], shape[a]) < growth(x.shape()[b], shape[b]);
  });
  ResizeSteps steps{options.method, options.antialias, {}};
  if (tracing()) {
    for (const std::size_t axis : axes) x = resized(x, steps.how(), axis, shape[axis]);
  } else {
    for (const std::size_t axis : axes) steps.sizes.emplace_back(axis, shape[axis].value());
    x = compiled_steps.get([] { return jit(OfSteps(), {.sizes = Sizes::fixed}, Source()); })(x, steps);
  }
  return convert(x, numbers.dtype()).with_weak(numbers.weak());
}

Array scale_and_translate(const Operand& given, const Shape& shape, std::vector<std::int64_t> axes,
                          const Operand& scale, const Operand& translation, const ResizeOptions& options) {
  constexpr std::string_view name = "scale_and_translate";
  const SourceScope place(given.where(), name);
  require_rank(name, given.array(), shape);
  if (options.method == ResizeMethod::nearest)
    throw UnsupportedError("scale_and_translate: it does not take the nearest element alone.",
                           "Give a method with weights: linear, cubic, lanczos3, lanczos5 or area.");
  const Array numbers = to_inexact(given);
  Array x = widened(numbers);
  const Met met = in_one_dtype(Arrays{widened(to_inexact(scale)), widened(to_inexact(translation))});
  for (const Array& each : met.operands)
    if (each.rank() != 1 || each.shape()[0].try_value() != static_cast<std::int64_t>(axes.size()))
      throw ShapeError(fmt::format("{}: scale {} and translation {} of {} axes.", name, scale->type().text(),
                                   translation->type().text(), axes.size()),
                       "Each has an element for each axis.");
  for (std::int64_t& axis : axes) axis = static_cast<std::int64_t>(normalize_axis(axis, x.rank(), name));
  for (const std::int64_t axis : axes)
    if (std::ranges::count(axes, axis) > 1)
      throw ShapeError(fmt::format("{}: axis {} is named twice.", name, axis), "Name each axis once.");
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool named = std::ranges::find(axes, static_cast<std::int64_t>(i)) != axes.end();
    if (!named && decided_equal(x.shape()[i], shape[i]) == false)
      throw ShapeError(fmt::format("{}: {} in the shape {}, and axis {} is not among those that change.", name,
                                   x.type().text(), shape.text(), i),
                       "Name every axis whose size changes.");
  }
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<std::size_t>(axes[k]);
    require_elements(name, x, axis, shape[axis]);
    const auto number = static_cast<std::int64_t>(k);
    const auto of = [&](const Array& numbers_of_axes) {
      return squeeze(slice_in_dim(numbers_of_axes, number, number + 1, 0), 0);
    };
    x = contracted(x,
                   weight_matrix({options.method, options.antialias}, x.shape()[axis], shape[axis], of(met.operands[0]),
                                 of(met.operands[1])),
                   axes[k]);
  }
  return convert(x, numbers.dtype()).with_weak(numbers.weak());
}

}  // namespace tenon::image
