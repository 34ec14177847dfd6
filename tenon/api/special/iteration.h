// Loops over terms, which end where the next one is less than rounding: of series and continued fractions.
#pragma once

#include <functional>
#include <tuple>

#include "tenon/api/loops.h"
#include "tenon/api/special/function.h"
#include "tenon/ops/reduce.h"

namespace tenon::special {

inline constexpr double most_terms = 100'000;

// The carry of a loop whose elements take part as long as `going` holds of them, at first and by step(carry, count),
// which returns the next carry and what goes on.
struct Step {
  Arrays carry;
  Array going;
};
template <class F>
Arrays until_done(const Array& going, F step, Arrays first) {
  using State = std::tuple<Array, Array, Arrays>;  // the count, what goes on, the carry
  const auto body = [&](const State& state) {
    const auto& [count, going, carry] = state;
    const Step next = step(carry, count + 1.0);
    Arrays kept;
    for (std::size_t i = 0; i < carry.size(); ++i) kept.push_back(where(going, next.carry[i], carry[i]));
    return State(count + 1.0, going & next.going, std::move(kept));
  };
  const auto holds = [](const State& state) { return any(std::get<1>(state)) & (std::get<0>(state) < most_terms); };
  const Array none = zeros({}, first[0].dtype());
  return std::get<2>(while_loop(holds, body, State(none, going, std::move(first))));
}

// A continued fraction first + n₁ / (d₁ + n₂ / (d₂ + …)).
struct Fraction {
  Array first;
  std::function<Array(const Array& k)> numerator, denominator;
};
// Its value by Lentz's and Thompson's recurrences, of terms(p, others) where `going`. Of a natural number p a numerator
// is 0, and the fraction ends before its derivative in p does: `with_slope` it goes on as long as that of a number
// which is none.
Array value_of_fraction(Array going, const std::function<Fraction(const Array& p, In others)>& terms, Array p,
                        Arrays others, bool with_slope);

}  // namespace tenon::special
