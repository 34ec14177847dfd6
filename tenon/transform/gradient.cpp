#include "tenon/transform/gradient.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/ir/decided_sizes.h"
#include "tenon/ir/replay.h"
#include "tenon/ir/unify.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

// The Program run forwards at the handles of a trace, and what pulls cotangents back.
struct Forward {
  Arrays outputs;
  Arrays residuals;
  ProgramRef backward;     // residuals, cotangents of `differentiated` -> cotangents of `active`
  std::vector<Dim> sizes;  // of the backward part, those that are known before the cotangents are there
};

Forward run_forward(const ProgramRef& program, const Mask& active, const Mask& differentiated,
                    std::span<const Dim> sizes, const Arrays& inputs) {
  const Partitioned parts = linearize(program, active, differentiated);
  Arrays first = call(parts.first, sizes, inputs);
  Forward forward;
  for (const auto& r : parts.residuals) {
    using From = Partitioned::Residual::From;
    forward.residuals.push_back(r.from == From::input    ? inputs[r.index]
                                : r.from == From::output ? first[r.index]
                                                         : first[program->outputs().size() + r.index]);
  }
  const Program& second = *parts.second;
  const std::size_t linear = second.inputs().size() - parts.residuals.size();
  TransposeRequest request{.linear_in = Mask(second.inputs().size(), false),
                           .cotangents = Mask(second.outputs().size(), true),
                           .accumulate = {}};
  std::fill_n(request.linear_in.begin(), linear, true);
  forward.backward = transpose(parts.second, request);
  // Sizes of the second part: the Program's own, or those that the residuals' types show.
  SizeBinding own, shown;
  for (std::size_t i = 0; i < sizes.size(); ++i) own.emplace(program->size_params()[i], sizes[i]);
  for (std::size_t i = 0; i < parts.residuals.size(); ++i)
    unify(second.type(second.inputs()[linear + i]), forward.residuals[i].type(), shown);
  for (std::size_t i = 0; i < parts.second_sizes.size(); ++i)
    forward.sizes.push_back(parts.second_sizes[i] ? substitute(*parts.second_sizes[i], own)
                                                  : shown.at(second.size_params()[i]));
  first.resize(program->outputs().size());
  forward.outputs = std::move(first);
  return forward;
}

Arrays pull(const Forward& forward, const ProgramRef& backward, std::span<const Array> cotangents) {
  Arrays operands = forward.residuals;
  operands.insert(operands.end(), cotangents.begin(), cotangents.end());
  std::vector<Type> types;
  for (const Array& a : operands) types.push_back(a.type());
  return call(backward, infer_sizes(*backward, types, forward.sizes), operands);
}

// A Program with the inputs of another, made by a function of their handles.
ProgramRef with_inputs_of(const Program& program, std::string name,
                          FunctionRef<Arrays(std::span<const Dim>, const Arrays&, Replay&)> make) {
  Scope scope;
  const std::vector<Dim> sizes = scope.size_params_of(program);
  Replay types(program, sizes);
  Arrays inputs;
  for (Var v : program.inputs()) inputs.push_back(scope.input(types.type(v)));
  const Arrays outputs = make(sizes, inputs, types);
  return scope.finish(outputs, std::move(name)).program;
}

// Inputs for cotangents. Sizes of theirs that the Program's data decide are given with them: size parameters.
Arrays cotangent_inputs(const Program& program, const Mask& differentiated, const Replay& types) {
  OutsideSizes given(types.sizes(), [](const Dim&) { return Scope::top()->size_param(); });
  std::vector<Type> outputs;
  for (std::size_t i = 0; i < differentiated.size(); ++i)
    if (differentiated[i]) outputs.push_back(program.type(program.outputs()[i]));
  for (const Type& t : outputs) given.see(t);
  Arrays cotangents;
  for (const Type& t : outputs) cotangents.push_back(Scope::top()->input(given.type(t)));
  return cotangents;
}

Mask first_only(const Program& program) {
  Mask mask(program.outputs().size(), false);
  if (!mask.empty()) mask[0] = true;
  return mask;
}

}  // namespace

ProgramRef pullback(const ProgramRef& program, const Mask& active, const Mask& differentiated) {
  return with_inputs_of(*program, program->name() + "_vjp",
                        [&](std::span<const Dim> sizes, const Arrays& inputs, Replay& types) {
                          const Forward forward = run_forward(program, active, differentiated, sizes, inputs);
                          const Arrays cotangents = cotangent_inputs(*program, differentiated, types);
                          Arrays outputs = forward.outputs;
                          for (const Array& ct : pull(forward, forward.backward, cotangents)) outputs.push_back(ct);
                          return outputs;
                        });
}

ProgramRef gradient(const ProgramRef& program, const Mask& active) {
  const std::vector<Type> outputs = program->output_types();
  if (outputs.empty() || !outputs[0].is_array() || outputs[0].rank() != 0 || !is_real(outputs[0].dtype) ||
      !is_differentiable(outputs[0].dtype))
    throw DifferentiationError(fmt::format("grad: the first output of {} is {}, not one real number.", program->name(),
                                           outputs.empty() ? "missing" : outputs[0].text()),
                               "Reduce it first; or take all derivatives with jacrev.");
  return with_inputs_of(*program, program->name() + "_grad",
                        [&](std::span<const Dim> sizes, const Arrays& inputs, Replay&) {
                          const Forward forward = run_forward(program, active, first_only(*program), sizes, inputs);
                          return pull(forward, forward.backward, Arrays{Array(Scalar::one(outputs[0].dtype))});
                        });
}

ProgramRef jacobian_by_rows(const ProgramRef& program, const Mask& active) {
  const std::vector<Type> outputs = program->output_types();
  if (outputs.empty() || !has_tangent(outputs[0]) || !outputs[0].is_array() || !outputs[0].shape.known())
    throw DifferentiationError(
        fmt::format("jacrev: the first output of {} is {}, not an array of known sizes with a "
                    "derivative.",
                    program->name(), outputs.empty() ? "missing" : outputs[0].text()));
  const Type& out = outputs[0];
  const Dim rows = out.shape.elements();
  return with_inputs_of(
      *program, program->name() + "_jacrev", [&](std::span<const Dim> sizes, const Arrays& inputs, Replay& types) {
        const Forward forward = run_forward(program, active, first_only(*program), sizes, inputs);
        Mask batched(forward.backward->inputs().size(), false);
        batched.back() = true;
        const ProgramRef by_rows =
            vmap(forward.backward, batched, Mask(forward.backward->outputs().size(), true), rows);
        Shape unit = out.shape.with_axis(0, rows);
        Arrays jacobians = pull(forward, by_rows, Arrays{reshape(eye(rows.value(), out.dtype), unit)});
        for (std::size_t i = 0, k = 0; i < active.size(); ++i) {
          if (!active[i]) continue;
          Shape shape = out.shape;
          for (const Dim& d : types.type(program->inputs()[i]).shape) shape.push_back(d);
          jacobians[k] = reshape(jacobians[k], shape);
          ++k;
        }
        return jacobians;
      });
}

Mask differentiable_inputs(const Program& program) {
  Mask mask;
  for (Var v : program.inputs()) mask.push_back(has_tangent(program.type(v)));
  return mask;
}

Mask differentiable_outputs(const Program& program) {
  Mask mask;
  for (Var v : program.outputs()) mask.push_back(has_tangent(program.type(v)));
  return mask;
}

}  // namespace tenon
