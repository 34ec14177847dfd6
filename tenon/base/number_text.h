// Numbers of any dtype as text, exactly, and back.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tenon/base/dtype.h"

namespace tenon {

// Shortest digits that read back to the same bits: "0.5", "-inf", "nan", "true", "(1,-2)"; `bits` are of that dtype.
std::string number_text(DType dtype, const std::byte* bits);
void parse_number(std::string_view text, DType dtype, std::byte* bits);  // throws ParseError

}  // namespace tenon
