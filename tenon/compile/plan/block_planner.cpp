// One block of statements: eqns in order, where each value is kept, and what is copied at the end.
#include "tenon/compile/plan/block_planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/stack.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/structure/table.h"

namespace tenon {

std::pair<kernel::Function, Units> Planner::run() {
  ProgramRef found;
  if (decides_sizes(program_)) {
    std::vector<Dim> sizes;
    for (const SizeVar s : program_.size_params()) sizes.push_back(Dim::variable(s));
    found = with_found_sizes(program_, sizes);
  }
  const Program& program = found == nullptr ? program_ : *found;
  std::vector<Place> inputs, outputs;
  for (Var v : program.inputs()) inputs.push_back(argument(program.type(v)));
  for (Var v : program.outputs()) outputs.push_back(output(program.type(v)));
  // Lists are the caller's in copies of their own.
  function_.body =
      BlockPlanner(*this, program, outputs, {}, nullptr).run(inputs, {}, std::vector<bool>(inputs.size(), true));
  std::ranges::move(function_.body, std::back_inserter(first_));
  function_.body = std::exchange(first_, {});
  give_found_sizes(program, outputs);
  return {std::move(function_), std::move(units_)};
}

const UnitSlot& Planner::unit(const ProgramRef& callee) {
  const auto [at, fresh] = unit_of_.emplace(callee->hash(), nullptr);
  if (fresh) {
    at->second = units_.emplace_back(std::make_shared<UnitSlot>(callee)).get();
    function_.checks_sizes = function_.checks_sizes || find_eqn(*callee, may_check_sizes) != nullptr;
  }
  return *at->second;
}

Place Planner::argument(const Type& type) {
  const Type held = held_type(type);
  function_.slots.push_back({held.dtype, kernel::room_for(function_, held.dtype, elements_of(held)),
                             kernel::Slot::Place::argument, function_.arguments++});
  return {static_cast<SlotId>(function_.slots.size() - 1)};
}

// Given by the caller; or, where only running tells how large it is, in memory that is given to the caller.
Place Planner::output(const Type& type) {
  const Type held = held_type(type);
  if (!has_found_size(kernel::room_for(function_, held.dtype, elements_of(held)))) return argument(type);
  ++function_.arguments;
  return temporary(type);
}

Place Planner::temporary(const Type& type) {
  const Type held = held_type(type);
  kernel::Slot slot{held.dtype, kernel::room_for(function_, held.dtype, elements_of(held)), kernel::Slot::Place::local};
  if (!target_.in_registers(slot.elements)) slot.place = kernel::Slot::Place::arena;
  function_.slots.push_back(slot);
  return {static_cast<SlotId>(function_.slots.size() - 1)};
}

Place Planner::constant(const Buffer& array) {
  kernel::Slot slot{array.dtype(), array.elements(), kernel::Slot::Place::constant};
  slot.values.assign(array.data(), array.data() + array.bytes());
  function_.slots.push_back(std::move(slot));
  return {static_cast<SlotId>(function_.slots.size() - 1)};
}

Place Planner::element(const Type& type) {
  const Type held = held_type(type);
  function_.slots.push_back({held.dtype, elements_of(held), kernel::Slot::Place::element});
  return {static_cast<SlotId>(function_.slots.size() - 1)};
}

// A region with the Function's size parameters for its own.
ProgramRef Planner::of_function(const ProgramRef& program, std::span<const Dim> sizes) {
  if (decides_sizes(*program) || std::ranges::any_of(sizes, has_found_size)) return with_found_sizes(*program, sizes);
  if (program->size_params().empty()) return program;
  const CompileTime no_trace;
  Scope scope;
  SizeBinding of_scope;
  for (const SizeVar s : program_.size_params()) of_scope.emplace(s, scope.size_param());
  std::vector<Dim> dims;
  for (const Dim& d : sizes) dims.push_back(substitute(d, of_scope));
  const Replay types(*program, dims);
  Arrays inputs;
  for (Var v : program->inputs()) inputs.push_back(scope.input(types.type(v)));
  return scope.finish(inline_program(*program, dims, inputs), program->name()).program;
}

Block Planner::block(const ProgramRef& region, std::span<const Dim> sizes, const std::vector<Place>& inputs,
                     const std::vector<Place>& outputs, const std::vector<Place>& carries,
                     const std::set<SlotId>& updated, const std::vector<bool>& given, const Eqn* around) {
  require_stack();
  const ProgramRef program = of_function(region, sizes);
  if (function_.sizes > 0)
    for (const Type& type : program->parts().types)
      type.visit_dims([&](const Dim& d) {
        if (!d.known() && !has_found_size(d)) function_.not_empty.push_back(d);
      });
  return BlockPlanner(*this, *program, outputs, updated, around).run(inputs, carries, given);
}

const Expr BlockPlanner::zero(std::int64_t(0));

BlockPlanner::BlockPlanner(Planner& planner, const Program& program, const std::vector<Place>& outputs,
                           const std::set<SlotId>& updated, const Eqn* around)
    : planner_(planner),
      program_(program),
      around_(around),
      fusion_(fuse(program)),
      outputs_(outputs),
      places_(program.vars()),
      maker_(makers_of(program)),
      pending_(program.vars(), false) {
  writable_slots_ = updated;
  last_use_.assign(program.vars(), 0);
  for (std::size_t e = 0; e < program.eqns().size(); ++e)
    for (Var v : program.eqns()[e].in) last_use_[v] = e + 1;
  for (Var v : program.outputs()) last_use_[v] = program.eqns().size() + 1;
  given_.assign(program.vars(), false);
  overwritten_.assign(program.vars(), false);
  for (const Eqn& eqn : program.eqns())
    for (std::size_t i = 0; i < eqn.in.size(); ++i)
      if (may_overwrite(eqn, i)) overwritten_[eqn.in[i]] = true;
  for (Var v = 0; v < program.vars(); ++v) ends_left_[fusion_.group[v]] += fusion_.ends[v] ? 1 : 0;
  if (planner.report_ != nullptr) report_cuts(*planner.report_);
}

Block BlockPlanner::run(const std::vector<Place>& inputs, const std::vector<Place>& carries,
                        const std::vector<bool>& given) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Var v = program_.inputs()[i];
    places_[v] = inputs[i];
    given_[v] = true;
    const bool own = (i < given.size() && given[i]) || std::ranges::find(carries, inputs[i]) != carries.end();
    if (own && program_.type(v).is_list()) owned_.insert(v);
  }
  // An output that nothing else names is computed right where it belongs.
  for (std::size_t i = 0; i < outputs_.size(); ++i) wanted_.emplace(program_.outputs()[i], outputs_[i]);
  for (at_ = 0; at_ < program_.eqns().size(); ++at_) {
    const Eqn& eqn = program_.eqns()[at_];
    const std::size_t before = block_.size();
    if (eqn.op == &require_equal_op()) {
      const auto& [a, b] = sizes_to_be_equal(eqn.params);
      require_not_negative(a - b), require_not_negative(b - a);
    } else if (rule_of<LowerElement>(*eqn.op) != nullptr) {
      if (is_view(eqn))
        places_[eqn.out[0]] = places_[eqn.in[0]], given_[eqn.out[0]] = true;
      else if (fusion_.stored[eqn.out[0]])
        await(eqn.out[0]);
      if (fusion_.ends[eqn.out[0]]) expression_ends(eqn.out[0]);
    } else if (eqn.op == &table_op()) {
      places_[eqn.out[0]] = planner_.constant(table_array(eqn.params));
    } else if (store_ends(true); rule_of<LowerReduction>(*eqn.op) != nullptr) {
      reduction(eqn);
    } else if (const auto* lower = rule_of<LowerLibrary>(*eqn.op)) {
      library(eqn, *lower);
    } else if (const auto* call = rule_of<LowerCall>(*eqn.op)) {
      unit(eqn, *call);
    } else {
      structure(eqn, rule_of<LowerStructure>(*eqn.op)->kind);
    }
    release_dead();
    asked_for_by(eqn.where, before);
  }
  store_ends(true);
  for (Var v = 0; v < program_.vars(); ++v)
    if (pending_[v]) flush(v);
  const auto is_at = [&](Var v, const Place& place) { return stored(v) == place; };
  const auto at_home = [&](std::size_t i) { return i < carries.size() && is_at(program_.outputs()[i], carries[i]); };
  const auto stays = [&](Var v) {
    for (std::size_t i = 0; i < carries.size(); ++i)
      if (program_.outputs()[i] == v && at_home(i)) return true;
    return false;
  };
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Var v = program_.outputs()[i];
    const std::size_t before = block_.size();
    if (program_.type(v).is_list() && !at_home(i))
      give(v, outputs_[i], !stays(v));
    else if (!at_home(i) && !is_at(v, outputs_[i]))
      copy(outputs_[i], stored(v), program_.type(v), why_carried(i));
    asked_for_by(line_of(v), before);
  }
  for (const Var v : owned_)
    if (!stays(v)) call("tenon_list_release", {{handle(v), {}}});
  for (std::size_t i = 0; i < carries.size(); ++i) {
    const std::size_t before = block_.size();
    if (!at_home(i) && !(carries[i] == outputs_[i]))
      copy(carries[i], outputs_[i], program_.type(program_.outputs()[i]), why_carried(i));
    asked_for_by(line_of(program_.outputs()[i]), before);
  }
  return std::move(block_);
}

// The ends of expressions are stored before what reads them asks for them: that would recur through all that they are
// made of. Those of a group share a nest, once the last of them has come.
void BlockPlanner::expression_ends(Var v) {
  const std::size_t group = fusion_.group[v];
  if (std::ranges::find(open_ends_, group, [&](Var first) { return fusion_.group[first]; }) == open_ends_.end())
    open_ends_.push_back(v);
  if (--ends_left_[group] == 0) store_ends(false);
}
// Of open groups in the order in which they began, which is that in which they read each other: all, or as many as are
// complete.
void BlockPlanner::store_ends(bool all) {
  std::size_t done = 0;
  for (; done < open_ends_.size(); ++done) {
    const std::size_t group = fusion_.group[open_ends_[done]];
    if (!all && ends_left_[group] > 0) break;
    const std::vector<Var> members = pending_of_[group];
    for (const Var v : members)
      if (pending_[v]) flush(v);
  }
  open_ends_.erase(open_ends_.begin(), open_ends_.begin() + static_cast<std::ptrdiff_t>(done));
}

void BlockPlanner::report_cuts(Report& report) const {
  for (const Eqn& eqn : program_.eqns()) {
    const Var v = eqn.out.empty() ? 0 : eqn.out[0];
    if (eqn.out.empty() || !fusion_.stored[v]) continue;
    const auto& [phrase, reader] = fusion_.reasons[v];
    const Type& type = program_.type(v);
    report.cuts.push_back(
        {fmt::format("{} {}", eqn.op->name, type.text()),
         static_cast<std::int64_t>(kernel::estimate(elements_of(type)) * static_cast<double>(size_of(type.dtype))),
         reader.empty() ? std::string(phrase) : fmt::format("{} {}", phrase, reader), eqn.where});
  }
}

// Statements from `first` on that do not know yet whose they are.
void BlockPlanner::asked_for_by(const Source& where, std::size_t first) {
  for (std::size_t i = first; i < block_.size(); ++i)
    std::visit(
        [&](auto& held) {
          if constexpr (requires { held.where; })
            if (!held.where.known()) held.where = where;
        },
        block_[i].held());
}

void BlockPlanner::copy(const Place& to, const Place& from, const Type& type, const kernel::CopyCause& cause) {
  const Dim row = type.rank() == 0 ? Dim(1) : type.shape[type.rank() - 1];
  block_.push_back(kernel::Copy{to.slot, from.slot, to.offset, from.offset, elements_of(type), row, cause});
}

Place BlockPlanner::place_for(Var v) {
  if (const auto found = wanted_.find(v); found != wanted_.end()) return found->second;
  return planner_.temporary(program_.type(v));
}

// The place of a variable, storing it now if it is not in memory yet.
Place BlockPlanner::stored(Var v) {
  if (places_[v]) return *places_[v];
  if (!pending_[v]) {
    fusion_.group[v] = fusion_.fresh_group();
    await(v);
  }
  flush(v);
  return *places_[v];
}

// Whether memory has a value already: the elements of an array that nothing overwrites, in another shape.
bool BlockPlanner::is_view(const Eqn& eqn) const {
  const Var v = eqn.out.empty() ? 0 : eqn.out[0];
  if (eqn.op != &reshape_op() || !fusion_.stored[v] || wanted_.contains(v) || overwritten_[v]) return false;
  const Var x = eqn.in[0];
  return given_[x] && !writable_slots_.contains(places_[x]->slot);
}

// One number everywhere: writing it anew costs less than copying it.
bool BlockPlanner::is_fill(Var v) const {
  const Eqn* eqn = maker_[v];
  while (eqn != nullptr && (eqn->op == &broadcast_op() || eqn->op == &reshape_op())) eqn = maker_[eqn->in[0]];
  return eqn != nullptr && eqn->op == &literal_op();
}

void BlockPlanner::fill(Var v, const Place& to) {
  const Sizes extent{elements_of(program_.type(v))};
  Var number = v;
  while (!maker_[number]->in.empty()) number = maker_[number]->in[0];
  if (pending_[number]) stored(number);
  begin_nest(extent, true);
  block_.push_back(
      kernel::Nest{nest_.vars, nest_.extents, {{to.slot, to.offset + *nest_.flat, element(number, {}), {}}}, true});
}

void BlockPlanner::structure(const Eqn& eqn, LowerStructure::Kind kind) {
  using Kind = LowerStructure::Kind;
  switch (kind) {
    case Kind::product:
      return product(eqn);
    case Kind::update_slice:
      return update(eqn);
    case Kind::scatter:
      return scatter(eqn);
    case Kind::loop:
      return loop(eqn);
    case Kind::cond:
      return branch(eqn);
    case Kind::list_active:
    case Kind::list_select:
    case Kind::list_sum:
    case Kind::list_fit:
    case Kind::list_collapse:
    case Kind::list_spread:
      return list_op(eqn, kind);
    case Kind::list_unstack:
    case Kind::list_stack:
    case Kind::list_get:
    case Kind::list_put:
    case Kind::list_add:
      return list_elements(eqn, kind);
    case Kind::compress:
      return compress(eqn);
    case Kind::uncompress:
      return uncompress(eqn);
    case Kind::count:
      return count(eqn);
    case Kind::extent:
      return extent(eqn);
    default:
      throw CompileError(fmt::format("plan: {} has no native form.", eqn.op->name));
  }
}

}  // namespace tenon
