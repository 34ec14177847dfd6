// Batch rules of flat functions: traced for the batch that is next, and bound as one op with the function.
#include <fmt/format.h>

#include "tenon/api/custom.h"
#include "tenon/api/inputs.h"
#include "tenon/ops/control/custom.h"

namespace tenon::api_detail {
namespace {

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

}  // namespace tenon::api_detail
