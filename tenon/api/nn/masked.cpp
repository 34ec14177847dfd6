// What softmax and its kin make of the elements that a mask leaves.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tenon/api/nn.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/shape.h"

namespace tenon::nn {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// x with -inf where it is not counted, in the shape of x: the mask broadcasts to it.
Array counted_of(std::string_view name, const Array& x, const Array& counted) {
  const Array given[] = {x, counted};
  if (broadcast_shapes(name, given) != x.shape())
    throw ShapeError(
        fmt::format("{}: the mask {} does not broadcast to {}.", name, counted.type().text(), x.type().text()),
        "Give one of its shape, or with axes of size 1.");
  if (counted.dtype() != DType::bool_)
    throw DTypeError(fmt::format("{}: the mask is {}, not bool.", name, counted.type().text()),
                     "Compare, as in x > 0.");
  return where(counted, x, -infinity);
}

// How many elements along axes are counted, in a dtype; with axes of size 1 in their place.
Array count_along(const Array& x, const Axes& axes, const std::optional<Array>& counted, DType dtype,
                  std::string_view name) {
  if (counted) return sum(convert(broadcast_to(*counted, x.shape()), dtype), axes.keepdims());
  Dim count = 1;
  for (const std::int64_t axis : axes.of(x.type(), name)) count = count * x.dim(axis);
  return convert(size_as_array(count), dtype);
}

// Without the axes that were kept, unless they shall be.
Array without_axes(const Array& kept, const Array& like, const Axes& axes, std::string_view name) {
  if (axes.keeps_dims()) return kept;
  Shape shape;
  const std::vector<std::int64_t> gone = axes.of(like.type(), name);
  for (std::size_t i = 0; i < like.rank(); ++i)
    if (std::ranges::find(gone, static_cast<std::int64_t>(i)) == gone.end()) shape.push_back(like.shape()[i]);
  return reshape(kept, shape);
}

struct Shifted {
  Array total, shift;  // Σ weights·exp(x - shift), and the shift, real; axes have size 1
};
Shifted shifted_sum(std::string_view name, const Array& given, const Axes& axes, const LogSumExpOptions& options) {
  Array x = to_inexact(given);
  if (options.counted) x = counted_of(name, x, *options.counted);
  Shape kept = x.shape();
  Dim count = 1;
  for (const std::int64_t axis : axes.of(x.type(), name))
    count = count * kept[static_cast<std::size_t>(axis)], kept[static_cast<std::size_t>(axis)] = 1;
  const DType part = real_part_of(x.dtype());
  const Array weights = options.weights ? *options.weights : Array(Scalar::one(x.dtype()));
  if (count == Dim(0)) return {zeros(kept, (x * weights).dtype()), zeros(kept, part)};
  const Array weighed = options.weights ? broadcast_to(where(weights == 0, -infinity, x), x.shape()) : x;
  const Array largest = amax(real(weighed), axes.keepdims());
  const Array shift = stop_gradient(where(is_finite(largest), largest, 0));
  if (!options.weights) return {sum(exp(x - shift), axes.keepdims()), shift};
  // What weighs nothing keeps its exponential, which is the derivative in its weight, unless that is near infinity.
  const Array above = real(x) - shift > (x.dtype() == DType::f16 ? 10 : 80);
  return {sum(weights * exp(where((weights == 0) & above, -infinity, x) - shift), axes.keepdims()), shift};
}

}  // namespace

Array softmax(const Operand& x, const Axes& axes, const Operand& counted) {
  const SourceScope place(x.where(), "nn::softmax");
  return where(counted, softmax(counted_of("nn::softmax", to_inexact(x), counted), axes), 0);
}

Array log_softmax(const Operand& x, const Axes& axes, const Operand& counted) {
  const SourceScope place(x.where(), "nn::log_softmax");
  return where(counted, log_softmax(counted_of("nn::log_softmax", to_inexact(x), counted), axes), -infinity);
}

Array logsumexp(const Operand& x, const Axes& axes, const LogSumExpOptions& options) {
  constexpr std::string_view name = "nn::logsumexp";
  const SourceScope place(x.where(), name);
  if (!options.weights) {
    const Array values = to_inexact(x);
    return logsumexp(options.counted ? counted_of(name, values, *options.counted) : values, axes);
  }
  const auto [total, shift] = shifted_sum(name, x, axes, options);
  const Array made = log(is_complex(total.dtype()) ? total : abs(total)) + shift;
  const Array defined =
      is_complex(total.dtype()) ? made : where(total < 0, std::numeric_limits<double>::quiet_NaN(), made);
  return without_axes(defined, x, axes, name);
}

SignedLog signed_logsumexp(const Operand& x, const Axes& axes, const LogSumExpOptions& options) {
  constexpr std::string_view name = "nn::signed_logsumexp";
  const SourceScope place(x.where(), name);
  const auto [total, shift] = shifted_sum(name, x, axes, options);
  return {without_axes(log(abs(total)) + shift, x, axes, name), without_axes(sign(total), x, axes, name)};
}

Array logmeanexp(const Operand& x, const Axes& axes, const std::optional<Array>& counted) {
  constexpr std::string_view name = "nn::logmeanexp";
  const SourceScope place(x.where(), name);
  const Array made = logsumexp(x, axes.keepdims(), LogSumExpOptions{.counted = counted});
  const Array count = count_along(x, axes, counted, real_part_of(made.dtype()), name);
  return without_axes(made - log(count), x, axes, name);
}

Array standardize(const Operand& x, const Axes& axes, const StandardizeOptions& options) {
  constexpr std::string_view name = "nn::standardize";
  const SourceScope place(x.where(), name);
  const Array values = to_inexact(x), wide = widened(values);
  if (options.counted) counted_of(name, wide, *options.counted);
  const auto mean_of = [&](const Array& each) {
    if (!options.counted) return mean(each, axes.keepdims());
    const Array total = sum(where(*options.counted, each, 0), axes.keepdims());
    return total / count_along(wide, axes, options.counted, real_part_of(total.dtype()), name);
  };
  const Array centred = wide - (options.mean ? *options.mean : mean_of(wide));
  const Array squares = is_complex(wide.dtype()) ? square(real(centred)) + square(imag(centred)) : square(centred);
  const Array variance = options.variance ? *options.variance : mean_of(squares);
  const Array made = centred / sqrt(variance + options.epsilon);
  return is_half(values.dtype()) ? convert(made, values.dtype()) : made;
}

}  // namespace tenon::nn
