// Values printed while a compiled function runs.
#pragma once

#include <string_view>

#include "tenon/ir/array.h"

namespace tenon {

namespace api_detail {
void print_arrays(std::string_view format, std::span<const Array> arrays, const Source& where);
}

// A format and the user's line.
struct DebugFormat {
  template <class Text>
    requires std::convertible_to<Text, std::string_view>
  DebugFormat(const Text& text, const Source& where = std::source_location::current()) : text(text), where(where) {}
  std::string_view text;
  Source where;
};

// Prints a line of the format, as fmt::format() reads it, each time the program comes by: in compiled functions, loops,
// branches that are taken, and once a lane under vmap. Arrays without axes are numbers ("{:.3f}"), others are printed
// as by <<. Derivatives print the values, not their tangents. To the standard output, in the order of the program.
// Throws ShapeError where the format does not fit the arguments.
//
//   tn::debug_print("step {}: loss {:.4f}", i, loss);
template <class... Args>
void debug_print(const DebugFormat& format, const Args&... args) {
  const Array arrays[]{Array(), Operand(args, format.where).array()...};
  api_detail::print_arrays(format.text, std::span(arrays).subspan(1), format.where);
}

}  // namespace tenon
