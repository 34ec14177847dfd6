#include "tenon/runtime/units.h"

#include <bit>

#include "tenon/runtime/symbols.h"

std::int64_t tenon_call_unit(const std::int64_t* description, void* const* addresses) {
  const auto* const* slot = std::bit_cast<const tenon::Unit* const*>(description[0]);
  return -static_cast<std::int64_t>((*slot)->call_within(addresses));
}

namespace tenon {
namespace {

const RuntimeSymbol symbol_of_call_unit("tenon_call_unit", &tenon_call_unit);

}  // namespace
}  // namespace tenon
