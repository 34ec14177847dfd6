// Elements of lists by number: put, add, get; a list as an array and back; an array's size from a number.
//
// Here a list is a sequence that is zero behind its end, so all of these are linear in lists and elements, and lists of
// different lengths add up. How many elements count is known beside it, as a number (a number a lane), so that lanes
// have lengths of their own.
#include "tenon/ops/lists/list_elements.h"

#include <fmt/format.h>

#include <cstring>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

// Of list_put, list_add and list_get: the first axes of every element are lanes, with a number each.
struct ListLanesParams {
  std::int64_t lanes;
};
BOOST_DESCRIBE_STRUCT(ListLanesParams, (), (lanes))
// Of list_stack: how many elements.
struct ListStackParams {
  Dim size;
};
BOOST_DESCRIBE_STRUCT(ListStackParams, (), (size))

namespace {

extern const OpInfo list_put_info, list_add_info, list_get_info, list_stack_info, list_unstack_info;

// --- values ---
Value zero_of(const Type& type) {
  if (type.is_array()) return Buffer::zeros(type.dtype, type.shape.sizes());
  return open_list(*type.element, {});
}

// f(lane, its number, byte offset, bytes) for each lane of an element.
template <class F>
void for_each_lane(const Value& numbers, const Type& element, F f) {
  const Buffer i = family::contiguous(numbers);
  const auto lanes = static_cast<std::size_t>(i.elements());
  std::size_t bytes = static_cast<std::size_t>(element.known_bytes());
  if (lanes > 0) bytes /= lanes;
  for (std::size_t l = 0; l < lanes; ++l) f(i.as<std::int64_t>()[l], l * bytes, bytes);
}

// The list with x where the numbers say; negative numbers say nowhere.
std::vector<Value> put_eval(std::span<const Value> in, const Type& element,
                            FunctionRef<Value(const Value& old, const Value& x)> next) {
  const auto& list = std::get<ListValue>(in[0]);
  std::vector<Value> items = *list.items;
  if (element.is_list()) {
    const std::int64_t at = family::contiguous(in[1]).as<std::int64_t>()[0];
    if (at < 0) return {open_list(element, std::move(items))};
    while (static_cast<std::int64_t>(items.size()) <= at) items.push_back(zero_of(element));
    items[static_cast<std::size_t>(at)] = next(items[static_cast<std::size_t>(at)], in[2]);
    return {open_list(element, std::move(items))};
  }
  const Buffer x = family::contiguous(in[2]);
  for_each_lane(in[1], element, [&](std::int64_t at, std::size_t offset, std::size_t bytes) {
    if (at < 0) return;
    while (static_cast<std::int64_t>(items.size()) <= at) items.push_back(zero_of(element));
    Value& item = items[static_cast<std::size_t>(at)];
    const Value result = next(item, x);
    Buffer made = std::get<Buffer>(item).contiguous_copy();
    std::memcpy(made.data() + offset, family::contiguous(result).data() + offset, bytes);
    item = made;
  });
  return {open_list(element, std::move(items))};
}

// --- types ---
void check_element(std::string_view op, const Type& list, const Type& number, std::int64_t lanes) {
  if (!list.is_list()) throw VerifyError(fmt::format("{}: {} is not a list.", op, list.text()));
  const Type& element = *list.element;
  const bool fits = number.is_array() && number.dtype == DType::i64 &&
                    number.rank() == static_cast<std::size_t>(lanes) &&
                    (lanes == 0 || (element.is_array() && element.rank() >= number.rank() &&
                                    std::equal(number.shape.begin(), number.shape.end(), element.shape.begin())));
  if (!fits)
    throw VerifyError(
        fmt::format("{}: {} is not an i64 for each of {} axes of lanes of {}.", op, number.text(), lanes, list.text()));
}

std::vector<Type> put_type(std::string_view op, const Params& params, std::span<const Type> in) {
  if (in.size() != 3) throw VerifyError(fmt::format("{}: takes a list, a number and an element.", op));
  check_element(op, in[0], in[1], params.as<ListLanesParams>().lanes);
  if (in[2] != *in[0].element) throw VerifyError(fmt::format("{}: {} in {}.", op, in[2].text(), in[0].text()));
  return {in[0]};
}

Params lanes_params(std::int64_t lanes) { return make_params(ListLanesParams{lanes}); }
Params lanes_of(const Array& numbers) { return lanes_params(static_cast<std::int64_t>(numbers.rank())); }

// Lanes of an element lie one behind the other; lists have no such place.
void refuse_numbers_of_lanes(const Array& list) {
  if (list.type().element->is_list())
    throw ShapeError(fmt::format("vmap: elements that are lists, {}, are read or written at a number for each lane.",
                                 list.type().element->text()),
                     "Use map(), which takes the lanes one after another, or elements that are arrays.");
}

// --- batches: the list and the element have the lanes; the number only where it has them already ---
BatchResult batch_elements(const OpInfo& op, const BatchArgs& args) {
  Arrays operands(args.operands.begin(), args.operands.end());
  const std::int64_t lanes = args.params.as<ListLanesParams>().lanes;
  const bool numbers = args.batched[1] || lanes > 0;
  if (numbers) refuse_numbers_of_lanes(operands[0]);
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!args.batched[i] && (i != 1 || numbers)) operands[i] = one_for_all_lanes(operands[i], args.size);
  return {bind_op(op, lanes_params(numbers ? lanes + 1 : 0), operands), {true}};
}

JvpResult linear_jvp(const OpInfo& op, const JvpArgs& args, Arrays tangents) {
  return {bind_op(op, args.params, args.primals), {bind_op(op, args.params, tangents)[0]}};
}

// An op that changes an element: a list, a number, what goes there.
OpInfo list_update(const OpInfo& op, std::string_view name, LowerStructure::Kind kind, std::string_view summary,
                   TypeRule type, EvalRule eval, TransposeRule transpose, std::string_view sample) {
  return {.name = name,
          .summary = summary,
          .params = &describe::params_ops<ListLanesParams>,
          .type = std::move(type),
          .eval = std::move(eval),
          .jvp = JvpRule([&op](const JvpArgs& args) {
            return linear_jvp(op, args, {tangent_or_zero(args, 0), args.primals[1], tangent_or_zero(args, 2)});
          }),
          .transpose = std::move(transpose),
          .batch = BatchRule([&op](const BatchArgs& args) { return batch_elements(op, args); }),
          .split = Absent{"wholly known or not"},
          .guard = Absent{"no Programs inside"},
          .lower = LowerRule(LowerStructure{kind}),
          .alias = Absent{"lists are counted references: who has the only one changes it in place"},
          .effect = Absent{"pure"},
          .sample = Absent{sample}};
}

const OpInfo list_put_info = list_update(
    list_put_info, "list_put", LowerStructure::Kind::list_put,
    "a list with another element at a number, or longer by it; negative numbers change nothing",
    [](const Params& params, std::span<const Type> in, TypeContext&) { return put_type("list_put", params, in); },
    [](const Params&, std::span<const Value> in, const EvalContext& context) {
      return put_eval(in, *context.out[0].element, [](const Value&, const Value& x) { return x; });
    },
    [](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      const Array &at = *args.operands[1].value, &all = *args.cotangents[0];
      if (args.operands[2].linear()) args.sink.add(2, list_get(all, at));
      if (args.operands[0].linear()) args.sink.add(0, list_put(all, at, zeros_of(args.operands[2].type)));
    },
    "tested with lists of users");

const OpInfo list_add_info = list_update(
    list_add_info, "list_add", LowerStructure::Kind::list_add,
    "a list with something added to its element at a number; it is zero behind its end",
    [](const Params& params, std::span<const Type> in, TypeContext&) {
      std::vector<Type> out = put_type("list_add", params, in);
      if (!is_differentiable(leaf_type(in[0]).dtype)) throw VerifyError("list_add: takes real or complex numbers.");
      return out;
    },
    [](const Params&, std::span<const Value> in, const EvalContext& context) {
      return put_eval(in, *context.out[0].element,
                      [&](const Value& old, const Value& x) { return sum_values(old, x, context); });
    },
    [](const TransposeArgs& args) {
      if (!args.cotangents[0]) return;
      if (args.operands[2].linear()) args.sink.add(2, list_get(*args.cotangents[0], *args.operands[1].value));
      if (args.operands[0].linear()) args.sink.add(0, *args.cotangents[0]);
    },
    "tested with derivatives of lists of users");

// Lanes that read one list do so one after the other: the list has no lanes of theirs.
BatchResult get_of_one_list(const BatchArgs& args) {
  const Array &list = args.operands[0], &numbers = args.operands[1];
  refuse_numbers_of_lanes(list);
  LoopParams p{.length = args.size, .consts = 1};
  {
    Scope scope;
    const Array all = scope.input(list.type());
    const Array at = scope.input(Type::array(DType::i64, numbers.shape().without_axis(0)));
    TraceResult body = scope.finish(bind_op(list_get_info, args.params, Arrays{all, at}));
    p.body = std::move(body.program);
    p.body_sizes = std::move(body.sizes);
  }
  return {loop(std::move(p), Arrays{list, numbers}), {true}};
}

Value get_eval(std::span<const Value> in, const Type& element) {
  const auto& items = *std::get<ListValue>(in[0]).items;
  const auto there = [&](std::int64_t at) { return at >= 0 && at < static_cast<std::int64_t>(items.size()); };
  if (element.is_list()) {
    const std::int64_t at = family::contiguous(in[1]).as<std::int64_t>()[0];
    return there(at) ? items[static_cast<std::size_t>(at)] : zero_of(element);
  }
  Buffer result = Buffer::zeros(element.dtype, element.shape.sizes());
  for_each_lane(in[1], element, [&](std::int64_t at, std::size_t offset, std::size_t bytes) {
    if (there(at))
      std::memcpy(result.data() + offset, family::contiguous(items[static_cast<std::size_t>(at)]).data() + offset,
                  bytes);
  });
  return result;
}

const OpInfo list_get_info{.name = "list_get",
                           .summary = "the element of a list at a number; zero where there is none",
                           .params = &describe::params_ops<ListLanesParams>,
                           .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
                             if (in.size() != 2) throw VerifyError("list_get: takes a list and a number.");
                             check_element("list_get", in[0], in[1], params.as<ListLanesParams>().lanes);
                             return std::vector{*in[0].element};
                           }),
                           .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
                             return std::vector{get_eval(in, context.out[0])};
                           }),
                           .jvp = JvpRule([](const JvpArgs& args) {
                             return linear_jvp(list_get_info, args, {tangent_or_zero(args, 0), args.primals[1]});
                           }),
                           .transpose = TransposeRule([](const TransposeArgs& args) {
                             if (!args.cotangents[0]) return;
                             const Array at = *args.operands[1].value, one = *args.cotangents[0];
                             args.sink.update(0, [&](const Array& sum) { return list_add(sum, at, one); });
                           }),
                           .batch = BatchRule([](const BatchArgs& args) {
                             return args.batched[0] ? batch_elements(list_get_info, args) : get_of_one_list(args);
                           }),
                           .split = Absent{"wholly known or not"},
                           .guard = Absent{"no Programs inside"},
                           .lower = LowerRule(LowerStructure{LowerStructure::Kind::list_get}),
                           .alias = Absent{"the result is new"},
                           .effect = Absent{"pure"},
                           .sample = Absent{"tested with lists of users"}};

const OpInfo list_stack_info{
    .name = "list_stack",
    .summary = "the first elements of a list along a new first axis; zeros behind its end",
    .params = &describe::params_ops<ListStackParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1 || !in[0].is_list() || !in[0].element->is_array())
        throw VerifyError("list_stack: takes a list of arrays.");
      const Type& element = *in[0].element;
      return std::vector{Type::array(element.dtype, element.shape.with_axis(0, params.as<ListStackParams>().size))};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      Buffer out = Buffer::zeros(context.out[0].dtype, context.out[0].shape.sizes());
      const auto& items = *std::get<ListValue>(in[0]).items;
      const auto n = std::min(items.size(), static_cast<std::size_t>(out.dims()[0]));
      for (std::size_t k = 0; k < n; ++k) {
        const Buffer item = family::contiguous(items[k]);
        std::memcpy(out.data() + k * item.bytes(), item.data(), item.bytes());
      }
      return std::vector<Value>{out};
    }),
    .jvp = jvp_by_itself(list_stack_info),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (args.cotangents[0]) args.sink.add(0, list_unstack(*args.cotangents[0]));
    }),
    .batch = BatchRule([](const BatchArgs& args) {
      return BatchResult{{move_axis(bind_op(list_stack_info, args.params, args.operands)[0], 1, 0)}, {true}};
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list_stack}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with lists of users"}};

const OpInfo list_unstack_info{
    .name = "list_unstack",
    .summary = "the rows of an array as a list",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1 || !in[0].is_array() || in[0].rank() == 0)
        throw VerifyError("list_unstack: takes an array with an axis.");
      return std::vector{Type::list(Type::array(in[0].dtype, in[0].shape.without_axis(0)))};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const auto& x = std::get<Buffer>(in[0]);
      std::vector<Value> items;
      for (std::int64_t k = 0; k < x.dims()[0]; ++k)
        items.emplace_back(
            x.view(x.dtype(), x.dims().subspan(1), x.strides().subspan(1), k * x.strides()[0]).contiguous_copy());
      return std::vector<Value>{open_list(*context.out[0].element, std::move(items))};
    }),
    .jvp = jvp_by_itself(list_unstack_info),
    .transpose = TransposeRule([](const TransposeArgs& args) {
      if (args.cotangents[0]) args.sink.add(0, list_stack(*args.cotangents[0], args.operands[0].type.shape[0]));
    }),
    .batch = BatchRule(
        [](const BatchArgs& args) { return BatchResult{{list_unstack(move_axis(args.operands[0], 0, 1))}, {true}}; }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list_unstack}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with derivatives of stacked lists"}};

const OpInfo extent_info{
    .name = "extent",
    .summary = "an array of as many elements as a number says",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 1 || in[0] != Type::array(DType::i64, {})) throw VerifyError("extent: takes one i64.");
      return std::vector{Type::array(DType::bool_, {context.new_size("extent", 0)})};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext&) {
      const std::int64_t n = family::contiguous(in[0]).as<std::int64_t>()[0];
      if (n < 0) throw ShapeError(fmt::format("extent: a size is {}, which is negative.", n), "Sizes are at least 0.");
      Buffer out = Buffer::allocate(DType::bool_, {n});
      std::fill_n(out.as<bool>(), out.elements(), true);
      return std::vector<Value>{out};
    }),
    .jvp = Absent{"its result is a bool"},
    .transpose = Absent{"its result is a bool"},
    .batch = BatchRule([](const BatchArgs&) -> BatchResult {
      throw ShapeError(
          "vmap: a size differs from lane to lane, and so lanes would have arrays of different sizes.",
          "Take a size that is the same for all lanes, and mask with where() what a lane does not need; of "
          "a list, stack(n), where zeros stand behind the end.");
    }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::extent}),
    .alias = Absent{"the result is larger"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with stacked lists"}};

const bool list_elements_installed =
    (install_op(list_put_info), install_op(list_add_info), install_op(list_get_info), install_op(list_stack_info),
     install_op(list_unstack_info), install_op(extent_info), true);

}  // namespace

ListValue open_list(const Type& element, std::vector<Value> items) {
  return {element, std::make_shared<std::vector<Value>>(std::move(items)),
          std::make_shared<const std::vector<std::int64_t>>()};
}
bool is_open(const ListValue& list) { return list.lengths && list.lengths->empty(); }
bool is_open(const Value& value) {
  const auto* list = std::get_if<ListValue>(&value);
  return list != nullptr && is_open(*list);
}

Array list_put(const Array& list, const Array& at, const Array& element) {
  return bind1(list_put_info, lanes_of(at), {list, at, element});
}
Array list_add(const Array& list, const Array& at, const Array& element) {
  return bind1(list_add_info, lanes_of(at), {list, at, element});
}
Array list_get(const Array& list, const Array& at) { return bind1(list_get_info, lanes_of(at), {list, at}); }
Array list_stack(const Array& list, const Dim& size) {
  return bind1(list_stack_info, make_params(ListStackParams{size}), {list});
}
Array list_unstack(const Array& rows) { return bind1(list_unstack_info, {}, {rows}); }
Dim extent(const Array& number) { return bind1(extent_info, {}, {number}).dim(0); }

bool is_list_update(const OpInfo& op) { return &op == &list_put_info || &op == &list_add_info; }

}  // namespace tenon
