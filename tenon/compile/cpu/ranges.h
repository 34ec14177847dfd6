// Bounds of what expressions can be, by their form alone: mathematics leaves out what cannot happen.
#pragma once

#include <limits>
#include <unordered_map>

#include "tenon/kernel/expr.h"

namespace tenon::cpu {

// Of every value that is not NaN.
struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool negative_zero = true;  // -0 may occur

  bool within(double limit) const { return low >= -limit && high <= limit; }
  bool positive() const { return low > 0; }
};

// Remembers nodes by identity: they outlive it.
class Ranges {
 public:
  Range of(const kernel::Expr& e);

 private:
  Range compute(const kernel::Expr& e);
  std::unordered_map<const void*, Range> known_;
};

}  // namespace tenon::cpu
