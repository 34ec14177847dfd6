// What ops of matrices in the last two axes share: types, turned matrices, triangles.
#pragma once

#include <string_view>

#include "tenon/ir/op.h"
#include "tenon/ops/families.h"

namespace tenon::matrices {

// An array of matrices of f32, f64, c64 or c128; `square` ones have as many rows as columns. Throws DTypeError or
// ShapeError.
const Type& matrix(std::string_view op, const Type& a);
const Type& square(std::string_view op, const Type& a);
const Type& square(std::string_view op, const Type& a, TypeContext& context);
Dim rows_of(const Type& a);
Dim columns_of(const Type& a);
// The axes before the last two, and behind them those given.
Shape batch_of(const Type& a, std::initializer_list<Dim> behind = {});
// How many matrices there are.
Dim count_of(const Type& a);
bool has_dtype_of_matrices(DType d);

// f(T(), …) for the dtypes of matrices.
template <class F>
void of_dtype(DType dtype, F f) {
  dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (dtypes::inexact.has(*dtype_of<T>) && sizeof(T) >= 4) f(T());
  });
}

Array transposed(const Array& a);
Array adjoint(const Array& a);
// a where row - column >= `from` (or <= -from, of the upper triangle), else 0.
Array triangle(const Array& a, bool lower, std::int32_t from = 0);
// The row of each element, and its column, i32.
Array row_index(const Array& a);
Array column_index(const Array& a);
// Where row = column, in the shape of a, and ones there.
Array on_diagonal(const Array& a);
Array unit_like(const Array& a);
// The diagonal as vectors along the last axis.
Array diagonal(const Array& a);
// The Hermitian matrix that a lower triangle stands for: of the diagonal the real part counts.
Array hermitian(const Array& a);
// (a + aᴴ) / 2
Array symmetrized(const Array& a);
// 1 / x where `there`, else 0.
Array reciprocal_where(const Array& there, const Array& x);
// 1 / (w[j] - w[i]) beside the diagonal, and 0 on it.
Array reciprocal_differences(const Array& w);
// Re Σ conj(u)·x of each column.
Array real_along_columns(const Array& u, const Array& x);
// The axes before the last two of both, as they broadcast. Throws ShapeError.
Shape broadcast_batches(std::string_view op, const Array& a, const Array& b);
Array with_batch(const Array& x, const Shape& batch);

// What was computed in another dtype, as it is to be.
Array narrowed(const Array& x, DType stored, bool weak);
// Operands in one dtype, and that in which they are computed: f8, f16 and bf16 in f32.
struct Together {
  Arrays all;
  DType stored;
  bool weak;
  Array narrow(const Array& x) const { return narrowed(x, stored, weak); }
};
Together together(std::initializer_list<Operand> operands);

// The right sides b of systems with the matrices a, both as `of` has them, side by side; a vector is one of them.
// Throws ShapeError where they are a number, or have not as many rows as a.
struct RightSides {
  Array columns;
  bool vector;
  Array shaped(const Array& x) const;  // as they were given
};
RightSides right_sides(std::string_view op, const Operand& a, const Operand& b, const Together& of);

}  // namespace tenon::matrices
