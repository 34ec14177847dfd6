// Recurse: how the slots of region ops transform the Programs inside them, without seeing `transform`.
#pragma once

#include "tenon/ir/op.h"

namespace tenon {

using Mask = std::vector<bool>;

// A Program as two: `first` maps the known inputs to the known outputs, then residuals; `second` maps the residuals,
// then the unknown inputs, to the unknown outputs.
struct Partitioned {
  ProgramRef first;
  ProgramRef second;
  Mask known_out;               // of the outputs
  std::vector<Type> residuals;  // types of the residuals
  // A residual that is just input i of the Program (its position among all inputs), else none: never stored again.
  std::vector<std::optional<std::size_t>> residual_is_input;
};

struct Recurse {
  virtual ~Recurse() = default;
  // Inputs: primals, then the tangents of the active inputs. Outputs: primals, then the tangents of outputs in
  // `active_out`, which comes back grown to those that depend on an active input (those asked for are kept, as zeros).
  virtual ProgramRef jvp(const ProgramRef&, const Mask& active_in, Mask& active_out) = 0;
  // `known_out` comes in as what the caller can use as known and goes back as what is known.
  virtual Partitioned partition(const ProgramRef&, const Mask& known_in, const Mask& known_out_wanted) = 0;
  // Inputs: the non-linear inputs, then the cotangents of all outputs. Outputs: the cotangents of the linear inputs.
  virtual ProgramRef transpose(const ProgramRef&, const Mask& linear_in) = 0;
  // Batched inputs and outputs carry the batch as axis 0. `batched_out` grows as in jvp.
  virtual ProgramRef vmap(const ProgramRef&, const Mask& batched_in, Mask& batched_out, const Dim& size) = 0;
};

}  // namespace tenon
