// Case 1: loops and reverse mode. Every gradient is a hand adjoint; see README.md for the exact mathematics.
#include "limits.h"

// ---- scan stacked: c' = sin(sin(x)·c) + 0.1, loss = sum(c_T * ys). Lanes [16·NV·w ..) of F features; a mask when F
// < 16. The residuals kept per step are the two Jacobian entries d c'/d c and d c'/d x: 8 bytes per feature.
template <int NV, bool Masked>
struct Stacked {
  static constexpr __mmask16 M = Masked ? 0x1f : 0xffff;
  static INLINE V get(const float* p) { return Masked ? load(p, M) : load(p); }
  static INLINE void put(float* p, V v) { Masked ? store(p, v, M) : store(p, v); }
  static float forward(const float* xs, const float* c0, long T, long F) {
    V c[NV], total[NV] = {};
    for (int v = 0; v < NV; v++) c[v] = get(c0 + 16 * v);
    for (long t = 0; t < T; t++)
      for (int v = 0; v < NV; v++) {
        c[v] = sin(sin(get(xs + t * F + 16 * v)) * c[v]) + 0.1f;
        total[v] += c[v];
      }
    V loss = {};
    for (int v = 0; v < NV; v++) loss += c[v] * total[v];
    return sum(Masked ? (V)_mm512_maskz_mov_ps(M, loss) : loss);
  }
  static float tangent(const float* xs, const float* c0, const float* dxs, const float* dc0, long T, long F) {
    V c[NV], d[NV], total[NV] = {}, dtotal[NV] = {}, loss = {};
    for (int v = 0; v < NV; v++) {
      c[v] = get(c0 + 16 * v);
      d[v] = get(dc0 + 16 * v);
    }
    for (long t = 0; t < T; t++)
      for (int v = 0; v < NV; v++) {
        V s, cx, y, cu;
        sincos(get(xs + t * F + 16 * v), s, cx);
        sincos(s * c[v], y, cu);
        d[v] = cu * (s * d[v] + cx * c[v] * get(dxs + t * F + 16 * v));
        c[v] = y + 0.1f;
        total[v] += c[v];
        dtotal[v] += d[v];
      }
    for (int v = 0; v < NV; v++) loss += c[v] * dtotal[v] + d[v] * total[v];
    return sum(Masked ? (V)_mm512_maskz_mov_ps(M, loss) : loss);
  }
  static float gradient(const float* xs, const float* c0, float* tape, float* dxs, float* dc0, long T, long F) {
    V c[NV], g[NV] = {}, loss = {};
    constexpr long S = Masked ? 8 : 16 * NV;
    for (int v = 0; v < NV; v++) c[v] = get(c0 + 16 * v);
    for (long t = 0; t < T; t++)
      for (int v = 0; v < NV; v++) {
        V s, cx, y, cu;
        sincos(get(xs + t * F + 16 * v), s, cx);
        sincos(s * c[v], y, cu);
        put(tape + 2 * t * S + 16 * v, cu * s);
        put(tape + (2 * t + 1) * S + 16 * v, cu * cx * c[v]);
        c[v] = y + 0.1f;
        g[v] += c[v];
      }
    for (int v = 0; v < NV; v++) loss += c[v] * g[v];
    for (long t = T; t-- > 0;)
      for (int v = 0; v < NV; v++) {
        V b = g[v] + c[v];
        put(dxs + t * F + 16 * v, b * get(tape + (2 * t + 1) * S + 16 * v));
        g[v] = b * get(tape + 2 * t * S + 16 * v);
      }
    for (int v = 0; v < NV; v++) put(dc0 + 16 * v, g[v]);
    return sum(Masked ? (V)_mm512_maskz_mov_ps(M, loss) : loss);
  }
};

// ---- dot(ys, xs): c' = sin(mean_b(sum_t ys[t,a]·xs[t,b]) + c) + 0.1; ys[i] = c'. The mean is pushed into the product
// once: mean_b = sum_t ys[t,a]·m[t], m[t] = mean_b xs[t,b]. Each step still reads the whole buffer. Each worker owns
// half of the features, in its own contiguous buffers: interleaved halves of one row made two threads 3 times slower
// than one (each core prefetches the other's dirty lines). Reverse: the buffer of the last step is walked back through
// an undo log (its rows were 0), so memory is linear in T.
template <int NV>
float dot_loop(const float* m, const float* c0, float* ys, float* dys, float* tape, float* dm, float* dc0, long T,
               long F, bool grad) {
  for (long t = 0; t < T; t++)
    for (int v = 0; v < NV; v++) store(ys + t * F + 16 * v, all(0));
  V c[NV], g[NV] = {}, loss = {};
  for (int v = 0; v < NV; v++) c[v] = load(c0 + 16 * v);
  for (long i = 0; i < T; i++) {
    V a[4][NV] = {};
    for (long t = 0; t + 4 <= T; t += 4)
      for (int k = 0; k < 4; k++)
        for (int v = 0; v < NV; v++) a[k][v] += load(ys + (t + k) * F + 16 * v) * m[t + k];
    for (int v = 0; v < NV; v++) {
      V s, k;
      sincos((a[0][v] + a[1][v]) + (a[2][v] + a[3][v]) + c[v], s, k);
      store(tape + i * F + 16 * v, k);
      c[v] = s + 0.1f;
      store(ys + i * F + 16 * v, c[v]);
      g[v] += c[v];
    }
  }
  for (int v = 0; v < NV; v++) loss += c[v] * g[v];
  if (!grad) return sum(loss);
  for (long t = 0; t < T; t++) {
    for (int v = 0; v < NV; v++) store(dys + t * F + 16 * v, c[v]);
    dm[t] = 0;
  }
  for (long i = T; i-- > 0;) {
    V u[NV];
    for (int v = 0; v < NV; v++) {
      u[v] = (g[v] + load(dys + i * F + 16 * v)) * load(tape + i * F + 16 * v);
      g[v] = u[v];
      store(dys + i * F + 16 * v, all(0));
      store(ys + i * F + 16 * v, all(0));  // undo: the old row was zero
    }
    // dys[t] += u·m[t]; dm[t] += <u, ys[t]>, with the horizontal sums of 16 rows done together.
    for (long t = 0; t < T; t += 8) {
      __m256 r[8];
      for (int k = 0; k < 8; k++) {
        V a = {};
        const float* y = ys + (t + k) * F;
        float* d = dys + (t + k) * F;
        for (int v = 0; v < NV; v++) {
          a += u[v] * load(y + 16 * v);
          store(d + 16 * v, load(d + 16 * v) + u[v] * m[t + k]);
        }
        r[k] = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
      }
      __m256 h0 = _mm256_hadd_ps(_mm256_hadd_ps(r[0], r[1]), _mm256_hadd_ps(r[2], r[3])),
             h1 = _mm256_hadd_ps(_mm256_hadd_ps(r[4], r[5]), _mm256_hadd_ps(r[6], r[7]));
      _mm256_storeu_ps(dm + t,
                       _mm256_add_ps(_mm256_loadu_ps(dm + t), _mm256_add_ps(_mm256_permute2f128_ps(h0, h1, 0x20),
                                                                            _mm256_permute2f128_ps(h0, h1, 0x31))));
    }
  }
  for (int v = 0; v < NV; v++) store(dc0 + 16 * v, g[v]);
  return sum(loss);
}

// ---- while, f32[64]: s' = 0.9·sin(s) + 0.1·cos(s²). The residual per step is ds'/ds.
static INLINE V step(V s) { return sin(s) * 0.9f + 0.1f * cos(s * s); }
static INLINE V step(V s, V& slope) {
  V a, b, c, d;
  sincos(s, a, b);
  sincos(s * s, c, d);
  slope = 0.9f * b - 0.2f * s * c;
  return a * 0.9f + 0.1f * d;
}
static void while_forward(const float* x, float* out, long n) {
  V s[4];
  for (int v = 0; v < 4; v++) s[v] = load(x + 16 * v);
  for (long t = 0; t < n; t++)
    for (auto& e : s) e = step(e);
  for (int v = 0; v < 4; v++) store(out + 16 * v, s[v]);
}
static void while_tape(const float* x, float* tape, float* out, V* g, long n) {
  V s[4];
  for (int v = 0; v < 4; v++) s[v] = load(x + 16 * v);
  for (long t = 0; t < n; t++)
    for (int v = 0; v < 4; v++) {
      V k;
      s[v] = step(s[v], k);
      store(tape + t * 64 + 16 * v, k);
    }
  for (long t = n; t-- > 0;)
    for (int v = 0; v < 4; v++) g[v] *= load(tape + t * 64 + 16 * v);
  for (int v = 0; v < 4; v++) store(out + 16 * v, s[v]);
}
// At most 64 checkpoints without knowing n: when full, every second one is dropped and the spacing doubles.
static long while_checkpointed(const float* x, float* ckpt, float* tape, float* out, float* dx, long n) {
  long count = 0, spacing = 1;
  V s[4], g[4] = {all(1), all(1), all(1), all(1)};
  float unused[64];
  for (int v = 0; v < 4; v++) s[v] = load(x + 16 * v);
  for (long t = 0; t < n;) {
    if (count == 64) {
      for (int k = 1; k < 32; k++) memcpy(ckpt + k * 64, ckpt + 2 * k * 64, 256);
      count = 32;
      spacing *= 2;
    }
    for (int v = 0; v < 4; v++) store(ckpt + count * 64 + 16 * v, s[v]);
    count++;
    for (long e = std::min(n, t + spacing); t < e; t++)
      for (auto& k : s) k = step(k);
  }
  for (int v = 0; v < 4; v++) store(out + 16 * v, s[v]);
  for (long k = count; k-- > 0;) while_tape(ckpt + k * 64, tape, unused, g, std::min(spacing, n - k * spacing));
  for (int v = 0; v < 4; v++) store(dx + 16 * v, g[v]);
  return 64 * 256 + spacing * 256;
}

int main() {
  auto body = [&]<int NV, bool Mk>(long F, long T, const char* name) {
    Buffer xs(T * F + 16), c0(64), tape(T * (Mk ? 16 : 2 * F) + 16), dxs(T * F + 16), dc(64), dxi(T * F + 16), dci(64);
    xs.n = T * F;
    xs.linspace(0.1f, 1);
    for (int i = 0; i < 64; i++) c0[i] = 0.5f, dci[i] = 1;
    dxi.fill(3);
    std::string c = std::string("P5 scan stacked ") + name + " T" + std::to_string(T);
    float l = 0;
    using S1 = Stacked<NV, Mk>;
    using S2 = Stacked<(NV + 1) / 2, Mk>;
    time_ms(c, "forward, 1 thread", [&] {
      l = S1::forward(xs, c0, T, F);
      keep(l);
    });
    time_ms(c, "jvp, 1 thread", [&] {
      l = S1::tangent(xs, c0, dxi, dci, T, F);
      keep(l);
    });
    float j = l;
    double s = time_ms(c, "value and gradient, 1 thread", [&] {
      l = S1::gradient(xs, c0, tape, dxs, dc, T, F);
      keep(l);
    });
    emit(c, "value and gradient, 1 thread, per step", s / T * 1e9, "ns");
    emit(c, "bytes kept for reverse", double(T * (Mk ? 16 : 2 * F) * 4), "bytes");
    if (T == 1000) {
      double d = weighted(dxs, T * F), e = 0;
      for (long i = 0; i < T * F; i++) e += dxs[i] * dxi[i];
      for (int i = 0; i < F; i++) e += dc[i];
      check(c, "loss", l);
      check(c, "sum of d xs", d);
      check(c, "d c0[1]", dc[1]);
      check(c, "jvp minus <gradient, tangent>", j - e);
    }
    if constexpr (!Mk) {
      auto off = [&](int w, auto f) { return f(w * 32); };
      float part[2];
      time_ms(c, "forward, 2 threads", [&] {
        pool.run([&](int w) {
          off(w, [&](long o) {
            part[w] = S2::forward(xs + o, c0 + o, T, F);
            return 0;
          });
        });
      });
      time_ms(c, "jvp, 2 threads", [&] {
        pool.run([&](int w) {
          long o = w * 32;
          part[w] = S2::tangent(xs + o, c0 + o, dxi + o, dci + o, T, F);
        });
      });
      time_ms(c, "value and gradient, 2 threads", [&] {
        pool.run([&](int w) {
          long o = w * 32;
          part[w] = S2::gradient(xs + o, c0 + o, tape + w * T * F, dxs + o, dc + o, T, F);
        });
      });
    }
  };
  for (long T : {1000, 4000, 8000, 64000}) body.operator()<4, false>(64, T, "F64");
  for (long T : {1000, 8000, 64000}) body.operator()<1, true>(5, T, "F5");

  for (long T : {16L, 1000L, 4000L}) {  // the loop is chaotic: only T = 16 can be compared with another program
    long F = 64;
    Buffer xs(T * F), m(T + 16), c0(64), ys(T * F), dys(T * F), tape(T * F), dm(2 * T + 32), dxs(T * F), dc(64);
    xs.linspace(0.1f, 1);
    for (int i = 0; i < 64; i++) c0[i] = 0.5f;
    std::string c = "P5 dot(ys,xs) F64 T" + std::to_string(T);
    float part[2];
    auto go = [&](bool g, bool two) {
      for (long t = 0; t < T; t++) {
        V a = {};
        for (int v = 0; v < 4; v++) a += load(xs + t * F + 16 * v);
        m[t] = sum(a) / F;
      }
      if (two)
        pool.run([&](int w) {
          long o = w * 32;
          part[w] = dot_loop<2>(m, c0 + o, ys + w * T * 32, dys + w * T * 32, tape + w * T * 32, dm + w * (T + 16),
                                dc + o, T, 32, g);
        });
      else
        part[0] = dot_loop<4>(m, c0, ys, dys, tape, dm, dc, T, F, g), part[1] = 0;
      if (g)
        for (long t = 0; t < T; t++) {
          V d = all((dm[t] + (two ? dm[t + T + 16] : 0)) / F);
          for (int v = 0; v < 4; v++) store(dxs + t * F + 16 * v, d);
        }
    };
    if (T == 16)
      go(true, true);
    else
      for (bool two : {false, true}) {
        std::string n = two ? ", 2 threads" : ", 1 thread";
        time_ms(c, "forward" + n, [&] { go(false, two); });
        time_ms(c, "value and gradient" + n, [&] { go(true, two); });
      }
    if (T > 16)
      emit(c, "bytes kept for reverse (cosines; the undo log is all zero rows)", double(T * F * 4 * 2), "bytes");
    if (T == 16) {
      check(c, "loss", part[0] + part[1]);
      check(c, "sum of d xs", weighted(dxs, T * F));
      check(c, "d c0[1]", dc[1]);
    }
  }
  {
    long n = 10000;
    Buffer x(64), out(64), dx(64), tape(n * 64), ck(64 * 64);
    x.linspace(0, 1);
    std::string c = "P5 while 10000 steps f32[64]";
    V g[4];
    time_ms(c, "forward, 1 thread", [&] { while_forward(x, out, n); });
    auto tape_run = [&] {
      for (auto& e : g) e = all(1);
      while_tape(x, tape, out, g, n);
      for (int v = 0; v < 4; v++) store(dx + 16 * v, g[v]);
    };
    time_ms(c, "value and gradient, full tape, subnormals kept", tape_run);
    {
      FlushSubnormals f;
      time_ms(c, "value and gradient, full tape, subnormals flushed", tape_run);
    }
    emit(c, "bytes kept, full tape", n * 256, "bytes");
    check(c, "sum of result", weighted(out, 64));
    long bytes = 0;
    {
      FlushSubnormals f;
      time_ms(c, "value and gradient, 64 checkpoints, subnormals flushed",
              [&] { bytes = while_checkpointed(x, ck, tape, out, dx, n); });
    }
    emit(c, "bytes kept, 64 checkpoints", bytes, "bytes");
    for (auto& e : g) e = all(1);
    while_tape(x, tape, out, g, 20);
    check(c, "d x[5] after 20 steps", g[0][5]);
    while_checkpointed(x, ck, tape, out, dx, 300);
    float a = dx[5];
    for (auto& e : g) e = all(1);
    while_tape(x, tape, out, g, 300);
    check(c, "checkpointed minus tape, 300 steps", a - g[0][5]);
  }
  {
    long n = 1 << 22;
    Buffer tape(n);
    volatile float x0 = 0.4f;
    std::string c = "P5 while 2^22 scalar logistic steps f32";
    float x, g;
    time_ms(c, "forward", [&] {
      x = x0;
      for (long t = 0; t < n; t++) x = 3.7f * x * (1 - x);
      keep(x);
    });
    auto fwd = [&] {
      x = x0;
      for (long t = 0; t < n; t++) {
        tape[t] = x;
        x = 3.7f * x * (1 - x);
      }
    };
    time_ms(c, "value and gradient, tape, sequential product", [&] {
      fwd();
      g = 1;
      for (long t = n; t-- > 0;) g = g * (3.7f - 7.4f * tape[t]);
      keep(g);
    });
    time_ms(c, "value and gradient, tape, 8 x 16 partial products", [&] {
      fwd();
      V p[8];
      for (auto& e : p) e = all(1);
      for (long t = 0; t < n; t += 128)
        for (int k = 0; k < 8; k++) p[k] *= 3.7f - 7.4f * load(tape + t + 16 * k);
      for (int k = 1; k < 8; k++) p[0] *= p[k];
      g = _mm512_reduce_mul_ps(p[0]);
      keep(g);
    });
    x = 0.4f;
    g = 1;
    for (int t = 0; t < 20; t++) {
      g *= 3.7f - 7.4f * x;
      x = 3.7f * x * (1 - x);
    }
    check(c, "x after 20 steps", x);
    check(c, "d x0 after 20 steps", g);
  }
  {
    long n = 30000;
    Buffer buf(64 * n), x(64);
    volatile long steps = n;
    for (int i = 0; i < 64; i++) x[i] = i;
    x[0] = 1;
    VI iota;
    for (int i = 0; i < 16; i++) iota[i] = i;
    auto lane = [&](long b, long count) {
      V xb = all(x[b]);
      float* p = buf + b * n;
      long i = 0;
      for (; i + 16 <= count; i += 16) store(p + i, sin(xb + (V)_mm512_cvtepi32_ps((__m512i)(iota + int(i)))));
      store(p + i, sin(xb + (V)_mm512_cvtepi32_ps((__m512i)(iota + int(i)))), __mmask16((1 << (count - i)) - 1));
      memset(p + count, 0, (n - count) * 4);
    };
    std::string c = "P5 while buffer n=30000";
    time_ms(c, "1 lane, one element a step (libm sinf)", [&] {
      for (long i = 0; i < steps; i++) buf[i] = sinf(x[0] + i);
    });
    time_ms(c, "1 lane, one element a step (16-lane sin, one used)", [&] {
      for (long i = 0; i < steps; i++) store(buf + i, sin(all(x[0] + i)), 1);
    });
    time_ms(c, "1 lane, steps vectorised", [&] { lane(0, steps); });
    check(c, "sum, x=1", weighted(buf, n));
    for (long B : {4L, 64L}) {
      time_ms(c, std::to_string(B) + " lanes, steps vectorised in each lane, 1 thread", [&] {
        for (long b = 0; b < B; b++) lane(b, n - 7 * (b % 3));
      });
      time_ms(c, std::to_string(B) + " lanes, all lanes a step (scatter), 1 thread", [&] {
        VI idx = iota * int(n);
        for (long i = 0; i < steps; i++)
          for (long b = 0; b < B; b += 16) {
            __mmask16 m = B < 16 ? 0xf : 0xffff;
            _mm512_mask_i32scatter_ps(buf + b * n + i, m, (__m512i)idx, sin(load(x + b) + float(i)), 4);
          }
      });
    }
  }
}
