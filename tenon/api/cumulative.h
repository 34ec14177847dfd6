// Cumulative reductions: what each element and all before it along an axis give.
#pragma once

#include "tenon/ir/array.h"
#include "tenon/ir/scalar.h"

namespace tenon {

struct CumulativeOptions {
  bool reverse = false;  // from the end: what each element and all behind it give
};

// The sums, products, largest and smallest elements of x up to each, along `axis` (negative ones count from the end).
// Any shape with that axis, zero elements too; the result has x's shape and dtype, integers wrap around, NaN stays NaN
// from where it is. Elements are combined in their order, but in long runs of few lanes: these are divided among the
// threads, each part beginning with what the parts before give, so that sums and products of floats are rounded
// otherwise; under Numerics::strict they are not divided. Derivatives are those of x + y, x * y, max(x, y) and
// min(x, y), of leading elements that are infinite half of that.
// Time and memory grow with the elements. Throws ShapeError where there is no such axis, DTypeError for the largest and
// smallest of complex numbers.
//
//   cumsum(Array{1.f, 2.f, 3.f})                            // 1 3 6
//   cumprod(Array{1.f, 2.f, 3.f}, 0, {.reverse = true})     // 6 6 3
Array cumsum(const Operand& x, std::int64_t axis = -1, const CumulativeOptions& options = {});
Array cumprod(const Operand& x, std::int64_t axis = -1, const CumulativeOptions& options = {});
Array cummax(const Operand& x, std::int64_t axis = -1, const CumulativeOptions& options = {});
Array cummin(const Operand& x, std::int64_t axis = -1, const CumulativeOptions& options = {});
// log Σ exp of the elements up to each, without overflow: logaddexp of each and what those before give. Along a known
// axis of 4,096 elements and more, of few lanes, or of 131,072, within blocks of about as many elements as there are
// blocks, each of which then takes in what those before give (not under Numerics::strict): sums of many terms lose
// nothing, and blocks run side by side.
//   cumlogsumexp(Array{0.f, 0.f})   // 0 0.6931472
Array cumlogsumexp(const Operand& x, std::int64_t axis = -1, const CumulativeOptions& options = {});

namespace api_detail {

// Of any combination of two elements; what `start` gives with x is x.
Array accumulated(std::string_view op, Array (*combine)(const Operand& x, const Operand& y), const Scalar& start,
                  const Operand& x, std::int64_t axis, const CumulativeOptions& options);

}  // namespace api_detail

}  // namespace tenon
