// Bounds of what expressions can be, by their form alone: mathematics leaves out what cannot happen.
#pragma once

#include <limits>
#include <unordered_map>

#include "tenon/kernel/expr.h"

namespace tenon::kernel {

// Of every value that is not NaN.
struct Range {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool negative_zero = true;  // -0 may occur

  bool within(double limit) const { return low >= -limit && high <= limit; }
  bool positive() const { return low > 0; }
  bool operator==(const Range&) const = default;
};

// Functions that are computed otherwise where their argument is known to be small.
inline bool depends_on_range(Unary op) { return op == Unary::sin || op == Unary::cos || op == Unary::tan; }

// Remembers nodes by identity: they outlive it. Where constants of floating dtypes are unknown, a range holds whatever
// they are.
class Ranges {
 public:
  explicit Ranges(bool constants_known = true) : constants_known_(constants_known) {}
  Range of(const Expr& e);

 private:
  Range compute(const Expr& e);
  bool constants_known_;
  std::unordered_map<const void*, std::pair<Expr, Range>> known_;  // by nodes, which are kept
};

}  // namespace tenon::kernel
