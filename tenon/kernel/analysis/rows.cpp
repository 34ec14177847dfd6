#include "tenon/kernel/analysis/rows.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/kernel/analysis/seen.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

using SizesOf = std::map<std::uint32_t, Dim>;  // of variables

constexpr std::int64_t enough_rows = 16;  // of a reduction along its rows: no sum is divided then

// Every load of an expression, once.
template <class Visit>
void visit_loads(const std::shared_ptr<const Expr::Node>& node, Seen& seen, const Visit& visit) {
  if (!node || !seen.insert(node.get())) return;
  if (node->kind == Expr::Kind::load) visit(Expr(node));
  for (const auto& operand : node->operands) visit_loads(operand, seen, visit);
}

// An offset, affine but for indices that data choose, which are clipped.
std::optional<BoundedAffine> form_of(const Expr& offset) {
  constexpr std::int64_t far = std::int64_t(1) << 31;  // multiples of what is nearer do not overflow
  const IndexRanges no_variables;
  FoldIndices fold(no_variables);
  return bounded_affine(offset, [&](const Expr& index) {
    const auto range = fold.range(index);
    return range && at_least(range->low, -far) && (!range->high.known() || range->high.value() < far) ? range
                                                                                                      : std::nullopt;
  });
}

// Collects the accesses of one division into rows.
class Collector {
 public:
  Collector(Dim rows, bool sums, ProductParts products, std::vector<RowAccess>& to)
      : rows_(std::move(rows)), sums_(sums), products_(products), to_(to) {}

  bool statement(const Statement& s) {
    return std::visit([&](const auto& held) { return divided(held); }, s.held());
  }

 private:
  bool divided(const Nest& n) {
    const bool same = n.sizes.empty() || !rows_of(n.sizes[0]);
    if (same && !is_same_for_all(n.sizes)) return false;
    if (!n.independent) return false;
    enter(n.vars, n.sizes);
    if (same) row_var_.reset();
    for (const Store& s : n.stores) {
      if (same)
        same_for_all(s.slot);
      else
        access(s.slot, true, s.offset);
      for (const Expr& e : {s.offset, s.value, s.condition})
        if (e) loads(e);
    }
    return true;
  }
  // A few numbers of a loop's step.
  bool is_same_for_all(const Sizes& sizes) const {
    return steps_ && !ends_apart_ && at_most(product_of(sizes) * repeats_, few_numbers);
  }
  void same_for_all(SlotId slot) { to_.push_back({.slot = slot, .write = true, .known = true, .same = true}); }
  bool divided(const Reduce& r) {
    const bool by_sum = divides_sum(r, rows_);
    if (!r.stores.empty() || !r.others.empty()) return false;
    const auto& sizes = by_sum ? r.inner_sizes : r.outer_sizes;
    const bool same = sizes.empty() || !rows_of(sizes[0]);
    if (same && !is_same_for_all({product_of(r.outer_sizes), product_of(r.inner_sizes)})) return false;
    if (!same && by_sum && (!sums_ || std::ranges::count(r.outer_sizes, Dim(0)) > 0)) return false;
    enter(r.outer_vars, r.outer_sizes);
    enter(r.inner_vars, r.inner_sizes);
    if (same) {
      row_var_.reset();
      same_for_all(r.slot);
      loads(r.offset), loads(r.value);
      return true;
    }
    row_var_ = by_sum ? r.inner_vars[0] : r.outer_vars[0];
    if (!by_sum) access(r.slot, true, r.offset);
    loads(r.offset), loads(r.value);
    return true;
  }
  bool divided(const Copy& c) {
    row_var_.reset();
    if (!rows_of(c.elements)) {
      if (!is_same_for_all({c.elements})) return false;
      same_for_all(c.to);
      strided(c.from, false, c.from_offset, 0, {{1, c.elements}});
      loads(c.to_offset), loads(c.from_offset);
      return true;
    }
    strided(c.to, true, c.to_offset, 1, {{1, per_row_}});
    strided(c.from, false, c.from_offset, 1, {{1, per_row_}});
    return true;
  }
  bool divided(const Product& p) {
    if (products_ == ProductParts::none || is_complex(p.dtype)) return false;
    row_var_.reset();
    if (products_ == ProductParts::terms) {
      if (p.batch != Dim(1) || p.accumulate || !rows_of(p.k)) return false;
      strided(p.a, false, p.a_offset, p.a_k, {{p.a_m, p.m}, {p.a_k, per_row_}});
      strided(p.b, false, p.b_offset, p.b_k, {{p.b_k, per_row_}, {p.b_n, p.n}});
      return true;
    }
    const bool by_batch = p.batch != Dim(1) && rows_of(p.batch);
    if (!by_batch && !rows_of(p.m)) return false;
    const Dim batch = by_batch ? per_row_ : p.batch, m = by_batch ? p.m : per_row_;
    const auto along = [&](const Dim& of_batch, const Dim& of_m) { return by_batch ? of_batch : of_m; };
    strided(p.c, true, p.c_offset, along(p.c_batch, p.c_m), {{p.c_batch, batch}, {p.c_m, m}, {p.c_n, p.n}});
    strided(p.a, false, p.a_offset, along(p.a_batch, p.a_m), {{p.a_batch, batch}, {p.a_m, m}, {p.a_k, p.k}});
    strided(p.b, false, p.b_offset, along(p.b_batch, 0), {{p.b_batch, batch}, {p.b_k, p.k}, {p.b_n, p.n}});
    return true;
  }
  bool divided(const For& f) {
    sizes_[f.var] = f.count;
    const Dim repeats = repeats_;
    if (steps_)
      repeats_ = repeats_ * f.count;
    else
      steps_ = f.var;
    const bool all = without_sums(f.body);
    repeats_ = repeats;
    return all;
  }
  // A block of rows goes on while any of its own does.
  bool divided(const While& w) {
    const Reduce* any = any_goes_on(w, rows_);
    if (any == nullptr || !rows_of(any->inner_sizes[0])) return false;
    enter(any->inner_vars, any->inner_sizes);
    loads(any->value);
    to_.push_back({.slot = any->slot, .write = true, .known = true, .own = true});
    const bool ends_apart = std::exchange(ends_apart_, true);
    const bool all = without_sums(std::span(w.before).first(w.before.size() - 1)) && without_sums(w.body);
    ends_apart_ = ends_apart;
    return all;
  }
  bool without_sums(std::span<const Statement> body) {
    const bool sums = std::exchange(sums_, false);
    const bool all = std::ranges::all_of(body, [&](const Statement& s) { return statement(s); });
    sums_ = sums;
    return all;
  }
  bool divided(const Element&) { return false; }
  bool divided(const Call&) { return false; }
  bool divided(const Switch&) { return false; }
  bool divided(const Blocks&) { return false; }

  bool rows_of(const Dim& size) {
    const auto each = each_row_of(size, rows_);
    if (each) per_row_ = *each;
    return each.has_value();
  }
  void enter(const std::vector<std::uint32_t>& vars, const Sizes& sizes) {
    for (std::size_t i = 0; i < vars.size(); ++i) sizes_[vars[i]] = sizes[i];
    if (!vars.empty()) row_var_ = vars[0];
  }
  void loads(const Expr& e) {
    Seen seen;
    visit_loads(e.shared(), seen, [&](const Expr& load) { access(load.node().id, false, load.operand(0)); });
  }
  void access(SlotId slot, bool write, const Expr& offset) { strided(slot, write, offset, 0, {}); }
  // `row`: the stride from one index of the divided axis to the next, where the offset does not say it.
  void strided(SlotId slot, bool write, const Expr& offset, const Dim& row,
               std::initializer_list<std::pair<Dim, Dim>> terms) {
    const auto at = form_of(offset);
    // What data choose may be written twice.
    const bool known = at && !(write && !at->bounded.empty());
    RowAccess a{.slot = slot,
                .write = write,
                .known = known,
                .constant = known ? at->affine.constant : 0,
                .row = row * per_row_};
    if (known) {
      for (const auto& [stride, size] : terms) a.terms.push_back({stride, size});
      for (const auto& [var, coefficient] : at->affine.terms) {
        if (row_var_ == var) {
          a.row = a.row + coefficient * per_row_;
          if (per_row_ != Dim(1)) a.terms.push_back({coefficient, per_row_});
        } else {
          const auto size = sizes_.find(var);
          if (size == sizes_.end())
            a.terms.push_back({coefficient, 0, var});
          else
            a.terms.push_back({coefficient, size->second, {}, steps_ == var});
        }
      }
      for (const BoundedAffine::Term& t : at->bounded) {
        a.constant = a.constant + t.coefficient * t.range.low;
        a.terms.push_back({t.coefficient, t.range.high - t.range.low + 1});
      }
    }
    to_.push_back(std::move(a));
  }

  Dim rows_;
  bool sums_;
  ProductParts products_;
  std::vector<RowAccess>& to_;
  SizesOf sizes_;
  std::optional<std::uint32_t> row_var_, steps_;  // the latter of the outermost loop
  Dim repeats_ = 1;                               // of the loops within a step of that
  bool ends_apart_ = false;                       // within a loop of which each block takes steps of its own
  Dim per_row_ = 1;                               // indices of the divided axis that one row has
};

}  // namespace

RowStride row_stride(const RowAccess& a, const Dim& rows) {
  if (!a.known || !at_least(a.row, 1)) return {};
  const Dim run = a.row * rows;
  Dim low = a.constant;
  if (exact_quotient(low, run))
    low = 0;
  else if (run.known() && low.known())
    low = modulo(low, run);
  Dim high = low;
  Affine begins{0, {}};
  bool several = a.constant != low;
  for (const auto& [coefficient, size, around, steps] : a.terms) {
    if (exact_quotient(coefficient, run)) {
      if (around)
        begins.add(*around, coefficient);
      else
        several = several || (coefficient != Dim(0) && size != Dim(1));
      continue;
    }
    if (size == Dim(0)) return {};
    const bool up = at_least(coefficient, 0);
    if (!up && !at_least(0 - coefficient, 0)) return {};
    Dim& end = up ? high : low;
    end = end + coefficient * (size - 1);
  }
  if (!at_least(low, 0) || !at_least(a.row - high, 1)) return {};
  return {a.row, several, std::move(begins)};
}

bool divides_sum(const Reduce& r, const Dim& rows) {
  return r.outer_sizes.empty() || (r.outer_sizes[0] != Dim(0) && !each_row_of(r.outer_sizes[0], rows));
}

std::optional<Dim> each_row_of(const Dim& size, const Dim& rows) {
  auto each = exact_quotient(size, rows);
  if (each && !at_least(*each, 1)) each.reset();
  return each;
}

const Reduce* any_goes_on(const While& w, const Dim& rows) {
  if (!w.apart || w.before.empty()) return nullptr;
  const auto* any = std::get_if<Reduce>(&w.before.back().held());
  const bool is_read = any != nullptr && w.condition.kind() == Expr::Kind::load && w.condition.node().id == any->slot;
  if (!is_read || !any->stores.empty() || !any->others.empty() || !any->outer_sizes.empty() || any->inner_sizes.empty())
    return nullptr;
  return each_row_of(any->inner_sizes[0], rows) ? any : nullptr;
}

bool row_accesses(const Statement& s, const Dim& rows, bool sums, ProductParts products, std::vector<RowAccess>& to) {
  const std::size_t before = to.size();
  if (!Collector(rows, sums, products, to).statement(s)) return false;
  if (!std::holds_alternative<For>(s.held())) return true;
  // Of a loop that has no rows blocks would each do all.
  return std::any_of(to.begin() + static_cast<std::ptrdiff_t>(before), to.end(),
                     [](const RowAccess& a) { return a.write && !a.same; });
}

namespace {

// Whether what a reduction reads moves further from one outer index to the next than from one inner index to the next.
bool reads_rows(const Reduce& r) {
  if (r.outer_vars.empty() || r.inner_vars.empty()) return false;
  bool rows = true;
  visit_loads(r.value, [&](const Expr& load) {
    if (const auto at = affine(load.operand(0)); at && !at->terms.empty())
      rows = rows && at_least(at->coefficient(r.outer_vars[0]) - at->coefficient(r.inner_vars[0]), 0);
  });
  return rows;
}

}  // namespace

std::vector<Dim> row_counts(const Statement& s) {
  std::vector<Dim> counts;
  const auto add = [&](const Dim& n) {
    if (!at_most(n, 1) && std::ranges::find(counts, n) == counts.end()) counts.push_back(n);
  };
  if (const auto* n = std::get_if<Nest>(&s.held())) {
    if (!n->sizes.empty()) add(n->sizes[0]);
  } else if (const auto* r = std::get_if<Reduce>(&s.held())) {
    if (!r->outer_sizes.empty()) add(r->outer_sizes[0]);
    if (reads_rows(*r) && !counts.empty() && !at_most(counts[0], enough_rows - 1)) return counts;
    if (!r->inner_sizes.empty()) add(r->inner_sizes[0]);
  } else if (const auto* c = std::get_if<Copy>(&s.held())) {
    add(c->elements);
  } else if (const auto* p = std::get_if<Product>(&s.held())) {
    add(p->batch);
    add(p->m);
  } else if (const auto* f = std::get_if<For>(&s.held())) {
    for (const Statement& inner : f->body)
      for (const Dim& n : row_counts(inner)) add(n);
  } else if (const auto* w = std::get_if<While>(&s.held()); w != nullptr && w->apart) {
    for (const Statement& inner : w->before)
      for (const Dim& n : row_counts(inner)) add(n);
  }
  std::ranges::stable_sort(counts, std::greater(), [](const Dim& n) { return estimate(n); });
  return counts;
}

Expr RestrictToRows::from_base(const Dim& stride) const {
  Affine at{block_.base.constant * stride, {}};
  for (const auto& [var, coefficient] : block_.base.terms) at.add(var, coefficient * stride);
  return to_expr(at);
}

// The first axis becomes the block's part of it; an axis of one index goes.
void RestrictToRows::divide(std::vector<std::uint32_t>& divided_vars, kernel::Sizes& sizes) {
  const Dim each = each_row_of(sizes[0], block_.rows).value();
  const std::uint32_t var = divided_vars[0];
  sizes[0] = block_.count * each;
  if (sizes[0] == Dim(1)) {
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
  if (found->second.stride == Dim(0)) return;
  BoundedAffine at = form_of(offset).value();
  const Dim back = 0 - found->second.stride;
  at.affine.constant = at.affine.constant + block_.base.constant * back;
  for (const auto& [var, coefficient] : block_.base.terms) at.affine.add(var, coefficient * back);
  at.affine.constant = at.affine.constant + found->second.begin.constant;
  for (const auto& [var, coefficient] : found->second.begin.terms) at.affine.add(var, coefficient);
  if (!at.bounded.empty() || !at.affine.constant.known()) {
    offset = to_expr(at);
    return;
  }
  // Offsets that differ by a constant stay so for who looks: one node, and the constant added to it.
  const std::int64_t constant = at.affine.constant.value();
  at.affine.constant = 0;
  auto placed = std::ranges::find(placed_, at.affine, &std::pair<Affine, Expr>::first);
  if (placed == placed_.end()) placed = placed_.insert(placed_.end(), {at.affine, to_expr(at.affine)});
  offset = placed->second + Expr(constant);
}

bool RestrictToRows::is_same(SlotId slot) const {
  const auto found = own_.find(slot);
  return once_.contains(slot) || (found != own_.end() && found->second.same);
}

Expr RestrictToRows::load(const Expr& old, const Expr& offset) {
  SlotId slot = old.node().id;
  if (!own_.contains(slot)) return Rewrite::load(old, offset);
  Expr at = offset;
  place(slot, at);
  return kernel::load(slot, old.dtype(), at);
}

Statement RestrictToRows::operator()(const Statement& s) {
  if (const auto* nest = std::get_if<Nest>(&s.held())) return part_of(*nest);
  if (const auto* reduce = std::get_if<Reduce>(&s.held())) return part_of(*reduce);
  if (const auto* copy = std::get_if<Copy>(&s.held())) return part_of(*copy);
  if (const auto* product = std::get_if<Product>(&s.held())) return part_of(*product);
  if (const auto* loop = std::get_if<While>(&s.held())) {
    While w = *loop;
    w.before = each(w.before), w.body = each(w.body);
    w.condition = rewritten(w.condition);
    return w;
  }
  For f = std::get<For>(s.held());
  f.body = each(f.body);
  return f;
}

Nest RestrictToRows::part_of(Nest n) {
  if (!is_same(n.stores[0].slot)) divide(n.vars, n.sizes);
  std::erase_if(n.stores, [&](const Store& store) { return once_.contains(store.slot); });
  for (Store& store : n.stores) {
    store.offset = rewritten(store.offset), store.value = rewritten(store.value);
    if (store.condition) store.condition = rewritten(store.condition);
    place(store.slot, store.offset);
  }
  return n;
}

Reduce RestrictToRows::part_of(Reduce r) {
  if (is_same(r.slot)) {
    r.offset = rewritten(r.offset);
    place(r.slot, r.offset);
  } else if (own_.contains(r.slot) && own_.at(r.slot).stride == Dim(0)) {
    divide(r.inner_vars, r.inner_sizes);
    place(r.slot, r.offset);
  } else if (divides_sum(r, block_.rows)) {
    const Part& part = parts_.at(r.slot);
    divide(r.inner_vars, r.inner_sizes);
    r.slot = part.slot;
    r.offset = to_expr(part.offset);
    Dim stride = 1;
    for (std::size_t i = r.outer_vars.size(); i-- > 0; stride = stride * r.outer_sizes[i])
      r.offset = r.offset + variable(r.outer_vars[i]) * size(stride);
  } else {
    divide(r.outer_vars, r.outer_sizes);
    r.offset = rewritten(r.offset);
    place(r.slot, r.offset);
  }
  r.value = rewritten(r.value);
  return r;
}

Copy RestrictToRows::part_of(Copy c) {
  if (is_same(c.to)) {
    c.to_offset = rewritten(c.to_offset), c.from_offset = rewritten(c.from_offset);
  } else {
    const Dim each = each_row_of(c.elements, block_.rows).value();
    c.elements = block_.count * each;
    c.row = min(c.elements, c.row) == c.elements ? c.elements : modulo(c.elements, c.row) == Dim(0) ? c.row : 1;
    c.to_offset = moved(c.to_offset, each), c.from_offset = moved(c.from_offset, each);
  }
  place(c.to, c.to_offset), place(c.from, c.from_offset);
  return c;
}

Product RestrictToRows::part_of(Product p) {
  if (const auto added = added_.find(p.c); added != added_.end()) {
    const Dim each = each_row_of(p.k, block_.rows).value();
    p.k = block_.count * each;
    p.accumulate = true;
    p.a_offset = moved(p.a_offset, each * p.a_k), p.b_offset = moved(p.b_offset, each * p.b_k);
    place(p.a, p.a_offset), place(p.b, p.b_offset);
    if (const std::optional<Part>& part = added->second)
      p.c = part->slot, p.c_offset = to_expr(part->offset), p.c_batch = p.m * p.n, p.c_m = p.n, p.c_n = 1;
    return p;
  }
  const bool by_batch = p.batch != Dim(1) && each_row_of(p.batch, block_.rows);
  Dim& divided = by_batch ? p.batch : p.m;
  const Dim each = each_row_of(divided, block_.rows).value();
  divided = block_.count * each;
  const auto step = [&](const Dim& of_batch, const Dim& of_m) { return each * (by_batch ? of_batch : of_m); };
  p.a_offset = moved(p.a_offset, step(p.a_batch, p.a_m));
  p.b_offset = moved(p.b_offset, step(p.b_batch, 0));
  p.c_offset = moved(p.c_offset, step(p.c_batch, p.c_m));
  place(p.a, p.a_offset), place(p.b, p.b_offset), place(p.c, p.c_offset);
  return p;
}

Block RestrictToRows::each(const Block& statements) {
  Block result;
  for (const Statement& s : statements)
    if (!writes_only(s, [&](SlotId slot) { return once_.contains(slot); })) result.push_back((*this)(s));
  return result;
}

void visit_loads(const Expr& e, FunctionRef<void(const Expr& load)> visit) {
  Seen seen;
  visit_loads(e.shared(), seen, visit);
}

namespace {

// Every slot that an expression reads, the sizes among them; a slot as often as nodes read it.
template <class Visit>
void visit_reads(const Expr::Node* node, Seen& seen, const Visit& visit) {
  if (node == nullptr || !seen.insert(node)) return;
  if (node->kind == Expr::Kind::load) visit(node->id);
  if (node->kind == Expr::Kind::variable && is_found_size_variable(node->id))
    visit(slot_of_size(node->id - first_size_variable));
  for (const auto& operand : node->operands) visit_reads(operand.get(), seen, visit);
}

}  // namespace

void visit_slots(const Statement& s, FunctionRef<void(SlotId, bool write)> visit) {
  Seen seen;
  for_each_size(s, [&](const Dim& d) {
    d.visit_variables([&](SizeVar v) {
      if (is_found_size(v)) visit(slot_of_size(v), false);
    });
  });
  for_each_expression(
      s, [&](const Expr& e) { visit_reads(e.identity(), seen, [&](SlotId slot) { visit(slot, false); }); });
  for_each_place(s, [&](SlotId slot, const Expr&, bool written) { visit(slot, written); });
  if (const auto* p = std::get_if<Product>(&s.held()); p != nullptr && p->accumulate) visit(p->c, false);
  if (const auto* e = std::get_if<Element>(&s.held())) visit(e->element, true);
  for_each_block(s, [&](const Block& block) {
    for (const Statement& inner : block) visit_slots(inner, visit);
  });
}

void visit_slots(const Function& function, const Statement& s, FunctionRef<void(SlotId, bool write)> visit) {
  visit_slots(s, [&](SlotId slot, bool write) {
    visit(slot, write);
    if (function.slots[slot].place == Slot::Place::found) visit(function.slots[slot].argument, false);
  });
}

void visit_slots_and_sizes(const Function& function, const Statement& s, FunctionRef<void(SlotId, bool write)> visit) {
  visit_slots(s, [&](SlotId slot, bool write) {
    visit(slot, write);
    function.slots[slot].elements.visit_variables([&](SizeVar v) {
      if (is_found_size(v)) visit(slot_of_size(v), false);
    });
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

bool writes_only(const Statement& s, FunctionRef<bool(SlotId)> is_such) {
  if (const auto* nest = std::get_if<Nest>(&s.held()))
    return std::ranges::all_of(nest->stores, [&](const Store& store) { return is_such(store.slot); });
  if (const auto* reduce = std::get_if<Reduce>(&s.held())) return is_such(reduce->slot);
  if (const auto* copy = std::get_if<Copy>(&s.held())) return is_such(copy->to);
  return false;
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
  Seen seen;
  visit_reads(e.identity(), seen, [&](SlotId slot) {
    for (std::size_t i = first; i < last; ++i) found = found || writes(block[i], slot);
  });
  return found;
}

SlotUses::SlotUses(const Function& function) : references(function.slots.size()), writers(function.slots.size()) {
  for (const Statement& s : function.body)
    visit_slots(s, [&](SlotId slot, bool write) { ++references[slot], writers[slot] += write ? 1 : 0; });
}

}  // namespace tenon::kernel
