// Trends of signals, and spectra by transforms of segments.
#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "tenon/api/fft.h"
#include "tenon/api/signal.h"
#include "tenon/api/signal/segments.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::signal {
namespace {

Dim last_size(const Array& x) { return x.shape()[x.rank() - 1]; }
bool lacks_elements(const Array& x) {
  return std::ranges::any_of(x.shape().dims(), [](const Dim& n) { return n.try_value() == 0; });
}

// The last axis without its straight line: the mean is taken, and then what goes with the distance from the middle.
Array without_line(const Array& x) {
  const Dim n = last_size(x);
  const DType d = real_part_of(x.dtype());
  const Array middle = convert(size_as_array(n - 1), d) / convert(2, d), t = arange(n, d) - middle;
  const Array rest = x - mean(x, Axes(-1).keepdims());
  const Array squares = sum(t * t);  // 0 of one element
  const Array slope = sum(rest * t, Axes(-1).keepdims()) / max(squares, convert(0.25, d));
  return rest - slope * t;
}
Array without_trend(const Array& x, Trend trend) {
  if (trend == Trend::none || lacks_elements(x)) return x;
  return trend == Trend::constant ? x - mean(x, Axes(-1).keepdims()) : without_line(x);
}

struct Segments {
  std::int64_t length, step, transform;  // `length` samples, and zeros up to as many as are transformed
  Array window;
};

void require_segments(std::string_view name, std::int64_t length, std::int64_t overlap, std::int64_t transform) {
  if (length < 1) throw ShapeError(fmt::format("{}: segments of {} samples.", name, length), "Give 1 or more.");
  if (overlap >= length || overlap < 0)
    throw ShapeError(fmt::format("{}: segments of {} samples overlap in {}.", name, length, overlap),
                     "Give fewer than a segment has, and no less than 0.");
  if (transform < length)
    throw ShapeError(fmt::format("{}: {} elements are transformed of segments of {}.", name, transform, length),
                     "Give as many as a segment has, or more: zeros stand behind.");
}
Array window_of(std::string_view name, const std::optional<Array>& given, std::int64_t length, DType d) {
  if (!given) return hann(length, d);
  if (given->rank() != 1 || decided_equal(given->shape()[0], length) == false)
    throw ShapeError(fmt::format("{}: the window is {}, segments have {} samples.", name, given->type().text(), length),
                     "It is a vector of as many elements.");
  if (is_complex(given->dtype()) && !is_complex(d))
    throw DTypeError(fmt::format("{}: the window {} is complex, the samples are not.", name, given->type().text()),
                     "Give real(window), or complex samples.");
  return convert(*given, d);
}
// Of samples along an axis of size n.
Segments prepared_segments(std::string_view name, const SegmentOptions& options, const Dim& n, DType d,
                           std::int64_t by_default) {
  const auto given = options.window ? options.window->shape()[0].try_value() : std::nullopt;
  std::int64_t length = options.nperseg.value_or(given.value_or(by_default));
  if (!options.window && n.known() && n.value() > 0 && length > 0) length = std::min(length, n.value());
  const std::int64_t overlap = options.noverlap.value_or(length / 2), transform = options.nfft.value_or(length);
  require_segments(name, length, overlap, transform);
  if (n.known() && n.value() > 0 && n.value() < length)
    throw ShapeError(fmt::format("{}: a segment of {} samples of a signal of {}.", name, length, n.text()),
                     "Give a window that is not longer than the signal.");
  return {length, length - overlap, transform, window_of(name, options.window, length, d)};
}

// [..., n] -> [..., segments, frequencies]
Array transformed_segments(const Array& x, const Segments& s, const SegmentOptions& options, bool halved) {
  const Dim count = max(floor_div(last_size(x) - s.length, s.step) + 1, 0);
  const Array segments = segments_of(x, count, s.length, s.step);
  const Trend* trend = std::get_if<Trend>(&options.detrend);
  const Array rest = trend ? without_trend(segments, *trend) : std::get<1>(options.detrend)(segments);
  const fft::Options along{.n = Dim(s.transform)};
  return halved ? fft::rfft(rest * s.window, along) : fft::fft(rest * s.window, along);
}
Array frequencies_of(const Segments& s, const Array& rate, bool halved, DType d) {
  const Array distance = 1 / convert(rate, d);
  return halved ? fft::rfftfreq(s.transform, distance, d) : fft::fftfreq(s.transform, distance, d);
}

// The median along the last axis, NaN where there is one.
Array median(const Array& x) {
  const Array sorted = sort(x);
  const Dim n = last_size(x);
  const auto at = [&](const Dim& place) { return squeeze(slice_in_dim(sorted, place, place + 1, -1), -1); };
  const Array last = at(n - 1), middle = (at(floor_div(n - 1, 2)) + at(floor_div(n, 2))) / 2;
  return where(is_nan(last), last, middle);
}
// By how much a median of n numbers of the exponential distribution is too small (Allen et al. 2012, appendix B).
Array bias_of_median(const Dim& n, DType d) {
  const Array i = 2 * (arange(floor_div(n - 1, 2), d) + 1);
  return 1 + sum(1 / (i + 1) - 1 / i);
}
Array averaged(const Array& x, Average how) {  // along the last axis
  if (how == Average::mean) return mean(x, -1);
  const DType d = real_part_of(x.dtype());
  const Array of = is_complex(x.dtype()) ? complex(median(real(x)), median(imag(x))) : median(x);
  return of / bias_of_median(last_size(x), d);
}

// [..., segments, frequencies] with the frequencies in the place of an axis, segments last.
Array in_place(const Array& x, std::int64_t axis) { return move_axis(x, -1, axis); }

Spectrum spectrum_of(std::string_view name, const Array& given, const MaybeArray& other,
                     const SpectrumOptions& options) {
  Array x = given, y = other.value_or(given);
  if (x.rank() != y.rank())
    throw ShapeError(fmt::format("{}: {} and {} differ in rank.", name, x.type().text(), y.type().text()),
                     "Give both the same axes, with expand_dims.");
  const auto axis = static_cast<std::int64_t>(normalize_axis(options.axis, x.rank(), name));
  const DType d = real_part_of(x.dtype());
  x = move_axis(x, axis, -1), y = move_axis(y, axis, -1);
  const Dim n = max(last_size(x), last_size(y));
  if (lacks_elements(x) || lacks_elements(y)) {
    const Array none = move_axis(zeros_like(x), -1, axis);
    return {convert(none, d), other ? convert(none, complex_of(d)) : convert(none, d)};
  }
  x = with_zeros(x, -1, 0, n - last_size(x)), y = with_zeros(y, -1, 0, n - last_size(y));
  const bool halved = options.return_onesided && !is_complex(x.dtype());
  const Segments s = prepared_segments(name, options, n, x.dtype(), n.try_value().value_or(256));
  const Array of_x = transformed_segments(x, s, options, halved);
  const Array rate = convert(options.fs, d);
  const Array total =
      options.scaling == Scaling::density ? rate * sum(square(abs(s.window))) : square(abs(sum(s.window)));
  Array density = other ? conj(of_x) * transformed_segments(y, s, options, halved) : squared_modulus(of_x);
  Array scale = broadcast_to(1 / total, {last_size(of_x)});
  if (halved) {  // the others stand for the negative ones too
    const Array k = arange(last_size(of_x));
    const bool even = s.transform % 2 == 0;
    scale = where((k == 0) | (even ? k == s.transform / 2 : k < 0), scale, 2 * scale);
  }
  density = in_place(density * scale, axis);
  return {frequencies_of(s, rate, halved, d), averaged(density, options.average)};
}

// About the ends of the last axis: n elements before and behind.
Array extended(std::string_view name, const Array& x, Edge edge, std::int64_t n) {
  if (edge == Edge::none || n == 0) return x;
  if (edge == Edge::zeros) return with_zeros(x, -1, n, n);
  const Dim size = last_size(x);
  const auto part = [&](const Dim& from, const Dim& to) { return slice_in_dim(x, from, to, -1); };
  const Array first = part(0, 1), last = part(size - 1, size);
  if (edge == Edge::constant) {
    Shape wide = x.shape();
    wide[x.rank() - 1] = n;
    return concatenate({broadcast_to(first, wide), x, broadcast_to(last, wide)}, -1);
  }
  if (decided_less(size - 1, n) == true)
    throw ShapeError(fmt::format("{}: a mirror image of {} samples of a signal of {}.", name, n, size.text()),
                     "Give segments of no more than twice as many as the signal has, or another edge.");
  const auto axis = static_cast<std::int64_t>(x.rank()) - 1;
  const Array before = reverse(part(1, n + 1), {axis}), behind = reverse(part(size - 1 - n, size - 1), {axis});
  if (edge == Edge::even) return concatenate({before, x, behind}, -1);
  return concatenate({2 * first - before, x, 2 * last - behind}, -1);
}

// The average of `bias`, of f16 and bf16 in f32.
Array as_samples(const Operand& x) { return samples_of(x).with_weak(false); }

}  // namespace

Array detrend(const Operand& given, const DetrendOptions& options) {
  constexpr std::string_view name = "detrend";
  const SourceScope place(given.where(), name);
  const Array x = samples_of(given);
  const DType stored = to_inexact(given).dtype();
  const auto axis = static_cast<std::int64_t>(normalize_axis(options.axis, x.rank(), name));
  const Array line = move_axis(x, axis, -1);
  if (options.type != Trend::linear || options.bp.empty())
    return convert(move_axis(without_trend(line, options.type), -1, axis), stored);
  const std::int64_t n = line.size(-1);
  std::vector<std::int64_t> ends = options.bp;
  ends.push_back(0), ends.push_back(n);
  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  if (ends.front() < 0 || ends.back() > n)
    throw ShapeError(fmt::format("{}: breaks from {} to {} of {} samples.", name, ends.front(), ends.back(), n),
                     "Each lies from 0 to their number.");
  Arrays parts;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i)
    parts.push_back(without_trend(slice_in_dim(line, ends[i], ends[i + 1], -1), Trend::linear));
  return convert(move_axis(parts.empty() ? line : concatenate(parts, -1), -1, axis), stored);
}

Array hann(std::int64_t n, DType dtype) {
  if (n < 1) throw ShapeError(fmt::format("hann: a window of {} elements.", n), "Give 1 or more.");
  if (n == 1) return ones({Dim(1)}, dtype);
  const DType d = real_part_of(dtype);
  const Array angle = arange(n, d) * convert(std::numbers::pi / static_cast<double>(n), d);
  return convert(square(sin(angle)), dtype);
}

Spectrum csd(const Operand& x, const Operand& y, const SpectrumOptions& options) {
  const SourceScope place(x.where(), "csd");
  const Met met = in_one_dtype(Arrays{as_samples(x), as_samples(y)});
  return spectrum_of("csd", met.operands[0], met.operands[1], options);
}
Spectrum welch(const Operand& x, const SpectrumOptions& options) {
  const SourceScope place(x.where(), "welch");
  return spectrum_of("welch", as_samples(x), std::nullopt, options);
}

Stft stft(const Operand& given, const StftOptions& options) {
  constexpr std::string_view name = "stft";
  const SourceScope place(given.where(), name);
  Array x = as_samples(given);
  const auto axis = static_cast<std::int64_t>(normalize_axis(options.axis, x.rank(), name));
  const DType d = real_part_of(x.dtype());
  x = move_axis(x, axis, -1);
  if (lacks_elements(x)) {
    const Array none = move_axis(zeros_like(x), -1, axis);
    return {convert(none, d), convert(none, d), convert(none, complex_of(d))};
  }
  const bool halved = options.return_onesided && !is_complex(x.dtype());
  const Segments s = prepared_segments(name, options, last_size(x), x.dtype(), 256);
  const std::int64_t half = options.boundary == Edge::none ? 0 : s.length / 2;
  x = extended(name, x, options.boundary, half);
  if (options.padded) {
    const Dim missing = modulo(modulo(s.length - last_size(x), s.step), s.length);
    x = with_zeros(x, -1, 0, missing);
  }
  const Array values = transformed_segments(x, s, options, halved) / abs(sum(s.window));
  const Array rate = convert(options.fs, d);
  const double first = options.boundary == Edge::none ? static_cast<double>(s.length) / 2 : 0;
  const Array times = (arange(values.shape()[values.rank() - 2], d) * convert(s.step, d) + convert(first, d)) / rate;
  return {frequencies_of(s, rate, halved, d), times, in_place(values, axis)};
}

Signal istft(const Operand& given, const IstftOptions& options) {
  constexpr std::string_view name = "istft";
  const SourceScope place(given.where(), name);
  Array values = as_samples(given);
  if (!is_complex(values.dtype())) values = convert(values, complex_of(values.dtype()));
  const std::size_t rank = values.rank();
  if (rank < 2)
    throw ShapeError(fmt::format("{}: {} has not both frequencies and times.", name, given->type().text()),
                     "Give an array of rank 2 or more.");
  auto times = static_cast<std::int64_t>(normalize_axis(options.time_axis, rank, name));
  const auto frequencies = static_cast<std::int64_t>(normalize_axis(options.freq_axis, rank, name));
  if (times == frequencies)
    throw ShapeError(
        fmt::format("{}: axis {} of {} holds both frequencies and times.", name, times, given->type().text()),
        "Name two axes.");
  const std::int64_t whole = options.input_onesided ? 2 * (values.size(frequencies) - 1) : values.size(frequencies);
  const std::int64_t length = options.nperseg.value_or(whole), overlap = options.noverlap.value_or(length / 2);
  const std::int64_t transform = options.nfft.value_or(options.input_onesided && length == whole + 1 ? length : whole);
  require_segments(name, length, overlap, transform);
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i)
    if (i != times && i != frequencies) order.push_back(i);
  order.push_back(times), order.push_back(frequencies);
  values = transpose(values, order);
  const fft::Options along{.n = Dim(transform)};
  const Array segments =
      slice_in_dim(options.input_onesided ? fft::irfft(values, along) : fft::ifft(values, along), 0, length, -1);
  const Array window = window_of(name, options.window, length, segments.dtype());
  const Dim count = segments.shape()[rank - 2];
  const std::int64_t step = length - overlap;
  Array sums = sum_of_segments(segments * (window * sum(window)), step);
  Array weights = sum_of_segments(broadcast_to(square(abs(window)), {count, Dim(length)}), step);
  const std::int64_t cut = options.boundary ? length / 2 : 0;
  const auto inside = [&](const Array& x) { return slice_in_dim(x, cut, max(last_size(x) - cut, cut), -1); };
  sums = inside(sums), weights = inside(weights);
  const DType d = real_part_of(sums.dtype());
  const Array x = sums / where(weights > convert(1e-10, d), weights, ones_like(weights));
  if (frequencies < times) --times;
  return {arange(last_size(x), d) / convert(options.fs, d), move_axis(x, -1, times)};
}

}  // namespace tenon::signal
