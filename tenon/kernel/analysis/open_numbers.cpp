#include "tenon/kernel/analysis/open_numbers.h"

#include <cmath>
#include <cstring>
#include <set>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/ranges.h"
#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// Whether code for one such number is code for all.
bool is_usual(const Expr& e) {
  double value = 0;
  if (e.dtype() == DType::f32) {
    float narrow;
    std::memcpy(&narrow, e.node().bits.data(), sizeof narrow);
    value = narrow;
  } else if (e.dtype() == DType::f64) {
    std::memcpy(&value, e.node().bits.data(), sizeof value);
  } else {
    return false;
  }
  int exponent;
  return std::isnormal(value) && std::fabs(std::frexp(value, &exponent)) != 0.5;
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

// Which constants there are, in the order in which they are met, and which of them decide about code.
class Finder {
 public:
  void statement(const Statement& s) {
    for_each_expression(s, [&](const Expr& e) {
      if (!e) return;
      if (e.kind() == Expr::Kind::constant) note(e);
      visit(e);
    });
    for_each_block(s, [&](const Block& inside) {
      for (const Statement& each : inside) statement(each);
    });
  }
  // f(constant) for those that are open.
  template <class F>
  void each_open(F f) const {
    for (const Expr& e : found_)
      if (!deciding_.contains(e.node().bits)) f(e);
  }

 private:
  void note(const Expr& e) {
    if (is_usual(e)) found_.push_back(e);
  }
  void decide(const Expr& e) {
    if (!decided_.insert(e.identity())) return;
    if (e.kind() == Expr::Kind::constant) deciding_.insert(e.node().bits);
    for (const auto& operand : e.node().operands)
      if (operand) decide(Expr(operand));
  }
  void visit(const Expr& e) {
    if (!visited_.insert(e.identity())) return;
    const Expr::Node& n = e.node();
    const bool open = is_arithmetic(n);
    for (const auto& operand : n.operands) {
      if (!operand) continue;
      if (operand->kind == Expr::Kind::constant) open ? note(Expr(operand)) : decide(Expr(operand));
      visit(Expr(operand));
    }
    if (n.kind == Expr::Kind::unary && depends_on_range(n.unary))
      if (const Expr x = e.operand(0); known_.of(x) != any_.of(x)) decide(x);
  }

  std::vector<Expr> found_;
  std::set<std::array<std::byte, 16>> deciding_;
  Seen visited_, decided_;
  Ranges known_{true}, any_{false};
};

// Open numbers as elements of slots that there are not.
class AsElements : public Rewrite {
 public:
  AsElements(const Function& function, const OpenNumbers& numbers)
      : first_(static_cast<SlotId>(function.slots.size())), numbers_(numbers) {}
  void block(Block& statements) {
    for (Statement& s : statements) {
      for_each_expression(s, [&](Expr& e) { e = (*this)(e); });
      for_each_block(s, [&](Block& inside) { block(inside); });
    }
  }

 protected:
  Expr finish(const Expr& e) override {
    if (e.kind() != Expr::Kind::constant) return e;
    const auto place = numbers_.place(e);
    return place ? kernel::load(first_ + (e.dtype() == DType::f64 ? 1 : 0), e.dtype(), size(*place)) : e;
  }

 private:
  SlotId first_;
  const OpenNumbers& numbers_;
};

}  // namespace

OpenNumbers::OpenNumbers(const Function& function) {
  Finder finder;
  for (const Statement& s : function.body) finder.statement(s);
  finder.each_open([&](const Expr& e) {
    const std::size_t bytes = size_of(e.dtype()), at = (bytes_.size() + bytes - 1) / bytes * bytes;
    if (!places_.try_emplace({e.dtype(), e.node().bits}, static_cast<std::uint32_t>(at)).second) return;
    bytes_.resize(at);
    bytes_.append(reinterpret_cast<const char*>(e.node().bits.data()), bytes);
  });
}

std::optional<std::uint32_t> OpenNumbers::place(const Expr& constant) const {
  if (places_.empty()) return std::nullopt;
  const auto found = places_.find({constant.dtype(), constant.node().bits});
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
  AsElements(function, numbers).block(rest.body);
  const std::string text = print(rest);
  return hash.bytes(text.data(), text.size()).finish();
}

}  // namespace tenon::kernel
