// Choices: the sequence of small numbers that a random Program is made from. Taken from a generator and remembered, or
// given; a shorter sequence of smaller numbers makes a simpler Program, which is how failures shrink.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace tenon::sample {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed), drawing_(true) {}
  explicit Choices(std::vector<std::uint32_t> given) : given_(std::move(given)), drawing_(false) {}

  // A number below n; 0, the simplest, beyond the end of a given sequence.
  std::uint32_t below(std::size_t n) {
    if (n <= 1) return 0;
    const std::uint64_t next = drawing_ ? random_() : at_ < given_.size() ? given_[at_] : 0;
    ++at_;
    taken_.push_back(static_cast<std::uint32_t>(next % n));
    return taken_.back();
  }
  bool chance(std::uint32_t percent) { return below(100) >= 100 - percent; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  const std::vector<std::uint32_t>& taken() const { return taken_; }

 private:
  std::mt19937_64 random_;
  std::vector<std::uint32_t> given_, taken_;
  bool drawing_;
  std::size_t at_ = 0;
};

// The shortest sequence found in the given time of which `fails` still holds: parts are left out, numbers made smaller.
inline std::vector<std::uint32_t> shrink(std::vector<std::uint32_t> choices,
                                         const std::function<bool(const std::vector<std::uint32_t>&)>& fails,
                                         std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  const auto try_it = [&](std::vector<std::uint32_t> next) {
    if (std::chrono::steady_clock::now() > end || !fails(next)) return false;
    choices = std::move(next);
    return true;
  };
  for (bool smaller = true; smaller && std::chrono::steady_clock::now() < end;) {
    smaller = false;
    for (std::size_t length = choices.size(); length > 0; length /= 2)
      for (std::size_t from = 0; from + length <= choices.size();) {
        std::vector<std::uint32_t> next = choices;
        const auto at = next.begin() + static_cast<std::ptrdiff_t>(from);
        next.erase(at, at + static_cast<std::ptrdiff_t>(length));
        if (try_it(std::move(next)))
          smaller = true;
        else
          from += length;
      }
    for (std::size_t i = 0; i < choices.size(); ++i)
      for (const std::uint32_t value : {0u, choices[i] / 2, choices[i] - 1}) {
        if (i >= choices.size() || value >= choices[i]) continue;
        std::vector<std::uint32_t> next = choices;
        next[i] = value;
        smaller = try_it(std::move(next)) || smaller;
      }
  }
  return choices;
}

}  // namespace tenon::sample
