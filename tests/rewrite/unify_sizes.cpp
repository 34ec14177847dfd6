// Sizes that must be equal are one, and what stops a run still stops it.
#include "tenon/rewrite/unify_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tenon/ir/literal.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

// A function of arrays of these ranks, whose sizes are all parameters of their own.
ProgramRef of_any_sizes(FunctionRef<Arrays(const Arrays&)> f, std::initializer_list<int> ranks) {
  Scope scope;
  Arrays inputs;
  for (const int rank : ranks) {
    std::vector<Dim> shape;
    for (int i = 0; i < rank; ++i) shape.push_back(scope.size_param());
    inputs.push_back(scope.input(Type::array(DType::f64, Shape(shape))));
  }
  return inline_calls(scope.finish(f(inputs)).program);
}

// The size variables that the types of what eqns compute have; the reshapes of inputs not counted.
std::size_t sizes_in_use(const Program& program) {
  std::set<SizeVar> seen;
  for (const Eqn& eqn : program.eqns())
    for (const Var v : eqn.out)
      program.type(v).visit_dims([&](const Dim& d) { d.visit_variables([&](SizeVar s) { seen.insert(s); }); });
  return seen.size();
}
auto checks(const Program& program) { return std::ranges::count(program.eqns(), &require_equal_op(), &Eqn::op); }

Buffer filled(std::vector<std::int64_t> shape) {
  return waves(Type::array(DType::f64, Shape(std::vector<Dim>(shape.begin(), shape.end()))));
}

// Sizes are numbered as the axes of inputs are.
std::vector<Value> run(const ProgramRef& p, const std::vector<Value>& in) {
  std::vector<std::int64_t> sizes;
  for (const Value& x : in)
    for (const Dim& size : Array(std::get<Buffer>(x)).shape()) sizes.push_back(size.value());
  return evaluate(*p, sizes, in);
}
void expect_same_for(const ProgramRef& p, const ProgramRef& q, const std::vector<Value>& in) {
  const auto want = run(p, in), got = run(q, in);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(array_equal(Array(std::get<Buffer>(got[i])), Array(std::get<Buffer>(want[i])))) << q;
}

TEST(UnifySizes, ProductsAndTheirGradients) {
  const auto f = [](const Arrays& in) {
    const auto loss = [](const Array& x, const Array& y, const Array& z) { return sum(square(matmul(x, y) * z)); };
    const auto [dx, dy, dz] = grad<0, 1, 2>(loss)(in[0], in[1], in[2]);
    return Arrays{dx, dy, dz};
  };
  const ProgramRef p = of_any_sizes(f, {2, 2, 2}), q = unify_sizes(p);
  EXPECT_EQ(sizes_in_use(*q), 3U) << q;  // rows, what is summed, columns
  for (const auto& [m, k, n] : {std::tuple(3, 4, 5), std::tuple(1, 2, 1), std::tuple(3, 0, 2), std::tuple(0, 3, 2)})
    expect_same_for(p, q, {filled({m, k}), filled({k, n}), filled({m, n})});
}

TEST(UnifySizes, AChainOfSums) {
  const auto f = [](const Arrays& in) {
    Array all = in[0];
    for (const Array& x : in) all = x + all;
    return Arrays{all, in[3] * 2.0};
  };
  const ProgramRef p = of_any_sizes(f, {1, 1, 1, 1}), q = unify_sizes(p);
  EXPECT_EQ(sizes_in_use(*q), 1U) << q;
  expect_same_for(p, q, {filled({4}), filled({4}), filled({4}), filled({4})});
}

TEST(UnifySizes, ANumber) {
  const auto f = [](const Arrays& in) { return Arrays{matmul(in[0], ones({4, 2}, DType::f64))}; };
  const ProgramRef p = of_any_sizes(f, {2}), q = unify_sizes(p);
  EXPECT_EQ(sizes_in_use(*q), 1U) << q;
  expect_same_for(p, q, {filled({3, 4})});
}

TEST(UnifySizes, WhatIsRequiredOfOthersStays) {
  const auto twice = [](const Arrays& in) { return Arrays{concatenate({in[0], in[0]}, 0) + in[1]}; };
  const ProgramRef p = of_any_sizes(twice, {1, 1});  // 2 a = b: neither is the other
  EXPECT_EQ(unify_sizes(p)->hash(), p->hash());
  const auto free = [](const Arrays& in) { return Arrays{in[0] * 2.0, in[1] * 2.0}; };
  const ProgramRef of_two = of_any_sizes(free, {1, 1});
  EXPECT_EQ(unify_sizes(of_two)->hash(), of_two->hash());
}

TEST(UnifySizes, RunsStopAsBefore) {
  const auto f = [](const Arrays& in) { return Arrays{matmul(in[0], in[1])}; };
  const ProgramRef p = of_any_sizes(f, {2, 2}), q = unify_sizes(p);
  EXPECT_EQ(checks(*p), 1);
  const auto told = [](const ProgramRef& program) -> std::string {
    try {
      run(program, {filled({3, 4}), filled({5, 2})});
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(told(p), "");
  EXPECT_EQ(told(p), told(q));
}

// A check that has been made is not made again.
TEST(UnifySizes, ChecksAreMadeOnce) {
  const auto f = [](const Arrays& in) {
    Array all = in[0];
    for (int i = 0; i < 5; ++i) all = all * in[1] + sin(all);
    return Arrays{all};
  };
  EXPECT_EQ(checks(*of_any_sizes(f, {1, 1})), 1);
}

}  // namespace
}  // namespace tenon
