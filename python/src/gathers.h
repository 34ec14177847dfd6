// How indices outside of an array are taken, by the names that Python gives.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "none.h"
#include "tenon/ops/indexing/gather.h"

namespace tenon::python {

namespace nb = nanobind;

// "clip", "fill" or "drop", "promise_in_bounds"; else a ValueError.
IndexMode index_mode_from(const std::string& text);
// fill: None or a number, which becomes one of x's dtype.
GatherOptions gather_options(const std::string& mode, nb::handle fill, const Array& x, bool sorted, bool unique);

}  // namespace tenon::python
