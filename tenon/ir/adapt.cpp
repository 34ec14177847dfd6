#include "tenon/ir/adapt.h"

namespace tenon {

ProgramRef adapt(const Program& program, std::span<const std::optional<std::size_t>> from, std::span<const Type> types,
                 std::span<const std::size_t> outputs) {
  ProgramParts parts = program.parts();
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

}  // namespace tenon
