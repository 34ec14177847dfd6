#include "tenon/kernel/passes/merge_reductions.h"

#include <algorithm>

#include "tenon/kernel/analysis/joined_nests.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// Whether two stores of a nest write no place in common: of the one all are even, of the other all odd.
bool apart_by_parity(const Store& x, const Store& y) {
  const auto [base, at] = without_constant(x.offset);
  const auto [other, next] = without_constant(y.offset);
  return is_multiple(base, 2) && is_multiple(other, 2) && (next - at) % 2 != 0;
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
  pair.reduce.value = rewrite(r.value);
  return pair;
}

// Whether vectors go along the rows that a reduction sums, as they go along those of a nest: these are long, and each
// load is along them.
bool goes_along_rows(const Reduce& r) {
  constexpr std::int64_t long_row = 64;
  if (r.inner_sizes.empty() || !at_least(r.inner_sizes.back() - long_row, 0)) return false;
  bool along = true;
  visit_loads(r.value, [&](const Expr& load) {
    const auto offset = affine(load.operand(0));
    along = along && offset && at_most(offset->coefficient(r.inner_vars.back()), 1) &&
            at_least(offset->coefficient(r.inner_vars.back()), 0);
  });
  return along;
}

std::optional<Reduce> merged(const Nest& n, const Reduce& r, const Target& target) {
  if (!n.independent || n.sizes.empty() || r.inner_sizes.empty() || !r.stores.empty() ||
      (!r.outer_vars.empty() && !goes_along_rows(r)))
    return {};
  if (target.in_registers(product_of(n.sizes))) return {};  // written out, so that its slots become registers
  std::vector<SlotId> written;
  for (const Store& s : n.stores) {
    if (s.condition) return {};
    for (std::size_t i = 0; i < written.size(); ++i)
      if (written[i] == s.slot && !apart_by_parity(n.stores[i], s)) return {};
    written.push_back(s.slot);
  }
  const auto is_written = [&](const Expr& load) { return std::ranges::find(written, load.node().id) != written.end(); };
  bool apart = true;  // the nest and the place of the result
  visit_slots(n, [&](SlotId slot, bool) { apart = apart && slot != r.slot; });
  for (const Expr& e : {r.offset, r.initial})
    visit_loads(e, [&](const Expr& load) { apart = apart && !is_written(load); });
  if (!apart) return {};
  bool reads = false;
  visit_loads(r.value, [&](const Expr& load) { reads = reads || is_written(load); });
  if (!reads) return {};
  const auto pair = with_same_indices(n, r);
  if (!pair) return {};
  ReadStored from_nest(pair->nest);
  Reduce result = pair->reduce;
  result.value = from_nest(result.value);
  if (from_nest.elsewhere) return {};
  result.stores = pair->nest.stores;
  return result;
}

void merge(Block& block, const Target& target) {
  Block result;
  for (Statement& s : block) {
    for_each_block(s, [&](Block& inside) { merge(inside, target); });
    const auto* r = std::get_if<Reduce>(&s.held());
    const auto* n = r == nullptr || result.empty() ? nullptr : std::get_if<Nest>(&result.back().held());
    if (n != nullptr)
      if (auto both = merged(*n, *r, target)) {
        result.back() = std::move(*both);
        continue;
      }
    result.push_back(std::move(s));
  }
  block = std::move(result);
}

}  // namespace

void merge_reductions(Function& function, const Target& target) { merge(function.body, target); }

}  // namespace tenon::kernel
