#include "cli/program_file.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tenon/base/text_scanner.h"
#include "tenon/ir/parse.h"

namespace tenon::cli {

ProgramFile ProgramFile::read(const std::string& name) {
  ProgramFile file{name, {}};
  if (name == "-") {
    file.text.assign(std::istreambuf_iterator<char>(std::cin), {});
    return file;
  }
  std::error_code none;
  if (std::filesystem::is_directory(name, none)) throw RuntimeError(name + " is a directory.", {}, Source());
  std::ifstream in(name, std::ios::binary);
  if (!in)
    throw RuntimeError(
        std::filesystem::exists(name, none) ? name + " cannot be read." : "there is no file " + name + ".", {},
        Source());
  std::array<char, 1 << 16> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0)
    file.text.append(block.data(), static_cast<std::size_t>(in.gcount()));
  if (in.bad()) throw RuntimeError(name + " cannot be read.", {}, Source());
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
