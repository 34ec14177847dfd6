// Compiled functions that other compiled functions call: from generated code, hence the C name.
#pragma once

#include <cstdint>
#include <string_view>

extern "C" {

// Calls the unit that the description points to (its one word is a `const tenon::Unit* const*`) with the addresses of
// its operands, then results. Minus the sum of the unit's codes where it fails.
std::int64_t tenon_call_unit(const std::int64_t* description, void* const* addresses);
}

namespace tenon {

class Unit {
 public:
  // With contiguous arrays; behind their addresses that of the values of its size parameters, i64, where it has some.
  // Returns 0 or what its native code does (tenon/compile/native/codegen.h), sizes_differ where sizes are none; throws
  // nothing.
  virtual std::int32_t call_within(void* const* addresses) const noexcept = 0;

 protected:
  ~Unit() = default;
};

inline constexpr std::string_view call_of_unit = "tenon_call_unit";
}  // namespace tenon
