// A Dim's arithmetic over values of another kind.
#pragma once

#include <utility>
#include <vector>

#include "tenon/base/dim.h"

namespace tenon {

// leaf(step): of a number or a variable. combined(kind, x, y): of the last two.
template <class Value, class Leaf, class Combined>
Value folded(const Dim& dim, const Leaf& leaf, const Combined& combined) {
  std::vector<Value> values;
  dim.visit_steps([&](const Dim::Step& step) {
    if (step.kind == Dim::Step::Kind::number || step.kind == Dim::Step::Kind::variable)
      return values.push_back(leaf(step));
    const Value y = std::move(values.back());
    values.pop_back();
    values.back() = combined(step.kind, values.back(), y);
  });
  return values.back();
}

}  // namespace tenon
