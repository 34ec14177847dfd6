#include "tenon/rewrite/divide_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "tenon/ir/adapt.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/rewrite/steps_in.h"
#include "tenon/rewrite/streams.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

constexpr std::size_t most_readers = 100;  // of what is made of a window, eqns

struct Windows {
  Dim count, steps;  // of each
  bool operator==(const Windows&) const = default;
};

class WindowSearch {
 public:
  explicit WindowSearch(const Program& program)
      : program_(program), readers_(program), is_output_(program.vars(), false) {
    for (const Var v : program.outputs()) is_output_[v] = true;
  }

  // The windows in which one of its outputs is reduced.
  std::optional<Windows> of(const Eqn& eqn) const {
    if (eqn.op != &loop_op() || !eqn.new_sizes.empty()) return {};
    const LoopParams& p = loop_of(eqn);
    const auto is_known = [&](Var v) { return type(v).is_array() && type(v).shape.known(); };
    if (p.cond || p.lanes || !p.length || !p.length->known() || p.checkpoints || !p.body_sizes.empty() ||
        !std::ranges::all_of(eqn.in, is_known) || !std::ranges::all_of(eqn.out, is_known))
      return {};
    for (const Var v : stacks_of(program_, eqn))
      if (const auto windows = reduced_in(v)) return windows;
    return {};
  }

 private:
  const Type& type(Var v) const { return program_.type(v); }

  // An axis that becomes two, and nothing else.
  static std::optional<Windows> divided(const Shape& whole, const Shape& parts, std::int64_t axis) {
    if (parts.rank() != whole.rank() + 1 || parts[at(axis)] == Dim(1) || parts[at(axis) + 1] == Dim(1)) return {};
    for (std::size_t a = 0; a < whole.rank(); ++a)
      if (a != at(axis) && parts[a + (a > at(axis))] != whole[a]) return {};
    return Windows{parts[at(axis)], parts[at(axis) + 1]};
  }

  // The windows in which what is made of a stack is reduced, where all that is made of it is reduced in these, or over
  // all steps.
  std::optional<Windows> reduced_in(Var v) const {
    struct Lies {
      std::int64_t axis;  // of the steps, or of the windows, whose steps lie along the next one
      bool divided;
      bool operator==(const Lies&) const = default;
    };
    std::map<Var, Lies> lies{{v, {0, false}}};
    std::vector<Var> open{v};
    std::optional<Windows> windows;
    bool reduces = false;
    while (!open.empty()) {
      const Var x = open.back();
      open.pop_back();
      if (is_output_[x] || lies.size() > most_readers) return {};
      const auto [axis, is_divided] = lies.at(x);
      for (const std::size_t e : readers_[x]) {
        const Eqn& eqn = program_.eqns()[e];
        if (eqn.out.size() != 1) return {};
        Lies result{axis, is_divided};
        const auto form = reduction_of(eqn, program_);
        const auto is_reduced = [&](std::int64_t a) { return std::ranges::count(form->axes, a) > 0; };
        if (eqn.op == &reshape_op()) {
          const auto found = is_divided ? std::nullopt : divided(type(x).shape, type(eqn.out[0]).shape, axis);
          if (!found || (windows && *windows != *found)) return {};
          windows = found;
          result.divided = true;
        } else if (form && is_reduced(axis) && (!is_divided || is_reduced(axis + 1))) {
          continue;  // over all steps
        } else if (form && is_divided && is_reduced(axis + 1)) {
          reduces = true;
          continue;
        } else {
          const auto first = axis_in_result(program_, eqn, x, axis),
                     next = is_divided ? axis_in_result(program_, eqn, x, axis + 1) : std::nullopt;
          if (!first || (is_divided && next != *first + 1)) return {};
          result.axis = *first;
        }
        const auto [place, fresh] = lies.emplace(eqn.out[0], result);
        if (!fresh && place->second != result) return {};
        if (fresh) open.push_back(eqn.out[0]);
      }
    }
    return reduces ? windows : std::nullopt;
  }

  const Program& program_;
  const EqnReaders readers_;
  std::vector<bool> is_output_;
};

// A step of the outer loop: what the inner one makes of one window.
TraceResult window(const LoopParams& inner, const std::vector<Type>& types) {
  Scope scope;
  Arrays inputs;
  for (const Type& type : types) inputs.push_back(scope.input(type));
  return scope.finish(loop(inner, inputs), "window");
}
// The loop with its windows as an outer loop; outputs of all steps behind each other.
void bind_divided(const Eqn& eqn, const Windows& windows, Replay& replay) {
  const EqnScope place(eqn);
  LoopParams inner = loop_of(eqn), outer = inner;
  inner.length = windows.steps;
  outer.length = windows.count;
  Arrays operands = replay.operands(eqn);
  const auto first = static_cast<std::size_t>(inner.consts + inner.carries);
  for (std::size_t k = first; k < operands.size(); ++k) operands[k] = by_turn(operands[k], windows.steps.value());
  const TraceResult body = window(inner, body_input_types(outer, types_of(operands)));
  outer.body = body.program;
  outer.body_sizes = body.sizes;
  Arrays results = loop(outer, operands);
  for (std::size_t k = static_cast<std::size_t>(inner.carries); k < results.size(); ++k)
    results[k] = reshape(results[k], replay.type(eqn.out[k]).shape);
  replay.set_results(eqn, results);
}

}  // namespace

ProgramRef divide_steps(const ProgramRef& program) {
  if (!holds_programs(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("divide_steps")(program->hash()).finish(), [&] {
    const ProgramRef inner = with_regions(program, divide_steps);
    const WindowSearch search(*inner);
    std::map<std::size_t, Windows> found;
    for (std::size_t e = 0; e < inner->eqns().size(); ++e)
      if (const auto windows = search.of(inner->eqns()[e])) found.emplace(e, *windows);
    if (found.empty()) return inner;
    return rewritten(*inner, [&](Replay& replay) {
      for (std::size_t e = 0; e < inner->eqns().size(); ++e) {
        const auto windows = found.find(e);
        if (windows == found.end())
          replay.bind_eqn(inner->eqns()[e]);
        else
          bind_divided(inner->eqns()[e], windows->second, replay);
      }
    });
  });
}

}  // namespace tenon
