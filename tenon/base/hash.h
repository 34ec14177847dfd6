// 128-bit structural hashes: stable across processes, so that they may name entries of a cache on disk.
#pragma once

#include <compare>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace tenon {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  auto operator<=>(const Hash128&) const = default;
  std::string hex() const;
};

// Feeds values into a 128-bit state. Not cryptographic; two independently mixed 64-bit lanes.
class Hasher {
 public:
  Hasher& word(std::uint64_t value) {
    low_ = mix(low_ ^ value) * 0x9fb21c651e98df25ull;
    high_ = mix(high_ + value * 0xd6e8feb86659fd93ull + 0x2545f4914f6cdd1dull);
    return *this;
  }
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  Hasher& operator()(T value) {
    return word(static_cast<std::uint64_t>(value));
  }
  Hasher& operator()(double value) {  // by bits: NaN equals itself, -0 differs from 0
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return word(bits);
  }
  Hasher& operator()(const Hash128& value) { return word(value.low).word(value.high); }
  Hasher& operator()(std::string_view text) { return bytes(text.data(), text.size()); }
  Hasher& bytes(const void* data, std::size_t size);
  Hash128 finish() const { return {mix(low_ ^ high_), mix(high_ + low_ * 3)}; }

 private:
  static std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dull;
    x ^= x >> 32;
    x *= 0xe9846af9b1a615dull;
    return x ^ (x >> 28);
  }
  std::uint64_t low_ = 0x243f6a8885a308d3ull;
  std::uint64_t high_ = 0x13198a2e03707344ull;
};

}  // namespace tenon

template <>
struct std::hash<tenon::Hash128> {
  std::size_t operator()(const tenon::Hash128& h) const noexcept { return h.low; }
};
