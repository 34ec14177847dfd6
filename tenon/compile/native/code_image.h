// Machine code as data: nothing in it is of the process that made it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tenon {

// Runs from any page on, once loaded (load_code). Plain data: it crosses the border of two libraries, and goes to
// files.
struct CodeImage {
  static constexpr std::uint64_t page = 4096;
  struct Symbol {
    std::string name;               // of a function of the runtime or the C library, or object_symbol
    std::vector<std::uint64_t> at;  // words that hold its address
  };
  std::string bytes;             // code, then from a page on what it reads; the words below are zero or offsets
  std::uint64_t code_bytes = 0;  // whole pages
  std::uint64_t entry = 0;
  std::optional<std::uint64_t> sizes;  // NativeCode::Sizes
  // Where the open numbers of the Function lie (tenon/kernel/analysis/open_numbers.h), if it has some: others may be
  // written there.
  std::optional<std::uint64_t> numbers;
  std::vector<std::uint64_t> relative;  // words that hold offsets within the image, to which its address is added
  std::vector<Symbol> symbols;
};

// The symbol of objects[k] of a kernel::Function, by this and the number.
inline constexpr const char* object_symbol = "tenon_object_";

}  // namespace tenon
