#include "bench/gradbench/ba.h"

#include "bench/gradbench/case.h"

namespace gradbench {
namespace {

// What one observation depends on.
struct Seen {
  Array camera, point, weight;  // f64[11], f64[3], f64[]
};

Array residual_of(const Seen& s, const Array& feature) {
  const auto camera = [&](int from, int to) { return s.camera(tn::slice(from, to)); };
  const Array turn = camera(0, 3), at = s.point - camera(3, 6);
  const Array angle = tn::sqrt(tn::sum(tn::square(turn))), cosine = tn::cos(angle), axis = turn / angle;
  const Array turned =
      at * cosine + tn::cross(axis, at) * tn::sin(angle) + axis * (tn::sum(axis * at) * (1.0 - cosine));
  const Array projected = turned(tn::slice(0, 2)) / turned(2), square = tn::sum(tn::square(projected));
  const Array stretch = 1.0 + s.camera(9) * square + s.camera(10) * square * square;
  return s.weight * (projected * stretch * s.camera(6) + camera(7, 9) - feature);
}

}  // namespace

// The Jacobian's blocks, as one writes them who knows that an observation has one camera and one point.
bool run_ba() {
  bool agrees = true;
  for (const auto& [m, p] : {std::pair{1131, 3645}, std::pair{11315, 36455}}) {
    const ba::Inputs in(21, m, p);
    const Array camera = tn::from(in.camera), point = tn::from(in.point);
    const auto seen = [=](const Seen& all) { return Seen{all.camera(camera), all.point(point), all.weight}; };
    const auto residuals = [=](const Seen& all, const Array& features) {
      return std::pair(tn::vmap(residual_of)(seen(all), features), 1.0 - tn::square(all.weight));
    };
    const auto blocks = [=](const Seen& all, const Array& features) {
      return std::pair(tn::vmap(tn::jacrev(residual_of))(seen(all), features), -2.0 * all.weight);
    };
    const Seen all{array(in.cameras, {in.n, 11}), array(in.points, {m, 3}), array(in.weights, {p})};
    agrees = measure(in.name(), residuals, blocks, ba::by_hand(in, true), all, array(in.features, {p, 2})) && agrees;
  }
  return agrees;
}

}  // namespace gradbench
