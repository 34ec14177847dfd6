#include "tenon/kernel/analysis/open_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "tenon/kernel/analysis/ranges.h"
#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// Whether it is a number of which code for one is code for all.
bool is_usual(const Expr& e) {
  const std::optional<double> value = real_constant(e.node());
  int exponent;
  return value && std::isnormal(*value) && std::fabs(std::frexp(*value, &exponent)) != 0.5;
}

bool is_arithmetic(const Expr::Node& n) {
  if (n.kind == Expr::Kind::select) return true;
  if (n.kind != Expr::Kind::binary) return false;
  switch (n.binary) {
    case Binary::add:
    case Binary::sub:
    case Binary::mul:
    case Binary::div:
    case Binary::max:
    case Binary::min:
    case Binary::eq:
    case Binary::ne:
    case Binary::lt:
    case Binary::le:
    case Binary::gt:
    case Binary::ge:
      return true;
    default:
      return false;
  }
}

// The nodes of expressions, each once, behind its operands. Without recursion: graphs may be deep.
std::vector<Expr> operands_first(const Block& statements) {
  std::vector<Expr> order, open;
  Seen seen, done;
  const auto from = [&](const Expr& root) {
    open.push_back(root);
    while (!open.empty()) {
      const Expr e = open.back();
      if (!seen.insert(e.identity())) {
        if (done.insert(e.identity())) order.push_back(e);
        open.pop_back();
        continue;
      }
      for (const auto& operand : e.node().operands)
        if (operand) open.emplace_back(operand);
    }
  };
  std::vector<const Block*> blocks{&statements};
  while (!blocks.empty()) {
    const Block* block = blocks.back();
    blocks.pop_back();
    for (const Statement& s : *block) {
      for_each_expression(s, from);
      for_each_block(s, [&](const Block& inside) { blocks.push_back(&inside); });
    }
  }
  return order;
}

// The bits of constants that decide about code.
std::set<std::array<std::byte, 16>> deciding(const std::vector<Expr>& order) {
  std::vector<Expr> open;
  for (const Expr& e : order)
    if (!is_arithmetic(e.node()))
      for (const auto& operand : e.node().operands)
        if (operand && operand->kind == Expr::Kind::constant) open.emplace_back(operand);
  const auto asks = [](const Expr& e) { return e.kind() == Expr::Kind::unary && depends_on_range(e.node().unary); };
  if (std::ranges::any_of(order, asks)) {
    Ranges known(true), any(false);
    for (const Expr& e : order) {
      if (asks(e) && known.of(e.operand(0)) != any.of(e.operand(0))) open.push_back(e.operand(0));
      known.of(e), any.of(e);  // behind those of its operands
    }
  }
  std::set<std::array<std::byte, 16>> bits;
  Seen seen;
  while (!open.empty()) {
    const Expr e = open.back();
    open.pop_back();
    if (!seen.insert(e.identity())) continue;
    if (e.kind() == Expr::Kind::constant) bits.insert(e.node().bits);
    for (const auto& operand : e.node().operands)
      if (operand) open.emplace_back(operand);
  }
  return bits;
}

}  // namespace

OpenNumbers::OpenNumbers(const Function& function) {
  const std::vector<Expr> order = operands_first(function.body);
  if (std::ranges::none_of(order, is_usual)) return;
  const std::set<std::array<std::byte, 16>> closed = deciding(order);
  for (const Expr& e : order) {
    if (!is_usual(e) || closed.contains(e.node().bits)) continue;
    const std::size_t bytes = size_of(e.dtype()), at = (bytes_.size() + bytes - 1) / bytes * bytes;
    if (!places_.try_emplace({e.dtype(), e.node().bits}, static_cast<std::uint32_t>(at)).second) continue;
    bytes_.resize(at);
    bytes_.append(reinterpret_cast<const char*>(e.node().bits.data()), bytes);
  }
}

std::optional<std::uint32_t> OpenNumbers::place(const Expr::Node& constant) const {
  if (places_.empty()) return std::nullopt;
  const auto found = places_.find({constant.dtype, constant.bits});
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

Hash128 hash_but_for(const Function& function, const OpenNumbers& numbers) {
  Function rest = function;
  rest.name.clear();
  Hasher hash;
  for (Slot& slot : rest.slots) {
    hash.bytes(slot.values.data(), slot.values.size());
    slot.values.clear();
  }
  const auto by_place = [&](const Expr::Node& constant) {
    const auto place = numbers.place(constant);
    return place ? fmt::format("{} at {}", name(constant.dtype), *place) : "";
  };
  return hash(print(rest, by_place)).finish();
}

}  // namespace tenon::kernel
