#include "tenon/api/rows.h"

#include "tenon/api/loops.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

Array Rows::dense() const {
  std::vector<Dim> dims = values.shape().dims();
  dims[0] = Dim(count);
  return scatter_add(zeros(Shape(std::move(dims)), values.dtype()), indices, values);
}

Rows Rows::combined() const {
  const Dim n = indices.shape()[0];
  if (n == Dim(0)) return *this;
  const Array order = argsort(indices, 0), sorted = take(indices, order);
  // The number of each row among those that are there.
  const Array next = concatenate(
      {zeros({1}, DType::i64), convert(slice_in_dim(sorted, 1, n, 0) != slice_in_dim(sorted, 0, n - 1, 0), DType::i64)},
      0);
  const Array place = associative_scan([](const Array& a, const Array& b) { return a + b; }, next);
  const Array none = full({n}, Array(Scalar(count)));
  return {scatter_set(none, place, sorted), scatter_add(zeros_like(values), place, take(values, order)), count};
}

}  // namespace tenon
