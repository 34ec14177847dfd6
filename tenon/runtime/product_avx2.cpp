// Product kernels for AVX2, FMA and F16C. Compiled with those instructions; called only where they exist.
#include <immintrin.h>

#include "tenon/runtime/product_blocking.h"

namespace tenon {
namespace {

constexpr int rows_of_tile(int vectors) { return vectors == 4 ? 3 : vectors == 2 ? 6 : 10; }

alignas(64) constexpr std::int32_t lanes_before[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

struct Floats {
  using T = float;
  using V = __m256;
  using Mask = __m256i;
  static constexpr Size lanes = 8, square = 4;
  static constexpr int panel = 2, wide = 4;
  static constexpr int most_rows(int vectors) { return rows_of_tile(vectors); }
  static Mask mask(Size count) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lanes_before + 8 - count));
  }
  static V zero() { return _mm256_setzero_ps(); }
  static V broadcast(float x) { return _mm256_set1_ps(x); }
  static V load(const float* p) { return _mm256_loadu_ps(p); }
  static V load(const float* p, Mask m) { return _mm256_maskload_ps(p, m); }
  static void store(float* p, V v) { _mm256_storeu_ps(p, v); }
  static void store(float* p, V v, Mask m) { _mm256_maskstore_ps(p, m, v); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_ps(a, b, c); }
  static float total(V v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static void transpose(const float* from, Size stride, float* to, Size width) {
    __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + stride), c = _mm_loadu_ps(from + 2 * stride),
           d = _mm_loadu_ps(from + 3 * stride);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + width, b);
    _mm_storeu_ps(to + 2 * width, c);
    _mm_storeu_ps(to + 3 * width, d);
  }
};

struct Doubles {
  using T = double;
  using V = __m256d;
  using Mask = __m256i;
  static constexpr Size lanes = 4, square = 2;
  static constexpr int panel = 2, wide = 4;
  static constexpr int most_rows(int vectors) { return rows_of_tile(vectors); }
  static Mask mask(Size count) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lanes_before + 8 - 2 * count));
  }
  static V zero() { return _mm256_setzero_pd(); }
  static V broadcast(double x) { return _mm256_set1_pd(x); }
  static V load(const double* p) { return _mm256_loadu_pd(p); }
  static V load(const double* p, Mask m) { return _mm256_maskload_pd(p, m); }
  static void store(double* p, V v) { _mm256_storeu_pd(p, v); }
  static void store(double* p, V v, Mask m) { _mm256_maskstore_pd(p, m, v); }
  static V fma(V a, V b, V c) { return _mm256_fmadd_pd(a, b, c); }
  static double total(V v) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  static void transpose(const double* from, Size stride, double* to, Size width) {
    const __m128d a = _mm_loadu_pd(from), b = _mm_loadu_pd(from + stride);
    _mm_storeu_pd(to, _mm_unpacklo_pd(a, b));
    _mm_storeu_pd(to + width, _mm_unpackhi_pd(a, b));
  }
};

void f16_to_f32(const std::uint16_t* from, float* to, Size count) {
  Size i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  for (; i < count; ++i) to[i] = _cvtsh_ss(from[i]);
}
void f32_to_f16(const float* from, std::uint16_t* to, Size count) {
  Size i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < count; ++i) to[i] = static_cast<std::uint16_t>(_cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT));
}

// Half a float is its upper 16 bits; rounding to nearest even by an addition, NaN kept quiet.
void bf16_to_f32(const std::uint16_t* from, float* to, Size count) {
  Size i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
  }
  for (; i < count; ++i) to[i] = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(from[i]) << 16)));
}
std::uint16_t f32_to_bf16(float value) {
  const auto bits = static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_castps_si128(_mm_set_ss(value))));
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
void f32_to_bf16(const float* from, std::uint16_t* to, Size count) {
  const __m256i one = _mm256_set1_epi32(1), half = _mm256_set1_epi32(0x7fff), quiet = _mm256_set1_epi32(0x40);
  Size i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 value = _mm256_loadu_ps(from + i);
    const __m256i bits = _mm256_castps_si256(value), high = _mm256_srli_epi32(bits, 16);
    const __m256i rounded =
        _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(half, _mm256_and_si256(high, one))), 16);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i result = _mm256_blendv_epi8(rounded, _mm256_or_si256(high, quiet), nan);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_packus_epi32(_mm256_castsi256_si128(result), _mm256_extracti128_si256(result, 1)));
  }
  for (; i < count; ++i) to[i] = f32_to_bf16(from[i]);
}

}  // namespace

const ProductKernels& avx2_product_kernels() {
  static constexpr ProductKernels kernels{
      multiply<Floats>, multiply<Doubles>, multiply_inner<Floats>, multiply_inner<Doubles>, f16_to_f32, f32_to_f16,
      bf16_to_f32,      f32_to_bf16};
  return kernels;
}

}  // namespace tenon
