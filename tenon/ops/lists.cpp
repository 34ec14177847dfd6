// Lists that batching and branches make: which lanes have an element, a choice lane by lane, the empty list, one list
// for all lanes.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenon/ir/describe_params.h"
#include "tenon/ir/recurse.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/region.h"
#include "tenon/ops/shape.h"

namespace tenon {

struct ListActiveParams {
  std::int64_t axes;
};
BOOST_DESCRIBE_STRUCT(ListActiveParams, (), (axes))

namespace {

const Type& leaf(const Type& type) { return type.is_array() ? type : leaf(*type.element); }

Type flags_type(const ListActiveParams& p, const Type& list) {
  const Shape& shape = leaf(list).shape;
  if (p.axes < 1 || static_cast<std::size_t>(p.axes) > shape.rank())
    throw VerifyError(fmt::format("list_active: {} axes of lanes in {}.", p.axes, list.text()));
  return Type::array(DType::bool_, Shape(std::vector<Dim>(shape.begin(), shape.begin() + p.axes)));
}

std::vector<Value> list_active_eval(const Params&, std::span<const Value> in, const EvalContext& context) {
  const auto& list = std::get<ListValue>(in[0]);
  const Type element = *context.out[0].element;
  std::vector<Value> items;
  for (std::size_t t = 0; t < list.items->size(); ++t) {
    Buffer active = Buffer::allocate(DType::bool_, element.shape.sizes());
    const auto flags = static_cast<std::size_t>(active.elements());
    const std::size_t counts = list.lengths ? list.lengths->size() : 0;
    // Lanes are counted from the outermost axis in both: of more lengths than flags several stand behind one lane, of
    // fewer one stands for several.
    for (std::size_t l = 0; l < flags; ++l) {
      bool any = list.lengths == nullptr;
      const std::size_t first = l * counts / flags, last = std::max((l + 1) * counts / flags, first + 1);
      for (std::size_t k = first; !any && k < last; ++k) any = static_cast<std::int64_t>(t) < (*list.lengths)[k];
      active.as<bool>()[l] = any;
    }
    items.push_back(active);
  }
  return {ListValue{element, std::make_shared<const std::vector<Value>>(std::move(items)), nullptr}};
}

extern const OpInfo list_active_info;
const OpInfo list_active_info{
    .name = "list_active",
    .summary = "which lanes have an element, along a list",
    .params = &describe::params_ops<ListActiveParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1 || !in[0].is_list()) throw VerifyError("list_active: takes one list.");
      return std::vector{Type::list(flags_type(params.as<ListActiveParams>(), in[0]))};
    }),
    .eval = EvalRule(list_active_eval),
    .jvp = Absent{"its result is a bool"},
    .transpose = Absent{"its result is a bool"},
    .batch = BatchRule([](const BatchArgs& args) {
      return BatchResult{{list_active(args.operands[0], args.params.as<ListActiveParams>().axes + 1)}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with batched loops"}};
// --- list_select ---
std::int64_t length_of(const ListValue& list, std::size_t lane, std::size_t lanes) {
  if (!list.lengths) return static_cast<std::int64_t>(list.items->size());
  return (*list.lengths)[lane * list.lengths->size() / lanes];
}

Value select_lanes(const Buffer& predicate, const Value& yes, const Value& no);

ListValue select_lists(const Buffer& predicate, const ListValue& yes, const ListValue& no) {
  std::vector<Value> items;
  for (std::size_t t = 0; t < std::max(yes.items->size(), no.items->size()); ++t)
    items.push_back(t >= yes.items->size()  ? (*no.items)[t]
                    : t >= no.items->size() ? (*yes.items)[t]
                                            : select_lanes(predicate, (*yes.items)[t], (*no.items)[t]));
  const auto outer = static_cast<std::size_t>(predicate.elements());
  const std::size_t lanes =
      std::max({outer, yes.lengths ? yes.lengths->size() : 0, no.lengths ? no.lengths->size() : 0});
  auto lengths = std::make_shared<std::vector<std::int64_t>>();
  for (std::size_t l = 0; l < lanes; ++l)
    lengths->push_back(length_of(predicate.as<bool>()[l * outer / lanes] ? yes : no, l, lanes));
  return {yes.element, std::make_shared<const std::vector<Value>>(std::move(items)), lengths};
}

// The predicate has a value for each lane; lanes run along the first axes of arrays.
Value select_lanes(const Buffer& predicate, const Value& yes, const Value& no) {
  if (const auto* list = std::get_if<ListValue>(&yes)) return select_lists(predicate, *list, std::get<ListValue>(no));
  Buffer result = std::get<Buffer>(no).contiguous_copy();
  const Buffer chosen = std::get<Buffer>(yes).contiguous_copy();
  const auto lanes = static_cast<std::size_t>(predicate.elements());
  const std::size_t each = lanes == 0 ? 0 : chosen.bytes() / lanes;
  for (std::size_t l = 0; l < lanes && each > 0; ++l)
    if (predicate.as<bool>()[l]) std::memcpy(result.data() + l * each, chosen.data() + l * each, each);
  return result;
}

// Zeros, as many as the list has elements.
Array zeros_along(const Array& a) { return a.type().is_list() ? map_list(a, zeros_along) : zeros_like(a.type()); }

extern const OpInfo list_select_info;
const OpInfo list_select_info{
    .name = "list_select",
    .summary = "of two lists one or the other, lane by lane",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 3 || !in[0].is_array() || in[0].dtype != DType::bool_ || !in[1].is_list() || in[1] != in[2])
        throw VerifyError("list_select: takes a bool a lane and two lists of one type.");
      const Shape &lanes = in[0].shape, &shape = leaf(in[1]).shape;
      if (lanes.rank() == 0 || lanes.rank() > shape.rank() || !std::equal(lanes.begin(), lanes.end(), shape.begin()))
        throw VerifyError("list_select: lanes " + lanes.text() + " of " + in[1].text() + ".");
      return std::vector{in[1]};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext&) {
      const Buffer predicate = std::get<Buffer>(in[0]).contiguous_copy();
      return std::vector<Value>{select_lists(predicate, std::get<ListValue>(in[1]), std::get<ListValue>(in[2]))};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      Arrays tangents;
      for (std::size_t i : {1, 2})
        tangents.push_back(args.tangents[i] ? *args.tangents[i] : zeros_along(args.primals[i]));
      return JvpResult{bind_op(list_select_info, {}, args.primals),
                       {bind1(list_select_info, {}, {args.primals[0], tangents[0], tangents[1]})}};
    }),
    .transpose = Absent{"lists that are linear are not chosen among lane by lane"},
    .batch = BatchRule([](const BatchArgs& args) {
      Arrays operands(args.operands.begin(), args.operands.end());
      for (std::size_t i = 0; i < operands.size(); ++i)
        if (!args.batched[i]) operands[i] = one_for_all_lanes(operands[i], args.size);
      return BatchResult{bind_op(list_select_info, {}, operands), {true}};
    }),
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with batched branches"}};

// --- list_sum ---
Value sum_values(const Value& a, const Value& b, const EvalContext& context);

ListValue sum_lists(const ListValue& a, const ListValue& b, const EvalContext& context) {
  if (a.items->empty()) return b;
  if (b.items->empty()) return a;
  if (a.items->size() != b.items->size())
    throw ShapeError(fmt::format("list_sum: lists of {} and {} elements.", a.items->size(), b.items->size()));
  std::vector<Value> items;
  for (std::size_t t = 0; t < a.items->size(); ++t) items.push_back(sum_values((*a.items)[t], (*b.items)[t], context));
  return {a.element, std::make_shared<const std::vector<Value>>(std::move(items)), a.lengths ? a.lengths : b.lengths};
}

Value sum_values(const Value& a, const Value& b, const EvalContext& context) {
  if (const auto* list = std::get_if<ListValue>(&a)) return sum_lists(*list, std::get<ListValue>(b), context);
  const ProgramRef add = program_of(add_op(), {}, std::vector{type_of(a), type_of(b)});
  return context.run(*add, {}, std::vector<Value>{a, b})[0];
}

extern const OpInfo list_sum_info;
const OpInfo list_sum_info{
    .name = "list_sum",
    .summary = "lists added element by element; the empty list is zero",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 2 || !in[0].is_list() || in[0] != in[1] || !is_inexact(leaf(in[0]).dtype))
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
    .batch = BatchRule([](const BatchArgs& args) {
      Arrays operands(args.operands.begin(), args.operands.end());
      for (std::size_t i = 0; i < operands.size(); ++i)
        if (!args.batched[i]) operands[i] = one_for_all_lanes(operands[i], args.size);
      return BatchResult{bind_op(list_sum_info, {}, operands), {true}};
    }),
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with second derivatives of loops"}};

const bool installed = (install_op(list_active_info), install_op(list_select_info), install_op(list_sum_info), true);

}  // namespace

Array list_active(const Array& list, std::int64_t axes) {
  return bind1(list_active_info, make_params(ListActiveParams{axes}), {list});
}

Array list_select(const Array& lanes, const Array& yes, const Array& no) {
  return bind1(list_select_info, {}, {lanes, yes, no});
}

Array list_sum(const Array& a, const Array& b) { return bind1(list_sum_info, {}, {a, b}); }

Array empty_list(const Type& element) {
  LoopParams p;
  {
    Scope scope;
    TraceResult body = scope.finish(Arrays{element.is_list() ? empty_list(*element.element) : zeros_like(element)});
    p.body = std::move(body.program);
    p.body_sizes = std::move(body.sizes);
  }
  {
    Scope scope;
    p.cond = scope.finish(Arrays{Array(Scalar(false))}).program;
  }
  return loop(std::move(p), Arrays{})[0];
}

Array map_list(const Array& list, const std::function<Array(const Array&)>& f) {
  LoopParams p;
  {
    const Type element = *list.type().element;
    Scope scope;
    TraceResult body = scope.finish(Arrays{f(scope.input(element))});
    p.body = std::move(body.program);
    p.body_sizes = std::move(body.sizes);
  }
  return loop(std::move(p), Arrays{list})[0];
}

Array one_for_all_lanes(const Array& a, const Dim& size) {
  if (!a.type().is_list()) return add_batch_axis(a, size);
  return map_list(a, [&](const Array& element) { return one_for_all_lanes(element, size); });
}

}  // namespace tenon
