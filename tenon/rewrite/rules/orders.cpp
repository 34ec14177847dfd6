// The first few elements in order: a selection in place of a sort.
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/rules/moves.h"
#include "tenon/rewrite/rules/rules.h"

namespace tenon {
namespace {

// Of a slice that takes rows of one axis alone: how many there are up to its last one.
std::optional<std::int64_t> up_to(const Eqn& eqn, const Shape& from, const Shape& to, std::size_t along) {
  const SliceForm form = slice_form(eqn.params);
  for (std::size_t axis = 0; axis < from.rank(); ++axis)
    if (axis != along && (form.start[axis] != Dim(0) || form.stride[axis] != 1 || from[axis] != to[axis])) return {};
  const auto first = form.start[along].try_value(), count = to[along].try_value();
  if (!from[along].known() || !first || !count || *count == 0) return {};
  return *first + (*count - 1) * form.stride[along] + 1;
}

// argsort(x)[..., :3] is where the 3 smallest are, sort(x)[..., :3] are these; behind conversions and transposes, too.
MaybeArray as_selection(const Match& m) {
  constexpr std::int64_t most = 4;  // a quarter of the elements: a sort is as fast for more
  const Moves moves(m, m[0]);
  const Array& sorted = moves.inside();
  const Eqn* eqn = m.maker(sorted);
  const auto order = eqn == nullptr ? std::nullopt : in_order(*eqn);
  if (!order || m.reads(sorted) != 1 || sorted.rank() == 0) return {};
  const Array x = m.operand(*eqn, 0);
  const std::size_t along = moves.axes().back();
  const Eqn& root = *m.maker(m.root());
  const auto count = up_to(root, m[0].shape(), m.root().shape(), along);
  if (!count || *count * most > x.shape()[x.rank() - 1].value() || is_complex(x.dtype())) return {};
  const TopK found = top_k(x, *count, {.smallest = !order->descending});
  const Array made = moves.again(order->places ? found.indices : found.values);
  const SliceForm form = slice_form(root.params);
  return slice_of_shape(made, form.start, m.root().shape(), form.stride);
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
                     {{n}, [=](Holes h) { return first(sort(h[0], -1, {.descending = true}), 5); }},
                     {{x}, [=](Holes h) { return first(convert(argsort(h[0]), DType::i64), 3); }},
                     {{x}, [=](Holes h) { return slice_in_dim(sort(h[0]), 2, 4, -1); }},
                     {{n}, [](Holes h) {
                        const Array moved = transpose(reshape(h[0], {2, 10}), {1, 0});
                        return slice_in_dim(convert(argsort(moved, 0), DType::f32), 0, 2, 0);
                      }}};
               }});
}

}  // namespace

std::vector<RuleRef> order_rules() { return {first_of_a_sort()}; }

}  // namespace tenon
