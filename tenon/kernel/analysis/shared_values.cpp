#include "tenon/kernel/analysis/shared_values.h"

#include <cstring>
#include <optional>

#include "tenon/base/hash.h"

namespace tenon::kernel {
namespace {

template <class T>
T number_of(const Expr& e) {
  T value;
  std::memcpy(&value, e.node().bits.data(), sizeof value);
  return value;
}

// Of two integers, where they are not divided.
template <class T>
Expr of_integers(const Expr& e, T x, T y) {
  using U = std::make_unsigned_t<T>;
  const auto number = [&](auto value) {
    const T held = static_cast<T>(value);
    return kernel::constant(e.dtype(), &held);
  };
  const auto truth = [](bool value) { return kernel::constant(DType::bool_, &value); };
  const U a = static_cast<U>(x), b = static_cast<U>(y);
  switch (e.node().binary) {
    case Binary::add:
      return number(static_cast<U>(a + b));
    case Binary::sub:
      return number(static_cast<U>(a - b));
    case Binary::mul:
      return number(static_cast<U>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)));
    case Binary::max:
      return number(std::max(x, y));
    case Binary::min:
      return number(std::min(x, y));
    case Binary::and_:
      return number(static_cast<U>(a & b));
    case Binary::or_:
      return number(static_cast<U>(a | b));
    case Binary::xor_:
      return number(static_cast<U>(a ^ b));
    case Binary::eq:
      return truth(x == y);
    case Binary::ne:
      return truth(x != y);
    case Binary::lt:
      return truth(x < y);
    case Binary::le:
      return truth(x <= y);
    case Binary::gt:
      return truth(x > y);
    case Binary::ge:
      return truth(x >= y);
    default:
      return e;
  }
}

// Where one operand alone is known.
template <class T>
Expr beside_number(const Expr& e, const Expr& other, T number, bool first) {
  switch (e.node().binary) {
    case Binary::mul:
      return number == 0 ? kernel::constant(e.dtype(), &number) : number == 1 ? other : e;
    case Binary::add:
    case Binary::or_:
    case Binary::xor_:
      return number == 0 ? other : e;
    case Binary::sub:
    case Binary::shift_left:
    case Binary::shift_right:
      return number == 0 && !first ? other : e;
    case Binary::and_:
      return number == 0 ? kernel::constant(e.dtype(), &number) : e;
    default:
      return e;
  }
}

Expr folded_binary(const Expr& e) {
  const Expr x = e.operand(0), y = e.operand(1);
  if (!is_constant(x) && !is_constant(y)) return e;
  return dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) -> Expr {
    if constexpr (std::is_same_v<T, bool>) {
      if (e.node().binary != Binary::and_ && e.node().binary != Binary::or_) return e;
      const Expr &known = is_constant(x) ? x : y, &other = is_constant(x) ? y : x;
      return number_of<bool>(known) == (e.node().binary == Binary::and_) ? other : known;
    } else if constexpr (std::is_integral_v<T>) {
      if (is_constant(x) && is_constant(y)) return of_integers<T>(e, number_of<T>(x), number_of<T>(y));
      return is_constant(x) ? beside_number<T>(e, y, number_of<T>(x), true)
                            : beside_number<T>(e, x, number_of<T>(y), false);
    } else {
      return e;
    }
  });
}

// A number or a truth as one of another dtype.
Expr folded_convert(const Expr& e) {
  const Expr x = e.operand(0);
  if (!is_constant(x)) return e;
  return dispatch(x.dtype(), [&]<class From>(std::type_identity<From>) -> Expr {
    if constexpr (std::is_integral_v<From>) {
      const From number = number_of<From>(x);
      return dispatch(e.dtype(), [&]<class To>(std::type_identity<To>) -> Expr {
        if constexpr (std::is_arithmetic_v<To>) {
          const To held = static_cast<To>(number);
          return kernel::constant(e.dtype(), &held);
        } else {
          return e;
        }
      });
    } else {
      return e;
    }
  });
}

}  // namespace

Expr folded(const Expr& e) {
  if (e.kind() == Expr::Kind::binary) return folded_binary(e);
  if (e.kind() == Expr::Kind::convert) return folded_convert(e);
  return e;
}

Binary binary_of(Combine combine) {
  switch (combine) {
    case Combine::add:
      return Binary::add;
    case Combine::mul:
      return Binary::mul;
    case Combine::max:
      return Binary::max;
    case Combine::min:
      return Binary::min;
    case Combine::and_:
      return Binary::and_;
    default:
      return Binary::or_;
  }
}

std::optional<Combine> combine_of(Binary op) {
  for (const Combine c : {Combine::add, Combine::mul, Combine::max, Combine::min, Combine::and_, Combine::or_})
    if (binary_of(c) == op) return c;
  return {};
}

std::size_t SharedValues::KeyHash::operator()(const Key& key) const {
  Hasher h;
  h(key.kind)(key.dtype)(key.unary)(key.binary)(key.id);
  h(std::string_view(reinterpret_cast<const char*>(key.bits.data()), key.bits.size()));
  for (const void* operand : key.operands) h(reinterpret_cast<std::uintptr_t>(operand));
  return static_cast<std::size_t>(h.finish().low);
}

Expr SharedValues::operator()(const Expr& e) {
  if (!e) return e;
  if (const auto found = same_.find(e.identity()); found != same_.end()) return found->second;
  const Expr::Node& old = e.node();
  Expr::Node node{old.kind, old.dtype, old.unary, old.binary, old.bits, old.id, {}};
  bool changed = false;
  for (std::size_t i = 0; i < 3 && old.operands[i]; ++i) {
    node.operands[i] = (*this)(Expr(old.operands[i])).shared();
    changed = changed || node.operands[i] != old.operands[i];
  }
  Key key{node.kind, node.dtype, node.unary, node.binary, node.bits, node.id, {}};
  for (std::size_t i = 0; i < 3; ++i) key.operands[i] = node.operands[i].get();
  auto [at, fresh] = known_.try_emplace(key);
  if (fresh) {
    at->second = changed ? expr_of(std::move(node)) : e;
    const bool computes = e.kind() != Expr::Kind::constant && e.kind() != Expr::Kind::variable;
    if (computes && (e.dtype() != DType::i64 || e.kind() == Expr::Kind::load)) ++instructions_;
  }
  kept_.push_back(e);
  same_.emplace(e.identity(), at->second);
  same_.emplace(at->second.identity(), at->second);
  return at->second;
}

}  // namespace tenon::kernel
