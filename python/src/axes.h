// The `axis` and `keepdims` of reductions.
#pragma once

#include "shapes.h"
#include "tenon/ops/reductions/reduce.h"

namespace tenon::python {

inline Axes axes_from(nb::handle axis, bool keepdims) {
  const Axes axes = axis.is_none() ? Axes() : Axes(integers_from(axis));
  return keepdims ? axes.keepdims() : axes;
}

}  // namespace tenon::python
