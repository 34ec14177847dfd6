#include "tenon/runtime/linear_algebra/byte_rows.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tenon/runtime/context.h"
#include "tenon/runtime/linear_algebra/grouped_kernels.h"
#include "tenon/runtime/linear_algebra/product_blocks.h"
#include "tenon/runtime/linear_algebra/product_kernels.h"

namespace tenon {
namespace {

using Size = std::int64_t;
using Byte = std::byte;
constexpr Size most_rows = 16;        // of a
constexpr Size most_terms = 1 << 14;  // that are laid out of a at a time
constexpr Size whole_terms = 64;      // rows of a end with zeros up to a multiple of so many
constexpr int rows_at_once = 4;       // of a, whose sums are in registers
constexpr int columns_at_once = 4;    // of b, where they are contiguous
constexpr Size bytes_of_sums = 32 << 10;
// A block of b, whose rows are contiguous: so many terms and columns, or fewer. Its factors lie in groups of 32 bits.
constexpr Size block_terms = 16, block_columns = 64, most_block_bytes = 2 * block_terms * block_columns;

struct BlockOfB {
  const Byte* from;
  Size distance, terms, columns;
};
using MakeFactors = void (*)(const BlockOfB& y, Byte* factors);
// Adds to sums of some rows of a, whose factors lie in groups, too.
using AddFactors = void (*)(const Byte* factors, Size groups, const std::int32_t* x, Size groups_of_row,
                            std::uint32_t* sums, Size sums_of_row);
// Likewise, of whole columns of b, which are contiguous.
struct ColumnsOfB {
  const Byte* b;
  Size distance, terms;
};
using AddColumns = void (*)(const ColumnsOfB& y, const Byte* x, Size bytes_of_row, std::uint32_t* sums,
                            Size sums_of_row);

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
TENON_VNNI void make_groups_of_bytes(const BlockOfB& y, Byte* factors) {
  const __mmask64 inside = first_bytes(y.columns);
  for (Size first = 0; first < y.terms; first += 4, factors += 256) {
    __m512i line[4];
#pragma GCC unroll 4
    for (int l = 0; l < 4; ++l)
      line[l] = first + l < y.terms ? _mm512_maskz_loadu_epi8(inside, y.from + (first + l) * y.distance)
                                    : _mm512_setzero_si512();
    const __m512i low_01 = _mm512_unpacklo_epi8(line[0], line[1]), low_23 = _mm512_unpacklo_epi8(line[2], line[3]),
                  high_01 = _mm512_unpackhi_epi8(line[0], line[1]), high_23 = _mm512_unpackhi_epi8(line[2], line[3]);
    _mm512_store_si512(factors, _mm512_unpacklo_epi16(low_01, low_23));
    _mm512_store_si512(factors + 64, _mm512_unpackhi_epi16(low_01, low_23));
    _mm512_store_si512(factors + 128, _mm512_unpacklo_epi16(high_01, high_23));
    _mm512_store_si512(factors + 192, _mm512_unpackhi_epi16(high_01, high_23));
  }
}
template <bool a_unsigned, int rows>
TENON_VNNI void add_groups_of_bytes(const Byte* factors, Size groups, const std::int32_t* x, Size groups_of_row,
                                    std::uint32_t* sums, Size sums_of_row) {
  __m512i sum[rows][4];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sum[r][v] = _mm512_loadu_si512(sums + r * sums_of_row + 16 * v);
  for (Size g = 0; g < groups; ++g, factors += 256) {
    __m512i y[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) y[v] = _mm512_load_si512(factors + 64 * v);
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      const __m512i own = _mm512_set1_epi32(x[r * groups_of_row + g]);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sum[r][v] = dot_bytes<a_unsigned>(sum[r][v], own, y[v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_storeu_si512(sums + r * sums_of_row + 16 * v, sum[r][v]);
}
void put_in_order(const std::uint32_t* block, std::uint32_t* to) {
  for (Size v = 0; v < 4; ++v)
    for (Size lane = 0; lane < 4; ++lane) std::memcpy(to + 16 * lane + 4 * v, block + 16 * v + 4 * lane, 16);
}

template <bool a_unsigned, int rows, int columns>
TENON_VNNI void add_columns_by_bytes(const ColumnsOfB& y, const Byte* x, Size bytes_of_row, std::uint32_t* sums,
                                     Size sums_of_row) {
  __m512i sum[rows][columns];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) sum[r][c] = _mm512_setzero_si512();
  for (Size first = 0; first < y.terms; first += 64) {
    const __mmask64 inside = first_bytes(y.terms - first);
    __m512i factors[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) factors[c] = _mm512_maskz_loadu_epi8(inside, y.b + c * y.distance + first);
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

// Eight vectors a pair of terms, of eight columns each.
template <bool b_signed>
TENON_AVX2 void make_groups_of_words(const BlockOfB& y, Byte* factors) {
  for (Size first = 0; first < y.terms; first += 2)
    for (Size j = 0; j < block_columns; j += 16, factors += 64) {
      const Byte* const from = y.from + first * y.distance + j;
      const Size left = y.columns - j;
      const __m128i even = left > 0 ? sixteen(from, left) : _mm_setzero_si128(),
                    odd = left > 0 && first + 1 < y.terms ? sixteen(from + y.distance, left) : _mm_setzero_si128();
      auto* const to = reinterpret_cast<__m256i*>(factors);
      _mm256_store_si256(to, widened<b_signed>(_mm_unpacklo_epi8(even, odd)));
      _mm256_store_si256(to + 1, widened<b_signed>(_mm_unpackhi_epi8(even, odd)));
    }
}
template <int rows>
TENON_AVX2 void add_groups_of_words(const Byte* factors, Size groups, const std::int32_t* x, Size groups_of_row,
                                    std::uint32_t* sums, Size sums_of_row) {
  for (Size j = 0; j < block_columns; j += 16, sums += 16, factors += 64) {
    const auto* y = reinterpret_cast<const __m256i*>(factors);
    __m256i sum[rows][2];
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        sum[r][v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + r * sums_of_row + 8 * v));
    for (Size g = 0; g < groups; ++g, y += block_columns / 8)
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        const __m256i own = _mm256_set1_epi32(x[r * groups_of_row + g]);
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) sum[r][v] = _mm256_add_epi32(sum[r][v], _mm256_madd_epi16(own, y[v]));
      }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + r * sums_of_row + 8 * v), sum[r][v]);
  }
}

template <bool b_signed, int rows, int columns>
TENON_AVX2 void add_columns_by_words(const ColumnsOfB& y, const Byte* x, Size bytes_of_row, std::uint32_t* sums,
                                     Size sums_of_row) {
  __m256i sum[rows][columns];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c) sum[r][c] = _mm256_setzero_si256();
  for (Size first = 0; first < y.terms; first += 16) {
    __m256i factors[columns];
#pragma GCC unroll 4
    for (int c = 0; c < columns; ++c)
      factors[c] = widened<b_signed>(sixteen(y.b + c * y.distance + first, y.terms - first));
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

// --- How this processor does it ---
struct ByteUnit {
  Size factor_bytes, group;  // of a as it is laid out; factors in 32 bits
  bool shifts;               // whether of factors of one kind those of a have their leading bits flipped
  bool by_fours;             // whether sums of a block's columns are where make_groups_of_bytes puts them
  MakeFactors make;
  // By the number of rows of a, from 1 on; of columns of b so many at once, or one.
  std::array<AddFactors, rows_at_once> rows;
  std::array<AddColumns, rows_at_once> several_columns, one_column;
};
template <bool a_unsigned, int... i>
constexpr ByteUnit by_bytes(std::integer_sequence<int, i...>) {
  return {1,
          4,
          true,
          true,
          make_groups_of_bytes,
          {add_groups_of_bytes<a_unsigned, i + 1>...},
          {add_columns_by_bytes<a_unsigned, i + 1, columns_at_once>...},
          {add_columns_by_bytes<a_unsigned, i + 1, 1>...}};
}
template <bool b_signed, int... i>
constexpr ByteUnit by_words(std::integer_sequence<int, i...>) {
  return {2,
          2,
          false,
          false,
          make_groups_of_words<b_signed>,
          {add_groups_of_words<i + 1>...},
          {add_columns_by_words<b_signed, i + 1, columns_at_once>...},
          {add_columns_by_words<b_signed, i + 1, 1>...}};
}

const ByteUnit& unit_for(const ByteRows& p) {
  constexpr std::make_integer_sequence<int, rows_at_once> rows;
  static constexpr ByteUnit bytes[] = {by_bytes<false>(rows), by_bytes<true>(rows)},
                            words[] = {by_words<false>(rows), by_words<true>(rows)};
  // Those of a are unsigned where b's are signed, flipped or not.
  return (has_vnni() ? bytes : words)[p.b_signed ? 1 : 0];
}

Size up_to_multiple(Size n, Size of) { return (n + of - 1) / of * of; }

class ByteRowsProduct {
 public:
  explicit ByteRowsProduct(const ByteRows& p)
      : p_(p), u_(unit_for(p)), flips_(u_.shifts && p.a_signed == p.b_signed), rows_(p.rows + (flips_ ? 1 : 0)) {
    terms_of_row_ = up_to_multiple(std::min(p_.terms, most_terms), whole_terms);
    const Size fit = bytes_of_sums / 4 / rows_ / block_columns * block_columns;
    columns_ = std::min(up_to_multiple(p_.columns, block_columns), fit);
  }

  bool run(const Byte* a, const Byte* b, const std::atomic<std::uint32_t>& stop, TakeByteSums take) const {
    const Size of_factors = rows_ * terms_of_row_ * u_.factor_bytes, of_sums = rows_ * columns_ * 4;
    auto* const memory = static_cast<Byte*>(product_scratch(static_cast<std::size_t>(of_factors + of_sums)));
    if (memory == nullptr) return false;
    auto* const sums = reinterpret_cast<std::uint32_t*>(memory + of_factors);
    for (Size l = 0; l < p_.terms; l += most_terms) {
      const Size terms = std::min(most_terms, p_.terms - l);
      lay_out(a + l * p_.a_term, terms, memory);
      for (Size j = 0; j < p_.columns; j += columns_) {
        if (stop.load(std::memory_order_relaxed) == Context::stopped) return true;
        const Size columns = std::min(columns_, p_.columns - j);
        const Byte* const part = b + l * p_.b_term + j * p_.b_column;
        std::memset(sums, 0, static_cast<std::size_t>(of_sums));
        if (p_.b_column == 1)
          add_rows(part, terms, columns, memory, sums);
        else
          add_columns(part, terms, columns, memory, sums);
        give(sums, j, columns, l > 0, take);
      }
    }
    return true;
  }

 private:
  // Rows of a; where a's leading bits are flipped, behind them a row of what that adds to each factor. Beyond the last
  // term anything may be: b has zeros there.
  void lay_out(const Byte* a, Size terms, Byte* to) const {
    const Size bytes_of_row = terms_of_row_ * u_.factor_bytes;
    for (Size i = 0; i < p_.rows; ++i, a += p_.a_row, to += bytes_of_row)
      u_.factor_bytes == 1 ? lay_out_bytes(a, terms, to) : lay_out_words(a, terms, reinterpret_cast<std::int16_t*>(to));
    if (flips_) std::memset(to, 0x80, static_cast<std::size_t>(bytes_of_row));
  }
  void lay_out_bytes(const Byte* a, Size terms, Byte* to) const {
    if (p_.a_term == 1)
      std::memcpy(to, a, static_cast<std::size_t>(terms));
    else
      for (Size l = 0; l < terms; ++l) to[l] = a[l * p_.a_term];
    if (!flips_) return;
    const __m128i leading = _mm_set1_epi8(-128);
    for (auto* x = reinterpret_cast<__m128i*>(to); x < reinterpret_cast<__m128i*>(to + terms); ++x)
      _mm_store_si128(x, _mm_xor_si128(_mm_load_si128(x), leading));
  }
  void lay_out_words(const Byte* a, Size terms, std::int16_t* to) const {
    for (Size l = 0; l < terms; ++l) {
      const Byte one = a[l * p_.a_term];
      to[l] = static_cast<std::int16_t>(p_.a_signed ? static_cast<std::int8_t>(one) : std::to_integer<int>(one));
    }
  }

  // f(first row, how many), of rows in shares that are about equal.
  template <class F>
  void each_rows(F f) const {
    const Size shares = (rows_ + rows_at_once - 1) / rows_at_once;
    for (Size i = 0; i < shares; ++i) f(rows_ * i / shares, rows_ * (i + 1) / shares - rows_ * i / shares);
  }
  void add_rows(const Byte* b, Size terms, Size columns, const Byte* x, std::uint32_t* sums) const {
    alignas(64) Byte factors[most_block_bytes];
    const Size groups_of_row = terms_of_row_ / u_.group;
    for (Size l = 0; l < terms; l += block_terms)
      for (Size j = 0; j < columns; j += block_columns) {
        const BlockOfB y{b + l * p_.b_term + j, p_.b_term, std::min(block_terms, terms - l), columns - j};
        u_.make(y, factors);
        const Size groups = (y.terms + u_.group - 1) / u_.group;
        const auto* const own = reinterpret_cast<const std::int32_t*>(x) + l / u_.group;
        each_rows([&](Size i, Size count) {
          u_.rows[static_cast<std::size_t>(count - 1)](factors, groups, own + i * groups_of_row, groups_of_row,
                                                       sums + i * columns_ + j, columns_);
        });
      }
  }
  void add_columns(const Byte* b, Size terms, Size columns, const Byte* x, std::uint32_t* sums) const {
    const Size bytes_of_row = terms_of_row_ * u_.factor_bytes;
    for (Size j = 0; j < columns;) {
      const bool several = columns - j >= columns_at_once;
      const auto& kernels = several ? u_.several_columns : u_.one_column;
      each_rows([&](Size i, Size count) {
        kernels[static_cast<std::size_t>(count - 1)]({b + j * p_.b_column, p_.b_column, terms}, x + i * bytes_of_row,
                                                     bytes_of_row, sums + i * columns_ + j, columns_);
      });
      j += several ? columns_at_once : 1;
    }
  }

  void give(std::uint32_t* sums, Size first, Size columns, bool add, TakeByteSums take) const {
    for (Size i = 0; i < p_.rows; ++i) {
      std::uint32_t* const row = sums + i * columns_;
      if (flips_)
        for (Size j = 0; j < columns_; ++j) row[j] -= sums[p_.rows * columns_ + j];
      if (u_.by_fours && p_.b_column == 1) {
        std::uint32_t block[block_columns];
        for (Size j = 0; j < columns; j += block_columns) {
          std::memcpy(block, row + j, sizeof block);
          put_in_order(block, row + j);
        }
      }
      take(i, first, columns, row, add);
    }
  }

  const ByteRows p_;
  const ByteUnit& u_;
  const bool flips_;
  const Size rows_;  // with that of what flipping adds
  Size terms_of_row_, columns_;
};

}  // namespace

bool are_few_byte_rows(const ByteRows& p) noexcept {
  // Measured: for more than very few rows b has to be larger than what caches keep beside its panels, and its columns
  // long enough that the sum of a vector's elements is little.
  constexpr Size enough_columns = 2 * block_columns, very_few = 3, large = 1 << 18, long_columns = 512;
  const bool along_rows = p.b_column == 1, along_columns = p.b_term == 1;
  if (p.rows > most_rows || p.columns < enough_columns || !(along_rows || along_columns)) return false;
  if (vector_unit() < VectorUnit::avx2) return false;
  return p.rows <= very_few || (p.columns * p.terms >= large && (along_rows || p.terms >= long_columns));
}

bool multiply_byte_rows(const ByteRows& product, const Byte* a, const Byte* b, const std::atomic<std::uint32_t>& stop,
                        TakeByteSums take) {
  return ByteRowsProduct(product).run(a, b, stop, take);
}

}  // namespace tenon
