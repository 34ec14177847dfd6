// Recurse: how the slots of region ops transform the Programs inside them, without seeing `transform`.
// Every transformation is told exactly which inputs and outputs take part, as masks. `reach` computes masks first; one
// rewriting run follows. So a carry fix-point costs a few walks over the body, whatever is nested inside.
#pragma once

#include "tenon/ir/op.h"

namespace tenon {

struct PartitionRequest {
  Mask known_in;
  Mask known_out;  // outputs to have in the first part; each must be computable from known inputs
  // Known inputs, and outputs of the first part, that the second part may read at no cost (empty: none): they are kept
  // anyway.
  Mask free_in;
  Mask free_out = {};
  // Of the body of a loop: as many inputs, from first_carry on, that its first outputs carry on. What is updated in
  // places from step to step weighs what such a step changes.
  std::size_t first_carry = 0, carries = 0;
  std::optional<Dim> steps = {};  // of which residuals are stacked; what precedes first_carry is one for all
  bool recompute = true;          // choose residuals by a minimum cut; false: save exactly what the second part reads
  // Residuals have only sizes that the Program is given, as where they are stacked: what has a size that data decide on
  // the way is computed again.
  bool given_sizes = false;
};

// A Program as two.
//   first:  known inputs -> the outputs asked for as known, then the stored residuals
//   second: unknown inputs, then all residuals -> the other outputs
struct Partitioned {
  struct Residual {
    enum class From { input, output, stored } from;
    std::size_t index;  // of the input, of the (known) output, or among the stored ones
    Type type;          // sizes in terms of the Program's own size parameters
  };
  ProgramRef first;
  ProgramRef second;
  std::vector<Residual> residuals;
  // Size parameters of `second`: a Dim of the Program's own size variables, where it is that.
  std::vector<std::optional<Dim>> second_sizes;
};

struct TransposeRequest {
  Mask linear_in;
  Mask cotangents;  // outputs whose cotangent is there; the others' is zero
  Mask accumulate;  // linear inputs whose cotangent is added to a sum that is handed in (empty: none)
};

struct Recurse {
  virtual ~Recurse() = default;
  // Outputs that depend on an input of the mask.
  virtual Mask reach(const ProgramRef&, const Mask& in) = 0;
  // Whether reach() asks what differs from lane to lane: a loop along a list then depends on the list's length too.
  virtual bool of_lanes() const = 0;
  // Inputs: primals, then the tangents of `active_in`. Outputs: primals, then the tangents of `active_out` (zeros where
  // nothing active reaches).
  virtual ProgramRef jvp(const ProgramRef&, const Mask& active_in, const Mask& active_out) = 0;
  virtual Partitioned partition(const ProgramRef&, const PartitionRequest&) = 0;
  // Inputs: the non-linear inputs, the cotangents that are there, the sums. Outputs: the cotangents (or new sums) of
  // the linear inputs. Size parameters: the Program's own, then those that its data decided and cotangents have.
  virtual ProgramRef transpose(const ProgramRef&, const TransposeRequest&) = 0;
  // Inputs and outputs of the masks carry the batch as axis 0 (arrays inside lists too).
  virtual ProgramRef vmap(const ProgramRef&, const Mask& batched_in, const Mask& batched_out, const Dim& size) = 0;
};

// The size parameters of a Program, found by matching its inputs' types against those of operands.
std::vector<Dim> infer_sizes(const Program& program, std::span<const Type> operands);
// The same where the first ones are given.
std::vector<Dim> infer_sizes(const Program& program, std::span<const Type> operands, std::vector<Dim> given);

}  // namespace tenon
