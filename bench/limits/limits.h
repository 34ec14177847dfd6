// What every limit program shares: 16-lane f32 vectors and their functions, two workers, huge-page buffers, timing,
// JSON lines.
#pragma once
#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>
#define INLINE inline __attribute__((always_inline))

typedef float V __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t VI __attribute__((vector_size(64), may_alias));
INLINE V all(float x) { return (V)_mm512_set1_ps(x); }
INLINE V load(const float* p) { return _mm512_loadu_ps(p); }
INLINE void store(float* p, V v) { _mm512_storeu_ps(p, v); }
INLINE V load(const float* p, __mmask16 m) { return _mm512_maskz_loadu_ps(m, p); }
INLINE void store(float* p, V v, __mmask16 m) { _mm512_mask_storeu_ps(p, m, v); }
template <bool NT>
INLINE void put(float* p, V v) {  // NT: past the caches
  if constexpr (NT)
    _mm512_stream_ps(p, v);
  else
    store(p, v);
}
INLINE float sum(V v) { return _mm512_reduce_add_ps(v); }
INLINE float largest(V v) { return _mm512_reduce_max_ps(v); }
INLINE VI bits(V v) { return (VI)_mm512_castps_si512(v); }
INLINE V from_bits(VI v) { return _mm512_castsi512_ps((__m512i)v); }

// sin and cos: x = k·pi + r, |r| <= pi/2, with pi in three parts (exact first step), then r + r·s·P(s), s = r²; the
// last select keeps the sign of -0. Lanes beyond 1e5 (and NaN, Inf) leave the vector path. At most 2 ulp; checked by
// mathcheck.cpp.
constexpr float kMagic = 0x1.8p23f, kInvPi = 0x1.45f306p-2f, kPi1 = 0x1.921fb6p1f, kPi2 = -0x1.777a5cp-24f,
                kPi3 = -0x1.ee59dap-49f;
constexpr float kSin3 = -0x1.55554cp-3f, kSin5 = 0x1.110ed4p-7f, kSin7 = -0x1.9f6ffep-13f, kSin9 = 0x1.5dbdf0p-19f;
__attribute__((noinline, cold)) static V each_lane(V x, float (*f)(float)) {
  float t[16];
  store(t, x);
  for (float& v : t) v = f(v);
  return load(t);
}
INLINE bool any_large(V x) { return _mm512_cmp_ps_mask(_mm512_abs_ps(x), all(1e5f), _CMP_NLT_UQ); }
INLINE V sin_of_reduced(V r, VI sign) {
  V s = r * r;
  V p = kSin3 + s * (kSin5 + s * (kSin7 + s * kSin9));
  V y = r + (r * s) * p;
  return from_bits((VI)_mm512_ternarylogic_epi32(_mm512_set1_epi32(1 << 31), (__m512i)(bits(r) ^ sign),
                                                 (__m512i)(bits(y) ^ sign), 0xCA));
}
INLINE V sin(V x) {
  if (__builtin_expect(any_large(x), 0)) return each_lane(x, sinf);
  V k = x * kInvPi + kMagic;
  VI sign = bits(k) << 31;
  k -= kMagic;
  return sin_of_reduced(((x - k * kPi1) - k * kPi2) - k * kPi3, sign);
}
INLINE V cos(V x) {  // the nearest odd multiple of pi/2 instead
  if (__builtin_expect(any_large(x), 0)) return each_lane(x, cosf);
  V k = (x * kInvPi - 0.5f) + kMagic;
  VI sign = (bits(k) << 31) ^ int32_t(0x80000000);
  k = (k - kMagic) + 0.5f;
  return sin_of_reduced(((x - k * kPi1) - k * kPi2) - k * kPi3, sign);
}
// Both at once, by quadrants: one reduction, two short polynomials.
INLINE void sincos(V x, V& s, V& c) {
  if (__builtin_expect(any_large(x), 0)) {
    s = each_lane(x, sinf);
    c = each_lane(x, cosf);
    return;
  }
  V k = x * (2 * kInvPi) + kMagic;
  VI q = bits(k);
  k -= kMagic;
  V r = ((x - k * (kPi1 / 2)) - k * (kPi2 / 2)) - k * (kPi3 / 2), t = r * r;
  V ps = r * (1.0f + t * (-0x1.555546p-3f + t * (0x1.11072ep-7f + t * -0x1.993f6ep-13f)));
  V pc = (1.0f - 0.5f * t) + (t * t) * (0x1.55554ap-5f + t * (-0x1.6c0c26p-10f + t * 0x1.99e78ap-16f));
  __mmask16 odd = _mm512_test_epi32_mask((__m512i)q, _mm512_set1_epi32(1));
  V a = _mm512_mask_blend_ps(odd, ps, pc), b = _mm512_mask_blend_ps(odd, pc, ps);
  s = from_bits(bits(a) ^ ((q & 2) << 30));
  c = from_bits(bits(b) ^ (((q + 1) & 2) << 30));
}
// exp: x = n·ln2 + r; e^r by degree 6; scalef makes overflow, underflow and subnormals right. min/max keep NaN.
INLINE V exp(V x) {
  x = _mm512_min_ps(all(89.0f), _mm512_max_ps(all(-104.0f), x));
  V n = _mm512_roundscale_ps(x * 0x1.715476p0f, 8);
  V r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  V p = 0x1.0p-1f + r * (0x1.55548ep-3f + r * (0x1.55545ep-5f + r * (0x1.123bdep-7f + r * 0x1.6db4e8p-10f)));
  return _mm512_scalef_ps(1.0f + (r + r * r * p), n);
}
INLINE V reciprocal(V d) {
  V y = _mm512_rcp14_ps(d);
  return y + y * (1.0f - d * y);
}  // finite, normal d
// tanh(x) = t / (t + 2), t = expm1(2|x|), |x| clamped at 9.02 where it rounds to 1.
INLINE V tanh(V x) {
  V a = _mm512_min_ps(all(18.04f), _mm512_abs_ps(x + x));
  V n = _mm512_roundscale_ps(a * 0x1.715476p0f, 8);
  V r = (a - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  V p = 0x1.0p-1f + r * (0x1.55548ep-3f + r * (0x1.55545ep-5f + r * (0x1.123bdep-7f + r * 0x1.6db4e8p-10f)));
  V e = r + r * r * p, two_n = _mm512_scalef_ps(all(1), n);
  V t = two_n * e + (two_n - 1.0f), d = t + 2.0f;
  V y = reciprocal(d), q = t * y;
  q = q + y * ((t - q * d) - q * (t - (d - 2.0f)));
  return from_bits(bits(q) ^ (bits(x) & int32_t(0x80000000)));
}
INLINE V sigmoid(V x) {  // 1 / (1 + e^-x); e^-x is finite after the clamp
  return reciprocal(1.0f + exp(_mm512_max_ps(all(-87.0f), 0.0f - x)));
}
// log: x = 2^e·m, m in [0.75, 1.5); log1p(m-1) by t - t²/2 + t³·P(t). Zero, negative, Inf and NaN leave the vector
// path.
INLINE V log(V x) {
  if (__builtin_expect(
          _mm512_cmp_ps_mask(x, all(0x1p-126f), _CMP_NGE_UQ) | _mm512_cmp_ps_mask(x, all(0x1p127f), _CMP_GT_OQ), 0))
    return each_lane(x, logf);
  V t = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
  V e = _mm512_getexp_ps(x);
  e = _mm512_mask_add_ps(e, _mm512_cmp_ps_mask(t, all(1), _CMP_LT_OQ), e, all(1));
  t -= 1.0f;
  V p =
      0x1.9969b0p-3f +
      t * (-0x1.54efdcp-3f + t * (0x1.28847cp-3f + t * (-0x1.0d8a90p-3f + t * (0x1.ac90bep-4f + t * -0x1.7140b6p-5f))));
  p = 0x1.5555a4p-2f + t * (-0x1.000040p-2f + t * p);
  V t2 = t * t;
  return e * 0x1.62e4p-1f + (t + (e * 0x1.7f7d1cp-20f + (t2 * t * p - 0.5f * t2)));
}

// Two workers: the caller and one thread that spins for work. run(f) calls f(0) and f(1) at once.
struct Pool {
  alignas(64) std::atomic<uint64_t> posted{0};
  alignas(64) std::atomic<uint64_t> done{0};
  void (*call)(void*) = nullptr;
  void* data = nullptr;
  bool stop = false;
  std::thread worker;
  Pool()
      : worker([this] {
          for (uint64_t n = 1;; n++) {
            while (posted.load(std::memory_order_acquire) < n) _mm_pause();
            if (stop) return;
            call(data);
            done.store(n, std::memory_order_release);
          }
        }) {}
  ~Pool() {
    stop = true;
    posted++;
    worker.join();
  }
  template <class F>
  void run(F&& f) {
    call = [](void* p) { (*(std::remove_reference_t<F>*)p)(1); };
    data = (void*)&f;
    uint64_t n = posted.load(std::memory_order_relaxed) + 1;
    posted.store(n, std::memory_order_release);
    f(0);
    while (done.load(std::memory_order_acquire) < n) _mm_pause();
  }
  // Splits [0, n) in two at a multiple of `grain`.
  template <class F>
  void split(long n, long grain, F&& f) {
    long h = n / 2 / grain * grain;
    run([&](int w) { w ? f(h, n) : f(0L, h); });
  }
};
inline Pool pool;
// Meeting point inside run(): both workers call wait().
struct Barrier {
  alignas(64) std::atomic<uint32_t> count{0};
  void wait() {
    uint32_t n = count.fetch_add(1, std::memory_order_acq_rel) + 1, target = (n + 1) & ~1u;
    while (int32_t(count.load(std::memory_order_acquire) - target) < 0) _mm_pause();
  }
};

// XLA's CPU threads flush subnormals; a cotangent that decays gets stuck at the smallest subnormal and each product
// costs an assist (~50 ns).
struct FlushSubnormals {
  unsigned old = _mm_getcsr();
  FlushSubnormals() { _mm_setcsr(old | 0x8040); }
  ~FlushSubnormals() { _mm_setcsr(old); }
};

// A zeroed buffer on huge pages, touched once.
struct Buffer {
  float* p;
  size_t n, bytes;
  explicit Buffer(size_t n) : n(n), bytes((n * 4 + 64 + (2 << 20) - 1) >> 21 << 21) {
    p = (float*)aligned_alloc(2 << 20, bytes);
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
  }
  ~Buffer() { free(p); }
  Buffer(const Buffer&) = delete;
  Buffer(Buffer&&) = delete;
  operator float*() { return p; }
  // Deterministic values: the same in every language (a 32-bit multiplicative hash of the index).
  Buffer& fill(uint32_t seed, float lo = -1, float hi = 1) {
    for (size_t i = 0; i < n; i++) {
      uint32_t h = (uint32_t(i) + seed * 0x9E3779B9u) * 0x85EBCA6Bu;
      h ^= h >> 13;
      h *= 0xC2B2AE35u;
      h ^= h >> 16;
      p[i] = lo + (hi - lo) * float(h >> 8) * 0x1p-24f;
    }
    return *this;
  }
  Buffer& linspace(float a, float b) {
    for (size_t i = 0; i < n; i++) p[i] = float(a + (double(b) - a) * double(i) / double(n - 1));
    return *this;
  }
};

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline void emit(const std::string& c, const std::string& f, double v, const char* unit) {
  printf("{\"case\":\"%s\",\"figure\":\"%s\",\"value\":%.5g,\"unit\":\"%s\"}\n", c.c_str(), f.c_str(), v, unit);
  fflush(stdout);
}
inline void check(const std::string& c, const std::string& f, double v) {
  printf("{\"case\":\"%s\",\"figure\":\"checksum %s\",\"value\":%.9g,\"unit\":\"\"}\n", c.c_str(), f.c_str(), v);
  fflush(stdout);
}
// A sum with one random weight per element, so that a value in the wrong place shows.
inline double weighted(const float* p, size_t n) {
  double s = 0;
  Buffer w(n);
  w.fill(99, 0, 1);
  for (size_t i = 0; i < n; i++) s += double(p[i]) * w[i];
  return s;
}
// Median of at least 7 runs, each long enough to time (20 ms of calls).
template <class F>
double seconds(F&& f) {
  f();
  double t = now();
  f();
  double one = std::max(now() - t, 1e-9);
  long n = std::clamp(long(0.02 / one), 1L, 100000L);
  std::vector<double> ts;
  for (int r = 0; r < (one * n > 0.5 ? 7 : 11); r++) {
    t = now();
    for (long i = 0; i < n; i++) f();
    ts.push_back((now() - t) / n);
  }
  std::sort(ts.begin(), ts.end());
  return ts[ts.size() / 2];
}
template <class F>
double time_ms(const std::string& c, const std::string& fig, F&& f) {
  double s = seconds(f);
  emit(c, fig, s * 1e3, "ms");
  return s;
}
template <class T>
INLINE void keep(T& v) {
  asm volatile("" : : "r"(&v) : "memory");
}
