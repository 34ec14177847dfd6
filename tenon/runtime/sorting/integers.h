// What libtenon_sort gives: unsigned integers in order, by Highway's vector sort.
#pragma once

#include <cstdint>

namespace tenon {

// An integer of 128 bits, that of a key with the place of its element below it.
struct WideEntry {
  std::uint64_t place, key;
  friend bool operator<(const WideEntry& a, const WideEntry& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

enum class SortedWidth : std::int64_t { bits16, bits32, bits64, bits128 };
// n integers of that width in ascending order, where they stand. Ends the process where there is no SSSE3.
using SortLibrary = void (*)(void* integers, std::int64_t n, SortedWidth width) noexcept;
inline constexpr const char* sort_library_symbol = "tenon_sort_library_2";

}  // namespace tenon
