#include "tenon/rewrite/step_numbers.h"

#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/ops/structure/table.h"

namespace tenon {

using kernel::Affine;
using kernel::Expr;

namespace {

constexpr int most_ops = 400;  // that are looked at for one number
constexpr std::size_t most_depth = 64;

bool is_number(const Type& t) { return t.is_array() && t.rank() == 0 && is_integer(t.dtype); }

}  // namespace

StepNumbers::StepNumbers(const LoopLevel& around, const Eqn& loop, const LoopParams& p)
    : around_(around),
      loop_(loop),
      roles_(p),
      steps_(*p.length),
      body_{*p.body, makers_of(*p.body), loop_sizes(*p.body, p.body_sizes)},
      ranges_{{step_element, kernel::below(steps_)}},
      input_of_(p.body->vars()) {
  for (std::size_t i = 0; i < body_.program.inputs().size(); ++i) input_of_[body_.program.inputs()[i]] = i;
  const Expr at = kernel::variable(step_element);
  const Expr step = p.reverse ? kernel::size(steps_ - 1) - at : at;
  for (std::size_t k = 0; k < roles_.carries; ++k) count(k, step);
}

std::optional<bool> StepNumbers::truth(Var v) {
  begin();
  std::vector<Expr> any;
  for (std::size_t i = 0; i < body_.program.type(v).rank(); ++i) any.push_back(unknown(DType::i64));
  return kernel::truth_of(kernel::FoldIndices(ranges_, AnySizes::most)(value(body_, v, any)));
}

void StepNumbers::count(std::size_t k, const Expr& step) {
  const Var given = loop_.in[roles_.consts + k], before = body_.program.inputs()[roles_.consts + k];
  const Var after = body_.program.outputs()[k];
  if (!is_number(body_.program.type(before))) return;
  const auto first = folded(around_, given);
  if (!first || !first->terms.empty()) return;
  const auto at_step = [&](const Expr& e) { return kernel::convert(body_.program.type(before).dtype, e); };
  assume(before, at_step(kernel::size(first->constant)));
  const auto second = folded(body_, after);
  if (second && second->terms.empty()) {
    const Dim by = second->constant - first->constant;
    const auto number = [&](const Expr& steps_done) {
      return kernel::size(first->constant) + kernel::size(by) * steps_done;
    };
    assume(before, at_step(number(step)));
    const auto next = folded(body_, after);
    if (next && next == kernel::affine(number(step + Expr(std::int64_t(1))))) return;
  }
  counted_.erase(before);
  known_.clear();
}

std::optional<Affine> StepNumbers::folded(const LoopLevel& level, Var v) {
  begin();
  const Type type = level.type(v);
  if (!type.is_array() || !is_integer(type.dtype)) return std::nullopt;
  const std::vector<Expr> only(type.rank(), Expr(std::int64_t(0)));
  const Expr wide = kernel::convert(DType::i64, value(level, v, only));
  return kernel::affine(kernel::FoldIndices(ranges_, AnySizes::most)(wide));
}

Expr StepNumbers::value(const LoopLevel& level, Var v, std::span<const Expr> index) {
  const Type type = level.type(v);
  if (!index.empty()) return made(level, v, type, index);
  const auto key = std::pair(&level, v);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const Expr e = made(level, v, type, index);
  known_.emplace(key, e);
  return e;
}

Expr StepNumbers::made(const LoopLevel& level, Var v, const Type& type, std::span<const Expr> index) {
  if (const Eqn* eqn = level.makers[v]) return computed(level, *eqn, type, index);
  if (&level == &body_) {
    if (const auto found = counted_.find(v); found != counted_.end()) return found->second;
    const auto at =
        static_cast<std::size_t>(std::ranges::find(body_.program.inputs(), v) - body_.program.inputs().begin());
    if (roles_.is_const(at)) return value(around_, loop_.in[at], index);
    if (roles_.is_xs(at) && around_.program.type(loop_.in[at]).is_array()) {
      std::vector<Expr> row{kernel::variable(step_element)};
      row.insert(row.end(), index.begin(), index.end());
      return value(around_, loop_.in[at], row);
    }
  }
  return unknown(type.dtype);
}

Expr StepNumbers::computed(const LoopLevel& level, const Eqn& eqn, const Type& type, std::span<const Expr> index) {
  const bool whole = is_integer(type.dtype) || type.dtype == DType::bool_;
  if (!whole || ops_ >= most_ops || depth_ >= most_depth) return unknown(type.dtype);
  if (eqn.op == &table_op()) return of_table(eqn, type, index);
  const auto* element_of = rule_of<LowerElement>(*eqn.op);
  if (element_of == nullptr || eqn.out.size() != 1) return unknown(type.dtype);
  ++ops_, ++depth_;
  std::vector<Type> in;
  for (const Var x : eqn.in) in.push_back(level.type(x));
  const Params params = level.params(eqn);
  const std::vector<Type> out{type};
  const Expr e = element_of->rule(
      {params, in, out, index,
       [&](std::size_t operand, std::span<const Expr> at) { return value(level, eqn.in[operand], at); },
       [](const Dim&) {}});
  --depth_;
  return e;
}

Expr StepNumbers::of_table(const Eqn& eqn, const Type& type, std::span<const Expr> index) {
  if (index.size() != 1 || !is_integer(type.dtype)) return unknown(type.dtype);
  const CompileTime no_trace;  // the numbers are wanted now
  const Buffer numbers = convert(Array(table_array(eqn.params)), DType::i64).to_buffer();
  const std::int64_t n = numbers.elements(), *values = numbers.as<std::int64_t>();
  if (n == 0) return unknown(type.dtype);
  const auto apart = [&](std::int64_t i) {
    return static_cast<std::uint64_t>(values[i]) - static_cast<std::uint64_t>(values[i - 1]);
  };
  for (std::int64_t i = 2; i < n; ++i)
    if (apart(i) != apart(1)) return unknown(type.dtype);
  const Expr by(n > 1 ? static_cast<std::int64_t>(apart(1)) : 0);
  return kernel::convert(type.dtype, Expr(values[0]) + by * index[0]);
}

}  // namespace tenon
