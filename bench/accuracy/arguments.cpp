#include "bench/accuracy/arguments.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace accuracy {

template <class T>
std::vector<T> hard_arguments() {
  using L = std::numeric_limits<T>;
  std::vector<T> made;
  const auto add = [&](double value, int neighbours) {
    const auto nearest = static_cast<T>(value);
    T below = nearest, above = nearest;
    made.insert(made.end(), {nearest, -nearest});
    for (int i = 0; i < neighbours; ++i) {
      below = std::nextafter(below, -L::infinity()), above = std::nextafter(above, L::infinity());
      made.insert(made.end(), {below, -below, above, -above});
    }
  };
  for (const T special : {T(0), L::infinity(), L::max(), L::min()}) made.insert(made.end(), {special, -special});
  made.push_back(L::quiet_NaN());
  for (int e = L::min_exponent - 1; e < L::max_exponent; ++e) add(std::ldexp(1.0, e), 2);
  for (int k = 1; k <= 2000; ++k) {
    add(k * 0.5, 2);
    add(k * (std::numbers::pi / 4), 2);
    add(k * (std::numbers::ln2 / 2), 2);
  }
  for (int k = 1; k <= 64; ++k) add(1 + std::ldexp(1.0, -k), 2), add(1 - std::ldexp(1.0, -k), 2);
  for (const double value : {0x1.6ac5b262ca1ffp+849, 0x1.921fb54442d18p0, 1.4616321449683623, 0.37250741078136663,
                             88.72283905206835, 709.782712893384, 103.97207708, 745.1332191019412})
    add(value, 1000);
  return made;
}

template <class T>
Draws<T>::Draws(const Function& function) : function_(function), random_(2024) {
  for (const Home& home : function.homes) {
    hard_.push_back(hard_arguments<T>());
    if (!function.everywhere) std::erase_if(hard_.back(), [&](T x) { return !(x >= home.low && x <= home.high); });
  }
}

template <class T>
T Draws<T>::drawn(const Home& home) {
  const double part = std::uniform_real_distribution<double>(0, 1)(random_);
  if (random_() % 2 == 0) return static_cast<T>(home.low + (home.high - home.low) * part);
  const bool negative = home.low < 0 && (home.high <= 0 || random_() % 2 == 0);
  const double most = std::abs(negative ? home.low : home.high);
  const double other = negative ? -home.high : home.low, least = other > 0 ? other : most * 0x1p-40;
  return static_cast<T>((negative ? -1 : 1) * least * std::pow(most / least, part));
}

template <class T>
T Draws<T>::anywhere() {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<std::uint32_t>(random_() >> 32));
  else
    return std::bit_cast<T>(static_cast<std::uint64_t>(random_()));
}

template <class T>
void Draws<T>::fill(std::vector<std::vector<T>>& x) {
  for (std::size_t i = 0; i < x[0].size(); ++i, ++next_) {
    const bool one = x.size() == 1;
    // Of one argument all hard ones come first; of several every third draw is of such.
    const bool hard = one ? next_ < hard_[0].size() : next_ % 3 == 0;
    const bool any = function_.everywhere && (next_ % 3 == 1);
    for (std::size_t k = 0; k < x.size(); ++k) {
      T& each = x[k][i];
      if (hard)
        each = one ? hard_[0][next_] : hard_[k][random_() % hard_[k].size()];
      else if (any && (one || random_() % 2 == 0))
        each = anywhere();
      else
        each = drawn(function_.homes[k]);
    }
  }
}

template std::vector<float> hard_arguments<float>();
template std::vector<double> hard_arguments<double>();
template class Draws<float>;
template class Draws<double>;

}  // namespace accuracy
