#include "tenon/ops/control/traced_region.h"

#include "tenon/ir/adapt.h"
#include "tenon/ops/control/callee.h"

namespace tenon {
namespace {

struct Region {
  TraceResult traced;
  std::size_t arguments;
  std::vector<Type> captured() const { return types_of(traced.captures); }
  ProgramRef behind_captures(std::span<const Type> before, std::span<const Type> behind) {
    return captures_first(*traced.program, arguments, traced.captures.size(), before, behind, traced.sizes);
  }
};

Region trace(const HandleFunction& f, const Arrays& arguments) {
  Scope scope;
  Arrays inputs;
  for (const Array& a : arguments) inputs.push_back(scope.input(a.type()));
  const Arrays outputs = f(inputs);
  return {scope.finish(outputs), arguments.size()};
}

Arrays run(LoopParams params, Region& body, Arrays operands, const Arrays& state) {
  params.body_sizes = body.traced.sizes;
  params.consts = static_cast<std::int64_t>(operands.size());
  params.carries = static_cast<std::int64_t>(state.size());
  operands.insert(operands.end(), state.begin(), state.end());
  return loop(std::move(params), operands);
}

}  // namespace

ProgramRef captures_first(const Program& program, std::size_t arguments, std::size_t captures,
                          std::span<const Type> before, std::span<const Type> behind, std::vector<Dim>& sizes) {
  std::vector<std::optional<std::size_t>> order;
  std::vector<Type> types;
  for (const Type& t : before) order.emplace_back(std::nullopt), types.push_back(t);
  for (std::size_t i = 0; i < captures; ++i) order.emplace_back(arguments + i), types.emplace_back();
  for (const Type& t : behind) order.emplace_back(std::nullopt), types.push_back(t);
  for (std::size_t i = 0; i < arguments; ++i) order.emplace_back(i), types.emplace_back();
  std::vector<std::size_t> outputs(program.outputs().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
  return adapt(program, order, types, outputs, sizes);
}

Arrays while_loop_of(const HandleFunction& cond, const HandleFunction& body, const Arrays& state) {
  Region step = trace(body, state), more = trace(cond, state);
  LoopParams params;
  params.body = step.behind_captures({}, more.captured());
  params.cond = more.behind_captures(step.captured(), {});
  params.cond_sizes = more.traced.sizes;
  Arrays operands = step.traced.captures;
  operands.insert(operands.end(), more.traced.captures.begin(), more.traced.captures.end());
  return run(std::move(params), step, std::move(operands), state);
}

Arrays counted_loop_of(const Dim& steps, const HandleFunction& body, const Arrays& state) {
  Region step = trace(body, state);
  LoopParams params{.body = step.behind_captures({}, {}), .length = steps};
  return run(std::move(params), step, step.traced.captures, state);
}

Arrays branch_of(const Array& index, std::span<const std::function<Arrays()>> branches) {
  std::vector<Region> traced;
  Arrays captures;
  for (const auto& branch : branches) {
    traced.push_back(trace([&](const Arrays&) { return branch(); }, {}));
    captures.insert(captures.end(), traced.back().traced.captures.begin(), traced.back().traced.captures.end());
  }
  const std::vector<Type> types = types_of(captures);
  CondParams params;
  std::size_t start = 0;
  for (Region& branch : traced) {
    const std::size_t end = start + branch.traced.captures.size();
    params.branches.push_back(branch.behind_captures(std::span(types).first(start), std::span(types).subspan(end)));
    params.sizes.push_back(branch.traced.sizes);
    start = end;
  }
  return cond(std::move(params), index, captures);
}

}  // namespace tenon
