// Case 8, last part: softmax(q·kᵀ/8)·v for 64 heads of 256 x 64, and the gradient of sum(square(result)) in q, k and v.
// Scores exist for 32 rows at a time. Heads are split over two workers.
#include "gemm.h"
constexpr long kHeads = 64, L = 256, D = 64, R = 32;
struct Attention {
  Buffer q{kHeads * L * D}, k{kHeads * L * D}, v{kHeads * L * D}, o{kHeads * L * D}, dq{kHeads * L * D},
      dk{kHeads * L * D}, dv{kHeads * L * D},
      scratch[2] = {Buffer(2 * L * D + 2 * R * L + R * D), Buffer(2 * L * D + 2 * R * L + R * D)};
  Attention() {
    q.fill(1, -1.7f, 1.7f);
    k.fill(2, -1.7f, 1.7f);
    v.fill(3, -1.7f, 1.7f);
  }
  template <bool Grad>
  void work(int w) {
    float *kt = scratch[w], *vt = kt + L * D, *p = vt + L * D, *dp = p + R * L, *g = dp + R * L;
    for (long h = w * kHeads / 2; h < (w + 1) * kHeads / 2; h++) {
      const float *Q = q + h * L * D, *K = k + h * L * D, *Vv = v + h * L * D;
      float *O = o + h * L * D, *dQ = dq + h * L * D, *dK = dk + h * L * D, *dV = dv + h * L * D;
      for (long j = 0; j < L; j += 64) {
        pack(K + j * D, 1, D, D, 64, 64, kt + j * D);
        if (Grad) pack(Vv + j * D, 1, D, D, 64, 64, vt + j * D);
      }
      for (long r = 0; r < L; r += R) {
        for (long j = 0; j < L; j += 64) panel(R, 64, D, Q + r * D, D, 1, kt + j * D, 64, p + j, L);
        for (long i = 0; i < R; i++) {
          float* a = p + i * L;
          V m = load(a), s = {};
          for (long j = 16; j < L; j += 16) m = _mm512_max_ps(m, load(a + j));
          float top = largest(m) * 0.125f;
          for (long j = 0; j < L; j += 16) {
            V e = exp(load(a + j) * 0.125f - top);
            s += e;
            store(a + j, e);
          }
          float inv = 1 / sum(s);
          for (long j = 0; j < L; j += 16) store(a + j, load(a + j) * inv);
        }
        panel(R, D, L, p, L, 1, Vv, D, O + r * D, D);
        if (!Grad) continue;
        float dot[R];
        for (long i = 0; i < R; i++) {
          V s = {};
          for (long j = 0; j < D; j += 16) {
            V x = load(O + (r + i) * D + j), y = 2.0f * x;
            s += x * y;
            store(g + i * D + j, y);
          }
          dot[i] = sum(s);
        }
        for (long j = 0; j < L; j += 64) panel(R, 64, D, g, D, 1, vt + j * D, 64, dp + j, L);
        panel(L, D, R, p, 1, L, g, D, dV, D, r ? Into::Add : Into::Zero);
        for (long i = 0; i < R; i++)
          for (long j = 0; j < L; j += 16)
            store(dp + i * L + j, load(p + i * L + j) * (load(dp + i * L + j) - dot[i]) * 0.125f);
        panel(R, D, L, dp, L, 1, K, D, dQ + r * D, D);
        panel(L, D, R, dp, 1, L, Q + r * D, D, dK, D, r ? Into::Add : Into::Zero);
      }
    }
  }
};
int main() {
  Attention a;
  const char* c = "attention 64 heads x 256 x 64";
  auto size = [](const float* p) { return weighted(p, kHeads * L * D); };
  double s = time_ms(c, "forward", [&] { pool.run([&](int w) { a.work<false>(w); }); }), f = 2e-9 * kHeads * L * L * D;
  emit(c, "forward rate", 2 * f / s, "GF/s");
  check(c, "o", size(a.o));
  s = time_ms(c, "value and gradient", [&] { pool.run([&](int w) { a.work<true>(w); }); });
  emit(c, "value and gradient rate", 6 * f / s, "GF/s");
  check(c, "dq", size(a.dq));
  check(c, "dk", size(a.dk));
  check(c, "dv", size(a.dv));
}
