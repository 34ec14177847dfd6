#include "tenon/api/special/iteration.h"

#include <tuple>

#include "tenon/api/loops.h"
#include "tenon/api/tangents.h"
#include "tenon/api/vmap.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::special {
namespace {

constexpr double most_terms = 100'000;

// 1 / (d_k + n_k / (d_(k-1) + …)), the term that it adds, and the sum of the terms.
struct Convergent {
  Array inverse, term, total;
};
Convergent first_of(const Fraction& fraction) {
  const Array one = ones_like(fraction.first), inverse = 1.0 / fraction.denominator(one);
  const Array term = fraction.numerator(one) * inverse;
  return {inverse, term, fraction.first + term};
}
Convergent next_of(const Fraction& fraction, const Convergent& before, const Array& k) {
  const Array d = fraction.denominator(k), inverse = 1.0 / (d + fraction.numerator(k) * before.inverse);
  const Array term = (d * inverse - 1.0) * before.term;
  return {inverse, term, before.total + term};
}

}  // namespace

Arrays until_done(const Array& going, const StepOf& step, const Arrays& first, const Arrays& operands) {
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

Array where_seldom(const Array& mask, const std::function<Array(In x)>& made, const Array& otherwise,
                   const Arrays& operands) {
  const auto step = [&](const Arrays&, const Array&, In x) { return Step{{made(x)}, Array(Scalar(false))}; };
  return until_done(mask, step, {otherwise}, operands)[0];
}

Array value_of_fraction(const Array& going, const Terms& terms, const Array& p, const Arrays& others, bool with_slope) {
  const auto fractions = [&](In x) {
    std::vector<Fraction> made{terms(x[0], x.subspan(1))};
    if (with_slope) made.push_back(terms(floor(stop_gradient(x[0])) + 0.5, x.subspan(1)));
    return made;
  };
  Arrays operands{p}, first;
  operands.insert(operands.end(), others.begin(), others.end());
  const auto add = [](Arrays& carry, const Convergent& c) { carry.insert(carry.end(), {c.inverse, c.term, c.total}); };
  for (const Fraction& fraction : fractions(operands)) add(first, first_of(fraction));
  // Several convergents a step: asking whether one is the last takes as long as the next one.
  constexpr int convergents = 4;
  const auto step = [&](const Arrays& carry, const Array& count, In x) {
    Step next{{}, Array(Scalar(false))};
    for (const Fraction& fraction : fractions(x)) {
      const std::span<const Array> before = std::span(carry).subspan(next.carry.size(), 3);
      Convergent c{before[0], before[1], before[2]};
      for (int i = 2 - convergents; i <= 1; ++i) c = next_of(fraction, c, convergents * count + i);
      next.going = next.going | (abs(c.term) > 2 * epsilon_of(c.total.dtype()) * abs(c.total));
      add(next.carry, c);
    }
    return next;
  };
  return until_done(going, step, first, operands)[2];
}

}  // namespace tenon::special
