// Sizes that vary between calls of a jitted function: what becomes a variable, guards, what is traced for each size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tenon/tenon.h"

namespace tn = tenon;

namespace {

using testing::HasSubstr;
using tn::Array;

Array line(std::int64_t n, double from = 1.0) { return tn::arange(n, tn::DType::f64) + from; }

// A jitted function that counts its traces.
template <class F>
auto counted(int& traces, F f, tn::JitOptions options = {}) {
  return tn::jit(
      [&traces, f](const auto&... args) {
        ++traces;
        return f(args...);
      },
      std::move(options));
}

TEST(Sizes, OneTraceForAThousandLengths) {
  int traces = 0;
  const auto f = counted(traces, [](const Array& x) { return std::pair(tn::sin(x) * 2.0, tn::sum(x)); });
  for (std::int64_t n = 2; n < 60; ++n) {
    const auto [y, sum] = f(line(n));
    EXPECT_LT(tn::max(tn::abs(y - tn::sin(line(n)) * 2.0)).item<double>(), 1e-15) << n;
    EXPECT_EQ(sum.item<double>(), static_cast<double>(n * (n + 1) / 2));
  }
  EXPECT_EQ(traces, 2);
}

TEST(Sizes, OfZeroAndOneAreOtherPrograms) {
  int traces = 0;
  const auto f = counted(traces, [](const Array& x) { return std::pair(x * 2.0, x.dim(0) == 1); });
  for (const std::int64_t n : {5, 7, 1, 0, 9, 1, 0, 2, 3}) {
    const auto [y, one] = f(line(n));
    EXPECT_TRUE(tn::array_equal(y, line(n) * 2.0)) << n;
    EXPECT_EQ(one, n == 1);
  }
  EXPECT_EQ(traces, 4);
}

TEST(Sizes, AgreeWhereTheyAlwaysDid) {
  int traces = 0;
  const auto f = counted(traces, [](const Array& x, const Array& y) { return std::pair(x.dim(0) == y.dim(0), x); });
  const auto same = [&](std::int64_t a, std::int64_t b) { return f(line(a), line(b)).first; };
  EXPECT_TRUE(same(5, 5));
  EXPECT_TRUE(same(6, 6));
  EXPECT_TRUE(same(9, 9));
  EXPECT_EQ(traces, 2);
  EXPECT_FALSE(same(6, 7));
  EXPECT_EQ(traces, 3);
  EXPECT_TRUE(same(8, 8));
  EXPECT_FALSE(same(4, 3));
  EXPECT_EQ(traces, 3);
}

TEST(Sizes, OfOtherAxesStayNumbers) {
  int traces = 0;
  std::int64_t columns = 0;
  const auto f = counted(traces, [&](const Array& x) {
    columns = x.dim(1).value();
    return tn::sum(x, 0);
  });
  for (const std::int64_t n : {3, 4, 5, 6}) EXPECT_EQ(f(tn::ones({n, 8})).shape(), tn::Shape{tn::Dim(8)});
  EXPECT_EQ(traces, 2);
  EXPECT_EQ(columns, 8);
}

TEST(Sizes, ThatTheFunctionNeedsAreTracedEach) {
  int traces = 0;
  const auto f = counted(traces, [](const Array& x) {
    Array sum = 0.0;
    for (std::int64_t i = 0; i < x.dim(0).value(); ++i) sum = sum + x(i);
    return sum;
  });
  for (const std::int64_t n : {3, 4, 5, 6}) EXPECT_EQ(f(line(n)).item<double>(), static_cast<double>(n * (n + 1) / 2));
  EXPECT_EQ(traces, 5);  // one of them failed
  int both = 0;
  const auto g =
      counted(both, [](const Array& x, const Array& y) { return x * double(x.dim(0).value()) + tn::sum(y); });
  for (const std::int64_t n : {3, 4, 5, 6}) {
    g(line(3), line(n));
    g(line(3), line(n + 10));
  }
  EXPECT_EQ(both, 2);
  g(line(4), line(5));
  g(line(5), line(7));
  EXPECT_EQ(both, 5);  // the size of y stays any: of each size of x there is one, and the first failed
  g(line(5), line(70));
  EXPECT_EQ(both, 5);
}

TEST(Sizes, ComparedWithNumbers) {
  int traces = 0;
  const auto f = counted(traces, [](const Array& x) { return x.dim(0) == 3 ? x : -x; });
  EXPECT_EQ(f(line(5)).span<double>()[0], -1.0);
  EXPECT_EQ(f(line(4)).span<double>()[0], -1.0);
  EXPECT_EQ(f(line(3)).span<double>()[0], 1.0);
  EXPECT_EQ(traces, 4);
  const auto g =
      tn::jit([](const Array& x) { return x.dim(0) == 1 || x.dim(0) == 0 ? x : -x; }, {.sizes = tn::Sizes::symbolic});
  EXPECT_EQ(g(line(5)).span<double>()[0], -1.0);
  EXPECT_EQ(g(line(1)).span<double>()[0], 1.0);
}

TEST(Sizes, Fixed) {
  int traces = 0;
  const auto f = counted(traces, [](const Array& x) { return x * 2.0; }, {.sizes = tn::Sizes::fixed});
  for (const std::int64_t n : {3, 4, 5, 4, 3}) EXPECT_EQ(f(line(n)).dim(0), tn::Dim(n));
  EXPECT_EQ(traces, 3);
}

TEST(Sizes, Symbolic) {
  int traces = 0;
  const auto f = counted(traces, [](const Array& x, const Array& y) { return x + y; }, {.sizes = tn::Sizes::symbolic});
  EXPECT_EQ(f(line(3), line(3)).span<double>()[2], 6.0);
  EXPECT_EQ(f(line(9), line(9)).span<double>()[2], 6.0);
  EXPECT_EQ(traces, 1);
  EXPECT_THROW(f(line(4), line(5)), tn::ShapeError);
  const auto g =
      tn::jit([](const Array& x) { return x * static_cast<double>(x.dim(0).value()); }, {.sizes = tn::Sizes::symbolic});
  EXPECT_THROW(g(line(4)), tn::ConcretizationError);
}

// The generator is known by the count of its key's words, which are no variable.
TEST(Sizes, SymbolicWithKeys) {
  for (const tn::random::Generator generator :
       {tn::random::Generator::threefry2x32, tn::random::Generator::philox4x32, tn::random::Generator::pcg64dxsm}) {
    int traces = 0;
    const auto draw = [&traces](const Array& key, const Array& x) {
      ++traces;
      return tn::random::uniform(key, x.shape(), x.dtype());
    };
    const auto f = tn::jit(draw, {.sizes = tn::Sizes::symbolic});
    const Array key = tn::random::key(3, generator);
    for (const std::int64_t n : {3, 7}) {
      const Array x = line(n), drawn = f(key, x), alone = tn::random::uniform(key, {n}, tn::DType::f64);
      EXPECT_TRUE(std::ranges::equal(drawn.span<double>(), alone.span<double>()));
    }
    EXPECT_EQ(traces, 1);
    const auto of_each = tn::jit(
        [](const Array& keys) { return tn::vmap([](const Array& k) { return tn::random::uniform(k, {}); })(keys); },
        {.sizes = tn::Sizes::symbolic});
    EXPECT_EQ(of_each(tn::random::split(key, 5)).dim(0), tn::Dim(5));
  }
}

TEST(Sizes, Named) {
  int traces = 0;
  const auto f = counted(traces, [](const Array& x, const Array& y) { return tn::matmul(x, y); },
                         {.named_sizes = {{0, {"T", "K"}}, {1, {"K"}}}});
  for (const std::int64_t n : {3, 5, 8})
    EXPECT_EQ(f(tn::ones({n, n + 1}), tn::ones({n + 1, 4})).span<float>()[0], static_cast<float>(n + 1));
  EXPECT_EQ(traces, 1);
  try {
    f(tn::ones({3, 4}), tn::ones({5, 4}));
    FAIL() << "sizes of one name differ";
  } catch (const tn::ShapeError& e) {
    EXPECT_THAT(e.what(), HasSubstr("the size K is 4 in axis 1 of argument 0, and 5 in axis 0 of argument 1"));
  }
  EXPECT_THROW(f(tn::ones({3}), tn::ones({5, 4})), tn::ShapeError);
}

struct Layer {
  Array w, b;
  int kind = 0;
};

TEST(Sizes, InTreesWithStaticValues) {
  int traces = 0;
  const auto f = counted(traces, [](const std::vector<Layer>& layers, const Array& x) {
    Array y = x;
    for (const Layer& l : layers) y = tn::matmul(y, l.w) + l.b * static_cast<float>(l.kind);
    return y;
  });
  const auto at = [&](std::int64_t batch, std::int64_t width, int kind) {
    const Layer l{tn::ones({width, width}), tn::ones({width}), kind};
    const Array y = f(std::vector<Layer>(2, l), tn::ones({batch, width}));
    EXPECT_EQ(y.span<float>()[0], static_cast<float>(width * (width + kind) + kind));
  };
  at(3, 4, 1), at(5, 4, 1), at(6, 4, 1);
  EXPECT_EQ(traces, 2);
  at(5, 7, 1), at(6, 8, 1), at(2, 9, 1);
  EXPECT_EQ(traces, 3);
  at(9, 9, 1);
  EXPECT_EQ(traces, 4);  // the sizes are equal here
  at(5, 6, 2), at(6, 6, 2), at(7, 3, 2);
  EXPECT_LE(traces, 7);
}

TEST(Sizes, DonatedAndInto) {
  const auto step = tn::jit([](const Array& p, const Array& g) { return p - 0.5 * g; }, {.donate = {0}});
  for (const std::int64_t n : {3, 100, 5000, 4}) {
    Array p = line(n) + 0.0;
    const Array next = step(p, line(n));
    EXPECT_TRUE(tn::array_equal(next, line(n) * 0.5)) << n;
    EXPECT_THROW(p + 1.0, tn::RuntimeError) << n;
  }
  const auto f = tn::jit([](const Array& x) { return x * 3.0; });
  for (const std::int64_t n : {3, 100, 5000, 4}) {
    Array out = tn::zeros({n}, tn::DType::f64);
    f.into(out, line(n));
    EXPECT_TRUE(tn::array_equal(out, line(n) * 3.0));
    EXPECT_THROW(f.into(out, line(n + 1)), tn::ShapeError);
    Array empty;
    f.into(empty, line(n));
    EXPECT_TRUE(tn::array_equal(empty, line(n) * 3.0));
  }
}

TEST(Sizes, OfShorterArraysThanTheTraceSaw) {
  const auto read = tn::jit([](const Array& x) { return x(4) + x(-3); });
  const auto put = tn::jit([](const Array& x) { return x.at(4).set(7.0); });
  const auto cut = tn::jit([](const Array& x) { return tn::slice(x, {tn::Dim(2)}, {tn::Dim(5)}); });
  const auto ends = tn::jit([](const Array& x) { return x(tn::slice(-4, std::nullopt)); });
  for (const std::int64_t n : {9, 8, 7, 5}) {
    EXPECT_EQ(read(line(n)).item<double>(), static_cast<double>(5 + n - 2));
    EXPECT_EQ(put(line(n)).span<double>()[4], 7.0);
    EXPECT_EQ(cut(line(n)).span<double>()[2], 5.0);
    EXPECT_EQ(ends(line(n)).span<double>()[0], static_cast<double>(n - 3));
  }
  for (const std::int64_t n : {4, 2}) {
    EXPECT_THROW(read(line(n)), tn::ShapeError);
    EXPECT_THROW(put(line(n)), tn::ShapeError);
    EXPECT_THROW(cut(line(n)), tn::ShapeError);
    EXPECT_EQ(ends(line(n)).dim(0), tn::Dim(n));
  }
}

TEST(Sizes, PreparedAreOfTheirSizes) {
  const auto f = tn::jit([](const Array& x) { return x * 3.0; });
  f(line(3)), f(line(4));
  const auto prepared = f.prepare(line(5));
  EXPECT_EQ(prepared(line(5)).span<double>()[4], 15.0);
  EXPECT_THROW(prepared(line(6)), tn::TreeError);
  const auto any = tn::jit([](const Array& x) { return x * 3.0; }, {.sizes = tn::Sizes::symbolic}).prepare(line(5));
  EXPECT_EQ(any(line(6)).span<double>()[5], 18.0);
}

TEST(Sizes, StrictOptionsHoldOfEachLength) {
  const auto f = tn::jit([](const Array& x) { return x.at(0).set(1.0); },
                         {.donate = {0}, .strict_in_place = true, .strict_native = true});
  for (const std::int64_t n : {300, 400, 500}) {
    Array x = line(n) + 1.0;
    EXPECT_EQ(f(x).span<double>()[0], 1.0) << n;
  }
}

TEST(Sizes, UnderTransformations) {
  const auto objective = [](const Array& x) { return tn::sum(tn::sin(x) * x); };
  int gradients = 0, batches = 0, nested = 0;
  const auto gradient = counted(gradients, tn::grad(objective));
  const auto batched = counted(batches, tn::vmap([](const Array& x) { return tn::sum(x) * 2.0; }));
  const auto both = counted(nested, tn::vmap(tn::grad(objective)));
  for (const std::int64_t n : {3, 4, 9, 2}) {
    EXPECT_TRUE(tn::allclose(gradient(line(n)), tn::cos(line(n)) * line(n) + tn::sin(line(n)))) << n;
    const Array rows = tn::reshape(line(2 * n), {n, 2});
    EXPECT_TRUE(tn::allclose(batched(rows), tn::sum(rows, 1) * 2.0)) << n;
    EXPECT_TRUE(tn::allclose(both(rows), tn::cos(rows) * rows + tn::sin(rows))) << n;
  }
  EXPECT_EQ(gradients, 2);
  EXPECT_EQ(batches, 2);
  EXPECT_EQ(nested, 2);
}

TEST(Sizes, OfLoopsOverWideRows) {
  // What the reverse loop reads a row at a time is made in its steps, however many there are.
  const auto loss = [](const Array& xs, const Array& c) {
    const auto step = [](const Array& c, const Array& x) { return std::pair(tn::sin(c + x), c * x); };
    return tn::sum(tn::square(tn::scan(step, c, xs).second) + xs);
  };
  const auto gradient = tn::jit(tn::value_and_grad<0, 1>(loss));
  for (const std::int64_t n : {5, 7, 12, 6}) {
    const Array xs = tn::reshape(line(n * 40), {n, 40}) / 100.0, c = line(40) / 40.0;
    const auto [value, slopes] = gradient(xs, c);
    EXPECT_TRUE(tn::allclose(value, loss(xs, c))) << n;
    const auto each = tn::jit(tn::grad<0, 1>(loss), {.sizes = tn::Sizes::fixed})(xs, c);
    EXPECT_TRUE(tn::allclose(std::get<0>(slopes), std::get<0>(each))) << n;
    EXPECT_TRUE(tn::allclose(std::get<1>(slopes), std::get<1>(each))) << n;
  }
}

TEST(Sizes, InsideOfOtherTraces) {
  int inner_traces = 0;
  const auto inner = counted(inner_traces, [](const Array& x) { return x * x; });
  const auto outer = tn::jit([&](const Array& x) { return tn::sum(inner(x)); });
  for (const std::int64_t n : {3, 4, 5, 6})
    EXPECT_EQ(outer(line(n)).item<double>(), static_cast<double>(n * (n + 1) * (2 * n + 1) / 6));
  EXPECT_EQ(inner_traces, 2);
  for (const std::int64_t n : {3, 4, 5}) EXPECT_EQ(tn::grad(outer)(line(n)).span<double>()[1], 4.0);
}

TEST(Sizes, OfReferencesAndCaptures) {
  const Array scale = line(1, 3.0);
  tn::Ref total = tn::make_ref(Array(0.0));
  const auto f = tn::jit([=](const Array& x) mutable {
    total.set(total.get() + tn::sum(x));
    return x * scale;
  });
  double sum = 0;
  for (const std::int64_t n : {3, 4, 5, 6}) {
    EXPECT_TRUE(tn::array_equal(f(line(n)), line(n) * 3.0));
    sum += static_cast<double>(n * (n + 1) / 2);
  }
  EXPECT_EQ(total.get().item<double>(), sum);
}

TEST(Sizes, FromManyThreads) {
  const auto f = tn::jit([](const Array& x) { return std::pair(x * 2.0, tn::sum(x)); });
  std::vector<std::thread> all;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&, t] {
      for (std::int64_t n = 2; n < 40; ++n) {
        const auto [y, sum] = f(line(n + t));
        if (!tn::array_equal(y, line(n + t) * 2.0) || sum.item<double>() != double((n + t) * (n + t + 1) / 2)) ++wrong;
      }
    });
  for (std::thread& t : all) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
