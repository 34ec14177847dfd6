// Forward mode: each eqn with an active operand is replaced by what its jvp slot binds.
#include <fmt/format.h>

#include "tenon/ir/replay.h"
#include "tenon/ops/control/region.h"
#include "tenon/transform/constants.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

class Jvp {
 public:
  explicit Jvp(const Program& program, std::span<const Dim> sizes)
      : replay_(program, sizes), tangents_(program.vars()) {}

  void input(Var v, Array primal, MaybeArray tangent) {
    replay_.set(v, std::move(primal));
    tangents_[v] = std::move(tangent);
  }
  void run() {
    for (const Eqn& eqn : replay_.program().eqns()) step(eqn);
  }
  const Array& primal(Var v) const { return replay_.get(v); }
  Array tangent(Var v) { return tangents_[v] ? *tangents_[v] : zeros_of(replay_.type(v)); }

 private:
  void step(const Eqn& eqn) {
    bool active = false;
    std::vector<MaybeArray> tangents;
    for (Var v : eqn.in) {
      tangents.push_back(tangents_[v]);
      active = active || tangents_[v].has_value();
    }
    // What gives only bools and integers has no tangent to make.
    bool can = false;
    for (Var v : eqn.out) can = can || has_tangent(replay_.program().type(v));
    if (!active || !can) return replay_.bind_eqn(eqn);
    const EqnScope scope(eqn);
    if (!eqn.op->jvp)
      throw DifferentiationError(
          fmt::format("{} has no derivative: {}.", eqn.op->name, eqn.op->jvp.reason()),
          "Wrap its operand in stop_gradient(), or give a derivative with custom_jvp or custom_vjp.");
    const Arrays primals = replay_.operands(eqn);
    const Params params = replay_.params(eqn);
    const JvpResult result = (*eqn.op->jvp)({params, primals, tangents, recurse()});
    replay_.bind_sizes(eqn, result.outputs);
    for (std::size_t i = 0; i < eqn.out.size(); ++i) {
      replay_.set(eqn.out[i], result.outputs[i]);
      if (has_tangent(replay_.program().type(eqn.out[i]))) tangents_[eqn.out[i]] = result.tangents[i];
    }
  }

  Replay replay_;
  std::vector<MaybeArray> tangents_;
};

ProgramRef make_jvp(const Program& program, const Mask& active_in, const Mask& active_out) {
  Scope scope;
  const std::vector<Dim> sizes = scope.size_params_of(program);
  Jvp jvp(program, sizes);
  const Replay types(program, sizes);
  Arrays primals;
  for (Var v : program.inputs()) primals.push_back(scope.input(types.type(v)));
  for (std::size_t i = 0; i < primals.size(); ++i) {
    const Var v = program.inputs()[i];
    jvp.input(v, primals[i], active_in[i] ? MaybeArray(scope.input(types.type(v))) : std::nullopt);
  }
  jvp.run();
  Arrays outputs;
  for (Var v : program.outputs()) outputs.push_back(jvp.primal(v));
  for (std::size_t i = 0; i < active_out.size(); ++i)
    if (active_out[i]) outputs.push_back(jvp.tangent(program.outputs()[i]));
  return scope.finish(outputs, program.name() + "_jvp").program;
}

}  // namespace

bool has_tangent(const Type& type) {
  return type.is_array() ? is_differentiable(type.dtype) : has_tangent(*type.element);
}

ProgramRef jvp(const ProgramRef& program, const Mask& active_in, const Mask& active_out) {
  static constinit Memo<ProgramRef> memo;
  Hasher h;
  h("jvp")(program->hash());
  hash_mask(h, active_in);
  hash_mask(h, active_out);
  return memo.get(h.finish(), [&] { return make_jvp(*program, active_in, active_out); });
}

}  // namespace tenon
