// Complex numbers as pairs of real ones: what the pass makes of each statement, in the text of the loop language.
#include "tenon/kernel/passes/split_complex.h"

#include <gtest/gtest.h>

#include <complex>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/expressions.h"

namespace tenon::kernel {
namespace {

using std::complex;

Expr number(complex<float> z) { return constant(DType::c64, &z); }
Expr number(float x) { return constant(DType::f32, &x); }

struct Numbers : Function {
  Numbers() { name = "numbers"; }
  SlotId slot(DType dtype, std::int64_t elements, Slot::Place place = Slot::Place::argument) {
    slots.push_back({dtype, elements, place, arguments});
    if (place == Slot::Place::argument) ++arguments;
    return static_cast<SlotId>(slots.size() - 1);
  }
  // What the pass makes of one statement.
  std::string split(Statement s) {
    body = {std::move(s)};
    split_complex(*this);
    expect_real(body);
    const std::string text = print(*this);
    return text.substr(text.find("\n", text.rfind("] argument")) + 1);
  }
  void expect_real(const Block& block) const {
    for (const Slot& s : slots) EXPECT_FALSE(is_complex(s.dtype));
    for (const Statement& s : block) {
      for_each_expression(s, [](const Expr& e) { expect_real(e); });
      for_each_block(s, [&](const Block& inside) { expect_real(inside); });
    }
  }
  static void expect_real(const Expr& e) {
    EXPECT_FALSE(is_complex(e.dtype())) << print(e);
    for (const auto& operand : e.node().operands)
      if (operand) expect_real(Expr(operand));
  }
};

Nest store(SlotId to, const Expr& offset, const Expr& value, std::int64_t n, const Expr& condition = {}) {
  return {{0}, {n}, {Store{to, offset, value, condition}}};
}

TEST(SplitComplex, LeavesRealFunctionsAlone) {
  Numbers f;
  const SlotId x = f.slot(DType::f32, 4);
  f.body = {store(x, variable(0), load(x, DType::f32, variable(0)) * number(2.f), 4)};
  const Expr value = std::get<Nest>(f.body[0].held()).stores[0].value;
  split_complex(f);
  EXPECT_EQ(std::get<Nest>(f.body[0].held()).stores[0].value.identity(), value.identity());
}

TEST(SplitComplex, AStoreBecomesTwoOfOneNest) {
  Numbers f;
  const SlotId x = f.slot(DType::c64, 4), y = f.slot(DType::c64, 5);
  const Expr i = variable(0);
  EXPECT_EQ(f.split(store(y, i + Expr(1), load(x, DType::c64, i) + number({1, 2}), 4)),
            "  each [i0<4]\n"
            "    m1[mul(add(i0, 1), 2)] = add(m0[mul(i0, 2)], f32:1.0)\n"
            "    m1[add(mul(add(i0, 1), 2), 1)] = add(m0[add(mul(i0, 2), 1)], f32:2.0)\n");
  EXPECT_EQ(f.slots[x].dtype, DType::f32);
  EXPECT_EQ(f.slots[x].elements, 8);
  EXPECT_EQ(f.slots[y].elements, 10);
}

TEST(SplitComplex, PartsShareWhatTheyHaveInCommon) {
  Numbers f;
  const SlotId x = f.slot(DType::c64, 4);
  const Expr i = variable(0), z = load(x, DType::c64, i);
  f.split(store(x, i, z * z, 4));
  std::set<const void*> loads;
  for (const Store& s : std::get<Nest>(f.body[0].held()).stores)
    visit_loads(s.value, [&](const Expr& load) { loads.insert(load.identity()); });
  EXPECT_EQ(loads.size(), 2u);
}

TEST(SplitComplex, PartsOfWhatIsPutTogetherAreWhatTheyWere) {
  Numbers f;
  const SlotId x = f.slot(DType::f32, 4), y = f.slot(DType::f32, 4);
  const Expr re = load(x, DType::f32, variable(0)), im = load(y, DType::f32, variable(0));
  const Expr both = binary(Binary::complex, re, im);
  EXPECT_EQ(f.split(store(x, variable(0), unary(Unary::imag, both), 4)), "  each [i0<4]\n    m0[i0] = m1[i0]\n");
}

TEST(SplitComplex, ConditionsAreOfBothStores) {
  Numbers f;
  const SlotId x = f.slot(DType::c64, 4);
  const Expr i = variable(0), z = load(x, DType::c64, i);
  f.split(store(x, i, number({0, 1}), 4, binary(Binary::eq, z, number({1, 0}))));
  const auto& stores = std::get<Nest>(f.body[0].held()).stores;
  ASSERT_EQ(stores.size(), 2u);
  EXPECT_EQ(stores[0].condition.identity(), stores[1].condition.identity());
  EXPECT_EQ(print(stores[0].condition), "and(eq(m0[mul(i0, 2)], f32:1.0), eq(m0[add(mul(i0, 2), 1)], f32:0.0))");
}

TEST(SplitComplex, ASumBecomesTwo) {
  Numbers f;
  const SlotId x = f.slot(DType::c64, 6), y = f.slot(DType::c64, 1);
  f.split(Reduce{.inner_vars = {0},
                 .inner_sizes = {6},
                 .combine = Combine::add,
                 .initial = number({0, 0}),
                 .value = load(x, DType::c64, variable(0)),
                 .slot = y,
                 .offset = Expr(0)});
  ASSERT_EQ(f.body.size(), 2u);
  const auto &re = std::get<Reduce>(f.body[0].held()), &im = std::get<Reduce>(f.body[1].held());
  EXPECT_EQ(print(re.value), "m0[mul(i0, 2)]");
  EXPECT_EQ(print(im.value), "m0[add(mul(i0, 2), 1)]");
  EXPECT_TRUE(is_constant(re.offset, 0));
  EXPECT_TRUE(is_constant(im.offset, 1));
}

TEST(SplitComplex, LongSumsAreApartUntilTheyEnd) {
  Numbers f;
  const SlotId x = f.slot(DType::c64, 600), y = f.slot(DType::c64, 2);
  f.split(Reduce{.outer_vars = {0},
                 .inner_vars = {1},
                 .outer_sizes = {2},
                 .inner_sizes = {300},
                 .combine = Combine::add,
                 .initial = number({0, 0}),
                 .value = load(x, DType::c64, variable(0) * Expr(300) + variable(1)),
                 .slot = y,
                 .offset = variable(0)});
  ASSERT_EQ(f.body.size(), 3u);
  EXPECT_NE(std::get<Reduce>(f.body[0].held()).slot, std::get<Reduce>(f.body[1].held()).slot);
  EXPECT_EQ(std::get<Nest>(f.body[2].held()).stores.size(), 2u);
  EXPECT_EQ(f.slots.back().elements, 2);
}

TEST(SplitComplex, AProductOverAxesRunsInOrder) {
  Numbers f;
  const SlotId x = f.slot(DType::c64, 6), y = f.slot(DType::c64, 2);
  f.split(Reduce{.outer_vars = {0},
                 .inner_vars = {1},
                 .outer_sizes = {2},
                 .inner_sizes = {3},
                 .combine = Combine::mul,
                 .initial = number({1, 0}),
                 .value = load(x, DType::c64, variable(0) * Expr(3) + variable(1)),
                 .slot = y,
                 .offset = variable(0)});
  ASSERT_EQ(f.body.size(), 2u);
  EXPECT_TRUE(std::get<Nest>(f.body[0].held()).independent);
  const auto& steps = std::get<Nest>(f.body[1].held());
  EXPECT_FALSE(steps.independent);
  EXPECT_EQ(steps.sizes, (Sizes{2, 3}));
  EXPECT_EQ(steps.stores.size(), 2u);
}

TEST(SplitComplex, CopiesProductsAndCallsMeanTheSameMemory) {
  Numbers f;
  const SlotId x = f.slot(DType::c64, 12), y = f.slot(DType::c64, 12), z = f.slot(DType::c64, 12);
  f.split(Copy{.to = y, .from = x, .to_offset = Expr(1), .from_offset = variable(0), .elements = 3, .row = 3});
  const auto& copy = std::get<Copy>(f.body[0].held());
  EXPECT_TRUE(is_constant(copy.to_offset, 2));
  EXPECT_EQ(print(copy.from_offset), "mul(i0, 2)");
  EXPECT_EQ(copy.elements, 6);
  EXPECT_EQ(copy.row, 6);

  Numbers g;
  for (int i = 0; i < 3; ++i) g.slot(DType::c64, 12);
  Product p{.dtype = DType::c64, .a = x, .b = y, .c = z};
  p.a_offset = Expr(1), p.b_offset = Expr(2), p.c_offset = Expr(3);
  p.batch = 1, p.m = p.n = p.k = 2;
  p.a_m = p.b_k = p.c_m = 2, p.a_k = p.b_n = p.c_n = 1;
  g.split(p);
  const auto& product = std::get<Product>(g.body[0].held());
  EXPECT_EQ(product.dtype, DType::c64);
  EXPECT_EQ(product.a_m, 2);
  EXPECT_TRUE(is_constant(product.a_offset, 2) && is_constant(product.b_offset, 4) && is_constant(product.c_offset, 6));

  Numbers h;
  const SlotId matrices = h.slot(DType::c64, 12);
  h.split(Call{.function = "f", .arguments = {{variable(0), matrices}, {Expr(7), {}}}});
  const auto& call = std::get<Call>(h.body[0].held());
  EXPECT_EQ(print(call.arguments[0].value), "mul(i0, 2)");
  EXPECT_TRUE(is_constant(call.arguments[1].value, 7));
}

TEST(SplitComplex, StatementsWithinOthers) {
  Numbers f;
  const SlotId x = f.slot(DType::c64, 4);
  f.split(
      For{.var = 1, .count = 3, .body = {store(x, variable(0), load(x, DType::c64, variable(0)) * number({0, 1}), 4)}});
  EXPECT_EQ(std::get<Nest>(std::get<For>(f.body[0].held()).body[0].held()).stores.size(), 2u);
}

TEST(Indices, Multiples) {
  const Expr i = variable(0), j = variable(1);
  EXPECT_TRUE(is_multiple(i * Expr(2), 2));
  EXPECT_TRUE(is_multiple((i * Expr(3) + j) * Expr(2) + Expr(4), 2));
  EXPECT_TRUE(is_multiple(i * Expr(6) - j * Expr(2), 2));
  EXPECT_FALSE(is_multiple(i, 2));
  EXPECT_FALSE(is_multiple(i * Expr(2) + Expr(1), 2));
  const auto [base, constant] = without_constant(i * Expr(2) + Expr(3));
  EXPECT_EQ(constant, 3);
  EXPECT_TRUE(is_multiple(base, 2));
}

}  // namespace
}  // namespace tenon::kernel
