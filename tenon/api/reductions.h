// Reductions of some of the elements: of those where a mask holds, of those that are not NaN, of each with its weight;
// and what is made of reductions. Axes as in ops/reduce.h.
//
// Any shape, f8, f16 and bf16 computed in f32. Of no elements: what the reduction has no name for is NaN of means, a
// ShapeError of extremes. Derivatives of any order, those of elements that do not count are 0. Throws DTypeError where
// a mask is not bool, ShapeError where it does not broadcast to x, where axes are not there, and where an initial value
// has axes.
#pragma once

#include <optional>

#include "tenon/ir/array.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/reductions/reduce.h"

namespace tenon {

// Elements count where `where` holds (bool, broadcasts to x; all, where it is not given); the result is combined with
// `initial`, a number. Elements become `dtype` first, in which they are then reduced.
//   const Array x{{1.f, -2.f}, {3.f, 4.f}};
//   sum(x, -1, {.where = x > 0})   // 1 7
//   sum(x, {}, {.dtype = DType::f64})   // f32 added up in f64 = 6
struct ReduceOptions {
  MaybeArray where = {}, initial = {};
  std::optional<DType> dtype = {};
};
Array sum(const Operand& x, const Axes& axes, const ReduceOptions& options);
Array prod(const Operand& x, const Axes& axes, const ReduceOptions& options);
Array any(const Operand& x, const Axes& axes, const ReduceOptions& options);
// Complex numbers too, by real parts and then imaginary ones. With `where`, or of no elements, an initial value is
// needed: else a ShapeError.
//   amax(Array{1.f, 9.f}, 0, {.where = Array{true, false}, .initial = 0})   // 1
Array amax(const Operand& x, const Axes& axes, const ReduceOptions& options);
Array amin(const Operand& x, const Axes& axes, const ReduceOptions& options);

// The mean of the elements that count, NaN where none does. `initial` has no meaning here.
//   mean(Array{1.f, 2.f, 9.f}, {}, {.where = Array{true, true, false}})   // 1.5
Array mean(const Operand& x, const Axes& axes, const ReduceOptions& options);

// var() and stddev() of the elements that count, about their mean or about `mean` (which broadcasts to x); divided by
// their count less `ddof`, any number: NaN where that leaves none.
//   var(Array{1.f, 3.f, 9.f}, {}, {.where = Array{true, true, false}})   // 1
struct VarOptions {
  MaybeArray where = {}, mean = {};
  Array ddof = 0;
};
Array var(const Operand& x, const Axes& axes, const VarOptions& options);
Array stddev(const Operand& x, const Axes& axes, const VarOptions& options);

// The largest less the smallest element. Of no elements: a ShapeError.
//   ptp(Array{3.f, 1.f, 7.f})   // 6
Array ptp(const Operand& x, const Axes& axes = {});

// How many elements are not zero along axes, i32. NaN is not zero.
//   count_nonzero(Array{{1, 0}, {2, 3}}, 0)   // 2 1
Array count_nonzero(const Operand& x, const Axes& axes);

// Σ w x / Σ w along axes. Weights broadcast to x, or have an axis for each of `axes`, ascending. Integers become f32
// (64-bit ones f64), and both meet in one dtype; where weights add up to 0 the result is not finite. `weight` is Σ w.
// Throws ShapeError where weights fit neither way.
//   average(Array{1.f, 2.f}, Array{3.f, 1.f})   // 1.25
struct WeightedMean {
  Array mean, weight;
};
WeightedMean weighted_mean(const Operand& x, const Operand& weights, const Axes& axes = {});
Array average(const Operand& x, const Operand& weights, const Axes& axes = {});

// --- of the elements that are not NaN (of complex numbers: in neither part), as NumPy names them ---

// 0 and 1 where there is none.
//   nansum(Array{1.f, NAN, 2.f})   // 3
Array nansum(const Operand& x, const Axes& axes = {}, const ReduceOptions& options = {});
Array nanprod(const Operand& x, const Axes& axes = {}, const ReduceOptions& options = {});
// NaN where there is none, or the initial value. Complex numbers as those of amax() with options.
//   nanmax(Array{1.f, NAN, 2.f})   // 2
Array nanmax(const Operand& x, const Axes& axes = {}, const ReduceOptions& options = {});
Array nanmin(const Operand& x, const Axes& axes = {}, const ReduceOptions& options = {});
// Where the first of them is, along one axis or of all in row-major order: i32; -1 where there is none.
//   nanargmax(Array{1.f, NAN, 2.f})   // 2
Array nanargmax(const Operand& x, const Axes& axis = {});
Array nanargmin(const Operand& x, const Axes& axis = {});
// NaN where there is none.
//   nanmean(Array{1.f, NAN, 3.f})   // 2
Array nanmean(const Operand& x, const Axes& axes = {}, const ReduceOptions& options = {});
Array nanvar(const Operand& x, const Axes& axes = {}, const VarOptions& options = {});
Array nanstd(const Operand& x, const Axes& axes = {}, const VarOptions& options = {});
// cumsum() and cumprod(), where NaN counts as 0 and as 1.
//   nancumsum(Array{1.f, NAN, 2.f})   // 1 1 3
Array nancumsum(const Operand& x, std::int64_t axis = -1);
Array nancumprod(const Operand& x, std::int64_t axis = -1);

namespace api_detail {

// Weights as those of each element of x: of its shape where they are to be broadcast.
Array weights_of_elements(std::string_view op, const Array& x, const Array& weights, const Axes& axes);

}  // namespace api_detail

}  // namespace tenon
