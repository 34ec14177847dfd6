#include "tenon/api/interpolate/corners.h"

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/indexing/gather.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::interpolate {
namespace {

Array multiplied(const MaybeArray& so_far, const Array& by) { return so_far ? *so_far * by : by; }

// Rows of x at indices of any shape.
Array rows_at(const Array& rows, const Array& index) {
  std::vector<Dim> slice = rows.shape().dims();
  slice[0] = 1;
  IndexAxes axes;
  for (std::size_t i = 1; i < rows.rank(); ++i) axes.window.push_back(static_cast<std::int64_t>(index.rank() + i) - 1);
  axes.collapsed = axes.map = {0};
  return gather(rows, expand_dims(index, -1), axes, slice);
}
// An array of the points' shape beside rows.
Array beside(const Array& x, std::size_t axes_of_rows) {
  std::vector<Dim> dims = x.shape().dims();
  dims.insert(dims.end(), axes_of_rows, Dim(1));
  return reshape(x, Shape(dims));
}

}  // namespace

Array sum_over_corners(const Array& x, const std::vector<std::vector<Place>>& axes, const Array& fill) {
  const std::vector<Dim> all = x.shape().dims();
  std::vector<Dim> flat{1};
  for (std::size_t i = 0; i < axes.size(); ++i) flat[0] = flat[0] * all[i];
  flat.insert(flat.end(), all.begin() + static_cast<std::ptrdiff_t>(axes.size()), all.end());
  const Array rows = reshape(x, Shape(flat));
  std::vector<std::size_t> chosen(axes.size(), 0);
  MaybeArray total;
  while (true) {
    MaybeArray index, weight, there;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Place& place = axes[i][chosen[i]];
      index = index ? *index * convert(size_as_array(all[i]), place.index.dtype()) + place.index : place.index;
      if (place.weight) weight = multiplied(weight, *place.weight);
      if (place.there) there = there ? *there & *place.there : *place.there;
    }
    Array part = index ? rows_at(rows, *index) : reshape(x, Shape(all));
    const std::size_t rest = flat.size() - 1;
    if (there) part = where(beside(*there, rest), part, fill);
    if (weight) part = part * beside(*weight, rest);
    total = total ? *total + part : part;
    std::size_t i = 0;
    while (i < axes.size() && ++chosen[i] == axes[i].size()) chosen[i++] = 0;
    if (i == axes.size()) return *total;
  }
}

}  // namespace tenon::interpolate
