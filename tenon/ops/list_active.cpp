// list_active: which lanes have an element, along a list whose lanes have lengths of their own; batched loops ask it.
#include <functional>

#include "tenon/ops/region.h"

namespace tenon {
namespace {

const Type& leaf(const Type& type) { return type.is_array() ? type : leaf(*type.element); }

Type list_active_type(const Type& list) {
  const Type& element = leaf(list);
  const Shape lanes = element.rank() == 0 ? Shape{} : Shape{element.shape[0]};
  std::function<Type(const Type&)> same_nesting = [&](const Type& t) {
    return t.is_list() && t.element->is_list() ? Type::list(same_nesting(*t.element))
                                               : Type::list(Type::array(DType::bool_, lanes));
  };
  return same_nesting(list);
}
const OpInfo list_active_info{
    .name = "list_active",
    .summary = "which lanes have an element, along a list",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1 || !in[0].is_list()) throw VerifyError("list_active: takes one list.");
      return std::vector{Type::list(*list_active_type(Type::list(leaf(in[0]))).element)};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const auto& list = std::get<ListValue>(in[0]);
      const Type element = *context.out[0].element;
      std::vector<Value> items;
      for (std::size_t t = 0; t < list.items->size(); ++t) {
        Buffer active = Buffer::allocate(DType::bool_, element.shape.sizes());
        for (std::int64_t l = 0; l < active.elements(); ++l)
          active.as<bool>()[l] =
              !list.lengths || static_cast<std::int64_t>(t) < (*list.lengths)[static_cast<std::size_t>(l)];
        items.push_back(active);
      }
      return std::vector<Value>{
          ListValue{element, std::make_shared<const std::vector<Value>>(std::move(items)), nullptr}};
    }),
    .jvp = Absent{"its result is a bool"},
    .transpose = Absent{"its result is a bool"},
    .batch = Absent{"it is made by batching a loop; a second batch axis is not carried by lists"},
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with batched loops"}};
const bool installed = (install_op(list_active_info), true);

}  // namespace

const OpInfo& list_active_op() { return list_active_info; }

}  // namespace tenon
