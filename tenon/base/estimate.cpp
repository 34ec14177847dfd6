#include "tenon/base/estimate.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/dim_fold.h"

namespace tenon {

double estimate(const Dim& size) {
  using Kind = Dim::Step::Kind;
  constexpr double assumed = 1 << 14;  // of a size parameter
  if (size.known()) return static_cast<double>(size.value());
  const double estimated = folded<double>(
      size, [](const Dim::Step& step) { return step.kind == Kind::number ? static_cast<double>(step.value) : assumed; },
      [](Kind kind, double x, double y) {
        switch (kind) {
          case Kind::add:
            return x + y;
          case Kind::mul:
            return x * y;
          case Kind::floor_div:
            return y == 0 ? 0 : std::floor(x / y);
          case Kind::modulo:
            return std::min(x, (y - 1) / 2);  // any rest is as likely as any other
          case Kind::min:
            return std::min(x, y);
          default:
            return std::max(x, y);
        }
      });
  return std::max(estimated, 0.);
}

}  // namespace tenon
