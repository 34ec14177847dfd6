// Fourier transforms: beside sums as they are written, in every dtype, shape and way of calling; derivatives, batches,
// sizes that vary, many lengths, errors. The op's derivatives and code are tested by generation.
#include "tenon/api/fft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "../error_message.h"
#include "tenon/tenon.h"

namespace {

namespace tn = tenon;
namespace fft = tenon::fft;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::DType;
using tn::Shape;
using Number = std::complex<double>;

std::vector<Number> drawn(std::int64_t count, bool real = false) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Number> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const double re = uniform(generator), im = uniform(generator);
    numbers.emplace_back(re, real ? 0 : im);
  }
  return numbers;
}

Array array_of(const std::vector<Number>& numbers, DType dtype, const Shape& shape) {
  std::vector<double> re, im;
  for (const Number& x : numbers) re.push_back(x.real()), im.push_back(x.imag());
  const auto n = static_cast<std::int64_t>(numbers.size());
  const auto parts = [&](const std::vector<double>& values) {
    tn::Buffer buffer = tn::Buffer::allocate(DType::f64, std::vector{n});
    std::copy(values.begin(), values.end(), buffer.as<double>());
    return Array(buffer);
  };
  const Array whole = tn::is_complex(dtype) ? tn::complex(parts(re), parts(im)) : parts(re);
  return tn::reshape(tn::convert(whole, dtype), shape);
}

std::vector<Number> numbers_of(const Array& x) {
  const tn::Buffer buffer = tn::convert(x, DType::c128).to_buffer();
  return {buffer.as<Number>(), buffer.as<Number>() + buffer.elements()};
}

// Σ x[j] exp(sign 2πi jk/n), sum by sum.
std::vector<Number> summed(const std::vector<Number>& x, double sign) {
  const std::size_t n = x.size();
  std::vector<Number> y(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j)
      y[k] +=
          x[j] * std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n));
  return y;
}

double size_of(const std::vector<Number>& x) {
  double sum = 0;
  for (const Number& number : x) sum += std::norm(number);
  return std::sqrt(sum);
}
void expect_near(const std::vector<Number>& got, const std::vector<Number>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  std::vector<Number> rest(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) rest[i] = got[i] - wanted[i];
  EXPECT_LE(size_of(rest), tolerance * (1e-3 + size_of(wanted)));
}
std::vector<Number> first(std::vector<Number> x, std::size_t count) {
  x.resize(count);
  return x;
}

class FftLengths : public testing::TestWithParam<std::int64_t> {};

TEST_P(FftLengths, EachTransformIsItsSum) {
  const std::int64_t n = GetParam();
  const auto count = static_cast<std::size_t>(n);
  for (const DType dtype : {DType::c64, DType::c128}) {
    const double tolerance = dtype == DType::c64 ? 3e-6 : 1e-14;
    const auto z = drawn(n), x = drawn(n, true);
    const Array numbers = array_of(z, dtype, {tn::Dim(n)});
    const DType real = dtype == DType::c64 ? DType::f32 : DType::f64;
    const Array reals = array_of(x, real, {tn::Dim(n)});
    expect_near(numbers_of(fft::fft(numbers)), summed(z, -1), tolerance);
    EXPECT_EQ(fft::fft(reals).dtype(), dtype);
    expect_near(numbers_of(fft::fft(reals)), summed(x, -1), tolerance);
    expect_near(numbers_of(fft::ifft(fft::fft(numbers))), z, tolerance);
    expect_near(numbers_of(fft::ifft(numbers, {.norm = fft::Norm::forward})), summed(z, 1), tolerance);
    const Array half = fft::rfft(reals);
    expect_near(numbers_of(half), first(summed(x, -1), count / 2 + 1), tolerance);
    EXPECT_EQ(fft::irfft(half, {.n = n}).dtype(), real);
    expect_near(numbers_of(fft::irfft(half, {.n = n})), x, tolerance);
    expect_near(numbers_of(fft::hfft(fft::ihfft(reals), {.n = n})), x, tolerance);
    expect_near(numbers_of(fft::ifft(fft::fft(numbers, {.norm = fft::Norm::ortho}), {.norm = fft::Norm::ortho})), z,
                tolerance);
  }
}
INSTANTIATE_TEST_SUITE_P(Fft, FftLengths,
                         testing::Values(1, 2, 3, 4, 5, 7, 8, 11, 16, 30, 64, 97, 101, 210, 512, 1009));

TEST(Fft, OfLinesAlongAnyAxis) {
  const auto z = drawn(3 * 8 * 5);
  const Array x = array_of(z, DType::c128, {tn::Dim(3), tn::Dim(8), tn::Dim(5)});
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    const Array moved = tn::move_axis(fft::fft(tn::move_axis(x, axis, 2)), 2, axis);
    expect_near(numbers_of(fft::fft(x, {.axis = axis})), numbers_of(moved), 1e-15);
    expect_near(numbers_of(fft::fft(x, {.axis = axis - 3})), numbers_of(moved), 1e-15);
  }
  Array one_by_one = x;
  for (const std::int64_t axis : {0, 1, 2}) one_by_one = fft::fft(one_by_one, {.axis = axis});
  expect_near(numbers_of(fft::fftn(x)), numbers_of(one_by_one), 1e-14);
  expect_near(numbers_of(fft::ifftn(fft::fftn(x))), z, 1e-14);
  expect_near(numbers_of(fft::fft2(x, {.axes = {0, 2}})), numbers_of(fft::fft(fft::fft(x, {.axis = 0}), {.axis = 2})),
              1e-14);
  expect_near(numbers_of(fft::ifft2(fft::fft2(x))), z, 1e-14);
}

TEST(Fft, OfRealNumbersAlongAxes) {
  const auto z = drawn(4 * 6 * 5, true);
  const Array x = array_of(z, DType::f64, {tn::Dim(4), tn::Dim(6), tn::Dim(5)});
  const Array all = fft::fftn(x), half = fft::rfftn(x);
  EXPECT_EQ(half.shape(), (Shape{tn::Dim(4), tn::Dim(6), tn::Dim(3)}));
  expect_near(numbers_of(half), numbers_of(tn::slice_in_dim(all, 0, 3, 2)), 1e-14);
  expect_near(numbers_of(fft::irfftn(half, {.s = std::vector<tn::Dim>{4, 6, 5}})), z, 1e-14);
  const Array other = fft::rfft2(x, {.axes = {2, 1}});
  expect_near(numbers_of(fft::irfft2(other, {.axes = {2, 1}})), z, 1e-14);
}

TEST(Fft, AxesAreCutAndFilledWithZeros) {
  const auto z = drawn(12);
  const Array x = array_of(z, DType::c128, {tn::Dim(2), tn::Dim(6)});
  for (const std::int64_t n : {3, 6, 9}) {
    const Array fitted = n <= 6 ? tn::slice_in_dim(x, 0, n, 1)
                                : tn::concatenate({x, tn::zeros({tn::Dim(2), tn::Dim(n - 6)}, DType::c128)}, 1);
    expect_near(numbers_of(fft::fft(x, {.n = n})), numbers_of(fft::fft(fitted)), 1e-15);
    EXPECT_EQ(fft::irfft(x, {.n = n}).shape(), (Shape{tn::Dim(2), tn::Dim(n)}));
  }
  EXPECT_EQ(fft::irfft(x).shape(), (Shape{tn::Dim(2), tn::Dim(10)}));
  EXPECT_EQ(fft::fftn(x, {.s = std::vector<tn::Dim>{4}}).shape(), (Shape{tn::Dim(2), tn::Dim(4)}));
}

TEST(Fft, EveryDTypeAndShape) {
  for (const DType dtype : {DType::bool_, DType::i8, DType::u16, DType::i32, DType::f16, DType::bf16, DType::f32})
    EXPECT_EQ(fft::fft(tn::ones({tn::Dim(4)}, dtype)).dtype(), DType::c64);
  for (const DType dtype : {DType::i64, DType::u64, DType::f64})
    EXPECT_EQ(fft::rfft(tn::ones({tn::Dim(4)}, dtype)).dtype(), DType::c128);
  EXPECT_EQ(fft::fft(tn::zeros({tn::Dim(0), tn::Dim(4)})).shape(), (Shape{tn::Dim(0), tn::Dim(4)}));
  EXPECT_EQ(fft::rfft(tn::zeros({tn::Dim(4), tn::Dim(0)}), {.axis = 0}).shape(), (Shape{tn::Dim(3), tn::Dim(0)}));
  EXPECT_EQ(fft::irfft(tn::zeros({tn::Dim(0), tn::Dim(3)})).shape(), (Shape{tn::Dim(0), tn::Dim(4)}));
  EXPECT_EQ(fft::fftn(tn::Array(2.f)).dtype(), DType::c64);
  // Axes permuted, and every other element.
  const Array x = array_of(drawn(24), DType::c128, {tn::Dim(4), tn::Dim(6)});
  expect_near(numbers_of(fft::fft(tn::transpose(x))), numbers_of(tn::transpose(fft::fft(x, {.axis = 0}))), 1e-15);
}

TEST(Fft, ShiftsAndFrequencies) {
  const auto values = [](const Array& x) {
    std::vector<double> all;
    for (const Number& number : numbers_of(x)) all.push_back(number.real());
    return all;
  };
  EXPECT_THAT(values(fft::fftfreq(4, 0.5)), testing::ElementsAre(0, 0.5, -1, -0.5));
  EXPECT_THAT(values(fft::fftfreq(5, 1.0, DType::f64)), testing::ElementsAre(0, 0.2, 0.4, -0.4, -0.2));
  EXPECT_THAT(values(fft::rfftfreq(5, 1.0, DType::f64)), testing::ElementsAre(0, 0.2, 0.4));
  const Array five = tn::arange(5);
  EXPECT_THAT(values(fft::fftshift(five)), testing::ElementsAre(3, 4, 0, 1, 2));
  EXPECT_THAT(values(fft::ifftshift(fft::fftshift(five))), testing::ElementsAre(0, 1, 2, 3, 4));
  const Array square = tn::reshape(tn::arange(6), {tn::Dim(2), tn::Dim(3)});
  EXPECT_THAT(values(fft::fftshift(square)), testing::ElementsAre(5, 3, 4, 2, 0, 1));
  EXPECT_THAT(values(fft::fftshift(square, std::vector<std::int64_t>{1})), testing::ElementsAre(2, 0, 1, 5, 3, 4));
}

// Power spectrum of a filtered signal: of complex numbers inside, real outside.
Array power(const Array& x) {
  const Array spectrum = fft::rfft(x, {.norm = fft::Norm::ortho});
  const Array weights = tn::exp(-0.1 * tn::convert(tn::arange(spectrum.shape()[0]), DType::f64));
  const Array smooth = fft::irfft(spectrum * tn::convert(weights, DType::c128), {.n = x.shape()[0]});
  return tn::sum(tn::sin(smooth) * x);
}

TEST(Fft, DerivativesAreThoseOfDifferences) {
  for (const std::int64_t n : {1, 6, 7}) {
    const Array x = array_of(drawn(n, true), DType::f64, {tn::Dim(n)});
    const std::vector<Number> slope = numbers_of(tn::grad(power)(x));
    for (std::int64_t i = 0; i < n; ++i) {
      const double h = 1e-6;
      const Array step = h * tn::convert(tn::arange(n) == i, DType::f64);
      const double difference = (power(x + step) - power(x - step)).item<double>() / (2 * h);
      EXPECT_NEAR(slope[static_cast<std::size_t>(i)].real(), difference, 1e-8);
    }
    expect_near(numbers_of(tn::jit(tn::grad(power))(x)), slope, 1e-13);
    const auto twice = tn::grad([](const Array& x) { return tn::sum(tn::square(tn::grad(power)(x))); });
    EXPECT_EQ(twice(x).shape(), x.shape());
  }
}

TEST(Fft, BatchesAreLanes) {
  const Array x = array_of(drawn(3 * 8, true), DType::f64, {tn::Dim(3), tn::Dim(8)});
  const auto lanes = numbers_of(tn::vmap(power)(x));
  for (std::int64_t i = 0; i < 3; ++i)
    EXPECT_NEAR(lanes[static_cast<std::size_t>(i)].real(), power(x(i)).item<double>(), 1e-12);
  const Array slopes = tn::vmap(tn::grad(power))(x);
  expect_near(numbers_of(slopes(1)), numbers_of(tn::grad(power)(x(1))), 1e-13);
}

TEST(Fft, OneCompilationForAllLengths) {
  const auto f = tn::jit([](const Array& x) { return fft::irfft(fft::rfft(x) * 2.0, {.n = x.shape()[0]}); },
                         {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {2, 9, 16, 101}) {
    const auto z = drawn(n, true);
    auto doubled = z;
    for (Number& number : doubled) number *= 2;
    expect_near(numbers_of(f(array_of(z, DType::f64, {tn::Dim(n)}))), doubled, 1e-14);
  }
  const auto padded =
      tn::jit([](const Array& x) { return fft::fft(x, {.n = 2 * x.shape()[0]}); }, {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {2, 5}) {
    const Array x = array_of(drawn(n), DType::c128, {tn::Dim(n)});
    expect_near(numbers_of(padded(x)), numbers_of(fft::fft(x, {.n = 2 * n})), 1e-15);
  }
}

TEST(Fft, LongLinesAndManyLinesOnAllThreads) {
  const int before = tn::threads();
  for (const int threads : {1, 3}) {
    tn::set_threads(threads);
    for (const Shape& shape : {Shape{tn::Dim(1 << 15)}, Shape{tn::Dim(200), tn::Dim(96)}, Shape{tn::Dim(10007)}}) {
      std::int64_t count = 1;
      for (const tn::Dim& n : shape) count *= n.value();
      const auto z = drawn(count);
      const Array x = array_of(z, DType::c128, shape);
      expect_near(numbers_of(fft::ifftn(fft::fftn(x))), z, 1e-13);
      EXPECT_NEAR(size_of(numbers_of(fft::fftn(x, {.norm = fft::Norm::ortho}))), size_of(z), 1e-10 * size_of(z));
    }
  }
  tn::set_threads(before);
}

TEST(Fft, WrongCallsSayWhatToDo) {
  const Array x = tn::ones({tn::Dim(2), tn::Dim(4)});
  const auto said = [](auto f) { return tn::message_of(f); };
  EXPECT_THAT(said([&] { fft::fft(x, {.n = 0}); }),
              AllOf(HasSubstr("fft: 0 elements of axis 1 of f32[2,4]"), HasSubstr("1 or more")));
  EXPECT_THAT(said([&] { fft::fft(x, {.n = -3}); }), HasSubstr("-3 elements"));
  EXPECT_THAT(said([&] { fft::fft(x, {.axis = 2}); }), HasSubstr("fft"));
  EXPECT_THAT(said([&] { fft::fftn(x, {.axes = std::vector<std::int64_t>{1, -1}}); }),
              HasSubstr("axis 1 of f32[2,4] is given twice"));
  EXPECT_THAT(said([&] { fft::fftn(x, {.s = std::vector<tn::Dim>{4}, .axes = std::vector<std::int64_t>{0, 1}}); }),
              HasSubstr("1 lengths of 2 axes"));
  EXPECT_THAT(said([&] { fft::rfft(tn::convert(x, DType::c64)); }),
              AllOf(HasSubstr("rfft: c64[2,4] is complex"), HasSubstr("fft.cpp")));
  EXPECT_THAT(said([&] { fft::irfft(tn::ones({tn::Dim(1)})); }), HasSubstr("0 elements"));
  EXPECT_THAT(said([&] { fft::rfftn(tn::Array(1.f)); }), HasSubstr("has no axis to transform"));
  EXPECT_THAT(said([&] { fft::fftfreq(0); }), HasSubstr("0 samples"));
  EXPECT_THAT(said([&] { fft::fft(tn::ones({tn::Dim(0)})); }), HasSubstr("0 elements of axis 0"));
}

}  // namespace
