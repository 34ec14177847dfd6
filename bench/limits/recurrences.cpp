// Case 10: loops whose steps read what earlier steps wrote. A chain of matrix products, an adaptive Runge-Kutta solver,
// Viterbi, soft-DTW; gradients are hand adjoints. The same inputs as ../recurrences.cpp.
#include <array>
#include <limits>

#include "gemm.h"

// ---- P[i] = P[i-1]·P[i-2], 64x64: reverse, dP[i-1] += dP[i]·P[i-2]ᵀ, dP[i-2] += P[i-1]ᵀ·dP[i].
constexpr long side = 64, area = side * side, links = 24;
static void chain_forward(float* p) {
  for (long i = 2; i < links; i++)
    panel(side, side, side, p + (i - 1) * area, side, 1, p + (i - 2) * area, side, p + i * area, side);
}
static void chain_gradient(float* p, float* d, float* transposed) {
  chain_forward(p);
  std::fill(d, d + (links - 1) * area, 0.f);
  std::fill(d + (links - 1) * area, d + links * area, 1.f);
  for (long i = links; i-- > 2;) {
    const float *now = d + i * area, *far = p + (i - 2) * area;
    for (long r = 0; r < side; r++)
      for (long c = 0; c < side; c++) transposed[c * side + r] = far[r * side + c];
    panel(side, side, side, now, side, 1, transposed, side, d + (i - 1) * area, side, Into::Add);
    panel(side, side, side, p + (i - 1) * area, 1, side, now, side, d + (i - 2) * area, side, Into::Add);
  }
}

// ---- Dormand and Prince's pair on the equations of Lorenz, f64. Lengths of steps are constants to the gradient.
struct Lorenz {
  double sigma = 10, rho = 28, beta = 8.0 / 3;
};
using Point = std::array<double, 3>;
constexpr double A[7][6] = {{},
                            {1. / 5},
                            {3. / 40, 9. / 40},
                            {44. / 45, -56. / 15, 32. / 9},
                            {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                            {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                            {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
constexpr double E[7] = {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40};
static INLINE Point slope(const Lorenz& q, const Point& v) {
  return {q.sigma * (v[1] - v[0]), v[0] * (q.rho - v[2]) - v[1], v[0] * v[1] - q.beta * v[2]};
}
static INLINE void stages(const Lorenz& q, const Point& y, double h, Point (&at)[7], Point (&k)[7]) {
#pragma GCC unroll 7
  for (int s = 1; s < 7; s++) {
    for (int c = 0; c < 3; c++) {
      double sum = 0;
#pragma GCC unroll 6
      for (int j = 0; j < s; j++) sum += A[s][j] * k[j][c];
      at[s][c] = y[c] + h * sum;
    }
    k[s] = slope(q, at[s]);
  }
}
struct Step {
  Point y, first;
  double h;
};
// Hairer, Norsett and Wanner, II.4, as tn::odeint_end has it.
static double starting_step(const Lorenz& q, const Point& y, const Point& first, double tolerance) {
  const auto size = [&](const Point& x) {
    double squares = 0;
    for (int c = 0; c < 3; c++) {
      const double e = x[c] / (tolerance + tolerance * std::abs(y[c]));
      squares += e * e / 3;
    }
    return std::sqrt(squares);
  };
  const double of_y = size(y), of_slope = size(first);
  const double h = of_y < 1e-5 || of_slope < 1e-5 ? 1e-6 : 0.01 * of_y / of_slope;
  Point next = y, change;
  for (int c = 0; c < 3; c++) next[c] += h * first[c];
  const Point behind = slope(q, next);
  for (int c = 0; c < 3; c++) change[c] = behind[c] - first[c];
  const double most = std::max(of_slope, size(change) / h);
  return std::min(100 * h, most <= 1e-15 ? std::max(1e-6, 1e-3 * h) : std::pow(0.01 / most, 0.2));
}
static Point solve(const Lorenz& q, Point y, double end, double tolerance, std::vector<Step>& taken) {
  Point at[7], k[7];
  k[0] = slope(q, y);
  taken.clear();
  for (double t = 0, length = starting_step(q, y, k[0], tolerance); t < end;) {
    const bool last = length >= end - t;
    const double h = last ? end - t : length;
    stages(q, y, h, at, k);
    double squares = 0;
    for (int c = 0; c < 3; c++) {
      double e = 0;
      for (int j = 0; j < 7; j++) e += E[j] * k[j][c];
      e *= h / (tolerance + tolerance * std::max(std::abs(y[c]), std::abs(at[6][c])));
      squares += e * e / 3;
    }
    if (squares <= 1) {
      taken.push_back({y, k[0], h});
      y = at[6], k[0] = k[6], t = last ? end : t + h;
    }
    length = squares == 0 ? 10 * h : h * std::clamp(0.9 * std::pow(squares, -0.1), squares < 1 ? 1.0 : 0.2, 10.0);
  }
  return y;
}
// The gradient of y[2] at the end: of the start in `dy`, of the parameters as the result.
static Lorenz adjoint(const Lorenz& q, const std::vector<Step>& taken, Point& dy) {
  Lorenz dq{0, 0, 0};
  Point at[7], k[7], carried{};  // of the slope that a step takes over from the one before it
  dy = {0, 0, 1};
  const auto back = [&](const Point& v, const Point& g, Point& into) {
    dq.sigma += g[0] * (v[1] - v[0]), dq.rho += g[1] * v[0], dq.beta -= g[2] * v[2];
    into[0] += -q.sigma * g[0] + (q.rho - v[2]) * g[1] + v[1] * g[2];
    into[1] += q.sigma * g[0] - g[1] + v[0] * g[2];
    into[2] += -v[0] * g[1] - q.beta * g[2];
  };
  for (size_t n = taken.size(); n-- > 0;) {
    const Step& s = taken[n];
    k[0] = s.first;
    stages(q, s.y, s.h, at, k);
    Point dk[7] = {}, start{};
    dk[6] = carried;
    for (int stage = 7; stage-- > 1;) {
      Point da = stage == 6 ? dy : Point{};
      back(at[stage], dk[stage], da);
      for (int c = 0; c < 3; c++) {
        start[c] += da[c];
        for (int j = 0; j < stage; j++) dk[j][c] += s.h * A[stage][j] * da[c];
      }
    }
    dy = start, carried = dk[0];
    if (n == 0) back(s.y, carried, dy);
  }
  return dq;
}

// ---- Viterbi: the best way into each state, and where it came from; then the way back.
constexpr long states = 64, kinds = 32, days = 1000;
static float viterbi(const float* start, const float* transition, const float* emission, const int* seen, int* from,
                     int* path) {
  float score[states], best[states];
  for (long s = 0; s < states; s++) score[s] = start[s] + emission[s * kinds + seen[0]];
  for (long t = 1; t < days; t++) {
    int* f = from + t * states;
    for (long s = 0; s < states; s++) best[s] = score[0] + transition[s], f[s] = 0;
    for (int p = 1; p < states; p++)
      for (long s = 0; s < states; s++) {
        const float v = score[p] + transition[p * states + s];
        f[s] = v > best[s] ? p : f[s];
        best[s] = v > best[s] ? v : best[s];
      }
    for (long s = 0; s < states; s++) score[s] = best[s] + emission[s * kinds + seen[t]];
  }
  path[days - 1] = int(std::max_element(score, score + states) - score);
  for (long t = days - 1; t > 0; t--) path[t - 1] = from[t * states + path[t]];
  return score[path[days - 1]];
}

// ---- Soft-DTW of two series of `length` numbers; reverse by the weights of the three ways into each cell.
constexpr long length = 256, width = length + 1;
static float soft_dtw(const float* a, const float* b, float gamma, float* cost, float* weights) {
  std::fill(cost, cost + width, std::numeric_limits<float>::infinity());
  cost[0] = 0;
  for (long i = 1; i <= length; i++) {
    float *row = cost + i * width, left = std::numeric_limits<float>::infinity();
    const float* above = row - width;
    row[0] = left;
    for (long j = 1; j <= length; j++) {
      const float low = std::min(std::min(left, above[j]), above[j - 1]), d = a[i - 1] - b[j - 1];
      const float x = expf((low - left) / gamma), y = expf((low - above[j]) / gamma),
                  z = expf((low - above[j - 1]) / gamma), sum = x + y + z;
      if (weights) {
        float* w = weights + 3 * (i * width + j);
        w[0] = x / sum, w[1] = y / sum, w[2] = z / sum;
      }
      row[j] = left = d * d + low - gamma * logf(sum);
    }
  }
  return cost[width * width - 1];
}
static void soft_dtw_reverse(const float* a, const float* b, const float* weights, float* below, float* da) {
  // below: how much the last cost changes with each of the row under this one, and of this one
  float *now = below + width, *next = below;
  std::fill(next, next + 2 * width, 0.f);
  for (long i = length; i >= 1; i--) {
    float carried = 0, total = 0;
    for (long j = length; j >= 1; j--) {
      float e = i == length && j == length ? 1.f : carried;
      if (i < length) e += next[j] * weights[3 * ((i + 1) * width + j) + 1];
      if (i < length && j < length) e += next[j + 1] * weights[3 * ((i + 1) * width + j + 1) + 2];
      now[j] = e;
      carried = e * weights[3 * (i * width + j)];
      total += e * 2 * (a[i - 1] - b[j - 1]);
    }
    da[i - 1] = total;
    std::swap(now, next);
  }
}

static void chain() {
  Buffer p(links * area), d(links * area), transposed(area);
  for (long m = 0; m < 2; m++)  // rotations, so that products neither grow nor vanish
    for (long k = 0; k < side; k += 2) {
      const double angle = 0.1 * double(k + 1) + double(m);
      float* block = p + m * area + k * side + k;
      block[0] = block[side + 1] = float(std::cos(angle));
      block[side] = float(std::sin(angle)), block[1] = -block[side];
    }
  const std::string name = "chain of 64x64 products";
  time_ms(name, "forward", [&] { chain_forward(p); });
  time_ms(name, "value and gradient", [&] { chain_gradient(p, d, transposed); });
  double total = 0;
  for (long k = 0; k < area; k++) total += p[(links - 1) * area + k];
  check(name, "sum", total);
  check(name, "d P0[0]", d[0]);
}
static void runge_kutta() {
  const std::string name = "Runge-Kutta 4(5), Lorenz";
  std::vector<Step> taken;
  Lorenz q, dq;
  Point y, dy;
  time_ms(name, "forward", [&] { y = solve(q, {1, 1, 1}, 10, 1e-8, taken), keep(y); });
  time_ms(name, "value and gradient", [&] {
    y = solve(q, {1, 1, 1}, 10, 1e-8, taken);
    dq = adjoint(q, taken, dy);
    keep(dq);
  });
  check(name, "steps", double(taken.size()));
  check(name, "height", y[2]);
  check(name, "d rho", dq.rho);
  check(name, "d start", dy[0]);
}
static void hidden_states() {
  Buffer start(states), transition(states * states), emission(states * kinds);
  for (long k = 0; k < states; k++) start[k] = float(std::sin(double(k)));
  for (long k = 0; k < states * states; k++) transition[k] = float(std::sin(double(3 * k)));
  for (long k = 0; k < states * kinds; k++) emission[k] = float(std::sin(double(5 * k)));
  std::vector<int> seen(days), from(days * states), path(days);
  for (long t = 0; t < days; t++) seen[t] = int(t * 7 % kinds);
  float score = 0;
  time_ms("Viterbi, 64 states, 1,000 steps", "forward",
          [&] { score = viterbi(start, transition, emission, seen.data(), from.data(), path.data()), keep(score); });
  check("Viterbi, 64 states, 1,000 steps", "score", score);
}
static void warping() {
  Buffer a(length), b(length), cost(width * width), weights(3 * width * width), below(2 * width), da(length);
  for (long k = 0; k < length; k++) a[k] = float(std::sin(0.05 * double(k))), b[k] = float(std::sin(0.05 * k + 0.5));
  float value = 0;
  time_ms("soft-DTW, 256 x 256", "forward", [&] { value = soft_dtw(a, b, 0.1f, cost, nullptr), keep(value); });
  time_ms("soft-DTW, 256 x 256", "value and gradient", [&] {
    value = soft_dtw(a, b, 0.1f, cost, weights);
    soft_dtw_reverse(a, b, weights, below, da);
    keep(value);
  });
  check("soft-DTW, 256 x 256", "cost", value);
  check("soft-DTW, 256 x 256", "d a[10]", da[10]);
}

int main() {
  chain();
  runge_kutta();
  hidden_states();
  warping();
}
