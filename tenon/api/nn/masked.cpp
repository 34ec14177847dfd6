// What softmax and its kin make of the elements that a mask leaves.
#include <fmt/format.h>

#include <limits>

#include "tenon/api/custom.h"
#include "tenon/api/nn.h"
#include "tenon/api/reductions.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

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

struct Shifted {
  Array total, shift;  // Σ weights·exp(x - shift), and the shift, real; axes have size 1
};
Shifted shifted_sum(std::string_view name, const Array& given, const Axes& axes, const LogSumExpOptions& options) {
  Array x = to_inexact(given);
  if (options.counted) x = counted_of(name, x, *options.counted);
  const DType part = real_part_of(x.dtype());
  Array weights = options.weights ? *options.weights : Array(Scalar::one(x.dtype()));
  const Axes kept = axes.keepdims();
  if (axes.count(x.type(), name) == Dim(0)) {
    const Shape left = kept.results(x.type(), name);
    return {zeros(left, (x * weights).dtype()), zeros(left, part)};
  }
  const auto that_weighs = [](const Array& w, const Array& x) { return where(w == 0, -infinity, x); };
  const Array weighed = options.weights ? broadcast_to(that_weighs(weights, x), x.shape()) : x;
  const Array largest = amax(real(weighed), kept);
  const Array shift = stop_gradient(where(is_finite(largest), largest, 0));
  if (!options.weights) return {sum(exp(x - shift), kept), shift};
  // What weighs nothing is left out of the sum, but its exponential is the derivative in its weight, unless that is
  // near infinity or NaN.
  const auto value = [=](const Array& x, const Array& w, const Array& shift) {
    return sum(w * exp(that_weighs(w, x) - shift), kept);
  };
  const auto rule = [=](const Array& x, const Array& w, const Array& shift, const Array& dx, const Array& dw,
                        const Array&) {
    const Array above = !(real(x) - shift <= (x.dtype() == DType::f16 ? 10 : 80));
    const Array power = exp(where((w == 0) & above, -infinity, x) - shift);
    return std::pair(value(x, w, shift), sum(w * power * dx + power * dw, kept));
  };
  if (!is_inexact(weights.dtype())) weights = convert(weights, x.dtype());
  return {custom_jvp(value, rule)(x, weights, shift), shift};
}

}  // namespace

Array softmax(const Operand& x, const Axes& axes, const Operand& counted) {
  const SourceScope place(x.where(), "nn::softmax");
  if (is_float8(x->dtype()))
    return convert(softmax(widened(x), axes, counted), x->dtype());  // not all have an infinity
  return where(counted, softmax(counted_of("nn::softmax", to_inexact(x), counted), axes), 0);
}

Array log_softmax(const Operand& x, const Axes& axes, const Operand& counted) {
  const SourceScope place(x.where(), "nn::log_softmax");
  if (is_float8(x->dtype()))
    return convert(log_softmax(widened(x), axes, counted), x->dtype());  // not all have an infinity
  return where(counted, log_softmax(counted_of("nn::log_softmax", to_inexact(x), counted), axes), -infinity);
}

Array logsumexp(const Operand& x, const Axes& axes, const LogSumExpOptions& options) {
  constexpr std::string_view name = "nn::logsumexp";
  const SourceScope place(x.where(), name);
  if (is_float8(x->dtype())) return convert(logsumexp(widened(x), axes, options), x->dtype());
  if (!options.weights) {
    const Array values = to_inexact(x);
    return logsumexp(options.counted ? counted_of(name, values, *options.counted) : values, axes);
  }
  const auto [total, shift] = shifted_sum(name, x, axes, options);
  const Array made = log(is_complex(total.dtype()) ? total : abs(total)) + shift;
  const Array defined =
      is_complex(total.dtype()) ? made : where(total < 0, std::numeric_limits<double>::quiet_NaN(), made);
  return reshape(defined, axes.results(x->type(), name));
}

SignedLog signed_logsumexp(const Operand& x, const Axes& axes, const LogSumExpOptions& options) {
  constexpr std::string_view name = "nn::signed_logsumexp";
  const SourceScope place(x.where(), name);
  if (is_float8(x->dtype())) {
    const auto [log, sign] = signed_logsumexp(widened(x), axes, options);
    return {convert(log, x->dtype()), convert(sign, x->dtype())};
  }
  const auto [total, shift] = shifted_sum(name, x, axes, options);
  const Shape left = axes.results(x->type(), name);
  return {reshape(log(abs(total)) + shift, left), reshape(sign(total), left)};
}

Array logmeanexp(const Operand& x, const Axes& axes, const std::optional<Array>& counted) {
  constexpr std::string_view name = "nn::logmeanexp";
  const SourceScope place(x.where(), name);
  const Array made = logsumexp(x, axes, LogSumExpOptions{.counted = counted});
  const DType d = real_part_of(made.dtype());
  const Array count = counted ? sum(convert(broadcast_to(*counted, x->shape()), d), axes)
                              : size_as_array(axes.count(x->type(), name), d);
  return made - log(count);
}

Array standardize(const Operand& x, const Axes& axes, const StandardizeOptions& options) {
  constexpr std::string_view name = "nn::standardize";
  const SourceScope place(x.where(), name);
  const Array values = to_inexact(x), wide = widened(values);
  if (options.counted) counted_of(name, wide, *options.counted);
  const auto mean_of = [&](const Array& each) { return mean(each, axes.keepdims(), {.where = options.counted}); };
  const Array centred = wide - (options.mean ? *options.mean : mean_of(wide));
  const Array variance = options.variance ? *options.variance : mean_of(squared_modulus(centred));
  const Array made = centred / sqrt(variance + options.epsilon);
  return is_narrow(values.dtype()) ? convert(made, values.dtype()) : made;
}

}  // namespace tenon::nn
