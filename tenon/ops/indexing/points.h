// Index arrays, each for one axis of an array, as the general form of gather and scatter.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tenon/ops/indexing/gather.h"

namespace tenon {

// Negative indices count from the end, along an axis of size n. Throws DTypeError where they are not integers.
Array from_end(std::string_view op, const Array& index, const Dim& n);

// How the index arrays meet: vectors of starts, the roles of the axes, and the shape of what they name.
struct PointForm {
  Array vectors;
  IndexAxes axes;
  std::vector<Dim> slice_sizes;
  Shape result;
};
PointForm point_form(std::string_view op, const Array& x, std::span<const Array> indices,
                     std::vector<std::int64_t> axes);

}  // namespace tenon
