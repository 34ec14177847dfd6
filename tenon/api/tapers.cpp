#include "tenon/api/tapers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenon/api/special.h"
#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

// The samples' places from -1 to 1: 0 of one sample.
Array taper_places(const Dim& n, DType d) {
  const auto number = [d](const Dim& size) { return size_as_array(size, d); };
  return (2 * iota(d, {n}, 0) - number(n - 1)) / number(max(n - 1, 1));
}
DType taper_dtype(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

template <class OfNumber, class OfArray>
Array taper(std::string_view name, const Dim& n, DType dtype, OfNumber of_number, OfArray of_array) {
  if (!is_real(dtype))
    throw DTypeError(fmt::format("{}: a window of {}.", name, tenon::name(dtype)), "Windows are real numbers.");
  if (!n.known()) return convert(of_array(taper_places(n, taper_dtype(dtype))), dtype);
  const std::int64_t count = std::max<std::int64_t>(n.value(), 0);
  Buffer samples = Buffer::allocate(DType::f64, std::vector{count});
  for (std::int64_t i = 0; i < count; ++i) {
    const auto odd = static_cast<double>(2 * i + 1 - count),
               most = static_cast<double>(std::max<std::int64_t>(count - 1, 1));
    samples.as<double>()[i] = count == 1 ? 1 : of_number(odd / most, std::numbers::pi * odd / most);
  }
  return convert(Array(samples), dtype);
}

Array cosines(std::string_view name, const Dim& n, DType dtype, double a, double b, double c) {
  constexpr double pi = std::numbers::pi;
  return taper(
      name, n, dtype, [=](double, double angle) { return a + b * std::cos(angle) + c * std::cos(2 * angle); },
      [=](const Array& x) { return a + b * cos(pi * x) + c * cos(2 * pi * x); });
}

}  // namespace

Array bartlett(const Dim& n, DType dtype) {
  return taper(
      "bartlett", n, dtype, [](double x, double) { return 1 - std::abs(x); },
      [](const Array& x) { return 1 - abs(x); });
}
Array hanning(const Dim& n, DType dtype) { return cosines("hanning", n, dtype, 0.5, 0.5, 0); }
Array hamming(const Dim& n, DType dtype) { return cosines("hamming", n, dtype, 0.54, 0.46, 0); }
Array blackman(const Dim& n, DType dtype) { return cosines("blackman", n, dtype, 0.42, 0.5, 0.08); }

Array kaiser(const Dim& n, const Operand& beta, DType dtype) {
  constexpr std::string_view name = "kaiser";
  const SourceScope place(beta.where(), name);
  if (beta->rank() != 0 || !is_real(dtype))
    throw ShapeError(
        fmt::format("{}: beta is {}, and the window of {}.", name, beta->type().text(), tenon::name(dtype)),
        "Give one number, and a real dtype.");
  const DType d = taper_dtype(dtype);
  const Array x = taper_places(n.known() ? max(n, 0) : n, d), b = convert(beta, d);
  return convert(special::i0(b * sqrt(1 - x * x)) / special::i0(b), dtype);
}

}  // namespace tenon
