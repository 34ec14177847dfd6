// Sets: the elements of arrays that differ, and which of them others have, as NumPy names them.
//
// Of any dtype; all elements count, in row-major order, and two operands meet in one dtype. Results are in order: false
// before true, numbers ascending, complex ones by real part and then imaginary part, NaN last. By sorting: n log n. How
// many elements there are data decide, under jit too; `size` fixes it: there are as many, the smallest first, and where
// there are fewer `fill` follows, or the first of them. Elements move with their derivatives.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/ir/array.h"

namespace tenon {

struct SetOptions {
  std::optional<Dim> size = {};
  MaybeArray fill = {};
};

// `axis`: the parts of x along it that differ, ordered by their first elements, then by the second, and so on. NaN are
// one element, unless `equal_nan` is false.
struct UniqueOptions : SetOptions {
  std::optional<std::int64_t> axis = {};
  bool equal_nan = true;
};
// The elements that differ, a vector; or with an axis an array like x with fewer parts along it.
//   unique(Array{3, 1, 3})   // 1 3
Array unique(const Operand& x, const UniqueOptions& options = {});

// What else is wanted; the other arrays stay empty.
struct UniqueParts {
  bool indices = true, inverse = true, counts = true;
};
// Those; where in x each of them is first; which of them each element is (x's shape, or a vector of parts along the
// axis), and how often each is there: all i32.
//   unique_all(Array{3, 1, 3}).inverse   // 1 0 1
struct Unique {
  Array values, indices, inverse, counts;
};
Unique unique_all(const Operand& x, const UniqueOptions& options = {}, const UniqueParts& parts = {});

// Whether each element of x is among the others: bool of x's shape. NaN is not.
//   isin(Array{1, 2, 3}, Array{3, 1})   // true false true
Array isin(const Operand& x, const Operand& others);

// The elements of either; of both; of the first and not the second; and of one of them alone.
//   union1d(Array{1, 2}, Array{2, 3})        // 1 2 3
//   intersect1d(Array{1, 2}, Array{2, 3})    // 2
//   setdiff1d(Array{1, 2}, Array{2, 3})      // 1
//   setxor1d(Array{1, 2}, Array{2, 3})       // 1 3
// `unique`: the caller knows that no element is twice in one operand, which saves a sort; setdiff1d() then keeps the
// order of the first. Without elements that are left over a `fill` of 0 stands where setdiff1d() has fewer than `size`.
struct TwoSetsOptions : SetOptions {
  bool unique = false;
};
Array union1d(const Operand& x, const Operand& y, const SetOptions& options = {});
Array intersect1d(const Operand& x, const Operand& y, const TwoSetsOptions& options = {});
Array setdiff1d(const Operand& x, const Operand& y, const TwoSetsOptions& options = {});
Array setxor1d(const Operand& x, const Operand& y, const TwoSetsOptions& options = {});
// The elements of both, and where each is first in x and in y, i32; behind them, with a `size`, the numbers of elements
// of x and y.
//   intersection_and_places(Array{1, 2}, Array{3, 2})   // 2, 1, 1
struct Intersection {
  Array values, of_x, of_y;
};
Intersection intersection_and_places(const Operand& x, const Operand& y, const SetOptions& options = {});

// nonzero() and compress() of `size` results, fixed when the function is traced: behind the last there is `fill`, of
// indices a value for each axis, or 0 where it is empty.
//   nonzero(Array{false, true, true}, 3)[0]   // 1 2 0
std::vector<Array> nonzero(const Operand& x, const Dim& size, std::span<const Array> fill = {},
                           DType dtype = DType::i32);
Array compress(const Operand& x, const Operand& mask, const Dim& size, const Operand& fill = 0);

}  // namespace tenon
