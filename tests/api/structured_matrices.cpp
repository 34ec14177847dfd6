// Matrices that are made of vectors or of their size alone: held to plain loops over their elements, to the products
// that they stand for, and to each other; under jit, vmap and derivatives; errors.
#include "tenon/api/structured_matrices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "../error_message.h"
#include "drawn_matrices.h"
#include "tenon/tenon.h"
#include "values.h"

namespace tenon::drawn_matrices {
namespace {

using testing::HasSubstr;
using testing::Values;

// A matrix of c128 of a function of its places.
template <class F>
Array from_places(std::int64_t m, std::int64_t n, F f) {
  tn::Buffer made = tn::Buffer::allocate(DType::c128, {m, n});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) made.as<Number>()[i * n + j] = f(i, j);
  return Array(made);
}
std::vector<Number> elements_of(const Array& x) {
  const tn::Buffer all = tn::convert(x, DType::c128).to_buffer();
  return {all.as<Number>(), all.as<Number>() + all.elements()};
}
void expect_equal(const Array& made, const Array& wanted) {
  EXPECT_EQ(distance(made, wanted), 0) << made << " for " << wanted;
}

class OfVectors : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(StructuredMatrices, OfVectors,
                         Values(DType::f32, DType::f64, DType::c64, DType::c128, DType::i32, DType::i64, DType::u8,
                                DType::f16, DType::bf16, DType::bool_));

Array vector_of(std::int64_t n, DType dtype, int seed = 7) {
  const Array x = drawn({Dim(n)}, tn::is_complex(dtype) ? DType::c128 : DType::f64, seed);
  return tn::convert(tn::is_complex(dtype) ? 9.0 * x : tn::abs(9.0 * x), dtype);
}

TEST_P(OfVectors, StandWhereTheirIndicesSay) {
  const DType dtype = GetParam();
  for (const std::int64_t m : {0, 1, 2, 5})
    for (const std::int64_t n : {0, 1, 3, 6}) {
      const Array c = vector_of(m, dtype), r = vector_of(n, dtype, 8);
      const std::vector<Number> a = elements_of(c), b = elements_of(r);
      const auto at = [](const std::vector<Number>& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
      const Array toeplitz = linalg::toeplitz(c, r), hankel = linalg::hankel(c, r);
      EXPECT_EQ(toeplitz.dtype(), dtype);
      EXPECT_EQ(hankel.dtype(), dtype);
      expect_equal(toeplitz, from_places(m, n, [&](auto i, auto j) { return i >= j ? at(a, i - j) : at(b, j - i); }));
      expect_equal(hankel,
                   from_places(m, n, [&](auto i, auto j) { return i + j < m ? at(a, i + j) : at(b, i + j - m + 1); }));
      expect_equal(tn::jit([](Array x, Array y) { return linalg::toeplitz(x, y); })(c, r), toeplitz);
      expect_equal(tn::jit([](Array x, Array y) { return linalg::hankel(x, y); })(c, r), hankel);
      if (n != 3) continue;
      expect_equal(linalg::circulant(c), from_places(m, m, [&](auto i, auto j) { return at(a, (i - j + m) % m); }));
      expect_equal(linalg::toeplitz(c), linalg::toeplitz(c, tn::conj(c)));
      expect_equal(linalg::hankel(c), linalg::hankel(c, tn::zeros_like(c)));
      const Array blocks = linalg::block_diag({c, tn::ones({2, 0}, dtype), tn::expand_dims(r, 1)});
      EXPECT_EQ(blocks.dtype(), dtype);
      expect_equal(blocks, from_places(3 + n, m + 1, [&](auto i, auto j) {
                     return i == 0 && j < m ? at(a, j) : i > 2 && j == m ? at(b, i - 3) : Number(0);
                   }));
      if (dtype == DType::bool_) continue;
      expect_equal(linalg::fiedler(c), tn::abs(tn::expand_dims(c, 1) - c));
      if (m < 2) continue;
      const Array s = tn::slice_in_dim(c, 1, m, 0), leslie = linalg::leslie(c, s);
      EXPECT_EQ(leslie.dtype(), dtype);
      expect_equal(leslie, from_places(m, m, [&](auto i, auto j) {
                     return i == 0 ? at(a, j) : i == j + 1 ? at(a, i) : Number(0);
                   }));
    }
}

TEST_P(OfVectors, MultiplyAsConvolutionsDo) {
  const DType dtype = GetParam();
  if (!tn::is_inexact(dtype) || tn::size_of(dtype) < 4) return;
  for (const std::int64_t m : {1, 2, 5, 6})
    for (const std::int64_t n : {1, 3, 6}) {
      const Array a = vector_of(m, dtype), v = vector_of(n, dtype, 8);
      for (const auto mode : {tn::signal::Extent::full, tn::signal::Extent::same, tn::signal::Extent::largest,
                              tn::signal::Extent::valid}) {
        const Array made = linalg::convolution_matrix(a, n, mode);
        EXPECT_EQ(made.dtype(), dtype);
        EXPECT_LE(distance(tn::matmul(made, v), tn::signal::convolve(a, v, {.mode = mode})), 500 * tolerance(dtype))
            << m << " and " << n;
      }
    }
}

TEST_P(OfVectors, HaveTheCharacteristicPolynomial) {
  const DType dtype = GetParam();
  if (!tn::is_inexact(dtype) || tn::size_of(dtype) < 4) return;
  for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7}) {
    const Array a = 3.0 + tn::cos(tn::iota(dtype, {Dim(n)}, 0) * 2.0);
    const Array made = linalg::fiedler_companion(a), wanted = a / tn::slice_in_dim(a, 0, 1, 0);
    EXPECT_EQ(made.shape(), (Shape{Dim(n - 1), Dim(n - 1)}));
    EXPECT_EQ(made.dtype(), dtype);
    const Array found = n == 1 ? tn::ones({1}, dtype) : tn::poly(made);
    EXPECT_LE(distance(found, tn::convert(wanted, found.dtype())), 100 * tolerance(dtype)) << n;
    if (n < 2) continue;
    const Array same = tn::poly(tn::companion(a));
    EXPECT_LE(distance(same, tn::convert(wanted, same.dtype())), 100 * tolerance(dtype)) << n;
    // Five diagonals.
    const Array apart = tn::abs(tn::iota(DType::i32, made.shape(), 0) - tn::iota(DType::i32, made.shape(), 1));
    expect_equal(tn::where(apart > 2, made, tn::zeros_like(made)), tn::zeros_like(made));
  }
}

TEST(StructuredMatrices, OfBatchesAreThoseOfEachVector) {
  const Array c = drawn({Dim(2), Dim(1), Dim(3)}), r = drawn({Dim(4), Dim(5)}), s = drawn({Dim(4), Dim(2)});
  const auto both = [](const Array& x, const Array& y) {
    return std::tuple(linalg::toeplitz(x, y), linalg::hankel(x, y));
  };
  const auto [toeplitz, hankel] = both(c, r);
  EXPECT_EQ(toeplitz.shape(), (Shape{2, 4, 3, 5}));
  const auto one = [](const Array& x) {
    return std::tuple(linalg::circulant(x), linalg::fiedler(x), linalg::fiedler_companion(x), linalg::toeplitz(x),
                      linalg::convolution_matrix(x, 4, tn::signal::Extent::largest));
  };
  const auto all = one(c);
  const Array leslie = linalg::leslie(c, s);
  for (std::int64_t i = 0; i < 2; ++i) {
    expect_close(tree::map([&](const Array& x) { return x(i)(0); }, all), one(c(i)(0)), "of one", 0);
    for (std::int64_t k = 0; k < 4; ++k) {
      expect_close(std::tuple(toeplitz(i)(k), hankel(i)(k)), both(c(i)(0), r(k)), "of two", 0);
      expect_close(leslie(i)(k), linalg::leslie(c(i)(0), s(k)), "of ages", 0);
    }
  }
  expect_close(tn::vmap(one)(tn::reshape(c, {2, 3})), one(tn::reshape(c, {2, 3})), "lanes", 0);
}

TEST(StructuredMatrices, HaveDerivatives) {
  const auto total = [](const Array& x) {
    const Array all[] = {linalg::toeplitz(x, x * 2.0),
                         linalg::hankel(x, x * x),
                         linalg::circulant(x),
                         linalg::fiedler_companion(x),
                         linalg::convolution_matrix(x, 3),
                         linalg::leslie(x, tn::slice_in_dim(x, 1, 4, 0)),
                         linalg::fiedler(x),
                         linalg::block_diag({x, tn::sin(x)})};
    Array sum = 0.0;
    for (const Array& each : all) sum = sum + weighed(tn::sin(each));
    return sum;
  };
  expect_slope_in_all_forms(total, Array{1.0, -0.5, 2.0, 0.25});
}

TEST(StructuredMatrices, HaveAnySizes) {
  const auto f = [](const Array& x) {
    const Dim n = x.shape()[0];
    return std::tuple(linalg::toeplitz(x), linalg::hankel(x), linalg::circulant(x), linalg::fiedler_companion(x),
                      linalg::convolution_matrix(x, n, tn::signal::Extent::largest), linalg::hilbert(n, DType::f64));
  };
  const auto compiled = tn::jit(f, {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {2, 3, 7}) {
    const Array x = drawn({Dim(n)});
    expect_close(compiled(x), f(x), "any size", 1e-14);
  }
}

TEST(StructuredMatrices, OfHilbertAndTheirInverses) {
  for (const std::int64_t n : {0, 1, 2, 5, 9}) {
    const Array made = linalg::hilbert(n, DType::f64), inverse = linalg::invhilbert(n, DType::f64);
    expect_equal(made, from_places(n, n, [](auto i, auto j) { return 1.0 / static_cast<double>(i + j + 1); }));
    expect_equal(inverse, tn::round(inverse));
    expect_equal(inverse, tn::transpose(inverse));
    const Array size = n == 0 ? Array(1.0) : tn::max(tn::abs(inverse));
    EXPECT_LE(distance(tn::matmul(made, inverse), tn::eye(n, n, 0, DType::f64)), 1e-15 * size.item<double>());
    EXPECT_EQ(linalg::hilbert(n).dtype(), DType::f32);
    expect_equal(linalg::hilbert(n, DType::bf16), tn::convert(made, DType::bf16));
  }
  // Beyond 2^64: (n + i)! / (i!² (n - i - 1)!) of n = 20 and i = 14, twice, by 29.
  const double p = 20.0 * 1391975640.0 * 11628.0;  // 20 C(34, 14) C(19, 14)
  EXPECT_NEAR(linalg::invhilbert(20, DType::f64)(14)(14).item<double>() / (p * p / 29), 1, 1e-15);
}

TEST(StructuredMatrices, OfPascalAndTheirInverses) {
  using Kind = linalg::PascalKind;
  for (const std::int64_t n : {0, 1, 2, 6, 20}) {
    const auto of = [&](Kind kind) { return linalg::pascal(n, kind, DType::f64); };
    const auto back = [&](Kind kind) { return linalg::invpascal(n, kind, DType::f64); };
    const Array lower = of(Kind::lower), whole = of(Kind::symmetric);
    expect_equal(of(Kind::upper), tn::transpose(lower));
    expect_equal(whole, tn::matmul(lower, tn::transpose(lower)));
    for (const Kind kind : {Kind::lower, Kind::upper})
      expect_equal(tn::matmul(of(kind), back(kind)), tn::eye(n, n, 0, DType::f64));
    expect_equal(back(Kind::symmetric), tn::matmul(back(Kind::upper), back(Kind::lower)));
    if (n == 0) continue;
    const Array last = lower(n - 1);
    for (std::int64_t j = 0; j < n; ++j)
      EXPECT_NEAR(last(j).item<double>(), std::exp(std::lgamma(n) - std::lgamma(j + 1) - std::lgamma(n - j)),
                  1e-12 * last(j).item<double>());
  }
  EXPECT_EQ(linalg::pascal(40, Kind::symmetric, DType::f64)(39)(39).item<double>(), 27217014869199032015600.0);
}

TEST(StructuredMatrices, OfHadamardHelmertAndFourier) {
  for (const std::int64_t n : {1, 2, 4, 16}) {
    const Array made = linalg::hadamard(n);
    EXPECT_EQ(made.dtype(), DType::i32);
    expect_equal(tn::matmul(made, tn::transpose(made)), tn::convert(n, DType::i32) * tn::eye(n, n, 0, DType::i32));
    expect_equal(tn::abs(made), tn::ones({n, n}));
    if (n == 1) continue;
    const Array half = linalg::hadamard(n / 2);
    const Array upper = tn::concatenate({half, half}, 1), lower = tn::concatenate({half, -half}, 1);
    expect_equal(made, tn::concatenate({upper, lower}, 0));
  }
  EXPECT_EQ(linalg::hadamard(2, DType::u8)(1)(1).item<std::uint8_t>(), 255);
  for (const std::int64_t n : {1, 2, 3, 8}) {
    const Array full = linalg::helmert(n, DType::f64, {.full = true}), part = linalg::helmert(n, DType::f64);
    EXPECT_LE(unit_distance(full), 1e-15);
    expect_equal(tn::slice_in_dim(full, 1, n, 0), part);
    expect_equal(tn::slice_in_dim(full, 0, 1, 0), tn::full({1, n}, Array(1 / std::sqrt(static_cast<double>(n)))));
    EXPECT_LE(tn::sum(tn::abs(tn::sum(part, 1))).item<double>(), 1e-14);
    expect_equal(
        tn::where(tn::iota(DType::i32, part.shape(), 1) > tn::iota(DType::i32, part.shape(), 0) + 1, part, 0.0),
        tn::zeros_like(part));
  }
  for (const std::int64_t n : {0, 1, 2, 3, 4, 12, 1000}) {
    const Array made = linalg::dft(n, {}, DType::c128);
    EXPECT_LE(distance(made, from_places(n, n,
                                         [&](auto i, auto j) {
                                           const long double angle = 2 * std::numbers::pi_v<long double> *
                                                                     static_cast<long double>(i * j % n) /
                                                                     static_cast<long double>(n);
                                           return Number(static_cast<double>(std::cos(angle)),
                                                         -static_cast<double>(std::sin(angle)));
                                         })),
              3e-16);
    EXPECT_EQ(linalg::dft(n).dtype(), DType::c64);
    EXPECT_LE(unit_distance(linalg::dft(n, linalg::DftScale::sqrtn, DType::c128)), 1e-12);
    if (n > 0) expect_close(linalg::dft(n, linalg::DftScale::n, DType::c128), made / static_cast<double>(n), 1e-16);
  }
  expect_equal(linalg::dft(4, {}, DType::c128)(1), Array{Number(1, 0), Number(0, -1), Number(-1, 0), Number(0, 1)});
}

TEST(StructuredMatrices, SayWhatTheyNeed) {
  const auto said = [](auto f) { return message_of(f); };
  const Array v{1.f, 2.f, 3.f}, none = tn::zeros({0});
  EXPECT_THAT(said([&] { linalg::block_diag({v, tn::ones({2, 1, 2})}); }),
              HasSubstr("block_diag: f32[2,1,2] has more than two axes."));
  EXPECT_THAT(said([&] { linalg::toeplitz(tn::ones({2, 3}), tn::ones({3, 3})); }), HasSubstr("toeplitz: "));
  EXPECT_THAT(said([&] { linalg::convolution_matrix(v, 0); }),
              HasSubstr("convolution_matrix: n must be a positive integer. It is 0."));
  EXPECT_THAT(said([&] { linalg::convolution_matrix(none, 2); }),
              HasSubstr("convolution_matrix: len(a) must be at least 1. Its shape is [0]."));
  EXPECT_THAT(said([&] { linalg::leslie(tn::ones({1}), none); }),
              HasSubstr("leslie: the length of f along the last axis is at least 2, and f is f32[1]."));
  EXPECT_THAT(said([&] { linalg::leslie(v, v); }),
              HasSubstr("leslie: fertilities f are f32[3] and rates of survival s f32[3]."));
  EXPECT_THAT(said([&] { linalg::fiedler(Array{true, false}); }), HasSubstr("fiedler: bool[2] has no differences."));
  EXPECT_THAT(said([&] { linalg::fiedler_companion(none); }),
              HasSubstr("fiedler_companion: a polynomial has a coefficient or more, and a is f32[0]."));
  for (auto f : {+[] { linalg::hilbert(2, DType::i32); }, +[] { linalg::invhilbert(2, DType::c64); },
                 +[] { linalg::pascal(2, linalg::PascalKind::lower, DType::i64); },
                 +[] { linalg::invpascal(2, linalg::PascalKind::upper, DType::bool_); },
                 +[] { linalg::helmert(2, DType::i32); }})
    EXPECT_THAT(message_of<tn::DTypeError>(f), HasSubstr("its elements are real numbers, not "));
  for (const std::int64_t n : {-2, 0, 3, 12})
    EXPECT_THAT(said([&] { linalg::hadamard(n); }), HasSubstr("hadamard: n is a positive power of 2, not "));
  EXPECT_THAT(said([&] { linalg::helmert(0); }), HasSubstr("helmert: n must be a positive integer, not 0."));
  EXPECT_THAT(said([&] { linalg::dft(2, {}, DType::f32); }), HasSubstr("dft: dtype must be complex, not f32."));
}

}  // namespace
}  // namespace tenon::drawn_matrices
