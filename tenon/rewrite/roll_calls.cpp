#include "tenon/rewrite/roll_calls.h"

#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tenon/ir/adapt.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/table.h"
#include "tenon/rewrite/roll_search.h"
#include "tenon/rewrite/share_calls.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

using From = RollOperand::From;

// A result of one eqn of the body of a roll.
struct Result {
  std::size_t roll, eqn, out;
  auto operator<=>(const Result&) const = default;
};

class Rebuild {
 public:
  Rebuild(const Program& program, const Rolls& found, Replay& replay)
      : program_(program), found_(found), rolls_(found.rolls), replay_(replay), maker_(makers_of(program)) {
    for (const Roll& roll : rolls_) {
      reversed_.push_back(reads_backwards(roll));
      for (const RollEqn& each : roll.body)
        for (const RollOperand& operand : each.operands)
          if (operand.from == From::stacked) stacked_.insert({operand.roll, operand.eqn, operand.out});
    }
    for (const ReadApart& read : found.read) {
      const bool last = read.step + 1 == rolls_[read.roll].steps();
      (last ? read_last_ : stacked_).insert({read.roll, read.eqn, read.out});
    }
  }

  void bind() {
    const std::size_t eqns = program_.eqns().size();
    for (const std::size_t n : found_.order) {
      if (n < eqns)
        replay_.bind_eqn(program_.eqns()[n]);
      else
        bind_roll(n - eqns);
    }
  }

 private:
  // What one loop is given, in order.
  struct Operands {
    std::map<Var, std::size_t> consts;
    std::map<std::tuple<std::size_t, std::size_t, Var>, std::size_t> carries;  // eqn, result, before the first step
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> last;           // eqn, result: carries of the last step
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> numbers;        // eqn, operand
    std::map<std::tuple<Result, std::size_t, bool>, std::size_t> stacks;       // which, first, backwards
    Arrays const_arrays, carry_arrays, xs;
  };

  const Eqn& eqn_of(std::size_t r, std::size_t k, std::size_t step) const {
    return program_.eqns()[rolls_[r].body[k].at[step]];
  }
  Var var_of(const Result& of, std::size_t step) const { return eqn_of(of.roll, of.eqn, step).out[of.out]; }
  // Most loops that read stacks read all of them the same way round; those of another way are turned round first.
  static bool reads_backwards(const Roll& roll) {
    std::ptrdiff_t backwards = 0;
    for (const RollEqn& each : roll.body)
      for (const RollOperand& operand : each.operands)
        if (operand.from == From::stacked) backwards += operand.backwards ? 1 : -1;
    return backwards > 0;
  }

  void bind_roll(std::size_t r) {
    const Roll& roll = rolls_[r];
    const EqnScope place(eqn_of(r, 0, 0));
    Operands operands = operands_of(r);
    std::vector<Result> stacks;
    for (auto each = stacked_.lower_bound({r, 0, 0}); each != stacked_.end() && each->roll == r; ++each)
      stacks.push_back(*each);
    LoopParams p;
    p.length = Dim(static_cast<std::int64_t>(roll.steps()));
    p.reverse = reversed_[r];
    p.consts = static_cast<std::int64_t>(operands.const_arrays.size());
    p.carries = static_cast<std::int64_t>(operands.carry_arrays.size());
    const Arrays given = joined({operands.const_arrays, operands.carry_arrays, operands.xs});
    const TraceResult body = body_of(r, operands, stacks, body_input_types(p, types_of(given)));
    p.body = body.program;
    p.body_sizes = body.sizes;
    const Arrays results = loop(p, given);
    for (std::size_t i = 0; i < stacks.size(); ++i)
      stacks_.emplace(stacks[i], results[operands.carry_arrays.size() + i]);
    for (const auto& [result, carry] : operands.last)
      replay_.set(var_of({r, result.first, result.second}, roll.steps() - 1), results[carry]);
    for (const ReadApart& read : found_.read)
      if (const auto stack = stacks_.find({r, read.eqn, read.out}); read.roll == r && stack != stacks_.end())
        replay_.set(read.var, squeeze(rows(stack->second, element(r, read.step), 1), 0));
  }
  // Which element of a stack a step writes.
  std::size_t element(std::size_t r, std::size_t step) const {
    return reversed_[r] ? rolls_[r].steps() - 1 - step : step;
  }
  static Array rows(const Array& x, std::size_t first, std::size_t count) {
    std::vector<Dim> start(x.rank(), Dim(0)), limit(x.shape().begin(), x.shape().end());
    start[0] = Dim(static_cast<std::int64_t>(first));
    limit[0] = Dim(static_cast<std::int64_t>(first + count));
    return slice(x, start, limit);
  }

  Operands operands_of(std::size_t r) const {
    const Roll& roll = rolls_[r];
    Operands all;
    for (std::size_t k = 0; k < roll.body.size(); ++k)
      for (std::size_t i = 0; i < roll.body[k].operands.size(); ++i) {
        const RollOperand& is = roll.body[k].operands[i];
        const Var first = eqn_of(r, k, 0).in[i];
        if (is.from == From::same) {
          if (all.consts.emplace(is.same, all.const_arrays.size()).second)
            all.const_arrays.push_back(replay_.get(is.same));
        } else if (is.from == From::before) {
          if (all.carries.emplace(std::tuple(is.eqn, is.out, first), all.carry_arrays.size()).second)
            all.carry_arrays.push_back(replay_.get(first));
        } else if (is.from == From::number) {
          all.numbers.emplace(std::pair(k, i), all.xs.size());
          all.xs.push_back(numbers(r, k, i));
        } else if (is.from == From::stacked) {
          const Result result{is.roll, is.eqn, is.out};
          if (all.stacks.emplace(std::tuple(result, is.first, is.backwards), all.xs.size()).second)
            all.xs.push_back(stack_for(r, result, is));
        }
      }
    for (auto each = read_last_.lower_bound({r, 0, 0}); each != read_last_.end() && each->roll == r; ++each)
      if (!stacked_.contains(*each)) keep_last(*each, all);
    return all;
  }
  // A result that is read behind the loop is a carry, if no other step reads it: it begins with zeros.
  void keep_last(const Result& result, Operands& all) const {
    const std::pair key(result.eqn, result.out);
    for (const auto& [carry, at] : all.carries)
      if (std::get<0>(carry) == result.eqn && std::get<1>(carry) == result.out) {
        all.last.emplace(key, at);
        return;
      }
    all.last.emplace(key, all.carry_arrays.size());
    all.carry_arrays.push_back(zeros_of(replay_.type(var_of(result, 0))));
  }
  Array numbers(std::size_t r, std::size_t k, std::size_t i) const {
    const std::size_t steps = rolls_[r].steps();
    const DType dtype = program_.type(eqn_of(r, k, 0).in[i]).dtype;
    Buffer all = Buffer::allocate(dtype, {static_cast<std::int64_t>(steps)});
    for (std::size_t step = 0; step < steps; ++step) {
      const Scalar& number = literal_value(maker_[eqn_of(r, k, step).in[i]]->params);
      std::memcpy(all.data() + element(r, step) * size_of(dtype), number.data(), size_of(dtype));
    }
    return bind1(table_op(), table_params(all), {});
  }
  // The rows of a stack that the steps read, where their elements are.
  Array stack_for(std::size_t r, const Result& result, const RollOperand& is) const {
    const std::size_t steps = rolls_[r].steps();
    const auto read = [&](std::size_t step) {
      return element(result.roll, is.backwards ? is.first - step : is.first + step);
    };
    const Array part = rows(stacks_.at(result), std::min(read(0), read(steps - 1)), steps);
    const bool falls = read(0) > read(steps - 1);
    return falls == reversed_[r] ? part : reverse(part, {0});
  }

  TraceResult body_of(std::size_t r, const Operands& operands, const std::vector<Result>& stacks,
                      const std::vector<Type>& inputs) const {
    const Roll& roll = rolls_[r];
    Scope scope;
    Arrays given;
    for (const Type& type : inputs) given.push_back(scope.input(type));
    const std::size_t carries = operands.const_arrays.size(), xs = carries + operands.carry_arrays.size();
    std::vector<Arrays> made;
    for (std::size_t k = 0; k < roll.body.size(); ++k) {
      const Eqn& eqn = eqn_of(r, k, 0);
      Arrays in;
      for (std::size_t i = 0; i < roll.body[k].operands.size(); ++i) {
        const RollOperand& is = roll.body[k].operands[i];
        switch (is.from) {
          case From::same:
            in.push_back(given[operands.consts.at(is.same)]);
            break;
          case From::before:
            in.push_back(given[carries + operands.carries.at({is.eqn, is.out, eqn.in[i]})]);
            break;
          case From::here:
            in.push_back(made[is.eqn][is.out]);
            break;
          case From::number:
            in.push_back(given[xs + operands.numbers.at({k, i})]);
            break;
          case From::stacked:
            in.push_back(given[xs + operands.stacks.at({{is.roll, is.eqn, is.out}, is.first, is.backwards})]);
            break;
        }
      }
      const EqnScope place(eqn);
      // One call in a loop would be priced as one: a unit is compiled once, whoever else calls it.
      const OpInfo& op = eqn.op == &call_op() ? call_op(Placement::unit) : *eqn.op;
      made.push_back(bind_op(op, replay_.params(eqn), in));
    }
    Arrays outputs(operands.carry_arrays.size());
    for (const auto& [carry, at] : operands.carries) outputs[at] = made[std::get<0>(carry)][std::get<1>(carry)];
    for (const auto& [result, at] : operands.last) outputs[at] = made[result.first][result.second];
    for (const Result& result : stacks) outputs.push_back(made[result.eqn][result.out]);
    return scope.finish(outputs, "steps");
  }

  const Program& program_;
  const Rolls& found_;
  const std::vector<Roll>& rolls_;
  Replay& replay_;
  const std::vector<const Eqn*> maker_;
  std::vector<bool> reversed_;  // whether a roll's loop goes through its elements the other way round
  std::set<Result> stacked_, read_last_;
  std::map<Result, Array> stacks_;
};

// Rolls the calls of a Program and of those in it, each of these once.
class Roller {
 public:
  explicit Roller(const SharedFunctions* shared = nullptr) : shared_(shared) {}
  ProgramRef roll(const ProgramRef& program) {
    if (!holds_programs(*program)) return program;
    if (const auto found = rolled_.find(program->hash()); found != rolled_.end()) return found->second;
    require_stack();
    const ProgramRef inner = with_regions(program, [this](const ProgramRef& region) { return roll(region); });
    return rolled_.emplace(program->hash(), own(inner)).first->second;
  }
  static bool calls(const Program& program) {
    return find_eqn(program, [](const Eqn& eqn) { return rule_of<LowerCall>(*eqn.op) != nullptr; }) != nullptr;
  }

 private:
  ProgramRef own(const ProgramRef& program) const {
    const Rolls found =
        find_rolls(*program, [this](const Eqn& call) { return shared_ == nullptr || shared_->stays(call); });
    if (found.rolls.empty()) return program;
    return rewritten(*program, [&](Replay& replay) { Rebuild(*program, found, replay).bind(); });
  }
  const SharedFunctions* shared_;
  std::unordered_map<Hash128, ProgramRef> rolled_;
};

}  // namespace

ProgramRef roll_calls(const ProgramRef& program) {
  if (!Roller::calls(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("roll_calls")(program->hash()).finish(), [&] { return Roller().roll(program); });
}

ProgramRef roll_shared_calls(const ProgramRef& program) {
  if (!Roller::calls(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("roll_shared_calls")(program->hash()).finish(), [&] {
    const SharedFunctions shared(program);
    return Roller(&shared).roll(program);
  });
}

}  // namespace tenon
