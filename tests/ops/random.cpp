// Draws, bit for bit beside JAX's; what goes through a logarithm, in units of the last place.
#include "tenon/ops/composites/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "golden/random.h"
#include "tenon/api/jit.h"
#include "tenon/api/transforms.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

template <class T>
std::vector<T> elements_of(const Array& a) {
  const Buffer b = a.to_buffer();
  EXPECT_EQ(b.dtype(), *dtype_of<T>);
  return std::vector<T>(b.as<T>(), b.as<T>() + b.elements());
}
template <class T, std::size_t N>
void expect_same(const Array& got, const T (&want)[N]) {
  EXPECT_THAT(elements_of<T>(got), testing::ElementsAreArray(want));
}
// Units of the last place between two numbers of one sign.
template <class T>
double units(T got, T want) {
  if (got == want) return 0;
  return std::abs(got - want) / std::abs(std::nextafter(want, T(2) * want) - want);
}
template <class T, std::size_t N>
void expect_close(const Array& got, const T (&want)[N], double allowed) {
  const std::vector<T> all = elements_of<T>(got);
  ASSERT_EQ(all.size(), N);
  for (std::size_t i = 0; i < N; ++i)
    EXPECT_LE(units(all[i], want[i]), allowed) << i << ": " << all[i] << " " << want[i];
}

const Array key42 = random::key(42);

TEST(Random, Keys) {
  expect_same(key42, golden::key_42);
  expect_same(random::key(-1234567890123), golden::key_wide);
  expect_same(random::split(key42, 3), golden::split_3);
  expect_same(random::fold_in(key42, 7), golden::fold_in_7);
  expect_same(random::fold_in(key42, -5), golden::fold_in_negative);
}

TEST(Random, Bits) {
  expect_same(random::bits(key42, {2, 5}, DType::u8), golden::bits_uint8);
  expect_same(random::bits(key42, {2, 5}, DType::u16), golden::bits_uint16);
  expect_same(random::bits(key42, {2, 5}, DType::u32), golden::bits_uint32);
  expect_same(random::bits(key42, {2, 5}, DType::u64), golden::bits_uint64);
}

TEST(Random, Uniform) {
  expect_same(random::uniform(key42, {3, 4}), golden::uniform_f32);
  expect_same(random::uniform(key42, {7}, DType::f64), golden::uniform_f64);
  expect_same(convert(random::uniform(key42, {7}, DType::f16), DType::f32), golden::uniform_f16);
  expect_same(convert(random::uniform(key42, {7}, DType::bf16), DType::f32), golden::uniform_bf16);
  // JAX contracts the product and the sum: half a place of 3 less of rounding, which is 4 places of the results here.
  expect_close(random::uniform(key42, {5}, DType::f32, -3, 2.5), golden::uniform_range, 4);
}

TEST(Random, Integers) {
  expect_same(random::randint(key42, {10}, -5, 17), golden::randint_i32);
  const std::int64_t low = -1000000000000, high = 1000000000000000;
  expect_same(random::randint(key42, {5}, low, high, DType::i64), golden::randint_i64);
  expect_same(random::randint(key42, {12}, 0, 256, DType::u8), golden::randint_u8_full);
  expect_same(random::randint(key42, {12}, -128, 128, DType::i8), golden::randint_i8);
  expect_same(random::randint(key42, {3}, 5, 5), golden::randint_empty);
  expect_same(random::bernoulli(key42, 0.3f, Shape{20}), golden::bernoulli);
  expect_same(random::categorical(key42, random::uniform(key42, {6, 5}) * 0.f + convert(arange(5), DType::f32) / 2.f),
              golden::categorical);
}

// JAX's logarithm is its own polynomial: results differ in the last places, and where the logarithm of a number near 1
// is small, in more of them. Its log1p in f64 is wrong by up to 128 places about -0.41, which normal() sees at |z| =
// 0.9.
TEST(Random, ThroughLogarithms) {
  expect_close(random::normal(key42, {3, 100}), golden::normal_f32, 2);
  expect_close(random::normal(key42, {3, 100}, DType::f64), golden::normal_f64, 32);
  expect_close(random::exponential(key42, {8}), golden::exponential_f32, 2);
  expect_close(random::gumbel(key42, {8}), golden::gumbel_f32, 8);
}

TEST(Random, InverseErrorFunction) {
  Buffer b = Buffer::allocate(DType::f64, {std::size(golden::erf_inv_of)});
  std::copy(std::begin(golden::erf_inv_of), std::end(golden::erf_inv_of), b.as<double>());
  expect_close(erf_inv(Array(b)), golden::erf_inv_exact, 4);
  expect_close(erf_inv(convert(Array(b), DType::f32)), golden::erf_inv_f32, 2);
  EXPECT_TRUE(std::isnan(erf_inv(1.5).item<double>()));
}

TEST(Random, LanesAndCompiledFunctionsDrawTheSame) {
  const Array keys = random::split(key42, 4);
  const auto draw = [](const Array& k) { return random::normal(k, {5}); };
  const Array lanes = vmap(draw)(keys), compiled = jit(vmap(draw))(keys);
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto one = elements_of<float>(draw(reshape(slice(keys, {i, 0}, {i + 1, 2}), {2})));
    for (const Array& all : {lanes, compiled})
      for (std::size_t k = 0; k < 5; ++k)
        EXPECT_LE(units(elements_of<float>(all)[static_cast<std::size_t>(i) * 5 + k], one[k]), 1);
  }
}

// With a known variance and 1e5 draws, a mean is within 5 of its standard deviations but once in two million.
TEST(Random, Moments) {
  const double n = 1e5;
  const auto near = [&](const Array& draws, double mean_of, double variance) {
    EXPECT_NEAR(mean(convert(draws, DType::f64)).item<double>(), mean_of, 5 * std::sqrt(variance / n));
  };
  const Shape shape{100000};
  near(random::uniform(key42, shape), 0.5, 1.0 / 12);
  near(random::normal(key42, shape), 0, 1);
  near(square(random::normal(key42, shape)), 1, 2);
  near(random::exponential(key42, shape), 1, 1);
  near(random::randint(key42, shape, 0, 10), 4.5, 8.25);
}

// d/dmean and d/dscale of mean + scale·z, the reparametrised gradient.
TEST(Random, DrawsAreConstantsToDerivatives) {
  const auto loss = [](const Array& scale) { return sum(scale * random::normal(key42, {3, 100})); };
  const float want = sum(random::normal(key42, {3, 100})).item<float>();
  EXPECT_NEAR(grad(loss)(Array(1.f)).item<float>(), want, 1e-4);
}

TEST(Random, Errors) {
  try {
    random::uniform(Array(1.f), {3});
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("the key is f32[], not u32[2]"));
  }
  EXPECT_THROW(random::uniform(key42, {3}, DType::i32), DTypeError);
  EXPECT_THROW(random::bits(key42, {3}, DType::f32), DTypeError);
  EXPECT_THROW(random::randint(key42, {3}, 0, 3, DType::f32), DTypeError);
  EXPECT_THROW(random::randint(key42, {3}, 0.f, 3), DTypeError);
  EXPECT_THROW(random::fold_in(key42, 1.5), DTypeError);
}

TEST(Shifts, BeyondTheWidth) {
  const Array x = {-8, 9, 1}, by = {1, 33, -1};
  EXPECT_THAT(elements_of<std::int32_t>(shift_left(x, by)), testing::ElementsAre(-16, 0, 0));
  EXPECT_THAT(elements_of<std::int32_t>(shift_right(x, by)), testing::ElementsAre(-4, 0, 0));
  EXPECT_THAT(elements_of<std::int32_t>(shift_right(x, 40)), testing::ElementsAre(-1, 0, 0));
  EXPECT_EQ(shift_right(Array(std::uint32_t(0x80000000u)), 31).item<std::uint32_t>(), 1u);
}

}  // namespace
}  // namespace tenon
