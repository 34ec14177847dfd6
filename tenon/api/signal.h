// Signals: convolutions, trends and spectra, as SciPy names them and their options.
//
// Of real or complex numbers: integers become f32 (64-bit ones f64), f8, f16 and bf16 are computed in f32, and two
// operands meet in one dtype. Derivatives of any order. Throws ShapeError where axes, sizes or lengths of segments do
// not fit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon::signal {

// Which part of a convolution: all of it, n + m - 1 elements; as many as the first operand has, or the larger one, from
// its middle; or those to which all elements of the smaller operand contribute.
enum class Extent { full, same, largest, valid };
// Sums of products, whose time grows with the product of the sizes; or products of Fourier transforms, n log n, with
// errors of the size of the largest result. `automatic` are sums.
enum class ConvolutionMethod { automatic, direct, fft };
struct SignalOptions {
  Extent mode = Extent::full;
  ConvolutionMethod method = ConvolutionMethod::automatic;
};

// y[k] = Σ a[j] b[k - j] over all axes of a and b, which have one rank and elements; of rank 0 the product. `valid`:
// one of them is at least as large as the other along every axis.
//   signal::convolve(Array{1.f, 2.f, 3.f}, Array{1.f, 1.f})   // 1 3 5 3
Array convolve(const Operand& a, const Operand& b, const SignalOptions& options = {});
// y[k] = Σ a[j + k - m + 1] conj(b[j]), m elements of b: `convolve` of a and b's conjugate turned around.
//   signal::correlate(Array{1.f, 2.f, 3.f}, Array{0.f, 1.f})   // 1 2 3 0
Array correlate(const Operand& a, const Operand& b, const SignalOptions& options = {});
// The same of matrices.
//   signal::convolve2d(Array{{1.f, 2.f}}, Array{{1.f, 1.f}})   // 1 3 2
Array convolve2d(const Operand& a, const Operand& b, Extent mode = Extent::full);
Array correlate2d(const Operand& a, const Operand& b, Extent mode = Extent::full);

struct FftConvolveOptions {
  Extent mode = Extent::full;
  std::optional<std::vector<std::int64_t>> axes = {};  // all, where they are not given; the others have equal sizes
};
// `convolve` along axes by Fourier transforms. Zero elements of an operand make zeros.
//   signal::fftconvolve(Array{1.f, 2.f, 3.f}, Array{1.f, 1.f})   // 1 3 5 3
Array fftconvolve(const Operand& a, const Operand& b, const FftConvolveOptions& options = {});

// What is taken from a signal: nothing, its mean, or the straight line with the least squares of what remains.
enum class Trend { none, constant, linear };
struct DetrendOptions {
  std::int64_t axis = -1;
  Trend type = Trend::linear;
  std::vector<std::int64_t> bp = {};  // break points: where another straight line begins
};
// x without its trend along an axis. Throws ShapeError where a break point lies outside of the axis.
//   signal::detrend(Array{1.f, 2.f, 4.f})   // 0.1666667 -0.3333333 0.1666667
Array detrend(const Operand& x, const DetrendOptions& options = {});

// sin²(πi/n) of i < n, one period: Hann's window. 1 of n = 1.
//   signal::hann(4)   // 0 0.5 1 0.5
Array hann(std::int64_t n, DType dtype = DType::f32);

// Segments of `nperseg` samples (256, or as many as the window has; no more than there are), each `noverlap` samples
// into the one before (half of them), times the window (Hann's), with zeros behind up to the length `nfft` of a
// transform. Frequencies are those of `fs` samples a unit of time: the ones that are not negative, unless
// `return_onesided` is false or the samples are complex. `detrend`: what is taken from every segment, or what makes of
// them, along the last axis, what is transformed.
struct SegmentOptions {
  Array fs = 1.0;
  std::optional<Array> window = {};
  std::optional<std::int64_t> nperseg = {}, noverlap = {}, nfft = {};
  std::variant<Trend, std::function<Array(const Array& segments)>> detrend = Trend::constant;
  bool return_onesided = true;
  std::int64_t axis = -1;
};

// The unit of a spectrum: of `density` V²/Hz where samples are volts, of `spectrum` V².
enum class Scaling { density, spectrum };
enum class Average { mean, median };
struct SpectrumOptions : SegmentOptions {
  Scaling scaling = Scaling::density;
  Average average = Average::mean;
};
struct Spectrum {
  Array frequencies, values;
};
// The average over segments of conj(X) Y, of their transforms X and Y (Welch 1967): [frequencies] in the place of the
// axis. x and y broadcast but for the axis, along which the shorter one is followed by zeros. By the median it is
// corrected for the bias that a median of so many numbers has. Without elements: zeros.
//   signal::csd(ones({512}), ones({512}), {{.nperseg = 256}})
Spectrum csd(const Operand& x, const Operand& y, const SpectrumOptions& options = {});
// csd of x and itself: real.
//   signal::welch(ones({512}), {{.nperseg = 256}})
Spectrum welch(const Operand& x, const SpectrumOptions& options = {});

// What stands before and behind a signal, half a segment each: nothing; zeros; its mirror image about the end, turned
// around the end's value (odd) or not (even); the end's value.
enum class Edge { none, zeros, even, odd, constant };
struct StftOptions : SegmentOptions {
  StftOptions() { detrend = Trend::none; }
  Edge boundary = Edge::zeros;
  bool padded = true;  // zeros behind, so that the last samples are in a segment
};
struct Stft {
  Array frequencies, times, values;
};
// Transforms of segments, in the place of the axis, with the segments' times as a last axis; divided by the sum of the
// window.
//   const auto [frequencies, times, values] = signal::stft(ones({512}));
Stft stft(const Operand& x, const StftOptions& options = {});

struct IstftOptions {
  Array fs = 1.0;
  std::optional<Array> window = {};
  std::optional<std::int64_t> nperseg = {}, noverlap = {}, nfft = {};
  bool input_onesided = true;
  bool boundary = true;  // half a segment before and behind is left out
  std::int64_t time_axis = -1, freq_axis = -2;
};
struct Signal {
  Array times, values;
};
// The signal whose `stft` is nearest to `values` in least squares (Griffin and Lim 1984): stft undone, where the
// squares of the windows on no sample add up to 0.
//   const signal::Stft parts = signal::stft(ones({8}), [] {
//     signal::StftOptions options;
//     options.nperseg = 4;
//     return options;
//   }());
//   signal::IstftOptions back;
//   signal::istft(parts.values, back).values   // 1 1 1 1 1 1 1 1
Signal istft(const Operand& values, const IstftOptions& options = {});

}  // namespace tenon::signal
