#include "tenon/compile/cpu/work.h"

#include "tenon/kernel/analysis/instructions.h"

namespace tenon::cpu {

using kernel::Expr;

void add_work(const Expr& e, Work& work) {
  if (e.kind() == Expr::Kind::constant || e.kind() == Expr::Kind::variable || !work.seen.insert(e.identity()).second)
    return;
  work.element_bytes = std::max(work.element_bytes, size_of(e.dtype()));
  if (e.kind() == Expr::Kind::load) {
    work.reads.insert(e.node().id);
    Work index;
    add_work(e.operand(0), index);
    work.reads.merge(index.reads);
    return;
  }
  if (e.kind() == Expr::Kind::unary && e.node().unary == kernel::Unary::sin)
    work.angles[e.operand(0).identity()].sine = e.identity();
  if (e.kind() == Expr::Kind::unary && e.node().unary == kernel::Unary::cos)
    work.angles[e.operand(0).identity()].cosine = e.identity();
  const kernel::Instruction& own = kernel::instruction(e);
  if (own.function && is_real(e.dtype())) ++work.functions;
  work.instructions += own.instructions;
  for (const auto& operand : e.node().operands)
    if (operand) add_work(Expr(operand), work);
}

void add_work(const std::vector<kernel::Store>& stores, Work& work) {
  for (const kernel::Store& s : stores) add_work(s.value, work);
}

}  // namespace tenon::cpu
