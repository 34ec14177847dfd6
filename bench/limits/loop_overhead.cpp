// Case 2: nanoseconds per iteration of five small bodies, forward and value+gradient (loss = sum of the last carry).
#include <type_traits>

#include "limits.h"
typedef float V8 __attribute__((vector_size(32)));
typedef double D4 __attribute__((vector_size(32)));

// A scalar sin for latency: |x| < pi/2 skips the reduction (a predicted branch); otherwise the same three-part
// reduction as limits.h.
static INLINE float sin1(float x) {
  float r = x;
  uint32_t sign = 0;
  if (__builtin_expect(!(fabsf(x) < 1.5707f), 0)) {
    if (!(fabsf(x) < 1e5f)) return sinf(x);
    float k = x * kInvPi + kMagic;
    sign = std::bit_cast<uint32_t>(k) << 31;
    k -= kMagic;
    r = ((x - k * kPi1) - k * kPi2) - k * kPi3;
  }
  float s = r * r, p = (kSin3 + s * kSin5) + (s * s) * (kSin7 + s * kSin9), y = r + (r * s) * p;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(y) ^ sign);
}
static INLINE float sin1_branch_free(float x) {
  float k = x * kInvPi + kMagic;
  uint32_t sign = std::bit_cast<uint32_t>(k) << 31;
  k -= kMagic;
  float r = ((x - k * kPi1) - k * kPi2) - k * kPi3, s = r * r, p = (kSin3 + s * kSin5) + (s * s) * (kSin7 + s * kSin9),
        y = r + (r * s) * p;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(y) ^ sign);
}
// The same in f64: |x| <= pi/2, odd series to x^19 (its error stays at about 1 ulp); cos(x) = 1 - 2 sin(x/2)^2.
static INLINE double sin1(double x) {
  if (__builtin_expect(!(fabs(x) < 1.5707), 0)) return ::sin(x);
  double s = x * x, q = s * s, r = q * q;
  double low = (1.0 + s * (-1.0 / 6)) + q * (1.0 / 120 + s * (-1.0 / 5040));
  double high = (1.0 / 362880 + s * (-1.0 / 39916800)) + q * (1.0 / 6227020800 + s * (-1.0 / 1307674368000)) +
                r * (1.0 / 355687428096000 - s * (1.0 / 121645100408832000));
  return x * (low + r * high);
}
static INLINE double cos1(double x) {
  double h = sin1(0.5 * x);
  return 1 - 2 * h * h;
}
template <class F>
void per_step(const char* c, const char* fig, long n, F f) {
  double s = seconds(f);
  emit(std::string("P6 ") + c, fig, s / n * 1e9, "ns/iter");
}

static const double A0[9] = {1.01, .01, .01, .01, 1.01, .01, .01, .01, 1.01};
struct M3 {
  D4 row[3];
};
// 0.5·(A·B·C): rows as 4-lane vectors, (A·B) by broadcast constants, (·C) by lane broadcasts; grouped as written.
static INLINE M3 product(const double* A, M3 B, const double* C) {
  M3 out;
  D4 c[3];
  for (int k = 0; k < 3; k++) c[k] = D4{C[3 * k], C[3 * k + 1], C[3 * k + 2], 0};
  for (int r = 0; r < 3; r++) {
    D4 t = A[3 * r] * B.row[0] + A[3 * r + 1] * B.row[1] + A[3 * r + 2] * B.row[2];
    D4 t0 = (D4)_mm256_permute4x64_pd(t, 0x00), t1 = (D4)_mm256_permute4x64_pd(t, 0x55),
       t2 = (D4)_mm256_permute4x64_pd(t, 0xaa);
    out.row[r] = 0.5 * (t0 * c[0] + t1 * c[1] + t2 * c[2]);
  }
  return out;
}
struct S3 {
  double v[9];
};
static INLINE S3 product(const double* A, S3 B, const double* C) {  // the same with 9 scalars in registers
  S3 t, o;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++)
      t.v[3 * r + c] = A[3 * r] * B.v[c] + A[3 * r + 1] * B.v[3 + c] + A[3 * r + 2] * B.v[6 + c];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++)
      o.v[3 * r + c] = 0.5 * (t.v[3 * r] * C[c] + t.v[3 * r + 1] * C[3 + c] + t.v[3 * r + 2] * C[6 + c]);
  return o;
}

// 60 scalars: v[k] <- 0.99 v[k] + 0.01 v[k+1 mod 60]; reverse: g[k] <- 0.99 g[k] + 0.01 g[k-1 mod 60]. No residuals:
// the body is linear. In registers: 4 vectors of 15 lanes, so that every vector rotates alike: the neighbour of lane l
// of vector j is lane l of vector j+1 (k = 4l + j).
template <int Dir>
static INLINE void rotate60(V* v) {
  static const VI up = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 15},
                  down = {14, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15};
  V edge = _mm512_permutexvar_ps((__m512i)(Dir > 0 ? up : down), Dir > 0 ? v[0] : v[3]);
  // The neighbour enters at the fused addition, late, to keep the shuffle off the longer chain (a small gain here: 5.7
  // to 5.3 ns).
  auto mix = [](V own, V next) { return (V)_mm512_fmadd_ps(next, all(0.01f), own * 0.99f); };
  if (Dir > 0) {
    for (int j = 0; j < 3; j++) v[j] = mix(v[j], v[j + 1]);
    v[3] = mix(v[3], edge);
  } else {
    for (int j = 3; j > 0; j--) v[j] = mix(v[j], v[j - 1]);
    v[0] = mix(v[0], edge);
  }
}
static void pack60(const float* x, V* v) {
  for (int j = 0; j < 4; j++)
    for (int l = 0; l < 15; l++) v[j][l] = x[4 * l + j];
}
static INLINE float total60(const V* v) { return sum(v[0] + v[1] + v[2] + v[3]); }

static INLINE V8 small_body(V8 t) { return (t * 0.9f + 0.05f) - 0.01f * t * t; }

template <class T>
void logistic(const char* c, long n) {
  volatile T x0 = T(0.5);
  T x, g;
  Buffer big(2 * n);
  T* t = (T*)big.p;
  const T r = T(3.7), one = 1;
  per_step(c, "forward", n, [&] {
    x = x0;
    for (long i = 0; i < n; i++) x = r * x * (one - x);
    keep(x);
  });
  per_step(c, "value and gradient", n, [&] {
    x = x0;
    for (long i = 0; i < n; i++) {
      t[i] = x;
      x = r * x * (one - x);
    }
    g = 1;
    for (long i = n; i-- > 0;) g *= r - 2 * r * t[i];
    keep(g);
  });
  x = T(0.3);
  g = 1;
  for (int i = 0; i < 20; i++) {
    g *= r - 2 * r * x;
    x = r * x * (one - x);
  }
  check(c, "x0=0.3, 20 steps", x);
  check(c, "gradient, 20 steps", g);
}

int main() {
  const long N = 1000000, M = 100000;
  Buffer tape(std::max(N, M * 8) + 1024);
  {
    const char* c = "sin f32 scalar";
    volatile float c0 = 0.5f;
    float x, g;
    per_step(c, "forward, libm", N, [&] {
      x = c0;
      for (long i = 0; i < N; i++) x = sinf(x) + 1e-3f;
      keep(x);
    });
    per_step(c, "forward, polynomial, branch-free", N, [&] {
      x = c0;
      for (long i = 0; i < N; i++) x = sin1_branch_free(x) + 1e-3f;
      keep(x);
    });
    per_step(c, "forward, polynomial, branch on |x| < pi/2", N, [&] {
      x = c0;
      for (long i = 0; i < N; i++) x = sin1(x) + 1e-3f;
      keep(x);
    });
    check(c, "result", x);
    auto vg = [&] {
      x = c0;
      for (long i = 0; i < N; i++) {
        tape[i] = x;
        x = sin1(x) + 1e-3f;
      }
      g = 1;
      for (long i = N; i > 0; i -= 16) {
        float k[16];
        store(k, cos(load(tape + i - 16)));
        for (int j = 16; j-- > 0;) g *= k[j];
      }
      keep(g);
    };
    per_step(c, "value and gradient", N, vg);
    {
      FlushSubnormals f;
      per_step(c, "value and gradient, subnormals flushed", N, vg);
    }
    per_step(c, "value and gradient, 16 partial products", N, [&] {
      x = c0;
      for (long i = 0; i < N; i++) {
        tape[i] = x;
        x = sin1(x) + 1e-3f;
      }
      V p = all(1);
      for (long i = 0; i < N; i += 16) p *= cos(load(tape + i));
      g = _mm512_reduce_mul_ps(p);
      keep(g);
    });
    float y = 0.5f;
    double d = 1;
    for (int i = 0; i < 20; i++) {
      d *= ::cos(y);
      y = sin1(y) + 1e-3f;
    }
    check(c, "gradient, 20 steps", d);
  }
  logistic<double>("logistic f64 scalar", N);
  logistic<float>("logistic f32 scalar", N);
  {
    const char* c = "sin f64 scalar";
    volatile double c0 = 0.5;
    double x, g;
    Buffer big(2 * N);
    double* t = (double*)big.p;
    per_step(c, "forward, libm", N, [&] {
      x = c0;
      for (long i = 0; i < N; i++) x = ::sin(x) + 1e-3;
      keep(x);
    });
    check(c, "result", x);
    FlushSubnormals f;
    per_step(c, "value and gradient, libm, subnormals flushed", N, [&] {
      x = c0;
      for (long i = 0; i < N; i++) {
        t[i] = x;
        x = ::sin(x) + 1e-3;
      }
      g = 1;
      for (long i = N; i-- > 0;) g *= ::cos(t[i]);
      keep(x);
      keep(g);
    });
    per_step(c, "forward, polynomial, branch on |x| < pi/2", N, [&] {
      x = c0;
      for (long i = 0; i < N; i++) x = sin1(x) + 1e-3;
      keep(x);
    });
    check(c, "result, polynomial", x);
    per_step(c, "value and gradient, polynomial, subnormals flushed", N, [&] {
      x = c0;
      for (long i = 0; i < N; i++) {
        t[i] = x;
        x = sin1(x) + 1e-3;
      }
      g = 1;
      for (long i = N; i > 0; i -= 8) {
        double k[8];
        for (int j = 0; j < 8; j++) k[j] = cos1(t[i - 8 + j]);
        for (int j = 8; j-- > 0;) g *= k[j];
      }
      keep(x);
      keep(g);
    });
    double y = 0.5, d = 1;
    for (int i = 0; i < 20; i++) {
      d *= cos1(y);
      y = sin1(y) + 1e-3;
    }
    check(c, "gradient, 20 steps", d);
  }
  {
    const char* c = "3x3 f64 2 products";
    volatile double k = 1;
    double At[9];
    for (int i = 0; i < 9; i++) At[i] = A0[i % 3 * 3 + i / 3];  // the cotangent: 0.5·Aᵀ·G·Aᵀ
    auto run = [&](auto B, const double* A, long n) {
      for (long i = 0; i < n; i++) B = product(A, B, A);
      return B;
    };
    auto start = [&](auto& B) {
      double s = k;
      for (int i = 0; i < 9; i++) {
        double v = s * 0.3 * A0[i];
        if constexpr (std::is_same_v<std::decay_t<decltype(B)>, S3>)
          B.v[i] = v;
        else
          B.row[i / 3][i % 3] = v;
      }
    };
    auto go = [&](auto B, const char* f, const char* vg) {
      auto g = B;
      FlushSubnormals fl;
      per_step(c, f, M, [&] {
        start(B);
        B = run(B, A0, M);
        keep(B);
      });
      per_step(c, vg, M, [&] {
        start(B);
        B = run(B, A0, M);
        start(g);
        g = run(g, At, M);
        keep(B);
        keep(g);
      });
    };
    go(M3{}, "forward, rows in vectors, subnormals flushed", "value and gradient, rows in vectors, subnormals flushed");
    go(S3{}, "forward, 9 scalars, subnormals flushed", "value and gradient, 9 scalars, subnormals flushed");
    S3 B;
    start(B);
    B = run(B, A0, 10);
    double s = 0;
    for (double v : B.v) s += v;
    check(c, "sum after 10 steps", s);
    S3 g;
    for (double& v : g.v) v = 1;
    g = run(g, At, 10);
    check(c, "gradient[0][1], 10 steps", g.v[1]);
  }
  {
    const char* c = "60 scalars";
    float x[60];
    for (int i = 0; i < 60; i++) x[i] = i / 59.0f;
    V v[4] = {}, g[4];
    float l;
    keep(x);
    for (long n : {614L, 61400L}) {
      std::string s = " (" + std::to_string(n) + " iterations)";
      per_step(c, ("forward, vector registers" + s).c_str(), n, [&] {
        keep(x);
        pack60(x, v);
        for (long i = 0; i < n; i++) rotate60<1>(v);
        l = total60(v);
        keep(l);
      });
      if (n == 614) check(c, "sum", l);
      per_step(c, ("value and gradient, vector registers" + s).c_str(), n, [&] {
        keep(x);
        pack60(x, v);
        for (long i = 0; i < n; i++) rotate60<1>(v);
        l = total60(v);
        for (auto& e : g) e = all(1);
        g[0][0] = 2;
        for (long i = 0; i < n; i++) rotate60<-1>(g);
        keep(l);
        keep(g);
      });
      if (n == 614) check(c, "gradient[1], seed 2 at 0 and 1 elsewhere", g[1][0]);
      per_step(c, ("forward, 60 scalars in memory, as g++ compiles them" + s).c_str(), n, [&] {
        float v[60];
        memcpy(v, x, sizeof x);
        for (long i = 0; i < n; i++) {
          float f = v[0];
          for (int k = 0; k < 59; k++) v[k] = v[k] * 0.99f + v[k + 1] * 0.01f;
          v[59] = v[59] * 0.99f + f * 0.01f;
        }
        l = 0;
        for (float e : v) l += e;
        keep(l);
      });
    }
  }
  {
    const char* c = "~40 ops f32[8]";
    float x[8];
    for (int i = 0; i < 8; i++) x[i] = i / 7.0f;
    V8 v, g;
    keep(x);
    per_step(c, "forward", M, [&] {
      keep(x);
      memcpy(&v, x, 32);
      for (long i = 0; i < M; i++)
        for (int j = 0; j < 10; j++) v = small_body(v);
      keep(v);
    });
    float s = 0;
    for (int i = 0; i < 8; i++) s += v[i];
    check(c, "sum", s);
    // residual: the carry of each iteration; its ten inner values are made again in reverse.
    auto vg = [&] {
      keep(x);
      memcpy(&v, x, 32);
      for (long i = 0; i < M; i++) {
        memcpy(tape + 8 * i, &v, 32);
        for (int j = 0; j < 10; j++) v = small_body(v);
      }
      g = V8{} + 1.0f;
      for (long i = M; i-- > 0;) {
        V8 t[10];
        memcpy(&t[0], tape + 8 * i, 32);
        for (int j = 1; j < 10; j++) t[j] = small_body(t[j - 1]);
        for (int j = 10; j-- > 0;) g *= 0.9f - 0.02f * t[j];
      }
      keep(g);
    };
    // residual: the iteration's whole slope (the ten Jacobians are diagonal), multiplied up in the forward loop.
    auto slope = [&] {
      keep(x);
      memcpy(&v, x, 32);
      for (long i = 0; i < M; i++) {
        V8 d = V8{} + 1.0f;
        for (int j = 0; j < 10; j++) {
          d *= 0.9f - 0.02f * v;
          v = small_body(v);
        }
        memcpy(tape + 8 * i, &d, 32);
      }
      g = V8{} + 1.0f;
      for (long i = M; i-- > 0;) {
        V8 d;
        memcpy(&d, tape + 8 * i, 32);
        g *= d;
      }
      keep(g);
    };
    per_step(c, "value and gradient, carries kept, subnormals kept", M, vg);
    FlushSubnormals f;
    per_step(c, "value and gradient, carries kept, subnormals flushed", M, vg);
    per_step(c, "value and gradient, slopes kept, subnormals flushed", M, slope);
    memcpy(&v, x, 32);
    g = V8{} + 1.0f;
    for (int j = 0; j < 20; j++) {
      g *= 0.9f - 0.02f * v;
      v = small_body(v);
    }
    check(c, "gradient[3], 2 iterations", g[3]);
  }
}
