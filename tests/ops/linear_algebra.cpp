// Factors and systems: what they must satisfy, values that were worked out by hand, sizes beyond several blocks,
// threads at once, derivatives in closed form, and what wrong calls say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "tenon/tenon.h"
#include "tests/by_oracle.h"
#include "tests/error_message.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

double farthest(const Array& x, const Array& y) {
  const Array apart = abs(x - y);
  return apart.shape().elements().value() == 0 ? 0 : convert(amax(apart), DType::f64).item<double>();
}
Array matrices(Shape shape, DType d, float seed) {
  const Array parts = sin(convert(arange(shape.elements(), DType::f32), DType::f64) * 1.7f + seed);
  const Array x = reshape(parts, shape);
  return convert(is_complex(d) ? complex(x, cos(x * 9.f)) : x, d);
}
Array adjoint(const Array& a) {
  const auto rank = static_cast<std::int64_t>(a.rank());
  return move_axis(is_complex(a.dtype()) ? conj(a) : a, rank - 1, rank - 2);
}
Array positive(Shape shape, DType d) {
  const Array a = matrices(shape, d, 0.3f);
  return matmul(a, adjoint(a)) + convert(eye(shape[shape.rank() - 1].value(), DType::f64), d);
}
double rounding(DType d) { return d == DType::f32 || d == DType::c64 ? 1e-5 : 1e-12; }

using SolvedBothWays = BothWays;
INSTANTIATE_TEST_SUITE_P(LinearAlgebra, SolvedBothWays, testing::Bool(), name_of_way);

const std::vector<DType> dtypes_of_matrices{DType::f32, DType::f64, DType::c64, DType::c128};

TEST_P(SolvedBothWays, ValuesWorkedOutByHand) {
  EXPECT_LE(farthest(cholesky(Array{{4., 2.}, {2., 5.}}), Array{{2., 0.}, {1., 2.}}), 1e-15);
  EXPECT_LE(farthest(solve(Array{{2., 1.}, {1., 3.}}, Array{3., 5.}), Array{0.8, 1.4}), 1e-15);
  // Needs rows exchanged.
  EXPECT_LE(farthest(solve(Array{{0., 2.}, {4., 1.}}, Array{{2.}, {9.}}), Array{{2.}, {1.}}), 1e-15);
  const Array upper{{2., 6.}, {100., 4.}}, b{{8.}, {4.}};
  EXPECT_LE(farthest(triangular_solve(upper, b, {.left_side = true}), Array{{1.}, {1.}}), 1e-15);
  EXPECT_LE(farthest(triangular_solve(upper, b, {.left_side = true, .transpose_a = true}), Array{{4.}, {-5.}}), 1e-15);
  EXPECT_LE(farthest(triangular_solve(upper, transpose(b)), Array{{4., -5.}}), 1e-15);
  EXPECT_LE(farthest(triangular_solve(upper, b, {.left_side = true, .lower = true}), Array{{4.}, {-99.}}), 1e-13);
  EXPECT_LE(farthest(triangular_solve(upper, b, {.left_side = true, .unit_diagonal = true}), Array{{-16.}, {4.}}),
            1e-15);
}

TEST_P(SolvedBothWays, FactorsMultiplyToTheMatrix) {
  for (const DType d : dtypes_of_matrices)
    for (const Shape& shape : {Shape{Dim(5), Dim(5)}, Shape{Dim(3), Dim(2), Dim(4), Dim(4)},
                               Shape{Dim(64), Dim(20), Dim(20)}, Shape{Dim(2), Dim(131), Dim(131)}}) {
      const Array a = positive(shape, d), l = cholesky(a);
      EXPECT_LE(farthest(matmul(l, adjoint(l)), a), 100 * rounding(d)) << a.type().text();
      // What the other triangle holds does not count.
      const Array b = matrices(shape, d, 1.1f),
                  x = triangular_solve(l + adjoint(l) * 0.f, b, {.left_side = true, .lower = true});
      EXPECT_LE(farthest(matmul(l, x), b), 100 * rounding(d)) << a.type().text();
    }
}

TEST_P(SolvedBothWays, SolutionsSolve) {
  for (const DType d : dtypes_of_matrices)
    for (const Shape& shape : {Shape{Dim(4), Dim(4)}, Shape{Dim(3), Dim(2), Dim(2)}, Shape{Dim(64), Dim(20), Dim(20)},
                               Shape{Dim(131), Dim(131)}}) {
      const Array a = matrices(shape, d, 0.7f) + convert(eye(shape[shape.rank() - 1].value(), DType::f64), d) * 3.f,
                  b = matrices(shape, d, 0.2f);
      EXPECT_LE(farthest(matmul(a, solve(a, b)), b), 1000 * rounding(d)) << a.type().text();
      for (const bool left : {true, false})
        for (const bool lower : {true, false})
          for (const bool transposes : {true, false})
            for (const bool conjugates : {true, false}) {
              // Diagonally dominant, so that substitution stays accurate.
              const Array t = a + convert(eye(shape[shape.rank() - 1].value(), DType::f64), d) * 90.f;
              const auto n = static_cast<std::int64_t>(t.rank());
              const Array row = iota(DType::i32, t.shape(), n - 2), column = iota(DType::i32, t.shape(), n - 1);
              Array op = where(lower ? row >= column : row <= column, t, zeros_like(t));
              if (transposes) op = move_axis(op, n - 1, n - 2);
              if (conjugates && is_complex(d)) op = conj(op);
              const Array x = triangular_solve(
                  t, b, {.left_side = left, .lower = lower, .transpose_a = transposes, .conjugate_a = conjugates});
              EXPECT_LE(farthest(left ? matmul(op, x) : matmul(x, op), b), 100 * rounding(d)) << a.type().text();
            }
    }
}

// Widths below, at and above that of a strip, whatever the processor.
TEST_P(SolvedBothWays, RightSidesOfAnyWidth) {
  for (const DType d : {DType::f32, DType::f64})
    for (const std::int64_t n : {1, 7, 9, 65})
      for (const std::int64_t m : {1, 3, 13, 25, 49}) {
        const Array one = convert(eye(n, DType::f64), d), a = matrices({n, n}, d, 0.7f) + one * 10.f,
                    b = matrices({n, m}, d, 0.2f);
        EXPECT_LE(farthest(matmul(a, solve(a, b)), b), 100 * rounding(d)) << n << " " << m;
        const Array row = iota(DType::i32, {n, n}, 0), column = iota(DType::i32, {n, n}, 1);
        for (const bool lower : {true, false}) {
          const Array t = where(lower ? row > column : row < column, a * 0.1f, zeros_like(a));
          const Array x = triangular_solve(a * 0.1f, b, {.left_side = true, .lower = lower, .unit_diagonal = true});
          EXPECT_LE(farthest(matmul(t + one, x), b), 100 * rounding(d)) << n << " " << m;
        }
      }
}

TEST_P(SolvedBothWays, OfNothing) {
  EXPECT_EQ(cholesky(zeros({0, 0})).type().text(), "f32[0,0]");
  EXPECT_EQ(solve(zeros({0, 0}), zeros({0})).type().text(), "f32[0]");
  EXPECT_EQ(solve(zeros({2, 0, 0}), zeros({0, 3})).type().text(), "f32[2,0,3]");
  EXPECT_EQ(solve(eye(2), zeros({2, 0})).type().text(), "f32[2,0]");
  EXPECT_EQ(solve(eye(300), zeros({300, 0})).to_buffer().elements(), 0);
  EXPECT_EQ(triangular_solve(zeros({0, 3, 3}), zeros({0, 3, 3})).type().text(), "f32[0,3,3]");
}

TEST_P(SolvedBothWays, WhatHasNoFactor) {
  const Buffer l = cholesky(Array{{1.f, 2.f}, {2.f, 1.f}}).to_buffer();
  EXPECT_TRUE(std::isnan(l.as<float>()[0]) && std::isnan(l.as<float>()[2]) && std::isnan(l.as<float>()[3]));
  EXPECT_EQ(l.as<float>()[1], 0.f);
  const Buffer x = solve(Array{{1.f, 1.f}, {1.f, 1.f}}, Array{1.f, 2.f}).to_buffer();
  EXPECT_FALSE(std::isfinite(x.as<float>()[0]) && std::isfinite(x.as<float>()[1]));
  const Buffer y = triangular_solve(zeros({1, 1}), ones({1, 1})).to_buffer();
  EXPECT_TRUE(std::isinf(y.as<float>()[0]));
}

TEST_P(SolvedBothWays, Inverses) {
  for (const DType d : dtypes_of_matrices) {
    const Array a = matrices({Dim(3), Dim(5), Dim(5)}, d, 0.7f) + convert(eye(5, DType::f64), d) * 4.f;
    EXPECT_LE(farthest(matmul(a, inv(a)), broadcast_to(convert(eye(5, DType::f64), d), a.shape())), 10 * rounding(d));
  }
  EXPECT_LE(farthest(inv(Array{{2, 0}, {0, 4}}), Array{{.5f, 0.f}, {0.f, .25f}}), 1e-7);
}

TEST(LinearAlgebra, DTypesAndBatchesMeet) {
  EXPECT_EQ(solve(Array{{2, 0}, {0, 4}}, Array{2., 8.}).type().text(), "f64[2]");
  const Array x = solve(matrices({Dim(5), Dim(1), Dim(3), Dim(3)}, DType::f64, 0.4f), ones({2, 3, 2}));
  EXPECT_EQ(x.type().text(), "f64[5,2,3,2]");
}

// d log det(a) = tr(a⁻¹·da), and log det(a) is twice the sum of the factor's logarithms.
TEST(LinearAlgebra, TheGradientOfTheDeterminantIsTheInverse) {
  const Array a = positive({Dim(6), Dim(6)}, DType::f64);
  const auto log_determinant = [](const Array& m) { return 2.f * sum(log(einsum("ii->i", cholesky(m)))); };
  const Array inverse = solve(a, eye(6, DType::f64));
  EXPECT_LE(farthest(grad(log_determinant)(a), inverse), 1e-10);
  EXPECT_LE(farthest(jit(grad(log_determinant))(a), inverse), 1e-10);
  const Array many = stack({a, a * 2.f, a + eye(6, DType::f64)});
  const auto of_each = [&](const Array& m) { return vmap(grad(log_determinant))(m); };
  const Array each = jit(of_each)(many);
  EXPECT_LE(farthest(each(1), inverse * 0.5f), 1e-10);
}

// x = a⁻¹·b: the gradient in b is a⁻ᵀ·ct, that in a is -(a⁻ᵀ·ct)·xᵀ. All rows change places in the factors.
TEST(LinearAlgebra, TheGradientOfASolution) {
  for (const std::int64_t n : {4, 20, 70}) {
    const Array row = iota(DType::i32, {n, n}, 0), column = iota(DType::i32, {n, n}, 1);
    const Array from_right_to_left = convert(row + column == n - 1, DType::f64) * 9.f;
    const Array a = matrices({n, n}, DType::f64, 0.9f) + from_right_to_left, b = matrices({n}, DType::f64, 0.1f),
                w = matrices({n}, DType::f64, 2.f);
    const auto weighed = [&](const Array& m, const Array& r) { return sum(w * solve(m, r)); };
    const Array back = solve(transpose(a), w), x = solve(a, b);
    EXPECT_LE(farthest(matmul(a, x), b), 1e-12);
    EXPECT_LE(farthest(matmul(back, a), w), 1e-12);
    EXPECT_LE(farthest(jit(grad<1>(weighed))(a, b), back), 1e-12);
    EXPECT_LE(farthest(jit(grad<0>(weighed))(a, b), -outer(back, x)), 1e-12);
  }
}

// The same bits from one thread, and from several that call at once while each shares its work with others.
TEST(LinearAlgebra, ThreadsAtOnce) {
  const auto f = jit([](const Array& m) {
    const Array l = cholesky(m);
    return std::array{l, solve(m, l), triangular_solve(l, m, {.left_side = true, .lower = true})};
  });
  const auto bits = [](const Array& x) {
    const Buffer b = x.to_buffer();
    return std::vector<double>(b.as<double>(), b.as<double>() + b.elements());
  };
  const int before = threads();
  std::vector<Array> operands;
  for (const Shape& shape : {Shape{Dim(300), Dim(300)}, Shape{Dim(7), Dim(40), Dim(40)},
                             Shape{Dim(2), Dim(260), Dim(260)}, Shape{Dim(90), Dim(9), Dim(9)}})
    operands.push_back(positive(shape, DType::f64));
  std::vector<std::array<std::vector<double>, 3>> alone;
  set_threads(1);
  for (const Array& a : operands) {
    const auto r = f(a);
    alone.push_back({bits(r[0]), bits(r[1]), bits(r[2])});
  }
  set_threads(3);
  std::vector<int> wrong(operands.size());
  std::vector<std::thread> callers;
  for (std::size_t k = 0; k < operands.size(); ++k)
    callers.emplace_back([&, k] {
      for (int turn = 0; turn < 10; ++turn) {
        const auto r = f(operands[k]);
        for (std::size_t i = 0; i < 3; ++i) wrong[k] += bits(r[i]) != alone[k][i];
      }
    });
  for (std::thread& caller : callers) caller.join();
  set_threads(before);
  EXPECT_EQ(wrong, std::vector<int>(operands.size(), 0));
}

TEST(LinearAlgebra, IsNativeWithinAProgram) {
  const auto f = [](const Array& a, const Array& b) { return solve(cholesky(a), b * 2.f) + 1.f; };
  EXPECT_THAT(explain(f)(positive({Dim(3), Dim(3)}, DType::f64), ones({3}, DType::f64)),
              AllOf(HasSubstr("tenon_cholesky"), HasSubstr("tenon_solve"), testing::Not(HasSubstr("evaluator"))));
}

TEST(LinearAlgebra, WrongCalls) {
  EXPECT_THAT(message_of<ShapeError>([] { cholesky(zeros({2, 3})); }),
              AllOf(HasSubstr("cholesky: the matrices of f32[2,3] are not square."), HasSubstr("linear_algebra.cpp:")));
  EXPECT_THAT(message_of<ShapeError>([] { solve(zeros({3}), zeros({3})); }), HasSubstr("solve: f32[3] is no matrix."));
  EXPECT_THAT(message_of<ShapeError>([] { solve(eye(3), zeros({2})); }),
              AllOf(HasSubstr("solve: f32[3,3] and right sides f32[2]: sizes 3 and 2 differ."),
                    HasSubstr("as many rows as the matrix")));
  EXPECT_THAT(message_of<ShapeError>([] { solve(eye(3), 1.f); }),
              HasSubstr("solve: the right side f32[] is a number."));
  EXPECT_THAT(message_of<ShapeError>([] { solve(zeros({2, 3, 3}), zeros({4, 3, 1})); }),
              AllOf(HasSubstr("solve:"), HasSubstr("2 and 4 differ")));
  EXPECT_THAT(message_of<ShapeError>([] { triangular_solve(eye(3), zeros({3, 2})); }),
              AllOf(HasSubstr("triangular_solve: f32[3,3] and right sides f32[3,2] on the right"),
                    HasSubstr(".left_side = true")));
  EXPECT_THAT(message_of<ShapeError>([] { triangular_solve(eye(3), zeros({3})); }), HasSubstr("expand_dims(b, -1)"));
}

// The factors are those of the matrix in f32, rounded once.
TEST(LinearAlgebra, HalfIsFactoredInSingle) {
  const Array wide = {{4.f, 2.f, 1.f}, {2.f, 5.f, 3.f}, {1.f, 3.f, 6.f}}, b = {{1.f}, {2.f}, {3.f}};
  for (const DType half : {DType::f16, DType::bf16}) {
    const Array a = convert(wide, half), right = convert(b, half);
    const auto same = [&](const Array& made, const Array& single) {
      EXPECT_EQ(made.dtype(), half);
      EXPECT_EQ(farthest(convert(made, DType::f32), convert(convert(single, half), DType::f32)), 0);
    };
    same(cholesky(a), cholesky(wide));
    same(solve(a, right), solve(wide, b));
    same(inv(a), inv(wide));
    same(triangular_solve(a, right, {.left_side = true}), triangular_solve(wide, b, {.left_side = true}));
  }
}

}  // namespace
}  // namespace tenon
