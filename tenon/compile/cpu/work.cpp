#include "tenon/compile/cpu/work.h"

#include "tenon/kernel/analysis/instructions.h"

namespace tenon::cpu {

using kernel::Expr;

namespace {

// Whether it is an index: of loop variables and numbers, by sums and products.
bool is_index(const Expr& e, const Work& work) {
  return e.kind() == Expr::Kind::constant || e.kind() == Expr::Kind::variable || work.indices.contains(e.identity());
}
bool makes_index(const Expr& e, const Work& work) {
  if (e.dtype() != DType::i64 || e.kind() != Expr::Kind::binary) return false;
  const kernel::Binary op = e.node().binary;
  return (op == kernel::Binary::add || op == kernel::Binary::sub || op == kernel::Binary::mul) &&
         is_index(e.operand(0), work) && is_index(e.operand(1), work);
}

}  // namespace

void add_work(const Expr& e, Work& work) {
  if (e.kind() == Expr::Kind::constant || e.kind() == Expr::Kind::variable || !work.seen.insert(e.identity()).second)
    return;
  if (e.kind() == Expr::Kind::load) {
    work.element_bytes = std::max(work.element_bytes, size_of(e.dtype()));
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
  for (const auto& operand : e.node().operands)
    if (operand) add_work(Expr(operand), work);
  const kernel::Instruction& own = kernel::instruction(e);
  if (own.function && is_real(e.dtype())) ++work.functions;
  work.instructions += own.instructions;
  if (makes_index(e, work))
    work.indices.insert(e.identity());
  else
    work.element_bytes = std::max(work.element_bytes, size_of(e.dtype()));
}

void add_work(const std::vector<kernel::Store>& stores, Work& work) {
  for (const kernel::Store& s : stores) add_work(s.value, work);
}

}  // namespace tenon::cpu
