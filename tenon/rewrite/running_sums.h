// Sums that wait for a maximum or a mean, as streams: around the largest element so far, or the mean so far.
#pragma once

#include "tenon/rewrite/hoist_search.h"
#include "tenon/rewrite/streams.h"

namespace tenon {

// The state is the centre, which is the largest element or the mean of those so far, and for each term the sums of
// (x - centre)^j · exp(x - centre)^k · what else it multiplies, for j up to the number of its distances. Where the
// centre moves, these move with it: exp(x - c) = exp(x - b) exp(b - c), x - c = (x - b) + (b - c) (as in one_pass.h).
// One exponential an element where a step has one for each result.
class RunningSums {
 public:
  // As the Program is replayed.
  RunningSums(const StreamEnd& end, const Replay& replay);

  Stream stream() const;  // whose finish is this one's
  // Where the sum's eqn stood.
  Array finish(std::span<const Array> state, std::span<const std::size_t> maker, const Replay& replay) const;

 private:
  struct Step;
  Arrays take(std::span<const Array> state, const StreamStep& now) const;
  Array centre_of(const Array& state) const;
  Array of_result(const Array& row) const;
  bool has_sum(const SummedTerm& term, std::size_t distances) const;
  bool is_plain(const SummedTerm& term) const;
  Array part(const SummedTerm& term, std::size_t distances, const Step& step) const;

  std::shared_ptr<const WaitingEnd> waits_;
  std::vector<Var> others_;     // what a step's others are
  std::vector<bool> of_wider_;  // of each, whether it lies in the wider space
  std::int64_t step_axis_;      // of the elements
  Type result_;
  Shape rows_, wider_;
  Dim count_ = 1;  // of all elements for each row
  DType dtype_;
  bool counts_;  // whether it reads how many elements there were before: what it asks for first beside a step
};

}  // namespace tenon
