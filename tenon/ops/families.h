// Makers of ops by family: each fills the slots that all its members share, so that an ordinary op is ten lines.
#pragma once

#include <cmath>
#include <complex>
#include <functional>

#include "tenon/ir/bind.h"
#include "tenon/ops/promotion.h"

namespace tenon {

// A set of dtypes as a type, so that an op's eval is compiled for its members only.
template <std::uint32_t Mask>
struct DTypes {
  static constexpr bool has(DType d) { return (Mask >> static_cast<unsigned>(d)) & 1u; }
};
namespace dtypes {
constexpr std::uint32_t bits(DType first, DType last) {  // of these and those between them
  return (2u << static_cast<unsigned>(last)) - (1u << static_cast<unsigned>(first));
}
inline constexpr std::uint32_t bool_bit = 1u, signed_bits = bits(DType::i8, DType::i64),
                               unsigned_bits = bits(DType::u8, DType::u64), real_bits = bits(DType::f8e3m4, DType::f64),
                               scale_bit = bits(DType::f8e8m0fnu, DType::f8e8m0fnu),
                               complex_bits = bits(DType::c64, DType::c128);
inline constexpr DTypes<real_bits> real;
inline constexpr DTypes<real_bits | complex_bits> inexact;
inline constexpr DTypes<complex_bits> complex;
inline constexpr DTypes<bool_bit | signed_bits | unsigned_bits> logical;
inline constexpr DTypes<signed_bits | unsigned_bits> integer;
inline constexpr DTypes<signed_bits | unsigned_bits | real_bits> ordered_numbers;
inline constexpr DTypes<bool_bit | signed_bits | unsigned_bits | real_bits> ordered;
inline constexpr DTypes<bool_bit | signed_bits | unsigned_bits | real_bits | scale_bit> compared;
inline constexpr DTypes<signed_bits | unsigned_bits | real_bits | complex_bits> numbers;
inline constexpr DTypes<bits(DType::bool_, DType::c128)> all;
}  // namespace dtypes

// The type that a storage type is computed in, and back: f8, f16 and bf16 in float.
template <class T>
auto widen(T value) {
  if constexpr (NarrowFloat<T>)
    return static_cast<float>(value);
  else
    return value;
}
template <class T, class U>
T narrow(U value) {
  return static_cast<T>(value);
}

// op(x, y), where arithmetic of integers wraps around and never traps.
template <class T>
T wrap(auto op, T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    using Computed = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, Unsigned>;
    return static_cast<T>(op(static_cast<Computed>(x), static_cast<Computed>(y)));
  } else {
    return op(x, y);
  }
}

// x·y. Of complex numbers by its formula, as native code has it; std::complex makes infinities of some NaN after it.
struct Times {
  template <class T>
  auto operator()(T x, T y) const {
    if constexpr (requires { x.imag(); })
      return T(x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real());
    else
      return x * y;
  }
};

using TangentRule = std::function<Array(const Array& x, const Array& y, const Array& dx)>;  // y = op(x)
using PartialRule =
    std::function<Array(const Array& x, const Array& y, const Array& z, const Array& d)>;  // z = op(x, y)
using Domain = std::pair<double, double>;
// In place of a TangentRule: the derivative is 0 wherever there is one, so that there is no tangent.
struct FlatEverywhere {};

// The tangent of an operand, or the zero of its type.
Array tangent_or_zero(const JvpArgs& args, std::size_t i);

namespace family {

// Of ops whose result is their first operand to all but transformations. `elementwise`: as are all their operands.
EvalRule first_operand();
LowerElement first_operand_lowered(bool elementwise);

// What to do about an operand of a dtype that an op does not take.
std::string dtype_advice(bool (*has)(DType), DType dtype);

// What the makers need that does not depend on an op's eval.
OpInfo elementwise(std::string_view name, std::string_view summary, std::size_t operands, bool (*has)(DType),
                   EvalRule eval, Slot<JvpRule> jvp, Slot<TransposeRule> transpose,
                   std::function<kernel::Expr(std::span<const kernel::Expr>)> lower, std::vector<Domain> domains,
                   DType (*result)(DType), Traits traits = {});
JvpRule unary_jvp(const OpInfo& op, TangentRule rule);
JvpRule unary_jvp(const OpInfo& op, FlatEverywhere);
JvpRule binary_jvp(const OpInfo& op, PartialRule first, PartialRule second);
Buffer contiguous(const Value& value);
inline DType same(DType d) { return d; }
inline DType boolean(DType) { return DType::bool_; }
// Of ops that work along their last axes or element by element: the lanes are one axis more in front.
BatchResult batch_in_front(const OpInfo& op, const BatchArgs& args);

}  // namespace family

// The eval slot of an elementwise op of one operand, from a function of one element.
template <class Set, class F>
EvalRule eval_unary(Set, F f) {
  return [f](const Params&, std::span<const Value> in, const EvalContext& context) {
    const Buffer x = family::contiguous(in[0]);
    Buffer out = Buffer::allocate(context.out[0].dtype, x.dims());
    const std::int64_t n = x.elements();
    dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
      if constexpr (Set::has(*dtype_of<T>)) {
        using R = decltype(f(widen(T())));
        const T* from = x.as<T>();
        if constexpr (std::is_same_v<R, bool>) {
          bool* to = out.as<bool>();
          for (std::int64_t i = 0; i < n; ++i) to[i] = f(widen(from[i]));
        } else {
          T* to = out.as<T>();
          for (std::int64_t i = 0; i < n; ++i) to[i] = narrow<T>(f(widen(from[i])));
        }
      }
    });
    return std::vector<Value>{out};
  };
}

template <class Set, class F>
EvalRule eval_binary(Set, F f) {
  return [f](const Params&, std::span<const Value> in, const EvalContext& context) {
    const Buffer x = family::contiguous(in[0]), y = family::contiguous(in[1]);
    Buffer out = Buffer::allocate(context.out[0].dtype, x.dims());
    const std::int64_t n = x.elements();
    dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
      if constexpr (Set::has(*dtype_of<T>)) {
        using R = decltype(f(widen(T()), widen(T())));
        const T *a = x.as<T>(), *b = y.as<T>();
        if constexpr (std::is_same_v<R, bool>) {
          bool* to = out.as<bool>();
          for (std::int64_t i = 0; i < n; ++i) to[i] = f(widen(a[i]), widen(b[i]));
        } else {
          T* to = out.as<T>();
          for (std::int64_t i = 0; i < n; ++i) to[i] = narrow<T>(f(widen(a[i]), widen(b[i])));
        }
      }
    });
    return std::vector<Value>{out};
  };
}

// y = op(x), element by element.
template <class Set, class F>
struct UnarySpec {
  std::string_view name, summary;
  Set dtypes;
  F eval;
  std::variant<TangentRule, FlatEverywhere, Absent> jvp;
  kernel::Unary lower;
  Domain sample;
  std::variant<TransposeRule, Absent> transpose = Absent{"not linear"};
  DType (*result)(DType) = family::same;
  Traits traits = {};
};

template <class Set, class F>
OpInfo unary(const OpInfo& self, UnarySpec<Set, F> spec) {
  return family::elementwise(
      spec.name, spec.summary, 1, &Set::has, eval_unary(spec.dtypes, spec.eval),
      std::visit(
          [&](auto&& rule) -> Slot<JvpRule> {
            if constexpr (std::is_same_v<std::decay_t<decltype(rule)>, Absent>)
              return rule;
            else
              return family::unary_jvp(self, rule);
          },
          spec.jvp),
      std::visit([](auto&& rule) -> Slot<TransposeRule> { return rule; }, spec.transpose),
      [op = spec.lower](std::span<const kernel::Expr> x) { return kernel::unary(op, x[0]); }, {spec.sample},
      spec.result, spec.traits);
}

// z = op(x, y), element by element; operands of one type.
template <class Set, class F>
struct BinarySpec {
  std::string_view name, summary;
  Set dtypes;
  F eval;
  std::variant<std::pair<PartialRule, PartialRule>, Absent> jvp;
  kernel::Binary lower;
  std::vector<Domain> sample;
  std::variant<TransposeRule, Absent> transpose = Absent{"not linear"};
  DType (*result)(DType) = family::same;
  Traits traits = {};
};

template <class Set, class F>
OpInfo binary(const OpInfo& self, BinarySpec<Set, F> spec) {
  return family::elementwise(
      spec.name, spec.summary, 2, &Set::has, eval_binary(spec.dtypes, spec.eval),
      std::visit(
          [&](auto&& rule) -> Slot<JvpRule> {
            if constexpr (std::is_same_v<std::decay_t<decltype(rule)>, Absent>)
              return rule;
            else
              return family::binary_jvp(self, rule.first, rule.second);
          },
          spec.jvp),
      std::visit([](auto&& rule) -> Slot<TransposeRule> { return rule; }, spec.transpose),
      [op = spec.lower](std::span<const kernel::Expr> x) { return kernel::binary(op, x[0], x[1]); }, spec.sample,
      spec.result, spec.traits);
}

}  // namespace tenon
