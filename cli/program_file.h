// A program in a file, and errors that point into it.
#pragma once

#include <string>

#include "tenon/ir/program.h"

namespace tenon::cli {

struct ProgramFile {
  std::string name;  // as given; "-" is the standard input
  std::string text;

  static ProgramFile read(const std::string& name);  // throws RuntimeError where it cannot be read
  ProgramRef program() const;                        // throws ParseError
  // What an error says, and where its place is in this file, that line with a caret.
  std::string message(const Error& error) const;
};

}  // namespace tenon::cli
