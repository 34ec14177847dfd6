#include "tenon/api/linalg/operands.h"

#include <fmt/format.h>

#include "tenon/api/implicit.h"
#include "tenon/ir/bind.h"
#include "tenon/ir/origins.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {

Array Taken::narrow(const Array& x) const {
  const bool alike = is_complex(x.dtype()) == is_complex(stored);
  return matrices::narrowed(x, alike ? stored : is_complex(x.dtype()) ? x.dtype() : real_part_of(stored), weak);
}

Taken matrix_of(std::string_view name, const Operand& given) {
  const Array x = to_inexact(given.array());
  Taken made{widened(x), x.dtype(), x.weak()};
  matrices::matrix(name, made.a.type());
  return made;
}
Taken square_of(std::string_view name, const Operand& given) {
  Taken made = matrix_of(name, given);
  matrices::square(name, made.a.type());
  const Dim rows = matrices::rows_of(made.a.type()), columns = matrices::columns_of(made.a.type());
  if (rows != columns) {  // asked when it runs: not each function has an op that does
    require_equal(rows, columns,
                  fmt::format("{}: the matrices of {} are not square.{}", name, made.a.type().text(),
                              lines_of(std::span(&made.a, 1))));
  }
  return made;
}

bool without_elements(const Array& x) {
  const auto none = [](const Dim& n) { return n.try_value() == 0; };
  return none(matrices::rows_of(x.type())) || none(matrices::columns_of(x.type()));
}

Shape with_axes(const Shape& batch, std::initializer_list<Dim> behind) {
  std::vector<Dim> dims(batch.begin(), batch.end());
  dims.insert(dims.end(), behind);
  return Shape(std::move(dims));
}

Array system_solution(OfMatrix product, const Array& b, OfMatrix solution, OfMatrix transposed) {
  const auto solved = [](OfMatrix by) { return [by](const auto&, const Array& right) { return by(right); }; };
  return custom_linear_solve(product, b, solved(solution), solved(transposed));
}

}  // namespace tenon::linalg
