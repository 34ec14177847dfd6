#include "tenon/kernel/analysis/updates.h"

#include <algorithm>
#include <limits>
#include <set>

#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/analysis/seen.h"

namespace tenon::kernel {
namespace {

bool combines(Binary op) {
  return op == Binary::add || op == Binary::mul || op == Binary::max || op == Binary::min || op == Binary::and_ ||
         op == Binary::or_;
}

// How a store combines; nothing where it does not, or reads its slot otherwise.
std::optional<Binary> combined_by(const Store& s) {
  if (s.value.kind() != Expr::Kind::binary || !combines(s.value.node().binary)) return {};
  const Expr old = s.value.operand(0), update = s.value.operand(1);
  if (old.kind() != Expr::Kind::load || old.node().id != s.slot || old.operand(0).identity() != s.offset.identity())
    return {};
  bool apart = true;
  for (const Expr& e : {update, s.offset, s.condition})
    if (e) visit_loads(e, [&](const Expr& l) { apart = apart && l.node().id != s.slot; });
  return apart ? std::optional(s.value.node().binary) : std::nullopt;
}

// A part of an offset: coefficient·index, for 0 <= index <= most.
struct Term {
  Dim coefficient, most;
};

// Whether indices of a loop are a digit of the offset: what lies below it does not reach to the next one, and what lies
// above is multiples of more than all of it. `below`: what else is added to a place.
bool is_digit(const Term& loop, const std::vector<Term>& others, Dim below) {
  std::vector<Dim> above;
  for (const Term& t : others)
    if (at_least(loop.coefficient - t.coefficient, 1))
      below = below + t.coefficient * t.most;
    else
      above.push_back(t.coefficient);
  if (!at_least(loop.coefficient - below, 1)) return false;
  if (above.empty()) return true;
  const Dim all = below + loop.coefficient * loop.most;
  return std::ranges::any_of(above, [&](const Dim& unit) {
    return at_least(unit - all, 1) &&
           std::ranges::all_of(above, [&](const Dim& x) { return exact_quotient(x, unit).has_value(); });
  });
}

bool rounds(Binary op, DType dtype) { return is_inexact(dtype) && (op == Binary::add || op == Binary::mul); }

// The common base of the stores' offsets, and the least and the greatest constant behind it.
struct Places {
  Expr base;
  std::int64_t least = 0, greatest = 0;
};
std::optional<Places> places_of(const std::vector<Store>& stores) {
  Places p;
  std::set<std::int64_t> constants;
  for (const Store& s : stores) {
    const auto [base, constant] = without_constant(s.offset);
    if (p.base && p.base.identity() != base.identity()) return {};
    p.base = base;
    if (!constants.insert(constant).second) return {};
  }
  p.least = *constants.begin(), p.greatest = *constants.rbegin();
  return p;
}

// What all parts of an offset are multiples of; 1 where there is nothing that shows.
Dim unit_of(const BoundedAffine& offset) {
  std::vector<Dim> all;
  for (const auto& [var, coefficient] : offset.affine.terms) all.push_back(coefficient);
  for (const BoundedAffine::Term& t : offset.bounded) all.push_back(t.coefficient);
  const auto divides_all = [&](const Dim& unit) {
    return unit != Dim(0) && exact_quotient(offset.affine.constant, unit) &&
           std::ranges::all_of(all, [&](const Dim& x) { return exact_quotient(x, unit).has_value(); });
  };
  const auto found = std::ranges::find_if(all, divides_all);
  return found == all.end() ? Dim(1) : *found;
}
BoundedAffine divided(BoundedAffine offset, const Dim& unit) {
  offset.affine.constant = *exact_quotient(offset.affine.constant, unit);
  for (auto& [var, coefficient] : offset.affine.terms) coefficient = *exact_quotient(coefficient, unit);
  for (BoundedAffine::Term& t : offset.bounded) t.coefficient = *exact_quotient(t.coefficient, unit);
  return offset;
}

}  // namespace

Dim Updates::updates() const {
  Dim n = 1;
  for (const Loop& l : ordered) n = n * l.size;
  return n;
}
Dim Updates::columns() const {
  Dim n = 1;
  for (const Loop& l : free) n = n * l.size;
  return n;
}

std::optional<Updates> updates_of(const Nest& nest) {
  if (nest.independent || nest.vars.empty() || nest.stores.empty() || product_of(nest.sizes) == Dim(0)) return {};
  Updates u{};
  u.slot = nest.stores[0].slot;
  for (const Store& s : nest.stores) {
    const auto op = combined_by(s);
    if (!op || s.slot != u.slot || (&s != nest.stores.data() && *op != u.combine)) return {};
    u.combine = *op;
  }
  const auto places = places_of(nest.stores);
  if (!places) return {};
  IndexRanges ranges;
  for (std::size_t i = 0; i < nest.vars.size(); ++i) ranges[nest.vars[i]] = below(nest.sizes[i]);
  FoldIndices fold(ranges);
  const auto form = bounded_affine(places->base, [&](const Expr& e) { return fold.range(e); });
  if (!form) return {};
  Dim low = form->affine.constant + places->least, reach = 0;
  std::vector<Term> terms;  // of the nest's loops, then those that data choose
  for (std::size_t i = 0; i < nest.vars.size(); ++i)
    terms.push_back({form->affine.coefficient(nest.vars[i]), nest.sizes[i] - 1});
  if (form->affine.terms.size() !=
      static_cast<std::size_t>(
          std::count_if(terms.begin(), terms.end(), [](const Term& t) { return t.coefficient != Dim(0); })))
    return {};  // loops around it
  for (const auto& t : form->bounded) {
    terms.push_back({t.coefficient, t.range.high - t.range.low});
    low = low + t.coefficient * t.range.low;
  }
  for (const Term& t : terms) {
    if (!at_least(t.coefficient, 0)) return {};
    reach = reach + t.coefficient * t.most;
  }
  u.first = low, u.elements = reach + 1 + (places->greatest - places->least);
  BoundedAffine row{{}, form->bounded};
  Dim in_row = places->greatest - places->least;  // the last element of what the free loops reach
  for (BoundedAffine::Term& t : row.bounded) row.affine.constant = row.affine.constant - t.coefficient * t.range.low;
  for (std::size_t i = 0; i < nest.vars.size(); ++i) {
    std::vector<Term> others;
    for (std::size_t k = 0; k < terms.size(); ++k)
      if (k != i && terms[k].coefficient != Dim(0)) others.push_back(terms[k]);
    const bool chooses =
        std::ranges::any_of(form->bounded, [&](const auto& t) { return depends_on(t.index, nest.vars[i]); });
    const bool is_free =
        !chooses && terms[i].coefficient != Dim(0) && is_digit(terms[i], others, places->greatest - places->least);
    (is_free ? u.free : u.ordered).push_back({nest.vars[i], nest.sizes[i], terms[i].coefficient});
    if (is_free)
      in_row = in_row + terms[i].coefficient * terms[i].most, reach = reach - terms[i].coefficient * terms[i].most;
    else
      row.affine.add(nest.vars[i], terms[i].coefficient);
  }
  if (u.ordered.empty()) return {};
  u.unit = unit_of(row);
  u.row = to_expr(divided(std::move(row), u.unit));
  u.rows = *exact_quotient(reach, u.unit) + 1;
  u.whole_rows = at_least(u.unit - in_row, 1);
  u.in_any_order = nest.combines || !rounds(u.combine, nest.stores[0].value.dtype());
  return u;
}

Expr identity_of(Binary combine, DType dtype) {
  return dispatch(dtype, [&]<class T>(std::type_identity<T>) -> Expr {
    using Limits = std::numeric_limits<T>;
    const auto number = [&](auto value) {
      const T bits = T(value);
      return constant(dtype, &bits);
    };
    if constexpr (std::is_same_v<T, bool>) {
      return number(combine == Binary::and_ || combine == Binary::mul || combine == Binary::min);
    } else if constexpr (std::is_integral_v<T>) {
      if (combine == Binary::max) return number(Limits::min());
      if (combine == Binary::min) return number(Limits::max());
      return number(combine == Binary::mul ? 1 : combine == Binary::and_ ? -1 : 0);
    } else {
      constexpr double infinite = std::numeric_limits<double>::infinity();
      const double value = combine == Binary::max   ? -infinite
                           : combine == Binary::min ? infinite
                           : combine == Binary::mul ? 1
                                                    : -0.0;  // a zero keeps its sign
      return constant_like(Expr(expr_of({.kind = Expr::Kind::constant, .dtype = dtype})), value);
    }
  });
}

bool depends_on(const Expr& e, std::uint32_t var) {
  Seen seen;
  const auto look = [&](auto&& self, const Expr& at) -> bool {
    if (!at || !seen.insert(at.identity())) return false;
    if (at.kind() == Expr::Kind::variable && at.node().id == var) return true;
    return std::ranges::any_of(at.node().operands,
                               [&](const auto& operand) { return operand && self(self, Expr(operand)); });
  };
  return look(look, e);
}

}  // namespace tenon::kernel
