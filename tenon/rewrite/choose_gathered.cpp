#include "tenon/rewrite/choose_gathered.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tenon/base/settings.h"
#include "tenon/ir/adapt.h"
#include "tenon/ir/estimate.h"
#include "tenon/ir/replay.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/rewrite/chosen_rows.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/rewrite/steps_in.h"
#include "tenon/rewrite/streams.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

constexpr std::size_t most_followed = 100;  // of what is made of a stack, and of what makes indices; eqns
constexpr std::size_t most_reads = 4;       // of rows of a stack: each step chooses for each of them

double fewest_bytes() { return blocks_are_small() ? 0 : 1 << 13; }  // of a stack

class RowSearch {
 public:
  explicit RowSearch(const Program& program)
      : program_(program), readers_(program), maker_(maker_numbers(program)), is_output_(program.vars(), false) {
    for (const Var v : program.outputs()) is_output_[v] = true;
  }

  // The eqns that read rows of what loops stack, and what they read.
  std::map<std::size_t, RowPoints> find() const {
    std::map<std::size_t, RowPoints> found;
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      if (eqn.op != &loop_op() || !eqn.new_sizes.empty()) continue;
      const LoopParams& p = loop_of(eqn);
      if (p.cond || p.lanes || !p.length) continue;
      for (const Var v : stacks_of(program_, eqn)) found.merge(read_of(v, e));
    }
    return found;
  }

 private:
  const Type& type(Var v) const { return program_.type(v); }

  // Nothing where something else reads the stack, or what is made of its steps.
  std::map<std::size_t, RowPoints> read_of(Var stack, std::size_t loop) const {
    const Type& whole = type(stack);
    if (!whole.is_array() || estimated_elements(whole) * static_cast<double>(size_of(whole.dtype)) < fewest_bytes())
      return {};
    std::map<std::size_t, RowPoints> found;
    std::map<Var, std::int64_t> lies{{stack, 0}};  // along which axis the steps lie
    std::vector<Var> open{stack};
    while (!open.empty()) {
      const Var x = open.back();
      open.pop_back();
      if (is_output_[x] || lies.size() > most_followed) return {};
      const std::int64_t axis = lies.at(x);
      for (const std::size_t e : readers_[x]) {
        const Eqn& eqn = program_.eqns()[e];
        if (eqn.out.size() != 1) return {};
        if (const auto form = reduction_of(eqn, program_); form && std::ranges::count(form->axes, axis) > 0) continue;
        if (eqn.op == &gather_op()) {
          auto points = rows_chosen(eqn, x, axis, loop);
          if (!points || found.size() == most_reads) return {};
          found.emplace(e, std::move(*points));
          continue;
        }
        const auto to = axis_in_result(program_, eqn, x, axis);
        if (!to) return {};
        const auto [place, fresh] = lies.emplace(eqn.out[0], *to);
        if (!fresh && place->second != *to) return {};
        if (fresh) open.push_back(eqn.out[0]);
      }
    }
    return found;
  }
  std::optional<RowPoints> rows_chosen(const Eqn& eqn, Var x, std::int64_t axis, std::size_t loop) const {
    if (eqn.in[0] != x || eqn.in[1] == x || eqn.numerics != Numerics::relaxed || size_of(type(x).dtype) < 2 ||
        !is_before(eqn.in[1], loop))
      return {};
    auto points = rows_in_order(eqn, program_);
    return points && points->axis == at(axis) ? points : std::nullopt;
  }
  // Whether nothing of a loop's results makes it.
  bool is_before(Var v, std::size_t loop) const {
    std::vector<Var> open{v};
    std::size_t seen = 0;
    while (!open.empty()) {
      const std::size_t e = maker_[open.back()];
      open.pop_back();
      if (e == nowhere || e < loop) continue;
      if (e == loop || ++seen > most_followed) return false;
      open.insert(open.end(), program_.eqns()[e].in.begin(), program_.eqns()[e].in.end());
    }
    return true;
  }

  const Program& program_;
  const EqnReaders readers_;
  const std::vector<std::size_t> maker_;
  std::vector<bool> is_output_;
};

Array chosen_among_all(const RowPoints& points, const Type& x, const Type& result, const Array& of,
                       const Array& indices) {
  const Array chosen = where(is_named(points, x, indices), of, zeros(x.shape, x.dtype));
  Array rows = convert(sum(chosen, Axes(static_cast<std::int64_t>(points.axis))), x.dtype);
  if (points.fill) rows = where(is_inside(points, x, indices), rows, Array(*points.fill));
  return reshape(rows, result.shape);
}

}  // namespace

ProgramRef choose_gathered(const ProgramRef& program) {
  if (!holds_programs(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("choose_gathered")(program->hash()).finish(), [&] {
    const ProgramRef inner = with_regions(program, choose_gathered);
    const std::map<std::size_t, RowPoints> found = RowSearch(*inner).find();
    if (found.empty()) return inner;
    return rewritten(*inner, [&](Replay& replay) {
      for (std::size_t e = 0; e < inner->eqns().size(); ++e) {
        const Eqn& eqn = inner->eqns()[e];
        const auto points = found.find(e);
        if (points == found.end()) {
          replay.bind_eqn(eqn);
          continue;
        }
        const EqnScope place(eqn);
        replay.set(eqn.out[0], chosen_among_all(points->second, inner->type(eqn.in[0]), inner->type(eqn.out[0]),
                                                replay.get(eqn.in[0]), replay.get(eqn.in[1])));
      }
    });
  });
}

}  // namespace tenon
