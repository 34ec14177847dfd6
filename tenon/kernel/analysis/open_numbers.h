// Numbers of a Function that its code may read as data: Functions that differ in nothing else have one code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tenon/base/hash.h"
#include "tenon/kernel/function.h"

namespace tenon::kernel {

// The open numbers of a Function: constants of f32 and f64 that are operands of arithmetic, comparisons and choices, or
// stored. Not open are numbers that make code another: 0, powers of two, infinities and NaN; those that bound the
// argument of a function which is written otherwise for small ones; and those that another op reads too, as an
// exponent.
class OpenNumbers {
 public:
  OpenNumbers() = default;                         // none
  explicit OpenNumbers(const Function& function);  // linear in the nodes

  static constexpr std::size_t alignment = 8;
  // Where a constant lies among the bytes; nothing where it is not open.
  std::optional<std::uint32_t> place(const Expr::Node& constant) const;
  const std::string& bytes() const { return bytes_; }  // of all, in their order

 private:
  using Key = std::pair<DType, std::array<std::byte, 16>>;
  std::map<Key, std::uint32_t> places_;
  std::string bytes_;
};

// Equal of Functions that do the same but for their names, where the numbers of each are its own. Linear in the nodes.
Hash128 hash_but_for(const Function& function, const OpenNumbers& numbers);

}  // namespace tenon::kernel
