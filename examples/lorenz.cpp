// How far the butterfly is carried: the state of the equations of Lorenz at a later time, with its derivatives in the
// parameters and in the start, through the adaptive steps of tn::odeint_end.
#include "examples/lorenz.h"

#include <iostream>

namespace tn = tenon;
using examples::Lorenz;
using tn::Array;

int main() {
  const Lorenz lorenz{10.0, 28.0, 8.0 / 3};
  const Array start{1.0, 1.0, 1.0};
  const auto end = [](const Lorenz& equations, const Array& from) {
    return tn::odeint_end(equations, from, 0.0, 2.0, {.rtol = 1e-6, .atol = 1e-9, .adjoint = false});
  };

  const auto solution = tn::jit(end)(lorenz, start);
  std::cout << "at t = 2: " << solution.y << ", " << solution.accepted.item<int>() << " steps, "
            << solution.rejected.item<int>() << " tried in vain\n";

  const auto height = [&](const Lorenz& equations, const Array& from) { return end(equations, from).y(2); };
  const auto [in_parameters, in_start] = tn::jit(tn::grad<0, 1>(height))(lorenz, start);
  std::cout << "its height changes with sigma by " << in_parameters.sigma.item<double>() << ", with rho by "
            << in_parameters.rho.item<double>() << ", with beta by " << in_parameters.beta.item<double>() << '\n'
            << "and with the start by " << in_start << '\n';
}
