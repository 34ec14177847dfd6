#include "tenon/rewrite/fuse_loops.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "tenon/ir/adapt.h"
#include "tenon/ops/control/loop_edit.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/rewrite/hoist_search.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

struct Fusion {
  std::size_t first, second;         // eqns
  std::set<std::size_t> before;      // eqns behind the first that make operands of the second
  std::vector<std::size_t> dropped;  // results of the first that the second alone reads, step by step
};

const Dim& rows_of(const Program& body, Var v) { return body.type(v).shape[0]; }

// What a loop has in each step of a variable outside of it, by variables of its body: what it stacks, reads step by
// step, or holds as a constant.
class Links {
 public:
  explicit Links(const Eqn& loop) {
    const LoopRoles roles(loop_of(loop));
    const Program& body = *loop_of(loop).body;
    for (std::size_t i = 0; i < loop.in.size(); ++i)
      if (!roles.is_carry(i)) (roles.is_xs(i) ? steps_ : constants_).emplace(loop.in[i], body.inputs()[i]);
    for (std::size_t i = roles.carries; i < loop.out.size(); ++i) steps_.emplace(loop.out[i], body.outputs()[i]);
  }
  // Of an operand of another loop over the same steps.
  std::optional<Var> of(const Eqn& other, std::size_t operand) const {
    const LoopRoles roles(loop_of(other));
    if (roles.is_carry(operand)) return {};
    const auto& links = roles.is_xs(operand) ? steps_ : constants_;
    const auto found = links.find(other.in[operand]);
    return found == links.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<Var, Var> steps_, constants_;
};

// Whether a step sums over an axis as long as the rows that it reads or stacks: its rows need each other then.
bool mixes_rows(const Program& body, const Dim& rows) {
  const auto sums = [&](Var v, const std::vector<std::int64_t>& axes) {
    const Shape& shape = body.type(v).shape;
    return std::ranges::any_of(axes, [&](std::int64_t axis) { return shape[static_cast<std::size_t>(axis)] == rows; });
  };
  return std::ranges::any_of(body.eqns(), [&](const Eqn& e) {
    if (const auto form = reduction_of(e, body)) return sums(e.in[0], form->axes);
    return is_product(*e.op) &&
           sums(e.in[0], product_form(e.params, body.type(e.in[0]), body.type(e.in[1])).contract_a);
  });
}

class FusionSearch {
 public:
  explicit FusionSearch(const Program& program)
      : program_(program), maker_(maker_numbers(program)), readers_(program), is_output_(program.vars(), false) {
    for (const Var v : program.outputs()) is_output_[v] = true;
  }

  // Pairs that can be fused together: none waits for another.
  std::vector<Fusion> run() {
    std::vector<Fusion> found;
    std::set<std::size_t> fused, before;
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const auto first = first_for(e);
      if (!first || fused.contains(*first) || before.contains(*first)) continue;
      auto fusion = fusion_of(*first, e);
      if (!fusion || std::ranges::any_of(fusion->before, [&](std::size_t i) { return fused.contains(i); })) continue;
      fused.insert({*first, e});
      before.insert(fusion->before.begin(), fusion->before.end());
      found.push_back(std::move(*fusion));
    }
    return found;
  }

 private:
  bool can_fuse(std::size_t e) const {
    const Eqn& eqn = program_.eqns()[e];
    if (eqn.op != &loop_op() || effect_of(eqn) != Effect::none || !eqn.new_sizes.empty()) return false;
    const LoopParams& p = loop_of(eqn);
    return p.length && !p.cond && !p.lanes;
  }

  // The last loop before it that stacks what this one reads step by step, or reads it as well. Single numbers are no
  // reason.
  std::optional<std::size_t> first_for(std::size_t e) const {
    std::optional<std::size_t> last;
    if (!can_fuse(e)) return last;
    const Eqn& eqn = program_.eqns()[e];
    const LoopRoles roles(loop_of(eqn));
    const auto see = [&](std::size_t other) {
      if (other < e && (!last || *last < other) && can_fuse(other)) last = other;
    };
    for (std::size_t i = roles.consts + roles.carries; i < eqn.in.size(); ++i) {
      const Var v = eqn.in[i];
      if (!program_.type(v).is_array() || program_.type(v).rank() < 2) continue;
      if (maker_[v] != nowhere) see(maker_[v]);
      const std::span<const std::size_t> readers = readers_[v];
      constexpr std::ptrdiff_t near = 8;  // readers that are looked at
      const auto here = std::ranges::lower_bound(readers, e);
      std::for_each(here - std::min(near, here - readers.begin()), here, see);
    }
    return last;
  }

  std::optional<Fusion> fusion_of(std::size_t first, std::size_t second) const {
    const Eqn &a = program_.eqns()[first], &b = program_.eqns()[second];
    const LoopParams &p = loop_of(a), &q = loop_of(b);
    if (*p.length != *q.length || p.reverse != q.reverse) return {};
    const Links links(a);
    std::vector<std::pair<Dim, Dim>> rows;  // of what links them, in the sizes of each body: of few sizes
    std::vector<Var> needed;
    for (std::size_t i = 0; i < b.in.size(); ++i) {
      const auto link = links.of(b, i);
      if (!link || maker_[b.in[i]] != first) needed.push_back(b.in[i]);
      if (!link || !LoopRoles(q).is_xs(i) || program_.type(b.in[i]).rank() < 2) continue;
      const std::pair each(rows_of(*p.body, *link), rows_of(*q.body, q.body->inputs()[i]));
      if (std::ranges::find(rows, each) == rows.end()) rows.push_back(each);
    }
    const auto differ = [&](const auto& each) {
      return mixes_rows(*p.body, each.first) != mixes_rows(*q.body, each.second);
    };
    if (rows.empty() || std::ranges::any_of(rows, differ)) return {};
    Fusion fusion{first, second, makers_behind(program_, maker_, first, needed, [](std::size_t) { return false; }), {}};
    if (fusion.before.contains(first) || !may_go_before(fusion)) return {};
    for (std::size_t i = LoopRoles(p).carries; i < a.out.size(); ++i)
      if (std::ranges::equal(readers_[a.out[i]], std::array{second}) && !is_output_[a.out[i]])
        fusion.dropped.push_back(i);
    return fusion;
  }

  // What goes before the first loop has no effects, and updates nothing in place that others read before the second.
  // What both begin with is copied in any case.
  bool may_go_before(const Fusion& fusion) const {
    const auto alone = [&](std::size_t e) {
      const Eqn& eqn = program_.eqns()[e];
      for (std::size_t i = 0; i < eqn.in.size(); ++i) {
        if (!may_overwrite(eqn, i) || is_fill(eqn.in[i])) continue;
        const auto reads = [&](std::size_t r) {
          return r != e && r >= fusion.first && r < fusion.second && !fusion.before.contains(r) &&
                 !(r == fusion.first && e == fusion.second && updates(r, eqn.in[i]));
        };
        if (std::ranges::any_of(readers_[eqn.in[i]], reads)) return false;
      }
      return effect_of(eqn) == Effect::none;
    };
    return alone(fusion.second) && std::ranges::all_of(fusion.before, alone);
  }
  bool updates(std::size_t e, Var v) const {
    const Eqn& eqn = program_.eqns()[e];
    for (std::size_t i = 0; i < eqn.in.size(); ++i)
      if (eqn.in[i] == v && may_overwrite(eqn, i)) return true;
    return false;
  }
  bool is_fill(Var v) const { return maker_[v] != nowhere && program_.eqns()[maker_[v]].op == &broadcast_op(); }

  const Program& program_;
  const std::vector<std::size_t> maker_;
  const EqnReaders readers_;
  std::vector<bool> is_output_;
};

// Both loops of a Fusion as one, where the first stood.
class FusionRebuild {
 public:
  FusionRebuild(const Program& program, const Fusion& fusion, const std::vector<std::size_t>&, std::vector<bool>& done)
      : program_(program), fusion_(fusion), done_(done) {}

  void bind(Replay& replay) {
    for (const std::size_t e : fusion_.before) {
      if (!done_[e]) replay.bind_eqn(program_.eqns()[e]);
      done_[e] = true;
    }
    const Eqn &a = program_.eqns()[fusion_.first], &b = program_.eqns()[fusion_.second];
    const EqnScope place(a);
    const auto q = replay.params(b).as<LoopParams>();
    const LoopRoles second(q);
    LoopEdit edit(replay.params(a).as<LoopParams>(), replay.operands(a));
    const Links links(a);
    std::map<std::size_t, LoopEdit::Added> added;  // of operands of the second
    std::map<std::size_t, Var> linked;             // others, in the body of the first
    for (std::size_t i = 0; i < b.in.size(); ++i) {
      const Array& x = replay.get(b.in[i]);
      if (const auto link = links.of(b, i))
        linked.emplace(i, *link);
      else
        added.emplace(i, second.is_const(i)   ? edit.add_const(x)
                         : second.is_carry(i) ? edit.add_carry(x)
                                              : edit.add_xs(x));
    }
    for (const std::size_t result : fusion_.dropped) edit.drop_result(result);
    LoopEdit::Built built = edit.build([&](LoopEdit::Step& step) {
      step.bind_all();
      Replay body(*q.body, q.body_sizes);
      for (const auto& [i, x] : added) body.set(q.body->inputs()[i], step.at(x));
      for (const auto& [i, v] : linked) body.set(q.body->inputs()[i], step.old.get(v));
      for (const Eqn& eqn : q.body->eqns()) body.bind_eqn(eqn);
      for (std::size_t i = 0; i < second.results(); ++i) {
        const Array& result = body.get(q.body->outputs()[i]);
        if (i < second.carries)
          step.carry_on(added.at(second.consts + i), result);
        else
          step.stack(result);
      }
    });
    for (std::size_t i = 0; i < a.out.size(); ++i)
      if (!built.results[i].empty()) replay.set(a.out[i], built.results[i]);
    of_second_ = joined({built.carries, built.stacks});
  }

  // Where the second stood.
  void finish(std::size_t, Replay& replay) { replay.set_results(program_.eqns()[fusion_.second], of_second_); }

 private:
  const Program& program_;
  const Fusion& fusion_;
  std::vector<bool>& done_;
  Arrays of_second_;
};

ProgramRef fused(const Program& program, const std::vector<Fusion>& found) {
  struct End {
    std::size_t eqn;
  };
  return rewritten_together<FusionRebuild>(
      program, found, [](const Fusion& fusion) { return fusion.first; },
      [](const Fusion& fusion) { return std::array{End{fusion.second}}; });
}

}  // namespace

ProgramRef fuse_loops(const ProgramRef& program) {
  if (!has_loops(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("fuse_loops")(program->hash()).finish(), [&] {
    ProgramRef result = with_regions(program, fuse_loops);
    while (true) {
      const std::vector<Fusion> found = FusionSearch(*result).run();
      if (found.empty()) return result;
      result = fused(*result, found);
    }
  });
}

}  // namespace tenon
