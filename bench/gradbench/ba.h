// BA, bundle adjustment: residuals of observed points under cameras, which turn (Rodrigues), project and distort them.
// The derivative is the blocks of the sparse Jacobian: of each observation in its camera, its point and its weight.
#pragma once

#include "bench/gradbench/data.h"

namespace gradbench::ba {

struct Inputs {
  int n, m, p;
  Values cameras, points, weights, features;  // [n,11], [m,3], [p], [p,2]
  std::vector<int> camera, point;             // of each observation
  Inputs(int n, int m, int p)
      : n(n),
        m(m),
        p(p),
        cameras(values(1, static_cast<std::size_t>(11 * n), 0.1, 1)),
        points(values(2, static_cast<std::size_t>(3 * m), -1, 1)),
        weights(values(3, static_cast<std::size_t>(p), 0.5, 1)),
        features(values(4, static_cast<std::size_t>(2 * p), -1, 1)) {
    for (int i = 0; i < m; ++i) points[3 * i + 2] += 5;  // in front of the cameras
    for (const double c : values(5, static_cast<std::size_t>(p), 0, n)) camera.push_back(static_cast<int>(c));
    for (const double x : values(6, static_cast<std::size_t>(p), 0, m)) point.push_back(static_cast<int>(x));
  }
  std::string name() const { return "gradbench ba p" + std::to_string(p); }
};

struct Vector {
  double x, y, z;
};
inline Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vector operator*(double s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vector cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// A camera: rotation (3), place (3), focal length, principal point (2), distortion (2). Writes two residuals and, where
// it is wanted, the derivatives of both in the 11 of the camera, the 3 of the point, and the weight: [2,11], [2,3],
// [2].
inline void residual(const double* camera, const double* point, double weight, const double* feature, double* error,
                     double* d_camera, double* d_point, double* d_weight) {
  const Vector turn{camera[0], camera[1], camera[2]}, x{point[0], point[1], point[2]};
  const Vector at = x - Vector{camera[3], camera[4], camera[5]};
  const double angle = std::sqrt(dot(turn, turn)), cosine = std::cos(angle), sine = std::sin(angle);
  const Vector axis = (1 / angle) * turn, sideways = cross(axis, at);
  const double along = dot(axis, at), focal = camera[6];
  const Vector turned = cosine * at + sine * sideways + (along * (1 - cosine)) * axis;
  const double u = turned.x / turned.z, v = turned.y / turned.z, square = u * u + v * v;
  const double stretch = 1 + camera[9] * square + camera[10] * square * square;
  const double off[] = {focal * u * stretch + camera[7] - feature[0], focal * v * stretch + camera[8] - feature[1]};
  for (int i = 0; i < 2; ++i) error[i] = weight * off[i];
  if (d_camera == nullptr) return;
  // How both residuals move with the turned point.
  const double slope = camera[9] + 2 * camera[10] * square, scale = weight * focal;
  const auto put = [&](Vector d, double* to, int width) {
    const double du = (d.x - u * d.z) / turned.z, dv = (d.y - v * d.z) / turned.z;
    const double d_stretch = slope * 2 * (u * du + v * dv);
    to[0] = scale * (du * stretch + u * d_stretch);
    to[width] = scale * (dv * stretch + v * d_stretch);
  };
  const Vector units[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const double axes[] = {axis.x, axis.y, axis.z};
  for (int i = 0; i < 3; ++i) {
    const Vector d_axis = (1 / angle) * (units[i] - axes[i] * axis);
    put(axes[i] * ((-sine) * at + cosine * sideways + (along * sine) * axis) + sine * cross(d_axis, at) +
            (1 - cosine) * (dot(d_axis, at) * axis + along * d_axis),
        d_camera + i, 11);
    put(cosine * units[i] + sine * cross(axis, units[i]) + (axes[i] * (1 - cosine)) * axis, d_point + i, 3);
    for (int k = 0; k < 2; ++k) d_camera[11 * k + 3 + i] = -d_point[3 * k + i];
  }
  const double projected[] = {u, v};
  for (int k = 0; k < 2; ++k) {
    d_camera[11 * k + 6] = weight * projected[k] * stretch;
    d_camera[11 * k + 7] = k == 0 ? weight : 0;
    d_camera[11 * k + 8] = k == 1 ? weight : 0;
    d_camera[11 * k + 9] = scale * projected[k] * square;
    d_camera[11 * k + 10] = scale * projected[k] * square * square;
    d_weight[k] = off[k];
  }
}

// The derivative: d camera [p,2,11], d point [p,2,3], d weight [p,2], and of 1 - w², [p].
inline Result by_hand(const Inputs& in, bool jacobian) {
  const std::size_t p = static_cast<std::size_t>(in.p);
  Values errors(2 * p);
  Result result{0, Values(jacobian ? 31 * p : 0)};
  for (std::size_t i = 0; i < p; ++i) {
    double* at = result.derivative.data();
    const auto block = [&](std::size_t from, std::size_t size) {
      return jacobian ? at + from * p + i * size : nullptr;
    };
    residual(&in.cameras[11 * in.camera[i]], &in.points[3 * in.point[i]], in.weights[i], &in.features[2 * i],
             &errors[2 * i], block(0, 22), block(22, 6), block(28, 2));
    if (jacobian) *block(30, 1) = -2 * in.weights[i];
  }
  result.value = errors[0];
  return result;
}

}  // namespace gradbench::ba
