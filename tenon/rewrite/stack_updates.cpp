#include "tenon/rewrite/stack_updates.h"

#include <algorithm>
#include <map>
#include <set>

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
    return kernel::truth_of(kernel::FoldIndices(ranges_, AnySizes::most)(value(body_, v, any)));
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
    return kernel::affine(kernel::FoldIndices(ranges_, AnySizes::most)(wide));
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

// Rows along one axis, as many in each step, one after the other.
struct Rows {
  std::size_t axis;
  std::int64_t count;  // a step
  Dim first;           // the number of the first of all rows
  bool backwards;      // the step of element 0 has the last ones
  bool is_all;         // there are no other rows
  friend bool operator==(const Rows&, const Rows&) = default;
};
// A carry whose rows are overwritten.
struct Written {
  std::size_t carry;
  Rows rows;
  Var update;  // what a step writes
};

// Finds these carries of one loop, and the constants that its steps read nothing else of than one row each, all rows in
// their order: they are xs.
class Search {
 public:
  Search(const Level& around, const Eqn& loop, const LoopParams& p) : p_(p), roles_(p), body_(*p.body) {
    if (p.cond || !p.length || p.lanes || p.checkpoints || *p.length == Dim(0)) return;
    try {
      search(around, loop);
    } catch (const ShapeError&) {  // numbers that are no indices
      written.clear(), taken.clear(), left_out.clear();
    }
  }

  bool changes() const { return !written.empty() || !taken.empty(); }
  std::vector<Written> written;
  std::map<Var, std::vector<const Eqn*>> taken;  // constants of the body, with the eqns that read them
  std::set<const Eqn*> left_out;                 // of the body: those that write

 private:
  void search(const Level& around, const Eqn& loop) {
    const std::vector<const Eqn*> makers = makers_of(body_);
    std::vector<std::size_t> updated;
    for (std::size_t k = 0; k < roles_.carries; ++k) {
      const Eqn* made = makers[body_.outputs()[k]];
      if (made != nullptr && (is_update(*made->op) || made->op == &select_op())) updated.push_back(k);
    }
    const std::set<Var> consts(body_.inputs().begin(), body_.inputs().begin() + p_.consts);
    std::map<Var, std::vector<const Eqn*>> read;
    for (const Eqn& eqn : body_.eqns())
      if (eqn.op == &dynamic_slice_op() && consts.contains(eqn.in[0])) read[eqn.in[0]].push_back(&eqn);
    if (updated.empty() && read.empty()) return;
    numbers_.emplace(around, loop, p_);
    reads_ = reads_of(body_);
    for (const std::size_t k : updated) write(k);
    for (const auto& [v, eqns] : read) {
      const auto in_order = [&](const Eqn* eqn) {
        const auto part = rows_taken(*eqn, body_);
        const auto rows = part ? rows_of(*eqn, part->axis, part->number, part->count) : std::nullopt;
        return rows && rows->axis == 0 && rows->count == 1 && rows->is_all && !rows->backwards;
      };
      if (reads_[v] == static_cast<int>(eqns.size()) && std::ranges::all_of(eqns, in_order)) taken.emplace(v, eqns);
    }
  }

  // From what the carry is after the step back to what it was before.
  void write(std::size_t k) {
    const Var before = body_.inputs()[roles_.consts + k];
    std::vector<const Eqn*> chain;
    std::map<Var, int> reads{{body_.outputs()[k], 1}};  // by the chain
    std::optional<Written> found;
    for (Var v = body_.outputs()[k]; v != before;) {
      const Eqn* eqn = numbers_->body().makers[v];
      if (eqn == nullptr) return;
      chain.push_back(eqn);
      if (eqn->op == &select_op()) {
        const auto chosen = numbers_->truth(eqn->in[0]);
        if (!chosen) return;
        ++reads[eqn->in[1]], ++reads[eqn->in[2]];
        v = eqn->in[*chosen ? 1 : 2];
        continue;
      }
      const auto set = rows_set(*eqn, body_);
      const auto rows = set ? rows_of(*eqn, set->axis, set->number, set->count) : std::nullopt;
      if (!rows || (found && found->rows != *rows)) return;
      if (!found) found = Written{k, *rows, eqn->in[set->rows]};
      v = eqn->in[0];
      ++reads[v];
    }
    // Nothing else reads what the carry is on the way.
    const auto is_read = [&](Var v) { return reads_[v] != reads[v]; };
    if (!found || is_read(before) || std::ranges::any_of(chain, [&](const Eqn* e) { return is_read(e->out[0]); }))
      return;
    written.push_back(*found);
    left_out.insert(chain.begin(), chain.end());
  }

  // Of an eqn that reads or writes rows of its first operand. All of them lie inside.
  std::optional<Rows> rows_of(const Eqn& eqn, std::size_t axis, std::size_t number, const Dim& count) {
    if (!count.known() || count.value() < 1) return std::nullopt;
    const auto at = numbers_->number(eqn.in[number]);
    if (!at || at->terms.size() != 1 || !at->terms.contains(element)) return std::nullopt;
    const Dim by = at->coefficient(element), &n = numbers_->steps();
    if (by != count && by != 0 - count) return std::nullopt;
    Rows rows{.axis = axis, .count = count.value(), .first = at->constant, .backwards = by != count, .is_all = false};
    if (rows.backwards) rows.first = rows.first + by * (n - 1);
    const Dim all = n * count, size = numbers_->body().type(eqn.in[0]).shape[axis];
    if (!at_least(rows.first, 0) || !at_least(size - rows.first - all, 0)) return std::nullopt;
    rows.is_all = rows.first == Dim(0) && size == all;
    return rows;
  }

  const LoopParams& p_;
  const LoopRoles roles_;
  const Program& body_;
  std::optional<StepNumbers> numbers_;
  std::vector<int> reads_;
};

// Writes one loop anew: consts, carries and xs that stay, then xs that were consts; carries and stacks that stay, then
// stacks of rows.
class Rebuild {
 public:
  Rebuild(const Search& search, LoopParams p, Arrays operands)
      : search_(search), p_(std::move(p)), old_(*p_.body), roles_(p_), operands_(std::move(operands)) {
    becomes_.assign(operands_.size(), Becomes::itself);
    is_written_.assign(roles_.results(), false);
    for (const Written& w : search.written) {
      becomes_[roles_.consts + w.carry] = Becomes::stack;
      is_written_[w.carry] = true;
    }
    for (std::size_t i = 0; i < roles_.consts; ++i)
      if (search.taken.contains(old_.inputs()[i])) becomes_[i] = Becomes::xs;
  }

  Arrays bind(const SizeBinding& sizes) {
    Arrays given = those(Becomes::itself, operands_);
    for (const Array& xs : those(Becomes::xs, operands_)) given.push_back(xs);
    p_.consts -= static_cast<std::int64_t>(search_.taken.size());
    p_.carries -= static_cast<std::int64_t>(search_.written.size());
    const std::optional<Dim> steps = p_.length;
    const TraceResult body = trace(types_of(given));
    p_.body = body.program;
    p_.body_sizes = body.sizes;
    const Arrays bound = loop(std::move(p_), given);
    Arrays results;
    std::size_t next = 0;
    for (const bool written : is_written_) results.push_back(written ? Array() : bound[next++]);
    for (const Written& w : search_.written)
      results[w.carry] = whole(w.rows, operands_[roles_.consts + w.carry], bound[next++], *steps, sizes);
    return results;
  }

 private:
  enum class Becomes : std::uint8_t { itself, xs, stack };
  template <class Items>
  Items those(Becomes what, const Items& operands) const {
    Items some;
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (becomes_[i] == what) some.push_back(operands[i]);
    return some;
  }

  TraceResult trace(std::span<const Type> given) const {
    const std::vector<Var> inputs(old_.inputs().begin(), old_.inputs().end());
    std::vector<Var> order = those(Becomes::itself, inputs);
    for (const Var v : those(Becomes::xs, inputs)) order.push_back(v);
    Scope scope;
    Replay replay(old_, p_.body_sizes);
    const std::vector<Type> types = body_input_types(p_, given);
    std::map<const Eqn*, Array> rows;  // by the eqns that read them
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Array input = scope.input(types[i]);
      const auto taken = search_.taken.find(order[i]);
      if (taken == search_.taken.end())
        replay.set(order[i], input);
      else
        for (const Eqn* eqn : taken->second) rows.emplace(eqn, input);
    }
    for (const Eqn& eqn : old_.eqns()) {
      const auto row = rows.find(&eqn);
      if (row != rows.end())
        replay.set(eqn.out[0], reshape(row->second, replay.type(eqn.out[0]).shape));
      else if (!search_.left_out.contains(&eqn))
        replay.bind_eqn(eqn);
    }
    Arrays outputs;
    for (std::size_t i = 0; i < old_.outputs().size(); ++i)
      if (!is_written_[i]) outputs.push_back(replay.get(old_.outputs()[i]));
    for (const Written& w : search_.written) {
      const Shape row = operands_[roles_.consts + w.carry].shape().without_axis(w.rows.axis);
      const Array& update = replay.get(w.update);
      outputs.push_back(reshape(update, w.rows.count == 1 ? row : row.with_axis(w.rows.axis, Dim(w.rows.count))));
    }
    return scope.finish(outputs, old_.name());
  }

  // What the carry is behind the loop.
  static Array whole(const Rows& rows, const Array& before, Array stack, const Dim& steps, const SizeBinding& sizes) {
    if (rows.backwards) stack = reverse(stack, {0});
    stack = move_axis(stack, 0, static_cast<std::int64_t>(rows.axis));
    if (rows.count != 1)
      stack = reshape(stack, before.shape().without_axis(rows.axis).with_axis(rows.axis, steps * rows.count));
    if (rows.is_all) return stack;
    Arrays starts(before.rank(), Array(Scalar(std::int64_t(0))));
    starts[rows.axis] = size_as_array(substitute(rows.first, sizes));
    return dynamic_update_slice(before, stack, starts);
  }

  const Search& search_;
  LoopParams p_;
  const Program& old_;
  const LoopRoles roles_;
  const Arrays operands_;
  std::vector<Becomes> becomes_;  // of each operand
  std::vector<bool> is_written_;  // of each result
};

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
        const Params params = eqn.params.map_programs([](const ProgramRef& p) { return p ? stack_updates(p) : p; });
        const Search search(around, eqn, params.as<LoopParams>());
        const Params here = params.map_dims([&](const Dim& d) { return substitute(d, replay.sizes()); });
        const Arrays operands = replay.operands(eqn);
        replay.set_results(eqn, search.changes() ? Rebuild(search, here.as<LoopParams>(), operands).bind(replay.sizes())
                                                 : bind_op(*eqn.op, here, operands));
      }
    });
  });
}

}  // namespace tenon
