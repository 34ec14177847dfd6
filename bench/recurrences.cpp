// Loops whose steps read what earlier steps wrote, forward and with gradients: a chain of matrix products, and the
// algorithms of examples/. Beside limits/recurrences.cpp, with the same inputs.
#include <cmath>

#include "bench/measure.h"
#include "examples/runge_kutta.h"
#include "examples/soft_dtw.h"
#include "examples/viterbi.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

template <class F, class... Args>
void measure(const std::string& name, const std::string& figure, F function, const Args&... args) {
  bench::emit(name, figure, bench::median_seconds([&] {
                              auto result = function(args...);
                              bench::keep(result);
                            }) * 1e3,
              "ms");
}

// The sine of step·k + phase for k in a shape.
Array waves(std::int64_t count, double step, double phase = 0, tn::DType dtype = tn::DType::f32) {
  return tn::convert(tn::sin(tn::arange(count, tn::DType::f64) * step + phase), dtype);
}

// P[i] = P[i-1]·P[i-2]
void chain() {
  constexpr int links = 24;
  const auto last = [](const Array& first, const Array& second) {
    const Array start = tn::zeros({links, 64, 64}).at(0).set(first).at(1).set(second);
    const auto product = [](Array i, Array p) { return p.at(i).set(tn::matmul(p(i - 1), p(i - 2))); };
    return tn::sum(tn::fori_loop(2, links, product, start)(-1));
  };
  const auto rotation = [](double phase) {  // so that products neither grow nor vanish
    std::vector<float> m(64 * 64);
    for (std::size_t k = 0; k < 64; k += 2) {
      const double angle = 0.1 * static_cast<double>(k + 1) + phase;
      m[65 * k] = m[65 * k + 65] = static_cast<float>(std::cos(angle));
      m[65 * k + 64] = static_cast<float>(std::sin(angle)), m[65 * k + 1] = -m[65 * k + 64];
    }
    return tn::array<float>(m, {64, 64});
  };
  const Array p0 = rotation(0), p1 = rotation(1);
  const std::string name = "chain of 64x64 products";
  measure(name, "forward", tn::jit(last), p0, p1);
  measure(name, "value and gradient", tn::jit(tn::value_and_grad<0, 1>(last)), p0, p1);
}

void runge_kutta() {
  const examples::Lorenz lorenz{10.0, 28.0, 8.0 / 3};
  const Array start{1.0, 1.0, 1.0};
  const auto height = [](const examples::Lorenz& f, const Array& y0) {
    return examples::solve_ode(f, y0, 0.0, 10.0, {1e-8, 1e-8}).y(2);
  };
  const std::string name = "Runge-Kutta 4(5), Lorenz";
  measure(name, "forward", tn::jit(height), lorenz, start);
  measure(name, "value and gradient", tn::jit(tn::value_and_grad<0, 1>(height)), lorenz, start);
}

void hidden_states() {
  const examples::MarkovModel model{waves(64, 1), tn::reshape(waves(64 * 64, 3), {64, 64}),
                                    tn::reshape(waves(64 * 32, 5), {64, 32})};
  measure("Viterbi, 64 states, 1,000 steps", "forward", tn::jit(examples::most_probable_path), model,
          tn::arange(1000) * 7 % 32);
}

void warping() {
  const auto series = [](double phase) { return waves(256, 0.05, phase)(tn::all, tn::newaxis); };
  const auto cost = [&](const Array& a, const Array& b) { return examples::soft_dtw(a, b, 0.1f); };
  measure("soft-DTW, 256 x 256", "forward", tn::jit(cost), series(0), series(0.5));
  measure("soft-DTW, 256 x 256", "value and gradient", tn::jit(tn::value_and_grad(cost)), series(0), series(0.5));
}

}  // namespace

int main() {
  chain();
  runge_kutta();
  hidden_states();
  warping();
}
