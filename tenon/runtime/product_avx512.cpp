// Product kernels for AVX-512 (F, DQ, BW, VL). Compiled with those instructions; called only where they exist.
#include <immintrin.h>

#include "tenon/runtime/product_blocking.h"

namespace tenon {
namespace {

constexpr int rows_of_tile(int vectors) {
  return vectors == 8 ? 3 : vectors == 4 ? 6 : vectors == 3 ? 8 : vectors == 2 ? 12 : 14;
}

struct Floats {
  using T = float;
  using V = __m512;
  using Mask = __mmask16;
  static constexpr Size lanes = 16, square = 4;
  static constexpr int panel = 4, wide = 8;
  static constexpr int most_rows(int vectors) { return rows_of_tile(vectors); }
  static Mask mask(Size count) { return static_cast<Mask>(0xffffu >> (16 - count)); }
  static V zero() { return _mm512_setzero_ps(); }
  static V broadcast(float x) { return _mm512_set1_ps(x); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static V load(const float* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(float* p, V v) { _mm512_storeu_ps(p, v); }
  static void store(float* p, V v, Mask m) { _mm512_mask_storeu_ps(p, m, v); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static float total(V v) { return _mm512_reduce_add_ps(v); }
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
  using V = __m512d;
  using Mask = __mmask8;
  static constexpr Size lanes = 8, square = 2;
  static constexpr int panel = 4, wide = 8;
  static constexpr int most_rows(int vectors) { return rows_of_tile(vectors); }
  static Mask mask(Size count) { return static_cast<Mask>(0xffu >> (8 - count)); }
  static V zero() { return _mm512_setzero_pd(); }
  static V broadcast(double x) { return _mm512_set1_pd(x); }
  static V load(const double* p) { return _mm512_loadu_pd(p); }
  static V load(const double* p, Mask m) { return _mm512_maskz_loadu_pd(m, p); }
  static void store(double* p, V v) { _mm512_storeu_pd(p, v); }
  static void store(double* p, V v, Mask m) { _mm512_mask_storeu_pd(p, m, v); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_pd(a, b, c); }
  static double total(V v) { return _mm512_reduce_add_pd(v); }
  static void transpose(const double* from, Size stride, double* to, Size width) {
    const __m128d a = _mm_loadu_pd(from), b = _mm_loadu_pd(from + stride);
    _mm_storeu_pd(to, _mm_unpacklo_pd(a, b));
    _mm_storeu_pd(to + width, _mm_unpackhi_pd(a, b));
  }
};

void f16_to_f32(const std::uint16_t* from, float* to, Size count) {
  for (Size i = 0; i < count; i += 16) {
    const __mmask16 m = static_cast<__mmask16>(count - i >= 16 ? 0xffffu : 0xffffu >> (16 - (count - i)));
    _mm512_mask_storeu_ps(to + i, m, _mm512_maskz_cvtph_ps(m, _mm256_maskz_loadu_epi16(m, from + i)));
  }
}
void f32_to_f16(const float* from, std::uint16_t* to, Size count) {
  for (Size i = 0; i < count; i += 16) {
    const __mmask16 m = static_cast<__mmask16>(count - i >= 16 ? 0xffffu : 0xffffu >> (16 - (count - i)));
    _mm256_mask_storeu_epi16(to + i, m,
                             _mm512_maskz_cvtps_ph(m, _mm512_maskz_loadu_ps(m, from + i), _MM_FROUND_TO_NEAREST_INT));
  }
}

// Half a float is its upper 16 bits; rounding to nearest even by an addition, NaN kept quiet.
void bf16_to_f32(const std::uint16_t* from, float* to, Size count) {
  for (Size i = 0; i < count; i += 16) {
    const __mmask16 m = static_cast<__mmask16>(count - i >= 16 ? 0xffffu : 0xffffu >> (16 - (count - i)));
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(m, from + i));
    _mm512_mask_storeu_epi32(to + i, m, _mm512_slli_epi32(wide, 16));
  }
}
void f32_to_bf16(const float* from, std::uint16_t* to, Size count) {
  const __m512i one = _mm512_set1_epi32(1), half = _mm512_set1_epi32(0x7fff), quiet = _mm512_set1_epi32(0x40);
  for (Size i = 0; i < count; i += 16) {
    const __mmask16 m = static_cast<__mmask16>(count - i >= 16 ? 0xffffu : 0xffffu >> (16 - (count - i)));
    const __m512 value = _mm512_maskz_loadu_ps(m, from + i);
    const __m512i bits = _mm512_castps_si512(value), high = _mm512_srli_epi32(bits, 16);
    const __m512i rounded =
        _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(half, _mm512_and_epi32(high, one))), 16);
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i result = _mm512_mask_or_epi32(rounded, nan, high, quiet);
    _mm256_mask_storeu_epi16(to + i, m, _mm512_cvtepi32_epi16(result));
  }
}

}  // namespace

const ProductKernels& avx512_product_kernels() {
  static constexpr ProductKernels kernels{
      multiply<Floats>, multiply<Doubles>, multiply_inner<Floats>, multiply_inner<Doubles>, f16_to_f32, f32_to_f16,
      bf16_to_f32,      f32_to_bf16};
  return kernels;
}

}  // namespace tenon
