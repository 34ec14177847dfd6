// Products of small matrices that become sums: which do, and what they come to.
#include "tenon/rewrite/small_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tenon/eval/evaluate.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/tenon.h"
#include "tests/by_oracle.h"

namespace tenon::of_small_products {
namespace {

Array drawn(const Shape& shape, DType dtype, float seed) {
  const Array x = reshape(sin(convert(arange(shape.elements(), DType::i32), DType::f32) * 1.7F + seed), shape);
  return is_complex(dtype) ? convert(complex(x, cos(x * 9.F)), dtype) : convert(x, dtype);
}

struct Case {
  const char* equation;
  std::vector<std::int64_t> a, b;
  bool is_sum;
};

int products(const Program& p) {
  int count = 0;
  for (const Eqn& eqn : p.eqns()) {
    count += is_product(*eqn.op) ? 1 : 0;
    eqn.params.visit_programs([&](const ProgramRef& inside) { count += inside ? products(*inside) : 0; });
  }
  return count;
}

Shape shape_of(const std::vector<std::int64_t>& sizes) { return Shape(std::vector<Dim>(sizes.begin(), sizes.end())); }

TEST(SmallProducts, AreSumsWhereTheseAreFaster) {
  const std::vector<Case> cases{
      {"nij,njk->nik", {40, 3, 3}, {40, 3, 3}, true},
      {"nij,njk->nik", {5, 8, 8}, {5, 8, 8}, true},
      {"nij,njk->nik", {5, 9, 8}, {5, 8, 9}, false},
      {"nij,njk->nik", {5, 16, 3}, {5, 3, 16}, false},
      {"inm,mjnk->kjmn", {3, 4, 20}, {20, 2, 4, 2}, true},  // summed along i before
      {"inj,jnk->nik", {3, 40, 2}, {2, 40, 4}, true},
      {"nij,nj->ni", {40, 8, 8}, {40, 8}, true},
      {"nij,nj->ni", {40, 8, 17}, {40, 17}, false},
      {"ij,jk->ik", {100, 3}, {3, 3}, true},
      {"ij,kj->ki", {100, 8}, {16, 8}, true},
      {"ij,jk->ik", {100, 9}, {9, 3}, false},
      {"ij,jk->ik", {100, 3}, {3, 17}, false},
      {"ij,jk->ik", {8, 3}, {3, 8}, false},  // written out
      {"ni,ni->n", {100, 4}, {100, 4}, true},
      {"nij,njk->nik", {40, 3, 0}, {40, 0, 3}, false},
      {"nij,njk->nik", {0, 3, 3}, {0, 3, 3}, false},
  };
  for (const Case& c : cases)
    for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128, DType::f16, DType::i32}) {
      SCOPED_TRACE(testing::Message() << c.equation << " of " << name(dtype));
      const Array a = drawn(shape_of(c.a), dtype, 0.3F), b = drawn(shape_of(c.b), dtype, 0.7F);
      Scope scope;
      const Array x = scope.input(a.type()), y = scope.input(b.type());
      const ProgramRef before = scope.finish(Arrays{einsum(c.equation, x, y)}).program, after = small_products(before);
      EXPECT_EQ(products(*after) == 0, c.is_sum && dtype != DType::f16 && dtype != DType::i32);
      const std::vector<Value> in{a.to_buffer(), b.to_buffer()};
      const Array want(std::get<Buffer>(evaluate(*before, {}, in)[0])),
          got(std::get<Buffer>(evaluate(*after, {}, in)[0]));
      EXPECT_TRUE(allclose(got, want, 1e-3, 1e-4));
    }
}

TEST(SmallProducts, OfAnyNumberAndInLoops) {
  const auto f = [](const Array& x, const Array& y) {
    const auto step = [&](const Array& carried, const Array& row) {
      const Array next = tanh(matmul(carried, row));
      return std::pair(next, sum(next, -1));
    };
    const auto [last, rows] = scan(step, x, y);
    return sum(matmul(last, last) * 2.F) + sum(rows);
  };
  const auto both = [&](const Array& x, const Array& y) { return grad<0, 1>(f)(x, y); };
  const auto compiled = jit(both);
  for (const std::int64_t n : {1, 2, 7, 50}) {
    const Array x = drawn({Dim(n), Dim(3), Dim(3)}, DType::f64, 0.2F),
                y = drawn({Dim(5), Dim(n), Dim(3), Dim(3)}, DType::f64, 0.9F);
    const auto [want_x, want_y] = [&] {
      const ByOracle oracle;
      return both(x, y);
    }();
    const auto [got_x, got_y] = compiled(x, y);  // of any number from the second on
    EXPECT_TRUE(allclose(got_x, want_x, 1e-9, 1e-12) && allclose(got_y, want_y, 1e-9, 1e-12));
  }
}

// A strict product is summed as it is spelled.
TEST(SmallProducts, AreNotStrict) {
  Scope scope;
  const StrictNumerics strict;
  const Array x = scope.input(Type::array(DType::f32, {Dim(40), Dim(3), Dim(3)}));
  EXPECT_EQ(products(*small_products(scope.finish(Arrays{matmul(x, x)}).program)), 1);
}

// An infinite element meets what it is multiplied with, zeros too.
TEST(SmallProducts, OfInfiniteElements) {
  Array a = drawn({Dim(40), Dim(3), Dim(3)}, DType::f32, 0.1F);
  a = a.at(4, 1, 2).set(std::numeric_limits<float>::infinity());
  const auto f = [](const Array& x) { return matmul(x, zeros_like(x)) + matmul(x, x); };
  const Array got = jit(f)(a), want = [&] {
    const ByOracle oracle;
    return f(a);
  }();
  EXPECT_TRUE(array_equal(is_nan(got), is_nan(want)));
  EXPECT_TRUE(allclose(where(is_finite(want), got, 0.F), where(is_finite(want), want, 0.F), 1e-5, 1e-6));
}

}  // namespace
}  // namespace tenon::of_small_products
