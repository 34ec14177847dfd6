#include "bench/gradbench/ode.h"

#include "bench/gradbench/case.h"

namespace gradbench {

bool run_ode() {
  bool agrees = true;
  for (const auto& [n, steps] : {std::pair{20, 500}, std::pair{100, 5000}}) {
    const ode::Inputs in(n, steps);
    const auto end = [n, steps](const Array& x) {
      const double h = 2.0 / steps;
      const auto slope = [&](const Array& y) { return x * tn::pad(y(tn::slice(0, -1)), 1.0, {1}, {0}); };
      const auto step = [&](const Array&, const Array& y) {
        const Array k1 = slope(y), k2 = slope(y + (h / 2) * k1), k3 = slope(y + (h / 2) * k2), k4 = slope(y + h * k3);
        return y + (h / 6) * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
      };
      return tn::fori_loop(0, steps, step, tn::zeros({n}, tn::DType::f64))(-1);
    };
    agrees = measure(in.name(), end, tn::grad(end), ode::by_hand(in, true), array(in.x, {n})) && agrees;
  }
  return agrees;
}

}  // namespace gradbench
