// Programs from their text form.
#pragma once

#include <string_view>

#include "tenon/ir/program.h"

namespace tenon {

// Reads what print() writes, and nothing else: parse(print(p)) has the hash of p. White space and // comments are free;
// variables and sizes may have any names (%carry, s0, T). The Program is verified. `file` names the text in messages
// and in the places of the eqns. Throws ParseError that names line and column and shows the line with a caret, of wrong
// texts as of eqns that break their op's rules.
ProgramRef parse(std::string_view text, std::string_view file = "text");

}  // namespace tenon
