#include "tenon/kernel/passes/row_groups.h"

#include <functional>

#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// Of own memory the rows begin at 0.
Affine from_around(const Use& use) {
  Affine begin{0, {}};
  if (use.around)
    for (const auto& [var, coefficient] : use.around->terms) begin.add(var, 0 - coefficient);
  return begin;
}

}  // namespace

RowGroupWriter::RowGroupWriter(Function& function, const Target& target)
    : f_(function), target_(target), references_(SlotUses(function).references) {}

bool RowGroupWriter::is_known_to_none_but(const Statement& s, SlotId slot) const {
  int inside = 0;
  visit_slots(s, [&](SlotId at, bool) { inside += at == slot ? 1 : 0; });
  return f_.slots[slot].temporary() && inside == references_[slot];
}

bool RowGroupWriter::is_known_outside(SlotId slot, const std::map<SlotId, int>& inside) const {
  return !f_.slots[slot].temporary() || inside.at(slot) != references_[slot];
}

bool RowGroupWriter::may_be_same(SlotId slot, const Use& use) const {
  const Slot& whole = f_.slots[slot];
  return (whole.temporary() || whole.place == Slot::Place::argument) &&
         (!use.read || at_most(whole.elements, few_numbers));
}

Block RowGroupWriter::behind(const RowGroup& group, FunctionRef<bool(SlotId)> is_read) const {
  const auto is_same = [&](SlotId slot) {
    const auto use = group.uses.find(slot);
    return use != group.uses.end() && use->second.same;
  };
  const std::function<Block(const Block&)> same = [&](const Block& statements) {
    Block kept;
    for (const Statement& s : statements) {
      if (const auto* loop = std::get_if<For>(&s.held())) {
        For f = *loop;
        f.body = same(loop->body);
        if (!f.body.empty()) kept.push_back(std::move(f));
      } else if (writes_only(s, is_same)) {
        kept.push_back(s);
      }
    }
    return kept;
  };
  Block all = same(group.members);
  bool is_needed = false;
  for (const Statement& s : all)
    visit_slots(s, [&](SlotId slot, bool write) { is_needed = is_needed || (write && is_read(slot)); });
  if (!is_needed) all.clear();
  return all;
}

double RowGroupWriter::bytes_of(SlotId slot, const Dim& elements) const {
  return estimate(elements) * static_cast<double>(size_of(f_.slots[slot].dtype));
}

std::vector<RowGroupWriter::Terms> RowGroupWriter::added_terms(const RowGroup& group, bool apart) {
  std::vector<Terms> all;
  for (const Statement& s : group.members) {
    const auto* p = std::get_if<Product>(&s.held());
    if (p == nullptr || !group.added.contains(p->c)) continue;
    Terms terms{*p};
    if (apart) {
      const std::uint32_t row = f_.vars++, column = f_.vars++;
      const Expr number = convert(p->dtype, Expr(std::int64_t(0)));
      Reduce whole{.outer_vars = {row, column},
                   .outer_sizes = {p->m, p->n},
                   .combine = Combine::add,
                   .initial = number,
                   .value = number,
                   .slot = p->c,
                   .offset = p->c_offset + variable(row) * size(p->c_m) + variable(column) * size(p->c_n),
                   .where = p->where};
      const Dim elements = p->m * p->n;
      f_.slots.push_back({p->dtype, elements * copies.count, Slot::Place::arena});
      terms.sum = Sum{std::move(whole), static_cast<SlotId>(f_.slots.size() - 1), elements, {0, {}}};
      terms.part.add(*copies.thread, elements);
      Product& part = terms.product;
      part.c = terms.sum->parts, part.c_offset = to_expr(terms.part);
      part.c_batch = elements, part.c_m = p->n, part.c_n = 1;
    }
    all.push_back(std::move(terms));
  }
  return all;
}

RestrictToRows::Added RowGroupWriter::added_to(const std::vector<Terms>& all) {
  RestrictToRows::Added added;
  for (const Terms& t : all) {
    if (t.sum)
      added.emplace(t.sum->whole.slot, RestrictToRows::Part{t.sum->parts, t.part});
    else
      added.emplace(t.product.c, std::nullopt);
  }
  return added;
}

Block RowGroupWriter::zeros_of(const std::vector<Terms>& all) {
  Block zeros;
  for (const Terms& t : all) {
    const Product& p = t.product;
    const std::uint32_t row = f_.vars++, column = f_.vars++;
    const Expr at = p.c_offset + variable(row) * size(p.c_m) + variable(column) * size(p.c_n);
    zeros.push_back(Nest{.vars = {row, column},
                         .sizes = {p.m, p.n},
                         .stores = {{p.c, at, convert(p.dtype, Expr(std::int64_t(0))), {}}},
                         .where = p.where});
  }
  return zeros;
}

std::map<SlotId, int> RowGroupWriter::touched_by(const RowGroup& group) const {
  std::map<SlotId, int> times;
  for (const Statement& s : group.members) visit_slots(s, [&](SlotId slot, bool) { ++times[slot]; });
  return times;
}

bool RowGroupWriter::is_own(SlotId slot, const Use& use, const std::map<SlotId, int>& inside) const {
  return use.written && use.by_rows && !use.high && !use.own && !use.same && inside.contains(slot) &&
         !is_known_outside(slot, inside);
}

RowGroupWriter::Own RowGroupWriter::own_slots(const RowGroup& group, std::int64_t step, bool may_copy,
                                              std::vector<SlotId>& locals, const Own& already) {
  const std::map<SlotId, int> inside = touched_by(group);
  Own own;
  for (const auto& [slot, use] : group.uses) {
    const Slot whole = f_.slots[slot];
    if (use.left_out()) continue;
    if (use.own || use.same) {
      f_.slots.push_back({whole.dtype, whole.elements, Slot::Place::local});
      locals.push_back(static_cast<SlotId>(f_.slots.size() - 1));
      own.emplace(slot, RestrictToRows::Own{locals.back(), 0, {}, use.same});
      continue;
    }
    if (!is_own(slot, use, inside)) continue;
    const Dim elements = use.stride * step;
    const auto added = static_cast<SlotId>(f_.slots.size());
    if (at_most(elements, target_.own_bytes / static_cast<std::int64_t>(size_of(whole.dtype)))) {
      f_.slots.push_back({whole.dtype, elements, Slot::Place::local});
      locals.push_back(added);
      own.emplace(slot, RestrictToRows::Own{added, use.stride, from_around(use)});
    } else if (may_copy && already.contains(slot)) {
      own.emplace(slot, already.at(slot));
    } else if (may_copy && bytes_of(slot, elements) <= largest_copy()) {
      f_.slots.push_back({whole.dtype, elements * copies.count, Slot::Place::arena});
      RestrictToRows::Own copy{added, use.stride, from_around(use)};
      if (copies.thread) copy.begin.add(*copies.thread, elements);
      own.emplace(slot, std::move(copy));
    }
  }
  return own;
}

std::vector<RowGroupWriter::Sum> RowGroupWriter::divided_sums(const RowGroup& group, const Dim& count) {
  std::vector<Sum> sums;
  for (const Statement& s : group.members) {
    const auto* r = std::get_if<Reduce>(&s.held());
    if (r == nullptr || !divides_sum(*r, group.rows)) continue;
    const Dim elements = product_of(r->outer_sizes);
    f_.slots.push_back(
        {r->value.dtype(), room_for(f_, r->value.dtype(), elements * count * copies.count), Slot::Place::arena});
    Affine begin{0, {}};
    if (copies.thread) begin.add(*copies.thread, elements * count);
    sums.push_back({*r, static_cast<SlotId>(f_.slots.size() - 1), elements, std::move(begin)});
  }
  return sums;
}

Block RowGroupWriter::part(const RowGroup& group, RowBlock rows, const Own& own, const std::vector<Sum>& sums,
                           const Affine& number, const RestrictToRows::Added& added) const {
  std::map<SlotId, RestrictToRows::Part> parts;
  for (const Sum& s : sums) {
    const std::int64_t elements = s.elements.value();
    Affine offset = s.begin;
    offset.constant = offset.constant + number.constant * elements;
    for (const auto& [var, coefficient] : number.terms) offset.add(var, coefficient * elements);
    parts.emplace(s.whole.slot, RestrictToRows::Part{s.parts, std::move(offset)});
  }
  std::set<SlotId> once;
  for (const auto& [slot, use] : group.uses)
    if (use.left_out()) once.insert(slot);
  RestrictToRows restrict_to_rows(std::move(rows), own, std::move(parts), added, std::move(once));
  const std::map<SlotId, int> inside = touched_by(group);
  Block body;
  for (const auto& [slot, mine] : own)
    if (mine.same && is_known_outside(slot, inside)) {  // what it is before
      const Dim& elements = f_.slots[slot].elements;
      body.push_back(Copy{mine.slot, slot, Expr(std::int64_t(0)), Expr(std::int64_t(0)), elements, elements});
    }
  for (const Statement& s : group.members) body.push_back(restrict_to_rows(s));
  return body;
}

Reduce RowGroupWriter::sum_of_parts(const Sum& s, const Dim& count) {
  Reduce r = s.whole;
  const std::uint32_t var = f_.vars++;
  Expr offset = to_expr(s.begin) + variable(var) * size(s.elements);
  Dim stride = 1;
  for (std::size_t i = r.outer_vars.size(); i-- > 0; stride = stride * r.outer_sizes[i])
    offset = offset + variable(r.outer_vars[i]) * size(stride);
  r.inner_vars = {var};
  r.inner_sizes = {count};
  r.value = load(s.parts, r.value.dtype(), offset);
  return r;
}

void RowGroupWriter::count_references(const Own& own, const Statement& s) {
  std::set<SlotId> slots;
  for (const auto& [whole, part] : own) slots.insert(part.slot);
  references_.resize(f_.slots.size());
  visit_slots(s, [&](SlotId slot, bool) {
    if (slots.contains(slot)) ++references_[slot];
  });
}

}  // namespace tenon::kernel
