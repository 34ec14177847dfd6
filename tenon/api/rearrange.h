// Elements in other places: turned around, rolled, repeated, with others around them, as NumPy names them.
//
// Any shape and dtype; axes that are negative count from the end. Derivatives move with the elements. Throws ShapeError
// where an axis is not there, or sizes do not fit.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "tenon/ir/array.h"
#include "tenon/ops/reduce.h"

namespace tenon {

// The other way round along axes.
//   flip(Array{1, 2, 3})   // 3 2 1
Array flip(const Operand& x, const Axes& axes = {});
// Turned k times by a right angle in the plane of two axes, from the first towards the second.
//   rot90(Array{{1, 2}, {3, 4}})   // 2 4, 1 3
Array rot90(const Operand& x, std::int64_t k = 1, std::int64_t axis1 = 0, std::int64_t axis2 = 1);

// Moved `shift` places along an axis (without one, of all elements in a row); those that fall out at the end come in at
// the beginning. A shift may be an array of one integer too, whose value is not known yet.
//   roll(Array{1, 2, 3}, 1, 0)   // 3 1 2
Array roll(const Operand& x, const Dim& shift, std::optional<std::int64_t> axis = {});
Array roll(const Operand& x, const Array& shift, std::optional<std::int64_t> axis = {});
template <std::integral T>
Array roll(const Operand& x, T shift, std::optional<std::int64_t> axis = {}) {
  return roll(x, Dim(static_cast<std::int64_t>(shift)), axis);
}

// The whole array again and again along each axis; further axes come in front.
//   tile(Array{1, 2}, {2})      // 1 2 1 2
//   tile(Array{1, 2}, {2, 1})   // 1 2, 1 2
Array tile(const Operand& x, const Shape& times);
// Each part along an axis `times` times (without an axis, of all elements in a row); or, by an array of integers, each
// so often as it says, `total` altogether: the last one fills the rest, what is more is left out.
//   repeat(Array{1, 2}, 2)                      // 1 1 2 2
//   repeat(Array{1, 2}, Array{1, 3}, 4, 0)      // 1 2 2 2
Array repeat(const Operand& x, const Dim& times, std::optional<std::int64_t> axis = {});
Array repeat(const Operand& x, const Array& times, const Dim& total, std::int64_t axis);

// What stands before and behind an axis: the element at the end; the elements of the other end; the mirror image about
// the end, which is there once (reflect) or twice (symmetric).
enum class PadMode : std::uint8_t { edge, wrap, reflect, symmetric };
// How many elements before and behind each axis.
struct PadWidth {
  Dim before = 0, behind = 0;
};
// Throws ShapeError where there are not as many widths as axes, or one is negative, and of an axis without elements.
//   pad(Array{1, 2, 3}, {{1, 2}}, PadMode::reflect)   // 2 1 2 3 2 1
Array pad(const Operand& x, std::span<const PadWidth> widths, PadMode mode);
inline Array pad(const Operand& x, std::initializer_list<PadWidth> widths, PadMode mode) {
  return pad(x, std::span(widths.begin(), widths.size()), mode);
}

}  // namespace tenon
