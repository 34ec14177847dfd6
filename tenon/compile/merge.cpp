#include "tenon/compile/merge.h"

#include <algorithm>

#include "tenon/kernel/expressions.h"
#include "tenon/kernel/rows.h"

namespace tenon {
namespace {

using kernel::Block;
using kernel::Expr;
using kernel::SlotId;

constexpr std::int64_t registers = 64;  // elements: smaller nests are written out, so that their slots become registers

// Reads of what a nest stores, as the values that it stores.
class ReadFromNest : public kernel::Rewrite {
 public:
  explicit ReadFromNest(const kernel::Nest& nest) : nest_(nest) {}
  bool failed = false;

 protected:
  Expr load(const Expr& old, const Expr& offset) override {
    bool elsewhere = false;
    for (const kernel::Store& s : nest_.stores) {
      if (s.slot != old.node().id) continue;
      const auto read = affine(offset), written = affine(s.offset);
      if (read && written && *read == *written) return s.value;
      elsewhere = true;
    }
    failed = failed || elsewhere;
    return Rewrite::load(old, offset);
  }

 private:
  const kernel::Nest& nest_;
};

// Whether two stores of a nest write no place in common: of the one all are even, of the other all odd.
bool apart_by_parity(const kernel::Store& x, const kernel::Store& y) {
  const auto [base, at] = kernel::without_constant(x.offset);
  const auto [other, next] = kernel::without_constant(y.offset);
  return kernel::is_even(base) && kernel::is_even(other) && (next - at) % 2 != 0;
}

std::optional<kernel::Reduce> merged(const kernel::Nest& n, const kernel::Reduce& r) {
  if (!n.independent || n.sizes.empty() || !r.outer_vars.empty() || !r.stores.empty() || r.inner_sizes != n.sizes)
    return {};
  if (kernel::at_most(kernel::product_of(n.sizes), registers)) return {};
  std::vector<SlotId> written;
  for (const kernel::Store& s : n.stores) {
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
  for (std::size_t i = 0; i < n.vars.size(); ++i) from_nest.vars.emplace(r.inner_vars[i], kernel::variable(n.vars[i]));
  kernel::Reduce result = r;
  result.value = from_nest(r.value);
  if (from_nest.failed) return {};
  result.inner_vars = n.vars;
  result.stores = n.stores;
  return result;
}

void merge(Block& block) {
  Block result;
  for (kernel::Statement& s : block) {
    kernel::for_each_block(s, merge);
    const auto* r = std::get_if<kernel::Reduce>(&s.held());
    const auto* n = r == nullptr || result.empty() ? nullptr : std::get_if<kernel::Nest>(&result.back().held());
    if (n != nullptr)
      if (auto both = merged(*n, *r)) {
        result.back() = std::move(*both);
        continue;
      }
    result.push_back(std::move(s));
  }
  block = std::move(result);
}

}  // namespace

void merge_reductions(kernel::Function& function) { merge(function.body); }

}  // namespace tenon
