// k-means: the sum over points of the squared distance to the nearest centroid. The derivative is Newton's direction,
// the gradient over the diagonal of the Hessian, which is all that the Hessian has.
#pragma once

#include <limits>

#include "bench/gradbench/data.h"

namespace gradbench::kmeans {

struct Inputs {
  int n, k, d;
  Values points, centroids;  // [n,d], [k,d]
  Inputs(int n, int k, int d)
      : n(n), k(k), d(d), points(values(1, static_cast<std::size_t>(n * d), 0, 1)), centroids(points) {
    centroids.resize(static_cast<std::size_t>(k * d));
    const Values moved = values(2, centroids.size(), 0, 0.01);
    for (std::size_t i = 0; i < centroids.size(); ++i) centroids[i] += moved[i];
  }
  std::string name() const {
    return "gradbench kmeans n" + std::to_string(n) + " k" + std::to_string(k) + " d" + std::to_string(d);
  }
};

inline Result by_hand(const Inputs& in, bool direction) {
  Result result{0, Values(direction ? in.centroids.size() : 0)};
  Values members(static_cast<std::size_t>(in.k));
  for (int i = 0; i < in.n; ++i) {
    const double* p = &in.points[i * in.d];
    double least = std::numeric_limits<double>::infinity();
    int nearest = 0;
    for (int c = 0; c < in.k; ++c) {
      double square = 0;
      for (int j = 0; j < in.d; ++j)
        square += (p[j] - in.centroids[c * in.d + j]) * (p[j] - in.centroids[c * in.d + j]);
      if (square < least) least = square, nearest = c;
    }
    result.value += least;
    if (!direction) continue;
    members[nearest] += 1;
    for (int j = 0; j < in.d; ++j) result.derivative[nearest * in.d + j] += in.centroids[nearest * in.d + j] - p[j];
  }
  for (std::size_t i = 0; i < result.derivative.size(); ++i)
    result.derivative[i] /= members[i / static_cast<std::size_t>(in.d)];
  return result;
}

}  // namespace gradbench::kmeans
