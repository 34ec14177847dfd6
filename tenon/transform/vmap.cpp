// Batching: each eqn with a batched operand is replaced by what its batch slot binds. The batch is always axis 0.
#include <fmt/format.h>

#include "tenon/ir/replay.h"
#include "tenon/ops/control/region.h"
#include "tenon/transform/memo.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

Type batched_type(const Type& type, const Dim& size) {
  if (!type.is_array()) {
    Type batched = type;
    batched.element = std::make_shared<const Type>(batched_type(*type.element, size));
    return batched;
  }
  return Type::array(type.dtype, type.shape.with_axis(0, size));
}

ProgramRef make_vmap(const Program& program, const Mask& batched_in, const Mask& batched_out, const Dim& wanted_size) {
  Scope scope;
  const std::vector<Dim> sizes = scope.size_params_of(program);
  const Dim size = wanted_size.known() ? wanted_size : scope.size_param();
  Replay replay(program, sizes);
  std::vector<bool> batched(program.vars(), false);
  for (std::size_t i = 0; i < batched_in.size(); ++i) {
    const Var v = program.inputs()[i];
    const Type type = replay.type(v);
    replay.set(v, scope.input(batched_in[i] ? batched_type(type, size) : type));
    batched[v] = batched_in[i];
  }
  for (const Eqn& eqn : program.eqns()) {
    const auto masks = std::make_unique<bool[]>(eqn.in.size() + 1);
    bool any = false;
    for (std::size_t i = 0; i < eqn.in.size(); ++i) any = (masks[i] = batched[eqn.in[i]]) || any;
    if (!any) {
      replay.bind_eqn(eqn);
      continue;
    }
    const EqnScope place(eqn);
    if (!eqn.op->batch)
      throw ShapeError(fmt::format("vmap: {} cannot be batched: {}.", eqn.op->name, eqn.op->batch.reason()),
                       "Write it without this op, or use map(), which takes the lanes one after another.");
    const Arrays operands = replay.operands(eqn);
    const Params params = replay.params(eqn);
    const BatchResult result =
        (*eqn.op->batch)({params, operands, {masks.get(), eqn.in.size()}, size, recurse_of_lanes()});
    for (std::size_t i = 0; i < eqn.out.size(); ++i) {
      const Type type = result.outputs[i].type();
      if (!eqn.new_sizes.empty())
        replay.bind_sizes(program.type(eqn.out[i]), result.batched[i] ? type_of_one(type) : type);
      replay.set(eqn.out[i], result.outputs[i]);
      batched[eqn.out[i]] = result.batched[i];
    }
  }
  Arrays outputs;
  for (std::size_t i = 0; i < batched_out.size(); ++i) {
    const Var v = program.outputs()[i];
    if (batched[v] && !batched_out[i])
      throw ShapeError(
          fmt::format("vmap: output {} differs from lane to lane, but was asked for without a batch axis.", i),
          "Give it an out axis.");
    outputs.push_back(batched_out[i] && !batched[v] ? one_for_all_lanes(replay.get(v), size) : replay.get(v));
  }
  return scope.finish(outputs, program.name() + "_vmap").program;
}

}  // namespace

Type type_of_one(const Type& batched) {
  if (!batched.is_array()) {
    Type one = batched;
    one.element = std::make_shared<const Type>(type_of_one(*batched.element));
    return one;
  }
  return Type::array(batched.dtype, batched.shape.without_axis(0));
}

ProgramRef vmap(const ProgramRef& program, const Mask& batched_in, const Mask& batched_out, const Dim& size) {
  static constinit Memo<ProgramRef> memo;
  Hasher h;
  h("vmap")(program->hash());
  hash_mask(h, batched_in);
  hash_mask(h, batched_out);
  if (size.known()) size.hash(h);
  return memo.get(h.finish(), [&] { return make_vmap(*program, batched_in, batched_out, size); });
}

}  // namespace tenon
