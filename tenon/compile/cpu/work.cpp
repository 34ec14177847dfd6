#include "tenon/compile/cpu/work.h"

namespace tenon::cpu {

using kernel::Expr;

namespace {

constexpr int of_function = 20;

int instructions_of(kernel::Unary op) {
  using kernel::Unary;
  switch (op) {
    case Unary::neg:
    case Unary::abs:
    case Unary::sqrt:
    case Unary::floor:
    case Unary::ceil:
    case Unary::round:
    case Unary::not_:
      return 1;
    case Unary::sign:
    case Unary::rsqrt:
    case Unary::is_finite:
      return 3;
    default:
      return of_function;
  }
}
int instructions_of(kernel::Binary op) { return is_function(op) ? 2 * of_function : 1; }

}  // namespace

bool is_function(kernel::Unary op) { return instructions_of(op) == of_function; }
bool is_function(kernel::Binary op) {
  using kernel::Binary;
  return op == Binary::pow || op == Binary::atan2 || op == Binary::rem;
}

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
  if (is_real(e.dtype()) && ((e.kind() == Expr::Kind::unary && is_function(e.node().unary)) ||
                             (e.kind() == Expr::Kind::binary && is_function(e.node().binary))))
    ++work.functions;
  work.instructions += e.kind() == Expr::Kind::unary    ? instructions_of(e.node().unary)
                       : e.kind() == Expr::Kind::binary ? instructions_of(e.node().binary)
                                                        : 1;
  for (const auto& operand : e.node().operands)
    if (operand) add_work(Expr(operand), work);
}

void add_work(const std::vector<kernel::Store>& stores, Work& work) {
  for (const kernel::Store& s : stores) add_work(s.value, work);
}

}  // namespace tenon::cpu
