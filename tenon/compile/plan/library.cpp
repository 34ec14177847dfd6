// Ops that a function of the runtime does, or a unit: one call, with memory of the program's own to work in.
#include <algorithm>
#include <cstring>
#include <string>

#include "tenon/compile/plan/block_planner.h"

namespace tenon {

void BlockPlanner::library(const Eqn& eqn, const LowerLibrary& lower) {
  std::vector<Type> in;
  for (const Var v : eqn.in) in.push_back(program_.type(v));
  library(eqn, lower.rule(eqn.params, in));
}

void BlockPlanner::unit(const Eqn& eqn, const LowerCall& lower) {
  const LowerCall::Callee callee = lower.rule(eqn.params);
  const UnitSlot& slot = planner_.unit(callee.program);
  // Its size parameters' values stand behind a last address.
  std::optional<SlotId> sizes;
  if (!callee.sizes.empty()) {
    sizes = sizes_of_unit(callee.sizes);
    planner_.function_.checks_sizes = true;  // where a unit of some size is none, the evaluator says why
  }
  library(eqn, {.function = call_of_unit, .nanoseconds = 1000, .any_number = true, .object = &slot.unit}, sizes);
}

void BlockPlanner::library(const Eqn& eqn, const LibraryForm& form, std::optional<SlotId> behind) {
  std::vector<Place> from, to;
  for (const Var v : eqn.in) from.push_back(stored(v));
  for (const Var v : eqn.out) places_[v] = to.emplace_back(place_for(v));
  const Expr first(std::int64_t(0));
  kernel::Call call{.function = std::string(form.function), .nanoseconds = form.nanoseconds, .table = form.any_number};
  call.arguments.push_back({first, description(form)});
  for (const Place& p : from) call.arguments.push_back({p.offset, p.slot});
  for (const Place& p : to) call.arguments.push_back({p.offset, p.slot, true});
  if (behind) call.arguments.push_back({first, *behind});
  if (!form.any_number && !form.sizes_known()) {
    call.arguments.push_back({first, {}});
  } else if (form.workspace > 0 || !form.any_number) {
    // In the arena however small, so that it begins on a line of the cache.
    constexpr auto word = static_cast<std::int64_t>(sizeof(std::int64_t));
    std::vector<kernel::Slot>& slots = planner_.function_.slots;
    slots.push_back(
        {DType::i64, std::max<std::int64_t>((form.workspace + word - 1) / word, 1), kernel::Slot::Place::arena});
    call.arguments.push_back({first, static_cast<SlotId>(slots.size() - 1), true});
  }
  block_.push_back(std::move(call));
}

// Of sizes that vary, words that the code writes before the call.
SlotId BlockPlanner::description(const LibraryForm& form) {
  if (form.sizes_known()) return planner_.description(form.object, form.description);
  std::vector<Expr> words;
  if (form.object != nullptr) words.push_back(number_at({planner_.description(form.object, {})}));
  for (const Dim& word : form.description) words.push_back(kernel::size(word));
  return words_of(std::move(words));
}

// Those that are given are written once, as the program begins.
SlotId BlockPlanner::sizes_of_unit(const std::vector<Dim>& sizes) {
  std::vector<Expr> words;
  std::string text;
  for (const Dim& size : sizes) words.push_back(kernel::size(size)), text += size.text() + ",";
  if (std::ranges::any_of(sizes, has_found_size)) return words_of(std::move(words));
  const auto [known, fresh] = planner_.sizes_of_units_.emplace(std::move(text), 0);
  if (fresh) {
    known->second = words_of(std::move(words));
    planner_.first_.push_back(std::move(block_.back()));
    block_.pop_back();
  }
  return known->second;
}

// Memory that holds them from here on.
SlotId BlockPlanner::words_of(std::vector<Expr> words) {
  std::vector<kernel::Slot>& slots = planner_.function_.slots;
  slots.push_back({DType::i64, static_cast<std::int64_t>(words.size()), kernel::Slot::Place::arena});
  const auto slot = static_cast<SlotId>(slots.size() - 1);
  kernel::Nest nest;
  for (std::size_t i = 0; i < words.size(); ++i)
    nest.stores.push_back({slot, Expr(static_cast<std::int64_t>(i)), std::move(words[i]), {}});
  block_.push_back(std::move(nest));
  return slot;
}

// A constant of its words; equal ones are one.
SlotId Planner::description(const void* of, const std::vector<Dim>& sizes) {
  std::vector<std::int64_t> words;
  for (const Dim& size : sizes) words.push_back(size.value());
  const auto [at, fresh] = descriptions_.emplace(std::pair(of, words), static_cast<SlotId>(function_.slots.size()));
  if (fresh) {
    std::optional<std::uint32_t> object;
    if (of != nullptr) words.insert(words.begin(), 0), object = number_of(of);
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
