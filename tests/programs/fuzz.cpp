// Random Programs of every flavor have every property; and so do those that once had not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tenon/ir/parse.h"
#include "tenon/ir/print.h"
#include "tests/fuzzing.h"
#include "tests/programs/generator.h"
#include "tests/programs/properties.h"

namespace tenon::sample {
namespace {

// One failing case in its smallest form found.
std::string report(const Property& property, const GeneratorOptions& options, std::uint64_t seed,
                   const std::vector<std::uint32_t>& choices) {
  const auto trial_of = [&](const std::vector<std::uint32_t>& list) {
    Choices again(list);
    return Trial{random_program(again, options), seed, options.flavor == Flavor::smooth};
  };
  const auto fails = [&](const std::vector<std::uint32_t>& list) {
    try {
      const Trial trial = trial_of(list);
      return !check(property, trial).empty();
    } catch (const std::exception&) {
      return false;
    }
  };
  const Trial smallest = trial_of(shrink(choices, fails, std::chrono::seconds(10)));
  return fmt::format("{}: {}\n{}", property.name, check(property, smallest), print(*smallest.program));
}

void expect_properties(const GeneratorOptions& options, std::int64_t count) {
  static constexpr std::string_view of_large[]{"native code", "native jvp", "native vjp"};
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 seeds(fuzzing::seed());
  int failures = 0;
  for (std::int64_t i = 0; i < count && failures < 5; ++i) {
    const std::uint64_t seed = seeds();
    Choices choices(seed);
    ProgramRef p;
    try {
      p = random_program(choices, options);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "case " << i << ": tracing throws " << e.what();
      ++failures;
      continue;
    }
    for (const Property& property : properties()) {
      if (options.large && std::ranges::find(of_large, property.name) == std::end(of_large)) continue;
      if (check(property, {p, seed, options.flavor == Flavor::smooth}).empty()) continue;
      ADD_FAILURE() << "case " << i << ": " << report(property, options, seed, choices.taken());
      ++failures;
      break;
    }
  }
}

TEST(ProgramFuzz, Smooth) {
  decided() = {};
  expect_properties({.flavor = Flavor::smooth}, fuzzing::cases(60));
  EXPECT_GE(4 * decided().decided, 3 * decided().compared);  // or the differences would say little
}
TEST(ProgramFuzz, Mixed) { expect_properties({.flavor = Flavor::mixed}, fuzzing::cases(60)); }
TEST(ProgramFuzz, Complex) { expect_properties({.flavor = Flavor::complex}, fuzzing::cases(30)); }
TEST(ProgramFuzz, SizesThatDataDecide) {
  decided() = {};
  expect_properties({.flavor = Flavor::smooth, .data_sizes = true}, fuzzing::cases(60));
  expect_properties({.flavor = Flavor::mixed, .data_sizes = true}, fuzzing::cases(60) / 2);
  EXPECT_TRUE(decided().lanes_of_chosen_rows > 0 || fuzzing::cases(60) < 60);  // few cases may have none
}
TEST(ProgramFuzz, FloatsOf8Bits) { expect_properties({.flavor = Flavor::storage}, fuzzing::cases(40)); }
TEST(ProgramFuzz, SmallDTypes) { expect_properties({.flavor = Flavor::small}, fuzzing::cases(30)); }

TEST(ProgramFuzz, LargeArrays) {
  // f32 would not do: a sine of a sum of thousands is another number where the sum is rounded otherwise.
  for (const Flavor flavor : {Flavor::smooth, Flavor::complex})
    expect_properties({.flavor = flavor, .large = true}, fuzzing::cases(60) / 2);
}
// Vectors of lanes of every width, to the bit.
TEST(ProgramFuzz, Integers) { expect_properties({.flavor = Flavor::whole}, fuzzing::cases(30)); }
TEST(ProgramFuzz, LargeIntegers) { expect_properties({.flavor = Flavor::whole, .large = true}, fuzzing::cases(60)); }

TEST(ProgramFuzz, EachPassLeftOut) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 seeds(fuzzing::seed());
  const Property property{"", [](const Trial& t) {
                            for (const std::string& pass : optional_passes())
                              if (std::string wrong = without_pass(t, pass); !wrong.empty()) return wrong;
                            return std::string();
                          }};
  for (std::int64_t i = 0; i < (fuzzing::cases(8) + 7) / 8; ++i) {
    const std::uint64_t seed = seeds();
    const GeneratorOptions options{.flavor = i % 2 == 0 ? Flavor::mixed : Flavor::smooth};
    Choices choices(seed);
    const ProgramRef p = random_program(choices, options);
    if (check(property, {p, seed}).empty()) continue;
    ADD_FAILURE() << "case " << i << ": " << report(property, options, seed, choices.taken());
  }
}

// What fuzzing found: each file's Program, which failed in what its first line says.
TEST(Programs, ThatFailedOnce) {
  int found = 0;
  for (const auto& file : std::filesystem::directory_iterator(TENON_TESTS_DIR "/programs/found")) {
    SCOPED_TRACE(file.path().filename());
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const ProgramRef p = parse(text.str(), file.path().filename().string());
    const bool smooth = text.str().find("// smooth") != std::string::npos;
    for (const Property& property : properties())
      for (const std::uint64_t seed : {1, 2}) EXPECT_EQ(check(property, {p, seed, smooth}), "") << property.name;
    ++found;
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace tenon::sample
