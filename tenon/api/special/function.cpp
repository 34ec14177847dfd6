#include "tenon/api/special/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenon/api/custom.h"
#include "tenon/api/tangents.h"
#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/float_bits.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::special {
namespace {

void require_real(std::string_view name, const Array& x) {
  if (is_complex(x.dtype()))
    throw DTypeError(fmt::format("{}: {} is complex.", name, x.type().text()), "It takes real numbers.");
}
Arrays reals_of(std::string_view name, std::span<const Operand> operands) {
  for (const Operand& x : operands) require_real(name, x);
  return Arrays(operands.begin(), operands.end());
}

}  // namespace

Array real_operand(std::string_view name, const Operand& x) {
  require_real(name, x);
  return to_inexact(x);
}
Met real_operands(std::string_view name, std::span<const Operand> operands) {
  return in_one_inexact_dtype(reals_of(name, operands));
}
Met real_operands_of_one_shape(std::string_view name, std::span<const Operand> operands) {
  return meet_inexact(name, reals_of(name, operands));
}

Arrays SpecialFunction::results(std::span<const Operand> operands) const {
  const SourceScope place(operands[0].where(), name_);
  const bool complex =
      complex_ && std::ranges::any_of(operands, [](const Operand& x) { return is_complex(x->dtype()); });
  Met with =
      complex ? meet(name_, Arrays(operands.begin(), operands.end())) : real_operands_of_one_shape(name_, operands);
  const DType dtype = with.operands[0].dtype();
  for (Array& x : with.operands) x = widened(x);
  Arrays made = complex ? (*complex_)(with.operands) : tracing() ? traced(with.operands) : alone(with.operands);
  for (Array& x : made) x = convert(x, dtype).with_weak(with.weak);
  return made;
}

Arrays SpecialFunction::traced(In x) const {
  if (!has_slopes_) return value_(x);
  const auto value = [&](In in) { return value_(in); };
  const auto rule = [&](In in) {
    const std::size_t n = in.size() / 2;
    const In primals = in.first(n), tangents = in.subspan(n);
    Arrays made = traced(primals);  // which have these slopes again
    const std::size_t results = made.size();
    made.resize(2 * results);
    for (std::size_t i = 0; i < n; ++i) {
      if (tangents[i].empty()) continue;
      const Arrays slopes = slopes_[i](primals);
      for (std::size_t k = 0; k < results; ++k) {
        Array& total = made[results + k];
        const Array part = slopes[k] * tangents[i];
        total = total.empty() ? part : total + part;
      }
    }
    return made;
  };
  return api_detail::custom_jvp_flat(FlatFunction(value), FlatFunction(rule), x);
}

// Of all elements in a row, so that arrays of any rank share code.
Arrays SpecialFunction::alone(const Arrays& x) const {
  // Of no place: many functions are compiled here, which is no loop.
  const Jitted<Compiled>& compiled =
      compiled_.get([this] { return jit(Compiled{this}, {.sizes = Sizes::symbolic}, Source()); });
  Arrays rows;
  for (const Array& each : x) rows.push_back(in_a_row(each));
  Arrays made = compiled(rows);
  for (Array& each : made) each = reshape(each, x[0].shape());
  return made;
}

namespace {
// The same sum in powers of t, unless terms of that cancel each other: it takes half the operations, which round less.
std::vector<double> in_powers(std::span<const double> terms) {
  std::vector<long double> before(terms.size()), last = before, powers = before;  // T_(k-1), T_k
  last[0] = 1;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    for (std::size_t i = 0; i <= k; ++i) powers[i] += terms[k] * last[i];
    std::vector<long double> next(terms.size());
    for (std::size_t i = 0; i + 1 < terms.size(); ++i) next[i + 1] = (k == 0 ? 1 : 2) * last[i];
    for (std::size_t i = 0; i < terms.size(); ++i) next[i] -= k == 0 ? 0 : before[i];
    before = std::exchange(last, next);
  }
  for (int i = -32; i <= 32; ++i) {
    const long double t = i / 32.0L;
    long double sum = 0, sizes = 0;
    for (std::size_t k = powers.size(); k-- > 0;)
      sum = sum * t + powers[k], sizes = sizes * std::abs(t) + std::abs(powers[k]);
    if (sizes > 8 * std::abs(sum)) return {};
  }
  return {powers.begin(), powers.end()};
}
}  // namespace

Array chebyshev(const Array& t, std::span<const double> terms) {
  const double least = epsilon_of(t.dtype()) / 64;
  std::size_t count = terms.size();
  while (count > 1 && std::abs(terms[count - 1]) < least) --count;
  if (const std::vector<double> powers = in_powers(terms.first(count)); !powers.empty()) return polynomial(t, powers);
  Array later = zeros_like(t), last = later;
  for (std::size_t k = count - 1; k > 0; --k) {
    const Array next = 2.0 * t * later - last + terms[k];
    last = later;
    later = next;
  }
  return t * later - last + terms[0];
}

Array polynomial(const Array& t, std::span<const double> terms) {
  Array made = zeros_like(t) + terms.back();
  for (std::size_t k = terms.size() - 1; k-- > 0;) made = made * t + terms[k];
  return made;
}

Array rest_of_atanh(const Array& s, int terms, int terms_of_f32) {
  std::vector<double> weights;
  for (int k = 0; k < (s.dtype() == DType::f64 ? terms : terms_of_f32); ++k) weights.push_back(1.0 / (2 * k + 3));
  return polynomial(s * s, weights);
}

// Near 0 log ratio = 2 atanh s, |s| ≤ 1/4.
Array log_less(const Array& ratio, const Array& away) {
  const Array near = abs(away) < 0.4, u = where(near, away, 0.0), s = u / (2.0 + u), square = s * s;
  return where(near, 2.0 * s * square * rest_of_atanh(s, 13, 6) - u * s, log(where(near, 1.0, ratio)) - away);
}

Array is_pole(const Array& x) { return (x <= 0.0) & (floor(x) == x); }
Array is_odd(const Array& whole) {
  const Array half = whole * 0.5;
  return half != floor(half);
}

Array high_half(const Array& x) {
  const bool is_long = x.dtype() == DType::f64;
  const DType dtype = is_long ? DType::i64 : DType::i32;
  const Scalar kept(-(std::int64_t(1) << (is_long ? 27 : 12)));  // its bits
  return bitcast(bitcast(stop_gradient(x), dtype) & Array(kept.convert(dtype)), x.dtype());
}

Array exp_of_square(double c, const Array& x) {
  const Array high = high_half(x);
  // At most 2⁻¹¹ (f32) or 2⁻²⁵ (f64) of 2c·x², which is less than 180 or 1,500.
  static constexpr double exponential[] = {1, 1, 1. / 2, 1. / 6, 1. / 24, 1. / 120};
  const std::span<const double> terms = std::span(exponential).first(x.dtype() == DType::f64 ? 5 : 6);
  return exp(c * high * high) * polynomial(c * (x - high) * (x + high), terms);
}

double epsilon_of(DType dtype) { return std::ldexp(1.0, format_of(real_part_of(dtype)).epsilon()); }
double least_normal_of(DType dtype) { return std::ldexp(1.0, format_of(real_part_of(dtype)).least_normal()); }

}  // namespace tenon::special
