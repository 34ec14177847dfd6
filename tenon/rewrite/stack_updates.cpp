#include "tenon/rewrite/stack_updates.h"

#include <algorithm>
#include <map>

#include "tenon/ir/replay.h"
#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/convert.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/loop_roles.h"
#include "tenon/ops/shape.h"
#include "tenon/ops/structure.h"
#include "tenon/ops/table.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

using kernel::Affine;
using kernel::Expr;

constexpr std::uint32_t element = 0;  // the variable: which element of xs and stacks a step reads and writes
constexpr int most_ops = 400;         // that are looked at for one number
constexpr std::size_t most_depth = 64;

bool is_number(const Type& t) { return t.is_array() && t.rank() == 0 && is_integer(t.dtype); }

// A Program with the sizes that its variables stand for.
struct Level {
  const Program& program;
  std::vector<const Eqn*> makers;
  SizeBinding sizes;
  Type type(Var v) const { return substitute(program.type(v), sizes); }
  Params params(const Eqn& eqn) const {
    return sizes.empty() ? eqn.params : eqn.params.map_dims([&](const Dim& d) { return substitute(d, sizes); });
  }
};

// Numbers in the body of a loop as expressions of the element of its step.
class StepNumbers {
 public:
  StepNumbers(const Level& around, const Eqn& loop, const LoopParams& p)
      : around_(around),
        loop_(loop),
        roles_(p),
        steps_(*p.length),
        body_{*p.body, makers_of(*p.body), loop_sizes(*p.body, p.body_sizes)},
        ranges_{{element, kernel::below(steps_)}} {
    const Expr at = kernel::variable(element);
    const Expr step = p.reverse ? kernel::size(steps_ - 1) - at : at;
    for (std::size_t k = 0; k < roles_.carries; ++k) count(k, step);
  }

  const Level& body() const { return body_; }
  const Dim& steps() const { return steps_; }

  // The single element of an array of the body.
  std::optional<Affine> number(Var v) { return folded(body_, v); }
  // Whether all elements of an array of the body are true, or false.
  std::optional<bool> truth(Var v) {
    begin();
    std::vector<Expr> any;
    for (std::size_t i = 0; i < body_.program.type(v).rank(); ++i) any.push_back(unknown(DType::i64));
    return kernel::truth_of(kernel::FoldIndices(ranges_)(value(body_, v, any)));
  }

 private:
  // A carry that grows by the same number in each step: by induction, if it does so in the first.
  void count(std::size_t k, const Expr& step) {
    const Var given = loop_.in[roles_.consts + k], before = body_.program.inputs()[roles_.consts + k];
    const Var after = body_.program.outputs()[k];
    if (!is_number(body_.program.type(before))) return;
    const auto first = folded(around_, given);
    if (!first || !first->terms.empty()) return;
    const auto at_step = [&](const Expr& e) { return kernel::convert(body_.program.type(before).dtype, e); };
    counted_[before] = at_step(kernel::size(first->constant));
    const auto second = folded(body_, after);
    if (second && second->terms.empty()) {
      const Dim by = second->constant - first->constant;
      const auto number = [&](const Expr& steps_done) {
        return kernel::size(first->constant) + kernel::size(by) * steps_done;
      };
      counted_[before] = at_step(number(step));
      const auto next = folded(body_, after);
      if (next && next == kernel::affine(number(step + Expr(std::int64_t(1))))) return;
    }
    counted_.erase(before);
  }

  std::optional<Affine> folded(const Level& level, Var v) {
    begin();
    const Type type = level.type(v);
    if (!type.is_array() || !is_integer(type.dtype)) return std::nullopt;
    const std::vector<Expr> only(type.rank(), Expr(std::int64_t(0)));
    const Expr wide = kernel::convert(DType::i64, value(level, v, only));
    return kernel::affine(kernel::FoldIndices(ranges_)(wide));
  }

  void begin() {
    known_.clear();
    ops_ = 0;
    depth_ = 0;
  }
  Expr unknown(DType dtype) { return kernel::variable(++unknowns_, dtype); }

  Expr value(const Level& level, Var v, std::span<const Expr> index) {
    const Type type = level.type(v);
    if (!index.empty()) return made(level, v, type, index);
    const auto key = std::pair(&level, v);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    const Expr e = made(level, v, type, index);
    known_.emplace(key, e);
    return e;
  }
  Expr made(const Level& level, Var v, const Type& type, std::span<const Expr> index) {
    if (const Eqn* eqn = level.makers[v]) return computed(level, *eqn, type, index);
    if (&level == &body_) {
      if (const auto found = counted_.find(v); found != counted_.end()) return found->second;
      const auto at =
          static_cast<std::size_t>(std::ranges::find(body_.program.inputs(), v) - body_.program.inputs().begin());
      if (roles_.is_const(at)) return value(around_, loop_.in[at], index);
      if (roles_.is_xs(at) && around_.program.type(loop_.in[at]).is_array()) {
        std::vector<Expr> row{kernel::variable(element)};
        row.insert(row.end(), index.begin(), index.end());
        return value(around_, loop_.in[at], row);
      }
    }
    return unknown(type.dtype);
  }
  Expr computed(const Level& level, const Eqn& eqn, const Type& type, std::span<const Expr> index) {
    if (ops_ >= most_ops || depth_ >= most_depth) return unknown(type.dtype);
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
  // Numbers that go up or down by as much each.
  Expr of_table(const Eqn& eqn, const Type& type, std::span<const Expr> index) {
    if (index.size() != 1 || !is_integer(type.dtype)) return unknown(type.dtype);
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

  const Level& around_;
  const Eqn& loop_;
  const LoopRoles roles_;
  const Dim steps_;
  const Level body_;
  const kernel::IndexRanges ranges_;
  std::map<Var, Expr> counted_;  // carries of the body
  std::map<std::pair<const Level*, Var>, Expr> known_;
  std::uint32_t unknowns_ = element;
  int ops_ = 0;
  std::size_t depth_ = 0;
};

// A carry whose rows are overwritten one after the other.
struct Written {
  std::size_t carry;
  Var rows;  // what a step writes
  std::size_t axis;
  std::int64_t count;      // of rows a step
  Dim first;               // the number of the first of all rows
  bool backwards = false;  // the step of element 0 writes the last ones
  bool is_all = false;     // there are no other rows
};

// Finds these carries of one loop.
class Search {
 public:
  Search(const Level& around, const Eqn& loop, const LoopParams& p) : p_(p), roles_(p), body_(*p.body) {
    if (p.cond || !p.length || p.lanes || p.checkpoints || *p.length == Dim(0)) return;
    try {
      search(around, loop);
    } catch (const ShapeError&) {  // numbers that are no indices
      found.clear();
    }
  }

  std::vector<Written> found;
  std::vector<const Eqn*> left_out;  // of the body

 private:
  void search(const Level& around, const Eqn& loop) {
    const std::vector<const Eqn*> makers = makers_of(body_);
    for (std::size_t k = 0; k < roles_.carries; ++k) {
      const Eqn* made = makers[body_.outputs()[k]];
      if (made == nullptr || (!is_update(*made->op) && made->op != &select_op())) continue;
      if (!numbers_) {
        numbers_.emplace(around, loop, p_);
        reads_ = reads_of(body_);
      }
      if (auto w = written(k)) {
        found.push_back(std::move(*w));
        left_out.insert(left_out.end(), chain_.begin(), chain_.end());
      }
    }
  }

  // From what the carry is after the step back to what it was before.
  std::optional<Written> written(std::size_t k) {
    chain_.clear();
    const Var before = body_.inputs()[roles_.consts + k];
    std::map<Var, int> reads{{body_.outputs()[k], 1}};  // by the chain
    std::optional<Written> all;
    for (Var v = body_.outputs()[k]; v != before;) {
      const Eqn* eqn = numbers_->body().makers[v];
      if (eqn == nullptr) return std::nullopt;
      chain_.push_back(eqn);
      if (eqn->op == &select_op()) {
        const auto chosen = numbers_->truth(eqn->in[0]);
        if (!chosen) return std::nullopt;
        ++reads[eqn->in[1]], ++reads[eqn->in[2]];
        v = eqn->in[*chosen ? 1 : 2];
        continue;
      }
      const auto one = rows_of(*eqn, k);
      if (!one || (all && !(all->axis == one->axis && all->count == one->count && all->first == one->first &&
                            all->backwards == one->backwards)))
        return std::nullopt;
      if (!all) all = one;
      v = eqn->in[0];
      ++reads[v];
    }
    // Nothing else reads what the carry is on the way.
    for (const Eqn* eqn : chain_)
      if (reads_[eqn->out[0]] != reads[eqn->out[0]]) return std::nullopt;
    return all && reads_[before] == reads[before] ? all : std::nullopt;
  }

  std::optional<Written> rows_of(const Eqn& eqn, std::size_t k) {
    const auto set = rows_set(eqn, body_);
    if (!set || !set->count.known() || set->count.value() < 1) return std::nullopt;
    const auto number = numbers_->number(eqn.in[set->number]);
    if (!number || number->terms.size() != 1 || !number->terms.contains(element)) return std::nullopt;
    const Dim by = number->coefficient(element), &n = numbers_->steps();
    const std::int64_t count = set->count.value();
    if (by != Dim(count) && by != Dim(-count)) return std::nullopt;
    Written w{.carry = k, .rows = eqn.in[set->rows], .axis = set->axis, .count = count, .first = number->constant};
    w.backwards = by != Dim(count);
    if (w.backwards) w.first = w.first + by * (n - 1);
    const Dim all = n * count, size = numbers_->body().type(eqn.in[0]).shape[w.axis];
    if (!at_least(w.first, 0) || !at_least(size - w.first - all, 0)) return std::nullopt;
    w.is_all = w.first == Dim(0) && size == all;
    return w;
  }

  const LoopParams& p_;
  const LoopRoles roles_;
  const Program& body_;
  std::optional<StepNumbers> numbers_;
  std::vector<int> reads_;
  std::vector<const Eqn*> chain_;
};

// The loop that stacks the rows, and its results as they were.
Arrays stacked(LoopParams p, const Search& search, const Arrays& operands, const SizeBinding& sizes) {
  const LoopRoles roles(p);
  const Program& old = *p.body;
  std::vector<const Written*> of_carry(roles.carries, nullptr);
  for (const Written& w : search.found) of_carry[w.carry] = &w;
  const auto goes = [&](std::size_t operand) {
    return roles.is_carry(operand) && of_carry[operand - roles.consts] != nullptr;
  };
  Arrays given;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!goes(i)) given.push_back(operands[i]);
  p.carries -= static_cast<std::int64_t>(search.found.size());
  const TraceResult body = [&] {
    Scope scope;
    Replay replay(old, p.body_sizes);
    const std::vector<Type> types = body_input_types(p, types_of(given));
    for (std::size_t i = 0, next = 0; i < operands.size(); ++i)
      if (!goes(i)) replay.set(old.inputs()[i], scope.input(types[next++]));
    for (const Eqn& eqn : old.eqns())
      if (std::ranges::count(search.left_out, &eqn) == 0) replay.bind_eqn(eqn);
    Arrays outputs;
    for (std::size_t i = 0; i < old.outputs().size(); ++i)
      if (i >= roles.carries || of_carry[i] == nullptr) outputs.push_back(replay.get(old.outputs()[i]));
    for (const Written& w : search.found) {
      const Shape row = operands[roles.consts + w.carry].shape().without_axis(w.axis);
      outputs.push_back(reshape(replay.get(w.rows), w.count == 1 ? row : row.with_axis(w.axis, Dim(w.count))));
    }
    return scope.finish(outputs, old.name());
  }();
  p.body = body.program;
  p.body_sizes = body.sizes;
  const Dim steps = *p.length;
  const Arrays bound = loop(std::move(p), given);
  Arrays results(roles.results());
  std::size_t next = 0;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (i >= roles.carries || of_carry[i] == nullptr) results[i] = bound[next++];
  for (const Written& w : search.found) {
    const Array& before = operands[roles.consts + w.carry];
    Array rows = bound[next++];
    if (w.backwards) rows = reverse(rows, {0});
    rows = move_axis(rows, 0, static_cast<std::int64_t>(w.axis));
    if (w.count != 1) rows = reshape(rows, before.shape().without_axis(w.axis).with_axis(w.axis, steps * w.count));
    if (!w.is_all) {
      Arrays starts(before.rank(), Array(Scalar(std::int64_t(0))));
      starts[w.axis] = size_as_array(substitute(w.first, sizes));
      rows = dynamic_update_slice(before, rows, starts);
    }
    results[w.carry] = rows;
  }
  return results;
}

}  // namespace

ProgramRef stack_updates(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("stack_updates")(program->hash()).finish(), [&] {
    const Level around{*program, makers_of(*program), {}};
    return rewritten(*program, [&](Replay& replay) {
      for (const Eqn& eqn : program->eqns()) {
        if (eqn.op != &loop_op()) {
          replay.bind_eqn(eqn, stack_updates);
          continue;
        }
        const EqnScope place(eqn);
        const auto inside = [](const ProgramRef& p) { return p ? stack_updates(p) : p; };
        const Params params = eqn.params.map_programs(inside);
        const Search search(around, eqn, params.as<LoopParams>());
        const Params here = replay.params(eqn).map_programs(inside);
        const Arrays operands = replay.operands(eqn);
        replay.set_results(eqn, search.found.empty()
                                    ? bind_op(*eqn.op, here, operands)
                                    : stacked(here.as<LoopParams>(), search, operands, replay.sizes()));
      }
    });
  });
}

}  // namespace tenon
