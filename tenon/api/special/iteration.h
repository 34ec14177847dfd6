// Loops over terms, which end where the next one is less than rounding: of series and continued fractions.
#pragma once

#include <functional>

#include "tenon/api/special/function.h"

namespace tenon::special {

// The carry of a loop, next; and whether it goes on.
struct Step {
  Arrays carry;
  Array going;
};
// For each element by itself: the carry after steps of step(carry, count, x), count 1, 2, …, while these go on; `first`
// where `going` does not hold. x are the element's operands; of the arrays around it, a step reads scalars alone. Lanes
// end apart, so compiled code runs the loop for few elements at a time, each time until these are done.
using StepOf = std::function<Step(const Arrays& carry, const Array& count, In x)>;
Arrays until_done(const Array& going, const StepOf& step, const Arrays& first, const Arrays& operands);

// made(x) of each element where `mask` holds, which is seldom: where it holds of none that compiled code has in hand,
// it does not compute that.
Array where_seldom(const Array& mask, const std::function<Array(In x)>& made, const Array& otherwise,
                   const Arrays& operands);

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
