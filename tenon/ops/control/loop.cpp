// loop: the one op behind scan, while, fori and map: its type, its evaluation, and what reaches what. Its rules
// transform the body under one carry fix-point: masks first (loop_reach), then one rewriting run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "tenon/ir/adapt.h"
#include "tenon/ir/decided_sizes.h"
#include "tenon/ops/control/loop_roles.h"

namespace tenon {
namespace {

// --- type ---
Type element_of(const Type& xs, const std::optional<Dim>& length, TypeContext& context) {
  if (xs.is_list()) return *xs.element;
  if (!xs.is_array() || xs.rank() == 0) throw ShapeError(fmt::format("loop: {} has no axis to run along.", xs.text()));
  if (!length) throw VerifyError("loop: a stacked operand needs a length.");
  context.require_equal(xs.shape[0], *length, [&] {
    return fmt::format("loop: axis 0 of {} is not the number of steps, {}.", xs.text(), length->text());
  });
  return Type::array(xs.dtype, xs.shape.without_axis(0));
}

std::vector<Type> loop_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<LoopParams>();
  if (!p.body) throw VerifyError("loop: there is no body.");
  const LoopRoles roles(p);
  if (p.consts < 0 || p.carries < 0 || p.body->inputs().size() < roles.consts + roles.carries ||
      p.body->outputs().size() < roles.carries + p.lanes)
    throw VerifyError("loop: the body has fewer inputs or outputs than there are carries.");
  if (in.size() != roles.operands())
    throw VerifyError(fmt::format("loop: {} operands for a body of {} inputs.", in.size(), roles.operands()));
  const SizeBinding sizes = loop_sizes(*p.body, p.body_sizes);
  const auto body_in = [&](std::size_t i) { return substitute(p.body->type(p.body->inputs()[i]), sizes); };
  const auto body_out = [&](std::size_t i) { return substitute(p.body->type(p.body->outputs()[i]), sizes); };
  bool has_list = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    has_list = has_list || (roles.is_xs(i) && in[i].is_list());
    const Type given = roles.is_xs(i) ? element_of(in[i], p.length, context) : in[i];
    if (given != body_in(i))
      throw VerifyError(
          fmt::format("loop: operand {} gives {}, the body takes {}.", i, given.text(), body_in(i).text()));
  }
  if (!p.length && !p.cond && !has_list)
    throw VerifyError("loop: neither a length, nor a condition, nor a list says how often to run.");
  std::vector<Type> out;
  for (std::size_t i = 0; i < roles.carries; ++i) {
    out.push_back(in[roles.consts + i]);
    if (body_out(i) != out.back())
      throw ShapeError(fmt::format("loop: carry {} enters a step as {} and leaves it as {}.", i, out.back().text(),
                                   body_out(i).text()),
                       "A carry keeps its dtype and shape from step to step.");
  }
  for (std::size_t i = roles.carries; i < roles.results(); ++i) {
    const Type y = body_out(i);
    if (has_decided_size(*p.body, p.body->type(p.body->outputs()[i])))
      throw ShapeError(
          fmt::format("loop: result {} of a step is {}, of a size that the step's data decide.", i, y.text()),
          "What is stacked has one size in every step: reduce it inside, or keep the full size and use where() with "
          "the mask.");
    out.push_back(stacks_lists(p) || !y.is_array() ? Type::list(y)
                                                   : Type::array(y.dtype, y.shape.with_axis(0, *p.length)));
  }
  if (p.cond) {
    const SizeBinding cond_sizes = loop_sizes(*p.cond, p.cond_sizes);
    if (p.cond->inputs().size() != roles.consts + roles.carries || p.cond->outputs().size() != 1 ||
        p.cond->type(p.cond->outputs()[0]) != Type::array(DType::bool_, {}))
      throw ShapeError("loop: the condition does not map the carries to one bool.", "Reduce it with any() or all().");
    for (std::size_t i = 0; i < p.cond->inputs().size(); ++i)
      if (substitute(p.cond->type(p.cond->inputs()[i]), cond_sizes) != in[i])
        throw VerifyError("loop: the condition takes other types than the carries have.");
  }
  return out;
}

// --- reference evaluation ---
Value zero_element(const Type& type) {
  if (type.is_array()) return Buffer::zeros(type.dtype, type.shape.sizes());
  return ListValue{*type.element, std::make_shared<std::vector<Value>>(), nullptr};
}

Value step_of(const Value& xs, std::int64_t t, const Type& element) {
  if (const auto* list = std::get_if<ListValue>(&xs))
    return list->items->empty() ? zero_element(element) : (*list->items)[static_cast<std::size_t>(t)];
  const auto& b = std::get<Buffer>(xs);
  return b.view(b.dtype(), b.dims().subspan(1), b.strides().subspan(1), t * b.strides()[0]);
}

Value stack_values(std::vector<Value> items, const Type& type, bool reverse,
                   std::shared_ptr<const std::vector<std::int64_t>> lengths) {
  if (reverse) std::ranges::reverse(items);
  if (type.is_list())
    return ListValue{*type.element, std::make_shared<std::vector<Value>>(std::move(items)), std::move(lengths)};
  Buffer out = Buffer::allocate(type.dtype, type.shape.sizes());
  for (std::size_t t = 0; t < items.size(); ++t) {
    Buffer place = out.view(out.dtype(), out.dims().subspan(1), out.strides().subspan(1),
                            static_cast<std::int64_t>(t) * out.strides()[0]);
    copy_into(place, std::get<Buffer>(items[t]));
  }
  return out;
}

std::vector<Value> loop_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto& p = params.as<LoopParams>();
  const LoopRoles roles(p);
  std::vector<std::int64_t> body_sizes, cond_sizes;
  for (const Dim& d : p.body_sizes) body_sizes.push_back(d.value());
  for (const Dim& d : p.cond_sizes) cond_sizes.push_back(d.value());
  const SizeBinding sizes = loop_sizes(*p.body, p.body_sizes);
  std::optional<std::int64_t> steps;
  if (p.length) steps = p.length->value();
  for (std::size_t i = roles.consts + roles.carries; i < in.size(); ++i)
    if (const auto* list = std::get_if<ListValue>(&in[i])) {
      const auto n = static_cast<std::int64_t>(list->items->size());
      if (n == 0 && steps) continue;  // zeros
      if (steps && (p.length || *steps != 0) && *steps != n)
        throw ShapeError(fmt::format("loop: lists of {} and {} elements.", *steps, n),
                         "Lists that run in step have equal lengths.");
      steps = n;
    }
  std::vector<Value> state(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(roles.consts + roles.carries));
  std::vector<std::vector<Value>> ys(roles.ys);
  std::shared_ptr<std::vector<std::int64_t>> lengths;
  for (std::int64_t step = 0; !steps || step < *steps; ++step) {
    if (p.cond && !*std::get<Buffer>(context.run(*p.cond, cond_sizes, state)[0]).as<bool>()) break;
    std::vector<Value> inputs = state;
    for (std::size_t i = roles.consts + roles.carries; i < in.size(); ++i)
      inputs.push_back(
          step_of(in[i], p.reverse ? *steps - 1 - step : step, substitute(p.body->type(p.body->inputs()[i]), sizes)));
    std::vector<Value> out = context.run(*p.body, body_sizes, inputs);
    for (std::size_t i = 0; i < roles.carries; ++i) state[roles.consts + i] = out[i];
    for (std::size_t i = 0; i < roles.ys; ++i) ys[i].push_back(out[roles.carries + i]);
    if (!p.lanes) continue;
    const auto& active = std::get<Buffer>(out.back());
    if (!lengths) lengths = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(active.elements()), 0);
    for (std::size_t l = 0; l < lengths->size(); ++l) (*lengths)[l] += active.as<bool>()[l];
  }
  std::vector<Value> results(state.begin() + static_cast<std::ptrdiff_t>(roles.consts), state.end());
  for (std::size_t i = 0; i < roles.ys; ++i)
    results.push_back(stack_values(std::move(ys[i]), context.out[roles.carries + i], p.reverse, lengths));
  return results;
}

// --- masks ---
Mask loop_reach(const Params& params, const Mask& in, Recurse& recurse) {
  const auto& p = params.as<LoopParams>();
  const LoopRoles roles(p);
  const Mask body_in = loop_body_mask(p, in, recurse);
  Mask out = recurse.reach(p.body, body_in);
  for (std::size_t i = 0; i < roles.carries; ++i) out[i] = body_in[roles.consts + i];
  if (loop_cond_reached(p, body_in, recurse) || (recurse.of_lanes() && lanes_end_apart(p, in)))
    std::fill(out.begin(), out.end(), true);
  out.resize(roles.results());
  return out;
}

const OpInfo loop_info{
    .name = "loop",
    .summary = "a body run for a number of steps, while a condition holds, or along lists",
    .params = &describe::params_ops<LoopParams>,
    .type = TypeRule(loop_type),
    .eval = EvalRule(loop_eval),
    .jvp = JvpRule(loop_jvp),
    .transpose = TransposeRule(loop_transpose),
    .batch = BatchRule(loop_batch),
    .split = SplitRule{loop_reach, loop_split},
    .guard = GuardRule([](const GuardArgs& args) {
      LoopParams p = args.params.as<LoopParams>();
      p.body = p.cond ? args.inside(p.body, 0) : args.results(p.body, 0);  // no step, no change
      if (p.cond) p.cond = args.condition(p.cond);
      ++p.consts;
      return GuardResult{make_params(std::move(p)), 0};
    }),
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::loop}),
    .alias = Absent{"carries are rewritten in place by the planner"},
    .effect = std::function<Effect(const Params&)>([](const Params& params) {
      const auto& p = params.as<LoopParams>();
      return p.cond ? std::max(p.body->effect(), p.cond->effect()) : p.body->effect();
    }),
    .sample = Absent{"tested through the Programs that tests build"},
};
const bool loop_installed = (install_op(loop_info), true);

// Carries that every step gives on as they are.
Mask fixed_carries(const LoopParams& p) {
  const LoopRoles roles(p);
  Mask fixed(roles.carries, false);
  for (std::size_t i = 0; !p.lanes && i < roles.carries; ++i)
    fixed[i] = p.body->outputs()[i] == p.body->inputs()[roles.consts + i];
  return fixed;
}

}  // namespace

bool has_loops(const Program& program) {
  return find_eqn(program, [](const Eqn& eqn) { return eqn.op == &loop_op(); }) != nullptr;
}

std::vector<Type> body_input_types(const LoopParams& params, std::span<const Type> operands) {
  std::vector<Type> types(operands.begin(), operands.end());
  for (std::size_t i = static_cast<std::size_t>(params.consts + params.carries); i < types.size(); ++i) {
    const Type xs = types[i];
    types[i] = xs.is_list() ? *xs.element : Type::array(xs.dtype, xs.shape.without_axis(0));
  }
  return types;
}

SizeBinding loop_sizes(const Program& program, std::span<const Dim> sizes) {
  SizeBinding binding;
  if (sizes.size() != program.size_params().size())
    throw VerifyError("loop: the sizes given are not those that the body takes.");
  for (std::size_t i = 0; i < sizes.size(); ++i) binding.emplace(program.size_params()[i], sizes[i]);
  return binding;
}

bool loop_cond_reached(const LoopParams& p, const Mask& body_in, Recurse& recurse) {
  if (!p.cond) return false;
  const Mask state(body_in.begin(), body_in.begin() + static_cast<std::ptrdiff_t>(p.consts + p.carries));
  return recurse.reach(p.cond, state)[0];
}

Mask loop_body_mask(const LoopParams& p, Mask in, Recurse& recurse) {
  const LoopRoles roles(p);
  while (true) {
    if (loop_cond_reached(p, in, recurse))
      std::fill_n(in.begin() + static_cast<std::ptrdiff_t>(roles.consts), roles.carries, true);
    const Mask out = recurse.reach(p.body, in);
    bool grown = false;
    for (std::size_t i = 0; i < roles.carries; ++i)
      if (out[i] && !in[roles.consts + i]) in[roles.consts + i] = grown = true;
    if (!grown) return in;
  }
}

bool lanes_end_apart(const LoopParams& p, const Mask& batched) {
  const auto first_xs = batched.begin() + static_cast<std::ptrdiff_t>(p.consts + p.carries);
  return p.lanes || (!p.length && std::find(first_xs, batched.end(), true) != batched.end());
}

const OpInfo& loop_op() { return loop_info; }
Arrays loop(LoopParams params, std::span<const Array> operands) {
  const LoopRoles roles(params);
  const Mask fixed = fixed_carries(params);
  const auto count = std::ranges::count(fixed, true);
  if (count == 0) return bind_op(loop_info, make_params(std::move(params)), operands);
  std::vector<std::size_t> order(roles.operands());
  std::iota(order.begin(), order.end(), std::size_t(0));
  const auto carries = order.begin() + params.consts;
  std::stable_partition(carries, carries + params.carries, [&](std::size_t i) { return fixed[i - roles.consts]; });
  const auto in_order = [&](const Program& program, std::span<const std::size_t> outputs) {
    const std::vector<std::optional<std::size_t>> from(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(program.inputs().size()));
    return adapt(program, from, {}, outputs);
  };
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < params.body->outputs().size(); ++i)
    if (i >= roles.carries || !fixed[i]) left.push_back(i);
  params.body = in_order(*params.body, left);
  if (params.cond) params.cond = in_order(*params.cond, std::array<std::size_t, 1>{0});
  params.consts += count;
  params.carries -= count;
  Arrays given, results(roles.results());
  for (std::size_t i : order) given.push_back(operands[i]);
  const Arrays bound = bind_op(loop_info, make_params(std::move(params)), given);
  for (std::size_t i = 0; i < bound.size(); ++i) results[left[i]] = bound[i];
  for (std::size_t i = 0; i < roles.carries; ++i)
    if (fixed[i]) results[i] = operands[roles.consts + i];
  return results;
}

}  // namespace tenon
