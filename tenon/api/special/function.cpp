#include "tenon/api/special/function.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tenon/api/custom.h"
#include "tenon/base/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/shape.h"

namespace tenon::api_detail {
namespace {

Met met(std::string_view name, std::initializer_list<Operand> operands) {
  Arrays real;
  for (const Operand& x : operands) {
    real.push_back(to_inexact(x));
    if (is_complex(real.back().dtype()))
      throw DTypeError(fmt::format("{}: {} is complex.", name, real.back().type().text()), "It takes real numbers.");
  }
  return meet(name, real);
}

}  // namespace

Array SpecialFunction::operator()(std::initializer_list<Operand> operands) const {
  const SourceScope place(operands.begin()->where(), name_);
  Met with = met(name_, operands);
  const DType dtype = with.operands[0].dtype();
  const bool is_half = size_of(dtype) < sizeof(float);
  for (Array& x : with.operands) x = (is_half ? convert(x, DType::f32) : x).with_weak(false);
  const Array made = tracing() ? traced(with.operands) : alone(with.operands);
  return (is_half ? convert(made, dtype) : made).with_weak(with.weak);
}

Array SpecialFunction::traced(std::span<const Array> x) const {
  if (!has_slopes_) return value_(x);
  const Source where = SourceScope::current();
  const auto value = [&](std::span<const Array> in) {
    const SourceScope place(where, name_);
    return Arrays{value_(in)};
  };
  const auto rule = [&](std::span<const Array> in) {
    const SourceScope place(where, name_);
    const std::size_t n = in.size() / 2;
    const std::span<const Array> primals = in.first(n), tangents = in.subspan(n);
    MaybeArray total;
    for (std::size_t i = 0; i < n; ++i) {
      if (tangents[i].empty()) continue;
      const Array part = slopes_[i](primals) * tangents[i];
      total = total ? *total + part : part;
    }
    return Arrays{traced(primals), total ? *total : Array()};  // which has these slopes again
  };
  return custom_jvp_flat(FlatFunction(value), FlatFunction(rule), x)[0];
}

// Of all elements in a row, so that arrays of any rank share code.
Array SpecialFunction::alone(const Arrays& x) const {
  const Jitted<Compiled>& compiled = compiled_.get([this] { return jit(Compiled{this}, {.sizes = Sizes::symbolic}); });
  Arrays rows;
  for (const Array& each : x) rows.push_back(reshape(each, {x[0].shape().elements()}));
  return reshape(compiled(rows), x[0].shape());
}

Array chebyshev(const Array& t, std::span<const double> terms) {
  const double least = epsilon_of(t.dtype()) / 64;
  std::size_t count = terms.size();
  while (count > 1 && std::abs(terms[count - 1]) < least) --count;
  Array later = zeros_like(t), last = later;
  for (std::size_t k = count - 1; k > 0; --k) {
    const Array next = 2.0 * t * later - last + terms[k];
    last = later;
    later = next;
  }
  return t * later - last + terms[0];
}

Array is_odd(const Array& whole) {
  const Array half = whole * 0.5;
  return half != floor(half);
}

namespace {

// f(T()) of the C++ type of f32 or f64.
template <class F>
double of_real(DType dtype, F f) {
  return dtype == DType::f64 ? f(double()) : static_cast<double>(f(float()));
}

}  // namespace

double epsilon_of(DType dtype) {
  return of_real(dtype, [](auto x) { return std::numeric_limits<decltype(x)>::epsilon(); });
}
double least_normal_of(DType dtype) {
  return of_real(dtype, [](auto x) { return std::numeric_limits<decltype(x)>::min(); });
}
double largest_finite_of(DType dtype) {
  return of_real(dtype, [](auto x) { return std::numeric_limits<decltype(x)>::max(); });
}

}  // namespace tenon::api_detail
