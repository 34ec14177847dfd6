// Products of arrays whose axes have labels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "tenon/ops/linear_algebra/dot.h"

namespace tenon {

// A product for dot_general, and the labels of its result: those of the batch in a's order, a's own, b's own.
template <class Label>
struct LabelledProduct {
  DotAxes axes;
  std::vector<Label> result;
};
// Labels that both have go in step where stays(label), and are summed elsewhere. Each operand has a label once.
template <class Label, class Stays>
LabelledProduct<Label> labelled_product(const std::vector<Label>& a, const std::vector<Label>& b, const Stays& stays) {
  LabelledProduct<Label> made;
  DotAxes& axes = made.axes;
  std::vector<Label> own;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto j = std::ranges::find(b, a[i]) - b.begin();
    if (j == std::ssize(b)) {
      own.push_back(a[i]);
      continue;
    }
    const bool in_step = stays(a[i]);
    (in_step ? axes.batch_a : axes.contract_a).push_back(static_cast<std::int64_t>(i));
    (in_step ? axes.batch_b : axes.contract_b).push_back(j);
    if (in_step) made.result.push_back(a[i]);
  }
  made.result.insert(made.result.end(), own.begin(), own.end());
  std::ranges::copy_if(b, std::back_inserter(made.result),
                       [&](Label label) { return std::ranges::find(a, label) == a.end(); });
  return made;
}

}  // namespace tenon
