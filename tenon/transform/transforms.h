// The transformations that Programs are rewritten by; all memoised. One function a transformation; see recurse.h for
// the order of inputs and outputs.
#pragma once

#include "tenon/ir/recurse.h"

namespace tenon {

// The same functions as an object, for the slots of region ops.
Recurse& recurse();
Recurse& recurse_of_lanes();  // for batch slots

// True where a value can have a tangent: arrays (and lists of arrays) of real or complex dtype.
bool has_tangent(const Type& type);

// Outputs that depend on an input of the mask. One walk.
Mask reach(const ProgramRef& program, const Mask& in);
// Outputs that may have a tangent where inputs of the mask have one.
Mask tangents_reach(const ProgramRef& program, const Mask& in);

// Forward mode. Throws DifferentiationError naming the op whose derivative does not exist.
ProgramRef jvp(const ProgramRef& program, const Mask& active_in, const Mask& active_out);

// Partial evaluation: what can be computed from the known inputs, and the rest. Residuals by a minimum cut.
Partitioned partition(const ProgramRef& program, const PartitionRequest& request);
// Whether a second part may compute an eqn again by choice: elementwise work and maps of indices. Of loops' steps some
// reductions and products too (made_again.h); loops and effects never.
bool is_recomputable(const Eqn& eqn);

// Of a Program that is linear in the inputs of the mask. It may compute non-linearly on the other inputs alone.
ProgramRef transpose(const ProgramRef& program, const TransposeRequest& request);

// Of one lane of something batched.
Type type_of_one(const Type& batched);
ProgramRef vmap(const ProgramRef& program, const Mask& batched_in, const Mask& batched_out, const Dim& size);

// jvp, then partition by primals: the first part gives all outputs and stores residuals; the second maps the tangents
// of `active_in`, then residuals, to the tangents of `active_out`.
Partitioned linearize(const ProgramRef& program, const Mask& active_in, const Mask& active_out);

// Calls replaced by their bodies, all the way down; nested regions too.
ProgramRef inline_calls(const ProgramRef& program);
// The same, but for functions that stay: they are called, with the outputs that anything reads. They have no sizes.
ProgramRef inline_calls(const ProgramRef& program, FunctionRef<bool(const LowerCall&, const Program&)> stays);

}  // namespace tenon
