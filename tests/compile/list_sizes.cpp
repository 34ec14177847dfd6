// Lists as arrays that are as long as they are, native: held against the reference evaluator for every dtype, rank and
// number of elements, in loops, branches, derivatives and lanes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tenon/eval/evaluate.h"
#include "tenon/runtime/memory/allocator.h"
#include "tenon/tenon.h"
#include "tests/compile/native.h"
#include "tests/compile/numbers.h"
#include "tests/error_message.h"
#include "tests/fuzzing.h"

namespace tn = tenon;
using testing::HasSubstr;
using testing::Not;
using tn::all_dtypes;
using tn::Array;
using tn::Arrays;
using tn::close;
using tn::DType;
using tn::evaluated;
using tn::expect_agreement;
using tn::expect_native;
using tn::Function;
using tn::List;

namespace {

// The first n rows of x, and again, pushed one by one.
List<Array> pushed(const Array& x, const Array& n) {
  const tn::Dim rows = x.dim(0);
  return tn::fori_loop(
      0, n,
      [&](Array i, List<Array> list) {
        list.push(tn::take(x, i % static_cast<int>(rows.value()), 0));
        return list;
      },
      List<Array>::like(tn::zeros(x.shape().without_axis(0), x.dtype())));
}

TEST(ListSizes, OfEveryDtypeAndShape) {
  const Function stacked = [](Arrays in) { return Arrays{pushed(in[0], in[1]).stack()}; };
  const Function read = [](Arrays in) {
    const Array rows = pushed(in[0], in[1]).stack();
    const Array twice = rows.dtype() == DType::bool_ ? !rows : rows + rows;
    return Arrays{twice, tn::any(rows == twice), tn::reverse(rows, {0})};
  };
  const Function summed = [](Arrays in) {
    const Array rows = pushed(in[0], in[1]).stack();
    return Arrays{tn::sum(rows), tn::sum(rows, 0), tn::sum(rows * rows)};
  };
  std::size_t number = 0;
  for (const DType dtype : all_dtypes)
    for (const tn::Shape& shape : {tn::Shape{3}, tn::Shape{4, 3}, tn::Shape{2, 0}, tn::Shape{5, 2, 3}})
      for (const int n : {0, 1, 2, 17, 300}) {
        if (!fuzzing::takes(number++, 0, 3)) continue;
        const std::string what = fmt::format("{} {} {}", tn::name(dtype), shape.text(), n);
        const Arrays in{numbers(dtype, shape), Array(n)};
        expect_agreement(stacked, in, what);
        expect_agreement(read, in, what);
        if (dtype != DType::bool_) expect_agreement(summed, in, what);
      }
  for (const Function& f : {stacked, read, summed}) expect_native(f, {numbers(DType::f32, {3}), Array(4)});
}

// What a condition lets through.
List<Array> let_through(const Array& x, const Array& level) {
  const auto step = [&](Array i, List<Array> list) {
    const Array row = tn::take(x, i, 0);
    return tn::cond(
        tn::sum(row) > level,
        [](List<Array> l, Array r) {
          l.push(r * 2.0f);
          return l;
        },
        [](List<Array> l, Array) { return l; }, list, row);
  };
  return tn::fori_loop(0, static_cast<int>(x.dim(0).value()), step,
                       List<Array>::like(tn::zeros(x.shape().without_axis(0), x.dtype())));
}

const Arrays levels{Array(100.0f), Array(2.3f), Array(0.1f), Array(-100.0f)};

// Code over the size: of one list, of two, and as results.
TEST(ListSizes, CodeOverWhatIsFound) {
  const std::vector<std::pair<const char*, Function>> functions{
      {"reductions",
       [](Arrays in) {
         const Array x = let_through(in[0], in[1]).stack();
         return Arrays{tn::sum(x), tn::max(tn::concatenate({x, tn::zeros({1})}, 0)), tn::sum(tn::exp(x) * 0.5f),
                       tn::any(x > 1.0f)};
       }},
      {"mean and deviation",
       [](Arrays in) {
         const Array x = let_through(in[0], in[1]).stack();
         const Array centred = x - tn::mean(x);
         return Arrays{centred, tn::sum(tn::square(centred))};
       }},
      {"products",
       [](Arrays in) {
         const Array x = let_through(in[0], in[1]).stack();
         const Array table = tn::reshape(x, {x.dim(0), 1}) * (x + 1.0f);
         return Arrays{tn::matmul(x, x), table, tn::matmul(table, x), tn::matmul(table, table)};
       }},
      {"sorts and sums",
       [](Arrays in) {
         const Array x = let_through(in[0], in[1]).stack();
         return Arrays{tn::sort(x), tn::argsort(x), tn::associative_scan([](Array a, Array b) { return a + b; }, x),
                       tn::reverse(x, {0})};
       }},
      {"gathers",
       [](Arrays in) {
         const Array x = let_through(in[0], in[1]).stack(), places = tn::nonzero(in[0] > 0.5f)[0];
         return Arrays{tn::take(in[0], tn::convert(tn::abs(x), DType::i32) % 3), places, tn::concatenate({x, x}, 0)};
       }},
      {"a mask of it",
       [](Arrays in) {
         const Array x = let_through(in[0], in[1]).stack(), some = tn::compress(x, x < 3.0f);
         return Arrays{some, tn::sum(some), tn::sort(some)};
       }},
      {"a loop along it",
       [](Arrays in) {
         const Array x = let_through(in[0], in[1]).stack();
         const auto [end, ys] = tn::scan([](Array c, Array x) { return std::pair(c * 0.5f + x, c); }, Array(0.25f), x);
         return Arrays{end, ys};
       }},
      {"two lists",
       [](Arrays in) {
         const Array x = let_through(in[0], in[1]).stack(), y = let_through(in[0], in[1] - 1.0f).stack();
         const Array outer = tn::reshape(x, {x.dim(0), 1}) * y;
         return Arrays{outer, tn::sum(outer, 0), tn::sum(outer, 1), tn::concatenate({x, y}, 0), x, x, y + 1.0f};
       }},
      {"updated",
       [](Arrays in) {
         const Array x = let_through(in[0], in[1]).stack();
         return Arrays{x.at(tn::arange(3)).add(1.0f), tn::where(x > 1.0f, x, -x)};
       }},
  };
  for (const auto& [name, f] : functions)
    for (const std::int64_t n : {1, 9, 64, 1000})
      for (const Array& level : levels) {
        const Arrays in{numbers(DType::f32, {n}), level};
        n == 9 ? expect_native(f, in, name) : expect_agreement(f, in, fmt::format("{} {}", name, n));
      }
}

TEST(ListSizes, OfTreesAndOfListsOfLists) {
  const Function trees = [](Arrays in) {
    using Pair = std::pair<Array, Array>;
    const auto list = tn::fori_loop(
        0, in[1],
        [&](Array i, List<Pair> list) {
          list.push({tn::convert(i, DType::f64) * in[0], i % 2 == 0});
          return list;
        },
        List<Pair>::like({in[0] * 1.0, Array(true)}));
    const Pair rows = list.stack();
    return Arrays{rows.first, rows.second, tn::sum(tn::where(rows.second, tn::sum(rows.first, 1), 0.0))};
  };
  const Function nested = [](Arrays in) {
    List<List<Array>> outer = List<List<Array>>::like(List<Array>::like(in[0]));
    outer = tn::fori_loop(
        0, 4,
        [&](Array i, List<List<Array>> outer) {
          outer.push(tn::fori_loop(
              0, (in[1] + i) % 7,
              [&](Array j, List<Array> inner) {
                inner.push(in[0] * tn::convert(j, DType::f64));
                return inner;
              },
              List<Array>::like(in[0])));
          return outer;
        },
        outer);
    const Array first = outer.at(in[1] % 4).stack(), last = outer.at(-1).stack();
    return Arrays{first, last, tn::sum(first) * tn::sum(last)};
  };
  for (const int n : {0, 1, 2, 6, 30}) {
    expect_native(trees, {numbers(DType::f64, {3}), Array(n)});
    expect_native(nested, {numbers(DType::f64, {3}), Array(n)});
  }
}

// Each step has lists, and arrays of their sizes, of its own.
TEST(ListSizes, FoundAnewInEachStep) {
  const Function f = [](Arrays in) {
    const auto step = [&](Array c, Array level) {
      const Array x = let_through(in[0], level).stack();
      const Array y = tn::sort(x * c) + 1.0f;
      return std::pair(tn::tanh(c * 0.5f + tn::sum(x)), tn::sum(tn::square(y - tn::sum(y))));
    };
    const auto [end, ys] = tn::scan(step, Array(0.3f), tn::concatenate({in[1], in[1] * 0.5f, in[1] - 200.0f}, 0));
    return Arrays{end, ys};
  };
  expect_native(f, {numbers(DType::f32, {40}), tn::stack(levels)});
  const Function searched = [](Arrays in) {
    const auto going = [&](Array level) { return tn::sum(let_through(in[0], level).stack()) > 2.0f; };
    return Arrays{tn::while_loop(
        going, [&](Array level) { return level + 0.25f + tn::sum(let_through(in[0], level).stack()) * 1e-6f; },
        Array(-3.0f))};
  };
  expect_native(searched, {numbers(DType::f32, {50})});
  const Function in_branches = [](Arrays in) {
    const auto step = [&](Array i, Array c) {
      const Array mine = let_through(in[0], tn::convert(i, DType::f32) - 4.0f).stack();
      return tn::cond(
          i % 3 == 1, [&](Array c) { return c + tn::sum(tn::square(let_through(in[0], c).stack())) + tn::sum(mine); },
          [&](Array c) { return c * 0.5f + tn::sum(tn::sin(mine)); }, c);
    };
    return Arrays{tn::fori_loop(0, 9, step, Array(0.5f))};
  };
  expect_native(in_branches, {numbers(DType::f32, {40})});
}

TEST(ListSizes, Derivatives) {
  const std::vector<std::function<Array(Array, Array)>> losses{
      [](Array x, Array n) { return tn::sum(tn::square(pushed(x, n).stack())); },
      [](Array x, Array n) { return tn::mean(tn::exp(pushed(tn::sin(x), n).stack())) + tn::sum(x); },
      [](Array x, Array n) {
        const Array y = tn::reshape(pushed(x, n).stack(), {-1});
        return tn::matmul(y, tn::cos(y));
      },
      [](Array x, Array n) {
        const auto step = [&](Array c, Array k) {
          return std::pair(c * 0.5 + tn::sum(tn::tanh(pushed(x * k, n).stack())), c);
        };
        const auto [end, ys] = tn::scan(step, Array(0.1), tn::arange(4, DType::f64) + 1.0);
        return end + tn::sum(ys);
      },
      [](Array x, Array n) {
        return tn::cond(
            n > 2, [&](Array x) { return tn::sum(pushed(x, n).stack() * 2.0); }, [](Array x) { return tn::sum(x * x); },
            x);
      }};
  int number = 0;
  for (const auto& loss : losses) {
    const std::string what = fmt::format("loss {}", number++);
    for (const int n : {0, 1, 3, 40}) {
      if (number == 2 && n == 0) continue;  // the mean of nothing
      const Arrays in{numbers(DType::f64, {5, 2}), Array(n)};
      const Function slope = [loss](Arrays in) {
        return Arrays{tn::grad([&](Array x) { return loss(x, in[1]); })(in[0])};
      };
      const Function forward = [loss](Arrays in) {
        return Arrays{
            tn::jvp([&](Array x) { return loss(x, in[1]); }, std::tuple(in[0]), std::tuple(tn::cos(in[0]))).second};
      };
      const Function curved = [loss](Arrays in) {
        return Arrays{tn::hvp([&](Array x) { return loss(x, in[1]); }, in[0], tn::cos(in[0]))};
      };
      const Function lanes = [loss](Arrays in) {
        return Arrays{tn::vmap([&](Array x) { return loss(x, in[1]); })(tn::stack({in[0], in[0] * 0.5}))};
      };
      for (const auto& [kind, f] : std::initializer_list<std::pair<const char*, Function>>{
               {"slope", slope}, {"forward", forward}, {"curved", curved}, {"lanes", lanes}})
        expect_native(f, in, fmt::format("{} of {}, {}", kind, what, n));
    }
  }
}

// One code for all sizes of what is pushed, and for all numbers of pushes.
TEST(ListSizes, BesideSizesThatVary) {
  const Function f = [](Arrays in) {
    const auto list = tn::fori_loop(
        0, in[1],
        [&](Array i, List<Array> list) {
          list.push(in[0] * tn::convert(i, DType::f32) + 1.0f);
          return list;
        },
        List<Array>::like(in[0]));
    const Array rows = list.stack();
    return Arrays{rows, tn::sum(rows, 0), tn::matmul(rows, in[0]), tn::sum(list.at(-1)), rows + in[0]};
  };
  const auto compiled = tn::jit(f, tn::JitOptions{.strict_native = true, .sizes = tn::Sizes::symbolic});
  for (const std::int64_t m : {2, 3, 64, 65, 300})
    for (const int n : {0, 1, 5, 40}) {
      const Arrays in{numbers(DType::f32, {m}), Array(n)}, want = evaluated(f, in), got = compiled(in);
      for (std::size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(close(got[i], want[i])) << m << " " << n << ", result " << i << got[i] << want[i];
    }
}

// Memory that steps ask for is theirs, and given back.
TEST(ListSizes, AskForMemoryAsLargeAsTheyAre) {
  const auto f = tn::jit([](Array x, Array n) {
    const auto step = [&](Array i, Array sum) {
      const Array rows = pushed(x, n * i).stack();
      return sum + tn::sum(tn::sort(rows * 2.0f));
    };
    return tn::fori_loop(0, 20, step, Array(0.0f));
  });
  const Array x = numbers(DType::f32, {10});
  f(x, Array(5000)).item<float>();
  const std::size_t before = tn::memory_statistics().live_bytes;
  for (int i = 0; i < 5; ++i) f(x, Array(5000)).item<float>();
  EXPECT_LE(tn::memory_statistics().live_bytes, before + (1 << 20));
  const auto large = tn::jit([](Array x, Array n) {
    const Array rows = pushed(x, n).stack();
    const tn::Dim m = rows.dim(0);
    const Array cube = tn::reshape(rows, {m, 1, 1}) * tn::reshape(rows, {m, 1}) * rows;
    return std::pair(tn::sort(tn::reshape(cube, {-1})), m);
  });
  EXPECT_EQ(large(x, Array(3)).first.size(0), 27);
  EXPECT_THAT(tn::message_of<tn::MemoryError>([&] { large(x, Array(3'000'000)); }), HasSubstr("MemoryError"));
}

}  // namespace
