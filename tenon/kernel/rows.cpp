#include "tenon/kernel/rows.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "tenon/kernel/expressions.h"
#include "tenon/kernel/index_ranges.h"

namespace tenon::kernel {
namespace {

using Sizes = std::map<std::uint32_t, std::int64_t>;

constexpr std::int64_t enough_rows = 16;  // of a reduction along its rows: no sum is divided then

// Every load of an expression, once.
template <class Visit>
void visit_loads(const Expr& e, std::unordered_set<const void*>& seen, const Visit& visit) {
  if (!e || !seen.insert(e.identity()).second) return;
  if (e.kind() == Expr::Kind::load) visit(e);
  for (const auto& operand : e.node().operands)
    if (operand) visit_loads(Expr(operand), seen, visit);
}

// An offset, affine but for indices that data choose, which are clipped.
std::optional<BoundedAffine> form_of(const Expr& offset) {
  constexpr std::int64_t far = std::int64_t(1) << 31;  // multiples of what is nearer do not overflow
  const IndexRanges no_variables;
  FoldIndices fold(no_variables);
  return bounded_affine(offset, [&](const Expr& index) {
    const auto range = fold.range(index);
    return range && -far < range->low && range->high < far ? range : std::nullopt;
  });
}

// Collects the accesses of one division into rows.
class Collector {
 public:
  Collector(std::int64_t rows, bool sums, bool products, std::vector<RowAccess>& to)
      : rows_(rows), sums_(sums), products_(products), to_(to) {}

  bool statement(const Statement& s) {
    return std::visit([&](const auto& held) { return divided(held); }, s.held());
  }

 private:
  bool divided(const Nest& n) {
    if (n.sizes.empty() || !rows_of(n.sizes[0])) return false;
    if (!n.independent) return false;
    enter(n.vars, n.sizes);
    for (const Store& s : n.stores) {
      if (s.condition) return false;
      access(s.slot, true, s.offset);
      loads(s.offset), loads(s.value);
    }
    return true;
  }
  bool divided(const Reduce& r) {
    const bool by_sum = divides_sum(r, rows_);
    if (!r.stores.empty()) return false;
    if (by_sum && (!sums_ || std::ranges::count(r.outer_sizes, 0) > 0)) return false;
    const auto& sizes = by_sum ? r.inner_sizes : r.outer_sizes;
    if (sizes.empty() || !rows_of(sizes[0])) return false;
    enter(r.outer_vars, r.outer_sizes);
    enter(r.inner_vars, r.inner_sizes);
    row_var_ = by_sum ? r.inner_vars[0] : r.outer_vars[0];
    if (!by_sum) access(r.slot, true, r.offset);
    loads(r.offset), loads(r.value);
    return true;
  }
  bool divided(const Copy& c) {
    if (!rows_of(c.elements)) return false;
    row_var_.reset();
    strided(c.to, true, c.to_offset, per_row_, {{1, per_row_}});
    strided(c.from, false, c.from_offset, per_row_, {{1, per_row_}});
    return true;
  }
  bool divided(const Product& p) {
    if (!products_ || is_complex(p.dtype)) return false;
    row_var_.reset();
    const bool by_batch = p.batch > 1 && p.batch % rows_ == 0;
    if (!by_batch && !rows_of(p.m)) return false;
    if (by_batch) per_row_ = p.batch / rows_;
    const std::int64_t batch = by_batch ? per_row_ : p.batch, m = by_batch ? p.m : per_row_;
    const auto along = [&](std::int64_t of_batch, std::int64_t of_m) {
      return per_row_ * (by_batch ? of_batch : of_m);
    };
    strided(p.c, true, p.c_offset, along(p.c_batch, p.c_m), {{p.c_batch, batch}, {p.c_m, m}, {p.c_n, p.n}});
    strided(p.a, false, p.a_offset, along(p.a_batch, p.a_m), {{p.a_batch, batch}, {p.a_m, m}, {p.a_k, p.k}});
    strided(p.b, false, p.b_offset, along(p.b_batch, 0), {{p.b_batch, batch}, {p.b_k, p.k}, {p.b_n, p.n}});
    return true;
  }
  bool divided(const For& f) {
    sizes_[f.var] = f.count;
    const bool sums = std::exchange(sums_, false);
    const bool all = std::ranges::all_of(f.body, [&](const Statement& s) { return statement(s); });
    sums_ = sums;
    return all;
  }
  bool divided(const Element&) { return false; }
  bool divided(const Call&) { return false; }
  bool divided(const While&) { return false; }
  bool divided(const Switch&) { return false; }
  bool divided(const Blocks&) { return false; }

  bool rows_of(std::int64_t size) {
    per_row_ = size / rows_;
    return size > 0 && size % rows_ == 0;
  }
  void enter(const std::vector<std::uint32_t>& vars, const std::vector<std::int64_t>& sizes) {
    for (std::size_t i = 0; i < vars.size(); ++i) sizes_[vars[i]] = sizes[i];
    if (!vars.empty()) row_var_ = vars[0];
  }
  void loads(const Expr& e) {
    std::unordered_set<const void*> seen;
    visit_loads(e, seen, [&](const Expr& load) { access(load.node().id, false, load.operand(0)); });
  }
  void access(SlotId slot, bool write, const Expr& offset) { strided(slot, write, offset, 0, {}); }
  void strided(SlotId slot, bool write, const Expr& offset, std::int64_t row, std::vector<RowAccess::Term> terms) {
    const auto at = form_of(offset);
    // What data choose may be written twice.
    const bool known = at && !(write && !at->bounded.empty());
    RowAccess a{slot, write, known, known ? at->affine.constant : 0, row, std::move(terms)};
    if (known) {
      for (const auto& [var, coefficient] : at->affine.terms) {
        if (row_var_ == var) {
          a.row += coefficient * per_row_;
          if (per_row_ > 1) a.terms.push_back({coefficient, per_row_});
        } else {
          const auto size = sizes_.find(var);
          a.terms.push_back({coefficient, size == sizes_.end() ? 0 : size->second});
        }
      }
      for (const BoundedAffine::Term& t : at->bounded) {
        a.constant += t.coefficient * t.range.low;
        a.terms.push_back({t.coefficient, t.range.high - t.range.low + 1});
      }
    }
    to_.push_back(std::move(a));
  }

  std::int64_t rows_;
  bool sums_, products_;
  std::vector<RowAccess>& to_;
  Sizes sizes_;
  std::optional<std::uint32_t> row_var_;
  std::int64_t per_row_ = 1;  // indices of the divided axis that one row has
};

}  // namespace

RowStride row_stride(const RowAccess& a, std::int64_t rows) {
  if (!a.known || a.row <= 0) return {};
  const std::int64_t run = a.row * rows;
  std::int64_t low = ((a.constant % run) + run) % run, high = low;
  bool several = a.constant != low;
  for (const auto& [coefficient, size] : a.terms) {
    if (coefficient % run == 0) {
      several = several || (coefficient != 0 && size != 1);
      continue;
    }
    if (size == 0) return {};
    (coefficient < 0 ? low : high) += coefficient * (size - 1);
  }
  if (low < 0 || high >= a.row) return {};
  return {a.row, several};
}

bool divides_sum(const Reduce& r, std::int64_t rows) { return r.outer_sizes.empty() || r.outer_sizes[0] % rows != 0; }

bool row_accesses(const Statement& s, std::int64_t rows, bool sums, bool products, std::vector<RowAccess>& to) {
  return Collector(rows, sums, products, to).statement(s);
}

namespace {

// Whether what a reduction reads moves further from one outer index to the next than from one inner index to the next.
bool reads_rows(const Reduce& r) {
  if (r.outer_vars.empty() || r.inner_vars.empty()) return false;
  bool rows = true;
  visit_loads(r.value, [&](const Expr& load) {
    if (const auto at = affine(load.operand(0)); at && !at->terms.empty())
      rows = rows && at->coefficient(r.outer_vars[0]) >= at->coefficient(r.inner_vars[0]);
  });
  return rows;
}

}  // namespace

std::vector<std::int64_t> row_counts(const Statement& s) {
  std::vector<std::int64_t> counts;
  const auto add = [&](std::int64_t n) {
    if (n > 1) counts.push_back(n);
  };
  if (const auto* n = std::get_if<Nest>(&s.held())) {
    if (!n->sizes.empty()) add(n->sizes[0]);
  } else if (const auto* r = std::get_if<Reduce>(&s.held())) {
    if (!r->outer_sizes.empty()) add(r->outer_sizes[0]);
    if (reads_rows(*r) && !counts.empty() && counts[0] >= enough_rows) return counts;
    if (!r->inner_sizes.empty()) add(r->inner_sizes[0]);
  } else if (const auto* c = std::get_if<Copy>(&s.held())) {
    add(c->elements);
  } else if (const auto* p = std::get_if<Product>(&s.held())) {
    add(p->batch);
    add(p->m);
  } else if (const auto* f = std::get_if<For>(&s.held())) {
    for (const Statement& inner : f->body)
      for (const std::int64_t n : row_counts(inner)) add(n);
  }
  std::ranges::sort(counts, std::greater());
  counts.erase(std::ranges::unique(counts).begin(), counts.end());
  return counts;
}

Expr RestrictToRows::from_base(std::int64_t stride) const {
  Affine at{block_.base.constant * stride, {}};
  for (const auto& [var, coefficient] : block_.base.terms) at.add(var, coefficient * stride);
  return to_expr(at);
}

// The first axis becomes the block's part of it; an axis of one index goes.
void RestrictToRows::divide(std::vector<std::uint32_t>& divided_vars, std::vector<std::int64_t>& sizes) {
  const std::int64_t each = sizes[0] / block_.rows;
  const std::uint32_t var = divided_vars[0];
  sizes[0] = each * block_.count;
  if (sizes[0] == 1) {
    vars[var] = from_base(each);
    divided_vars.erase(divided_vars.begin());
    sizes.erase(sizes.begin());
  } else {
    vars[var] = variable(var) + from_base(each);
  }
}

void RestrictToRows::place(SlotId& slot, Expr& offset) {
  const auto found = own_.find(slot);
  if (found == own_.end()) return;
  slot = found->second.slot;
  BoundedAffine at = form_of(offset).value();
  at.affine.constant -= block_.base.constant * found->second.stride;
  for (const auto& [var, coefficient] : block_.base.terms) at.affine.add(var, -coefficient * found->second.stride);
  offset = to_expr(at);
}

Expr RestrictToRows::load(const Expr& old, const Expr& offset) {
  SlotId slot = old.node().id;
  if (!own_.contains(slot)) return Rewrite::load(old, offset);
  Expr at = offset;
  place(slot, at);
  return kernel::load(slot, old.dtype(), at);
}

Statement RestrictToRows::operator()(const Statement& s) {
  const auto moved = [&](const Expr& offset, std::int64_t stride) { return rewritten(offset) + from_base(stride); };
  if (const auto* nest = std::get_if<Nest>(&s.held())) {
    Nest n = *nest;
    divide(n.vars, n.sizes);
    for (Store& store : n.stores) {
      store.offset = rewritten(store.offset), store.value = rewritten(store.value);
      place(store.slot, store.offset);
    }
    return n;
  }
  if (const auto* reduce = std::get_if<Reduce>(&s.held())) {
    Reduce r = *reduce;
    if (divides_sum(r, block_.rows)) {
      const Part& part = parts_.at(r.slot);
      divide(r.inner_vars, r.inner_sizes);
      r.slot = part.slot;
      r.offset = to_expr(part.offset);
      std::int64_t stride = 1;
      for (std::size_t i = r.outer_vars.size(); i-- > 0; stride *= r.outer_sizes[i])
        r.offset = r.offset + variable(r.outer_vars[i]) * Expr(stride);
    } else {
      divide(r.outer_vars, r.outer_sizes);
      r.offset = rewritten(r.offset);
      place(r.slot, r.offset);
    }
    r.value = rewritten(r.value);
    return r;
  }
  if (const auto* copy = std::get_if<Copy>(&s.held())) {
    Copy c = *copy;
    const std::int64_t each = c.elements / block_.rows;
    c.elements = each * block_.count;
    c.row = c.elements < c.row ? c.elements : c.elements % c.row == 0 ? c.row : 1;
    c.to_offset = moved(c.to_offset, each), c.from_offset = moved(c.from_offset, each);
    place(c.to, c.to_offset), place(c.from, c.from_offset);
    return c;
  }
  if (const auto* product = std::get_if<Product>(&s.held())) {
    Product p = *product;
    const bool by_batch = p.batch > 1 && p.batch % block_.rows == 0;
    std::int64_t& divided = by_batch ? p.batch : p.m;
    const std::int64_t each = divided / block_.rows;
    divided = each * block_.count;
    p.a_offset = moved(p.a_offset, each * (by_batch ? p.a_batch : p.a_m));
    p.b_offset = moved(p.b_offset, each * (by_batch ? p.b_batch : 0));
    p.c_offset = moved(p.c_offset, each * (by_batch ? p.c_batch : p.c_m));
    place(p.a, p.a_offset), place(p.b, p.b_offset), place(p.c, p.c_offset);
    return p;
  }
  For f = std::get<For>(s.held());
  for (Statement& inner : f.body) inner = (*this)(inner);
  return f;
}

void visit_loads(const Expr& e, FunctionRef<void(const Expr& load)> visit) {
  std::unordered_set<const void*> seen;
  visit_loads(e, seen, visit);
}

void visit_slots(const Statement& s, FunctionRef<void(SlotId, bool write)> visit) {
  std::unordered_set<const void*> seen;
  for_each_expression(
      s, [&](const Expr& e) { visit_loads(e, seen, [&](const Expr& load) { visit(load.node().id, false); }); });
  for_each_place(s, [&](SlotId slot, const Expr&, bool written) { visit(slot, written); });
  if (const auto* p = std::get_if<Product>(&s.held()); p != nullptr && p->accumulate) visit(p->c, false);
  if (const auto* e = std::get_if<Element>(&s.held())) visit(e->element, true);
  for_each_block(s, [&](const Block& block) {
    for (const Statement& inner : block) visit_slots(inner, visit);
  });
}

std::set<SlotId> own_slots(const Block& statements) {
  std::set<SlotId> own;
  for (const Statement& s : statements) {
    if (const auto* b = std::get_if<Blocks>(&s.held())) own.insert(b->own.begin(), b->own.end());
    for_each_block(s, [&](const Block& inside) { own.merge(own_slots(inside)); });
  }
  return own;
}

bool touches(const Statement& s, SlotId slot) {
  bool found = false;
  visit_slots(s, [&](SlotId at, bool) { found = found || at == slot; });
  return found;
}

bool writes(const Statement& s, SlotId slot) {
  bool found = false;
  visit_slots(s, [&](SlotId at, bool write) { found = found || (write && at == slot); });
  return found;
}

bool changes(const Block& block, std::size_t first, std::size_t last, const Expr& e) {
  bool found = false;
  visit_loads(e, [&](const Expr& load) {
    for (std::size_t i = first; i < last; ++i) found = found || writes(block[i], load.node().id);
  });
  return found;
}

SlotUses::SlotUses(const Function& function) : references(function.slots.size()), writers(function.slots.size()) {
  for (const Statement& s : function.body)
    visit_slots(s, [&](SlotId slot, bool write) { ++references[slot], writers[slot] += write ? 1 : 0; });
}

}  // namespace tenon::kernel
