// Reductions as streams: a state that takes in the elements of one step after the other, and gives the result of all.
#pragma once

#include <functional>

#include "tenon/ir/bind.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

inline std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

// Of steps along axis 0, those of a turn one behind the other: [turns, steps of a turn, …], or as it is for one a turn.
Array by_turn(const Array& x, std::int64_t steps_a_turn);

// One step's elements: their shape is the result's with `axes`, which the stream reduces, besides.
struct StreamStep {
  Array elements;
  std::vector<std::int64_t> axes;
  Array index = {};    // where they lie along the axis of the steps, i64[]
  Arrays beside = {};  // what the stream has asked for beside each step
  Array mask = {};     // which elements count; absent: all do
  Arrays others = {};  // what else it takes in of each
};
// What has one element for each of the result, in the shape of a step's elements.
Array along_step(const Array& x, const StreamStep& step);
// How many of a step's elements there are for each of the result.
Dim elements_each(const StreamStep& step);

// The largest element so far: with those of a step, exp(x - largest) of each of these, and what scales sums of such
// from what it was to what it is. What is infinite is shifted by nothing: it stays what it is, and nothing else is left
// beside it. One exponential an element where a step has one for each result.
struct LargestSoFar {
  Array largest, exponential, scale;
};
LargestSoFar largest_so_far(const Array& before, const Array& x, const StreamStep& step);
Array finite_or_zero(const Array& x);  // 0 in place of infinities

struct Stream {
  Arrays initial;  // the state
  std::function<Arrays(std::span<const Array> state, const StreamStep& step)> take;
  // The results. `reference`: what the elements were compared with, where they were with the same for all steps, in the
  // result's shape.
  std::function<Arrays(std::span<const Array> state, const Array& reference)> finish;
  bool numbered = false;  // whether it reads where the step lies
  // Of how many steps come before each, i64[steps], what it reads beside it: made before the loop.
  std::function<Arrays(const Array& before)> beside = {};
  // Elements of two steps as those of one, and an element that changes nothing; nothing where the state has to take in
  // each step's, and no others.
  std::function<Array(const Array&, const Array&)> join = {};
  std::optional<Scalar> identity = {};
};

// Sum, prod, max, min, all, any. `reduce` makes one step's part of the result: these axes of it reduced.
Stream monoid_stream(kernel::Combine combine, const Scalar& initial, const Type& result,
                     std::function<Array(const Array&, std::vector<std::int64_t> axes)> reduce);

// The elements of the last step that it takes in.
Stream row_stream(const Type& row);

// sum(exp(x - reference)). The state is the largest element so far, and the sum of exp(x - that); where it grows, the
// sum is scaled. One exponential an element.
Stream exponentials_stream(const Type& result);
// The same of elements that a mask chooses, 0 where it chooses none: the state is whether it has chosen one, too.
Stream masked_exponentials_stream(const Type& result);

// Of all steps so far, what part the last one is: 1 / (before + 1).
Array share_of_steps(const Array& before, DType dtype);

// sum((x - reference)^2) of real numbers. The state is the mean so far and the sum of squared distances from it
// (Welford, 1962; of several elements a step, Chan, Golub and LeVeque, 1979). `count`: how many elements there are in
// all for each of the result.
Stream squares_stream(const Type& result, const Dim& count);
// The same of elements that a mask chooses: the state is how many these were, too.
Stream masked_squares_stream(const Type& result);

// Where the first step lies whose element, of type `of`, is the largest of all, or the least: of NaNs, the first one.
// `count`: how many elements there are in all for each of the result; `none` where there are none. `backwards`: the
// last step comes first.
Stream first_index_stream(kernel::Combine combine, const Scalar& initial, const Type& result, DType of,
                          const Dim& count, const Scalar& none, bool backwards);

// The k largest elements, largest first, or the k smallest, as the last axis of both results: they, and where they lie;
// of equal ones the first. NaN counts as the largest. The state is k elements and their k places: each that comes moves
// those that it precedes by one, 8 k operations. `values`: the first result's type; `count`: how many elements there
// are in all.
constexpr std::int64_t most_in_order = 16;  // so many are written out
Stream first_in_order_stream(const Type& values, const Type& places, const Dim& count, bool smallest, bool backwards);

}  // namespace tenon
