// Norms, condition numbers, powers and products of several matrices: values known by hand, in every way of calling;
// derivatives beside differences; errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "../error_message.h"
#include "drawn_matrices.h"
#include "tenon/tenon.h"

namespace tenon::drawn_matrices {
namespace {

using linalg::MatrixNorm;
using testing::HasSubstr;

constexpr double infinite = std::numeric_limits<double>::infinity();
double number(const Array& x) { return tn::convert(x, DType::f64).item<double>(); }

TEST(Norms, OfVectors) {
  const Array x{3., -4., 0.};
  EXPECT_EQ(number(linalg::vector_norm(x)), 5);
  EXPECT_EQ(number(linalg::vector_norm(x, 1)), 7);
  EXPECT_EQ(number(linalg::vector_norm(x, 0)), 2);
  EXPECT_EQ(number(linalg::vector_norm(x, infinite)), 4);
  EXPECT_EQ(number(linalg::vector_norm(x, -infinite)), 0);
  EXPECT_NEAR(number(linalg::vector_norm(x, 3)), std::cbrt(91.), 1e-14);
  EXPECT_EQ(number(linalg::vector_norm(tn::zeros({Dim(0)}), infinite)), 0);
  EXPECT_EQ(linalg::vector_norm(drawn({Dim(2), Dim(3)}), 3, tn::Axes(-1).keepdims()).shape(), (Shape{Dim(2), Dim(1)}));
  EXPECT_EQ(linalg::vector_norm(Array{3, 4}).dtype(), DType::f32);
  const Array z = drawn({Dim(4)}, DType::c128);
  EXPECT_NEAR(number(linalg::vector_norm(z)), number(tn::sqrt(tn::sum(tn::square(tn::abs(z))))), 1e-14);
}

TEST(Norms, OfMatrices) {
  const Array a{{1., -2.}, {3., 4.}};
  EXPECT_NEAR(number(linalg::matrix_norm(a)), std::sqrt(30.), 1e-14);
  EXPECT_EQ(number(linalg::matrix_norm(a, MatrixNorm::one)), 6);
  EXPECT_EQ(number(linalg::matrix_norm(a, MatrixNorm::minus_one)), 4);
  EXPECT_EQ(number(linalg::matrix_norm(a, MatrixNorm::infinity)), 7);
  EXPECT_EQ(number(linalg::matrix_norm(a, MatrixNorm::minus_infinity)), 3);
  const Array s = linalg::svdvals(a);
  EXPECT_NEAR(number(linalg::matrix_norm(a, MatrixNorm::two)), number(s(0)), 1e-14);
  EXPECT_NEAR(number(linalg::matrix_norm(a, MatrixNorm::minus_two)), number(s(1)), 1e-14);
  EXPECT_NEAR(number(linalg::matrix_norm(a, MatrixNorm::nuclear)), number(tn::sum(s)), 1e-14);
  const Array many = drawn({Dim(2), Dim(5), Dim(3)});
  for (const MatrixNorm kind : {MatrixNorm::frobenius, MatrixNorm::nuclear, MatrixNorm::one, MatrixNorm::minus_one,
                                MatrixNorm::two, MatrixNorm::minus_two, MatrixNorm::infinity}) {
    const Array kept = linalg::matrix_norm(many, kind, {.rows = 0, .columns = -1, .keepdims = true});
    EXPECT_EQ(kept.shape(), (Shape{Dim(1), Dim(5), Dim(1)}));
    const Array turned_around = tn::transpose(many, {1, 0, 2});
    EXPECT_LE(distance(tn::reshape(kept, Shape{Dim(5)}), linalg::matrix_norm(turned_around, kind)), 1e-13);
    const Array each = tn::vmap([kind](const Array& x) { return linalg::matrix_norm(x, kind); })(many);
    EXPECT_LE(distance(each, linalg::matrix_norm(many, kind)), 1e-13);
  }
  EXPECT_EQ(number(linalg::matrix_norm(tn::zeros({Dim(0), Dim(3)}), MatrixNorm::one)), 0);
  EXPECT_EQ(number(linalg::matrix_norm(tn::zeros({Dim(0), Dim(3)}), MatrixNorm::two)), 0);
}

TEST(Norms, ConditionNumbers) {
  const Array a{{2., 0.}, {0., 0.5}};
  for (const MatrixNorm kind : {MatrixNorm::two, MatrixNorm::one, MatrixNorm::infinity})
    EXPECT_NEAR(number(linalg::cond(a, kind)), 4, 1e-14);
  EXPECT_NEAR(number(linalg::cond(a, MatrixNorm::minus_two)), 0.25, 1e-14);
  EXPECT_EQ(number(linalg::cond(tn::zeros({Dim(2), Dim(2)}), MatrixNorm::one)), infinite);
  EXPECT_EQ(linalg::cond(drawn({Dim(4), Dim(5), Dim(3)})).shape(), Shape{Dim(4)});
}

TEST(Norms, PowersAndProducts) {
  const Array fibonacci{{1, 1}, {1, 0}};
  EXPECT_EQ(distance(linalg::matrix_power(fibonacci, 10), Array{{89, 55}, {55, 34}}), 0);
  EXPECT_EQ(distance(linalg::matrix_power(fibonacci, 0), Array{{1, 0}, {0, 1}}), 0);
  const Array a = drawn({Dim(2), Dim(3), Dim(3)});
  EXPECT_LE(distance(tn::matmul(linalg::matrix_power(a, -3), tn::matmul(tn::matmul(a, a), a)),
                     tn::broadcast_to(tn::eye(3, DType::f64), a.shape())),
            1e-10);
  const tn::Arrays chain{drawn({Dim(6)}), drawn({Dim(6), Dim(2)}), drawn({Dim(2), Dim(50)}), drawn({Dim(50), Dim(4)}),
                         drawn({Dim(4)})};
  Array wanted = chain[0];
  for (std::size_t i = 1; i < chain.size(); ++i) wanted = tn::matmul(wanted, chain[i]);
  EXPECT_EQ(linalg::multi_dot(chain).shape(), Shape());
  EXPECT_LE(distance(linalg::multi_dot(chain), wanted), 1e-11);
}

TEST(Norms, Slopes) {
  for (const DType dtype : {DType::f64, DType::c128})
    expect_slope(
        [](const Array& x) {
          Array made = linalg::vector_norm(x) + linalg::vector_norm(x, 3);
          for (const MatrixNorm kind : {MatrixNorm::frobenius, MatrixNorm::one, MatrixNorm::two, MatrixNorm::nuclear})
            made = made + linalg::matrix_norm(x, kind);
          return made + linalg::cond(x) + weighed(linalg::matrix_power(x, 3));
        },
        drawn({Dim(3), Dim(3)}, dtype), 1e-5);
}

TEST(Norms, WrongCallsSayWhatToDo) {
  const auto said = [](auto f) { return tn::message_of(f); };
  const Array vector = tn::ones({Dim(3)}), wide = tn::ones({Dim(2), Dim(3)});
  EXPECT_THAT(said([&] { linalg::matrix_norm(vector); }), HasSubstr("matrix_norm"));
  EXPECT_THAT(said([&] { linalg::matrix_norm(wide, MatrixNorm::one, {.rows = 1, .columns = 1}); }),
              HasSubstr("matrix_norm"));
  EXPECT_THAT(said([&] { linalg::cond(vector); }), HasSubstr("is no matrix"));
  EXPECT_THAT(said([&] { linalg::cond(wide, MatrixNorm::one); }), HasSubstr("not square"));
  EXPECT_THAT(said([&] { linalg::cond(tn::zeros({Dim(0), Dim(0)})); }), HasSubstr("no elements"));
  EXPECT_THAT(said([&] { linalg::matrix_power(wide, 2); }), HasSubstr("no square matrices"));
  EXPECT_THAT(said([&] { linalg::multi_dot({wide, wide}); }), HasSubstr("no factor of this chain"));
  EXPECT_THAT(said([&] { linalg::multi_dot({}); }), HasSubstr("no factors"));
}

}  // namespace
}  // namespace tenon::drawn_matrices
