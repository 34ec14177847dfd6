#include "tenon/kernel/analysis/index_ranges.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tenon/base/error.h"

namespace tenon::kernel {
namespace {

// Indices stay far below: sums of products of these do not overflow.
constexpr std::int64_t far = std::int64_t(1) << 40;
bool small(const Dim& v) { return !v.known() || (v.value() > -far && v.value() < far); }
std::optional<IndexRange> small(const Dim& low, const Dim& high) {
  if (!small(low) || !small(high)) return {};
  return IndexRange{low, high};
}

// Of two sizes; nothing where it depends on what they are.
std::optional<Dim> lesser(const Dim& x, const Dim& y) {
  if (at_least(y - x, 0)) return x;
  return at_least(x - y, 0) ? std::optional(y) : std::nullopt;
}
std::optional<Dim> greater(const Dim& x, const Dim& y) {
  if (at_least(x - y, 0)) return x;
  return at_least(y - x, 0) ? std::optional(y) : std::nullopt;
}
std::optional<IndexRange> range_between(const std::optional<Dim>& low, const std::optional<Dim>& high) {
  if (!low || !high) return {};
  return IndexRange{*low, *high};
}

std::optional<IndexRange> range_of_affine(const Affine& a, const IndexRanges& vars) {
  if (!small(a.constant)) return {};
  IndexRange r{a.constant, a.constant};
  for (const auto& [var, coefficient] : a.terms) {
    const auto found = vars.find(var);
    if (found == vars.end() || !small(coefficient) || !small(found->second.low) || !small(found->second.high))
      return {};
    const bool up = at_least(coefficient, 0);
    if (!up && !at_least(0 - coefficient, 0)) return {};
    const auto& [low, high] = found->second;
    r.low = r.low + coefficient * (up ? low : high), r.high = r.high + coefficient * (up ? high : low);
    if (!small(r.low) || !small(r.high)) return {};
  }
  return r;
}

std::optional<bool> decided(Binary op, const IndexRange& x, const IndexRange& y) {
  const auto by = [](bool always, bool never) -> std::optional<bool> {
    return always ? std::optional(true) : never ? std::optional(false) : std::nullopt;
  };
  const Dim above = y.low - x.high, below = x.low - y.high;  // the least that y is above x, and x above y
  const bool apart = at_least(above, 1) || at_least(below, 1),
             one = x.low == x.high && y.low == y.high && x.low == y.low;
  switch (op) {
    case Binary::lt:
      return by(at_least(above, 1), at_least(below, 0));
    case Binary::le:
      return by(at_least(above, 0), at_least(below, 1));
    case Binary::gt:
      return by(at_least(below, 1), at_least(above, 0));
    case Binary::ge:
      return by(at_least(below, 0), at_least(above, 1));
    case Binary::eq:
      return by(one, apart);
    case Binary::ne:
      return by(apart, one);
    default:
      return {};
  }
}

bool is_index(DType dtype) { return is_integer(dtype) && dtype != DType::u64; }

// What an integer of this width holds.
IndexRange held_by(DType dtype) {
  return dispatch(dtype, []<class T>(std::type_identity<T>) -> IndexRange {
    if constexpr (std::is_integral_v<T> && sizeof(T) < 8)
      return {static_cast<std::int64_t>(std::numeric_limits<T>::min()),
              static_cast<std::int64_t>(std::numeric_limits<T>::max())};
    else
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  });
}

Expr constant_index(const Expr& e) {
  return dispatch(e.dtype(), [&]<class T>(std::type_identity<T>) -> Expr {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, std::uint64_t>) {
      T value;
      std::memcpy(&value, e.node().bits.data(), sizeof value);
      return Expr(static_cast<std::int64_t>(value));
    } else {
      return {};
    }
  });
}

}  // namespace

bool lead_apart(std::vector<std::pair<std::int64_t, std::int64_t>> strides, std::int64_t reach) {
  std::ranges::sort(strides);
  for (const auto& [stride, size] : strides) {  // reach: of the smaller ones
    if (stride <= reach) return false;
    std::int64_t of_this = 0;
    if (__builtin_mul_overflow(stride, size - 1, &of_this) || __builtin_add_overflow(reach, of_this, &reach))
      reach = std::numeric_limits<std::int64_t>::max();
  }
  return true;
}

Expr truth(bool value) { return constant(DType::bool_, &value); }
std::optional<bool> truth_of(const Expr& e) {
  if (e.kind() != Expr::Kind::constant || e.dtype() != DType::bool_) return {};
  return e.node().bits[0] != std::byte{0};
}

std::optional<IndexRange> FoldIndices::range(const Expr& e) {
  if (const auto found = known_.find(e.identity()); found != known_.end()) return found->second.second;
  std::optional<IndexRange> r;
  try {
    r = range_of(e);
  } catch (const ShapeError&) {
    r.reset();  // numbers that are no indices
  }
  known_.emplace(e.identity(), std::pair(e, r));
  return r;
}
std::optional<IndexRange> FoldIndices::range_of(const Expr& e) {
  if (e.dtype() != DType::i64) return {};
  if (const auto a = affine(e)) return range_of_affine(*a, ranges_);
  if (e.kind() == Expr::Kind::select) {
    const auto x = range(e.operand(1)), y = range(e.operand(2));
    if (!x || !y) return {};
    return range_between(lesser(x->low, y->low), greater(x->high, y->high));
  }
  if (e.kind() != Expr::Kind::binary) return {};
  const auto x = range(e.operand(0)), y = range(e.operand(1));
  if (!y) return {};
  if (e.node().binary == Binary::rem && at_least(y->low, 1)) {
    const Dim most = y->high - 1;
    if (!x) return IndexRange{0 - most, most};
    const bool below = at_least(x->low, 0);
    const auto high = lesser(x->high, most);
    return IndexRange{below ? Dim(0) : 0 - most, high && at_least(*high, 0) ? *high : most};
  }
  if (!x && e.node().binary == Binary::max && e.operand(0).kind() == Expr::Kind::binary &&
      e.operand(0).node().binary == Binary::min)  // whatever it is, it is clamped
    if (const auto limit = range(e.operand(0).operand(1))) return range_between(y->low, greater(limit->high, y->high));
  if (!x) return {};
  switch (e.node().binary) {
    case Binary::max:
      return range_between(greater(x->low, y->low), greater(x->high, y->high));
    case Binary::min:
      return range_between(lesser(x->low, y->low), lesser(x->high, y->high));
    case Binary::add:
      return small(x->low + y->low, x->high + y->high);
    case Binary::sub:
      return small(x->low - y->high, x->high - y->low);
    case Binary::mul: {
      if (at_least(x->low, 0) && at_least(y->low, 0)) return small(x->low * y->low, x->high * y->high);
      if (!x->low.known() || !x->high.known() || !y->low.known() || !y->high.known()) return {};
      const auto [low, high] = std::minmax({(x->low * y->low).value(), (x->low * y->high).value(),
                                            (x->high * y->low).value(), (x->high * y->high).value()});
      return small(low, high);
    }
    case Binary::div:
      if (at_least(x->low, 0) && at_least(y->low, 1) && x->high.known() && y->high.known())
        return IndexRange{floor_div(x->low, y->high), floor_div(x->high, y->low)};
      return {};
    default:
      return {};
  }
}

// Whether what is left of a range is not negative: where the sizes are as small as they can be, or as large.
bool FoldIndices::is_held(const Dim& left) const {
  if (at_least(left, 0)) return true;
  return most_ && at_least(left.substitute([&](SizeVar v) {
           return is_found_size(v) ? Dim::variable(v) : Dim(*most_ + 1) - Dim::variable(v);
         }),
                           0);
}

// The i64 expression that always has the value of this integer; empty where none is known.
Expr FoldIndices::index(const Expr& e) {
  if (e.dtype() == DType::i64) return e;
  if (!is_index(e.dtype())) return {};
  if (const auto found = indices_.find(e.identity()); found != indices_.end()) return found->second.second;
  Expr wide = index_of(e);
  if (wide) {  // it may not wrap around
    const auto r = range(wide);
    const IndexRange held = held_by(e.dtype());
    if (!r || !is_held(r->low - held.low) || !is_held(held.high - r->high)) wide = {};
  }
  indices_.emplace(e.identity(), std::pair(e, wide));
  return wide;
}
Expr FoldIndices::index_of(const Expr& e) {
  switch (e.kind()) {
    case Expr::Kind::constant:
      return constant_index(e);
    case Expr::Kind::convert:
      return index(e.operand(0));
    case Expr::Kind::unary: {
      if (e.node().unary != Unary::neg) return {};
      const Expr x = index(e.operand(0));
      return x ? Expr(0) - x : Expr();
    }
    case Expr::Kind::binary: {
      const Binary op = e.node().binary;
      if (op != Binary::add && op != Binary::sub && op != Binary::mul && op != Binary::max && op != Binary::min)
        return {};
      const Expr x = index(e.operand(0)), y = index(e.operand(1));
      return x && y ? finish(kernel::binary(op, x, y)) : Expr();
    }
    default:
      return {};
  }
}

// Quotients and remainders by a size: what is a multiple of it goes apart.
std::optional<Expr> FoldIndices::divided(Binary op, const Expr& x, const Expr& y) {
  const auto divisor = affine(y);
  if (!divisor || !divisor->terms.empty() || !at_least(divisor->constant, 1)) return {};
  const Dim by = divisor->constant;
  const auto whole = range(x);
  if (!whole || !at_least(whole->low, 0)) return {};
  if (at_least(by - whole->high, 1)) return op == Binary::div ? Expr(std::int64_t(0)) : x;
  const auto a = bounded_affine(x, [&](const Expr& part) { return range(part); });
  if (!a) return {};
  BoundedAffine multiple, rest;
  if (by.known() && a->affine.constant.known()) {
    multiple.affine.constant = floor_div(a->affine.constant, by), rest.affine.constant = modulo(a->affine.constant, by);
  } else {
    const auto quotient = exact_quotient(a->affine.constant, by);
    (quotient ? multiple : rest).affine.constant = quotient ? *quotient : a->affine.constant;
  }
  for (const auto& [var, coefficient] : a->affine.terms) {
    const auto quotient = exact_quotient(coefficient, by);
    quotient ? multiple.affine.add(var, *quotient) : rest.affine.add(var, coefficient);
  }
  for (const auto& [coefficient, index, range] : a->bounded) {
    const auto quotient = exact_quotient(coefficient, by);
    quotient ? multiple.bounded.push_back({*quotient, index, range})
             : rest.bounded.push_back({coefficient, index, range});
  }
  const Expr left = to_expr(rest);
  const auto of_left = range(left);
  if (!of_left || !at_least(of_left->low, 0)) return {};
  if (at_least(by - of_left->high, 1)) return op == Binary::div ? to_expr(multiple) : left;
  if (multiple.affine.terms.empty() && multiple.bounded.empty()) return {};
  const Expr inside = kernel::binary(op, left, y);
  return op == Binary::div ? to_expr(multiple) + inside : inside;
}

Expr FoldIndices::binary(const Expr& e) {
  const Expr a = e.operand(0), b = e.operand(1);
  const Binary op = e.node().binary;
  if (a.dtype() == DType::bool_ && (op == Binary::and_ || op == Binary::or_)) {
    for (const auto& [known, other] : {std::pair(a, b), std::pair(b, a)})
      if (const auto value = truth_of(known)) return *value == (op == Binary::and_) ? other : known;
    return e;
  }
  const bool compares = e.dtype() == DType::bool_;
  if (!is_index(a.dtype()) || (a.dtype() != DType::i64 && !compares)) return e;
  const Expr x = index(a), y = index(b);
  if (!x || !y) return e;
  if (op == Binary::div || op == Binary::rem) return divided(op, x, y).value_or(e);
  const auto of_x = range(x), of_y = range(y);
  if (!of_x || !of_y) return e;
  if (const auto result = decided(op, *of_x, *of_y)) return truth(*result);
  // x / c < k where x < k·c.
  if ((op == Binary::lt || op == Binary::ge) && x.kind() == Expr::Kind::binary && x.node().binary == Binary::div &&
      y.kind() == Expr::Kind::constant && x.operand(1).kind() == Expr::Kind::constant) {
    const std::int64_t by = constant_value(x.operand(1)), limit = constant_value(y);
    const auto divided = range(x.operand(0));
    std::int64_t product;
    if (divided && at_least(divided->low, 0) && by > 0 && !__builtin_mul_overflow(by, limit, &product))
      return finish(kernel::binary(op, x.operand(0), Expr(product)));
  }
  // What both have in common decides nothing: by their difference.
  if (const auto apart = range(x - y); compares && apart)
    if (const auto result = decided(op, *apart, {0, 0})) return truth(*result);
  if (op == Binary::max || op == Binary::min) {
    const Expr &larger = op == Binary::max ? x : y, &smaller = op == Binary::max ? y : x;
    const auto apart = range(x - y);
    if (at_least(of_x->low - of_y->high, 0) || (apart && at_least(apart->low, 0))) return larger;
    if (at_least(of_y->low - of_x->high, 0) || (apart && at_least(0 - apart->high, 0))) return smaller;
  }
  return e;
}

Expr FoldIndices::finish(const Expr& e) {
  if (e.kind() == Expr::Kind::select) {
    const auto chosen = truth_of(e.operand(0));
    return chosen ? e.operand(*chosen ? 1 : 2) : e;
  }
  if (e.kind() == Expr::Kind::convert && e.dtype() == DType::i64) {
    const Expr x = index(e.operand(0));
    return x ? x : e;
  }
  return e.kind() == Expr::Kind::binary ? binary(e) : e;
}

}  // namespace tenon::kernel
