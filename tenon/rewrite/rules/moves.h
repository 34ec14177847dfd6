// Transposes and conversions between an array and what they are made of: rules that look behind them.
#pragma once

#include <utility>
#include <vector>

#include "tenon/rewrite/rule.h"

namespace tenon {

// Those behind an array that are read once each, down to one that is neither.
class Moves {
 public:
  Moves(const Match& m, Array outside);
  const Array& inside() const { return inside_; }
  // The axis outside that each axis inside becomes.
  std::vector<std::size_t> axes() const;
  // The same of another array of inside's rank and dtype.
  Array again(Array x) const;

 private:
  std::vector<std::pair<const Eqn*, DType>> from_inside_;  // and what it gives
  Array inside_;
};

}  // namespace tenon
