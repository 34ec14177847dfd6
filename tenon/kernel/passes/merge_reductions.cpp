#include "tenon/kernel/passes/merge_reductions.h"

#include <algorithm>

#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// Reads of what a nest stores, as the values that it stores.
class ReadFromNest : public Rewrite {
 public:
  explicit ReadFromNest(const Nest& nest) : nest_(nest) {}
  bool failed = false;

 protected:
  Expr load(const Expr& old, const Expr& offset) override {
    bool elsewhere = false;
    for (const Store& s : nest_.stores) {
      if (s.slot != old.node().id) continue;
      const auto read = affine(offset), written = affine(s.offset);
      if (read && written && *read == *written) return s.value;
      elsewhere = true;
    }
    failed = failed || elsewhere;
    return Rewrite::load(old, offset);
  }

 private:
  const Nest& nest_;
};

// Whether two stores of a nest write no place in common: of the one all are even, of the other all odd.
bool apart_by_parity(const Store& x, const Store& y) {
  const auto [base, at] = without_constant(x.offset);
  const auto [other, next] = without_constant(y.offset);
  return is_multiple(base, 2) && is_multiple(other, 2) && (next - at) % 2 != 0;
}

std::optional<Reduce> merged(const Nest& n, const Reduce& r, const Target& target) {
  if (!n.independent || n.sizes.empty() || !r.outer_vars.empty() || !r.stores.empty() || r.inner_sizes != n.sizes)
    return {};
  if (target.in_registers(product_of(n.sizes))) return {};  // written out, so that its slots become registers
  std::vector<SlotId> written;
  for (const Store& s : n.stores) {
    if (s.condition) return {};
    for (std::size_t i = 0; i < written.size(); ++i)
      if (written[i] == s.slot && !apart_by_parity(n.stores[i], s)) return {};
    written.push_back(s.slot);
  }
  bool apart = true;  // the nest and the place of the result
  visit_slots(n, [&](SlotId slot, bool) { apart = apart && slot != r.slot; });
  visit_loads(r.offset,
              [&](const Expr& e) { apart = apart && std::ranges::find(written, e.node().id) == written.end(); });
  if (!apart) return {};
  bool reads = false;
  visit_loads(r.value,
              [&](const Expr& e) { reads = reads || std::ranges::find(written, e.node().id) != written.end(); });
  if (!reads) return {};
  ReadFromNest from_nest(n);
  for (std::size_t i = 0; i < n.vars.size(); ++i) from_nest.vars.emplace(r.inner_vars[i], variable(n.vars[i]));
  Reduce result = r;
  result.value = from_nest(r.value);
  if (from_nest.failed) return {};
  result.inner_vars = n.vars;
  result.stores = n.stores;
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
