// Every op × dtype × sample case × {jvp against finite differences, vjp against jvp, vmap against a loop over lanes}.
#include "tests/ops/checks.h"

namespace tenon::sample {
namespace {

class Vmap : public OpCase {};
TEST_P(Vmap, IsALoopOverLanes) {
  expect_vmap_is_a_loop(program(), [this] { return inputs(); }, common());
}
INSTANTIATE_TEST_SUITE_P(All, Vmap,
                         testing::ValuesIn(cases(
                             [](DType d) {
                               return d == DType::bool_ || d == DType::i32 || d == DType::f32 || d == DType::c64;
                             },
                             {has_batch})),
                         name_of);

class Derivative : public OpCase {};
TEST_P(Derivative, JvpIsTheFiniteDifference) {
  expect_jvp_is_the_difference(program(), [this] { return inputs(); });
}
TEST_P(Derivative, VjpIsTheTransposeOfJvp) {
  expect_vjp_transposes_jvp(program(), [this] { return inputs(); });
}
INSTANTIATE_TEST_SUITE_P(All, Derivative,
                         testing::ValuesIn(cases([](DType d) { return d == DType::f64 || d == DType::c128; },
                                                 {has_derivative})),
                         name_of);

}  // namespace
}  // namespace tenon::sample
