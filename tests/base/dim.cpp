// Symbolic sizes against plain integers: random expressions, evaluated both ways.
#include "tenon/base/dim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {
namespace {

using Values = std::array<std::int64_t, 3>;
constexpr auto least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();

const Dim S = Dim::variable(0), T = Dim::variable(1), U = Dim::variable(2);

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  return q * b == a || (a < 0) == (b < 0) ? q : q - 1;
}

Hash128 hash_of(const Dim& d) {
  Hasher h;
  d.hash(h);
  return h.finish();
}

std::int64_t at(const Dim& d, const Values& values) {
  return d.evaluate([&](SizeVar v) { return values.at(v); });
}

// A Dim and what it means; divisors are positive wherever the variables are.
struct Pair {
  Dim dim;
  std::function<std::int64_t(const Values&)> meaning;
};

Pair random_pair(std::mt19937_64& random, int depth) {
  if (depth == 0 || random() % 5 == 0) {
    if (random() % 2 == 0) {
      const auto value = static_cast<std::int64_t>(random() % 11) - 4;
      return {value, [=](const Values&) { return value; }};
    }
    const auto variable = static_cast<SizeVar>(random() % 3);
    return {Dim::variable(variable), [=](const Values& v) { return v[variable]; }};
  }
  const Pair a = random_pair(random, depth - 1), b = random_pair(random, depth - 1);
  const auto x = a.meaning, y = b.meaning;
  switch (random() % 7) {
    case 0:
      return {a.dim + b.dim, [=](const Values& v) { return x(v) + y(v); }};
    case 1:
      return {a.dim - b.dim, [=](const Values& v) { return x(v) - y(v); }};
    case 2:
      return {a.dim * b.dim, [=](const Values& v) { return x(v) * y(v); }};
    case 3:
      return {min(a.dim, b.dim), [=](const Values& v) { return std::min(x(v), y(v)); }};
    case 4:
      return {max(a.dim, b.dim), [=](const Values& v) { return std::max(x(v), y(v)); }};
    default: {
      const bool quotient = random() % 2 == 0;
      Pair divisor{static_cast<std::int64_t>(random() % 9) - 4, {}};
      if (divisor.dim == Dim(0))
        divisor = {S + 1, [](const Values& v) { return v[0] + 1; }};
      else
        divisor.meaning = [value = divisor.dim.value()](const Values&) { return value; };
      const auto z = divisor.meaning;
      if (quotient) return {floor_div(a.dim, divisor.dim), [=](const Values& v) { return floor_quotient(x(v), z(v)); }};
      return {modulo(a.dim, divisor.dim), [=](const Values& v) { return x(v) - floor_quotient(x(v), z(v)) * z(v); }};
    }
  }
}

TEST(Dims, RandomExpressionsMeanWhatIntegersMean) {
  const char* given = std::getenv("TENON_FUZZ_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 20240607;
  const char* cases = std::getenv("TENON_FUZZ_CASES");
  const int count = cases ? 10 * std::atoi(cases) : 3000;
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE(testing::Message() << "TENON_FUZZ_SEED=" << seed << " case " << i);
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(i));
    const Pair p = random_pair(random, 4), q = random_pair(random, 3);
    SCOPED_TRACE(p.dim.text());
    const Dim renamed = p.dim.substitute([&](SizeVar v) { return v == 0 ? T : v == 1 ? q.dim : S; });
    const Dim same = p.dim.substitute([](SizeVar v) { return Dim::variable(v); });
    EXPECT_EQ(same, p.dim);
    EXPECT_EQ(hash_of(same), hash_of(p.dim));
    EXPECT_EQ(same.text(), p.dim.text());
    for (int j = 0; j < 5; ++j) {
      Values values;
      for (auto& v : values) v = static_cast<std::int64_t>(random() % 8);
      ASSERT_EQ(at(p.dim, values), p.meaning(values)) << values[0] << "," << values[1] << "," << values[2];
      Values other{values[1], q.meaning(values), values[0]};
      ASSERT_EQ(at(renamed, values), p.meaning(other));
      // Equal Dims have equal values.
      if (p.dim == q.dim) {
        ASSERT_EQ(p.meaning(values), q.meaning(values));
      }
    }
  }
}

TEST(Dims, CanonicalFormDecidesEquality) {
  EXPECT_EQ((T + 1) * 2, 2 * T + 2);
  EXPECT_EQ((S + T) * (S - T), S * S - T * T);
  EXPECT_EQ(S * T * U, U * (T * S));
  EXPECT_EQ(T - T, Dim(0));
  EXPECT_TRUE((T + 3 - T).known());
  EXPECT_EQ(floor_div(4 * T + 8, 4), T + 2);
  EXPECT_EQ(modulo(4 * T + 8, 4), Dim(0));
  EXPECT_EQ(floor_div(2 * S * T, -2), Dim(-1) * S * T);
  EXPECT_EQ(min(T, T + 1), T);
  EXPECT_EQ(max(T, T + 1), T + 1);
  EXPECT_EQ(min(S, T), min(T, S));
  EXPECT_EQ(max(2 * S, T) * 2, 2 * max(T, S + S));
  EXPECT_FALSE(S == T);
  EXPECT_FALSE(S == Dim(0));
  EXPECT_FALSE(floor_div(T, 2) == floor_div(T, 3));
  EXPECT_FALSE(min(S, T) == max(S, T));
}

TEST(Dims, FloorSemanticsOfNegativeNumbers) {
  for (const std::int64_t a : {-7, -6, -1, 0, 1, 6, 7})
    for (const std::int64_t b : {-3, -2, -1, 1, 2, 3}) {
      EXPECT_EQ(floor_div(Dim(a), Dim(b)).value(), floor_quotient(a, b));
      EXPECT_EQ(modulo(Dim(a), Dim(b)).value(), a - floor_quotient(a, b) * b);
    }
}

TEST(Dims, DivisionByZeroIsAnError) {
  for (const Dim& a : {Dim(0), Dim(7), T, 2 * T + 1}) {
    EXPECT_THROW(floor_div(a, 0), ShapeError);
    EXPECT_THROW(modulo(a, 0), ShapeError);
  }
  for (const Dim& d : {floor_div(S, T), modulo(S, T)}) EXPECT_THROW(at(d, {4, 0, 0}), ShapeError);
}

TEST(Dims, OverflowIsAnErrorAndExtremesAreNot) {
  EXPECT_THROW(Dim(most) + 1, ShapeError);
  EXPECT_THROW(Dim(least) - 1, ShapeError);
  EXPECT_THROW(Dim(most) * 2, ShapeError);
  EXPECT_THROW(floor_div(Dim(least), -1), ShapeError);
  EXPECT_THROW((T * most) * 2, ShapeError);
  EXPECT_THROW(T * most + T, ShapeError);
  EXPECT_THROW(at(T * T, {0, most, 0}), ShapeError);
  EXPECT_EQ(modulo(Dim(least), -1).value(), 0);
  EXPECT_EQ(min(Dim(most), -5).value(), -5);
  EXPECT_EQ(max(Dim(least), 5).value(), 5);
  EXPECT_EQ((Dim(-1) - Dim(least)).value(), most);
  EXPECT_EQ(floor_div(Dim(least) * T, 2), Dim(least / 2) * T);
  EXPECT_THROW(floor_div(Dim(least) * T, -1), ShapeError);
  EXPECT_EQ(Dim(least).text(), "-9223372036854775808");
  EXPECT_EQ((Dim(least) * T).text(), "-9223372036854775808*s1");
}

// A size that is not known has no number to go on with by mistake.
TEST(Dims, ValueOfWhatIsNotKnownIsAnError) {
  for (const Dim& d : {T, S * 2 + 1, min(S, T)}) {
    EXPECT_THROW(static_cast<void>(d.value()), ConcretizationError);
    EXPECT_FALSE(d.try_value());
  }
  EXPECT_EQ((T - T + 3).value(), 3);
}

TEST(Dims, TextNamesVariablesAndNestedAtoms) {
  const auto name = [](SizeVar v) { return std::string(1, "STU"[v]); };
  EXPECT_EQ(Dim(3).text(name), "3");
  EXPECT_EQ(T.text(name), "T");
  EXPECT_EQ((2 * T + 1).text(name), "2*T+1");
  EXPECT_EQ((S * T - T - 3).text(name), "S*T-T-3");
  EXPECT_EQ((Dim(-1) * S).text(name), "-S");
  EXPECT_EQ((floor_div(T + 1, 2) * S).text(name), (S * floor_div(1 + T, 2)).text(name));
  EXPECT_NE(floor_div(T, 2).text(name).find('T'), std::string::npos);
  int seen = 0;
  (S * min(S + T, 7)).visit_variables([&](SizeVar v) { seen += v == 0 ? 1 : 10; });
  EXPECT_EQ(seen, 12);  // S twice, T once
}

// A cache on disk is keyed by it.
TEST(Dims, HashesAreTheSameInEveryProcess) {
  EXPECT_EQ(hash_of(2 * S + floor_div(T, 3)), hash_of(floor_div(T, 3) + S + S));
  EXPECT_NE(hash_of(S), hash_of(T));
  EXPECT_NE(hash_of(floor_div(S, 2)), hash_of(modulo(S, 2)));
  EXPECT_NE(hash_of(S), hash_of(Dim(0)));
  EXPECT_EQ(hash_of(2 * S + floor_div(T, 3)).hex(), "a50ae395ff33e0d69bfe8c67b23edcce");
}

TEST(Dims, ManyThreadsShareThem) {
  const Dim shared = floor_div(S * T + 1, 2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        Dim mine = shared + i;
        for (int j = 0; j < 5; ++j) mine = mine * 2 - min(mine, U);
        EXPECT_EQ(shared, floor_div(T * S + 1, 2));
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(Dims, SizesOfSizesEndInAnErrorAndNoDeepRecursion) {
  const auto repeated = [](auto step) {
    return [=] {
      Dim d = Dim::variable(0);
      for (int i = 0; i < 100'000; ++i) d = step(d);
    };
  };
  const auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const ShapeError& e) {
      return e.what();
    }
    return {};
  };
  EXPECT_THAT(message(repeated([](const Dim& d) { return floor_div(d + 1, 2); })),
              testing::HasSubstr("more than 500 deep"));
  EXPECT_THAT(message(repeated([](const Dim& d) { return max(floor_div(d, 2), floor_div(d, 3)); })),
              testing::HasSubstr("in more than 20000 places"));
  Dim halved = Dim::variable(0);
  for (int i = 0; i < 100; ++i) halved = floor_div(halved + 1, 2);
  EXPECT_EQ(halved.evaluate([](SizeVar) { return std::int64_t(1) << 40; }), 1);
}

}  // namespace
}  // namespace tenon
