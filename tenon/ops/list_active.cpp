// list_active: which lanes have an element, along a list whose lanes have lengths of their own; batched loops ask it.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/region.h"

namespace tenon {

struct ListActiveParams {
  std::int64_t axes;
};
BOOST_DESCRIBE_STRUCT(ListActiveParams, (), (axes))

namespace {

const Type& leaf(const Type& type) { return type.is_array() ? type : leaf(*type.element); }

Type flags_type(const ListActiveParams& p, const Type& list) {
  const Shape& shape = leaf(list).shape;
  if (p.axes < 1 || static_cast<std::size_t>(p.axes) > shape.rank())
    throw VerifyError(fmt::format("list_active: {} axes of lanes in {}.", p.axes, list.text()));
  return Type::array(DType::bool_, Shape(std::vector<Dim>(shape.begin(), shape.begin() + p.axes)));
}

std::vector<Value> list_active_eval(const Params&, std::span<const Value> in, const EvalContext& context) {
  const auto& list = std::get<ListValue>(in[0]);
  const Type element = *context.out[0].element;
  std::vector<Value> items;
  for (std::size_t t = 0; t < list.items->size(); ++t) {
    Buffer active = Buffer::allocate(DType::bool_, element.shape.sizes());
    const auto flags = static_cast<std::size_t>(active.elements());
    const std::size_t counts = list.lengths ? list.lengths->size() : 0;
    // Lanes are counted from the outermost axis in both: of more lengths than flags several stand behind one lane, of
    // fewer one stands for several.
    for (std::size_t l = 0; l < flags; ++l) {
      bool any = list.lengths == nullptr;
      const std::size_t first = l * counts / flags, last = std::max((l + 1) * counts / flags, first + 1);
      for (std::size_t k = first; !any && k < last; ++k) any = static_cast<std::int64_t>(t) < (*list.lengths)[k];
      active.as<bool>()[l] = any;
    }
    items.push_back(active);
  }
  return {ListValue{element, std::make_shared<const std::vector<Value>>(std::move(items)), nullptr}};
}

extern const OpInfo list_active_info;
const OpInfo list_active_info{
    .name = "list_active",
    .summary = "which lanes have an element, along a list",
    .params = &describe::params_ops<ListActiveParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1 || !in[0].is_list()) throw VerifyError("list_active: takes one list.");
      return std::vector{Type::list(flags_type(params.as<ListActiveParams>(), in[0]))};
    }),
    .eval = EvalRule(list_active_eval),
    .jvp = Absent{"its result is a bool"},
    .transpose = Absent{"its result is a bool"},
    .batch = BatchRule([](const BatchArgs& args) {
      return BatchResult{{list_active(args.operands[0], args.params.as<ListActiveParams>().axes + 1)}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with batched loops"}};
const bool installed = (install_op(list_active_info), true);

}  // namespace

Array list_active(const Array& list, std::int64_t axes) {
  return bind1(list_active_info, make_params(ListActiveParams{axes}), {list});
}

}  // namespace tenon
