// Indices that follow from the counts of loops are computed from those: against plain loops, and by what is planned.
#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

// What runs, without the list of slots.
template <class F, class... Args>
std::string planned(F f, const Args&... args) {
  std::istringstream lines(kernel::print(plan(*run_passes(compile_passes(), trace(f)(args...))).function));
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (line.find(": ") == std::string::npos) text += line + "\n";
  return text;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::vector<float> numbers(std::size_t n) {
  std::vector<float> v(n);
  std::iota(v.begin(), v.end(), 1.0f);
  return v;
}

Array running_sums(const Array& x) {
  return fori_loop(1, x.dim(0).value(), [](Array i, Array y) { return y.at(i).set(y(i - 1) + y(i)); }, x);
}

TEST(Counters, UpdatesOfRowsHaveNoBounds) {
  const std::string text = planned(running_sums, zeros({100, 3}));
  EXPECT_FALSE(has(text, "i32")) << text;
  EXPECT_FALSE(has(text, " if ")) << text;
  EXPECT_FALSE(has(text, "min(")) << text;
  EXPECT_FALSE(has(text, "in order")) << text;
  EXPECT_TRUE(has(text, "for ")) << text;
  const Array got = jit(running_sums)(array<float>(numbers(300), {100, 3}));
  EXPECT_EQ(got(99, 2).item<float>(), 3.0f * 100 * 101 / 2);
  EXPECT_EQ(got(1, 0).item<float>(), 5);
}

TEST(Counters, NothingIsKeptOfThemForTheReverse) {
  const auto loss = [](const Array& x) {
    return sum(fori_loop(1, 200, [](Array i, Array y) { return y.at(i).set(sin(y(i - 1)) * y(i)); }, x));
  };
  const std::string text = planned(grad(loss), full({200}, 0.5f));
  EXPECT_FALSE(has(text, "i32")) << text;
  const std::vector<float> x(200, 0.75f);
  const Array slope = jit(grad(loss))(array<float>(x, {200}));
  for (const int k : {0, 1, 57, 199}) {
    const auto at = [&](double h) {
      std::vector<double> y(x.begin(), x.end());
      y[static_cast<std::size_t>(k)] += h;
      double sum = y[0];
      for (std::size_t i = 1; i < y.size(); ++i) sum += y[i] = std::sin(y[i - 1]) * y[i];
      return sum;
    };
    EXPECT_NEAR(slope(k).item<float>(), (at(1e-6) - at(-1e-6)) / 2e-6, 1e-4) << k;
  }
}

struct Counted {
  Array i, values;
};

// A carry that each step adds to, read before the addition and behind it, and when the loop has ended.
TEST(Counters, Carries) {
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::i32, DType::i64}) {
    for (const int by : {1, 3, -2}) {
      if (by < 0 && dtype == DType::u8) continue;
      const int start = by < 0 ? 60 : 2;
      const auto run = [&](const Array& x) {
        const auto step = [&](const Counted& c, std::tuple<>) {
          const Array next = c.i + by;
          return std::pair(Counted{next, c.values.at(c.i).set(convert(next * 2, DType::f32)).at(next).add(0.5f)},
                           std::tuple<>());
        };
        const Counted end =
            scan(step, Counted{convert(Array(start), dtype), x}, std::tuple<>(), {.length = Dim(20)}).first;
        return end.values.at(0).set(convert(end.i, DType::f32));
      };
      std::vector<float> expected(80, 0);
      int i = start;
      for (int n = 0; n < 20; ++n, i += by) {
        expected[static_cast<std::size_t>(i)] = static_cast<float>(2 * (i + by));
        expected[static_cast<std::size_t>(i + by)] += 0.5f;
      }
      expected[0] = static_cast<float>(i);
      const Array got = jit(run)(zeros({80}));
      EXPECT_EQ(std::vector<float>(got.span<float>().begin(), got.span<float>().end()), expected)
          << name(dtype) << " by " << by;
      EXPECT_FALSE(has(planned(run, zeros({80})), " if ")) << planned(run, zeros({80}));
    }
  }
}

// Integers that wrap around are what they are.
TEST(Counters, CarriesThatWrapAround) {
  for (const DType dtype : {DType::i8, DType::u8}) {
    const auto run = [&](const Array& x) {
      const auto step = [&](const Array& i, const Array& v) { return std::pair(i + 100, v + convert(i, DType::f32)); };
      const auto [end, values] = scan(step, convert(Array(5), dtype), x);
      return values + convert(end, DType::f32);
    };
    const Array got = jit(run)(zeros({10}));
    int i = 5;
    std::vector<float> expected;
    for (int n = 0; n < 10; ++n) {
      expected.push_back(static_cast<float>(i));
      i = dtype == DType::i8 ? static_cast<std::int8_t>(i + 100) : static_cast<std::uint8_t>(i + 100);
    }
    for (float& v : expected) v += static_cast<float>(i);
    EXPECT_EQ(std::vector<float>(got.span<float>().begin(), got.span<float>().end()), expected) << name(dtype);
  }
}

TEST(Counters, OfLoopsInLoops) {
  const auto run = [](const Array& x) {
    return fori_loop(
        0, 6,
        [](Array i, Array y) {
          return fori_loop(
              0, 5, [&](Array j, Array z) { return z.at(i * 5 + j).add(convert(10 * i + j, DType::f32)); }, y);
        },
        x);
  };
  const Array got = jit(run)(zeros({30}));
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 5; ++j) EXPECT_EQ(got(5 * i + j).item<float>(), static_cast<float>(10 * i + j));
  EXPECT_FALSE(has(planned(run, zeros({30})), " if ")) << planned(run, zeros({30}));
}

// What an inner loop leaves of its count is the last, and begins anew in each step of the outer one.
TEST(Counters, BehindTheirLoops) {
  const auto run = [](const Array& x) {
    const auto outer = [](const Array& total, const Array& v) {
      const auto inner = [](const Array& k, std::tuple<>) { return std::pair(k + 2, std::tuple<>()); };
      const Array k = scan(inner, convert(total * 0, DType::i32), std::tuple<>(), {.length = Dim(7)}).first;
      const Array m = scan(inner, Array(3), std::tuple<>(), {.length = Dim(7)}).first;
      const Array next = total + v + convert(k + m, DType::f32);
      return std::pair(next, next);
    };
    return scan(outer, Array(0.0f), x).second;
  };
  const Array got = jit(run)(array<float>(numbers(5), {5}));
  float total = 0;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(got(i).item<float>(), total += static_cast<float>(i + 1 + 14 + 17));
}

// Tables read elsewhere than where the loop is, backwards, and in a loop that does not run.
TEST(Counters, Tables) {
  const auto run = [](const Array& x) {
    const Array places = 2 * arange(10) + 1;
    const auto step = [&](const Array& y, const Array& k) {
      return std::pair(y.at(k).set(convert(places(9 - k / 3), DType::f32)), k * k);
    };
    const auto [y, squares] = scan(step, x, arange(25), {.reverse = true});
    const auto never = scan(step, y, arange(0)).first;
    return never(slice(0, 25)) + convert(squares + 1, DType::f32);
  };
  const Array got = jit(run)(zeros({40}));
  for (int k = 0; k < 25; ++k)
    EXPECT_EQ(got(k).item<float>(), static_cast<float>(2 * (9 - k / 3) + 1 + k * k + 1)) << k;
}

// Where a bound may be met it stays: indices that run out of the array on either side.
TEST(Counters, BoundsThatAreMetStay) {
  const auto run = [](const Array& x) {
    return fori_loop(0, 12, [](Array i, Array y) { return y.at(i - 3).set(convert(i, DType::f32)); }, x);
  };
  const Array got = jit(run)(zeros({7}));
  // -3, -2, -1 count from the end; 7 and 8 are outside
  const std::vector<float> expected{3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(std::vector<float>(got.span<float>().begin(), got.span<float>().end()), expected);
}

}  // namespace
}  // namespace tenon
