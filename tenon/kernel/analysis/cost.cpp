#include "tenon/kernel/analysis/cost.h"

#include <algorithm>

#include "tenon/kernel/analysis/instructions.h"
#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

double of_node(const Expr& e) { return instruction(e).nanoseconds * static_cast<double>(size_of(e.dtype())) / 4; }

double of_expr(const Expr& e, Seen& seen) {
  if (!e || !seen.insert(e.identity())) return 0;
  double sum = e.dtype() == DType::i64 && e.kind() != Expr::Kind::load ? 0.01 : of_node(e);
  if (e.kind() == Expr::Kind::load) return sum;
  for (const auto& operand : e.node().operands)
    if (operand) sum += of_expr(Expr(operand), seen);
  return sum;
}

void add_instructions(std::span<const Statement> statements, Instructions& to) {
  for (const Statement& s : statements) {
    for_each_expression(s, [&](const Expr& e) { to.add(e); });
    for_each_block(s, [&](const Block& inside) { add_instructions(inside, to); });
  }
}

double of_block(const Block& block) {
  double sum = 0;
  for (const Statement& s : block) sum += nanoseconds(s);
  return sum;
}

double cost(const Nest& n) {
  Seen seen;
  double each = 0;
  for (const Store& s : n.stores) each += 0.1 + of_expr(s.value, seen);
  return estimate(n.sizes) * each;
}
double cost(const Reduce& r) {
  Seen seen;
  double each = 0;
  for (const Reduce::Result& result : r.results()) each += 0.03 + of_expr(result.value, seen);
  for (const Store& s : r.stores) each += 0.1 + of_expr(s.value, seen);
  return estimate(r.outer_sizes) * estimate(r.inner_sizes) * each;
}
double cost(const Copy& c) { return 0.1 * estimate(c.elements); }
double cost(const Product& p) { return 0.02 * estimate({p.batch, p.m, p.n, p.k}); }
double cost(const Element&) { return 1; }
double cost(const Call& c) { return c.nanoseconds; }
double cost(const For& f) { return estimate(f.count) * of_block(f.body); }
double cost(const While& w) { return guessed_steps * (of_block(w.before) + of_block(w.body)); }
double cost(const Switch& s) {
  double most = 0;
  for (const Block& b : s.branches) most = std::max(most, of_block(b));
  return most;
}
double cost(const Blocks& b) { return estimate(b.count) * of_block(b.body) + of_block(b.tail); }

}  // namespace

double nanoseconds(const Statement& s) {
  return std::visit([](const auto& held) { return cost(held); }, s.held());
}

double nanoseconds(const Expr& e) {
  Seen seen;
  return of_expr(e, seen);
}

double instructions_in(std::span<const Statement> statements) {
  Instructions all;
  add_instructions(statements, all);
  return all.number();
}

bool is_long_calls(const Block& block) {
  constexpr double takes_long = 500;  // nanoseconds
  constexpr std::size_t fewest = 8, between = 8;
  const auto calls = static_cast<std::size_t>(std::ranges::count_if(block, [](const Statement& s) {
    const auto* call = std::get_if<Call>(&s.held());
    return call != nullptr && call->nanoseconds >= takes_long;
  }));
  return calls >= fewest && calls * between >= block.size();
}

}  // namespace tenon::kernel
