// Eigenvalues, singular values and what follows from them: held to the equations that define them, in every dtype,
// shape and way of calling; derivatives beside differences; what has no answer; errors. Values alone are tested by
// generation.
#include "tenon/api/linalg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <thread>

#include "../error_message.h"
#include "drawn_matrices.h"
#include "tenon/tenon.h"

namespace tenon::drawn_matrices {
namespace {

using testing::AllOf;
using testing::HasSubstr;

bool all_nan(const Array& x) { return tn::all(tn::is_nan(tn::real(x))).item<bool>(); }

struct Case {
  DType dtype;
  Shape shape;
};
void PrintTo(const Case& c, std::ostream* out) { *out << tn::Type::array(c.dtype, c.shape).text(); }
class Factors : public testing::TestWithParam<Case> {};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const Shape& shape : {Shape{Dim(1), Dim(1)}, Shape{Dim(2), Dim(2)}, Shape{Dim(5), Dim(5)},
                               Shape{Dim(40), Dim(40)}, Shape{Dim(2), Dim(3), Dim(4), Dim(4)}, Shape{Dim(0), Dim(0)},
                               Shape{Dim(0), Dim(3), Dim(3)}, Shape{Dim(2), Dim(0), Dim(0)}})
      all.push_back({dtype, shape});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Linalg, Factors, testing::ValuesIn(cases()));

TEST_P(Factors, Hermitian) {
  const auto& [dtype, shape] = GetParam();
  const Array a = hermitian(drawn(shape, dtype));
  const auto f = [](const Array& x) { return linalg::eigh(x); };
  for (const auto& [w, v] : {f(a), tn::jit(f)(a)}) {
    EXPECT_EQ(w.dtype(), tn::real_part_of(dtype));
    EXPECT_EQ(v.type(), a.type());
    EXPECT_LE(distance(tn::matmul(a, v), along_columns(v, w)), 50 * tolerance(dtype));
    EXPECT_LE(unit_distance(v), tolerance(dtype));
    EXPECT_LE(distance(linalg::eigvalsh(a), w), 50 * tolerance(dtype));
    const auto n = w.shape()[w.rank() - 1];
    if (n.value() > 1) {
      EXPECT_TRUE(tn::all(tn::slice_in_dim(w, 1, n, -1) >= tn::slice_in_dim(w, 0, n - 1, -1)).item<bool>());
    }
  }
}

TEST_P(Factors, Singular) {
  const auto& [dtype, square] = GetParam();
  for (const std::int64_t more : {-1, 0, 2}) {
    Shape shape = square;
    Dim& rows = shape[shape.rank() - 2];
    if (rows.value() + more < 0) continue;
    rows = rows + more;
    const Dim k = min(rows, shape[shape.rank() - 1]);
    const Array a = drawn(shape, dtype);
    for (const bool full : {false, true}) {
      const auto f = [&](const Array& x) { return linalg::svd(x, {.full_matrices = full}); };
      for (const auto& [u, s, vh] : {f(a), tn::jit(f)(a)}) {
        EXPECT_EQ(s.dtype(), tn::real_part_of(dtype));
        EXPECT_EQ(u.shape()[u.rank() - 1], full ? rows : k);
        EXPECT_EQ(vh.shape()[vh.rank() - 2], full ? shape[shape.rank() - 1] : k);
        const Array u_part = tn::slice_in_dim(u, 0, k, -1), vh_part = tn::slice_in_dim(vh, 0, k, -2);
        EXPECT_LE(distance(tn::matmul(along_columns(u_part, s), vh_part), a), 50 * tolerance(dtype));
        EXPECT_LE(unit_distance(u), tolerance(dtype));
        EXPECT_LE(unit_distance(turned(vh)), tolerance(dtype));
        EXPECT_LE(distance(linalg::svdvals(a), s), 50 * tolerance(dtype));
        EXPECT_TRUE(tn::all(s >= 0).item<bool>());
      }
    }
  }
}

TEST_P(Factors, General) {
  const auto& [dtype, shape] = GetParam();
  const Array a = drawn(shape, dtype);
  const auto f = [](const Array& x) { return linalg::eig_of_both_sides(x); };
  for (const auto& [w, left, right] : {f(a), tn::jit(f)(a)}) {
    EXPECT_EQ(w.dtype(), tn::complex_of(dtype));
    EXPECT_EQ(right.dtype(), tn::complex_of(dtype));
    const Array z = tn::convert(a, w.dtype());
    EXPECT_LE(distance(tn::matmul(z, right), along_columns(right, w)), 100 * tolerance(dtype));
    EXPECT_LE(distance(tn::matmul(turned(z), left), along_columns(left, tn::conj(w))), 100 * tolerance(dtype));
    EXPECT_LE(distance(linalg::eig(a).eigenvalues, w), 100 * tolerance(dtype));
    EXPECT_LE(distance(tn::sum(linalg::eigvals(a), -1), tn::sum(w, -1)), 100 * tolerance(dtype));
  }
}

TEST_P(Factors, Schur) {
  const auto& [dtype, shape] = GetParam();
  const Array a = drawn(shape, dtype);
  for (const bool complex : {false, true}) {
    const auto f = [&](const Array& x) { return linalg::schur(x, {.complex = complex}); };
    for (const auto& [t, z] : {f(a), tn::jit(f)(a)}) {
      EXPECT_EQ(t.dtype(), complex ? tn::complex_of(dtype) : dtype);
      EXPECT_LE(distance(tn::matmul(tn::matmul(z, t), turned(z)), a), 100 * tolerance(dtype));
      EXPECT_LE(unit_distance(z), tolerance(dtype));
      const auto rank = static_cast<std::int64_t>(t.rank());
      const Array below = tn::iota(DType::i32, t.shape(), rank - 2) - tn::iota(DType::i32, t.shape(), rank - 1);
      const bool triangular = complex || tn::is_complex(dtype);
      EXPECT_EQ(distance(tn::where(below > (triangular ? 0 : 1), t, tn::zeros_like(t)), tn::zeros_like(t)), 0);
    }
  }
}

TEST_P(Factors, WhatFollowsFromThem) {
  const auto& [dtype, shape] = GetParam();
  const double near = 1e4 * tolerance(dtype);
  const Array a = drawn(shape, dtype), p = linalg::pinv(a);
  EXPECT_LE(distance(tn::matmul(tn::matmul(a, p), a), a), near);
  const Array h = hermitian(a);
  EXPECT_LE(distance(linalg::pinv(h, {.hermitian = true}), linalg::pinv(h)), near);
  const auto polar = linalg::polar(a);
  EXPECT_LE(distance(tn::matmul(polar.u, polar.p), a), near);
  EXPECT_LE(unit_distance(polar.u), near);
  const auto left = linalg::polar(a, {.left = true});
  EXPECT_LE(distance(tn::matmul(left.p, left.u), a), near);
  const Array root = linalg::sqrtm(a);
  EXPECT_EQ(root.dtype(), tn::complex_of(dtype));
  EXPECT_LE(distance(tn::matmul(root, root), a), near);
  if (shape.rank() == 2) {
    const Array b = drawn({shape[0], Dim(2)}, dtype, 3);
    const auto made = linalg::lstsq(a, b);
    EXPECT_LE(distance(tn::matmul(a, made.x), b), near);
    EXPECT_EQ(made.rank.item<std::int32_t>(), shape[0].value());
  }
}

TEST_P(Factors, Logarithms) {
  const auto& [dtype, shape] = GetParam();
  const Array a = drawn(shape, dtype);
  const auto f = [](const Array& x) { return linalg::logm(x); };
  for (const Array& made : {f(a), tn::jit(f)(a)}) {
    EXPECT_EQ(made.dtype(), tn::complex_of(dtype));
    EXPECT_LE(distance(linalg::expm(made), a), 100 * tolerance(dtype));
  }
  const Array many = tn::stack(std::vector{a, a * 1e3 + 1, a * 1e-6});
  EXPECT_LE(distance(tn::vmap(f)(many)(1), f(a * 1e3 + 1)), 100 * tolerance(dtype));
}

TEST(Linalg, LogarithmsThatAreKnown) {
  const double pi = std::acos(-1.);
  const Array turn = linalg::logm(Array{{0., -1.}, {1., 0.}});
  EXPECT_LE(distance(turn, Array{{0., -pi / 2}, {pi / 2, 0.}}), 1e-14);
  const Array half = linalg::logm(-tn::eye(2, DType::f64));
  EXPECT_LE(distance(tn::imag(half), pi * tn::eye(2, DType::f64)), 1e-14);
  EXPECT_LE(distance(linalg::logm(Array{{1., 1e20}, {0., 1.}}) / 1e20, Array{{0., 1.}, {0., 0.}}), 1e-14);
  // All digits of what is little more than 1: a - a²/2.
  const Array little = drawn({Dim(4), Dim(4)});
  for (const double size : {1e-8, 1e-12}) {
    const Array near = tn::eye(4, DType::f64) + size * little, off = (near - tn::eye(4, DType::f64)) / size;
    EXPECT_LE(distance(linalg::logm(near) / size, off - size / 2 * tn::matmul(off, off)), 1e-14);
  }
  EXPECT_TRUE(all_nan(linalg::logm(Array{{1., 2.}, {2., 4.}} * Array{{1., 0.}, {1., 0.}})));
  EXPECT_EQ(linalg::logm(tn::eye(2, DType::bf16)).dtype(), DType::c64);
}

TEST(Linalg, SlopesOfLogarithms) {
  const Scalar of_log = [](const Array& a) { return weighed(linalg::logm(a)); };
  const Scalar of_slope = [](const Array& a) {
    return weighed(tn::grad([](const Array& x) { return weighed(linalg::logm(x)); })(a));
  };
  for (const DType dtype : {DType::f64, DType::c128}) {
    const Array unit = tn::eye(3, dtype), a = drawn({Dim(3), Dim(3)}, dtype) + 4 * unit;
    dtype == DType::f64 ? expect_slope_in_all_forms(of_log, a) : expect_slope(of_log, a);
    for (const Array& x : {a, unit, unit + tn::convert(Array{{0., 1., 0.}, {0., 0., 1.}, {0., 0., 0.}}, dtype)}) {
      expect_slope(of_log, x);
      expect_slope(of_slope, x, 1e-5);
    }
  }
}

TEST_P(Factors, FunctionsOfEigenvalues) {
  const auto& [dtype, shape] = GetParam();
  const Array a = drawn(shape, dtype) / 4;
  const auto f = [](const Array& x) { return linalg::funm(x, [](const Array& w) { return tn::exp(w); }); };
  for (const auto& [value, error] : {f(a), tn::jit(f)(a), tn::vmap(f)(tn::stack(std::vector{a, a}))}) {
    EXPECT_EQ(value.dtype(), tn::complex_of(dtype));
    EXPECT_EQ(error.dtype(), tn::real_part_of(dtype));
    if (value.rank() == a.rank())
      EXPECT_LE(distance(value, linalg::expm(a)), 1e3 * tolerance(dtype));
    else
      EXPECT_LE(distance(value(1), linalg::expm(a)), 1e3 * tolerance(dtype));
  }
}

TEST(Linalg, HowNearEigenvaluesAreToFunctionsOfThem) {
  const auto error = [](double apart) {
    const Array a = Array{{1., 1.}, {0., 1.}} + apart * Array{{1., 0.}, {0., 0.}};
    return linalg::funm(a, [](const Array& w) { return tn::exp(w); }).error.item<double>();
  };
  EXPECT_LT(error(1), 1e-15);
  EXPECT_NEAR(error(1e-8) / 2.2e-8, 1, 0.1);
  EXPECT_EQ(error(0), 1);
  EXPECT_THAT(tn::message_of([] { linalg::funm(tn::eye(3), [](const Array& w) { return tn::sum(w); }); }),
              HasSubstr("funm: the function gives c64[] of c64[3]"));
}

TEST(Linalg, MatricesWithoutARoot) {
  const Array once{{0., 1., 0.}, {0., 0., 0.}, {0., 0., 4.}};
  EXPECT_FALSE(tn::any(tn::is_finite(tn::abs(linalg::sqrtm(once)(0, 1)))).item<bool>());
  EXPECT_LE(distance(linalg::sqrtm(tn::diag(Array{0., 0., 4.})), tn::diag(Array{0., 0., 2.})), 0);
}

TEST(Linalg, TheTriangleThatIsMeant) {
  const Array a = drawn({Dim(4), Dim(4)}, DType::c128);
  const Array row = tn::iota(DType::i32, a.shape(), 0), column = tn::iota(DType::i32, a.shape(), 1);
  const auto whole = [&](const Array& keep) {
    const Array part = tn::where(keep, a, tn::zeros_like(a));
    return part + turned(part) + tn::where(row == column, tn::convert(tn::real(a), DType::c128), tn::zeros_like(a));
  };
  const linalg::EighOptions of_lower{.lower = true, .symmetrize = false}, of_upper{.lower = false, .symmetrize = false};
  EXPECT_LE(distance(linalg::eigvalsh(a, of_lower), linalg::eigvalsh(whole(row > column))), 1e-12);
  EXPECT_LE(distance(linalg::eigvalsh(a, of_upper), linalg::eigvalsh(whole(row < column))), 1e-12);
  EXPECT_LE(distance(linalg::eigvalsh(a), linalg::eigvalsh(hermitian(a)) / 2), 1e-12);
}

TEST(Linalg, DTypes) {
  for (const DType dtype : {DType::bool_, DType::i8, DType::u16, DType::i32, DType::f32})
    EXPECT_EQ(linalg::svdvals(tn::ones({Dim(2), Dim(3)}, dtype)).dtype(), DType::f32);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    EXPECT_EQ(linalg::eigh(tn::ones({Dim(2), Dim(2)}, dtype)).eigenvectors.dtype(), dtype);
    EXPECT_EQ(linalg::eigvals(tn::ones({Dim(2), Dim(2)}, dtype)).dtype(), DType::c64);
    EXPECT_EQ(linalg::pinv(tn::ones({Dim(2), Dim(2)}, dtype)).dtype(), dtype);
    EXPECT_EQ(linalg::lstsq(tn::ones({Dim(2), Dim(1)}, dtype), tn::ones({Dim(2)}, dtype)).x.dtype(), dtype);
  }
  EXPECT_EQ(linalg::eigvalsh(tn::ones({Dim(2), Dim(2)}, DType::i64)).dtype(), DType::f64);
  // Axes permuted, and every other element.
  const Array a = drawn({Dim(4), Dim(6)});
  EXPECT_LE(distance(linalg::svdvals(tn::transpose(a)), linalg::svdvals(a)), 1e-13);
  const Array strided = tn::slice_in_dim(a, 0, 6, 1, 2);
  EXPECT_LE(distance(linalg::svdvals(strided), linalg::svdvals(strided + 0.0)), 1e-13);
}

TEST(Linalg, LeastSquaresOfMoreRowsAndOfFewer) {
  for (const DType dtype : {DType::f64, DType::c128}) {
    const Array a = drawn({Dim(2), Dim(6), Dim(3)}, dtype), b = drawn({Dim(6), Dim(2)}, dtype, 3);
    const auto made = linalg::lstsq(a, b);
    EXPECT_EQ(made.x.shape(), (Shape{Dim(2), Dim(3), Dim(2)}));
    const Array off = tn::broadcast_to(b, {Dim(2), Dim(6), Dim(2)}) - tn::matmul(a, made.x);
    EXPECT_LE(distance(tn::matmul(turned(a), off), tn::zeros({Dim(2), Dim(3), Dim(2)})), 1e-12);
    EXPECT_LE(distance(made.residuals, tn::sum(tn::square(tn::abs(off)), -2)), 1e-12);
    const Array wide = turned(a);
    const Array x = linalg::lstsq(wide, drawn({Dim(3)}, dtype)).x;  // the shortest is what rows give
    EXPECT_LE(distance(x, tn::squeeze(tn::matmul(linalg::pinv(wide), tn::expand_dims(drawn({Dim(3)}, dtype), 1)), -1)),
              1e-12);
  }
  const Array line{{1.f, 0.f}, {1.f, 1.f}, {1.f, 2.f}};
  EXPECT_LE(distance(linalg::lstsq(line, Array{1.f, 3.f, 5.f}).x, Array{1.f, 2.f}), 1e-5);
  const Array flat{{1.0, 1.0}, {1.0, 1.0}};
  const auto made = linalg::lstsq(flat, Array{1.0, 3.0});
  EXPECT_EQ(made.rank.item<std::int32_t>(), 1);
  EXPECT_LE(distance(made.x, Array{1.0, 1.0}), 1e-12);
  EXPECT_EQ(linalg::matrix_rank(flat).item<std::int32_t>(), 1);
  EXPECT_EQ(linalg::matrix_rank(drawn({Dim(3), Dim(4), Dim(5)})).shape(), Shape{Dim(3)});
  EXPECT_EQ(linalg::matrix_rank(tn::eye(3), {.tol = Array(2.f)}).item<std::int32_t>(), 0);
  EXPECT_EQ(linalg::matrix_rank(tn::zeros({Dim(0), Dim(3)})).item<std::int32_t>(), 0);
  EXPECT_EQ(linalg::pinv(tn::zeros({Dim(2), Dim(0), Dim(3)})).shape(), (Shape{Dim(2), Dim(3), Dim(0)}));
  EXPECT_EQ(linalg::lstsq(tn::zeros({Dim(0), Dim(3)}), tn::zeros({Dim(0)})).x.shape(), Shape{Dim(3)});
}

// --- derivatives ---
Array of_eigh(const Array& a) {
  const auto [w, v] = linalg::eigh(a);
  return weighed(tn::matmul(along_columns(v, tn::sin(w)), turned(v))) + weighed(tn::exp(w / 4));
}
Array of_eigvalsh(const Array& a) { return weighed(tn::sin(linalg::eigvalsh(a))); }
Array of_svd(const Array& a, bool full) {
  const auto [u, s, vh] = linalg::svd(a, {.full_matrices = full});
  const Dim k = s.shape()[s.rank() - 1];
  Array made =
      weighed(tn::matmul(along_columns(tn::slice_in_dim(u, 0, k, -1), tn::sin(s)), tn::slice_in_dim(vh, 0, k, -2)));
  const Dim m = u.shape()[u.rank() - 1], n = vh.shape()[vh.rank() - 2];
  if (m.value() > k.value()) {
    const Array rest = tn::slice_in_dim(u, k, m, -1);
    made = made + weighed(tn::matmul(rest, turned(rest)));
  }
  if (n.value() > k.value()) {
    const Array rest = tn::slice_in_dim(vh, k, n, -2);
    made = made + weighed(tn::matmul(turned(rest), rest));
  }
  return made + weighed(tn::exp(s / 4));
}
Array of_eig(const Array& a) {
  const auto [w, v] = linalg::eig(a);
  const Array powers = tn::matmul(along_columns(v, tn::sin(w)), linalg::inv(v));
  return weighed(powers) + tn::sum(tn::real(w * w));
}
Array of_left(const Array& a) {
  const auto [w, left, right] = linalg::eig_of_both_sides(a);
  return weighed(tn::matmul(along_columns(left, tn::cos(w)), linalg::inv(left))) + tn::sum(tn::real(w * w * w)) +
         tn::sum(tn::square(tn::abs(tn::sum(right, -2)))) + tn::sum(tn::square(tn::real(tn::sum(right, -2))));
}
Array of_pinv(const Array& a) { return weighed(linalg::pinv(a)); }
Array of_lstsq(const Array& a) {
  const Array b = drawn({a.shape()[0], Dim(2)}, a.dtype(), 11);
  const auto [x, residuals, rank, s] = linalg::lstsq(a, b);
  return weighed(x) + tn::sum(residuals) + weighed(s);
}
Array of_polar(const Array& a) {
  const auto [u, p] = linalg::polar(a);
  return weighed(u) + weighed(p);
}

TEST(Linalg, DerivativesOfSquareMatrices) {
  for (const DType dtype : {DType::f64, DType::c128}) {
    const Array a = drawn({Dim(4), Dim(4)}, dtype);
    for (const Scalar f : {&of_eigh, &of_eigvalsh, &of_eig, &of_left, &of_pinv, &of_lstsq, &of_polar})
      dtype == DType::f64 ? expect_slope_in_all_forms(f, a) : expect_slope(f, a);
    expect_slope([](const Array& x) { return of_pinv(hermitian(x)) + weighed(linalg::pinv(x, {.hermitian = true})); },
                 a);
  }
}

TEST(Linalg, DerivativesOfOtherMatrices) {
  for (const DType dtype : {DType::f64, DType::c128})
    for (const Shape& shape : {Shape{Dim(4), Dim(4)}, Shape{Dim(5), Dim(3)}, Shape{Dim(2), Dim(4)}}) {
      const Array a = drawn(shape, dtype);
      expect_slope([](const Array& x) { return of_svd(x, false); }, a);
      expect_slope([](const Array& x) { return of_svd(x, true); }, a);
      expect_slope([](const Array& x) { return weighed(tn::sin(linalg::svdvals(x))); }, a);
      for (const Scalar f : {&of_pinv, &of_lstsq, &of_polar}) expect_slope(f, a);
    }
}

TEST(Linalg, SecondDerivatives) {
  for (const DType dtype : {DType::f64, DType::c128}) {
    const Array a = drawn({Dim(3), Dim(3)}, dtype);
    expect_slope([](const Array& x) { return weighed(tn::grad(&of_eigh)(x)); }, a, 1e-5);
    expect_slope([](const Array& x) { return weighed(tn::grad([](const Array& y) { return of_svd(y, false); })(x)); },
                 a, 1e-5);
    expect_slope([](const Array& x) { return weighed(tn::grad(&of_eig)(x)); }, a, 1e-5);
    expect_slope([](const Array& x) { return weighed(tn::grad(&of_pinv)(x)); }, a, 1e-4);
  }
}

TEST(Linalg, SlopesWhereValuesAreEqual) {
  const Array unit = tn::eye(3, DType::f64);
  const auto finite = [](const Array& x) { return tn::all(tn::is_finite(x)).item<bool>(); };
  EXPECT_TRUE(finite(tn::grad([](const Array& a) { return tn::sum(linalg::eigvalsh(a)); })(unit)));
  EXPECT_TRUE(finite(tn::grad([](const Array& a) { return tn::sum(linalg::svdvals(a)); })(unit)));
  EXPECT_TRUE(finite(tn::grad(&of_pinv)(unit)));
  EXPECT_TRUE(finite(tn::grad(&of_polar)(unit)));
  EXPECT_TRUE(finite(tn::grad(&of_lstsq)(unit)));
  EXPECT_FALSE(finite(tn::grad([](const Array& a) { return weighed(linalg::eigh(a).eigenvectors); })(unit)));
}

Array of_left_polar(const Array& a) {
  const auto [u, p] = linalg::polar(a, {.left = true});
  return weighed(u) + weighed(p);
}

TEST(Linalg, SecondDerivativesWhereValuesAreEqual) {
  for (const DType dtype : {DType::f64, DType::c128})
    for (const Array& of : {tn::eye(3, DType::f64), tn::diag(Array{3.0, 1.0, 1.0}),
                            Array{{1., 0., 0., 0.}, {0., 1., 0., 0.}}, Array{{0., 2.}, {2., 0.}, {0., 0.}}}) {
      const Array a = tn::convert(of, dtype);
      expect_slope([](const Array& x) { return weighed(tn::grad(&of_pinv)(x)); }, a, 1e-5);
      expect_slope([](const Array& x) { return weighed(tn::grad(&of_polar)(x)); }, a, 1e-5);
      expect_slope([](const Array& x) { return weighed(tn::grad(&of_left_polar)(x)); }, a, 1e-5);
    }
  const auto of_hermitian = [](const Array& x) { return weighed(linalg::pinv(x, {.hermitian = true})); };
  EXPECT_TRUE(tn::all(tn::is_finite(tn::jacfwd(tn::hessian(of_hermitian))(tn::eye(2, DType::f64)))).item<bool>());
  EXPECT_TRUE(tn::all(tn::is_finite(tn::jacfwd(tn::hessian(&of_polar))(tn::eye(2, DType::f64)))).item<bool>());
}

// The shapes of factors follow sizes that the compiler does not know.
TEST(Linalg, SlopesOfPolarFactorsOfAnySize) {
  const auto slope = tn::jit(tn::grad(&of_polar), {.sizes = tn::Sizes::symbolic});
  for (const Shape& shape : {Shape{Dim(3), Dim(3)}, Shape{Dim(4), Dim(2)}, Shape{Dim(2), Dim(4)}}) {
    const Array a = drawn(shape);
    EXPECT_LE(distance(slope(a), tn::grad(&of_polar)(a)), 1e-12);
  }
}

// What is computed in f32 is cut off where f32 is rounded, not where 16 bits are.
TEST(Linalg, CutOffsOfSmallFloats) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const std::int64_t n : {16, 128}) {
      const Array unit = tn::eye(n, dtype);
      EXPECT_EQ(distance(linalg::pinv(unit), unit), 0);
      EXPECT_EQ(distance(linalg::pinv(unit, {.hermitian = true}), unit), 0);
      EXPECT_EQ(linalg::matrix_rank(unit).item<std::int32_t>(), n);
      for (const std::optional<Array>& rcond : {std::optional<Array>(), std::optional(Array(-1.f))}) {
        const auto made = linalg::lstsq(unit, unit, {.rcond = rcond});
        EXPECT_EQ(distance(made.x, unit), 0);
        EXPECT_EQ(made.rank.item<std::int32_t>(), n);
      }
    }
}

TEST(Linalg, OneCompilationForAllSizes) {
  const auto f = tn::jit(
      [](const Array& a) {
        const auto [u, s, vh] = linalg::svd(a, {.full_matrices = false});
        return tn::matmul(along_columns(u, s), vh);
      },
      {.sizes = tn::Sizes::symbolic});
  for (const Shape& shape : {Shape{Dim(3), Dim(5)}, Shape{Dim(6), Dim(2)}, Shape{Dim(4), Dim(4)}}) {
    const Array a = drawn(shape);
    EXPECT_LE(distance(f(a), a), 1e-12);
  }
  const auto values = tn::jit([](const Array& a) { return linalg::eigvalsh(tn::matmul(a, turned(a))); },
                              {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {1, 3, 8}) EXPECT_EQ(values(drawn({Dim(n), Dim(n)})).shape(), Shape{Dim(n)});
}

TEST(Linalg, DeterminantsOfAnySize) {
  const auto det = tn::jit([](const Array& a) { return linalg::det(a); }, {.sizes = tn::Sizes::symbolic});
  const auto slope =
      tn::jit(tn::grad([](const Array& a) { return linalg::slogdet(a).logabsdet; }), {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {1, 2, 3, 6}) {
    const Array a = drawn({Dim(n), Dim(n)});
    EXPECT_NEAR(det(a).item<double>(), linalg::det(a).item<double>(), 1e-12);
    EXPECT_LE(distance(slope(a), turned(linalg::inv(a))), 1e-9);
  }
  EXPECT_THAT(tn::message_of([&] { det(drawn({Dim(2), Dim(3)})); }),
              testing::HasSubstr("are not square. They are 2 and 3"));
}

TEST(Linalg, BatchesOnAnyNumberOfThreads) {
  const int before = tn::threads();
  const Array many = drawn({Dim(300), Dim(7), Dim(7)}), large = drawn({Dim(1), Dim(300), Dim(300)});
  tn::set_threads(1);
  const auto alone = linalg::eigh(many);
  tn::set_threads(3);
  EXPECT_EQ(distance(linalg::eigh(many).eigenvectors, alone.eigenvectors), 0);
  const auto [u, s, vh] = linalg::svd(large);
  EXPECT_LE(distance(tn::matmul(along_columns(u, s), vh), large), 1e-10);
  tn::set_threads(before);
  // Callers at the same time.
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int k = 0; k < 6; ++k)
    callers.emplace_back([&, k] {
      for (int i = 0; i < 20; ++i) {
        const Array a = hermitian(drawn({Dim(2), Dim(12), Dim(12)}, DType::c128, 100 * k + i));
        const auto [w, v] = linalg::eigh(a);
        if (distance(tn::matmul(a, v), along_columns(v, w)) > 1e-11) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Linalg, WhatIsNotFiniteGivesNaN) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const double bad : {nan, inf}) {
      const Array at = tn::iota(DType::i32, {Dim(2), Dim(3), Dim(3)}, 0) == 1;
      const Array a =
          tn::where(at, tn::convert(bad, dtype), tn::convert(tn::broadcast_to(tn::eye(3), at.shape()), dtype));
      const auto check = [&](const Array& x) {
        EXPECT_TRUE(all_nan(x(1)));
        EXPECT_TRUE(tn::all(tn::is_finite(tn::abs(x(0)))).item<bool>());
      };
      const auto [w, v] = linalg::eigh(a);
      const auto [u, s, vh] = linalg::svd(a);
      const auto [values, left, right] = linalg::eig_of_both_sides(a);
      const auto [t, z] = linalg::schur(a);
      for (const Array& x : {w, v, u, s, vh, values, left, right, t, z}) check(x);
      check(linalg::pinv(a)), check(linalg::polar(a).u);
    }
  // What is above the diagonal does not count.
  const Array upper{{1.0, nan}, {0.0, 2.0}};
  EXPECT_LE(distance(linalg::eigvalsh(upper, {.symmetrize = false}), Array{1.0, 2.0}), 1e-15);
}

TEST(Linalg, LargeAndSmallNumbers) {
  for (const double scale : {1e-300, 1e-160, 1e160, 1e300}) {
    const Array a = drawn({Dim(6), Dim(6)});
    EXPECT_LE(distance(linalg::svdvals(a * scale) / scale, linalg::svdvals(a)), 1e-12);
    EXPECT_LE(distance(linalg::eigvalsh(a * scale) / scale, linalg::eigvalsh(a)), 1e-12);
  }
  EXPECT_EQ(distance(linalg::svdvals(tn::zeros({Dim(3), Dim(2)})), tn::zeros({Dim(2)})), 0);
  EXPECT_EQ(distance(linalg::eigvals(tn::zeros({Dim(3), Dim(3)})), tn::zeros({Dim(3)})), 0);
}

TEST(Linalg, WrongCallsSayWhatToDo) {
  const auto said = [](auto f) { return tn::message_of(f); };
  const Array vector = tn::ones({Dim(3)}), wide = tn::ones({Dim(2), Dim(3)});
  EXPECT_THAT(said([&] { linalg::svd(vector); }),
              AllOf(HasSubstr("svd: f32[3] is no matrix"), HasSubstr("rows and columns"), HasSubstr("linalg.cpp")));
  EXPECT_THAT(said([&] { linalg::eigh(wide); }), HasSubstr("eigh: the matrices of f32[2,3] are not square"));
  EXPECT_THAT(said([&] { linalg::eigvals(wide); }), HasSubstr("eigvals: the matrices of f32[2,3] are not square"));
  EXPECT_THAT(said([&] { linalg::schur(wide); }), HasSubstr("schur: "));
  EXPECT_THAT(said([&] { linalg::logm(wide); }), HasSubstr("logm: the matrices of f32[2,3] are not square"));
  EXPECT_THAT(said([&] { linalg::lstsq(wide, vector); }), HasSubstr("sizes 2 and 3 differ"));
  EXPECT_THAT(said([&] { linalg::lstsq(wide, tn::Array(1.f)); }), HasSubstr("is a number"));
  EXPECT_THAT(
      said([&] { tn::grad([](const Array& a) { return tn::sum(linalg::schur(a).t); })(tn::ones({Dim(2), Dim(2)})); }),
      AllOf(HasSubstr("schur"), HasSubstr("many ways")));
}

}  // namespace
}  // namespace tenon::drawn_matrices
