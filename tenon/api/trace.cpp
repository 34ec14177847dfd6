#include "tenon/api/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "tenon/api/numerics.h"
#include "tenon/base/log.h"
#include "tenon/base/stack.h"
#include "tenon/ir/adapt.h"
#include "tenon/ir/unify.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/guard_selects.h"

namespace tenon {
namespace {

TracedFunction finish_trace(Scope& scope, FlatFunction f, const Arrays& inputs, std::string_view refs_refused_by,
                            std::string_view name) {
  const auto start = std::chrono::steady_clock::now();
  const api_detail::RefScope refs(scope, refs_refused_by);
  Arrays outputs = [&] {
    const UserCode open;
    return f(inputs);
  }();
  std::ranges::copy(refs.written(), std::back_inserter(outputs));
  TracedFunction traced;
  traced.refs = refs.uses();
  for (const Array& a : outputs) {
    traced.weak.push_back(a.weak());
    traced.parts.push_back(Scope::takes_part(a));
  }
  TraceResult result = scope.finish(outputs, std::string(name));
  traced.program = guard_selects(result.program);
  traced.captures = std::move(result.captures);
  traced.sizes = std::move(result.sizes);
  traced.arguments = inputs.size();
  if (log_enabled(LogTopic::trace))
    log_line(LogTopic::trace,
             fmt::format("a function of {} arrays: {} eqns, {}, {:.2f} ms", inputs.size(),
                         traced.program->eqns().size(), traced.program->hash().hex(),
                         std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()));
  return traced;
}

}  // namespace

bool tracing() { return Scope::top() != nullptr; }

TracedFor TracedFor::call(std::span<const Array> arguments) {
  TracedFor all{Scope::ahead_here(), {}};
  for (const Array& a : arguments) all.inputs.push_back(Scope::takes_part(a));
  return all;
}

TracedFor TracedFor::derivative(std::span<const Array> arguments, const std::vector<bool>& mask) {
  TracedFor all = call(arguments);
  const std::uint64_t bit = TakesPart::bit(all.ahead.derivatives++);
  for (std::size_t i = 0; i < all.inputs.size(); ++i)
    if (mask[i]) all.inputs[i].derivatives |= bit;
  return all;
}

TracedFor TracedFor::lanes(std::span<const Array> arguments, const std::vector<bool>& mask, const Dim& size) {
  TracedFor all = call(arguments);
  const std::uint64_t bit = TakesPart::bit(all.ahead.lanes.size());
  all.ahead.lanes.push_back(size);
  for (std::size_t i = 0; i < all.inputs.size(); ++i)
    if (mask[i]) all.inputs[i].lanes |= bit;
  return all;
}

std::uint64_t& asked_what_for() {
  static thread_local std::uint64_t count = 0;
  return count;
}

TracedFunction trace_inputs(FlatFunction f, std::span<const InputOf> inputs, std::string_view refs_refused_by,
                            const std::optional<TracedFor>& what_for, std::string_view name) {
  require_stack();
  Scope scope;
  scope.numerics = numerics_here();
  if (what_for) scope.set_ahead(what_for->ahead);
  Arrays handles;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& [type, weak, value] = inputs[i];
    handles.push_back(value ? scope.known_input(type, value, weak) : scope.input(type, weak));
    if (what_for) scope.set_takes_part(handles.back(), what_for->inputs[i]);
  }
  return finish_trace(scope, f, handles, refs_refused_by, name);
}

TracedFunction trace_flat(FlatFunction f, std::span<const Array> arguments, std::string_view refs_refused_by,
                          bool known_values, const std::optional<TracedFor>& what_for, std::string_view name) {
  std::vector<InputOf> inputs;
  for (const Array& a : arguments) {
    inputs.push_back({a.type(), a.weak()});
    if (known_values && Scope::knows(a)) inputs.back().value = [a] { return a.value(); };
  }
  return trace_inputs(f, inputs, refs_refused_by, what_for ? what_for : TracedFor::call(arguments), name);
}

TracedFunction trace_types(FlatFunction f, std::span<const Type> types, const std::vector<bool>& weak,
                           std::string_view refs_refused_by, const std::optional<TracedFor>& what_for) {
  std::vector<InputOf> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) inputs.push_back({types[i], weak[i]});
  return trace_inputs(f, inputs, refs_refused_by, what_for);
}

std::vector<api_detail::CellRef> TracedFunction::written() const {
  std::vector<api_detail::CellRef> cells;
  for (const api_detail::RefUse& use : refs)
    if (use.written) cells.push_back(use.cell);
  return cells;
}

std::vector<Type> TracedFunction::output_types() const {
  SizeBinding own;
  for (std::size_t i = 0; i < sizes.size(); ++i) own.emplace(program->size_params()[i], sizes[i]);
  std::vector<Type> types = program->output_types();
  for (Type& type : types) type = substitute(type, own);
  return types;
}

std::size_t TracedFunction::results() const { return weak.size() - written().size(); }

Arrays weakly_typed(Arrays results, const std::vector<bool>& weak) {
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i].empty()) results[i] = results[i].with_weak(weak[i]);
  return results;
}

std::vector<bool> weak_flags_of(std::span<const Array> arrays) {
  std::vector<bool> weak;
  for (const Array& a : arrays) weak.push_back(a.weak());
  return weak;
}

TracedFunction with_refs_as_arguments(const TracedFunction& f, std::span<const api_detail::CellRef> cells,
                                      std::size_t at, std::optional<std::size_t> out) {
  using Order = std::vector<std::optional<std::size_t>>;
  const std::vector<api_detail::CellRef> written = f.written();
  const std::size_t own = f.results();
  Order order;
  std::vector<Type> types;
  for (std::size_t i = 0; i < f.arguments; ++i) order.emplace_back(i);
  types.resize(order.size());
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const auto use = std::ranges::find(f.refs, cells[k], &api_detail::RefUse::cell);
    const auto place = static_cast<std::ptrdiff_t>(at + k);
    const bool used = use != f.refs.end();
    order.insert(order.begin() + place,
                 used ? std::optional(f.arguments + static_cast<std::size_t>(use - f.refs.begin())) : std::nullopt);
    types.insert(types.begin() + place, used ? Type() : api_detail::read_cell(cells[k]).type());
  }
  TracedFunction result;
  result.sizes = f.sizes;
  for (std::size_t i = 0; i < f.captures.size(); ++i) {
    if (i < f.refs.size() && std::ranges::find(cells, f.refs[i].cell) != cells.end()) continue;
    if (i < f.refs.size()) result.refs.push_back({f.refs[i].cell, false});
    order.emplace_back(f.arguments + i);
    types.emplace_back();
    result.captures.push_back(f.captures[i]);
  }
  std::vector<std::size_t> outputs(f.weak.size());
  std::iota(outputs.begin(), outputs.end(), std::size_t(0));
  ProgramParts parts = adapt(*f.program, order, types, outputs, result.sizes)->parts();
  const std::vector<Var> all = std::exchange(parts.outputs, {});
  parts.outputs.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own));
  result.weak.assign(f.weak.begin(), f.weak.begin() + static_cast<std::ptrdiff_t>(own));
  for (std::size_t k = 0; out && k < cells.size(); ++k) {
    const auto found = std::ranges::find(written, cells[k]);
    const auto place = static_cast<std::ptrdiff_t>(*out + k);
    parts.outputs.insert(
        parts.outputs.begin() + place,
        found == written.end() ? parts.inputs[at + k] : all[own + static_cast<std::size_t>(found - written.begin())]);
    result.weak.insert(result.weak.begin() + place, false);
  }
  result.program = Program::finish(std::move(parts));
  result.arguments = f.arguments + cells.size();
  return result;
}

Arrays run_or_call(const ProgramRef& program, std::span<const Dim> sizes, std::span<const Array> operands,
                   Placement placement) {
  if (Scope::of_operands(operands) != nullptr) return call(program, sizes, operands, placement);
  std::vector<Value> values;
  for (const Array& operand : operands) values.push_back(operand.value());
  std::vector<std::int64_t> known;
  for (const Dim& d : sizes) known.push_back(d.value());
  Arrays results;
  for (Value& value : executor().run(program, known, values))
    results.push_back(std::visit([]<class T>(T&& held) { return Array(std::forward<T>(held)); }, std::move(value)));
  return results;
}

Arrays with_writes_done(const TracedFunction& f, Arrays results) {
  results = weakly_typed(std::move(results), f.weak);
  const std::vector<api_detail::CellRef> refs = f.written();
  for (std::size_t k = 0; k < refs.size(); ++k) api_detail::write_cell(refs[k], results[f.results() + k]);
  results.resize(f.results());
  return results;
}

Arrays apply(const TracedFunction& f, std::span<const Array> arguments) {
  Arrays operands(arguments.begin(), arguments.end());
  operands.insert(operands.end(), f.captures.begin(), f.captures.end());
  Arrays results = run_or_call(f.program, f.sizes, operands, f.placement);
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = results[i].with_weak(f.weak[i]);
  return results;
}

namespace api_detail {

bool knows_values() {
  const Scope* top = Scope::top();
  return top == nullptr || top->knows_values();
}

std::string argument_name(const std::string& path) {
  const std::size_t end = path.find('>');
  if (end == std::string::npos) return "the argument";
  const std::string rest = path.substr(end + 1);
  return "argument " + path.substr(1, end - 1) + (rest.empty() ? "" : ", leaf " + rest);
}

Array fitted(const Array& given, const Type& wanted, std::string_view op, FunctionRef<std::string()> what) {
  if (given.empty()) return zeros_of(wanted);
  const Type type = given.type();
  if (type == wanted) return given.with_weak(false);
  const bool same_shape = type.is_array() && wanted.is_array() && type.shape == wanted.shape;
  if (same_shape && given.weak()) return convert(given, wanted.dtype).with_weak(false);
  const std::string message = fmt::format("{}: {} is {}, not {}.", op, what(), type.text(), wanted.text());
  if (same_shape) throw DTypeError(message, "Convert it, with tn::convert().");
  throw ShapeError(message, "Reduce it over the axes along which it was broadcast, or broadcast it.");
}

}  // namespace api_detail
}  // namespace tenon
