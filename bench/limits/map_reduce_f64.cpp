// Case 6 in f64: out_i = sum_j exp(-|x_i - y_j|²)·b_j in three dimensions, and the gradients of its sum with respect to
// x, y and b. As in map_reduce.cpp, lanes go along y, rows of x are split over two workers, and nothing N by N is
// stored. N is a multiple of 8.
#include "limits.h"

#ifdef __AVX512F__
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif
typedef double W __attribute__((vector_size(lanes * 8), aligned(8), may_alias));
typedef int64_t WI __attribute__((vector_size(lanes * 8), may_alias));
INLINE W all(double x) { return x - W{}; }
INLINE W load(const double* p) { return *(const W*)p; }
INLINE void store(double* p, W v) { *(W*)p = v; }
INLINE double sum(W v) {
  double s = 0;
  for (int l = 0; l < lanes; l++) s += v[l];
  return s;
}
// x = n·ln2 + r with |r| <= ln2 / 2; e^r by its Taylor series to r¹³, whose rest is below 2⁻⁵⁷; n goes into the
// exponent. Below -708 the result is the least normal number. No argument here is positive.
INLINE W exp(W x) {
  constexpr double magic = 0x1.8p52;
  x = x < -708.0 ? all(-708.0) : x;
  const W shifted = x * 0x1.71547652b82fep0 + magic, n = shifted - magic;
  const W r = (x - n * 0x1.62e42fefap-1) - n * 0x1.cf79abc9e3b39p-40;
  W p = all(1.0 / 6227020800);
  for (const double factorial :
       {479001600.0, 39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0})
    p = 1 / factorial + r * p;
  return (W)((WI)(1.0 + (r + r * r * (0.5 + r * p))) + ((WI)shifted << 52));
}

using Doubles = std::vector<double>;
double weighted_sum(const Doubles& p) {
  Buffer w(p.size());
  w.fill(99, 0, 1);
  double s = 0;
  for (size_t i = 0; i < p.size(); i++) s += p[i] * w[i];
  return s;
}

struct Problem {
  long N;
  Doubles x, y, b, xt, yt, out, dx, dy, db, part[2];
  explicit Problem(long N)
      : N(N),
        x(filled(1, 3 * N)),
        y(filled(2, 3 * N)),
        b(filled(3, N)),
        xt(3 * N),
        yt(3 * N),
        out(N),
        dx(3 * N),
        dy(3 * N),
        db(N),
        part{Doubles(4 * N), Doubles(4 * N)} {}
  static Doubles filled(uint32_t seed, long n) {
    Buffer f(n);
    f.fill(seed, 0, 1);
    return Doubles(f.p, f.p + n);
  }
  void prepare() {
    for (long i = 0; i < N; i++)
      for (int k = 0; k < 3; k++) xt[k * N + i] = x[3 * i + k], yt[k * N + i] = y[3 * i + k];
  }
  INLINE W distance(const W* q, long j, W* d) {
    for (int k = 0; k < 3; k++) d[k] = q[k] - load(&yt[k * N + j]);
    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  }
  // Four rows of x at a time.
  void forward() {
    prepare();
    pool.split(N / 4, 1, [&](long i, long end) {
      for (; i < end; i++) {
        W q[4][3], s[4] = {}, d[3];
        for (int r = 0; r < 4; r++)
          for (int k = 0; k < 3; k++) q[r][k] = all(xt[k * N + 4 * i + r]);
        for (long j = 0; j < N; j += lanes) {
          const W w = load(&b[j]);
          for (int r = 0; r < 4; r++) s[r] += exp(0.0 - distance(q[r], j, d)) * w;
        }
        for (int r = 0; r < 4; r++) out[4 * i + r] = sum(s[r]);
      }
    });
  }
  // Sums over j stay in registers; sums over i are in memory, one array a worker.
  void gradient() {
    prepare();
    pool.run([&](int w) {
      double* a[4];
      for (int k = 0; k < 4; k++) a[k] = &part[w][k * N];
      std::fill(part[w].begin(), part[w].end(), 0.0);
      for (long i = w * (N / 4) / 2; i < (w + 1) * (N / 4) / 2; i++) {
        W q[4][3], s[4][3] = {};
        for (int r = 0; r < 4; r++)
          for (int k = 0; k < 3; k++) q[r][k] = all(xt[k * N + 4 * i + r]);
        for (long j = 0; j < N; j += lanes) {
          const W wj = load(&b[j]);
          W d[3], t[4] = {};
          for (int r = 0; r < 4; r++) {
            const W e = exp(0.0 - distance(q[r], j, d)), f = e * wj;
            t[3] += e;
            for (int k = 0; k < 3; k++) {
              const W m = f * d[k];
              s[r][k] += m;
              t[k] += m;
            }
          }
          for (int k = 0; k < 4; k++) store(a[k] + j, load(a[k] + j) + t[k]);
        }
        for (int r = 0; r < 4; r++)
          for (int k = 0; k < 3; k++) dx[3 * (4 * i + r) + k] = -2 * sum(s[r][k]);
      }
    });
    for (long j = 0; j < N; j++) {
      for (int k = 0; k < 3; k++) dy[3 * j + k] = 2 * (part[0][k * N + j] + part[1][k * N + j]);
      db[j] = part[0][3 * N + j] + part[1][3 * N + j];
    }
  }
};

int main() {
  const long N = 10000;
  Problem p(N);
  const std::string c = "P8 gaussian f64 N=M=" + std::to_string(N);
  time_ms(c, "forward", [&] { p.forward(); });
  check(c, "sum", weighted_sum(p.out));
  time_ms(c, "gradient x, y and b", [&] { p.gradient(); });
  check(c, "d x", weighted_sum(p.dx));
  check(c, "d y", weighted_sum(p.dy));
  check(c, "d b", weighted_sum(p.db));
}
