#include "tenon/rewrite/roll_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "tenon/base/settings.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/op.h"
#include "tenon/ops/structure/table.h"
#include "tenon/rewrite/eqn_numbers.h"

namespace tenon {
namespace {

using From = RollOperand::From;

constexpr std::size_t most_eqns = 64;     // of a body
constexpr std::size_t most_calls = 4;     // of the function in a step
constexpr std::size_t most_readers = 16;  // of a result that are tried
constexpr std::size_t few_results = 8;    // that may be read by themselves, besides one of four steps
constexpr int most_rounds = 8;            // of leaving rolls out

std::size_t least_steps() { return units_are_small() ? 3 : 8; }

bool is_call(const Eqn& eqn) { return rule_of<LowerCall>(*eqn.op) != nullptr; }

// Where an eqn of the Program stands in a roll.
struct Place {
  std::size_t roll = nowhere, eqn = 0, step = 0;
};

// What is known of each variable and eqn.
struct Facts {
  explicit Facts(const Program& p)
      : program(p),
        maker(maker_numbers(p)),
        all_readers(p),
        result(p.vars()),
        last_call(p.vars()),
        of_numbers(p.eqns().size()),
        places(p.eqns().size()) {
    for (std::size_t e = 0; e < p.eqns().size(); ++e) {
      const Eqn& eqn = p.eqns()[e];
      std::size_t last = is_call(eqn) ? e + 1 : 0;
      of_numbers[e] = last == 0 && may_move(eqn);
      for (const Var v : eqn.in) {
        last = std::max(last, last_call[v]);
        of_numbers[e] = of_numbers[e] && maker[v] != nowhere && of_numbers[maker[v]];
      }
      for (std::size_t i = 0; i < eqn.out.size(); ++i) result[eqn.out[i]] = i, last_call[eqn.out[i]] = last;
    }
  }
  const Eqn& eqn(std::size_t e) const { return program.eqns()[e]; }
  // The first ones.
  std::span<const std::size_t> readers(Var v) const {
    return all_readers[v].first(std::min(most_readers, all_readers[v].size()));
  }
  bool is_literal(std::size_t e) const { return eqn(e).op == &literal_op(); }
  // Whether two eqns do the same, of operands of the same types.
  bool alike(std::size_t a, std::size_t b) const {
    const Eqn &x = eqn(a), &y = eqn(b);
    if (x.op != y.op || x.in.size() != y.in.size() || x.numerics != y.numerics || !may_move(x) || !may_move(y))
      return false;
    for (std::size_t i = 0; i < x.in.size(); ++i)
      if (!(program.type(x.in[i]) == program.type(y.in[i]))) return false;
    return x.params == y.params;
  }
  static bool may_move(const Eqn& eqn) { return eqn.recompute == 0 && effect_of(eqn) == Effect::none; }

  const Program& program;
  const std::vector<std::size_t> maker;
  const EqnReaders all_readers;
  std::vector<std::size_t> result;     // which result of its eqn a variable is
  std::vector<std::size_t> last_call;  // of those that a variable depends on: their place, from 1 on
  std::vector<bool> of_numbers;        // eqns that follow from literals alone
  std::vector<Place> places;           // in the rolls that have been found
};

// One roll in the making. What a step is follows from how two calls differ; other calls are taken while they differ
// from the one before in the same way.
class Trial {
 public:
  explicit Trial(const Facts& facts) : facts_(facts) {}

  // Whether the second call may be the step behind the first.
  bool begin(std::size_t first, std::size_t second) {
    end_ = 2;
    return lift(first, second, 1);
  }
  // Takes every `apart`-th call while it is a step.
  void extend(std::span<const std::size_t> calls, std::size_t apart) {
    for (std::size_t i = 2 * apart; i < calls.size(); i += apart) {
      for (RollEqn& each : body_) each.at.push_back(nowhere);
      if (!fill(end_, the_call, calls[i])) break;
      ++end_;
    }
    for (RollEqn& each : body_) each.at.resize(end_);
  }
  // Takes eqns that read results of the steps, each that of its own step, and what they need besides; calls may go
  // through the steps in another order, and are looked at by themselves. The first step and the last one stay outside
  // where they have no such eqn.
  void take_readers() {
    with_calls_ = false;
    for (std::size_t k = 0; k < body_.size(); ++k)
      for (std::size_t out = 0; out < facts_.eqn(body_[k].at[begin_]).out.size(); ++out)
        while (take_reader_of(k, out)) {
        }
  }

  std::size_t steps() const { return end_ - begin_; }
  Roll roll() {
    std::vector<std::size_t> order(body_.size()), place(body_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::sort(order, {}, [&](std::size_t k) { return body_[k].at[begin_ + 1]; });
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    Roll roll;
    for (const std::size_t k : order) {
      RollEqn each = std::move(body_[k]);
      each.at = {each.at.begin() + static_cast<std::ptrdiff_t>(begin_),
                 each.at.begin() + static_cast<std::ptrdiff_t>(end_)};
      for (RollOperand& operand : each.operands) {
        if (operand.from == From::before || operand.from == From::here) operand.eqn = place[operand.eqn];
        if (operand.from == From::stacked) operand.first = step_of(operand, begin_);
      }
      roll.body.push_back(std::move(each));
    }
    return roll;
  }

 private:
  Var result(std::size_t k, std::size_t out, std::size_t step) const { return facts_.eqn(body_[k].at[step]).out[out]; }
  static std::size_t step_of(const RollOperand& stacked, std::size_t step) {
    return stacked.backwards ? stacked.first - step : stacked.first + step;
  }

  void place(std::size_t k, std::size_t step, std::size_t e) {
    body_[k].at[step] = e;
    if (!body_[k].of_numbers) at_.emplace(e, std::pair(k, step));
  }
  void leave_out(std::size_t k, std::size_t step) {
    if (body_[k].at[step] != nowhere && !body_[k].of_numbers) at_.erase(body_[k].at[step]);
    body_[k].at[step] = nowhere;
  }
  bool is_taken(std::size_t e) const { return facts_.places[e].roll != nowhere || at_.contains(e); }

  // Two eqns as one of the body, in the step before `step` and in it; with what they need, the nearest first: what is
  // a result of the step before is known as such where it is met further away.
  bool lift(std::size_t before, std::size_t here, std::size_t step) {
    open_.clear();
    if (!lifted(before, here, step)) return false;
    for (std::vector<std::pair<std::size_t, std::size_t>> now, waiting; !open_.empty(); open_ = std::move(waiting)) {
      bool any = false;
      waiting.clear();
      while (!open_.empty()) {
        now = std::exchange(open_, {});
        for (const auto& [k, i] : now) {
          const auto operand = related(in(k, step - 1, i), in(k, step, i), step);
          if (operand)
            body_[k].operands[i] = *operand, any = true;
          else
            waiting.emplace_back(k, i);
        }
      }
      if (!any) return false;
    }
    return true;
  }
  Var in(std::size_t k, std::size_t step, std::size_t i) const { return facts_.eqn(body_[k].at[step]).in[i]; }
  std::optional<std::size_t> lifted(std::size_t before, std::size_t here, std::size_t step) {
    if (!with_calls_ && is_call(facts_.eqn(here))) return std::nullopt;
    if (body_.size() >= most_eqns || is_taken(before) || is_taken(here) || !facts_.alike(before, here) ||
        facts_.of_numbers[before] != facts_.of_numbers[here])
      return std::nullopt;
    const std::size_t k = body_.size(), operands = facts_.eqn(here).in.size();
    body_.push_back(
        {facts_.of_numbers[here], std::vector<RollOperand>(operands), std::vector<std::size_t>(end_, nowhere)});
    place(k, step - 1, before);
    place(k, step, here);
    for (std::size_t i = 0; i < operands; ++i) open_.emplace_back(k, i);
    return k;
  }
  // What an operand is, from what it is in two steps.
  std::optional<RollOperand> related(Var before, Var here, std::size_t step) {
    const std::size_t e = facts_.maker[here], d = facts_.maker[before];
    RollOperand is;
    if (before == here) {
      is.same = here;
      return is_early(here) && !(e != nowhere && at_.contains(e)) ? std::optional(is) : std::nullopt;
    }
    if (e == nowhere || !(facts_.program.type(before) == facts_.program.type(here))) return std::nullopt;
    is.out = facts_.result[here];
    if (const auto found = at_.find(e); found != at_.end()) {
      is.eqn = found->second.first;
      is.from = found->second.second == step ? From::here : From::before;
      const bool fits =
          is.from == From::before ? found->second.second + 1 == step : is_result(before, is.eqn, is.out, step - 1);
      return fits ? std::optional(is) : std::nullopt;
    }
    if (d == nowhere) return std::nullopt;
    if (facts_.is_literal(e) && facts_.is_literal(d)) {
      if (size_of(facts_.program.type(here).dtype) > sizeof(std::int64_t)) return std::nullopt;  // no table holds it
      is.from = From::number;
      return is;
    }
    if (const Place &p = facts_.places[e], &q = facts_.places[d]; p.roll != nowhere) {
      is.from = From::stacked, is.roll = p.roll, is.eqn = p.eqn;
      is.backwards = p.step < q.step;
      if (q.roll != p.roll || q.eqn != p.eqn || facts_.result[before] != is.out) return std::nullopt;
      if (p.step + 1 != q.step && q.step + 1 != p.step) return std::nullopt;
      if (!is.backwards && p.step < step) return std::nullopt;
      is.first = is.backwards ? p.step + step : p.step - step;
      return is;
    }
    if (facts_.result[before] != is.out) return std::nullopt;
    const auto eqn = lifted(d, e, step);
    if (!eqn) return std::nullopt;
    is.from = From::here, is.eqn = *eqn;
    return is;
  }
  bool is_result(Var v, std::size_t k, std::size_t out, std::size_t step) const {
    return facts_.maker[v] == body_[k].at[step] && facts_.maker[v] != nowhere && facts_.result[v] == out;
  }

  // Whether an eqn of the Program is that of the body in this step, with all that it needs: then they are placed.
  bool fill(std::size_t step, std::size_t eqn_of_body, std::size_t of_program) {
    std::vector<std::pair<std::size_t, std::size_t>> open{{eqn_of_body, of_program}};
    std::vector<std::size_t> filled;
    bool fits = true;
    while (fits && !open.empty()) {
      const auto [k, e] = open.back();
      open.pop_back();
      if (body_[k].at[step] == e) continue;
      fits = body_[k].at[step] == nowhere && !is_taken(e) && facts_.of_numbers[e] == body_[k].of_numbers &&
             facts_.alike(first_placed(k), e);
      if (!fits) break;
      place(k, step, e);
      filled.push_back(k);
      for (std::size_t i = 0; fits && i < body_[k].operands.size(); ++i)
        fits = follows(body_[k].operands[i], facts_.eqn(e).in[i], step, open);
    }
    if (!fits)
      for (const std::size_t k : filled) leave_out(k, step);
    return fits;
  }
  std::size_t first_placed(std::size_t k) const {
    return *std::ranges::find_if(body_[k].at, [](std::size_t e) { return e != nowhere; });
  }
  bool follows(const RollOperand& is, Var v, std::size_t step, std::vector<std::pair<std::size_t, std::size_t>>& open) {
    const std::size_t maker = facts_.maker[v];
    switch (is.from) {
      case From::same:
        return v == is.same;
      case From::before:
        return step == begin_ || is_result(v, is.eqn, is.out, step - 1);
      case From::here:
        if (maker == nowhere || facts_.result[v] != is.out) return false;
        open.emplace_back(is.eqn, maker);
        return true;
      case From::number:
        return maker != nowhere && facts_.is_literal(maker);
      case From::stacked: {
        if (maker == nowhere || (is.backwards && is.first < step)) return false;
        const Place& p = facts_.places[maker];
        return p.roll == is.roll && p.eqn == is.eqn && p.step == step_of(is, step) && facts_.result[v] == is.out;
      }
    }
    return false;
  }

  bool take_reader_of(std::size_t k, std::size_t out) {
    if (steps() <= 3) return false;
    for (const std::size_t e : facts_.readers(result(k, out, begin_ + 2)))
      for (const std::size_t d : facts_.readers(result(k, out, begin_ + 1))) {
        if (is_taken(e) || is_taken(d) || !facts_.alike(d, e)) continue;
        const std::size_t known = body_.size();
        if (lift(d, e, begin_ + 2) && fill_all(k, out, known)) return true;
        forget(known);
      }
    return false;
  }
  // An eqn of the body that reads this result, in all steps but the two in which it has been found.
  bool fill_all(std::size_t k, std::size_t out, std::size_t reader) {
    const auto fill_one = [&](std::size_t step) {
      for (const std::size_t e : facts_.readers(result(k, out, step)))
        if (body_[reader].at[step] != nowhere || fill(step, reader, e)) return true;
      return false;
    };
    for (std::size_t step = begin_ + 3; step < end_; ++step) {
      if (fill_one(step)) continue;
      if (step + 1 != end_) return false;
      leave_out_step(--end_);
    }
    if (!fill_one(begin_) || !begins_well(reader)) leave_out_step(begin_++);
    return begins_early(reader);
  }
  // Whether what was taken from `first` on begins with nothing that other calls may have to compute first.
  bool begins_early(std::size_t first) const {
    for (std::size_t k = first; k < body_.size(); ++k)
      for (std::size_t i = 0; i < body_[k].operands.size(); ++i)
        if (body_[k].operands[i].from == From::before && !is_early(in(k, begin_, i))) return false;
    return true;
  }
  bool is_early(Var v) const { return facts_.last_call[v] <= body_[the_call].at[begin_]; }
  // Whether what was taken from `first` on reads in the second step what the first one computed.
  bool begins_well(std::size_t first) const {
    for (std::size_t k = first; k < body_.size(); ++k) {
      for (std::size_t i = 0; i < body_[k].operands.size(); ++i) {
        const RollOperand& is = body_[k].operands[i];
        if (is.from == From::before && !is_result(in(k, begin_ + 1, i), is.eqn, is.out, begin_)) return false;
      }
    }
    return true;
  }
  void leave_out_step(std::size_t step) {
    for (std::size_t k = 0; k < body_.size(); ++k) leave_out(k, step);
  }
  void forget(std::size_t from) {
    for (std::size_t k = from; k < body_.size(); ++k)
      for (std::size_t step = 0; step < body_[k].at.size(); ++step) leave_out(k, step);
    body_.resize(from);
  }

  const Facts& facts_;
  static constexpr std::size_t the_call = 0;
  std::vector<RollEqn> body_;  // the call, then what has been found from it
  std::unordered_map<std::size_t, std::pair<std::size_t, std::size_t>>
      at_;                                                 // eqns of the Program: which, in which step
  std::size_t begin_ = 0, end_ = 0;                        // the steps that are in
  bool with_calls_ = true;                                 // whether other calls are taken
  std::vector<std::pair<std::size_t, std::size_t>> open_;  // eqns and operands to be related
};

class RollSearch {
 public:
  explicit RollSearch(const Program& program) : program_(program), facts_(program) {}

  Rolls find(FunctionRef<bool(const Eqn&)> is_wanted) {
    std::map<std::pair<const OpInfo*, Hash128>, std::vector<std::size_t>> calls;
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      if (!eqn.new_sizes.empty()) return {};  // types may need what no operand shows
      if (!is_call(eqn) || !Facts::may_move(eqn) || !is_wanted(eqn)) continue;
      Hasher hasher;
      eqn.params.hash(hasher);
      calls[{eqn.op, hasher.finish()}].push_back(e);
    }
    std::vector<const std::vector<std::size_t>*> order;
    for (const auto& [key, those] : calls)
      if (those.size() >= least_steps()) order.push_back(&those);
    std::ranges::sort(order, {}, [](const auto* those) { return those->front(); });
    for (const auto* those : order) find_among(*those);
    Rolls found;
    for (int round = 0; !rolls_.empty(); ++round) {
      if (round == most_rounds) leave_out(std::vector<bool>(rolls_.size(), false));
      found.read = read_apart();
      if (leave_out_read_by_many(found.read)) continue;
      found.order = in_order();
      if (found.order.size() == nodes()) break;
    }
    found.rolls = std::move(rolls_);
    return found;
  }

 private:
  void find_among(std::span<const std::size_t> calls) {
    for (; calls.size() >= least_steps(); calls = calls.subspan(1))
      if (facts_.places[calls[0]].roll == nowhere) roll_from(calls);
  }
  // A roll that begins with the first of these calls, or the second, if there is one.
  void roll_from(std::span<const std::size_t> calls) {
    for (std::size_t apart = 1; apart <= most_calls && apart * (least_steps() - 1) < calls.size(); ++apart) {
      Trial trial(facts_);
      if (!trial.begin(calls[0], calls[apart])) continue;
      trial.extend(calls, apart);
      if (trial.steps() < least_steps()) continue;
      trial.take_readers();
      if (trial.steps() < least_steps() || trial.steps() > static_cast<std::size_t>(longest_table)) continue;
      Roll roll = trial.roll();
      for (std::size_t k = 0; k < roll.body.size(); ++k)
        for (std::size_t step = 0; step < roll.steps() && !roll.body[k].of_numbers; ++step)
          facts_.places[roll.body[k].at[step]] = {rolls_.size(), k, step};
      rolls_.push_back(std::move(roll));
      return;
    }
  }

  // What is read from outside of the rolls, and by each roll from outside of it but for stacks, with the reader: an
  // eqn, or behind the eqns a roll; nowhere for the Program's outputs.
  void visit_reads(const std::function<void(Var, std::size_t reader)>& see) const {
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Place& p = facts_.places[e];
      const Eqn& eqn = program_.eqns()[e];
      for (std::size_t i = 0; i < eqn.in.size(); ++i) {
        if (p.roll == nowhere) {
          see(eqn.in[i], e);
        } else if (p.step == 0) {
          const From from = rolls_[p.roll].body[p.eqn].operands[i].from;
          if (from == From::same || from == From::before) see(eqn.in[i], program_.eqns().size() + p.roll);
        }
      }
    }
    for (const Var v : program_.outputs()) see(v, nowhere);
  }

  std::vector<ReadApart> read_apart() const {
    std::vector<ReadApart> read;
    std::vector<bool> seen(program_.vars());
    visit_reads([&](Var v, std::size_t) {
      const std::size_t e = facts_.maker[v];
      if (e == nowhere || facts_.places[e].roll == nowhere || seen[v]) return;
      seen[v] = true;
      const Place& p = facts_.places[e];
      read.push_back({v, p.roll, p.eqn, facts_.result[v], p.step});
    });
    return read;
  }
  // Leaves out rolls of whose steps many are read by themselves; whether there were any.
  bool leave_out_read_by_many(const std::vector<ReadApart>& read) {
    std::vector<std::size_t> apart(rolls_.size());
    for (const ReadApart& each : read) apart[each.roll] += each.step + 1 != rolls_[each.roll].steps();
    std::vector<bool> stays(rolls_.size());
    for (std::size_t r = 0; r < rolls_.size(); ++r) stays[r] = apart[r] <= few_results + rolls_[r].steps() / 4;
    if (std::ranges::count(stays, false) == 0) return false;
    leave_out(stays);
    return true;
  }
  // And what reads their stacks, which has been found behind them.
  void leave_out(std::vector<bool> stays) {
    std::vector<Roll> left;
    std::vector<std::size_t> number(rolls_.size(), nowhere);
    for (std::size_t r = 0; r < rolls_.size(); ++r) {
      for (RollEqn& each : rolls_[r].body)
        for (RollOperand& operand : each.operands)
          if (operand.from == From::stacked) {
            operand.roll = number[operand.roll];
            stays[r] = stays[r] && operand.roll != nowhere;
          }
      if (stays[r]) number[r] = left.size(), left.push_back(std::move(rolls_[r]));
    }
    for (Place& p : facts_.places)
      if (p.roll != nowhere) p.roll = number[p.roll];
    rolls_ = std::move(left);
  }

  std::size_t node(std::size_t e) const {
    return facts_.places[e].roll == nowhere ? e : program_.eqns().size() + facts_.places[e].roll;
  }
  std::size_t nodes() const {
    return rolls_.size() +
           static_cast<std::size_t>(std::ranges::count(facts_.places, nowhere, [](const Place& p) { return p.roll; }));
  }
  // Eqns where they stand, each roll with the last of its own. Where rolls need each other, the last of them is left
  // out, and there is no order yet.
  std::vector<std::size_t> in_order() {
    const std::size_t eqns = program_.eqns().size(), all = eqns + rolls_.size();
    std::vector<std::vector<std::size_t>> waiting(all);
    std::vector<std::size_t> needs(all), at(all);
    const auto wait = [&](std::size_t reader, std::size_t maker) {
      waiting[maker].push_back(reader);
      ++needs[reader];
    };
    visit_reads([&](Var v, std::size_t reader) {
      if (reader != nowhere && facts_.maker[v] != nowhere) wait(reader, node(facts_.maker[v]));
    });
    for (std::size_t r = 0; r < rolls_.size(); ++r)
      for (const RollEqn& each : rolls_[r].body)
        for (const RollOperand& operand : each.operands)
          if (operand.from == From::stacked) wait(eqns + r, eqns + operand.roll);
    std::size_t effect = nowhere;
    using Item = std::pair<std::size_t, std::size_t>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
    for (std::size_t e = 0; e < eqns; ++e) {
      at[node(e)] = e;
      if (effect_of(program_.eqns()[e]) == Effect::none) continue;
      if (effect != nowhere) wait(e, effect);
      effect = e;
    }
    for (std::size_t n = 0; n < all; ++n)
      if (needs[n] == 0 && (n >= eqns || node(n) == n)) ready.emplace(at[n], n);
    std::vector<std::size_t> order;
    std::vector<bool> done(rolls_.size(), false);
    while (!ready.empty()) {
      const std::size_t n = ready.top().second;
      ready.pop();
      order.push_back(n);
      if (n >= eqns) done[n - eqns] = true;
      for (const std::size_t reader : waiting[n])
        if (--needs[reader] == 0) ready.emplace(at[reader], reader);
    }
    if (order.size() == nodes()) return order;
    const auto last = std::ranges::find(done.rbegin(), done.rend(), false) - done.rbegin();
    std::vector<bool> stays(rolls_.size(), true);
    stays[rolls_.size() - 1 - static_cast<std::size_t>(last)] = false;
    leave_out(stays);
    return {};
  }

  const Program& program_;
  Facts facts_;
  std::vector<Roll> rolls_;
};

}  // namespace

Rolls find_rolls(const Program& program, FunctionRef<bool(const Eqn&)> is_wanted) {
  return RollSearch(program).find(is_wanted);
}

}  // namespace tenon
