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
constexpr int columns_at_once = FewRowsKernels::columns_at_once;

// What a block's factors are made of: rows of b, or what was made of them before.
enum class From : std::uint8_t { rows_of_b, factors };

template <class T>
T number_at(const Byte* from, Size number) {
  T x;
  std::memcpy(&x, from + static_cast<Size>(sizeof x) * number, sizeof x);
  return x;
}

// --- Rows of a ---
template <class Element>
void lay_out_as_they_are(const Byte* a, Size stride, Size terms, Byte* to) {
  if (stride == 1) return void(std::memcpy(to, a, static_cast<std::size_t>(terms) * sizeof(Element)));
  const auto* const from = reinterpret_cast<const Element*>(a);
  auto* const row = reinterpret_cast<Element*>(to);
  for (Size l = 0; l < terms; ++l) row[l] = from[l * stride];
}
template <bool is_signed>
void lay_out_words(const Byte* a, Size stride, Size terms, Byte* to) {
  auto* const words = reinterpret_cast<std::int16_t*>(to);
  for (Size l = 0; l < terms; ++l) {
    const int bits = std::to_integer<int>(a[l * stride]);
    words[l] = static_cast<std::int16_t>(is_signed && bits > 127 ? bits - 256 : bits);
  }
}
template <class Half>
void lay_out_wide(const Byte* a, Size stride, Size terms, Byte* to) {
  const auto* const from = reinterpret_cast<const Half*>(a);
  auto* const wide = reinterpret_cast<float*>(to);
  if (stride == 1) return widen_row(from, wide, terms);
  for (Size l = 0; l < terms; ++l) wide[l] = static_cast<float>(from[l * stride]);
}

// --- AVX2: bytes as integers of 16 bits, and halves as f32 ---
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
namespace avx2 {
#include "tenon/runtime/linear_algebra/few_rows_loops.inc"

struct Integers {
  using Element = std::uint32_t;
  using Vector = __m256i;
  static constexpr Size lanes = 8;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static void store(void* to, Vector x) { _mm256_storeu_si256(static_cast<__m256i*>(to), x); }
  static Vector everywhere(const Byte* row, Size number) {
    return _mm256_set1_epi32(number_at<std::int32_t>(row, number));
  }
};
struct Floats {
  using Element = float;
  using Vector = __m256;
  static constexpr Size lanes = 8;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector load(const void* from) { return _mm256_loadu_ps(static_cast<const float*>(from)); }
  static void store(void* to, Vector x) { _mm256_storeu_ps(static_cast<float*>(to), x); }
  static Vector everywhere(const Byte* row, Size number) { return _mm256_set1_ps(number_at<float>(row, number)); }
};

inline __m128i first_bytes(const Byte* from, Size count) {
  if (count >= 16) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  alignas(16) Byte some[16] = {};
  if (count > 0) std::memcpy(some, from, static_cast<std::size_t>(count));
  return _mm_load_si128(reinterpret_cast<const __m128i*>(some));
}

template <bool b_signed>
struct Words {
  using Sums = Integers;
  using Factors = Integers;
  static constexpr Size at_once = 2, group = 2, along = 16, factor_bytes = 2, bytes_in_b = 1;

  static Sums::Vector dot(Sums::Vector sum, Factors::Vector x, Factors::Vector y) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x, y));
  }
  static Factors::Vector wide(__m128i bytes) {
    return b_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
  }
  static Factors::Vector of_column(const Byte* from, Size count) { return wide(first_bytes(from, count)); }
  [[gnu::always_inline]] static void make(const Block& y, Size number, Size first_column, Factors::Vector* factors) {
    const Byte* const from = y.from + group * number * y.distance + first_column;
    const Size left = y.columns - first_column;
    const bool both = group * number + 1 < y.terms;
    const __m128i even = first_bytes(from, left), odd = first_bytes(both ? from + y.distance : from, both ? left : 0);
    factors[0] = wide(_mm_unpacklo_epi8(even, odd));
    factors[1] = wide(_mm_unpackhi_epi8(even, odd));
  }
};

template <class Half>
struct Wide {
  using Sums = Floats;
  using Factors = Floats;
  static constexpr Size at_once = 2, group = 1, along = 8, factor_bytes = 4, bytes_in_b = 2;

  static Sums::Vector dot(Sums::Vector sum, Factors::Vector x, Factors::Vector y) { return _mm256_fmadd_ps(x, y, sum); }
  static Factors::Vector of_column(const Byte* from, Size count) {
    const __m128i x = first_bytes(from, 2 * std::min(count, Factors::lanes));
    if constexpr (std::is_same_v<Half, Float16>)
      return _mm256_cvtph_ps(x);
    else
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
  }
  [[gnu::always_inline]] static void make(const Block& y, Size number, Size first_column, Factors::Vector* factors) {
    make_of_rows<Wide>(y, number, first_column, factors);
  }
};

// The first index: whether a is signed; the second one: whether b is.
constexpr FewRowsKernels bytes[2][2] = {
    {kernels_with<Words<false>>(16, lay_out_words<false>), kernels_with<Words<true>>(16, lay_out_words<false>)},
    {kernels_with<Words<false>>(16, lay_out_words<true>), kernels_with<Words<true>>(16, lay_out_words<true>)}};
template <class Half>
constexpr FewRowsKernels halves = kernels_with<Wide<Half>>(12, lay_out_wide<Half>);
}  // namespace avx2
#pragma GCC pop_options

// --- AVX-512: vectors of all that follow, whose instruction sets have this one's ---
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw")
namespace avx512 {
struct Integers {
  using Element = std::uint32_t;
  using Vector = __m512i;
  static constexpr Size lanes = 16;
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const void* from) { return _mm512_loadu_si512(from); }
  static void store(void* to, Vector x) { _mm512_storeu_si512(to, x); }
  static Vector everywhere(const Byte* row, Size number) {
    return _mm512_set1_epi32(number_at<std::int32_t>(row, number));
  }
};
struct Floats {
  using Element = float;
  using Vector = __m512;
  static constexpr Size lanes = 16;
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector load(const void* from) { return _mm512_loadu_ps(from); }
  static void store(void* to, Vector x) { _mm512_storeu_ps(to, x); }
  static Vector everywhere(const Byte* row, Size number) { return _mm512_set1_ps(number_at<float>(row, number)); }
};
}  // namespace avx512
#pragma GCC pop_options

// --- AVX-512: halves as f32 ---
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl")
namespace avx512 {
#include "tenon/runtime/linear_algebra/few_rows_loops.inc"

template <class Half>
struct Wide {
  using Sums = Floats;
  using Factors = Floats;
  static constexpr Size at_once = 4, group = 1, along = 16, factor_bytes = 4, bytes_in_b = 2;

  static Sums::Vector dot(Sums::Vector sum, Factors::Vector x, Factors::Vector y) { return _mm512_fmadd_ps(x, y, sum); }
  static Factors::Vector of_column(const Byte* from, Size count) {
    const auto inside = static_cast<__mmask16>(count >= Factors::lanes ? 0xffff : (1 << std::max<Size>(count, 0)) - 1);
    const __m256i x = _mm256_maskz_loadu_epi16(inside, from);
    constexpr __mmask16 all = 0xffff;  // g++ 12 warns of what the forms without a mask leave open
    if constexpr (std::is_same_v<Half, Float16>)
      return _mm512_maskz_cvtph_ps(all, x);
    else
      return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all, _mm512_maskz_cvtepu16_epi32(all, x), 16));
  }
  [[gnu::always_inline]] static void make(const Block& y, Size number, Size first_column, Factors::Vector* factors) {
    make_of_rows<Wide>(y, number, first_column, factors);
  }
};

template <class Half>
constexpr FewRowsKernels halves = kernels_with<Wide<Half>>(32, lay_out_wide<Half>);
}  // namespace avx512
#pragma GCC pop_options

// --- VNNI: four bytes a group, unsigned ones, of a or else of b, with signed ones ---
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vnni")
namespace vnni {
#include "tenon/runtime/linear_algebra/few_rows_loops.inc"

template <bool a_unsigned>
struct Fours {
  using Sums = avx512::Integers;
  using Factors = avx512::Integers;
  static constexpr Size at_once = 4, group = 4, along = 64, factor_bytes = 1, bytes_in_b = 1;

  static Sums::Vector dot(Sums::Vector sum, Factors::Vector x, Factors::Vector y) {
    return a_unsigned ? _mm512_dpbusd_epi32(sum, x, y) : _mm512_dpbusd_epi32(sum, y, x);
  }
  static Factors::Vector of_column(const Byte* from, Size count) {
    return _mm512_maskz_loadu_epi8(count >= 64 ? ~__mmask64(0) : (__mmask64(1) << count) - 1, from);
  }
  // Of 16 columns the first four are in the first vector, and so on.
  [[gnu::always_inline]] static void make(const Block& y, Size number, Size, Factors::Vector* factors) {
    const Byte* const from = y.from + group * number * y.distance;
    __m512i line[4];
#pragma GCC unroll 4
    for (Size l = 0; l < 4; ++l)
      line[l] = group * number + l < y.terms ? of_column(from + l * y.distance, y.columns) : Factors::zero();
    const __m512i low_01 = _mm512_unpacklo_epi8(line[0], line[1]), low_23 = _mm512_unpacklo_epi8(line[2], line[3]),
                  high_01 = _mm512_unpackhi_epi8(line[0], line[1]), high_23 = _mm512_unpackhi_epi8(line[2], line[3]);
    factors[0] = _mm512_unpacklo_epi16(low_01, low_23), factors[1] = _mm512_unpackhi_epi16(low_01, low_23);
    factors[2] = _mm512_unpacklo_epi16(high_01, high_23), factors[3] = _mm512_unpackhi_epi16(high_01, high_23);
  }
};

template <bool a_unsigned>
constexpr FewRowsKernels fours(bool flips) {
  FewRowsKernels kernels = kernels_with<Fours<a_unsigned>>(16, lay_out_as_they_are<std::uint8_t>);
  kernels.flips = flips, kernels.by_fours = true;
  return kernels;
}
// As of AVX2. One is unsigned where the other one is signed, flipped or not.
constexpr FewRowsKernels bytes[2][2] = {{fours<false>(true), fours<true>(false)},
                                        {fours<false>(false), fours<true>(true)}};
}  // namespace vnni
#pragma GCC pop_options

// --- AVX512-BF16: pairs ---
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512bf16")
namespace avx512_bf16 {
#include "tenon/runtime/linear_algebra/few_rows_loops.inc"

struct Pairs {
  using Sums = avx512::Floats;
  using Factors = avx512::Integers;
  static constexpr Size at_once = 4, group = 2, along = 32, factor_bytes = 2, bytes_in_b = 2;

  static Sums::Vector dot(Sums::Vector sum, Factors::Vector x, Factors::Vector y) {
    return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y);
  }
  static Factors::Vector of_column(const Byte* from, Size count) {
    return _mm512_maskz_loadu_epi16(count >= 32 ? ~0U : (1U << std::max<Size>(count, 0)) - 1, from);
  }
  [[gnu::always_inline]] static void make(const Block& y, Size number, Size, Factors::Vector* factors) {
    alignas(64) static constexpr auto places = [] {  // of a column's two terms, beside each other
      std::array<std::uint16_t, 64> at{};
      for (std::uint16_t i = 0; i < 64; ++i) at[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 32);
      return at;
    }();
    const __m512i first = Factors::load(places.data()), second = Factors::load(places.data() + 32);
    const bool both = group * number + 1 < y.terms;
#pragma GCC unroll 2
    for (Size half = 0; half < 2; ++half) {
      const Byte* const from = y.from + (group * number * y.distance + 32 * half) * bytes_in_b;
      const Size left = y.columns - 32 * half;
      const __m512i even = of_column(from, left),
                    odd = both ? of_column(from + y.distance * bytes_in_b, left) : Factors::zero();
      factors[2 * half] = _mm512_permutex2var_epi16(even, first, odd);
      factors[2 * half + 1] = _mm512_permutex2var_epi16(even, second, odd);
    }
  }
};

constexpr FewRowsKernels pairs = kernels_with<Pairs>(16, lay_out_as_they_are<std::uint16_t>);
}  // namespace avx512_bf16
#pragma GCC pop_options

template <class Half>
const FewRowsKernels& kernels_of() noexcept {
  return vector_unit() == VectorUnit::avx512 ? avx512::halves<Half> : avx2::halves<Half>;
}

}  // namespace

const FewRowsKernels& few_rows_kernels(DType a, DType b, Size rows) noexcept {
  if (a == DType::f16) return kernels_of<Float16>();
  // Fewer rows wait for memory, and sums of f32 round less.
  if (a == DType::bf16)
    return has_fast_pairs() && rows > FewRowsKernels::rows_at_once ? avx512_bf16::pairs : kernels_of<BFloat16>();
  return (has_vnni() ? vnni::bytes : avx2::bytes)[a == DType::i8 ? 1 : 0][b == DType::i8 ? 1 : 0];
}

}  // namespace tenon
