#include "tenon/runtime/linear_algebra/grouped_panels.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace tenon {
namespace {

using Size = std::int64_t;
using Byte = std::byte;
using FactorForm = GroupedFactors::Form;
constexpr Size strip_lanes = GroupedFactors::lanes, strip_groups = GroupedFactors::groups, strip_row = 64;

__m128i load_16(const Byte* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
void store_16(Byte* to, __m128i x) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), x); }

// A strip lane by lane from rows that are `distance` bytes apart, or group by group.
void copy_rows(const Byte* from, Size distance, Byte* to) {
  for (Size i = 0; i < strip_lanes; ++i) std::memcpy(to + i * strip_row, from + i * distance, strip_row);
}
void transpose_groups(const Byte* from, Size distance, Byte* to) {
  for (Size i = 0; i < 16; i += 4)
    for (Size j = 0; j < 16; j += 4) {
      const Byte* const x = from + i * distance + j * 4;
      const __m128i a = load_16(x), b = load_16(x + distance), c = load_16(x + 2 * distance),
                    d = load_16(x + 3 * distance);
      const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d), ef = _mm_unpackhi_epi32(a, b),
                    gh = _mm_unpackhi_epi32(c, d);
      Byte* const y = to + j * strip_row + i * 4;
      store_16(y, _mm_unpacklo_epi64(ab, cd));
      store_16(y + strip_row, _mm_unpackhi_epi64(ab, cd));
      store_16(y + 2 * strip_row, _mm_unpacklo_epi64(ef, gh));
      store_16(y + 3 * strip_row, _mm_unpackhi_epi64(ef, gh));
    }
}

// A strip group by group from rows of 16 lanes, one a term: pairs of 16 bits.
void join_pairs(const Byte* from, Size distance, Byte* to) {
  for (Size g = 0; g < strip_groups; ++g, from += 2 * distance, to += strip_row)
    for (Size half = 0; half < 2; ++half) {
      const __m128i x = load_16(from + 16 * half), y = load_16(from + distance + 16 * half);
      store_16(to + 32 * half, _mm_unpacklo_epi16(x, y));
      store_16(to + 32 * half + 16, _mm_unpackhi_epi16(x, y));
    }
}
// And four bytes.
void join_bytes(const Byte* from, Size distance, Byte* to) {
  for (Size g = 0; g < strip_groups; ++g, from += 4 * distance, to += strip_row) {
    const __m128i a = load_16(from), b = load_16(from + distance), c = load_16(from + 2 * distance),
                  d = load_16(from + 3 * distance);
    const __m128i low_ab = _mm_unpacklo_epi8(a, b), low_cd = _mm_unpacklo_epi8(c, d), high_ab = _mm_unpackhi_epi8(a, b),
                  high_cd = _mm_unpackhi_epi8(c, d);
    store_16(to, _mm_unpacklo_epi16(low_ab, low_cd));
    store_16(to + 16, _mm_unpackhi_epi16(low_ab, low_cd));
    store_16(to + 32, _mm_unpacklo_epi16(high_ab, high_cd));
    store_16(to + 48, _mm_unpackhi_epi16(high_ab, high_cd));
  }
}

// Bytes as 16-bit integers, 16 at a time.
void widen_bytes(const Byte* from, bool is_signed, Size count, Byte* to) {
  for (Size i = 0; i < count; i += 16) {
    const __m128i x = load_16(from + i), zero = _mm_setzero_si128();
    const __m128i above = is_signed ? _mm_cmpgt_epi8(zero, x) : zero;
    store_16(to + 2 * i, _mm_unpacklo_epi8(x, above));
    store_16(to + 2 * i + 16, _mm_unpackhi_epi8(x, above));
  }
}

// f16 as the sum of two bf16, which is exact: 8 leading bits of its 11, and what is left. 16 at a time; false where one
// is no number.
__attribute__((target("avx2,f16c"))) bool part_halves(const Byte* from, Size count, Byte* leading, Byte* rest) {
  const __m256i upper = _mm256_set1_epi32(int(0xffff0000u));
  const __m128i exponent = _mm_set1_epi16(0x7c00);
  __m128i special = _mm_setzero_si128();
  for (Size i = 0; i < count; i += 16) {
    __m256i high[2], low[2];
    for (Size half = 0; half < 2; ++half) {
      const __m128i x = load_16(from + 2 * i + 16 * half);
      special = _mm_or_si128(special, _mm_cmpeq_epi16(_mm_and_si128(x, exponent), exponent));
      const __m256 wide = _mm256_cvtph_ps(x);
      const __m256i first = _mm256_and_si256(_mm256_castps_si256(wide), upper);
      const __m256 left = _mm256_sub_ps(wide, _mm256_castsi256_ps(first));
      high[half] = _mm256_srli_epi32(first, 16);
      low[half] = _mm256_srli_epi32(_mm256_castps_si256(left), 16);
    }
    constexpr int in_order = 0b11011000;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(leading + 2 * i),
                        _mm256_permute4x64_epi64(_mm256_packus_epi32(high[0], high[1]), in_order));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(rest + 2 * i),
                        _mm256_permute4x64_epi64(_mm256_packus_epi32(low[0], low[1]), in_order));
  }
  return _mm_movemask_epi8(special) == 0;
}

// Strips of one operand.
class PanelPacker {
 public:
  PanelPacker(const GroupedFactors& factors, OperandSide side, const LanesOfTerms& x)
      : f_(factors), side_(side), x_(x), is_signed_(side == OperandSide::a ? factors.a_signed : factors.b_signed) {}

  bool run(Byte* to) const {
    const Size strips = (x_.lanes + strip_lanes - 1) / strip_lanes, steps = (x_.terms + f_.terms() - 1) / f_.terms();
    const Size panel_bytes = steps * f_.step_bytes();
    const auto at = [&](Size strip, Size step) {
      return to + strip / 2 * panel_bytes + step * f_.step_bytes() + strip % 2 * GroupedFactors::strip_bytes;
    };
    // In the order in which memory has them.
    if (x_.term_stride == 1) {
      for (Size i = 0; i < strips; ++i)
        for (Size s = 0; s < steps; ++s)
          if (!made(i, s, at(i, s))) return false;
    } else {
      for (Size s = 0; s < steps; ++s)
        for (Size i = 0; i < strips; ++i)
          if (!made(i, s, at(i, s))) return false;
    }
    return true;
  }

 private:
  bool made(Size number, Size step, Byte* to) const {
    if (!strip(number, step, to)) return false;
    if (f_.a_shifted && side_ == OperandSide::a) flip_leading_bits(to, GroupedFactors::strip_bytes);
    return true;
  }
  bool strip(Size number, Size step, Byte* to) const {
    const Size first_lane = number * strip_lanes, first_term = step * f_.terms();
    const Size lanes_left = x_.lanes - first_lane, terms_left = x_.terms - first_term;
    const Byte* const from = x_.from + (first_lane * x_.lane_stride + first_term * x_.term_stride) * f_.element;
    if (lanes_left >= strip_lanes && terms_left >= f_.terms()) {
      if (x_.term_stride == 1) return rows(from, x_.lane_stride * f_.element, to);
      if (x_.lane_stride == 1) return columns(from, x_.term_stride * f_.element, to);
    }
    alignas(64) Byte some[strip_lanes * strip_row] = {};
    const Size width = f_.terms() * f_.element;
    const Size some_lanes = std::min(strip_lanes, lanes_left), some_terms = std::min(f_.terms(), terms_left);
    if (f_.element == 1)
      gather<std::uint8_t>(from, some_lanes, some_terms, some, width);
    else
      gather<std::uint16_t>(from, some_lanes, some_terms, some, width);
    return rows(some, width, to);
  }

  // Of any strides, lane by lane.
  template <class Element>
  void gather(const Byte* from, Size some_lanes, Size some_terms, Byte* to, Size width) const {
    const auto* const source = reinterpret_cast<const Element*>(from);
    for (Size i = 0; i < some_lanes; ++i) {
      const Element* const line = source + i * x_.lane_stride;
      auto* const row = reinterpret_cast<Element*>(to + i * width);
      if (x_.term_stride == 1)
        std::memcpy(row, line, static_cast<std::size_t>(some_terms) * sizeof(Element));
      else
        for (Size l = 0; l < some_terms; ++l) row[l] = line[l * x_.term_stride];
    }
  }

  void by_lane(const Byte* from, Size distance, Byte* to) const {
    side_ == OperandSide::a ? copy_rows(from, distance, to) : transpose_groups(from, distance, to);
  }
  void by_group(const Byte* groups_of_lanes, Byte* to) const { transpose_groups(groups_of_lanes, strip_row, to); }

  // Of rows of terms, one a lane.
  bool rows(const Byte* from, Size distance, Byte* to) const {
    if (f_.form == FactorForm::as_they_are) return by_lane(from, distance, to), true;
    alignas(64) Byte first[strip_lanes * strip_row], second[strip_lanes * strip_row];
    bool good = true;
    for (Size i = 0; i < strip_lanes; ++i)
      good = converted(from + i * distance, 32, first, second, i * strip_row) && good;
    by_lane(first, strip_row, to);
    if (f_.parts() == 2) by_lane(second, strip_row, to + 2 * GroupedFactors::strip_bytes);
    return good;
  }

  // Of rows of lanes, one a term.
  bool columns(const Byte* from, Size distance, Byte* to) const {
    if (f_.form == FactorForm::as_they_are) return joined(from, distance, to), true;
    alignas(64) Byte first[32 * 32], second[32 * 32];
    bool good = true;
    for (Size l = 0; l < 32; ++l) good = converted(from + l * distance, strip_lanes, first, second, l * 32) && good;
    joined(first, 32, to);
    if (f_.parts() == 2) joined(second, 32, to + 2 * GroupedFactors::strip_bytes);
    return good;
  }
  void joined(const Byte* from, Size distance, Byte* to) const {
    const bool bytes = f_.form == FactorForm::as_they_are && f_.element == 1;
    alignas(64) Byte groups_of_lanes[strip_lanes * strip_row];
    Byte* const made = side_ == OperandSide::b ? to : groups_of_lanes;
    bytes ? join_bytes(from, distance, made) : join_pairs(from, distance, made);
    if (side_ == OperandSide::a) by_group(made, to);
  }

  bool converted(const Byte* from, Size count, Byte* first, Byte* second, Size at) const {
    if (f_.form == FactorForm::parts_of_halves) return part_halves(from, count, first + at, second + at);
    widen_bytes(from, is_signed_, count, first + at);
    return true;
  }

  const GroupedFactors& f_;
  const OperandSide side_;
  const LanesOfTerms& x_;
  const bool is_signed_;
};

}  // namespace

bool pack_panels(const GroupedFactors& factors, OperandSide side, const LanesOfTerms& x, Byte* to) {
  return PanelPacker(factors, side, x).run(to);
}

void flip_leading_bits(Byte* bytes, Size count) {
  const __m128i leading = _mm_set1_epi8(-128);
  for (Size i = 0; i < count; i += 16) store_16(bytes + i, _mm_xor_si128(load_16(bytes + i), leading));
}

}  // namespace tenon
