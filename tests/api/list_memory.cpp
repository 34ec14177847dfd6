// Lists in native code: who has them, what they leave behind, what pushes cost, and lanes of every dtype beside loops
// over lanes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tenon/runtime/lists/lists.h"
#include "tenon/runtime/memory/allocator.h"
#include "tenon/tenon.h"
#include "tests/by_oracle.h"
#include "tests/error_message.h"
#include "tests/peak_memory.h"

namespace tn = tenon;
using tn::Array;
using tn::Dim;
using tn::DType;
using tn::List;

namespace {

template <class F>
auto by_oracle(F f) {
  const tn::ByOracle oracle;
  return f();
}

// What native code gives is what the oracle gives, and a call leaves no memory behind.
void expect_handed_on(const std::function<Array(Array)>& f, const Array& x) {
  const Array want = by_oracle([&] { return f(x); });
  const auto compiled = tn::jit(f);
  Array got = compiled(x);  // what a thread keeps for its next call is there afterwards
  const std::size_t before = tn::memory_statistics().live_bytes;
  for (int i = 0; i < 50; ++i) got = compiled(x);
  // Counted to within 64 KiB a thread.
  EXPECT_LE(tn::memory_statistics().live_bytes, before + (128 << 10));
  ASSERT_TRUE(got.shape() == want.shape());
  EXPECT_TRUE(tn::all(tn::abs(got - want) <= 1e-12 * (1.0 + tn::abs(want))).item<bool>()) << got << want;
}

Array rows(const List<Array>& list, std::int64_t n) {
  return tn::concatenate({tn::reshape(list.stack(Dim(n)), {n}), tn::reshape(tn::convert(list.size(), DType::f64), {1})},
                         0);
}

// Carries that swap, that stay, that are two results; a list that is pushed to while an older one is kept.
Array handed_on(const Array& x) {
  struct Lists {
    List<Array> a, b, older, both, kept;
  };
  Lists first{List<Array>::like(x), {}, {}, {}, {}};
  first.b = first.older = first.both = first.kept = first.a;
  first.kept.push(x), first.a.push(x * 2.0);
  const auto step = [](Array i, Lists l) {
    std::swap(l.a, l.b);
    l.older = l.a;
    l.a.push(tn::sin(l.kept.at(0) + tn::convert(i, DType::f64)));
    l.b.set(-1, l.a.at(0) * 3.0);
    l.both = l.a;
    return l;
  };
  const Lists l = tn::fori_loop(0, 9, step, first);
  const Lists m = tn::cond(
      x > 0.0, [](Lists l) { return Lists{l.b, l.a, l.a, l.kept, l.kept}; },
      [](Lists l) {
        l.a.pop();
        return l;
      },
      l);
  return tn::concatenate({rows(l.a, 7), rows(l.b, 7), rows(l.older, 7), rows(l.both, 7), rows(l.kept, 2), rows(m.a, 7),
                          rows(m.b, 7), rows(m.older, 7), rows(m.both, 7), rows(m.kept, 7)},
                         0);
}
TEST(ListHandles, AreHandedOn) {
  for (const double x : {0.7, -0.7}) {
    expect_handed_on(handed_on, Array(x));
    expect_handed_on([](Array x) { return tn::grad([](Array a) { return tn::sum(tn::sin(handed_on(a))); })(x); },
                     Array(x));
  }
}
TEST(ListHandles, AreHandedOnInLanes) {
  const Array lanes{0.7, -0.7, 0.1};
  const Array got = tn::jit(tn::vmap(handed_on))(lanes);
  const auto slope = tn::grad([](Array a) { return tn::sum(tn::sin(handed_on(a))); });
  const Array slopes = tn::jit(tn::vmap(slope))(lanes);
  for (int l = 0; l < 3; ++l) {
    const Array want = handed_on(lanes(l)), want_slope = slope(lanes(l));
    EXPECT_TRUE(tn::all(tn::abs(got(l) - want) <= 1e-12).item<bool>()) << got(l) << want;
    EXPECT_TRUE((tn::abs(slopes(l) - want_slope) <= 1e-12 * (1.0 + tn::abs(want_slope))).item<bool>());
  }
}

// A list whose pushes were copies of the whole would copy n²/2 elements in each of these loops; a few times n go into
// native code, out of it, and to where a list that is needed still is changed first.
constexpr int pushes = 1 << 12;
template <class F>
void expect_few_copies(const char* what, F f) {
  f();
  const std::size_t before = tn::copied_list_elements();
  f();
  EXPECT_LE(tn::copied_list_elements() - before, std::size_t(8 * pushes)) << what;
}
TEST(ListPushes, CopyNothing) {
  const Array x = tn::full({8}, 0.5), n(pushes);
  const auto in_while = [](Array x, Array n) {
    return std::get<1>(tn::while_loop([&](const auto& c) { return std::get<2>(c) < n; },
                                      [](const auto& c) {
                                        auto [s, list, i] = c;
                                        list.push(s);
                                        return std::tuple(s * 0.999, list, i + 1);
                                      },
                                      std::tuple(x, List<Array>(), Array(0))));
  };
  const auto in_branches = [](Array x, Array n) {
    return tn::fori_loop(
        0, n,
        [&](Array i, List<Array> list) {
          return tn::cond(
              i % 2 == 0,
              [](List<Array> l, Array x) {
                l.push(x);
                return l;
              },
              [](List<Array> l, Array x) {
                l.set(0, x);
                return l;
              },
              list, x);
        },
        List<Array>::like(x));
  };
  const auto read_back = [&](Array x) {
    const List<Array> list = in_while(x, n);
    return tn::sum(tn::fori_loop(0, n, [&](Array i, Array sum) { return sum * 0.5 + list.at(-1 - i); }, x));
  };
  expect_few_copies("a while", [&] { in_while(x, n).size().item<int>(); });
  expect_few_copies("branches", [&] { in_branches(x, n).size().item<int>(); });
  expect_few_copies("jit", [compiled = tn::jit(in_while), x, n] { compiled(x, n).size().item<int>(); });
  expect_few_copies("reads", [compiled = tn::jit(read_back), x] { compiled(x).item<double>(); });
  expect_few_copies("a gradient", [compiled = tn::jit(tn::grad(read_back)), x] { compiled(x).to_buffer(); });
  expect_few_copies("lanes", [compiled = tn::jit(tn::vmap(tn::grad(read_back))), x] {
    compiled(tn::stack({x, 2.0 * x})).to_buffer();
  });
  expect_few_copies("a stack", [&, compiled = tn::jit([&](Array x, Array n) { return in_while(x, n).stack(); })] {
    compiled(x, n).to_buffer();
  });
  expect_few_copies(
      "the gradient of a stack",
      [compiled = tn::jit(tn::grad([&](Array x, Array n) { return tn::sum(tn::square(in_while(x, n).stack())); })), x,
       n] { compiled(x, n).to_buffer(); });
  expect_few_copies("outside of traces", [&] {
    List<Array> list;
    for (int i = 0; i < pushes; ++i) list.push(x);
    for (int i = 0; i < pushes / 2; ++i) list.set(i, list.pop());
    list.stack();
  });
}

// One list that lanes read at numbers of their own has no lanes.
TEST(ListPushes, AreNotRepeatedForReaders) {
  const auto f = tn::jit([](Array x, Array n) {
    const List<Array> list = tn::fori_loop(
        0, n,
        [&](Array, List<Array> list) {
          list.push(x);
          return list;
        },
        List<Array>());
    const auto read = [&](Array by) {
      return tn::fori_loop(
          0, n, [&](Array i, Array sum) { return sum * 0.5 + tn::sum(list.at(i * by % n)) * 0.125; }, Array(0.0));
    };
    return tn::vmap(read)(Array{1, 3, 5});
  });
  const Array x = tn::full({8}, 0.5);
  expect_few_copies("three readers", [&] { f(x, Array(pushes)).to_buffer(); });
  const Array sums = f(x, Array(pushes));
  for (int l = 0; l < 3; ++l) EXPECT_NEAR(sums(l).item<double>(), 1.0, 1e-12);
}

// explain names the writes that copy a list as a whole, and strict_in_place makes them errors.
TEST(ListPushes, WhereTheyCopyIsTold) {
  const Array x = tn::full({8}, 0.5);
  List<Array> list;
  for (int i = 0; i < 3; ++i) list.push(x);
  const auto in_place = [](List<Array> l, Array x) {
    return tn::fori_loop(
        0, 100,
        [&](Array i, List<Array> l) {
          l.push(l.at(i) * x);
          l.set(0, l.pop());
          return l;
        },
        l);
  };
  const auto read_later = [](List<Array> l, Array x) {
    return tn::fori_loop(
        0, 100,
        [&](Array i, List<Array> l) {
          const List<Array> before = l;
          l.push(x);
          l.set(-1, before.at(i));
          return l;
        },
        l);
  };
  const auto given_back = [](List<Array> l, Array x) {
    const List<Array> before = l;
    l.push(x);
    return std::pair(l, before);
  };
  const tn::JitOptions strict{.strict_in_place = true};
  EXPECT_EQ(tn::explain(in_place)(list, x).find("the whole list"), std::string::npos) << tn::explain(in_place)(list, x);
  EXPECT_NO_THROW(tn::jit(in_place, strict)(list, x));
  EXPECT_THAT(
      tn::explain(read_later)(list, x),
      testing::ContainsRegex("the whole list, 100 times at .*list_memory.cpp:.*list_put of list<f64.8.>: what it "
                             "was before is read afterwards by list_get at .*list_memory.cpp"));
  const auto refused = [&](const auto& f) {
    return tn::message_of<tn::CompileError>([&] { tn::jit(f, strict)(list, x); });
  };
  EXPECT_THAT(refused(read_later),
              testing::AllOf(testing::HasSubstr("strict_in_place: list_put of list<f64[8]> copies the whole list, 100"),
                             testing::HasSubstr("Read what is needed of it before.")));
  EXPECT_THAT(refused(given_back), testing::HasSubstr("what it was before is a result too"));
}

TEST(ListPushes, KeepWhatStandsInThemOnce) {
  const auto f = tn::jit([](Array x, Array n) {
    return tn::fori_loop(
               0, n,
               [&](Array, List<Array> list) {
                 list.push(x);
                 return list;
               },
               List<Array>())
        .at(-1);
  });
  const Array x = tn::full({1024}, 0.5);
  f(x, Array(1));
  const std::size_t peak = tn::peak_bytes_of([&] { f(x, Array(4000)); });  // 32 MB
  EXPECT_LE(peak, 2 * 4096 * 8192 + (1 << 20)) << "chunks double";
}

TEST(ListLanes, OfEveryDType) {
  for (const DType d :
       {DType::bool_, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64,
        DType::f8e4m3fn, DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64, DType::c128})
    for (const tn::Shape& shape : {tn::Shape{}, tn::Shape{3}, tn::Shape{2, 0}}) {
      SCOPED_TRACE(std::string(tn::name(d)) + shape.text());
      const auto f = [&](Array n) {
        const auto list = tn::fori_loop(
            0, n,
            [&](Array i, List<Array> list) {
              list.push(tn::broadcast_to(tn::convert((i + n) % 2, d), shape));
              return list;
            },
            List<Array>());
        return std::pair(list.at(-1), list.stack(Dim(4)));
      };
      for (const Array& lanes : {Array{3, 0, 2}, Array{1}, tn::zeros({0}, DType::i32)}) {
        const auto [last, all] = tn::jit(tn::vmap(f))(lanes);
        for (std::int64_t l = 0; l < lanes.size(0); ++l) {
          const auto [want_last, want_all] = tn::jit(f)(lanes(l));
          EXPECT_TRUE(tn::array_equal(last(l), want_last));
          EXPECT_TRUE(tn::array_equal(all(l), want_all));
        }
      }
    }
}

}  // namespace
