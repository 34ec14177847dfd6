#include "tenon/rewrite/join_branches.h"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>

#include "tenon/ir/adapt.h"
#include "tenon/ops/control/loop_roles.h"
#include "tenon/ops/element_form.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/eqn_numbers.h"
#include "tenon/transform/memo.h"

namespace tenon {
namespace {

constexpr std::size_t most_branches = 4;  // that a loop is repeated in
constexpr std::int64_t fewest = 64;       // elements that are worth it
constexpr int most_joins = 32;            // in a Program, each of which walks it

// A cond, and what moves into its branches.
struct Join {
  std::size_t cond;
  std::set<std::size_t> moved;   // the last of them is a cond, a loop or a reduction
  std::set<std::size_t> before;  // eqns between that make what it reads
  std::vector<Var> operands;     // of the new cond, behind its index
  std::vector<Var> results;      // that are read elsewhere
};

class JoinSearch {
 public:
  explicit JoinSearch(const Program& program)
      : program_(program), maker_(maker_numbers(program)), readers_(program), is_output_(program.vars(), false) {
    for (const Var v : program.outputs()) is_output_[v] = true;
  }

  std::optional<Join> find() const {
    for (std::size_t e = 0; e < program_.eqns().size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      if (eqn.op != &cond_op() && eqn.op != &loop_op() && !is_reduction(eqn)) continue;
      std::set<std::size_t> moved = with_what_only_it_reads(e);
      for (const std::size_t c : conds_before(moved))
        if (auto join = join_of(c, moved)) return join;
    }
    return {};
  }

 private:
  bool is_large(Var v) const {
    const Type& type = program_.type(v);
    return type.is_array() && type.shape.known() && type.shape.elements().value() >= fewest;
  }
  bool are_known(std::span<const Var> vars) const {
    return std::ranges::all_of(vars,
                               [&](Var v) { return program_.type(v).is_array() && program_.type(v).shape.known(); });
  }
  // One number everywhere, which any reader may make for itself.
  bool is_fill(Var v) const {
    const Eqn* eqn = maker(v);
    while (eqn != nullptr && (eqn->op == &broadcast_op() || eqn->op == &reshape_op())) eqn = maker(eqn->in[0]);
    return eqn != nullptr && is_element(*eqn) && eqn->in.empty();
  }
  const Eqn* maker(Var v) const { return maker_[v] == nowhere ? nullptr : &program_.eqns()[maker_[v]]; }

  // An eqn, and the element by element ones of which it alone reads what they make, through others of them, too.
  std::set<std::size_t> with_what_only_it_reads(std::size_t last) const {
    std::set<std::size_t> moved{last};
    std::set<std::size_t, std::greater<>> open;  // the last first: who reads its result is decided before it
    const auto look_behind = [&](std::size_t e) {
      for (const Var v : program_.eqns()[e].in)
        if (maker_[v] != nowhere) open.insert(maker_[v]);
    };
    look_behind(last);
    while (!open.empty()) {
      const std::size_t e = *open.begin();
      open.erase(open.begin());
      const Eqn& eqn = program_.eqns()[e];
      if (!is_element(eqn) || eqn.out.size() != 1 || !eqn.new_sizes.empty()) continue;
      const Var v = eqn.out[0];
      const auto is_moved = [&](std::size_t reader) { return moved.contains(reader); };
      if (!is_fill(v) && (is_output_[v] || !std::ranges::all_of(readers_[v], is_moved))) continue;
      moved.insert(e);
      look_behind(e);
    }
    return moved;
  }
  // The conds of which these read a large result.
  std::set<std::size_t> conds_before(const std::set<std::size_t>& moved) const {
    std::set<std::size_t> conds;
    for (const std::size_t e : moved)
      for (const Var v : program_.eqns()[e].in)
        if (maker_[v] != nowhere && !moved.contains(maker_[v]) && maker(v)->op == &cond_op() && is_large(v))
          conds.insert(maker_[v]);
    return conds;
  }
  bool is_plain(const Eqn& eqn) const {
    return effect_of(eqn) == Effect::none && eqn.new_sizes.empty() && are_known(eqn.in) && are_known(eqn.out);
  }
  static bool has_sizes(const CondParams& p) {
    return std::ranges::any_of(p.sizes, [](const auto& sizes) { return !sizes.empty(); });
  }

  std::optional<Join> join_of(std::size_t c, const std::set<std::size_t>& moved) const {
    const Eqn &first = program_.eqns()[c], &last = program_.eqns()[*moved.rbegin()];
    const auto& p = first.params.as<CondParams>();
    if (!is_plain(first) || !is_plain(last) || has_sizes(p)) return {};
    const auto is_moved = [&](std::size_t e) { return moved.contains(e); };
    const auto is_freed = [&](Var v) {
      return is_large(v) && !is_output_[v] && !readers_[v].empty() && std::ranges::all_of(readers_[v], is_moved);
    };
    std::vector<Var> freed;
    std::ranges::copy_if(first.out, std::back_inserter(freed), is_freed);
    if (freed.empty() || !(last.op == &cond_op() ? has_same_index(first, last) : pays_for(last, p, first, freed)))
      return {};
    Join join{c, moved, {}, {first.in.begin() + 1, first.in.end()}, {}};
    std::set<Var> made(first.out.begin(), first.out.end()), given(join.operands.begin(), join.operands.end());
    std::vector<Var> from_elsewhere;
    for (const std::size_t e : moved) {
      const Eqn& eqn = program_.eqns()[e];
      if (!are_known(eqn.in) || !are_known(eqn.out)) return {};
      for (const Var v : eqn.in)
        if (!made.contains(v) && given.insert(v).second) from_elsewhere.push_back(v);
      made.insert(eqn.out.begin(), eqn.out.end());
    }
    join.operands.insert(join.operands.end(), from_elsewhere.begin(), from_elsewhere.end());
    join.before = makers_behind(program_, maker_, c, from_elsewhere, [](std::size_t) { return false; });
    if (join.before.contains(c) || std::ranges::any_of(join.before, [&](std::size_t e) { return !may_go_before(e); }))
      return {};
    for (const Var v : first.out)
      if (is_output_[v] || !std::ranges::all_of(readers_[v], is_moved)) join.results.push_back(v);
    join.results.insert(join.results.end(), last.out.begin(), last.out.end());
    return join;
  }
  static bool has_same_index(const Eqn& first, const Eqn& last) {
    const auto &p = first.params.as<CondParams>(), &q = last.params.as<CondParams>();
    return first.in[0] == last.in[0] && p.branches.size() == q.branches.size() && !has_sizes(q);
  }
  static bool is_reduction(const Eqn& eqn) { return rule_of<LowerReduction>(*eqn.op) != nullptr; }
  // Whether some branch would not store what a loop reads row by row, or what a reduction reads of a loop's steps.
  bool pays_for(const Eqn& last, const CondParams& p, const Eqn& first, const std::vector<Var>& freed) const {
    if (p.branches.size() > most_branches) return false;
    const bool loop = last.op == &loop_op();
    if (loop) {
      const LoopParams& q = loop_of(last);
      if (q.cond || q.lanes || !q.length || !q.body_sizes.empty()) return false;
    }
    return std::ranges::any_of(freed, [&](Var v) {
      const auto at = static_cast<std::size_t>(std::ranges::find(first.out, v) - first.out.begin());
      return std::ranges::any_of(p.branches, [&](const ProgramRef& branch) {
        const Var made = branch->outputs()[at];
        return loop ? is_computed_where_it_is_read(*branch, made) : is_of_steps(*branch, made);
      });
    });
  }
  static bool is_computed_where_it_is_read(const Program& branch, Var v) {
    const std::size_t made = maker_numbers(branch)[v];
    return made != nowhere && (is_elementwise(branch.eqns()[made]) || branch.eqns()[made].op == &broadcast_op());
  }
  // What a loop stacks, or elementwise ops and views make of that.
  static bool is_of_steps(const Program& branch, Var v) {
    std::vector<bool> of_steps(branch.vars(), false);
    for (const Eqn& eqn : branch.eqns()) {
      const bool reads = std::ranges::any_of(eqn.in, [&](Var x) { return bool(of_steps[x]); });
      for (std::size_t i = 0; i < eqn.out.size(); ++i)
        of_steps[eqn.out[i]] =
            eqn.op == &loop_op() ? i >= static_cast<std::size_t>(loop_of(eqn).carries) : is_element(eqn) && reads;
    }
    return of_steps[v];
  }
  bool may_go_before(std::size_t e) const {
    const Eqn& eqn = program_.eqns()[e];
    if (effect_of(eqn) != Effect::none || !eqn.new_sizes.empty()) return false;
    for (std::size_t i = 0; i < eqn.in.size(); ++i)
      if (may_overwrite(eqn, i) && readers_[eqn.in[i]].size() > 1) return false;
    return true;
  }

  const Program& program_;
  const std::vector<std::size_t> maker_;
  const EqnReaders readers_;
  std::vector<bool> is_output_;
};

// A branch of the new cond.
ProgramRef joined_branch(const Program& program, const Join& join, std::size_t branch) {
  const CompileTime no_trace;
  Scope scope;
  std::map<Var, Array> made;
  for (const Var v : join.operands) {
    const Array input = scope.input(program.type(v));
    made.emplace(v, input);
  }
  const auto bind = [&](const Eqn& eqn) {
    const EqnScope place(eqn);
    Arrays operands, results;
    for (const Var v : std::span(eqn.in).subspan(eqn.op == &cond_op() ? 1 : 0)) operands.push_back(made.at(v));
    if (eqn.op == &cond_op())
      results = inline_program(*eqn.params.as<CondParams>().branches[branch], {}, operands);
    else
      results = bind_op(*eqn.op, eqn.params, operands);
    for (std::size_t i = 0; i < eqn.out.size(); ++i) made.insert_or_assign(eqn.out[i], results[i]);
  };
  const Eqn& first = program.eqns()[join.cond];
  bind(first);
  for (const std::size_t e : join.moved) bind(program.eqns()[e]);
  Arrays outputs;
  for (const Var v : join.results) outputs.push_back(made.at(v));
  return scope.finish(outputs, first.params.as<CondParams>().branches[branch]->name()).program;
}

ProgramRef joined(const Program& program, const Join& join) {
  const Eqn& first = program.eqns()[join.cond];
  CondParams p = first.params.as<CondParams>();
  for (std::size_t b = 0; b < p.branches.size(); ++b) p.branches[b] = joined_branch(program, join, b);
  const EqnReaders readers(program);
  std::set<std::size_t> gone;  // others read a fill, too
  for (const std::size_t e : join.moved | std::views::reverse) {
    const auto is_read_here = [&](Var v) {
      return std::ranges::count(program.outputs(), v) > 0 ||
             !std::ranges::all_of(readers[v], [&](std::size_t reader) { return gone.contains(reader); });
    };
    if (e == *join.moved.rbegin() || std::ranges::none_of(program.eqns()[e].out, is_read_here)) gone.insert(e);
  }
  return rewritten(program, [&](Replay& replay) {
    for (std::size_t e = 0; e < program.eqns().size(); ++e) {
      if (e == join.cond) {
        for (const std::size_t b : join.before) replay.bind_eqn(program.eqns()[b]);
        const EqnScope place(first);
        Arrays operands;
        for (const Var v : join.operands) operands.push_back(replay.get(v));
        const Arrays results = cond(p, replay.get(first.in[0]), operands);
        for (std::size_t i = 0; i < results.size(); ++i) replay.set(join.results[i], results[i]);
      } else if (!join.before.contains(e) && !gone.contains(e)) {
        replay.bind_eqn(program.eqns()[e]);
      }
    }
  });
}

}  // namespace

ProgramRef join_branches(const ProgramRef& program) {
  if (!holds_programs(*program)) return program;
  static constinit Memo<ProgramRef> memo;
  return memo.get(Hasher()("join_branches")(program->hash()).finish(), [&] {
    ProgramRef result = program;
    if (std::ranges::any_of(result->eqns(), [](const Eqn& eqn) { return eqn.op == &cond_op(); }))
      for (int joins = 0; joins < most_joins; ++joins) {
        const auto join = JoinSearch(*result).find();
        if (!join) break;
        result = joined(*result, *join);
      }
    return with_regions(result, join_branches);
  });
}

}  // namespace tenon
