// Stores that write back what is there already: of lanes that have ended, and of guarded rows; against plain loops.
#include <gtest/gtest.h>

#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Numbers = std::vector<float>;

Numbers numbers_of(const Array& x) { return {x.span<float>().begin(), x.span<float>().end()}; }

template <class F, class... Args>
std::string text_of_plan(F f, const Args&... args) {
  return kernel::print(plan(*run_passes(compile_passes(), trace(f)(args...))).function);
}

struct Filling {
  Array i, buffer;
};
// Element `stride`·i of 1000 becomes x + i, for i below `steps`; beyond the end nothing is written.
Array fill(const Array& steps, const Array& x, const Array& stride) {
  return while_loop([&](const Filling& f) { return f.i < steps; },
                    [&](const Filling& f) {
                      const Array value = x + convert(f.i, DType::f32);
                      return Filling{f.i + 1, f.buffer.at(f.i * stride).set(value)};
                    },
                    Filling{Array(0), zeros({1000})})
      .buffer;
}

TEST(IdleStores, LanesThatHaveEnded) {
  for (const std::int64_t lanes : {1, 2, 5, 64, 70}) {
    const Array steps = 3 + arange(lanes) * 7 % 40, x = arange(lanes, DType::f32) * 100;
    const Array stride = 1 + 29 * (arange(lanes) % 2);
    const Array got = jit(vmap(fill))(steps, x, stride);
    Numbers expected(static_cast<std::size_t>(1000 * lanes), 0);
    for (std::int64_t b = 0; b < lanes; ++b)
      for (std::int64_t i = 0; i < 3 + b * 7 % 40; ++i)
        if (const std::int64_t at = i * (1 + 29 * (b % 2)); at < 1000)
          expected[static_cast<std::size_t>(1000 * b + at)] = static_cast<float>(100 * b + i);
    EXPECT_EQ(numbers_of(got), expected) << lanes << " lanes";
  }
}

// Nothing in the loop reads what it writes.
TEST(IdleStores, NothingIsReadForThem) {
  const std::string text = text_of_plan(vmap(fill), arange(8), zeros({8}), arange(8));
  const std::string loop = text.substr(text.find("while "));
  const std::size_t guarded = loop.find(" if and(");
  ASSERT_NE(guarded, std::string::npos) << text;
  const std::size_t line = loop.rfind('\n', guarded) + 1, at = loop.find('m', line);
  const std::string slot = loop.substr(at, loop.find('[', at) + 1 - at);
  EXPECT_EQ(loop.find(slot), at) << text;
  EXPECT_EQ(loop.find(slot, at + 1), std::string::npos) << text;
}

// Of places that are written twice the last value stays, be it the old one.
TEST(IdleStores, PlacesThatAreWrittenTwice) {
  const auto run = [](const Array& x, const Array& at, const Array& chosen, const Array& values) {
    return x.at(at).set(where(chosen, values, x(at)));
  };
  Numbers x(100), values(80), expected;
  std::vector<std::int32_t> at(80);
  std::vector<std::uint8_t> chosen(80);
  for (std::size_t i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < 80; ++i)
    values[i] = -static_cast<float>(i), at[i] = static_cast<std::int32_t>(i * 7 % 10), chosen[i] = i % 3 == 0;
  expected = x;
  for (std::size_t i = 0; i < 80; ++i)
    expected[static_cast<std::size_t>(at[i])] = chosen[i] != 0 ? values[i] : x[static_cast<std::size_t>(at[i])];
  const Array got =
      jit(run)(array<float>(x), array<std::int32_t>(at), array<std::uint8_t>(chosen) != 0, array<float>(values));
  EXPECT_EQ(numbers_of(got), expected);
}

// Rows that a condition of each step guards; of the rows that a step does not write it reads another.
TEST(IdleStores, GuardedRows) {
  const auto run = [](const Array& x, const Array& running) {
    const auto step = [&](const Array& y, const Array& k) {
      const Array row = y((k + 1) % 6) + convert(k, DType::f32);
      return std::pair(where(running(k), y.at(k).set(row), y), std::tuple<>());
    };
    return scan(step, x, arange(6)).first;
  };
  Numbers x(6 * 70);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 11);
  const std::vector<std::uint8_t> running{1, 0, 1, 1, 0, 1};
  Numbers expected = x;
  for (std::size_t k = 0; k < 6; ++k)
    for (std::size_t j = 0; j < 70 && running[k] != 0; ++j)
      expected[70 * k + j] = expected[70 * ((k + 1) % 6) + j] + static_cast<float>(k);
  EXPECT_EQ(numbers_of(jit(run)(array<float>(x, {6, 70}), array<std::uint8_t>(running) != 0)), expected);
}

}  // namespace
}  // namespace tenon
