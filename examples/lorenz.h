// The equations of Lorenz (1963).
#pragma once

#include "tenon/tenon.h"

namespace examples {

struct Lorenz {
  tenon::Array sigma, rho, beta;

  tenon::Array operator()(const tenon::Array& v, const tenon::Array&) const {
    const tenon::Array x = v(0), y = v(1), z = v(2);
    return tenon::stack({sigma * (y - x), x * (rho - z) - y, x * y - beta * z});
  }
};

}  // namespace examples
