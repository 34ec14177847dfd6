// Signals: convolutions beside sums as they are written, trends, spectra and what undoes them; derivatives, sizes that
// vary, errors. What SciPy computes of drawn ones is compared in python/tests.
#include "tenon/api/signal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "../error_message.h"
#include "tenon/tenon.h"

namespace {

namespace tn = tenon;
namespace signal = tenon::signal;
using signal::Extent;
using testing::HasSubstr;
using tn::Array;
using tn::DType;

std::vector<double> numbers_of_signal(const Array& x) {
  const tn::Buffer buffer = tn::convert(x, DType::f64).to_buffer();
  return {buffer.as<double>(), buffer.as<double>() + buffer.elements()};
}
Array wave(std::int64_t n, double step = 0.7) { return tn::sin(tn::arange(n, DType::f64) * step + 0.3); }

void expect_near(const Array& got, const Array& wanted, double tolerance = 1e-12) {
  ASSERT_EQ(got.shape(), wanted.shape());
  const auto a = numbers_of_signal(got), b = numbers_of_signal(wanted);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Signal, ConvolutionsAreSumsOfProducts) {
  const Array a = wave(7), b = wave(3, 1.1);
  const auto x = numbers_of_signal(a), y = numbers_of_signal(b);
  std::vector<double> sums(9);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < y.size(); ++j) sums[i + j] += x[i] * y[j];
  for (const auto method : {signal::ConvolutionMethod::direct, signal::ConvolutionMethod::fft}) {
    const auto full = numbers_of_signal(signal::convolve(a, b, {Extent::full, method}));
    ASSERT_EQ(full.size(), sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(full[i], sums[i], 1e-12);
    expect_near(signal::convolve(a, b, {Extent::same, method}), signal::convolve(a, b)(tn::slice(1, 8)));
    expect_near(signal::convolve(a, b, {Extent::valid, method}), signal::convolve(a, b)(tn::slice(2, 7)));
    expect_near(signal::convolve(b, a, {Extent::same, method}), signal::convolve(a, b)(tn::slice(3, 6)));
    expect_near(signal::convolve(b, a, {Extent::largest, method}), signal::convolve(a, b)(tn::slice(1, 8)));
  }
  expect_near(signal::correlate(a, b), signal::convolve(a, tn::reverse(b, {0})));
  EXPECT_EQ(signal::convolve(Array{1, 2, 3}, Array{1, 1}).dtype(), DType::f32);
  EXPECT_EQ(signal::convolve(tn::zeros({3}, DType::f16), tn::ones({2}, DType::f16)).dtype(), DType::f16);
}

TEST(Signal, InfiniteElementsOfTheWindowMeetNoZerosAround) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto made = numbers_of_signal(
      tn::jit([](const Array& a, const Array& b) { return signal::convolve(a, b); })(Array{1.0, 2.0}, Array{inf, 1.0}));
  EXPECT_EQ(made, (std::vector<double>{inf, inf, 2}));
}

TEST(Signal, LinesAreTaken) {
  const Array line = 3.0 * tn::arange(6, DType::f64) - 1.0;
  expect_near(signal::detrend(line), tn::zeros({6}, DType::f64));
  expect_near(signal::detrend(tn::concatenate({line, line}, 0), {.bp = {6}}), tn::zeros({12}, DType::f64));
  expect_near(signal::detrend(line, {.type = signal::Trend::constant}), line - tn::mean(line));
}

TEST(Signal, SpectraFindAFrequency) {
  const Array x = tn::cos(tn::arange(256, DType::f64) * (2 * std::numbers::pi / 8));
  signal::SpectrumOptions options;
  options.nperseg = 64, options.fs = 2.0;
  const auto [frequencies, power] = tn::jit([&](const Array& x) {
    const auto made = signal::welch(x, options);
    return std::pair(made.frequencies, made.values);
  })(x);
  EXPECT_DOUBLE_EQ(frequencies(tn::argmax(power)).item<double>(), 0.25);
  options.average = signal::Average::median;
  expect_near(signal::csd(x, x, options).values, signal::welch(x, options).values);
}

TEST(Signal, TheInverseOfStftUndoesIt) {
  const Array x = wave(100);
  for (const std::int64_t overlap : {8, 15, 30, 31}) {  // few and many pieces of a segment
    signal::StftOptions options;
    options.nperseg = 32, options.noverlap = overlap;
    signal::IstftOptions back{.noverlap = overlap};
    const auto there_and_back = [&](const Array& x) {
      return signal::istft(signal::stft(x, options).values, back).values;
    };
    expect_near(there_and_back(x)(tn::slice(100)), x);
    expect_near(tn::grad([&](const Array& x) { return tn::sum(tn::square(there_and_back(x))); })(x), 2 * x, 1e-10);
  }
}

TEST(Signal, CosineTransforms) {
  for (const std::int64_t n : {1, 2, 5, 8}) {
    const Array x = wave(n), j = tn::arange(n, DType::f64);
    const Array angle = tn::outer(2 * j + 1, j) * (std::numbers::pi / (2.0 * static_cast<double>(n)));
    expect_near(tn::fft::dct(x), 2 * tn::matmul(x, tn::cos(angle)));
    for (const auto norm : {tn::fft::Norm::backward, tn::fft::Norm::ortho, tn::fft::Norm::forward})
      expect_near(tn::fft::idct(tn::fft::dct(x, {.norm = norm}), {.norm = norm}), x);
  }
  const auto varying = tn::jit([](const Array& x) { return tn::fft::dct(x); }, {.sizes = tn::Sizes::symbolic});
  expect_near(varying(wave(6)), tn::fft::dct(wave(6)));
  expect_near(varying(wave(9)), tn::fft::dct(wave(9)));
}

TEST(Signal, Errors) {
  const Array x = wave(4);
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { signal::convolve(x, tn::zeros({2, 2})); }),
              HasSubstr("convolve: f64[4] and f32[2,2] differ in rank"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { signal::convolve(x, tn::zeros({0})); }),
              HasSubstr("has no elements"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { signal::detrend(x, {.bp = {5}}); }),
              HasSubstr("breaks from 0 to 5 of 4 samples"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { signal::istft(x); }), HasSubstr("not both frequencies and times"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { signal::hann(0); }), HasSubstr("a window of 0 elements"));
  EXPECT_THAT(tn::message_of<tn::ShapeError>([&] { tn::fft::dctn(x, {.axes = std::vector<std::int64_t>{0, -1}}); }),
              HasSubstr("dctn: axis 0 of f64[4] is given twice"));
}

}  // namespace
