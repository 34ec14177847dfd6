#include "tenon/ops/linear_algebra/factors/matrices.h"

#include <fmt/format.h>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::matrices {

bool has_dtype_of_matrices(DType d) { return is_complex(d) || d == DType::f32 || d == DType::f64; }

const Type& matrix(std::string_view op, const Type& a) {
  if (!a.is_array()) throw DTypeError(fmt::format("{}: {} is not an array.", op, a.text()), "Stack the list first.");
  if (!has_dtype_of_matrices(a.dtype))
    throw DTypeError(fmt::format("{}: {}: matrices are f32, f64, c64 or c128.", op, a.text()),
                     "Convert it, with convert(a, DType::f32).");
  if (a.rank() < 2)
    throw ShapeError(fmt::format("{}: {} is no matrix.", op, a.text()), "Its last two axes are rows and columns.");
  return a;
}
const Type& square(std::string_view op, const Type& a) {
  matrix(op, a);
  const Dim rows = rows_of(a), columns = columns_of(a);
  if (rows != columns && rows.known() && columns.known())
    throw ShapeError(fmt::format("{}: the matrices of {} are not square.", op, a.text()),
                     "Its last two axes have one size.");
  return a;
}
const Type& square(std::string_view op, const Type& a, TypeContext& context) {
  square(op, a);
  context.require_equal(rows_of(a), columns_of(a),
                        [&] { return fmt::format("{}: the matrices of {} are not square.", op, a.text()); });
  return a;
}

Dim rows_of(const Type& a) { return a.shape[a.rank() - 2]; }
Dim columns_of(const Type& a) { return a.shape[a.rank() - 1]; }
Shape batch_of(const Type& a, std::initializer_list<Dim> behind) {
  std::vector<Dim> dims(a.shape.begin(), a.shape.end() - 2);
  dims.insert(dims.end(), behind);
  return Shape(std::move(dims));
}
Dim count_of(const Type& a) {
  Dim count = 1;
  for (std::size_t i = 0; i + 2 < a.rank(); ++i) count = count * a.shape[i];
  return count;
}

Array transposed(const Array& a) {
  const auto rank = static_cast<std::int64_t>(a.rank());
  return move_axis(a, rank - 1, rank - 2);
}
Array adjoint(const Array& a) { return transposed(conj(a)); }

Array triangle(const Array& a, bool lower, std::int32_t from) {
  const Array row = row_index(a), column = column_index(a);
  return where(lower ? row - column >= from : column - row >= from, a, zeros_like(a));
}
Array row_index(const Array& a) { return iota(DType::i32, a.shape(), static_cast<std::int64_t>(a.rank()) - 2); }
Array column_index(const Array& a) { return iota(DType::i32, a.shape(), static_cast<std::int64_t>(a.rank()) - 1); }
Array on_diagonal(const Array& a) { return row_index(a) == column_index(a); }
Array unit_like(const Array& a) { return convert(on_diagonal(a), a.dtype()); }
Array diagonal(const Array& a) { return sum(where(on_diagonal(a), a, zeros_like(a)), -1); }

Array hermitian(const Array& a) {
  const Array below = triangle(a, true, 1), along = where(on_diagonal(a), a, zeros_like(a));
  const Array real_diagonal = is_complex(a.dtype()) ? complex(real(along), zeros_like(real(along))) : along;
  return below + adjoint(below) + real_diagonal;
}
Array symmetrized(const Array& a) { return (a + adjoint(a)) * 0.5f; }

Array reciprocal_where(const Array& there, const Array& x) {
  return where(there, 1.f / where(there, x, ones_like(x)), zeros_like(x));
}
Array reciprocal_differences(const Array& w) {
  const Array apart = expand_dims(w, -2) - expand_dims(w, -1);
  return reciprocal_where(!on_diagonal(apart), apart);
}
Array real_along_columns(const Array& u, const Array& x) { return sum(real(conj(u) * x), -2); }
Shape broadcast_batches(std::string_view op, const Array& a, const Array& b) {
  const auto batch = [](const Array& x) { return zeros_like(Type::array(DType::bool_, batch_of(x.type()))); };
  return broadcast_shapes(op, Arrays{batch(a), batch(b)});
}

Array with_batch(const Array& x, const Shape& batch) {
  Shape whole = batch;
  whole.push_back(rows_of(x.type()));
  whole.push_back(columns_of(x.type()));
  return broadcast_to(x, whole);
}

Together together(std::initializer_list<Operand> operands) {
  Arrays numbers;
  for (const Operand& x : operands) numbers.push_back(to_inexact(x));
  Met met = in_one_dtype(numbers);
  const DType stored = met.operands[0].dtype();
  for (Array& x : met.operands) x = widened(x);
  return {std::move(met.operands), stored, met.weak};
}

RightSides right_sides(std::string_view op, const Operand& a, const Operand& b, const Together& of) {
  const Array &matrix = of.all[0], &sides = of.all[1];
  if (sides.rank() == 0)
    throw ShapeError(fmt::format("{}: the right side {} is a number.", op, sides.type().text()),
                     "Give a vector, or columns side by side.");
  const RightSides made{sides.rank() == 1 ? expand_dims(sides, 1) : sides, sides.rank() == 1};
  const Dim wanted = rows_of(matrix.type()), rows = rows_of(made.columns.type());
  if (rows != wanted && made.columns.shape().known() && matrix.shape().known())
    throw ShapeError(fmt::format("{}: {} and right sides {}: sizes {} and {} differ.", op, a->type().text(),
                                 b->type().text(), wanted.text(), rows.text()),
                     "The right sides have as many rows as the matrix.");
  return made;
}
Array RightSides::shaped(const Array& x) const { return vector ? squeeze(x, -1) : x; }

Array narrowed(const Array& x, DType stored, bool weak) { return convert(x, stored).with_weak(weak); }

}  // namespace tenon::matrices
