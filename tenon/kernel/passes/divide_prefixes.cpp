#include "tenon/kernel/passes/divide_prefixes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tenon/kernel/analysis/cost.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/analysis/shared_values.h"
#include "tenon/kernel/analysis/updates.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/move_slots.h"

namespace tenon::kernel {
namespace {

// A carry: each step combines `term` with the elements of `slot` that the nest goes over.
struct Carry {
  SlotId slot;
  const Nest* nest;
  Expr offset, term;
  Binary op;
};

// The places of an access in one step: `first`, moved by `by_step` from step to step, and `last` more at most.
struct Reach {
  Dim first, by_step, last = 0;
  // Whether those of different steps are apart.
  bool apart() const { return at_least(by_step - last, 1) || at_least(0 - by_step - last, 1); }
};

// What the statements of a step do to a slot.
struct Touched {
  int times = 0, writes = 0;
  bool read = false;
  bool whole = false;        // the first of them writes all of it, and does nothing else to it
  bool in_rows = true;       // each step writes places of its own
  std::optional<Reach> row;  // which
};

class LoopOfCarries {
 public:
  LoopOfCarries(const Function& f, const SlotUses& uses, const For& loop) : f_(f), uses_(uses), loop_(loop) {}

  // Whether nothing goes from step to step but carries.
  bool run() {
    for (const Statement& s : loop_.body)
      if (!note(s)) return false;
    std::set<SlotId> found;
    for (const Statement& s : loop_.body)
      if (const auto* nest = std::get_if<Nest>(&s.held())) find_carries(*nest, found);
    if (carries.empty()) return false;
    for (const auto& [slot, touched] : touched_) {
      if (touched.writes == 0 || found.contains(slot)) continue;
      if (is_own(slot, touched)) {
        own.push_back(slot);
        continue;
      }
      if (touched.read || !touched.in_rows) return false;
      stacks = true;
    }
    return true;
  }

  std::vector<Carry> carries;
  std::vector<SlotId> own;  // what a step has for itself
  bool stacks = false;      // whether steps give anything else

 private:
  bool note(const Statement& s) {
    const auto* nest = std::get_if<Nest>(&s.held());
    const auto* copy = std::get_if<Copy>(&s.held());
    if (nest == nullptr && copy == nullptr) return false;
    std::set<SlotId> before;
    std::map<SlotId, int> here;
    visit_slots(s, [&](SlotId slot, bool write) {
      Touched& touched = touched_[slot];
      if (touched.times++ > 0 && here[slot] == 0) before.insert(slot);
      ++here[slot];
      if (write) ++touched.writes;
      touched.read = touched.read || !write;
    });
    std::map<std::uint32_t, Dim> sizes;
    Expr row_major(0);
    if (nest != nullptr)
      for (std::size_t i = 0; i < nest->vars.size(); ++i) {
        sizes.emplace(nest->vars[i], nest->sizes[i]);
        row_major = row_major * size(nest->sizes[i]) + variable(nest->vars[i]);
      }
    const Dim elements = nest != nullptr ? product_of(nest->sizes) : copy->elements;
    const auto all = affine(row_major);
    const auto write = [&](SlotId slot, const Expr& offset, bool always) {
      const auto at = affine(offset);
      Touched& touched = touched_[slot];
      touched.whole = touched.whole || (always && at && at == all && here[slot] == 1 && !before.contains(slot) &&
                                        elements == f_.slots[slot].elements);
      note_row(touched, at ? reach_of(*at, sizes, copy != nullptr ? elements : Dim(1)) : std::nullopt);
    };
    if (copy != nullptr) write(copy->to, copy->to_offset, true);
    if (nest != nullptr)
      for (const Store& store : nest->stores) write(store.slot, store.offset, !store.condition);
    return true;
  }
  std::optional<Reach> reach_of(const Affine& at, const std::map<std::uint32_t, Dim>& sizes, const Dim& run) const {
    Reach reach{at.constant, at.coefficient(loop_.var), run - 1};
    for (const auto& [var, coefficient] : at.terms) {
      if (var == loop_.var) continue;
      const auto size = sizes.find(var);
      if (size == sizes.end() || !at_least(coefficient, 0)) return {};
      reach.last = reach.last + coefficient * (size->second - 1);
    }
    return reach;
  }
  static void note_row(Touched& touched, const std::optional<Reach>& reach) {
    const auto& row = touched.row;
    touched.in_rows = touched.in_rows && reach && reach->by_step != Dim(0) && reach->apart() &&
                      (!row || (row->first == reach->first && row->by_step == reach->by_step));
    touched.row = reach;
  }

  void find_carries(const Nest& nest, std::set<SlotId>& found) {
    if (!nest.independent || nest.combines) return;
    for (const Store& s : nest.stores) {
      if (s.condition || s.value.kind() != Expr::Kind::binary || !combine_of(s.value.node().binary)) continue;
      const DType dtype = s.value.dtype();
      if (is_narrow(dtype) || is_complex(dtype) || dtype == DType::bool_ || f_.slots[s.slot].dtype != dtype) continue;
      const auto at = affine(s.offset);
      if (!at || at->terms.contains(loop_.var) || touched_.at(s.slot).writes != 1) continue;
      for (const std::size_t i : {0u, 1u}) {
        const Expr old = s.value.operand(i), term = s.value.operand(1 - i);
        if (old.kind() != Expr::Kind::load || old.node().id != s.slot || affine(old.operand(0)) != at ||
            loads_what_is_written(term))
          continue;
        carries.push_back({s.slot, &nest, s.offset, term, s.value.node().binary});
        found.insert(s.slot);
        break;
      }
    }
  }
  bool loads_what_is_written(const Expr& e) const {
    bool found = false;
    visit_loads(e, [&](const Expr& load) {
      const auto touched = touched_.find(load.node().id);
      found = found || (touched != touched_.end() && touched->second.writes > 0);
    });
    return found;
  }

  // Whether nothing outside of the loop touches it, and each step writes it before it reads it.
  bool is_own(SlotId slot, const Touched& touched) const {
    return f_.slots[slot].place == Slot::Place::local && touched.times == uses_.references[slot] && touched.whole;
  }

  const Function& f_;
  const SlotUses& uses_;
  const For& loop_;
  std::map<SlotId, Touched> touched_;
};

class PrefixDivider {
 public:
  PrefixDivider(Function& f, const Target& target) : f_(f), target_(target) {}

  void run() {
    std::vector<std::optional<double>> steps;
    for (const Statement& s : f_.body) steps.push_back(step_of_long_loop(s));
    if (std::ranges::none_of(steps, [](const auto& step) { return step.has_value(); })) return;
    const SlotUses uses(f_);
    Block result;
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (Statement& s = f_.body[i]; !steps[i] || !divide(std::get<For>(s.held()), uses, *steps[i], result))
        result.push_back(std::move(s));
    f_.body = std::move(result);
  }

 private:
  static constexpr std::int64_t shortest_block = 4096;  // steps
  static constexpr std::int64_t most_blocks = 64;       // whatever the threads, so that results are the same

  // Nanoseconds of a step of a loop that is worth dividing.
  std::optional<double> step_of_long_loop(const Statement& s) const {
    const auto* loop = std::get_if<For>(&s.held());
    if (loop == nullptr || loop->in_order || has_found_size(loop->count) || target_.threads < 2) return {};
    const bool always = target_.worth_forking <= 0;  // for tests
    if (loop->count.known() && loop->count.value() < (always ? 2 : 2 * shortest_block)) return {};
    const double cost = nanoseconds(s);
    if (!always && cost <= 4 * target_.worth_forking) return {};
    return cost / std::max(estimate(loop->count), 1.);
  }
  bool fits(const LoopOfCarries& of) const {
    std::int64_t bytes = 0;
    const auto add = [&](SlotId slot) {
      const Slot& s = f_.slots[slot];
      if (!s.elements.known() || s.elements.value() > target_.register_elements) return false;
      bytes += s.bytes().value();
      return bytes <= target_.own_bytes;
    };
    return std::ranges::all_of(of.carries, [&](const Carry& c) { return add(c.slot); }) &&
           std::ranges::all_of(of.own, add);
  }

  Dim steps_of_block(const Dim& count) const {
    if (target_.worth_forking <= 0) return 2;
    if (!count.known()) return shortest_block;
    return std::max(shortest_block, count.value() / most_blocks);
  }
  SlotId new_slot(DType dtype, const Dim& elements, Slot::Place place) {
    f_.slots.push_back({dtype, elements, place});
    return static_cast<SlotId>(f_.slots.size() - 1);
  }

  // Of a carry: what each block of steps has in all, and begins and then ends with; and the block's own carry.
  struct Parts {
    SlotId terms, begin, own;
    Dim elements;
    Copy to(SlotId slot, const Expr& block) const { return {slot, begin, Expr(0), block * size(elements), elements}; }
    Copy from(SlotId slot, std::uint32_t block) const {
      return {begin, slot, variable(block) * size(elements), Expr(0), elements};
    }
  };
  // A thread has so many, where only running tells how many there are.
  Dim blocks_at_least(double of_step, const Dim& steps) const {
    const double least = std::ceil(target_.worth_forking / 2 / std::max(of_step * estimate(steps), 1.));
    return static_cast<std::int64_t>(std::clamp(least, 1., 1e6));
  }

  bool divide(const For& loop, const SlotUses& uses, double of_step, Block& result) {
    LoopOfCarries of(f_, uses, loop);
    if (!of.run() || !fits(of)) return false;
    const Dim steps = steps_of_block(loop.count), blocks = floor_div(loop.count, steps);
    const Dim grain = blocks_at_least(of_step, steps);
    std::vector<Parts> parts;
    for (const Carry& c : of.carries) {
      const Slot carry = f_.slots[c.slot];
      Parts p{new_slot(carry.dtype, blocks * product_of(c.nest->sizes), Slot::Place::arena), 0, 0, carry.elements};
      if (of.stacks) p.begin = new_slot(carry.dtype, blocks * carry.elements, Slot::Place::arena);
      if (of.stacks) p.own = new_slot(carry.dtype, carry.elements, Slot::Place::local);
      parts.push_back(p);
    }

    Blocks in_all{f_.vars++, blocks, 0, {}, {}, true, grain, {}};
    For begin{f_.vars++, blocks, {}};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Carry& c = of.carries[i];
      in_all.body.push_back(terms_of(c, parts[i].terms, loop.var, in_all.var, steps));
      if (of.stacks) begin.body.push_back(parts[i].from(c.slot, begin.var));
      begin.body.push_back(with_terms(c, parts[i].terms, begin.var));
    }
    result.push_back(std::move(in_all));
    result.push_back(std::move(begin));
    if (of.stacks) run_blocks(loop, of, parts, steps, grain, result);

    For rest{f_.vars++, modulo(loop.count, steps), loop.body};
    if (rest.count == Dim(0)) return true;
    MoveSlots behind({});
    behind.vars.emplace(loop.var, size(blocks * steps) + variable(rest.var));
    behind.block(rest.body);
    result.push_back(std::move(rest));
    return true;
  }

  // The steps of each block, from what it begins with; carries are what the last of them ends with.
  void run_blocks(const For& loop, const LoopOfCarries& of, const std::vector<Parts>& parts, const Dim& steps,
                  const Dim& grain, Block& result) {
    const Dim blocks = floor_div(loop.count, steps);
    Blocks run{f_.vars++, blocks, 0, {}, {}, true, grain, {}};
    std::map<SlotId, MoveSlots::Target> moved;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      moved.emplace(of.carries[i].slot, MoveSlots::Target{parts[i].own, Expr(0)});
      run.own.push_back(parts[i].own);
      run.body.push_back(parts[i].to(parts[i].own, variable(run.var)));
    }
    for (const SlotId slot : of.own) {
      const Slot whole = f_.slots[slot];
      run.own.push_back(new_slot(whole.dtype, whole.elements, Slot::Place::local));
      moved.emplace(slot, MoveSlots::Target{run.own.back(), Expr(0)});
    }
    For inside{f_.vars++, steps, loop.body};
    MoveSlots move(std::move(moved));
    move.vars.emplace(loop.var, variable(run.var) * size(steps) + variable(inside.var));
    move.block(inside.body);
    run.body.push_back(std::move(inside));
    for (const Parts& p : parts) run.body.push_back(p.from(p.own, run.var));
    result.push_back(std::move(run));

    For end{f_.vars++, min(blocks, 1), {}};  // of no blocks there is no last one
    for (std::size_t i = 0; i < parts.size(); ++i)
      end.body.push_back(parts[i].to(of.carries[i].slot, size(blocks - 1)));
    if (!blocks.known()) return result.push_back(std::move(end));
    for (Statement& s : end.body) result.push_back(std::move(s));
  }

  // Row-major over the lanes of a carry, of block `block`.
  static Expr place_of(const Carry& c, const std::vector<std::uint32_t>& vars, std::uint32_t block) {
    Expr at = variable(block);
    for (std::size_t i = 0; i < vars.size(); ++i) at = at * size(c.nest->sizes[i]) + variable(vars[i]);
    return at;
  }
  Reduce terms_of(const Carry& c, SlotId to, std::uint32_t step, std::uint32_t block, const Dim& steps) {
    Reduce r{.combine = *combine_of(c.op),
             .initial = identity_of(c.op, c.term.dtype()),
             .slot = to,
             .stores = {},
             .where = c.nest->where};
    MoveSlots renamed({});
    for (const std::uint32_t var : c.nest->vars) {
      r.outer_vars.push_back(f_.vars++);
      renamed.vars.emplace(var, variable(r.outer_vars.back()));
    }
    r.outer_sizes = c.nest->sizes;
    r.inner_vars = {f_.vars++};
    r.inner_sizes = {steps};
    renamed.vars.emplace(step, variable(block) * size(steps) + variable(r.inner_vars[0]));
    r.value = renamed(c.term);
    r.offset = place_of(c, r.outer_vars, block);
    return r;
  }
  Nest with_terms(const Carry& c, SlotId terms, std::uint32_t block) {
    Nest nest{.vars = {}, .sizes = c.nest->sizes, .stores = {}, .where = c.nest->where};
    MoveSlots renamed({});
    for (const std::uint32_t var : c.nest->vars) {
      nest.vars.push_back(f_.vars++);
      renamed.vars.emplace(var, variable(nest.vars.back()));
    }
    const Expr at = renamed(c.offset);
    const Expr term = load(terms, c.term.dtype(), place_of(c, nest.vars, block));
    nest.stores.push_back({c.slot, at, binary(c.op, load(c.slot, c.term.dtype(), at), term), {}});
    return nest;
  }

  Function& f_;
  const Target& target_;
};

}  // namespace

void divide_prefixes(Function& function, const Target& target) { PrefixDivider(function, target).run(); }

}  // namespace tenon::kernel
