// loop: the one op behind scan, while, fori and map. Its rules transform the body under one carry fix-point: masks
// first (loop_reach), then one rewriting run.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tenon/ir/adapt.h"
#include "tenon/ir/describe_params.h"
#include "tenon/ir/literal.h"
#include "tenon/ir/recurse.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/reduce.h"
#include "tenon/ops/region.h"
#include "tenon/ops/shape.h"

namespace tenon {

BOOST_DESCRIBE_STRUCT(LoopParams, (),
                      (body, cond, length, reverse, consts, carries, unroll, lanes, body_sizes, cond_sizes))

namespace {

extern const OpInfo loop_info, list_active_info;
using Order = std::vector<std::optional<std::size_t>>;

// Positions of the roles among operands and body inputs, and among results and body outputs.
struct Roles {
  std::size_t consts, carries, xs, ys;
  explicit Roles(const LoopParams& p)
      : consts(static_cast<std::size_t>(p.consts)),
        carries(static_cast<std::size_t>(p.carries)),
        xs(p.body->inputs().size() - consts - carries),
        ys(p.body->outputs().size() - carries - (p.lanes ? 1 : 0)) {}
  std::size_t operands() const { return consts + carries + xs; }
  std::size_t results() const { return carries + ys; }
  bool is_const(std::size_t i) const { return i < consts; }
  bool is_carry(std::size_t i) const { return i >= consts && i < consts + carries; }
  bool is_xs(std::size_t i) const { return i >= consts + carries; }
};

bool stacks_lists(const LoopParams& p) { return p.cond != nullptr || !p.length; }

SizeBinding bind_sizes(const Program& program, std::span<const Dim> sizes) {
  SizeBinding binding;
  if (sizes.size() != program.size_params().size())
    throw VerifyError("loop: the sizes given are not those that the body takes.");
  for (std::size_t i = 0; i < sizes.size(); ++i) binding.emplace(program.size_params()[i], sizes[i]);
  return binding;
}

std::vector<Dim> substitute_all(const std::vector<std::optional<Dim>>& sizes, const SizeBinding& own) {
  std::vector<Dim> result;
  for (const auto& size : sizes) {
    if (!size) throw VerifyError("loop: a size that data decide inside a body cannot cross into its derivative.");
    result.push_back(substitute(*size, own));
  }
  return result;
}

// --- type ---
Type element_of(const Type& xs, const std::optional<Dim>& length, TypeContext& context) {
  if (xs.is_list()) return *xs.element;
  if (!xs.is_array() || xs.rank() == 0) throw ShapeError(fmt::format("loop: {} has no axis to run along.", xs.text()));
  if (!length) throw VerifyError("loop: a stacked operand needs a length.");
  context.require_equal(xs.shape[0], *length,
                        fmt::format("loop: axis 0 of {} is not the number of steps, {}.", xs.text(), length->text()));
  return Type::array(xs.dtype, xs.shape.without_axis(0));
}

std::vector<Type> loop_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<LoopParams>();
  const Roles roles(p);
  if (p.consts < 0 || p.carries < 0 || p.body->inputs().size() < roles.consts + roles.carries ||
      p.body->outputs().size() < roles.carries + p.lanes)
    throw VerifyError("loop: the body has fewer inputs or outputs than there are carries.");
  if (in.size() != roles.operands())
    throw VerifyError(fmt::format("loop: {} operands for a body of {} inputs.", in.size(), roles.operands()));
  const SizeBinding sizes = bind_sizes(*p.body, p.body_sizes);
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
    out.push_back(stacks_lists(p) || !y.is_array() ? Type::list(y)
                                                   : Type::array(y.dtype, y.shape.with_axis(0, *p.length)));
  }
  if (p.cond) {
    const SizeBinding cond_sizes = bind_sizes(*p.cond, p.cond_sizes);
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
Value step_of(const Value& xs, std::int64_t t) {
  if (const auto* list = std::get_if<ListValue>(&xs)) return (*list->items)[static_cast<std::size_t>(t)];
  const auto& b = std::get<Buffer>(xs);
  return b.view(b.dtype(), b.dims().subspan(1), b.strides().subspan(1), t * b.strides()[0]);
}

Value stack_values(std::vector<Value> items, const Type& type, bool reverse,
                   std::shared_ptr<const std::vector<std::int64_t>> lengths) {
  if (reverse) std::ranges::reverse(items);
  if (type.is_list())
    return ListValue{*type.element, std::make_shared<const std::vector<Value>>(std::move(items)), std::move(lengths)};
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
  const Roles roles(p);
  std::vector<std::int64_t> body_sizes, cond_sizes;
  for (const Dim& d : p.body_sizes) body_sizes.push_back(d.value());
  for (const Dim& d : p.cond_sizes) cond_sizes.push_back(d.value());
  std::optional<std::int64_t> steps;
  if (p.length) steps = p.length->value();
  for (std::size_t i = roles.consts + roles.carries; i < in.size(); ++i)
    if (const auto* list = std::get_if<ListValue>(&in[i])) {
      const auto n = static_cast<std::int64_t>(list->items->size());
      if (steps && *steps != n)
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
      inputs.push_back(step_of(in[i], p.reverse ? *steps - 1 - step : step));
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
// Inputs of the body that depend on operands of the mask, after enough steps; all of them where the condition does.
Mask body_mask(const LoopParams& p, Mask in, Recurse& recurse) {
  const Roles roles(p);
  while (true) {
    if (p.cond && recurse.reach(p.cond, Mask(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(roles.consts +
                                                                                                  roles.carries)))[0])
      std::fill_n(in.begin() + static_cast<std::ptrdiff_t>(roles.consts), roles.carries, true);
    const Mask out = recurse.reach(p.body, in);
    bool grown = false;
    for (std::size_t i = 0; i < roles.carries; ++i)
      if (out[i] && !in[roles.consts + i]) in[roles.consts + i] = grown = true;
    if (!grown) return in;
  }
}

Mask loop_reach(const Params& params, const Mask& in, Recurse& recurse) {
  const auto& p = params.as<LoopParams>();
  const Roles roles(p);
  const Mask body_in = body_mask(p, in, recurse);
  Mask out = recurse.reach(p.body, body_in);
  for (std::size_t i = 0; i < roles.carries; ++i) out[i] = body_in[roles.consts + i];
  if (p.cond && recurse.reach(p.cond, Mask(body_in.begin(), body_in.begin() + static_cast<std::ptrdiff_t>(
                                                                                  roles.consts + roles.carries)))[0])
    std::fill(out.begin(), out.end(), true);
  out.resize(roles.results());
  return out;
}

const Type& leaf(const Type& type) { return type.is_array() ? type : leaf(*type.element); }

// --- jvp: carries, xs and ys in pairs ---
JvpResult loop_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<LoopParams>();
  const Roles roles(p);
  Mask active(roles.operands());
  for (std::size_t i = 0; i < active.size(); ++i) active[i] = args.tangents[i].has_value();
  // Only what has a tangent is followed, so an integer carry that a float reaches stays inactive.
  Mask reached;
  while (true) {
    reached = args.recurse.reach(p.body, active);
    bool grown = false;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      reached[i] = reached[i] && is_inexact(leaf(p.body->type(p.body->outputs()[i])).dtype);
      if (i < roles.carries && reached[i] && !active[roles.consts + i]) active[roles.consts + i] = grown = true;
    }
    if (!grown) break;
  }
  for (std::size_t i = 0; i < roles.carries; ++i) reached[i] = active[roles.consts + i];
  const ProgramRef body = args.recurse.jvp(p.body, active, reached);

  // The body's tangents follow all its primals; the loop wants them role by role.
  const std::size_t n = roles.operands(), outs = p.body->outputs().size();
  std::vector<std::size_t> tangent_in(n), tangent_out(outs);
  std::size_t next = n;
  for (std::size_t i = 0; i < n; ++i)
    if (active[i]) tangent_in[i] = next++;
  next = outs;
  for (std::size_t i = 0; i < outs; ++i)
    if (reached[i]) tangent_out[i] = next++;
  Order inputs;
  Order cond_inputs;
  std::vector<Type> cond_types;
  Arrays operands;
  const auto role = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      inputs.emplace_back(i);
      operands.push_back(args.primals[i]);
      if (!roles.is_xs(i)) cond_inputs.emplace_back(i), cond_types.push_back(p.body->type(p.body->inputs()[i]));
    }
    for (std::size_t i = from; i < to; ++i)
      if (active[i]) {
        inputs.emplace_back(tangent_in[i]);
        operands.push_back(args.tangents[i] ? *args.tangents[i] : zeros(args.primals[i].type()));
        if (!roles.is_xs(i))
          cond_inputs.emplace_back(std::nullopt), cond_types.push_back(p.body->type(p.body->inputs()[i]));
      }
    return operands.size();
  };
  LoopParams q = p;
  q.consts = static_cast<std::int64_t>(role(0, roles.consts));
  q.carries = static_cast<std::int64_t>(role(roles.consts, roles.consts + roles.carries)) - q.consts;
  role(roles.consts + roles.carries, n);
  std::vector<std::size_t> outputs;
  const auto result_role = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) outputs.push_back(i);
    for (std::size_t i = from; i < to; ++i)
      if (reached[i]) outputs.push_back(tangent_out[i]);
  };
  result_role(0, roles.carries);
  result_role(roles.carries, roles.results());
  if (p.lanes) outputs.push_back(outs - 1);
  q.body = adapt(*body, inputs, {}, outputs);
  if (p.cond) {
    if (!p.cond->size_params().empty() && q.cond_sizes.size() != p.cond->size_params().size())
      throw VerifyError("loop: sizes of the condition.");
    for (std::size_t i = 0; i < cond_types.size(); ++i) cond_types[i] = operands[i].type();
    q.cond = adapt(*p.cond, cond_inputs, cond_types, std::vector<std::size_t>{0});
  }
  const Arrays results = bind_op(loop_info, make_params(q), operands);
  JvpResult jvp{Arrays(roles.results()), std::vector<MaybeArray>(roles.results())};
  std::size_t at = 0;
  const auto take_role = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) jvp.outputs[i] = results[at++];
    for (std::size_t i = from; i < to; ++i)
      if (reached[i]) jvp.tangents[i] = results[at++];
  };
  take_role(0, roles.carries);
  take_role(roles.carries, roles.results());
  return jvp;
}

// --- split: a loop over what is known, stacking residuals, and a loop over the rest that reads them ---
SplitResult loop_split(const SplitArgs& args) {
  using Source = SplitResult::Source;
  const auto& p = args.params.as<LoopParams>();
  const Roles roles(p);
  Mask unknown = args.known;
  unknown.flip();
  const Mask unknown_in = body_mask(p, unknown, args.recurse);
  const Mask unknown_out = args.recurse.reach(p.body, unknown_in);
  PartitionRequest request{.known_in = unknown_in,
                           .known_out = unknown_out,
                           .free_in = Mask(roles.operands(), true),
                           .recompute = args.recompute};
  request.known_in.flip();
  request.known_out.flip();
  for (std::size_t i = 0; i < roles.carries; ++i) {
    request.known_out[i] = !unknown_in[roles.consts + i];
    request.free_in[roles.consts + i] = false;
  }
  if (p.lanes && !request.known_out.back()) throw VerifyError("loop: the lanes of a step depend on what is not known.");
  const Partitioned parts = args.recurse.partition(p.body, request);
  const SizeBinding own = bind_sizes(*p.body, p.body_sizes);

  SplitResult split{.first = &loop_info, .second = &loop_info};
  LoopParams first = p, second = p;
  // First: known consts, carries, xs, in order.
  first.consts = first.carries = 0;
  for (std::size_t i = 0; i < roles.operands(); ++i) {
    if (!request.known_in[i]) continue;
    split.first_in.push_back(i);
    if (roles.is_const(i)) ++first.consts;
    if (roles.is_carry(i)) ++first.carries;
  }
  ProgramParts body = parts.first->parts();
  std::vector<std::size_t> first_input(roles.operands());  // place among the first part's inputs
  for (std::size_t i = 0, k = 0; i < roles.operands(); ++i)
    if (request.known_in[i]) first_input[i] = k++;
  std::vector<std::size_t> known_place(request.known_out.size());
  std::size_t known_count = 0;
  for (std::size_t i = 0; i < request.known_out.size(); ++i)
    if (request.known_out[i]) known_place[i] = known_count++;
  std::vector<Var> outputs(body.outputs.begin(), body.outputs.begin() + static_cast<std::ptrdiff_t>(known_count));
  std::optional<Var> lanes_output;
  if (p.lanes) {
    lanes_output = outputs.back();
    outputs.pop_back();
  }
  for (std::size_t i = 0; i < roles.results(); ++i)
    if (request.known_out[i]) split.first_out.push_back(i);
  std::vector<Var> stored(body.outputs.begin() + static_cast<std::ptrdiff_t>(known_count), body.outputs.end());

  // Second: unknown consts, carries, xs; then residuals as consts where they are consts, as xs where they vary.
  const std::size_t unknown_inputs = parts.second->inputs().size() - parts.residuals.size();
  Order const_order, carry_order, xs_order;
  std::vector<Source> const_sources, carry_sources, xs_sources;
  for (std::size_t i = 0, k = 0; i < roles.operands(); ++i) {
    if (request.known_in[i]) continue;
    const Source source{Source::From::operand, i};
    if (roles.is_const(i)) const_order.emplace_back(k), const_sources.push_back(source);
    if (roles.is_carry(i)) carry_order.emplace_back(k), carry_sources.push_back(source);
    if (roles.is_xs(i)) xs_order.emplace_back(k), xs_sources.push_back(source);
    ++k;
  }
  const std::size_t before = outputs.size();
  const auto stack = [&](Var v) {
    outputs.push_back(v);
    return Source{Source::From::residual, outputs.size() - 1 - before};
  };
  for (std::size_t r = 0; r < parts.residuals.size(); ++r) {
    using From = Partitioned::Residual::From;
    const auto& residual = parts.residuals[r];
    const std::size_t input = unknown_inputs + r;
    if (residual.from == From::input && roles.is_const(residual.index)) {
      const_order.emplace_back(input);
      const_sources.push_back({Source::From::operand, residual.index});
      continue;
    }
    xs_order.emplace_back(input);
    if (residual.from == From::input && roles.is_xs(residual.index))
      xs_sources.push_back({Source::From::operand, residual.index});
    else if (residual.from == From::input)
      xs_sources.push_back(stack(body.inputs[first_input[residual.index]]));
    else if (residual.from == From::output && residual.index >= roles.carries && residual.index < roles.results())
      xs_sources.push_back({Source::From::output, residual.index});
    else if (residual.from == From::output)
      xs_sources.push_back(stack(body.outputs[known_place[residual.index]]));
    else
      xs_sources.push_back(stack(stored[residual.index]));
  }
  std::vector<Type> types(const_order.size() + carry_order.size() + xs_order.size());
  if (stacks_lists(p)) {
    // The second loop runs once for each element of a list; without one, it gets a mark a step.
    outputs.push_back(0);
    xs_sources.push_back({Source::From::residual, outputs.size() - 1 - before});
    xs_order.emplace_back(std::nullopt);
    types.push_back(Type::array(DType::bool_, {}));
  }
  body.outputs = outputs;
  if (stacks_lists(p)) {
    const Var mark = static_cast<Var>(body.types.size());
    body.types.push_back(Type::array(DType::bool_, {}));
    body.eqns.push_back({.op = &literal_op(), .params = literal_params(Scalar(true)), .out = {mark}});
    body.outputs.back() = mark;
  }
  if (lanes_output) body.outputs.push_back(*lanes_output);
  first.body = Program::finish(std::move(body));
  if (p.cond) {
    PartitionRequest of_cond{
        .known_in = Mask(request.known_in.begin(),
                         request.known_in.begin() + static_cast<std::ptrdiff_t>(roles.consts + roles.carries)),
        .known_out = {true}};
    const Partitioned cond = args.recurse.partition(p.cond, of_cond);
    first.cond = cond.first;
  }
  split.first_params = make_params(first);

  Order order = const_order;
  order.insert(order.end(), carry_order.begin(), carry_order.end());
  order.insert(order.end(), xs_order.begin(), xs_order.end());
  split.second_in = const_sources;
  split.second_in.insert(split.second_in.end(), carry_sources.begin(), carry_sources.end());
  split.second_in.insert(split.second_in.end(), xs_sources.begin(), xs_sources.end());
  std::vector<std::size_t> second_outputs(parts.second->outputs().size());
  for (std::size_t i = 0; i < second_outputs.size(); ++i) second_outputs[i] = i;
  second.body = adapt(*parts.second, order, types, second_outputs);
  second.body_sizes = substitute_all(parts.second_sizes, own);
  second.cond = nullptr;
  second.cond_sizes.clear();
  second.lanes = false;
  if (stacks_lists(p)) second.length = std::nullopt;
  second.consts = static_cast<std::int64_t>(const_order.size());
  second.carries = static_cast<std::int64_t>(carry_order.size());
  split.second_params = make_params(second);
  for (std::size_t i = 0; i < roles.results(); ++i)
    if (!request.known_out[i]) split.second_out.push_back(i);
  return split;
}

// --- transpose: the loop backwards over cotangents; those of consts are summed in carries ---
void loop_transpose(const TransposeArgs& args) {
  const auto& p = args.params.as<LoopParams>();
  const Roles roles(p);
  if (p.cond)
    throw DifferentiationError("loop: a loop whose condition depends on what is differentiated cannot be transposed.");
  const std::size_t n = roles.operands();
  TransposeRequest request{.linear_in = Mask(n), .cotangents = Mask(p.body->outputs().size()), .accumulate = Mask(n)};
  std::vector<std::size_t> plain_consts, plain_xs, linear_consts, linear_xs, present;
  for (std::size_t i = 0; i < n; ++i) {
    const bool linear = roles.is_carry(i) || args.operands[i].linear();
    request.linear_in[i] = linear;
    if (roles.is_const(i)) (linear ? linear_consts : plain_consts).push_back(i);
    if (roles.is_xs(i)) (linear ? linear_xs : plain_xs).push_back(i);
    request.accumulate[i] = roles.is_const(i) && linear;
  }
  for (std::size_t i = 0; i < roles.results(); ++i) {
    const bool there = i < roles.carries || args.cotangents[i].has_value();
    request.cotangents[i] = there;
    if (there && i >= roles.carries) present.push_back(i);
  }
  const ProgramRef body = args.recurse.transpose(p.body, request);
  // The body's inputs: plain consts, plain xs, cotangents of carries, of ys that are there, sums of linear consts.
  const std::size_t xs_at = plain_consts.size(), carry_at = xs_at + plain_xs.size(), ys_at = carry_at + roles.carries,
                    sums_at = ys_at + present.size();
  Order order;
  Arrays operands;
  for (std::size_t i = 0; i < plain_consts.size(); ++i)
    order.emplace_back(i), operands.push_back(*args.operands[plain_consts[i]].value);
  for (std::size_t i = 0; i < roles.carries; ++i) {
    order.emplace_back(carry_at + i);
    operands.push_back(args.cotangents[i] ? *args.cotangents[i] : zeros(args.operands[roles.consts + i].type));
  }
  for (std::size_t i = 0; i < linear_consts.size(); ++i)
    order.emplace_back(sums_at + i), operands.push_back(zeros(args.operands[linear_consts[i]].type));
  for (std::size_t i = 0; i < plain_xs.size(); ++i)
    order.emplace_back(xs_at + i), operands.push_back(*args.operands[plain_xs[i]].value);
  for (std::size_t i = 0; i < present.size(); ++i)
    order.emplace_back(ys_at + i), operands.push_back(*args.cotangents[present[i]]);
  // Its outputs: linear consts, carries, linear xs. The loop wants carries first.
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < roles.carries; ++i) outputs.push_back(linear_consts.size() + i);
  for (std::size_t i = 0; i < linear_consts.size(); ++i) outputs.push_back(i);
  for (std::size_t i = 0; i < linear_xs.size(); ++i) outputs.push_back(linear_consts.size() + roles.carries + i);
  LoopParams q = p;
  q.body = adapt(*body, order, {}, outputs);
  q.reverse = !p.reverse;
  q.consts = static_cast<std::int64_t>(plain_consts.size());
  q.carries = static_cast<std::int64_t>(roles.carries + linear_consts.size());
  const Arrays results = bind_op(loop_info, make_params(q), operands);
  for (std::size_t i = 0; i < roles.carries; ++i)
    if (args.operands[roles.consts + i].linear()) args.sink.add(roles.consts + i, results[i]);
  for (std::size_t i = 0; i < linear_consts.size(); ++i) args.sink.add(linear_consts[i], results[roles.carries + i]);
  for (std::size_t i = 0; i < linear_xs.size(); ++i)
    args.sink.add(linear_xs[i], results[roles.carries + linear_consts.size() + i]);
}

// --- batch ---
Array lanes_of(const Array& active, const Array& value) {  // bool[B] spread over the axes of a batched value
  return broadcast_in_dim(active, value.shape(), {0});
}

// Lanes that have ended keep their carries; `active` says which have not.
BatchResult guarded_batch(const BatchArgs& args, const LoopParams& p, const Roles& roles, const Mask& in,
                          Arrays operands, bool by_list) {
  const Mask all_out(p.body->outputs().size(), true);
  const ProgramRef body = args.recurse.vmap(p.body, in, all_out, args.size);
  const std::size_t state = roles.consts + roles.carries;
  ProgramRef lane_cond;
  bool batched_cond = false;
  if (p.cond) {
    const Mask cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state));
    batched_cond = args.recurse.reach(p.cond, cond_in)[0];
    lane_cond = args.recurse.vmap(p.cond, cond_in, {batched_cond}, args.size);
  }
  if (by_list)  // one more xs: which lanes have an element at this step
    for (std::size_t i = state; i < roles.operands(); ++i)
      if (in[i] && operands[i].type().is_list()) {
        operands.push_back(bind1(list_active_info, {}, {operands[i]}));
        break;
      }
  LoopParams q = p;
  std::vector<Type> types;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Type t = operands[i].type();
    if (i >= state) t = t.is_list() ? *t.element : Type::array(t.dtype, t.shape.without_axis(0));
    types.push_back(t);
  }
  {
    Scope scope;
    Arrays inputs;
    for (const Type& t : types) inputs.push_back(scope.input(t));
    const std::span<const Array> own(inputs.data(), roles.operands());
    MaybeArray active;
    if (by_list) active = inputs.back();
    if (batched_cond) {
      const Array running = inline_program(*lane_cond, p.cond_sizes, own.subspan(0, state))[0];
      active = active ? *active & running : running;
    }
    Arrays outputs = inline_program(*body, p.body_sizes, own);
    for (std::size_t i = 0; i < roles.carries; ++i)
      if (active)
        outputs[i] = bind1(select_op(), {}, {lanes_of(*active, outputs[i]), outputs[i], inputs[roles.consts + i]});
    if (p.lanes)
      outputs.back() = active ? outputs.back() & *active : outputs.back();
    else if (active)
      outputs.push_back(*active);
    q.lanes = p.lanes || active.has_value();
    TraceResult traced = scope.finish(outputs, p.body->name() + "_lanes");
    q.body = traced.program;
    q.body_sizes = traced.sizes;
  }
  if (batched_cond) {
    Scope scope;
    Arrays inputs;
    for (std::size_t i = 0; i < state; ++i) inputs.push_back(scope.input(types[i]));
    const Array running = inline_program(*lane_cond, p.cond_sizes, inputs)[0];
    TraceResult traced = scope.finish(Arrays{any(running)}, p.cond->name() + "_any");
    q.cond = traced.program;
    q.cond_sizes = traced.sizes;
  } else if (p.cond) {
    q.cond = lane_cond;
  }
  return {bind_op(loop_info, make_params(q), operands), std::vector<bool>(roles.results(), true)};
}

BatchResult loop_batch(const BatchArgs& args) {
  const auto& p = args.params.as<LoopParams>();
  const Roles roles(p);
  const std::size_t state = roles.consts + roles.carries;
  Mask in = body_mask(p, Mask(args.batched.begin(), args.batched.end()), args.recurse);
  bool by_list = p.lanes;
  for (std::size_t i = state; i < roles.operands(); ++i)
    by_list = by_list || (args.batched[i] && args.operands[i].type().is_list());
  const bool by_cond =
      p.cond && args.recurse.reach(p.cond, Mask(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state)))[0];
  if (by_list || by_cond)
    std::fill(in.begin() + static_cast<std::ptrdiff_t>(roles.consts), in.begin() + static_cast<std::ptrdiff_t>(state),
              true);
  Arrays operands;
  for (std::size_t i = 0; i < roles.operands(); ++i) {
    Array x = args.operands[i];
    if (roles.is_carry(i) && in[i] && !args.batched[i]) x = add_batch_axis(x, args.size);
    if (roles.is_xs(i) && args.batched[i] && !x.type().is_list()) x = move_axis(x, 0, 1);
    operands.push_back(x);
  }
  BatchResult result;
  if (by_list || by_cond) {
    result = guarded_batch(args, p, roles, in, operands, by_list);
  } else {
    Mask out = args.recurse.reach(p.body, in);
    for (std::size_t i = 0; i < roles.carries; ++i) out[i] = in[roles.consts + i];
    LoopParams q = p;
    q.body = args.recurse.vmap(p.body, in, out, args.size);
    if (!args.size.known()) q.body_sizes.push_back(args.size);
    if (p.cond) {
      const Mask cond_in(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(state));
      q.cond = args.recurse.vmap(p.cond, cond_in, {false}, args.size);
      if (!args.size.known()) q.cond_sizes.push_back(args.size);
    }
    out.resize(roles.results());
    result = {bind_op(loop_info, make_params(q), operands), out};
  }
  for (std::size_t i = roles.carries; i < roles.results(); ++i)
    if (result.batched[i] && !result.outputs[i].type().is_list())
      result.outputs[i] = move_axis(result.outputs[i], 1, 0);
  return result;
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
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::loop}),
    .alias = Absent{"carries are rewritten in place by the planner"},
    .effect = std::function<Effect(const Params&)>([](const Params& p) { return p.as<LoopParams>().body->effect(); }),
    .sample = Absent{"tested through the Programs that tests build"},
};

Type list_active_type(const Type& list) {
  const Type& element = leaf(list);
  const Shape lanes = element.rank() == 0 ? Shape{} : Shape{element.shape[0]};
  std::function<Type(const Type&)> same_nesting = [&](const Type& t) {
    return t.is_list() && t.element->is_list() ? Type::list(same_nesting(*t.element))
                                               : Type::list(Type::array(DType::bool_, lanes));
  };
  return same_nesting(list);
}
const OpInfo list_active_info{
    .name = "list_active",
    .summary = "which lanes have an element, along a list",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1 || !in[0].is_list()) throw VerifyError("list_active: takes one list.");
      return std::vector{Type::list(*list_active_type(Type::list(leaf(in[0]))).element)};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const auto& list = std::get<ListValue>(in[0]);
      const Type element = *context.out[0].element;
      std::vector<Value> items;
      for (std::size_t t = 0; t < list.items->size(); ++t) {
        Buffer active = Buffer::allocate(DType::bool_, element.shape.sizes());
        for (std::int64_t l = 0; l < active.elements(); ++l)
          active.as<bool>()[l] =
              !list.lengths || static_cast<std::int64_t>(t) < (*list.lengths)[static_cast<std::size_t>(l)];
        items.push_back(active);
      }
      return std::vector<Value>{
          ListValue{element, std::make_shared<const std::vector<Value>>(std::move(items)), nullptr}};
    }),
    .jvp = Absent{"its result is a bool"},
    .transpose = Absent{"its result is a bool"},
    .batch = Absent{"it is made by batching a loop; a second batch axis is not carried by lists"},
    .split = Absent{"wholly known or not"},
    .lower = LowerRule(LowerStructure{LowerStructure::Kind::list}),
    .alias = Absent{"the result is new"},
    .effect = Absent{"pure"},
    .sample = Absent{"tested with batched loops"}};

const bool installed = (install_op(loop_info), install_op(list_active_info), true);

}  // namespace

const OpInfo& loop_op() { return loop_info; }
const OpInfo& list_active_op() { return list_active_info; }
Arrays loop(LoopParams params, std::span<const Array> operands) {
  return bind_op(loop_info, make_params(std::move(params)), operands);
}

}  // namespace tenon
