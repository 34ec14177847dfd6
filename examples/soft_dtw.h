// Soft dynamic time warping of Cuturi and Blondel (2017): what it costs to align two series, with a smooth minimum, so
// that it has derivatives. A scan over one series with a scan over the other in it.
#pragma once

#include <limits>

#include "tenon/tenon.h"

namespace examples {

// a: [n, features], b: [m, features]; as gamma goes to 0, the cost of the best alignment by squared distances.
inline tenon::Array soft_dtw(const tenon::Array& a, const tenon::Array& b, const tenon::Array& gamma) {
  using tenon::Array;
  struct Cell {
    Array distance, above, diagonal;
  };
  const auto least = [&](const Array& x, const Array& y, const Array& z) {
    const Array low = tenon::stop_gradient(tenon::min(tenon::min(x, y), z));
    const auto weight = [&](const Array& v) { return tenon::exp((low - v) / gamma); };
    return low - gamma * tenon::log(weight(x) + weight(y) + weight(z));
  };
  const Array border = tenon::zeros_like(gamma) + std::numeric_limits<float>::infinity();
  const auto row = [&](const Array& before, const Array& x) {  // before: a row of m + 1 costs
    const auto column = [&](const Array& left, const Cell& c) {
      const Array cost = c.distance + least(left, c.above, c.diagonal);
      return std::pair(cost, cost);
    };
    const Cell cells{tenon::sum(tenon::square(x - b), -1), before(tenon::slice(1, tenon::none)),
                     before(tenon::slice(-1))};
    const Array costs = tenon::scan(column, border, cells).second;
    return std::pair(tenon::concatenate({border(tenon::newaxis), costs}, 0), std::tuple<>());
  };
  const Array outside = tenon::where(tenon::arange(b.dim(0) + 1) == 0, tenon::zeros_like(gamma), border);
  return tenon::scan(row, outside, a).first(-1);
}

}  // namespace examples
