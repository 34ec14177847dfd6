#include "cli/values.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "tenon/api/data.h"
#include "tenon/api/files.h"
#include "tenon/runtime/files/npy.h"

namespace tenon::cli {
namespace {

Scalar number(const std::string& word, const Type& type, std::size_t input) {
  try {
    return Scalar::parse(word, type.dtype);
  } catch (const ParseError&) {
    throw ParseError(fmt::format("input {} is {}: '{}' is no {}.", input, type.text(), word, name(type.dtype)),
                     "Give numbers with blanks between them, or the name of a .npy file.", Source());
  }
}

// A name is known by its ending or its folders; there may be no such file, which reading it tells.
bool names_file(const std::string& given) {
  std::error_code none;  // a list of numbers may be too long for a name
  return given.ends_with(".npy") || given.ends_with(".npz") || given.find('/') != std::string::npos ||
         std::filesystem::exists(given, none);
}

// Plain numbers stand for floats too: "1" is read as "1.0" would be.
Buffer numbers(const std::string& text, const Type& type, std::size_t input) {
  if (!type.is_array() || !type.shape.known())
    throw ShapeError(
        fmt::format("input {} is {}: its numbers cannot be told from the command line.", input, type.text()),
        "Give a .npy file.", Source());
  Buffer values = Buffer::allocate(type.dtype, type.shape.sizes());
  std::istringstream words(text);
  std::string word;
  std::int64_t count = 0;
  while (words >> word) {
    if (count < values.elements()) {
      const Scalar value = number(word, type, input);
      std::memcpy(values.data() + static_cast<std::size_t>(count) * size_of(type.dtype), value.data(),
                  size_of(type.dtype));
    }
    ++count;
  }
  if (count != values.elements())
    throw ShapeError(
        fmt::format("input {} is {}: it takes {} numbers, {} are given.", input, type.text(), values.elements(), count),
        {}, Source());
  return values;
}

}  // namespace

std::vector<Value> read_inputs(const Program& program, const std::vector<std::string>& given) {
  if (given.size() != program.inputs().size())
    throw ShapeError(fmt::format("the Program takes {} inputs, {} are given.", program.inputs().size(), given.size()),
                     "List them behind --inputs, with commas between them.", Source());
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Type& type = program.type(program.inputs()[i]);
    inputs.push_back(names_file(given[i]) ? load<Array>(given[i], Source()).to_buffer() : numbers(given[i], type, i));
  }
  return inputs;
}

void write_outputs(const std::vector<Value>& outputs, const std::vector<std::string>& files) {
  if (!files.empty() && files.size() != outputs.size())
    throw ShapeError(
        fmt::format("the Program gives {} outputs, {} files are named for them.", outputs.size(), files.size()), {},
        Source());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto* buffer = std::get_if<Buffer>(&outputs[i]);
    if (files.empty())
      std::cout << std::visit([](const auto& held) { return Array(held); }, outputs[i]) << "\n";
    else if (buffer != nullptr)
      write_npy(files[i], *buffer);
    else
      throw RuntimeError(fmt::format("output {} is {}, which a .npy file cannot hold.", i, type_of(outputs[i]).text()),
                         {}, Source());
  }
}

}  // namespace tenon::cli
