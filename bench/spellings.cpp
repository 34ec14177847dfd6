// Programs that are spelled in two ways, of which one was slow: k-means' value, gradient and Hessian's diagonal at
// once, and one after the other; a mixture of Gaussians by vmap of a sum, and by einsum; the compressed Jacobian of
// bundle adjustment by seeds of the user's own, and by vmap of jacrev. Each with what its first call takes.
#include <cmath>

#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

// The same numbers for all.
class Draw {
 public:
  Array operator()(double low, double high, const std::vector<std::int64_t>& shape) {
    std::int64_t size = 1;
    for (const std::int64_t n : shape) size *= n;
    std::vector<double> values(static_cast<std::size_t>(size));
    for (double& v : values) v = low + (high - low) * next();
    return tn::array<double>(values, shape);
  }
  Array below(std::int64_t limit, std::int64_t size) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(size));
    for (std::int32_t& v : values) v = static_cast<std::int32_t>(next() * static_cast<double>(limit));
    return tn::array<std::int32_t>(values, {size});
  }

 private:
  double next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 11) / 9007199254740992.0;
  }
  std::uint64_t state_ = 12345;
};

// What compiling and a call take; all spellings of a case give the same numbers.
template <class F, class... Args>
double measure(const std::string& name, const std::string& spelling, F f, const Args&... args) {
  const double start = bench::now();
  const auto compiled = tn::jit(f).prepare(args...);
  const double compile = bench::now() - start;
  auto result = compiled(args...);
  const double time = bench::median_seconds(compiled, args...);
  bench::emit(name, spelling, time * 1e3, "ms");
  bench::emit(name, spelling + ", compile", compile * 1e3, "ms");
  double sum = 0;
  for (const Array& a : tn::tree::leaves(result)) {
    const Array waves = tn::cos(tn::arange(a.shape().elements(), tn::DType::f64));
    sum += tn::sum(tn::reshape(a, {-1}) * waves).item<double>();
  }
  bench::emit(name, "checksum", sum, "");
  return time;
}

void k_means() {
  Draw draw;
  const Array points = draw(0, 1, {50000, 32}), centres = points(tn::slice(0, 50)) + draw(0, 0.01, {50, 32});
  const auto cost = [](const Array& c, const Array& p) {
    return tn::sum(tn::amin(tn::sum(tn::square(p(tn::all, tn::newaxis) - c), -1), -1));
  };
  const auto gradient = [=](const Array& c, const Array& p) { return tn::grad(cost)(c, p); };
  const auto diagonal = [=](const Array& c, const Array& p) {
    return tn::jvp([&](const Array& c) { return gradient(c, p); }, std::tuple(c), std::tuple(tn::ones_like(c))).second;
  };
  const auto together = [=](const Array& c, const Array& p) {
    const auto [slopes, curvatures] = tn::jvp([&](const Array& c) { return tn::value_and_grad(cost)(c, p); },
                                              std::tuple(c), std::tuple(tn::ones_like(c)));
    return std::tuple(slopes.first, slopes.second, curvatures.second);
  };
  const auto by_hand = [=](const Array& c, const Array& p) {
    const Array distances = tn::sum(tn::square(p(tn::all, tn::newaxis) - c), -1), nearest = tn::argmin(distances, -1);
    const Array counts = tn::zeros({50}, tn::DType::f64).at(nearest).add(tn::ones_like(p(tn::all, 0)));
    const Array sums = tn::zeros_like(c).at(nearest).add(p);
    const Array many = tn::expand_dims(counts, 1);
    return std::tuple(tn::sum(tn::amin(distances, -1)), 2.0 * (many * c - sums), 2.0 * many * tn::ones_like(c));
  };
  const std::string name = "k-means, 50,000 x 50 x 32, f64";
  const auto apart = std::tuple(tn::jit(cost), tn::jit(gradient), tn::jit(diagonal));
  measure(name, "together", together, centres, points);
  measure(name, "gradient", gradient, centres, points);
  measure(name, "diagonal", diagonal, centres, points);
  measure(name, "by argmin", by_hand, centres, points);
  bench::emit(name, "one after the other", bench::median_seconds([&] {
                                             return std::tuple(std::get<0>(apart)(centres, points),
                                                               std::get<1>(apart)(centres, points),
                                                               std::get<2>(apart)(centres, points));
                                           }) * 1e3,
              "ms");
}

void mixture() {
  Draw draw;
  const Array l = draw(-1, 1, {50, 20, 20}), mu = draw(-1, 1, {50, 20}), x = draw(-1, 1, {10000, 20});
  const auto by_sum = [](const Array& l, const Array& mu, const Array& x) {
    const auto one = [&](Array xi) { return tn::sum(tn::square(tn::sum(l * (xi - mu)(tn::all, tn::newaxis), -1))); };
    return tn::sum(tn::vmap(one)(x));
  };
  const auto by_einsum = [](const Array& l, const Array& mu, const Array& x) {
    return tn::sum(tn::square(tn::einsum("kij,nkj->nki", l, x(tn::all, tn::newaxis) - mu)));
  };
  const auto by_vmap_of_einsum = [](const Array& l, const Array& mu, const Array& x) {
    const auto one = [&](Array xi) { return tn::sum(tn::square(tn::einsum("kij,kj->ki", l, xi - mu))); };
    return tn::sum(tn::vmap(one)(x));
  };
  const std::string name = "mixture of Gaussians, 10,000 x 50 x 20, f64: gradient";
  measure(name, "vmap of sums", tn::grad<0>(by_sum), l, mu, x);
  measure(name, "einsum", tn::grad<0>(by_einsum), l, mu, x);
  measure(name, "vmap of einsum", tn::grad<0>(by_vmap_of_einsum), l, mu, x);
  const std::string both = name + " in three";
  measure(both, "vmap of sums", tn::grad<0, 1, 2>(by_sum), l, mu, x);
  measure(both, "einsum", tn::grad<0, 1, 2>(by_einsum), l, mu, x);
}

// What one observation depends on: 11 numbers of a camera, 3 of a point, a weight.
struct Seen {
  Array camera, point, weight;
};
Array residual(const Seen& in, const Array& feature) {
  const auto c = [&](int a, int b) { return in.camera(tn::slice(a, b)); };
  const Array turn = c(0, 3), x = in.point - c(3, 6);
  const Array theta = tn::sqrt(tn::sum(tn::square(turn))), cosine = tn::cos(theta), w = turn / theta;
  const Array moved = x * cosine + tn::cross(w, x) * tn::sin(theta) + w * (tn::sum(w * x) * (1.0 - cosine));
  Array plane = moved(tn::slice(0, 2)) / moved(2);
  const Array radius = tn::sum(tn::square(plane));
  plane = plane * (1.0 + in.camera(9) * radius + in.camera(10) * radius * radius);
  return in.weight * (plane * in.camera(6) + c(7, 9) - feature);
}

void bundle_adjustment() {
  constexpr std::int64_t cameras = 21, points = 11315, seen = 36455;
  Draw draw;
  const Seen all{draw(0.1, 1, {cameras, 11}),
                 draw(-1, 1, {points, 3}) + tn::array<double>(std::vector{0., 0., 5.}, {3}), draw(0.5, 1, {seen})};
  const Array features = draw(-1, 1, {seen, 2}), camera = draw.below(cameras, seen), point = draw.below(points, seen);
  const auto rows = [=](const Seen& s) { return Seen{s.camera(camera), s.point(point), s.weight}; };
  // By the user's own seeds: no residual depends on two cameras or points.
  const auto compressed = [=](const Seen& s) {
    const auto residuals = [&](const Seen& s) { return tn::vmap(residual)(rows(s), features); };
    const auto column = [&](const Array& e) {
      const Seen seed{tn::broadcast_to(e(tn::slice(0, 11)), {cameras, 11}),
                      tn::broadcast_to(e(tn::slice(11, 14)), {points, 3}), tn::broadcast_to(e(14), {seen})};
      return tn::jvp(residuals, std::tuple(s), std::tuple(seed)).second;
    };
    return tn::vmap(column)(tn::eye(15, tn::DType::f64));  // [15, seen, 2]
  };
  // The same numbers of the blocks that a derivative of one observation gives.
  const auto blocks = [=](auto jacobian) {
    return [=](const Seen& s) {
      const Seen j = tn::vmap(jacobian)(rows(s), features);
      return tn::transpose(tn::concatenate({j.camera, j.point, tn::expand_dims(j.weight, 2)}, 2), {2, 0, 1});
    };
  };
  const std::string name = "bundle adjustment, 36,455 observations: 15 columns";
  measure(name, "seeds", compressed, all);
  measure(name, "vmap of jacrev", blocks(tn::jacrev(residual)), all);
  measure(name, "vmap of jacfwd", blocks(tn::jacfwd(residual)), all);
}

}  // namespace

int main() {
  measure("warm", "a first call", [](const Array& x) { return tn::matmul(x, x); }, tn::ones({8, 8}, tn::DType::f64));
  k_means();
  mixture();
  bundle_adjustment();
}
