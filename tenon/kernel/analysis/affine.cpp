#include "tenon/kernel/analysis/affine.h"

#include <algorithm>

#include "tenon/base/error.h"

namespace tenon::kernel {

void Affine::add(std::uint32_t var, const Dim& coefficient) {
  const auto term = terms.emplace(var, 0).first;
  term->second = term->second + coefficient;
  if (term->second == Dim(0)) terms.erase(term);
}
bool Affine::known() const {
  return constant.known() && std::ranges::all_of(terms, [](const auto& term) { return term.second.known(); });
}

namespace {

// to += factor·from
void accumulate(BoundedAffine& to, const BoundedAffine& from, const Dim& factor) {
  to.affine.constant = to.affine.constant + factor * from.affine.constant;
  for (const auto& [var, coefficient] : from.affine.terms) to.affine.add(var, factor * coefficient);
  for (const BoundedAffine::Term& t : from.bounded)
    if (factor != Dim(0)) to.bounded.push_back({factor * t.coefficient, t.index, t.range});
}

bool is_constant(const BoundedAffine& a) { return a.affine.terms.empty() && a.bounded.empty(); }
bool is(const Expr& e, Binary op) { return e.kind() == Expr::Kind::binary && e.node().binary == op; }

std::optional<BoundedAffine> form_of(const Expr& e, RangeOf range_of) {
  if (e.dtype() != DType::i64) return {};
  BoundedAffine result;
  if (is_constant(e)) {
    result.affine.constant = constant_value(e);
    return result;
  }
  if (e.kind() == Expr::Kind::variable) {
    if (is_size_variable(e.node().id))
      result.affine.constant = Dim::variable(e.node().id - first_size_variable);
    else
      result.affine.add(e.node().id, 1);
    return result;
  }
  if (is(e, Binary::add) || is(e, Binary::sub) || is(e, Binary::mul)) {
    auto x = form_of(e.operand(0), range_of);
    if (!x) return {};
    const auto y = form_of(e.operand(1), range_of);
    if (!y) return {};
    if (!is(e, Binary::mul)) {
      accumulate(*x, *y, is(e, Binary::add) ? 1 : -1);
      return x;
    }
    if (is_constant(*x) || is_constant(*y)) {
      accumulate(result, is_constant(*x) ? *y : *x, is_constant(*x) ? x->affine.constant : y->affine.constant);
      return result;
    }
  }
  const auto range = range_of ? range_of(e) : std::nullopt;
  if (!range) return {};
  result.bounded.push_back({1, e, *range});
  return result;
}

}  // namespace

std::optional<BoundedAffine> bounded_affine(const Expr& e, RangeOf range_of) {
  try {
    return form_of(e, range_of);
  } catch (const ShapeError&) {  // numbers that are no indices
    return {};
  }
}
std::optional<Affine> affine(const Expr& e) {
  if (auto form = bounded_affine(e, {})) return std::move(form->affine);
  return {};
}

bool is_multiple(const Expr& index, std::int64_t of) {
  if (index.kind() == Expr::Kind::constant && index.dtype() == DType::i64) return constant_value(index) % of == 0;
  if (index.kind() != Expr::Kind::binary || index.dtype() != DType::i64) return false;
  const Expr a = index.operand(0), b = index.operand(1);
  if (is(index, Binary::mul)) return is_multiple(a, of) || is_multiple(b, of);
  return (is(index, Binary::add) || is(index, Binary::sub)) && is_multiple(a, of) && is_multiple(b, of);
}

Expr to_expr(const Affine& a) {
  Expr sum = size(a.constant);
  for (const auto& [var, coefficient] : a.terms) sum = variable(var) * size(coefficient) + sum;
  return sum;
}

Expr to_expr(const BoundedAffine& a) {
  Expr sum = to_expr(a.affine);
  for (const BoundedAffine::Term& t : a.bounded) sum = t.index * size(t.coefficient) + sum;
  return sum;
}

Expr Rewrite::load(const Expr& old, const Expr& offset) {
  return offset.identity() == old.operand(0).identity() ? old : kernel::load(old.node().id, old.dtype(), offset);
}

Expr Rewrite::operator()(const Expr& e) {
  if (!e) return e;
  if (const auto found = done_.find(e.identity()); found != done_.end()) return found->second.second;
  Expr result = e;
  const auto changed = [&](const Expr& x, std::size_t i) { return x.identity() != e.operand(i).identity(); };
  switch (e.kind()) {
    case Expr::Kind::constant:
      break;
    case Expr::Kind::variable:
      if (const auto found = vars.find(e.node().id); found != vars.end()) result = found->second;
      break;
    case Expr::Kind::load:
      result = load(e, (*this)(e.operand(0)));
      break;
    case Expr::Kind::unary: {
      const Expr x = (*this)(e.operand(0));
      if (changed(x, 0)) result = unary(e.node().unary, x);
      break;
    }
    case Expr::Kind::binary: {
      const Expr x = (*this)(e.operand(0)), y = (*this)(e.operand(1));
      if (changed(x, 0) || changed(y, 1)) result = binary(e.node().binary, x, y);
      break;
    }
    case Expr::Kind::select: {
      const Expr c = (*this)(e.operand(0));
      if (is_constant(c)) {  // what is not chosen is not looked at
        result = (*this)(e.operand(c.node().bits[0] != std::byte(0) ? 1 : 2));
        break;
      }
      const Expr x = (*this)(e.operand(1)), y = (*this)(e.operand(2));
      if (changed(c, 0) || changed(x, 1) || changed(y, 2)) result = select(c, x, y);
      break;
    }
    case Expr::Kind::convert: {
      const Expr x = (*this)(e.operand(0));
      if (changed(x, 0)) result = convert(e.dtype(), x);
      break;
    }
    case Expr::Kind::bitcast: {
      const Expr x = (*this)(e.operand(0));
      if (changed(x, 0)) result = bitcast(e.dtype(), x);
      break;
    }
  }
  result = finish(result);
  done_.emplace(e.identity(), std::pair(e, result));
  return result;
}

}  // namespace tenon::kernel
