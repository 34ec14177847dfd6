// Lists: their elements where a loop reads and writes them, and who has to release them.
//
// A block owns the lists that its eqns make: each is given away (to the block's outputs, a carry, an element of another
// list) or released behind its last use. What a body or a branch is given, it borrows.
#include "tenon/runtime/lists/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tenon/compile/plan/block_planner.h"
#include "tenon/ir/replay.h"

namespace tenon {
namespace {

Dim bytes_of(const Type& array) { return elements_of(array) * static_cast<std::int64_t>(size_of(array.dtype)); }
Dim element_bytes(const Type& list) { return bytes_of(held_type(*list.element)); }

Dim product_of_first(const Shape& shape, std::int64_t axes) {
  Dim n = 1;
  for (std::int64_t i = 0; i < axes; ++i) n = n * shape[static_cast<std::size_t>(i)];
  return n;
}

}  // namespace

void BlockPlanner::set(const Place& to, Expr value) {
  block_.push_back(kernel::Nest{{}, {}, {{to.slot, to.offset, std::move(value), {}}}, true});
}

// The statements from one on, taken off the block.
Block BlockPlanner::taken(std::size_t from) {
  Block statements(std::move_iterator(block_.begin() + static_cast<std::ptrdiff_t>(from)),
                   std::move_iterator(block_.end()));
  block_.resize(from);
  return statements;
}

void BlockPlanner::call(std::string_view function, std::vector<kernel::Call::Argument> arguments,
                        std::optional<Place> result) {
  planner_.function_.lists = true;
  kernel::Call c{std::string(function), std::move(arguments), {}, {}};
  if (result) c.result = result->slot, c.result_offset = result->offset;
  block_.push_back(std::move(c));
}

// `last`: nothing reads the variable afterwards.
void BlockPlanner::give(Var list, const Place& to, bool last) {
  const Place from = stored(list);
  const bool moved = last && owned_.erase(list) > 0;
  if (!(from == to)) copy(to, from, program_.type(list), {.why = "the handle of a list"});
  if (!moved) call("tenon_list_retain", {{number_at(to), {}}});
}

// Whether the block hands its reference to a list over to an eqn, as nothing else needs it any more.
bool BlockPlanner::given_away(const Eqn& eqn, Var list) {
  return last_use_[list] <= at_ + 1 && std::ranges::count(eqn.in, list) == 1 && owned_.erase(list) > 0;
}

// Behind an eqn: what it made is owned, what nothing reads any more is released.
void BlockPlanner::release_dead() {
  for (const Var v : program_.eqns()[at_].out)
    if (program_.type(v).is_list()) owned_.insert(v);
  for (auto v = owned_.begin(); v != owned_.end();) {
    const bool dead = last_use_[*v] <= at_ + 1;
    if (dead) call("tenon_list_release", {{handle(*v), {}}});
    v = dead ? owned_.erase(v) : std::next(v);
  }
}

void BlockPlanner::count_steps(LoopPlan& l) {
  const auto is_list = [&](Var v) { return program_.type(v).is_list(); };
  const std::span<const Var> xs = std::span(l.eqn.in).subspan(static_cast<std::size_t>(l.p.consts + l.p.carries)),
                             ys = std::span(l.eqn.out).subspan(static_cast<std::size_t>(l.p.carries));
  const bool along_lists = std::ranges::any_of(xs, is_list);
  if (!along_lists && std::ranges::none_of(ys, is_list) && !(l.p.cond && l.p.length)) {
    const Expr i = kernel::variable(l.var);
    if (l.p.length) l.step = l.p.reverse ? kernel::size(*l.p.length - 1) - i : i;
    return;
  }
  const Type number = Type::array(DType::i64, {});
  l.counter = planner_.temporary(number);
  set(*l.counter, zero);
  if (l.p.length) l.limit = kernel::size(*l.p.length);
  if (along_lists) {
    const Place steps = planner_.temporary(number);
    set(steps, l.p.length ? l.limit : Expr(std::int64_t(-1)));
    l.limit = number_at(steps);
    for (const Var v : xs)
      if (is_list(v))
        call("tenon_list_steps", {{handle(v), {}}, {l.limit, {}}, {Expr(std::int64_t(l.p.length ? 1 : 0)), {}}}, steps);
  }
  const Expr done = number_at(*l.counter);
  l.step = l.p.reverse ? l.limit - Expr(std::int64_t(1)) - done : done;
}

Place BlockPlanner::read_list(LoopPlan& l, Var list) {
  const Type& type = program_.type(list);
  const Dim bytes = element_bytes(type);
  const Place cursor = planner_.temporary(Type::array(DType::i64, {}));
  call("tenon_list_open", {{handle(list), {}}, {kernel::size(bytes), {}}, {l.limit, {}}}, cursor);
  const Place element = planner_.element(*type.element);
  kernel::Element read{number_at(cursor), l.step, {}, element.slot, bytes, kernel::Element::Access::read};
  // Backwards along what only this loop reads still: each chunk is freed as soon as it is read.
  if (l.p.reverse && owned_.contains(list) && last_use_[list] <= at_ + 1 && std::ranges::count(l.eqn.in, list) == 1)
    read.consumed = handle(list);
  l.first.push_back(std::move(read));
  return element;
}

Place BlockPlanner::write_list(LoopPlan& l, Var list) {
  using Access = kernel::Element::Access;
  const Type& type = program_.type(list);
  const Dim bytes = element_bytes(type);
  const bool grows = l.p.cond != nullptr;
  const Place made = planner_.temporary(type), element = planner_.element(*type.element);
  call("tenon_list_make",
       {{kernel::size(bytes), {}}, {Expr(std::int64_t(type.element->is_list())), {}}, {grows ? zero : l.limit, {}}},
       made);
  l.first.push_back(
      kernel::Element{number_at(made), l.step, {}, element.slot, bytes, grows ? Access::append : Access::write});
  l.written.push_back(list);
  places_[list] = made;
  return element;
}

// What the end of each step and of the loop do for its lists. Where lanes end apart, their lengths are counted.
void BlockPlanner::finish_steps(LoopPlan& l) {
  if (!l.counter) return;
  std::vector<kernel::Call::Argument> lengths{{zero, {}}, {zero, {}}};
  if (l.p.lanes && !l.written.empty()) {
    const Type type = Replay(*l.p.body, l.p.body_sizes).type(l.p.body->outputs().back());
    const Dim lanes = elements_of(type);
    const Place flags = planner_.temporary(type), counts = planner_.temporary(Type::array(DType::i64, {lanes}));
    const Expr i = kernel::variable(planner_.fresh_var());
    const auto each = [&](const Expr& value) {
      return kernel::Nest{{i.node().id}, {lanes}, {{counts.slot, i, value, {}}}, true};
    };
    l.last.push_back(each(kernel::load(counts.slot, DType::i64, i) +
                          kernel::convert(DType::i64, kernel::load(flags.slot, DType::bool_, i))));
    block_.push_back(each(zero));
    l.outputs.push_back(flags);
    lengths = {{kernel::size(lanes), {}}, {zero, counts.slot}};
  }
  const std::size_t loop = block_.size();
  set(*l.counter, number_at(*l.counter) + Expr(std::int64_t(1)));
  std::ranges::move(taken(loop), std::back_inserter(l.last));
  for (const Var y : l.written)
    call("tenon_list_finish", {{handle(y), {}}, {number_at(*l.counter), {}}, lengths[0], lengths[1]});
  l.after = taken(loop);
}

// Where the runtime puts a list, or a number that it says of lists.
Place BlockPlanner::list_result(Var y) {
  const Type& type = program_.type(y);
  return planner_.temporary(type.is_list() ? type : Type::array(DType::i64, {}));
}

void BlockPlanner::list_op(const Eqn& eqn, LowerStructure::Kind kind) {
  using Kind = LowerStructure::Kind;
  const Var y = eqn.out[0];
  const Type& type = program_.type(y);
  const Place to = list_result(y);
  const auto count = [](const Type& t) { return kernel::size(elements_of(t)); };
  switch (kind) {
    case Kind::list_active:
      for (std::size_t i = 0; i < eqn.in.size(); ++i)
        call("tenon_list_active",
             {{handle(eqn.in[i]), {}},
              {count(leaf_type(type)), {}},
              {i == 0 ? zero : number_at(to), {}},
              {Expr(depth_of(type)), {}}},
             to);
      break;
    case Kind::list_select: {
      const Place lanes = stored(eqn.in[0]);
      call("tenon_list_select",
           {{lanes.offset, lanes.slot},
            {count(program_.type(eqn.in[0])), {}},
            {handle(eqn.in[1]), {}},
            {handle(eqn.in[2]), {}}},
           to);
      break;
    }
    case Kind::list_sum:
      call("tenon_list_sum",
           {{handle(eqn.in[0]), {}},
            {handle(eqn.in[1]), {}},
            {Expr(static_cast<std::int64_t>(leaf_type(type).dtype)), {}}},
           to);
      break;
    case Kind::list_fit: {
      const Place lanes = stored(eqn.in[0]);
      call("tenon_list_fit",
           {{lanes.offset, lanes.slot},
            {count(program_.type(eqn.in[0])), {}},
            {handle(eqn.in[1]), {}},
            {handle(eqn.in[2]), {}},
            {handle(eqn.in[3]), {}},
            {Expr(depth_of(type)), {}},
            {kernel::size(bytes_of(leaf_type(type))), {}}},
           to);
      break;
    }
    case Kind::list_collapse: {
      const std::int64_t axis = collapse_axis(eqn.params);
      const Shape& lanes = leaf_type(program_.type(eqn.in[0])).shape;
      const Dim before = product_of_first(lanes, axis);
      call("tenon_list_collapse",
           {{handle(eqn.in[0]), {}},
            {kernel::size(before), {}},
            {kernel::size(lanes[static_cast<std::size_t>(axis)]), {}},
            {Expr(depth_of(type)), {}},
            {kernel::size(bytes_of(leaf_type(type))), {}},
            {Expr(static_cast<std::int64_t>(leaf_type(type).dtype)), {}}},
           to);
      break;
    }
    case Kind::list_spread: {
      const auto [axis, size] = spread_form(eqn.params);
      const Dim before = product_of_first(leaf_type(type).shape, axis);
      call("tenon_list_spread",
           {{handle(eqn.in[0]), {}}, {kernel::size(before), {}}, {Expr(size), {}}, {Expr(depth_of(type)), {}}}, to);
      break;
    }
    default:
      throw CompileError(fmt::format("plan: {} is no op of lists.", eqn.op->name));
  }
  places_[y] = to;
}

// Elements by number, and lists as arrays.
void BlockPlanner::list_elements(const Eqn& eqn, LowerStructure::Kind kind) {
  using Kind = LowerStructure::Kind;
  const Var y = eqn.out[0], list = eqn.in[0];
  const Place to = list_result(y);
  const auto address = [&](Var v) {
    const Place place = stored(v);
    return kernel::Call::Argument{place.offset, place.slot};
  };
  const auto written = [&](Var v) {
    const Place place = place_for(v);
    places_[v] = place;
    return kernel::Call::Argument{place.offset, place.slot, true};
  };
  const auto number = [](const Dim& n) { return kernel::Call::Argument{kernel::size(n), {}}; };
  if (kind == Kind::list_unstack) {
    const Type& rows = program_.type(list);
    call("tenon_list_unstack", {number(element_bytes(program_.type(y))), number(rows.shape[0]), address(list)}, to);
    places_[y] = to;
    return;
  }
  const Type& type = program_.type(list);
  const Dim bytes = element_bytes(type);
  const kernel::Call::Argument handle_of{handle(list), {}};
  if (kind == Kind::list_stack)
    return call("tenon_list_stack", {handle_of, number(bytes), number(program_.type(y).shape[0]), written(y)});
  const kernel::Call::Argument at = address(eqn.in[1]);
  const Dim lanes = elements_of(program_.type(eqn.in[1]));
  if (kind == Kind::list_get) {
    if (!type.element->is_list())
      return call("tenon_list_get", {handle_of, number(bytes), at, number(lanes), written(y)});
    call("tenon_list_get_list", {handle_of, at}, to);
  } else {
    const bool given = given_away(eqn, list);
    std::vector<kernel::Call::Argument> arguments{
        handle_of,     number(std::int64_t(given)), number(bytes), number(std::int64_t(type.element->is_list())), at,
        number(lanes), address(eqn.in[2])};
    const bool adds = kind == Kind::list_add;
    if (adds) arguments.push_back(number(static_cast<std::int64_t>(leaf_type(type).dtype)));
    call(adds ? "tenon_list_add" : "tenon_list_put", std::move(arguments), to);
    if (!given && planner_.report_ != nullptr)
      std::get<kernel::Call>(block_.back().held()).cause = why_copied(eqn, list, eqn.op->name);
  }
  places_[y] = to;
}

}  // namespace tenon
