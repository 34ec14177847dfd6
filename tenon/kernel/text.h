// The words of the loop language's text form, which print.cpp writes and parse.cpp reads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tenon::kernel {

// In the order of Slot::Place, Combine and Element::Access.
inline constexpr std::array<std::string_view, 8> place_names{"argument", "local",   "arena", "constant",
                                                             "element",  "numbers", "size",  "found"};
inline constexpr std::array<std::string_view, 6> combine_names{"sum", "product", "max", "min", "all", "any"};
inline constexpr std::array<std::string_view, 3> access_names{"element", "written element", "new element"};

inline constexpr std::int64_t largest_repeated = 16;  // nodes of an expression that is written again where it is shared
inline constexpr int deepest_text = 40;               // nesting; what is deeper has a name

}  // namespace tenon::kernel
