#include "tenon/runtime/linear_algebra/grouped_kernels.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tenon/base/factors.h"
#include "tenon/base/fork.h"
#include "tenon/base/settings.h"
#include "tenon/runtime/linear_algebra/product_kernels.h"

namespace tenon {
namespace {

using Size = std::int64_t;
using Byte = std::byte;
constexpr Size bytes_of_strip = GroupedFactors::strip_bytes, panel_side = GroupedFactors::panel_lanes;

// --- Tiles of 16 rows of 64 bytes: 0 to 3 are c, 4 and 5 strips of a, 6 and 7 of b. Written in assembler, since
// compilers know their instructions by flags and names that differ. ---
enum class TileDot : std::uint8_t { bf16, ss, su, us, uu };  // signed or unsigned bytes of a and of b

#define TENON_TILE_LOAD(tile, from, distance) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"(distance) : "memory")
#define TENON_TILE_STORE(tile, to, distance) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"(distance) : "memory")
#define TENON_TILE_DOT(c, a, b)                                  \
  do {                                                           \
    if constexpr (dot == TileDot::bf16)                          \
      asm volatile("tdpbf16ps %tmm" #b ", %tmm" #a ", %tmm" #c); \
    else if constexpr (dot == TileDot::ss)                       \
      asm volatile("tdpbssd %tmm" #b ", %tmm" #a ", %tmm" #c);   \
    else if constexpr (dot == TileDot::su)                       \
      asm volatile("tdpbsud %tmm" #b ", %tmm" #a ", %tmm" #c);   \
    else if constexpr (dot == TileDot::us)                       \
      asm volatile("tdpbusd %tmm" #b ", %tmm" #a ", %tmm" #c);   \
    else                                                         \
      asm volatile("tdpbuud %tmm" #b ", %tmm" #a ", %tmm" #c);   \
  } while (false)

// Products of the strips of one part of a with those of one part of b.
template <TileDot dot, bool two_a, bool two_b>
void multiply_tiles() {
  TENON_TILE_DOT(0, 4, 6);
  if constexpr (two_b) TENON_TILE_DOT(1, 4, 7);
  if constexpr (two_a) TENON_TILE_DOT(2, 5, 6);
  if constexpr (two_a && two_b) TENON_TILE_DOT(3, 5, 7);
}
template <bool two>
void load_a(const Byte* a) {
  constexpr Size row = 64;
  TENON_TILE_LOAD(4, a, row);
  if constexpr (two) TENON_TILE_LOAD(5, a + bytes_of_strip, row);
}
template <bool two>
void load_b(const Byte* b) {
  constexpr Size row = 64;
  TENON_TILE_LOAD(6, b, row);
  if constexpr (two) TENON_TILE_LOAD(7, b + bytes_of_strip, row);
}

template <TileDot dot, Size parts, bool two_a, bool two_b>
void tile_block(const Byte* a, const Byte* b, std::int32_t* c, Size steps, bool add) {
  constexpr Size row = panel_side * 4, right = 16, below = 16 * panel_side;
  if (add) {
    TENON_TILE_LOAD(0, c, row);
    if constexpr (two_b) TENON_TILE_LOAD(1, c + right, row);
    if constexpr (two_a) TENON_TILE_LOAD(2, c + below, row);
    if constexpr (two_a && two_b) TENON_TILE_LOAD(3, c + below + right, row);
  } else {
    asm volatile("tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3");
  }
  constexpr Size part = 2 * bytes_of_strip;
  for (Size s = 0; s < steps; ++s, a += parts * part, b += parts * part) {
    load_a<two_a>(a);
    load_b<two_b>(b);
    multiply_tiles<dot, two_a, two_b>();
    if constexpr (parts == 2) {
      load_b<two_b>(b + part);
      multiply_tiles<dot, two_a, two_b>();
      load_a<two_a>(a + part);
      multiply_tiles<dot, two_a, two_b>();
      load_b<two_b>(b);
      multiply_tiles<dot, two_a, two_b>();
    }
  }
  TENON_TILE_STORE(0, c, row);
  if constexpr (two_b) TENON_TILE_STORE(1, c + right, row);
  if constexpr (two_a) TENON_TILE_STORE(2, c + below, row);
  if constexpr (two_a && two_b) TENON_TILE_STORE(3, c + below + right, row);
}

template <TileDot dot, Size parts>
void tile_kernel(const Byte* a, const Byte* b, void* c, Size steps, Size rows, Size columns, bool add) {
  auto* const to = static_cast<std::int32_t*>(c);
  if (rows > 16 && columns > 16) return tile_block<dot, parts, true, true>(a, b, to, steps, add);
  if (rows > 16) return tile_block<dot, parts, true, false>(a, b, to, steps, add);
  if (columns > 16) return tile_block<dot, parts, false, true>(a, b, to, steps, add);
  tile_block<dot, parts, false, false>(a, b, to, steps, add);
}

// --- Vectors: `height` rows of c at a time, `width` vectors of 16 numbers or fewer. `dot` multiplies a group of a row
// with vectors of groups; `beside` and `close` are what kernels of shifted bytes do once for all rows. ---
#define TENON_GROUPED_KERNEL(name, isa, Vector, lanes, height, width, load, store, zero, everywhere, dot, beside,    \
                             close)                                                                                  \
  __attribute__((target(isa))) void name(const Byte* a, const Byte* b, void* c, Size steps, Size rows, Size columns, \
                                         bool add) {                                                                 \
    for (Size j = 0; j < columns; j += Size(lanes) * (width))                                                        \
      for (Size i = 0; i < rows; i += (height)) {                                                                    \
        Byte* const to = static_cast<Byte*>(c) + (i * panel_side + j) * 4;                                           \
        Vector sums[height][width], shifts[width];                                                                   \
        _Pragma("GCC unroll 8") for (Size v = 0; v < (width); ++v) shifts[v] = zero();                               \
        _Pragma("GCC unroll 8") for (Size r = 0; r < (height); ++r)                                                  \
            _Pragma("GCC unroll 8") for (Size v = 0; v < (width); ++v) sums[r][v] =                                  \
                add ? load(to + (r * panel_side + v * (lanes)) * 4) : zero();                                        \
        const Byte *x = a + i / 16 * bytes_of_strip + i % 16 * 64, *y = b + j / 16 * bytes_of_strip + j % 16 * 4;    \
        for (Size s = 0; s < steps; ++s, x += 2 * bytes_of_strip, y += 2 * bytes_of_strip)                           \
          for (Size g = 0; g < 16; ++g) {                                                                            \
            Vector factors[width];                                                                                   \
            _Pragma("GCC unroll 8") for (Size v = 0; v < (width); ++v) {                                             \
              factors[v] = load(y + g * 64 + v * (lanes) / 16 * bytes_of_strip + v * (lanes) % 16 * 4);              \
              beside(shifts[v], factors[v]);                                                                         \
            }                                                                                                        \
            _Pragma("GCC unroll 8") for (Size r = 0; r < (height); ++r) {                                            \
              std::int32_t group;                                                                                    \
              __builtin_memcpy(&group, x + r * 64 + g * 4, 4);                                                       \
              const auto one = everywhere(group);                                                                    \
              _Pragma("GCC unroll 8") for (Size v = 0; v < (width); ++v) dot(sums[r][v], one, factors[v]);           \
            }                                                                                                        \
          }                                                                                                          \
        _Pragma("GCC unroll 8") for (Size r = 0; r < (height); ++r)                                                  \
            _Pragma("GCC unroll 8") for (Size v = 0; v < (width); ++v) {                                             \
          close(sums[r][v], shifts[v]);                                                                              \
          store(to + (r * panel_side + v * (lanes)) * 4, sums[r][v]);                                                \
        }                                                                                                            \
      }                                                                                                              \
  }
#define TENON_NOTHING(x, y) ((void)(x), (void)(y))
#define TENON_LOAD_512(from) _mm512_loadu_si512(from)
#define TENON_STORE_512(to, x) _mm512_storeu_si512(to, x)
#define TENON_LOAD_256(from) _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))
#define TENON_STORE_256(to, x) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x)
#define TENON_LOAD_128(from) _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
#define TENON_STORE_128(to, x) _mm_storeu_si128(reinterpret_cast<__m128i*>(to), x)
#define TENON_DOT_512(sum, x, y) sum = _mm512_add_epi32(sum, _mm512_madd_epi16(x, y))
#define TENON_DOT_256(sum, x, y) sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x, y))
#define TENON_DOT_128(sum, x, y) sum = _mm_add_epi32(sum, _mm_madd_epi16(x, y))

// Bytes by four: the instruction takes unsigned ones with signed ones. Where both are signed, panels have those of a
// shifted by 128, unsigned; where both are unsigned, by -128, signed. What that adds, b's times 128 or -128, goes off
// again.
#define TENON_DOT_US(sum, x, y) sum = _mm512_dpbusd_epi32(sum, x, y)
#define TENON_DOT_SU(sum, x, y) sum = _mm512_dpbusd_epi32(sum, y, x)
#define TENON_SHIFT_OF_SIGNED(sum, y) sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(-128), y)
#define TENON_SHIFT_OF_UNSIGNED(sum, y) sum = _mm512_dpbusd_epi32(sum, y, _mm512_set1_epi8(-128))
#define TENON_UNSHIFT(sum, shift) sum = _mm512_sub_epi32(sum, shift)
#define TENON_BYTES_KERNEL(name, dot, beside, close)                                                            \
  TENON_GROUPED_KERNEL(name, "avx512f,avx512bw,avx512vnni", __m512i, 16, 8, 2, TENON_LOAD_512, TENON_STORE_512, \
                       _mm512_setzero_si512, _mm512_set1_epi32, dot, beside, close)
TENON_BYTES_KERNEL(bytes_ss, TENON_DOT_US, TENON_SHIFT_OF_SIGNED, TENON_UNSHIFT)
TENON_BYTES_KERNEL(bytes_us, TENON_DOT_US, TENON_NOTHING, TENON_NOTHING)
TENON_BYTES_KERNEL(bytes_su, TENON_DOT_SU, TENON_NOTHING, TENON_NOTHING)
TENON_BYTES_KERNEL(bytes_uu, TENON_DOT_SU, TENON_SHIFT_OF_UNSIGNED, TENON_UNSHIFT)

// Pairs of bf16.
#define TENON_LOAD_FLOATS(from) _mm512_loadu_ps(from)
#define TENON_STORE_FLOATS(to, x) _mm512_storeu_ps(to, x)
#define TENON_DOT_PAIRS(sum, x, y) sum = _mm512_dpbf16_ps(sum, (__m512bh)(x), (__m512bh)(y))
TENON_GROUPED_KERNEL(pairs_bf16, "avx512f,avx512bf16", __m512, 16, 8, 2, TENON_LOAD_FLOATS, TENON_STORE_FLOATS,
                     _mm512_setzero_ps, _mm512_set1_epi32, TENON_DOT_PAIRS, TENON_NOTHING, TENON_NOTHING)

TENON_GROUPED_KERNEL(words_512, "avx512f,avx512bw", __m512i, 16, 8, 2, TENON_LOAD_512, TENON_STORE_512,
                     _mm512_setzero_si512, _mm512_set1_epi32, TENON_DOT_512, TENON_NOTHING, TENON_NOTHING)
TENON_GROUPED_KERNEL(words_256, "avx2", __m256i, 8, 4, 2, TENON_LOAD_256, TENON_STORE_256, _mm256_setzero_si256,
                     _mm256_set1_epi32, TENON_DOT_256, TENON_NOTHING, TENON_NOTHING)
TENON_GROUPED_KERNEL(words_128, "sse2", __m128i, 4, 4, 2, TENON_LOAD_128, TENON_STORE_128, _mm_setzero_si128,
                     _mm_set1_epi32, TENON_DOT_128, TENON_NOTHING, TENON_NOTHING)

// --- What this processor has ---
struct NarrowUnits {
  bool tiles_bf16 = false, tiles_bytes = false, vectors_bytes = false, vectors_bf16 = false;
};

// Linux gives a process its tiles when it is asked to: signal frames are larger from then on.
bool ask_for_tiles() noexcept {
  constexpr long request = 0x1023, tile_data = 18;
  return ::syscall(SYS_arch_prctl, request, tile_data) == 0;
}

// Whether vectors multiply pairs of bf16 as fast as single numbers of f32: AMD's do; Intel's take twice as long, so
// that products of f32 are faster there.
bool sums_pairs_at_once() noexcept {
  unsigned eax = 0, name[3] = {};
  return __get_cpuid(0, &eax, &name[0], &name[2], &name[1]) != 0 &&
         std::string_view(reinterpret_cast<const char*>(name), sizeof name) == "AuthenticAMD";
}

NarrowUnits detect_narrow_units() noexcept {
  NarrowUnits has;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (vector_unit() < VectorUnit::avx512 || __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return has;
  const auto bit = [](unsigned word, int at) { return (word >> at & 1) != 0; };
  has.vectors_bytes = bit(ecx, 11);
  unsigned more = 0, b = 0, c = 0, d = 0;
  has.vectors_bf16 = __get_cpuid_count(7, 1, &more, &b, &c, &d) != 0 && bit(more, 5) && sums_pairs_at_once();
  const bool tiles = bit(edx, 24), of_bf16 = bit(edx, 22), of_bytes = bit(edx, 25);
  if (!tiles || setting("TENON_CPU").value_or("") == "avx512" || !ask_for_tiles()) return has;
  has.tiles_bf16 = of_bf16, has.tiles_bytes = of_bytes;
  return has;
}

const NarrowUnits& narrow_units() noexcept {
  static constinit Lasting<const NarrowUnits> found;
  return found.get(detect_narrow_units);
}

}  // namespace

GroupedWay grouped_way(DType a, DType b) noexcept {
  using Form = GroupedFactors::Form;
  const NarrowUnits& has = narrow_units();
  if (a == DType::bf16 && b == DType::bf16) {
    if (has.tiles_bf16) return {tile_kernel<TileDot::bf16, 1>, {}, true};
    return has.vectors_bf16 ? GroupedWay{pairs_bf16} : GroupedWay{};
  }
  if (a == DType::f16 && b == DType::f16)
    return has.tiles_bf16 ? GroupedWay{tile_kernel<TileDot::bf16, 2>, {Form::parts_of_halves}, true} : GroupedWay{};
  if (!is_byte(a) || !is_byte(b)) return {};
  const bool a_signed = a == DType::i8, b_signed = b == DType::i8;
  if (has.tiles_bytes) {
    constexpr std::array<GroupedKernel, 4> kernels{tile_kernel<TileDot::uu, 1>, tile_kernel<TileDot::us, 1>,
                                                   tile_kernel<TileDot::su, 1>, tile_kernel<TileDot::ss, 1>};
    return {kernels[std::size_t(2 * a_signed + b_signed)], {Form::as_they_are, 1, a_signed, b_signed}, true};
  }
  if (has.vectors_bytes) {
    constexpr std::array<GroupedKernel, 4> kernels{bytes_uu, bytes_us, bytes_su, bytes_ss};
    return {kernels[std::size_t(2 * a_signed + b_signed)],
            {Form::as_they_are, 1, a_signed, b_signed, a_signed == b_signed}};
  }
  const GroupedKernel kernel = vector_unit() == VectorUnit::avx512 ? words_512
                               : vector_unit() == VectorUnit::avx2 ? words_256
                                                                   : words_128;
  return {kernel, {Form::words_of_bytes, 1, a_signed, b_signed}};
}

bool has_vnni() noexcept { return narrow_units().vectors_bytes; }
bool has_fast_pairs() noexcept { return narrow_units().vectors_bf16; }

TileScope::TileScope(bool wanted) noexcept : held_(wanted) {
  if (!wanted) return;
  struct alignas(64) {  // palette 1; eight tiles of 16 rows of 64 bytes
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } const shape;
  static_assert(sizeof shape == 64);
  asm volatile("ldtilecfg %0" ::"m"(shape));
}
TileScope::~TileScope() {
  if (held_) asm volatile("tilerelease");
}

}  // namespace tenon
