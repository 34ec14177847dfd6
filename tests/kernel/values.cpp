#include "tests/kernel/values.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>

#include "tenon/base/error.h"
#include "tenon/ir/scalar.h"

namespace tenon::kernel {

void fail(const std::string& what) { throw RuntimeError("interpreter: " + what, {}, Source()); }

namespace {

template <class T>
constexpr bool is_complex_type = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// f of a value's number, as the value of a dtype; narrow floats are computed in f32 and rounded.
template <class F>
Value computed(DType result, const Value& x, F f) {
  return dispatch(x.dtype, [&]<class T>(std::type_identity<T>) -> Value {
    if constexpr (NarrowFloat<T>)
      return Value::of(result, T(static_cast<float>(f(static_cast<float>(x.as<T>())))));
    else
      return Value::of(result, static_cast<T>(f(x.as<T>())));
  });
}
template <class F>
Value computed(DType result, const Value& x, const Value& y, F f) {
  return dispatch(x.dtype, [&]<class T>(std::type_identity<T>) -> Value {
    if constexpr (NarrowFloat<T>)
      return Value::of(result, T(static_cast<float>(f(static_cast<float>(x.as<T>()), static_cast<float>(y.as<T>())))));
    else
      return Value::of(result, static_cast<T>(f(x.as<T>(), y.as<T>())));
  });
}
template <class F>
Value asked(const Value& x, const Value& y, F f) {
  return dispatch(x.dtype, [&]<class T>(std::type_identity<T>) -> Value {
    if constexpr (NarrowFloat<T>)
      return Value::of(DType::bool_, bool(f(static_cast<float>(x.as<T>()), static_cast<float>(y.as<T>()))));
    else if constexpr (is_complex_type<T>)
      fail("an order of complex numbers.");
    else
      return Value::of(DType::bool_, bool(f(x.as<T>(), y.as<T>())));
  });
}

// Integers wrap around: they are computed without signs.
template <class T>
auto raw(T x) {
  if constexpr (std::is_same_v<T, bool>)
    return x;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::uint64_t>(x);
  else
    return x;
}
template <class T>
T product(T x, T y) {
  if constexpr (is_complex_type<T>)
    return T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
  else
    return static_cast<T>(raw(x) * raw(y));
}
template <class T>
T quotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == T(0)) return static_cast<T>(-1);
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) return static_cast<T>(0 - raw(x));
    return static_cast<T>(x / y);
  } else {
    return x / y;
  }
}
template <class T>
T rest(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == T(0)) return x;
    if (std::is_signed_v<T> && y == static_cast<T>(-1)) return T(0);
    return static_cast<T>(x % y);
  } else if constexpr (is_complex_type<T>) {
    fail("a remainder of complex numbers.");
  } else {
    return std::fmod(x, y);
  }
}
template <class T>
T extremum(bool max, T x, T y) {
  if constexpr (is_complex_type<T>) {
    fail("an order of complex numbers.");
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
    if (x == y) return (std::signbit(x) == max) ? y : x;  // of zeros, by their signs
    return (x < y) == max ? y : x;
  } else {
    return (x < y) == max ? y : x;
  }
}
template <class T, class F>
T of_bits(T x, T y, F f) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(f(x, y));
  else
    fail("bits of what is no integer.");
}
template <class T>
T power(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return std::pow(x, y);
  else
    fail("a power of integers.");
}

template <class T>
T real_unary(Unary op, T x) {
  switch (op) {
    case Unary::abs:
      return std::abs(x);
    case Unary::sign:
      return std::isnan(x) ? x : x > 0 ? T(1) : x < 0 ? T(-1) : x;
    case Unary::floor:
      return std::floor(x);
    case Unary::ceil:
      return std::ceil(x);
    case Unary::round:
      return std::nearbyint(x);
    case Unary::sqrt:
      return std::sqrt(x);
    case Unary::exp:
      return std::exp(x);
    case Unary::log:
      return std::log(x);
    case Unary::sin:
      return std::sin(x);
    case Unary::cos:
      return std::cos(x);
    case Unary::tanh:
      return std::tanh(x);
    case Unary::atan:
      return std::atan(x);
    default:
      fail(fmt::format("the function {}.", name(op)));
  }
}

}  // namespace

Value binary_of(Binary op, const Value& x, const Value& y) {
  const DType d = x.dtype;
  const auto equal = [&] {
    return dispatch(d, [&]<class T>(std::type_identity<T>) {
      if constexpr (NarrowFloat<T>)
        return static_cast<float>(x.as<T>()) == static_cast<float>(y.as<T>());
      else
        return x.as<T>() == y.as<T>();
    });
  };
  switch (op) {
    case Binary::add:
      return computed(d, x, y, [](auto a, auto b) { return raw(a) + raw(b); });
    case Binary::sub:
      return computed(d, x, y, [](auto a, auto b) { return raw(a) - raw(b); });
    case Binary::mul:
      return computed(d, x, y, [](auto a, auto b) { return product(a, b); });
    case Binary::div:
      return computed(d, x, y, [](auto a, auto b) { return quotient(a, b); });
    case Binary::rem:
      return computed(d, x, y, [](auto a, auto b) { return rest(a, b); });
    case Binary::pow:
      return computed(d, x, y, [](auto a, auto b) { return power(a, b); });
    case Binary::atan2:
      return computed(d, x, y, [](auto a, auto b) {
        if constexpr (std::is_floating_point_v<decltype(a)>)
          return std::atan2(a, b);
        else
          return a;
      });
    case Binary::max:
      return computed(d, x, y, [](auto a, auto b) { return extremum(true, a, b); });
    case Binary::min:
      return computed(d, x, y, [](auto a, auto b) { return extremum(false, a, b); });
    case Binary::eq:
      return Value::of(DType::bool_, equal());
    case Binary::ne:
      return Value::of(DType::bool_, !equal());
    case Binary::lt:
      return asked(x, y, [](auto a, auto b) { return a < b; });
    case Binary::le:
      return asked(x, y, [](auto a, auto b) { return a <= b; });
    case Binary::gt:
      return asked(x, y, [](auto a, auto b) { return a > b; });
    case Binary::ge:
      return asked(x, y, [](auto a, auto b) { return a >= b; });
    case Binary::and_:
      return computed(d, x, y, [](auto a, auto b) { return of_bits(a, b, [](auto p, auto q) { return p & q; }); });
    case Binary::or_:
      return computed(d, x, y, [](auto a, auto b) { return of_bits(a, b, [](auto p, auto q) { return p | q; }); });
    case Binary::xor_:
      return computed(d, x, y, [](auto a, auto b) { return of_bits(a, b, [](auto p, auto q) { return p ^ q; }); });
    case Binary::shift_left:
      return computed(d, x, y, [](auto a, auto b) {
        return of_bits(a, b, [](auto p, auto q) { return raw(p) << (q & (8 * sizeof p - 1)); });
      });
    case Binary::shift_right:
      return computed(d, x, y, [](auto a, auto b) {
        return of_bits(a, b, [](auto p, auto q) { return p >> (q & (8 * sizeof p - 1)); });
      });
    case Binary::complex:
      if (d == DType::f32) return Value::of(DType::c64, std::complex<float>(x.as<float>(), y.as<float>()));
      return Value::of(DType::c128, std::complex<double>(x.as<double>(), y.as<double>()));
  }
  fail("an unknown operation.");
}

Value unary_of(Unary op, DType result, const Value& x) {
  if (op == Unary::neg)
    return computed(result, x, [](auto a) {
      if constexpr (std::is_integral_v<decltype(a)>)
        return 0 - raw(a);
      else
        return -a;
    });
  if (op == Unary::not_)
    return computed(result, x, [](auto a) {
      if constexpr (std::is_same_v<decltype(a), bool>)
        return !a;
      else if constexpr (std::is_integral_v<decltype(a)>)
        return static_cast<decltype(a)>(~a);
      else
        return a;
    });
  return dispatch(x.dtype, [&]<class T>(std::type_identity<T>) -> Value {
    if constexpr (is_complex_type<T>) {
      const T z = x.as<T>();
      if (op == Unary::real) return Value::of(result, z.real());
      if (op == Unary::imag) return Value::of(result, z.imag());
      fail("a function of complex numbers.");
    } else if constexpr (NarrowFloat<T>) {
      const auto wide = static_cast<float>(x.as<T>());
      if (op == Unary::is_finite) return Value::of(result, bool(std::isfinite(wide)));
      return Value::of(result, T(real_unary(op, wide)));
    } else if constexpr (std::is_floating_point_v<T>) {
      if (op == Unary::is_finite) return Value::of(result, bool(std::isfinite(x.as<T>())));
      return Value::of(result, real_unary(op, x.as<T>()));
    } else {
      const T i = x.as<T>();
      if (op == Unary::abs) return Value::of(result, i < T(0) ? static_cast<T>(0 - raw(i)) : i);
      if (op == Unary::sign) return Value::of(result, static_cast<T>(i > T(0) ? 1 : i < T(0) ? -1 : 0));
      return x;  // rounding leaves integers
    }
  });
}

Value converted(DType to, const Value& x) {
  Scalar s = Scalar::zero(x.dtype);
  s = dispatch(x.dtype, [&]<class T>(std::type_identity<T>) { return Scalar(x.as<T>()); });
  const Scalar result = s.convert(to);
  Value v{to};
  std::memcpy(v.bits.data(), result.data(), size_of(to));
  return v;
}

}  // namespace tenon::kernel
