// Reverse mode of whole Programs, as Programs: linearize and transpose joined by calls.
#pragma once

#include "tenon/transform/transforms.h"

namespace tenon {

// Inputs: the Program's, then cotangents of the outputs in `differentiated`. Outputs: the Program's, then cotangents of
// the inputs in `active`.
ProgramRef pullback(const ProgramRef& program, const Mask& active, const Mask& differentiated);

// The derivative of the first output, one real number, in each input of `active`. Throws DifferentiationError where the
// output is anything else.
ProgramRef gradient(const ProgramRef& program, const Mask& active);

// Of the first output, an array of known sizes: for each input of `active` an array of the output's axes, then the
// input's. One evaluation of the Program, and one of the transposed part with all rows as a batch.
ProgramRef jacobian_by_rows(const ProgramRef& program, const Mask& active);

// Every input (output) that can have a tangent.
Mask differentiable_inputs(const Program& program);
Mask differentiable_outputs(const Program& program);

}  // namespace tenon
