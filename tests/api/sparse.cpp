// grad(f, tn::sparse<…>): the gradient in arrays that are only indexed, as the rows that were read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <type_traits>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;
using tn::Rows;

namespace {

Array table_of(std::vector<std::int64_t> shape) {
  std::int64_t n = 1;
  for (const std::int64_t d : shape) n *= d;
  return tn::reshape(tn::sin(tn::arange(n, tn::DType::f64)), tn::Shape(shape));
}
Array ids_of(std::vector<std::int64_t> ids) {
  const auto n = static_cast<std::int64_t>(ids.size());
  return tn::array<std::int64_t>(ids, {n});
}

// The rows, eagerly and jitted, are parts of the dense gradient; that many are there.
template <class... Args>
void expect_rows(std::int64_t rows, const std::type_identity_t<std::function<Array(Array, Args...)>>& f,
                 const Array& table, const Args&... args) {
  const Array dense = tn::grad(f)(table, args...);
  const Rows eager = tn::grad(f, tn::sparse<>)(table, args...);
  const Rows jitted = tn::jit(tn::grad(f, tn::sparse<>))(table, args...);
  for (const Rows& r : {eager, jitted}) {
    EXPECT_EQ(r.indices.size(0), tn::Dim(rows));
    EXPECT_EQ(r.values.size(0), tn::Dim(rows));
    EXPECT_EQ(r.indices.dtype(), tn::DType::i64);
    EXPECT_EQ(r.values.dtype(), table.dtype());
    EXPECT_TRUE(tn::allclose(r.dense(), dense)) << r.dense() << dense;
    const Rows once = r.combined();
    EXPECT_TRUE(tn::allclose(once.dense(), dense));
    const Array at = once.indices + 0;
    for (std::int64_t i = 1; i < rows; ++i) {
      const std::int64_t before = at(i - 1).template item<std::int64_t>(), here = at(i).template item<std::int64_t>();
      EXPECT_TRUE(before < here || here == r.count) << at;
    }
  }
}

}  // namespace

TEST(Sparse, Lookups) {
  const Array table = table_of({7, 3}), ids = ids_of({4, 1, 4, 0, -1});
  expect_rows(5, [](Array t, Array i) { return tn::sum(tn::exp(t(i))); }, table, ids);
  expect_rows(5, [](Array t, Array i) { return tn::sum(tn::sin(tn::take(t, i))); }, table, ids);
  expect_rows(
      6, [](Array t, Array i) { return tn::sum(tn::square(t(tn::reshape(i, {2, 3})))); }, table,
      ids_of({1, 2, 2, 6, 0, 5}));
  expect_rows(1, [](Array t) { return tn::sum(tn::exp(t(2))); }, table);
  expect_rows(1, [](Array t, Array i) { return tn::sum(tn::exp(t(i))); }, table, Array(-2));
  expect_rows(3, [](Array t) { return tn::sum(tn::exp(t(tn::slice(2, 5)))); }, table);
  expect_rows(3, [](Array t) { return tn::sum(tn::exp(t(tn::slice(0, 6, 2)))); }, table);
  const auto part = [](Array t, Array i) {
    const Array starts[] = {i, Array(0)};
    return tn::sum(tn::exp(tn::dynamic_slice(t, starts, {2, 3})));
  };
  expect_rows(2, part, table, Array(3));
  expect_rows(2, part, table, Array(9));  // moved inside
  // Several reads, of a vector; and none.
  expect_rows(
      6, [](Array t, Array i) { return tn::sum(t(i) * t(0)) + t(3) * 2.0; }, table_of({5}), ids_of({1, 1, 2, 4}));
  expect_rows(0, [](Array t) { return tn::sum(tn::stop_gradient(t) * 2.0); }, table);
  expect_rows(0, [](Array t, Array i) { return tn::sum(t(i)); }, table, ids_of({}));
  // Three axes.
  expect_rows(
      2, [](Array t, Array i) { return tn::sum(tn::sin(t(i)) * t(0, tn::newaxis)); }, table_of({4, 2, 3}), ids_of({3}));
}

// Rows of another form: converted, and with other axes.
TEST(Sparse, OfAnotherForm) {
  const Array table = tn::convert(table_of({6, 4}), tn::DType::f32), ids = ids_of({5, 0, 5});
  expect_rows(
      3,
      [](Array t, Array i) { return tn::convert(tn::sum(tn::exp(tn::convert(t, tn::DType::f64)(i))), tn::DType::f32); },
      table, ids);
  expect_rows(
      3, [](Array t, Array i) { return tn::sum(tn::sin(tn::reshape(t, {6, 2, 2})(i)(tn::all, 1))); }, table, ids);
}

TEST(Sparse, OutsideIsNoRow) {
  const Array table = table_of({5, 2}), ids = ids_of({1, 7, 3});
  const auto filled = [](Array t, Array i) {
    return tn::sum(tn::square(tn::take(t, i, 0, {tn::IndexMode::fill, tn::Scalar(0.0)})));
  };
  expect_rows(3, filled, table, ids);
  EXPECT_EQ(tn::grad(filled, tn::sparse<>)(table, ids).indices(1).item<std::int64_t>(), 5);
  expect_rows(3, [](Array t, Array i) { return tn::sum(tn::square(tn::take(t, i))); }, table, ids);  // moved inside
}

TEST(Sparse, InLoopsBranchesAndCalls) {
  const Array table = table_of({9, 4}), ids = ids_of({3, 8, 3, 0});
  const auto scanned = [](Array t, Array ids) {
    return tn::sum(tn::scan([&](Array h, Array i) { return std::pair(tn::tanh(h + t(i)), std::tuple<>()); },
                            tn::zeros({4}, tn::DType::f64), ids)
                       .first);
  };
  expect_rows(4, scanned, table, ids);
  expect_rows(4, tn::jit(scanned), table, ids);
  expect_rows(4, [&](Array t, Array i) { return tn::checkpoint(scanned)(t, i); }, table, ids);
  // The next row is chosen by what was read.
  const auto walk = [](Array t) {
    return tn::fori_loop(
               0, 6,
               [&](Array, std::pair<Array, Array> s) {
                 const Array row = t(s.first);
                 return std::pair((s.first * 2 + tn::where(tn::sum(row) > 0.0, 1, 3)) % 9,
                                  s.second + tn::sum(row * row));
               },
               std::pair(Array(1), Array(0.0)))
        .second;
  };
  expect_rows(6, walk, table);
  const auto nested = [](Array t, Array ids) {
    return tn::sum(tn::scan(
                       [&](Array h, Array i) {
                         const Array inner =
                             tn::fori_loop(0, 3, [&](Array k, Array c) { return c * tn::sum(t(k + i)); }, h);
                         return std::pair(tn::sin(inner), std::tuple<>());
                       },
                       Array(0.5), ids)
                       .first);
  };
  expect_rows(12, nested, table, ids_of({3, 5, 3, 0}));
  const auto branches = [](Array t, Array i) {
    return tn::sum(tn::cond(
        i > 3, [](Array t, Array i) { return tn::exp(t(i)); }, [](Array t, Array i) { return t(i) * t(i + 1); }, t, i));
  };
  expect_rows(3, branches, table, Array(5));
  expect_rows(3, branches, table, Array(2));
}

TEST(Sparse, BesideOtherArguments) {
  struct Net {
    Array w, b;
  };
  const auto loss = [](Array t, Net net, Array ids, Array u) {
    const Array h = tn::tanh(tn::matmul(t(ids), net.w) + net.b);
    return std::pair(tn::sum(h * u(ids)), h);
  };
  const Array table = table_of({6, 3}), ids = ids_of({5, 2, 5}), u = table_of({6, 2});
  const Net net{table_of({3, 2}), table_of({2})};
  const auto [rows, dnet, du] = tn::grad<0, 1, -1>(loss, tn::has_aux, tn::sparse<0, -1>)(table, net, ids, u).first;
  const auto [dt, dense_net, dense_u] = tn::grad<0, 1, 3>(loss, tn::has_aux)(table, net, ids, u).first;
  EXPECT_TRUE(tn::allclose(rows.dense(), dt));
  EXPECT_TRUE(tn::allclose(du.dense(), dense_u));
  EXPECT_TRUE(tn::allclose(dnet.w, dense_net.w));
  EXPECT_TRUE(tn::allclose(dnet.b, dense_net.b));
  const auto [value, both] = tn::value_and_grad<0, 3>(loss, tn::has_aux, tn::sparse<3>)(table, net, ids, u);
  EXPECT_EQ(value.first.item<double>(), loss(table, net, ids, u).first.item<double>());
  EXPECT_TRUE(tn::allclose(std::get<0>(both), dt));
  EXPECT_TRUE(tn::allclose(std::get<1>(both).dense(), dense_u));
  // A step of descent on the rows alone.
  const Array next = table.at(rows.indices).add(-0.1 * rows.values);
  EXPECT_TRUE(tn::allclose(next, table - 0.1 * dt));
  // Lanes: each has rows of its own.
  const auto one = [](Array t, Array i) { return tn::sum(tn::exp(t(i))); };
  const Array lanes = tn::reshape(ids_of({4, 1, 1, 0}), {2, 2});
  const Rows batched = tn::vmap([&](Array i) { return tn::grad(one, tn::sparse<>)(table, i); })(lanes);
  EXPECT_EQ(batched.values.shape(), tn::Shape({2, 2, 3}));
  EXPECT_TRUE(tn::array_equal(batched.indices, lanes));
}

TEST(Sparse, WhatNeedsTheWholeIsAnError) {
  const Array table = table_of({6, 3});
  const auto message = [&](auto f) {
    return message_of<tn::DifferentiationError>([&] { tn::grad(f, tn::sparse<>)(table); });
  };
  const std::string line = "sparse.cpp:" + std::to_string(__LINE__ + 1);
  EXPECT_THAT(message([](Array t) { return tn::sum(t(1)) + tn::sum(tn::exp(t)); }),
              AllOf(HasSubstr("grad: with sparse, argument 0 may only be indexed along its first axis"),
                    HasSubstr(line), HasSubstr("needs the whole of f64[6,3]"), HasSubstr("Take its gradient densely")));
  EXPECT_THAT(message([](Array t) { return tn::sum(t(tn::all, 1)); }), HasSubstr("needs the whole"));
  EXPECT_THAT(message([](Array t) { return tn::sum(t.at(1).set(2.0)(0)); }), HasSubstr("needs the whole"));
  EXPECT_THAT(message([](Array t) {
                return tn::sum(tn::scan([](Array c, Array r) { return std::pair(c + r, std::tuple<>()); },
                                        tn::zeros({3}, tn::DType::f64), t)
                                   .first);
              }),
              HasSubstr("loop at"));
  EXPECT_THAT(message([](Array t) {
                return tn::while_loop([](Array c) { return c < 9.0; },
                                      [&](Array c) { return c + tn::sum(t(0) * t(0)); }, Array(0.0));
              }),
              HasSubstr("data decide how many steps"));
  EXPECT_THAT(message_of<tn::DifferentiationError>([&] { tn::grad([](Array x) { return x * x; }, tn::sparse<>)(2.0); }),
              HasSubstr("which has no rows"));
}
