#include "tenon/base/estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenon {

double estimate(const Dim& size) {
  constexpr double assumed = 1 << 14;  // of a size parameter
  if (size.known()) return static_cast<double>(size.value());
  std::vector<double> values;
  size.visit_steps([&](const Dim::Step& step) {
    using Kind = Dim::Step::Kind;
    if (step.kind == Kind::number) return values.push_back(static_cast<double>(step.value));
    if (step.kind == Kind::variable) return values.push_back(assumed);
    const double y = values.back();
    values.pop_back();
    double& x = values.back();
    switch (step.kind) {
      case Kind::add:
        x += y;
        break;
      case Kind::mul:
        x *= y;
        break;
      case Kind::floor_div:
        x = y == 0 ? 0 : std::floor(x / y);
        break;
      case Kind::modulo:
        x = std::min(x, (y - 1) / 2);  // any rest is as likely as any other
        break;
      case Kind::min:
        x = std::min(x, y);
        break;
      default:
        x = std::max(x, y);
    }
  });
  return std::max(values.back(), 0.);
}

}  // namespace tenon
