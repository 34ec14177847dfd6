// Custom derivatives and checkpoints of flat functions: their parts traced, and bound as one op.
#include "tenon/api/custom.h"

#include <fmt/format.h>

#include "tenon/api/inputs.h"
#include "tenon/ops/custom.h"
#include "tenon/transform/transforms.h"

namespace tenon::api_detail {
namespace {

std::vector<std::size_t> tangible(std::span<const Type> types) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (has_tangent(types[i])) places.push_back(i);
  return places;
}

Arrays with_weak(Arrays results, const TracedFunction& f) {
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = results[i].with_weak(f.weak[i]);
  return results;
}

std::vector<bool> weak_flags(std::span<const Array> arrays) {
  std::vector<bool> weak;
  for (const Array& a : arrays) weak.push_back(a.weak());
  return weak;
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

}  // namespace

Arrays custom_jvp_flat(FlatFunction f, FlatFunction rule, std::span<const Array> arguments) {
  TracedFunction traced = trace_flat(f, arguments, "custom_jvp", all_concrete(arguments));
  const std::size_t n = arguments.size();
  const std::vector<Type> in = types_of(arguments), out = traced.program->output_types();
  const std::vector<std::size_t> in_places = tangible(in), out_places = tangible(out);
  std::vector<Type> types = in;
  std::vector<bool> weak = weak_flags(arguments);
  for (std::size_t i : in_places) types.push_back(in[i]), weak.push_back(false);
  const auto by_rule = [&](std::span<const Array> inputs) {
    const Arrays given = rule(joined({inputs.first(n), spread(inputs.subspan(n), in_places, n)}));
    require_count("custom_jvp", "the rule's result", given.size(), 2 * out.size());
    Arrays results;
    for (std::size_t i = 0; i < out.size(); ++i)
      results.push_back(
          fitted(given[i], out[i], "custom_jvp", [&] { return fmt::format("leaf {} of the rule's result", i); }));
    for (std::size_t i : out_places)
      results.push_back(fitted(given[out.size() + i], out[i], "custom_jvp",
                               [&] { return fmt::format("leaf {} of the rule's tangent", i); }));
    return results;
  };
  TracedFunction ruled = trace_types(by_rule, types, weak, "the rule of custom_jvp");
  const Arrays captures = joined({traced.captures, ruled.captures});
  CustomJvpParams params{
      .function = Inputs(traced).own(0, n).captures(captures, 0).program(),
      .sizes = traced.sizes,
      .rule = Inputs(ruled).own(0, n).captures(captures, traced.captures.size()).own(n, types.size()).program(),
      .rule_sizes = ruled.sizes,
      .arguments = static_cast<std::int64_t>(n)};
  return with_weak(bind_custom_jvp(std::move(params), joined({arguments, captures})), traced);
}

Arrays custom_vjp_flat(FlatFunction f, FlatFunction forward, FlatFunction backward, std::span<const Array> arguments,
                       Paths paths) {
  TracedFunction traced = trace_flat(f, arguments, "custom_vjp", all_concrete(arguments));
  const std::size_t n = arguments.size();
  const std::vector<Type> in = types_of(arguments), out = traced.program->output_types();
  const std::vector<std::size_t> in_places = tangible(in), out_places = tangible(out);
  const auto go = [&](std::span<const Array> inputs) {
    Arrays given = forward(inputs);
    if (given.size() < out.size()) require_count("custom_vjp", "forward's result", given.size(), out.size());
    for (std::size_t i = 0; i < out.size(); ++i)
      given[i] = fitted(given[i], out[i], "custom_vjp", [&] { return fmt::format("leaf {} of forward's result", i); });
    return given;
  };
  TracedFunction forwarded = trace_flat(go, arguments, "custom_vjp", all_concrete(arguments));
  const std::vector<Type> gives = forwarded.program->output_types();
  std::vector<Type> types(gives.begin() + static_cast<std::ptrdiff_t>(out.size()), gives.end());
  const std::size_t residuals = types.size();
  std::vector<bool> weak(forwarded.weak.begin() + static_cast<std::ptrdiff_t>(out.size()), forwarded.weak.end());
  for (std::size_t i : out_places) types.push_back(out[i]), weak.push_back(false);
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
  TracedFunction pulled = trace_types(back, types, weak, "the rule of custom_vjp");
  const Arrays captures = joined({traced.captures, forwarded.captures, pulled.captures});
  CustomVjpParams params{.function = Inputs(traced).own(0, n).captures(captures, 0).program(),
                         .sizes = traced.sizes,
                         .forward = Inputs(forwarded).own(0, n).captures(captures, traced.captures.size()).program(),
                         .forward_sizes = forwarded.sizes,
                         .backward = Inputs(pulled)
                                         .captures(captures, traced.captures.size() + forwarded.captures.size())
                                         .own(0, types.size())
                                         .program(),
                         .backward_sizes = pulled.sizes,
                         .arguments = static_cast<std::int64_t>(n)};
  return with_weak(bind_custom_vjp(std::move(params), joined({arguments, captures})), traced);
}

Arrays checkpoint_flat(FlatFunction f, std::span<const Array> arguments) {
  TracedFunction traced = trace_flat(f, arguments, writes_refs, all_concrete(arguments));
  Arrays results =
      with_weak(bind_checkpoint(traced.program, traced.sizes, joined({arguments, traced.captures})), traced);
  const std::vector<CellRef> refs = traced.written();
  for (std::size_t k = 0; k < refs.size(); ++k) write_cell(refs[k], results[traced.results() + k]);
  results.resize(traced.results());
  return results;
}

}  // namespace tenon::api_detail
