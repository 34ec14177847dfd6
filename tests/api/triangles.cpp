// L·U, Q·R, forms by reflections, determinants, tridiagonal systems, exponentials: held to the equations that define
// them in every dtype and shape; derivatives beside differences; matrices that are singular; errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "../error_message.h"
#include "drawn_matrices.h"
#include "tenon/tenon.h"

namespace tenon::drawn_matrices {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct MatrixCase {
  DType dtype;
  Shape shape;
};
void PrintTo(const MatrixCase& c, std::ostream* out) { *out << tn::Type::array(c.dtype, c.shape).text(); }
class Triangles : public testing::TestWithParam<MatrixCase> {};
std::vector<MatrixCase> matrices_of_all_sides() {
  std::vector<MatrixCase> all;
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const Shape& shape : {Shape{Dim(1), Dim(1)}, Shape{Dim(5), Dim(3)}, Shape{Dim(3), Dim(5)},
                               Shape{Dim(40), Dim(40)}, Shape{Dim(2), Dim(3), Dim(4), Dim(4)}, Shape{Dim(0), Dim(0)},
                               Shape{Dim(3), Dim(0)}, Shape{Dim(0), Dim(2)}, Shape{Dim(0), Dim(3), Dim(3)}})
      all.push_back({dtype, shape});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Linalg, Triangles, testing::ValuesIn(matrices_of_all_sides()));

Dim rows(const Array& a) { return a.shape()[a.rank() - 2]; }
Dim columns(const Array& a) { return a.shape()[a.rank() - 1]; }
bool is_upper(const Array& r) {
  const auto rank = static_cast<std::int64_t>(r.rank());
  const Array below = tn::iota(DType::i32, r.shape(), rank - 2) > tn::iota(DType::i32, r.shape(), rank - 1);
  return tn::all((r == 0) | !below).item<bool>();
}

TEST_P(Triangles, LuIsTheMatrix) {
  const auto& [dtype, shape] = GetParam();
  const Array a = drawn(shape, dtype);
  const auto [p, l, u] = linalg::lu(a);
  EXPECT_EQ(p.dtype(), dtype);
  EXPECT_TRUE(is_upper(u));
  EXPECT_LE(distance(tn::matmul(p, tn::matmul(l, u)), a), tolerance(dtype));
  const auto made = linalg::lu_factor(a);
  const Array order = linalg::lu_pivots_to_permutation(made.pivots, rows(a));
  EXPECT_EQ(distance(order, made.permutation), 0);
  if (rows(a) == columns(a) && a.rank() == 2) {
    const Array b = drawn({rows(a), Dim(2)}, dtype, 3);
    EXPECT_LE(distance(tn::matmul(a, linalg::lu_solve(made.factors, made.pivots, b)), b), 100 * tolerance(dtype));
    EXPECT_LE(distance(tn::matmul(turned(a), linalg::lu_solve(made.factors, made.pivots, b,
                                                              {.transpose = true, .conjugate = true})),
                       b),
              100 * tolerance(dtype));
  }
}

TEST_P(Triangles, QrIsTheMatrix) {
  const auto& [dtype, shape] = GetParam();
  const Array a = drawn(shape, dtype);
  for (const bool full : {false, true}) {
    const auto [q, r] = linalg::qr(a, {full});
    EXPECT_TRUE(is_upper(r));
    EXPECT_LE(distance(tn::matmul(q, r), a), tolerance(dtype));
    EXPECT_LE(unit_distance(q), tolerance(dtype));
    EXPECT_EQ(columns(q), full ? rows(a) : min(rows(a), columns(a)));
    const auto [pq, pr, order] = linalg::pivoted_qr(a, {full});
    const Array taken = tn::take_along_axis(a, tn::broadcast_to(tn::expand_dims(order, -2), a.shape()), -1);
    EXPECT_LE(distance(tn::matmul(pq, pr), taken), tolerance(dtype));
    EXPECT_LE(unit_distance(pq), tolerance(dtype));
  }
  const auto [h, taus] = linalg::geqrf(a);
  const Dim k = min(rows(a), columns(a));
  const Array q = linalg::householder_product(tn::slice_in_dim(h, 0, k, -1), taus);
  EXPECT_LE(distance(q, linalg::qr(a).q), tolerance(dtype));
  const Array c = drawn(shape, dtype, 3);
  const Array square = linalg::qr(a, {.full_matrices = true}).q;
  EXPECT_LE(distance(linalg::ormqr(h, taus, c), tn::matmul(square, c)), tolerance(dtype));
  EXPECT_LE(distance(linalg::ormqr(h, taus, c, {.transpose = true}), tn::matmul(turned(square), c)), tolerance(dtype));
  EXPECT_LE(distance(linalg::ormqr(h, taus, turned(c), {.left = false}), tn::matmul(turned(c), square)),
            tolerance(dtype));
  EXPECT_EQ(taus.shape()[taus.rank() - 1], k);
}

TEST_P(Triangles, FormsOfBothSides) {
  const auto& [dtype, shape] = GetParam();
  const Array a = drawn(shape, dtype);
  if (rows(a) != columns(a)) return;
  const auto [h, q] = linalg::hessenberg(a);
  EXPECT_LE(distance(tn::matmul(tn::matmul(q, h), turned(q)), a), tolerance(dtype));
  EXPECT_LE(unit_distance(q), tolerance(dtype));
  const Array symmetric = hermitian(a);
  for (const bool lower : {true, false}) {
    const auto made = linalg::tridiagonal(symmetric, {lower});
    // Its eigenvalues are those of the matrix: the sums of their first and second powers.
    const auto trace = [](const Array& x) { return tn::sum(tn::real(tn::linalg::eigvalsh(x)), -1); };
    const double near = 100 * tolerance(dtype);
    EXPECT_LE(distance(tn::sum(made.diagonal, -1), trace(symmetric)), near);
    const Array squares = tn::sum(tn::square(made.diagonal), -1) + 2 * tn::sum(tn::square(made.beside), -1);
    EXPECT_LE(distance(squares, tn::sum(tn::square(tn::linalg::eigvalsh(symmetric)), -1)), 100 * near);
  }
}

TEST_P(Triangles, Determinants) {
  const auto& [dtype, shape] = GetParam();
  const Array a = drawn(shape, dtype);
  if (rows(a) != columns(a) || rows(a).value() > 10) return;
  const Array values = linalg::eigvals(a);
  const Array wanted = tn::prod(values, -1);
  EXPECT_LE(distance(linalg::det(a), wanted), 100 * tolerance(dtype));
  const auto [sign, size] = linalg::slogdet(a);
  EXPECT_LE(distance(sign * tn::convert(tn::exp(size), dtype), wanted), 100 * tolerance(dtype));
}

TEST(Linalg, SlopesOfTriangles) {
  const auto of_lu = [](const Array& a) {
    const auto [p, l, u] = linalg::lu(a);
    return weighed(l) + weighed(u);
  };
  const auto of_qr = [](const Array& a) {
    const auto [q, r] = linalg::qr(a);
    return weighed(q) + weighed(r);
  };
  const auto of_full_qr = [](const Array& a) {
    const auto [q, r, order] = linalg::pivoted_qr(a, {.full_matrices = true});
    return weighed(q) + weighed(r);
  };
  const auto of_geqrf = [](const Array& a) {
    const auto [h, taus] = linalg::geqrf(a);
    return weighed(h) + weighed(taus) + weighed(linalg::householder_product(h, taus));
  };
  for (const DType dtype : {DType::f64, DType::c128}) {
    for (const Shape& shape : {Shape{Dim(4), Dim(4)}, Shape{Dim(5), Dim(3)}, Shape{Dim(2), Dim(4)}}) {
      const Array a = drawn(shape, dtype);
      for (const Scalar f : {Scalar(of_lu), Scalar(of_qr), Scalar(of_full_qr)})
        dtype == DType::f64&& shape[1] == Dim(3) ? expect_slope_in_all_forms(f, a) : expect_slope(f, a);
      if (shape[0].value() >= shape[1].value()) expect_slope(of_geqrf, a);
    }
    const Array a = drawn({Dim(4), Dim(4)}, dtype);
    expect_slope_in_all_forms([](const Array& x) { return tn::real(linalg::det(x)); }, a);
    expect_slope([](const Array& x) { return linalg::slogdet(x).logabsdet + tn::real(linalg::slogdet(x).sign); }, a);
    expect_slope([](const Array& x) { return weighed(linalg::expm(x)); }, a, 1e-5);
    expect_slope([](const Array& x) { return weighed(linalg::solve_sylvester(x, x, x, {.by_eigenvectors = true})); }, a,
                 1e-5);
    expect_slope([](const Array& x) { return weighed(linalg::solve_sylvester(x, x, x)); }, a, 1e-5);
    expect_slope(
        [](const Array& x) {
          const auto row = [&](std::int64_t i) { return x(i); };
          return weighed(linalg::tridiagonal_solve(row(0), 9 + row(1), row(2), tn::expand_dims(row(3), 1)));
        },
        a);
    expect_slope(
        [](const Array& x) { return weighed(tn::grad([](const Array& y) { return tn::real(linalg::det(y)); })(x)); }, a,
        1e-5);
  }
}

// The slope of a determinant is the adjugate, of whatever rank a matrix is.
TEST(Linalg, SlopesOfDeterminantsOfSingularMatrices) {
  const auto of_cofactors = [](const Array& a) {
    const std::int64_t n = a.shape()[0].value();
    Array made = tn::zeros(a.shape(), a.dtype());
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::vector<Array> lines;
        for (std::int64_t k = 0; k < n; ++k)
          if (k != i) {
            const Array row = a(k);
            lines.push_back(tn::concatenate({tn::slice_in_dim(row, 0, j, 0), tn::slice_in_dim(row, j + 1, n, 0)}, 0));
          }
        made = made.at(i, j).set(linalg::det(tn::stack(lines)) * ((i + j) % 2 == 0 ? 1. : -1.));
      }
    return made;
  };
  const Array equal_columns{{1., 1., 2., 0.}, {3., 3., 1., 5.}, {2., 2., 7., 1.}, {4., 4., 0., 1.}};
  const Array rank_two{{1., 1., 2., 2.}, {3., 3., 1., 1.}, {2., 2., 7., 7.}, {4., 4., 0., 0.}};
  const Array last_row{{1., 2., 3., 4.}, {0., 5., 6., 7.}, {0., 0., 8., 9.}, {0., 0., 0., 0.}};
  for (const Array& a : {equal_columns, rank_two, last_row, tn::zeros({Dim(4), Dim(4)}, DType::f64),
                         tn::ones({Dim(4), Dim(4)}, DType::f64), drawn({Dim(4), Dim(4)})}) {
    const auto det = [](const Array& x) { return linalg::det(x); };
    EXPECT_LE(distance(tn::grad(det)(a), of_cofactors(a)), 1e-11) << a;
    EXPECT_LE(distance(tn::jit(tn::grad(det))(a), of_cofactors(a)), 1e-11) << a;
  }
  // Second derivatives beside differences of the first, where the rank is one less than full.
  const auto slopes = [](const Array& x) {
    return weighed(tn::grad([](const Array& y) { return linalg::det(y); })(x));
  };
  for (const Array& a : {equal_columns, last_row}) expect_slope(slopes, a, 1e-5);
  const Array all = tn::stack(std::vector{equal_columns, rank_two, last_row, drawn({Dim(4), Dim(4)})});
  const Array lanes = tn::vmap(tn::grad([](const Array& x) { return linalg::det(x); }))(all);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_LE(distance(lanes(i), of_cofactors(all(i))), 1e-11) << i;
}

TEST(Linalg, SystemsOfTheirOwnForm) {
  for (const DType dtype : {DType::f32, DType::f64, DType::c128}) {
    const std::int64_t n = 7;
    const Array d = drawn({Dim(2), Dim(n)}, dtype) + 4, l = drawn({Dim(2), Dim(n)}, dtype, 2),
                u = drawn({Dim(2), Dim(n)}, dtype, 3);
    const Array b = drawn({Dim(n), Dim(3)}, dtype, 4);
    const Array x = linalg::tridiagonal_solve(l, d, u, b);
    EXPECT_EQ(x.shape(), (Shape{Dim(2), Dim(n), Dim(3)}));
    const auto beside = [&](const Array& diagonal, std::int64_t from, std::int64_t to, std::int64_t begin) {
      const Array part = tn::expand_dims(tn::slice_in_dim(diagonal, from, to, -1), -1) *
                         tn::slice_in_dim(x, begin, begin + to - from, -2);
      const Array none = tn::zeros({Dim(2), Dim(1), Dim(3)}, dtype);
      return from == 1 ? tn::concatenate({none, part}, -2) : tn::concatenate({part, none}, -2);
    };
    const Array made = tn::expand_dims(d, -1) * x + beside(l, 1, n, 0) + beside(u, 0, n - 1, 1);
    EXPECT_LE(distance(made, tn::broadcast_to(b, made.shape())), tolerance(dtype));
  }
  const auto perturbed = [](const Array& l, const Array& d, const Array& u) {
    return linalg::tridiagonal_solve(l, d, u, tn::ones({Dim(3), Dim(1)}, DType::f64), {.perturb_singular = true});
  };
  const Array l{0., 2., 0.}, d{1., 6., 1.}, u{3., 0., 0.}, none = tn::zeros_like(d);  // two rows are multiples
  for (const Array& x : {perturbed(none, none, none), perturbed(l, d, u)}) {
    EXPECT_TRUE(tn::all(tn::is_finite(x)).item<bool>());
    EXPECT_GT(tn::amax(tn::abs(x)).item<double>(), 1e14);
  }
  const Array regular = linalg::tridiagonal_solve(l, d + 9., u, tn::ones({Dim(3), Dim(1)}, DType::f64));
  EXPECT_TRUE(tn::array_equal(perturbed(l, d + 9., u), regular));
  const Array r = linalg::qr(drawn({Dim(6), Dim(4)})).r, w = drawn({Dim(4)});
  const Array changed = linalg::cholesky_update(r, w);
  const Array outer = tn::expand_dims(w, 1) * tn::expand_dims(w, 0);
  EXPECT_TRUE(is_upper(changed));
  EXPECT_LE(distance(tn::matmul(turned(changed), changed), tn::matmul(turned(r), r) + outer), 1e-12);
  for (const DType dtype : {DType::f64, DType::c128}) {
    const Array a = drawn({Dim(2), Dim(4), Dim(4)}, dtype), b = drawn({Dim(3), Dim(3)}, dtype, 2),
                c = drawn({Dim(2), Dim(4), Dim(3)}, dtype, 3);
    for (const bool by_eigenvectors : {false, true}) {
      const Array x = linalg::solve_sylvester(a, b, c, {by_eigenvectors});
      EXPECT_LE(distance(tn::matmul(a, x) + tn::matmul(x, b), c), 1e-10);
    }
    const Array e = linalg::expm(a), back = linalg::expm(-a);
    EXPECT_LE(distance(tn::matmul(e, back), tn::broadcast_to(tn::eye(4, dtype), a.shape())), 1e-9);
  }
}

// The band's diagonals with NaN outside of the matrix, and the matrix.
struct DrawnBand {
  Array diagonals, matrix;
};
DrawnBand drawn_band(std::int64_t below, std::int64_t above, std::int64_t n, DType dtype, int seed = 7) {
  const Array diagonals = drawn({Dim(2), Dim(below + above + 1), Dim(n)}, dtype, seed);
  Array outside = tn::zeros(diagonals.shape(), DType::bool_), matrix = tn::zeros({Dim(2), Dim(n), Dim(n)}, dtype);
  for (std::int64_t r = 0; r < below + above + 1; ++r)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t i = j + r - above;
      for (std::int64_t lane = 0; lane < 2; ++lane)
        if (i < 0 || i >= n)
          outside = outside.at(lane, r, j).set(true);
        else
          matrix = matrix.at(lane, i, j).set(diagonals(lane, r, j));
    }
  const Array unknown = tn::convert(std::numeric_limits<double>::quiet_NaN(), dtype);
  return {tn::where(outside, unknown, diagonals), matrix};
}

TEST(Linalg, BandedSystems) {
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128})
    for (const auto& [below, above, n] :
         {std::array<std::int64_t, 3>{0, 0, 3}, {1, 0, 4}, {0, 2, 4}, {2, 1, 6}, {3, 2, 2}}) {
      const auto [ab, a] = drawn_band(below, above, n, dtype);
      const Array b = drawn({Dim(n), Dim(3)}, dtype, 4);
      const auto f = [&](const Array& x) { return linalg::solve_banded(below, above, x, b); };
      const Array x = f(ab), made = tn::matmul(a, x);
      EXPECT_EQ(x.dtype(), dtype);
      const double near = 100 * tolerance(dtype) * (1 + distance(x, tn::zeros_like(x)));
      EXPECT_LE(distance(made, tn::broadcast_to(b, made.shape())), near);
      EXPECT_LE(distance(tn::jit(f)(ab), x), near);
      EXPECT_LE(distance(tn::vmap(f)(ab), x), near);
      EXPECT_LE(distance(linalg::solve_banded(below, above, ab(1), tn::slice_in_dim(b, 0, 1, 1)),
                         tn::slice_in_dim(x(1), 0, 1, 1)),
                near);
    }
  const Array none = tn::zeros({Dim(3), Dim(0)});
  EXPECT_EQ(linalg::solve_banded(1, 1, none, tn::zeros({Dim(0), Dim(2)})).shape(), (Shape{Dim(0), Dim(2)}));
  EXPECT_EQ(
      linalg::solve_banded(0, 0, tn::ones({Dim(1), Dim(2)}, DType::bf16), tn::ones({Dim(2)}, DType::bf16)).dtype(),
      DType::bf16);
  const Array singular = linalg::solve_banded(1, 1, Array{{0., 1.}, {1., 1.}, {1., 0.}}, Array{1., 2.});
  EXPECT_FALSE(tn::all(tn::abs(singular) < 1e14).item<bool>());
}

TEST(Linalg, HermitianBandedSystems) {
  for (const DType dtype : {DType::f64, DType::c128}) {
    const auto [ab, upper] = drawn_band(0, 2, 5, dtype);
    const Array on = tn::eye(5, DType::bool_), none = tn::zeros_like(upper);
    const Array whole =
        tn::where(on, none, upper + turned(upper)) + tn::where(on, tn::convert(tn::real(upper), dtype), none);
    const Array b = drawn({Dim(5)}, dtype, 4);
    const Array x = linalg::solveh_banded(ab(0), b);
    EXPECT_LE(distance(tn::matmul(whole(0), x), b), 1e-11);
    const auto [below, lower] = drawn_band(2, 0, 5, dtype);
    const Array other =
        tn::where(on, none, lower + turned(lower)) + tn::where(on, tn::convert(tn::real(lower), dtype), none);
    const Array y = linalg::solveh_banded(below, tn::expand_dims(b, 1), {.lower = true});
    EXPECT_LE(distance(tn::matmul(other, y)(1), tn::expand_dims(b, 1)), 1e-11);
  }
}

TEST(Linalg, SlopesOfBandedSystems) {
  const Scalar solved = [](const Array& x) {
    return weighed(linalg::solve_banded(2, 1, tn::slice_in_dim(x, 0, 4, 0) + 3.0 * tn::eye(4, 5, 1, DType::f64), x(4)));
  };
  const Scalar hermitian_solved = [](const Array& x) {
    return weighed(linalg::solveh_banded(tn::slice_in_dim(x, 0, 2, 0), x(4)));
  };
  for (const DType dtype : {DType::f64, DType::c128}) {
    const Array a = drawn({Dim(5), Dim(5)}, dtype);
    dtype == DType::f64 ? expect_slope_in_all_forms(solved, a) : expect_slope(solved, a);
    expect_slope(hermitian_solved, a);
  }
  expect_slope(
      [](const Array& x) {
        return weighed(tn::grad(
            [](const Array& y) { return weighed(linalg::solve_banded(2, 1, tn::slice_in_dim(y, 0, 4, 0), y(4))); })(x));
      },
      drawn({Dim(5), Dim(5)}, DType::f64, 2), 1e-4);
}

TEST(Linalg, DTypesOfTriangles) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Array a = tn::convert(drawn({Dim(4), Dim(3)}), dtype);
    const auto [q, r] = linalg::qr(a);
    EXPECT_EQ(q.dtype(), dtype);
    EXPECT_LE(distance(tn::matmul(q, r), a), 0.1);
    EXPECT_EQ(linalg::lu(a).l.dtype(), dtype);
    EXPECT_EQ(linalg::det(tn::slice_in_dim(a, 0, 3, 0)).dtype(), dtype);
  }
  EXPECT_EQ(linalg::det(Array{{2, 1}, {1, 1}}).dtype(), DType::f32);
}

TEST(Linalg, TrianglesOfWhatIsNotFinite) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Array a{{1., 2., 3.}, {4., inf, 6.}, {7., 8., 10.}};
  for (const Array& x : {linalg::lu_factor(a).factors, linalg::geqrf(a).h, linalg::qr(a).r, linalg::hessenberg(a).h})
    EXPECT_TRUE(tn::any(tn::is_nan(x)).item<bool>());
  EXPECT_EQ(distance(linalg::lu_factor(a).permutation, Array{0, 1, 2}), 0);
  EXPECT_EQ(linalg::slogdet(tn::ones({Dim(3), Dim(3)})).logabsdet.item<float>(),
            -std::numeric_limits<float>::infinity());
}

TEST(Linalg, WrongTrianglesSayWhatToDo) {
  const auto said = [](auto f) { return tn::message_of(f); };
  const Array vector = tn::ones({Dim(3)}), wide = tn::ones({Dim(2), Dim(3)});
  EXPECT_THAT(said([&] { linalg::qr(vector); }),
              AllOf(HasSubstr("qr: f32[3] is no matrix"), HasSubstr("triangles.cpp")));
  EXPECT_THAT(said([&] { linalg::lu(vector); }), HasSubstr("lu: f32[3] is no matrix"));
  EXPECT_THAT(said([&] { linalg::det(wide); }), HasSubstr("det: the matrices of f32[2,3] are not square"));
  EXPECT_THAT(said([&] { linalg::expm(wide); }), HasSubstr("not square"));
  EXPECT_THAT(said([&] { linalg::lu_pivots_to_permutation(vector, 3); }), HasSubstr("are no pivots"));
  EXPECT_THAT(said([&] { linalg::lu_pivots_to_permutation(Array{0, 1, 2}, 2); }), HasSubstr("3 pivots of 2 rows"));
  EXPECT_THAT(said([&] { linalg::householder_product(wide, tn::ones({Dim(4)})); }), HasSubstr("do not go together"));
  EXPECT_THAT(said([&] { linalg::householder_product(wide, tn::ones({Dim(2)})); }), HasSubstr("has 2 columns"));
  EXPECT_THAT(said([&] { linalg::ormqr(wide, vector, wide); }), HasSubstr("do not go together"));
  EXPECT_THAT(said([&] { linalg::tridiagonal_solve(vector, vector, vector, vector); }),
              HasSubstr("do not go together"));
  EXPECT_THAT(said([&] { linalg::solve_banded(1, 1, wide, vector); }),
              HasSubstr("solve_banded: f32[2,3] has no 1 diagonals below the main one and 1 above it"));
  EXPECT_THAT(said([&] { linalg::solve_banded(1, 0, wide, tn::ones({Dim(2)})); }), HasSubstr("do not go together"));
  EXPECT_THAT(said([&] { linalg::solveh_banded(vector, vector); }), HasSubstr("do not go together"));
  EXPECT_THAT(said([&] { linalg::solveh_banded(tn::ones({Dim(0), Dim(3)}), vector); }), HasSubstr("has no diagonal"));
  EXPECT_THAT(said([&] { linalg::cholesky_update(tn::eye(2), vector); }), HasSubstr("do not go together"));
  EXPECT_THAT(said([&] { linalg::solve_sylvester(tn::eye(2), tn::eye(3), tn::eye(2)); }),
              HasSubstr("Incompatible shapes"));
  EXPECT_THAT(said([&] { tn::grad([](const Array& a) { return tn::sum(linalg::hessenberg(a).h); })(tn::eye(3)); }),
              HasSubstr("hessenberg"));
}

}  // namespace
}  // namespace tenon::drawn_matrices
