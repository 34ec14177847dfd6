// jit: specialisations, results into existing memory, donation, contexts, and what calls refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <latch>
#include <thread>

#include "tenon/eval/evaluate.h"
#include "tenon/tenon.h"
#include "tests/error_message.h"
#include "tests/island.h"

namespace tn = tenon;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;

namespace {

struct State {
  Array position, velocity;
  double dt = 0.5;
};
State step(const State& s, const Array& force) {
  return {s.position + s.velocity * s.dt, s.velocity + force * s.dt, s.dt};
}

const float* elements(const Array& a) { return a.span<float>().data(); }

}  // namespace

TEST(Jit, TracesOncePerKindOfArguments) {
  int traced = 0;
  const auto f = tn::jit([&](const Array& x, const Array& y, double factor) {
    ++traced;
    return (x + y) * factor;
  });
  const Array a = {1.f, 2.f}, b = {{1.f, 2.f}, {3.f, 4.f}};
  EXPECT_TRUE(tn::array_equal(f(a, a, 2.0), Array{4.f / 2, 8.f / 2} * 2.f));
  EXPECT_TRUE(tn::array_equal(f(b, b, 2.0), b * 4.f));
  EXPECT_EQ(traced, 2);
  EXPECT_TRUE(tn::array_equal(f(a, a, 3.0), a * 6.f));  // a static value
  EXPECT_EQ(traced, 3);
  EXPECT_EQ(f(Array(1.f), 2.f * Array(1.f), 3.0).item<float>(), 9.f);  // weak numbers
  EXPECT_EQ(traced, 4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(tn::array_equal(f(a, a, 2.0), a * 4.f));
    EXPECT_TRUE(tn::array_equal(f(b, b, 2.0), b * 4.f));
    EXPECT_TRUE(tn::array_equal(f(a, a, 3.0), a * 6.f));
  }
  EXPECT_EQ(traced, 4);
}

TEST(Jit, ManySpecialisations) {
  int traced = 0;
  const auto f = tn::jit(
      [&](const std::vector<Array>& xs) {
        ++traced;
        Array sum = 0.f;
        for (const Array& x : xs) sum = sum + tn::sum(x);
        return sum;
      },
      {.sizes = tn::Sizes::fixed});
  for (int round = 0; round < 2; ++round)
    for (int n = 1; n <= 40; ++n)
      EXPECT_EQ(f(std::vector<Array>(static_cast<std::size_t>(n % 7), tn::ones({n}))).item<float>(),
                static_cast<float>(n % 7 * n));
  EXPECT_EQ(traced, 35 + 1);  // 7, 14, … give the same empty tree
}

// Static values are compared by their bits, as everywhere.
TEST(Jit, StaticValuesByBits) {
  int traced = 0;
  const auto f = tn::jit([&](const Array& x, double c) {
    ++traced;
    return x * c;
  });
  const Array one = {1.0};
  EXPECT_FALSE(std::signbit(f(one, 0.0).item<double>()));
  EXPECT_TRUE(std::signbit(f(one, -0.0).item<double>()));
  EXPECT_TRUE(std::isnan(f(one, std::nan("")).item<double>()));
  EXPECT_TRUE(std::isnan(f(one, std::nan("")).item<double>()));
  EXPECT_EQ(traced, 3);
}

TEST(Jit, IsOneCallInsideOtherTransformations) {
  int traced = 0;
  const auto f = tn::jit([&](const Array& x) {
    ++traced;
    return tn::sum(tn::sin(x) * x);
  });
  const Array x = {0.5f, 1.5f};
  for (int i = 0; i < 3; ++i) {
    const Array slope = tn::grad(f)(x);
    for (std::size_t k = 0; k < 2; ++k) {
      const float v = elements(x)[k];
      EXPECT_NEAR(elements(slope)[k], std::cos(v) * v + std::sin(v), 1e-6);
    }
  }
  EXPECT_EQ(traced, 1);
  const Array lanes = tn::vmap(f)(Array{{0.5f, 1.5f}, {0.f, 1.f}});
  EXPECT_NEAR(elements(lanes)[0], f(x).item<float>(), 1e-6);
  EXPECT_EQ(traced, 1);  // a lane is f32[2] too
  const auto twice = tn::jit([&](const Array& y) { return f(y) + f(2.f * y); });
  EXPECT_NEAR(twice(x).item<float>(), f(x).item<float>() + f(2.f * x).item<float>(), 1e-5);
  EXPECT_EQ(traced, 1);
  const auto program = tn::trace([&](const Array& y) { return f(y) + f(2.f * y); })(x);
  std::size_t calls = 0;
  for (const tn::Eqn& eqn : program->eqns()) calls += eqn.op->name == "call";
  EXPECT_EQ(calls, 2u);
}

TEST(Jit, CapturedArraysAreSnapshots) {
  std::vector<float> memory{1, 2};
  Array factor = tn::borrow(memory.data(), {2}), offset = {10.f, 20.f};
  const auto f = tn::jit([&](const Array& x) { return x * factor + offset; });
  const Array x = {1.f, 1.f}, want = {11.f, 22.f};
  EXPECT_TRUE(tn::array_equal(f(x), want));
  memory[0] = 100;
  offset = Array{0.f, 0.f};
  EXPECT_TRUE(tn::array_equal(f(x), want));
}

namespace {
struct Line {
  Array slope, offset;
  Array at(const Array& x) const { return slope * x + offset; }
};
}  // namespace

TEST(Jit, MemberFunctions) {
  const auto at = tn::jit(&Line::at);
  EXPECT_EQ(at(Line{2.f, 1.f}, Array{3.f}).item<float>(), 7.f);
  EXPECT_EQ(at(Line{3.f, 1.f}, Array{3.f}).item<float>(), 10.f);
}

TEST(Jit, Prepared) {
  const State s{{1.f, 2.f}, {3.f, 4.f}};
  const Array force = {1.f, 1.f};
  const auto compiled = tn::jit(step).prepare(s, force);
  const State next = compiled(s, force);
  EXPECT_TRUE(tn::array_equal(next.position, Array{2.5f, 4.f}));
  EXPECT_TRUE(tn::array_equal(next.velocity, Array{3.5f, 4.5f}));
  const std::string other = message_of<tn::TreeError>([&] { compiled(s, Array{1.f}); });
  EXPECT_THAT(other, HasSubstr("compiled for f32[2] as argument <1>, f32[1] is given"));
  const std::string fixed = message_of<tn::TreeError>([&] { compiled(State{{1.f, 2.f}, {3.f, 4.f}, 0.25}, force); });
  EXPECT_THAT(fixed, HasSubstr("static values"));
}

TEST(Jit, IntoExistingArrays) {
  const State s{{1.f, 2.f}, {3.f, 4.f}};
  const Array force = {1.f, 1.f};
  const auto f = tn::jit(step);
  State result;  // empty: it gets memory
  f.into(result, s, force);
  const float* where = elements(result.position);
  f.into(result, State{{5.f, 6.f}, {0.f, 0.f}}, force);
  EXPECT_EQ(elements(result.position), where);
  EXPECT_TRUE(tn::array_equal(result.position, Array{5.f, 6.f}));
  // Another handle of the same memory keeps its value.
  const Array old = result.position;
  f.into(result, s, force);
  EXPECT_TRUE(tn::array_equal(old, Array{5.f, 6.f}));
  EXPECT_TRUE(tn::array_equal(result.position, Array{2.5f, 4.f}));
  // So do arguments that are results as well.
  State both = s;
  f.into(both, both, force);
  EXPECT_TRUE(tn::array_equal(both.position, Array{2.5f, 4.f}));
  EXPECT_TRUE(tn::array_equal(s.position, Array{1.f, 2.f}));
  State own{tn::zeros({2}) + 1.f, tn::zeros({2}) + 3.f};
  f.into(own, own, force);
  EXPECT_TRUE(tn::array_equal(own.position, Array{2.5f, 2.5f}));
}

TEST(Jit, IntoBorrowedMemory) {
  std::vector<float> plain(4, 0), wide(8, -1), in{1, 2, 3, 4};
  const auto reversed = tn::jit([](const Array& x) { return tn::reverse(x, {0}); });
  Array out = tn::borrow(plain.data(), {4}, {.writable = true});
  reversed.into(out, Array{1.f, 2.f, 3.f, 4.f});
  EXPECT_THAT(plain, testing::ElementsAre(4, 3, 2, 1));
  Array strided = tn::borrow(wide.data(), {4}, {.strides = {8}, .writable = true});
  reversed.into(strided, Array{1.f, 2.f, 3.f, 4.f});
  EXPECT_THAT(wide, testing::ElementsAre(4, -1, 3, -1, 2, -1, 1, -1));
  // An output that overlaps the argument is computed beside it.
  Array same = tn::borrow(in.data(), {4}, {.writable = true});
  reversed.into(same, same);
  EXPECT_THAT(in, testing::ElementsAre(4, 3, 2, 1));
}

TEST(Jit, IntoRefuses) {
  const auto f = tn::jit(step);
  const State s{{1.f, 2.f}, {3.f, 4.f}};
  const Array force = {1.f, 1.f};
  State wrong{tn::zeros({3}), tn::zeros({2})};
  EXPECT_THAT(message_of<tn::ShapeError>([&] { f.into(wrong, s, force); }),
              HasSubstr("into: result .0 is f32[3], the function gives f32[2]"));
  State doubles{tn::zeros({2}), tn::zeros({2}, tn::DType::f64)};
  EXPECT_THAT(message_of<tn::DTypeError>([&] { f.into(doubles, s, force); }), HasSubstr("result .1 is f64[2]"));
  EXPECT_TRUE(tn::array_equal(doubles.position, tn::zeros({2})));  // nothing was written
  const std::vector<float> constant(2, 0);
  State locked{tn::borrow(constant.data(), {2}), {}};
  EXPECT_THAT(message_of<tn::RuntimeError>([&] { f.into(locked, s, force); }), HasSubstr("read-only"));
  State other{tn::zeros({2}), tn::zeros({2}), 0.25};
  EXPECT_THAT(message_of<tn::TreeError>([&] { f.into(other, s, force); }), HasSubstr("static values"));
}

// --- donation ---

namespace {
Array sgd(const Array& p, const Array& g) { return p - 0.5f * g; }
}  // namespace

TEST(Donation, ReusesMemoryOfItsOwn) {
  const auto f = tn::jit(sgd, {.donate = {0}});
  for (const int n : {3, 1000, 300000}) {
    Array p = tn::full({n}, 2.f) + 0.f;
    const Array g = tn::ones({n}) + 0.f;
    const float* where = elements(p);
    const Array next = f(p, g);
    EXPECT_EQ(elements(next), where) << n;
    EXPECT_EQ(elements(next)[n - 1], 1.5f);
    const std::string used = message_of<tn::RuntimeError>([&] { p + 1.f; });
    EXPECT_THAT(used, HasSubstr("was donated to the jitted call at"));
    EXPECT_THAT(used, HasSubstr("jit.cpp"));
    p = next;  // usable again
    EXPECT_EQ((p + 1.f).span<float>()[0], 2.5f);
  }
}

TEST(Donation, LeavesWhatOthersSee) {
  const auto f = tn::jit(sgd, {.donate = {0}});
  const Array g = tn::ones({4}) + 0.f;
  const auto keeps = [&](Array& p) {
    const float before = elements(p)[0];
    const Array next = f(p, g);
    EXPECT_NE(elements(next), elements(p));
    EXPECT_EQ(elements(p)[0], before);
    EXPECT_EQ(elements(next)[0], before - 0.5f);
  };
  Array shared = tn::full({4}, 2.f) + 0.f;
  const Array other = shared;
  keeps(shared);
  const std::vector<float> memory(4, 3);
  Array borrowed = tn::borrow(memory.data(), {4});
  keeps(borrowed);
  std::vector<float> writable(4, 3);
  Array theirs = tn::borrow(writable.data(), {4}, {.writable = true});
  keeps(theirs);
  const Array constant = tn::full({4}, 2.f) + 0.f;
  EXPECT_EQ(elements(f(constant, g))[0], 1.5f);
  EXPECT_EQ(elements(constant)[0], 2.f);
  Array twice = tn::full({4}, 2.f) + 0.f;
  EXPECT_EQ(elements(f(twice, twice))[0], 1.f);  // also an argument that is read
}

// What is read after the result is being written is not overwritten.
TEST(Donation, KeepsOrder) {
  const Array x0 = tn::arange(600, tn::DType::f32);
  const auto check = [&](auto function) {
    const Array want = tn::jit(function)(x0);
    Array x = x0 + 0.f;
    EXPECT_TRUE(tn::array_equal(tn::jit(function, {.donate = {0}})(x), want));
  };
  check([](const Array& x) { return tn::reverse(x, {0}); });
  check([](const Array& x) { return tn::reverse(x, {0}) + x; });
  check([](const Array& x) { return x - tn::sum(x); });
  check([](const Array& x) { return x; });
  check([](const Array& x) { return tn::softmax(tn::reshape(x, {20, 30}), -1); });
  check([](const Array& x) {
    return tn::fori_loop(0, 10, [](const Array& i, const Array& c) { return c.at(i).set(0.5f); }, x);
  });
  check([](const Array& x) {
    return tn::scan([](const Array& c, const Array& e) { return std::pair(c + e, c * e); }, Array(0.f) + 0.f, x).second;
  });
  const auto many = [](const Array& x, const Array& y) { return std::tuple(y + x, x * y, x); };
  const auto [a, b, c] = tn::jit(many)(x0, x0 + 1.f);
  Array x = x0 + 0.f, y = x0 + 1.f;
  const auto [d, e, f] = tn::jit(many, {.donate = {0, 1}})(x, y);
  EXPECT_TRUE(tn::array_equal(a, d) && tn::array_equal(b, e) && tn::array_equal(c, f));
}

// user-code.md 3: a training step updates its parameters in place.
TEST(Donation, TrainingStep) {
  struct Layer {
    Array w, b;
  };
  const auto loss = [](const Layer& p, const Array& x, const Array& y) {
    return tn::mean(tn::square(tn::tanh(tn::matmul(x, p.w) + p.b) - y));
  };
  const auto step = [=](const Layer& p, const Array& x, const Array& y) {
    return tn::tree::map([](const Array& a, const Array& d) { return a - 0.1f * d; }, p, tn::grad(loss)(p, x, y));
  };
  const Array x = tn::reshape(tn::arange(32 * 8, tn::DType::f32), {32, 8}) * 0.01f, y = tn::ones({32, 16});
  const auto fresh = tn::jit(step);
  const auto in_place = tn::jit(step, {.donate = {0}});
  Layer p{tn::zeros({8, 16}) + 0.1f, tn::zeros({16}) + 0.f}, q{p.w + 0.f, p.b + 0.f};
  const float* where = elements(q.w);
  for (int i = 0; i < 5; ++i) {
    p = fresh(p, x, y);
    q = in_place(q, x, y);
  }
  EXPECT_EQ(elements(q.w), where);
  EXPECT_TRUE(tn::array_equal(p.w, q.w));
  EXPECT_TRUE(tn::array_equal(p.b, q.b));
}

// Beyond a thousand instructions or so code is cut into functions, at once and within loops.
TEST(Jit, LongPrograms) {
  const auto layers = [](Array x) {
    for (int i = 0; i < 60; ++i) {
      x = tn::sin(x) * 1.5 + tn::exp(-x) * 0.1 * i;
      x = x / (1.0 + tn::sum(tn::square(x)));
    }
    return x;
  };
  const auto steps = [&](const Array& x) {
    return tn::scan([&](Array c, std::tuple<>) { return std::pair(layers(c), c(0)); }, x, std::tuple<>(),
                    {.length = 3});
  };
  const Array x = {0.3, -1.2, 2.5, 0.1, 0.7};
  Array c = x;
  for (int i = 0; i < 3; ++i) c = layers(c);
  EXPECT_TRUE(tn::all(tn::abs(tn::jit(layers)(x) - layers(x)) < 1e-12).item<bool>());
  EXPECT_TRUE(tn::all(tn::abs(tn::jit(steps)(x).first - c) < 1e-12).item<bool>());
  const auto total = [&](const Array& x) { return tn::sum(layers(x) * Array{1.0, 2.0, 3.0, 4.0, 5.0}); };
  const Array slope = tn::jit(tn::grad(total))(x);
  for (int i = 0; i < 5; ++i) {
    const Array h = tn::convert(tn::arange(5) == i, tn::DType::f64) * 1e-5;
    EXPECT_NEAR(slope(i).item<double>(), (total(x + h) - total(x - h)).item<double>() / 2e-5,
                1e-6 * (1 + std::abs(slope(i).item<double>())));
  }
  tn::Context context;
  context.cancel();
  EXPECT_THROW(tn::jit(steps).with(context)(x), tn::CancelledError);
}

TEST(Donation, RefusesUnknownArguments) {
  EXPECT_THAT(message_of<tn::TreeError>([] { tn::jit(sgd, {.donate = {2}})(Array{1.f}, Array{1.f}); }),
              HasSubstr("donate names argument 2, the function is called with 2 arguments"));
}

// --- contexts ---

namespace {

Array forever(const Array& x) {
  return tn::while_loop([](const Array& c) { return c < 2.f; }, [](const Array& c) { return tn::abs(tn::sin(c)); }, x);
}

// Seconds of processor time from the request to the error, whatever else the machine has to do.
template <class F>
double seconds_to_stop(F f) {
  tn::Context context;
  std::clock_t asked = 0;
  std::latch started(1);
  std::thread other([&] {
    started.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that the loop runs
    asked = std::clock();
    context.cancel();
  });
  started.count_down();
  EXPECT_THAT(message_of<tn::CancelledError>([&] { f(context); }), HasSubstr("cancelled by Context::cancel()"));
  const std::clock_t ended = std::clock();
  other.join();
  return static_cast<double>(ended - asked) / CLOCKS_PER_SEC;
}

}  // namespace

TEST(Context, StopsNativeLoops) {
  const Array x = tn::sum(Array{0.5f});
  const auto f = tn::jit(forever);
  f.prepare(x);
  EXPECT_LT(seconds_to_stop([&](const tn::Context& c) { f.with(c)(x); }), 0.1);
  // One that keeps a list for its reverse, which has no end either.
  const auto slope = tn::jit(tn::grad(forever));
  slope.prepare(x);
  EXPECT_LT(seconds_to_stop([&](const tn::Context& c) { slope.with(c)(x); }), 0.1);
  // Steps that are long themselves, on several threads.
  const Array rows = tn::full({256, 512}, 0.5f) + 0.f;
  const auto wide = tn::jit([](const Array& c) {
    return tn::while_loop([](const Array& m) { return tn::amax(m) < 2.f; },
                          [](const Array& m) { return tn::softmax(m, -1); }, c);
  });
  wide.prepare(rows);
  EXPECT_LT(seconds_to_stop([&](const tn::Context& c) { wide.with(c)(rows); }), 0.1);
  // Loops in loops, of known lengths.
  const auto nested = tn::jit([](const Array& c) {
    const auto inner = [](const Array&, const Array& v) { return tn::sin(v) + 0.001f; };
    return tn::fori_loop(
        0, 1000000, [&](const Array&, const Array& v) { return tn::fori_loop(0, 1000000, inner, v); }, c);
  });
  nested.prepare(Array(0.5f) + x);
  EXPECT_LT(seconds_to_stop([&](const tn::Context& c) { nested.with(c)(Array(0.5f) + x); }), 0.1);
  // One long reduction.
  const Array points = tn::arange(100000, tn::DType::f32) * 1e-5f;
  const auto pairs =
      tn::jit([](const Array& p) { return tn::sum(tn::exp(tn::tanh(tn::square(tn::reshape(p, {100000, 1}) - p)))); });
  pairs.prepare(points);
  EXPECT_LT(seconds_to_stop([&](const tn::Context& c) { pairs.with(c)(points); }), 0.1);
}

// Its number, by an op that has no native form.
Array by_evaluator(const Array& v) { return tn::island(v); }

// The reference evaluator, for what has no native form.
TEST(Context, StopsTheReferenceEvaluator) {
  const Array x = tn::sum(Array{0.5f});
  const auto f = tn::jit([](const Array& c) {
    return tn::while_loop([](const Array& v) { return v < 2.f; }, [](const Array& v) { return by_evaluator(v) * 0.5f; },
                          c);
  });
  EXPECT_LT(seconds_to_stop([&](const tn::Context& c) { f.with(c)(x); }), 0.1);
}

namespace {

tn::Context disturbed;
std::atomic<int> times_attended{0};

}  // namespace

// What is asked for attention attends, goes on, and has the results of a run that nobody disturbed.
TEST(Context, AttendsAndGoesOn) {
  tn::Context::attend_by([] {
    ++times_attended;
    disturbed.attended();
  });
  const auto steps = [](std::int32_t n) {
    return [n](const Array& c) {
      return tn::fori_loop(0, n, [](const Array&, const Array& v) { return tn::sin(v) + 0.5f; }, c);
    };
  };
  const auto same = [&](const auto& f, const Array& x) {
    const Array calm = f(x);
    std::atomic<bool> done{false};
    std::thread other([&] {
      while (!done) {
        disturbed.ask_for_attention();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    do {  // until one call has attended more than once, however late the other thread begins
      times_attended = 0;
      const Array made = f.with(disturbed)(x);
      EXPECT_TRUE(tn::all(made == calm).item<bool>());
    } while (times_attended < 2);
    done = true;
    other.join();
  };
  same(tn::jit(steps(3000000)), tn::sum(Array{0.5f}));
  same(tn::jit(steps(300)), tn::full({512, 512}, 0.5f) + 0.f);  // on several threads
  const auto evaluated = [](const Array& c) {
    return tn::fori_loop(0, 5000, [](const Array&, const Array& v) { return tn::sin(by_evaluator(v)) + 0.5f; }, c);
  };
  same(tn::jit(evaluated), tn::sum(Array{0.5f}));
  same(tn::jit([](const Array& x) {
         return tn::fori_loop(0, 20, [](const Array&, const Array& v) { return tn::matmul(v, v) * 1e-3f; }, x);
       }),
       tn::full({700, 700}, 0.5f) + 0.f);  // products do not stop for it
  tn::Context::attend_by(nullptr);
}

// All that a thread runs, eager ops too; the innermost scope counts.
TEST(Context, Scopes) {
  tn::Context outer, inner;
  outer.cancel();
  const Array x = {1.f};
  const tn::ContextScope scope(outer);
  EXPECT_THROW(x + x, tn::CancelledError);
  const tn::ContextScope within(inner);
  EXPECT_EQ((x + x).item<float>(), 2.f);
}

TEST(Context, LeavesEverythingUsable) {
  const Array x = tn::sum(Array{0.5f});
  const auto f = tn::jit(forever);
  tn::Context context;
  context.cancel();
  EXPECT_THROW(f.with(context)(x), tn::CancelledError);
  EXPECT_EQ(f(x + 3.f).item<float>(), 3.5f);
  context.reset();
  EXPECT_EQ(f.with(context)(x + 3.f).item<float>(), 3.5f);
  EXPECT_EQ(x.item<float>(), 0.5f);
}
