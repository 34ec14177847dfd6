// Loops whose steps read what earlier steps wrote, forward and with gradients: a chain of matrix products, and the
// algorithms of examples/. Beside limits/recurrences.cpp, with the same inputs.
#include <cmath>

#include "bench/measure.h"
#include "examples/lorenz.h"
#include "examples/soft_dtw.h"
#include "examples/viterbi.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

// Gives the result.
template <class F, class... Args>
auto measure(const std::string& name, const std::string& figure, F function, const Args&... args) {
  bench::emit(name, figure, bench::median_seconds(function, args...) * 1e3, "ms");
  return function(args...);
}

// What the limit finds too: bench/report.py compares them.
void check(const std::string& name, const std::string& what, const Array& value) {
  bench::emit(name, "checksum " + what, tn::convert(value, tn::DType::f64).item<double>(), "");
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
  check(name, "sum", measure(name, "forward", tn::jit(last), p0, p1));
  const auto [sum, slopes] = measure(name, "value and gradient", tn::jit(tn::value_and_grad<0, 1>(last)), p0, p1);
  check(name, "sum", sum);
  check(name, "d P0[0]", std::get<0>(slopes)(0, 0));
}

void runge_kutta() {
  const examples::Lorenz lorenz{10.0, 28.0, 8.0 / 3};
  const Array start{1.0, 1.0, 1.0};
  const auto height = [](const examples::Lorenz& f, const Array& y0) {
    return tn::odeint_end(f, y0, 0.0, 10.0, {.rtol = 1e-8, .atol = 1e-8, .adjoint = false}).y(2);
  };
  const std::string name = "Runge-Kutta 4(5), Lorenz";
  check(name, "height", measure(name, "forward", tn::jit(height), lorenz, start));
  const auto [end, slopes] =
      measure(name, "value and gradient", tn::jit(tn::value_and_grad<0, 1>(height)), lorenz, start);
  check(name, "height", end);
  check(name, "d rho", std::get<0>(slopes).rho);
  check(name, "d start", std::get<1>(slopes)(0));
}

void hidden_states() {
  const examples::MarkovModel model{waves(64, 1), tn::reshape(waves(64 * 64, 3), {64, 64}),
                                    tn::reshape(waves(64 * 32, 5), {64, 32})};
  const std::string name = "Viterbi, 64 states, 1,000 steps";
  const examples::Path path =
      measure(name, "forward", tn::jit(examples::most_probable_path), model, tn::arange(1000) * 7 % 32);
  check(name, "score", path.score);
}

void warping() {
  const auto series = [](double phase) { return waves(256, 0.05, phase)(tn::all, tn::newaxis); };
  const auto cost = [&](const Array& a, const Array& b) { return examples::soft_dtw(a, b, 0.1f); };
  const std::string name = "soft-DTW, 256 x 256";
  check(name, "cost", measure(name, "forward", tn::jit(cost), series(0), series(0.5)));
  const auto [value, slope] =
      measure(name, "value and gradient", tn::jit(tn::value_and_grad(cost)), series(0), series(0.5));
  check(name, "cost", value);
  check(name, "d a[10]", slope(10, 0));
}

}  // namespace

int main() {
  chain();
  runge_kutta();
  hidden_states();
  warping();
}
