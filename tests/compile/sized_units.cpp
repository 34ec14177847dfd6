// Functions whose sizes vary, compiled once: for all their calls, at different sizes, and at sizes that data decide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/compile/executable.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/eval/evaluate.h"
#include "tenon/ir/scope.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;
using tn::Arrays;
using tn::Dim;
using tn::DType;

namespace {

// 47 eqns: products, sines, a mean.
Array step(Array x, Array w) {
  for (int i = 0; i < 10; ++i) x = tn::sin(tn::matmul(x, w)) * 0.5 + x;
  return x - tn::mean(x);
}
Array numbers(const tn::Shape& shape, double by) {
  return tn::reshape(tn::sin(tn::arange(shape.elements().value(), DType::f64) * by), shape);
}

// A Program of two sizes n, m, of arrays of n and m rows, a mask of n and a matrix.
tn::ProgramRef program_of(const std::function<Arrays(Array x, Array y, Array mask, Array w)>& f) {
  tn::Scope scope;
  const Dim n = scope.size_param(), m = scope.size_param();
  const auto rows = [&](const Dim& d) { return scope.input(tn::Type::array(DType::f64, {d, 6})); };
  const Array x = rows(n), y = rows(m), mask = scope.input(tn::Type::array(DType::bool_, {n}));
  const Array w = scope.input(tn::Type::array(DType::f64, {6, 6}));
  return scope.finish(f(x, y, mask, w), "of_two_sizes").program;
}

void expect_agreement(const tn::ProgramRef& program) {
  const auto compiled = tn::compile(program);
  for (const auto& [n, m] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {2, 7}, {7, 2}, {64, 65}, {1000, 3}, {0, 4}, {3, 0}}) {
    const std::vector<std::int64_t> sizes{n, m};
    for (const Array& mask : {tn::arange(n) % 3 == 1, tn::arange(n) < 0, tn::arange(n) >= 0}) {
      const std::vector<tn::Value> in{numbers({n, 6}, 0.7).to_buffer(), numbers({m, 6}, 0.3).to_buffer(),
                                      mask.to_buffer(), (numbers({6, 6}, 1.3) * 0.1).to_buffer()};
      const auto got = compiled->run(in, sizes), want = tn::evaluate(*program, sizes, in);
      for (std::size_t i = 0; i < want.size(); ++i) {
        const Array a(std::get<tn::Buffer>(got[i])), b(std::get<tn::Buffer>(want[i]));
        ASSERT_EQ(a.type(), b.type());
        const auto numbers_of = [](const Array& x) { return tn::where(x == x, x, 0.0); };  // a mean of nothing is NaN
        EXPECT_TRUE(tn::array_equal(a == a, b == b) && tn::allclose(numbers_of(a), numbers_of(b), 1e-9, 1e-9))
            << n << " " << m << ", result " << i << a << b;
      }
    }
  }
}

std::size_t units_of(const tn::ProgramRef& program) { return tn::plan(*tn::flattened(program)).units.size(); }

TEST(SizedUnits, AreCompiledOnceForAllCalls) {
  const auto f = tn::jit(step);
  for (const int calls : {10, 100, 1000}) {
    const tn::ProgramRef program = program_of([&](Array x, Array, Array, Array w) {
      for (int i = 0; i < calls; ++i) x = f(x, w);
      return Arrays{x};
    });
    EXPECT_EQ(units_of(program), 1);
    if (calls == 100) expect_agreement(program);
  }
}

TEST(SizedUnits, ServeCallsAtOtherSizes) {
  const auto f = tn::jit(step);
  const tn::ProgramRef two = program_of([&](Array x, Array y, Array, Array w) {
    for (int i = 0; i < 9; ++i) x = f(x, w), y = f(y, w);
    return Arrays{x, y};
  });
  EXPECT_EQ(units_of(two), 1);
  expect_agreement(two);
  const tn::ProgramRef found = program_of([&](Array x, Array y, Array mask, Array w) {
    Array z = tn::compress(x, mask);
    for (int i = 0; i < 9; ++i) y = f(y, w), z = f(z, w);
    return Arrays{y, z, tn::sum(z)};
  });
  EXPECT_EQ(units_of(found), 1);
  expect_agreement(found);
}

TEST(SizedUnits, InLoopsAndDerivatives) {
  const auto f = tn::jit(step);
  const auto looped = [&](Array x, Array w) {
    const Array end = tn::fori_loop(
        0, 3,
        [&](Array i, Array y) {
          return tn::cond(
              tn::sum(y) > Array(i),
              [&](Array z) {
                for (int k = 0; k < 8; ++k) z = f(z, w);
                return z;
              },
              [&](Array z) { return f(z * 0.5, w); }, y);
        },
        x);
    return tn::sum(end * end);
  };
  const auto grown = [&](Array x, Array w) {
    for (int i = 0; i < 8; ++i) x = f(x, w);
    return tn::sum(x * x);
  };
  const tn::ProgramRef loops = program_of([&](Array x, Array y, Array mask, Array w) {
    return Arrays{looped(x, w), looped(y, w), looped(tn::compress(x, mask), w)};
  });
  EXPECT_EQ(units_of(loops), 1);
  expect_agreement(loops);
  const tn::ProgramRef slopes = program_of([&](Array x, Array y, Array mask, Array w) {
    const auto slope = tn::grad<0, 1>(grown);
    const auto [dx, dw] = slope(x, w);
    return Arrays{dx, dw, tn::grad(grown)(y, w), tn::grad(grown)(tn::compress(x, mask), w)};
  });
  EXPECT_GE(units_of(slopes), 1);
  expect_agreement(slopes);
}

}  // namespace
