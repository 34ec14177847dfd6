// What is made with factors: solutions by Cholesky's, products with Q, arrays as maps, the exponential with its
// derivative, tridiagonal spectra and complex Schur forms. Held to the equations that define them, in every dtype;
// under jit, vmap and derivatives; errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"
#include "drawn_matrices.h"
#include "tenon/tenon.h"
#include "values.h"

namespace tenon::drawn_matrices {
namespace {

using testing::HasSubstr;

struct Kind {
  DType dtype;
  double near;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << tn::name(kind.dtype); }
class OfFactors : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(FactorProducts, OfFactors,
                         testing::Values(Kind{DType::f32, 1e-4}, Kind{DType::f64, 1e-11}, Kind{DType::c64, 1e-4},
                                         Kind{DType::c128, 1e-11}, Kind{DType::bf16, 0.2}, Kind{DType::f16, 0.03}));

Array of_kind(const Shape& shape, DType dtype, int seed = 7) {
  return tn::convert(drawn(shape, tn::is_complex(dtype) ? DType::c128 : DType::f64, seed), dtype);
}
Array wide(const Array& x) { return tn::convert(x, DType::c128); }
Array product(const Array& a, const Array& b) { return tn::matmul(wide(a), wide(b)); }
Array positive(const Shape& shape, DType dtype) {
  const Array a = of_kind(shape, tn::is_complex(dtype) ? DType::c128 : DType::f64);
  const Dim n = shape[shape.rank() - 1];
  return tn::convert(tn::matmul(a, turned(a)) / 8.0 + tn::convert(tn::eye(n, n, 0, DType::f64), a.dtype()), dtype);
}

TEST_P(OfFactors, SolveByCholesky) {
  const auto& [dtype, near] = GetParam();
  for (const Shape& shape : {Shape{1, 1}, Shape{4, 4}, Shape{2, 3, 3}, Shape{0, 0}, Shape{0, 2, 2}})
    for (const bool lower : {false, true}) {
      const Array a = positive(shape, dtype), x = linalg::cho_factor(a, {.lower = lower});
      const Dim n = shape[shape.rank() - 1];
      EXPECT_EQ(x.type(), a.type());
      EXPECT_LE(distance(lower ? product(x, turned(x)) : product(turned(x), x), wide(a)), 5 * near);
      // One triangle alone is read.
      const Array places = tn::iota(DType::i32, shape, static_cast<std::int64_t>(shape.rank()) - 2) -
                           tn::iota(DType::i32, shape, static_cast<std::int64_t>(shape.rank()) - 1);
      const Array other = lower ? places < 0 : places > 0;
      EXPECT_EQ(distance(linalg::cho_factor(tn::where(other, tn::ones_like(a), a), {.lower = lower}), x), 0);
      const Array noisy = tn::where(other, tn::ones_like(x), x);
      for (const Shape& sides : {Shape{n}, Shape{n, 3}, Shape{2, n, 2}, Shape{1, n, 0}}) {
        if (shape.rank() == 3 && sides.rank() == 3 && shape[0] == 0 && sides[0] == 2) continue;
        const Array b = of_kind(sides, dtype, 8);
        const auto f = [&](const Array& of, const Array& side) {
          return linalg::cho_solve(of, side, {.lower = lower});
        };
        for (const Array& made : {f(x, b), tn::jit(f)(noisy, b)}) {
          EXPECT_EQ(made.dtype(), dtype);
          const bool vector = sides.rank() == 1;
          const Array column = vector ? tn::expand_dims(made, -1) : made, back = product(a, column);
          const Array wanted = wide(vector ? tn::expand_dims(b, -1) : b);
          EXPECT_LE(distance(back, tn::broadcast_to(wanted, back.shape())), 20 * near);
        }
      }
    }
}

TEST_P(OfFactors, MultiplyWithQ) {
  const auto& [dtype, near] = GetParam();
  for (const Shape& shape : {Shape{3, 3}, Shape{5, 2}, Shape{2, 4}, Shape{2, 4, 3}, Shape{0, 2}, Shape{3, 0}}) {
    const Array a = of_kind(shape, dtype);
    const auto [q, r] = linalg::qr(a);
    const auto [p, s, order] = linalg::pivoted_qr(a);
    const Dim m = shape[shape.rank() - 2], k = q.shape()[q.rank() - 1];
    for (const bool conjugate : {false, true}) {
      const auto of = [&](const Array& x) { return conjugate ? tn::conj(x) : x; };
      for (const Shape& given : {Shape{2, m}, Shape{m}}) {
        const Array c = of_kind(given, dtype, 8);
        const auto made = linalg::qr_multiply(a, c, {.conjugate = conjugate});
        EXPECT_EQ(distance(made.product, tn::matmul(c, of(q))), 0);
        EXPECT_EQ(distance(made.r, r), 0);
        const auto pivoted = linalg::pivoted_qr_multiply(a, c, {.conjugate = conjugate});
        EXPECT_EQ(distance(pivoted.product, tn::matmul(c, of(p))), 0);
        EXPECT_EQ(distance(pivoted.r, s), 0);
        EXPECT_TRUE(tn::all(pivoted.permutation == order).item<bool>());
      }
      for (const Shape& given : {Shape{k, 2}, Shape{k}}) {
        const Array c = of_kind(given, dtype, 8);
        EXPECT_EQ(
            distance(linalg::qr_multiply(a, c, {.left = true, .conjugate = conjugate}).product, tn::matmul(of(q), c)),
            0);
      }
    }
    if (m.value() == 0) continue;
    // r of the right-hand side: qᴴ·a, by q's conjugate from the right of aᵀ.
    const Array turned_a = tn::move_axis(a, -1, -2);
    const Array same = linalg::qr_multiply(a, turned_a, {.conjugate = true}).product;
    EXPECT_LE(distance(wide(same), wide(tn::move_axis(r, -1, -2))), 20 * near);
  }
}

TEST_P(OfFactors, SolveWithArraysAsMaps) {
  const auto& [dtype, near] = GetParam();
  const Array a = tn::convert(4.0 * tn::eye(6, 6, 0, DType::f64) + tn::real(of_kind({6, 6}, DType::f64)), dtype);
  const Array b = of_kind({2, 3}, dtype, 8), map = tn::reshape(a, {2, 3, 3, 2});
  const Array x = linalg::tensorsolve(map, b);
  EXPECT_EQ(x.shape(), (Shape{3, 2}));
  EXPECT_EQ(x.dtype(), dtype);
  EXPECT_LE(distance(product(a, tn::reshape(x, {6})), wide(tn::reshape(b, {6}))), 50 * near);
  EXPECT_EQ(distance(linalg::tensorsolve(tn::transpose(map, {2, 0, 3, 1}), b, {0, -2}), x), 0);
  const Array inverse = linalg::tensorinv(map);
  EXPECT_EQ(inverse.shape(), (Shape{3, 2, 2, 3}));
  EXPECT_LE(distance(product(tn::reshape(inverse, {6, 6}), a), tn::eye(6, 6, 0, DType::f64)), 50 * near);
  EXPECT_EQ(distance(linalg::tensorinv(tn::reshape(a, {6, 1, 2, 3}), 1), tn::reshape(inverse, {1, 2, 3, 6})), 0);
  EXPECT_EQ(linalg::tensorinv(tn::zeros({0, 2, 0}, dtype), 1).shape(), (Shape{2, 0, 0}));
  EXPECT_EQ(linalg::tensorsolve(tn::zeros({0, 2, 0}, dtype), tn::zeros({0}, dtype)).shape(), (Shape{2, 0}));
}

TEST_P(OfFactors, GiveTheExponentialAndItsDerivative) {
  const auto& [dtype, near] = GetParam();
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 3}, Shape{2, 2, 2}, Shape{0, 0}}) {
    const Array a = of_kind(shape, dtype), e = of_kind(shape, dtype, 8);
    const auto [value, derivative] = linalg::expm_frechet(a, e);
    EXPECT_EQ(derivative.type(), a.type());
    EXPECT_LE(distance(wide(value), wide(linalg::expm(a))), near);
    if (shape[0] == 0 || shape.rank() == 3) continue;
    // expm {{a, e}, {0, a}} has it in its upper right block.
    const Dim n = shape[0];
    const Array top = tn::concatenate({wide(a), wide(e)}, 1), none = tn::zeros_like(wide(a));
    const Array whole = linalg::expm(tn::concatenate({top, tn::concatenate({none, wide(a)}, 1)}, 0));
    EXPECT_LE(distance(wide(derivative), tn::slice_in_dim(tn::slice_in_dim(whole, 0, n, 0), n, n + n, 1)), 200 * near);
  }
}

TEST_P(OfFactors, GiveSpectraOfDiagonals) {
  const auto& [dtype, near] = GetParam();
  for (const Shape& batch : {Shape{}, Shape{3}, Shape{0}})
    for (const std::int64_t n : {0, 1, 2, 5}) {
      Shape main = batch, beside = batch;
      main.push_back(n), beside.push_back(std::max<std::int64_t>(n - 1, 0));
      const Array d = of_kind(main, dtype), e = of_kind(beside, dtype, 8);
      const auto [w, v] = linalg::eigh_tridiagonal(d, e);
      EXPECT_EQ(w.dtype(), tn::real_part_of(dtype));
      EXPECT_EQ(v.dtype(), dtype);
      EXPECT_EQ(w.shape(), main);
      EXPECT_LE(distance(wide(linalg::eigvalsh_tridiagonal(d, e)), wide(w)), 50 * near);
      if (n < 2) continue;
      // Row by row: conj(e)·v of the row below, d·v, and e·v of the row above.
      const auto column = [](const Array& x) { return tn::expand_dims(wide(x), -1); };
      const auto rows = [&](std::int64_t from, std::int64_t to) { return tn::slice_in_dim(wide(v), from, to, -2); };
      const Array none = tn::zeros_like(rows(0, 1));
      const Array below = tn::concatenate({none, column(e) * rows(0, n - 1)}, -2);
      const Array above = tn::concatenate({tn::conj(column(e)) * rows(1, n), none}, -2);
      const Array made = tn::real(column(d)) * wide(v) + below + above;
      EXPECT_LE(distance(made, along_columns(wide(v), w)), 50 * near);
      const auto part = linalg::eigh_tridiagonal(d, e, {.first = 1, .last = n - 1});
      EXPECT_EQ(distance(part.eigenvalues, tn::slice_in_dim(w, 1, n, -1)), 0);
      EXPECT_EQ(distance(part.eigenvectors, tn::slice_in_dim(v, 1, n, -1)), 0);
      EXPECT_EQ(distance(linalg::eigh_tridiagonal(d, e, {.last = 0}).eigenvalues, tn::slice_in_dim(w, 0, 1, -1)), 0);
    }
}

TEST_P(OfFactors, MakeSchurFormsComplex) {
  const auto& [dtype, near] = GetParam();
  for (const Shape& shape : {Shape{1, 1}, Shape{4, 4}, Shape{2, 3, 3}, Shape{0, 0}}) {
    const Array a = of_kind(shape, dtype);
    const auto real_form = linalg::schur(a);
    const auto [t, z] = linalg::rsf2csf(real_form.t, real_form.z);
    EXPECT_TRUE(tn::is_complex(t.dtype()) && t.type() == z.type());
    EXPECT_LE(distance(product(product(z, t), turned(z)), wide(a)), 200 * near);
    const auto rank = static_cast<std::int64_t>(shape.rank());
    const Array below = tn::iota(DType::i32, shape, rank - 2) > tn::iota(DType::i32, shape, rank - 1);
    EXPECT_EQ(distance(tn::where(below, t, tn::zeros_like(t)), tn::zeros_like(t)), 0);
    const auto broadcast = linalg::rsf2csf(real_form.t, tn::expand_dims(real_form.z, 0));
    EXPECT_EQ(distance(broadcast.t, tn::expand_dims(t, 0)), 0);
    EXPECT_EQ(distance(broadcast.z, tn::expand_dims(z, 0)), 0);
  }
}

TEST(FactorProducts, HaveDerivatives) {
  expect_slope_in_all_forms(
      [](const Array& a) {
        const Array h = tn::matmul(a, turned(a)) + tn::eye(3, 3, 0, DType::f64);
        const Array x = linalg::cho_solve(linalg::cho_factor(h), a);
        const Array y = linalg::cho_solve(linalg::cho_factor(h, {.lower = true}), a, {.lower = true});
        return weighed(x) + weighed(tn::sin(y));
      },
      drawn({3, 3}));
  expect_slope_in_all_forms(
      [](const Array& a) {
        const auto [by_q, r] = linalg::qr_multiply(a, tn::cos(a));
        return weighed(by_q) + weighed(r);
      },
      drawn({3, 3}));
  expect_slope_in_all_forms(
      [](const Array& a) {
        const Array map = tn::reshape(a, {2, 2, 4});
        return weighed(linalg::tensorsolve(map,
                                           tn::sin(tn::slice_in_dim(map, 0, 1, -1))(tn::slice({}), tn::slice({}), 0))) +
               weighed(linalg::tensorinv(map));
      },
      drawn({4, 4}));
  expect_slope_in_all_forms(
      [](const Array& a) {
        const auto [value, along] = linalg::expm_frechet(a / 4.0, tn::sin(a));
        return weighed(value) + weighed(along);
      },
      drawn({3, 3}));
  expect_slope_in_all_forms(
      [](const Array& a) {
        return weighed(linalg::eigvalsh_tridiagonal(tn::sum(a, 0), tn::slice_in_dim(tn::sum(a, 1), 0, 2, 0)));
      },
      drawn({3, 3}));
}

TEST(FactorProducts, SayWhatTheyNeed) {
  const auto said = [](auto f) { return message_of(f); };
  const Array v{1.f, 2.f}, a = tn::ones({2, 3}), m = tn::ones({2, 2});
  EXPECT_THAT(said([&] { linalg::cho_factor(a); }), HasSubstr("cho_factor: the matrices of f32[2,3] are not square."));
  EXPECT_THAT(said([&] { linalg::cho_factor(v); }), HasSubstr("cho_factor: f32[2] is no matrix."));
  EXPECT_THAT(said([&] { linalg::cho_solve(a, v); }), HasSubstr("cho_solve: the matrices of f32[2,3] are not square."));
  EXPECT_THAT(said([&] { linalg::cho_solve(m, tn::ones({3})); }),
              HasSubstr("cho_solve: f32[2,2] and right sides f32[3]: sizes 2 and 3 differ."));
  EXPECT_THAT(said([&] { linalg::cho_solve(m, 1.f); }), HasSubstr("cho_solve: the right side f32[] is a number."));
  EXPECT_THAT(said([&] { linalg::qr_multiply(v, v); }), HasSubstr("qr_multiply: f32[2] is no matrix."));
  EXPECT_THAT(said([&] { linalg::qr_multiply(m, tn::ones({3})); }),
              HasSubstr("qr_multiply: q is f32[2,2], and c f32[3] cannot be multiplied with it from the left."));
  EXPECT_THAT(
      said([&] { linalg::pivoted_qr_multiply(m, a.shape()[0].value() == 2 ? tn::ones({3, 2}) : m, {.left = true}); }),
      HasSubstr("pivoted_qr_multiply: q is f32[2,2], and c f32[3,2] cannot be multiplied with it from the right."));
  EXPECT_THAT(said([&] { linalg::tensorsolve(m, tn::ones({3})); }), HasSubstr("They are f32[2,2] and f32[3]."));
  EXPECT_THAT(said([&] { linalg::tensorsolve(m, v, {1, -1}); }),
              HasSubstr("tensorsolve: axis 1 of f32[2,2] is named twice."));
  EXPECT_THAT(said([&] { linalg::tensorsolve(m, v, {2}); }), HasSubstr("tensorsolve"));
  EXPECT_THAT(said([&] { linalg::tensorinv(m, 0); }), HasSubstr("tensorinv: ind must be a positive integer; got 0."));
  EXPECT_THAT(said([&] { linalg::tensorinv(a, 1); }), HasSubstr("tensorinv: product of axes before `ind` must equal"));
  EXPECT_THAT(said([&] { linalg::expm_frechet(a, a); }),
              HasSubstr("expm_frechet: the matrices of f32[2,3] are not square."));
  EXPECT_THAT(said([&] { linalg::expm_frechet(m, tn::ones({3, 3})); }),
              HasSubstr("expm_frechet: a and e differ in shape: f32[2,2] and f32[3,3]."));
  EXPECT_THAT(said([&] { linalg::eigh_tridiagonal(v, v); }),
              HasSubstr("eigh_tridiagonal: diagonals f32[2] and f32[2] do not go together."));
  EXPECT_THAT(said([&] { linalg::eigvalsh_tridiagonal(v, tn::ones({1}), {.first = 1, .last = 2}); }),
              HasSubstr("eigvalsh_tridiagonal: of 2 eigenvalues there are none from index 1 to 2."));
  EXPECT_THAT(said([&] { linalg::rsf2csf(m, tn::ones({3, 3})); }),
              HasSubstr("rsf2csf: t f32[2,2] and z f32[3,3] do not go together."));
}

}  // namespace
}  // namespace tenon::drawn_matrices
