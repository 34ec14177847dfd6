// Sizes among numbers: the other way round of size_as_array() (tenon/ops/structure/shape.h).
#pragma once

#include <optional>

#include "tenon/ir/array.h"

namespace tenon {

// Of an integer, and of what size_as_array() gives while tracing; nothing else is a size.
std::optional<Dim> as_size(const Array& number);

}  // namespace tenon
