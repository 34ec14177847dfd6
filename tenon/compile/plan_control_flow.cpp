// Loops and branches: where carries live, and where stacked values do.
#include <algorithm>

#include "tenon/compile/block_planner.h"
#include "tenon/ops/region.h"

namespace tenon {
namespace {

const Expr zero(std::int64_t(0));

}  // namespace

void BlockPlanner::loop(const Eqn& eqn) {
  const auto& p = eqn.params.as<LoopParams>();
  const auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
  std::vector<Place> inputs, outputs, ends;
  for (std::size_t i = 0; i < consts; ++i) inputs.push_back(stored(eqn.in[i]));
  const std::uint32_t var = planner_.fresh_var();
  const std::int64_t count = p.length ? p.length->value() : 0;
  const Expr step = p.reverse ? Expr(count - 1) - kernel::variable(var) : kernel::variable(var);
  const auto at_step = [&](const Place& whole, const Type& type) {
    const std::int64_t each = type.shape[0].value() == 0 ? 0 : elements_of(type) / type.shape[0].value();
    return Place{whole.slot, whole.offset + step * Expr(each)};
  };
  std::set<SlotId> updated;            // carries that the body may update in place
  std::map<std::size_t, Place> views;  // stacked outputs that lie in a carry's history, at a step
  for (std::size_t i = 0; i < carries; ++i) {
    const Var initial = eqn.in[consts + i];
    const bool last =
        last_use_[initial] <= at_ + 1 && std::ranges::count(eqn.in, initial) == 1 && later_readers(initial).empty();
    if (const auto history = carry_history(eqn, i, step)) {
      store_into(initial, history->begin, last);
      inputs.push_back(history->before), outputs.push_back(history->after), ends.push_back(history->after);
      places_[eqn.out[i]] = history->end;
      for (const std::size_t k : history->stacked_before) views.emplace(k, history->before);
      for (const std::size_t k : history->stacked_after) views.emplace(k, history->after);
      continue;
    }
    // A small carry lives in registers; where it is wanted, it goes when the loop ends.
    const Type& type = program_.type(eqn.out[i]);
    const Place carry = elements_of(type) <= local_limit ? planner_.temporary(type) : place_for(eqn.out[i]);
    store_into(initial, carry, last);
    inputs.push_back(carry), outputs.push_back(planner_.temporary(type)), ends.push_back(carry);
    updated.insert(carry.slot);
  }
  for (std::size_t i = consts + carries; i < eqn.in.size(); ++i)
    inputs.push_back(at_step(stored(eqn.in[i]), program_.type(eqn.in[i])));
  for (std::size_t i = carries; i < eqn.out.size(); ++i) {
    if (const auto view = views.find(i); view != views.end()) {
      outputs.push_back(view->second);
      continue;
    }
    places_[eqn.out[i]] = place_for(eqn.out[i]);
    outputs.push_back(at_step(*places_[eqn.out[i]], program_.type(eqn.out[i])));
  }
  Block body = planner_.block(*p.body, inputs, outputs, ends, updated);
  if (p.cond) {
    const Place running = planner_.temporary(Type::array(DType::bool_, {}));
    const std::vector<Place> state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(consts + carries));
    Block before = planner_.block(*p.cond, state, {running}, {}, {});
    block_.push_back(kernel::While{std::move(before), kernel::load(running.slot, DType::bool_, zero), std::move(body)});
  } else {
    block_.push_back(kernel::For{var, count, std::move(body)});
  }
  for (std::size_t i = 0; i < carries; ++i) {
    if (!places_[eqn.out[i]]) places_[eqn.out[i]] = ends[i];
    if (updated.contains(ends[i].slot)) writable_slots_.insert(ends[i].slot);
  }
}

std::optional<BlockPlanner::History> BlockPlanner::carry_history(const Eqn& eqn, std::size_t carry, const Expr& step) {
  const auto& p = eqn.params.as<LoopParams>();
  const auto consts = static_cast<std::size_t>(p.consts), carries = static_cast<std::size_t>(p.carries);
  const Type& type = program_.type(eqn.out[carry]);
  const Program& body = *p.body;
  if (p.cond || !p.length || elements_of(type) <= local_limit) return {};
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
  const std::int64_t each = elements_of(type), count = p.length->value();
  const SlotId slot = planner_.temporary(Type::array(type.dtype, {count + 1, each})).slot;
  const Expr first(p.reverse ? each : std::int64_t(0)), second(p.reverse ? std::int64_t(0) : each);
  for (const std::size_t i : stacked_before) places_[eqn.out[i]] = Place{slot, first};
  for (const std::size_t i : stacked_after) places_[eqn.out[i]] = Place{slot, second};
  const Expr at = step * Expr(each);
  return History{{slot, Expr(p.reverse ? count * each : 0)}, {slot, at + first},        {slot, at + second},
                 {slot, Expr(p.reverse ? 0 : count * each)}, std::move(stacked_before), std::move(stacked_after)};
}

void BlockPlanner::branch(const Eqn& eqn) {
  const auto& p = eqn.params.as<CondParams>();
  std::vector<Place> inputs, outputs;
  const Place index = stored(eqn.in[0]);
  for (std::size_t i = 1; i < eqn.in.size(); ++i) inputs.push_back(stored(eqn.in[i]));
  for (Var v : eqn.out) {
    outputs.push_back(place_for(v));
    places_[v] = outputs.back();
  }
  const Expr chosen =
      kernel::binary(kernel::Binary::max,
                     kernel::binary(kernel::Binary::min,
                                    kernel::convert(DType::i64, kernel::load(index.slot, DType::i32, index.offset)),
                                    Expr(static_cast<std::int64_t>(p.branches.size()) - 1)),
                     zero);
  kernel::Switch s{chosen, {}};
  for (const ProgramRef& b : p.branches) s.branches.push_back(planner_.block(*b, inputs, outputs, {}, {}));
  block_.push_back(std::move(s));
}

}  // namespace tenon
