// Lists: pushes, reads and stacks beside plain C++ vectors, outside of traces and in loops, branches, derivatives and
// batches; what stays in place; and the text of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"
#include "tests/api/agreement.h"
#include "tests/api/values.h"
#include "tests/by_oracle.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::all_values;
using tn::Array;
using tn::count;
using tn::Dim;
using tn::DType;
using tn::expect_agreement;
using tn::expect_close;
using tn::List;
using tn::message_of;

namespace {

// --- outside of traces ---
TEST(Lists, AsAVectorOutsideOfTraces) {
  List<Array> list;
  std::vector<double> want;
  EXPECT_EQ(count(list.size()), 0);
  for (int i = 0; i < 1000; ++i) list.push(Array(i * 0.5)), want.push_back(i * 0.5);
  const List<Array> before = list;
  list.set(3, Array(-1.0)), want[3] = -1;
  list.set(-1, Array(-2.0)), want.back() = -2;
  list.set(Array(5), Array(-3.0)), want[5] = -3;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(list.pop().item<double>(), want.back());
    want.pop_back();
  }
  EXPECT_EQ(count(list.size()), 990);
  EXPECT_EQ(all_values(list.stack()), want);
  EXPECT_EQ(list.at(-1).item<double>(), want.back());
  EXPECT_EQ(before.at(3).item<double>(), 1.5) << "a copy is another list";
  EXPECT_EQ(count(before.size()), 1000);
  EXPECT_EQ(all_values(list.stack(Dim(2))), (std::vector<double>{0, 0.5}));
  EXPECT_EQ(all_values(list.stack(Dim(992))).back(), 0);
  list.clear();
  EXPECT_EQ(list.stack().size(0), 0);
  EXPECT_EQ(list.stack().dtype(), DType::f64);
}

struct Point {
  Array at;
  std::vector<Array> forces;
};

TEST(Lists, OfTrees) {
  List<Point> path;
  for (int i = 0; i < 4; ++i) path.push({Array{1.0 * i, 2.0}, {Array(i), tn::full({2, 0}, 1.f)}});
  const Point all = path.stack();
  EXPECT_EQ(all_values(all.at), (std::vector<double>{0, 2, 1, 2, 2, 2, 3, 2}));
  EXPECT_EQ(all.forces[0].dtype(), DType::i32);
  EXPECT_EQ(all.forces[1].shape().text(), "[4,2,0]");
  EXPECT_EQ(path.pop().forces[0].item<int>(), 3);
  EXPECT_EQ(path.at(-1).forces[0].item<int>(), 2);
  EXPECT_THAT(message_of([&] { path.push({Array{1.0, 2.0}, {Array(1)}}); }), HasSubstr("2 elements and 1 element"));
  EXPECT_EQ(count(path.size()), 3);
}

TEST(Lists, OfEveryDTypeAndShape) {
  for (const DType d :
       {DType::bool_, DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64,
        DType::f8e4m3fn, DType::f8e5m2, DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64, DType::c128})
    for (const tn::Shape& shape : {tn::Shape{}, tn::Shape{3}, tn::Shape{0}, tn::Shape{2, 0, 3}}) {
      SCOPED_TRACE(std::string(tn::name(d)) + shape.text());
      const auto element = [&](const Array& i) { return tn::broadcast_to(tn::convert(i % 2, d), shape); };
      const auto f = [&](Array n) {
        const auto list = tn::fori_loop(
            0, n,
            [&](Array i, List<Array> list) {
              list.push(element(i));
              return list;
            },
            List<Array>());
        return std::tuple(list, list.at(1), list.stack(Dim(4)));
      };
      const Array zero = tn::zeros(shape, d), one = element(Array(1));
      for (const auto& [list, second, four] : {f(Array(3)), tn::jit(f)(Array(3))}) {
        EXPECT_EQ(count(list.size()), 3);
        EXPECT_TRUE(tn::array_equal(list.stack(), tn::stack({zero, one, zero})));
        EXPECT_TRUE(tn::array_equal(second, one));
        EXPECT_TRUE(tn::array_equal(four, tn::stack({zero, one, zero, zero})));
      }
    }
}

// --- loops and branches ---
// Program 4 of the design: a simulation with an event and a list.
struct State {
  Array height, speed, time;
};
State step(const State& s, const Array& gravity) {
  return {s.height + 0.01 * s.speed, s.speed - 0.01 * gravity, s.time + 0.01};
}
auto simulate(const State& s, const Array& gravity) {
  List<Array> path;
  auto end = tn::while_loop([](State s, auto&) { return s.height > 0.0; },
                            [&](State s, auto& path) {
                              path.push(s.height);
                              return step(s, gravity);
                            },
                            s, path);
  return std::pair(end, path.stack());
}

TEST(Lists, ASimulationWithAnEvent) {
  const State start{Array(1.0), Array(0.5), Array(0.0)};
  std::vector<double> want;
  double h = 1, v = 0.5, area = 0;
  while (h > 0) want.push_back(h), area += h, h += 0.01 * v, v -= 0.01 * 9.81;
  const auto [end, path] = simulate(start, Array(9.81));
  const auto [same, compiled] = tn::jit(simulate)(start, Array(9.81));
  expect_close(path, tn::array<double>(want, {static_cast<std::int64_t>(want.size())}));
  expect_close(compiled, path);
  EXPECT_NEAR(end.time.item<double>(), 0.01 * static_cast<double>(want.size()), 1e-12);
  EXPECT_EQ(same.time.item<double>(), end.time.item<double>());
  const auto time = [&](Array g) { return simulate(start, g).first.time; };
  EXPECT_EQ(tn::jit(tn::grad(time))(Array(9.81)).item<double>(), 0) << "steps are counted";
  // d/dg of sum h[k], h[k] = h0 + 0.01 v0 k - 1e-4 g k (k-1) / 2
  double slope = 0;
  for (std::size_t k = 0; k < want.size(); ++k) slope -= 0.5e-4 * static_cast<double>(k) * (static_cast<double>(k) - 1);
  const auto sum = [&](Array g) { return tn::sum(simulate(start, g).second); };
  EXPECT_NEAR(sum(Array(9.81)).item<double>(), area, 1e-9);
  EXPECT_NEAR(tn::grad(sum)(Array(9.81)).item<double>(), slope, 1e-9);
  EXPECT_NEAR(tn::jit(tn::grad(sum))(Array(9.81)).item<double>(), slope, 1e-9);
}

// Pushes in a while whose end the data decide, and reads in a scan, in reverse.
Array written_and_read(const Array& x) {
  const auto [s, list] = tn::while_loop([](const auto& c) { return tn::sum(tn::square(std::get<0>(c))) < 40.0; },
                                        [&](const auto& c) {
                                          auto [s, list] = c;
                                          list.push(s * tn::sin(s));
                                          return std::tuple(s * 1.3 + 0.1 * tn::cos(x), list);
                                        },
                                        std::tuple(x + 0.5, List<Array>()));
  const auto [sum, ys] = tn::scan(
      [&, &list = list](Array c, Array i) {
        const Array read = list.at(i) * c + list.at(-1 - i);
        return std::pair(tn::tanh(read), read);
      },
      tn::cos(x), tn::arange(4), {.reverse = true});
  return tn::concatenate({s, sum, tn::reshape(ys, {4 * x.size(0)}), tn::reshape(list.stack(Dim(6)), {6 * x.size(0)})},
                         0);
}
TEST(Lists, WrittenInAWhileAndReadInAScan) { expect_agreement(written_and_read, Array{0.4, -0.3, 0.7}); }

// A C++ loop fills it, a scan reads and writes, branches push and pop.
Array filled_outside(const Array& x) {
  List<Array> list;
  for (int i = 0; i < 3; ++i) list.push(tn::sin(x * (i + 1.0)));
  const auto [end, ys] = tn::scan(
      [&](std::tuple<Array, List<Array>> c, Array i) {
        auto [s, list] = c;
        s = s + list.at(i) * list.at(i + 2);
        list = tn::cond(
            i % 2 == 0,
            [](List<Array> list, Array s) {
              list.push(s * s);
              list.push(tn::cos(s));
              return list;
            },
            [](List<Array> list, Array s) {
              list.set(0, list.pop() * s);
              return list;
            },
            list, s);
        return std::pair(std::tuple(s, list), list.at(-1));
      },
      std::tuple(x, list), tn::arange(4));
  const auto& [s, all] = end;
  return tn::concatenate({s, tn::reshape(ys, {12}), tn::reshape(all.stack(Dim(7)), {21})}, 0);
}
TEST(Lists, FilledOutsideWithBranches) { expect_agreement(filled_outside, Array{0.4, -0.3, 0.7}); }

// Branches that the data choose lane by lane; switch; untyped lists become typed in one branch.
Array chosen(const Array& x) {
  const auto branch = [](double by) {
    return [by](List<Array> list, Array s) {
      list.push(s * by);
      list.push(tn::exp(s));
      return list;
    };
  };
  const auto nothing = [](List<Array> list, Array) { return list; };
  List<Array> some = tn::cond(tn::sum(x) > 0.1, branch(2.0), nothing, List<Array>(), x);
  some.push(x);
  some.push(x * x);
  const List<Array> more = tn::switch_case(tn::convert(x(0) * 4.0, DType::i32),
                                           std::tuple(nothing, branch(3.0), branch(5.0)), some, tn::sin(x));
  return tn::concatenate({more.at(1), tn::reshape(more.stack(Dim(5)), {15})}, 0);
}
TEST(Lists, InBranchesThatDataChoose) {
  expect_agreement(chosen, Array{0.4, -0.3, 0.7});
  expect_agreement(chosen, Array{0.1, -0.3, 0.1});
}

// Loops in loops: an inner list of each step, and one that all share; another list instead.
Array nested(const Array& x) {
  const auto out = tn::fori_loop(
      0, 3,
      [&](Array i, std::tuple<Array, List<Array>, List<Array>> c) {
        auto [s, all, last] = c;
        List<Array> own;
        tn::while_loop([](Array k, auto&...) { return k < 4; },
                       [&](Array k, List<Array>& own, List<Array>& all) {
                         own.push(tn::sin(s) * tn::convert(k, DType::f64));
                         all = tn::cond(
                             k > i,
                             [](List<Array> l, Array v) {
                               l.push(v * v);
                               return l;
                             },
                             [](List<Array> l, Array) { return l; }, all, own.at(-1));
                         return k + 1;
                       },
                       Array(0), std::tie(own, all));
        last = own;
        return std::tuple(s + all.at(0) * own.at(2), all, last);
      },
      std::tuple(x, List<Array>(), List<Array>()));
  return tn::concatenate({std::get<0>(out), tn::reshape(std::get<1>(out).stack(Dim(7)), {21}),
                          tn::reshape(std::get<2>(out).stack(Dim(4)), {12})},
                         0);
}
TEST(Lists, InLoopsInLoops) { expect_agreement(nested, Array{0.4, -0.3, 0.7}); }

TEST(Lists, OfLists) {
  const auto f = [](Array x) {
    List<List<Array>> rows;
    for (int i = 0; i < 3; ++i) {
      List<Array> row = List<Array>::like(x);
      for (int k = 0; k < i; ++k) row.push(x * (k + 1.0));
      rows.push(row);
    }
    const auto [s, all] = tn::while_loop([](const auto& c) { return std::get<1>(c).size() < 6; },
                                         [](const auto& c) {
                                           auto [s, all] = c;
                                           List<Array> row = all.at(-1);
                                           row.push(tn::sin(s));
                                           all.push(row);
                                           return std::tuple(s * 1.1, all);
                                         },
                                         std::tuple(x, rows));
    return tn::concatenate({all.at(2).stack(Dim(2)), all.at(-1).stack(Dim(5))}, 0) +
           tn::convert(all.at(4).size(), DType::f64);
  };
  const Array x{0.4, -0.3, 0.7}, plain = f(x);
  const Array s1 = tn::sin(x), s2 = tn::sin(1.1 * x), s3 = tn::sin(1.1 * x * 1.1);
  expect_close(plain, tn::stack({x, 2.0 * x, x, 2.0 * x, s1, s2, s3}) + 4.0);
  expect_close(tn::jit(f)(x), plain);
  const auto total = [&](Array a) { return tn::sum(tn::square(f(a))); };
  constexpr double h = 1e-5;
  const Array d{0.3, -0.2, 0.5};
  expect_close(tn::sum(tn::jit(tn::grad(total))(x) * d), (total(x + h * d) - total(x - h * d)) / (2 * h), 1e-7);
}

TEST(Lists, CapturedAndInTurnsOfSeveralSteps) {
  List<Array> captured;
  for (int i = 0; i < 7; ++i) captured.push(Array{0.1 * i, 1.0 - 0.2 * i});
  const auto f = [&](std::int64_t unroll) {
    return [&, unroll](Array w) {
      const auto [list, ys] = tn::scan(
          [&](List<Array> c, Array i) {
            c.push(captured.at(i) * w);
            return std::pair(c, c.at(0) + captured.at(-1));
          },
          List<Array>(), tn::arange(7), {.unroll = unroll});
      return tn::sum(tn::square(list.stack()) + ys);
    };
  };
  const Array w{0.5, -1.0}, rows = captured.stack();
  const Array want = tn::sum(tn::square(rows * w)) + 7.0 * tn::sum(rows(0) * w + rows(6));
  for (const std::int64_t unroll : {1, 2, 7}) {
    expect_close(f(unroll)(w), want);
    expect_close(tn::jit(f(unroll))(w), want);
    expect_close(tn::jit(tn::grad(f(unroll)))(w), 2.0 * w * tn::sum(tn::square(rows), 0) + 7.0 * rows(0));
  }
  EXPECT_THAT(message_of([&] {
                tn::scan([](List<Array> c, Array i) { return std::pair(c, i); }, captured, tn::arange(7),
                         {.checkpoint = tn::every(2)});
              }),
              HasSubstr("of which no checkpoint can be kept"));
}

// --- arguments, results, gradients in lists ---
TEST(Lists, AsArgumentsAndResults) {
  List<Array> list;
  for (int i = 1; i < 5; ++i) list.push(Array{1.0 * i, 0.5 * i});
  const auto loss = [](List<Array> list, Array w) {
    list.push(w * list.at(1));
    const Array all = tn::sum(tn::square(list.stack(Dim(5))));
    return all + tn::sum(list.at(0) * list.pop());
  };
  const Array w{0.5, -1.0};
  const List<Array> slope = tn::grad(loss)(list, w), compiled = tn::jit(tn::grad(loss))(list, w);
  EXPECT_EQ(count(slope.size()), 4);
  expect_close(compiled.stack(), slope.stack());
  const auto of_rows = [](Array rows, Array w) {
    const Array last = w * rows(1);
    return tn::sum(tn::square(rows)) + tn::sum(tn::square(last)) + tn::sum(rows(0) * last);
  };
  expect_close(slope.stack(), tn::grad(of_rows)(list.stack(), w));
  expect_close(tn::grad<1>(loss)(list, w), tn::grad<1>(of_rows)(list.stack(), w));
  // A gradient that reaches some elements only is zero in the others.
  List<Array> some = tn::grad([](List<Array> l) { return tn::sum(tn::square(l.at(1))); })(list);
  expect_close(some.at(3), tn::zeros({2}, DType::f64));
  expect_close(some.at(1), 2.0 * list.at(1));
  expect_close(some.stack()(0), tn::zeros({2}, DType::f64));
  some.push(w);
  expect_close(some.at(4), w);
  expect_close(some.stack()(3), tn::zeros({2}, DType::f64));
  EXPECT_EQ(count(some.size()), 5);
  // Memory that is donated is not a list's.
  Array given = tn::ones({2}, DType::f64);
  List<Array> holds;
  holds.push(given);
  tn::jit([](Array a) { return a + 1.0; }, {.donate = {0}})(given);
  expect_close(holds.at(0), tn::ones({2}, DType::f64));
  List<Array> donated = list;
  const auto pushed = tn::jit(
      [](List<Array> l, Array x) {
        l.push(x);
        return l;
      },
      {.donate = {0}})(donated, w);
  expect_close(pushed.at(4), w);
  const auto [value, tangent] = tn::jvp(
      [](List<Array> l) {
        l.push(l.at(0) * l.at(0));
        return l;
      },
      std::tuple(list), std::tuple(list));
  EXPECT_EQ(count(tangent.size()), 5);
  expect_close(tangent.at(4), 2.0 * list.at(0) * list.at(0));
  const auto [again, pull] = tn::vjp([](List<Array> l) { return l.at(2); }, list);
  const auto [back] = pull(Array{1.0, 2.0});
  expect_close(back.stack(),
               tn::concatenate({tn::zeros({2, 2}, DType::f64), Array{{1.0, 2.0}}, tn::zeros({1, 2}, DType::f64)}, 0));
}

TEST(Lists, LanesHaveSizesOfTheirOwn) {
  const auto grown = [](Array x) {
    List<Array> list;
    const Array end = tn::while_loop([](Array s, auto&) { return s < 10.0; },
                                     [](Array s, auto& list) {
                                       list.push(s);
                                       return s * 2.0;
                                     },
                                     x, list);
    return std::pair(end, list);
  };
  const auto [end, lists] = tn::vmap(grown)(Array{1.0, 3.0, 20.0});
  EXPECT_EQ(all_values(lists.size()), (std::vector<double>{4, 2, 0}));
  EXPECT_EQ(all_values(end), (std::vector<double>{16, 12, 20}));
  const auto read = tn::vmap([](List<Array> l) { return std::pair(l.at(-1), l.stack(Dim(3))); })(lists);
  EXPECT_EQ(all_values(read.first), (std::vector<double>{8, 6, 0}));
  EXPECT_EQ(all_values(read.second), (std::vector<double>{1, 2, 4, 3, 6, 0, 0, 0, 0}));
  EXPECT_THAT(message_of([&, &lists = lists] { lists.stack(); }), HasSubstr("a size for each lane, i64[3]"));
  EXPECT_THAT(message_of([&] { tn::vmap([&](Array x) { return grown(x).second.stack(); })(Array{1.0, 3.0}); }),
              HasSubstr("stack(n)"));
}

TEST(Lists, LanesOfLanesAndJacobians) {
  const Array x{{0.4, -0.3, 0.7}, {0.1, 0.2, -0.2}};
  const Array both = tn::jit(tn::vmap(tn::vmap([](Array a) { return written_and_read(tn::stack({a, a * 0.5})); })))(x);
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 3; ++k) {
      const Array a = x(i, k);
      expect_close(both(i, k), written_and_read(tn::stack({a, a * 0.5})));
    }
  const Array rows = tn::jacrev(written_and_read)(x(0)), columns = tn::jit(tn::jacfwd(written_and_read))(x(0));
  expect_close(rows, columns);
  const Array d{0.3, -0.2, 0.5};
  expect_close(tn::sum(rows * d, -1), tn::jvp(written_and_read, std::tuple(x(0)), std::tuple(d)).second);
}

// --- what it costs ---
TEST(Lists, LoopsThatPushAndReadAreNative) {
  const auto native = [](const auto& f, const auto&... args) { return tn::explain(f)(args...); };
  const Array x{0.4, -0.3, 0.7};
  const auto total = [](Array a) { return tn::sum(written_and_read(a)); };
  for (const std::string& text :
       {native(written_and_read, x), native(tn::grad(total), x), native(tn::vmap(tn::grad(total)), tn::stack({x, x}))})
    EXPECT_THAT(text, testing::Not(HasSubstr("reference evaluator"))) << text;
}

// --- errors ---
TEST(Lists, OfListsHaveOneNumberForAllLanes) {
  const auto f = [](Array n) {
    List<List<Array>> rows;
    List<Array> row;
    row.push(n);
    rows.push(row), rows.push(row);
    return rows.at(n % 2).at(0);
  };
  EXPECT_EQ(tn::jit(f)(Array(3)).item<int>(), 3);
  EXPECT_THAT(message_of([&] { tn::vmap(f)(Array{0, 1}); }),
              AllOf(HasSubstr("vmap: elements that are lists, list<i32[2]>"), HasSubstr("map()")));
}

TEST(Lists, ErrorsTeach) {
  List<Array> list;
  EXPECT_THAT(message_of([&] { list.at(0); }), AllOf(HasSubstr("has had no element"), HasSubstr("List<T>::like(x)")));
  EXPECT_THAT(message_of([&] { list.stack(); }), HasSubstr("stack: the list has had no element"));
  EXPECT_THAT(message_of([&] { list.pop(); }), HasSubstr("pop: the list has had no element"));
  list.push(Array{1.f, 2.f});
  EXPECT_THAT(message_of<tn::ShapeError>([&] { list.at(1); }),
              AllOf(HasSubstr("at: there is no element 1 in a list of 1"), HasSubstr("lists.cpp")));
  EXPECT_THAT(message_of<tn::ShapeError>([&] { list.set(-2, Array{1.f, 2.f}); }),
              HasSubstr("set: there is no element -2 in a list of 1"));
  EXPECT_THAT(message_of<tn::DTypeError>([&] { list.push(Array{1.0, 2.0}); }),
              AllOf(HasSubstr("push: the element is f64[2], the list has f32[2]"), HasSubstr("convert")));
  EXPECT_THAT(message_of<tn::ShapeError>([&] { list.push(Array(1.f)); }),
              HasSubstr("push: the element is f32[], the list has f32[2]"));
  EXPECT_THAT(message_of<tn::DTypeError>([&] { list.at(0.5f); }), HasSubstr("is f32[], not an integer"));
  EXPECT_THAT(message_of<tn::ShapeError>([&] { list.at(Array{0, 0}); }), HasSubstr("is i32[2], not one integer"));
  EXPECT_EQ(count(list.size()), 1) << "what failed left it as it was";
  list.pop();
  EXPECT_THAT(message_of<tn::ShapeError>([&] { list.pop(); }), HasSubstr("pop: the list is empty"));
  List<std::pair<Array, Array>> pairs;
  pairs.push({Array(1.f), Array(2)});
  EXPECT_THAT(message_of([&] { pairs.push({Array(1.f), Array{1.0}}); }),
              HasSubstr("leaf <1> of the element is f64[1]"));
  // In traces.
  EXPECT_THAT(message_of([&] {
                tn::jit([](Array x) {
                  return tn::while_loop([](Array s, auto&) { return s < 1.f; },
                                        [](Array s, auto& l) {
                                          l.push(s);
                                          return s + 1.f;
                                        },
                                        x, *std::make_unique<List<Array>>(List<Array>::like(Array(1))));
                })(Array(0.f));
              }),
              HasSubstr("push: the element is f32[], the list has i32[]"));
  EXPECT_THAT(message_of([&] {
                tn::scan(
                    [](List<Array> c, Array x) {
                      c.push(x);
                      return std::pair(c, c);
                    },
                    List<Array>(), tn::arange(3));
              }),
              HasSubstr("scan: the function returns a list beside the carry"));
  List<Array> outside = List<Array>::like(Array(1.f));
  EXPECT_THAT(message_of<tn::LeakError>([&] {
                tn::jit([&](Array x) {
                  outside.push(x);
                  return x;
                })(Array(0.f));
                outside.at(0);
              }),
              HasSubstr("trace"));
}

TEST(Lists, OutsideWhereOnlyTheRunCanTell) {
  const auto f = [](Array n) {
    List<Array> list = List<Array>::like(Array(0));
    const Array none = list.at(n), popped = tn::fori_loop(
                                                0, n,
                                                [](Array, List<Array> l) {
                                                  l.pop();
                                                  return l;
                                                },
                                                list)
                                                .size();
    list.push(Array(7)), list.push(Array(8));
    list.set(n, Array(9));
    return std::tuple(none, popped, list.at(n), list.at(-n), list.stack());
  };
  const auto [none, popped, last, first, all] = tn::jit(f)(Array(5));
  EXPECT_EQ(none.item<int>(), 0);
  EXPECT_EQ(popped.item<int>(), 0);
  EXPECT_EQ(last.item<int>(), 8);
  EXPECT_EQ(first.item<int>(), 7);
  EXPECT_EQ(all_values(all), (std::vector<double>{7, 8}));
}

}  // namespace
