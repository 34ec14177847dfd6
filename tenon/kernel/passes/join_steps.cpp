#include "tenon/kernel/passes/join_steps.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/instructions.h"
#include "tenon/kernel/analysis/joined_nests.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

// Where elements of a nest lie, if they lie one behind the other as its indices count: by the first.
std::optional<Affine> row_of(const Nest& n, Affine offset) {
  Dim stride = 1;
  for (std::size_t i = n.vars.size(); i-- > 0;) {
    if (offset.coefficient(n.vars[i]) != stride && n.sizes[i] != Dim(1)) return {};
    offset.terms.erase(n.vars[i]);
    stride = stride * n.sizes[i];
  }
  return offset;
}

// The store by which a nest writes what a copy behind it copies.
std::optional<Store> copied(const Nest& n, const Copy& c) {
  const auto from = affine(c.from_offset), to = affine(c.to_offset);
  if (!from || !to || c.elements != product_of(n.sizes)) return {};
  for (const Store& s : n.stores) {
    if (s.slot != c.from) continue;
    const auto offset = affine(s.offset);
    if (!offset || row_of(n, *offset) != from) return {};
    Affine there = *to;
    for (std::size_t i = 0; i < n.vars.size(); ++i)
      if (const Dim by = offset->coefficient(n.vars[i]); by != Dim(0)) there.add(n.vars[i], by);
    return Store{c.to, to_expr(there), s.value, {}};
  }
  return {};
}

class Joiner {
 public:
  Joiner(Function& function, const Target& target) : f_(function), target_(target) {}

  void block(Block& statements) {
    Block result;
    for (Statement& s : statements) {
      for_each_block(s, [&](Block& inside) { block(inside); });
      auto* loop = std::get_if<For>(&s.held());
      if (loop == nullptr || !join(*loop, result)) result.push_back(std::move(s));
    }
    statements = std::move(result);
  }

 private:
  // What steps write of a slot: the one store, where it goes, and by how much that moves with the step.
  struct Written {
    std::size_t store;
    Affine offset;
    Dim by_step;
  };

  // A step: what a nest stores, and what reductions over its last axes, behind `outer` ones, give.
  struct Step {
    Nest nest;
    std::vector<Reduce::Result> results = {};
    std::size_t outer = 0;
  };
  static std::optional<Step> step_of(const For& loop) {
    const auto* r = loop.body.size() == 1 ? std::get_if<Reduce>(&loop.body[0].held()) : nullptr;
    if (r == nullptr) {
      auto nest = nest_of(loop);
      return nest ? std::optional(Step{std::move(*nest)}) : std::nullopt;
    }
    return Step{r->stores_everywhere(), r->results(), r->outer_vars.size()};
  }
  static Statement statement_of(Step step) {
    if (step.results.empty()) return std::move(step.nest);
    const auto outer = static_cast<std::ptrdiff_t>(step.outer);
    const Nest& n = step.nest;
    Reduce r{.outer_vars = {n.vars.begin(), n.vars.begin() + outer},
             .inner_vars = {n.vars.begin() + outer, n.vars.end()},
             .outer_sizes = {n.sizes.begin(), n.sizes.begin() + outer},
             .inner_sizes = {n.sizes.begin() + outer, n.sizes.end()},
             .stores = n.stores,
             .where = n.where};
    r.set_results(std::move(step.results));
    return r;
  }
  // Whether what the steps' reductions give is read by none of them, and stays where the step wrote it, or is the last
  // step's.
  static bool are_results_apart(const Step& step, std::uint32_t var, const std::map<SlotId, Written>& slots) {
    std::set<SlotId> places;
    for (const Reduce::Result& result : step.results) {
      const auto offset = affine(result.offset);
      if (!offset || slots.contains(result.slot)) return false;
      const Dim by_step = offset->coefficient(var);
      if (by_step != Dim(0) && !leads_beyond(outer_of(step), *offset, by_step)) return false;
      places.insert(result.slot);
    }
    bool apart = true;
    const auto check = [&](const Expr& load) { apart = apart && !places.contains(load.node().id); };
    const auto of_loop = [&](const Expr& load) {
      check(load);
      apart = apart && !slots.contains(load.node().id);
    };
    for (const Store& s : step.nest.stores) visit_loads(s.value, check), visit_loads(s.offset, check);
    for (const Reduce::Result& result : step.results)
      visit_loads(result.value, check), visit_loads(result.initial, of_loop), visit_loads(result.offset, of_loop);
    return apart;
  }
  static Nest outer_of(const Step& step) {
    const auto outer = static_cast<std::ptrdiff_t>(step.outer);
    return {{step.nest.vars.begin(), step.nest.vars.begin() + outer},
            {step.nest.sizes.begin(), step.nest.sizes.begin() + outer},
            {}};
  }

  // The step as one nest, if it is that: nests that go through the same indices, of which each reads of others and
  // writes its own place alone, and copies of rows that they have written.
  static std::optional<Nest> nest_of(const For& loop) {
    std::optional<Nest> all;
    for (const Statement& s : loop.body) {
      if (const auto* n = std::get_if<Nest>(&s.held())) {
        if (!n->independent || n->sizes.empty()) return {};
        if (std::ranges::any_of(n->stores, [](const Store& s) { return bool(s.condition); })) return {};
        all = all ? one_behind_other(*all, *n) : std::optional(*n);
      } else if (const auto* copy = std::get_if<Copy>(&s.held()); copy != nullptr && all) {
        if (const auto store = copied(*all, *copy))
          all->stores.push_back(*store);
        else
          return {};
      } else {
        return {};
      }
      if (!all) return {};
    }
    return all;
  }

  // Of each slot that the steps write; nothing where an element may read, or write, what is another one's.
  static std::optional<std::map<SlotId, Written>> written(const Nest& n, std::uint32_t step) {
    std::map<SlotId, Written> slots;
    for (std::size_t i = 0; i < n.stores.size(); ++i) {
      const auto offset = affine(n.stores[i].offset);
      if (!offset) return {};
      const Dim by_step = offset->coefficient(step);
      if (by_step != Dim(0) && !leads_beyond(n, *offset, by_step)) return {};  // steps would meet
      if (!slots.emplace(n.stores[i].slot, Written{i, *offset, by_step}).second) return {};
    }
    return slots;
  }
  // How many steps before wrote what is read: 0 where it lies there since before the loop, or no step of a turn reads
  // it behind its writing. Nothing where it may be another element's.
  static std::optional<std::int64_t> steps_since(const Written& w, const Expr& offset) {
    auto behind = affine(offset);
    if (!behind) return {};
    for (const auto& [var, by] : w.offset.terms) behind->add(var, by * -1);
    if (!behind->terms.empty()) return {};
    const Dim apart = w.offset.constant - behind->constant;
    if (w.by_step == Dim(0)) return apart == Dim(0) ? std::optional<std::int64_t>(1) : std::nullopt;
    const auto steps = exact_quotient(apart, w.by_step);
    return steps && steps->known() ? std::optional(std::max<std::int64_t>(steps->value(), 0)) : std::nullopt;
  }

  // One of the steps of a turn: what those before it have written is the values that they store.
  class OneStep : public Rewrite {
   public:
    using Values = std::vector<std::vector<Expr>>;  // of the steps before, by stores
    OneStep(const std::map<SlotId, Written>& written, const Values& before) : written_(written), before_(before) {}

   protected:
    Expr load(const Expr& old, const Expr& offset) override {
      const auto found = written_.find(old.node().id);
      if (found == written_.end()) return Rewrite::load(old, offset);
      const auto since = static_cast<std::size_t>(*steps_since(found->second, old.operand(0)));
      if (since == 0 || since > before_.size()) return Rewrite::load(old, offset);
      return before_[before_.size() - since][found->second.store];
    }

   private:
    const std::map<SlotId, Written>& written_;
    const Values& before_;
  };

  bool join(const For& loop, Block& result) {
    const auto step = step_of(loop);
    if (!step || target_.in_registers(product_of(step->nest.sizes))) return false;
    const Nest& n = step->nest;
    const auto slots = written(n, loop.var);
    if (!slots || !are_results_apart(*step, loop.var, *slots)) return false;
    Instructions all;
    for (const Store& s : n.stores) all.add(s.value);
    for (const Reduce::Result& result : step->results) all.add(result.value);
    const std::int64_t at_once = std::min(steps_a_turn(all, loop.count), steps_of_results(step->results.size()));
    if (at_once == 1) return false;
    bool own = true, carries = false;
    const auto check = [&](const Expr& load) {
      const auto found = slots->find(load.node().id);
      if (found == slots->end()) return;
      const auto since = steps_since(found->second, load.operand(0));
      own = own && since.has_value();
      carries = carries || (since && *since > 0 && *since < at_once);
    };
    for (const Store& s : n.stores) visit_loads(s.value, check), visit_loads(s.offset, check);
    for (const Reduce::Result& result : step->results) visit_loads(result.value, check);
    if (!own || !carries) return false;
    const Dim turns = floor_div(loop.count, at_once), rest = modulo(loop.count, at_once);
    result.push_back(For{loop.var, turns, {statement_of(joined(*step, *slots, loop.var, at_once))}, loop.in_order});
    if (rest == Dim(0)) return true;
    const std::uint32_t var = f_.vars++;
    result.push_back(
        For{var, rest, {statement_of(alone(*step, loop.var, size(turns * at_once) + variable(var)))}, loop.in_order});
    return true;
  }
  // As many as leave a turn so short that a processor's window holds several elements of it, which wait for none of
  // each other's steps; two of longer steps.
  static std::int64_t steps_a_turn(const Instructions& step, const Dim& count) {
    constexpr std::int64_t most = 8;
    constexpr double short_turn = 80, longest = 128, fewest_turns = 4;  // instructions
    std::int64_t steps = most;
    while (steps > 1 && (static_cast<double>(steps) * step.number() > (steps == 2 ? longest : short_turn) ||
                         estimate(count) < fewest_turns * static_cast<double>(steps)))
      steps /= 2;
    return steps;
  }

  // Each has an accumulator.
  static std::int64_t steps_of_results(std::size_t results) {
    constexpr std::size_t most = 8;
    return static_cast<std::int64_t>(std::bit_floor(most / std::clamp<std::size_t>(results, 1, most)));
  }

  Step joined(const Step& of, const std::map<SlotId, Written>& slots, std::uint32_t step, std::int64_t at_once) {
    const Nest& n = of.nest;
    Step all{n, {}, of.outer};
    Nest& turn = all.nest;
    turn.stores.clear();
    for (std::size_t i = 0; i < n.vars.size(); ++i) turn.vars[i] = f_.vars++;
    OneStep::Values values;
    for (std::int64_t k = 0; k < at_once; ++k) {
      OneStep now(slots, values);
      now.vars.emplace(step, variable(step) * Expr(at_once) + Expr(k));
      for (std::size_t i = 0; i < n.vars.size(); ++i) now.vars.emplace(n.vars[i], variable(turn.vars[i]));
      std::vector<Expr> of_step;
      for (const Store& s : n.stores) {
        of_step.push_back(now(s.value));
        const bool stays = k + 1 == at_once || slots.at(s.slot).by_step != Dim(0);
        if (stays) turn.stores.push_back({s.slot, now(s.offset), of_step.back(), {}});
      }
      for (const Reduce::Result& result : of.results)
        if (k + 1 == at_once || moves_with(result.offset, step)) all.results.push_back(moved(result, now));
      values.push_back(std::move(of_step));
    }
    return all;
  }
  static bool moves_with(const Expr& offset, std::uint32_t step) { return affine(offset)->coefficient(step) != Dim(0); }
  static Reduce::Result moved(const Reduce::Result& r, Rewrite& to) {
    return {r.combine, to(r.initial), to(r.value), r.slot, to(r.offset)};
  }
  Step alone(const Step& of, std::uint32_t step, const Expr& number) {
    Rewrite now;
    now.vars.emplace(step, number);
    Step result = of;
    std::vector<std::uint32_t>& vars = result.nest.vars;
    for (std::size_t i = 0; i < vars.size(); ++i) now.vars.emplace(of.nest.vars[i], variable(vars[i] = f_.vars++));
    for (Store& s : result.nest.stores) s.offset = now(s.offset), s.value = now(s.value);
    for (Reduce::Result& r : result.results) r = moved(r, now);
    return result;
  }

  Function& f_;
  Target target_;
};

}  // namespace

void join_steps(Function& function, const Target& target) { Joiner(function, target).block(function.body); }

}  // namespace tenon::kernel
