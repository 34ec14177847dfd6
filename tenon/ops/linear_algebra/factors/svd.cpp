// Singular values and vectors.
#include "tenon/ir/describe_params.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

struct SvdParams {
  bool vectors, full;
};
BOOST_DESCRIBE_STRUCT(SvdParams, (), (vectors, full))

namespace {

extern const OpInfo svd_info;

std::vector<Type> svd_type(const Params& params, std::span<const Type> in, TypeContext&) {
  if (in.size() != 1) throw VerifyError("svd: takes one operand.");
  const auto& p = params.as<SvdParams>();
  const Type& a = matrices::matrix("svd", in[0]);
  const Dim m = matrices::rows_of(a), n = matrices::columns_of(a), k = min(m, n);
  std::vector<Type> out{Type::array(real_part_of(a.dtype), matrices::batch_of(a, {k}))};
  if (p.vectors) {
    out.push_back(Type::array(a.dtype, matrices::batch_of(a, {m, p.full ? m : k})));
    out.push_back(Type::array(a.dtype, matrices::batch_of(a, {p.full ? n : k, n})));
  }
  return out;
}

std::vector<Value> svd_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const bool full = params.as<SvdParams>().full;
  return matrices::evaluate_each(in, context.out, [&](std::span<const textbook::Matrix> given) {
    const textbook::Matrix& a = given[0];
    const textbook::Singular made = textbook::singular(a, full);
    return std::vector{matrices::numbers(made.s), made.u.elements, made.vh.elements};
  });
}

// Vectors at right angles to the first k that `whole` has of u: they turn as those leave their place, and not among
// themselves.
Array turned_with(const Array& whole, const Array& du, const Dim& k) {
  const Dim all = whole.shape()[whole.rank() - 1];
  if (decided_equal(all, k).value_or(false)) return du;
  const Array first = slice_in_dim(whole, 0, k, -1), rest = slice_in_dim(whole, k, all, -1);
  return concatenate({du, -matmul(first, matmul(matrices::adjoint(du), rest))}, -1);
}

// With p = uᴴ·da·v: ds = Re diag(p); uᴴ·du = F∘(p·s + s·pᴴ) and vᴴ·dv = F∘(s·p + pᴴ·s), F = 1/(s[j]² - s[i]²) beside
// the diagonal, which of u has what is imaginary of p/s; what da·v and daᴴ·u have at right angles to u and v is added
// (Townsend 2016; Wan and Zhang 2019). Of vectors of equal values not finite.
JvpResult svd_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<SvdParams>();
  const Array &a = args.primals[0], &da = *args.tangents[0];
  const Arrays made = singular_spectrum(a, true, p.full);
  const Array& s = made[0];
  const Dim k = s.shape()[s.rank() - 1];
  const Array u = slice_in_dim(made[1], 0, k, -1), v = matrices::adjoint(slice_in_dim(made[2], 0, k, -2));
  const Array da_v = matmul(da, v);
  if (!p.vectors) return {{s}, {matrices::real_along_columns(u, da_v)}};
  const DType dtype = u.dtype();
  const Array inner = matmul(matrices::adjoint(u), da_v), back = matrices::adjoint(inner);
  const Array row = expand_dims(s, -2), column = expand_dims(s, -1), same = matrices::on_diagonal(inner);
  const Array f = convert(matrices::reciprocal_where(!same, (row + column) * (row - column)), dtype);
  const Array by_row = convert(row, dtype), by_column = convert(column, dtype);
  Array of_u = f * (inner * by_row + by_column * back), of_v = f * (by_column * inner + back * by_row);
  if (is_complex(dtype))
    of_u = of_u +
           where(same, (inner - back) * 0.5f / where(column == 0, ones_like(by_column), by_column), zeros_like(inner));
  Array du = matmul(u, of_u), dv = matmul(v, of_v);
  const Dim m = matrices::rows_of(a.type()), n = matrices::columns_of(a.type());
  if (!decided_equal(m, k).value_or(false)) du = du + (da_v - matmul(u, inner)) / by_row;
  if (!decided_equal(n, k).value_or(false)) {
    const Array da_u = matmul(matrices::adjoint(da), u);
    dv = dv + (da_u - matmul(v, back)) / by_row;
  }
  return {made,
          {real(matrices::diagonal(inner)), turned_with(made[1], du, k),
           matrices::adjoint(turned_with(matrices::adjoint(made[2]), dv, k))}};
}

std::vector<SampleCase> svd_samples(DType d) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  const auto add = [&](bool vectors, bool full, const Shape& shape) {
    cases.push_back({make_params(SvdParams{vectors, full}), {Type::array(d, shape)}, {{-2, 2}}});
  };
  // Square ones may be drawn near singular ones, whose derivatives are large.
  for (const Shape& shape :
       {Shape{Dim(4), Dim(2)}, Shape{Dim(3), Dim(2)}, Shape{Dim(2), Dim(2), Dim(3)}, Shape{Dim(1), Dim(1)},
        Shape{Dim(0), Dim(0)}, Shape{Dim(3), Dim(0)}, Shape{Dim(0), Dim(2), Dim(2)}})
    add(false, false, shape);
  for (const bool full : {false, true}) add(true, full, {Dim(0), Dim(3), Dim(2)});
  add(true, true, {Dim(2), Dim(0)});  // others have vectors of any sign: tests of their own
  return cases;
}

const OpInfo svd_info{.name = "svd",
                      .summary = "singular values, descending, and singular vectors",
                      .params = &describe::params_ops<SvdParams>,
                      .type = TypeRule(svd_type),
                      .eval = EvalRule(svd_eval),
                      .jvp = JvpRule(svd_jvp),
                      .transpose = Absent{"not linear"},
                      .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(svd_info, args); }),
                      .split = Absent{"wholly known or not"},
                      .guard = Absent{"no Programs inside"},
                      .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
                        const auto& p = params.as<SvdParams>();
                        return matrices::lapack_form(TenonLapack::singular, in[0], {p.vectors, p.full});
                      }}),
                      .alias = Absent{"each element reads many"},
                      .effect = Absent{"pure"},
                      .sample = SampleRule(svd_samples)};
const bool svd_installed = (install_op(svd_info), true);

}  // namespace

Arrays singular_spectrum(const Array& a, bool vectors, bool full) {
  return bind_op(svd_info, make_params(SvdParams{vectors, full}), {a});
}

}  // namespace tenon
