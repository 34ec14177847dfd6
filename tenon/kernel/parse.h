// The text form of the loop language, read back.
#pragma once

#include <string_view>

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// What print writes; print(parse(print(f))) == print(f). Equal expressions of up to 16 nodes of one statement are one
// node, and so are those that have a name. Lines of users and causes of copies are not in the text, and an object of
// the process is a null pointer. Throws ParseError with line and column of `file`, also where an operation does not
// take its operands; what verify asks for is not asked here. Memory and time are linear in the text.
Function parse(std::string_view text, std::string_view file = "<kernel>");

}  // namespace tenon::kernel
