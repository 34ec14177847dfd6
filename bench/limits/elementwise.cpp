// Case 4: elementwise chains and row reductions, forward and gradient of sum(square(result)), two workers.
// Outputs: reused; reused with non-temporal stores; fresh from malloc; from a caching allocator of 2 MiB-aligned
// huge-page blocks (4 in rotation).
#include "limits.h"
constexpr float kA = 0.7978845608f, kB = 0.044715f;
struct Args {
  const float *x, *y, *z;
  float* out[3];
  long n;
};  // n is a multiple of 16 in every case

template <bool NT>
static void gelu(const Args& a) {
  pool.split(a.n, 1024, [&](long i, long e) {
    for (; i < e; i += 16) {
      V x = load(a.x + i), t = tanh(kA * (x + kB * x * x * x));
      put<NT>(a.out[0] + i, 0.5f * x * (1.0f + t) * load(a.y + i) + tanh(load(a.z + i)));
    }
  });
}
template <bool NT>
static void gelu_grad(const Args& a) {
  pool.split(a.n, 1024, [&](long i, long e) {
    for (; i < e; i += 16) {
      V x = load(a.x + i), y = load(a.y + i), t = tanh(kA * (x + kB * x * x * x)), h = tanh(load(a.z + i)),
        g = 0.5f * x * (1.0f + t), d = 2.0f * (g * y + h);
      put<NT>(a.out[0] + i, d * y * (0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * (kA * (1.0f + 3 * kB * x * x))));
      put<NT>(a.out[1] + i, d * g);
      put<NT>(a.out[2] + i, d * (1.0f - h * h));
    }
  });
}
template <bool NT>
static void sin20(const Args& a) {
  pool.split(a.n, 1024, [&](long i, long e) {
    for (; i < e; i += 128) {
      V v[8];
      for (int j = 0; j < 8; j++) v[j] = load(a.x + i + 16 * j);
      for (int k = 0; k < 20; k++)
        for (auto& u : v) u = sin(u) + 0.1f;
      for (int j = 0; j < 8; j++) put<NT>(a.out[0] + i + 16 * j, v[j]);
    }
  });
}
template <bool NT>
static void sin20_grad(const Args& a) {
  pool.split(a.n, 1024, [&](long i, long e) {
    for (; i < e; i += 128) {
      V v[8], c[20][8];
      for (int j = 0; j < 8; j++) v[j] = load(a.x + i + 16 * j);
      for (int k = 0; k < 20; k++)
        for (int j = 0; j < 8; j++) {
          V s;
          sincos(v[j], s, c[k][j]);
          v[j] = s + 0.1f;
        }
      for (int j = 0; j < 8; j++) {
        V g = 2.0f * v[j];
        for (int k = 20; k-- > 0;) g *= c[k][j];
        put<NT>(a.out[0] + i + 16 * j, g);
      }
    }
  });
}
static float ssd_value;
template <bool NT>
static void ssd(const Args& a) {
  alignas(64) float part[2][16];
  pool.run([&](int w) {
    V s[8] = {};
    for (long i = w * a.n / 2; i < (w + 1) * a.n / 2; i += 128)
      for (int k = 0; k < 8; k++) {
        V d = load(a.x + i + 16 * k) - load(a.y + i + 16 * k);
        s[k] += d * d;
      }
    part[w][0] = sum(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])));
  });
  ssd_value = part[0][0] + part[1][0];
}
template <bool NT>
static void ssd_grad(const Args& a) {  // of the square of the sum, as the peers do: two passes
  ssd<NT>(a);
  V k = all(4 * ssd_value);
  pool.split(a.n, 1024, [&](long i, long e) {
    for (; i < e; i += 16) {
      V d = k * (load(a.x + i) - load(a.y + i));
      put<NT>(a.out[0] + i, d);
      put<NT>(a.out[1] + i, 0.0f - d);
    }
  });
}
constexpr long C = 1024;  // columns of the row cases
template <class F>
static void rows(const Args& a, F f) {
  pool.split(a.n / C, 1, [&](long i, long e) {
    for (; i < e; i++) f(i);
  });
}
static INLINE V fold(V* s) { return (s[0] + s[1]) + (s[2] + s[3]); }
// One row: its maximum, exp(x - max) into e, returns the sum.
static INLINE float exp_row(const float* p, float* e, float& m) {
  V a[4] = {load(p), load(p + 16), load(p + 32), load(p + 48)}, s[4] = {};
  for (long j = 64; j < C; j += 64)
    for (int k = 0; k < 4; k++) a[k] = _mm512_max_ps(load(p + j + 16 * k), a[k]);
  m = largest(_mm512_max_ps(_mm512_max_ps(a[0], a[1]), _mm512_max_ps(a[2], a[3])));
  for (long j = 0; j < C; j += 64)
    for (int k = 0; k < 4; k++) {
      V v = exp(load(p + j + 16 * k) - m);
      store(e + j + 16 * k, v);
      s[k] += v;
    }
  return sum(fold(s));
}
// Where a row's exponentials wait: in its output, or beside it where that is written past the caches.
template <bool NT>
static INLINE float* waiting(const Args& a, long i) {
  alignas(64) static thread_local float beside[C];
  return NT ? beside : a.out[0] + i * C;
}
template <bool NT>
static void softmax(const Args& a) {
  rows(a, [&](long i) {
    float *e = waiting<NT>(a, i), m, s = 1 / exp_row(a.x + i * C, e, m);
    for (long j = 0; j < C; j += 16) put<NT>(a.out[0] + i * C + j, load(e + j) * s);
  });
}
template <bool NT>
static void softmax_grad(const Args& a) {
  rows(a, [&](long i) {
    float *e = waiting<NT>(a, i), m, k = 1 / exp_row(a.x + i * C, e, m);
    V s[4] = {};
    for (long j = 0; j < C; j += 64)
      for (int v = 0; v < 4; v++) s[v] += load(e + j + 16 * v) * load(e + j + 16 * v);
    float dot = 2 * k * k * sum(fold(s));
    for (long j = 0; j < C; j += 16) {
      V p = load(e + j) * k;
      put<NT>(a.out[0] + i * C + j, p * (2.0f * p - dot));
    }
  });
}
static INLINE void moments(const float* p, float& mean,
                           float& k) {  // two passes over a row that is in L1, as the formula says
  V s[4] = {}, q[4] = {};
  for (long j = 0; j < C; j += 64)
    for (int v = 0; v < 4; v++) s[v] += load(p + j + 16 * v);
  mean = sum(fold(s)) / C;
  for (long j = 0; j < C; j += 64)
    for (int v = 0; v < 4; v++) {
      V d = load(p + j + 16 * v) - mean;
      q[v] += d * d;
    }
  k = 1 / sqrtf(sum(fold(q)) / C + 1e-5f);
}
template <bool NT>
static void layernorm(const Args& a) {
  rows(a, [&](long i) {
    const float* p = a.x + i * C;
    float m, k;
    moments(p, m, k);
    for (long j = 0; j < C; j += 16) put<NT>(a.out[0] + i * C + j, (load(p + j) - m) * k);
  });
}
template <bool NT>
static void layernorm_grad(const Args& a) {  // cotangent g = 2y: dx = k·(g - mean(g) - y·mean(g·y))
  rows(a, [&](long i) {
    const float* p = a.x + i * C;
    float m, k;
    moments(p, m, k);
    V s[4] = {}, q[4] = {};
    for (long j = 0; j < C; j += 64)
      for (int v = 0; v < 4; v++) {
        V y = (load(p + j + 16 * v) - m) * k;
        s[v] += y;
        q[v] += y * y;
      }
    float mg = 2 * sum(fold(s)) / C, my = 2 * sum(fold(q)) / C;
    for (long j = 0; j < C; j += 16) {
      V y = (load(p + j) - m) * k;
      put<NT>(a.out[0] + i * C + j, k * (2.0f * y - mg - y * my));
    }
  });
}
template <bool NT>
static void lse(const Args& a) {
  rows(a, [&](long i) {
    alignas(64) float e[C];
    float m, s = exp_row(a.x + i * C, e, m);
    a.out[0][i] = m + logf(s);
  });
}
template <bool NT>
static void lse_grad(const Args& a) {
  rows(a, [&](long i) {
    float *e = waiting<NT>(a, i), m, s = exp_row(a.x + i * C, e, m), k = 2 * (m + logf(s)) / s;
    for (long j = 0; j < C; j += 16) put<NT>(a.out[0] + i * C + j, k * load(e + j));
  });
}

static std::string only;  // measured are cases whose name has this in it

using Fn = void (*)(const Args&);
static void measure(const std::string& c, const char* what, Fn plain, Fn streamed, Args a, int outs, long out_n) {
  if (c.find(only) == std::string::npos) return;
  std::vector<Buffer*> cache;
  for (int i = 0; i < 4 * outs; i++) cache.push_back(new Buffer(out_n));
  std::string w = what;
  for (int k = 0; k < outs; k++) a.out[k] = *cache[k];
  time_ms(c, w + ", output reused", [&] { plain(a); });
  double s = ssd_value;
  for (int k = 0; k < outs; k++) s += (k + 1) * weighted(a.out[k], out_n);
  check(c, w + " sum", s);
  if (outs && out_n > 200000) time_ms(c, w + ", output reused, non-temporal stores", [&] { streamed(a); });
  if (outs) {
    time_ms(c, w + ", fresh from malloc", [&] {
      Args b = a;
      for (int k = 0; k < outs; k++) b.out[k] = (float*)malloc(out_n * 4);
      plain(b);
      for (int k = 0; k < outs; k++) free(b.out[k]);
    });
    int turn = 0;
    time_ms(c, w + ", caching allocator", [&] {
      Args b = a;
      for (int k = 0; k < outs; k++) b.out[k] = *cache[turn++ % cache.size()];
      plain(b);
    });
  }
  for (auto* b : cache) delete b;
}
#define BOTH(f) f<false>, f<true>
int main(int argc, char** argv) {
  if (argc > 1) only = argv[1];
  for (long n : {5000000L, 100000L}) {
    long m = (n + 127) / 128 * 128;
    Buffer x(m), y(m), z(m);
    x.fill(1, -2, 2);
    y.fill(2, -2, 2);
    z.fill(3, -2, 2);
    std::string s = " n=" + std::to_string(n);
    Args a{x, y, z, {}, m};
    measure("P9 gelu*y+tanh" + s, "forward", BOTH(gelu), a, 1, m);
    measure("P9 gelu*y+tanh" + s, "gradient", BOTH(gelu_grad), a, 3, m);
    measure("P9 20x sin" + s, "forward", BOTH(sin20), a, 1, m);
    measure("P9 20x sin" + s, "gradient", BOTH(sin20_grad), a, 1, m);
  }
  for (long side : {256L, 0L}) {
    long n = side ? side * side * side : 98 * 1024;
    std::string c = side ? "P9 ssd 256^3" : "P9 ssd n=100352";
    Buffer x(n), y(n);
    x.fill(1, 0, .01f);
    y.fill(2, 0, .01f);
    Args a{x, y, nullptr, {}, n};
    measure(c, "forward", BOTH(ssd), a, 0, 0);
    measure(c, "gradient", BOTH(ssd_grad), a, 2, n);
    ssd_value = 0;
  }
  for (long R : {4096L, 98L}) {
    std::string shape = " [" + std::to_string(R) + ",1024]";
    Buffer x(R * C);
    x.fill(1, -2, 2);
    Args a{x, nullptr, nullptr, {}, R * C};
    measure("P9 softmax" + shape, "forward", BOTH(softmax), a, 1, R * C);
    measure("P9 softmax" + shape, "gradient", BOTH(softmax_grad), a, 1, R * C);
    measure("P9 layernorm" + shape, "forward", BOTH(layernorm), a, 1, R * C);
    measure("P9 layernorm" + shape, "gradient", BOTH(layernorm_grad), a, 1, R * C);
    measure("P9 logsumexp" + shape, "forward", BOTH(lse), a, 1, R);
    measure("P9 logsumexp" + shape, "gradient", BOTH(lse_grad), a, 1, R * C);
  }
}
