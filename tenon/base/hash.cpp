#include "tenon/base/hash.h"

#include <fmt/format.h>

namespace tenon {

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hasher& Hasher::bytes(const void* data, std::size_t size) {
  word(size);
  const auto* at = static_cast<const unsigned char*>(data);
  for (; size >= 8; at += 8, size -= 8) {
    std::uint64_t value;
    std::memcpy(&value, at, 8);
    word(value);
  }
  if (size > 0) {
    std::uint64_t value = 0;
    std::memcpy(&value, at, size);
    word(value);
  }
  return *this;
}

}  // namespace tenon
