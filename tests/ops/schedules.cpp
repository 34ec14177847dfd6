// Checkpoint schedules as programs over integers: run without a loop, they say which steps are run how often. The
// counts stand beside the optimum for steps that are known beforehand.
#include <gtest/gtest.h>

#include <array>

#include "tenon/api/data.h"
#include "tenon/api/jit.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/control/schedule.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

constexpr std::int64_t lost = -(std::int64_t(1) << 50);

Array number(std::int64_t value) { return Array(Scalar(value)); }
Array at(const Array& x, const Array& i) { return reshape(dynamic_slice(x, Arrays{i}, {Dim(1)}), Shape{}); }
Array put(const Array& x, const Array& i, const Array& v) {
  return dynamic_update_slice(x, reshape(v, Shape{Dim(1)}), Arrays{i});
}

struct Count {
  std::int64_t extra = 0, end = 0;  // steps that are run again; a number below 0 where a carry was not what it should
};

enum class Steps : std::uint8_t { known, decided };

// Carries are their step's number.
Count count(const Checkpoints& checkpoints, std::int64_t segment, std::int64_t steps, Steps known) {
  const auto walk = jit([=](const Array& n) {
    Schedule schedule{.checkpoints = checkpoints, .segment = segment};
    if (known == Steps::known) schedule.steps = n;
    const auto moved = [](const Array& carry, const Array& from, const Array& to) {
      return where(carry == from, to, number(lost));
    };
    const WayOut out{.more = [&](const Arrays& s) { return (s[0] < n) & (s[0] >= 0); },
                     .keep = [](const Array& place, const Arrays& s) { return Arrays{s[0], put(s[1], place, s[0])}; },
                     .run =
                         [&](const Array& from, const Array& to, const Arrays& s) {
                           const Array end = min(to, n);
                           return Arrays{end, moved(s[0], from, end), s[1]};
                         }};
    const std::int64_t places = places_of(schedule, Dim(steps)).value();
    Kept kept = go_out(schedule, out, {number(0), full(Shape{Dim(places)}, number(-1))});
    const Array reached = kept.state[0];
    kept.state = Arrays(1, kept.state[1]);
    const WayBack back{
        .restore = [](const Array& place,
                      const Arrays& kept) { return Arrays{at(kept[0], place), at(kept[0], place)}; },
        .run = [&](const Array& from, const Array& to, const Arrays& c) { return Arrays{c[0], moved(c[1], from, to)}; },
        .keep = [](const Array& place, const Array& wanted, const Arrays& c,
                   const Arrays& kept) { return Arrays{put(kept[0], place, where(wanted, c[1], at(kept[0], place)))}; },
        // Segments come one behind the other, from the end.
        .pull =
            [&](const Array& from, const Array& to, const Arrays& c, const Arrays& pulled) {
              const Array good = (c[1] == from) & (pulled[1] == to) & (to - from <= segment);
              return Arrays{pulled[0] + (from - c[0]), where(good, from, number(lost))};
            }};
    const Arrays pulled = come_back(schedule, back, kept, {number(0), where(reached == n, n, number(lost))});
    return std::pair(pulled[0], pulled[1]);
  });
  const auto [extra, end] = walk(number(steps));
  return {extra.item<std::int64_t>(), end.item<std::int64_t>()};
}

// Steps that are run again by the optimum of Griewank and Walther, of one that is recorded at a time, beside one run of
// all steps but the last.
std::int64_t optimum(std::int64_t places, std::int64_t steps) {
  std::int64_t r = 0, below = 0, all = 1;  // below = C(places + r, r - 1)
  while (all < steps) {
    ++r;
    below = r == 1 ? 1 : below * (places + r) / (r - 1);
    all = all * (places + r) / r;
  }
  return steps <= 1 ? 0 : r * steps - below - (steps - 1);
}

TEST(Schedule, OptimumAsByRecursion) {
  // t(s, l) = min over m of m + t(s - 1, l - m) + t(s, m).
  constexpr std::size_t most = 60;
  std::array<std::array<std::int64_t, most>, 8> t{};
  for (std::size_t l = 2; l < most; ++l) t[1][l] = static_cast<std::int64_t>(l * (l - 1) / 2);
  for (std::size_t s = 2; s < 8; ++s)
    for (std::size_t l = 2; l < most; ++l) {
      std::int64_t best = std::int64_t(1) << 40;
      for (std::size_t m = 1; m < l; ++m)
        best = std::min(best, static_cast<std::int64_t>(m) + t[s - 1][l - m] + t[s][m]);
      t[s][l] = best;
    }
  for (std::size_t s = 1; s < 8; ++s)
    for (std::size_t l = 1; l < most; ++l) {
      const auto steps = static_cast<std::int64_t>(l);
      EXPECT_EQ(optimum(static_cast<std::int64_t>(s), steps), t[s][l] - (steps - 1)) << s << " places, " << l;
    }
}

TEST(Schedule, EveryStepIsPulledBackOnceFromItsCarry) {
  for (const std::int64_t steps : {0, 1, 2, 3, 4, 7, 19, 50})
    for (const std::int64_t n : {1, 2, 3, 5, 17})
      for (const std::int64_t segment : {std::int64_t(1), std::int64_t(4), n}) {
        SCOPED_TRACE(testing::Message() << steps << " steps, " << n << " places, segments of " << segment);
        EXPECT_EQ(count({CheckpointKind::binomial, n}, segment, steps, Steps::known).end, 0);
        EXPECT_EQ(count({CheckpointKind::binomial, n}, segment, steps, Steps::decided).end, 0);
      }
  for (const std::int64_t steps : {1, 6, 7})
    for (const std::int64_t k : {1, 2, 7, 9}) {
      const Count every = count({CheckpointKind::every, k}, k, steps, Steps::known);
      EXPECT_EQ(every.end, 0);
      EXPECT_EQ(every.extra, 0);
    }
}

// The table of docs/cost.md. Run again beside the optimum: of known steps fewer than the first sweep's own end, of
// steps that a condition decides at most 2/5 more.
TEST(Schedule, CountsBesideTheOptimum) {
  struct Pair {
    std::int64_t places, steps;
  };
  std::printf("| carries | steps | optimum | known steps | a condition | known, recorded at once | a condition |\n");
  for (const auto& [n, steps] : {Pair{1, 10}, {2, 10},    {2, 100},    {3, 50},    {3, 500},    {4, 100},  {4, 1000},
                                 {5, 200},    {8, 100},   {8, 1000},   {8, 5000},  {10, 1000},  {16, 100}, {16, 1000},
                                 {16, 5000},  {32, 1000}, {32, 10000}, {64, 1000}, {64, 10000}, {100, 200}}) {
    const Checkpoints binomial{CheckpointKind::binomial, n};
    const std::int64_t best = optimum(n, steps);
    const Count known = count(binomial, 1, steps, Steps::known), decided = count(binomial, 1, steps, Steps::decided),
                known_at_once = count(binomial, n, steps, Steps::known),
                decided_at_once = count(binomial, n, steps, Steps::decided);
    std::printf("| %d | %d | %d | %d | %d | %d | %d |\n", int(n), int(steps), int(best), int(known.extra),
                int(decided.extra), int(known_at_once.extra), int(decided_at_once.extra));
    EXPECT_GE(known.extra, best);
    EXPECT_LE(known.extra, best + steps);
    EXPECT_GE(decided.extra, best);
    EXPECT_LE(static_cast<double>(decided.extra), 1.4 * static_cast<double>(best) + 10) << n << " of " << steps;
    EXPECT_LE(known_at_once.extra, known.extra);
    EXPECT_LE(decided_at_once.extra, decided.extra + n);
  }
}

}  // namespace
}  // namespace tenon
