#include "tenon/rewrite/delta_stacks.h"

#include <algorithm>
#include <map>

#include "tenon/ir/adapt.h"
#include "tenon/ir/estimate.h"
#include "tenon/ops/loop_roles.h"
#include "tenon/ops/region.h"
#include "tenon/ops/update_chain.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

using Ptr = std::ptrdiff_t;

const LoopParams& loop_of(const Eqn& eqn) { return eqn.params.as<LoopParams>(); }
bool is_loop(const Eqn& eqn) { return eqn.op == &loop_op(); }

// A result of a loop that stacks a value of an update chain in its body, or stacks such stacks.
struct Stack {
  const Eqn* loop = nullptr;
  std::size_t result = 0;    // of the loop
  std::vector<Stack> inner;  // one: the body's value is a stack itself
  UpdatedCarry carried;      // otherwise
  std::size_t position = 0;  // of the body's value along the chain
  const UpdateChain& chain() const { return carried.chain; }
  std::size_t carry() const { return chain().input - static_cast<std::size_t>(loop_of(*loop).consts); }
};

std::vector<UpdatedCarry> updated_carries(const Eqn& eqn) {
  const auto& p = loop_of(eqn);
  if (p.lanes) return {};
  return updated_carries(*p.body, static_cast<std::size_t>(p.consts), static_cast<std::size_t>(p.carries));
}

std::optional<Stack> stack_of(const Eqn& eqn, std::size_t result, std::span<const UpdatedCarry> carries) {
  const auto& p = loop_of(eqn);
  if (p.lanes || result < static_cast<std::size_t>(p.carries)) return std::nullopt;
  const Program& body = *p.body;
  const Var value = body.outputs()[result];
  for (const UpdatedCarry& carry : carries) {
    const auto at = std::ranges::find(carry.chain.values, value);
    if (at != carry.chain.values.end())
      return Stack{&eqn, result, {}, carry, static_cast<std::size_t>(at - carry.chain.values.begin())};
  }
  const Eqn* made = makers_of(body)[value];
  if (made == nullptr || !is_loop(*made) || !are_given(body, loop_of(*made).body_sizes)) return std::nullopt;
  const auto at = static_cast<std::size_t>(std::ranges::find(made->out, value) - made->out.begin());
  auto inner = stack_of(*made, at, updated_carries(*made));
  if (!inner) return std::nullopt;
  return Stack{&eqn, result, {std::move(*inner)}, {}, 0};
}

// Bytes of what is kept of a stack: a step's, where data decide how many there are.
double kept_bytes(const Stack& stack) {
  const auto& p = loop_of(*stack.loop);
  const double steps = p.length ? estimate(*p.length) : 1;
  if (!stack.inner.empty()) return steps * kept_bytes(stack.inner[0]);
  return steps * stack.carried.kept + estimated_bytes(p.body->type(p.body->inputs()[stack.chain().input]));
}

// Which of a loop's xs a variable is, where it is one of them and nothing else.
std::optional<std::size_t> xs_at(const Eqn& eqn, Var v) {
  if (!is_loop(eqn) || std::ranges::count(eqn.in, v) != 1) return std::nullopt;
  const auto& p = loop_of(eqn);
  const auto at = static_cast<std::size_t>(std::ranges::find(eqn.in, v) - eqn.in.begin());
  return at >= static_cast<std::size_t>(p.consts + p.carries) && !p.cond && !p.lanes ? std::optional(at) : std::nullopt;
}

// Adds what the readers of a stack need; false where one of them needs the stack itself.
bool readers_need(const Program& program, Var v, const Stack& stack, std::vector<KeptRows>& rows) {
  if (std::ranges::count(program.outputs(), v) > 0) return false;
  return std::ranges::all_of(program.eqns(), [&](const Eqn& eqn) {
    if (std::ranges::count(eqn.in, v) == 0) return true;
    const auto at = xs_at(eqn, v);
    if (!at) return false;
    const auto& p = loop_of(eqn);
    if (!stack.inner.empty()) return readers_need(*p.body, p.body->inputs()[*at], stack.inner[0], rows);
    rows.push_back(p.reverse == loop_of(*stack.loop).reverse ? KeptRows::after : KeptRows::before);
    return true;
  });
}

struct Delta {
  Stack stack;
  Var var = 0;  // the stack itself
  KeptRows rows = KeptRows::before;
};

std::optional<Delta> find_delta(const Program& program) {
  for (const Eqn& eqn : program.eqns()) {
    if (!is_loop(eqn)) continue;
    const std::vector<UpdatedCarry> carries = updated_carries(eqn);
    for (std::size_t i = static_cast<std::size_t>(loop_of(eqn).carries); i < eqn.out.size(); ++i) {
      auto stack = stack_of(eqn, i, carries);
      if (!stack) continue;
      std::vector<KeptRows> rows;
      if (!readers_need(program, eqn.out[i], *stack, rows) || rows.empty() ||
          std::ranges::count(rows, rows[0]) != static_cast<Ptr>(rows.size()))
        continue;
      return Delta{std::move(*stack), eqn.out[i], rows[0]};
    }
  }
  return std::nullopt;
}

// Writes the loops of one Delta anew.
class Rebuild {
 public:
  explicit Rebuild(KeptRows rows) : rows_(rows) {}

  ProgramRef run(const Program& program, const Delta& delta) {
    return rewritten(program,
                     [&](Replay& replay) { bind_all(program, replay, &delta.stack, delta.var, {}, delta.stack); });
  }

 private:
  static Arrays outputs_of(const Program& program, const Replay& replay) {
    Arrays outputs;
    for (Var v : program.outputs()) outputs.push_back(replay.get(v));
    return outputs;
  }

  // All eqns of a Program: of the loop that makes `stack`, where it is given, what stands for its stack; of the loops
  // that read `var`, these parts in its place.
  void bind_all(const Program& program, Replay& replay, const Stack* made, Var var, Arrays parts, const Stack& stack) {
    for (const Eqn& eqn : program.eqns()) {
      if (made != nullptr && &eqn == made->loop)
        parts = bind_maker(*made, replay);
      else if (std::ranges::count(eqn.in, var) > 0)
        bind_reader(eqn, *xs_at(eqn, var), parts, stack, replay);
      else
        replay.bind_eqn(eqn);
    }
  }

  static void set_results(const Eqn& eqn, Replay& replay, const Arrays& results, std::size_t but) {
    for (std::size_t i = 0, k = 0; i < eqn.out.size(); ++i) {
      if (i == but) continue;
      replay.bind_sizes(eqn.out[i], results[k]);
      replay.set(eqn.out[i], results[k++]);
    }
  }

  // Its body, without the stack and with what is kept.
  TraceResult trace_maker(const Stack& stack, const LoopParams& p, std::span<const Type> operands) {
    const Program& old = *p.body;
    Scope scope;
    Replay body(old, p.body_sizes);
    const std::vector<Type> types = body_input_types(p, operands);
    for (std::size_t i = 0; i < types.size(); ++i) body.set(old.inputs()[i], scope.input(types[i]));
    Arrays kept;
    for (const Eqn& e : old.eqns()) {
      const auto link = std::ranges::find(stack.chain().links, &e, &UpdateChain::Link::eqn);
      Arrays more;
      if (!stack.inner.empty() && &e == stack.inner[0].loop)
        more = bind_maker(stack.inner[0], body);
      else if (link != stack.chain().links.end())
        more = bind_keeping(*link, body, rows_);
      else
        body.bind_eqn(e);
      kept.insert(kept.end(), more.begin(), more.end());
    }
    Arrays outputs;
    for (std::size_t i = 0; i < old.outputs().size(); ++i)
      if (i != stack.result) outputs.push_back(body.get(old.outputs()[i]));
    outputs.insert(outputs.end(), kept.begin(), kept.end());
    return scope.finish(outputs, old.name());
  }

  // The state where readers begin, then what is kept of each step.
  Arrays bind_maker(const Stack& stack, Replay& replay) {
    const Eqn& eqn = *stack.loop;
    const EqnScope place(eqn);
    LoopParams p = replay.params(eqn).as<LoopParams>();
    if (stack.inner.empty()) sizes_ = p.body_sizes;
    const Arrays operands = replay.operands(eqn);
    const TraceResult traced = trace_maker(stack, p, types_of(operands));
    p.body = traced.program;
    p.body_sizes = traced.sizes;
    const Arrays results = loop(std::move(p), operands);
    set_results(eqn, replay, results, stack.result);
    Arrays parts;
    if (stack.inner.empty())
      parts.push_back(rows_ == KeptRows::before ? results[stack.carry()] : operands[stack.chain().input]);
    parts.insert(parts.end(), results.begin() + static_cast<Ptr>(eqn.out.size()) - 1, results.end());
    return parts;
  }

  // Its body, with what was `at` made of the parts.
  TraceResult trace_reader(std::size_t at, const Stack& stack, const LoopParams& p, std::span<const Type> operands) {
    const Program& old = *p.body;
    const bool passes = stack.inner.empty();
    const auto first_xs = static_cast<std::size_t>(p.consts + p.carries) - (passes ? 1 : 0);
    Scope scope;
    Arrays inputs;
    for (const Type& t : body_input_types(p, operands)) inputs.push_back(scope.input(t));
    Replay body(old, p.body_sizes);
    std::size_t next = 0;
    for (std::size_t i = 0; i < old.inputs().size(); ++i) {
      if (passes && i == first_xs) ++next;
      if (i != at) body.set(old.inputs()[i], inputs[next++]);
    }
    const Arrays own(inputs.begin() + static_cast<Ptr>(next), inputs.end());
    const Var read = old.inputs()[at];
    Arrays outputs;
    if (passes) {
      const std::size_t split = stack.position, all = stack.chain().links.size();
      const bool back = rows_ == KeptRows::before;
      const Replay sizes(*loop_of(*stack.loop).body, sizes_);
      const Array here =
          pass_links(stack.chain(), sizes, back ? split : 0, back ? all : split, inputs[first_xs], own, rows_);
      body.set(read, here);
      for (const Eqn& e : old.eqns()) body.bind_eqn(e);
      outputs = outputs_of(old, body);
      outputs.insert(outputs.begin() + p.carries - 1,
                     pass_links(stack.chain(), sizes, back ? 0 : split, back ? split : all, here, own, rows_));
    } else {
      bind_all(old, body, nullptr, read, own, stack.inner[0]);
      outputs = outputs_of(old, body);
    }
    return scope.finish(outputs, old.name());
  }

  // A loop that takes the parts for its operand `at`, and passes over the chain once a step.
  void bind_reader(const Eqn& eqn, std::size_t at, const Arrays& parts, const Stack& stack, Replay& replay) {
    const EqnScope place(eqn);
    LoopParams p = replay.params(eqn).as<LoopParams>();
    const auto first_xs = static_cast<std::size_t>(p.consts + p.carries);
    const bool passes = stack.inner.empty();
    const Arrays given = replay.operands(eqn);
    Arrays operands(given.begin(), given.begin() + static_cast<Ptr>(first_xs));
    if (passes) operands.push_back(parts[0]);
    for (std::size_t i = first_xs; i < given.size(); ++i)
      if (i != at) operands.push_back(given[i]);
    operands.insert(operands.end(), parts.begin() + (passes ? 1 : 0), parts.end());
    if (passes) ++p.carries;

    const TraceResult traced = trace_reader(at, stack, p, types_of(operands));
    p.body = traced.program;
    p.body_sizes = traced.sizes;
    const auto carries = p.carries;
    Arrays results = loop(std::move(p), operands);
    if (passes) results.erase(results.begin() + carries - 1);
    set_results(eqn, replay, results, eqn.out.size());
  }

  const KeptRows rows_;
  std::vector<Dim> sizes_;  // those of the body whose value is stacked
};

}  // namespace

ProgramRef delta_stacks(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("delta_stacks")(program->hash()).finish(), [&] {
    ProgramRef result = with_regions(program, delta_stacks);
    while (const auto delta = find_delta(*result)) result = Rebuild(delta->rows).run(*result, *delta);
    return result;
  });
}

std::optional<double> delta_bytes(const Program& program, Var stack) {
  const Eqn* made = makers_of(program)[stack];
  if (made == nullptr || !is_loop(*made)) return std::nullopt;
  const auto at = static_cast<std::size_t>(std::ranges::find(made->out, stack) - made->out.begin());
  const auto found = stack_of(*made, at, updated_carries(*made));
  return found ? std::optional(kept_bytes(*found)) : std::nullopt;
}

}  // namespace tenon
