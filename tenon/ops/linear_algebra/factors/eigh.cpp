// Eigenvalues and eigenvectors of Hermitian matrices.
#include "tenon/ir/describe_params.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

struct EighParams {
  bool vectors;
};
BOOST_DESCRIBE_STRUCT(EighParams, (), (vectors))

namespace {

extern const OpInfo eigh_info;

std::vector<Type> eigh_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  if (in.size() != 1) throw VerifyError("eigh: takes one operand.");
  const Type& a = matrices::square("eigh", in[0], context);
  std::vector<Type> out{Type::array(real_part_of(a.dtype), matrices::batch_of(a, {matrices::rows_of(a)}))};
  if (params.as<EighParams>().vectors) out.push_back(a);
  return out;
}

std::vector<Value> eigh_eval(const Params&, std::span<const Value> in, const EvalContext& context) {
  return matrices::evaluate_each(in, context.out, [](std::span<const textbook::Matrix> given) {
    const textbook::Matrix& a = given[0];
    textbook::Matrix whole{a.rows, a.rows};
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = 0; j < i; ++j) whole(i, j) = a(i, j), whole(j, i) = std::conj(a(i, j));
      whole(i, i) = a(i, i).real();
    }
    const textbook::Hermitian made = textbook::hermitian(whole);
    return std::vector{matrices::numbers(made.w), made.v.elements};
  });
}

// dw = diag(vᴴ·da·v), dv = v·(F∘(vᴴ·da·v)) with F = 1/(w[j] - w[i]) beside the diagonal and 0 on it (Magnus 1985): of
// vectors that belong to equal eigenvalues not finite. Each vector turns at right angles to itself.
JvpResult eigh_jvp(const JvpArgs& args) {
  const bool vectors = args.params.as<EighParams>().vectors;
  const Arrays made = hermitian_spectrum(args.primals[0], true);
  const Array &w = made[0], &v = made[1];
  const Array moved = matmul(matrices::hermitian(*args.tangents[0]), v);
  if (!vectors) return {{w}, {matrices::real_along_columns(v, moved)}};
  const Array inner = matmul(matrices::adjoint(v), moved);
  const Array f = matrices::reciprocal_differences(w);
  return {{w, v}, {real(matrices::diagonal(inner)), matmul(v, convert(f, v.dtype()) * inner)}};
}

std::vector<SampleCase> eigh_samples(DType d) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  const auto add = [&](bool vectors, const Shape& shape) {
    cases.push_back({make_params(EighParams{vectors}), {Type::array(d, shape)}, {{-2, 2}}});
  };
  for (const Shape& shape : {Shape{Dim(3), Dim(3)}, Shape{Dim(2), Dim(2), Dim(2)}, Shape{Dim(1), Dim(1)},
                             Shape{Dim(0), Dim(0)}, Shape{Dim(0), Dim(2), Dim(2)}})
    add(false, shape);
  add(true, {Dim(2), Dim(1), Dim(1)});  // larger ones have vectors of any sign: tests of their own
  add(true, {Dim(0), Dim(2), Dim(2)});
  return cases;
}

const OpInfo eigh_info{
    .name = "eigh",
    .summary = "eigenvalues, ascending, and eigenvectors of the Hermitian matrix that a lower triangle stands for",
    .params = &describe::params_ops<EighParams>,
    .type = TypeRule(eigh_type),
    .eval = EvalRule(eigh_eval),
    .jvp = JvpRule(eigh_jvp),
    .transpose = Absent{"not linear"},
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(eigh_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
      return matrices::lapack_form(TenonLapack::hermitian, in[0], {params.as<EighParams>().vectors});
    }}),
    .alias = Absent{"each element reads many"},
    .effect = Absent{"pure"},
    .sample = SampleRule(eigh_samples)};
const bool eigh_installed = (install_op(eigh_info), true);

}  // namespace

Arrays hermitian_spectrum(const Array& a, bool vectors) {
  return bind_op(eigh_info, make_params(EighParams{vectors}), {a});
}

}  // namespace tenon
