// Loops and branches: where carries live, and where stacked values do.
#include <algorithm>
#include <iterator>

#include "tenon/compile/plan/block_planner.h"
#include "tenon/ops/control/guard.h"
#include "tenon/ops/control/region.h"

namespace tenon {
namespace {

const Expr zero(std::int64_t(0));

}  // namespace

void BlockPlanner::loop(const Eqn& eqn) {
  const auto& p = eqn.params.as<LoopParams>();
  LoopPlan l{.eqn = eqn, .p = p, .var = planner_.fresh_var()};
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.consts); ++i) l.inputs.push_back(stored(eqn.in[i]));
  count_steps(l);
  plan_carries(l);
  plan_stacked(l);
  finish_steps(l);
  Block body = std::move(l.first);
  for (Block part :
       {planner_.block(p.body, p.body_sizes, l.inputs, l.outputs, l.ends, l.updated, {}, &eqn), std::move(l.last)})
    std::ranges::move(part, std::back_inserter(body));
  if (p.cond || l.counter) {
    Block before;
    Expr condition;
    if (p.cond) {
      const Place running = planner_.temporary(Type::array(DType::bool_, {}));
      const std::vector<Place> state(l.inputs.begin(), l.inputs.begin() + (p.consts + p.carries));
      before = planner_.block(p.cond, p.cond_sizes, state, {running}, {}, {}, {}, &eqn);
      condition = kernel::load(running.slot, DType::bool_, zero);
    }
    if (l.limit) {
      const Expr below = kernel::binary(kernel::Binary::lt, number_at(*l.counter), l.limit);
      condition = condition ? kernel::binary(kernel::Binary::and_, below, condition) : below;
    }
    block_.push_back(kernel::While{std::move(before), condition, std::move(body), p.lanes});
  } else {
    const auto is_strict = [](const Eqn& e) { return e.numerics == Numerics::strict; };
    block_.push_back(kernel::For{l.var, *p.length, std::move(body),
                                 is_strict(eqn) || std::ranges::any_of(p.body->eqns(), is_strict)});
  }
  std::ranges::move(l.after, std::back_inserter(block_));
  for (std::size_t i = 0; i < static_cast<std::size_t>(p.carries); ++i) {
    if (!places_[eqn.out[i]]) places_[eqn.out[i]] = l.ends[i];
    if (l.updated.contains(l.ends[i].slot)) writable_slots_.insert(l.ends[i].slot);
  }
}

void BlockPlanner::plan_carries(LoopPlan& l) {
  const Eqn& eqn = l.eqn;
  for (std::size_t i = 0; i < static_cast<std::size_t>(l.p.carries); ++i) {
    const Var initial = eqn.in[static_cast<std::size_t>(l.p.consts) + i];
    const bool last =
        last_use_[initial] <= at_ + 1 && std::ranges::count(eqn.in, initial) == 1 && later_readers(initial).empty();
    const auto writer = [&] { return update_of(*l.p.body, i); };
    if (const auto history = carry_history(eqn, i, l.step)) {
      store_into(initial, history->begin, last, eqn, writer);
      l.inputs.push_back(history->before), l.outputs.push_back(history->after), l.ends.push_back(history->after);
      places_[eqn.out[i]] = history->end;
      for (const std::size_t k : history->stacked_before) l.views.emplace(k, history->before);
      for (const std::size_t k : history->stacked_after) l.views.emplace(k, history->after);
      continue;
    }
    const Type& type = program_.type(eqn.out[i]);
    // What a loop around updates and nobody reads any more is updated where it is.
    if (last && type.is_array() && places_[initial] && writable_slots_.contains(places_[initial]->slot) &&
        !planner_.target_.in_registers(elements_of(type))) {
      l.inputs.push_back(*places_[initial]), l.outputs.push_back(planner_.temporary(type));
      l.ends.push_back(*places_[initial]);
      l.updated.insert(places_[initial]->slot);
      continue;
    }
    // A small carry lives in registers; where it is wanted, it goes when the loop ends.
    const Place carry =
        planner_.target_.in_registers(elements_of(type)) ? planner_.temporary(type) : place_for(eqn.out[i]);
    if (type.is_list())
      give(initial, carry, last);
    else
      store_into(initial, carry, last, eqn, writer);
    l.inputs.push_back(carry), l.outputs.push_back(planner_.temporary(type)), l.ends.push_back(carry);
    l.updated.insert(carry.slot);
  }
}

// What a step reads and writes of stacked operands and results.
void BlockPlanner::plan_stacked(LoopPlan& l) {
  const auto at_step = [&](const Place& whole, const Type& type) {
    return Place{whole.slot, whole.offset + l.step * kernel::size(type.shape.without_axis(0).elements())};
  };
  for (auto i = static_cast<std::size_t>(l.p.consts + l.p.carries); i < l.eqn.in.size(); ++i) {
    const Var x = l.eqn.in[i];
    l.inputs.push_back(program_.type(x).is_list() ? read_list(l, x) : at_step(stored(x), program_.type(x)));
  }
  for (auto i = static_cast<std::size_t>(l.p.carries); i < l.eqn.out.size(); ++i) {
    const Var y = l.eqn.out[i];
    if (program_.type(y).is_list()) {
      l.outputs.push_back(write_list(l, y));
    } else if (const auto view = l.views.find(i); view != l.views.end()) {
      l.outputs.push_back(view->second);
    } else {
      places_[y] = place_for(y);
      l.outputs.push_back(at_step(*places_[y], program_.type(y)));
    }
  }
}

std::optional<BlockPlanner::History> BlockPlanner::carry_history(const Eqn& eqn, std::size_t carry, const Expr& step) {
  const auto& p = eqn.params.as<LoopParams>();
  const auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
  const Type& type = program_.type(eqn.out[carry]);
  const Program& body = *p.body;
  if (p.cond || !p.length || planner_.target_.in_registers(elements_of(type))) return {};
  const Var after = body.outputs()[carry], before = body.inputs()[consts + carry];
  std::vector<std::size_t> stacked_before, stacked_after;
  for (std::size_t i = carries; i < eqn.out.size(); ++i) {
    if (wanted_.contains(eqn.out[i])) continue;
    const Var o = body.outputs()[i];
    if (o == before) stacked_before.push_back(i);
    if (o == after &&
        std::ranges::find(body.outputs(), o) - body.outputs().begin() == static_cast<std::ptrdiff_t>(carry))
      stacked_after.push_back(i);
  }
  if (before == after || (stacked_before.empty() && stacked_after.empty())) return {};
  const Dim each = elements_of(type), count = *p.length;
  const SlotId slot = planner_.temporary(Type::array(type.dtype, {count + 1, each})).slot;
  const Expr first = kernel::size(p.reverse ? each : Dim(0)), second = kernel::size(p.reverse ? Dim(0) : each);
  for (const std::size_t i : stacked_before) places_[eqn.out[i]] = Place{slot, first};
  for (const std::size_t i : stacked_after) places_[eqn.out[i]] = Place{slot, second};
  const Expr at = step * kernel::size(each);
  return History{
      {slot, kernel::size(p.reverse ? count * each : Dim(0))}, {slot, at + first},        {slot, at + second},
      {slot, kernel::size(p.reverse ? Dim(0) : count * each)}, std::move(stacked_before), std::move(stacked_after)};
}

// The place where all branches update an operand that result `y` is, up to updates: the operand's own where nothing
// reads it later, and the memory is ours; else a copy. Small values live in registers.
std::optional<Place> BlockPlanner::updated_in_branches(const Eqn& eqn, Var x, Var y) {
  const Type& type = program_.type(y);
  if (type.is_list() || planner_.target_.in_registers(elements_of(type)) || std::ranges::count(eqn.in, x) != 1)
    return {};
  for (Var v : later_readers(x)) stored(v);  // of the old value
  const bool last = last_use_[x] <= at_ + 1;
  const bool ours = places_[x] && writable_slots_.contains(places_[x]->slot);
  const bool read_beside = std::ranges::any_of(
      eqn.in, [&](Var v) { return v != x && ours && places_[v] && places_[v]->slot == places_[x]->slot; });
  if (ours && last && !read_beside) return places_[x];
  Place to = place_for(y);
  store_into(x, to, last, eqn, [&]() -> std::string_view {
    const auto& branches = eqn.params.as<CondParams>().branches;
    const auto output = static_cast<std::size_t>(std::ranges::find(eqn.out, y) - eqn.out.begin());
    for (const ProgramRef& b : branches)
      if (const std::string_view op = update_of(*b, output); !op.empty()) return op;
    return {};
  });
  return to;
}

// Where a result is the same operand in every branch, up to updates, branches find it in its place and leave it there:
// as a carry.
void BlockPlanner::branch(const Eqn& eqn) {
  const auto& p = eqn.params.as<CondParams>();
  const Place index = stored(eqn.in[0]);
  // The operand that each result is, if it is the only result that is this one.
  std::vector<std::optional<std::size_t>> from = origins(p.branches);
  std::set<Var> in_place;
  for (auto& operand : from)
    if (operand && !in_place.insert(eqn.in[1 + *operand]).second) operand.reset();
  for (std::size_t i = 1; i < eqn.in.size(); ++i)
    if (!in_place.contains(eqn.in[i])) stored(eqn.in[i]);
  std::vector<Place> outputs, ends;
  std::map<std::size_t, Place> starts;
  std::set<SlotId> updated;
  for (std::size_t i = 0; i < eqn.out.size(); ++i) {
    const Var v = eqn.out[i];
    const auto place = from[i] ? updated_in_branches(eqn, eqn.in[1 + *from[i]], v) : std::nullopt;
    if (place) starts.emplace(*from[i], *place), updated.insert(place->slot);
    outputs.push_back(place ? planner_.temporary(program_.type(v)) : place_for(v));
    ends.push_back(place.value_or(outputs.back()));
  }
  std::vector<Place> inputs;
  std::vector<bool> given;  // lists that nobody else needs any more
  for (std::size_t i = 0; i + 1 < eqn.in.size(); ++i) {
    inputs.push_back(starts.contains(i) ? starts.at(i) : stored(eqn.in[i + 1]));
    given.push_back(given_away(eqn, eqn.in[i + 1]));
  }
  for (std::size_t i = 0; i < eqn.out.size(); ++i) places_[eqn.out[i]] = ends[i];
  writable_slots_.insert(updated.begin(), updated.end());
  const Expr chosen =
      kernel::binary(kernel::Binary::max,
                     kernel::binary(kernel::Binary::min,
                                    kernel::convert(DType::i64, kernel::load(index.slot, DType::i32, index.offset)),
                                    Expr(static_cast<std::int64_t>(p.branches.size()) - 1)),
                     zero);
  kernel::Switch s{chosen, {}};
  for (std::size_t i = 0; i < p.branches.size(); ++i)
    s.branches.push_back(planner_.block(p.branches[i], p.sizes[i], inputs, outputs, ends, updated, given, &eqn));
  block_.push_back(std::move(s));
}

}  // namespace tenon
