// Where three circles of given radii nearly meet: a system of equations by Newton's method, whose steps are solved by
// conjugate gradients; and how the place depends on the radii.
#include "examples/solvers.h"

#include <iostream>

namespace tn = tenon;
using tn::Array;

int main() {
  // A mast over the ground, held by ropes of these lengths that are tied to these places.
  const Array places{{0.0, 0.0, 0.0}, {4.0, 0.0, 0.0}, {0.0, 3.0, 0.0}}, lengths{3.0, 4.0, 3.5};
  const auto top = [&](const Array& ropes) {
    const auto mismatch = [&](const Array& x) { return tn::sum(tn::square(x - places), 1) - tn::square(ropes); };
    return examples::newton(mismatch, Array{1.0, 1.0, 2.0});
  };

  std::cout << "the ropes meet at " << tn::jit(top)(lengths) << '\n'
            << "and the place changes with their lengths by " << tn::jit(tn::jacrev(top))(lengths) << '\n';
}
