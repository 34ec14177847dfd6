#include "tenon/kernel/analysis/joined_nests.h"

#include "tenon/kernel/analysis/rows.h"

namespace tenon::kernel {

Expr ReadStored::load(const Expr& old, const Expr& offset) {
  bool is_stored = false;
  for (const Store& s : nest_.stores) {
    if (s.slot != old.node().id) continue;
    const auto read = affine(offset), written = affine(s.offset);
    if (read && written && *read == *written) return s.value;
    is_stored = true;
  }
  elsewhere = elsewhere || is_stored;
  return Rewrite::load(old, offset);
}

Expr row_major(const std::vector<std::uint32_t>& vars, const Sizes& sizes) {
  Expr index = variable(vars[0]);
  for (std::size_t i = 1; i < vars.size(); ++i) index = index * size(sizes[i]) + variable(vars[i]);
  return index;
}

namespace {

std::optional<Dim> absolute(const Dim& x) {
  if (at_least(x, 0)) return x;
  return at_least(x * -1, 0) ? std::optional(x * -1) : std::nullopt;
}

}  // namespace

bool leads_beyond(const Nest& nest, const Affine& offset, const Dim& distance) {
  const auto far = absolute(distance);
  if (!far) return false;
  Dim left = *far - 1;  // behind the last element
  for (std::size_t i = 0; i < nest.vars.size(); ++i) {
    const auto by = absolute(offset.coefficient(nest.vars[i]));
    if (!by) return false;
    left = left - *by * (nest.sizes[i] - 1);
  }
  return at_least(left, 0);
}

std::optional<Nest> one_behind_other(const Nest& x, const Nest& y) {
  const bool same = x.sizes == y.sizes;
  if (!same && ((x.vars.size() > 1 && y.vars.size() > 1) || product_of(x.sizes) != product_of(y.sizes))) return {};
  Nest first = x;
  if (!same && x.vars.size() == 1) {
    first.vars = y.vars, first.sizes = y.sizes;
    Rewrite counted;
    counted.vars.emplace(x.vars[0], row_major(y.vars, y.sizes));
    for (Store& s : first.stores) s.offset = counted(s.offset), s.value = counted(s.value);
  }
  ReadStored behind(first);
  if (same)
    for (std::size_t i = 0; i < y.vars.size(); ++i) behind.vars.emplace(y.vars[i], variable(x.vars[i]));
  else if (x.vars.size() > 1)
    behind.vars.emplace(y.vars[0], row_major(x.vars, x.sizes));
  Nest all = first;
  for (const Store& s : y.stores) {
    const Store now{s.slot, behind(s.offset), behind(s.value), {}};
    const auto place = affine(now.offset);
    bool apart = place.has_value();
    const auto check = [&](const Expr& load) {
      if (load.node().id == s.slot) apart = apart && affine(load.operand(0)) == place;
    };
    for (const Store& other : first.stores) {
      apart = apart && other.slot != s.slot;
      visit_loads(other.value, check), visit_loads(other.offset, check);
    }
    if (!apart) return {};
    all.stores.push_back(now);
  }
  return behind.elsewhere ? std::nullopt : std::optional(std::move(all));
}

}  // namespace tenon::kernel
