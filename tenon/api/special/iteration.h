// Loops over terms, which end where the next one is less than rounding: of series and continued fractions.
#pragma once

#include <functional>
#include <tuple>

#include "tenon/api/loops.h"
#include "tenon/api/special/function.h"
#include "tenon/api/vmap.h"
#include "tenon/ops/shape.h"

namespace tenon::special {

inline constexpr double most_terms = 100'000;

// The carry of a loop, next; and whether it goes on.
struct Step {
  Arrays carry;
  Array going;
};
// For each element by itself: the carry after steps of step(carry, count, x), count 1, 2, …, while these go on; `first`
// where `going` does not hold. x are the element's operands; of the arrays around it, a step reads scalars alone. Lanes
// end apart, so compiled code runs the loop for few elements at a time, each time until these are done.
template <class F>
Arrays until_done(const Array& going, F step, const Arrays& first, const Arrays& operands) {
  using State = std::tuple<Array, Array, Arrays>;  // the count, what goes on, the carry
  const auto of_element = [&](const Array& going, const Arrays& first, const Arrays& x) {
    const auto body = [&](const State& state) {
      const Array count = std::get<0>(state) + 1.0;
      Step next = step(std::get<2>(state), count, x);
      return State(count, next.going & (count < most_terms), std::move(next.carry));
    };
    const auto holds = [](const State& state) { return std::get<1>(state); };
    return std::get<2>(while_loop(holds, body, State(zeros({}, first[0].dtype()), going, first)));
  };
  const auto rows = [&](const Arrays& arrays) {
    Arrays made;
    for (const Array& x : arrays) made.push_back(in_a_row(broadcast_to(x, going.shape())));
    return made;
  };
  Arrays made = vmap(of_element)(in_a_row(going), rows(first), rows(operands));
  for (Array& x : made) x = reshape(x, going.shape());
  return made;
}

// made(x) of each element where `mask` holds, which is seldom: where it holds of none that compiled code has in hand,
// it does not compute that.
template <class F>
Array where_seldom(const Array& mask, F made, const Array& otherwise, const Arrays& operands) {
  const auto step = [&](const Arrays&, const Array&, In x) { return Step{{made(x)}, Array(Scalar(false))}; };
  return until_done(mask, step, {otherwise}, operands)[0];
}

// A continued fraction first + n₁ / (d₁ + n₂ / (d₂ + …)).
struct Fraction {
  Array first;
  std::function<Array(const Array& k)> numerator, denominator;
};
using Terms = std::function<Fraction(const Array& p, In others)>;
// Its value by Steed's recurrence, of terms(p, others) where `going`. Of a natural number p a numerator is 0, and the
// fraction ends before its derivative in p does: `with_slope` it goes on as long as that of a number which is none.
Array value_of_fraction(const Array& going, const Terms& terms, const Array& p, const Arrays& others, bool with_slope);

}  // namespace tenon::special
