// Batch rules of flat functions: traced for the batch that is next, and bound as one op with the function.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/custom.h"
#include "tenon/api/inputs.h"
#include "tenon/api/prefix.h"
#include "tenon/ops/control/custom.h"

namespace tenon {
namespace {
bool any_axis(const AxisTree& axes) {
  return axes.is_list() ? std::ranges::any_of(axes.entries(), any_axis) : axes.axis().has_value();
}
}  // namespace

BatchedTree::BatchedTree(std::initializer_list<BatchedTree> entries) : axes_(none) {
  std::vector<AxisTree> all;
  for (const BatchedTree& entry : entries) all.push_back(entry.axes_);
  axes_ = AxisTree(std::move(all));
}
BatchedTree::operator bool() const { return any_axis(axes_); }
BatchedTree BatchedTree::operator[](std::size_t entry) const {
  if (!axes_.is_list()) return *this;
  return entry < axes_.entries().size() ? BatchedTree(axes_.entries()[entry]) : BatchedTree(false);
}

namespace api_detail {
namespace {

// Of leaves, which agree in their first `depth` steps; a list of at least so many entries.
AxisTree axes_at(std::span<const tree::Place> places, std::span<const Axis> axes, std::size_t depth,
                 std::size_t entries) {
  if (axes.empty()) return none;
  const bool alike = std::ranges::all_of(axes, [&](const Axis& axis) { return axis == axes[0]; });
  if (entries == 0 && (alike || places[0].size() <= depth)) return axes[0];
  std::vector<AxisTree> all(entries, AxisTree(none));
  for (std::size_t from = 0, to = 0; from < places.size(); from = to) {
    const std::size_t entry = places[from][depth];
    while (to < places.size() && places[to][depth] == entry) ++to;
    if (entry >= all.size()) all.resize(entry + 1, AxisTree(none));
    all[entry] = axes_at(places.subspan(from, to - from), axes.subspan(from, to - from), depth + 1, 0);
  }
  return AxisTree(std::move(all));
}

// The number, from 1 on, of the innermost batch that an argument may differ in; 0: none.
std::size_t batch_of_rule(std::span<const Array> arguments) {
  ++asked_what_for();
  return TakesPart::innermost(Scope::any_takes_part(arguments).lanes, Scope::ahead_here().lanes.size());
}

Type of_lanes(const Type& one, const Dim& lanes) {
  if (!one.is_array())
    throw DTypeError(fmt::format("custom_vmap: {} cannot be batched by a rule.", one.text()), "Stack the list first.");
  return Type::array(one.dtype, one.shape.with_axis(0, lanes));
}

}  // namespace

BatchedTree batched_arguments(std::span<const tree::Place> places, const std::vector<bool>& batched,
                              std::size_t count) {
  std::vector<Axis> axes;
  for (const bool b : batched) axes.push_back(b ? Axis(0) : none);
  return BatchedTree(axes_at(places, axes, 0, count));
}
std::vector<bool> batched_leaves(const BatchedTree& batched, std::span<const tree::Place> places) {
  std::vector<bool> made;
  for (const Axis& axis :
       axes_of_leaves({"custom_vmap", "what the rule says is batched", "true or false", false}, batched.axes(), places))
    made.push_back(axis.has_value());
  return made;
}

Arrays custom_vmap_flat(FlatFunction f, BatchByRule rule, std::span<const Array> arguments) {
  const std::size_t batch = batch_of_rule(arguments), n = arguments.size();
  if (batch == 0 || !Scope::ahead_here().lanes[batch - 1].known()) return f(arguments);
  TracedFunction traced = trace_flat(f, arguments, "custom_vmap");
  const std::vector<Type> out = traced.output_types();
  // The rule is traced for what is around its batch.
  TracedFor what_for = TracedFor::call(arguments);
  CustomVmapParams params{.lanes = what_for.ahead.lanes[batch - 1]};
  what_for.ahead.lanes.resize(batch - 1);
  const TakesPart around = TakesPart::in(what_for.ahead);
  std::vector<InputOf> takes;
  for (std::size_t i = 0; i < n; ++i) {
    params.in.push_back((what_for.inputs[i].lanes & TakesPart::bit(batch - 1)) != 0);
    const Type type = arguments[i].type();
    takes.push_back({params.in[i] ? of_lanes(type, params.lanes) : type, arguments[i].weak()});
    what_for.inputs[i] = what_for.inputs[i] & around;
  }
  const auto by_rule = [&](std::span<const Array> inputs) {
    Batched made = rule(params.lanes, params.in, inputs);
    if (made.results.size() != out.size() || made.batched.size() != out.size())
      throw TreeError(
          fmt::format("custom_vmap: the rule returns {} arrays and says of {} whether they are batched; the "
                      "function returns {}.",
                      made.results.size(), made.batched.size(), out.size()),
          "Return a pair: a tree like the function's result, and a tree of bools.");
    for (std::size_t i = 0; i < out.size(); ++i)
      made.results[i] = fitted(made.results[i], made.batched[i] ? of_lanes(out[i], params.lanes) : out[i],
                               "custom_vmap", [&] { return fmt::format("leaf {} of what the rule returns", i); });
    params.out = std::move(made.batched);
    return std::move(made.results);
  };
  TracedFunction ruled = trace_inputs(by_rule, takes, "the rule of custom_vmap", what_for);
  const Arrays captures = joined({traced.captures, ruled.captures});
  params.in.resize(n + captures.size(), false);
  params.function = Inputs(traced).own(0, n).captures(captures, 0).program();
  params.sizes = traced.sizes;
  params.rule = Inputs(ruled).own(0, n).captures(captures, traced.captures.size()).program();
  params.rule_sizes = ruled.sizes;
  return weakly_typed(bind_custom_vmap(std::move(params), joined({arguments, captures})), traced.weak);
}

}  // namespace api_detail
}  // namespace tenon
