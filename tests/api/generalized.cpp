// Eigenvalues of two matrices, singular values of Hermitian ones, polar factors by iterations: held to the equations
// that define them, in every dtype and way of calling; derivatives beside differences; errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"
#include "drawn_matrices.h"
#include "tenon/tenon.h"

namespace tenon::drawn_matrices {
namespace {

using testing::HasSubstr;

constexpr DType kinds[] = {DType::f32, DType::f64, DType::c64, DType::c128};

Array positive_definite(const Array& a) {
  const Array unit = tn::eye(a.shape()[a.rank() - 1], DType::f64);
  return tn::matmul(a, turned(a)) + tn::convert(3.0 * unit, a.dtype());
}
// a·v = b·v·w, a·b·v = v·w, b·a·v = v·w: both sides.
std::pair<Array, Array> sides(std::int64_t type, const Array& a, const Array& b, const linalg::Eigh& found) {
  const auto& [w, v] = found;
  if (type == 1) return {tn::matmul(a, v), along_columns(tn::matmul(b, v), w)};
  return {type == 2 ? tn::matmul(a, tn::matmul(b, v)) : tn::matmul(b, tn::matmul(a, v)), along_columns(v, w)};
}

TEST(Generalized, EigenvaluesOfTwoMatrices) {
  for (const DType dtype : kinds)
    for (const Shape& shape : {Shape{1, 1}, Shape{5, 5}, Shape{2, 3, 4, 4}, Shape{0, 3, 3}, Shape{2, 0, 0}})
      for (const std::int64_t type : {1, 2, 3}) {
        const Array a = hermitian(drawn(shape, dtype)), b = positive_definite(drawn(shape, dtype, 3));
        const auto f = [type](const Array& x, const Array& y) { return linalg::eigh(x, y, {.type = type}); };
        for (const auto& found : {f(a, b), tn::jit(f)(a, b)}) {
          EXPECT_EQ(found.eigenvalues.dtype(), tn::real_part_of(dtype));
          const auto [left, right] = sides(type, a, b, found);
          EXPECT_LE(distance(left, right), 1e4 * tolerance(dtype));
          EXPECT_LE(distance(linalg::eigvalsh(a, b, {.type = type}), found.eigenvalues), 1e3 * tolerance(dtype));
        }
      }
  const Array a = hermitian(drawn({4, 4})), many = tn::stack({tn::eye(4, DType::f64), 2.0 * tn::eye(4, DType::f64)});
  EXPECT_LE(distance(linalg::eigvalsh(a, many)(1), linalg::eigvalsh(a) / 2.0), 1e-12);
  EXPECT_EQ(linalg::eigh(tn::eye(2, DType::bf16), tn::eye(2, DType::bf16)).eigenvectors.dtype(), DType::bf16);
}

TEST(Generalized, OneTriangleCounts) {
  const Array a = hermitian(drawn({4, 4}, DType::c128)), b = positive_definite(drawn({4, 4}, DType::c128));
  const Array wanted = linalg::eigvalsh(a, b), rows = tn::iota(DType::i32, {4, 4}, 0),
              columns = tn::iota(DType::i32, {4, 4}, 1);
  for (const bool lower : {true, false}) {
    const auto half = [&](const Array& x) {
      return tn::where(lower ? rows >= columns : rows <= columns, x, tn::convert(99.0, DType::c128));
    };
    EXPECT_LE(distance(linalg::eigvalsh(half(a), half(b), {.lower = lower, .symmetrize = false}), wanted), 1e-11);
  }
}

Array of_both(const Array& a) {
  Array made(0.0);
  const Array h = hermitian(a), p = positive_definite(a * 0.5);
  for (const std::int64_t type : {1, 2, 3}) {
    const auto [w, v] = linalg::eigh(h, p, {.type = type});
    made = made + weighed(tn::sin(w)) + weighed(tn::matmul(along_columns(v, tn::cos(w)), turned(v)));
  }
  return made;
}
Array of_hermitian_svd(const Array& a) {
  const auto [u, s, vh] = linalg::svd(hermitian(a), {.hermitian = true});
  return weighed(tn::matmul(along_columns(u, tn::cos(s)), vh)) + weighed(tn::exp(s / 4)) +
         weighed(tn::square(linalg::svdvals(hermitian(a), {.hermitian = true})));
}
Array of_qdwh(const Array& a) {
  const auto made = linalg::qdwh(a);
  return weighed(made.u) + weighed(made.h);
}

TEST(Generalized, Derivatives) {
  for (const DType dtype : {DType::f64, DType::c128}) {
    const Array a = drawn({3, 3}, dtype);
    for (const tenon::drawn_matrices::Scalar f : {&of_both, &of_hermitian_svd, &of_qdwh})
      dtype == DType::f64 ? expect_slope_in_all_forms(f, a) : expect_slope(f, a);
    expect_slope(&of_qdwh, drawn({5, 3}, dtype));
    expect_slope([](const Array& x) { return weighed(tn::grad(&of_qdwh)(x)); }, a, 1e-5);
    expect_slope([](const Array& x) { return weighed(tn::grad(&of_both)(x)); }, a, 1e-4);
  }
}

TEST(Generalized, SingularValuesOfHermitianMatrices) {
  for (const DType dtype : kinds)
    for (const Shape& shape : {Shape{1, 1}, Shape{5, 5}, Shape{2, 3, 4, 4}, Shape{0, 3, 3}, Shape{2, 0, 0}}) {
      const Array a = hermitian(drawn(shape, dtype));
      const auto f = [](const Array& x) { return linalg::svd(x, {.hermitian = true}); };
      for (const auto& [u, s, vh] : {f(a), tn::jit(f)(a)}) {
        EXPECT_LE(distance(tn::matmul(along_columns(u, s), vh), a), 50 * tolerance(dtype));
        EXPECT_LE(unit_distance(u), tolerance(dtype));
        EXPECT_LE(distance(s, linalg::svdvals(a)), 50 * tolerance(dtype));
        EXPECT_LE(distance(s, linalg::svdvals(a, {.hermitian = true})), 50 * tolerance(dtype));
      }
    }
}

TEST(Generalized, PolarFactorsByIterations) {
  for (const DType dtype : kinds)
    for (const Shape& shape : {Shape{1, 1}, Shape{5, 5}, Shape{7, 3}, Shape{2, 3, 4, 4}, Shape{3, 0}, Shape{0, 4, 2}}) {
      const Array a = drawn(shape, dtype);
      const auto f = [](const Array& x) { return linalg::qdwh(x); };
      for (const auto& [u, h, count, converged] : {f(a), tn::jit(f)(a)}) {
        EXPECT_LE(distance(tn::matmul(u, h), a), 50 * tolerance(dtype));
        EXPECT_LE(unit_distance(u), tolerance(dtype));
        EXPECT_TRUE(tn::all(converged).item<bool>());
        if (count.to_buffer().elements() > 0) {
          EXPECT_LE(tn::max(count).item<int>(), 7);
        }
      }
    }
  // Singular values that are far apart, in one batch with near ones, which come to rest before.
  const Array near = drawn({4, 4}), far = near * Array{1.0, 1e-5, 1e-9, 1.0};
  const auto both = linalg::qdwh(tn::stack({near, far}));
  EXPECT_LE(unit_distance(both.u), 1e-12);
  EXPECT_LE(distance(both.u(0), linalg::polar(near).u), 1e-11);
  EXPECT_LE(distance(both.u(1), linalg::polar(far).u), 1e-5);
  const auto early = linalg::qdwh(far, {.max_iterations = 2});
  EXPECT_EQ(early.num_iters.item<int>(), 2);
  EXPECT_FALSE(early.is_converged.item<bool>());
  const auto of_any_size = tn::jit([](const Array& x) { return linalg::qdwh(x).h; }, {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {2, 5}) {
    const Array a = drawn({n + 1, n});
    EXPECT_LE(distance(of_any_size(a), linalg::polar(a).p), 1e-11);
  }
}

TEST(Generalized, WrongCallsSayWhatToDo) {
  const auto said = [](auto f) { return tn::message_of<tn::ShapeError>(f); };
  const Array unit = tn::eye(3), wide = tn::ones({2, 3});
  EXPECT_THAT(said([&] { linalg::eigh(unit, tn::eye(2)); }), HasSubstr("eigh: f32[3,3] and f32[2,2] differ in size"));
  EXPECT_THAT(said([&] { linalg::eigvalsh(unit, unit, {.type = 4}); }), HasSubstr("eigvalsh: there is no type 4"));
  EXPECT_THAT(said([&] { linalg::eigh(unit, wide); }), HasSubstr("not square"));
  EXPECT_THAT(said([&] { linalg::svd(wide, {.hermitian = true}); }), HasSubstr("svd: the matrices of f32[2,3]"));
  EXPECT_THAT(said([&] { linalg::qdwh(wide); }), HasSubstr("qdwh: f32[2,3] has fewer rows than columns"));
  EXPECT_THAT(said([&] { linalg::qdwh(unit, {.eps = 2.0}); }), HasSubstr("no such unit of rounding"));
  EXPECT_TRUE(tn::all(tn::is_nan(linalg::eigvalsh(unit, -unit))).item<bool>());
}

}  // namespace
}  // namespace tenon::drawn_matrices
