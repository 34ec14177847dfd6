// Functions that take sizes, of all that a size can be: a number, the size of an argument, and what is computed of it;
// jitted and transformed, beside calls that are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tenon/tenon.h"
#include "tests/fuzzing.h"

namespace tn = tenon;

namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using tn::Array;
using tn::Arrays;
using tn::Dim;

// A vector and a size of at least 2.
using Function = std::function<Arrays(const Array&, const Dim&)>;
struct Case {
  std::string name;
  Function f;
};

const auto d = tn::DType::f64;

Array grid(const Dim& n) { return tn::reshape(tn::arange(n * Dim(3), d), {n, 3}); }

std::vector<Case> makers_and_movers() {
  return {
      {"zeros",
       [=](const Array& x, const Dim& n) { return Arrays{tn::zeros({n, 2}, d) + tn::sum(x), tn::ones({n}, d)}; }},
      {"full", [=](const Array& x, const Dim& n) { return Arrays{tn::full({n, 2}, tn::sum(x))}; }},
      {"arange",
       [=](const Array& x, const Dim& n) { return Arrays{tn::arange(n, d) * x(0), tn::arange(n + Dim(1), d)}; }},
      {"iota", [=](const Array& x, const Dim& n) { return Arrays{tn::iota(d, {2, n}, 1) * x(0)}; }},
      {"eye", [=](const Array& x, const Dim& n) { return Arrays{tn::eye(n, d) * x(0)}; }},
      {"one_hot", [=](const Array& x, const Dim& n) { return Arrays{tn::one_hot(tn::arange(2), n, d) * x(0)}; }},
      {"reshape",
       [=](const Array& x, const Dim& n) {
         return Arrays{tn::reshape(grid(n), {3, n}) * x(0), tn::reshape(grid(n), {-1}), tn::reshape(grid(n), {n, -1})};
       }},
      {"broadcast_to", [=](const Array& x, const Dim& n) { return Arrays{tn::broadcast_to(x, {n, x.dim(0)})}; }},
      {"slices",
       [=](const Array& x, const Dim& n) {
         const Array all = tn::arange(40, d) * x(0);
         return Arrays{all(tn::slice(n)),
                       all(tn::slice(n, std::nullopt)),
                       all(tn::slice(1, n, 2)),
                       tn::slice_in_dim(all, 1, n + Dim(1), 0),
                       all(tn::slice(n - Dim(3), std::nullopt, -1)),
                       all(n)};
       }},
      {"windows",
       [=](const Array& x, const Dim& n) {
         const Array all = tn::arange(40, d) * x(0);
         return Arrays{all(tn::window(Array(3), n)), all.at(tn::window(Array(3), n)).set(1.0), all.at(n).add(2.0)};
       }},
      {"split",
       [=](const Array& x, const Dim& n) {
         const std::vector<Array> parts = tn::split(tn::arange(n * Dim(2), d) * x(0), 2);
         return Arrays{parts[0], parts[1]};
       }},
      {"scan of a length",
       [=](const Array& x, const Dim& n) {
         const auto halved = [](const Array& c, const std::tuple<>&) { return std::pair(c * 0.5, c); };
         auto [last, all] = tn::scan(halved, tn::sum(x), std::tuple<>(), {.length = n});
         return Arrays{last, all};
       }},
      {"scan over arange",
       [=](const Array& x, const Dim& n) {
         auto [last, all] =
             tn::scan([](const Array& c, const Array& i) { return std::pair(c * 0.5 + i, c); }, x(0), tn::arange(n, d));
         return Arrays{last, all};
       }},
      {"concatenate",
       [=](const Array& x, const Dim& n) {
         return Arrays{tn::concatenate({x, tn::zeros({n}, d)}, 0),
                       tn::stack(Arrays{tn::ones({n}, d), tn::arange(n, d) * x(0)})};
       }},
      {"matmul",
       [=](const Array& x, const Dim& n) { return Arrays{tn::matmul(grid(n), tn::transpose(grid(n))) * x(0)}; }},
  };
}

std::vector<Case> library_and_random() {
  const Array key = tn::random::key(3);
  return {
      {"sort",
       [=](const Array& x, const Dim& n) {
         const Array mixed = tn::sin(tn::arange(n, d) * 3.0) * x(0);
         return Arrays{tn::sort(mixed), tn::argsort(mixed), tn::sort(grid(n), 0), tn::top_k(mixed, 2).values,
                       tn::top_k(tn::arange(40, d), n).values};
       }},
      {"solve",
       [=](const Array& x, const Dim& n) {
         const Array a = tn::eye(n, d) * 3.0 + tn::full({n, n}, Array(0.25));
         return Arrays{tn::solve(a, tn::ones({n, 1}, d)) * x(0), tn::cholesky(a)};
       }},
      {"random",
       [=](const Array& x, const Dim& n) {
         return Arrays{tn::random::normal(key, {n}, d) * x(0),
                       tn::random::uniform(key, {n, 2}, d),
                       tn::random::bits(key, {n}),
                       tn::random::randint(key, {n}, 0, 9),
                       tn::random::exponential(key, {n}, d),
                       tn::random::gumbel(key, {n}, d),
                       tn::convert(tn::random::bernoulli(key, 0.3, tn::Shape{n}), d),
                       tn::convert(tn::random::split(key, n), d)};
       }},
  };
}

std::vector<Case> functions() {
  std::vector<Case> all = makers_and_movers();
  for (Case& c : library_and_random()) all.push_back(std::move(c));
  return all;
}

const std::vector<std::pair<std::string, std::function<Dim(const Dim&)>>> computed{
    {"n", [](const Dim& n) { return n; }},
    {"2n+1", [](const Dim& n) { return n * Dim(2) + Dim(1); }},
    {"n//2", [](const Dim& n) { return floor_div(n, Dim(2)); }},
    {"n-1", [](const Dim& n) { return n - Dim(1); }},
};

Array line(std::int64_t n) { return tn::arange(n, tn::DType::f64) * 0.37 + 0.5; }

void expect_same(const Arrays& got, const Arrays& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape(), want[i].shape()) << "result " << i;
    EXPECT_TRUE(tn::allclose(tn::convert(got[i], tn::DType::f64), tn::convert(want[i], tn::DType::f64)))
        << "result " << i;
  }
}

// Of all that has a derivative, one number.
Array scalar_of(const Arrays& results, const Array& x) {
  Array sum = tn::sum(x * x);
  for (const Array& r : results)
    if (tn::is_real(r.dtype())) sum = sum + tn::sum(r) * 0.5;
  return sum;
}

using Transformed = std::function<Arrays(const Array&)>;
std::vector<std::pair<std::string, std::function<Transformed(Transformed)>>> transformations() {
  return {
      {"jit", [](Transformed f) { return f; }},
      {"grad",
       [](Transformed f) -> Transformed {
         return [f](const Array& x) { return Arrays{tn::grad([f](const Array& x) { return scalar_of(f(x), x); })(x)}; };
       }},
      {"vmap",
       [](Transformed f) -> Transformed {
         return [f](const Array& x) { return tn::vmap(f)(tn::stack(Arrays{x, x * 0.5})); };
       }},
      {"scan",
       [](Transformed f) -> Transformed {
         return [f](const Array& x) {
           return tn::scan([f](const Array& c, const Array& s) { return std::pair(c, f(c * s)); }, x,
                           tn::ones({2}, tn::DType::f64))
               .second;
         };
       }},
      {"vmap of grad",
       [](Transformed f) -> Transformed {
         return [f](const Array& x) {
           return Arrays{
               tn::vmap(tn::grad([f](const Array& x) { return scalar_of(f(x), x); }))(tn::stack(Arrays{x, x * 0.5}))};
         };
       }},
  };
}

TEST(FunctionsOfSizes, OfTheSizeOfAnArgument) {
  std::size_t number = 0;
  for (const Case& c : functions())
    for (const auto& [how, transform] : transformations())
      for (const auto& [what, size] : computed) {
        if ((how != "jit" && what != "n//2") || !fuzzing::takes(number++, 0, 4)) continue;
        SCOPED_TRACE(c.name + ", " + how + ", " + what);
        int traces = 0;
        const auto f = tn::jit(transform([&, f = c.f, size = size](const Array& x) {
                                 ++traces;
                                 return f(x, size(x.dim(0)));
                               }),
                               {.sizes = tn::Sizes::symbolic});
        std::optional<int> first;
        for (const std::int64_t n : {5, 4, 9}) {
          Arrays got;
          ASSERT_NO_THROW(got = f(line(n)));
          if (!first) first = traces;
          const int before = traces;
          expect_same(got,
                      transform([&, f = c.f, size = size](const Array& x) { return f(x, size(Dim(n))); })(line(n)));
          traces = before;
        }
        EXPECT_EQ(traces, *first);
      }
}

// As many as the data say, computed while the program runs.
Dim positive(const Array& x) { return tn::array_as_size(tn::count_nonzero(x > 0.0)); }

TEST(FunctionsOfSizes, OfWhatDataSay) {
  for (const Case& c : functions())
    for (const auto& [how, transform] : transformations()) {
      if (how != "jit" && how != "grad") continue;  // lanes and steps would have sizes of their own
      SCOPED_TRACE(c.name + ", " + how);
      int traces = 0;
      const auto f = tn::jit(transform([&, f = c.f](const Array& x) {
        ++traces;
        return f(x, positive(x));
      }));
      std::optional<int> first;
      for (const std::int64_t n : {5, 2, 7}) {
        const Array x = tn::where(tn::arange(9) < n, line(9), -line(9));
        Arrays got;
        ASSERT_NO_THROW(got = f(x));
        if (!first) first = traces;
        const int before = traces;
        expect_same(got, transform([&, f = c.f](const Array& x) { return f(x, Dim(n)); })(x));
        traces = before;
      }
      EXPECT_EQ(traces, *first);
    }
}

TEST(FunctionsOfSizes, OfDataAreRefusedWhereTheyAreNone) {
  const auto zeros = tn::jit([](const Array& n) { return tn::zeros({tn::array_as_size(n)}); });
  EXPECT_EQ(zeros(Array(std::int64_t(3))).size(0), 3);
  EXPECT_EQ(zeros(Array(std::int64_t(0))).size(0), 0);
  for (const std::int64_t n : {std::int64_t(-1), std::numeric_limits<std::int64_t>::min()})
    EXPECT_THAT([&] { zeros(Array(n)); }, ThrowsMessage<tn::ShapeError>(HasSubstr("which is negative")));
  EXPECT_THROW(zeros(Array(std::numeric_limits<std::int64_t>::max())), tn::Error);
  EXPECT_THAT([] { tn::array_as_size(Array(1.5)); }, ThrowsMessage<tn::DTypeError>(HasSubstr("no single integer")));
  EXPECT_THAT([] { tn::array_as_size(tn::arange(3)); }, ThrowsMessage<tn::DTypeError>(HasSubstr("no single integer")));
  EXPECT_THAT([] { tn::vmap([](const Array& n) { return tn::zeros({tn::array_as_size(n)}); })(tn::arange(3)); },
              ThrowsMessage<tn::ShapeError>(HasSubstr("differs from lane to lane")));
}

TEST(FunctionsOfSizes, OfASliceByData) {
  const auto f = tn::jit([](const Array& x, const Array& n) {
    const Dim k = tn::array_as_size(n);
    return Arrays{x(tn::slice(k)), x(tn::slice(k, std::nullopt)), x(tn::slice(std::nullopt, k, 2))};
  });
  for (const std::int64_t n : {0, 1, 4, 6, 9}) {
    const Array x = line(6);
    expect_same(f(x, Array(n)), {x(tn::slice(n)), x(tn::slice(n, std::nullopt)), x(tn::slice(std::nullopt, n, 2))});
  }
}

TEST(FunctionsOfSizes, OfASliceByNumbersThatMayBeNegative) {
  const auto f = tn::jit([](const Array& x, const Array& n) {
    const Dim k = tn::array_as_bound(n);
    return Arrays{x(tn::slice(k)), x(tn::slice(k, std::nullopt)), x(tn::slice(std::nullopt, k, -2))};
  });
  const auto last =
      tn::jit([](const Array& x) { return x(tn::slice(tn::array_as_bound(-tn::count_nonzero(x > 2)), {})); });
  const Array x = line(6);
  for (const std::int64_t n : {-9, -6, -2, -1, 0, 1, 4, 9}) {
    SCOPED_TRACE(n);
    expect_same(f(x, Array(n)), {x(tn::slice(n)), x(tn::slice(n, std::nullopt)), x(tn::slice(std::nullopt, n, -2))});
  }
  const auto over = static_cast<std::int64_t>(tn::count_nonzero(x > 2).item<std::int32_t>());
  expect_same({last(x)}, {x(tn::slice(-over, std::nullopt))});
}

// Sizes that no array has, said while tracing or told when it runs.
const std::vector<std::pair<std::string, std::function<Array(const Dim&)>>> makers{
    {"zeros", [](const Dim& n) { return tn::zeros({n, 2}); }},
    {"full", [](const Dim& n) { return tn::full({2, n}, 1.0f); }},
    {"iota", [](const Dim& n) { return tn::iota(tn::DType::i32, {n}, 0); }},
    {"arange", [](const Dim& n) { return tn::arange(n); }},
    {"eye", [](const Dim& n) { return tn::eye(n); }},
    {"one_hot", [](const Dim& n) { return tn::one_hot(tn::arange(1), n); }},
    {"broadcast_to", [](const Dim& n) { return tn::broadcast_to(tn::zeros({1}), {n, 1}); }},
    {"reshape", [](const Dim& n) { return tn::reshape(tn::zeros({6}), {n, 3}); }},
    {"normal", [](const Dim& n) { return tn::random::normal(tn::random::key(0), {n}); }},
    {"split", [](const Dim& n) { return tn::random::split(tn::random::key(0), n); }},
    {"scan",
     [](const Dim& n) {
       const auto step = [](const Array& c, const std::tuple<>&) { return std::pair(c, c); };
       return tn::scan(step, Array(0.0f), std::tuple<>(), {.length = n}).second;
     }},
};

template <class F>
std::string refused(F f) {
  try {
    f();
    return "";
  } catch (const tn::ShapeError& e) {
    return e.what();
  } catch (const tn::MemoryError& e) {
    return e.what();
  }
}

TEST(FunctionsOfSizes, NegativeAndOverflowingAreRefused) {
  const std::int64_t large = std::int64_t(1) << 62;
  const auto told = AnyOf(HasSubstr("negative"), HasSubstr("does not fit"), HasSubstr("bytes"), HasSubstr("elements"),
                          HasSubstr("length"), HasSubstr("sizes"));
  for (const auto& [name, f] : makers)
    for (const std::int64_t n : {std::int64_t(-1), -large, large, std::numeric_limits<std::int64_t>::max()}) {
      SCOPED_TRACE(name + ", " + std::to_string(n));
      if (name == "reshape" && n == -1) continue;  // the size that is found from the others
      EXPECT_THAT(refused([&, f = f] { return f(n); }), told);
      EXPECT_THAT(refused([&, f = f] { return tn::jit([&](const Array&) { return f(n); })(line(3)); }), told);
    }
  const std::vector<std::function<Dim(const Dim&)>> sizes{
      [](const Dim& n) { return Dim(3) - n; }, [](const Dim& n) { return n * Dim(std::int64_t(1) << 60); },
      [](const Dim& n) { return n * n * Dim(std::int64_t(1) << 58); }};
  for (const auto& [name, f] : makers)
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      SCOPED_TRACE(name + ", computed " + std::to_string(k));
      const auto g =
          tn::jit([&, f = f](const Array& x) { return f(sizes[k](x.dim(0))); }, {.sizes = tn::Sizes::symbolic});
      EXPECT_THAT(refused([&] { return g(line(5)); }), told);
      EXPECT_THAT(refused([&] { return g(line(6)); }), told);
    }
}

TEST(FunctionsOfSizes, ThatDisagreeNameTheLinesOfBoth) {
  const unsigned first = __LINE__;
  const auto f = [](const Array& x, const Array& y) {
    const Array a = tn::zeros({x.dim(0)});
    const Array b = tn::ones({y.dim(0)});
    return a + b;
  };
  const std::string file = "functions_of_sizes.cpp:";
  for (const tn::Sizes sizes : {tn::Sizes::automatic, tn::Sizes::symbolic}) {
    const std::string told = refused([&] { return tn::jit(f, {.sizes = sizes})(line(3), line(4)); });
    for (const unsigned below : {2, 3, 4}) EXPECT_THAT(told, HasSubstr(file + std::to_string(first + below)));
  }
}

}  // namespace
