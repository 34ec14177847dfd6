#include "tenon/rewrite/collapse_loops.h"

#include <algorithm>
#include <utility>

#include "tenon/ir/adapt.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

// Of each variable of a body the number of the input that it is, or past all of them.
std::vector<std::size_t> input_numbers(const Program& body) {
  std::vector<std::size_t> numbers(body.vars(), body.inputs().size());
  for (std::size_t i = 0; i < body.inputs().size(); ++i) numbers[body.inputs()[i]] = i;
  return numbers;
}

// The loop that is all that a step of an outer loop does; nullptr where there is more to do, or another way to go.
const Eqn* whole_step(const Eqn& outer) {
  const auto counts = [](const Eqn& eqn) {
    if (eqn.op != &loop_op() || eqn.recompute != 0 || !eqn.new_sizes.empty()) return false;
    const LoopParams& p = loop_of(eqn);
    return p.length && !p.cond && !p.lanes && !p.checkpoints;
  };
  if (!counts(outer)) return nullptr;
  const LoopParams& p = loop_of(outer);
  const Program& step = *p.body;
  if (step.eqns().size() != 1 || !counts(step.eqns()[0])) return nullptr;
  const Eqn& inner = step.eqns()[0];
  const LoopParams& q = loop_of(inner);
  const LoopRoles roles(p), own(q);
  if (p.reverse != q.reverse || roles.carries != own.carries || roles.ys != own.ys) return nullptr;
  const std::vector<std::size_t> input = input_numbers(step);
  for (std::size_t i = 0; i < inner.in.size(); ++i) {
    const std::size_t of = input[inner.in[i]];
    const bool fits = own.is_const(i)   ? roles.is_const(of)
                      : own.is_carry(i) ? of == roles.consts + (i - own.consts)
                                        : of < step.inputs().size() && roles.is_xs(of);
    if (!fits) return nullptr;
  }
  return std::ranges::equal(inner.out, step.outputs()) ? &inner : nullptr;
}

Array reshaped(const Array& x, std::size_t axes, std::span<const Dim> front) {
  std::vector<Dim> shape(front.begin(), front.end());
  for (std::size_t i = axes; i < x.shape().rank(); ++i) shape.push_back(x.shape()[i]);
  return reshape(x, Shape(std::move(shape)));
}

Arrays collapsed(const Eqn& outer, const Eqn& inner, const Replay& replay) {
  const auto p = replay.params(outer).as<LoopParams>();
  const Replay step(*p.body, p.body_sizes);
  auto q = step.params(inner).as<LoopParams>();
  const LoopRoles roles(p), own(q);
  const Arrays given = replay.operands(outer);
  const Dim chunks = *p.length, each = *q.length, all = chunks * each;
  const std::vector<std::size_t> input = input_numbers(*p.body);
  Arrays operands;
  for (std::size_t i = 0; i < inner.in.size(); ++i) {
    const Array& x = given[input[inner.in[i]]];
    operands.push_back(own.is_xs(i) ? reshaped(x, 2, {{all}}) : x);
  }
  q.length = all;
  Arrays results = loop(std::move(q), operands);
  for (std::size_t i = roles.carries; i < results.size(); ++i) results[i] = reshaped(results[i], 1, {{chunks, each}});
  return results;
}

}  // namespace

ProgramRef collapse_loops(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("collapse_loops")(program->hash()).finish(), [&] {
    ProgramRef before, result = program;
    while (result != before) before = std::exchange(result, with_replaced(result, whole_step, collapsed));
    return with_regions(result, collapse_loops);
  });
}

}  // namespace tenon
