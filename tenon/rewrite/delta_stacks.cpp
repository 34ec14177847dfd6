#include "tenon/rewrite/delta_stacks.h"

#include <algorithm>
#include <map>

#include "tenon/ir/adapt.h"
#include "tenon/ir/estimate.h"
#include "tenon/ops/control/loop_edit.h"
#include "tenon/ops/control/update_chain.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

using Ptr = std::ptrdiff_t;

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

  static void set_results(const Eqn& eqn, Replay& replay, const Arrays& results) {
    for (std::size_t i = 0; i < eqn.out.size(); ++i) {
      if (results[i].empty()) continue;
      replay.bind_sizes(eqn.out[i], results[i]);
      replay.set(eqn.out[i], results[i]);
    }
  }

  // The loop without the stack and with what is kept: the state where readers begin, then what is kept of each step.
  Arrays bind_maker(const Stack& stack, Replay& replay) {
    const Eqn& eqn = *stack.loop;
    const EqnScope place(eqn);
    const LoopParams p = replay.params(eqn).as<LoopParams>();
    if (stack.inner.empty()) sizes_ = p.body_sizes;
    const Arrays operands = replay.operands(eqn);
    LoopEdit edit(p, operands);
    edit.drop_result(stack.result);
    const LoopEdit::Built built = edit.build([&](LoopEdit::Step& step) {
      for (const Eqn& e : p.body->eqns()) {
        const auto link = std::ranges::find(stack.chain().links, &e, &UpdateChain::Link::eqn);
        Arrays kept;
        if (!stack.inner.empty() && &e == stack.inner[0].loop)
          kept = bind_maker(stack.inner[0], step.old);
        else if (link != stack.chain().links.end())
          kept = bind_keeping(*link, step.old, rows_);
        else
          step.old.bind_eqn(e);
        for (const Array& x : kept) step.stack(x);
      }
    });
    set_results(eqn, replay, built.results);
    Arrays parts;
    if (stack.inner.empty())
      parts.push_back(rows_ == KeptRows::before ? built.results[stack.carry()] : operands[stack.chain().input]);
    parts.insert(parts.end(), built.stacks.begin(), built.stacks.end());
    return parts;
  }

  // A loop that takes the parts for its operand `at`, and passes over the chain once a step.
  void bind_reader(const Eqn& eqn, std::size_t at, const Arrays& parts, const Stack& stack, Replay& replay) {
    const EqnScope place(eqn);
    const LoopParams p = replay.params(eqn).as<LoopParams>();
    LoopEdit edit(p, replay.operands(eqn));
    edit.drop(at);
    std::optional<LoopEdit::Added> state;
    std::vector<LoopEdit::Added> rest;
    for (const Array& part : parts) {
      if (stack.inner.empty() && !state)
        state = edit.add_carry(part);
      else
        rest.push_back(edit.add_xs(part));
    }
    const Var read = p.body->inputs()[at];
    const LoopEdit::Built built = edit.build([&](LoopEdit::Step& step) {
      Arrays own;
      for (const LoopEdit::Added added : rest) own.push_back(step.at(added));
      if (!state) return bind_all(*p.body, step.old, nullptr, read, own, stack.inner[0]);
      const std::size_t split = stack.position, all = stack.chain().links.size();
      const bool back = rows_ == KeptRows::before;
      const Replay sizes(*loop_of(*stack.loop).body, sizes_);
      const Array here =
          pass_links(stack.chain(), sizes, back ? split : 0, back ? all : split, step.at(*state), own, rows_);
      step.old.set(read, here);
      step.bind_all();
      step.carry_on(*state, pass_links(stack.chain(), sizes, back ? 0 : split, back ? split : all, here, own, rows_));
    });
    set_results(eqn, replay, built.results);
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
