// What tests expect of numbers, worked out without the library: special values of every dtype, rounding to a dtype's
// format, and comparison in units of the last place.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/runtime/memory/buffer.h"

namespace tenon::independent {

using Real = long double;  // 64 bits of significand
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

struct Format {
  int digits;        // of the significand
  int min_exponent;  // of normal numbers
  Real max;
  bool infinity = true, negative_zero = true, sign = true;  // without a sign: powers of two alone
};
inline Format format(DType d) {
  switch (real_part_of(d)) {
    case DType::f8e8m0fnu:
      return {1, -127, std::ldexp(Real(1), 127), false, false, false};
    case DType::f8e3m4:
      return {5, -2, 15.5L};
    case DType::f8e4m3:
      return {4, -6, 240};
    case DType::f8e4m3b11fnuz:
      return {4, -10, 30, false, false};
    case DType::f8e4m3fn:
      return {4, -6, 448, false};
    case DType::f8e4m3fnuz:
      return {4, -7, 240, false, false};
    case DType::f8e5m2:
      return {3, -14, 57344};
    case DType::f8e5m2fnuz:
      return {3, -15, 57344, false, false};
    case DType::f16:
      return {11, -14, 65504};
    case DType::bf16:
      return {8, -126, std::ldexp(Real(255), 120)};
    case DType::f32:
      return {24, -126, std::numeric_limits<float>::max()};
    default:
      return {53, -1022, std::numeric_limits<double>::max()};
  }
}

// The distance of neighbours near a value; that of the smallest numbers for 0.
inline Real last_place(Real value, DType d) {
  const Format f = format(d);
  const int exponent = value == 0 ? f.min_exponent : std::max(std::ilogb(value), f.min_exponent);
  return std::ldexp(Real(1), exponent - f.digits + 1);
}

// The nearest power of two, halves up, but the second one of all between it and the least; the least one of what is
// less; NaN of what is not positive.
inline Real power_near(Real value, const Format& f) {
  if (!(value > 0) || std::isinf(value)) return std::numeric_limits<Real>::quiet_NaN();
  const int exponent = std::ilogb(value);
  const Real below = std::ldexp(Real(1), exponent), half_way = exponent == f.min_exponent ? below : 1.5L * below;
  const Real near = value == below || value < half_way ? below : 2 * below;
  return near > f.max ? std::numeric_limits<Real>::quiet_NaN() : std::max(near, std::ldexp(Real(1), f.min_exponent));
}

// The nearest number of a format, halves to even; beyond its range infinity, or NaN where it has none.
inline Real rounded(Real value, DType d) {
  const Format f = format(d);
  if (!f.sign) return power_near(value, f);
  const Real beyond = f.infinity ? std::numeric_limits<Real>::infinity() : std::numeric_limits<Real>::quiet_NaN();
  if (std::isinf(value)) return std::copysign(beyond, value);
  if (value == 0) return f.negative_zero ? value : 0;
  if (std::isnan(value)) return value;
  const Real unit = last_place(value, d);
  const Real down = std::floor(value / unit), rest = value / unit - down;
  const bool up = rest > 0.5L || (rest == 0.5L && std::fmod(down, Real(2)) != 0);
  const Real result = std::copysign((down + up) * unit, value);
  if (result == 0 && !f.negative_zero) return 0;
  return std::abs(result) > f.max ? std::copysign(beyond, value) : result;
}

// Equal to the last bit, zeros' signs included, or within so many units of the last place.
inline bool close(Real got, Real want, DType d, Real units) {
  const Real nearest = rounded(want, d);
  if (std::isnan(nearest)) return std::isnan(got);
  if (got == nearest) return got != 0 || std::signbit(got) == std::signbit(nearest);
  return std::isfinite(got) && std::isfinite(nearest) && std::abs(got - want) <= units * last_place(want, d);
}

// Native code flushes subnormal numbers, operands and results, to zero.
inline Real flushed(Real value, DType d) {
  return std::abs(value) < std::ldexp(Real(1), format(d).min_exponent) ? std::copysign(Real(0), value) : value;
}

template <class T>
Real real_of(T value) {
  if constexpr (NarrowFloat<T>)
    return static_cast<float>(value);
  else
    return value;
}

// A number of a format as its storage type; the value must be one of the format's.
template <class T>
T stored(Real value) {
  if constexpr (NarrowFloat<T>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
inline constexpr bool is_real_element = std::is_floating_point_v<T> || NarrowFloat<T>;
template <class T>
inline constexpr bool is_complex_element =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// Zeros of both signs, infinities, NaN, the ends of the range, halves, ties of rounding, and ordinary numbers.
template <class T>
std::vector<T> special_values() {
  constexpr DType d = *dtype_of<T>;
  std::vector<T> values;
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    for (std::int64_t small : {0, 1, 2, 3, 7, 100, -1, -2, -7, -100})
      if (small >= 0 || std::is_signed_v<T>) values.push_back(static_cast<T>(small));
    values.insert(values.end(),
                  {Limits::min(), static_cast<T>(Limits::min() + 1), Limits::max(), static_cast<T>(Limits::max() - 1)});
    if constexpr (sizeof(T) >= 4) values.push_back((T(1) << 30) + (T(1) << 22) + 1);
  } else if constexpr (is_complex_element<T>) {
    using Part = typename T::value_type;
    for (const auto& [re, im] : {std::pair(0., 0.), {1., 0.}, {-1., 0.}, {0., 1.}, {0.3, -0.7}, {-2., 1.5}, {2.5, 3.}})
      values.push_back(T(static_cast<Part>(re), static_cast<Part>(im)));
  } else {
    const Format f = format(d);
    const Real infinity = std::numeric_limits<Real>::infinity();
    for (Real v : {Real(0), Real(0.5), Real(1), Real(1.5), Real(2), Real(2.5), Real(3), Real(0.3), Real(0.001),
                   Real(10), Real(100), 1 + std::ldexp(Real(1), -11) + std::ldexp(Real(1), -30), Real(3e9), f.max,
                   infinity, std::ldexp(Real(1), f.min_exponent)})
      for (Real sign : {1, -1}) values.push_back(stored<T>(rounded(sign * v, d)));
    values.push_back(stored<T>(std::numeric_limits<Real>::quiet_NaN()));
  }
  return values;
}

template <class T>
Buffer buffer_of(const std::vector<T>& values, std::vector<std::int64_t> dims) {
  Buffer b = Buffer::allocate(*dtype_of<T>, dims);
  for (std::size_t i = 0; i < values.size(); ++i) b.as<T>()[i] = values[i];
  return b;
}
template <class T>
Buffer buffer_of(const std::vector<T>& values) {
  return buffer_of(values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace tenon::independent
