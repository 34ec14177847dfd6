// Reductions over pairs of points in D dimensions: out_i = sum_j exp(-|x_i - y_j|²)·b_j and the gradient of its sum
// with respect to x, y and b, for D = 10 and 64. Nothing N by N is stored; the pairs are computed once for all
// gradients, with sums over i of each worker added up behind. N is even.
#include "limits.h"

template <int D>
struct Problem {
  long N, H;
  Buffer x, y, b, xt, yt, bp, out, dx, dy, db, dy_part[2], db_part[2];
  explicit Problem(long N)
      : N(N),
        H((N + 63) / 64 * 64),
        x(H * D),
        y(H * D),
        b(H),
        xt(H * D),
        yt(H * D),
        bp(H),
        out(H),
        dx(H * D),
        dy(H * D),
        db(H),
        dy_part{Buffer(H * D), Buffer(H * D)},
        db_part{Buffer(H), Buffer(H)} {
    x.fill(1, 0, 2 / std::sqrt(float(D)));
    y.fill(2, 0, 2 / std::sqrt(float(D)));
    b.fill(3, 0, 1);
    for (long i = N; i < H; i++) {  // padding far away: its kernel is 0
      b[i] = 0;
      for (int d = 0; d < D; d++) x[i * D + d] = 1e9f, y[i * D + d] = -1e9f;
    }
  }
  // 64 rows of x as columns: [D][64].
  void columns(const float* rows, long first, float* t) {
    for (int d = 0; d < D; d++)
      for (int l = 0; l < 64; l++) t[d * 64 + l] = rows[(first + l) * D + d];
  }
  // exp(-|x_i - y_j|²) of 32 rows of x and four of y.
  INLINE static void kernels(const float* t, const float* yj, V (*e)[2]) {
    V s[4][2] = {};
    for (int d = 0; d < D; d++) {
      V x0 = load(t + d * 64), x1 = load(t + d * 64 + 16);
      for (int k = 0; k < 4; k++) {
        V q = all(yj[k * D + d]), d0 = x0 - q, d1 = x1 - q;
        s[k][0] += d0 * d0;
        s[k][1] += d1 * d1;
      }
    }
    for (int k = 0; k < 4; k++)
      for (int l = 0; l < 2; l++) e[k][l] = exp(0.0f - s[k][l]);
  }
  void forward() {
    pool.split(H / 64, 1, [&](long i, long end) {
      alignas(64) float t[D * 64];
      for (; i < end; i++) {
        columns(x, 64 * i, t);
        V s[4] = {};
        for (long j = 0; j < H; j += 4)
          for (int half = 0; half < 2; half++) {
            V e[4][2];
            kernels(t + 32 * half, y + j * D, e);
            for (int k = 0; k < 4; k++)
              for (int l = 0; l < 2; l++) s[2 * half + l] += e[k][l] * all(b[j + k]);
          }
        for (int l = 0; l < 4; l++) store(out + 64 * i + 16 * l, s[l]);
      }
    });
  }
  // Short rows: two rows of x at a time, lanes along y, sums over i in memory.
  void gradient_of_short_rows() {
    for (int d = 0; d < D; d++)
      for (long j = 0; j < H; j++) yt[d * H + j] = y[j * D + d];
    pool.run([&](int w) {
      float *ys = dy_part[w], *bs = db_part[w];
      memset(ys, 0, H * D * 4);
      memset(bs, 0, H * 4);
      for (long i = w * (N / 2) / 2; i < (w + 1) * (N / 2) / 2; i++) {
        V q[2][D], s[2][D] = {};
        for (int r = 0; r < 2; r++)
          for (int d = 0; d < D; d++) q[r][d] = all(x[(2 * i + r) * D + d]);
        for (long j = 0; j < H; j += 16) {
          V near[2] = {};
          for (int d = 0; d < D; d++) {
            const V p = load(yt + d * H + j), d0 = q[0][d] - p, d1 = q[1][d] - p;
            near[0] += d0 * d0;
            near[1] += d1 * d1;
          }
          const V e0 = exp(0.0f - near[0]), e1 = exp(0.0f - near[1]), bj = load(b + j);
          store(bs + j, load(bs + j) + (e0 + e1));
          const V w0 = e0 * bj, w1 = e1 * bj;
          for (int d = 0; d < D; d++) {
            const V p = load(yt + d * H + j), f0 = w0 * (q[0][d] - p), f1 = w1 * (q[1][d] - p);
            s[0][d] += f0;
            s[1][d] += f1;
            store(ys + d * H + j, load(ys + d * H + j) + (f0 + f1));
          }
        }
        for (int r = 0; r < 2; r++)
          for (int d = 0; d < D; d++) dx[(2 * i + r) * D + d] = -2 * sum(s[r][d]);
      }
    });
    for (long j = 0; j < N; j++) {
      for (int d = 0; d < D; d++) dy[j * D + d] = 2 * (dy_part[0][d * H + j] + dy_part[1][d * H + j]);
      db[j] = db_part[0][j] + db_part[1][j];
    }
  }
  // Differences along the dimensions again, one register of them for both sums: of x for rows that stay in the
  // first-level cache, of y for four rows in registers.
  void gradient() {
    if (D <= 16) return gradient_of_short_rows();
    pool.run([&](int w) {
      alignas(64) float t[D * 64], e[4][64];
      float *ys = dy_part[w], *bs = db_part[w];
      memset(ys, 0, H * D * 4);
      memset(bs, 0, H * 4);
      for (long i = w * (H / 64) / 2; i < (w + 1) * (H / 64) / 2; i++) {
        columns(x, 64 * i, t);
        memset(dx + 64 * i * D, 0, 64 * D * 4);
        const long rows = std::min(64L, N - 64 * i);
        for (long j = 0; j < H; j += 4) {
          for (int half = 0; half < 2; half++) {
            V k[4][2];
            kernels(t + 32 * half, y + j * D, k);
            for (int r = 0; r < 4; r++)
              for (int l = 0; l < 2; l++) store(e[r] + 32 * half + 16 * l, k[r][l]);
          }
          for (int r = 0; r < 4; r++) {
            V s = {};
            for (int l = 0; l < 4; l++) s += load(e[r] + 16 * l);
            bs[j + r] += sum(s);
          }
          for (int d = 0; d < D; d += 16) {
            const __mmask16 m = D - d >= 16 ? 0xffff : (1 << (D - d)) - 1;
            V q[4], s[4] = {};
            for (int r = 0; r < 4; r++) q[r] = load(y + (j + r) * D + d, m);
            for (long l = 0; l < rows; l++) {
              const V p = load(x + (64 * i + l) * D + d, m);
              V g = load(dx + (64 * i + l) * D + d, m);
              for (int r = 0; r < 4; r++) {
                const V f = all(e[r][l] * b[j + r]) * (p - q[r]);
                g += f;
                s[r] += f;
              }
              store(dx + (64 * i + l) * D + d, g, m);
            }
            for (int r = 0; r < 4; r++) store(ys + (j + r) * D + d, load(ys + (j + r) * D + d, m) + s[r], m);
          }
        }
        for (long l = 0; l < rows * D; l++) dx[64 * i * D + l] *= -2;
      }
    });
    for (long j = 0; j < N * D; j++) dy[j] = 2 * (dy_part[0][j] + dy_part[1][j]);
    for (long j = 0; j < N; j++) db[j] = db_part[0][j] + db_part[1][j];
  }
};

template <int D>
void measure(long N) {
  Problem<D> p(N);
  const std::string c = "gaussian D=" + std::to_string(D) + " N=M=" + std::to_string(N);
  time_ms(c, "forward", [&] { p.forward(); });
  check(c, "sum", weighted(p.out, N));
  time_ms(c, "gradient x, y and b", [&] { p.gradient(); });
  check(c, "d x", weighted(p.dx, N * D));
  check(c, "d y", weighted(p.dy, N * D));
  check(c, "d b", weighted(p.db, N));
}
int main() {
  measure<10>(5000);
  measure<64>(5000);
}
