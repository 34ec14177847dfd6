// What examples in comments of public headers name and do not define, for each header.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

namespace tn = tenon;
using tenon::Array;

namespace names_of::api_attention {
inline const Array q = tn::ones({1, 4, 2, 8}), k = q, v = q;
}

namespace names_of::api_convolution {
inline const Array images = tn::ones({1, 3, 8, 8}), weights = tn::ones({4, 3, 3, 3}), x = tn::ones({1, 2, 8}),
                   w = tn::ones({4, 6, 8});
}

namespace names_of::api_debug {
inline const Array i = 3, loss = 0.5;
}

namespace names_of::api_hoisting {
inline const Array c = 0.f, xs{1.f, 2.f, 3.f};
inline std::pair<Array, Array> step(const Array& c, const Array& x) { return {c + x, c * x}; }
}  // namespace names_of::api_hoisting

namespace names_of::api_implicit {
inline const Array a{{2.0, 1.0}, {1.0, 3.0}}, b{1.0, 2.0};
inline constexpr auto conjugate_gradients = [](auto matvec, const Array& b) { return tn::linalg::cg(matvec, b); };
}  // namespace names_of::api_implicit

namespace names_of::api_files {
struct Params {
  Array w, b;
};
inline const Params params{Array{1.f, 2.f}, 3.f};
inline const std::string file = testing::TempDir() + "tenon_headers.npz";
}  // namespace names_of::api_files

namespace names_of::api_tables {
inline const std::string file = testing::TempDir() + "tenon_headers.csv";
}  // namespace names_of::api_tables

namespace names_of::api_jit {
struct Params {
  Array w;
};
inline Params params{Array{1.f, 2.f}};
inline const Array x{1.f, 1.f}, example = x, batch = x, other_batch = x;
inline const auto jacobian = tn::jit(tn::jacfwd([](Array x) { return x * x; }));
}  // namespace names_of::api_jit

namespace names_of::api_linear_solvers {
inline const Array a{{2.0, 1.0}, {1.0, 3.0}}, b{1.0, 2.0};
}

namespace names_of::api_list {
struct State {
  Array height;
};
inline const State start{2.f};
inline State step(const State& s) { return {s.height - 1.f}; }
}  // namespace names_of::api_list

namespace names_of::api_optim {
struct Params {
  Array w;
};
inline Params params{Array{1.f, 2.f}}, step = params;
inline const Params gradients = params;
}  // namespace names_of::api_optim

namespace names_of::api_raveling {
struct Params {
  Array w, b;
};
inline const Params params{Array{1.f, 2.f}, 3.f};
inline Array loss(const Params& p) { return tn::sum(p.w) * p.b; }
}  // namespace names_of::api_raveling

namespace names_of::api_rewrites {
inline Array f(const Array& x) { return tn::exp(x) * tn::exp(x); }
}  // namespace names_of::api_rewrites

namespace names_of::api_spatial {
inline const Array times{0.0, 1.0};
inline const auto rotations = tn::spatial::Rotation::from_rotvec(Array{{0.0, 0.0, 0.0}, {0.0, 0.0, 1.0}});
}  // namespace names_of::api_spatial

namespace names_of::api_custom {
inline const Array x{1.f, 2.f};
inline const std::pair result(x, std::pair(x, x));
inline const tn::BatchedTree batched{true, false};
}  // namespace names_of::api_custom

namespace names_of::api_grad {
struct Params {
  Array w, b;
};
inline const Params params{2.f, 1.f};
inline const Array w{1.f, 2.f}, b = 1.f, x{3.f, 4.f}, ids{0, 2};
inline Array table = tn::ones({4, 2});
struct Loss {
  Array operator()(const Array& table, const Array& w, const Array& ids) const { return tn::sum(table(ids) * w); }
  Array operator()(const Params& p, const Array& x) const { return tn::sum(p.w * x + p.b); }
};
inline constexpr Loss loss;
}  // namespace names_of::api_grad

namespace names_of::api_jacobian {
struct Joint {
  Array angle, length;
};
struct Arm {
  std::array<Joint, 3> joints;
};
struct State {
  Array height, reach;
};
inline const Arm arm{{Joint{0.1, 1.0}, {0.2, 1.0}, {0.3, 1.0}}};
inline State simulate(const Arm& arm) { return {tn::sin(arm.joints[2].angle), tn::cos(arm.joints[2].angle)}; }
inline Array tip(const Arm& arm) {
  return tn::stack({arm.joints[0].angle, arm.joints[1].length, tn::sin(arm.joints[2].angle)});
}
inline const Array x = 2.0, y = 3.0;
inline Array f(const Array& x, const Array& y) { return x * y; }
}  // namespace names_of::api_jacobian

namespace names_of::api_residuals {
inline const Array params{1.0, 2.0}, xs{1.0, 2.0}, ys{0.0, 1.0};
inline Array loss(const Array& params, const Array& xs, const Array& ys) {
  return tn::sum(tn::square(tn::tanh(params * xs) - ys));
}
}  // namespace names_of::api_residuals

namespace names_of::api_tangents {
inline const Array x{1.f, 2.f}, dx{1.f, 0.f}, w = 3.f, y = 1.f;
struct Function {
  Array operator()(const Array& x) const { return tn::sin(x); }
  Array operator()(const Array& x, const Array& w) const { return x * w; }
};
inline constexpr Function f;
struct Params {
  Array w;
};
inline const Params params{2.f}, direction{1.f};
inline Array loss(const Params& p, const Array& x, const Array& y) { return tn::sum(tn::square(p.w * x - y)); }
}  // namespace names_of::api_tangents

namespace names_of::api_vmap {
inline Array loss(const Array& params, const Array& x, const Array& y) { return tn::sum(tn::square(params * x - y)); }
struct State {
  Array place, time;
};
inline State step(const State& s) { return {s.place + s.time, s.time}; }
}  // namespace names_of::api_vmap

namespace names_of::api_windows {
inline const Array images = tn::ones({1, 8, 8, 3}), x{1.f, 2.f, 3.f};
}

namespace names_of::ops_control_host {
struct Table {
  std::vector<std::int64_t> rows(const Array& id) const { return {id.item<std::int64_t>()}; }
  static Array read(const Array& id) { return tn::ones({id.item<std::int64_t>(), 3}, tn::DType::f64); }
};
inline const Table table;
inline Array by_another_library(const Array& x) { return x; }
}  // namespace names_of::ops_control_host
