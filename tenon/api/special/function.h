// Special functions of real arrays: formulas, element by element, with derivatives of their own.
#pragma once

#include <array>
#include <initializer_list>
#include <limits>
#include <span>
#include <vector>

#include "tenon/api/jit.h"
#include "tenon/base/fork.h"
#include "tenon/ir/array.h"

namespace tenon::api_detail {

// A function that a formula gives. Its operands promote to real numbers of one dtype and broadcast; f16 and bf16 are
// computed in f32 and rounded at the end. In a trace the formula becomes part of it; outside of traces it is compiled,
// once a dtype for all sizes. For static storage.
class SpecialFunction {
 public:
  // Of arrays of one shape, all f32 or all f64.
  using Formula = Array (*)(std::span<const Array> x);

  constexpr SpecialFunction(const char* name, Formula value) : name_(name), value_(value) {}
  // With its derivative in each argument.
  template <class... Slopes>
  constexpr SpecialFunction(const char* name, Formula value, Formula slope, Slopes... slopes)
      : name_(name), value_(value), slopes_{slope, slopes...}, has_slopes_(true) {}

  Array operator()(std::initializer_list<Operand> operands) const;

 private:
  struct Compiled {
    const SpecialFunction* of;
    Array operator()(const Arrays& x) const { return of->traced(x); }
  };
  Array traced(std::span<const Array> x) const;
  Array alone(const Arrays& x) const;

  const char* name_;
  Formula value_;
  std::array<Formula, 3> slopes_{};
  bool has_slopes_ = false;
  mutable Lasting<Jitted<Compiled>> compiled_;
};

// Σ terms[k]·T_k(t) of Chebyshev's polynomials T_k, by Clenshaw's recurrence; terms that do not count in t's dtype are
// left out.
Array chebyshev(const Array& t, std::span<const double> terms);

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Whether whole numbers are odd: of vectors, where a remainder takes a call a lane.
Array is_odd(const Array& whole);

// Facts of f32 and f64.
double epsilon_of(DType dtype);       // the distance of 1 to the next number
double least_normal_of(DType dtype);  // the smallest positive number that is not subnormal
double largest_finite_of(DType dtype);

}  // namespace tenon::api_detail
