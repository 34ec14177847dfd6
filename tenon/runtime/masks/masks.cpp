// Vectors of elements whose chosen lanes move together: by AVX-512's compress and expand, by a table of permutations
// for AVX2; else element by element without a branch. Long masks are shared among threads: how many each part chooses
// is counted first.
#include "tenon/runtime/masks/masks.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "tenon/runtime/linear_algebra/product_kernels.h"
#include "tenon/runtime/symbols.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {
namespace {

using Size = std::int64_t;

std::uint64_t eight(const std::uint8_t* mask) {
  std::uint64_t word;
  std::memcpy(&word, mask, sizeof word);
  return word;
}

Size count(const std::uint8_t* mask, Size n) {
  Size found = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    std::uint64_t word = eight(mask + i);  // the bits of each byte, joined in its lowest one
    word |= word >> 4, word |= word >> 2, word |= word >> 1;
    found += static_cast<Size>(((word & 0x0101010101010101u) * 0x0101010101010101u) >> 56);
  }
  for (; i < n; ++i) found += mask[i] != 0 ? 1 : 0;
  return found;
}

// Elements in memory, or the numbers of their places.
template <class T>
struct Elements {
  const T* at;
  T operator[](Size i) const { return at[i]; }
};
template <class T>
struct Numbers {
  T operator[](Size i) const { return static_cast<T>(i); }
};

// Both: as far as whole vectors go, `from` is where they begin; how many are chosen up to there is `chosen`.
struct Reached {
  Size from, chosen;
};

__attribute__((target("avx512f"))) __m512i vector_at(const Elements<std::uint32_t>& from, Size i) {
  return _mm512_loadu_si512(from.at + i);
}
__attribute__((target("avx512f"))) __m512i vector_at(const Elements<std::uint64_t>& from, Size i) {
  return _mm512_loadu_si512(from.at + i);
}
__attribute__((target("avx512f"))) __m512i vector_at(const Numbers<std::uint32_t>&, Size i) {
  return _mm512_add_epi32(_mm512_set1_epi32(static_cast<std::int32_t>(i)),
                          _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

// To memory by way of a register: some processors take a hundred times as long to compress to memory.
template <class From>
__attribute__((target("avx512f,avx512bw,avx512vl"))) Reached compress_vectors(const std::uint8_t* mask, Size begin,
                                                                              Size end, const From& from, Size room,
                                                                              std::uint32_t* to) {
  Reached at{begin, 0};
  for (; at.from + 16 <= end; at.from += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(mask + at.from));
    const __mmask16 lanes = _mm_test_epi8_mask(bytes, bytes);
    const __m512i chosen = _mm512_maskz_compress_epi32(lanes, vector_at(from, at.from));
    const int number = std::popcount(static_cast<unsigned>(lanes));
    if (at.chosen + 16 <= room)
      _mm512_storeu_si512(to + at.chosen, chosen);
    else
      _mm512_mask_storeu_epi32(to + at.chosen, static_cast<__mmask16>((1u << number) - 1), chosen);
    at.chosen += number;
  }
  return at;
}
template <class From>
__attribute__((target("avx512f,avx512bw,avx512vl"))) Reached compress_vectors(const std::uint8_t* mask, Size begin,
                                                                              Size end, const From& from, Size room,
                                                                              std::uint64_t* to) {
  Reached at{begin, 0};
  for (; at.from + 8 <= end; at.from += 8) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(mask + at.from));
    const auto lanes = static_cast<__mmask8>(_mm_test_epi8_mask(bytes, bytes));
    const __m512i chosen = _mm512_maskz_compress_epi64(lanes, vector_at(from, at.from));
    const int number = std::popcount(static_cast<unsigned>(lanes));
    if (at.chosen + 8 <= room)
      _mm512_storeu_si512(to + at.chosen, chosen);
    else
      _mm512_mask_storeu_epi64(to + at.chosen, static_cast<__mmask8>((1u << number) - 1), chosen);
    at.chosen += number;
  }
  return at;
}
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2"))) Reached compress_small(const std::uint8_t* mask,
                                                                                        Size begin, Size end,
                                                                                        const std::uint16_t* from,
                                                                                        Size room, std::uint16_t* to) {
  Reached at{begin, 0};
  for (; at.from + 32 <= end; at.from += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask + at.from));
    const __mmask32 lanes = _mm256_test_epi8_mask(bytes, bytes);
    const __m512i chosen = _mm512_maskz_compress_epi16(lanes, _mm512_loadu_si512(from + at.from));
    const int number = std::popcount(static_cast<std::uint32_t>(lanes));
    if (at.chosen + 32 <= room)
      _mm512_storeu_si512(to + at.chosen, chosen);
    else
      _mm512_mask_storeu_epi16(to + at.chosen, static_cast<__mmask32>((std::uint64_t(1) << number) - 1), chosen);
    at.chosen += number;
  }
  return at;
}
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2"))) Reached compress_small(const std::uint8_t* mask,
                                                                                        Size begin, Size end,
                                                                                        const std::uint8_t* from,
                                                                                        Size room, std::uint8_t* to) {
  Reached at{begin, 0};
  for (; at.from + 32 <= end; at.from += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(mask + at.from));
    const __mmask32 lanes = _mm256_test_epi8_mask(bytes, bytes);
    const __m256i chosen =
        _mm256_maskz_compress_epi8(lanes, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at.from)));
    const int number = std::popcount(static_cast<std::uint32_t>(lanes));
    if (at.chosen + 32 <= room)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at.chosen), chosen);
    else
      _mm256_mask_storeu_epi8(to + at.chosen, static_cast<__mmask32>((std::uint64_t(1) << number) - 1), chosen);
    at.chosen += number;
  }
  return at;
}

// For each byte of bits: which lanes of eight are chosen, in order.
constexpr auto permutations = [] {
  std::array<std::array<std::uint8_t, 8>, 256> all{};
  for (std::size_t bits = 0; bits < all.size(); ++bits)
    for (std::uint8_t lane = 0, next = 0; lane < 8; ++lane)
      if ((bits >> lane & 1) != 0) all[bits][next++] = lane;
  return all;
}();

__attribute__((target("avx2"))) __m256i eight_at(const Elements<std::uint32_t>& from, Size i) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from.at + i));
}
__attribute__((target("avx2"))) __m256i eight_at(const Numbers<std::uint32_t>&, Size i) {
  return _mm256_add_epi32(_mm256_set1_epi32(static_cast<std::int32_t>(i)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
// Up to where eight more might not fit.
template <class From>
__attribute__((target("avx2,popcnt"))) Reached compress_eights(const std::uint8_t* mask, Size begin, Size end,
                                                               const From& from, Size room, std::uint32_t* to) {
  Reached at{begin, 0};
  for (; at.from + 8 <= end && at.chosen + 8 <= room; at.from += 8) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(mask + at.from));
    const auto bits = static_cast<unsigned>(~_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()))) & 0xff;
    const __m256i lanes =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(permutations[bits].data())));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at.chosen),
                        _mm256_permutevar8x32_epi32(eight_at(from, at.from), lanes));
    at.chosen += std::popcount(bits);
  }
  return at;
}

bool has_small_compress() { return vector_unit() == VectorUnit::avx512 && __builtin_cpu_supports("avx512vbmi2") != 0; }

// The vectors of a part of the mask, as far as the processor has some for such elements.
template <class T, class From>
Reached vectors(const std::uint8_t* mask, Size begin, Size end, const From& from, Size room, T* to) {
  if constexpr (sizeof(T) == 4) {
    if (vector_unit() == VectorUnit::avx512) return compress_vectors(mask, begin, end, from, room, to);
    if (vector_unit() == VectorUnit::avx2) return compress_eights(mask, begin, end, from, room, to);
  } else if constexpr (std::is_same_v<From, Elements<T>>) {
    if constexpr (sizeof(T) == 8) {
      if (vector_unit() == VectorUnit::avx512) return compress_vectors(mask, begin, end, from, room, to);
    } else {
      if (has_small_compress()) return compress_small(mask, begin, end, from.at, room, to);
    }
  }
  return {begin, 0};
}

// The chosen ones of [begin, end), of which `room` fit at `to`: all that there are.
template <class T, class From>
Size compress_part(const std::uint8_t* mask, Size begin, Size end, const From& from, Size room, T* to) {
  auto [i, chosen] = vectors(mask, begin, end, from, room, to);
  for (; i < end && chosen < room; ++i) {  // without a branch: what is not chosen is written over
    to[chosen] = from[i];
    chosen += mask[i] != 0 ? 1 : 0;
  }
  return chosen;
}
// The same of rows of bytes.
Size compress_rows(const std::uint8_t* mask, Size begin, Size end, const std::byte* from, std::size_t bytes, Size room,
                   std::byte* to) {
  Size chosen = 0;
  for (Size i = begin; i < end && chosen < room; ++i) {
    if (i + 8 <= end && eight(mask + i) == 0) {
      i += 7;
      continue;
    }
    if (mask[i] == 0) continue;
    std::memcpy(to + static_cast<std::size_t>(chosen) * bytes, from + static_cast<std::size_t>(i) * bytes, bytes);
    ++chosen;
  }
  return chosen;
}

constexpr Size part_bytes = 1 << 18;  // of what a thread reads at once, at least
constexpr Size worth_sharing = 4;     // parts
constexpr Size most_parts = 256;

// part(begin, end, how many are chosen before it, how many fit) for parts of the mask, by all threads where that is
// worth it. Returns how many are chosen.
template <class Part>
Size in_parts(const std::uint8_t* mask, Size n, Size bytes, Size room, Part&& part) {
  const Size each =
      std::max({part_bytes / std::max<Size>(bytes, 1) / 64 * 64, (n / most_parts + 64) / 64 * 64, Size(64)});
  const Size parts = (n + each - 1) / each;
  if (parts < worth_sharing || threads() == 1 || tenon_inside_parallel()) return part(0, n, 0, room);
  std::array<Size, most_parts + 1> before{};  // how many are chosen before each part
  each_range(parts, 1, [&](Size begin, Size end) {
    for (Size k = begin; k < end; ++k)
      before[static_cast<std::size_t>(k) + 1] = count(mask + k * each, std::min(each, n - k * each));
  });
  for (std::size_t k = 1; k <= static_cast<std::size_t>(parts); ++k) before[k] += before[k - 1];
  each_range(parts, 1, [&](Size begin, Size end) {
    for (Size k = begin; k < end; ++k) {
      const auto at = static_cast<std::size_t>(k);
      part(k * each, std::min((k + 1) * each, n), before[at], before[at + 1] - before[at]);
    }
  });
  return before[static_cast<std::size_t>(parts)];
}

template <class T, class From>
Size compress_all(const std::uint8_t* mask, Size n, const From& from, Size room, T* to) {
  return in_parts(mask, n, sizeof(T), room, [&](Size begin, Size end, Size before, Size fits) {
    return compress_part(mask, begin, end, from, fits, to + before);
  });
}

bool agrees(const std::uint8_t* mask, Size n, Size room, Size exact) { return exact == 0 || count(mask, n) == room; }

__attribute__((target("avx512f,avx512bw,avx512vl"))) Reached expand_vectors(const std::uint8_t* mask, Size n,
                                                                            const std::uint32_t* from,
                                                                            std::uint32_t* to) {
  Reached at{0, 0};
  for (; at.from + 16 <= n; at.from += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(mask + at.from));
    const __mmask16 lanes = _mm_test_epi8_mask(bytes, bytes);
    const int number = std::popcount(static_cast<unsigned>(lanes));
    const __m512i next = _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << number) - 1), from + at.chosen);
    _mm512_storeu_si512(to + at.from, _mm512_maskz_expand_epi32(lanes, next));
    at.chosen += number;
  }
  return at;
}
__attribute__((target("avx512f,avx512bw,avx512vl"))) Reached expand_vectors(const std::uint8_t* mask, Size n,
                                                                            const std::uint64_t* from,
                                                                            std::uint64_t* to) {
  Reached at{0, 0};
  for (; at.from + 8 <= n; at.from += 8) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(mask + at.from));
    const auto lanes = static_cast<__mmask8>(_mm_test_epi8_mask(bytes, bytes));
    const int number = std::popcount(static_cast<unsigned>(lanes));
    const __m512i next = _mm512_maskz_loadu_epi64(static_cast<__mmask8>((1u << number) - 1), from + at.chosen);
    _mm512_storeu_si512(to + at.from, _mm512_maskz_expand_epi64(lanes, next));
    at.chosen += number;
  }
  return at;
}

template <class T>
void uncompress(const std::uint8_t* mask, Size n, const T* from, Size count, T* to) {
  if (count == 0) return void(std::fill_n(to, n, T(0)));
  Reached at{0, 0};
  if constexpr (sizeof(T) >= 4)
    if (vector_unit() == VectorUnit::avx512) at = expand_vectors(mask, n, from, to);
  for (auto [i, next] = at; i < n; ++i) {
    const T value = from[std::min(next, count - 1)];
    to[i] = mask[i] != 0 ? value : T(0);
    next += mask[i] != 0 ? 1 : 0;
  }
}

const RuntimeSymbol symbols[]{{"tenon_compress", &tenon_compress},
                              {"tenon_places", &tenon_places},
                              {"tenon_uncompress", &tenon_uncompress},
                              {"tenon_not_negative", &tenon_not_negative}};

}  // namespace
}  // namespace tenon

using namespace tenon;

std::int64_t tenon_compress(const void* mask, std::int64_t n, const void* rows, std::int64_t bytes, std::int64_t room,
                            std::int64_t exact, void* to) {
  const auto* m = static_cast<const std::uint8_t*>(mask);
  if (!agrees(m, n, room, exact)) return -sizes_differ;
  const auto of = [&]<class T>(T*) {
    return compress_all(m, n, Elements<T>{static_cast<const T*>(rows)}, room, static_cast<T*>(to));
  };
  switch (bytes) {
    case 0:
      return count(m, n);
    case 1:
      return of(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return of(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return of(static_cast<std::uint32_t*>(nullptr));
    case 8:
      return of(static_cast<std::uint64_t*>(nullptr));
    default:
      return in_parts(m, n, bytes, room, [&](Size begin, Size end, Size before, Size fits) {
        const auto row = static_cast<std::size_t>(bytes);
        return compress_rows(m, begin, end, static_cast<const std::byte*>(rows), row, fits,
                             static_cast<std::byte*>(to) + static_cast<std::size_t>(before) * row);
      });
  }
}

std::int64_t tenon_places(const void* mask, std::int64_t n, std::int64_t bytes, std::int64_t room, std::int64_t exact,
                          void* to) {
  const auto* m = static_cast<const std::uint8_t*>(mask);
  if (!agrees(m, n, room, exact)) return -sizes_differ;
  return bytes == 4 ? compress_all(m, n, Numbers<std::uint32_t>(), room, static_cast<std::uint32_t*>(to))
                    : compress_all(m, n, Numbers<std::uint64_t>(), room, static_cast<std::uint64_t*>(to));
}

std::int64_t tenon_uncompress(const void* mask, std::int64_t n, const void* rows, std::int64_t bytes,
                              std::int64_t number, void* to) {
  const auto* m = static_cast<const std::uint8_t*>(mask);
  if (count(m, n) != number) return -sizes_differ;
  const auto of = [&]<class T>(T*) { uncompress(m, n, static_cast<const T*>(rows), number, static_cast<T*>(to)); };
  switch (bytes) {
    case 1:
      of(static_cast<std::uint8_t*>(nullptr));
      break;
    case 2:
      of(static_cast<std::uint16_t*>(nullptr));
      break;
    case 4:
      of(static_cast<std::uint32_t*>(nullptr));
      break;
    case 8:
      of(static_cast<std::uint64_t*>(nullptr));
      break;
    default: {
      const auto row = static_cast<std::size_t>(bytes);
      const auto* from = static_cast<const std::byte*>(rows);
      auto* out = static_cast<std::byte*>(to);
      for (Size i = 0; i < n; ++i, out += row) {
        if (m[i] == 0) {
          std::memset(out, 0, row);
        } else {
          std::memcpy(out, from, row);
          from += row;
        }
      }
    }
  }
  return 0;
}

std::int64_t tenon_not_negative(std::int64_t size) { return size < 0 ? -sizes_differ : 0; }
