// Numerics::strict: sums in the order in which they are written, whatever compiles them.
#include "tenon/api/numerics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tenon/eval/evaluate.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

namespace tn = tenon;

// Numbers whose sum depends on the order at every step, and whose products are exact.
Array telling(const std::vector<std::int64_t>& dims, DType dtype = DType::f32) {
  Buffer buffer = Buffer::allocate(DType::f32, dims);
  std::mt19937 random(7);
  auto* const to = reinterpret_cast<float*>(buffer.data());
  for (std::int64_t i = 0; i < buffer.elements(); ++i)
    to[i] = std::ldexp(random() % 2 == 0 ? 1.0f : -1.0f, static_cast<int>(random() % 24));
  return tn::convert(Array(buffer), dtype);
}

// Compiled strictly it is what the reference evaluator, which sums one by one, computes, to the bit.
template <class F, class... Args>
void expect_in_order(F f, const Args&... args) {
  const Array got = tn::jit(f, {.numerics = Numerics::strict})(args...);
  const std::vector<Value> want = evaluate(*tn::trace(f)(args...), {}, std::vector<Value>{args.value()...});
  EXPECT_TRUE(tn::array_equal(got, Array(std::get<Buffer>(want[0]))));
}

TEST(Strict, SumsAreTakenInOrder) {
  const auto total = [](Array x) { return tn::sum(x); };
  for (const std::int64_t n : {1, 7, 64, 1000, 300'000}) expect_in_order(total, telling({n}));
  const Array x = telling({40, 30, 20});
  expect_in_order(total, x);
  expect_in_order([](Array x) { return tn::sum(x, 0); }, x);
  expect_in_order([](Array x) { return tn::sum(x, {0, 2}); }, x);
  expect_in_order([](Array x) { return tn::sum(x, -1); }, x);
  expect_in_order([](Array x) { return tn::sum(x, 0); }, telling({100'000, 3}));
  expect_in_order(total, telling({1000}, DType::f64));
  expect_in_order(total, telling({1000}, DType::bf16));
  EXPECT_FALSE(tn::array_equal(tn::jit(total)(telling({300'000})),
                               tn::jit(total, {.numerics = Numerics::strict})(telling({300'000}))));
}

TEST(Strict, ProductsOfMatricesAreSummedInOrder) {
  const auto product = [](Array a, Array b) { return tn::matmul(a, b); };
  for (const std::int64_t n : {2, 4, 40}) expect_in_order(product, telling({n, n}), telling({n, n}));
  expect_in_order(product, telling({500}), telling({500}));
  expect_in_order(product, telling({5, 60, 70}), telling({5, 70, 4}));
  expect_in_order([](Array a, Array b, Array v) { return tn::matmul(tn::matmul(a, b), v); }, telling({20, 20}),
                  telling({20, 20}), telling({20}));
}

TEST(Strict, NoPassTakesSumsElsewhere) {
  const auto scanned = [](Array x) {
    return tn::sum(tn::scan([](Array c, Array x) { return std::pair(c, x - c); }, tn::zeros({30}), x).second);
  };
  expect_in_order(scanned, telling({50, 30}));
  const auto masked = [](Array x) { return tn::sum(tn::where(x > 0.0f, x, 0.0f)); };
  expect_in_order(masked, telling({3000}));
  const auto accumulated = [](Array x) {
    return tn::scan([](Array c, Array x) { return std::pair(c + tn::sum(x, 0), c); }, tn::zeros({4}), x).first;
  };
  expect_in_order(accumulated, telling({50, 6, 4}));
  const auto of_mean = [](Array a, Array b) { return tn::sum(tn::matmul(a, b)); };
  expect_in_order(of_mean, telling({30, 30}), telling({30, 30}));
}

// Numbers of all bits between 1/2 and 2.
Array of_many_bits(std::int64_t n, DType dtype, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> all(static_cast<std::size_t>(n));
  for (double& x : all) x = std::ldexp(static_cast<double>(random() >> 11), -53) * 1.5 + 0.5;
  return tn::convert(tn::array(std::span<const double>(all)), dtype);
}

TEST(Strict, ProductsAreRoundedBeforeTheyAreAdded) {
  const auto line = [](Array x, Array y, Array z) { return x * y + z; };
  const auto difference = [](Array x, Array y, Array z) { return z - tn::square(x) * -y; };
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::c64, DType::c128}) {
    SCOPED_TRACE(name(dtype));
    const Array x = of_many_bits(1000, dtype, 1), y = of_many_bits(1000, dtype, 2), z = of_many_bits(1000, dtype, 3);
    EXPECT_TRUE(tn::array_equal(tn::jit(line, {.numerics = Numerics::strict})(x, y, z), line(x, y, z)));
    EXPECT_TRUE(tn::array_equal(tn::jit(difference, {.numerics = Numerics::strict})(x, y, z), difference(x, y, z)));
  }
  const Array x = of_many_bits(1000, DType::f64, 1), y = of_many_bits(1000, DType::f64, 2);
  EXPECT_FALSE(tn::array_equal(tn::jit(line)(x, y, x), line(x, y, x)));
  const auto steps = [](Array x) {
    return tn::scan([](Array c, Array x) { return std::pair(c * 0.7 + x, c); }, tn::zeros({}, DType::f64), x).second;
  };
  expect_in_order(steps, x);
}

TEST(Strict, AScopeIsAsGoodAsAnOption) {
  const Array x = telling({100'000});
  const auto total = [](Array x) { return tn::sum(x); };
  const Array want = tn::jit(total, {.numerics = Numerics::strict})(x);
  const auto made_within = [&] {
    const tn::StrictNumerics strict;
    return tn::jit(total);
  }();
  EXPECT_TRUE(tn::array_equal(made_within(x), want));
  const auto a_part = [&](Array x) {
    const Array loose = tn::sum(x * 2.0f);
    const tn::StrictNumerics strict;
    return std::pair(loose, tn::sum(x));
  };
  EXPECT_TRUE(tn::array_equal(tn::jit(a_part)(x).second, want));
  std::string text = tn::print(*tn::trace(a_part)(x));
  EXPECT_THAT(text, ::testing::HasSubstr("strict"));
}

}  // namespace
}  // namespace tenon
