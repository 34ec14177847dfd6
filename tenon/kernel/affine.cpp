#include "tenon/kernel/affine.h"

namespace tenon::kernel {

void Affine::add(std::uint32_t var, std::int64_t coefficient) {
  const auto term = terms.emplace(var, 0).first;
  term->second += coefficient;
  if (term->second == 0) terms.erase(term);
}

namespace {

// to += factor·from
void accumulate(Affine& to, const Affine& from, std::int64_t factor) {
  to.constant += factor * from.constant;
  for (const auto& [var, coefficient] : from.terms) to.add(var, factor * coefficient);
}

}  // namespace

std::optional<Affine> affine(const Expr& e) {
  if (e.dtype() != DType::i64) return {};
  switch (e.kind()) {
    case Expr::Kind::constant:
      return Affine{constant_value(e), {}};
    case Expr::Kind::variable:
      return Affine{0, {{e.node().id, 1}}};
    case Expr::Kind::binary: {
      const auto op = e.node().binary;
      if (op != Binary::add && op != Binary::sub && op != Binary::mul) return {};
      auto x = affine(e.operand(0));
      if (!x) return {};
      const auto y = affine(e.operand(1));
      if (!y) return {};
      Affine result;
      if (op == Binary::mul) {
        if (!x->terms.empty() && !y->terms.empty()) return {};
        accumulate(result, x->terms.empty() ? *y : *x, x->terms.empty() ? x->constant : y->constant);
        return result;
      }
      accumulate(*x, *y, op == Binary::add ? 1 : -1);
      return x;
    }
    default:
      return {};
  }
}

Expr to_expr(const Affine& a) {
  Expr sum(a.constant);
  for (const auto& [var, coefficient] : a.terms) sum = variable(var) * Expr(coefficient) + sum;
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
      const Expr c = (*this)(e.operand(0)), x = (*this)(e.operand(1)), y = (*this)(e.operand(2));
      if (changed(c, 0) || changed(x, 1) || changed(y, 2)) result = select(c, x, y);
      break;
    }
    case Expr::Kind::convert: {
      const Expr x = (*this)(e.operand(0));
      if (changed(x, 0)) result = convert(e.dtype(), x);
      break;
    }
  }
  result = finish(result);
  done_.emplace(e.identity(), std::pair(e, result));
  return result;
}

}  // namespace tenon::kernel
