// Forms that reflections from both sides give a square matrix.
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"

namespace tenon {
namespace {

extern const OpInfo hessenberg_info, tridiagonal_info;

Dim reflections_of(const Type& a) {
  const Dim n = matrices::rows_of(a);
  return max(n, 1) - 1;
}

std::vector<SampleCase> square_samples(DType d) {
  std::vector<SampleCase> cases;
  if (!matrices::has_dtype_of_matrices(d)) return cases;
  // The last reflection turns one number, which may be small, to the real axis: larger ones of c64 differ by more than
  // rounding.
  const Dim n = d == DType::c64 ? 2 : 4;
  for (const Shape& shape : {Shape{n, n}, Shape{Dim(2), n - 1, n - 1}, Shape{Dim(1), Dim(1)}, Shape{Dim(0), Dim(0)},
                             Shape{Dim(0), Dim(2), Dim(2)}})
    cases.push_back({{}, {Type::array(d, shape)}, {{-2, 2}}});
  return cases;
}

OpInfo form_of_both_sides(const OpInfo& self, std::string_view name, std::string_view summary, TypeRule type,
                          matrices::Parts (*parts)(const textbook::Matrix&), TenonLapack::Kind kind) {
  return {.name = name,
          .summary = summary,
          .params = nullptr,
          .type = std::move(type),
          .eval = EvalRule([parts](const Params&, std::span<const Value> in, const EvalContext& context) {
            return matrices::evaluate_each(in, context.out,
                                           [&](std::span<const textbook::Matrix> given) { return parts(given[0]); });
          }),
          .jvp = Absent{"what it is for, eigenvalues, has derivatives of its own"},
          .transpose = Absent{"not linear"},
          .batch = BatchRule([&self](const BatchArgs& args) { return family::batch_in_front(self, args); }),
          .split = Absent{"wholly known or not"},
          .guard = Absent{"no Programs inside"},
          .lower = LowerRule(LowerLibrary{
              [kind](const Params&, std::span<const Type> in) { return matrices::lapack_form(kind, in[0]); }}),
          .alias = Absent{"each element reads many"},
          .effect = Absent{"pure"},
          .sample = SampleRule(square_samples)};
}

const OpInfo hessenberg_info = form_of_both_sides(
    hessenberg_info, "hessenberg", "Hessenberg's form by reflections, which stand below it, and their factors",
    [](const Params&, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 1) throw VerifyError("hessenberg: takes one operand.");
      const Type& a = matrices::square("hessenberg", in[0], context);
      return std::vector{a, Type::array(a.dtype, matrices::batch_of(a, {reflections_of(a)}))};
    },
    [](const textbook::Matrix& a) -> matrices::Parts {
      const textbook::Reflections made = textbook::hessenberg(a);
      return {made.h.elements, made.taus};
    },
    TenonLapack::hessenberg);

const OpInfo tridiagonal_info = form_of_both_sides(
    tridiagonal_info, "tridiagonal",
    "the tridiagonal form of the Hermitian matrix that a lower triangle stands for, by reflections",
    [](const Params&, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 1) throw VerifyError("tridiagonal: takes one operand.");
      const Type& a = matrices::square("tridiagonal", in[0], context);
      const Dim beside = reflections_of(a);
      return std::vector{a, Type::array(real_part_of(a.dtype), matrices::batch_of(a, {matrices::rows_of(a)})),
                         Type::array(real_part_of(a.dtype), matrices::batch_of(a, {beside})),
                         Type::array(a.dtype, matrices::batch_of(a, {beside}))};
    },
    [](const textbook::Matrix& a) -> matrices::Parts {
      const textbook::Tridiagonal made = textbook::tridiagonal(a);
      return {made.of.h.elements, matrices::numbers(made.d), matrices::numbers(made.e), made.of.taus};
    },
    TenonLapack::tridiagonal);

const bool forms_installed = (install_op(hessenberg_info), install_op(tridiagonal_info), true);

}  // namespace

Arrays hessenberg_reflections(const Array& a) { return bind_op(hessenberg_info, {}, {a}); }
Arrays tridiagonal_reflections(const Array& a) { return bind_op(tridiagonal_info, {}, {a}); }

}  // namespace tenon
