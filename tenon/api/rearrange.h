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
#include "tenon/ops/reductions/reduce.h"

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

// Rows of values before those at places along an axis (without one, of all elements in a row): in the result they stand
// in the order of their places, those of one place in the order in which they are given. Places are integers, n for the
// end of n elements; negative ones count from the end, and what lies outside is moved inside. They need not be known.
// One place that is no vector takes `values` of x's rank, whose first axis is moved to `axis`, or one row; a vector
// takes a row for each, or as many as `values` has for one. Values broadcast and become x's dtype. Time grows with the
// elements, and sorts the places.
//   insert(Array{1, 2, 3}, 1, 5)                      // 1 5 2 3
//   insert(Array{1, 2, 3}, Array{0, 3}, Array{5, 6})  // 5 1 2 3 6
Array insert(const Operand& x, const Operand& places, const Operand& values, std::optional<std::int64_t> axis = {});
// The array without the parts at places along an axis (without one, of all elements in a row). Places that are known
// may be given several times; throws ShapeError where one lies outside, and UnsupportedError where negative ones stand
// beside others along an axis of unknown size. Those in an array, which need not be known, differ.
//   without(Array{1, 2, 3}, {0, -1})          // 2
//   without(Array{1, 2, 3}, Array{2, 0}, 0)   // 2
Array without(const Operand& x, std::span<const std::int64_t> places, std::optional<std::int64_t> axis = {});
inline Array without(const Operand& x, std::initializer_list<std::int64_t> places,
                     std::optional<std::int64_t> axis = {}) {
  return without(x, std::span(places.begin(), places.size()), axis);
}
Array without(const Operand& x, const Array& places, std::optional<std::int64_t> axis = {});

// Of arrays that broadcast, together with `which`, the element of that of them which `which` names: integers. Outside
// of them: the nearest (clip), modulo how many there are (wrap), or none may lie there (refuse), for which they must be
// known: throws ShapeError where one does and ConcretizationError in a trace. Choices meet in one dtype. Throws
// ShapeError without choices. Of up to 32 choices each element looks at all of them; of more they are stacked.
//   choose(Array{1, 0}, {Array{1, 2}, Array{10, 20}})   // 10 2
enum class ChooseMode : std::uint8_t { refuse, wrap, clip };
Array choose(const Operand& which, std::span<const Array> choices, ChooseMode mode = ChooseMode::clip);
inline Array choose(const Operand& which, std::initializer_list<Array> choices, ChooseMode mode = ChooseMode::clip) {
  return choose(which, std::span(choices.begin(), choices.size()), mode);
}

// The elements along an axis with each of those that stand at `places` in order where a sort would put it, all before
// it not larger, all behind not smaller; and where they are, i32. Here all elements are in order
// (tenon/ops/reductions/sorting.h). Negative places count from the end; throws ShapeError where one lies outside.
//   partition(Array{3, 1, 2}, {0})   // 1 2 3
Array partition(const Operand& x, std::span<const std::int64_t> places, std::int64_t axis = -1);
Array argpartition(const Operand& x, std::span<const std::int64_t> places, std::int64_t axis = -1);
inline Array partition(const Operand& x, std::initializer_list<std::int64_t> places, std::int64_t axis = -1) {
  return partition(x, std::span(places.begin(), places.size()), axis);
}
inline Array argpartition(const Operand& x, std::initializer_list<std::int64_t> places, std::int64_t axis = -1) {
  return argpartition(x, std::span(places.begin(), places.size()), axis);
}

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
