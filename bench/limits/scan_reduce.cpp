// Case 5: loss = mean(square(y - scan(cell))). Cells: sin(c + x), and a tanh RNN. Stacked (the outputs are stored, then
// reduced) and fused.
#include "gemm.h"
// --- sin(c + x): each worker runs the whole scan on its slice [a, b) of the B·D lanes, `Block` lanes at a time. A
// narrow block keeps carries in registers but touches memory in short pieces with a long stride, which the prefetchers
// do not follow: Ahead > 0 prefetches that many steps ahead. Residuals of the gradient: cos(c + x) in a tape of T·Block
// floats, and the error, which is kept in dx until dx overwrites it.
template <int Block, int Ahead>
static double elem_fused(const float* xs, const float* y, float* dx, float* dc0, float* tape, long T, long L, long a,
                         long b) {
  V total = {};
  const float k = 2.0f / (float(T) * L);
  alignas(64) static thread_local float c[Block];
  for (long l = a; l < b; l += Block) {
    V s[2] = {};
    memset(c, 0, sizeof c);
    for (long t = 0; t < T; t++)
      for (long v = 0; v < Block; v += 16) {
        long o = t * L + l + v;
        V q, x = load(xs + o) + load(c + v), e;
        if (Ahead) {
          _mm_prefetch(xs + o + Ahead * L, _MM_HINT_T0);
          _mm_prefetch(y + o + Ahead * L, _MM_HINT_T0);
          if (dx) __builtin_prefetch(dx + o + Ahead * L, 1);
        }
        if (!dx) {
          x = sin(x);
          store(c + v, x);
          e = x - load(y + o);
          s[v / 16 % 2] += e * e;
          continue;
        }
        sincos(x, x, q);
        store(c + v, x);
        e = x - load(y + o);
        s[v / 16 % 2] += e * e;
        store(tape + t * Block + v, q);
        store(dx + o, e);
      }
    total += s[0] + s[1];
    if (!dx) continue;
    memset(c, 0, sizeof c);
    for (long t = T; t-- > 0;)
      for (long v = 0; v < Block; v += 16) {
        long o = t * L + l + v;
        if (Ahead && t >= Ahead) __builtin_prefetch(dx + o - Ahead * L, 1);
        V g = (load(c + v) + k * load(dx + o)) * load(tape + t * Block + v);
        store(c + v, g);
        store(dx + o, g);
      }
    memcpy(dc0 + l, c, sizeof c);
  }
  return sum(total) / (double(T) * L);
}
// Step by step over all lanes, both workers on each step, outputs stacked; then the reduction as a pass of its own.
static double elem_stacked(const float* xs, const float* y, float* ys, float* dx, float* cosines, long T, long L,
                           double* part) {
  static Barrier meet;
  pool.run([&](int w) {
    long a = w * L / 2, b = a + L / 2;
    V s = {};
    const float k = 2.0f / (float(T) * L);
    for (long t = 0; t < T; t++) {
      for (long l = a; l < b; l += 16) {
        long o = t * L + l;
        V c = t ? load(ys + o - L) : V{}, q;
        if (dx) {
          sincos(c + load(xs + o), c, q);
          store(cosines + o, q);
        } else
          c = sin(c + load(xs + o));
        store(ys + o, c);
      }
      meet.wait();
    }
    for (long o = w * T * L / 2; o < (w + 1) * T * L / 2; o += 16) {
      V e = load(y + o) - load(ys + o);
      s += e * e;
    }
    part[w] = sum(s) / (double(T) * L);
    if (dx) {
      meet.wait();
      for (long t = T; t-- > 0;)
        for (long l = a; l < b; l += 16) {
          long o = t * L + l;
          V g = t + 1 < T ? load(dx + o + L) : V{};
          store(dx + o, (g + k * (load(ys + o) - load(y + o))) * load(cosines + o));
        }
    }
  });
  return part[0] + part[1];
}
// --- RNN: c' = tanh(c·U + x·W + b). Each worker runs the whole loop on half of the batch. Reverse: dg = (g + k·e)(1 -
// c²), g = dg·Uᵀ, weight gradients as products over all steps at the end. Residual: the outputs c.
struct Rnn {
  long T, B, D, r;
  Buffer u, w, b, xs, y, ys, g, packU, packW, packUt, du[2], dw[2], db[2];
  double loss[2];
  Barrier meet;
  Rnn(long T, long B, long D)
      : T(T),
        B(B),
        D(D),
        r(B / 2),
        u(D * D),
        w(D * D),
        b(D),
        xs(T * B * D),
        y(T * B * D),
        ys((T + 2) * B * D),
        g(T * B * D),
        packU(D * D),
        packW(D * D),
        packUt(D * D),
        du{Buffer(D * D), Buffer(D * D)},
        dw{Buffer(D * D), Buffer(D * D)},
        db{Buffer(D), Buffer(D)} {
    float a = 1.7f / sqrtf(D);
    u.fill(3, -a, a);
    w.fill(4, -a, a);
    xs.fill(1, -1.7f, 1.7f);
    y.fill(2, -1.7f, 1.7f);
  }
  void work(int k, bool stacked, bool grad) {
    for (long p = k; p < D / 64; p += 2) {
      pack(u + p * 64, D, 1, D, 64, 64, packU + p * 64 * D);
      pack(w + p * 64, D, 1, D, 64, 64, packW + p * 64 * D);
      if (grad) pack(u + p * 64 * D, 1, D, D, 64, 64, packUt + p * 64 * D);
    }
    meet.wait();
    float *c = ys + k * (T + 1) * r * D, *G = g + k * T * r * D;
    V s = {};
    const float scale = 2.0f / (float(T) * B * D);
    bool keep_all = stacked || grad;
    for (long t = 0; t < T; t++) {
      const float* x = xs + t * B * D + k * r * D;
      const float* yy = y + t * B * D + k * r * D;
      float *c0 = c + (keep_all ? t : t % 2) * r * D, *c1 = c + (keep_all ? t + 1 : (t + 1) % 2) * r * D;
      if (!t) memset(c0, 0, r * D * 4);
      for (long p = 0; p < D; p += 64)
        for (long q = 0; q < D; q += 128) {
          panel(r, 64, 128, x + q, D, 1, packW + p * D + q * 64, 64, c1 + p, D, q ? Into::Add : Into::Bias, 1, b + p);
        }
      for (long p = 0; p < D; p += 64)
        for (long q = 0; q < D; q += 128)
          panel(r, 64, 128, c0 + q, D, 1, packU + p * D + q * 64, 64, c1 + p, D, Into::Add);
      for (long i = 0; i < r * D; i += 16) {
        V v = tanh(load(c1 + i));
        store(c1 + i, v);
        if (!stacked) {
          V e = v - load(yy + i);
          s += e * e;
          if (grad) store(G + t * r * D + i, e * scale);
        }
      }
    }
    if (stacked)
      for (long t = 0; t < T; t++)
        for (long i = 0; i < r * D; i += 16) {
          V e = load(c + (t + 1) * r * D + i) - load(y + t * B * D + k * r * D + i);
          s += e * e;
          if (grad) store(G + t * r * D + i, e * scale);
        }
    loss[k] = sum(s) / (double(T) * B * D);
    if (!grad) return;
    for (long t = T; t-- > 0;) {
      float* d = G + t * r * D;
      const float* c1 = c + (t + 1) * r * D;
      for (long i = 0; i < r * D; i += 16) {
        V v = load(c1 + i);
        store(d + i, load(d + i) * (1.0f - v * v));
      }
      if (t)
        for (long p = 0; p < D; p += 64)
          for (long q = 0; q < D; q += 128)
            panel(r, 64, 128, d + q, D, 1, packUt + p * D + q * 64, 64, d - r * D + p, D, Into::Add);
    }
    gemm(D, D, T * r, c, 1, D, G, D, 1, du[k], D);
    for (long t = 0; t < T;
         t += 8) {  // eight steps of this worker's inputs side by side: a longer inner product per visit of dw
      alignas(64) static thread_local float x8[8 * 32 * 256];
      for (long j = 0; j < 8; j++) memcpy(x8 + j * r * D, xs + (t + j) * B * D + k * r * D, r * D * 4);
      gemm(D, D, 8 * r, x8, 1, D, G + t * r * D, D, 1, dw[k], D, t ? Into::Add : Into::Zero, 1, nullptr, 8 * r);
    }
    for (long j = 0; j < D; j += 16) {
      V a = {};
      for (long i = 0; i < T * r; i++) a += load(G + i * D + j);
      store(db[k] + j, a);
    }
    meet.wait();
    for (long i = k * D * D / 2; i < (k + 1) * D * D / 2; i += 16) {
      store(du[0] + i, load(du[0] + i) + load(du[1] + i));
      store(dw[0] + i, load(dw[0] + i) + load(dw[1] + i));
    }
    if (k)
      for (long j = 0; j < D; j += 16) store(db[0] + j, load(db[0] + j) + load(db[1] + j));
  }
  void run(bool stacked, bool grad) {
    pool.run([&](int k) { work(k, stacked, grad); });
  }
};
int main() {
  for (auto [T, B, D] : {std::array<long, 3>{1000, 32, 128}, {200, 64, 256}}) {
    long L = B * D;
    Buffer xs(T * L + 8 * L), y(T * L + 8 * L), ys(T * L), dx(T * L + 8 * L), cosines(T * L), dc(L), tape(T * L);
    xs.fill(1, -1.7f, 1.7f);
    y.fill(2, -1.7f, 1.7f);
    double part[2], l = 0;
    std::string size = " T" + std::to_string(T) + " B" + std::to_string(B) + " D" + std::to_string(D),
                c = "P1 sin(c+x)" + size;
    time_ms(c, "forward, stacked, both workers on each step",
            [&] { l = elem_stacked(xs, y, ys, nullptr, nullptr, T, L, part); });
    time_ms(c, "value and gradient, stacked, both workers on each step",
            [&] { l = elem_stacked(xs, y, ys, dx, cosines, T, L, part); });
    emit(c, "bytes kept, stacked", T * L * 8.0, "bytes");
    auto split = [&]<int Block, int Ahead>(const char* how) {
      if (Block * 2 > L) return;
      for (bool g : {false, true})
        time_ms(c, std::string(g ? "value and gradient" : "forward") + ", fused, loop split along the elements, " + how,
                [&] {
                  pool.run([&](int w) {
                    part[w] = elem_fused<Block, Ahead>(xs, y, g ? (float*)dx : nullptr, dc, tape + w * T * Block, T, L,
                                                       w * L / 2, (w + 1) * L / 2);
                  });
                  l = part[0] + part[1];
                });
      emit(c, std::string("bytes kept, ") + how, 2.0 * T * Block * 4, "bytes");
    };
    split.operator()<128, 0>("128 lanes at a time");
    split.operator()<128, 4>("128 lanes at a time, prefetched");
    split.operator()<512, 2>("512 lanes at a time, prefetched");
    split.operator()<2048, 0>("2048 lanes at a time");
    split.operator()<8192, 0>("8192 lanes at a time");
    check(c, "loss", l);
    check(c, "d xs", weighted(dx, T * L));
    Rnn r(T, B, D);
    c = "P1 rnn" + size;
    for (bool g : {false, true})
      for (bool st : {true, false})
        time_ms(c, std::string(g ? "value and gradient, " : "forward, ") + (st ? "stacked" : "fused") + ", batch split",
                [&] { r.run(st, g); });
    check(c, "loss", r.loss[0] + r.loss[1]);
    check(c, "d u", weighted(r.du[0], D * D));
    check(c, "d w", weighted(r.dw[0], D * D));
    check(c, "d b", weighted(r.db[0], D));
    emit(c, "bytes kept (outputs and errors)", 8.0 * T * L, "bytes");
  }
}
