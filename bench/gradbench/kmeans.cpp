#include "bench/gradbench/kmeans.h"

#include "bench/gradbench/case.h"

namespace gradbench {
namespace {

Array cost(const Array& centroids, const Array& points) {
  return tn::sum(tn::amin(tn::sum(tn::square(points(tn::all, tn::newaxis) - centroids), -1), -1));
}

// The Hessian is diagonal: its product with ones is its diagonal.
Array newton_direction(const Array& centroids, const Array& points) {
  const auto gradient = [&](const Array& at) { return tn::grad(cost)(at, points); };
  const auto [slope, curvature] = tn::jvp(gradient, std::tuple(centroids), std::tuple(tn::ones_like(centroids)));
  return slope / curvature;
}

}  // namespace

bool run_kmeans() {
  bool agrees = true;
  for (const auto& [n, k, d] : {std::array{1000, 10, 16}, std::array{20000, 50, 32}}) {
    const kmeans::Inputs in(n, k, d);
    agrees = measure(in.name(), cost, newton_direction, kmeans::by_hand(in, true), array(in.centroids, {k, d}),
                     array(in.points, {n, d})) &&
             agrees;
  }
  return agrees;
}

}  // namespace gradbench
