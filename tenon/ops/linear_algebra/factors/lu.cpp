// L·U of matrices whose rows change places.
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/linear_algebra/linear_algebra.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

extern const OpInfo lu_info;

// Squares around L and U: where those have fewer columns, or rows, axes stand beside them.
Array square_of_lower(const Array& lu, const Dim& k) {
  const Dim m = matrices::rows_of(lu.type());
  Array l = matrices::triangle(slice_in_dim(lu, 0, k, -1), true, 1);
  if (!decided_equal(m, k).value_or(false))
    l = concatenate({l, zeros(matrices::batch_of(lu.type(), {m, m - k}), lu.dtype())}, -1);
  return l + matrices::unit_like(l);
}
Array square_of_upper(const Array& lu, const Dim& k) {
  const Dim n = matrices::columns_of(lu.type());
  const Array u = matrices::triangle(slice_in_dim(lu, 0, k, -2), false);
  if (decided_equal(n, k).value_or(false)) return u;
  const Array square = concatenate({u, zeros(matrices::batch_of(lu.type(), {n - k, n}), lu.dtype())}, -2);
  const Array behind = matrices::row_index(square) >= convert(size_as_array(k), DType::i32);
  return square + convert(matrices::on_diagonal(square) & behind, lu.dtype());
}

// p·da = dl·u + l·du: with w = l⁻¹·p·da·u⁻¹, dl is l times what w has below the diagonal, s, and du = l⁻¹·p·da - s·u.
// Of a matrix with no more rows than columns the last pivot divides nothing of s: it may be 0.
JvpResult lu_jvp(const JvpArgs& args) {
  const Arrays made = lu_factors(args.primals[0]);
  const Array &lu = made[0], &order = made[2], &da = *args.tangents[0];
  const Dim m = matrices::rows_of(lu.type()), n = matrices::columns_of(lu.type()), k = min(m, n);
  const Array moved = take_along_axis(da, broadcast_to(expand_dims(order, -1), da.shape()), -2);
  const Array l = square_of_lower(lu, k), u = square_of_upper(lu, k);
  Array divisible = u;
  if (decided_equal(m, k).value_or(false)) {
    const Array last = matrices::row_index(u) == convert(size_as_array(k), DType::i32) - 1;
    divisible = where(matrices::on_diagonal(u) & last, ones_like(u), u);
  }
  const Array half = triangular_solve(l, moved, {.left_side = true, .lower = true, .unit_diagonal = true});
  const Array below = matrices::triangle(triangular_solve(divisible, half), true, 1);
  return {made, {matmul(l, below) + matrices::triangle(half - matmul(below, u), false), {}, {}}};
}

std::vector<SampleCase> lu_samples(DType d) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  for (const Shape& shape :
       {Shape{Dim(3), Dim(3)}, Shape{Dim(2), Dim(4), Dim(2)}, Shape{Dim(2), Dim(3)}, Shape{Dim(1), Dim(1)},
        Shape{Dim(0), Dim(0)}, Shape{Dim(3), Dim(0)}, Shape{Dim(0), Dim(2)}, Shape{Dim(0), Dim(2), Dim(2)}})
    cases.push_back({{}, {Type::array(d, shape)}, {{-2, 2}}});
  return cases;
}

const OpInfo lu_info{
    .name = "lu",
    .summary = "L·U by elimination with the largest element of a column first, and the order of rows",
    .params = nullptr,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1) throw VerifyError("lu: takes one operand.");
      const Type& a = matrices::matrix("lu", in[0]);
      const Dim m = matrices::rows_of(a), n = matrices::columns_of(a);
      return std::vector{a, Type::array(DType::i32, matrices::batch_of(a, {min(m, n)})),
                         Type::array(DType::i32, matrices::batch_of(a, {m}))};
    }),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      return matrices::evaluate_each(in, context.out, [](std::span<const textbook::Matrix> given) -> matrices::Parts {
        const textbook::Lu made = textbook::lu(given[0]);
        return {made.factors.elements, matrices::numbers(made.pivots), matrices::numbers(made.order)};
      });
    }),
    .jvp = JvpRule(lu_jvp),
    .transpose = Absent{"not linear"},
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(lu_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{
        [](const Params&, std::span<const Type> in) { return matrices::lapack_form(TenonLapack::lu, in[0]); }}),
    .alias = Absent{"each element reads many"},
    .effect = Absent{"pure"},
    .sample = SampleRule(lu_samples)};
const bool lu_installed = (install_op(lu_info), true);

}  // namespace

Arrays lu_factors(const Array& a) { return bind_op(lu_info, {}, {a}); }

}  // namespace tenon
