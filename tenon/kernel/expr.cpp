#include "tenon/kernel/expr.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "tenon/base/dim_fold.h"
#include "tenon/base/error.h"

namespace tenon::kernel {
namespace {

constexpr std::string_view unary_names[] = {
    "neg",  "abs",      "sign", "floor", "ceil",      "round",   "sqrt", "rsqrt", "exp",  "expm1",
    "log",  "log1p",    "sin",  "cos",   "tan",       "tanh",    "sinh", "cosh",  "asin", "acos",
    "atan", "logistic", "erf",  "erfc",  "is_finite", "rounded", "not",  "real",  "imag"};
constexpr std::string_view binary_names[] = {"add", "sub", "mul", "div", "rem",        "pow",         "atan2",
                                             "max", "min", "eq",  "ne",  "lt",         "le",          "gt",
                                             "ge",  "and", "or",  "xor", "shift_left", "shift_right", "complex"};

bool is_comparison(Binary op) { return op >= Binary::eq && op <= Binary::ge; }

using Shared = std::shared_ptr<const Expr::Node>;

// When it is freed, operands that nothing else holds are freed behind it and not within: they wait in a list of the
// thread.
struct OwnNode : Expr::Node {
  explicit OwnNode(Expr::Node&& node) : Node(std::move(node)) {}
  OwnNode(const OwnNode&) = delete;
  OwnNode& operator=(const OwnNode&) = delete;
  ~OwnNode() {
    static thread_local std::vector<Shared>* waiting = nullptr;
    std::vector<Shared> of_graph;
    const bool outermost = waiting == nullptr;
    if (outermost) waiting = &of_graph;
    for (Shared& operand : operands)
      if (operand && operand->operands[0] && operand.use_count() == 1)
        waiting->push_back(std::move(operand));
      else
        operand.reset();  // one operand may be another one too
    if (!outermost) return;
    while (!of_graph.empty()) {
      const Shared last = std::move(of_graph.back());
      of_graph.pop_back();
    }
    waiting = nullptr;
  }
};

std::shared_ptr<const Expr::Node> share(const Expr& x) {
  if (!x) throw CompileError("kernel: an expression without a value.");
  return x.shared();
}

bool compare(Binary op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Binary::eq:
      return a == b;
    case Binary::ne:
      return a != b;
    case Binary::lt:
      return a < b;
    case Binary::le:
      return a <= b;
    case Binary::gt:
      return a > b;
    default:
      return a >= b;
  }
}

bool is_index_constant(const Expr& x) { return x.kind() == Expr::Kind::constant && x.dtype() == DType::i64; }

}  // namespace

Expr expr_of(Expr::Node node) { return Expr(std::make_shared<const OwnNode>(std::move(node))); }

std::string_view name(Unary op) { return unary_names[static_cast<std::size_t>(op)]; }
std::string_view name(Binary op) { return binary_names[static_cast<std::size_t>(op)]; }

Expr::Expr(std::int64_t index) : Expr(constant(DType::i64, &index)) {}

Expr constant(DType dtype, const void* bits) {
  Expr::Node node{.kind = Expr::Kind::constant, .dtype = dtype};
  std::memcpy(node.bits.data(), bits, size_of(dtype));
  return expr_of(std::move(node));
}

std::optional<double> real_constant(const Expr::Node& node) {
  const auto number = [&]<class T>(T value) {
    std::memcpy(&value, node.bits.data(), sizeof value);
    return static_cast<double>(value);
  };
  if (node.kind != Expr::Kind::constant) return {};
  if (node.dtype == DType::f32) return number(float());
  return node.dtype == DType::f64 ? std::optional(number(double())) : std::nullopt;
}

Expr constant_like(const Expr& like, double value) {
  return dispatch(like.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (NarrowFloat<T>) {
      const T v(static_cast<float>(value));
      return constant(like.dtype(), &v);
    } else {
      const T v = static_cast<T>(value);
      return constant(like.dtype(), &v);
    }
  });
}

Expr variable(std::uint32_t id, DType dtype) {
  return expr_of({.kind = Expr::Kind::variable, .dtype = dtype, .id = id});
}

namespace {

// Rounded down, of operands of any sign.
std::pair<Expr, Expr> floor_division(const Expr& x, const Expr& y) {
  const Expr zero(std::int64_t(0)), quotient = x / y, rest = x % y;
  const auto is_negative = [&](const Expr& e) { return binary(Binary::lt, e, zero); };
  const Expr up =
      binary(Binary::and_, binary(Binary::ne, rest, zero), binary(Binary::ne, is_negative(rest), is_negative(y)));
  return {select(up, quotient - Expr(std::int64_t(1)), quotient), select(up, rest + y, rest)};
}

}  // namespace

Expr size(const Dim& dim) {
  if (dim.known()) return Expr(dim.value());
  using Kind = Dim::Step::Kind;
  const auto of_leaf = [](const Dim::Step& step) {
    return step.kind == Kind::number ? Expr(step.value)
                                     : variable(first_size_variable + static_cast<std::uint32_t>(step.value));
  };
  return folded<Expr>(dim, of_leaf, [](Kind kind, const Expr& x, const Expr& y) {
    switch (kind) {
      case Kind::add:
        return x + y;
      case Kind::mul:
        return x * y;
      case Kind::floor_div:
        return floor_division(x, y).first;
      case Kind::modulo:
        return floor_division(x, y).second;
      case Kind::min:
        return binary(Binary::min, x, y);
      default:
        return binary(Binary::max, x, y);
    }
  });
}

Expr load(std::uint32_t buffer, DType dtype, const Expr& offset) {
  if (offset.dtype() != DType::i64) throw CompileError("kernel: offsets are i64.");
  return expr_of({.kind = Expr::Kind::load, .dtype = dtype, .id = buffer, .operands = {share(offset)}});
}

Expr unary(Unary op, const Expr& x) {
  const bool of_parts = op == Unary::real || op == Unary::imag;
  const DType dtype = op == Unary::is_finite ? DType::bool_ : of_parts ? real_part_of(x.dtype()) : x.dtype();
  return expr_of({.kind = Expr::Kind::unary, .dtype = dtype, .unary = op, .operands = {share(x)}});
}

// (n / c)·c + n % c, which is what a reshape makes of an offset n.
bool divided_and_put_together(const Expr& x, const Expr& y) {
  const auto is = [](const Expr& e, Binary op) {
    return e.kind() == Expr::Kind::binary && e.node().binary == op && is_index_constant(e.operand(1));
  };
  if (!is(x, Binary::mul) || !is(y, Binary::rem) || !is(x.operand(0), Binary::div)) return false;
  const Expr quotient = x.operand(0);
  const std::int64_t c = constant_value(y.operand(1));
  return c > 0 && quotient.operand(0).identity() == y.operand(0).identity() &&
         constant_value(quotient.operand(1)) == c && constant_value(x.operand(1)) == c;
}

// Indices fold as they are made, so that offsets stay affine where they can be.
Expr binary(Binary op, const Expr& x, const Expr& y) {
  if (x.dtype() != y.dtype())
    throw CompileError(
        fmt::format("kernel: {} of {} and {}.", name(op), tenon::name(x.dtype()), tenon::name(y.dtype())));
  if (x.dtype() == DType::i64) {
    if (is_index_constant(x) && is_index_constant(y)) {
      const auto a = static_cast<std::uint64_t>(constant_value(x)), b = static_cast<std::uint64_t>(constant_value(y));
      if (op == Binary::add) return Expr(static_cast<std::int64_t>(a + b));
      if (op == Binary::sub) return Expr(static_cast<std::int64_t>(a - b));
      if (op == Binary::mul) return Expr(static_cast<std::int64_t>(a * b));
      if (op == Binary::div && constant_value(x) >= 0 && constant_value(y) > 0)
        return Expr(static_cast<std::int64_t>(a / b));
      if (op == Binary::rem && constant_value(x) >= 0 && constant_value(y) > 0)
        return Expr(static_cast<std::int64_t>(a % b));
      if (is_comparison(op)) {
        const bool holds = compare(op, constant_value(x), constant_value(y));
        return constant(DType::bool_, &holds);
      }
    }
    if (op == Binary::add && divided_and_put_together(x, y)) return y.operand(0);
    if (op == Binary::add && is_constant(x, 0)) return y;
    if ((op == Binary::add || op == Binary::sub) && is_constant(y, 0)) return x;
    if (op == Binary::mul && (is_constant(x, 0) || is_constant(y, 1))) return x;
    if (op == Binary::mul && (is_constant(y, 0) || is_constant(x, 1))) return y;
    if (const auto [base, constant] = without_constant(x);
        (op == Binary::add || op == Binary::sub) && constant != 0 && is_index_constant(y)) {
      const auto added = static_cast<std::uint64_t>(constant), more = static_cast<std::uint64_t>(constant_value(y));
      const auto sum = static_cast<std::int64_t>(op == Binary::add ? added + more : added - more);
      return base + Expr(sum);
    }
    if (op == Binary::div && is_constant(y, 1)) return x;
    if (op == Binary::rem && is_constant(y, 1)) return Expr(std::int64_t(0));
  }
  const DType dtype = is_comparison(op) ? DType::bool_ : op == Binary::complex ? complex_of(x.dtype()) : x.dtype();
  return expr_of({.kind = Expr::Kind::binary, .dtype = dtype, .binary = op, .operands = {share(x), share(y)}});
}

// Conditions that are constants choose now: what is not chosen is not there.
Expr select(const Expr& condition, const Expr& if_true, const Expr& if_false) {
  if (condition.dtype() != DType::bool_ || if_true.dtype() != if_false.dtype())
    throw CompileError("kernel: select takes a bool and two values of one dtype.");
  if (condition.kind() == Expr::Kind::constant) return condition.node().bits[0] != std::byte(0) ? if_true : if_false;
  return expr_of({.kind = Expr::Kind::select,
                  .dtype = if_true.dtype(),
                  .operands = {share(condition), share(if_true), share(if_false)}});
}

Expr convert(DType dtype, const Expr& x) {
  if (x.dtype() == dtype) return x;
  return expr_of({.kind = Expr::Kind::convert, .dtype = dtype, .operands = {share(x)}});
}

Expr bitcast(DType dtype, const Expr& x) {
  if (size_of(dtype) != size_of(x.dtype()) || dtype == DType::bool_ || x.dtype() == DType::bool_)
    throw CompileError(fmt::format("kernel: bits of {} as {}.", tenon::name(x.dtype()), tenon::name(dtype)));
  const Expr bits = x.kind() == Expr::Kind::bitcast ? x.operand(0) : x;
  if (bits.dtype() == dtype) return bits;
  return expr_of({.kind = Expr::Kind::bitcast, .dtype = dtype, .operands = {share(bits)}});
}

std::pair<Expr, std::int64_t> without_constant(const Expr& index) {
  if (is_index_constant(index)) return {Expr(std::int64_t(0)), constant_value(index)};
  if (index.kind() != Expr::Kind::binary) return {index, 0};
  const Expr a = index.operand(0), b = index.operand(1);
  if (index.node().binary == Binary::add && is_index_constant(b)) return {a, constant_value(b)};
  if (index.node().binary == Binary::add && is_index_constant(a)) return {b, constant_value(a)};
  if (index.node().binary == Binary::sub && is_index_constant(b))
    return {a, static_cast<std::int64_t>(-static_cast<std::uint64_t>(constant_value(b)))};
  return {index, 0};
}

bool is_constant(const Expr& x, std::int64_t value) { return is_index_constant(x) && constant_value(x) == value; }

std::int64_t constant_value(const Expr& x) {
  std::int64_t value;
  std::memcpy(&value, x.node().bits.data(), sizeof value);
  return value;
}

}  // namespace tenon::kernel
