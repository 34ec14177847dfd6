// Sizes beyond memory: eager results, results of compiled programs and what they keep in between are refused with both
// numbers, and the library goes on working.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tn = tenon;

namespace {

constexpr std::int64_t many = std::int64_t(1) << 20, more = std::int64_t(1) << 16;  // 256 GiB of f32 together

// The error tells both numbers, what is too large, and a line of this file from `line` on.
template <class F>
void expect_refused(F&& f, const char* what, int line) {
  try {
    f();
    FAIL() << "a size beyond memory was accepted";
  } catch (const tn::MemoryError& e) {
    EXPECT_THAT(e.what(), testing::ContainsRegex("[0-9]+ bytes were asked for; [0-9]+ bytes are available"));
    EXPECT_THAT(e.what(), testing::HasSubstr(what));
    EXPECT_THAT(e.where().file, testing::EndsWith("memory.cpp"));
    EXPECT_GE(e.where().line, static_cast<unsigned>(line));
  }
  EXPECT_EQ(tn::sum(tn::ones({3}) * 2.f).item<float>(), 6.f);
}

TEST(BeyondMemory, EagerResults) {
  expect_refused([] { return tn::zeros({more, many}) + 1.f; }, "f32[65536,1048576]", __LINE__);
}

TEST(BeyondMemory, ResultsOfCompiledPrograms) {
  const auto f = tn::jit([](const tn::Array& x) { return tn::broadcast_to(x, {more, many}) * 2.f; });
  expect_refused([&] { return f(tn::zeros({many})); }, "f32[65536,1048576]", __LINE__ - 2);
}

TEST(BeyondMemory, WhatACompiledProgramKeepsInBetween) {
  // A product whose sums are strict is no loop over the rows of v.
  const auto f = tn::jit(
      [](const tn::Array& x, const tn::Array& v) {
        const tn::Array big = tn::sin(tn::broadcast_to(x, {more, many}));
        return tn::matmul(big, v);
      },
      {.numerics = tn::Numerics::strict});
  expect_refused([&] { return f(tn::zeros({many}), tn::zeros({many, 8})); }, "68719476736 elements of f32",
                 __LINE__ - 5);
}

}  // namespace
