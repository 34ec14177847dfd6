// The first few elements in order: a selection in place of a sort.
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

// How many of a slice's rows it takes, where it takes the first of each row of the last axis and all of the others.
std::optional<std::int64_t> first_of_rows(const Eqn& eqn, const Shape& from, const Shape& to) {
  const SliceForm form = slice_form(eqn.params);
  const std::size_t last = from.rank() - 1;
  for (std::size_t axis = 0; axis < from.rank(); ++axis)
    if (form.start[axis] != Dim(0) || form.stride[axis] != 1 || (axis != last && from[axis] != to[axis])) return {};
  return from[last].known() ? to[last].try_value() : std::nullopt;
}

// argsort(x)[..., :3] is where the 3 smallest are, sort(x)[..., :3] are these.
MaybeArray as_selection(const Match& m) {
  constexpr std::int64_t most = 4;  // a quarter of the elements: a sort is as fast for more
  const Array &sorted = m[0], &root = m.root();
  const Eqn* eqn = m.maker(sorted);
  const auto order = eqn == nullptr ? std::nullopt : in_order(*eqn);
  if (!order || m.reads(sorted) != 1 || sorted.rank() == 0) return {};
  const Array x = m.operand(*eqn, 0);
  const auto count = first_of_rows(*m.maker(root), sorted.shape(), root.shape());
  if (!count || *count == 0 || *count * most > x.shape()[x.rank() - 1].value() || is_complex(x.dtype())) return {};
  const TopK found = top_k(x, *count, {.smallest = !order->descending});
  return order->places ? found.indices : found.values;
}

RuleRef first_of_a_sort() {
  return std::make_shared<const Rule>(
      Rule{.name = "sort(x)[:k] as top_k",
           .replacement = as_selection,
           .roots = [](const OpInfo& op) { return &op == &slice_op(); },
           .applies_to =
               [] {
                 using Holes = std::span<const Array>;
                 const Type x = Type::array(DType::f32, {Dim(3), Dim(16)}), n = Type::array(DType::i32, {Dim(20)});
                 const auto first = [](const Array& a, std::int64_t k) { return slice_in_dim(a, 0, k, -1); };
                 return std::vector<Rule::Example>{
                     {{x}, [=](Holes h) { return first(sort(h[0]), 4); }},
                     {{x}, [=](Holes h) { return first(argsort(h[0]), 3); }},
                     {{x}, [=](Holes h) { return first(argsort(h[0], -1, {.descending = true}), 1); }},
                     {{n}, [=](Holes h) { return first(sort(h[0], -1, {.descending = true}), 5); }}};
               }});
}

}  // namespace

std::vector<RuleRef> order_rules() { return {first_of_a_sort()}; }

}  // namespace tenon
