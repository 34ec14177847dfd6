// Case 6: out_i = sum_j exp(-|x_i - y_j|²)·b_j in three dimensions, its gradients, logsumexp_j(-|x_i - y_j|²) and
// argmin_j |x_i - y_j|². Coordinates are given as rows (N, 3); each run transposes them first. Rows are split over two
// workers; nothing N by M is stored.
#include "limits.h"
static INLINE V kernel(const V* x, const float* y0, const float* y1, const float* y2, long j, V* d) {
  d[0] = x[0] - load(y0 + j);
  d[1] = x[1] - load(y1 + j);
  d[2] = x[2] - load(y2 + j);
  return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}
static void transpose(const float* p, float* t, long n) {
  long h = (n + 15) / 16 * 16;
  for (long i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) t[k * h + i] = p[3 * i + k];
  for (int k = 0; k < 3; k++)
    for (long i = n; i < h; i++) t[k * h + i] = 1e9f;
}  // padding far away: its kernel is 0
struct Problem {
  long N, H;
  Buffer x, y, b, g, xt, yt, bp, out, dx, dy, db, dy_part[2];
  std::vector<int> arg;
  explicit Problem(long N)
      : N(N),
        H((N + 15) / 16 * 16),
        x(3 * N),
        y(3 * N),
        b(N),
        g(N),
        xt(3 * H),
        yt(3 * H),
        bp(H),
        out(N + 16),
        dx(3 * N),
        dy(3 * N),
        db(H),
        dy_part{Buffer(4 * H), Buffer(4 * H)},
        arg(N) {
    x.fill(1, 0, 1);
    y.fill(2, 0, 1);
    b.fill(3, 0, 1);
    for (long i = 0; i < N; i++) g[i] = 1;
  }
  void prepare() {
    transpose(x, xt, N);
    transpose(y, yt, N);
    memset(bp, 0, H * 4);
    memcpy(bp, b, N * 4);
  }
  // Four rows x at a time: one load of y and b serves four.
  void forward() {
    prepare();
    const float *y0 = yt, *y1 = y0 + H, *y2 = y1 + H;
    pool.split((N + 3) / 4, 1, [&](long i, long e) {
      for (; i < e; i++) {
        V q[4][3], s[4] = {};
        for (int r = 0; r < 4; r++)
          for (int k = 0; k < 3; k++) q[r][k] = all(xt[k * H + std::min(4 * i + r, N - 1)]);
        for (long j = 0; j < H; j += 16) {
          V w = load(bp + j), d[3];
          for (int r = 0; r < 4; r++) s[r] += exp(0.0f - kernel(q[r], y0, y1, y2, j, d)) * w;
        }
        for (int r = 0; r < 4; r++) out[std::min(4 * i + r, N - 1)] = sum(s[r]);
      }
    });
  }
  // Gradient of sum_i g_i·out_i. With respect to x: rows alone. With respect to y and b too: sums over i, one
  // accumulator per worker.
  template <bool All>
  void gradient() {
    prepare();
    const float *y0 = yt, *y1 = y0 + H, *y2 = y1 + H;
    pool.run([&](int w) {
      float *a0 = dy_part[w], *a1 = a0 + H, *a2 = a1 + H, *ab = a2 + H;
      if (All) memset(a0, 0, 16 * H);
      for (long i = w * ((N + 3) / 4) / 2; i < (w + 1) * ((N + 3) / 4) / 2; i++) {
        V q[4][3], gi[4], s[4][3] = {};
        for (int r = 0; r < 4; r++) {
          long row = std::min(4 * i + r, N - 1);
          gi[r] = all(4 * i + r < N ? g[row] : 0);
          for (int k = 0; k < 3; k++) q[r][k] = all(xt[k * H + row]);
        }
        for (long j = 0; j < H; j += 16) {
          V wj = load(bp + j), d[3], t0 = {}, t1 = {}, t2 = {}, tb = {};
          for (int r = 0; r < 4; r++) {
            V e = exp(0.0f - kernel(q[r], y0, y1, y2, j, d)) * gi[r];
            if (All) tb += e;
            V f = e * wj, m0 = f * d[0], m1 = f * d[1], m2 = f * d[2];
            s[r][0] += m0;
            s[r][1] += m1;
            s[r][2] += m2;
            if (All) {
              t0 += m0;
              t1 += m1;
              t2 += m2;
            }
          }
          if (All) {
            store(a0 + j, load(a0 + j) + t0);
            store(a1 + j, load(a1 + j) + t1);
            store(a2 + j, load(a2 + j) + t2);
            store(ab + j, load(ab + j) + tb);
          }
        }
        for (int r = 0; r < 4; r++)
          if (4 * i + r < N)
            for (int k = 0; k < 3; k++) dx[3 * (4 * i + r) + k] = -2 * sum(s[r][k]);
      }
    });
    if (All)
      for (long j = 0; j < N; j++) {
        for (int k = 0; k < 3; k++) dy[3 * j + k] = 2 * (dy_part[0][k * H + j] + dy_part[1][k * H + j]);
        db[j] = dy_part[0][3 * H + j] + dy_part[1][3 * H + j];
      }
  }
  void logsumexp() {  // the maximum first (distances only), then the sum: two sweeps over y, nothing stored
    prepare();
    const float *y0 = yt, *y1 = y0 + H, *y2 = y1 + H;
    pool.split((N + 3) / 4, 1, [&](long i, long e) {
      for (; i < e; i++) {
        V q[4][3], m[4], s[4] = {}, d[3];
        float top[4];
        for (int r = 0; r < 4; r++) {
          m[r] = all(INFINITY);
          for (int k = 0; k < 3; k++) q[r][k] = all(xt[k * H + std::min(4 * i + r, N - 1)]);
        }
        for (long j = 0; j < H; j += 16)
          for (int r = 0; r < 4; r++) m[r] = _mm512_min_ps(m[r], kernel(q[r], y0, y1, y2, j, d));
        for (int r = 0; r < 4; r++) top[r] = _mm512_reduce_min_ps(m[r]);
        for (long j = 0; j < H; j += 16)
          for (int r = 0; r < 4; r++) s[r] += exp(top[r] - kernel(q[r], y0, y1, y2, j, d));
        for (int r = 0; r < 4; r++) out[std::min(4 * i + r, N - 1)] = logf(sum(s[r])) - top[r];
      }
    });
  }
  void argmin() {  // first index of the least distance
    prepare();
    const float *y0 = yt, *y1 = y0 + H, *y2 = y1 + H;
    VI lane;
    for (int k = 0; k < 16; k++) lane[k] = k;
    pool.split((N + 3) / 4, 1, [&](long i, long e) {
      for (; i < e; i++) {
        V q[4][3], m[4], d[3];
        __m512i at[4];
        for (int r = 0; r < 4; r++) {
          m[r] = all(INFINITY);
          at[r] = _mm512_setzero_si512();
          for (int k = 0; k < 3; k++) q[r][k] = all(xt[k * H + std::min(4 * i + r, N - 1)]);
        }
        for (long j = 0; j < H; j += 16)
          for (int r = 0; r < 4; r++) {
            V v = kernel(q[r], y0, y1, y2, j, d);
            __mmask16 less = _mm512_cmp_ps_mask(v, m[r], _CMP_LT_OQ);
            m[r] = _mm512_mask_mov_ps(m[r], less, v);
            at[r] = _mm512_mask_mov_epi32(at[r], less, _mm512_set1_epi32(int(j)));
          }
        for (int r = 0; r < 4; r++) {
          V v = m[r];
          __mmask16 k = _mm512_cmp_ps_mask(v, all(_mm512_reduce_min_ps(v)), _CMP_EQ_OQ);
          arg[std::min(4 * i + r, N - 1)] = _mm512_mask_reduce_min_epi32(k, _mm512_add_epi32(at[r], (__m512i)lane));
        }
      }
    });
  }
};
int main() {
  for (long N : {1000L, 10000L, 30000L, 100000L}) {
    Problem p(N);
    std::string c = "P8 gaussian N=M=" + std::to_string(N);
    auto total = weighted, size = weighted;
    time_ms(c, "forward", [&] { p.forward(); });
    check(c, "sum", total(p.out, N));
    time_ms(c, "gradient x, y and b", [&] { p.gradient<true>(); });
    check(c, "d y", size(p.dy, 3 * N));
    check(c, "d b", total(p.db, N));
    if (N > 30000) break;
    time_ms(c, "gradient x", [&] { p.gradient<false>(); });
    check(c, "d x", size(p.dx, 3 * N));
    time_ms(c, "logsumexp", [&] { p.logsumexp(); });
    check(c, "logsumexp", total(p.out, N));
    time_ms(c, "argmin", [&] { p.argmin(); });
    Buffer f(N);
    for (long i = 0; i < N; i++) f[i] = float(p.arg[i]);
    double s = weighted(f, N);
    check(c, "argmin sum", s);
  }
}
