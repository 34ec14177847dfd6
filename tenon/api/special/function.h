// Special functions of real arrays: formulas, element by element, with derivatives of their own; and what formulas have
// in common.
//
// The rooms of this folder are in namespace special, as the functions are that they define.
#pragma once

#include <array>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenon/api/jit.h"
#include "tenon/base/fork.h"
#include "tenon/ir/array.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/promotion.h"

namespace tenon::special {

using In = std::span<const Array>;

// Of arrays of one shape, all f32 or all f64: the result, or several.
class Formula {
 public:
  constexpr Formula() = default;
  template <class F>
    requires std::is_invocable_v<F, In>
  constexpr Formula(F f) {
    if constexpr (std::is_same_v<std::invoke_result_t<F, In>, Array>)
      one_ = f;
    else
      several_ = f;
  }
  Arrays operator()(In x) const { return one_ != nullptr ? Arrays{one_(x)} : several_(x); }

 private:
  Array (*one_)(In x) = nullptr;
  Arrays (*several_)(In x) = nullptr;
};

// What a function of real arrays is of complex ones, of one shape and dtype; its derivatives are those of its ops.
struct OfComplex {
  Formula value;
};

// A function that a formula gives. Its operands promote to real numbers of one dtype, or to complex ones where it has a
// formula of these, and broadcast; f8, f16 and bf16 are computed in f32 and rounded at the end. In a trace the formula
// becomes part of it; outside of traces it is compiled, once a dtype for all sizes. For static storage.
class SpecialFunction {
 public:
  constexpr SpecialFunction(const char* name, Formula value) : name_(name), value_(value) {}
  // With its derivative in each argument: of each result.
  template <class... Slopes>
  constexpr SpecialFunction(const char* name, Formula value, Formula slope, Slopes... slopes)
      : name_(name), value_(value), slopes_{slope, slopes...}, has_slopes_(true) {}
  template <class... Slopes>
  constexpr SpecialFunction(const char* name, Formula value, OfComplex complex, Formula slope, Slopes... slopes)
      : name_(name), value_(value), complex_(complex.value), slopes_{slope, slopes...}, has_slopes_(true) {}

  Array operator()(std::initializer_list<Operand> operands) const { return results(operands)[0]; }
  Arrays results(std::span<const Operand> operands) const;
  Arrays results(std::initializer_list<Operand> operands) const {
    return results(std::span(operands.begin(), operands.size()));
  }

 private:
  struct Compiled {
    const SpecialFunction* of;
    Arrays operator()(const Arrays& x) const { return of->traced(x); }
  };
  Arrays traced(In x) const;
  Arrays alone(const Arrays& x) const;

  const char* name_;
  Formula value_;
  std::optional<Formula> complex_;
  std::array<Formula, 4> slopes_{};
  bool has_slopes_ = false;
  mutable Lasting<Jitted<Compiled>> compiled_;
};

// A real array of an operand: integers become real. Throws DTypeError, naming the function, of complex numbers.
Array real_operand(std::string_view name, const Operand& x);
// The same of several, in the dtype in which they meet; and in one shape.
Met real_operands(std::string_view name, std::span<const Operand> operands);
Met real_operands_of_one_shape(std::string_view name, std::span<const Operand> operands);

// Σ terms[k]·T_k(t) of Chebyshev's polynomials T_k, by Clenshaw's recurrence; terms that do not count in t's dtype are
// left out.
Array chebyshev(const Array& t, std::span<const double> terms);
// Σ terms[k]·tᵏ, by Horner's rule.
Array polynomial(const Array& t, std::span<const double> terms);

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double pi = std::numbers::pi;

// (atanh s - s) / s³ by its first terms: so many in f64, fewer in f32.
Array rest_of_atanh(const Array& s, int terms, int terms_of_f32);
// log(ratio) - away of ratio = 1 + away, without cancellation near 0.
Array log_less(const Array& ratio, const Array& away);

// Whether the gamma function has a pole: at 0 and at negative integers.
Array is_pole(const Array& x);
// Whether whole numbers are odd, without a quotient.
Array is_odd(const Array& whole);
// The first half of the digits of x, of which the square is exact, as is what it leaves of x; a constant to
// derivatives.
Array high_half(const Array& x);
// exp(c·x²) of |x| up to where it overflows, exact to rounding.
Array exp_of_square(double c, const Array& x);

// Facts of real dtypes, and of the parts of complex ones.
double epsilon_of(DType dtype);       // the distance of 1 to the next number
double least_normal_of(DType dtype);  // the smallest positive number that is not subnormal

}  // namespace tenon::special
