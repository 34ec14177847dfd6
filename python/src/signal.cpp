// Signals: convolutions, trends, spectra.
#include "tenon/api/signal.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "call.h"
#include "named.h"
#include "op.h"
#include "operands.h"
#include "rooms.h"

namespace tenon::python {
namespace {

using namespace signal;
using Integer = std::optional<std::int64_t>;

constexpr Named<Extent> extents[] = {
    {"full", Extent::full}, {"same", Extent::same}, {"valid", Extent::valid}, {"largest", Extent::largest}};
constexpr Named<ConvolutionMethod> methods[] = {
    {"auto", ConvolutionMethod::automatic}, {"direct", ConvolutionMethod::direct}, {"fft", ConvolutionMethod::fft}};
constexpr Named<Trend> trends[] = {{"constant", Trend::constant}, {"linear", Trend::linear}};
constexpr Named<Scaling> scalings[] = {{"density", Scaling::density}, {"spectrum", Scaling::spectrum}};
constexpr Named<Average> averages[] = {{"mean", Average::mean}, {"median", Average::median}};
constexpr Named<Edge> edges[] = {
    {"zeros", Edge::zeros}, {"even", Edge::even}, {"odd", Edge::odd}, {"constant", Edge::constant}};

// What is taken from segments: by name, by a function of Python's, or nothing.
void set_trend(const char* name, SegmentOptions& options, nb::object detrend) {
  options.trend = Trend::none;
  if (nb::isinstance<nb::str>(detrend))
    options.trend = by_name(name, "detrend", trends, nb::cast<std::string>(detrend));
  else if (nb::isinstance<nb::callable>(detrend))
    options.detrend = [name, detrend](const Array& segments) { return operand(name, detrend(segments)); };
  else if (nb::cast<bool>(nb::bool_(detrend)))
    throw nb::value_error(fmt::format("{}: detrend is a name, a function or False.", name).c_str());
}

struct SegmentArguments {
  nb::handle rate, window;
  Integer segment, overlap, length;
  nb::object detrend;
  bool onesided;
  std::int64_t axis;

  void set(const char* name, SegmentOptions& options) const {
    options.rate = operand(name, rate);
    options.window = operand_or_none(name, window);
    options.segment = segment, options.overlap = overlap, options.length = length;
    options.onesided = onesided, options.axis = axis;
    set_trend(name, options, detrend);
  }
};

using Convolved = Array (*)(const Operand& a, const Operand& b, const SignalOptions& options);
using OfMatrices = Array (*)(const Operand& a, const Operand& b, Extent extent);

void add_convolved(nb::module_& module, const char* name, Convolved f) {
  module.def(name, [name, f](ArrayLike a, ArrayLike b, const std::string& mode, const std::string& method) {
    const SignalOptions options{by_name(name, "mode", extents, mode), by_name(name, "method", methods, method)};
    const Array x = a.array(name), y = b.array(name);
    return call_op(name, [&] { return f(op(x), op(y), options); });
  });
}
void add_of_matrices(nb::module_& module, const char* name, OfMatrices f) {
  module.def(name, [name, f](ArrayLike a, ArrayLike b, const std::string& mode) {
    const Extent extent = by_name(name, "mode", extents, mode);
    const Array x = a.array(name), y = b.array(name);
    return call_op(name, [&] { return f(op(x), op(y), extent); });
  });
}

void add_spectra(nb::module_& module) {
  module.def("csd", [](ArrayLike x, nb::handle y, nb::handle rate, nb::handle window, Integer segment, Integer overlap,
                       Integer length, nb::object detrend, bool onesided, const std::string& scaling, std::int64_t axis,
                       const std::string& average) {
    const char* name = y.is_none() ? "welch" : "csd";
    SpectrumOptions options;
    SegmentArguments{rate, window, segment, overlap, length, detrend, onesided, axis}.set(name, options);
    options.scaling = by_name(name, "scaling", scalings, scaling);
    options.average = by_name(name, "average", averages, average);
    const Array a = x.array(name);
    const auto b = operand_or_none(name, y);
    const Spectrum made =
        call_transformation(name, [&] { return b ? csd(op(a), op(*b), options) : welch(op(a), options); });
    return nb::make_tuple(made.frequencies, made.values);
  });
  module.def("stft", [](ArrayLike x, nb::handle rate, nb::handle window, Integer segment, Integer overlap,
                        Integer length, nb::object detrend, bool onesided, const std::optional<std::string>& edge,
                        bool padded, std::int64_t axis) {
    const char* name = "stft";
    StftOptions options;
    SegmentArguments{rate, window, segment, overlap, length, detrend, onesided, axis}.set(name, options);
    options.edge = edge ? by_name(name, "boundary", edges, *edge) : Edge::none;
    options.padded = padded;
    const Array a = x.array(name);
    const Stft made = call_transformation(name, [&] { return stft(op(a), options); });
    return nb::make_tuple(made.frequencies, made.times, made.values);
  });
  module.def(
      "istft", [](ArrayLike x, nb::handle rate, nb::handle window, Integer segment, Integer overlap, Integer length,
                  bool onesided, bool edge, std::int64_t time_axis, std::int64_t frequency_axis) {
        const char* name = "istft";
        const IstftOptions options{
            operand(name, rate), operand_or_none(name, window), segment, overlap, length, onesided, edge, time_axis,
            frequency_axis};
        const Array a = x.array(name);
        const Signal made = call_op(name, [&] { return istft(op(a), options); });
        return nb::make_tuple(made.times, made.values);
      });
}

}  // namespace

void add_signal(nb::module_& module) {
  add_convolved(module, "convolve", convolve);
  add_convolved(module, "correlate", correlate);
  add_of_matrices(module, "convolve2d", convolve2d);
  add_of_matrices(module, "correlate2d", correlate2d);
  module.def("fftconvolve", [](ArrayLike a, ArrayLike b, const std::string& mode,
                               const std::optional<std::vector<std::int64_t>>& axes) {
    const char* name = "fftconvolve";
    const FftConvolveOptions options{by_name(name, "mode", extents, mode), axes};
    const Array x = a.array(name), y = b.array(name);
    return call_op(name, [&] { return fftconvolve(op(x), op(y), options); });
  });
  module.def("detrend", [](ArrayLike x, std::int64_t axis, const std::string& type, std::vector<std::int64_t> breaks) {
    const char* name = "detrend";
    const DetrendOptions options{axis, by_name(name, "type", trends, type), std::move(breaks)};
    const Array a = x.array(name);
    return call_op(name, [&] { return detrend(op(a), options); });
  });
  add_spectra(module);
}

}  // namespace tenon::python
