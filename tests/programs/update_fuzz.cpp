// Random programs of updates, reads, branches and nested loops, under all transformations, against plain numbers.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/fuzzing.h"
#include "tests/programs/properties.h"
#include "tests/programs/traced.h"
#include "tests/programs/updates.h"

namespace tenon::sample {
namespace {

// One failing case in its smallest form found.
template <class Wrong>
std::string report(const std::vector<std::uint32_t>& choices, const Wrong& wrong) {
  const auto fails = [&](const std::vector<std::uint32_t>& list) { return !wrong(list).empty(); };
  return wrong(shrink(choices, fails, std::chrono::seconds(20)));
}

void expect_updates(DType real, std::int64_t count) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 seeds(fuzzing::seed() + static_cast<std::uint64_t>(real) * 1000003);
  int failures = 0;
  for (std::int64_t i = 0; i < count && failures < 5; ++i) {
    const std::uint64_t seed = seeds();
    // Each case has one more of the properties of Programs, so that all are had.
    const Property& also = properties()[static_cast<std::size_t>(i) % properties().size()];
    const auto wrong_with = [&](Choices& choices) -> std::string {
      UpdateTrial trial{.recipe = random_recipe(choices, {.real = real}), .seed = seed, .real = real};
      try {
        trial.program = program_of(trial.recipe);
      } catch (const std::exception& e) {
        return std::string("tracing throws ") + e.what();
      }
      const std::string wrong = check_updates(trial);
      if (!wrong.empty()) return wrong;
      const std::string more = check(also, {trial.program, seed, real == DType::f64});
      return more.empty() ? more : std::string(also.name) + ": " + more;
    };
    Choices choices(seed);
    if (wrong_with(choices).empty()) continue;
    ++failures;
    ADD_FAILURE() << "case " << i << ": " << report(choices.taken(), [&](const std::vector<std::uint32_t>& list) {
      Choices again(list);
      return wrong_with(again);
    });
  }
}

TEST(UpdateFuzz, F64) {
  compared() = {};
  expect_updates(DType::f64, fuzzing::cases(40) * 4 / 5);
  EXPECT_GE(20 * compared().decided, 19 * compared().elements);  // or the comparisons would say little
}
TEST(UpdateFuzz, F32) { expect_updates(DType::f32, fuzzing::cases(40) / 5); }

}  // namespace
}  // namespace tenon::sample
