// Custom derivatives and checkpoints of flat functions: their parts traced, and bound as one op.
#include "tenon/api/custom.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/inputs.h"
#include "tenon/api/ref_states.h"
#include "tenon/ops/control/custom.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {
namespace {

std::vector<std::size_t> tangible(std::span<const Type> types) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (has_tangent(types[i])) places.push_back(i);
  return places;
}

// Empty arrays where there is no tangent.
Arrays spread(std::span<const Array> some, std::span<const std::size_t> places, std::size_t size) {
  Arrays all(size);
  for (std::size_t k = 0; k < places.size(); ++k) all[places[k]] = some[k];
  return all;
}

void require_count(std::string_view op, std::string_view what, std::size_t have, std::size_t want) {
  if (have == want) return;
  throw TreeError(fmt::format("{}: {} has {} arrays, not {}.", op, what, have, want),
                  "Return a tree with the same containers.");
}

// The number, from 1 on, of the derivative that takes the rule: the innermost in which an argument may have a tangent.
// 0: none does.
std::uint32_t derivative_of_rule(std::span<const Array> arguments) {
  ++asked_what_for();
  const std::uint64_t among = Scope::any_takes_part(arguments).derivatives;
  return static_cast<std::uint32_t>(TakesPart::innermost(among, Scope::ahead_here().derivatives));
}

// The function called as it is, since no derivative in an argument is taken.
Arrays call_itself(FlatFunction f, std::span<const Array> arguments, std::string_view op) {
  Arrays results = f(arguments);
  for (const Array& a : results)
    if (!a.empty() && Scope::takes_part(a).derivatives != 0)
      throw CaptureError(
          fmt::format(
              "{}: the function captures an array that is being differentiated; its rule gives derivatives in its "
              "arguments alone.",
              op),
          "Pass that array as an argument, or wrap it in stop_gradient().");
  return results;
}

// The function itself, whose derivative nobody takes: the rule stands in its place.
TracedFunction trace_function(FlatFunction f, std::span<const Array> arguments, std::string_view op) {
  TracedFor what_for = TracedFor::call(arguments);
  what_for.ahead.derivatives = 0;
  for (TakesPart& input : what_for.inputs) input.derivatives = 0;
  return trace_flat(f, arguments, op, knows_values(), what_for);
}

// Of a rule, what is around the derivative that takes it: so a function that its rule calls has rules of one order less
// there, and none in the end. What is not an argument takes part in all of that.
TracedFor around(std::uint32_t derivative, std::span<const Array> arguments, std::size_t others) {
  TracedFor what_for = TracedFor::call(arguments);
  what_for.ahead.derivatives = derivative - 1;
  const TakesPart all = TakesPart::in(what_for.ahead);
  for (TakesPart& input : what_for.inputs) input = input & all;
  what_for.inputs.resize(what_for.inputs.size() + others, all);
  return what_for;
}

std::vector<InputOf> inputs_of(std::span<const Array> arguments) {
  std::vector<InputOf> inputs;
  for (const Array& a : arguments) {
    inputs.push_back({a.type(), a.weak()});
    if (knows_values() && Scope::knows(a)) inputs.back().value = [a] { return a.value(); };
  }
  return inputs;
}

// Values of a traced function's results, for a rule that looks at them: it is run when one is asked for.
class LaterValues {
 public:
  LaterValues(const TracedFunction& f, std::span<const Array> arguments)
      : f_(&f), operands_(joined({arguments, f.captures})) {}
  bool known() const {
    return api_detail::knows_values() && std::ranges::all_of(operands_, [](const Array& a) { return Scope::knows(a); });
  }
  Value operator()(std::size_t i) {
    if (values_.empty()) {
      Arrays given;
      for (const Array& a : operands_)
        given.push_back(std::visit([](auto v) { return Array(std::move(v)); }, a.value()));
      const CompileTime now;
      for (const Array& a : run_or_call(f_->program, f_->sizes, given)) values_.push_back(a.value());
    }
    return values_[i];
  }

 private:
  const TracedFunction* f_;
  Arrays operands_;
  std::vector<Value> values_;
};

// The references of which backward has a state: those that it uses and that were there before the derivative. Of others
// it sees what is in them where the function is called.
std::vector<CellRef> with_states(const TracedFunction& backward, std::uint32_t derivative) {
  std::vector<CellRef> cells;
  for (const RefUse& use : backward.refs) {
    if (derivatives_where_made(use.cell) < derivative) {
      cells.push_back(use.cell);
    } else if (use.written) {
      throw RuntimeError(
          fmt::format("Ref: the backward of custom_vjp writes to a reference that the function that is differentiated "
                      "has made{}.",
                      use.cell->made.at_text()),
          "Make it outside of what is differentiated.", use.written_at);
    }
  }
  return cells;
}

// With the references as arguments and results behind the others, as states.
TracedFunction in_states(const TracedFunction& backward, std::span<const CellRef> cells, std::span<const InputOf> takes,
                         std::size_t results, const TracedFor& what_for) {
  const TracedFunction f = with_refs_as_arguments(backward, cells, takes.size(), results);
  std::vector<InputOf> inputs;
  for (const InputOf& input : takes) inputs.push_back({input.type, input.weak});
  std::vector<Type> types;
  for (const CellRef& cell : cells) {
    types.push_back(read_cell(cell).type());
    inputs.push_back({state_type(types.back())});
  }
  const auto over_states = [&](std::span<const Array> in) {
    Arrays given(in.begin(), in.end());
    for (std::size_t k = 0; k < types.size(); ++k)
      given[takes.size() + k] = from_state(given[takes.size() + k], types[k]);
    Arrays made = tenon::apply(f, given);
    for (std::size_t k = 0; k < types.size(); ++k) made[results + k] = as_state(made[results + k]);
    return made;
  };
  return trace_inputs(over_states, inputs, "the backward of custom_vjp", what_for);
}

}  // namespace

Arrays custom_jvp_flat(FlatFunction f, FlatFunction rule, std::span<const Array> arguments) {
  const std::uint32_t derivative = derivative_of_rule(arguments);
  if (derivative == 0) return call_itself(f, arguments, "custom_jvp");
  TracedFunction traced = trace_function(f, arguments, "custom_jvp");
  const std::size_t n = arguments.size();
  const std::vector<Type> in = types_of(arguments), out = traced.output_types();
  const std::vector<std::size_t> in_places = tangible(in), out_places = tangible(out);
  if (out_places.empty()) return tenon::apply(traced, arguments);  // nothing has a derivative
  std::vector<InputOf> takes = inputs_of(arguments);
  for (std::size_t i : in_places) takes.push_back({in[i]});
  std::vector<bool> constant(out.size(), false);
  const auto by_rule = [&](std::span<const Array> inputs) {
    const Arrays given = rule(joined({inputs.first(n), spread(inputs.subspan(n), in_places, n)}));
    require_count("custom_jvp", "the rule's result", given.size(), 2 * out.size());
    Arrays results;
    for (std::size_t i = 0; i < out.size(); ++i)
      results.push_back(
          fitted(given[i], out[i], "custom_jvp", [&] { return fmt::format("leaf {} of the rule's result", i); }));
    for (std::size_t i : out_places) {
      constant[i] = given[out.size() + i].empty();
      results.push_back(fitted(given[out.size() + i], out[i], "custom_jvp",
                               [&] { return fmt::format("leaf {} of the rule's tangent", i); }));
    }
    return results;
  };
  TracedFunction ruled =
      trace_inputs(by_rule, takes, "the rule of custom_jvp", around(derivative, arguments, in_places.size()));
  const Arrays captures = joined({traced.captures, ruled.captures});
  CustomJvpParams params{
      .function = Inputs(traced).own(0, n).captures(captures, 0).program(),
      .sizes = traced.sizes,
      .rule = Inputs(ruled).own(0, n).captures(captures, traced.captures.size()).own(n, takes.size()).program(),
      .rule_sizes = ruled.sizes,
      .arguments = static_cast<std::int64_t>(n)};
  Arrays results = weakly_typed(bind_custom_jvp(std::move(params), joined({arguments, captures})), traced.weak);
  // What the rule says is zero is known to be so by the rules that take it.
  for (std::size_t i = 0; i < results.size(); ++i) {
    TakesPart part = Scope::takes_part(results[i]);
    if (!constant[i] || results[i].traced() == nullptr) continue;
    part.derivatives &= ~TakesPart::bit(derivative - 1);
    Scope::top()->set_takes_part(results[i], part);
  }
  return results;
}

Arrays custom_vjp_flat(FlatFunction f, FlatFunction forward, FlatFunction backward, std::span<const Array> arguments,
                       Paths paths) {
  const std::uint32_t derivative = derivative_of_rule(arguments);
  if (derivative == 0) return call_itself(f, arguments, "custom_vjp");
  TracedFunction traced = trace_function(f, arguments, "custom_vjp");
  const std::size_t n = arguments.size();
  const std::vector<Type> in = types_of(arguments), out = traced.output_types();
  const std::vector<std::size_t> in_places = tangible(in), out_places = tangible(out);
  if (out_places.empty()) return tenon::apply(traced, arguments);  // nothing has a derivative
  const auto go = [&](std::span<const Array> inputs) {
    Arrays given = forward(inputs);
    if (given.size() < out.size()) require_count("custom_vjp", "forward's result", given.size(), out.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      given[i] = fitted(given[i], out[i], "custom_vjp", [&] { return fmt::format("leaf {} of forward's result", i); });
    return given;
  };
  TracedFunction forwarded =
      trace_inputs(go, inputs_of(arguments), "the forward of custom_vjp", around(derivative, arguments, 0));
  const std::vector<Type> gives = forwarded.output_types();
  LaterValues values(forwarded, arguments);
  std::vector<InputOf> takes;
  for (std::size_t i = out.size(); i < gives.size(); ++i) {
    takes.push_back({gives[i], forwarded.weak[i]});
    if (values.known()) takes.back().value = [&values, i] { return values(i); };
  }
  const std::size_t residuals = takes.size();
  for (std::size_t i : out_places) takes.push_back({out[i]});
  const auto back = [&](std::span<const Array> inputs) {
    const Arrays given =
        backward(joined({inputs.first(residuals), spread(inputs.subspan(residuals), out_places, out.size())}));
    require_count("custom_vjp", "what backward returns", given.size(), n);
    Arrays results;
    for (std::size_t i : in_places)
      results.push_back(fitted(given[i], in[i], "custom_vjp",
                               [&] { return "backward's cotangent of " + argument_name(paths()[i]); }));
    return results;
  };
  TracedFunction pulled = trace_inputs(back, takes, writes_refs, around(derivative, {}, takes.size()));
  Arrays operands(arguments.begin(), arguments.end());
  std::vector<CellRef> states = with_states(pulled, derivative);
  if (!states.empty()) {
    pulled = in_states(pulled, states, takes, in_places.size(), around(derivative, {}, takes.size() + states.size()));
    for (CellRef& cell : states) operands.push_back(read_cell(cell = state_of(cell, derivative)));
    traced = with_refs_as_arguments(traced, states, n, out.size());
    forwarded = with_refs_as_arguments(forwarded, states, n, out.size());
  }
  const std::size_t taken = operands.size();
  const Arrays captures = joined({traced.captures, forwarded.captures, pulled.captures});
  CustomVjpParams params{
      .function = Inputs(traced).own(0, taken).captures(captures, 0).program(),
      .sizes = traced.sizes,
      .forward = Inputs(forwarded).own(0, taken).captures(captures, traced.captures.size()).program(),
      .forward_sizes = forwarded.sizes,
      .backward = Inputs(pulled)
                      .captures(captures, traced.captures.size() + forwarded.captures.size())
                      .own(0, takes.size() + states.size())
                      .program(),
      .backward_sizes = pulled.sizes,
      .arguments = static_cast<std::int64_t>(taken),
      .states = static_cast<std::int64_t>(states.size())};
  Arrays results = weakly_typed(bind_custom_vjp(std::move(params), joined({operands, captures})), traced.weak);
  for (std::size_t k = 0; k < states.size(); ++k) write_cell(states[k], results[out.size() + k]);
  results.resize(out.size());
  return results;
}

}  // namespace tenon::api_detail
