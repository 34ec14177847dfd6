// The numbers with which bench/limits/limits.h fills its arrays, so that checksums of ours and of the limits' agree.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/tenon.h"

namespace bench {

// A 32-bit multiplicative hash.
inline std::uint32_t mixed(std::uint32_t h) {
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  return h ^ h >> 16;
}
// The element at `index` of what a seed gives, in [0, 1).
inline float drawn(std::size_t index, std::uint32_t seed) {
  return static_cast<float>(mixed(static_cast<std::uint32_t>(index) + seed * 0x9E3779B9u) >> 8) * 0x1p-24f;
}

// f32 between low and high.
inline tenon::Array filled(std::vector<std::int64_t> shape, std::uint32_t seed, float low = -1, float high = 1) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = low + (high - low) * drawn(i, seed);
  return tenon::array<float>(values, std::move(shape));
}

// Of f32, a sum with one random weight per element, so that a value in the wrong place shows.
inline double weighted(const tenon::Array& x) {
  const tenon::Array flat = tenon::reshape(x, {-1});
  double sum = 0;
  std::size_t i = 0;
  for (const float value : flat.span<float>()) sum += static_cast<double>(value) * drawn(i++, 99);
  return sum;
}

}  // namespace bench
