#include "tenon/kernel/analysis/ranges.h"

#include <algorithm>
#include <cmath>

namespace tenon::kernel {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// What rounding may add in f32 or f64: outward by more than the last place of f32, and to 0 below its normal numbers.
Range outward(double low, double high, bool negative_zero = true) {
  if (std::isnan(low) || std::isnan(high) || low > high) return {};
  if (low > 0 && low < 1e-37) low = 0;
  if (high < 0 && high > -1e-37) high = 0;
  return {low - std::fabs(low) * 0x1p-20, high + std::fabs(high) * 0x1p-20, negative_zero && low <= 0};
}

Range constant(const Expr& e) {
  if (e.dtype() == DType::i64) {
    const auto number = static_cast<double>(constant_value(e));
    return {number, number, false};
  }
  const double v = real_constant(e.node()).value_or(std::numeric_limits<double>::quiet_NaN());
  if (std::isnan(v)) return {};
  return {v, v, v == 0 && std::signbit(v)};
}

// Of a function that never falls.
Range rising(double (*f)(double), Range x, bool negative_zero) { return outward(f(x.low), f(x.high), negative_zero); }

Range unary(Unary op, Range x) {
  switch (op) {
    case Unary::rounded:
      return x;
    case Unary::neg:
      return {-x.high, -x.low, x.low <= 0 && x.high >= 0};
    case Unary::abs:
      return {std::max({0.0, x.low, -x.high}), std::max(std::fabs(x.low), std::fabs(x.high)), false};
    case Unary::sign:
    case Unary::sin:
    case Unary::tanh:
    case Unary::erf:
    case Unary::cos:
      return outward(-1, 1);
    case Unary::logistic:
      return outward(0, 1, false);
    case Unary::erfc:
      return outward(0, 2, false);
    case Unary::asin:
    case Unary::atan:
      return outward(-1.571, 1.571);
    case Unary::acos:
      return outward(0, 3.142, false);
    case Unary::floor:
    case Unary::ceil:
    case Unary::round:
      return {x.low - 1, x.high + 1, true};
    case Unary::exp: {
      Range r = rising(std::exp, x, false);
      return {std::max(r.low, 0.0), r.high, false};
    }
    case Unary::expm1:
      return rising(std::expm1, x, true);
    case Unary::log:
      return rising(std::log, {std::max(x.low, 0.0), std::max(x.high, 0.0)}, false);
    case Unary::log1p:
      return rising(std::log1p, {std::max(x.low, -1.0), std::max(x.high, -1.0)}, true);
    case Unary::sqrt:
      return rising(std::sqrt, {std::max(x.low, 0.0), std::max(x.high, 0.0)}, true);
    case Unary::rsqrt:
      return x.negative_zero ? Range{} : Range{0, infinity, false};
    case Unary::cosh:
      return {0, infinity, false};
    default:
      return {};
  }
}

Range binary(Binary op, const Expr& e, Range x, Range y) {
  switch (op) {
    case Binary::add:
      return outward(x.low + y.low, x.high + y.high, x.negative_zero && y.negative_zero);
    case Binary::sub:
      return outward(x.low - y.high, x.high - y.low, x.negative_zero);
    case Binary::mul: {
      if (e.operand(0).identity() == e.operand(1).identity()) {
        const Range a = unary(Unary::abs, x);
        return outward(a.low * a.low, a.high * a.high, false);
      }
      const auto [low, high] = std::minmax({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
      if (std::isnan(x.low * y.low) || std::isnan(x.low * y.high) || std::isnan(x.high * y.low) ||
          std::isnan(x.high * y.high))
        return {};
      return outward(low, high);
    }
    case Binary::div:
      if (y.positive() && x.low > -infinity && x.high < infinity)
        return outward(x.low / (x.low < 0 ? y.low : y.high), x.high / (x.high < 0 ? y.high : y.low));
      return {};
    case Binary::max:
      return {std::max(x.low, y.low), std::max(x.high, y.high), true};
    case Binary::min:
      return {std::min(x.low, y.low), std::min(x.high, y.high), true};
    default:
      return {};
  }
}

}  // namespace

Range Ranges::of(const Expr& e) {
  if (const auto found = known_.find(e.identity()); found != known_.end()) return found->second.second;
  const Range range = compute(e);
  known_.emplace(e.identity(), std::pair(e, range));
  return range;
}

// Integers wrap around: only constants and conversions of small ones are bounded.
Range Ranges::compute(const Expr& e) {
  if (e.dtype() != DType::f32 && e.dtype() != DType::f64 && e.kind() != Expr::Kind::constant) return {};
  switch (e.kind()) {
    case Expr::Kind::constant:
      return constants_known_ || !is_inexact(e.dtype()) ? constant(e) : Range();
    case Expr::Kind::unary:
      return unary(e.node().unary, of(e.operand(0)));
    case Expr::Kind::binary:
      return binary(e.node().binary, e, of(e.operand(0)), of(e.operand(1)));
    case Expr::Kind::select: {
      const Range x = of(e.operand(1)), y = of(e.operand(2));
      return {std::min(x.low, y.low), std::max(x.high, y.high), x.negative_zero || y.negative_zero};
    }
    case Expr::Kind::convert: {
      const DType from = e.operand(0).dtype();
      if (from == DType::bool_) return {0, 1, false};
      if (!is_real(from)) return {};
      const Range x = of(e.operand(0));
      return outward(x.low, x.high, x.negative_zero || x.low < 0);
    }
    default:
      return {};
  }
}

}  // namespace tenon::kernel
