// Expr: scalar expressions over loop variables and loads; what the `lower` slots of ops speak. Knows no target and no
// IR.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "tenon/base/dim.h"
#include "tenon/base/dtype.h"

namespace tenon::kernel {

enum class Unary : std::uint8_t {
  neg,
  abs,
  sign,
  floor,
  ceil,
  round,
  sqrt,
  rsqrt,
  exp,
  expm1,
  log,
  log1p,
  sin,
  cos,
  tan,
  tanh,
  sinh,
  cosh,
  asin,
  acos,
  atan,
  logistic,
  erf,
  erfc,
  is_finite,
  rounded,  // the number itself, which no operation that reads it makes one with the operation that gave it (x·y + z)
  not_,
  real,  // of a complex number
  imag
};
enum class Binary : std::uint8_t {
  add,
  sub,
  mul,
  div,
  rem,
  pow,
  atan2,
  max,
  min,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  and_,
  or_,
  xor_,
  shift_left,
  shift_right,
  complex  // of a real and an imaginary part
};
// How a reduction combines; the identity is the op's own.
enum class Combine : std::uint8_t { add, mul, max, min, and_, or_ };

std::string_view name(Unary op);
std::string_view name(Binary op);

// An immutable handle of a node of a shared graph. Arithmetic follows the ops of the same names: integer division by
// zero gives -1, max and min propagate NaN, conversions to integers saturate.
class Expr {
 public:
  enum class Kind : std::uint8_t { constant, variable, load, unary, binary, select, convert, bitcast };
  struct Node {
    Kind kind;
    DType dtype;
    Unary unary{};
    Binary binary{};
    std::array<std::byte, 16> bits{};  // of constants
    std::uint32_t id = 0;              // of variables and of the buffer of loads
    std::array<std::shared_ptr<const Node>, 3> operands{};
  };

  Expr() = default;
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  Expr(std::int64_t index);  // implicit: an i64 constant, for arithmetic with indices

  const Node& node() const { return *node_; }
  const std::shared_ptr<const Node>& shared() const { return node_; }
  const Node* identity() const { return node_.get(); }
  DType dtype() const { return node_->dtype; }
  Kind kind() const { return node_->kind; }
  Expr operand(std::size_t i) const { return Expr(node_->operands[i]); }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  std::shared_ptr<const Node> node_;
};

// The one way to make a node. A graph is freed without recursion, however deep it is.
Expr expr_of(Expr::Node node);
Expr constant(DType dtype, const void* bits);
Expr constant_like(const Expr& like, double value);  // of the other's dtype
Expr variable(std::uint32_t id, DType dtype = DType::i64);
// A size: a number, or of variables that stand for the size parameters of the Program, number k as this one.
inline constexpr std::uint32_t first_size_variable = std::uint32_t(1) << 31;
inline bool is_size_variable(std::uint32_t id) { return id >= first_size_variable; }
inline bool is_found_size_variable(std::uint32_t id) { return id >= first_size_variable + first_found_size; }
Expr size(const Dim& dim);
// Whether it is known to be.
inline bool at_most(const Dim& size, std::int64_t limit) { return size.known() && size.value() <= limit; }
Expr load(std::uint32_t buffer, DType dtype, const Expr& offset);  // offset in elements
Expr unary(Unary op, const Expr& x);
Expr binary(Binary op, const Expr& x, const Expr& y);
Expr select(const Expr& condition, const Expr& if_true, const Expr& if_false);
Expr convert(DType dtype, const Expr& x);
Expr bitcast(DType dtype, const Expr& x);  // the bits of a number as one of another dtype of that size

// An index as another one and a constant that is added to it. Of two indices of which the one is the other plus a
// constant, made by adding it, the first is the same node.
std::pair<Expr, std::int64_t> without_constant(const Expr& index);

// The value of a constant of f32 or f64; nothing of other expressions.
std::optional<double> real_constant(const Expr::Node& node);
// The value of an i64 constant.
inline bool is_constant(const Expr& x) { return x.kind() == Expr::Kind::constant; }
bool is_constant(const Expr& x, std::int64_t value);
std::int64_t constant_value(const Expr& x);

inline Expr operator+(const Expr& x, const Expr& y) { return binary(Binary::add, x, y); }
inline Expr operator-(const Expr& x, const Expr& y) { return binary(Binary::sub, x, y); }
inline Expr operator*(const Expr& x, const Expr& y) { return binary(Binary::mul, x, y); }
inline Expr operator/(const Expr& x, const Expr& y) { return binary(Binary::div, x, y); }
inline Expr operator%(const Expr& x, const Expr& y) { return binary(Binary::rem, x, y); }
inline Expr operator-(const Expr& x) { return unary(Unary::neg, x); }

}  // namespace tenon::kernel
