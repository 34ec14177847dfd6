#include "tenon/kernel/passes/merge_reductions.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/kernel/analysis/joined_nests.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

constexpr std::int64_t most_results = 16;

std::optional<Dim> absolute(const Dim& x) {
  if (at_least(x, 0)) return x;
  return at_least(x * -1, 0) ? std::optional(x * -1) : std::nullopt;
}
// Whether two stores of a nest write no place in common: of the one all are even, of the other all odd, or all of the
// one lie behind all of the other.
bool are_apart(const Nest& n, const Store& x, const Store& y) {
  const auto [base, at] = without_constant(x.offset);
  const auto [other, next] = without_constant(y.offset);
  if (is_multiple(base, 2) && is_multiple(other, 2) && (next - at) % 2 != 0) return true;
  const auto first = affine(x.offset), second = affine(y.offset);
  if (!first || !second || first->terms != second->terms) return false;
  const auto distance = absolute(first->constant - second->constant);
  if (!distance) return false;
  Dim left = *distance - 1;
  for (std::size_t i = 0; i < n.vars.size(); ++i) {
    const auto by = absolute(first->coefficient(n.vars[i]));
    if (!by) return false;
    left = left - *by * (n.sizes[i] - 1);
  }
  return at_least(left, 0);
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
  std::vector<std::uint32_t> vars = r.outer_vars;
  vars.insert(vars.end(), r.inner_vars.begin(), r.inner_vars.end());
  Sizes sizes = r.outer_sizes;
  sizes.insert(sizes.end(), r.inner_sizes.begin(), r.inner_sizes.end());
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
  wide.combine = all[0].combine, wide.initial = all[0].initial, wide.value = all[0].value;
  wide.slot = all[0].slot, wide.offset = all[0].offset;
  wide.others.assign(all.begin() + 1, all.end());
  return wide;
}

// Whether vectors go along the rows that a reduction sums, as they go along those of a nest: these are long, and each
// load is along them.
bool goes_along_rows(const Reduce& r) {
  constexpr std::int64_t long_row = 64;
  if (r.inner_sizes.empty() || !at_least(r.inner_sizes.back() - long_row, 0)) return false;
  bool along = true;
  visit_loads_of_values(r, [&](const Expr& load) {
    const auto offset = affine(load.operand(0));
    along = along && offset && at_most(offset->coefficient(r.inner_vars.back()), 1) &&
            at_least(offset->coefficient(r.inner_vars.back()), 0);
  });
  return along;
}

std::optional<Reduce> merged(const Nest& n, const Reduce& of, const Target& target) {
  if (!n.independent || n.sizes.empty() || of.inner_sizes.empty() || !of.stores.empty()) return {};
  if (target.in_registers(product_of(n.sizes))) return {};  // written out, so that its slots become registers
  const std::optional<Reduce> wide = over(of, product_of(n.sizes));
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
  bool apart = true;  // the nest and the places of the results
  const std::vector<Reduce::Result> results = r.results();
  std::set<SlotId> places;
  for (const Reduce::Result& result : results) places.insert(result.slot);
  visit_slots(n, [&](SlotId slot, bool) { apart = apart && !places.contains(slot); });
  for (const Reduce::Result& result : results)
    for (const Expr& e : {result.offset, result.initial})
      visit_loads(e, [&](const Expr& load) { apart = apart && !is_written(load); });
  if (!apart) return {};
  bool reads = false;
  visit_loads_of_values(r, [&](const Expr& load) { reads = reads || is_written(load); });
  if (!reads) return {};
  const auto pair = with_same_indices(n, r);
  if (!pair) return {};
  ReadStored from_nest(pair->nest);
  Reduce result = pair->reduce;
  for_each_value(result, [&](Expr& value) { value = from_nest(value); });
  if (from_nest.elsewhere) return {};
  result.stores = pair->nest.stores;
  return result;
}

class Merger {
 public:
  Merger(const Function& function, const Target& target)
      : f_(function), target_(target), references_(SlotUses(function).references) {}

  void block(Block& statements) {
    Block result;
    for (Statement& s : statements) {
      for_each_block(s, [&](Block& inside) { block(inside); });
      const auto* r = std::get_if<Reduce>(&s.held());
      const auto* n = r == nullptr || result.empty() ? nullptr : std::get_if<Nest>(&result.back().held());
      if (n != nullptr)
        if (auto both = merged(*n, *r, target_)) {
          drop_what_nobody_reads(*both, {&result.back(), &s});
          result.back() = std::move(*both);
          continue;
        }
      result.push_back(std::move(s));
    }
    statements = std::move(result);
  }

 private:
  // Stores of what these statements alone touched.
  void drop_what_nobody_reads(Reduce& both, std::initializer_list<const Statement*> before) const {
    std::map<SlotId, int> inside;
    for (const Statement* s : before) visit_slots(*s, [&](SlotId slot, bool) { ++inside[slot]; });
    std::set<SlotId> read;
    const auto note = [&](const Expr& load) { read.insert(load.node().id); };
    visit_loads_of_values(both, note);
    for (const Store& s : both.stores) visit_loads(s.value, note), visit_loads(s.offset, note);
    std::erase_if(both.stores, [&](const Store& s) {
      return f_.slots[s.slot].temporary() && inside.at(s.slot) == references_[s.slot] && !read.contains(s.slot);
    });
  }

  const Function& f_;
  const Target& target_;
  const std::vector<int> references_;
};

}  // namespace

void merge_reductions(Function& function, const Target& target) { Merger(function, target).block(function.body); }

}  // namespace tenon::kernel
