#include "tenon/transform/constants.h"

#include "tenon/ops/arithmetic.h"
#include "tenon/ops/shape.h"

namespace tenon {

Array zeros_of(const Type& type) {
  if (type.is_array()) return zeros_like(type);
  return Array(ListValue{*type.element, std::make_shared<const std::vector<Value>>(), nullptr});
}

Array sum_of(const Array& a, const Array& b) { return bind1(add_op(), {}, {a, b}); }

Array broadcast_to_batch(const Array& a, const Dim& size) {
  if (!a.type().is_array())
    throw ShapeError("vmap: a list that is the same for all lanes is returned with a batch axis.",
                     "Stack the list first.");
  return add_batch_axis(a, size);
}

}  // namespace tenon
