// How many elements lie where: counts of numbers, and histograms along one axis and several, as NumPy names them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/ir/array.h"

namespace tenon {

struct BincountOptions {
  MaybeArray weights = {};         // what each element counts: of x's size; 1 where they are not given
  std::optional<Dim> length = {};  // of the result; elements from there on are not counted
  std::int64_t minlength = 0;      // of the result, where its length is not given
};
// How often 0, 1, 2, … are among the elements of a vector of integers, or the sum of their weights: [length], i32, or
// the weights' dtype. The length is one more than the largest element, which data decide under jit, unless it is given.
// Negative numbers count as 0. Derivatives in the weights. Throws ShapeError where x is no vector or the weights have
// another size, DTypeError where x is not of integers or bool.
//   bincount(Array{1, 1, 3})   // 0 2 0 1
Array bincount(const Operand& x, const BincountOptions& options = {});

// The bins of a histogram: so many of one width, or those between borders, a vector in ascending order.
class Bins {
 public:
  template <std::integral T>
  Bins(T count) : form_(Dim(static_cast<std::int64_t>(count))) {}
  Bins(const Dim& count) : form_(count) {}
  Bins(const Array& edges) : form_(edges) {}
  const Dim* count() const { return std::get_if<Dim>(&form_); }
  const Array* edges() const { return std::get_if<Array>(&form_); }

 private:
  std::variant<Dim, Array> form_;
};
// From the smallest to the largest element, where it is not given; half a unit around it where both are equal.
using BinRange = std::optional<std::pair<Array, Array>>;

// Borders of bins, one more than bins: of f32 or f64 (f8, f16 and bf16 too). Throws ShapeError where there are no
// elements and no range is given, and where borders are no vector.
//   histogram_bin_edges(Array{0.f, 4.f}, 2)   // 0 2 4
Array histogram_bin_edges(const Operand& x, const Bins& bins = 10, const BinRange& range = {});

// `density`: divided by the width and by the sum of all counts, so that the integral is 1.
struct HistogramOptions {
  BinRange range = {};
  MaybeArray weights = {};  // of as many elements as x
  bool density = false;
};
struct Histogram {
  Array counts, edges;
};
// How many of all elements lie in each bin, or the sum of their weights, in the dtype of the edges (that of the weights
// too, which meets it). A bin has its lower border and not its upper one; the last bin has both. What lies outside, and
// NaN, is not counted. By halving: log of the bins a element. Derivatives in the weights.
//   histogram(Array{1.f, 2.f, 2.f, 5.f}, 2)   // 3 1, 1 3 5
Histogram histogram(const Operand& x, const Bins& bins = 10, const HistogramOptions& options = {});

// The same of points [n, axes], with bins for each axis: counts [bins…], i32 or of the weights' dtype (by `density` of
// the points'). Throws ShapeError where points are no matrix, or bins, ranges or weights are not as many.
//   histogramdd(Array{{0.f}, {1.f}}, 2).counts   // 1 1
struct HistogramddOptions {
  std::vector<BinRange> ranges = {};  // one an axis, or none at all
  MaybeArray weights = {};
  bool density = false;
};
struct HistogramOfAxes {
  Array counts;
  std::vector<Array> edges;
};
HistogramOfAxes histogramdd(const Operand& points, std::span<const Bins> bins, const HistogramddOptions& options = {});
HistogramOfAxes histogramdd(const Operand& points, const Bins& bins = 10, const HistogramddOptions& options = {});
// Of the points (x, y): counts [bins of x, bins of y].
//   histogram2d(Array{0.f, 1.f}, Array{0.f, 1.f}, 2).counts   // 1 0, 0 1
HistogramOfAxes histogram2d(const Operand& x, const Operand& y, const Bins& bins = 10,
                            const HistogramddOptions& options = {});

// The number of the bin that each element lies in, i32 of x's shape: 0 below the first of the borders, their number
// from the last one on. Borders are a vector in ascending or descending order; `right`: a bin has its upper border and
// not its lower one. Throws ShapeError where borders are no vector.
//   digitize(Array{0.5f, 2.f, 9.f}, Array{1.f, 2.f, 3.f})   // 0 2 3
Array digitize(const Operand& x, const Operand& bins, bool right = false);

}  // namespace tenon
