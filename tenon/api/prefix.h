// What is said of the leaves of a tree by a prefix of it: axes of arguments and results.
#pragma once

#include "tenon/api/vmap.h"

namespace tenon::api_detail {

using Axis = std::optional<std::int64_t>;  // none: not along any

// "argument 1, leaf .0.2"; of results "the result, leaf .0".
std::string name_of_place(const tree::Place& place, bool argument);

// Who says it, and what errors advise: "one axis, or tn::none".
struct PrefixOf {
  std::string_view op, option, one;
  bool arguments;  // else results
};
// For each leaf. Throws ShapeError, naming the place, where the lists are not those of the tree.
std::vector<Axis> axes_of_leaves(const PrefixOf& said_by, const AxisTree& axes, std::span<const tree::Place> places);

}  // namespace tenon::api_detail
