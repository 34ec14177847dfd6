// Lists of lanes: which lanes have an element, a choice lane by lane, sums, one list for all lanes, the empty list.
//
// Of each lane a list has as many elements as the loop took steps there that made it, or none: no element is zero of
// every length, as the list without elements is for all lanes. So lists in step agree about the length of a lane by the
// longest of them. What stands beyond a lane's end is not specified: readers ask the lengths. Lists that are written by
// number (list_elements.h) are open instead: zero behind their ends.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/lists/list_elements.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

// Of list_active: the axes that lanes run along, and how many lists deep the result is.
struct ListActiveParams {
  std::int64_t axes, depth;
};
BOOST_DESCRIBE_STRUCT(ListActiveParams, (), (axes, depth))

// Of list_spread: the new axis of every array, and its size. Of list_collapse: the axis that is summed.
struct ListSpreadParams {
  std::int64_t axis;
  Dim size;
};
BOOST_DESCRIBE_STRUCT(ListSpreadParams, (), (axis, size))
struct ListCollapseParams {
  std::int64_t axis;
};
BOOST_DESCRIBE_STRUCT(ListCollapseParams, (), (axis))

SpreadForm spread_form(const Params& params) {
  const auto& p = params.as<ListSpreadParams>();
  return {p.axis, p.size.value()};
}
std::int64_t collapse_axis(const Params& params) { return params.as<ListCollapseParams>().axis; }
std::int64_t depth_of(const Type& type) { return type.is_array() ? 0 : 1 + depth_of(*type.element); }

namespace {

using Lengths = std::vector<std::int64_t>;

Type list_of(Type leaf, std::int64_t depth) {
  return depth == 0 ? leaf : Type::list(list_of(std::move(leaf), depth - 1));
}
// The type with another array inside.
Type with_leaf(const Type& type, const Type& leaf) { return list_of(leaf, depth_of(type)); }

// Elements of one lane of `lanes`. Lanes are counted from the outermost axis: of more lengths than lanes several stand
// behind one lane, the longest of which counts; of fewer one stands for several.
std::int64_t length_of(const ListValue& list, std::size_t lane, std::size_t lanes) {
  if (!list.lengths || is_open(list)) return static_cast<std::int64_t>(list.items->size());
  const std::size_t counts = list.lengths->size();
  if (counts == 0) return 0;
  const std::size_t first = lane * counts / lanes, last = std::max((lane + 1) * counts / lanes, first + 1);
  return *std::max_element(list.lengths->begin() + static_cast<std::ptrdiff_t>(first),
                           list.lengths->begin() + static_cast<std::ptrdiff_t>(last));
}
bool has_element(const ListValue& list, std::size_t t, std::size_t lane, std::size_t lanes) {
  return t < list.items->size() && static_cast<std::int64_t>(t) < length_of(list, lane, lanes);
}

Value list_value(const Type& element, std::vector<Value> items, std::shared_ptr<const Lengths> lengths) {
  return ListValue{element, std::make_shared<std::vector<Value>>(std::move(items)), std::move(lengths)};
}

// Operands that are not batched get the batch axis; the op is bound to them all.
BatchRule batch_all(
    const OpInfo& op, std::function<Params(const BatchArgs&)> params = [](const BatchArgs&) { return Params(); }) {
  return [&op, params](const BatchArgs& args) {
    Arrays operands(args.operands.begin(), args.operands.end());
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!args.batched[i]) operands[i] = one_for_all_lanes(operands[i], args.size);
    return BatchResult{bind_op(op, params(args), operands), {true}};
  };
}

// A bool a lane, lanes along the first axes of the arrays in a list.
bool is_of_lanes(const Type& lanes, const Type& list) {
  const Shape& shape = leaf_type(list).shape;
  return lanes.is_array() && lanes.dtype == DType::bool_ && lanes.rank() > 0 && lanes.rank() <= shape.rank() &&
         std::equal(lanes.shape.begin(), lanes.shape.end(), shape.begin());
}

// --- list_active ---
Type flags_type(const ListActiveParams& p, const Type& list) {
  const Shape& shape = leaf_type(list).shape;
  if (!list.is_list() || p.axes < 0 || static_cast<std::size_t>(p.axes) > shape.rank() || p.depth < 1 ||
      p.depth > depth_of(list))
    throw VerifyError(fmt::format("list_active: {} axes of lanes, {} deep, in {}.", p.axes, p.depth, list.text()));
  return list_of(Type::array(DType::bool_, Shape(std::vector<Dim>(shape.begin(), shape.begin() + p.axes))), p.depth);
}

// Lanes of `within` that have an element in one of the lists.
Value active_in(const std::vector<const ListValue*>& lists, const std::vector<bool>& within, const Type& type) {
  std::size_t steps = 0;
  for (const ListValue* list : lists) steps = std::max(steps, list->items->size());
  std::vector<Value> items;
  auto lengths = std::make_shared<Lengths>(within.size(), 0);
  for (std::size_t t = 0; t < steps; ++t) {
    std::vector<bool> here(within.size(), false);
    std::vector<const ListValue*> inner;
    for (const ListValue* list : lists) {
      for (std::size_t l = 0; l < here.size(); ++l)
        here[l] = here[l] || (within[l] && has_element(*list, t, l, here.size()));
      if (type.element->is_list() && t < list->items->size()) inner.push_back(&std::get<ListValue>((*list->items)[t]));
    }
    for (std::size_t l = 0; l < here.size(); ++l) (*lengths)[l] += here[l];
    if (type.element->is_list()) {
      items.push_back(active_in(inner, here, *type.element));
    } else {
      Buffer flags = Buffer::allocate(DType::bool_, type.element->shape.sizes());
      std::copy(here.begin(), here.end(), flags.as<bool>());
      items.emplace_back(flags);
    }
  }
  if (items.empty()) lengths = nullptr;
  return list_value(*type.element, std::move(items), lengths);
}

extern const OpInfo list_active_info;
const OpInfo list_active_info{
    .name = "list_active",
    .summary = "which lanes have an element, along lists in step",
    .params = &describe::params_ops<ListActiveParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      if (in.empty()) throw VerifyError("list_active: takes lists.");
      const Type flags = flags_type(params.as<ListActiveParams>(), in[0]);
      for (const Type& list : in)
        if (flags_type(params.as<ListActiveParams>(), list) != flags)
          throw VerifyError("list_active: " + list.text() + " has other lanes than " + in[0].text() + ".");
      return std::vector{flags};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      std::vector<const ListValue*> lists;
      for (const Value& list : in) lists.push_back(&std::get<ListValue>(list));
      const auto lanes = static_cast<std::size_t>(leaf_type(context.out[0]).shape.elements().value());
      return std::vector{active_in(lists, std::vector<bool>(lanes, true), context.out[0])};
    }),
    .jvp = Absent{"its result is a bool"},
    .transpose = Absent{"its result is a bool"},
    .batch = batch_all(list_active_info,
                       [](const BatchArgs& args) {
                         const auto& p = args.params.as<ListActiveParams>();
                         return make_params(ListActiveParams{p.axes + 1, p.depth});
                       }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list_active}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with batched loops"}};

// --- values put together lane by lane ---
// What one lane of a result is: a value; where that has no element the spare stands there, and does not count.
struct Lane {
  const Value* value = nullptr;
  const Value* spare = nullptr;
};

// Without value and spare zeros, or no elements.
Value take_lanes(const Type& type, const std::vector<Lane>& lanes) {
  if (type.is_array()) {
    Buffer result = Buffer::zeros(type.dtype, type.shape.sizes());
    const std::size_t each = lanes.empty() ? 0 : result.bytes() / lanes.size();
    const Value* last = nullptr;
    Buffer from;
    for (std::size_t l = 0; l < lanes.size() && each > 0; ++l) {
      const Value* value = lanes[l].value ? lanes[l].value : lanes[l].spare;
      if (value == nullptr) continue;
      if (value != last) from = family::contiguous(*value);
      last = value;
      std::memcpy(result.data() + l * each, from.data() + l * each, each);
    }
    return result;
  }
  const auto list = [](const Value* value) { return value ? std::get_if<ListValue>(value) : nullptr; };
  std::size_t steps = 0, finest = lanes.size();
  for (const Lane& lane : lanes)
    for (const ListValue* l : {list(lane.value), list(lane.spare)}) {
      if (l == nullptr) continue;
      steps = std::max(steps, l->items->size());
      if (l->lengths) finest = std::max(finest, l->lengths->size());
    }
  std::vector<Value> items;
  for (std::size_t t = 0; t < steps; ++t) {
    std::vector<Lane> elements(lanes.size());
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      for (const ListValue* from : {list(lanes[l].spare), list(lanes[l].value)}) {
        if (from == nullptr || t >= from->items->size()) continue;
        const bool own = from == list(lanes[l].value) && has_element(*from, t, l, lanes.size());
        if (own)
          elements[l].value = &(*from->items)[t];
        else if (lanes[l].spare)
          elements[l].spare = &(*from->items)[t];
      }
      if (lanes[l].spare && !elements[l].spare) elements[l].spare = elements[l].value;
    }
    items.push_back(take_lanes(*type.element, elements));
  }
  auto lengths = std::make_shared<Lengths>();
  for (std::size_t k = 0; k < finest; ++k) {
    const Lane& lane = lanes[k * lanes.size() / finest];
    const ListValue* own = list(lane.value ? lane.value : lane.spare);
    lengths->push_back(own ? length_of(*own, k, finest) : 0);
  }
  return list_value(*type.element, std::move(items), lengths);
}

// The list with zeros where a lane has no element.
Value with_zeros(const Type& type, const Value& list, std::size_t lanes) {
  return take_lanes(type, std::vector<Lane>(lanes, Lane{&list}));
}

// A list that is zero where a lane has no element, as one that is zero behind its end.
Value opened(const Value& value) {
  const auto* list = std::get_if<ListValue>(&value);
  if (list == nullptr) return value;
  std::vector<Value> items;
  for (const Value& item : *list->items) items.push_back(opened(item));
  return open_list(list->element, std::move(items));
}

// --- list_fit ---
Value fit(const Type& type, const std::vector<const Value*>& of_lane, const Value& from, const Value& to) {
  if (type.is_array()) {
    std::vector<Lane> both(of_lane.size());
    const Buffer a = family::contiguous(from), b = family::contiguous(to);
    for (std::size_t l = 0; l < both.size(); ++l)
      if (a.as<bool>()[l] && b.as<bool>()[l]) both[l].value = of_lane[l];
    return take_lanes(type, both);
  }
  const auto &marks = std::get<ListValue>(from), &wanted = std::get<ListValue>(to);
  const bool zero = std::ranges::all_of(
      of_lane, [](const Value* value) { return value == nullptr || std::get<ListValue>(*value).items->empty(); });
  if (zero) return list_value(*type.element, {}, nullptr);
  std::vector<Value> items;
  for (std::size_t t = 0; t < wanted.items->size(); ++t) {
    std::vector<const Value*> elements;
    for (const Value* value : of_lane) {
      const auto* list = value ? std::get_if<ListValue>(value) : nullptr;
      elements.push_back(list && t < list->items->size() && t < marks.items->size() ? &(*list->items)[t] : nullptr);
    }
    // Beyond its own end the list has no lane to take, so that any marks will do.
    const Value& own = t < marks.items->size() ? (*marks.items)[t] : (*wanted.items)[t];
    items.push_back(fit(*type.element, elements, own, (*wanted.items)[t]));
  }
  return list_value(*type.element, std::move(items), wanted.lengths);
}

Array list_fit(const Array& lanes, const Array& list, const Array& from, const Array& to);

extern const OpInfo list_fit_info;
const OpInfo list_fit_info{
    .name = "list_fit",
    .summary = "elements of some lanes as a list of other lengths; zeros where there is none",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 4 || !in[1].is_list() || !is_of_lanes(in[0], in[1]) || in[2] != with_leaf(in[1], in[0]) ||
          in[3] != in[2])
        throw VerifyError("list_fit: takes a bool a lane, a list, and where that and the result have elements.");
      return std::vector{in[1]};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const Buffer lanes = family::contiguous(in[0]);
      std::vector<const Value*> of_lane;
      for (std::int64_t l = 0; l < lanes.elements(); ++l) of_lane.push_back(lanes.as<bool>()[l] ? &in[1] : nullptr);
      const Value result = fit(context.out[0], of_lane, in[2], in[3]);
      return std::vector{is_open(in[1]) ? opened(result) : result};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      const Arrays& x{args.primals.begin(), args.primals.end()};
      return JvpResult{bind_op(list_fit_info, {}, x), {list_fit(x[0], *args.tangents[1], x[2], x[3])}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      const auto& o = args.operands;
      if (args.cotangents[0]) args.sink.add(1, list_fit(*o[0].value, *args.cotangents[0], *o[3].value, *o[2].value));
    }),
    .batch = batch_all(list_fit_info),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list_fit}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with derivatives of batched branches"}};

Array list_fit(const Array& lanes, const Array& list, const Array& from, const Array& to) {
  return bind1(list_fit_info, {}, {lanes, list, from, to});
}

// --- list_select ---
extern const OpInfo list_select_info;

// The tangent has the result's lanes: of `yes` and `no` those that were taken, as long as the result is there.
JvpResult list_select_jvp(const JvpArgs& args) {
  const Arrays outputs = bind_op(list_select_info, {}, args.primals);
  const Array& lanes = args.primals[0];
  const auto marks = [&](const Array& list) {
    return list_active({&list, 1}, static_cast<std::int64_t>(lanes.rank()), depth_of(list.type()));
  };
  MaybeArray tangent;
  for (std::size_t i : {1, 2}) {
    if (!args.tangents[i]) continue;
    const Array part = list_fit(i == 1 ? lanes : !lanes, *args.tangents[i], marks(args.primals[i]), marks(outputs[0]));
    tangent = tangent ? list_sum(*tangent, part) : part;
  }
  return {outputs, {tangent}};
}

const OpInfo list_select_info{
    .name = "list_select",
    .summary = "of two lists one or the other, lane by lane",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 3 || !in[1].is_list() || in[1] != in[2])
        throw VerifyError("list_select: takes a bool a lane and two lists of one type.");
      if (!is_of_lanes(in[0], in[1]))
        throw VerifyError("list_select: lanes " + in[0].text() + " of " + in[1].text() + ".");
      return std::vector{in[1]};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const Buffer lanes = family::contiguous(in[0]);
      std::vector<Lane> of_lane;
      for (std::int64_t l = 0; l < lanes.elements(); ++l)
        of_lane.push_back(lanes.as<bool>()[l] ? Lane{&in[1], &in[2]} : Lane{&in[2], &in[1]});
      if (!is_open(in[1]) && !is_open(in[2])) return std::vector{take_lanes(context.out[0], of_lane)};
      for (Lane& lane : of_lane) lane.spare = nullptr;
      return std::vector{opened(take_lanes(context.out[0], of_lane))};
    }),
    .jvp = JvpRule(list_select_jvp),
    .transpose = Absent{"its derivative is list_fit, which knows the lengths of what was chosen"},
    .batch = batch_all(list_select_info),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list_select}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with batched branches"}};

// --- list_sum ---
std::shared_ptr<const Lengths> longest(const ListValue& a, const ListValue& b) {
  if (is_open(a) || !b.lengths) return is_open(a) ? a.lengths : nullptr;
  if (is_open(b) || !a.lengths) return is_open(b) ? b.lengths : nullptr;
  auto lengths = std::make_shared<Lengths>();
  const std::size_t lanes = std::max(a.lengths->size(), b.lengths->size());
  for (std::size_t l = 0; l < lanes; ++l) lengths->push_back(std::max(length_of(a, l, lanes), length_of(b, l, lanes)));
  return lengths;
}

// As many lanes, along the first axes of a list's arrays, as lengths tell apart.
std::size_t lanes_along(const Type& list, std::size_t counts) {
  std::size_t lanes = 1;
  for (const Dim& d : leaf_type(list).shape) {
    if (lanes >= counts) break;
    lanes *= static_cast<std::size_t>(d.value());
  }
  return lanes;
}

ListValue sum_lists(const ListValue& a, const ListValue& b, const EvalContext& context) {
  if (a.items->empty()) return b;
  if (b.items->empty()) return a;
  if (a.items->size() != b.items->size() && !is_open(a) && !is_open(b))
    throw ShapeError(fmt::format("list_sum: lists of {} and {} elements.", a.items->size(), b.items->size()));
  if (a.items->size() > b.items->size()) return sum_lists(b, a, context);
  std::vector<Value> items = *b.items;  // beyond its end the shorter is zero
  for (std::size_t t = 0; t < a.items->size(); ++t) items[t] = sum_values((*a.items)[t], items[t], context);
  return {a.element, std::make_shared<std::vector<Value>>(std::move(items)), longest(a, b)};
}

// A lane that has elements in one of two lists: those are the sum.
ListValue sum_of_lanes(const ListValue& a, const ListValue& b, const EvalContext& context) {
  if (!a.lengths || !b.lengths || *a.lengths == *b.lengths || is_open(a) || is_open(b)) return sum_lists(a, b, context);
  const Type type = Type::list(a.element);
  const std::size_t lanes = lanes_along(type, std::max(a.lengths->size(), b.lengths->size()));
  const Value x = with_zeros(type, a, lanes), y = with_zeros(type, b, lanes);
  return sum_lists(std::get<ListValue>(x), std::get<ListValue>(y), context);
}

const OpInfo list_sum_info{
    .name = "list_sum",
    .summary = "lists added element by element; the empty list is zero",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 2 || !in[0].is_list() || in[0] != in[1] || !is_differentiable(leaf_type(in[0]).dtype))
        throw VerifyError("list_sum: takes two lists of one type, of real or complex numbers.");
      return std::vector{in[0]};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      return std::vector<Value>{sum_values(in[0], in[1], context)};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      const auto &a = args.tangents[0], &b = args.tangents[1];
      return JvpResult{bind_op(list_sum_info, {}, args.primals), {a && b ? list_sum(*a, *b) : a ? a : b}};
    }),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      for (std::size_t i : {0, 1})
        if (args.cotangents[0] && args.operands[i].linear()) args.sink.add(i, *args.cotangents[0]);
    }),
    .batch = batch_all(list_sum_info),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list_sum}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with second derivatives of loops"}};

// --- list_spread and list_collapse: the same for all lanes, and the sum of all lanes ---
void check_axis(std::string_view op, std::span<const Type> in, std::int64_t axis, std::size_t own) {
  if (in.size() != 1 || !in[0].is_list() || axis < 0 ||
      static_cast<std::size_t>(axis) + own > leaf_type(in[0]).shape.rank())
    throw VerifyError(fmt::format("{}: takes one list whose arrays have an axis {}.", op, axis));
}

// Lanes along the axes before one.
std::size_t lanes_before(const Type& list, std::int64_t axis) {
  std::size_t lanes = 1;
  for (std::int64_t i = 0; i < axis; ++i)
    lanes *= static_cast<std::size_t>(leaf_type(list).shape[static_cast<std::size_t>(i)].value());
  return lanes;
}

Value apply(const EvalContext& context, const Value& x, FunctionRef<Array(const Array&)> f) {
  ProgramRef program;
  {
    Scope scope;
    program = scope.finish(Arrays{f(scope.input(type_of(x)))}).program;
  }
  return context.run(*program, {}, std::vector{x})[0];
}

// Lengths count lanes from the outermost axis; those of axes behind the new one are the same along it.
Value spread(const Type& result, const Value& value, const ListSpreadParams& p, std::size_t before,
             const EvalContext& context) {
  const auto* list = std::get_if<ListValue>(&value);
  if (list == nullptr)
    return apply(context, value, [&](const Array& x) { return move_axis(add_batch_axis(x, p.size), 0, p.axis); });
  std::vector<Value> items;
  for (const Value& item : *list->items) items.push_back(spread(*result.element, item, p, before, context));
  auto lengths = list->lengths;
  if (lengths && before > 0 && lengths->size() > before) {
    auto longer = std::make_shared<Lengths>();
    const auto behind = static_cast<std::ptrdiff_t>(lengths->size() / before);
    for (auto lane = lengths->begin(); lane != lengths->end(); lane += behind)
      for (std::int64_t k = 0; k < p.size.value(); ++k) longer->insert(longer->end(), lane, lane + behind);
    lengths = longer;
  }
  return list_value(*result.element, std::move(items), lengths);
}

// Of a list that is zero where a lane has no element.
Value collapse(const Type& result, const Value& value, std::int64_t axis, std::size_t before, std::size_t size,
               const EvalContext& context) {
  const auto* list = std::get_if<ListValue>(&value);
  if (list == nullptr) return apply(context, value, [&](const Array& x) { return sum(x, Axes(axis)); });
  std::vector<Value> items;
  for (const Value& item : *list->items) items.push_back(collapse(*result.element, item, axis, before, size, context));
  if (items.empty()) return list_value(*result.element, {}, nullptr);
  const std::size_t behind = list->lengths->size() / (before * size);
  auto lengths = std::make_shared<Lengths>(before * behind, 0);
  for (std::size_t i = 0; i < list->lengths->size(); ++i) {
    std::int64_t& longest = (*lengths)[i / (size * behind) * behind + i % behind];
    longest = std::max(longest, (*list->lengths)[i]);
  }
  return list_value(*result.element, std::move(items), lengths);
}

extern const OpInfo list_spread_info, list_collapse_info;
const OpInfo list_spread_info{
    .name = "list_spread",
    .summary = "every array of a list with one axis more, the same for all lanes along it",
    .params = &describe::params_ops<ListSpreadParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      const auto& p = params.as<ListSpreadParams>();
      check_axis("list_spread", in, p.axis, 0);
      const Type& array = leaf_type(in[0]);
      return std::vector{
          with_leaf(in[0], Type::array(array.dtype, array.shape.with_axis(static_cast<std::size_t>(p.axis), p.size)))};
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto& p = params.as<ListSpreadParams>();
      return std::vector{spread(context.out[0], in[0], p, lanes_before(context.out[0], p.axis), context)};
    }),
    .jvp = jvp_by_itself(list_spread_info),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (args.cotangents[0])
        args.sink.add(
            0, bind1(list_collapse_info, make_params(ListCollapseParams{args.params.as<ListSpreadParams>().axis}),
                     {*args.cotangents[0]}));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      const auto& p = args.params.as<ListSpreadParams>();
      return BatchResult{bind_op(list_spread_info, make_params(ListSpreadParams{p.axis + 1, p.size}), args.operands),
                         {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list_spread}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with batches of batches"}};

const OpInfo list_collapse_info{
    .name = "list_collapse",
    .summary = "every array of a list summed along an axis of lanes",
    .params = &describe::params_ops<ListCollapseParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      const auto axis = params.as<ListCollapseParams>().axis;
      check_axis("list_collapse", in, axis, 1);
      const Type& array = leaf_type(in[0]);
      if (!is_differentiable(array.dtype)) throw VerifyError("list_collapse: takes a list of real or complex numbers.");
      return std::vector{
          with_leaf(in[0], Type::array(array.dtype, array.shape.without_axis(static_cast<std::size_t>(axis))))};
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const auto axis = params.as<ListCollapseParams>().axis;
      const Type type = type_of(in[0]);
      const std::size_t before = lanes_before(type, axis), lanes = lanes_before(type, axis + 1);
      const Value own = with_zeros(type, in[0], lanes);
      const Value sum = collapse(context.out[0], own, axis, before, before == 0 ? 0 : lanes / before, context);
      return std::vector{is_open(in[0]) ? opened(sum) : sum};
    }),
    .jvp = jvp_by_itself(list_collapse_info),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      const auto axis = args.params.as<ListCollapseParams>().axis;
      const Dim size = leaf_type(args.operands[0].type).shape[static_cast<std::size_t>(axis)];
      if (args.cotangents[0])
        args.sink.add(0, bind1(list_spread_info, make_params(ListSpreadParams{axis, size}), {*args.cotangents[0]}));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      const auto axis = args.params.as<ListCollapseParams>().axis;
      return BatchResult{bind_op(list_collapse_info, make_params(ListCollapseParams{axis + 1}), args.operands), {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list_collapse}),
    .alias = Absent{"the result is smaller"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with derivatives of batches of batches"}};

const bool lists_installed =
    (install_op(list_active_info), install_op(list_select_info), install_op(list_fit_info), install_op(list_sum_info),
     install_op(list_spread_info), install_op(list_collapse_info), true);

}  // namespace

Value sum_values(const Value& a, const Value& b, const EvalContext& context) {
  if (const auto* list = std::get_if<ListValue>(&a)) return sum_of_lanes(*list, std::get<ListValue>(b), context);
  const ProgramRef add = program_of(add_op(), {}, std::vector{type_of(a), type_of(b)});
  return context.run(*add, {}, std::vector<Value>{a, b})[0];
}

const Type& leaf_type(const Type& type) { return type.is_array() ? type : leaf_type(*type.element); }

Array list_active(std::span<const Array> lists, std::int64_t axes, std::int64_t depth) {
  return bind_op(list_active_info, make_params(ListActiveParams{axes, depth}), lists)[0];
}

Array list_select(const Array& lanes, const Array& yes, const Array& no) {
  return bind1(list_select_info, {}, {lanes, yes, no});
}

Array list_sum(const Array& a, const Array& b) { return bind1(list_sum_info, {}, {a, b}); }

Array empty_list(const Type& element) {
  LoopParams p;
  {
    Scope scope;
    TraceResult body = scope.finish(Arrays{zeros_of(element)});
    p.body = std::move(body.program);
    p.body_sizes = std::move(body.sizes);
  }
  {
    Scope scope;
    p.cond = scope.finish(Arrays{Array(Scalar(false))}).program;
  }
  return loop(std::move(p), Arrays{})[0];
}

Array zeros_of(const Type& type) { return type.is_list() ? empty_list(*type.element) : zeros_like(type); }

Array one_for_all_lanes(const Array& a, const Dim& size) {
  if (!a.type().is_list()) return add_batch_axis(a, size);
  return bind1(list_spread_info, make_params(ListSpreadParams{0, size}), {a});
}
Array sum_of_lanes(const Array& a) {
  return a.type().is_list() ? bind1(list_collapse_info, make_params(ListCollapseParams{0}), {a}) : sum(a, Axes{0});
}

}  // namespace tenon
