// Compiled functions that other compiled functions call: from generated code, hence the C name.
#pragma once

#include <cstdint>
#include <string_view>

extern "C" {

// Calls the unit whose slot is described (tenon::unit_description) with the addresses of its operands, then results.
// Minus the sum of the unit's codes where it fails.
std::int64_t tenon_call_unit(const std::int64_t* description, void* const* addresses);
}

namespace tenon {

class Unit {
 public:
  // With contiguous arrays. Returns 0 or what its native code does (tenon/compile/codegen.h); throws nothing.
  virtual std::int32_t call_within(void* const* addresses) const noexcept = 0;

 protected:
  ~Unit() = default;
};

inline constexpr std::string_view call_of_unit = "tenon_call_unit";
// Where the unit will be found when it is called.
inline std::int64_t unit_description(const Unit* const* slot) { return reinterpret_cast<std::int64_t>(slot); }

}  // namespace tenon
