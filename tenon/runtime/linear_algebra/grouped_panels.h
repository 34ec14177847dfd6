// Operands of grouped products laid out as panels for the kernels of grouped_kernels.h.
#pragma once

#include "tenon/runtime/linear_algebra/grouped_kernels.h"

namespace tenon {

// Lanes, rows of a or columns of b, by terms of the sum, with strides in elements.
struct LanesOfTerms {
  const std::byte* from;
  std::int64_t lane_stride, term_stride;
  std::int64_t lanes, terms;
};

// Writes the panels of all lanes one behind the other, each with all its steps. False where f16 has infinities or NaN,
// which have no parts; the panels are unspecified then.
enum class OperandSide : std::uint8_t { a, b };
bool pack_panels(const GroupedFactors& factors, OperandSide side, const LanesOfTerms& x, std::byte* to);

// Signed bytes plus 128, unsigned ones, or the other way; a multiple of 16 of them.
void flip_leading_bits(std::byte* bytes, std::int64_t count);

}  // namespace tenon
