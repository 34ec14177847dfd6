#include "tenon/kernel/analysis/form.h"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// As an affine form of numbers alone.
std::optional<Affine> numbered(const Expr& offset) {
  auto at = affine(offset);
  return at && at->known() ? std::move(at) : std::nullopt;
}

class FormReader {
 public:
  FormReader(FunctionRef<bool(Hasher&, SlotId)> describe, Numbers numbers) : describe_(describe), apart_(numbers) {}

  // First: which slots stay where they are.
  void find_fixed(const Statement& s) {
    const auto note = [&](SlotId id, const Expr& offset) {
      if (!numbered(offset)) fixed_.insert(id);
    };
    for_each_place(s, [&](SlotId id, const Expr& offset, bool) { note(id, offset); });
    for_each_expression(
        s, [&](const Expr& e) { visit_loads(e, [&](const Expr& load) { note(load.node().id, load.operand(0)); }); });
    if (apart_ == Numbers::apart) for_each_expression(s, [&](const Expr& e) { find_deciding(e); });
    for_each_block(s, [&](const Block& inside) {
      for (const Statement& each : inside) find_fixed(each);
    });
  }

  void statement(const Statement& s) {
    hash_(s.held().index());
    std::visit([&](const auto& held) { of(held); }, s.held());
    for_each_block(s, [&](const Block& inside) {
      hash_(inside.size());
      for (const Statement& each : inside) statement(each);
    });
  }
  Form finish() { return {hash_.finish(), std::move(slots_), std::move(apart_numbers_)}; }

 private:
  // Which constants are operands of anything but arithmetic.
  void find_deciding(const Expr& e) {
    if (!visited_.insert(e.identity())) return;
    const Expr::Node& n = e.node();
    const bool any = n.kind == Expr::Kind::binary || n.kind == Expr::Kind::select;
    for (const auto& operand : n.operands) {
      if (!operand) continue;
      if (!any && operand->kind == Expr::Kind::constant) deciding_.insert(operand.get());
      find_deciding(Expr(operand));
    }
  }
  bool is_apart(const Expr& e) const {
    return apart_ == Numbers::apart && e.kind() == Expr::Kind::constant && is_inexact(e.dtype()) &&
           !deciding_.contains(e.identity());
  }

  Form::Access& slot(SlotId id, std::int64_t base = 0) {
    const auto [known, is_new] = numbers_.emplace(id, slots_.size());
    hash_(known->second);
    if (is_new) slots_.push_back({id, describe_(hash_, id) && !fixed_.contains(id) ? base : 0});
    return slots_[known->second];
  }
  void access(SlotId id, const Expr& offset) {
    const std::optional<Affine> at = numbered(offset);
    if (!at) return slot(id), expr(offset);
    const std::int64_t constant = at->constant.value();
    hash_(constant - slot(id, constant).base)(at->terms.size());
    for (const auto& [variable, coefficient] : at->terms) var(variable), hash_(coefficient.value());
  }
  void var(std::uint32_t id) { hash_(vars_.emplace(id, vars_.size()).first->second); }
  void expr(const Expr& e) {
    if (!e) return void(hash_(0));
    const auto [known, is_new] = nodes_.emplace(e.identity(), nodes_.size() + 1);
    hash_(known->second);
    if (!is_new) return;
    const Expr::Node& n = e.node();
    hash_(n.kind)(n.dtype)(n.unary)(n.binary);
    if (is_apart(e)) return apart_numbers_.push_back(e);
    hash_.bytes(n.bits.data(), n.bits.size());
    if (n.kind == Expr::Kind::variable) var(n.id);
    if (n.kind == Expr::Kind::load) return access(n.id, e.operand(0));
    for (const auto& operand : n.operands)
      if (operand) expr(Expr(operand));
  }
  void loops(const std::vector<std::uint32_t>& vars, const Sizes& sizes) {
    hash_(vars.size());
    for (const std::uint32_t v : vars) var(v);
    for (const Dim& s : sizes) s.hash(hash_);
  }
  void of(const std::vector<Store>& stores) {
    hash_(stores.size());
    for (const Store& s : stores) access(s.slot, s.offset), expr(s.value), expr(s.condition);
  }

  void of(const Nest& n) {
    hash_(n.independent)(n.combines);
    loops(n.vars, n.sizes);
    of(n.stores);
  }
  void of(const Reduce& r) {
    hash_(r.others.size());
    loops(r.outer_vars, r.outer_sizes);
    loops(r.inner_vars, r.inner_sizes);
    for (const Reduce::Result& result : r.results()) {
      hash_(result.combine);
      expr(result.initial), expr(result.value), access(result.slot, result.offset);
    }
    of(r.stores);
  }
  void of(const Copy& c) {
    c.elements.hash(hash_), c.row.hash(hash_);
    access(c.to, c.to_offset), access(c.from, c.from_offset);
  }
  void of(const Product& p) {
    hash_(p.dtype)(p.accumulate);
    for (const Dim& size :
         {p.batch, p.m, p.n, p.k, p.a_batch, p.a_m, p.a_k, p.b_batch, p.b_k, p.b_n, p.c_batch, p.c_m, p.c_n})
      size.hash(hash_);
    access(p.a, p.a_offset), access(p.b, p.b_offset), access(p.c, p.c_offset);
  }
  void of(const Element& e) {
    hash_(e.access);
    e.bytes.hash(hash_);
    expr(e.list), expr(e.index), expr(e.consumed), slot(e.element);
  }
  void of(const Call& c) {
    hash_(c.function)(c.arguments.size())(c.table)(c.nanoseconds)(c.result.has_value());
    for (const Call::Argument& a : c.arguments) {
      hash_(a.address.has_value())(a.written);
      if (a.address)
        access(*a.address, a.value);
      else
        expr(a.value);
    }
    if (c.result) access(*c.result, c.result_offset);
  }
  void of(const For& f) { var(f.var), f.count.hash(hash_); }
  void of(const While& w) { expr(w.condition), hash_(w.apart); }
  void of(const Switch& s) { expr(s.index), hash_(s.branches.size()); }
  void of(const Blocks& b) {
    var(b.var), b.count.hash(hash_), b.rest.hash(hash_), b.grain.hash(hash_), hash_(b.parallel)(b.own.size());
    for (const SlotId id : b.own) slot(id);
  }

  FunctionRef<bool(Hasher&, SlotId)> describe_;
  Numbers apart_;
  Hasher hash_;
  std::unordered_map<const Expr::Node*, std::size_t> nodes_;
  std::map<std::uint32_t, std::size_t> vars_;
  std::map<SlotId, std::size_t> numbers_;
  std::set<SlotId> fixed_;
  std::vector<Form::Access> slots_;
  Seen visited_;
  std::unordered_set<const Expr::Node*> deciding_;
  std::vector<Expr> apart_numbers_;
};

}  // namespace

Form form_of(const Statement& s, FunctionRef<bool(Hasher&, SlotId)> describe, Numbers numbers) {
  FormReader reader(describe, numbers);
  reader.find_fixed(s);
  reader.statement(s);
  return reader.finish();
}

}  // namespace tenon::kernel
