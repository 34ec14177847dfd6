// Sizes that data decide: found as the code runs, in slots of their own. What follows computes with them; memory is as
// large as they can become.
#include "tenon/ir/decided_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/stack.h"
#include "tenon/compile/plan/block_planner.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/ops/indexing/index_map.h"

namespace tenon {

bool decides_sizes(const Program& program) {
  return std::ranges::any_of(program.eqns(), [](const Eqn& eqn) { return !eqn.new_sizes.empty(); });
}

bool may_check_sizes(const Eqn& eqn) {
  using Kind = LowerStructure::Kind;
  if (const auto* call = rule_of<LowerCall>(*eqn.op)) return !call->rule(eqn.params).sizes.empty();
  const auto* structure = rule_of<LowerStructure>(*eqn.op);
  return structure != nullptr &&
         (structure->kind == Kind::compress || structure->kind == Kind::uncompress || structure->kind == Kind::count);
}

namespace {

// The most that an eqn's own sizes may be: where a mask decides, as many as it has; of a list nothing is known.
std::optional<Dim> most_found(const kernel::Function& function, const Eqn& eqn, const Type& last) {
  if (rule_of<LowerStructure>(*eqn.op)->kind == LowerStructure::Kind::extent) return {};
  return kernel::largest(function, last.shape.elements());
}

}  // namespace

// A Program whose size parameters are these, and whose other sizes are found, in slots that they are given here.
ProgramRef Planner::with_found_sizes(const Program& program, std::span<const Dim> sizes) {
  SizeBinding here;
  for (std::size_t i = 0; i < sizes.size(); ++i) here.emplace(program.size_params()[i], sizes[i]);
  for (const Eqn& eqn : program.eqns())
    for (const SizeVar s : eqn.new_sizes) {
      std::optional<Dim> most = most_found(function_, eqn, substitute(program.type(eqn.in.back()), here));
      function_.slots.push_back({DType::i64, 1, kernel::Slot::Place::size});
      function_.slots.back().most = std::move(most);
      here.emplace(s, kernel::size_in(static_cast<SlotId>(function_.slots.size() - 1)));
    }
  return Program::with_sizes(program, [&](const Dim& d) { return substitute(d, here); });
}

// The sizes that results have, for the caller: behind them. And the memory that was asked for since they were found.
void Planner::give_found_sizes(const Program& program, const std::vector<Place>& outputs) {
  const std::vector<SizeVar> found = sizes_from(first_found_size, program.output_types());
  if (found.empty()) return;
  const std::vector<Type> types = program.output_types();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (has_found_size(function_.slots[outputs[i].slot].elements))
      function_.body.push_back(kernel::Call{
          .function = "tenon_give_found_memory",
          .arguments = {
              {Expr(static_cast<std::int64_t>(i)), {}},
              {outputs[i].offset, outputs[i].slot},
              {kernel::size(elements_of(types[i]) * static_cast<std::int64_t>(size_of(types[i].dtype))), {}}}});
  const Place to = argument(Type::array(DType::i64, {static_cast<std::int64_t>(found.size())}));
  kernel::Nest nest;
  for (std::size_t i = 0; i < found.size(); ++i)
    nest.stores.push_back({to.slot, Expr(static_cast<std::int64_t>(i)), kernel::size(Dim::variable(found[i])), {}});
  function_.body.push_back(std::move(nest));
}

// Whether the mask is known to choose so many: it has done so before.
bool BlockPlanner::finds_as_before(Var mask, const Dim& rows) const {
  const auto found = chosen_by_.find(mask);
  return found != chosen_by_.end() && found->second == rows;
}

namespace {

Expr bytes_of_row(const Type& rows) {
  return kernel::size(rows.shape.without_axis(0).elements() * static_cast<std::int64_t>(size_of(rows.dtype)));
}

// How many rows fit where the result goes, and whether there have to be so many.
std::pair<Expr, Expr> room(const Dim& all, const Dim& rows, bool exact) {
  return {kernel::size(exact ? rows : all), Expr(static_cast<std::int64_t>(exact))};
}

}  // namespace

// Of what is written as its size is found: there is room for all.
Place BlockPlanner::place_for_chosen(Var y, const Dim& all) {
  const Place to = place_for(y);
  kernel::Slot& slot = planner_.function_.slots[to.slot];
  if (has_found_size(slot.elements)) slot.elements = all * program_.type(y).shape.without_axis(0).elements();
  return to;
}

void BlockPlanner::compress(const Eqn& eqn) {
  const Var x = eqn.in[0], mask = eqn.in[1], y = eqn.out[0];
  if (const Eqn* maker = maker_[x]; maker != nullptr && !places_[x] && !pending_[x])
    if (const auto axis = counted_axis(*maker); axis && program_.type(x).rank() == program_.type(mask).rank())
      return numbers_of_chosen(eqn, *axis);
  const Place m = stored(mask), from = stored(x);
  const Type& rows = program_.type(y);
  const Dim all = elements_of(program_.type(mask));
  const bool finds = !eqn.new_sizes.empty(), exact = !finds && !finds_as_before(mask, rows.shape[0]);
  const Place to = finds ? place_for_chosen(y, all) : place_for(y);
  const auto [fits, strictly] = room(all, rows.shape[0], exact);
  kernel::Call call{.function = "tenon_compress",
                    .arguments = {{m.offset, m.slot},
                                  {kernel::size(all), {}},
                                  {from.offset, from.slot},
                                  {bytes_of_row(rows), {}},
                                  {fits, {}},
                                  {strictly, {}},
                                  {to.offset, to.slot, true}},
                    .nanoseconds = 20 + 0.2 * kernel::estimate(all)};
  if (finds) call.result = kernel::slot_of_size(*bare_variable(rows.shape[0])), call.result_offset = zero;
  if (finds) chosen_by_.emplace(mask, rows.shape[0]);
  planner_.function_.checks_sizes = planner_.function_.checks_sizes || exact;
  places_[y] = to;
  block_.push_back(std::move(call));
}

// Of indices along an axis: what is chosen are numbers, which the places of the mask tell.
void BlockPlanner::numbers_of_chosen(const Eqn& eqn, std::int64_t axis) {
  const Var mask = eqn.in[1], y = eqn.out[0];
  const Place m = stored(mask);
  const Type& rows = program_.type(y);
  const Sizes& extent = sizes(mask);
  const Dim all = elements_of(program_.type(mask));
  const bool finds = !eqn.new_sizes.empty(), exact = !finds && !finds_as_before(mask, rows.shape[0]);
  const Place to = finds ? place_for_chosen(y, all) : place_for(y);
  const auto [fits, strictly] = room(all, rows.shape[0], exact);
  const DType dtype = kernel::at_most(all, std::int64_t(1) << 31) ? DType::i32 : DType::i64;
  const bool themselves = extent.size() == 1 && is_integer(rows.dtype) && size_of(rows.dtype) == size_of(dtype);
  const auto known = places_of_.find(mask);
  const bool again = known != places_of_.end() && !exact && !finds;
  const Place places = themselves ? to
                       : again    ? known->second
                                  : planner_.temporary(Type::array(dtype, {exact ? rows.shape[0] : all}));
  if (!again || themselves) {
    kernel::Call call{.function = "tenon_places",
                      .arguments = {{m.offset, m.slot},
                                    {kernel::size(all), {}},
                                    {Expr(static_cast<std::int64_t>(size_of(dtype))), {}},
                                    {fits, {}},
                                    {strictly, {}},
                                    {places.offset, places.slot, true}},
                      .nanoseconds = 20 + 0.2 * kernel::estimate(all)};
    if (finds) call.result = kernel::slot_of_size(*bare_variable(rows.shape[0])), call.result_offset = zero;
    if (finds) chosen_by_.emplace(mask, rows.shape[0]);
    planner_.function_.checks_sizes = planner_.function_.checks_sizes || exact;
    block_.push_back(std::move(call));
    if (!themselves) places_of_.emplace(mask, places);
  }
  places_[y] = to;
  if (themselves) return;
  const Expr i = kernel::variable(planner_.fresh_var());
  const Expr place = kernel::convert(DType::i64, kernel::load(places.slot, dtype, places.offset + i));
  const Expr value = from_row_major<Expr>(extent, place)[static_cast<std::size_t>(axis)];
  block_.push_back(kernel::Nest{
      {i.node().id}, {rows.shape[0]}, {{to.slot, to.offset + i, kernel::convert(rows.dtype, value), {}}}, true});
}

void BlockPlanner::uncompress(const Eqn& eqn) {
  const Var x = eqn.in[0], mask = eqn.in[1], y = eqn.out[0];
  const Place m = stored(mask), from = stored(x), to = place_for(y);
  const Type& rows = program_.type(x);
  const Dim all = elements_of(program_.type(mask));
  planner_.function_.checks_sizes = planner_.function_.checks_sizes || !finds_as_before(mask, rows.shape[0]);
  block_.push_back(kernel::Call{.function = "tenon_uncompress",
                                .arguments = {{m.offset, m.slot},
                                              {kernel::size(all), {}},
                                              {from.offset, from.slot},
                                              {bytes_of_row(rows), {}},
                                              {kernel::size(rows.shape[0]), {}},
                                              {to.offset, to.slot, true}},
                                .nanoseconds = 20 + 0.2 * kernel::estimate(all)});
  places_[y] = to;
}

// What a number says, which is to be none below 0.
void BlockPlanner::extent(const Eqn& eqn) {
  const Dim number = program_.type(eqn.out[0]).shape[0];
  begin_nest({}, false);
  const Expr n = element(eqn.in[0], {});
  block_.push_back(kernel::Nest{{}, {}, {{kernel::slot_of_size(*bare_variable(number)), zero, n, {}}}, true});
  planner_.function_.checks_sizes = true;
  block_.push_back(
      kernel::Call{.function = "tenon_not_negative", .arguments = {{kernel::size(number), {}}}, .nanoseconds = 2});
  all_true(eqn.out[0]);
}

// Of an array of so many elements.
void BlockPlanner::all_true(Var y) {
  if (last_use_[y] <= at_) return;  // nothing reads its elements
  const Dim& number = program_.type(y).shape[0];
  const Place to = place_for(y);
  begin_nest({number}, true);
  const bool yes = true;
  block_.push_back(kernel::Nest{
      nest_.vars, nest_.extents, {{to.slot, to.offset + *nest_.flat, kernel::constant(DType::bool_, &yes), {}}}, true});
  places_[y] = to;
}

// The mask is not stored for it, if nothing else needs it.
void BlockPlanner::count(const Eqn& eqn) {
  const Var mask = eqn.in[0], y = eqn.out[0];
  const Dim number = program_.type(y).shape[0];
  begin_nest(sizes(mask), false);
  Expr chosen = element(mask, nest_.index);
  if (nest_.identity_only && sizes(mask).size() > 1) {
    begin_nest(sizes(mask), true);
    chosen = element(mask, nest_.index);
  }
  block_.push_back(kernel::Reduce{.inner_vars = nest_.vars,
                                  .inner_sizes = nest_.extents,
                                  .combine = kernel::Combine::add,
                                  .initial = zero,
                                  .value = kernel::convert(DType::i64, chosen),
                                  .slot = kernel::slot_of_size(*bare_variable(number)),
                                  .offset = zero});
  chosen_by_.emplace(mask, number);
  all_true(y);
}

// Once a block.
void BlockPlanner::check_not_negative(const Dim& size) {
  if (at_least(size, 0) || std::ranges::find(not_negative_, size) != not_negative_.end()) return;
  not_negative_.push_back(size);
  planner_.function_.checks_sizes = true;
  block_.push_back(
      kernel::Call{.function = "tenon_not_negative", .arguments = {{kernel::size(size), {}}}, .nanoseconds = 2});
}

}  // namespace tenon
