// Traces of jitted functions: what is said where there are many, recursion within them, and how many are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <thread>

#include "tenon/tenon.h"
#include "tests/caches.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using tn::Array;
using tn::cache_named;
using tn::message_of;

namespace {

using Recursive = std::function<Array(const Array&)>;

std::string told_by(const auto& f) {
  testing::internal::CaptureStderr();
  f();
  return testing::internal::GetCapturedStderr();
}

struct TracedTree {
  std::vector<Array> xs;
  int kind;
};

}  // namespace

TEST(Traces, ManyAreToldOnce) {
  const auto f =
      tn::jit([](const TracedTree& t) { return t.xs[0] * static_cast<float>(t.kind); }, {.sizes = tn::Sizes::fixed});
  const auto traced = [&](int from, int to) {
    return told_by([&] {
      for (int i = from; i < to; ++i) f(TracedTree{{tn::zeros({i})}, 1});
    });
  };
  EXPECT_THAT(traced(1, 21), IsEmpty());
  EXPECT_THAT(traced(21, 30), AllOf(HasSubstr("the function jitted at "), HasSubstr("traces.cpp:"),
                                    HasSubstr("has been traced 21 times"),
                                    HasSubstr("argument 0, leaf .0[0], axis 0: 21, was 20 (20 times)")));
  EXPECT_THAT(traced(30, 60), IsEmpty());
}

TEST(Traces, StaticValuesAndSizesOfContainersAreNamed) {
  const auto f = tn::jit([](const TracedTree& t) { return t.xs[0] * static_cast<float>(t.kind); });
  EXPECT_THAT(told_by([&] {
                for (int i = 0; i < 25; ++i) f(TracedTree{{Array(1.f)}, i});
              }),
              HasSubstr("argument 0, leaf .1: 20, was 19 (20 times)"));
  const auto g = tn::jit([](const TracedTree& t) { return t.xs[0]; });
  EXPECT_THAT(told_by([&] {
                for (std::size_t i = 1; i < 25; ++i) g(TracedTree{std::vector<Array>(i, Array(1.f)), 0});
              }),
              HasSubstr("argument 0, leaf .0: 21 elements, was 20 elements (20 times)"));
}

TEST(Traces, JitInALoopIsToldOnce) {
  const auto once = [] { tn::jit([](const Array& x) { return x + 1.f; })(Array{1.f, 2.f}); };
  EXPECT_THAT(told_by([&] {
                for (int i = 0; i < 20; ++i) once();
              }),
              IsEmpty());
  EXPECT_THAT(told_by([&] {
                for (int i = 0; i < 20; ++i) once();
              }),
              AllOf(HasSubstr("jit has been given the function jitted at "), HasSubstr("21 times")));
}

TEST(Traces, RecursionNamesTheCycle) {
  Recursive self;
  const auto f = tn::jit([&](const Array& x) { return self(x - 1.f); });
  self = f;
  EXPECT_THAT(message_of<tn::NestingError>([&] { f(Array(3.f)); }),
              AllOf(HasSubstr("is called for arguments of the same types while it is traced for them"),
                    HasSubstr("the function jitted at "), HasSubstr(" -> "), HasSubstr("fori_loop")));
  Recursive second;
  const auto g = tn::jit([&](const Array& x) { return second(x) * 2.f; });
  const auto h = tn::jit([&](const Array& x) { return g(x) + 1.f; });
  second = h;
  EXPECT_THAT(message_of<tn::NestingError>([&] { tn::grad(g)(Array(3.f)); }), HasSubstr(" -> "));
  // Within what a transformation traces, too.
  const auto refused = [](const auto& step) {
    Recursive again;
    const auto f = tn::jit([&](const Array& x) { return step(again, x); });
    again = f;
    return message_of<tn::NestingError>([&] { f(Array(3.f)); });
  };
  const std::string grad = refused([](const Recursive& f, const Array& x) { return tn::grad(f)(x); });
  const std::string checkpoint = refused([](const Recursive& f, const Array& x) { return tn::checkpoint(f)(x); });
  const std::string loop = refused(
      [](const Recursive& f, const Array& x) { return tn::fori_loop(0, 3, [&](Array, Array y) { return f(y); }, x); });
  for (const std::string& text : {grad, checkpoint, loop}) EXPECT_THAT(text, HasSubstr("while it is traced"));
}

TEST(Traces, RecursionThatEndsGoesOn) {
  std::function<Array(const Array&, int)> again;
  const auto f = tn::jit([&](const Array& x, int n) { return n == 0 ? x : again(x + 1.f, n - 1); });
  again = f;
  EXPECT_EQ(f(Array(0.f), 15).item<float>(), 15.f);
  Recursive rest;
  const auto sum = tn::jit([&](const Array& x) -> Array {
    const std::int64_t n = x.shape()[0].value();
    return n == 1 ? x(0) : x(0) + rest(tn::slice(x, {1}, {n}));
  });
  rest = sum;
  EXPECT_EQ(sum(tn::ones({15})).item<float>(), 15.f);
}

TEST(Traces, RecursionOverEverNewTypesEnds) {
  Recursive again;
  const auto f = tn::jit([&](const Array& x) { return tn::sum(again(tn::expand_dims(x, 0))); });
  again = f;
  told_by([&] { EXPECT_THAT(message_of<tn::Error>([&] { f(Array(3.f)); }), Not(HasSubstr("no error"))); });
}

TEST(Traces, AreKeptWithinABound) {
  const tn::CacheInfo before = cache_named("traces");
  const auto f = tn::jit([](const Array& x, int) { return x; });
  const auto keep = f.prepare(Array{1.f}, -1);
  told_by([&] {
    for (int i = 0; i < 5'000; ++i) f(Array{1.f}, i);
  });
  const tn::CacheInfo after = cache_named("traces");
  EXPECT_EQ(after.misses, before.misses + 5'001);
  EXPECT_EQ(after.bound, before.bound + 2'048);
  EXPECT_LE(after.entries, before.entries + 2'048);
  EXPECT_GE(after.entries, before.entries + 1'024);
  f(Array{1.f}, 4'999);
  f(Array{1.f}, 4'000);
  EXPECT_EQ(cache_named("traces").misses, after.misses);
  EXPECT_EQ(cache_named("traces").hits, after.hits + 2);
  EXPECT_TRUE(tn::array_equal(keep(Array{2.f}, -1), Array{2.f}));  // it holds its own
}

TEST(Traces, AreDroppedWhileThreadsCall) {
  const auto f = tn::jit([](const Array& x, int n) { return x + static_cast<float>(n % 7); });
  told_by([&] {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < 1'500; ++i) {
          const int n = (i * 4 + t) % 5'000;
          EXPECT_EQ(f(Array(1.f), n).item<float>(), 1.f + static_cast<float>(n % 7));
          EXPECT_EQ(f(Array(1.f), -7 * t).item<float>(), 1.f);
          if (t == 0 && i % 500 == 0) tn::clear_caches();
        }
      });
  });
}

TEST(Traces, CachesSayWhatTheyHold) {
  tn::clear_caches();
  for (const tn::CacheInfo& info : tn::cache_info()) EXPECT_EQ(info.entries, 0U) << info.name;
  // No program had this number before: its code lies in no cache folder and is generated.
  const auto number = static_cast<float>(std::random_device{}() % 1'000'003U) + 0.5f;
  const auto f = tn::jit([=](const Array& x) { return tn::sin(x) * number; });
  tn::grad(f)(Array(1.f));
  f(Array(2.f));
  tn::cos(tn::fft::fft(tn::ones({17})));
  for (const tn::CacheInfo& info : tn::cache_info()) {
    EXPECT_GT(info.entries, 0U) << info.name;
    EXPECT_GT(info.misses, 0U) << info.name;
    EXPECT_GE(info.bound, info.entries) << info.name;
  }
  EXPECT_GT(cache_named("transformations").bytes, 0U);
}
