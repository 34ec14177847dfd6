// Case 3: value, gradient and SGD update (rate 0.01), f32: a GRU, an LSTM and an MLP. Two schedules for the recurrent
// ones: (a) each step's products split over both cores by hidden units, one meeting per step; (b) each core runs the
// whole loop on half of the batch.
#include "gemm.h"

struct Net {
  const char* name;
  bool lstm;
  long T, B, D, H, E;
  int nu;
  int wblock[4];
};  // D inputs, H units, E outputs; nu gate blocks fed by U
static const Net kGru{"P10 GRU H64 D8 T100 B32", false, 100, 32, 8, 64, 8, 3, {0, 1, 3, 0}},
    kLstm{"P10 LSTM H128 D64 T50 B64", true, 50, 64, 64, 128, 64, 4, {0, 1, 2, 3}};

// Elementwise parts, in place on one row of gates [4H]: forward leaves what reverse needs, reverse leaves the gate
// cotangents.
static INLINE void gru_forward(float* g, const float* h0, float* h1, long H,
                               long u) {  // blocks r z q a; a + r·q inside tanh
  V r = sigmoid(load(g + u)), z = sigmoid(load(g + H + u)), q = load(g + 2 * H + u),
    n = tanh(load(g + 3 * H + u) + r * q), h = load(h0 + u);
  store(g + u, r);
  store(g + H + u, z);
  store(g + 3 * H + u, n);
  store(h1 + u, n + z * (h - n));
}
static INLINE void gru_reverse(float* g, const float* h0, float* dh, long H, long u) {
  V r = load(g + u), z = load(g + H + u), q = load(g + 2 * H + u), n = load(g + 3 * H + u), d = load(dh + u);
  V dn = d * (1.0f - z) * (1.0f - n * n), dz = d * (load(h0 + u) - n) * z * (1.0f - z);
  store(g + u, dn * q * r * (1.0f - r));
  store(g + H + u, dz);
  store(g + 2 * H + u, dn * r);
  store(g + 3 * H + u, dn);
  store(dh + u, d * z);
}
static INLINE void lstm_forward(float* g, const float* c0, float* c1, float* h1, long H, long u) {  // blocks i f g o
  V i = sigmoid(load(g + u)), f = sigmoid(load(g + H + u)), k = tanh(load(g + 2 * H + u)),
    o = sigmoid(load(g + 3 * H + u)), c = f * load(c0 + u) + i * k;
  store(g + u, i);
  store(g + H + u, f);
  store(g + 2 * H + u, k);
  store(g + 3 * H + u, o);
  store(c1 + u, c);
  store(h1 + u, o * tanh(c));
}
static INLINE void lstm_reverse(float* g, const float* c0, const float* c1, float* dc, float* dh, long H, long u) {
  V i = load(g + u), f = load(g + H + u), k = load(g + 2 * H + u), o = load(g + 3 * H + u), t = tanh(load(c1 + u)),
    d = load(dh + u), e = load(dc + u) + d * o * (1.0f - t * t);
  store(g + u, e * k * i * (1.0f - i));
  store(g + H + u, e * load(c0 + u) * f * (1.0f - f));
  store(g + 2 * H + u, e * i * (1.0f - k * k));
  store(g + 3 * H + u, d * t * o * (1.0f - o));
  store(dc + u, e * f);
  store(dh + u, all(0));
}

struct Rnn {
  Net s;
  bool by_units, grads_at_end, inputs_at_once;
  long H4, P, panels;  // P: panel width, panels per gate block
  Buffer W, U, b, bn, O, x, y, packU, packUt, packW, gates, hs, cs, dhs, e, dh, dc, xl, dW[2], dU[2], db[2], dO[2];
  double loss[2];
  Barrier barrier;
  Rnn(const Net& s, bool by_units, bool at_end, bool at_once)
      : s(s),
        by_units(by_units),
        grads_at_end(at_end),
        inputs_at_once(at_once),
        H4(4 * s.H),
        P(by_units ? std::min(64L, s.H / 2) : 64),
        panels(s.H / P),
        W(s.D * s.nu * s.H),
        U(s.H * s.nu * s.H),
        b(4 * s.H),
        bn(s.H),
        O(s.H * s.E),
        x(s.T * s.B * s.D),
        y(s.T * s.B * s.E),
        packU(s.H * 4 * s.H),
        packUt(s.H * 4 * s.H),
        packW(s.D * 4 * s.H + 64),
        gates(s.T * s.B * 4 * s.H),
        hs((s.T + 2) * s.B * s.H),
        cs((s.T + 2) * s.B * s.H),
        dhs(s.T * s.B * s.H),
        e(s.T * s.B * s.E),
        dh(s.B * s.H),
        dc(s.B * s.H),
        xl(s.T * s.B * s.D),
        dW{Buffer(s.D * H4), Buffer(s.D * H4)},
        dU{Buffer(s.H * H4), Buffer(s.H * H4)},
        db{Buffer(H4), Buffer(H4)},
        dO{Buffer(s.H * s.E), Buffer(s.H * s.E)} {
    reset();
    x.fill(1);
    y.fill(2);
  }
  void reset() {
    W.fill(3, -.1f, .1f);
    U.fill(4, -.1f, .1f);
    O.fill(5, -.1f, .1f);
    memset(b, 0, b.bytes);
    memset(bn, 0, bn.bytes);
  }
  double bytes_kept() const { return 4.0 * s.T * s.B * (H4 + s.H * (s.lstm ? 2 : 1)); }

  void work(int w) {
    const long T = s.T, B = s.B, H = s.H, D = s.D, E = s.E, NU = s.nu * H;
    const long rows = by_units ? B : B / 2, u0 = by_units ? w * H / 2 : 0, u1 = by_units ? u0 + H / 2 : H,
               first = by_units ? 0 : w * rows;
    float *G = gates + first * T * H4, *h = hs + first * (T + 1) * H, *c = cs + first * (T + 1) * H,
          *dH = dhs + first * T * H, *er = e + first * T * E, *d = dh + first * H, *dcell = dc + first * H,
          *X = xl + first * T * D;
    auto meet = [&] {
      if (by_units) barrier.wait();
    };
    // Packed weights: each worker its share; both are needed by both schedules.
    for (int j = w; j < 4; j += 2)
      for (long p = 0; p < panels; p++) {
        if (j < s.nu) {
          pack(U + j * H + p * P, NU, 1, H, P, P, packU + (j * panels + p) * H * P);
          pack(W + j * H + p * P, NU, 1, D, P, P, packW + (s.wblock[j] * panels + p) * D * P);
        }
      }
    for (long p = w; p < panels; p += 2) pack(U + p * P * NU, 1, NU, NU, P, P, packUt + p * NU * P);
    if (!by_units || w == 0)
      for (long t = 0; t < T; t++) memcpy(X + t * rows * D, x + t * B * D + first * D, rows * D * 4);
    barrier.wait();
    auto inputs = [&](long M, long t) {
      for (int j = 0; j < s.nu; j++)
        for (long u = u0; u < u1; u += P) {
          int k = s.wblock[j];
          panel(M, P, D, X + t * rows * D, D, 1, packW + (k * panels + u / P) * D * P, P, G + t * rows * H4 + k * H + u,
                H4, Into::Bias, 1, b + k * H + u);
        }
      if (!s.lstm)
        for (long i = 0; i < M; i++) memcpy(G + (t * rows + i) * H4 + 2 * H + u0, bn + u0, (u1 - u0) * 4);
    };
    if (inputs_at_once) inputs(T * rows, 0);
    for (long t = 0; t < T; t++) {
      float* g = G + t * rows * H4;
      const float *h0 = h + t * rows * H, *c0 = c + t * rows * H;
      float *h1 = h + (t + 1) * rows * H, *c1 = c + (t + 1) * rows * H;
      if (!inputs_at_once) inputs(rows, t);
      for (int j = 0; j < s.nu; j++)
        for (long u = u0; u < u1; u += P)
          panel(rows, P, H, h0, H, 1, packU + (j * panels + u / P) * H * P, P, g + j * H + u, H4, Into::Add);
      for (long i = 0; i < rows; i++)
        for (long u = u0; u < u1; u += 16)
          s.lstm ? lstm_forward(g + i * H4, c0 + i * H, c1 + i * H, h1 + i * H, H, u)
                 : gru_forward(g + i * H4, h0 + i * H, h1 + i * H, H, u);
      meet();
    }
    // Output: e = (hs·O - y)·scale for all steps at once, its loss, dO and d hs.
    long t0 = by_units ? w * T / 2 : 0, t1 = by_units ? t0 + T / 2 : T, n = (t1 - t0) * rows;
    float scale = 2.0f / (T * B * E);
    const float* hh = h + (1 + t0) * rows * H;
    float* ee = er + t0 * rows * E;
    V sq = {};
    gemm(n, E, H, hh, H, 1, O, E, 1, ee, E);
    __mmask16 m = E < 16 ? __mmask16((1 << E) - 1) : 0xffff;
    for (long t = t0; t < t1; t++)
      for (long i = 0; i < rows; i++)
        for (long j = 0; j < E; j += 16) {
          float* p = er + (t * rows + i) * E + j;
          V v = load(p, m) - load(y + (t * B + first + i) * E + j, m);
          sq += v * v;
          store(p, v * scale, m);
        }
    loss[w] = double(sum(sq)) / (T * B * E);
    gemm(n, H, E, ee, E, 1, O, 1, E, dH + t0 * rows * H, H);
    gemm(H, E, n, hh, 1, H, ee, E, 1, dO[w], E);
    meet();
    for (long i = 0; i < rows; i++) {
      memcpy(d + i * H + u0, dH + ((T - 1) * rows + i) * H + u0, (u1 - u0) * 4);
      memset(dcell + i * H + u0, 0, (u1 - u0) * 4);
    }
    if (!grads_at_end) {
      memset(dU[w], 0, dU[w].bytes);
      memset(dW[w], 0, dW[w].bytes);
    }
    // In the by-units schedule a worker owns rows [u0, u1) of dU and columns of dW; otherwise all of its own
    // accumulators.
    auto weights = [&](long t, long K, Into into) {
      gemm(u1 - u0, NU, K, h + t * rows * H + u0, 1, H, G + t * rows * H4, H4, 1, dU[w] + u0 * NU, NU, into);
      for (int j = 0; j < s.nu; j++)
        gemm(D, u1 - u0, K, X + t * rows * D, 1, D, G + t * rows * H4 + s.wblock[j] * H + u0, H4, 1, dW[w] + j * H + u0,
             NU, into);
    };
    for (long t = T; t-- > 0;) {
      float* g = G + t * rows * H4;
      const float *h0 = h + t * rows * H, *c0 = c + t * rows * H, *c1 = c + (t + 1) * rows * H;
      for (long i = 0; i < rows; i++)
        for (long u = u0; u < u1; u += 16)
          s.lstm ? lstm_reverse(g + i * H4, c0 + i * H, c1 + i * H, dcell + i * H, d + i * H, H, u)
                 : gru_reverse(g + i * H4, h0 + i * H, d + i * H, H, u);
      meet();
      if (t)
        for (long u = u0; u < u1; u += P)
          for (long k = 0; k < NU; k += 128)
            panel(rows, P, std::min(128L, NU - k), g + k, H4, 1, packUt + u / P * NU * P + k * P, P, d + u, H,
                  Into::Add);
      if (t)
        for (long i = 0; i < rows; i++)
          for (long u = u0; u < u1; u += 16)
            store(d + i * H + u, load(d + i * H + u) + load(dH + ((t - 1) * rows + i) * H + u));
      if (!grads_at_end) weights(t, rows, Into::Add);
    }
    if (grads_at_end) weights(0, T * rows, Into::Zero);
    for (long j = u0; j < u1; j += 16) {
      V a[4] = {};
      for (long i = 0; i < T * rows; i++)
        for (int k = 0; k < 4; k++) a[k] += load(G + i * H4 + k * H + j);
      for (int k = 0; k < 4; k++) store(db[w] + k * H + j, a[k]);
    }
    barrier.wait();
    // SGD. By units every weight has one owner; otherwise the two accumulators are added.
    auto update = [&](float* p, Buffer* g, long n, bool both) {
      for (long i = n * w / 2; i < n * (w + 1) / 2; i++) p[i] -= 0.01f * (both ? g[0][i] + g[1][i] : g[w][i]);
    };
    update(U, dU, H * NU, !by_units);
    update(O, dO, H * E, true);
    for (long i = by_units ? 0 : w * D / 2; i < (by_units ? D : (w + 1) * D / 2); i++)
      for (int j = 0; j < s.nu; j++)
        for (long u = u0; u < u1; u++) {
          long k = i * NU + j * H + u;
          W[k] -= 0.01f * (by_units ? dW[w][k] : dW[0][k] + dW[1][k]);
        }
    for (int k = 0; k < 4; k++)
      for (long u = by_units ? u0 : w * H / 2; u < (by_units ? u1 : (w + 1) * H / 2); u++) {
        float g = by_units ? db[w][k * H + u] : db[0][k * H + u] + db[1][k * H + u];
        (k == 2 && !s.lstm ? bn[u] : b[k * H + u]) -= 0.01f * g;
      }
  }
  void step() {
    pool.run([&](int w) { work(w); });
  }
};

// MLP: every layer's columns split over both cores; the weight gradient is applied in the product's epilogue, so no
// gradient buffer exists.
struct Mlp {
  static constexpr long B = 128, N[4] = {784, 512, 256, 10};
  Buffer x{B * 784}, w[3] = {Buffer(784 * 512), Buffer(512 * 256), Buffer(256 * 10 + 16)},
                     b[3] = {Buffer(512), Buffer(256), Buffer(16)},
                     h[3] = {Buffer(B * 512), Buffer(B * 256), Buffer(B * 16)},
                     d[2] = {Buffer(B * 512), Buffer(B * 256)};
  double loss[2];
  Barrier barrier;
  Mlp() {
    x.fill(1);
    reset();
  }
  void reset() {
    for (int l = 0; l < 3; l++) {
      w[l].n = N[l] * N[l + 1];
      w[l].fill(3 + l, -.1f, .1f);
      memset(b[l], 0, b[l].bytes);
    }
  }
  void work(int k) {
    const float* in = x;
    long r0 = k * B / 2;
    for (int l = 0; l < 2; l++) {
      long n = N[l + 1] / 2, c = k * n;
      gemm(B, n, N[l], in, N[l], 1, w[l] + c, N[l + 1], 1, h[l] + c, N[l + 1], Into::Bias, 1, b[l] + c);
      for (long i = 0; i < B; i++)
        for (long j = c; j < c + n; j += 16) {
          float* p = h[l] + i * N[l + 1] + j;
          store(p, _mm512_max_ps(load(p), all(0)));
        }
      in = h[l];
      barrier.wait();
    }
    // Log-softmax and its gradient: rows split. y is one-hot of row mod 10.
    gemm(B / 2, 10, 256, h[1] + r0 * 256, 256, 1, w[2], 10, 1, h[2] + r0 * 16, 16, Into::Bias, 1, b[2]);
    loss[k] = 0;
    for (long i = r0; i < r0 + B / 2; i++) {
      float* p = h[2] + i * 16;
      V v = _mm512_mask_blend_ps(0x3ff, all(-INFINITY), load(p));
      V e = exp(v - largest(v));
      float s = sum(e);
      loss[k] -= (p[i % 10] - largest(v) - logf(s)) / B;
      store(p, e * (1 / s / B));
      p[i % 10] -= 1.0f / B;
    }
    gemm(B / 2, 256, 10, h[2] + r0 * 16, 16, 1, w[2], 1, 10, d[1] + r0 * 256, 256);
    auto relu_mask = [&](int l, long i0, long i1, long c0, long c1) {
      for (long i = i0; i < i1; i++)
        for (long j = c0; j < c1; j += 16) {
          float* p = d[l] + i * N[l + 1] + j;
          store(p, _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(load(h[l] + i * N[l + 1] + j), all(0), _CMP_GT_OQ), load(p)));
        }
    };
    relu_mask(1, r0, r0 + B / 2, 0, 256);
    barrier.wait();
    gemm(B, 256, 256, d[1], 256, 1, w[1] + k * 256 * 256, 1, 256, d[0] + k * 256, 512);
    relu_mask(0, 0, B, k * 256, k * 256 + 256);
    barrier.wait();
    gemm(128, 10, B, h[1] + k * 128, 1, 256, h[2], 16, 1, w[2] + k * 1280, 10, Into::Add, -0.01f);
    gemm(256, 256, B, h[0] + k * 256, 1, 512, d[1], 256, 1, w[1] + k * 65536, 256, Into::Add, -0.01f);
    gemm(392, 512, B, x + k * 392, 1, 784, d[0], 512, 1, w[0] + k * 392 * 512, 512, Into::Add, -0.01f);
    auto bias = [&](float* p, const float* g, long ld, long c0, long c1) {
      for (long j = c0; j < c1; j += 16) {
        V a = {};
        for (long i = 0; i < B; i++) a += load(g + i * ld + j);
        store(p + j, load(p + j) - 0.01f * a);
      }
    };
    bias(b[0], d[0], 512, k * 256, k * 256 + 256);
    bias(b[1], d[1], 256, k * 128, k * 128 + 128);
    if (k) bias(b[2], h[2], 16, 0, 10);
  }
  void step() {
    pool.run([&](int k) { work(k); });
  }
};

int main() {
  for (const Net& net : {kGru, kLstm})
    for (int v = 0; v < 8; v++) {
      Rnn r(net, v & 1, v & 2, v & 4);
      std::string f = std::string(r.by_units ? "step, (a) units split, a meeting a step" : "step, (b) batch split") +
                      (r.grads_at_end ? ", weight gradients at end" : ", weight gradients per step") +
                      (r.inputs_at_once ? ", inputs at once" : ", inputs per step");
      r.step();
      double l = r.loss[0] + r.loss[1];
      const long NU = net.nu * net.H;
      Buffer nu(net.H * NU), nw(net.D * NU), no(net.H * net.E);  // before the SGD step: both workers' shares added
      for (size_t i = 0; i < nu.n; i++) nu[i] = r.dU[0][i] + r.dU[1][i];
      for (size_t i = 0; i < nw.n; i++) nw[i] = r.dW[0][i] + r.dW[1][i];
      for (size_t i = 0; i < no.n; i++) no[i] = r.dO[0][i] + r.dO[1][i];
      double p = weighted(nu, nu.n), q = weighted(nw, nw.n), o = weighted(no, no.n), bz = weighted(r.bn, net.H);
      Buffer nb(NU);
      for (int j = 0; j < net.nu; j++) memcpy(nb + j * net.H, r.b + net.wblock[j] * net.H, net.H * 4);
      double bb = weighted(nb, NU);
      if (v == 0 || v == 3) {
        check(net.name, "loss", l);
        check(net.name, "dU", p);
        check(net.name, "dW", q);
        check(net.name, "dO", o);
        check(net.name, "b after the step", bb);
        if (!net.lstm) check(net.name, "bn after the step", bz);
        emit(net.name, "bytes kept for reverse", r.bytes_kept(), "bytes");
      }
      time_ms(net.name, f, [&] { r.step(); });
    }
  Mlp m;
  const char* c = "P10 MLP 784-512-256-10 B128";
  m.step();
  check(c, "loss", m.loss[0] + m.loss[1]);
  for (int l = 0; l < 3; l++) {
    Mlp z;
    Buffer d(m.w[l].n);
    for (size_t i = 0; i < d.n; i++) d[i] = m.w[l][i] - z.w[l][i];
    check(c, "change of w" + std::to_string(l), weighted(d, d.n));
    check(c, "change of b" + std::to_string(l), weighted(m.b[l], Mlp::N[l + 1]));
  }
  emit(c, "bytes kept for reverse", 4.0 * 128 * (512 + 256), "bytes");
  time_ms(c, "step", [&] { m.step(); });
}
