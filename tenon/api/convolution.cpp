#include "tenon/api/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "tenon/api/custom.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/window_fold.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/convolution.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/windows.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

std::pair<std::int64_t, std::int64_t> api_detail::padding_of(Padding kind, FunctionRef<std::int64_t()> size,
                                                             std::int64_t dilation, std::int64_t stride,
                                                             std::int64_t span) {
  if (kind == Padding::valid || (span == 0 && stride == 1)) return {0, 0};
  const std::int64_t n = size(), there = n == 0 ? 0 : (n - 1) * dilation + 1, outputs = (there + stride - 1) / stride;
  const std::int64_t total = std::max<std::int64_t>((outputs - 1) * stride + span + 1 - there, 0);
  return kind == Padding::same ? std::pair(total / 2, total - total / 2) : std::pair(total - total / 2, total / 2);
}

namespace {

using AxisNumbers = std::vector<std::int64_t>;
using Pads = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Options with all that was left out, of operands in the layout of code: [batch, places…, channels], but for x where
// `layout` says otherwise.
struct Convolution {
  std::string_view name;
  Array x, w;
  AxisNumbers strides, input_dilation, window_dilation;
  std::int64_t groups = 1;
  Pads pads;
  AxisNumbers output;       // of the result
  AxisNumbers layout = {};  // of x: the axes of the batch, of the channels, of the places

  std::size_t place_axis(std::size_t i) const {
    return layout.empty() ? i + 1 : static_cast<std::size_t>(layout[i + 2]);
  }
  std::size_t channel_axis() const { return layout.empty() ? axes() + 1 : static_cast<std::size_t>(layout[1]); }
  std::size_t axes() const { return strides.size(); }
  Dim window(std::size_t i) const { return w.shape()[i]; }
  // Places that a window spans, but for the first.
  Dim span(std::size_t i) const { return (window(i) - 1) * window_dilation[i]; }
  // How many places a window has, where that is known.
  std::optional<std::int64_t> places() const {
    Dim count = 1;
    for (std::size_t i = 0; i < axes(); ++i) count = count * window(i);
    return count.try_value();
  }
};

AxisNumbers or_ones(std::string_view name, const AxisNumbers& given, std::size_t axes, std::string_view what) {
  if (given.empty()) return AxisNumbers(axes, 1);
  if (given.size() != axes)
    throw ShapeError(fmt::format("{}: {} {} of {} axes.", name, given.size(), what, axes),
                     "Give one an axis of places.");
  for (const std::int64_t each : given)
    if (each < 1) throw ShapeError(fmt::format("{}: {} is among the {}.", name, each, what), "Each is 1 or more.");
  return given;
}

ConvolutionAxes channels_first(std::size_t rank) {
  AxisNumbers axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return {axes, axes, axes};
}
AxisNumbers places_between(const AxisNumbers& axes) {  // batch, places…, channels
  AxisNumbers order{axes[0]};
  order.insert(order.end(), axes.begin() + 2, axes.end());
  order.push_back(axes[1]);
  return order;
}
AxisNumbers places_before(const AxisNumbers& axes) {  // places…, channels, features
  AxisNumbers order(axes.begin() + 2, axes.end());
  order.push_back(axes[1]);
  order.push_back(axes[0]);
  return order;
}

void require_axes(std::string_view name, const AxisNumbers& axes, const Array& of) {
  AxisNumbers sorted = axes;
  std::ranges::sort(sorted);
  AxisNumbers all(of.rank());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all)
    throw ShapeError(
        fmt::format("{}: the axes [{}] are not those of {}.", name, fmt::join(axes, ", "), of.type().text()),
        "Each axis stands once.");
}

Pads pads_of(const Convolution& c, const decltype(ConvolutionOptions::padding)& padding) {
  if (const auto* given = std::get_if<Pads>(&padding)) {
    if (given->size() != c.axes())
      throw ShapeError(fmt::format("{}: {} pairs of padding for {} axes.", c.name, given->size(), c.axes()),
                       "Give one pair an axis of places.");
    return *given;
  }
  const auto kind = std::get<Padding>(padding);
  Pads pads(c.axes());
  for (std::size_t i = 0; i < c.axes(); ++i)
    pads[i] = api_detail::padding_of(
        kind, [&] { return c.x.size(static_cast<std::int64_t>(c.place_axis(i))); }, c.input_dilation[i], c.strides[i],
        kind == Padding::valid ? 0 : c.span(i).value());
  return pads;
}

// Groups of the batch beside each other, as channels.
Array batch_as_channels(const Array& x, std::int64_t groups, std::string_view name) {
  std::vector<Dim> apart = x.shape().dims();
  if (modulo(apart[0], groups).try_value().value_or(0) != 0)
    throw ShapeError(fmt::format("{}: {} in {} groups of the batch.", name, x.type().text(), groups),
                     "Groups have one size.");
  apart[0] = floor_div(apart[0], groups);
  apart.insert(apart.begin(), groups);
  const auto last = static_cast<std::int64_t>(apart.size()) - 1;
  std::vector<Dim> whole(apart.begin() + 1, apart.end());
  whole.back() = whole.back() * groups;
  return reshape(move_axis(reshape(x, Shape(apart)), 0, last - 1), Shape(whole));
}

// Of all axes: zeros before, behind and between the elements.
Array padded_axes(const Array& x, const Pads& pads, const AxisNumbers& dilation) {
  AxisNumbers low, high, between;
  for (std::size_t i = 0; i < pads.size(); ++i)
    low.push_back(pads[i].first), high.push_back(pads[i].second), between.push_back(dilation[i] - 1);
  const auto nothing = [](const AxisNumbers& all) {
    return std::ranges::all_of(all, [](std::int64_t n) { return n == 0; });
  };
  if (nothing(low) && nothing(high) && nothing(between)) return x;
  return pad(x, convert(0, x.dtype()), low, high, between);
}
Array padded(const Array& x, const Pads& pads, const AxisNumbers& dilation) {
  Pads all(1);
  AxisNumbers spread(1, 1);
  all.insert(all.end(), pads.begin(), pads.end()), spread.insert(spread.end(), dilation.begin(), dilation.end());
  all.emplace_back(), spread.push_back(1);
  return padded_axes(x, all, spread);
}

// The axes of [batch, places…, features] as others have them, and x from its own layout to that.
Array with_axes(const Array& y, const AxisNumbers& output) {
  return transpose(y, inverse_permutation(places_between(output)));
}
Array channels_behind(const Convolution& c, const Array& x) {
  return c.layout.empty() ? x : transpose(x, places_between(c.layout));
}

// Of the last two axes the channels of a group and the features, of which channels become features: [.., f/g,
// channels].
Array exchanged(const Array& w, std::int64_t groups) {
  std::vector<Dim> apart = w.shape().dims();
  const std::size_t rank = apart.size();
  const Dim channels = apart[rank - 2], features = floor_div(apart[rank - 1], groups);
  apart[rank - 1] = groups;
  apart.push_back(features);
  AxisNumbers order(rank + 1);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 2], order[rank]);  // features, group, channels
  std::vector<Dim> whole = w.shape().dims();
  whole[rank - 2] = features, whole[rank - 1] = channels * groups;
  return reshape(transpose(reshape(w, Shape(apart)), order), Shape(whole));
}

// A convolution of a spread input, which is the other way through one with these strides.
Array through_spread_input(const Convolution& c) {
  AxisNumbers turned;
  std::vector<Dim> inputs;
  Pads pads = c.pads;
  Shape result = c.x.shape();
  result[c.axes() + 1] = c.w.shape()[c.axes() + 1];
  bool empty = false;
  for (std::size_t i = 0; i < c.axes(); ++i) {
    turned.push_back(static_cast<std::int64_t>(i));
    const std::int64_t span = c.span(i).value();
    inputs.push_back(max((c.x.shape()[i + 1] - 1) * c.input_dilation[i] + 1, 0) + span);
    pads[i].first -= span, pads[i].second -= span;
    result[i + 1] = max(inputs.back() + pads[i].first + pads[i].second, 0);
    empty = empty || result[i + 1] == Dim(0);
  }
  if (empty) return full(result, Array(Scalar::zero(c.x.dtype())));
  const Array w = exchanged(reverse(c.w, turned), c.groups);
  const Array full = convolve_to_input(w, c.x, {c.input_dilation, c.window_dilation, c.groups}, inputs);
  return padded(full, pads, AxisNumbers(c.axes(), 1));
}

// Channels that each make a feature of their own: products of x moved by each place of the window, added up. As slices
// have any layout, x stays in its own.
constexpr std::int64_t most_places = 64;
bool has_lonely_channels(const Convolution& c) {
  for (std::size_t i = 0; i < c.axes(); ++i)
    if (!c.x.shape()[c.place_axis(i)].known()) return false;
  const std::int64_t places = c.places().value_or(0);
  return c.groups > 1 && c.w.shape()[c.axes()] == Dim(1) && c.w.shape()[c.axes() + 1] == Dim(c.groups) && places > 0 &&
         places <= most_places;
}

// `x` with places before, behind and between those that there are, in its own layout.
Array padded_places(const Convolution& c, const Array& x, const Pads& pads, const AxisNumbers& dilation) {
  Pads all(x.rank());
  AxisNumbers spread(x.rank(), 1);
  for (std::size_t i = 0; i < c.axes(); ++i) all[c.place_axis(i)] = pads[i], spread[c.place_axis(i)] = dilation[i];
  return padded_axes(x, all, spread);
}

// Of an input between whose places there is nothing.
Array through_moved_inputs(const Convolution& c) {
  const std::size_t rank = c.axes() + 2;
  const AxisNumbers ones(rank, 1), none(rank, 0);
  WindowPlaces places{ones, ones, ones, none, none};
  for (std::size_t i = 0; i < c.axes(); ++i) {
    const std::size_t axis = c.place_axis(i);
    places.window[axis] = c.window(i).value();
    places.strides[axis] = c.strides[i], places.dilations[axis] = c.window_dilation[i];
    places.low[axis] = c.pads[i].first, places.high[axis] = c.pads[i].second;
  }
  const Array weights = reshape(c.w, Shape({Dim(*c.places()), Dim(c.groups)}));
  std::vector<Dim> of_place(rank - c.channel_axis(), Dim(1));  // broadcast over what stands behind the channels
  of_place[0] = c.groups;
  const Array zero(Scalar::zero(c.x.dtype()));
  MaybeArray sum;
  std::int64_t number = 0;
  for (const MaybeArray& part : slices_of_windows(c.x, places, zero)) {
    const std::int64_t place = number++;
    if (!part) continue;
    const Array product = *part * reshape(slice_in_dim(weights, place, place + 1, 0), Shape(of_place));
    sum = sum ? *sum + product : product;
  }
  if (sum) return *sum;
  Shape whole = c.x.shape();
  for (std::size_t i = 0; i < rank; ++i) whole[i] = windows_of(whole[i], places, i);
  return full(whole, zero);
}

// What that gives back to its input: of windows at each element the same with the window turned around.
Array lonely_input(const Convolution& c, const Shape& input, const Array& w, const Array& ct) {
  Convolution back = c;
  const bool at_each = std::ranges::count(c.strides, 1) == std::ssize(c.strides);
  AxisNumbers turned;
  std::vector<Dim> inputs;
  for (std::size_t i = 0; i < c.axes(); ++i) {
    const auto& [low, high] = c.pads[i];
    const std::int64_t n = input[c.place_axis(i)].value(), span = (w.shape()[i].value() - 1) * c.window_dilation[i];
    turned.push_back(static_cast<std::int64_t>(i));
    inputs.push_back(n + low + high);
    if (at_each)
      back.pads[i] = {span - low, n - ct.size(static_cast<std::int64_t>(c.place_axis(i))) + low};
    else
      back.pads[i] = {-low, -high};
  }
  if (at_each) {
    back.x = ct, back.w = reverse(w, turned);
    return through_moved_inputs(back);
  }
  const WindowSteps steps{c.strides, c.window_dilation, c.groups};
  const Array given = convolve_to_input(w, channels_behind(c, ct), steps, inputs);
  return padded_places(c, c.layout.empty() ? given : with_axes(given, c.layout), back.pads, AxisNumbers(c.axes(), 1));
}

// The same, whose derivatives are ops: sums over all images, one for each place and channel, are no business of slices.
Array by_lonely_channels(const Convolution& given) {
  Convolution c = given;
  c.x = padded_places(c, c.x, Pads(c.axes()), c.input_dilation);
  if (!is_inexact(c.x.dtype())) return through_moved_inputs(c);
  const Array x = std::exchange(c.x, Array()), w = std::exchange(c.w, Array());
  const auto value = [c](const Array& x, const Array& w) {
    Convolution whole = c;
    whole.x = x, whole.w = w;
    return through_moved_inputs(whole);
  };
  const auto forward = [value](const Array& x, const Array& w) { return std::pair(value(x, w), std::pair(x, w)); };
  const auto backward = [c](const std::pair<Array, Array>& both, const Array& ct) {
    const auto& [x, w] = both;
    const std::vector<Dim> of_w = w.shape().dims();
    const Array there = padded_places(c, x, c.pads, AxisNumbers(c.axes(), 1));
    const WindowSteps steps{c.strides, c.window_dilation, c.groups};
    return std::tuple(
        lonely_input(c, x.shape(), w, ct),
        convolve_to_weights(channels_behind(c, there), channels_behind(c, ct), steps, {of_w.begin(), of_w.end() - 2}));
  };
  return custom_vjp(value, forward, backward)(x, w);
}

Array computed(const Convolution& c) {
  if (is_complex(c.x.dtype())) {
    const auto of = [&](const Array& x, const Array& w) {
      Convolution part = c;
      part.x = x, part.w = w;
      return computed(part);
    };
    const Array a = real(c.x), b = imag(c.x), s = real(c.w), t = imag(c.w);
    return complex(of(a, s) - of(b, t), of(a, t) + of(b, s));
  }
  if (has_lonely_channels(c)) return by_lonely_channels(c);
  const auto ones = [](const AxisNumbers& all) {
    return std::ranges::all_of(all, [](std::int64_t n) { return n == 1; });
  };
  if (!ones(c.input_dilation) && ones(c.strides) && c.places()) return through_spread_input(c);
  return convolve(padded(c.x, c.pads, c.input_dilation), c.w, {c.strides, c.window_dilation, c.groups});
}

Convolution prepared(std::string_view name, const Array& x, const Array& w, const ConvolutionOptions& options) {
  const std::size_t rank = x.rank();
  if (rank < 2 || w.rank() != rank)
    throw ShapeError(fmt::format("{}: {} and weights {} have not both a batch or features, channels and places.", name,
                                 x.type().text(), w.type().text()),
                     "They have one rank, 2 or more.");
  if (x.dtype() == DType::bool_)
    throw DTypeError(fmt::format("{}: {} has no sums.", name, x.type().text()),
                     "Convert it, with convert(x, DType::i32).");
  const ConvolutionAxes axes = options.axes.value_or(channels_first(rank));
  require_axes(name, axes.input, x), require_axes(name, axes.weights, w), require_axes(name, axes.output, x);
  if (options.feature_groups < 1 || options.batch_groups < 1 ||
      (options.feature_groups > 1 && options.batch_groups > 1))
    throw ShapeError(fmt::format("{}: {} groups of features and {} of the batch.", name, options.feature_groups,
                                 options.batch_groups),
                     "Give 1 or more of one kind.");
  const std::size_t places = rank - 2;
  Convolution c{name,
                x,
                transpose(w, places_before(axes.weights)),
                or_ones(name, options.strides, places, "strides"),
                or_ones(name, options.input_dilation, places, "dilations of the input"),
                or_ones(name, options.window_dilation, places, "dilations of the window"),
                options.feature_groups,
                {},
                axes.output,
                axes.input};
  if (options.batch_groups > 1) {
    c.x = batch_as_channels(transpose(x, places_between(axes.input)), options.batch_groups, name);
    c.groups = options.batch_groups, c.layout = {};
  }
  const Dim channels = c.x.shape()[c.channel_axis()], taken = c.w.shape()[rank - 2] * c.groups,
            features = c.w.shape()[rank - 1];
  if (decided_equal(channels, taken) == false || modulo(features, c.groups).try_value().value_or(0) != 0)
    throw ShapeError(
        fmt::format("{}: {} has {} channels, the weights {} take {} in {} groups and make {} features.", name,
                    x.type().text(), channels.text(), w.type().text(), taken.text(), c.groups, features.text()),
        "Channels of a group times groups are those of the input, and groups divide the features.");
  c.pads = pads_of(c, options.padding);
  const bool stays = axes.input == axes.output && std::ranges::is_sorted(std::span(axes.input).subspan(2));
  if (!c.layout.empty() && !(stays && has_lonely_channels(c))) c.x = channels_behind(c, x), c.layout = {};
  return c;
}
Array with_asked_axes(const Convolution& c) {
  const Array y = computed(c);
  return c.layout.empty() ? with_axes(y, c.output) : y;
}

// Both in one dtype, those of 16 bits in f32.
struct Widened {
  Widened(const Array& given, const Array& weights) {
    const Met met = in_one_dtype(Arrays{given, weights});
    stored = met.operands[0].dtype(), weak = met.weak;
    x = widened(met.operands[0]), w = widened(met.operands[1]);
  }
  Array x, w;
  DType stored;
  bool weak;
};

}  // namespace

ConvolutionAxes convolution_axes(std::string_view input, std::string_view weights, std::string_view output) {
  const auto place = [](std::string_view letters, char letter) {
    const std::size_t at = letters.find(letter);
    if (at == std::string_view::npos || letters.find(letter, at + 1) != std::string_view::npos)
      throw ShapeError(fmt::format("convolution_axes: \"{}\" has not one {}.", letters, letter),
                       "Letters are N and C of input and output, O and I of weights, and the same others in all.");
    return static_cast<std::int64_t>(at);
  };
  ConvolutionAxes axes{{place(input, 'N'), place(input, 'C')},
                       {place(weights, 'O'), place(weights, 'I')},
                       {place(output, 'N'), place(output, 'C')}};
  if (input.size() != weights.size() || output.size() != weights.size())
    throw ShapeError(
        fmt::format("convolution_axes: \"{}\", \"{}\" and \"{}\" differ in length.", input, weights, output),
        "Each has a letter for each axis.");
  for (const char letter : weights) {
    if (letter == 'O' || letter == 'I') continue;
    axes.input.push_back(place(input, letter));
    axes.weights.push_back(place(weights, letter));
    axes.output.push_back(place(output, letter));
  }
  return axes;
}

Array conv_general_dilated(const Operand& x, const Operand& w, const ConvolutionOptions& options) {
  constexpr std::string_view name = "conv_general_dilated";
  const SourceScope where(x.where(), name);
  const Widened both(x.array(), w.array());
  const Convolution c = prepared(name, both.x, both.w, options);
  return convert(with_asked_axes(c), both.stored).with_weak(both.weak);
}

Array conv_transpose(const Operand& x, const Operand& w, const ConvolutionOptions& options, bool transpose_weights) {
  constexpr std::string_view name = "conv_transpose";
  const SourceScope where(x.where(), name);
  if (!options.input_dilation.empty() || options.feature_groups != 1 || options.batch_groups != 1)
    throw ShapeError("conv_transpose: it takes no groups and no dilation of the input but its strides.",
                     "Call conv_general_dilated with input_dilation.");
  const Widened both(x.array(), w.array());
  const std::size_t rank = both.w.rank();
  ConvolutionOptions spread = options;
  spread.axes = options.axes.value_or(channels_first(rank));
  if (transpose_weights && rank >= 2) std::swap(spread.axes->weights[0], spread.axes->weights[1]);
  spread.strides = {};
  spread.input_dilation = or_ones(name, options.strides, rank < 2 ? 0 : rank - 2, "strides");
  spread.padding = Padding::valid;
  Convolution c = prepared(name, both.x, both.w, spread);
  if (transpose_weights) {
    std::vector<std::int64_t> turned(c.axes());
    std::iota(turned.begin(), turned.end(), 0);
    c.w = reverse(c.w, turned);
  }
  if (const auto* kind = std::get_if<Padding>(&options.padding)) {
    for (std::size_t i = 0; i < c.axes(); ++i) {
      const std::int64_t window = c.span(i).value() + 1, stride = c.input_dilation[i];
      const std::int64_t total = *kind == Padding::valid
                                     ? window + std::max<std::int64_t>(window - stride, 0) + stride - 2
                                     : window + stride - 2;
      const std::int64_t before = *kind == Padding::valid ? window - 1
                                  : stride > window - 1   ? window - 1
                                                          : (total + 1) / 2;
      c.pads[i] = {before, total - before};
    }
  } else {
    c.pads = pads_of(c, options.padding);
  }
  return convert(with_asked_axes(c), both.stored).with_weak(both.weak);
}

Array conv_general_dilated_patches(const Operand& x, const std::vector<std::int64_t>& window,
                                   const ConvolutionOptions& options) {
  constexpr std::string_view name = "conv_general_dilated_patches";
  const SourceScope where(x.where(), name);
  // A window of one place a feature, for each channel by itself.
  const ConvolutionAxes axes = options.axes.value_or(channels_first(x->rank()));
  if (window.size() + 2 != x->rank() || axes.input.size() != x->rank() || options.feature_groups != 1 ||
      options.batch_groups != 1)
    throw ShapeError(fmt::format("{}: a window of {} axes over {}.", name, window.size(), x->type().text()),
                     "It has one an axis of places, and no groups.");
  const std::int64_t channels = x->size(axes.input[1]);
  std::int64_t places = 1;
  for (const std::int64_t n : window) places *= n;
  const Array chosen = convert(eye(places, DType::i8), x->dtype());  // [feature, place]
  std::vector<Dim> shape{places};
  shape.insert(shape.end(), window.begin(), window.end());
  std::vector<Dim> all{channels * places, 1};
  all.insert(all.end(), window.begin(), window.end());
  const Array one = reshape(chosen, Shape(shape));
  std::vector<Dim> repeated{channels};
  repeated.insert(repeated.end(), shape.begin(), shape.end());
  ConvolutionOptions grouped = options;
  grouped.feature_groups = channels;
  grouped.axes = ConvolutionAxes{axes.input, channels_first(x->rank()).weights, axes.output};
  return conv_general_dilated(Operand(x.array(), x.where()),
                              Operand(reshape(broadcast_to(one, Shape(repeated)), Shape(all)), x.where()), grouped);
}

Array conv_general_dilated_local(const Operand& x, const Operand& w, const std::vector<std::int64_t>& window,
                                 const ConvolutionOptions& options) {
  constexpr std::string_view name = "conv_general_dilated_local";
  const SourceScope where(x.where(), name);
  const Met met = in_one_dtype(Arrays{x, w});
  const std::size_t rank = met.operands[0].rank();
  const ConvolutionAxes axes = options.axes.value_or(channels_first(rank));
  if (rank < 2 || met.operands[1].rank() != rank || window.size() + 2 != rank)
    throw ShapeError(fmt::format("{}: {}, weights {} and a window of {} axes.", name, x->type().text(),
                                 w->type().text(), window.size()),
                     "The first two have one rank, 2 or more, and the window has an axis for each of places.");
  require_axes(name, axes.weights, met.operands[1]), require_axes(name, axes.output, met.operands[0]);
  ConvolutionOptions first = options;
  first.axes = ConvolutionAxes{axes.input, axes.weights, channels_first(rank).output};
  const Array windows = conv_general_dilated_patches(met.operands[0], window, first);
  const Array weights = transpose(met.operands[1], axes.weights);  // features, channels of windows, places
  DotAxes product{{1}, {1}, {}, {}};
  bool fits = decided_equal(windows.shape()[1], weights.shape()[1]) != false;
  for (std::size_t i = 2; i < rank; ++i) {
    fits = fits && decided_equal(windows.shape()[i], weights.shape()[i]) != false;
    product.batch_a.push_back(static_cast<std::int64_t>(i));
    product.batch_b.push_back(static_cast<std::int64_t>(i));
  }
  if (!fits)
    throw ShapeError(fmt::format("{}: the windows are {}, the weights [features, channels, places] {}.", name,
                                 windows.type().text(), weights.type().text()),
                     "Weights have the windows' channels and places.");
  const Array made = dot_general(windows, weights, product);  // places, batch, features
  std::vector<std::int64_t> order(rank);
  const auto places = static_cast<std::int64_t>(rank) - 2;
  for (std::size_t i = 0; i < rank; ++i)
    order[static_cast<std::size_t>(axes.output[i])] =
        i < 2 ? places + static_cast<std::int64_t>(i) : static_cast<std::int64_t>(i) - 2;
  return transpose(made, order).with_weak(met.weak);
}

}  // namespace tenon
