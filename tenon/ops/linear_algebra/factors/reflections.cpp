#include "tenon/ops/linear_algebra/factors/reflections.h"

#include <fmt/format.h>

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"
#include "tenon/ops/linear_algebra/linear_algebra.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

namespace matrices {

Array reflection_vectors(const Array& h, const Dim& k) {
  const Array part = slice_in_dim(h, 0, k, -1);
  return triangle(part, true, 1) + unit_like(part);
}

Array reflection_system(const Array& v, const Array& taus) {
  return expand_dims(taus, -1) * triangle(matmul(adjoint(v), v), false, 1);
}

Array reflected(const Array& v, const Array& taus, const Array& x, bool backwards) {
  const Array along = matmul(adjoint(v), x), factors = expand_dims(taus, -1), system = reflection_system(v, taus);
  TriangularOptions unit{.left_side = true, .unit_diagonal = true};
  if (!backwards) return x - matmul(v, triangular_solve(system, factors * along, unit));
  unit.transpose_a = unit.conjugate_a = true;
  const Array turned = triangular_solve(system, along, unit);
  return x - matmul(v, conj(factors) * turned);
}

}  // namespace matrices

namespace {

extern const OpInfo reflections_info;

std::vector<Type> reflections_type(const Params&, std::span<const Type> in, TypeContext& context) {
  if (in.size() != 2) throw VerifyError("reflections: takes a matrix and factors.");
  const Type &h = matrices::matrix("reflections", in[0]), &taus = in[1];
  if (!taus.is_array() || taus.dtype != h.dtype || taus.rank() + 1 != h.rank())
    throw ShapeError(fmt::format("reflections: {} and factors {} do not go together.", h.text(), taus.text()));
  for (std::size_t i = 0; i + 2 < h.rank(); ++i)
    context.require_equal(h.shape[i], taus.shape[i],
                          [&] { return fmt::format("reflections: {} and factors {} differ.", h.text(), taus.text()); });
  const auto fits = [](const Dim& less, const Dim& more) {
    return !less.known() || !more.known() || less.value() <= more.value();
  };
  if (!fits(matrices::columns_of(h), matrices::rows_of(h)) ||
      !fits(taus.shape[taus.rank() - 1], matrices::columns_of(h)))
    throw ShapeError(
        fmt::format("reflections: {} with factors {}: there are not more of them than columns, and not more "
                    "columns than rows.",
                    h.text(), taus.text()));
  return {h};
}

// q = 1 - v·x, x = m⁻¹·τ·v₁ᴴ, m = 1 + τ·(vᴴ·v above the diagonal), v₁ the first rows of v.
JvpResult reflections_jvp(const JvpArgs& args) {
  const Array &h = args.primals[0], &taus = args.primals[1];
  const Array q = reflections_product(h, taus);
  const Dim n = matrices::columns_of(h.type()), k = taus.shape()[taus.rank() - 1];
  const Array v = matrices::reflection_vectors(h, k), factors = expand_dims(taus, -1);
  const auto first = [&](const Array& x) { return matrices::adjoint(slice_in_dim(x, 0, n, -2)); };
  const auto above = [](const Array& x) { return matrices::triangle(x, false, 1); };
  const auto solved = [system = matrices::reflection_system(v, taus)](const Array& right) {
    return triangular_solve(system, right, {.left_side = true, .unit_diagonal = true});
  };
  const Array x = solved(factors * first(v));
  MaybeArray right, dv;
  const auto add = [](MaybeArray& to, const Array& more) { to = to ? *to + more : more; };
  if (args.tangents[0]) {
    dv = matrices::triangle(slice_in_dim(*args.tangents[0], 0, k, -1), true, 1);
    const Array inner = matmul(matrices::adjoint(*dv), v) + matmul(matrices::adjoint(v), *dv);
    add(right, factors * (first(*dv) - matmul(above(inner), x)));
  }
  if (args.tangents[1]) {
    const Array dtaus = expand_dims(*args.tangents[1], -1), inner = above(matmul(matrices::adjoint(v), v));
    add(right, dtaus * (first(v) - matmul(inner, x)));
  }
  Array dq = -matmul(v, solved(*right));
  if (dv) dq = dq - matmul(*dv, x);
  return {{q}, {dq}};
}

std::vector<SampleCase> reflections_samples(DType d) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  const auto add = [&](const Shape& h, const Shape& taus) {
    cases.push_back({{}, {Type::array(d, h), Type::array(d, taus)}, {{-1, 1}, {-1, 1}}});
  };
  add({Dim(4), Dim(3)}, {Dim(2)}), add({Dim(2), Dim(3), Dim(3)}, {Dim(2), Dim(3)}), add({Dim(1), Dim(1)}, {Dim(1)});
  add({Dim(0), Dim(0)}, {Dim(0)}), add({Dim(3), Dim(2)}, {Dim(0)}), add({Dim(3), Dim(0)}, {Dim(0)});
  add({Dim(0), Dim(2), Dim(1)}, {Dim(0), Dim(1)});
  return cases;
}

const OpInfo reflections_info{
    .name = "reflections",
    .summary = "the first columns of the product of reflections 1 - τ·v·vᴴ, v below the diagonal of a matrix",
    .params = nullptr,
    .type = TypeRule(reflections_type),
    .eval = EvalRule([](const Params&, std::span<const Value> in, const EvalContext& context) {
      const Buffer taus = family::contiguous(in[1]);  // as matrices of one row
      std::vector<std::int64_t> dims(taus.dims().begin(), taus.dims().end()),
          strides(taus.strides().begin(), taus.strides().end());
      dims.insert(dims.end() - 1, 1), strides.insert(strides.end() - 1, 0);
      const std::vector<Value> both{in[0], taus.view(taus.dtype(), dims, strides, 0)};
      return matrices::evaluate_each(both, context.out, [](std::span<const textbook::Matrix> given) -> matrices::Parts {
        return {textbook::reflections_product(given[0], given[1].elements).elements};
      });
    }),
    .jvp = JvpRule(reflections_jvp),
    .transpose = Absent{"not linear"},
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(reflections_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params&, std::span<const Type> in) {
      return matrices::lapack_form(TenonLapack::reflections, in[0], {.others = in[1].shape[in[1].rank() - 1]});
    }}),
    .alias = Absent{"each element reads many"},
    .effect = Absent{"pure"},
    .sample = SampleRule(reflections_samples)};
const bool reflections_installed = (install_op(reflections_info), true);

}  // namespace

Array reflections_product(const Array& h, const Array& taus) { return bind1(reflections_info, {}, {h, taus}); }

}  // namespace tenon
