// Where arrays come from, for errors of what does not fit together.
#pragma once

#include <span>
#include <string>

#include "tenon/ir/array.h"

namespace tenon {

// " f32[3] was made at a.cpp:3, f32[5] at a.cpp:7.": of arrays that are being traced the lines that asked for them,
// unless that is the line in force. Empty where nothing is known.
std::string lines_of(std::span<const Array> arrays);

}  // namespace tenon
