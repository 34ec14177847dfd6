// Case 12: softmax, layer norm and logsumexp where a row fits no cache, [16, 2^20], and down the columns of [1024,
// 4096]; forward and gradient of sum(square(result)), two workers. Each reads its input once for all sums, which are
// moved where a maximum or a mean moves, and once more for a result of its size.
#include "limits.h"

struct Args {
  const float* x;
  float* out;
  long rows, columns;
};
template <bool NT, class F>
static void each(const float* x, float* out, long n, F f) {
  for (long j = 0; j < n; j += 16) put<NT>(out + j, f(load(x + j)));
}

// The largest so far, and sums of exp(x - that) and of its square; the mean so far, and squares around it.
struct Exponentials {
  float m = -INFINITY, s = 0, s2 = 0;
};
struct Moments {
  float n = 0, mean = 0, squares = 0;
};
constexpr long kPart = 4096;  // elements that stay in the first-level cache
static INLINE V fold(V* s) { return (s[0] + s[1]) + (s[2] + s[3]); }
template <bool Squares>
static Exponentials exponentials(const float* x, long n) {
  Exponentials e;
  for (long i = 0; i < n; i += kPart) {
    const float* p = x + i;
    V a[4] = {load(p), load(p + 16), load(p + 32), load(p + 48)}, s[4] = {}, q[4] = {};
    for (long j = 64; j < kPart; j += 64)
      for (int k = 0; k < 4; k++) a[k] = _mm512_max_ps(load(p + j + 16 * k), a[k]);
    float m = std::max(e.m, largest(_mm512_max_ps(_mm512_max_ps(a[0], a[1]), _mm512_max_ps(a[2], a[3]))));
    float moved = expf(e.m - m);
    for (long j = 0; j < kPart; j += 64)
      for (int k = 0; k < 4; k++) {
        V v = exp(load(p + j + 16 * k) - m);
        s[k] += v;
        if (Squares) q[k] += v * v;
      }
    e = {m, e.s * moved + sum(fold(s)), e.s2 * moved * moved + sum(fold(q))};
  }
  return e;
}
static Moments moments(const float* x, long n) {  // Chan, Golub and LeVeque
  Moments all;
  for (long i = 0; i < n; i += kPart) {
    const float* p = x + i;
    V s[4] = {}, q[4] = {};
    for (long j = 0; j < kPart; j += 64)
      for (int k = 0; k < 4; k++) s[k] += load(p + j + 16 * k);
    float mean = sum(fold(s)) / kPart;
    for (long j = 0; j < kPart; j += 64)
      for (int k = 0; k < 4; k++) {
        V d = load(p + j + 16 * k) - mean;
        q[k] += d * d;
      }
    float n_all = all.n + kPart, off = mean - all.mean;
    all = {n_all, all.mean + off * (kPart / n_all), all.squares + sum(fold(q)) + off * off * (all.n * kPart / n_all)};
  }
  return all;
}
template <class F>
static void each_row(const Args& a, F f) {
  pool.split(a.rows, 1, [&](long i, long e) {
    for (; i < e; i++) f(a.x + i * a.columns, a.out + i * a.columns, i);
  });
}

template <bool NT>
static void softmax(const Args& a) {
  each_row(a, [&](const float* x, float* out, long) {
    Exponentials e = exponentials<false>(x, a.columns);
    V m = all(e.m), k = all(1 / e.s);
    each<NT>(x, out, a.columns, [&](V v) { return exp(v - m) * k; });
  });
}
template <bool NT>
static void softmax_grad(const Args& a) {  // p (2p - 2 sum p^2)
  each_row(a, [&](const float* x, float* out, long) {
    Exponentials e = exponentials<true>(x, a.columns);
    V m = all(e.m), k = all(1 / e.s), dot = all(2 * e.s2 / e.s / e.s);
    each<NT>(x, out, a.columns, [&](V v) {
      V p = exp(v - m) * k;
      return p * (2.0f * p - dot);
    });
  });
}
template <bool NT>
static void layernorm(const Args& a) {
  each_row(a, [&](const float* x, float* out, long) {
    Moments s = moments(x, a.columns);
    V m = all(s.mean), k = all(1 / sqrtf(s.squares / s.n + 1e-5f));
    each<NT>(x, out, a.columns, [&](V v) { return (v - m) * k; });
  });
}
template <bool NT>
static void layernorm_grad(const Args& a) {  // g = 2y: k (g - mean g - y mean(g y)), of which mean g is 0
  each_row(a, [&](const float* x, float* out, long) {
    Moments s = moments(x, a.columns);
    float k = 1 / sqrtf(s.squares / s.n + 1e-5f), my = 2 * s.squares * k * k / s.n;
    V m = all(s.mean), f = all(k * k * (2 - my));
    each<NT>(x, out, a.columns, [&](V v) { return (v - m) * f; });
  });
}
template <bool NT>
static void lse(const Args& a) {
  each_row(a, [&](const float* x, float*, long i) {
    Exponentials e = exponentials<false>(x, a.columns);
    a.out[i] = e.m + logf(e.s);
  });
}
template <bool NT>
static void lse_grad(const Args& a) {
  each_row(a, [&](const float* x, float* out, long) {
    Exponentials e = exponentials<false>(x, a.columns);
    V m = all(e.m), k = all(2 * (e.m + logf(e.s)) / e.s);
    each<NT>(x, out, a.columns, [&](V v) { return exp(v - m) * k; });
  });
}

// Down columns: 16 rows at a time, 64 columns of them, so that they are read from the first-level cache again.
constexpr long kDown = 16, kMost = 4096;
struct Columns {
  alignas(64) float m[kMost], s[kMost], s2[kMost];
};
static Columns columns;
template <bool Squares>
static void exponentials_down(const Args& a, long from, long to) {
  for (long j = from; j < to; j++) columns.m[j] = -INFINITY, columns.s[j] = columns.s2[j] = 0;
  for (long i = 0; i < a.rows; i += kDown)
    for (long j = from; j < to; j += 64) {
      const float* p = a.x + i * a.columns + j;
      V m[4], s[4], q[4];
      for (int k = 0; k < 4; k++) m[k] = load(columns.m + j + 16 * k);
      for (long r = 0; r < kDown; r++)
        for (int k = 0; k < 4; k++) m[k] = _mm512_max_ps(load(p + r * a.columns + 16 * k), m[k]);
      for (int k = 0; k < 4; k++) {
        V moved = exp(load(columns.m + j + 16 * k) - m[k]);
        s[k] = load(columns.s + j + 16 * k) * moved;
        if (Squares) q[k] = load(columns.s2 + j + 16 * k) * moved * moved;
      }
      for (long r = 0; r < kDown; r++)
        for (int k = 0; k < 4; k++) {
          V v = exp(load(p + r * a.columns + 16 * k) - m[k]);
          s[k] += v;
          if (Squares) q[k] += v * v;
        }
      for (int k = 0; k < 4; k++) {
        store(columns.m + j + 16 * k, m[k]), store(columns.s + j + 16 * k, s[k]);
        if (Squares) store(columns.s2 + j + 16 * k, q[k]);
      }
    }
}
static void moments_down(const Args& a, long from, long to) {  // m: means, s: squares
  for (long j = from; j < to; j++) columns.m[j] = columns.s[j] = 0;
  for (long i = 0; i < a.rows; i += kDown) {
    float share = float(kDown) / float(i + kDown), both = float(i) * share;
    for (long j = from; j < to; j += 64) {
      const float* p = a.x + i * a.columns + j;
      V m[4] = {}, q[4] = {};
      for (long r = 0; r < kDown; r++)
        for (int k = 0; k < 4; k++) m[k] += load(p + r * a.columns + 16 * k);
      for (int k = 0; k < 4; k++) m[k] *= 1.0f / kDown;
      for (long r = 0; r < kDown; r++)
        for (int k = 0; k < 4; k++) {
          V d = load(p + r * a.columns + 16 * k) - m[k];
          q[k] += d * d;
        }
      for (int k = 0; k < 4; k++) {
        V mean = load(columns.m + j + 16 * k), off = m[k] - mean;
        store(columns.m + j + 16 * k, mean + off * share);
        store(columns.s + j + 16 * k, load(columns.s + j + 16 * k) + q[k] + off * off * both);
      }
    }
  }
}
// `sums` of a worker's columns; then, element by element, what they and m[j], s[j] and s2[j] give.
template <bool NT, class Sums, class F>
static void down(const Args& a, Sums sums, F f) {
  pool.split(a.columns, 64, [&](long from, long to) {
    sums(from, to);
    for (long i = 0; i < a.rows; i++)
      for (long j = from; j < to; j += 16) put<NT>(a.out + i * a.columns + j, f(load(a.x + i * a.columns + j), j));
  });
}
template <bool NT>
static void softmax_down(const Args& a) {
  down<NT>(
      a,
      [&](long from, long to) {
        exponentials_down<false>(a, from, to);
        for (long j = from; j < to; j++) columns.s[j] = 1 / columns.s[j];
      },
      [&](V v, long j) { return exp(v - load(columns.m + j)) * load(columns.s + j); });
}
template <bool NT>
static void softmax_down_grad(const Args& a) {
  down<NT>(
      a,
      [&](long from, long to) {
        exponentials_down<true>(a, from, to);
        for (long j = from; j < to; j++) {
          columns.s[j] = 1 / columns.s[j];
          columns.s2[j] *= 2 * columns.s[j] * columns.s[j];
        }
      },
      [&](V v, long j) {
        V p = exp(v - load(columns.m + j)) * load(columns.s + j);
        return p * (2.0f * p - load(columns.s2 + j));
      });
}
template <bool NT>
static void layernorm_down(const Args& a) {
  down<NT>(
      a,
      [&](long from, long to) {
        moments_down(a, from, to);
        for (long j = from; j < to; j++) columns.s[j] = 1 / sqrtf(columns.s[j] / float(a.rows) + 1e-5f);
      },
      [&](V v, long j) { return (v - load(columns.m + j)) * load(columns.s + j); });
}
template <bool NT>
static void layernorm_down_grad(const Args& a) {
  down<NT>(
      a,
      [&](long from, long to) {
        moments_down(a, from, to);
        for (long j = from; j < to; j++) {
          float k = 1 / sqrtf(columns.s[j] / float(a.rows) + 1e-5f);
          columns.s[j] = k * k * (2 - 2 * columns.s[j] * k * k / float(a.rows));
        }
      },
      [&](V v, long j) { return (v - load(columns.m + j)) * load(columns.s + j); });
}
template <bool NT>
static void lse_down(const Args& a) {
  pool.split(a.columns, 64, [&](long from, long to) {
    exponentials_down<false>(a, from, to);
    for (long j = from; j < to; j += 16) store(a.out + j, load(columns.m + j) + log(load(columns.s + j)));
  });
}
template <bool NT>
static void lse_down_grad(const Args& a) {
  down<NT>(
      a,
      [&](long from, long to) {
        exponentials_down<false>(a, from, to);
        for (long j = from; j < to; j += 16) {
          V s = load(columns.s + j);
          store(columns.s + j, 2.0f * (load(columns.m + j) + log(s)) / s);
        }
      },
      [&](V v, long j) { return exp(v - load(columns.m + j)) * load(columns.s + j); });
}

static std::string only;  // measured are cases whose name has this in it
using Fn = void (*)(const Args&);
static void measure(const std::string& c, const char* what, Fn plain, Fn streamed, Args a, long out_n) {
  if (c.find(only) == std::string::npos) return;
  Buffer out(out_n);
  a.out = out;
  std::string w = what;
  time_ms(c, w + ", output reused", [&] { plain(a); });
  check(c, w + " sum", weighted(out, out_n));
  if (out_n > 200000) time_ms(c, w + ", output reused, non-temporal stores", [&] { streamed(a); });
}
#define BOTH(f) f<false>, f<true>
int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  {
    Buffer x(16L << 20);
    x.fill(1, -2, 2);
    Args a{x, nullptr, 16, 1L << 20};
    long n = 16L << 20;
    measure("softmax [16,2^20]", "forward", BOTH(softmax), a, n);
    measure("softmax [16,2^20]", "gradient", BOTH(softmax_grad), a, n);
    measure("layernorm [16,2^20]", "forward", BOTH(layernorm), a, n);
    measure("layernorm [16,2^20]", "gradient", BOTH(layernorm_grad), a, n);
    measure("logsumexp [16,2^20]", "forward", BOTH(lse), a, 16);
    measure("logsumexp [16,2^20]", "gradient", BOTH(lse_grad), a, n);
  }
  Buffer x(1024L * 4096);
  x.fill(1, -2, 2);
  Args a{x, nullptr, 1024, 4096};
  long n = 1024L * 4096;
  measure("softmax down [1024,4096]", "forward", BOTH(softmax_down), a, n);
  measure("softmax down [1024,4096]", "gradient", BOTH(softmax_down_grad), a, n);
  measure("layernorm down [1024,4096]", "forward", BOTH(layernorm_down), a, n);
  measure("layernorm down [1024,4096]", "gradient", BOTH(layernorm_down_grad), a, n);
  measure("logsumexp down [1024,4096]", "forward", BOTH(lse_down), a, 4096);
  measure("logsumexp down [1024,4096]", "gradient", BOTH(lse_down_grad), a, n);
}
