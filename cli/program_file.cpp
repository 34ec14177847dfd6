#include "cli/program_file.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "tenon/ir/parse.h"
#include "tenon/ir/text_scanner.h"

namespace tenon::cli {

ProgramFile ProgramFile::read(const std::string& name) {
  ProgramFile file{name, {}};
  if (name == "-") {
    file.text.assign(std::istreambuf_iterator<char>(std::cin), {});
    return file;
  }
  std::ifstream in(name, std::ios::binary);
  if (in) file.text.assign(std::istreambuf_iterator<char>(in), {});
  if (!in || in.bad()) throw RuntimeError(name + ": cannot be read.", {}, Source());
  return file;
}

ProgramRef ProgramFile::program() const { return parse(text, name); }

std::string ProgramFile::message(const Error& error) const {
  std::string message = error.what();
  const Source& where = error.where();
  if (where.known() && where.file == name && where.column > 0)
    message += "\n" + caret_lines(text, {where.line, where.column});
  return message;
}

}  // namespace tenon::cli
