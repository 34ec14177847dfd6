#include "tenon/api/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/transforms.h"
#include "tenon/base/log.h"
#include "tenon/ir/unify.h"
#include "tenon/ops/region.h"
#include "tenon/ops/shape.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

Arrays with_captures(const TracedFunction& f, std::span<const Array> arguments) {
  Arrays operands(arguments.begin(), arguments.end());
  operands.insert(operands.end(), f.captures.begin(), f.captures.end());
  return operands;
}

std::vector<bool> padded(std::vector<bool> mask, std::size_t size) {
  mask.resize(size, false);
  return mask;
}

// A Program on handles or values, wherever we are.
Arrays run_or_call(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands) {
  if (Scope::top() != nullptr) return call(program, sizes, operands);
  std::vector<Value> values;
  for (const Array& operand : operands) values.push_back(operand.value());
  std::vector<std::int64_t> known;
  for (const Dim& d : sizes) known.push_back(d.value());
  Arrays results;
  for (Value& value : executor().run(program, known, values))
    results.push_back(std::visit([](auto&& held) { return Array(std::move(held)); }, std::move(value)));
  return results;
}

TracedFunction finish_trace(Scope& scope, const FlatFunction& f, const Arrays& inputs) {
  const Arrays outputs = [&] {
    const UserCode open;
    return f(inputs);
  }();
  TracedFunction traced;
  for (const Array& a : outputs) traced.weak.push_back(a.weak());
  TraceResult result = scope.finish(outputs);
  traced.program = std::move(result.program);
  traced.captures = std::move(result.captures);
  traced.sizes = std::move(result.sizes);
  traced.arguments = inputs.size();
  if (log_enabled(LogTopic::trace))
    log_line(LogTopic::trace, fmt::format("a function of {} arrays: {} eqns, {}", inputs.size(),
                                          traced.program->eqns().size(), traced.program->hash().hex()));
  return traced;
}

}  // namespace

bool tracing() { return Scope::top() != nullptr; }

TracedFunction trace_flat(const FlatFunction& f, std::span<const Array> arguments, bool known_values) {
  Scope scope;
  Arrays inputs;
  for (const Array& a : arguments)
    inputs.push_back(known_values ? scope.known_input(a.value(), a.weak()) : scope.input(a.type(), a.weak()));
  return finish_trace(scope, f, inputs);
}

TracedFunction trace_types(const FlatFunction& f, std::span<const Type> types, const std::vector<bool>& weak) {
  Scope scope;
  Arrays inputs;
  for (std::size_t i = 0; i < types.size(); ++i) inputs.push_back(scope.input(types[i], weak[i]));
  return finish_trace(scope, f, inputs);
}

Arrays apply(const TracedFunction& f, std::span<const Array> arguments) {
  Arrays results = run_or_call(f.program, f.sizes, with_captures(f, arguments));
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = results[i].with_weak(f.weak[i]);
  return results;
}

Pullback vjp_flat(const TracedFunction& f, std::span<const Array> arguments, const std::vector<bool>& active,
                  const std::vector<bool>& differentiated) {
  const Arrays operands = with_captures(f, arguments);
  const Partitioned parts = linearize(f.program, padded(active, operands.size()), differentiated);
  const Arrays first = run_or_call(parts.first, f.sizes, operands);
  Arrays residuals;
  for (const auto& r : parts.residuals) {
    using From = Partitioned::Residual::From;
    residuals.push_back(r.from == From::input    ? operands[r.index]
                        : r.from == From::output ? first[r.index]
                                                 : first[differentiated.size() + r.index]);
  }
  TransposeRequest request{.linear_in = Mask(parts.second->inputs().size(), false),
                           .cotangents = Mask(parts.second->outputs().size(), true),
                           .accumulate = {}};
  std::fill(request.linear_in.begin(), request.linear_in.end() - static_cast<std::ptrdiff_t>(residuals.size()), true);
  const ProgramRef backward = transpose(parts.second, request);
  // Sizes of the second part: the function's own, or those that the residuals' types show.
  SizeBinding own, shown;
  for (std::size_t i = 0; i < f.sizes.size(); ++i) own.emplace(f.program->size_params()[i], f.sizes[i]);
  const Program& second = *parts.second;
  for (std::size_t i = 0; i < residuals.size(); ++i)
    unify(second.type(second.inputs()[second.inputs().size() - residuals.size() + i]), residuals[i].type(), shown);
  std::vector<Dim> sizes;
  for (std::size_t i = 0; i < parts.second_sizes.size(); ++i)
    sizes.push_back(parts.second_sizes[i] ? substitute(*parts.second_sizes[i], own)
                                          : shown.at(second.size_params()[i]));
  Pullback result;
  result.outputs.assign(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(differentiated.size()));
  result.pull = [backward, residuals, sizes](std::span<const Array> cotangents) {
    Arrays in = residuals;
    in.insert(in.end(), cotangents.begin(), cotangents.end());
    std::vector<Type> types;
    for (const Array& a : in) types.push_back(a.type());
    return run_or_call(backward, infer_sizes(*backward, types, sizes), in);
  };
  return result;
}

Arrays jvp_flat(const TracedFunction& f, std::span<const Array> arguments, std::span<const Array> tangents,
                const std::vector<bool>& active, const std::vector<bool>& differentiated) {
  Arrays operands = with_captures(f, arguments);
  const ProgramRef forward = jvp(f.program, padded(active, operands.size()), differentiated);
  operands.insert(operands.end(), tangents.begin(), tangents.end());
  return run_or_call(forward, f.sizes, operands);
}

Arrays vmap_flat(const TracedFunction& f, std::span<const Array> arguments, const std::vector<bool>& batched,
                 const Dim& size) {
  const Arrays operands = with_captures(f, arguments);
  const ProgramRef lanes =
      vmap(f.program, padded(batched, operands.size()), Mask(f.program->outputs().size(), true), size);
  std::vector<Dim> sizes = f.sizes;
  if (!size.known()) sizes.push_back(size);
  return run_or_call(lanes, sizes, operands);
}

void require_differentiable(const Array& argument, const std::string& path, std::string_view op) {
  const Type type = argument.type();
  if (has_tangent(type)) return;
  throw DifferentiationError(fmt::format("{}: the argument{}{} is {}, which has no derivative.", op,
                                         path.empty() ? "" : " ", path, type.text()),
                             "Convert it to a floating dtype, or choose other arguments with argnum.");
}

namespace api_detail {

bool all_concrete(std::span<const Array> arrays) {
  const Scope* top = Scope::top();
  if (top != nullptr && !top->knows_values()) return false;
  return std::ranges::all_of(arrays, [](const Array& a) {
    return a.concrete() || (a.traced() != nullptr && Scope::of(*a.traced()).knows_values());
  });
}

std::string argument_name(const std::string& path) {
  const std::size_t end = path.find('>');
  if (end == std::string::npos) return "the argument";
  const std::string rest = path.substr(end + 1);
  return "argument " + path.substr(1, end - 1) + (rest.empty() ? "" : ", leaf " + rest);
}

void require_one_scalar(std::span<const Type> outputs, std::string_view op) {
  if (!outputs.empty() && outputs[0].is_array() && outputs[0].rank() == 0 && is_real(outputs[0].dtype)) return;
  throw DifferentiationError(
      fmt::format("{}: the function returns {}, not one real number.", op,
                  outputs.empty() ? "no array" : outputs[0].text()),
      "Reduce it first, with sum() or mean(); or use jacrev() for all derivatives, vjp() for a product with them.");
}

TracedFunction trace_lane(const FlatFunction& f, std::span<const Array> arguments, const std::vector<bool>& batched) {
  std::vector<Type> types;
  std::vector<bool> weak;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Type t = arguments[i].type();
    if (batched[i]) t.shape = t.shape.without_axis(0);
    types.push_back(t);
    weak.push_back(arguments[i].weak());
  }
  return trace_types(f, types, weak);
}

}  // namespace api_detail
}  // namespace tenon
