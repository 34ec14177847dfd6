// Products of operands that repeat, or summed behind: less is multiplied, and every result is the same.
#include "tenon/rewrite/narrow_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/compose_views.h"
#include "tenon/rewrite/pass.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

Array wave(std::initializer_list<Dim> shape, double by) {
  const Shape s(shape);
  return reshape(sin(arange(s.elements().value(), DType::f64) * by + 0.4) * 4.0, s);
}
Array x() { return wave({5, 3}, 1.3); }  // [t, a]
Array y() { return wave({5, 4}, 0.7); }  // [t, b]
Array batched() { return wave({2, 5, 3}, 0.9); }

// Multiplications of all products.
std::int64_t work(const Program& p) {
  std::int64_t sum = 0;
  for (const Eqn& eqn : p.eqns()) {
    if (is_product(*eqn.op)) {
      Dim one = p.type(eqn.out[0]).shape.elements();
      for (const Dim& n : product_form(eqn.params, p.type(eqn.in[0]), p.type(eqn.in[1])).sum_sizes) one = one * n;
      sum += one.value();
    }
    eqn.params.visit_programs([&](const ProgramRef& inside) { sum += inside ? work(*inside) : 0; });
  }
  return sum;
}

std::vector<Value> inputs_of(const Program& p) {
  std::vector<Value> in;
  double by = 1.1;
  for (const Type& t : p.input_types()) {
    const Shape s = t.shape;
    in.push_back(convert(reshape(sin(arange(s.elements().value(), DType::f64) * (by += 0.3) + 0.4) * 4.0, s), t.dtype)
                     .to_buffer());
  }
  return in;
}

// The order of summation alone differs.
void expect_equal(const std::vector<Value>& got, const std::vector<Value>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(type_of(got[i]), type_of(want[i]));
    const DType d = type_of(want[i]).dtype;
    if (is_integer(d)) {
      EXPECT_TRUE(array_equal(Array(std::get<Buffer>(got[i])), Array(std::get<Buffer>(want[i]))));
      continue;
    }
    const auto parts = [&](const Value& v) {
      const Array a(std::get<Buffer>(v));
      return is_complex(d) ? stack({convert(real(a), DType::f64), convert(imag(a), DType::f64)}, 0).to_buffer()
                           : convert(a, DType::f64).to_buffer();
    };
    const Buffer g = parts(got[i]), w = parts(want[i]);
    const double tolerance = d == DType::f32 || d == DType::c64 ? 1e-4 : is_narrow(d) ? 0 : 1e-11;
    for (std::int64_t k = 0; k < w.elements(); ++k)
      EXPECT_NEAR(g.as<double>()[k], w.as<double>()[k], tolerance * (1 + std::abs(w.as<double>()[k])));
  }
}

struct Case {
  const char* name;
  Array (*f)(Array x, Array y, Array batched);
  std::int64_t before, after;  // multiplications
};

Array repeated(const Array& v, std::initializer_list<Dim> shape, std::vector<std::int64_t> dims) {
  return broadcast_in_dim(v, Shape(shape), std::move(dims));
}

const Case cases[]{
    {"SumOfFreeAxes", [](Array x, Array y, Array) { return sum(einsum("ta,tb->ab", x, y), 1); }, 60, 15},
    {"SumOfTheOtherFreeAxis", [](Array x, Array y, Array) { return sum(einsum("ta,tb->ab", x, y), 0); }, 60, 20},
    {"SumOfAll", [](Array x, Array y, Array) { return sum(einsum("ta,tb->ab", x, y)); }, 60, 5},
    {"SumOfBatchAxes", [](Array x, Array, Array z) { return sum(einsum("nta,tb->nab", z, x), 0); }, 90, 45},
    {"SumOfATransposedProduct", [](Array x, Array y, Array) { return sum(transpose(einsum("ta,tb->ab", x, y)), 0); },
     60, 15},
    {"SumOfTwoTransposes",
     [](Array x, Array, Array z) {
       return sum(transpose(transpose(einsum("nta,tb->nab", z, x), {2, 0, 1}), {1, 2, 0}), {0, 2});
     },
     90, 15},
    {"ReadTwice",
     [](Array x, Array y, Array) {
       const Array p = einsum("ta,tb->ab", x, y);
       return sum(p, 1) * sum(p * p);
     },
     60, 60},
    {"ContractedAlongWhatRepeats",
     [](Array x, Array y, Array) { return einsum("ta,tb->ab", x, repeated(y(0), {5, 4}, {1})); }, 60, 0},
    {"FreeAlongWhatRepeats",
     [](Array x, Array y, Array) { return einsum("ta,tb->ab", x, repeated(y(all, 0), {5, 4}, {0})); }, 60, 15},
    {"FreeAlongWhatRepeatsFirst",
     [](Array x, Array y, Array) { return einsum("ta,tb->ab", repeated(x(all, 0), {5, 3}, {0}), y); }, 60, 20},
    {"BatchAlongWhatRepeats",
     [](Array x, Array, Array z) { return einsum("nta,ntb->nab", z, repeated(x, {2, 5, 3}, {1, 2})); }, 90, 90},
    {"BatchAndMoreAlongWhatRepeats",
     [](Array x, Array, Array z) { return einsum("nta,ntb->nab", z, repeated(x(all, 1), {2, 5, 3}, {1})); }, 90, 30},
    {"BothRepeat",
     [](Array x, Array y, Array) {
       return einsum("ta,tb->ab", repeated(x(0), {5, 3}, {1}), repeated(y(0), {5, 4}, {1}));
     },
     60, 0},
    {"OneNumberRepeats", [](Array x, Array y, Array) { return matmul(repeated(x(0, 0), {2, 5}, {}), y); }, 40, 0},
    {"TransposedBehindTheBroadcast",
     [](Array x, Array y, Array) { return matmul(transpose(repeated(x(0), {5, 3}, {1})), y); }, 60, 0},
    {"RepeatedAndSummed",
     [](Array x, Array y, Array) { return sum(einsum("ta,tb->ab", repeated(x(all, 0), {5, 3}, {0}), y), 0); }, 60, 20},
    {"NothingRepeats", [](Array x, Array y, Array) { return einsum("ta,tb->ab", x, y); }, 60, 60},
    {"NoElements", [](Array x, Array y, Array) { return sum(einsum("ta,tb->ab", x(slice(0)), y(slice(0))), 1); }, 0, 0},
    {"InALoop",
     [](Array x, Array y, Array) {
       return fori_loop(0, 3, [&](Array, Array c) { return sum(einsum("ta,tb->ab", x * c, y), 1); }, x(0));
     },
     60, 15},
};

class Narrowed : public testing::TestWithParam<std::tuple<Case, DType>> {};

TEST_P(Narrowed, LessIsMultipliedAndTheResultIsTheSame) {
  const auto& [c, dtype] = GetParam();
  const auto as = [&](const Array& a) { return convert(a, dtype); };
  const ProgramRef p = inline_calls(trace(c.f)(as(x()), as(y()), as(batched())));
  const ProgramRef q = narrow_products(p);
  const bool half = is_narrow(dtype);
  EXPECT_EQ(work(*p), c.before) << p;
  EXPECT_EQ(work(*q), half ? c.before : c.after) << q;
  EXPECT_EQ(work(*narrow_products(q)), work(*q));
  expect_equal(evaluate(*q, {}, inputs_of(*p)), evaluate(*p, {}, inputs_of(*p)));
}

INSTANTIATE_TEST_SUITE_P(All, Narrowed,
                         testing::Combine(testing::ValuesIn(cases),
                                          testing::Values(DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32,
                                                          DType::i64, DType::u32, DType::u64, DType::c64, DType::c128)),
                         case_and_dtype);

// The mean of an einsum, in value and gradient, costs what the shorter spelling costs.
TEST(NarrowProducts, AMeanAndItsCotangents) {
  const auto longer = [](const Array& x, const Array& y) { return sum(sin(mean(einsum("ta,tb->ab", x, y), 1))); };
  const ProgramRef p = inline_calls(trace(value_and_grad<0, 1>(longer))(x(), y())), q = narrow_products(p);
  EXPECT_EQ(work(*p), 180);
  EXPECT_EQ(work(*q), 30);
  expect_equal(evaluate(*q, {}, inputs_of(*p)), evaluate(*p, {}, inputs_of(*p)));
}

// A sum of no products is 0, whatever stands in the operand that has elements.
TEST(NarrowProducts, SumsOfNothingStayZero) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto none = [](const Array& x) { return x(slice(0)); };
  const auto repeated_none = [&](const Array& x, const Array& y) {
    return matmul(none(y(all, 0)), broadcast_in_dim(x(0), {0, 3}, {1}));
  };
  const auto free_none = [&](const Array& x, const Array& y) { return sum(einsum("a,b->ab", x(0), none(y(0))), 1); };
  const auto both_repeat = [&](const Array& x, const Array& y) {
    return matmul(broadcast_in_dim(y(0, 0), {2, 0}, {}), broadcast_in_dim(x(0), {0, 3}, {1}));
  };
  const auto check = [&](const auto& f) {
    const ProgramRef p = inline_calls(trace(f)(x() * inf, y())), q = narrow_products(p);
    const Buffer out =
        std::get<Buffer>(evaluate(*q, {}, std::vector<Value>{(x() * inf).to_buffer(), y().to_buffer()})[0]);
    ASSERT_GT(out.elements(), 0);
    for (std::int64_t i = 0; i < out.elements(); ++i) EXPECT_EQ(out.as<double>()[i], 0) << q;
  };
  check(repeated_none), check(free_none), check(both_repeat);
}

// A sum of what was broadcast and multiplied is a product of matrices, wherever one is as good; `work` counts those.
struct Spelling {
  const char* name;
  Array (*f)(Array x, Array y);  // f[5, 3], f[5, 4]
  std::int64_t work;
};
Array outer(const Array& x, const Array& y, std::int64_t terms = 5) {
  return reshape(x, {terms, 3, 1}) * reshape(y, {terms, 1, 4});
}
const Spelling spellings[]{
    {"Broadcast", [](Array x, Array y) { return sum(outer(x, y), 0); }, 60},
    {"BroadcastInTheOtherOrder", [](Array x, Array y) { return sum(reshape(y, {5, 4, 1}) * reshape(x, {5, 1, 3}), 0); },
     60},
    {"LanesOfLanes",
     [](Array x, Array y) {
       return vmap([&](Array a) { return vmap([&](Array b) { return sum(a * b); }, {.in_axes = 1})(y); },
                   {.in_axes = 1})(x);
     },
     60},
    {"BatchesOfMatrices",
     [](Array x, Array y) {
       return vmap([](Array a, Array b) {
         return sum(reshape(a, {3, 1, 1}) * reshape(b, {1, 4, 1}) * ones({1, 1, 2}), 2);
       })(x, y);
     },
     0},  // nothing that both have is summed
    {"ComputedOperandsNoLargerThanTheResult",
     [](Array x, Array y) {
       const Array six = concatenate({x, x}, 1)(slice(0, 4)), a = six * six, b = y(slice(0, 4)) + y(slice(1, 5));
       return sum(reshape(a, {4, 6, 1}) * reshape(b, {4, 1, 4}), 0);
     },
     96},
    {"AVector", [](Array x, Array y) { return sum(x * reshape(y(all, 0), {5, 1}), 0); }, 0},
    {"Squares", [](Array x, Array) { return sum(x * x, 0); }, 0},
    {"ReadTwice",
     [](Array x, Array y) {
       const Array p = outer(x, y);
       return sum(p, 0) + p(0);
     },
     0},
    {"OneIsMuchMoreThanTheResult",
     [](Array x, Array y) {
       // k[i, j] is computed where it is read, never stored.
       const Array k = sin(reshape(x, {15, 1}) - reshape(y, {1, 20}));
       return sum(reshape(k, {15, 20, 1}) * reshape(y, {1, 20, 1}) * ones({1, 1, 2}), 1);
     },
     0},
};
class Spelled : public testing::TestWithParam<std::tuple<Spelling, DType>> {};

TEST_P(Spelled, AsAProduct) {
  const auto& [c, dtype] = GetParam();
  const ProgramRef p = inline_calls(trace(c.f)(convert(x(), dtype), convert(y(), dtype)));
  const ProgramRef q = narrow_products(compose_views(p));
  const bool other = is_narrow(dtype) || is_complex(dtype);
  EXPECT_EQ(work(*q), other ? 0 : c.work) << q;
  expect_equal(evaluate(*q, {}, inputs_of(*p)), evaluate(*p, {}, inputs_of(*p)));
}

INSTANTIATE_TEST_SUITE_P(All, Spelled,
                         testing::Combine(testing::ValuesIn(spellings),
                                          testing::Values(DType::f64, DType::f32, DType::f16, DType::i32, DType::i64,
                                                          DType::u32, DType::u64, DType::c64)),
                         case_and_dtype);

// Of floats: a sum of three products is faster as it is spelled.
TEST(NarrowProducts, SumsOfFewTermsStay) {
  const auto f = [](Array x, Array y) { return sum(outer(x(slice(0, 3)), y(slice(0, 3)), 3), 0); };
  for (const DType dtype : {DType::f32, DType::i32}) {
    const ProgramRef p = inline_calls(trace(f)(convert(x(), dtype), convert(y(), dtype)));
    EXPECT_EQ(work(*narrow_products(compose_views(p))), dtype == DType::f32 ? 0 : 36) << p;
  }
}

TEST(NarrowProducts, OfBoolsAreLeft) {
  const ProgramRef p = inline_calls(trace([](const Array& x, const Array& y) {
    return einsum("ta,tb->ab", x > 0.0, broadcast_in_dim(y(all, 0) > 0.0, {5, 4}, {0}));
  })(x(), y()));
  EXPECT_EQ(narrow_products(p)->hash(), p->hash());
}

}  // namespace
}  // namespace tenon
