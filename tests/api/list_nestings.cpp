// Lists where transformations, loops and calls meet: beside what plain vectors or arrays give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"
#include "tests/api/values.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::count;
using tn::Dim;
using tn::DType;
using tn::List;
using tn::message_of;

namespace {

List<Array> three_rows() {
  List<Array> list;
  for (int i = 1; i < 4; ++i) list.push(Array{1.0 * i, -0.5 * i});
  return list;
}

// The rows of a list, added up by a loop as long as the list is.
Array total(const List<Array>& list) {
  return tn::fori_loop(
      0, list.size(), [&](Array i, Array sum) { return sum * 0.5 + list.at(i); }, tn::zeros({2}, DType::f64));
}
Array total_of_rows(const Array& rows) {
  Array sum = tn::zeros({2}, DType::f64);
  for (std::int64_t k = 0; k < rows.size(0); ++k) sum = sum * 0.5 + rows(k);
  return sum;
}

// --- arguments ---
TEST(ListNestings, DerivativesInListArguments) {
  const List<Array> list = three_rows();
  const Array rows = list.stack();
  const auto of_list = [](List<Array> l) { return tn::sum(tn::sin(total(l))) + tn::sum(tn::exp(0.3 * l.stack())); };
  const auto of_rows = [](Array r) { return tn::sum(tn::sin(total_of_rows(r))) + tn::sum(tn::exp(0.3 * r)); };
  const List<Array> slope = tn::jit(tn::grad(of_list))(list);
  EXPECT_EQ(count(slope.size()), 3);
  tn::expect_close(slope.stack(), tn::grad(of_rows)(rows), "grad");
  const List<Array> curved = tn::hvp(of_list, list, list);
  tn::expect_close(curved.stack(), tn::hvp(of_rows, rows, rows), "hvp");
  const auto [value, tangent] =
      tn::jit([&](List<Array> l) { return tn::jvp(of_list, std::tuple(l), std::tuple(l)); })(list);
  tn::expect_close(tangent, tn::jvp(of_rows, std::tuple(rows), std::tuple(rows)).second, "jvp");
  const auto [same, push] = tn::linearize(of_list, list);
  tn::expect_close(push(list), tangent, "linearize");
  const auto of_gradient = [&](List<Array> l) {
    const List<Array> g = tn::grad(of_list)(l);
    return tn::sum(tn::square(g.stack(Dim(3)))) + tn::sum(g.at(-1));
  };
  const auto of_gradient_of_rows = [&](Array r) {
    const Array g = tn::grad(of_rows)(r);
    return tn::sum(tn::square(g)) + tn::sum(g(2));
  };
  tn::expect_close(tn::jit(tn::grad(of_gradient))(list).stack(), tn::grad(of_gradient_of_rows)(rows), "grad of grad");
}

// A list has no type before its first push, whoever passes it on.
TEST(ListNestings, WithoutATypeAsArguments) {
  const auto f = [](List<Array> list, Array x) {
    list.push(x);
    list.push(x * 2.0);
    return list;
  };
  const auto compiled = tn::jit(f);
  const List<Array> two = compiled(List<Array>(), Array{1.0, 2.0}), four = compiled(two, Array{3.0, 4.0});
  EXPECT_EQ(count(four.size()), 4);
  tn::expect_close(four.stack(), Array{{1.0, 2.0}, {2.0, 4.0}, {3.0, 4.0}, {6.0, 8.0}}, "rows");
  EXPECT_EQ(count(two.size()), 2) << "an argument is not changed";
  const auto slope = tn::grad<1>([&](List<Array> l, Array x) { return tn::sum(f(l, x).stack(Dim(2))); });
  tn::expect_close(slope(List<Array>(), Array{1.0, 2.0}), Array{3.0, 3.0}, "grad");
}

TEST(ListNestings, DonatedLists) {
  List<Array> list = three_rows();
  const auto f = tn::jit(
      [](List<Array> l, Array x) {
        l.set(0, x);
        return l;
      },
      {.donate = {0, 1}});
  Array x{7.0, 8.0};
  const List<Array> result = f(list, x);
  tn::expect_close(result.at(0), Array{7.0, 8.0}, "set");
  tn::expect_close(result.at(2), Array{3.0, -1.5}, "kept");
  List<Array> again = result;
  again = f(again, Array{1.0, 1.0});
  tn::expect_close(again.at(0), Array{1.0, 1.0}, "set");
  tn::expect_close(result.at(0), Array{7.0, 8.0}, "a copy is another list");
}

// --- lanes ---
TEST(ListNestings, OneListForAllLanes) {
  const List<Array> list = three_rows();
  const auto read = [](List<Array> l, Array i, Array by) {
    l.push(l.at(i) * by);
    l.push(l.pop() + 1.0);
    return l.at(-1) + l.at(0);
  };
  const Array i{0, 2, -1, 5}, by{1.0, 2.0, 3.0, 4.0};
  const Array got = tn::jit(tn::vmap(read, {.in_axes = {tn::none, 0, 0}}))(list, i, by);
  const int at[]{0, 2, 2, 2};
  for (int l = 0; l < 4; ++l) tn::expect_close(got(l), list.at(at[l]) * by(l) + 1.0 + list.at(0), "a lane");
  const auto loss = [&](List<Array> l) { return tn::sum(tn::vmap(read, {.in_axes = {tn::none, 0, 0}})(l, i, by)); };
  const Array slope = tn::jit(tn::grad(loss))(list).stack();
  tn::expect_close(slope, Array{{5.0, 5.0}, {0.0, 0.0}, {9.0, 9.0}}, "its gradient");
}

TEST(ListNestings, LanesOfSizesOfTheirOwnInLoops) {
  // As many elements as the lane says, read back by loops as long as each lane's list.
  const auto f = [](Array n) {
    const auto list = tn::fori_loop(
        0, n,
        [](Array i, List<Array> l) {
          l.push(tn::convert(i + 1, DType::f64));
          return l;
        },
        List<Array>());
    const Array forwards =
        tn::fori_loop(0, list.size(), [&](Array i, Array sum) { return sum * 10.0 + list.at(i); }, Array(0.0));
    const auto [backwards, left] = tn::while_loop([](const auto& c) { return c.second.size() > 0; },
                                                  [](auto c) {
                                                    const Array last = c.second.pop();
                                                    return std::pair(c.first * 10.0 + last, c.second);
                                                  },
                                                  std::pair(Array(0.0), list));
    return std::tuple(forwards, backwards, left.size(), list.size());
  };
  for (const Array& lanes : {Array{3, 0, 4, 1}, tn::zeros({0}, DType::i32)}) {
    const auto [forwards, backwards, left, sizes] = tn::jit(tn::vmap(f))(lanes);
    const double ways[][2]{{123, 321}, {0, 0}, {1234, 4321}, {1, 1}};
    for (std::int64_t l = 0; l < lanes.size(0); ++l) {
      EXPECT_EQ(forwards(l).item<double>(), ways[l][0]);
      EXPECT_EQ(backwards(l).item<double>(), ways[l][1]);
      EXPECT_EQ(count(left(l)), 0);
      EXPECT_EQ(sizes(l).item<int>(), lanes(l).item<int>());
    }
  }
}

// A branch that some lanes take, in a loop that lanes leave at steps of their own.
TEST(ListNestings, BranchesOfLanesInLoopsOfLanes) {
  const auto f = [](Array x) {
    const auto [s, list] = tn::while_loop([](const auto& c) { return std::get<0>(c) < 50.0; },
                                          [](const auto& c) {
                                            const auto [s, list] = c;
                                            return std::pair(s * 1.7, tn::cond(
                                                                          tn::sin(s) > 0.0,
                                                                          [](List<Array> l, Array s) {
                                                                            l.push(s * s);
                                                                            return l;
                                                                          },
                                                                          [](List<Array> l, Array s) {
                                                                            l.set(-1, l.pop() - s);
                                                                            return l;
                                                                          },
                                                                          list, s));
                                          },
                                          std::pair(x, List<Array>::like(x)));
    return tn::concatenate({list.stack(Dim(6)), tn::reshape(tn::convert(list.size(), DType::f64), {1})}, 0);
  };
  const auto plain = [](double x) {
    std::vector<double> list;
    for (; x < 50; x *= 1.7) {
      if (std::sin(x) > 0) {
        list.push_back(x * x);
      } else if (!list.empty()) {
        const double last = list.back();
        list.pop_back();
        if (!list.empty()) list.back() = last - x;
      }
    }
    const auto n = static_cast<double>(list.size());
    list.resize(6);
    list.push_back(n);
    return list;
  };
  const std::vector<double> starts{1.0, 4.0, 0.3, 60.0, 3.3};
  const Array got = tn::jit(tn::vmap(f))(tn::array<double>(starts, {5}));
  for (int l = 0; l < 5; ++l)
    tn::expect_close(got(l), tn::array<double>(plain(starts[static_cast<std::size_t>(l)]), {7}), "a lane");
}

// --- checkpoints, calls, functions with derivatives of their own ---
TEST(ListNestings, Checkpoints) {
  const List<Array> table = three_rows();
  const auto pushed = [](const Array& x) {
    const auto list = tn::fori_loop(
        0, 4,
        [&](Array i, List<Array> l) {
          l.push(tn::sin(x * tn::convert(i + 1, DType::f64)));
          return l;
        },
        List<Array>());
    return tn::sum(tn::square(list.stack()) * list.at(-1));
  };
  const Array x{0.4, -0.3};
  tn::expect_close(tn::jit(tn::grad(tn::checkpoint(pushed)))(x), tn::grad(pushed)(x), "checkpoint()");
  // Loops with checkpoints read lists, and carry none.
  const auto scanned = [&](tn::ScanOptions options) {
    return [&, options](Array x) {
      return tn::scan([&](Array c, Array i) { return std::pair(tn::sin(c * table.at(i % 3)), c); }, x, tn::arange(7),
                      options)
          .first;
    };
  };
  const auto sum_of = [](auto f) { return [f](Array x) { return tn::sum(f(x)); }; };
  const Array want = tn::grad(sum_of(scanned({})))(x);
  tn::expect_close(tn::jit(tn::grad(sum_of(scanned({.checkpoint = tn::every(2)}))))(x), want, "every");
  tn::expect_close(tn::jit(tn::grad(sum_of(scanned({.checkpoint = tn::binomial(2)}))))(x), want, "binomial");
  // Also where the list itself has derivatives.
  const auto of_table = [&](tn::ScanOptions options) {
    return [options](List<Array> t, Array x) {
      return tn::sum(
          tn::scan([&](Array c, Array i) { return std::pair(tn::sin(c * t.at(i % 3)), c); }, x, tn::arange(7), options)
              .first);
    };
  };
  tn::expect_close(tn::jit(tn::grad(of_table({.checkpoint = tn::binomial(2)})))(table, x).stack(),
                   tn::grad(of_table({}))(table, x).stack(), "in the list");
  EXPECT_THAT(message_of([&] {
                tn::while_loop([](const List<Array>& l) { return l.size() < 3; },
                               [](List<Array> l) {
                                 l.push(l.at(0));
                                 return l;
                               },
                               three_rows(), {.checkpoints = 2});
              }),
              HasSubstr("of which no checkpoint can be kept"));
}

TEST(ListNestings, InCompiledFunctionsWithin) {
  const auto push = tn::jit([](List<Array> l, Array x) {
    l.push(x * l.at(-1));
    return l;
  });
  const auto f = [&](Array x) {
    List<Array> l = List<Array>::like(x);
    l.push(x);
    l = tn::fori_loop(0, 3, [&](Array, List<Array> l) { return push(l, tn::sin(x)); }, l);
    return tn::sum(l.stack(Dim(4)));
  };
  const auto by_hand = [](Array x) {
    Array sum = x, last = x;
    for (int k = 0; k < 3; ++k) last = tn::sin(x) * last, sum = sum + last;
    return tn::sum(sum);
  };
  const Array x{0.4, -0.3};
  tn::expect_close(tn::jit(f)(x), by_hand(x), "value");
  tn::expect_close(tn::grad(f)(x), tn::grad(by_hand)(x), "grad");
  tn::expect_close(tn::jit(tn::vmap(tn::grad(f)))(tn::stack({x, 2.0 * x})),
                   tn::stack({tn::grad(by_hand)(x), tn::grad(by_hand)(2.0 * x)}), "vmap of grad");
}

TEST(ListNestings, DerivativesOfTheUsersOwn) {
  const auto last_times = [](List<Array> l, Array w) { return tn::sum(l.at(-1) * w); };
  // Twice what it would be in the list, so that the rule is seen to be taken.
  const auto by_vjp = tn::custom_vjp(
      last_times, [&](List<Array> l, Array w) { return std::pair(last_times(l, w), std::pair(l, w)); },
      [](std::pair<List<Array>, Array> kept, Array ct) {
        List<Array> slope = kept.first;
        for (int k = 0; k < 3; ++k) slope.set(k, tn::zeros({2}, DType::f64));
        slope.set(-1, 2.0 * kept.second * ct);
        return std::pair(slope, kept.first.at(-1) * ct);
      });
  const auto by_jvp = tn::custom_jvp(last_times, [&](List<Array> l, Array w, List<Array> dl, Array dw) {
    return std::pair(last_times(l, w), tn::sum(2.0 * dl.at(-1) * w + l.at(-1) * dw));
  });
  const List<Array> list = three_rows();
  const Array w{2.0, 3.0}, want{{0.0, 0.0}, {0.0, 0.0}, {4.0, 6.0}};
  const auto expect_rule = [&](const auto& f) {
    const auto loss = [&](List<Array> l, Array w) { return f(l, w); };
    tn::expect_close(tn::grad(loss)(list, w).stack(), want, "in the list");
    tn::expect_close(tn::jit(tn::grad(loss))(list, w).stack(), want, "in the list, compiled");
    tn::expect_close(tn::grad<1>(loss)(list, w), list.at(-1), "beside it");
    tn::expect_close(tn::jvp(loss, std::tuple(list, w), std::tuple(list, w)).second, 3.0 * last_times(list, w), "jvp");
    const auto lanes = [&](List<Array> l) {
      return tn::sum(tn::vmap(loss, {.in_axes = {tn::none, 0}})(l, tn::stack({w, 2.0 * w})));
    };
    tn::expect_close(tn::jit(tn::grad(lanes))(list).stack(), 3.0 * want, "of lanes that have it in common");
  };
  expect_rule(by_vjp), expect_rule(by_jvp);
  // A result that is a list has a cotangent that is as long.
  const auto twice = tn::custom_vjp(
      [](Array x) {
        List<Array> l;
        l.push(x);
        l.push(x * 2.0);
        return l;
      },
      [](Array x) {
        List<Array> l;
        l.push(x);
        l.push(x * 2.0);
        return std::pair(l, x);
      },
      [](Array, List<Array> ct) {
        const Array last = ct.pop();
        return last * 10.0 + ct.at(-1);
      });
  const auto total = [&](Array x) {
    const List<Array> l = twice(x);
    return tn::sum(l.at(0) * 3.0 + l.at(1) * 5.0);
  };
  tn::expect_close(tn::jit(tn::grad(total))(w), Array{53.0, 53.0}, "cotangents in lists");
}

// Lanes that write lists which they have in common, and take different branches: native code gives their gradient.
TEST(ListNestings, GradientsOfLanesAreNative) {
  const auto lane = [](List<Array> l, Array x) {
    l.push(x * l.at(0));
    const List<Array> other = tn::cond(
        tn::sum(x) > 0.0,
        [](List<Array> l) {
          l.clear();
          return l;
        },
        [](List<Array> l) {
          l.set(0, l.pop());
          return l;
        },
        l);
    return tn::sum(tn::sin(l.at(-1))) + tn::sum(other.stack(Dim(4)) * l.stack(Dim(4)));
  };
  const Array xs{{1.0, 2.0}, {-1.0, -2.0}, {0.5, -1.0}};
  const auto loss = [&](List<Array> l, Array xs) { return tn::sum(tn::vmap(lane, {.in_axes = {tn::none, 0}})(l, xs)); };
  const auto one_by_one = [&](List<Array> l, Array xs) { return lane(l, xs(0)) + lane(l, xs(1)) + lane(l, xs(2)); };
  const List<Array> list = three_rows();
  tn::expect_close(tn::jit(tn::grad(loss))(list, xs).stack(), tn::jit(tn::grad(one_by_one))(list, xs).stack(), "list");
  tn::expect_close(tn::jit(tn::grad<1>(loss))(list, xs), tn::jit(tn::grad<1>(one_by_one))(list, xs), "lanes");
  EXPECT_THAT(tn::explain(tn::grad(loss))(list, xs), testing::Not(HasSubstr("reference evaluator")));
}

// --- what has no element, no axis, no derivative ---
TEST(ListNestings, OfNothing) {
  const auto f = [](Array x) {
    List<Array> none = List<Array>::like(tn::zeros({0, 2}, DType::f64));
    none = tn::fori_loop(
        0, 3,
        [](Array, List<Array> l) {
          l.push(tn::zeros({0, 2}, DType::f64));
          return l;
        },
        none);
    none.set(1, none.pop());
    List<Array> flags;
    flags.push(x > 0.0);
    flags.push(x < 0.0);
    List<Array> words = List<Array>::like(tn::zeros({}, DType::u64));
    words.push(tn::convert(flags.at(0), DType::u64) * 3);
    const Array chosen = tn::where(flags.at(-1), -x, x);
    return std::tuple(chosen + tn::sum(none.at(0)) + tn::convert(words.pop(), DType::f64), none.stack(Dim(3)),
                      flags.stack());
  };
  const auto [value, none, flags] = tn::jit(f)(Array(-0.5));
  EXPECT_EQ(value.item<double>(), 0.5);
  EXPECT_EQ(none.shape().text(), "[3,0,2]");
  EXPECT_TRUE(tn::array_equal(flags, Array{false, true}));
  const auto first = [&](Array x) { return std::get<0>(f(x)); };
  EXPECT_EQ(tn::jit(tn::grad(first))(Array(-0.5)).item<double>(), -1);
  tn::expect_close(tn::jit(tn::vmap(tn::grad(first)))(Array{-0.5, 0.5}), Array{-1.0, 1.0}, "lanes");
  const auto [no_values, no_arrays, no_flags] = tn::jit(tn::vmap(f))(tn::zeros({0}, DType::f64));
  EXPECT_EQ(no_arrays.shape().text(), "[0,3,0,2]");
  EXPECT_EQ(no_flags.shape().text(), "[0,2]");
}

TEST(ListNestings, NumbersOfEveryInteger) {
  const List<Array> list = three_rows();
  const auto f = tn::jit([](List<Array> l, Array i) {
    l.set(i, Array{7.0, 7.0});
    return std::pair(l.at(i), l.at(1));
  });
  for (const DType d : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64}) {
    EXPECT_EQ(f(list, tn::convert(Array(1), d)).second(0).item<double>(), 7);
    EXPECT_EQ(list.at(tn::convert(Array(2), d))(0).item<double>(), 3);
  }
  // Not -1, which it is as an i64.
  const Array most = tn::convert(Array(-1), DType::u64);
  EXPECT_EQ(f(list, most).first(0).item<double>(), 3);
  EXPECT_THAT(message_of<tn::ShapeError>([&] { list.at(most); }), HasSubstr("in a list of 3"));
}

TEST(ListNestings, ErrorsTeach) {
  const List<Array> list = three_rows();
  EXPECT_THAT(message_of<tn::DifferentiationError>([&] { tn::jacrev([](List<Array> l) { return l.at(0); })(list); }),
              AllOf(HasSubstr("jacrev: list<f64[2]> has no known number of elements"), HasSubstr("Use jvp or vjp")));
  List<List<Array>> whole;
  EXPECT_THAT(message_of<tn::ShapeError>([&] { whole.push(List<Array>()); }),
              AllOf(HasSubstr("push: the new element has a list that has had no element"), HasSubstr("like(x)")));
  EXPECT_EQ(count(whole.size()), 0);
  whole.push(list);
  whole.push(List<Array>());
  EXPECT_EQ(count(whole.at(-1).size()), 0) << "of the type of the others";
  EXPECT_EQ(whole.at(-1).stack(Dim(1)).shape().text(), "[1,2]");
  EXPECT_THAT(message_of([&] { tn::vmap([](List<Array> l) { return l.at(0); }, {.in_axes = {1}})(list); }),
              HasSubstr("list<f64[2]>, which has no axis 1"));
}

}  // namespace
