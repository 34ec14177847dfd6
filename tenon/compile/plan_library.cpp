// Ops that a function of the runtime does, or a unit: one call, with memory of the program's own to work in.
#include <cstring>

#include "tenon/compile/block_planner.h"

namespace tenon {

void BlockPlanner::library(const Eqn& eqn, const LowerLibrary& lower) {
  std::vector<Type> in;
  for (const Var v : eqn.in) in.push_back(program_.type(v));
  library(eqn, lower.rule(eqn.params, in));
}

void BlockPlanner::unit(const Eqn& eqn, const LowerCall& lower) {
  const UnitSlot& slot = planner_.unit(lower.rule(eqn.params).program);
  library(eqn, {.function = call_of_unit, .nanoseconds = 1000, .any_number = true, .object = &slot.unit});
}

void BlockPlanner::library(const Eqn& eqn, const LibraryForm& form) {
  std::vector<Place> from, to;
  for (const Var v : eqn.in) from.push_back(stored(v));
  for (const Var v : eqn.out) places_[v] = to.emplace_back(place_for(v));
  const Expr first(std::int64_t(0));
  kernel::Call call{.function = form.function, .nanoseconds = form.nanoseconds, .table = form.any_number};
  call.arguments.push_back({first, planner_.description(form)});
  for (const Place& p : from) call.arguments.push_back({p.offset, p.slot});
  for (const Place& p : to) call.arguments.push_back({p.offset, p.slot, true});
  if (form.workspace > 0 || !form.any_number) {
    // In the arena however small, so that it begins on a line of the cache.
    constexpr auto word = static_cast<std::int64_t>(sizeof(std::int64_t));
    std::vector<kernel::Slot>& slots = planner_.function_.slots;
    slots.push_back(
        {DType::i64, std::max<std::int64_t>((form.workspace + word - 1) / word, 1), kernel::Slot::Place::arena});
    call.arguments.push_back({first, static_cast<SlotId>(slots.size() - 1), true});
  }
  block_.push_back(std::move(call));
}

// A constant of its words; equal ones are one.
SlotId Planner::description(const LibraryForm& form) {
  const auto [at, fresh] =
      descriptions_.emplace(std::pair(form.object, form.description), static_cast<SlotId>(function_.slots.size()));
  if (fresh) {
    std::vector<std::int64_t> words = form.description;
    std::optional<std::uint32_t> object;
    if (form.object != nullptr) words.insert(words.begin(), 0), object = number_of(form.object);
    kernel::Slot slot{DType::i64, static_cast<std::int64_t>(words.size()), kernel::Slot::Place::constant};
    slot.object = object;
    slot.values.resize(words.size() * sizeof(std::int64_t));
    std::memcpy(slot.values.data(), words.data(), slot.values.size());
    function_.slots.push_back(std::move(slot));
  }
  return at->second;
}

std::uint32_t Planner::number_of(const void* object) {
  std::vector<const void*>& all = function_.objects;
  const auto [at, fresh] = objects_.emplace(object, static_cast<std::uint32_t>(all.size()));
  if (fresh) all.push_back(object);
  return at->second;
}

}  // namespace tenon
