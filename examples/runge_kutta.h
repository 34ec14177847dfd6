// An ordinary differential equation solved by the pair of orders 5 and 4 of Dormand and Prince (1980), with steps that
// adapt themselves. The loop is a while_loop; its derivatives are those of the steps that were taken.
#pragma once

#include <array>

#include "tenon/tenon.h"

namespace examples {

struct Tolerance {
  double relative = 1e-6, absolute = 1e-9;
};
struct Solution {
  tenon::Array y, accepted, rejected;  // the state at the end; how many steps were taken, and tried in vain
};

// y' = f(t, y) from t0 to t1. y: a vector; t0, t1: numbers of its dtype. What f captures has derivatives too. The
// length of a step is chosen by the estimated error, and derivatives do not flow through that choice: they are those of
// the solution, and the estimate's own are noise.
template <class F>
Solution solve_ode(F f, const tenon::Array& y0, const tenon::Array& t0, const tenon::Array& t1,
                   Tolerance tolerance = {}) {
  using tenon::Array;
  static constexpr std::array<double, 7> c{0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
  static constexpr double a[7][6] = {{},
                                     {1. / 5},
                                     {3. / 40, 9. / 40},
                                     {44. / 45, -56. / 15, 32. / 9},
                                     {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                                     {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                                     {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
  static constexpr std::array<double, 7> between{71. / 57600,      0,          -71. / 16695, 71. / 1920,
                                                 -17253. / 339200, 22. / 525., -1. / 40};  // order 5 less order 4
  struct State {
    Array t, step, y, slope, accepted, rejected;
  };
  const auto sum = [](const auto& weights, const std::vector<Array>& slopes) {
    Array total = weights[0] * slopes[0];
    for (std::size_t i = 1; i < slopes.size(); ++i)
      if (weights[i] != 0) total = total + weights[i] * slopes[i];
    return total;
  };
  const auto advance = [&](const State& s) {
    const Array last = s.step >= t1 - s.t, h = tenon::where(last, t1 - s.t, s.step);
    std::vector<Array> slopes{s.slope};
    Array y;
    for (std::size_t stage = 1; stage < 7; ++stage) {
      y = s.y + h * sum(a[stage], slopes);
      slopes.push_back(f(s.t + c[stage] * h, y));
    }
    const Array scale = tolerance.absolute + tolerance.relative * tenon::max(tenon::abs(s.y), tenon::abs(y));
    const Array error = tenon::stop_gradient(h * sum(between, slopes) / scale);  // at most 1, in the mean, is accepted
    const Array squares = tenon::mean(error * error), good = squares <= 1;
    const Array factor = tenon::clamp(0.9 * tenon::pow(squares, -0.1), 0.2, 5.0);
    const auto if_good = [&](const Array& next, const Array& old) { return tenon::where(good, next, old); };
    return State{if_good(tenon::where(last, t1, s.t + h), s.t),
                 tenon::stop_gradient(h * factor),
                 if_good(y, s.y),
                 if_good(slopes.back(), s.slope),  // the last stage is the first of the next step
                 s.accepted + if_good(1, 0),
                 s.rejected + if_good(0, 1)};
  };
  const State start{t0, tenon::stop_gradient(0.01 * (t1 - t0)), y0, f(t0, y0), 0, 0};
  const State end = tenon::while_loop([&](const State& s) { return s.t < t1; }, advance, start);
  return {end.y, end.accepted, end.rejected};
}

// The equations of Lorenz (1963).
struct Lorenz {
  tenon::Array sigma, rho, beta;

  tenon::Array operator()(const tenon::Array&, const tenon::Array& v) const {
    const tenon::Array x = v(0), y = v(1), z = v(2);
    return tenon::stack({sigma * (y - x), x * (rho - z) - y, x * y - beta * z});
  }
};

}  // namespace examples
