// Random choices, orders, vectors and matrices: how often, that each is there once, errors. Beside JAX in Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tenon/api/random.h"
#include "tenon/ops/composites/philox.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace of_choices {
namespace {

namespace tn = tenon;
namespace draws = tenon::random;
using testing::HasSubstr;
using tn::Array;
using tn::DType;
using tn::Shape;

const Array seed_key = draws::key(11);

std::vector<double> sorted(const Array& x) {
  std::vector<double> all = tn::all_values(x);
  std::ranges::sort(all);
  return all;
}
std::vector<double> up_to(int n) {
  std::vector<double> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}
// How often each index is there, over all.
std::vector<double> parts(const Array& x, std::size_t n) {
  std::vector<double> counts(n);
  for (const double at : tn::all_values(x))
    counts.at(static_cast<std::size_t>(at)) += 1.0 / static_cast<double>(x.shape().elements().value());
  return counts;
}
void expect_parts(const std::vector<double>& got, const std::vector<double>& wanted, const char* what) {
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 0.02) << what << ' ' << i;
}

TEST(Choices, KeysOfArrays) {
  EXPECT_EQ(tn::all_values(draws::key(Array(tn::Scalar(std::int64_t(7))))), tn::all_values(draws::key(7)));
  EXPECT_EQ(tn::all_values(draws::key(Array(tn::Scalar(std::int64_t(-1))))), tn::all_values(draws::key(-1)));
  EXPECT_EQ(tn::all_values(draws::key(Array(tn::Scalar(std::int8_t(-1))))), (std::vector<double>{0, 4294967295.0}));
  const Array keys = tn::vmap([](Array seed) { return draws::key(seed); })(tn::arange(3));
  EXPECT_EQ(tn::all_values(keys), (std::vector<double>{0, 0, 0, 1, 0, 2}));
  EXPECT_THAT(tn::message_of([] { draws::key(tn::zeros({2}, DType::i32)); }), HasSubstr("not one integer"));
  EXPECT_THAT(tn::message_of([] { draws::key(Array(1.5)); }), HasSubstr("not an integer"));
}

// The test vectors of the generator's authors.
TEST(Philox, Blocks) {
  const auto word = [](std::uint32_t x) { return Array(tn::Scalar(x)); };
  const auto of = [&](std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
    const auto made = tn::philox4x32({word(k[0]), word(k[1])}, {word(c[0]), word(c[1]), word(c[2]), word(c[3])});
    std::vector<std::uint32_t> words;
    for (const Array& x : made) words.push_back(x.item<std::uint32_t>());
    return words;
  };
  EXPECT_EQ(of({0, 0, 0, 0}, {0, 0}), (std::vector<std::uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(of({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (std::vector<std::uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(of({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::vector<std::uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// What is drawn of keys of so many words.
void expect_draws(const Array& key, std::int64_t words) {
  EXPECT_EQ(key.shape(), Shape{words});
  EXPECT_EQ(draws::split(key, 3).shape(), (Shape{3, words}));
  EXPECT_EQ(draws::fold_in(key, 3).shape(), Shape{words});
  const Array x = draws::normal(key, {4001}, DType::f64);
  EXPECT_NEAR(tn::mean(x).item<double>(), 0, 0.06);
  EXPECT_NEAR(tn::mean(tn::square(x)).item<double>(), 1, 0.1);
  EXPECT_EQ(sorted(draws::permutation(key, 9)), up_to(9));
  for (const DType d : {DType::u8, DType::u16, DType::u32, DType::u64})
    for (const std::int64_t n : {0, 1, 5}) EXPECT_EQ(draws::bits(key, {n, 3}, d).shape(), (Shape{n, 3}));
  const Array lanes = tn::jit(tn::vmap([](Array k) { return draws::gamma(k, 2.0, Shape{3}); }))(draws::split(key));
  tn::expect_close(lanes(1), draws::gamma(draws::split(key)(1), 2.0, Shape{3}), "lane", 1e-6);
}

TEST(Philox, KeysDrawAndSplit) {
  expect_draws(draws::key(7, draws::Generator::philox4x32), 4);
  // The counter's first word overflows into the next.
  const Array last = tn::convert(tn::from(std::vector<std::int64_t>{1, 2, 0xFFFFFFFF, 0xFFFFFFFF}), DType::u32);
  const Array words = draws::bits(last, {8});
  const auto word = [](std::uint32_t w) { return Array(tn::Scalar(w)); };
  const auto behind = tn::philox4x32({word(1), word(2)}, {word(0), word(0), word(2), word(2)});
  EXPECT_EQ(words(4).item<std::uint32_t>(), behind[0].item<std::uint32_t>());
}

// What numpy.random.PCG64DXSM(7) and (2**64 - 1) give.
TEST(Pcg, NumbersOfNumPy) {
  const Array key = draws::key(7, draws::Generator::pcg64dxsm);
  std::vector<std::uint32_t> words;
  for (int i = 0; i < 8; ++i) words.push_back(key(i).item<std::uint32_t>());
  EXPECT_EQ(words, (std::vector<std::uint32_t>{0x9d0aecc4, 0xe7b18891, 0x9ae2415a, 0x6b292038, 0xc4751896, 0xce8acebf,
                                               0x66887f5a, 0xc070d959}));
  const Array numbers = draws::bits(key, {70001}, DType::u64);
  const std::pair<int, std::uint64_t> wanted[] = {
      {0, 0x18dbeff4a675a4c9},   {1, 0xd2e25e7728ef4f6d},     {255, 0x6467bc7150d8b01e},   {256, 0x982825a0b2277ad1},
      {257, 0xccb0a708f0ae3752}, {65535, 0xdb4bdb1740b49ac2}, {65536, 0xe9b684f5ee301382}, {70000, 0x48046f1713b702b}};
  for (const auto& [i, number] : wanted) EXPECT_EQ(numbers(i).item<std::uint64_t>(), number) << i;
  const Array last = draws::bits(draws::key(-1, draws::Generator::pcg64dxsm), {1}, DType::u64);
  EXPECT_EQ(last(0).item<std::uint64_t>(), 0x6f529805495a9ab3);
  const auto sized =
      tn::jit([&](Array x) { return draws::bits(key, x.shape(), DType::u64); }, {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {0, 1, 255, 257, 66000})
    EXPECT_EQ(tn::all_values(sized(tn::zeros({n}))), tn::all_values(tn::slice(numbers, {tn::Dim(0)}, {tn::Dim(n)})))
        << n;
}

TEST(Pcg, KeysDrawAndSplit) {
  expect_draws(draws::key(7, draws::Generator::pcg64dxsm), 8);
  EXPECT_THAT(tn::message_of([] { draws::bits(tn::zeros({6}, DType::u32), {2}); }),
              HasSubstr("the key is u32[6], not u32[2]"));
}

// Beside what jax.lax.rng_bit_generator gives on processors; more of them in python/tests.
TEST(Choices, BitsOfStates) {
  const Array halves = tn::convert(Array{1, 2, 3, 4}, DType::u32);
  const Array whole = tn::bitcast(tn::reshape(halves, {2, 2}), DType::u64);
  using Numbers = std::vector<double>;
  for (const auto& [generator, shape, dtype, bits, state] :
       std::initializer_list<std::tuple<draws::BitGenerator, Shape, DType, Numbers, Numbers>>{
           {draws::BitGenerator::philox4x32,
            {5},
            DType::u32,
            {512747620, 1298009047, 1267190206, 761827841, 1383286907},
            {1, 2, 5, 4}},
           {draws::BitGenerator::philox4x32, {3}, DType::u8, {100, 215, 190}, {1, 2, 4, 4}},
           {draws::BitGenerator::threefry2x32,
            {2, 3},
            DType::u32,
            {1576285164, 740599976, 2436392515, 2249660814, 2425682526, 1497962777},
            {1, 2, 6, 4}},
           {draws::BitGenerator::threefry2x32,
            {3, 3},
            DType::u32,
            {1576285164, 740599976, 2436392515, 2249660814, 2425682526, 1497962777, 1335360347, 3981753173, 3812192618},
            {1, 2, 9, 4}},
           {draws::BitGenerator::threefry2x32, {}, DType::u8, {236}, {1, 2, 4, 4}}}) {
    const auto made = draws::rng_bit_generator(halves, shape, dtype, generator);
    EXPECT_EQ(made.bits.type(), tn::Type::array(dtype, shape));
    EXPECT_EQ(tn::all_values(made.bits), bits);
    EXPECT_EQ(tn::all_values(made.state), state);
    const auto of_whole = draws::rng_bit_generator(whole, shape, dtype, generator);
    EXPECT_EQ(of_whole.state.type(), whole.type());
    EXPECT_EQ(tn::all_values(of_whole.bits), bits);
  }
  const auto any_size = tn::jit(
      [&](const Array& x) {
        return draws::rng_bit_generator(halves, x.shape(), DType::u64, draws::BitGenerator::threefry2x32).bits;
      },
      {.sizes = tn::Sizes::symbolic});
  for (const std::int64_t n : {2, 7})
    EXPECT_EQ(
        tn::all_values(any_size(tn::zeros({n}))),
        tn::all_values(draws::rng_bit_generator(halves, {n}, DType::u64, draws::BitGenerator::threefry2x32).bits));
  EXPECT_THAT(tn::message_of([&] { draws::rng_bit_generator(tn::zeros({4}), {2}); }),
              HasSubstr("rng_bit_generator: the state is f32[4]"));
  EXPECT_THAT(tn::message_of([&] { draws::rng_bit_generator(halves, {2}, DType::i32); }),
              HasSubstr("i32 is not an unsigned integer dtype"));
}

TEST(Choices, Permutations) {
  for (const int n : {0, 1, 2, 7, 2000}) EXPECT_EQ(sorted(draws::permutation(seed_key, n)), up_to(n)) << n;
  const Array rows = tn::reshape(tn::arange(12), {4, 3});
  const Array moved = draws::permutation(seed_key, rows);
  EXPECT_EQ(sorted(moved(tn::all, 0)), (std::vector<double>{0, 3, 6, 9}));
  EXPECT_EQ(tn::all_values(moved(tn::all, 1) - moved(tn::all, 0)), (std::vector<double>{1, 1, 1, 1}));
  const Array apart = draws::permutation(seed_key, rows, {.axis = 1, .independent = true});
  EXPECT_EQ(tn::all_values(tn::sort(apart, 1)), tn::all_values(rows));
  const Array first = tn::vmap([](Array key) { return draws::permutation(key, 4)(0); })(draws::split(seed_key, 4000));
  expect_parts(parts(first, 4), {0.25, 0.25, 0.25, 0.25}, "first");
  EXPECT_EQ(tn::all_values(tn::jit([](Array key) { return draws::permutation(key, 9); })(seed_key)),
            tn::all_values(draws::permutation(seed_key, 9)));
}

TEST(Choices, OfARange) {
  const Array p{0.5f, 0.0f, 0.2f, 0.3f};
  const std::vector<double> wanted{0.5, 0, 0.2, 0.3};
  expect_parts(parts(draws::choice(seed_key, 4, {5000}), 4), {0.25, 0.25, 0.25, 0.25}, "alike");
  expect_parts(parts(draws::choice(seed_key, 4, {50, 100}, {.p = p}), 4), wanted, "weights");
  expect_parts(parts(draws::categorical(seed_key, tn::log(p), 0, {.shape = Shape{5000}}), 4), wanted, "categorical");
  expect_parts(parts(draws::categorical(seed_key, tn::log(p), 0, {Shape{5000}, true, draws::Resolution::high}), 4),
               wanted, "high");
  EXPECT_EQ(sorted(draws::choice(seed_key, 5, {5}, {.replace = false})), up_to(5));
  EXPECT_EQ(sorted(draws::choice(seed_key, 4, {3}, {.replace = false, .p = p})), (std::vector<double>{0, 2, 3}));
  EXPECT_EQ(sorted(draws::categorical(seed_key, tn::zeros({4}), -1, {.shape = Shape{4}, .replace = false})), up_to(4));
  EXPECT_EQ(draws::choice(seed_key, 4, {0}).shape(), Shape{0});
  EXPECT_EQ(draws::choice(seed_key, 4, {2}, {.index = DType::i64}).dtype(), DType::i64);
}

TEST(Choices, OfElements) {
  const Array rows{{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}};
  EXPECT_EQ(draws::choice(seed_key, rows, {4}, {.axis = 1}).shape(), (Shape{2, 4}));
  EXPECT_EQ(sorted(draws::choice(seed_key, rows, {2}, {.replace = false})(tn::all, 0)), (std::vector<double>{1, 4}));
  const Array logits = tn::log(Array{{1.f, 3.f}, {1.f, 1.f}, {3.f, 1.f}});
  EXPECT_EQ(draws::categorical(seed_key, logits, 0, {.shape = Shape{7, 2}}).shape(), (Shape{7, 2}));
  EXPECT_EQ(draws::categorical(seed_key, logits, 1, {.shape = Shape{2, 3}, .replace = false}).shape(), (Shape{2, 3}));
}

TEST(Choices, ResolutionOfBits) {
  const Array often = draws::bernoulli(seed_key, 0.3, Shape{5000}, draws::Resolution::high);
  EXPECT_NEAR(tn::mean(tn::convert(often, DType::f32)).item<float>(), 0.3f, 0.03f);
  const Array x = draws::gumbel(seed_key, {5000}, DType::f64, draws::Resolution::high);
  EXPECT_NEAR(tn::mean(x).item<double>(), 0.5772, 0.08);
}

TEST(RandomVectors, NormalOnesByEachFactor) {
  const Array mean{1.0, -2.0}, covariance{{2.0, 0.6}, {0.6, 1.0}};
  for (const auto factor : {draws::Factor::cholesky, draws::Factor::eigh, draws::Factor::svd}) {
    const Array x = draws::multivariate_normal(seed_key, mean, covariance, {Shape{4000}, DType::f64, factor});
    const Array centred = x - mean;
    EXPECT_EQ(x.shape(), (Shape{4000, 2}));
    EXPECT_TRUE(tn::allclose(tn::mean(x, 0), mean, 0.1, 0.1));
    EXPECT_TRUE(tn::allclose(tn::matmul(tn::transpose(centred), centred) / 4000.0, covariance, 0.1, 0.1));
  }
  const Array batch = tn::broadcast_to(covariance, {3, 2, 2});
  EXPECT_EQ(draws::multivariate_normal(seed_key, mean, batch, {.dtype = DType::f64}).shape(), (Shape{3, 2}));
  const auto total = [&](Array c) {
    return tn::sum(draws::multivariate_normal(seed_key, mean, c, {.dtype = DType::f64}));
  };
  EXPECT_TRUE(tn::all(tn::is_finite(tn::grad(total)(covariance))).item<bool>());
}

TEST(RandomVectors, RotationsAndPoints) {
  for (const DType d : {DType::f64, DType::c128}) {
    const Array q = draws::orthogonal(seed_key, 4, 3, {5}, d), unit = tn::matmul(tn::conj(tn::move_axis(q, 1, 2)), q);
    EXPECT_EQ(q.shape(), (Shape{5, 4, 3}));
    EXPECT_TRUE(tn::allclose(unit, tn::broadcast_to(tn::eye(3, d), {5, 3, 3}), 1e-12, 1e-12));
    EXPECT_EQ(draws::orthogonal(seed_key, 2, 5, {}, d).shape(), (Shape{2, 5}));
  }
  const Array in_ball = draws::ball(seed_key, 3, 1, {150}, DType::f64), size = tn::sum(tn::abs(in_ball), -1);
  EXPECT_TRUE(tn::all(size < 1).item<bool>());
  EXPECT_NEAR(tn::mean(size).item<double>(), 0.75, 0.07);
  const Array z = draws::normal(seed_key, {4000}, DType::c64);
  EXPECT_EQ(z.dtype(), DType::c64);
  EXPECT_NEAR(tn::mean(tn::square(tn::abs(z))).item<float>(), 1, 0.08);
}

TEST(RandomVectors, CountsOfOutcomes) {
  const Array p{{0.2, 0.3, 0.5}, {0.0, 1.0, 0.0}};
  const Array counts = draws::multinomial(seed_key, 40, p, Shape{300, 2, 3}, DType::f64);
  EXPECT_TRUE(tn::all(tn::sum(counts, -1) == 40.0).item<bool>());
  EXPECT_TRUE(tn::allclose(tn::mean(counts, 0), 40.0 * p, 0.05, 0.5));
  EXPECT_EQ(draws::multinomial(seed_key, Array{1.0, 2.0}, p).shape(), (Shape{2, 3}));
}

TEST(RandomVectors, Errors) {
  const auto said = [](auto f) { return tn::message_of(f); };
  EXPECT_THAT(said([] { draws::choice(seed_key, 0, {3}); }), HasSubstr("of 0 elements none can be taken"));
  EXPECT_THAT(said([] { draws::choice(seed_key, 2, {3}, {.replace = false}); }), HasSubstr("3 of 2 elements"));
  EXPECT_THAT(said([] { draws::choice(seed_key, 2, {3}, {.p = tn::ones({3})}); }), HasSubstr("p is f32[3]"));
  EXPECT_THAT(said([] { draws::categorical(seed_key, tn::ones({2, 3}), 1, {.shape = Shape{1}}); }),
              HasSubstr("does not hold"));
  EXPECT_THAT(said([] { draws::permutation(seed_key, tn::ones({2}), {.axis = 1}); }), HasSubstr("random::permutation"));
  EXPECT_THAT(said([] { draws::categorical(seed_key, tn::ones({3}), -1, {.shape = Shape{4}, .replace = false}); }),
              HasSubstr("random::categorical: 4 of the 3 categories along axis -1 of f32[3]"));
  EXPECT_THAT(said([] { draws::permutation(seed_key, -1); }), HasSubstr("random::permutation: of -1 elements"));
  EXPECT_THAT(said([] { draws::normal(seed_key, {2, -1}); }), HasSubstr("the shape [2,-1] has a negative size"));
  EXPECT_THAT(said([] { draws::gamma(seed_key, tn::complex(tn::ones({2}), tn::ones({2}))); }),
              HasSubstr("random::gamma: a parameter is c64[2]"));
  EXPECT_THAT(said([] { draws::permutation(tn::zeros({3}), 3); }), HasSubstr("not u32[2]"));
  EXPECT_THAT(said([] { draws::multivariate_normal(seed_key, tn::ones({3}), tn::eye(2)); }),
              HasSubstr("the mean is f32[3]"));
  EXPECT_THAT(said([] { draws::multinomial(seed_key, 3, 0.5); }), HasSubstr("no axis of outcomes"));
  EXPECT_THAT(said([] { draws::ball(seed_key, 3, 2, {}, DType::i32); }), HasSubstr("not a real dtype"));
}

}  // namespace
}  // namespace of_choices
