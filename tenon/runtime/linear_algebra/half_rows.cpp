#include "tenon/runtime/linear_algebra/half_rows.h"

#include <immintrin.h>

#include "tenon/runtime/linear_algebra/product_kernels.h"

namespace tenon {
namespace {

using Size = std::int64_t;

// Eight at a time; both return how many were done.
__attribute__((target("avx2,f16c"))) Size widen_eights(const Float16* from, float* to, Size count) {
  Size i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}
__attribute__((target("avx2"))) Size widen_eights(const BFloat16* from, float* to, Size count) {
  Size i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_slli_epi32(wide, 16));
  }
  return i;
}
__attribute__((target("avx2,f16c"))) Size round_eights(const float* from, Float16* to, Size count) {
  Size i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
__attribute__((target("avx2"))) Size round_eights(const float* from, BFloat16* to, Size count) {
  const __m256i one = _mm256_set1_epi32(1), half = _mm256_set1_epi32(0x7fff), quiet = _mm256_set1_epi32(0x40);
  Size i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 value = _mm256_loadu_ps(from + i);
    const __m256i bits = _mm256_castps_si256(value), high = _mm256_srli_epi32(bits, 16);
    const __m256i rounded =
        _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(half, _mm256_and_si256(high, one))), 16);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(rounded, _mm256_or_si256(high, quiet), nan);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0b11011000);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_castsi256_si128(packed));
  }
  return i;
}

bool has_eights() { return vector_unit() >= VectorUnit::avx2; }

}  // namespace

void widen_row(const Float16* from, float* to, Size count) {
  for (Size i = has_eights() ? widen_eights(from, to, count) : 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
void widen_row(const BFloat16* from, float* to, Size count) {
  for (Size i = has_eights() ? widen_eights(from, to, count) : 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
void round_row(const float* from, Float16* to, Size count) {
  for (Size i = has_eights() ? round_eights(from, to, count) : 0; i < count; ++i) to[i] = Float16(from[i]);
}
void round_row(const float* from, BFloat16* to, Size count) {
  for (Size i = has_eights() ? round_eights(from, to, count) : 0; i < count; ++i) to[i] = BFloat16(from[i]);
}

}  // namespace tenon
