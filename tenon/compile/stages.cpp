#include "tenon/compile/stages.h"

#include <algorithm>
#include <map>

#include "tenon/compile/plan.h"
#include "tenon/ir/replay.h"

namespace tenon {
namespace {

enum class At { first, deciding, rest };

// Whether an eqn mentions sizes, beside those that it decides itself.
template <class Seen>
void visit_sizes(const Program& program, const Eqn& eqn, Seen seen) {
  const auto of = [&](const Dim& d) {
    d.visit_variables([&](SizeVar s) {
      if (std::ranges::find(eqn.new_sizes, s) == eqn.new_sizes.end()) seen(s);
    });
  };
  eqn.params.visit_dims(of);
  for (Var v : eqn.out) program.type(v).visit_dims(of);
}

// Of each eqn the stage it belongs to: behind those that make its operands, and behind those that decide its sizes, of
// which it may have no operand. What has no native form for any sizes is not kept waiting for sizes alone: it would
// stand between native eqns there.
std::vector<At> assign(const Program& program) {
  std::vector<At> stage_of(program.vars(), At::first), result;
  std::map<SizeVar, At> decided;
  for (const Eqn& eqn : program.eqns()) {
    At operands = At::first, sizes = At::first;
    for (Var v : eqn.in) operands = std::max(operands, stage_of[v]);
    visit_sizes(program, eqn, [&](SizeVar s) { sizes = std::max(sizes, decided.at(s)); });
    At at = At::rest;
    if (operands == At::first && sizes == At::first)
      at = why_not_native(program, eqn).empty() ? At::first : At::deciding;
    else if (operands == At::first && sizes == At::deciding && !eqn.op->lower)
      at = At::deciding;
    for (Var v : eqn.out) stage_of[v] = at;
    for (SizeVar s : eqn.new_sizes) decided.emplace(s, at);
    result.push_back(at);
  }
  return result;
}

class Cut {
 public:
  explicit Cut(const Program& program) : program_(program), at_(assign(program)) {}

  bool worthwhile() const {
    bool decides = false, regions = false;
    for (std::size_t e = 0; e < at_.size(); ++e) {
      const Eqn& eqn = program_.eqns()[e];
      decides = decides || (at_[e] == At::deciding && (!eqn.new_sizes.empty() || !eqn.op->lower));
      regions = regions || (at_[e] != At::deciding && eqn.params.hold_programs());
    }
    return decides && regions;
  }

  Stages run() const {
    Stages stages;
    for (std::size_t e = 0; e < at_.size(); ++e)
      if (at_[e] == At::deciding)
        for (SizeVar s : program_.eqns()[e].new_sizes) stages.sizes.push_back(s);
    stages.first = stage(At::first, {});
    stages.deciding = stage(At::deciding, {});
    stages.rest = stage(At::rest, stages.sizes);
    return stages;
  }

 private:
  // What a stage makes and others need: later eqns, the whole's outputs, sizes.
  std::vector<Var> results_of(At stage) const {
    std::vector<bool> needed(program_.vars(), false);
    for (std::size_t e = 0; e < at_.size(); ++e)
      if (at_[e] != stage)
        for (Var v : program_.eqns()[e].in) needed[v] = true;
    for (Var v : program_.outputs()) needed[v] = true;
    std::vector<Var> results;
    for (std::size_t e = 0; e < at_.size(); ++e)
      if (at_[e] == stage)
        for (Var v : program_.eqns()[e].out)
          if (needed[v] || !program_.eqns()[e].new_sizes.empty()) results.push_back(v);
    return results;
  }

  Stages::Stage stage(At stage, const std::vector<SizeVar>& given) const {
    Stages::Stage result;
    std::vector<bool> made(program_.vars(), false), seen(program_.vars(), false);
    for (std::size_t e = 0; e < at_.size(); ++e)
      if (at_[e] == stage)
        for (Var v : program_.eqns()[e].out) made[v] = true;
    const auto read = [&](Var v) {
      if (!made[v] && !seen[v]) seen[v] = true, result.in.push_back(v);
    };
    for (std::size_t e = 0; e < at_.size(); ++e)
      if (at_[e] == stage) std::ranges::for_each(program_.eqns()[e].in, read);
    if (stage == At::rest)
      result.out.assign(program_.outputs().begin(), program_.outputs().end());
    else
      result.out = results_of(stage);
    if (stage == At::rest) std::ranges::for_each(result.out, read);

    Scope scope;
    Replay replay(program_, {});
    for (SizeVar s : given) replay.bind_size(s, scope.size_param());
    for (Var v : result.in) replay.set(v, scope.input(replay.type(v)));
    for (std::size_t e = 0; e < at_.size(); ++e)
      if (at_[e] == stage) replay.bind_eqn(program_.eqns()[e]);
    Arrays outputs;
    for (Var v : result.out) outputs.push_back(replay.get(v));
    result.program = scope.finish(outputs, program_.name()).program;
    return result;
  }

  const Program& program_;
  std::vector<At> at_;
};

}  // namespace

std::optional<Stages> stages(const Program& program) {
  if (!program.size_params().empty() || program.effect() != Effect::none) return {};
  const Cut cut(program);
  if (!cut.worthwhile()) return {};
  const CompileTime no_trace;
  return cut.run();
}

bool has_regions(const Program& program) {
  return std::ranges::any_of(program.eqns(), [](const Eqn& eqn) { return eqn.params.hold_programs(); });
}

}  // namespace tenon
