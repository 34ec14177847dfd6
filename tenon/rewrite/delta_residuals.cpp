#include "tenon/rewrite/delta_residuals.h"

#include <algorithm>

#include "tenon/ir/replay.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/delta_stacks.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

using From = Partitioned::Residual::From;
using Ptr = std::ptrdiff_t;

// Both parts as one Program: (inputs of the first, what the reader is given) -> (results, residuals that stay as they
// are, results of the reader).
struct Joint {
  ProgramRef program;
  std::size_t inputs = 0, results = 0;  // of the first part; results with the residuals that stay
};
Joint join(const Partitioned& parts, std::size_t results, const ProgramRef& reader) {
  const ProgramRef inlined = inline_calls(parts.first);
  Scope scope;
  Arrays inputs;
  for (const Type& t : parts.first->input_types()) inputs.push_back(scope.input(t));
  const Arrays out = inline_program(*inlined, {}, inputs);
  Arrays outputs(out.begin(), out.begin() + static_cast<Ptr>(results)), given;
  for (const auto& r : parts.residuals) {
    const std::size_t at = r.from == From::stored ? results + r.index : r.index;
    given.push_back(r.from == From::input ? inputs[at] : out[at]);
    if (r.from == From::stored && !delta_bytes(*inlined, inlined->outputs()[at])) outputs.push_back(given.back());
  }
  Joint joint{nullptr, inputs.size(), outputs.size()};
  const std::vector<Type> takes = reader->input_types();
  for (std::size_t i = given.size(); i < takes.size(); ++i) given.push_back(scope.input(takes[i]));
  const Arrays read = inline_program(*reader, {}, given);
  outputs.insert(outputs.end(), read.begin(), read.end());
  joint.program = compose_views(inline_calls(scope.finish(outputs, parts.first->name()).program));
  return joint;
}

// The eqns of the first part are those that its results need, and all that waits for nothing that the reader is given
// but for elementwise work, which the reader does again.
LeanParts part(const Program& program, const Joint& joint, std::size_t results, const Program& reader) {
  const auto eqns = program.eqns();
  const auto inputs = program.inputs();
  std::vector<bool> late(program.vars(), false), needed(program.vars(), false), early(eqns.size(), false);
  for (Var v : inputs.subspan(joint.inputs)) late[v] = true;
  for (const Eqn& eqn : eqns) {
    const bool waits = std::ranges::any_of(eqn.in, [&](Var v) { return late[v]; });
    for (Var v : eqn.out) late[v] = waits;
  }
  for (Var v : program.outputs().first(joint.results)) needed[v] = true;
  for (std::size_t e = eqns.size(); e-- > 0;) {
    const Eqn& eqn = eqns[e];
    const bool waits = std::ranges::any_of(eqn.in, [&](Var v) { return late[v]; });
    early[e] = !waits && (!is_recomputable(eqn) || std::ranges::any_of(eqn.out, [&](Var v) { return needed[v]; }));
    if (early[e])
      for (Var v : eqn.in) needed[v] = true;
  }
  ProgramParts first = program.parts(), second = program.parts();
  first.eqns.clear(), second.eqns.clear();
  std::vector<bool> made(program.vars(), false), read(program.vars(), false);
  for (Var v : inputs.first(joint.inputs)) made[v] = true;
  for (std::size_t e = 0; e < eqns.size(); ++e) {
    (early[e] ? first : second).eqns.push_back(eqns[e]);
    for (Var v : early[e] ? eqns[e].out : eqns[e].in) (early[e] ? made : read)[v] = true;
  }
  for (Var v : program.outputs().subspan(joint.results)) read[v] = true;
  first.inputs.assign(inputs.begin(), inputs.begin() + static_cast<Ptr>(joint.inputs));
  first.outputs.resize(results);
  second.inputs.clear();
  LeanParts lean;
  for (Var v = 0; v < program.vars(); ++v) {
    if (!made[v] || !read[v]) continue;
    second.inputs.push_back(v);
    const auto input = std::ranges::find(first.inputs, v);
    if (input != first.inputs.end()) {
      lean.residuals.push_back({From::input, static_cast<std::size_t>(input - first.inputs.begin()), program.type(v)});
    } else {
      lean.residuals.push_back({From::stored, first.outputs.size() - results, program.type(v)});
      first.outputs.push_back(v);
    }
  }
  second.inputs.insert(second.inputs.end(), inputs.begin() + static_cast<Ptr>(joint.inputs), inputs.end());
  second.outputs.assign(program.outputs().begin() + static_cast<Ptr>(joint.results), program.outputs().end());
  second.name = reader.name();
  lean.first = Program::finish(std::move(first));
  lean.reader = Program::finish(std::move(second));
  return lean;
}

bool has_sizes(const Program& p) {
  return !p.size_params().empty() ||
         std::ranges::any_of(p.eqns(), [](const Eqn& eqn) { return !eqn.new_sizes.empty(); });
}

bool keeps_deltas(const Partitioned& parts, std::size_t results) {
  const ProgramRef inlined = inline_calls(parts.first);
  return std::ranges::any_of(parts.residuals, [&](const Partitioned::Residual& r) {
    return r.from == From::stored && delta_bytes(*inlined, inlined->outputs()[results + r.index]);
  });
}

}  // namespace

static std::size_t held_bytes(const std::shared_ptr<const LeanParts>& parts) {
  return parts == nullptr ? 0 : held_bytes(parts->first) + held_bytes(parts->reader);
}

std::shared_ptr<const LeanParts> delta_residuals(const Partitioned& parts, std::size_t results,
                                                 const ProgramRef& reader) {
  static constinit Memo<std::shared_ptr<const LeanParts>> memo;
  Hasher key;
  key("delta_residuals")(parts.first->hash())(reader->hash())(results);
  for (const auto& r : parts.residuals) key(static_cast<int>(r.from))(r.index);
  return memo.get(key.finish(), [&]() -> std::shared_ptr<const LeanParts> {
    if (has_sizes(*parts.first) || has_sizes(*reader) || !keeps_deltas(parts, results)) return nullptr;
    const Joint joint = join(parts, results, reader);
    const ProgramRef rewritten = delta_stacks(joint.program);
    if (rewritten->hash() == joint.program->hash() || has_sizes(*rewritten)) return nullptr;
    return std::make_shared<const LeanParts>(part(*rewritten, joint, results, *reader));
  });
}

}  // namespace tenon
