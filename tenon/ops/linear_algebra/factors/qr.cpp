// R and the reflections that make it of a matrix.
#include "tenon/ir/describe_params.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/linear_algebra/factors/reflections.h"
#include "tenon/ops/linear_algebra/linear_algebra.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

struct QrParams {
  bool pivoting;
};
BOOST_DESCRIBE_STRUCT(QrParams, (), (pivoting))

namespace {

extern const OpInfo qr_info;

// Of reflections v that make the first k columns of q, 1 - q[:, :k] is v times an upper triangular u, and u has τ on
// its diagonal (Ballard and others 2015). So dq gives dv and dτ, as the derivative of L·U does.
struct Moved {
  Array dv, dtaus;
};
Moved moved_reflections(const Array& v, const Array& taus, const Array& q, const Array& dq) {
  const Dim m = matrices::rows_of(v.type()), k = matrices::columns_of(v.type());
  const TriangularOptions lower{.left_side = true, .lower = true, .unit_diagonal = true};
  const auto rows = [&](const Array& x, const Dim& from, const Dim& to) { return slice_in_dim(x, from, to, -2); };
  const Array v1 = rows(v, 0, k), v2 = rows(v, k, m), q1 = rows(q, 0, k);
  const Array same = matrices::on_diagonal(q1), none = expand_dims(taus == 0, -2);
  const Array u = matrices::triangle(triangular_solve(v1, matrices::unit_like(q1) - q1, lower), false);
  const Array divisible = where(same & none, ones_like(u), u);  // a column that is not reflected stays so
  const Array w1 = triangular_solve(divisible, triangular_solve(v1, -rows(dq, 0, k), lower));
  const Array below = matrices::triangle(w1, true, 1);
  const Array w2 = triangular_solve(divisible, -rows(dq, k, m)) - matmul(v2, w1);
  return {concatenate({matmul(v1, below), matmul(v2, below) + w2}, -2), matrices::diagonal(w1) * taus};
}

}  // namespace

FactorsOfQr slope_of_qr(const Array& q, const Array& r, const Array& da) {
  const Dim k = matrices::columns_of(q.type());
  const Array back = matrices::adjoint(q);
  // dq + q·dr·r⁻¹ of the first k columns
  const Array of_q = triangular_solve(slice_in_dim(r, 0, k, -1), slice_in_dim(da, 0, k, -1));
  const Array inner = matmul(back, of_q), below = matrices::triangle(inner, true, 1);
  Array turn = below - matrices::adjoint(below);  // qᴴ·dq, whose Hermitian part is 0
  if (is_complex(q.dtype())) {                    // the diagonal of r stays real
    const Array turns = imag(inner);
    turn = turn + where(matrices::on_diagonal(inner), complex(zeros_like(turns), turns), zeros_like(inner));
  }
  return {of_q + matmul(q, turn - inner), matrices::triangle(matmul(back, da) - matmul(turn, r), false)};
}

Array in_order(const Array& a, const Array& order) {
  return take_along_axis(a, broadcast_to(expand_dims(order, -2), a.shape()), -1);
}

namespace {

JvpResult qr_jvp(const JvpArgs& args) {
  const bool pivoting = args.params.as<QrParams>().pivoting;
  const Arrays made = qr_reflections(args.primals[0], pivoting);
  const Array &h = made[0], &taus = made[1];
  const Dim m = matrices::rows_of(h.type()), n = matrices::columns_of(h.type()), k = min(m, n);
  const Array da = pivoting ? in_order(*args.tangents[0], made[2]) : *args.tangents[0];
  const Array v = matrices::reflection_vectors(h, k), r = matrices::triangle(slice_in_dim(h, 0, k, -2), false);
  const Array q = reflections_product(slice_in_dim(h, 0, k, -1), taus);
  const FactorsOfQr slope = slope_of_qr(q, r, da);
  const Moved moved = moved_reflections(v, taus, q, slope.q);
  const Array of_v = matrices::triangle(moved.dv, true, 1);
  const auto filled = [&](const Array& x, const Dim& rows, const Dim& columns, std::int64_t axis) {
    const Dim& lacking = axis == -1 ? columns : rows;
    if (decided_equal(lacking, 0).value_or(false)) return x;
    return concatenate({x, zeros(matrices::batch_of(x.type(), {rows, columns}), x.dtype())}, axis);
  };
  std::vector<MaybeArray> tangents{filled(of_v, m, n - k, -1) + filled(slope.r, m - k, n, -2), moved.dtaus};
  if (pivoting) tangents.emplace_back();
  return {made, tangents};
}

std::vector<SampleCase> qr_samples(DType d) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  for (const bool pivoting : {false, true})
    for (const Shape& shape :
         {Shape{Dim(4), Dim(2)}, Shape{Dim(2), Dim(3), Dim(3)}, Shape{Dim(2), Dim(3)}, Shape{Dim(1), Dim(1)},
          Shape{Dim(0), Dim(0)}, Shape{Dim(3), Dim(0)}, Shape{Dim(0), Dim(2)}, Shape{Dim(0), Dim(2), Dim(2)}})
      cases.push_back({make_params(QrParams{pivoting}), {Type::array(d, shape)}, {{-2, 2}}});
  return cases;
}

const OpInfo qr_info{
    .name = "qr",
    .summary = "R by reflections, which stand below it, and their factors; by pivoting also the order of columns",
    .params = &describe::params_ops<QrParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext&) {
      if (in.size() != 1) throw VerifyError("qr: takes one operand.");
      const Type& a = matrices::matrix("qr", in[0]);
      const Dim m = matrices::rows_of(a), n = matrices::columns_of(a);
      std::vector<Type> out{a, Type::array(a.dtype, matrices::batch_of(a, {min(m, n)}))};
      if (params.as<QrParams>().pivoting) out.push_back(Type::array(DType::i32, matrices::batch_of(a, {n})));
      return out;
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
      const bool pivoting = params.as<QrParams>().pivoting;
      return matrices::evaluate_each(in, context.out, [&](std::span<const textbook::Matrix> given) {
        const textbook::Reflections made = textbook::qr(given[0], pivoting);
        matrices::Parts parts{made.h.elements, made.taus};
        if (pivoting) parts.push_back(matrices::numbers(made.order));
        return parts;
      });
    }),
    .jvp = JvpRule(qr_jvp),
    .transpose = Absent{"not linear"},
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(qr_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
      return matrices::lapack_form(TenonLapack::qr, in[0], {.vectors = params.as<QrParams>().pivoting});
    }}),
    .alias = Absent{"each element reads many"},
    .effect = Absent{"pure"},
    .sample = SampleRule(qr_samples)};
const bool qr_installed = (install_op(qr_info), true);

}  // namespace

Arrays qr_reflections(const Array& a, bool pivoting) { return bind_op(qr_info, make_params(QrParams{pivoting}), {a}); }

}  // namespace tenon
