// Settings from the environment.
#pragma once

#include <optional>
#include <string_view>

namespace tenon {

// The value of a variable such as TENON_LOG; nothing where it is not set, or empty.
std::optional<std::string_view> setting(const char* name);

// TENON_UNITS=small, by which tests reach what only long programs do: every function stays a function, and all equal
// statements share code.
bool units_are_small();
// TENON_BLOCKS=small, by which small arrays reach what only large ones do: blocks, and what is made in steps of loops.
bool blocks_are_small();

// Tells on stderr, once for each variable, that its value is not used: "tenon: TENON_LOG: <what>".
void warn_of_setting(const char* name, std::string_view what);

}  // namespace tenon
