// How many cases a fuzz test runs, and from which seed. Name such tests ...Fuzz...: `./run fuzz N` finds them by that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace fuzzing {

inline bool takes_cases(std::string_view which) {
  const char* wanted = std::getenv("TENON_TEST_CASES");
  return wanted != nullptr && std::string_view(wanted) == which;
}
// TENON_TEST_CASES=diagonal: this run repeats another one on a lesser processor or under sanitizers, and takes a part
// of its cases.
inline bool is_repetition() { return takes_cases("diagonal"); }
// TENON_TEST_CASES=all: `./run test --full`, which takes as long as it takes.
inline bool is_full() { return takes_cases("all"); }

// Whether a run takes the k-th of `checks` checks of the n-th case: a repetition takes one of each case.
inline bool takes(std::size_t n, std::size_t k, std::size_t checks) { return !is_repetition() || n % checks == k; }

// Cases to run: TENON_FUZZ_CASES, or what the test does by itself, 50 at least; a repetition takes a quarter of what
// the test does. A slow test may take a fraction of it.
inline std::int64_t cases(std::int64_t otherwise) {
  constexpr std::int64_t least = 50;
  if (const char* text = std::getenv("TENON_FUZZ_CASES")) return std::strtoll(text, nullptr, 10);
  return is_repetition() ? (otherwise + 3) / 4 : std::max(otherwise, least);
}

// Where the random numbers start: TENON_FUZZ_SEED, or 1, so that a plain test run repeats itself.
inline std::uint64_t seed() {
  const char* text = std::getenv("TENON_FUZZ_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

// For SCOPED_TRACE: how to run the same cases again.
inline std::string repeat_with() { return "repeat with TENON_FUZZ_SEED=" + std::to_string(seed()); }

}  // namespace fuzzing
