// Kernels of products of narrow numbers, by instructions that multiply and sum groups of factors: of tiles (AMX), or of
// vectors of bytes by four or of bf16 in pairs (VNNI, AVX512-BF16), or of 16-bit integers in pairs (AVX-512, AVX2,
// SSE2).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/base/dtype.h"

namespace tenon {

// How factors lie for a kernel. A group is 32 bits of factors along the sum. A strip is 16 lanes, rows of a or columns
// of b, of 16 groups: 1 KiB; of a lane by lane, of b group by group. A panel is 32 lanes: for each step of 16 groups
// and each part of the factors two strips. Beyond the last lane and the last term are zeros.
struct GroupedFactors {
  static constexpr std::int64_t lanes = 16, panel_lanes = 32, groups = 16, strip_bytes = 1024;
  enum class Form : std::uint8_t {
    as_they_are,      // bf16, or bytes by four
    words_of_bytes,   // bytes as integers of 16 bits
    parts_of_halves,  // f16 as sums of two bf16, of which the first has the leading bits
  };
  Form form = Form::as_they_are;
  std::int64_t element = 2;  // bytes of a factor in memory
  bool a_signed = true, b_signed = true;
  bool a_shifted = false;  // bytes of a with their leading bits flipped: unsigned for signed ones, and the other way

  std::int64_t parts() const { return form == Form::parts_of_halves ? 2 : 1; }
  std::int64_t terms() const { return form == Form::as_they_are ? 64 / element : 32; }  // of a step
  std::int64_t step_bytes() const { return parts() * 2 * strip_bytes; }                 // of a panel
};

// c (+)= a b of two panels; c is 32 by 32 numbers of 32 bits, f32 or integers, row by row, of which `rows` and
// `columns` are wanted: others are unspecified. What is near 0, below 2^-126, counts as 0 in sums of bf16.
using GroupedKernel = void (*)(const std::byte* a, const std::byte* b, void* c, std::int64_t steps, std::int64_t rows,
                               std::int64_t columns, bool add);

// What multiplies factors of these dtypes on this processor: f16 and bf16 summed in f32, bytes in integers of 32 bits.
// Null where nothing beats products of f32. TENON_CPU holds it to vectors (avx512), or to less.
struct GroupedWay {
  GroupedKernel kernel = nullptr;
  GroupedFactors factors = {};
  bool tiles = false;
};
GroupedWay grouped_way(DType a, DType b) noexcept;

// Whether vectors multiply and sum four bytes at a time (AVX512-VNNI); whether pairs of bf16 (AVX512-BF16), as fast as
// single numbers of f32.
bool has_vnni() noexcept;
bool has_fast_pairs() noexcept;

// While it lives, this thread has the tiles that kernels of ways with tiles want.
class TileScope {
 public:
  explicit TileScope(bool wanted) noexcept;
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  bool held_;
};

}  // namespace tenon
