// Shapes, hashes, places in the user's code, and the texts of errors.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "tenon/base/error.h"
#include "tenon/base/function_ref.h"
#include "tenon/base/hash.h"
#include "tenon/base/library_call.h"
#include "tenon/base/shape.h"
#include "tenon/base/source.h"

namespace tenon {
namespace {

int twice(int x) { return 2 * x; }

TEST(FunctionRefs, CallWhatTheyAreMadeOf) {
  const auto call = [](FunctionRef<int(int)> f) { return f(21); };
  EXPECT_EQ(call(twice), 42);
  EXPECT_EQ(call(&twice), 42);
  int calls = 0;
  auto counts = [&calls, own = 0](int x) mutable { return calls = x + ++own; };
  EXPECT_EQ(call(counts), 22);
  EXPECT_EQ(call(counts), 23);  // the same object, not a copy of it
  EXPECT_EQ(calls, 23);
  const FunctionRef<long(int)> first = counts;
  const FunctionRef<long(int)> copy = first;
  EXPECT_EQ(copy(0), 3);
  const auto moved = [](FunctionRef<std::unique_ptr<int>(std::unique_ptr<int>)> f) {
    return *f(std::make_unique<int>(5));
  };
  EXPECT_EQ(moved([](std::unique_ptr<int> x) { return x; }), 5);
  EXPECT_FALSE(FunctionRef<void()>());
  EXPECT_TRUE(first);
  static_assert(std::is_convertible_v<decltype(counts)&, FunctionRef<void(int)>>, "what it returns is dropped");
  static_assert(!std::is_convertible_v<decltype(counts)&, FunctionRef<int()>>, "it takes a number");
  static_assert(!std::is_convertible_v<decltype(counts)&, FunctionRef<std::string(int)>>);
  static_assert(!std::is_assignable_v<FunctionRef<int(int)>&, decltype(counts)&>, "it may be temporary");
}

TEST(Shapes, AxesComeAndGo) {
  const Dim T = Dim::variable(0);
  const Shape shape{2, T, 3};
  EXPECT_EQ(shape.text(), "[2,s0,3]");
  EXPECT_EQ(Shape().text(), "[]");
  EXPECT_FALSE(shape.known());
  EXPECT_EQ(shape.elements(), 6 * T);
  EXPECT_EQ(Shape().elements(), Dim(1));
  EXPECT_EQ((Shape{4, 0}).elements(), Dim(0));
  EXPECT_EQ(shape.with_axis(0, 7), (Shape{7, 2, T, 3}));
  EXPECT_EQ(shape.with_axis(3, 7), (Shape{2, T, 3, 7}));
  EXPECT_EQ(shape.without_axis(1), (Shape{2, 3}));
  EXPECT_EQ(shape.without_axis(1).sizes(), (std::vector<std::int64_t>{2, 3}));
}

TEST(Shapes, AxesOfUsersAreChecked) {
  EXPECT_EQ(normalize_axis(0, 3, "sum"), 0u);
  EXPECT_EQ(normalize_axis(-1, 3, "sum"), 2u);
  EXPECT_EQ(normalize_axis(-3, 3, "sum"), 0u);
  for (const std::int64_t axis : {3, -4}) EXPECT_THROW(normalize_axis(axis, 3, "sum"), ShapeError);
  try {
    normalize_axis(2, 2, "sum");
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "ShapeError: sum: axis 2 of an array of rank 2.\n  Axes of this array run from -2 to 1.");
  }
}

TEST(Hashes, TellValuesOrderAndLengthApart) {
  const auto of = [](auto... values) {
    Hasher h;
    (h(values), ...);
    return h.finish();
  };
  EXPECT_EQ(of(1, 2), of(1, 2));
  EXPECT_NE(of(1, 2), of(2, 1));
  EXPECT_NE(of(0), of(0, 0));
  EXPECT_NE(of(0.0), of(-0.0));
  EXPECT_EQ(of(NAN), of(NAN));
  using namespace std::string_view_literals;
  EXPECT_NE(of("a"sv, "b"sv), of("ab"sv, ""sv));
  EXPECT_NE(of("a"sv), of("a\0"sv));
  EXPECT_NE(of(""sv), of());
  std::set<Hash128> seen;  // 128 bits do not collide here; each half alone must not either
  std::set<std::uint64_t> low, high;
  for (int i = 0; i < 100000; ++i) {
    const Hash128 h = of(i);
    seen.insert(h);
    low.insert(h.low);
    high.insert(h.high);
  }
  EXPECT_EQ(seen.size(), 100000u);
  EXPECT_EQ(low.size(), 100000u);
  EXPECT_EQ(high.size(), 100000u);
  EXPECT_EQ((Hash128{0x12, 0xab}).hex(), "00000000000000ab0000000000000012");
}

Source place(const char* file, unsigned line) {
  Source s;
  s.file = file;
  s.line = line;
  return s;
}

TEST(Sources, TheOutermostScopeIsInForce) {
  EXPECT_FALSE(SourceScope::current().known());
  EXPECT_EQ(SourceScope::current().text(), "");
  {
    const SourceScope unknown{Source()};
    const SourceScope outer(place("user.cpp", 12));
    {
      const SourceScope inner(place("library.cpp", 3));
      EXPECT_EQ(SourceScope::current().text(), "user.cpp:12");
      {
        const SourceOverride replayed(place("replayed.cpp", 5));
        EXPECT_EQ(SourceScope::current().text(), "replayed.cpp:5");
        const SourceOverride unknown_place{Source()};
        EXPECT_EQ(SourceScope::current().text(), "replayed.cpp:5");
      }
    }
    EXPECT_EQ(SourceScope::current().text(), "user.cpp:12");
    std::thread([] { EXPECT_FALSE(SourceScope::current().known()); }).join();
  }
  EXPECT_FALSE(SourceScope::current().known());
}

TEST(Sources, ACallOfALibrarysFunctionIsInForceWhereItsPlaceIsUnknown) {
  {
    const LibraryCall call(Source(), "random.normal");
    const SourceScope inner(place("library.cpp", 3), "zeros");
    EXPECT_FALSE(SourceScope::current().known());
    EXPECT_STREQ(ShapeError("zeros: no.").what(), "ShapeError: random.normal (zeros): no.");
    EXPECT_STREQ(ShapeError("random::normal: no.").what(), "ShapeError: random.normal: no.");
    const UserCode not_the_users;
    const SourceScope of_a_loop(place("library.cpp", 5), "scan");
    EXPECT_FALSE(SourceScope::current().known());
    EXPECT_EQ(SourceScope::function(), "random.normal");
  }
  const SourceScope outer(place("user.cpp", 12), "scan");
  const UserCode of_the_user;
  {
    const LibraryCall call(place("step.py", 2), "sin");
    EXPECT_EQ(SourceScope::current().text(), "step.py:2");
  }
  const SourceScope next(place("step.py", 3));
  EXPECT_EQ(SourceScope::current().text(), "step.py:3");
}

TEST(Errors, SayWhatWhereAndWhatToDo) {
  const SourceScope scope(place("user.cpp", 7));
  const DTypeError error("sin of i32.", "Convert it first.");
  EXPECT_STREQ(error.what(), "DTypeError: sin of i32.\n  at user.cpp:7\n  Convert it first.");
  EXPECT_EQ(error.advice(), "Convert it first.");
  EXPECT_EQ(error.where().line, 7u);
  EXPECT_THROW(throw MemoryError("too much."), Error);
  EXPECT_STREQ(ShapeError("no.", "", Source()).what(), "ShapeError: no.");
}

}  // namespace
}  // namespace tenon
