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

// Rows times numbers, without a copy of the rows that is wider.
__attribute__((target("avx2,fma,f16c"))) __m256 wide_eight(const Float16* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
__attribute__((target("avx2,fma,f16c"))) __m256 wide_eight(const BFloat16* from) {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
template <class Half>
__attribute__((target("avx2,fma,f16c"))) Size add_rows_by_eights(const Half* rows, Size distance, const float* x,
                                                                 float* sums, Size count) {
  Size j = 0;
  for (; j + 8 <= count; j += 8) {
    const Half* const at = rows + j;
    __m256 even = _mm256_loadu_ps(sums + j), odd = _mm256_setzero_ps();
    for (Size l = 0; l < 8; l += 2) {
      even = _mm256_fmadd_ps(_mm256_set1_ps(x[l]), wide_eight(at + l * distance), even);
      odd = _mm256_fmadd_ps(_mm256_set1_ps(x[l + 1]), wide_eight(at + (l + 1) * distance), odd);
    }
    _mm256_storeu_ps(sums + j, _mm256_add_ps(even, odd));
  }
  return j;
}
template <class Half>
__attribute__((target("avx2,fma,f16c"))) float inner_by_eights(const Half* row, const float* x, Size count) {
  __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  for (Size l = 0; l < count; l += 32)
#pragma GCC unroll 4
    for (Size v = 0; v < 4; ++v)
      sums[v] = _mm256_fmadd_ps(_mm256_loadu_ps(x + l + 8 * v), wide_eight(row + l + 8 * v), sums[v]);
  const __m256 all = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
  float each[8], sum = 0;
  _mm256_storeu_ps(each, all);
  for (const float one : each) sum += one;
  return sum;
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

namespace {

template <class Half>
void add_eight(const Half* rows, Size distance, const float* x, float* sums, Size count) {
  for (Size j = has_eights() ? add_rows_by_eights(rows, distance, x, sums, count) : 0; j < count; ++j)
    for (Size l = 0; l < 8; ++l) sums[j] += x[l] * static_cast<float>(rows[l * distance + j]);
}
template <class Half>
float inner_of_row(const Half* row, const float* x, Size count) {
  const Size whole = has_eights() ? count / 32 * 32 : 0;
  float sum = whole > 0 ? inner_by_eights(row, x, whole) : 0;
  for (Size l = whole; l < count; ++l) sum += x[l] * static_cast<float>(row[l]);
  return sum;
}

}  // namespace

void add_eight_rows(const Float16* rows, Size distance, const float* x, float* sums, Size count) {
  add_eight(rows, distance, x, sums, count);
}
void add_eight_rows(const BFloat16* rows, Size distance, const float* x, float* sums, Size count) {
  add_eight(rows, distance, x, sums, count);
}
float inner_product_of_row(const Float16* row, const float* x, Size count) { return inner_of_row(row, x, count); }
float inner_product_of_row(const BFloat16* row, const float* x, Size count) { return inner_of_row(row, x, count); }

}  // namespace tenon
