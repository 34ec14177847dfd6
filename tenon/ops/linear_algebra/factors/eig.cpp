// Eigenvalues and eigenvectors of any square matrices.
#include <algorithm>
#include <limits>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/modulus.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/linear_algebra/linear_algebra.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

struct EigParams {
  bool left, right;
};
BOOST_DESCRIBE_STRUCT(EigParams, (), (left, right))

namespace {

extern const OpInfo eig_info;

std::vector<Type> eig_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  if (in.size() != 1) throw VerifyError("eig: takes one operand.");
  const auto& p = params.as<EigParams>();
  const Type& a = matrices::square("eig", in[0], context);
  const DType dtype = complex_of(a.dtype);
  std::vector<Type> out{Type::array(dtype, matrices::batch_of(a, {matrices::rows_of(a)}))};
  for (const bool vectors : {p.left, p.right})
    if (vectors) out.push_back(Type::array(dtype, a.shape));
  return out;
}

std::vector<Value> eig_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const auto& p = params.as<EigParams>();
  const bool is_real = !is_complex(std::get<Buffer>(in[0]).dtype());
  return matrices::evaluate_each(in, context.out, [&](std::span<const textbook::Matrix> given) {
    const textbook::Matrix& a = given[0];
    const textbook::General made = textbook::general(a, is_real);
    std::vector<std::vector<textbook::Number>> parts{made.w};
    if (p.left) {  // those of aᴴ, each with the nearest of the conjugate values
      textbook::General other = textbook::general(textbook::adjoint(a), is_real);
      textbook::Matrix left{a.rows, a.rows};
      for (std::int64_t k = 0; k < a.rows; ++k) {
        const textbook::Number wanted = std::conj(made.w[static_cast<std::size_t>(k)]);
        const auto nearest =
            std::ranges::min_element(other.w, {}, [&](textbook::Number w) { return std::abs(w - wanted); });
        const std::int64_t from = nearest - other.w.begin();
        for (std::int64_t i = 0; i < a.rows; ++i) left(i, k) = other.v(i, from);
        if (std::isfinite(std::abs(*nearest))) *nearest = std::numeric_limits<double>::infinity();  // taken
      }
      parts.push_back(left.elements);
    }
    if (p.right) parts.push_back(made.v.elements);
    return parts;
  });
}

// How eigenvectors v of `a` with eigenvalues w move with a: a·v = v·w gives v⁻¹·da·v = dw on the diagonal, and beside
// it what v turns by times w[j] - w[i]. They keep length 1, and their largest element real.
Array turning(const Array& w, const Array& v, const Array& inner) {
  if (matrices::rows_of(v.type()).try_value() == 0) return zeros_like(v);
  const Array dv = matmul(v, matrices::reciprocal_differences(w) * inner);
  const Array sizes = squared_modulus(v);
  const Array largest = expand_dims(argmax(sizes, -2), -2);
  const Array here =
      iota(DType::i32, v.shape(), static_cast<std::int64_t>(v.rank()) - 2) == convert(largest, DType::i32);
  const auto of_largest = [&](const Array& x) { return sum(where(here, x, zeros_like(x)), Axes(-2).keepdims()); };
  const Array along = expand_dims(matrices::real_along_columns(v, dv), -2);
  const Array around = of_largest(imag(dv)) / of_largest(real(v));
  return dv - v * complex(along, around);
}

JvpResult eig_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<EigParams>();
  const Arrays made = general_spectrum(args.primals[0], p.left, true);
  const Array &w = made[0], &right = made.back();
  const Array da = convert(*args.tangents[0], w.dtype());
  const Array inner = solve(right, matmul(da, right));
  JvpResult result{{w}, {matrices::diagonal(inner)}};
  if (p.left) {
    const Array& left = made[1];
    result.outputs.push_back(left);
    result.tangents.emplace_back(turning(conj(w), left, solve(left, matmul(matrices::adjoint(da), left))));
  }
  if (p.right) {
    result.outputs.push_back(right);
    result.tangents.emplace_back(turning(w, right, inner));
  }
  return result;
}

std::vector<SampleCase> eig_samples(DType d) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  // Larger ones have values in any order, and vectors of any sign: tests of their own.
  for (const Shape& shape :
       {Shape{Dim(1), Dim(1)}, Shape{Dim(3), Dim(1), Dim(1)}, Shape{Dim(0), Dim(0)}, Shape{Dim(0), Dim(2), Dim(2)}})
    cases.push_back({make_params(EigParams{false, false}), {Type::array(d, shape)}, {{-2, 2}}});
  cases.push_back({make_params(EigParams{true, true}), {Type::array(d, {Dim(0), Dim(2), Dim(2)})}, {{-2, 2}}});
  return cases;
}

const OpInfo eig_info{.name = "eig",
                      .summary = "eigenvalues and eigenvectors of square matrices, complex",
                      .params = &describe::params_ops<EigParams>,
                      .type = TypeRule(eig_type),
                      .eval = EvalRule(eig_eval),
                      .jvp = JvpRule(eig_jvp),
                      .transpose = Absent{"not linear"},
                      .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(eig_info, args); }),
                      .split = Absent{"wholly known or not"},
                      .guard = Absent{"no Programs inside"},
                      .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
                        const auto& p = params.as<EigParams>();
                        const std::int64_t vectors = p.left * TenonLapack::left + p.right * TenonLapack::right;
                        return matrices::lapack_form(TenonLapack::general, in[0], {vectors});
                      }}),
                      .alias = Absent{"each element reads many"},
                      .effect = Absent{"pure"},
                      .sample = SampleRule(eig_samples)};
const bool eig_installed = (install_op(eig_info), true);

}  // namespace

Arrays general_spectrum(const Array& a, bool left, bool right) {
  return bind_op(eig_info, make_params(EigParams{left, right}), {a});
}

}  // namespace tenon
