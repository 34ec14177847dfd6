#include "tenon/rewrite/running_sums.h"

#include <algorithm>
#include <limits>
#include <ranges>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

Array power(const Array& x, std::size_t n) {
  Array all = x;
  for (std::size_t k = 1; k < n; ++k) all = all * x;
  return all;
}

}  // namespace

// One step's elements, and what becomes of the centre.
struct RunningSums::Step {
  const StreamStep& now;
  Array exponential;  // exp(x - centre)
  Array off;          // x - centre
};

RunningSums::RunningSums(const StreamEnd& end, const Replay& replay)
    : waits_(end.waits),
      step_axis_(end.of[0].steps.axis),
      result_(replay.type(replay.program().eqns()[end.eqn].out[0])),
      rows_(replay.type(end.of[0].var).shape),
      dtype_(computed_in(result_.dtype)) {
  const Program& program = replay.program();
  const auto& wider = waits_->sum.wider;
  const auto without_axes = [](Shape shape, const std::vector<std::int64_t>& axes) {
    for (const std::int64_t axis : axes | std::views::reverse) shape = shape.without_axis(at(axis));
    return shape;
  };
  for (const std::int64_t axis : end.axes) count_ = count_ * rows_[at(axis)];
  rows_ = without_axes(rows_, end.axes);
  if (wider) wider_ = replay.type(Type::array(dtype_, wider->shape)).shape;
  result_ = Type::array(result_.dtype, wider ? without_axes(wider_, wider->axes) : rows_);
  for (std::size_t i = 1; i < end.of.size(); ++i) {
    const Var v = end.of[i].var;
    others_.push_back(v);
    const bool is_other = wider && wider->other && i + 1 == end.of.size();
    of_wider_.push_back(is_other || (wider && program.type(v).shape == wider->shape));
  }
  // Where its distances are from the mean, their sum is 0, and with it what it is multiplied by.
  const std::size_t fewest = waits_->first.largest ? 1 : 2;
  counts_ = std::ranges::any_of(waits_->sum.terms,
                                [&](const SummedTerm& t) { return is_plain(t) && t.distances.size() >= fewest; });
}

bool RunningSums::is_plain(const SummedTerm& term) const {
  return !waits_->sum.wider && term.elements.empty() && term.choices.empty() && term.exponents.empty();
}
// Of nothing but ones the sum is their number, and of distances from the mean 0.
bool RunningSums::has_sum(const SummedTerm& term, std::size_t distances) const {
  return !is_plain(term) || distances > 1 || (distances == 1 && waits_->first.largest);
}

Array RunningSums::centre_of(const Array& state) const { return waits_->first.largest ? finite_or_zero(state) : state; }
Array RunningSums::of_result(const Array& row) const {
  const auto& wider = waits_->sum.wider;
  if (!wider || row.shape() != rows_) return row;
  std::vector<std::int64_t> dims;
  for (std::size_t axis = 0; axis < wider->of_elements.size(); ++axis) {
    if (std::ranges::count(waits_->first.axes, static_cast<std::int64_t>(axis)) > 0) continue;
    dims.push_back(axis_left(wider->axes, wider->of_elements[axis]));
  }
  return spread_in_dim(row, result_.shape, std::move(dims));
}

Stream RunningSums::stream() const {
  const double none = waits_->first.largest ? -std::numeric_limits<double>::infinity() : 0;
  Arrays initial{full(rows_, Array(Scalar(none).convert(dtype_)))};
  for (const SummedTerm& term : waits_->sum.terms)
    for (std::size_t j = 0; j <= term.distances.size(); ++j)
      if (has_sum(term, j)) initial.push_back(full(result_.shape, Array(Scalar(0.0).convert(dtype_))));
  Stream stream{
      .initial = std::move(initial),
      .take = [self = *this](std::span<const Array> state, const StreamStep& now) { return self.take(state, now); }};
  const bool mean = !waits_->first.largest;
  if (counts_ || mean)
    stream.beside = [dtype = dtype_, counts = counts_, mean](const Array& before) {
      Arrays beside;
      if (counts) beside.push_back(convert(before, dtype));
      if (mean) beside.push_back(share_of_steps(before, dtype));
      return beside;
    };
  return stream;
}

// A step's sum of one term with so many of its distances, around the centre.
Array RunningSums::part(const SummedTerm& term, std::size_t distances, const Step& step) const {
  const auto& wider = waits_->sum.wider;
  const StreamStep& now = step.now;
  const auto at_of = [&](Var v) { return at(std::ranges::find(others_, v) - others_.begin()); };
  Array value;
  const auto times = [](Array& value, const Array& x) { value = value.empty() ? x : value * x; };
  const auto multiply = [&](bool in_wider) {
    for (const bool divides : {false, true})
      for (const auto& factor : term.elements) {
        const std::size_t i = at_of(factor.of);
        if (factor.divides != divides || of_wider_[i] != in_wider) continue;
        const Array x = convert(now.others[i], dtype_);
        if (!divides)
          times(value, x);
        else
          value = (value.empty() ? Array(Scalar(1.0).convert(dtype_)) : value) / x;
      }
    const Shape& shape = in_wider ? value.shape() : now.elements.shape();
    if (value.empty()) value = full(shape, Array(Scalar(1.0).convert(dtype_)));
    for (const auto& [condition, met] : term.choices) {
      const std::size_t i = at_of(condition);
      if (of_wider_[i] != in_wider) continue;
      value = met ? where(now.others[i], value, 0) : where(now.others[i], 0, value);
    }
  };
  if (!term.exponents.empty()) value = power(step.exponential, term.exponents.size());
  if (distances > 0) times(value, power(step.off, distances));
  multiply(false);
  if (!wider) return now.axes.empty() ? value : sum(value, Axes(now.axes));
  const std::int64_t gone = wider->of_elements[at(step_axis_)];
  const Shape all = wider_.without_axis(at(gone));
  const auto repeated = [&](const Array& x, const std::vector<std::int64_t>& dims) {
    return spread_in_dim(x, all, without_axis(dims, gone));
  };
  value = repeated(value, wider->of_elements);
  if (wider->other) times(value, convert(repeated(now.others.back(), wider->of_other), dtype_));
  multiply(true);
  const std::vector<std::int64_t> axes = without_axis(wider->axes, gone);
  return axes.empty() ? value : sum(value, Axes(axes));
}

Arrays RunningSums::take(std::span<const Array> state, const StreamStep& now) const {
  const auto& terms = waits_->sum.terms;
  const bool largest = waits_->first.largest;
  const Array &old = state[0], x = convert(now.elements, dtype_);
  const bool distances = std::ranges::any_of(terms, [](const SummedTerm& t) { return !t.distances.empty(); });
  Array next, before;
  LargestSoFar grown;
  if (largest) {
    grown = largest_so_far(old, x, now);
    next = grown.largest;
  } else {
    const Array each = convert(size_as_array(elements_each(now)), dtype_);
    const Array own = now.axes.empty() ? x : sum(x, Axes(now.axes)) / max(each, 1);
    next = old + (own - old) * now.beside.back();
  }
  if (counts_) before = now.beside[0] * convert(size_as_array(elements_each(now)), dtype_);
  const Array centre = centre_of(next), apart = centre_of(old) - centre;
  const Step step{now, grown.exponential, distances ? x - along_step(centre, now) : Array()};
  Arrays result{next};
  std::size_t at_state = 1;
  for (const SummedTerm& term : terms) {
    Arrays old_sums;
    for (std::size_t j = 0; j <= term.distances.size(); ++j)
      old_sums.push_back(has_sum(term, j) ? state[at_state++] : j == 0 ? before : Array());
    for (std::size_t j = 0; j <= term.distances.size(); ++j) {
      if (!has_sum(term, j)) continue;
      Array sum = old_sums[j];
      const Arrays factors = polynomial(Arrays(j, apart));
      for (std::size_t i = 0; i < j; ++i)
        if (!old_sums[i].empty()) sum = sum + old_sums[i] * of_result(factors[i]);
      if (!term.exponents.empty()) sum = sum * of_result(power(grown.scale, term.exponents.size()));
      result.push_back(sum + part(term, j, step));
    }
  }
  return result;
}

Array RunningSums::finish(std::span<const Array> state, std::span<const std::size_t> maker,
                          const Replay& replay) const {
  // What a broadcast has for each row, or, in the wider space, for each element of the result.
  const auto row_of = [&](Var v) {
    const Program& program = replay.program();
    const Eqn& eqn = program.eqns()[maker[v]];
    const auto& wider = waits_->sum.wider;
    const bool in_wider = wider && program.type(v).shape == wider->shape;
    return convert(of_rows(replay.get(eqn.in[0]), broadcast_form(eqn.params).dims,
                           in_wider ? wider->axes : waits_->first.axes, in_wider ? result_.shape : rows_),
                   dtype_);
  };
  const Array centre = centre_of(state[0]);
  Array all;
  std::size_t at_state = 1;
  for (const SummedTerm& term : waits_->sum.terms) {
    Arrays sums;
    for (std::size_t j = 0; j <= term.distances.size(); ++j)
      sums.push_back(has_sum(term, j) ? state[at_state++]
                     : j == 0         ? full(rows_, convert(size_as_array(count_), dtype_))
                                      : Array());
    Array value = sums.back();
    Arrays apart;
    for (const Var r : term.distances) apart.push_back(centre - row_of(r));
    const Arrays factors = polynomial(apart);
    for (std::size_t j = factors.size(); j-- > 0;) {
      if (sums[j].empty()) continue;
      const Array moved = sums[j] * of_result(factors[j]);
      value = value.empty() ? moved : value + moved;
    }
    for (const Var r : term.exponents) value = value * of_result(exp(state[0] - row_of(r)));
    if (term.coefficient != 1) value = value * term.coefficient;
    for (const auto& factor : term.rows)
      value = factor.divides ? value / of_result(row_of(factor.of)) : value * of_result(row_of(factor.of));
    all = all.empty() ? value : all + value;
  }
  // What waited for a maximum or a mean of nothing is no number; a sum of nothing is 0.
  if (!count_.known() || count_ == Dim(0)) all = where(size_as_array(count_) > 0, all, 0);
  if (!waits_->sum.then.empty()) all = sum(all, Axes(waits_->sum.then));
  return convert(all, result_.dtype);
}

}  // namespace tenon
