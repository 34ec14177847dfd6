#include "tenon/ir/estimate.h"

namespace tenon {

double estimated_elements(const Type& type) { return type.is_array() ? estimate(type.shape.elements()) : 0; }

double estimated_elements(const Program& program, std::span<const Var> vars) {
  double sum = 0;
  for (const Var v : vars) sum += estimated_elements(program.type(v));
  return sum;
}

double estimated_bytes(const Type& type) {
  return type.is_array() ? estimated_elements(type) * static_cast<double>(size_of(type.dtype)) : 0;
}

}  // namespace tenon
