#include "tenon/transform/memo.h"

namespace tenon {

std::size_t held_bytes(const ProgramRef& program) {
  // Of an eqn: itself, its variables, its params and the types of its results.
  constexpr std::size_t an_eqn = 400, a_variable = 100;
  return program == nullptr ? 0 : sizeof(Program) + program->eqns().size() * an_eqn + program->vars() * a_variable;
}

std::size_t held_bytes(const Partitioned& parts) {
  return held_bytes(parts.first) + held_bytes(parts.second) + parts.residuals.size() * sizeof(Partitioned::Residual);
}

}  // namespace tenon
