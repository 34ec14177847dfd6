// The ops of implicit derivatives: roots and solutions whose derivatives do not look at how they were found.
#pragma once

#include "tenon/ops/control/region.h"

namespace tenon {

// custom_root {…} guess…, parameters…, others…  ->  root…, of the types of the guess, and what else solve gives, which
// has no tangent
//   solve: (operands…) -> root…, auxiliary…
//   tangents: (root…, parameters…, others…, tangents of the parameters that have any) -> tangents of the root…
// The root depends on the parameters alone.
struct CustomRootParams {
  ProgramRef solve;
  std::vector<Dim> solve_sizes;
  ProgramRef tangents;
  std::vector<Dim> tangents_sizes;
  std::int64_t unknowns = 0;
  std::int64_t parameters = 0;
};
Arrays bind_custom_root(CustomRootParams params, std::span<const Array> operands);

// custom_linear_solve {…} known…, b…  ->  x…, of the types of b, with matvec(known…, x…) = b…
//   All Programs: (known…, values of the types of b…) -> values of the types of b…
//   matvec: reads the first `parameters` of what is known, on which x depends beside b
//   transposed, transposed_solve: of the transposed system; transposed_solve null: none is given
struct LinearSolveParams {
  ProgramRef matvec;
  std::vector<Dim> matvec_sizes;
  ProgramRef solve;
  std::vector<Dim> solve_sizes;
  ProgramRef transposed;
  std::vector<Dim> transposed_sizes;
  ProgramRef transposed_solve;
  std::vector<Dim> transposed_solve_sizes;
  std::int64_t known = 0;
  std::int64_t parameters = 0;
};
Arrays bind_linear_solve(LinearSolveParams params, std::span<const Array> operands);

}  // namespace tenon
