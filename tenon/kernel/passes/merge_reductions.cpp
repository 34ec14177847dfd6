#include "tenon/kernel/passes/merge_reductions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tenon/kernel/analysis/joined_nests.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

constexpr std::int64_t most_results = 16;
constexpr std::size_t most_stores = 64;  // so that what is in front is looked at few times

// Whether two stores of a nest write no place in common: of the one all are even, of the other all odd, or all of the
// one lie behind all of the other.
bool are_apart(const Nest& n, const Store& x, const Store& y) {
  const auto [base, at] = without_constant(x.offset);
  const auto [other, next] = without_constant(y.offset);
  if (is_multiple(base, 2) && is_multiple(other, 2) && (next - at) % 2 != 0) return true;
  const auto first = affine(x.offset), second = affine(y.offset);
  if (!first || !second || first->terms != second->terms) return false;
  return leads_beyond(n, *first, first->constant - second->constant);
}

template <class F>
void for_each_value(Reduce& r, F&& f) {
  f(r.value);
  for (Reduce::Result& other : r.others) f(other.value);
}
void visit_loads_of_values(const Reduce& r, FunctionRef<void(const Expr& load)> visit) {
  for (const Reduce::Result& result : r.results()) visit_loads(result.value, visit);
}

// A nest and a reduction that go through the same indices in the same order, with the same variables; nothing of
// others. One of them may count the indices by one variable.
struct Pair {
  Nest nest;
  Reduce reduce;
};
std::optional<Pair> with_same_indices(const Nest& n, const Reduce& r) {
  const Nest all = r.stores_everywhere();
  const std::vector<std::uint32_t>& vars = all.vars;
  const Sizes& sizes = all.sizes;
  const bool rows = !r.outer_vars.empty();
  if (n.sizes != sizes &&
      (product_of(n.sizes) != product_of(sizes) || (n.vars.size() > 1 && (rows || vars.size() > 1))))
    return {};
  Pair pair{n, r};
  Rewrite rewrite;
  if (rows || (n.sizes != sizes && n.vars.size() == 1)) {
    if (n.sizes == sizes)
      for (std::size_t i = 0; i < vars.size(); ++i) rewrite.vars.emplace(n.vars[i], variable(vars[i]));
    else
      rewrite.vars.emplace(n.vars[0], row_major(vars, sizes));
    pair.nest.vars = vars, pair.nest.sizes = sizes;
    for (Store& s : pair.nest.stores) s.offset = rewrite(s.offset), s.value = rewrite(s.value);
    return pair;
  }
  if (n.sizes == sizes)
    for (std::size_t i = 0; i < vars.size(); ++i) rewrite.vars.emplace(vars[i], variable(n.vars[i]));
  else
    rewrite.vars.emplace(vars[0], row_major(n.vars, n.sizes));
  pair.reduce.inner_vars = n.vars, pair.reduce.inner_sizes = n.sizes;
  for_each_value(pair.reduce, [&](Expr& value) { value = rewrite(value); });
  for (Store& s : pair.reduce.stores) s.offset = rewrite(s.offset), s.value = rewrite(s.value);
  return pair;
}

// A reduction that goes through so many indices, where its last outer axes are few: what it gives along these are
// several results of the others' indices.
std::optional<Reduce> over(const Reduce& r, const Dim& indices) {
  Dim elements = product_of(r.inner_sizes);
  std::size_t stay = 0;
  while (elements != indices && stay < r.outer_sizes.size()) elements = elements * r.outer_sizes[stay++];
  if (elements != indices) return {};
  while (stay < r.outer_sizes.size() && r.outer_sizes[stay] == Dim(1)) ++stay;
  if (stay == r.outer_sizes.size()) return r;
  std::int64_t results = static_cast<std::int64_t>(r.others.size()) + 1;
  for (std::size_t i = stay; i < r.outer_sizes.size(); ++i) {
    if (!at_least(r.outer_sizes[i], 1) || !at_most(r.outer_sizes[i], most_results / results)) return {};
    results *= r.outer_sizes[i].value();
  }
  std::vector<Reduce::Result> all = r.results();
  for (std::size_t i = stay; i < r.outer_sizes.size(); ++i) {
    std::vector<Reduce::Result> spread;
    for (const Reduce::Result& result : all)
      for (std::int64_t k = 0; k < r.outer_sizes[i].value(); ++k) {
        Rewrite at;
        at.vars.emplace(r.outer_vars[i], Expr(k));
        spread.push_back({result.combine, at(result.initial), at(result.value), result.slot, at(result.offset)});
      }
    all = std::move(spread);
  }
  Reduce wide = r;
  wide.outer_vars.resize(stay), wide.outer_sizes.resize(stay);
  wide.set_results(std::move(all));
  return wide;
}

// Whether vectors go along what a reduction sums: that is long, and each load is along it, or the same for all.
bool goes_along(const Reduce& r, const std::vector<std::uint32_t>& vars, const Sizes& sizes) {
  constexpr std::int64_t long_row = 64;
  if (sizes.empty() || !at_least(sizes.back() - long_row, 0)) return false;
  bool along = true;
  visit_loads_of_values(r, [&](const Expr& load) {
    const auto offset = affine(load.operand(0));
    along = along && offset && at_most(offset->coefficient(vars.back()), 1) &&
            at_least(offset->coefficient(vars.back()), 0);
  });
  return along;
}
bool goes_along_rows(const Reduce& r) { return goes_along(r, r.inner_vars, r.inner_sizes); }
// Or along what it gives, one result a lane.
bool goes_along_columns(const Reduce& r) { return r.stores.empty() && goes_along(r, r.outer_vars, r.outer_sizes); }

std::set<SlotId> places_of(const Reduce& r) {
  std::set<SlotId> places;
  for (const Reduce::Result& result : r.results()) places.insert(result.slot);
  return places;
}

// Whether where results go, or what they begin with, is read of what some stores write.
bool begins_behind(const Reduce& r, const std::vector<Store>& stores) {
  bool reads = false;
  for (const Reduce::Result& result : r.results())
    for (const Expr& e : {result.offset, result.initial})
      visit_loads(e, [&](const Expr& load) {
        reads = reads || std::ranges::any_of(stores, [&](const Store& s) { return s.slot == load.node().id; });
      });
  return reads;
}

// What a nest stores, and behind it a reduction of the same indices.
std::optional<Reduce> at_once(const Nest& n, Reduce r) {
  ReadStored from_nest(n);
  for_each_value(r, [&](Expr& value) { value = from_nest(value); });
  if (from_nest.elsewhere) return {};
  if (r.stores.empty()) {
    r.stores = n.stores;
    return r;
  }
  auto all = one_behind_other(n, Nest{n.vars, n.sizes, r.stores});
  if (!all) return {};
  r.stores = std::move(all->stores);
  return r;
}

std::optional<Reduce> merged(const Nest& n, const Reduce& of, const Target& target) {
  if (!n.independent || n.sizes.empty() || of.inner_sizes.empty()) return {};
  if (n.stores.size() + of.stores.size() > most_stores) return {};
  if (target.in_registers(product_of(n.sizes))) return {};  // written out, so that its slots become registers
  const std::optional<Reduce> wide = of.stores.empty() ? over(of, product_of(n.sizes)) : of;
  if (!wide) return {};
  const Reduce& r = *wide;
  if (!r.outer_vars.empty() && !goes_along_rows(r)) return {};
  std::set<SlotId> written;
  for (std::size_t i = 0; i < n.stores.size(); ++i) {
    if (n.stores[i].condition) return {};
    if (!written.insert(n.stores[i].slot).second)
      for (std::size_t k = 0; k < i; ++k)
        if (n.stores[k].slot == n.stores[i].slot && !are_apart(n, n.stores[k], n.stores[i])) return {};
  }
  const auto is_written = [&](const Expr& load) { return written.contains(load.node().id); };
  const std::set<SlotId> places = places_of(r);
  bool apart = !begins_behind(r, n.stores), reads = false;
  visit_slots(n, [&](SlotId slot, bool) { apart = apart && !places.contains(slot); });
  visit_loads_of_values(r, [&](const Expr& load) { reads = reads || is_written(load); });
  for (const Store& s : r.stores) visit_loads(s.value, [&](const Expr& load) { reads = reads || is_written(load); });
  if (!apart || !reads) return {};
  const auto pair = with_same_indices(n, r);
  return pair ? at_once(pair->nest, pair->reduce) : std::nullopt;
}

// Two reductions of the same indices, of which both read something.
std::optional<Reduce> merged(const Reduce& first, const Reduce& of) {
  const Nest stores = first.stores_everywhere();
  const std::optional<Reduce> wide = of.stores.empty() ? over(of, product_of(stores.sizes)) : of;
  if (!wide || wide->outer_sizes != first.outer_sizes || wide->inner_sizes != first.inner_sizes) return {};
  if (first.others.size() + wide->others.size() + 2 > static_cast<std::size_t>(most_results)) return {};
  if (!(goes_along_rows(first) && goes_along_rows(*wide)) && !(goes_along_columns(first) && goes_along_columns(*wide)))
    return {};
  const std::set<SlotId> before = places_of(first), behind = places_of(*wide);
  bool apart = !begins_behind(*wide, first.stores), both = false;
  std::set<SlotId> read;
  visit_loads_of_values(first, [&](const Expr& load) { read.insert(load.node().id); });
  visit_loads_of_values(*wide, [&](const Expr& load) { both = both || read.contains(load.node().id); });
  visit_slots(first, [&](SlotId slot, bool) { apart = apart && !behind.contains(slot); });
  visit_slots(of, [&](SlotId slot, bool) { apart = apart && !before.contains(slot); });
  for (const Store& s : of.stores) apart = apart && !touches(first, s.slot);
  if (!apart || !both) return {};
  Rewrite rename;
  const std::vector<std::uint32_t> vars = wide->stores_everywhere().vars;
  for (std::size_t i = 0; i < vars.size(); ++i) rename.vars.emplace(vars[i], variable(stores.vars[i]));
  Statement renamed = *wide;
  for_each_expression(renamed, [&](Expr& e) { e = rename(e); });
  const auto r = at_once(stores, std::get<Reduce>(std::move(renamed.held())));
  if (!r) return {};
  Reduce all = first;
  all.stores = r->stores;
  for (Reduce::Result& result : r->results()) all.others.push_back(std::move(result));
  return all;
}

class Merger {
 public:
  Merger(const Function& function, const Target& target)
      : f_(function), target_(target), references_(SlotUses(function).references) {}

  void block(Block& statements) {
    Block result;
    for (Statement& s : statements) {
      for_each_block(s, [&](Block& inside) { block(inside); });
      while (!result.empty() && join(result.back(), s)) result.pop_back();
      result.push_back(std::move(s));
    }
    statements = std::move(result);
  }

 private:
  // Makes one reduction of a statement and the one behind it.
  bool join(const Statement& before, Statement& s) {
    const auto* r = std::get_if<Reduce>(&s.held());
    if (r == nullptr) return false;
    std::optional<Reduce> both;
    if (const auto* n = std::get_if<Nest>(&before.held()))
      both = merged(*n, *r, target_);
    else if (const auto* first = std::get_if<Reduce>(&before.held()))
      both = merged(*first, *r);
    if (!both) return false;
    count(before, -1), count(s, -1);
    drop_what_nobody_reads(*both);
    s = std::move(*both);
    count(s, 1);
    return true;
  }
  void count(const Statement& s, int times) {
    visit_slots(s, [&](SlotId slot, bool) { references_[slot] += times; });
  }
  // Of stores to what no other statement touches.
  void drop_what_nobody_reads(Reduce& both) const {
    std::set<SlotId> read;
    const auto note = [&](const Expr& load) { read.insert(load.node().id); };
    visit_loads_of_values(both, note);
    for (const Store& s : both.stores) visit_loads(s.value, note), visit_loads(s.offset, note);
    std::erase_if(both.stores, [&](const Store& s) {
      return f_.slots[s.slot].temporary() && references_[s.slot] == 0 && !read.contains(s.slot);
    });
  }

  const Function& f_;
  const Target& target_;
  std::vector<int> references_;  // of each slot, by all statements
};

}  // namespace

void merge_reductions(Function& function, const Target& target) { Merger(function, target).block(function.body); }

}  // namespace tenon::kernel
