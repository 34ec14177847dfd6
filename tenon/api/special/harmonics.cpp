// Bessel's functions of integer order, and spherical harmonics: by recurrences in the order, and in the degree.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tenon/api/custom.h"
#include "tenon/api/data.h"
#include "tenon/api/loops.h"
#include "tenon/api/special.h"
#include "tenon/api/special/function.h"
#include "tenon/base/error.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::special {
namespace {

// Miller's algorithm (Abramowitz and Stegun 9.12, example 1): the recurrence of Bessel functions from a high order
// down, on numbers that are J_k and J_(k + 1) but for a factor. The sum J₀ + 2 Σ J_2k, which is 1, tells that factor.
struct Miller {
  Array here, above, sum;
  // From k + 1 down to k. All are scaled so that none exceeds 1; returns that scale.
  Array descend(const Array& z, const Array& k, const Array& weight) {
    const Array times_z = 2.0 * (k + 1.0) * here - z * above;
    const Array size = abs(times_z), least = abs(z), large = size > least;
    const Array scale = where(large, least / where(large, size, 1.0), 1.0);
    above = here * scale;
    here = where(large, sign(times_z) * sign(z), times_z / z);
    sum = sum * scale + weight * here;
    return scale;
  }
};

// J_0 to J_v of f32 or f64, along a new first axis.
Array bessel_down_from(const Array& given, std::int64_t v, std::int64_t n_iter) {
  const Array zero = given == 0.0, x = where(zero, 1.0, given);
  const Array one = ones_like(x), none = zeros_like(x);
  using Carry = std::tuple<Array, Array, Array>;
  const std::int64_t top = std::max(v, n_iter);
  const auto step = [&](const Array& i, const Carry& carry) {
    Miller at{std::get<0>(carry), std::get<1>(carry), std::get<2>(carry)};
    const Array k = static_cast<double>(top) - convert(i, x.dtype());
    at.descend(x, k, where(is_odd(k), 0.0, 2.0));
    return Carry(at.here, at.above, at.sum);
  };
  const auto [here, above, sum] = fori_loop(0, top - v, step, Carry(one, none, none));
  Miller at{here, above, sum};
  Arrays values(static_cast<std::size_t>(v) + 1), scales(values.size());
  for (std::size_t k = values.size(); k-- > 0;) {
    scales[k] = at.descend(x, one * static_cast<double>(k), k == 0 ? one : one * (k % 2 == 0 ? 2.0 : 0.0));
    values[k] = at.here;
  }
  Array scale = 1.0 / at.sum;
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = where(zero, k == 0 ? 1.0 : 0.0, values[k] * scale);
    scale = scale * scales[k];
  }
  return stack(values);
}
Array bessel_to(const Array& z, std::int64_t v, std::int64_t n_iter) {
  const auto value = [=](const Array& z) { return bessel_down_from(z, v, n_iter); };
  // J_k' = (J_(k - 1) - J_(k + 1)) / 2, and J_(-1) = -J_1.
  const auto rule = [=](const Array& z, const Array& dz) {
    const Array more = bessel_to(z, v + 1, n_iter), after = slice_in_dim(more, 1, v + 2, 0);
    const Array before = concatenate({-slice_in_dim(more, 1, 2, 0), slice_in_dim(more, 0, v, 0)}, 0);
    return std::pair(slice_in_dim(more, 0, v + 1, 0), 0.5 * (before - after) * dz);
  };
  return custom_jvp(value, rule)(z);
}

}  // namespace

Array bessel_jn(const Operand& z, std::int64_t v, std::int64_t n_iter) {
  if (v < 0 || n_iter < 1)
    throw ShapeError(fmt::format("bessel_jn: of the orders 0 … {} from the order {} down.", v, n_iter),
                     "The order v is 0 at least, and n_iter 1.");
  const SourceScope place(z.where(), "bessel_jn");
  const Array real = real_operand("bessel_jn", z);
  return convert(bessel_to(widened(real), v, n_iter), real.dtype());
}

Array sph_harm_y(const Operand& n, const Operand& m, const Operand& theta, const Operand& phi, std::int64_t n_max) {
  if (n_max < 0)
    throw ShapeError(fmt::format("sph_harm_y: degrees up to {}.", n_max), "n_max is the largest degree, 0 at least.");
  const SourceScope place(theta.where(), "sph_harm_y");
  const auto whole = [](const char* what, const Operand& x) {
    if (!is_integer(x.array().dtype()))
      throw DTypeError(fmt::format("sph_harm_y: {} is {}.", what, x.array().type().text()), "It is of integers.");
  };
  whole("the degree n", n), whole("the order m", m);
  Met angles = real_operands_of_one_shape("sph_harm_y", std::array<Operand, 2>{theta, phi});
  for (Array& angle : angles.operands) angle = widened(angle);
  const DType dtype = angles.operands[0].dtype();
  const Met met =
      meet("sph_harm_y", Arrays{convert(n, dtype), convert(m, dtype), angles.operands[0], angles.operands[1]});
  const Array degree = min(met.operands[0], static_cast<double>(n_max)), order = abs(met.operands[1]);
  const Array above = sin(met.operands[2]), cosine = cos(met.operands[2]);
  const Array sine = where(above < 0.0, -above, above);  // beyond [0, π], as SciPy has it
  // Of P̄_l of the order m, normalised: P̄_m = -√((2m + 1) / 2m) sin θ P̄_(m - 1), and from l - 1 and l - 2 on upward.
  using Carry = std::pair<Array, Array>;
  const auto step = [&](const Array& i, const Carry& carry) {
    const Array l = convert(i, dtype) + 1.0, before = l - 1.0;
    const auto& [value, last] = carry;
    const Array seed = -sqrt((2.0 * l + 1.0) / (2.0 * l)) * sine * value;
    const Array rising = l > order, square = order * order;
    const Array a = sqrt((4.0 * l * l - 1.0) / where(rising, l * l - square, 1.0));
    const Array b =
        sqrt(where(rising, before * before - square, 0.0) / where(rising, 4.0 * before * before - 1.0, 1.0));
    const Array next = where(rising, a * (cosine * value - b * last), seed), goes = l <= degree;
    return Carry(where(goes, next, value), where(goes & rising, value, last));
  };
  const Array first = zeros_like(sine) + 0.5 / std::sqrt(pi);
  const Array legendre = fori_loop(0, n_max, step, Carry(first, zeros_like(sine))).first;
  const Array there = (degree >= 0.0) & (order <= degree), angle = met.operands[1] * met.operands[3];
  const Array turned = where((met.operands[1] < 0.0) & is_odd(order), -legendre, legendre);
  const Array size = where(there, turned, 0.0);
  return complex(size * cos(angle), size * sin(angle));
}

Array bernoulli(std::int64_t n) {
  if (n < 0) throw ShapeError(fmt::format("bernoulli: numbers up to B of {}.", n), "n is 0 at least.");
  // B_2k = (-1)^(k + 1) 2 (2k)! ζ(2k) / (2π)^2k
  std::vector<double> numbers(static_cast<std::size_t>(n) + 1, 0.0);
  long double factor = 2;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (k > 0) factor *= static_cast<long double>(k) / (2 * std::numbers::pi_v<long double>);
    if (k == 0) numbers[k] = 1;
    if (k == 1) numbers[k] = -0.5;
    if (k < 2 || k % 2 == 1) continue;
    long double zeta = 1;  // by Euler's and Maclaurin's formula, which has little to add
    constexpr int direct = 128;
    const auto s = static_cast<long double>(k);
    for (int j = 2; j < direct; ++j) zeta += std::pow(static_cast<long double>(j), -s);
    const long double last = std::pow(static_cast<long double>(direct), -s);
    zeta += last *
            (direct / (s - 1) + 0.5L + s / (12 * direct) - s * (s + 1) * (s + 2) / (720.0L * direct * direct * direct) +
             s * (s + 1) * (s + 2) * (s + 3) * (s + 4) / (30240.0L * std::pow(static_cast<long double>(direct), 5)));
    numbers[k] = static_cast<double>((k % 4 == 0 ? -1 : 1) * factor * zeta);
  }
  return array<double>(numbers, {n + 1});
}

}  // namespace tenon::special
