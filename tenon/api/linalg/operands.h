// Matrices as functions of linear algebra take them.
#pragma once

#include <string_view>

#include "tenon/base/function_ref.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"

namespace tenon::linalg {

// A matrix in the dtype that it is computed in, and what results become.
struct Taken {
  Array a;
  DType stored;
  bool weak;
  // Real numbers of complex matrices are stored in parts of that size.
  Array narrow(const Array& x) const;
};
// ShapeError where there is no matrix, or none that is square.
Taken matrix_of(std::string_view name, const Operand& given);
Taken square_of(std::string_view name, const Operand& given);

bool without_elements(const Array& x);
// The axes of a batch, and behind them those given.
Shape with_axes(const Shape& batch, std::initializer_list<Dim> behind);

// The x with product(x) = b: solution(b), whose derivatives are those of the system. `transposed` solves the transposed
// system, without conjugation.
using OfMatrix = FunctionRef<Array(const Array&)>;
Array system_solution(OfMatrix product, const Array& b, OfMatrix solution, OfMatrix transposed);

}  // namespace tenon::linalg
