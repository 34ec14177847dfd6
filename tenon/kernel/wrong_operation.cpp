#include "tenon/kernel/wrong_operation.h"

#include <array>

namespace tenon::kernel {
namespace {

bool is_numeric(DType d) { return d != DType::bool_; }
bool has_bits(DType d) { return d == DType::bool_ || is_integer(d); }

std::string_view wrong_unary(const Expr::Node& n, DType x) {
  switch (n.unary) {
    case Unary::real:
    case Unary::imag:
      if (!is_complex(x)) return "it takes a part of what is not complex";
      return n.dtype == real_part_of(x) ? "" : "its dtype is not that of a part";
    case Unary::is_finite:
      if (!is_inexact(x)) return "it asks whether an integer or a bool is finite";
      return n.dtype == DType::bool_ ? "" : "what is asked has another dtype than bool";
    case Unary::not_:
      if (!has_bits(x)) return "its operand is neither bool nor an integer";
      break;
    case Unary::neg:
    case Unary::abs:
    case Unary::sign:
      if (!is_numeric(x)) return "its operand is a bool";
      break;
    case Unary::floor:
    case Unary::ceil:
    case Unary::round:
      if (!is_numeric(x) || is_complex(x)) return "its operand is not real";
      break;
    default:
      if (!is_inexact(x)) return "its operand is neither real nor complex";
  }
  return n.dtype == x ? "" : "its dtype is not its operand's";
}

std::string_view wrong_binary(const Expr::Node& n, DType x, DType y) {
  if (x != y) return "its operands have different dtypes";
  switch (n.binary) {
    case Binary::complex:
      if (x != DType::f32 && x != DType::f64) return "its parts are neither f32 nor f64";
      return n.dtype == complex_of(x) ? "" : "its dtype is not that of a number of such parts";
    case Binary::eq:
    case Binary::ne:
      return n.dtype == DType::bool_ ? "" : "what is compared has another dtype than bool";
    case Binary::lt:
    case Binary::le:
    case Binary::gt:
    case Binary::ge:
      if (is_complex(x)) return "complex numbers have no order";
      return n.dtype == DType::bool_ ? "" : "what is compared has another dtype than bool";
    case Binary::and_:
    case Binary::or_:
    case Binary::xor_:
      if (!has_bits(x)) return "its operands are neither bool nor integers";
      break;
    case Binary::shift_left:
    case Binary::shift_right:
      if (!is_integer(x)) return "its operands are no integers";
      break;
    case Binary::max:
    case Binary::min:
      if (is_complex(x)) return "complex numbers have no order";
      break;
    case Binary::atan2:
      if (!is_real(x)) return "its operands are not real";
      break;
    default:
      if (!is_numeric(x)) return "its operands are bools";
  }
  return n.dtype == x ? "" : "its dtype is not its operands'";
}

}  // namespace

std::string_view wrong_operation(const Expr::Node& n) {
  const auto operand = [&](std::size_t i) { return n.operands[i]->dtype; };
  constexpr std::array<std::size_t, 8> arity{0, 0, 1, 1, 2, 3, 1, 1};  // by kind
  for (std::size_t i = 0; i < n.operands.size(); ++i)
    if ((i < arity[static_cast<std::size_t>(n.kind)]) != bool(n.operands[i]))
      return "it has another number of operands";
  switch (n.kind) {
    case Expr::Kind::constant:
      return "";
    case Expr::Kind::variable:
      return n.dtype == DType::i64 ? "" : "a variable is no i64";
    case Expr::Kind::load:
      return operand(0) == DType::i64 ? "" : "its offset is no i64";
    case Expr::Kind::unary:
      return wrong_unary(n, operand(0));
    case Expr::Kind::binary:
      return wrong_binary(n, operand(0), operand(1));
    case Expr::Kind::select:
      if (operand(0) != DType::bool_) return "its condition is no bool";
      return operand(1) == operand(2) && n.dtype == operand(1) ? "" : "what it chooses from has different dtypes";
    case Expr::Kind::convert:
      return "";
    case Expr::Kind::bitcast:
      if (size_of(n.dtype) != size_of(operand(0))) return "its bits are not as many as its operand's";
      return n.dtype != DType::bool_ && operand(0) != DType::bool_ ? "" : "bools have no bits of their own";
  }
  return "";
}

}  // namespace tenon::kernel
