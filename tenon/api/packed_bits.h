// Eight bools as a byte, and back, as NumPy names them. Axes that are negative count from the end; without one all
// elements stand in a row. Throws ShapeError where there is no such axis.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/ir/array.h"

namespace tenon {

enum class BitOrder : std::uint8_t { big, little };  // whether the first element is the highest bit, or the lowest

struct PackOptions {
  std::optional<std::int64_t> axis = {};
  BitOrder bitorder = BitOrder::big;
};
// Eight elements along the axis as one byte, u8, a bit each: whether it is not 0. Bits behind the last element are 0.
// Of bool and integers: else a DTypeError.
//   packbits(Array{1, 0, 1})   // 160
Array packbits(const Operand& x, const PackOptions& options = {});

// The bits of bytes, u8 of 0 and 1, along the axis: `count` of them, zeros behind the last; of a negative count so many
// fewer. Of u8: else a DTypeError.
//   unpackbits(convert(Array{5}, DType::u8))   // 0 0 0 0 0 1 0 1
struct UnpackOptions {
  std::optional<std::int64_t> axis = {}, count = {};
  BitOrder bitorder = BitOrder::big;
};
Array unpackbits(const Operand& x, const UnpackOptions& options = {});

}  // namespace tenon
