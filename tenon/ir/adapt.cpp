#include "tenon/ir/adapt.h"

#include <algorithm>

#include "tenon/ir/scope.h"
#include "tenon/ir/unify.h"

namespace tenon {
namespace {

ProgramRef rearrange(ProgramParts parts, const Program& program, std::span<const std::optional<std::size_t>> from,
                     std::span<const Type> types, std::span<const std::size_t> outputs) {
  parts.inputs.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i]) {
      parts.inputs.push_back(program.inputs()[*from[i]]);
    } else {
      parts.inputs.push_back(static_cast<Var>(parts.types.size()));
      parts.types.push_back(types[i]);
    }
  }
  parts.outputs.clear();
  for (std::size_t i : outputs) parts.outputs.push_back(program.outputs()[i]);
  return Program::finish(std::move(parts));
}

}  // namespace

ProgramRef adapt(const Program& program, std::span<const std::optional<std::size_t>> from, std::span<const Type> types,
                 std::span<const std::size_t> outputs) {
  return rearrange(program.parts(), program, from, types, outputs);
}

ProgramRef adapt(const Program& program, std::span<const std::optional<std::size_t>> from, std::span<const Type> types,
                 std::span<const std::size_t> outputs, std::vector<Dim>& sizes) {
  ProgramParts parts = program.parts();
  SizeBinding inside;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (const auto s = bare_variable(sizes[i])) inside.emplace(*s, Dim::variable(parts.size_params[i]));
  std::vector<Type> own(types.begin(), types.end());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i]) continue;
    own[i].visit_dims([&](const Dim& d) {
      d.visit_variables([&](SizeVar s) {
        if (inside.contains(s)) return;
        parts.size_params.push_back(fresh_size());
        sizes.push_back(Dim::variable(s));
        inside.emplace(s, Dim::variable(parts.size_params.back()));
      });
    });
    own[i] = substitute(own[i], inside);
  }
  return rearrange(std::move(parts), program, from, own, outputs);
}

bool holds_programs(const Program& program) {
  return std::ranges::any_of(program.eqns(), [](const Eqn& eqn) { return eqn.params.hold_programs(); });
}

ProgramRef with_regions(const ProgramRef& program, FunctionRef<ProgramRef(const ProgramRef&)> region) {
  std::vector<ProgramRef> made;
  bool any_differs = false;
  for (const Eqn& eqn : program->eqns())
    eqn.params.visit_programs([&](const ProgramRef& p) {
      made.push_back(p ? region(p) : p);
      any_differs = any_differs || made.back() != p;
    });
  if (!any_differs) return program;
  ProgramParts parts = program->parts();
  auto next = made.begin();
  for (Eqn& eqn : parts.eqns) eqn.params = eqn.params.map_programs([&](const ProgramRef&) { return *next++; });
  return Program::finish(std::move(parts));
}

}  // namespace tenon
