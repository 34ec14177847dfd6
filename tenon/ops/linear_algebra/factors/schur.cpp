// Schur's form of square matrices.
#include "tenon/ir/describe_params.h"
#include "tenon/ops/linear_algebra/factors/factors.h"
#include "tenon/ops/linear_algebra/factors/matrices.h"

namespace tenon {

struct SchurParams {
  bool vectors;
};
BOOST_DESCRIBE_STRUCT(SchurParams, (), (vectors))

namespace {

extern const OpInfo schur_info;

std::vector<Value> schur_eval(const Params&, std::span<const Value> in, const EvalContext& context) {
  const bool is_real = !is_complex(std::get<Buffer>(in[0]).dtype());
  return matrices::evaluate_each(in, context.out, [&](std::span<const textbook::Matrix> given) {
    const textbook::Matrix& a = given[0];
    const textbook::Schur made = is_real ? textbook::real_schur(a) : textbook::schur(a);
    return std::vector{made.t.elements, made.z.elements};
  });
}

const OpInfo schur_info{
    .name = "schur",
    .summary = "Schur's triangular form of square matrices; of real ones with blocks of 2 rows for conjugate pairs",
    .params = &describe::params_ops<SchurParams>,
    .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext& context) {
      if (in.size() != 1) throw VerifyError("schur: takes one operand.");
      const Type& a = matrices::square("schur", in[0], context);
      return std::vector<Type>(params.as<SchurParams>().vectors ? 2 : 1, a);
    }),
    .eval = EvalRule(schur_eval),
    .jvp = Absent{"its vectors may be chosen in many ways, in another one beside a"},
    .transpose = Absent{"not linear"},
    .batch = BatchRule([](const BatchArgs& args) { return family::batch_in_front(schur_info, args); }),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
      return matrices::lapack_form(TenonLapack::schur, in[0], {params.as<SchurParams>().vectors});
    }}),
    .alias = Absent{"each element reads many"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) {
      std::vector<SampleCase> cases;
      if (!matrices::has_dtype_of_matrices(d)) return cases;
      // Larger ones have values in any order: tests of their own.
      for (const Shape& shape :
           {Shape{Dim(1), Dim(1)}, Shape{Dim(3), Dim(1), Dim(1)}, Shape{Dim(0), Dim(0)}, Shape{Dim(0), Dim(2), Dim(2)}})
        for (const bool vectors : {false, true})
          cases.push_back({make_params(SchurParams{vectors}), {Type::array(d, shape)}, {{-2, 2}}});
      return cases;
    })};
const bool schur_installed = (install_op(schur_info), true);

}  // namespace

Arrays schur_form(const Array& a, bool vectors) { return bind_op(schur_info, make_params(SchurParams{vectors}), {a}); }

}  // namespace tenon
