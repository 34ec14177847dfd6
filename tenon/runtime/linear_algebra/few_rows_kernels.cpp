#include "tenon/runtime/linear_algebra/few_rows_kernels.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tenon/runtime/linear_algebra/grouped_kernels.h"
#include "tenon/runtime/linear_algebra/half_rows.h"
#include "tenon/runtime/linear_algebra/product_kernels.h"

namespace tenon {
namespace {

using Size = std::int64_t;
using Byte = std::byte;
using Block = FewRowsKernels::Block;
using Columns = FewRowsKernels::Columns;
constexpr Size block_columns = FewRowsKernels::block_columns;
constexpr int rows_at_once = FewRowsKernels::rows_at_once, columns_at_once = FewRowsKernels::columns_at_once;

// What a block's factors are made of: rows of b, or what was made of them before.
enum class From : std::uint8_t { rows_of_b, factors };

std::int32_t group_at(const Byte* row, Size number) {
  std::int32_t group;
  std::memcpy(&group, row + 4 * number, sizeof group);
  return group;
}

// --- Rows of a ---
Size up_to_whole(Size terms) {
  constexpr Size whole = FewRowsKernels::whole_terms;
  return (terms + whole - 1) / whole * whole;
}
void lay_out_bytes(const Byte* a, Size stride, Size terms, bool flips, Byte* to) {
  if (stride == 1)
    std::memcpy(to, a, static_cast<std::size_t>(terms));
  else
    for (Size l = 0; l < terms; ++l) to[l] = a[l * stride];
  if (!flips) return;
  const __m128i leading = _mm_set1_epi8(-128);
  for (Size l = 0; l < terms; l += 16) {
    auto* const x = reinterpret_cast<__m128i*>(to + l);
    _mm_store_si128(x, _mm_xor_si128(_mm_load_si128(x), leading));
  }
}
template <class Integer>
void lay_out_words(const Byte* a, Size stride, Size terms, bool, Byte* to) {
  const auto* const from = reinterpret_cast<const Integer*>(a);
  auto* const words = reinterpret_cast<std::int16_t*>(to);
  for (Size l = 0; l < terms; ++l) words[l] = from[l * stride];
}
// Zeros behind them, since a product with what is no number is none.
template <class Half>
void lay_out_wide(const Byte* a, Size stride, Size terms, bool, Byte* to) {
  const auto* const from = reinterpret_cast<const Half*>(a);
  auto* const wide = reinterpret_cast<float*>(to);
  if (stride == 1)
    widen_row(from, wide, terms);
  else
    for (Size l = 0; l < terms; ++l) wide[l] = static_cast<float>(from[l * stride]);
  std::fill(wide + terms, wide + up_to_whole(terms), 0.f);
}
void lay_out_pairs(const Byte* a, Size stride, Size terms, bool, Byte* to) {
  const auto* const from = reinterpret_cast<const std::uint16_t*>(a);
  auto* const pairs = reinterpret_cast<std::uint16_t*>(to);
  for (Size l = 0; l < terms; ++l) pairs[l] = from[l * stride];
  std::fill(pairs + terms, pairs + up_to_whole(terms), std::uint16_t(0));
}

// --- AVX-512 with VNNI, four bytes a group: unsigned ones, of a or else of b, with signed ones ---
#define TENON_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

template <bool a_unsigned>
TENON_VNNI inline __m512i dot_bytes(__m512i sum, __m512i x, __m512i y) {
  return a_unsigned ? _mm512_dpbusd_epi32(sum, x, y) : _mm512_dpbusd_epi32(sum, y, x);
}
TENON_VNNI inline __mmask64 first_bytes(Size count) {
  return count >= 64 ? ~__mmask64(0) : (__mmask64(1) << count) - 1;
}

// Four vectors a group of terms. Of 16 columns the first four are in the first one, and so are their sums.
TENON_VNNI inline void group_of_bytes(const Block& y, Size number, __m512i* factors) {
  const __mmask64 inside = first_bytes(y.columns);
  const Byte* const from = y.from + 4 * number * y.distance;
  __m512i line[4];
#pragma GCC unroll 4
  for (int l = 0; l < 4; ++l)
    line[l] =
        4 * number + l < y.terms ? _mm512_maskz_loadu_epi8(inside, from + l * y.distance) : _mm512_setzero_si512();
  const __m512i low_01 = _mm512_unpacklo_epi8(line[0], line[1]), low_23 = _mm512_unpacklo_epi8(line[2], line[3]),
                high_01 = _mm512_unpackhi_epi8(line[0], line[1]), high_23 = _mm512_unpackhi_epi8(line[2], line[3]);
  factors[0] = _mm512_unpacklo_epi16(low_01, low_23), factors[1] = _mm512_unpackhi_epi16(low_01, low_23);
  factors[2] = _mm512_unpacklo_epi16(high_01, high_23), factors[3] = _mm512_unpackhi_epi16(high_01, high_23);
}
TENON_VNNI void make_groups_of_bytes(const Block& y, Byte* factors) {
  for (Size g = 0; 4 * g < y.terms; ++g, factors += 256) {
    __m512i made[4];
    group_of_bytes(y, g, made);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_store_si512(factors + 64 * v, made[v]);
  }
}
template <bool a_unsigned, int rows, From source>
TENON_VNNI void add_groups_of_bytes(const Block& block, const Byte* factors, const Byte* x, Size bytes_of_row, void* to,
                                    Size sums_of_row) {
  auto* sums = static_cast<std::uint32_t*>(to);
  __m512i sum[rows][4];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum[r][v] = _mm512_loadu_si512(sums + r * sums_of_row + 16 * v);
  for (Size g = 0; 4 * g < block.terms; ++g) {
    __m512i y[4];
    if constexpr (source == From::rows_of_b)
      group_of_bytes(block, g, y);
    else
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) y[v] = _mm512_load_si512(factors + 256 * g + 64 * v);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const __m512i own = _mm512_set1_epi32(group_at(x + r * bytes_of_row, g));
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sum[r][v] = dot_bytes<a_unsigned>(sum[r][v], own, y[v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_storeu_si512(sums + r * sums_of_row + 16 * v, sum[r][v]);
}

template <bool a_unsigned, int rows, int columns>
TENON_VNNI void add_columns_by_bytes(const Columns& y, const Byte* x, Size bytes_of_row, void* to, Size sums_of_row) {
  auto* const sums = static_cast<std::uint32_t*>(to);
  __m512i sum[rows][columns];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) sum[r][c] = _mm512_setzero_si512();
  for (Size first = 0; first < y.terms; first += 64) {
    const __mmask64 inside = first_bytes(y.terms - first);
    __m512i factors[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) factors[c] = _mm512_maskz_loadu_epi8(inside, y.from + c * y.distance + first);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const __m512i own = _mm512_loadu_si512(x + r * bytes_of_row + first);
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) sum[r][c] = dot_bytes<a_unsigned>(sum[r][c], own, factors[c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) {
      alignas(64) std::uint32_t each[16];
      _mm512_store_si512(each, sum[r][c]);
      for (const std::uint32_t one : each) sums[r * sums_of_row + c] += one;
    }
}

// --- AVX2, pairs of bytes as integers of 16 bits ---
#define TENON_AVX2 __attribute__((target("avx2")))

template <bool b_signed>
TENON_AVX2 inline __m256i widened(__m128i bytes) {
  return b_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}
inline __m128i sixteen(const Byte* from, Size count) {
  if (count >= 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  alignas(16) Byte some[16] = {};
  std::memcpy(some, from, static_cast<std::size_t>(count));
  return _mm_load_si128(reinterpret_cast<const __m128i*>(some));
}

// Eight vectors a pair of terms, of eight columns each, of which two are made at a time.
template <bool b_signed>
TENON_AVX2 inline void group_of_words(const Block& y, Size number, Size first_column, __m256i* factors) {
  const Byte* const from = y.from + 2 * number * y.distance + first_column;
  const Size left = y.columns - first_column;
  const __m128i zero = _mm_setzero_si128(), even = left > 0 ? sixteen(from, left) : zero,
                odd = left > 0 && 2 * number + 1 < y.terms ? sixteen(from + y.distance, left) : zero;
  factors[0] = widened<b_signed>(_mm_unpacklo_epi8(even, odd));
  factors[1] = widened<b_signed>(_mm_unpackhi_epi8(even, odd));
}
template <bool b_signed>
TENON_AVX2 void make_groups_of_words(const Block& y, Byte* factors) {
  for (Size g = 0; 2 * g < y.terms; ++g)
    for (Size j = 0; j < block_columns; j += 16, factors += 64) {
      __m256i made[2];
      group_of_words<b_signed>(y, g, j, made);
      for (int v = 0; v < 2; ++v) _mm256_store_si256(reinterpret_cast<__m256i*>(factors) + v, made[v]);
    }
}
template <bool b_signed, int rows, From source>
TENON_AVX2 void add_groups_of_words(const Block& block, const Byte* factors, const Byte* x, Size bytes_of_row, void* to,
                                    Size sums_of_row) {
  for (Size j = 0; j < block_columns; j += 16) {
    auto* const sums = static_cast<std::uint32_t*>(to) + j;
    __m256i sum[rows][2];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        sum[r][v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + r * sums_of_row + 8 * v));
    for (Size g = 0; 2 * g < block.terms; ++g) {
      __m256i y[2];
      if constexpr (source == From::rows_of_b)
        group_of_words<b_signed>(block, g, j, y);
      else
        for (int v = 0; v < 2; ++v)
          y[v] = _mm256_load_si256(reinterpret_cast<const __m256i*>(factors + g * 4 * block_columns + 4 * j) + v);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        const __m256i own = _mm256_set1_epi32(group_at(x + r * bytes_of_row, g));
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) sum[r][v] = _mm256_add_epi32(sum[r][v], _mm256_madd_epi16(own, y[v]));
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + r * sums_of_row + 8 * v), sum[r][v]);
  }
}

template <bool b_signed, int rows, int columns>
TENON_AVX2 void add_columns_by_words(const Columns& y, const Byte* x, Size bytes_of_row, void* to, Size sums_of_row) {
  auto* const sums = static_cast<std::uint32_t*>(to);
  __m256i sum[rows][columns];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) sum[r][c] = _mm256_setzero_si256();
  for (Size first = 0; first < y.terms; first += 16) {
    __m256i factors[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c)
      factors[c] = widened<b_signed>(sixteen(y.from + c * y.distance + first, y.terms - first));
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const __m256i own = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + r * bytes_of_row + 2 * first));
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) sum[r][c] = _mm256_add_epi32(sum[r][c], _mm256_madd_epi16(own, factors[c]));
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) {
      alignas(32) std::uint32_t each[8];
      _mm256_store_si256(reinterpret_cast<__m256i*>(each), sum[r][c]);
      for (const std::uint32_t one : each) sums[r * sums_of_row + c] += one;
    }
}

// --- Halves as f32 ---
#define TENON_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

TENON_AVX512 inline __mmask16 first_lanes(Size count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : (1 << std::max<Size>(count, 0)) - 1);
}
template <class Half>
TENON_AVX512 inline __m512 wide_sixteen(const Half* from, Size count) {
  const __m256i x = _mm256_maskz_loadu_epi16(first_lanes(count), from);
  constexpr __mmask16 all = 0xffff;  // g++ 12 warns of what its forms without a mask leave open
  if constexpr (std::is_same_v<Half, Float16>)
    return _mm512_maskz_cvtph_ps(all, x);
  else
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, _mm512_maskz_cvtepu16_epi32(all, x), 16));
}
template <class Half>
TENON_AVX512 void make_wide_512(const Block& y, Byte* factors) {
  const auto* const from = reinterpret_cast<const Half*>(y.from);
  for (Size l = 0; l < y.terms; ++l)
    for (Size j = 0; j < block_columns; j += 16, factors += 64)
      _mm512_store_ps(factors, wide_sixteen(from + l * y.distance + j, y.columns - j));
}
template <class Half, int rows, From source>
TENON_AVX512 void add_wide_512(const Block& block, const Byte* factors, const Byte* x, Size bytes_of_row, void* to,
                               Size sums_of_row) {
  auto* const sums = static_cast<float*>(to);
  __m512 sum[rows][4];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum[r][v] = _mm512_loadu_ps(sums + r * sums_of_row + 16 * v);
  const auto* const from = reinterpret_cast<const Half*>(block.from);
  for (Size l = 0; l < block.terms; ++l) {
    __m512 y[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      if constexpr (source == From::rows_of_b)
        y[v] = wide_sixteen(from + l * block.distance + 16 * v, block.columns - 16 * v);
      else
        y[v] = _mm512_load_ps(factors + 256 * l + 64 * v);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const __m512 own = _mm512_set1_ps(reinterpret_cast<const float*>(x + r * bytes_of_row)[l]);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sum[r][v] = _mm512_fmadd_ps(own, y[v], sum[r][v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_storeu_ps(sums + r * sums_of_row + 16 * v, sum[r][v]);
}
template <class Half, int rows, int columns>
TENON_AVX512 void add_wide_columns_512(const Columns& y, const Byte* x, Size bytes_of_row, void* to, Size sums_of_row) {
  auto* const sums = static_cast<float*>(to);
  const auto* const from = reinterpret_cast<const Half*>(y.from);
  __m512 sum[rows][columns];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) sum[r][c] = _mm512_setzero_ps();
  for (Size first = 0; first < y.terms; first += 16) {
    __m512 factors[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) factors[c] = wide_sixteen(from + c * y.distance + first, y.terms - first);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const __m512 own = _mm512_loadu_ps(x + r * bytes_of_row + 4 * first);
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) sum[r][c] = _mm512_fmadd_ps(own, factors[c], sum[r][c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) {
      alignas(64) float each[16];
      _mm512_store_ps(each, sum[r][c]);
      for (const float one : each) sums[r * sums_of_row + c] += one;
    }
}

// --- bf16 in pairs ---
#define TENON_PAIRS __attribute__((target("avx512f,avx512bw,avx512bf16")))

TENON_PAIRS inline __m512i first_pairs(const std::uint16_t* from, Size count) {
  const auto inside = static_cast<__mmask32>(count >= 32 ? ~0U : (1U << std::max<Size>(count, 0)) - 1);
  return _mm512_maskz_loadu_epi16(inside, from);
}
// Four vectors of 16 columns, in their order.
TENON_PAIRS inline void group_of_pairs(const Block& y, Size number, __m512i* factors) {
  alignas(64) static constexpr auto places = [] {  // of terms of a column beside each other
    std::array<std::uint16_t, 64> at{};
    for (std::uint16_t i = 0; i < 64; ++i) at[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 32);
    return at;
  }();
  const __m512i first = _mm512_load_si512(places.data()), second = _mm512_load_si512(places.data() + 32);
  const auto* const from = reinterpret_cast<const std::uint16_t*>(y.from) + 2 * number * y.distance;
  const bool both = 2 * number + 1 < y.terms;
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const Size left = y.columns - 32 * half;
    const __m512i even = first_pairs(from + 32 * half, left),
                  odd = both ? first_pairs(from + y.distance + 32 * half, left) : _mm512_setzero_si512();
    factors[2 * half] = _mm512_permutex2var_epi16(even, first, odd);
    factors[2 * half + 1] = _mm512_permutex2var_epi16(even, second, odd);
  }
}
TENON_PAIRS void make_groups_of_pairs(const Block& y, Byte* factors) {
  for (Size g = 0; 2 * g < y.terms; ++g, factors += 256) {
    __m512i made[4];
    group_of_pairs(y, g, made);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_store_si512(factors + 64 * v, made[v]);
  }
}
template <int rows, From source>
TENON_PAIRS void add_groups_of_pairs(const Block& block, const Byte* factors, const Byte* x, Size bytes_of_row,
                                     void* to, Size sums_of_row) {
  auto* const sums = static_cast<float*>(to);
  __m512 sum[rows][4];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum[r][v] = _mm512_loadu_ps(sums + r * sums_of_row + 16 * v);
  for (Size g = 0; 2 * g < block.terms; ++g) {
    __m512i y[4];
    if constexpr (source == From::rows_of_b)
      group_of_pairs(block, g, y);
    else
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) y[v] = _mm512_load_si512(factors + 256 * g + 64 * v);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const __m512i own = _mm512_set1_epi32(group_at(x + r * bytes_of_row, g));
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], (__m512bh)own, (__m512bh)y[v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_storeu_ps(sums + r * sums_of_row + 16 * v, sum[r][v]);
}
template <int rows, int columns>
TENON_PAIRS void add_columns_of_pairs(const Columns& y, const Byte* x, Size bytes_of_row, void* to, Size sums_of_row) {
  auto* const sums = static_cast<float*>(to);
  const auto* const from = reinterpret_cast<const std::uint16_t*>(y.from);
  __m512 sum[rows][columns];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) sum[r][c] = _mm512_setzero_ps();
  for (Size first = 0; first < y.terms; first += 32) {
    __m512i factors[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) factors[c] = first_pairs(from + c * y.distance + first, y.terms - first);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const __m512i own = _mm512_loadu_si512(x + r * bytes_of_row + 2 * first);
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], (__m512bh)own, (__m512bh)factors[c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) {
      alignas(64) float each[16];
      _mm512_store_ps(each, sum[r][c]);
      for (const float one : each) sums[r * sums_of_row + c] += one;
    }
}

#define TENON_AVX2_F16C __attribute__((target("avx2,fma,f16c")))

template <class Half>
TENON_AVX2_F16C inline __m256 wide_eight(const Half* from, Size count) {
  const __m128i x = sixteen(reinterpret_cast<const Byte*>(from), 2 * std::clamp<Size>(count, 0, 8));
  if constexpr (std::is_same_v<Half, Float16>)
    return _mm256_cvtph_ps(x);
  else
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}
template <class Half>
TENON_AVX2_F16C void make_wide_256(const Block& y, Byte* factors) {
  const auto* const from = reinterpret_cast<const Half*>(y.from);
  for (Size l = 0; l < y.terms; ++l)
    for (Size j = 0; j < block_columns; j += 8, factors += 32)
      _mm256_store_ps(reinterpret_cast<float*>(factors),
                      j < y.columns ? wide_eight(from + l * y.distance + j, y.columns - j) : _mm256_setzero_ps());
}
template <class Half, int rows, From source>
TENON_AVX2_F16C void add_wide_256(const Block& block, const Byte* factors, const Byte* x, Size bytes_of_row, void* to,
                                  Size sums_of_row) {
  for (Size j = 0; j < block_columns; j += 16) {
    auto* const sums = static_cast<float*>(to) + j;
    const auto* const from = reinterpret_cast<const Half*>(block.from) + j;
    __m256 sum[rows][2];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) sum[r][v] = _mm256_loadu_ps(sums + r * sums_of_row + 8 * v);
    for (Size l = 0; l < block.terms; ++l) {
      __m256 y[2];
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        if constexpr (source == From::rows_of_b)
          y[v] = wide_eight(from + l * block.distance + 8 * v, block.columns - j - 8 * v);
        else
          y[v] = _mm256_load_ps(reinterpret_cast<const float*>(factors) + l * block_columns + j + 8 * v);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        const __m256 own = _mm256_set1_ps(reinterpret_cast<const float*>(x + r * bytes_of_row)[l]);
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) sum[r][v] = _mm256_fmadd_ps(own, y[v], sum[r][v]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) _mm256_storeu_ps(sums + r * sums_of_row + 8 * v, sum[r][v]);
  }
}
template <class Half, int rows, int columns>
TENON_AVX2_F16C void add_wide_columns_256(const Columns& y, const Byte* x, Size bytes_of_row, void* to,
                                          Size sums_of_row) {
  auto* const sums = static_cast<float*>(to);
  const auto* const from = reinterpret_cast<const Half*>(y.from);
  __m256 sum[rows][columns];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) sum[r][c] = _mm256_setzero_ps();
  for (Size first = 0; first < y.terms; first += 8) {
    __m256 factors[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) factors[c] = wide_eight(from + c * y.distance + first, y.terms - first);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const __m256 own = _mm256_loadu_ps(reinterpret_cast<const float*>(x + r * bytes_of_row) + first);
#pragma GCC unroll 4
      for (int c = 0; c < columns; ++c) sum[r][c] = _mm256_fmadd_ps(own, factors[c], sum[r][c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) {
      alignas(32) float each[8];
      _mm256_store_ps(each, sum[r][c]);
      for (const float one : each) sums[r * sums_of_row + c] += one;
    }
}

// --- Which of them ---
constexpr std::make_integer_sequence<int, rows_at_once> numbers_of_rows;

template <bool a_unsigned, int... i>
constexpr FewRowsKernels by_bytes(bool flips, std::integer_sequence<int, i...>) {
  return {16,
          1,
          4,
          flips,
          true,
          lay_out_bytes,
          make_groups_of_bytes,
          {add_groups_of_bytes<a_unsigned, i + 1, From::rows_of_b>...},
          {add_groups_of_bytes<a_unsigned, i + 1, From::factors>...},
          {add_columns_by_bytes<a_unsigned, i + 1, columns_at_once>...},
          {add_columns_by_bytes<a_unsigned, i + 1, 1>...}};
}
template <class A, bool b_signed, int... i>
constexpr FewRowsKernels by_words(std::integer_sequence<int, i...>) {
  return {16,
          2,
          2,
          false,
          false,
          lay_out_words<A>,
          make_groups_of_words<b_signed>,
          {add_groups_of_words<b_signed, i + 1, From::rows_of_b>...},
          {add_groups_of_words<b_signed, i + 1, From::factors>...},
          {add_columns_by_words<b_signed, i + 1, columns_at_once>...},
          {add_columns_by_words<b_signed, i + 1, 1>...}};
}
template <class Half, int... i>
constexpr FewRowsKernels wide_512(std::integer_sequence<int, i...>) {
  return {32,
          4,
          1,
          false,
          false,
          lay_out_wide<Half>,
          make_wide_512<Half>,
          {add_wide_512<Half, i + 1, From::rows_of_b>...},
          {add_wide_512<Half, i + 1, From::factors>...},
          {add_wide_columns_512<Half, i + 1, columns_at_once>...},
          {add_wide_columns_512<Half, i + 1, 1>...}};
}
template <class Half, int... i>
constexpr FewRowsKernels wide_256(std::integer_sequence<int, i...>) {
  return {12,
          4,
          1,
          false,
          false,
          lay_out_wide<Half>,
          make_wide_256<Half>,
          {add_wide_256<Half, i + 1, From::rows_of_b>...},
          {add_wide_256<Half, i + 1, From::factors>...},
          {add_wide_columns_256<Half, i + 1, columns_at_once>...},
          {add_wide_columns_256<Half, i + 1, 1>...}};
}

template <int... i>
constexpr FewRowsKernels by_pairs(std::integer_sequence<int, i...>) {
  return {16,
          2,
          2,
          false,
          false,
          lay_out_pairs,
          make_groups_of_pairs,
          {add_groups_of_pairs<i + 1, From::rows_of_b>...},
          {add_groups_of_pairs<i + 1, From::factors>...},
          {add_columns_of_pairs<i + 1, columns_at_once>...},
          {add_columns_of_pairs<i + 1, 1>...}};
}

template <class Half>
const FewRowsKernels& kernels_of_halves() noexcept {
  static constexpr FewRowsKernels by_512 = wide_512<Half>(numbers_of_rows), by_256 = wide_256<Half>(numbers_of_rows);
  return vector_unit() == VectorUnit::avx512 ? by_512 : by_256;
}

}  // namespace

const FewRowsKernels& few_rows_kernels(DType a, DType b, Size rows) noexcept {
  static constexpr FewRowsKernels pairs = by_pairs(numbers_of_rows);
  if (a == DType::f16) return kernels_of_halves<Float16>();
  // Fewer rows wait for memory, and sums of f32 round less.
  if (a == DType::bf16) return has_fast_pairs() && rows > rows_at_once ? pairs : kernels_of_halves<BFloat16>();
  // The first index: whether a is signed; the second one: whether b is. One is unsigned where the other one is signed,
  // flipped or not.
  using S = std::int8_t;
  using U = std::uint8_t;
  static constexpr FewRowsKernels bytes[2][2] = {
      {by_bytes<false>(true, numbers_of_rows), by_bytes<true>(false, numbers_of_rows)},
      {by_bytes<false>(false, numbers_of_rows), by_bytes<true>(true, numbers_of_rows)}};
  static constexpr FewRowsKernels words[2][2] = {
      {by_words<U, false>(numbers_of_rows), by_words<U, true>(numbers_of_rows)},
      {by_words<S, false>(numbers_of_rows), by_words<S, true>(numbers_of_rows)}};
  const bool a_signed = a == DType::i8, b_signed = b == DType::i8;
  return (has_vnni() ? bytes : words)[a_signed ? 1 : 0][b_signed ? 1 : 0];
}

}  // namespace tenon
