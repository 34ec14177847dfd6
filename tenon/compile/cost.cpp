#include "tenon/compile/cost.h"

#include <algorithm>
#include <unordered_set>

namespace tenon {
namespace {

using kernel::Expr;
using kernel::Unary;

// Of one element, where neighbours share vectors: measured on two processors of this class, to a factor of two.
double of_node(const Expr& e) {
  const double width = static_cast<double>(size_of(e.dtype())) / 4;
  switch (e.kind()) {
    case Expr::Kind::constant:
    case Expr::Kind::variable:
      return 0;
    case Expr::Kind::load:
      return 0.06 * width;
    case Expr::Kind::unary:
      switch (e.node().unary) {
        case Unary::neg:
        case Unary::abs:
        case Unary::sign:
        case Unary::floor:
        case Unary::ceil:
        case Unary::round:
        case Unary::is_finite:
        case Unary::not_:
          return 0.03 * width;
        case Unary::sqrt:
        case Unary::rsqrt:
          return 0.1 * width;
        default:
          return 0.3 * width;
      }
    case Expr::Kind::binary:
      switch (e.node().binary) {
        case kernel::Binary::div:
          return 0.1 * width;
        case kernel::Binary::rem:
        case kernel::Binary::pow:
        case kernel::Binary::atan2:
          return 2 * width;
        default:
          return 0.03 * width;
      }
    default:
      return 0.03 * width;
  }
}

double of_expr(const Expr& e, std::unordered_set<const void*>& seen) {
  if (!e || !seen.insert(e.identity()).second) return 0;
  double sum = e.dtype() == DType::i64 && e.kind() != Expr::Kind::load ? 0.01 : of_node(e);
  if (e.kind() == Expr::Kind::load) return sum;
  for (const auto& operand : e.node().operands)
    if (operand) sum += of_expr(Expr(operand), seen);
  return sum;
}

double of_block(const kernel::Block& block) {
  double sum = 0;
  for (const kernel::Statement& s : block) sum += nanoseconds(s);
  return sum;
}

double cost(const kernel::Nest& n) {
  std::unordered_set<const void*> seen;
  double each = 0;
  for (const kernel::Store& s : n.stores) each += 0.1 + of_expr(s.value, seen);
  return kernel::estimate(n.sizes) * each;
}
double cost(const kernel::Reduce& r) {
  std::unordered_set<const void*> seen;
  return kernel::estimate(r.outer_sizes) * kernel::estimate(r.inner_sizes) * (0.03 + of_expr(r.value, seen));
}
double cost(const kernel::Copy& c) { return 0.1 * kernel::estimate(c.elements); }
double cost(const kernel::Product& p) { return 0.02 * kernel::estimate({p.batch, p.m, p.n, p.k}); }
double cost(const kernel::Element&) { return 1; }
double cost(const kernel::Call& c) { return c.nanoseconds; }
double cost(const kernel::For& f) { return kernel::estimate(f.count) * of_block(f.body); }
double cost(const kernel::While& w) { return of_block(w.before) + of_block(w.body); }
double cost(const kernel::Switch& s) {
  double most = 0;
  for (const kernel::Block& b : s.branches) most = std::max(most, of_block(b));
  return most;
}
double cost(const kernel::Blocks& b) { return kernel::estimate(b.count) * of_block(b.body) + of_block(b.tail); }

}  // namespace

double nanoseconds(const kernel::Statement& s) {
  return std::visit([](const auto& held) { return cost(held); }, s.held());
}

}  // namespace tenon
