#include "tenon/kernel/form.h"

#include <map>
#include <unordered_map>

#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

class FormReader {
 public:
  explicit FormReader(FunctionRef<void(Hasher&, SlotId)> describe) : describe_(describe) {}

  void statement(const Statement& s) {
    hash_(s.held().index());
    std::visit([&](const auto& held) { of(held); }, s.held());
    for_each_block(s, [&](const Block& inside) {
      hash_(inside.size());
      for (const Statement& each : inside) statement(each);
    });
  }
  Form finish() { return {hash_.finish(), std::move(slots_)}; }

 private:
  void slot(SlotId id) {
    const auto [known, is_new] = numbers_.emplace(id, slots_.size());
    hash_(known->second);
    if (!is_new) return;
    slots_.push_back(id);
    describe_(hash_, id);
  }
  void var(std::uint32_t id) { hash_(vars_.emplace(id, vars_.size()).first->second); }
  void expr(const Expr& e) {
    if (!e) return void(hash_(0));
    const auto [known, is_new] = nodes_.emplace(e.identity(), nodes_.size() + 1);
    hash_(known->second);
    if (!is_new) return;
    const Expr::Node& n = e.node();
    hash_(n.kind)(n.dtype)(n.unary)(n.binary).bytes(n.bits.data(), n.bits.size());
    if (n.kind == Expr::Kind::variable) var(n.id);
    if (n.kind == Expr::Kind::load) slot(n.id);
    for (const auto& operand : n.operands)
      if (operand) expr(Expr(operand));
  }
  void loops(const std::vector<std::uint32_t>& vars, const std::vector<std::int64_t>& sizes) {
    hash_(vars.size());
    for (const std::uint32_t v : vars) var(v);
    for (const std::int64_t s : sizes) hash_(s);
  }
  void of(const std::vector<Store>& stores) {
    hash_(stores.size());
    for (const Store& s : stores) slot(s.slot), expr(s.offset), expr(s.value), expr(s.condition);
  }

  void of(const Nest& n) {
    hash_(n.independent);
    loops(n.vars, n.sizes);
    of(n.stores);
  }
  void of(const Reduce& r) {
    hash_(r.combine);
    loops(r.outer_vars, r.outer_sizes);
    loops(r.inner_vars, r.inner_sizes);
    expr(r.initial), expr(r.value), slot(r.slot), expr(r.offset);
    of(r.stores);
  }
  void of(const Copy& c) {
    hash_(c.elements)(c.row);
    slot(c.to), expr(c.to_offset), slot(c.from), expr(c.from_offset);
  }
  void of(const Product& p) {
    hash_(p.dtype)(p.accumulate);
    for (const std::int64_t size :
         {p.batch, p.m, p.n, p.k, p.a_batch, p.a_m, p.a_k, p.b_batch, p.b_k, p.b_n, p.c_batch, p.c_m, p.c_n})
      hash_(size);
    slot(p.a), expr(p.a_offset), slot(p.b), expr(p.b_offset), slot(p.c), expr(p.c_offset);
  }
  void of(const Element& e) {
    hash_(e.access)(e.bytes);
    expr(e.list), expr(e.index), expr(e.consumed), slot(e.element);
  }
  void of(const Call& c) {
    hash_(c.function)(c.arguments.size())(c.table)(c.nanoseconds)(c.result.has_value());
    for (const Call::Argument& a : c.arguments) {
      hash_(a.address.has_value())(a.written);
      if (a.address) slot(*a.address);
      expr(a.value);
    }
    if (c.result) slot(*c.result), expr(c.result_offset);
  }
  void of(const For& f) { var(f.var), hash_(f.count); }
  void of(const While& w) { expr(w.condition); }
  void of(const Switch& s) { expr(s.index), hash_(s.branches.size()); }
  void of(const Blocks& b) {
    var(b.var), hash_(b.count)(b.parallel)(b.own.size());
    for (const SlotId id : b.own) slot(id);
  }

  FunctionRef<void(Hasher&, SlotId)> describe_;
  Hasher hash_;
  std::unordered_map<const Expr::Node*, std::size_t> nodes_;
  std::map<std::uint32_t, std::size_t> vars_;
  std::map<SlotId, std::size_t> numbers_;
  std::vector<SlotId> slots_;
};

}  // namespace

Form form_of(const Statement& s, FunctionRef<void(Hasher&, SlotId)> describe) {
  FormReader reader(describe);
  reader.statement(s);
  return reader.finish();
}

}  // namespace tenon::kernel
