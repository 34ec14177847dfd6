// tn.List in trees: lists that have had no element take their type from others in the same place.
#pragma once

#include "functions.h"
#include "tenon/api/loops.h"

namespace tenon::python {

// What the elements of a list are: their structure, and the types of their leaves. Without a tree: not known.
struct ElementType {
  TreeRef tree;
  std::vector<Type> types;
};
using ElementTypes = std::vector<ElementType>;  // of the lists of a tree, in order

bool all_typed(nb::handle tree);
void note_types(nb::handle tree, ElementTypes& types);
// The same tree with other lists: those without a type have what is known of their places.
nb::object with_types(nb::handle tree, const ElementTypes& types);

// Which leaves are sizes of lists: they have no derivative, and are those of the list where one stands for another.
std::vector<bool> sizes_of_lists(const TreeDef& tree);

// A step of a loop: (the carry, leaves of what else it takes) -> the next carry.
using LoopStep = std::function<nb::object(const nb::object&, std::span<const Array>)>;
// The initial carry, where lists that have had no element are of the type that a step gives them: it is traced once
// for that. `of` tells along what the loop runs.
nb::object with_types_of_step(const char* op, nb::handle init, const LoopStep& step, const api_detail::FlatLoop& of,
                              const Arrays& xs);

}  // namespace tenon::python
