// Elements in order along an axis: sort, argsort, sorts of several arrays by some of them, and the k largest.
//
// The order of elements: false before true; numbers ascending, zeros of both signs equal; NaN behind all of them;
// complex numbers by real part, then by imaginary part, those with a NaN in a part last (as NumPy orders them).
// `descending` turns it round, NaN in front. Equal elements keep their order, in either direction.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "tenon/ir/array.h"
#include "tenon/ir/program.h"

namespace tenon {

struct SortOptions {
  bool descending = false;
};

// x with its elements in order along `axis` (negative ones count from the end). Any shape with that axis, and any
// dtype; the result has both. A NaN that native code has moved is the quiet NaN. Derivatives move with their elements:
// the gradient of sort(x) in x is the cotangent put back in x's order.
// Throws ShapeError where there is no such axis, or along 2³¹ elements or more.
//
//   sort(Array{3.f, 1.f, 2.f})                          // 1 2 3
//   sort(Array{3.f, 1.f, 2.f}, -1, {.descending = true})  // 3 2 1
Array sort(const Operand& x, std::int64_t axis = -1, const SortOptions& options = {});

// Where the elements in order are, i32 of x's shape: take_along_axis(x, argsort(x), -1) is sort(x).
//   argsort(Array{3.f, 1.f, 2.f})   // 1 2 0
Array argsort(const Operand& x, std::int64_t axis = -1, const SortOptions& options = {});

// Several arrays of one shape, all in the order of the first `keys` of them: by the first, where that is equal by the
// second, and so on. Throws ShapeError where shapes differ or there are not so many arrays.
//
//   sort_together({Array{30, 20, 20}, Array{1, 2, 3}})[1]   // 2 3 1
std::vector<Array> sort_together(std::span<const Array> operands, std::int64_t keys = 1, std::int64_t axis = -1,
                                 const SortOptions& options = {},
                                 const Source& where = std::source_location::current());
inline std::vector<Array> sort_together(std::initializer_list<Array> operands, std::int64_t keys = 1,
                                        std::int64_t axis = -1, const SortOptions& options = {},
                                        const Source& where = std::source_location::current()) {
  return sort_together(std::span(operands.begin(), operands.size()), keys, axis, options, where);
}

// The k largest elements along the last axis, largest first, and where they are (i32); of equal ones the first. NaN
// counts as the largest. `smallest`: the k smallest, smallest first. Costs less than a sort where k is small. Not of
// complex numbers (DTypeError: sort them). Throws ShapeError where k is negative or more than there are. Derivatives as
// those of sort.
//
//   top_k(Array{3.f, 1.f, 2.f}, 2)   // 3 2, 0 2
struct TopK {
  Array values, indices;
};
struct TopKOptions {
  bool smallest = false;
};
TopK top_k(const Operand& x, const Dim& k, const TopKOptions& options = {});

// What an eqn of top_k asks for; nothing for other ops.
struct FirstInOrder {
  Dim count;
  bool smallest;
};
std::optional<FirstInOrder> first_in_order(const Eqn& eqn);
// What an eqn of sort or argsort gives: elements, or their places.
struct InOrder {
  bool places, descending;
};
std::optional<InOrder> in_order(const Eqn& eqn);

// Of elements in order along the last axis whether each differs from the one before, as the first one does.
//   starts_of_runs(Array{1, 1, 2})   // true false true
Array starts_of_runs(const Array& ordered);

}  // namespace tenon
