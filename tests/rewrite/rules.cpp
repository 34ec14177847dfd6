// The engine that applies rules, and each rule of the library against the reference evaluator.
#include "tenon/rewrite/rules/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tenon/api/rewrites.h"
#include "tenon/base/pass.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/rewrite/share_calls.h"
#include "tenon/rewrite/simplify.h"
#include "tenon/rewrite/verify_rule.h"
#include "tenon/transform/transforms.h"
#include "tests/error_message.h"
#include "tests/fuzzing.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

namespace tn = tenon;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <class F, class... Args>
ProgramRef traced(F f, Args... args) {
  return tn::trace(f)(args...);
}

std::vector<std::string> ops_of(const ProgramRef& p) {
  std::vector<std::string> names;
  for (const Eqn& eqn : p->eqns()) names.emplace_back(eqn.op->name);
  return names;
}

const Array row = {1.0f, -2.0f, 3.0f};
const Array integers = {1, -2, 3};

class LibraryRule : public ::testing::TestWithParam<std::string> {};

TEST_P(LibraryRule, HoldsInFuzz) {
  SCOPED_TRACE(fuzzing::repeat_with());
  const VerifyOptions options{.cases = static_cast<int>(fuzzing::cases(200)), .seed = fuzzing::seed()};
  EXPECT_EQ(verify(find_rule(GetParam()), options).cases, options.cases);
}

std::vector<std::string> names_of_all() {
  std::vector<std::string> names;
  for (const RuleRef& rule : all_rules()) names.push_back(rule->name);
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = std::to_string(info.index) + "_";
  for (const char c : info.param)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name.push_back(c);
  return name;
}
INSTANTIATE_TEST_SUITE_P(Rules, LibraryRule, ::testing::ValuesIn(names_of_all()), test_name);

TEST(Rules, AreFoundByTheirNames) {
  const std::string listed = list_rules();
  for (const std::string& name : names_of_all()) {
    EXPECT_EQ(library_rule(name)->name, name);
    EXPECT_THAT(listed, HasSubstr(name));
  }
  EXPECT_THAT(message_of([] { library_rule("no such rule"); }), HasSubstr("there is no rule \"no such rule\"."));
}

// What a function becomes by the library's rules.
template <class F, class... Args>
std::vector<std::string> simplified(F f, Args... args) {
  return ops_of(simplify(traced(f, args...)));
}

TEST(Simplify, KnowsElementsThatLeaveAnOperandAsItIs) {
  EXPECT_THAT(simplified([](Array x) { return x * 1.0f; }, row), IsEmpty());
  EXPECT_THAT(simplified([](Array x) { return 1.0f * x - 0.0f; }, row), IsEmpty());
  EXPECT_THAT(simplified([](Array x) { return x / 1.0f + -0.0f; }, row), IsEmpty());
  EXPECT_THAT(simplified([](Array x) { return (x + 0) | 0; }, integers), IsEmpty());
  EXPECT_THAT(simplified([](Array x) { return tn::max(x, -std::numeric_limits<float>::infinity()); }, row), IsEmpty());
}

TEST(Simplify, KeepsMinusZeroAndNaN) {
  EXPECT_EQ(simplified([](Array x) { return x + 0.0f; }, row).back(), "add");  // -0 + 0 is 0
  EXPECT_EQ(simplified([](Array x) { return x * 0.0f; }, row).back(), "mul");
  EXPECT_EQ(simplified([](Array x) { return x - x; }, row).back(), "sub");
  EXPECT_EQ(simplified([](Array x) { return x == x; }, row).back(), "eq");
  EXPECT_THAT(simplified([](Array x) { return x < x; }, row), ElementsAre("literal", "broadcast"));
  EXPECT_THAT(simplified([](Array x) { return x - x; }, integers), ElementsAre("literal", "broadcast"));
}

TEST(Simplify, UndoesWhatUndoesItself) {
  EXPECT_THAT(simplified([](Array x) { return -(-x); }, row), IsEmpty());
  EXPECT_THAT(simplified([](Array x) { return tn::floor(tn::floor(tn::floor(x))); }, row), ElementsAre("floor"));
  EXPECT_THAT(simplified([](Array x) { return tn::cos(-x); }, row), ElementsAre("cos"));
  EXPECT_THAT(simplified([](Array x) { return tn::convert(tn::convert(x, DType::f64), DType::f32); }, row), IsEmpty());
  EXPECT_THAT(simplified([](Array x) { return tn::convert(tn::convert(x, DType::f16), DType::f32); }, row),
              ElementsAre("convert", "convert"));
}

TEST(Simplify, ReducesAllElementsInTheShapeThatTheyHave) {
  const auto flat = [](const Array& x) { return tn::reshape(x, {x.shape().elements()}); };
  const Array x = tn::zeros({2, 6}, DType::f32), y = tn::zeros({6, 2}, DType::f32);
  EXPECT_THAT(simplified([=](Array x, Array y) { return tn::sum(tn::square(flat(x) - 2.0f * flat(y))); }, x, x),
              ElementsAre("literal", "broadcast", "mul", "sub", "mul", "sum"));
  EXPECT_THAT(simplified([](Array x, Array y) { return tn::amax(tn::transpose(x) + tn::transpose(y)); }, x, x),
              ElementsAre("add", "reduce_max"));
  // Of two shapes, and of some axes, each stays what it is; so does what others read.
  EXPECT_THAT(simplified([=](Array x, Array y) { return tn::sum(flat(x) * flat(y)); }, x, y),
              ElementsAre("reshape", "reshape", "mul", "sum"));
  EXPECT_THAT(simplified([=](Array x) { return tn::sum(tn::reshape(x, {4, 3}), 1); }, x),
              ElementsAre("reshape", "sum"));
  EXPECT_THAT(simplified(
                  [=](Array x) {
                    const Array y = tn::sin(flat(x));
                    return std::pair(tn::sum(y), y);
                  },
                  x),
              ElementsAre("reshape", "sin", "sum"));
}

TEST(Simplify, ComputesWithNumbers) {
  EXPECT_THAT(simplified([](Array x) { return x * (tn::full({3}, 0.5f) * 2.0f); }, row), IsEmpty());
  EXPECT_THAT(simplified([](Array x) { return ((x + 1) + 2) + 3; }, integers),
              ElementsAre("literal", "broadcast", "add"));
}

TEST(Simplify, SeesThroughCallsAndIntoLoopsAndBranches) {
  const auto negated = tn::jit([](Array x) { return -x; });
  EXPECT_THAT(ops_of(rewrite(traced([&](Array x) { return -negated(x); }, row), default_rules(),
                             Phase::after_differentiation, Calls::short_ones_inlined)),
              IsEmpty());
  const auto loop = [](Array x) {
    return tn::fori_loop(0, 5, [](Array, Array c) { return tn::sin(-(-c) * 1.0f); }, x);
  };
  const ProgramRef p = traced(loop, row), q = simplify(p);
  const auto has = [](const ProgramRef& in, std::string_view op) {
    return find_eqn(*in, [&](const Eqn& eqn) { return eqn.op->name == op; }) != nullptr;
  };
  EXPECT_TRUE(has(p, "neg"));
  EXPECT_FALSE(has(q, "neg") || has(q, "mul"));
  EXPECT_TRUE(has(q, "sin"));
}

TEST(Simplify, OrdersProductsByWhatTheyCost) {
  const Array a = tn::full({30, 40}, 0.5f), b = tn::full({40, 50}, 0.25f), v = tn::full({50}, 2.0f);
  const auto f = [](Array a, Array b, Array v) { return tn::matmul(tn::matmul(a, b), v); };
  const auto largest = [](const ProgramRef& p) {
    std::int64_t most = 0;
    for (const Eqn& eqn : p->eqns())
      if (eqn.op->name == "dot") most = std::max(most, p->type(eqn.out[0]).shape.elements().value());
    return most;
  };
  EXPECT_EQ(largest(simplify(traced(f, a, b, v))), 40);
  const auto scaled = [](Array a, Array b, Array v) { return tn::matmul(0.5f * tn::matmul(a, b), v); };
  EXPECT_EQ(largest(simplify(traced(scaled, a, b, v))), 40);
  const Array as = tn::full({3, 30, 40}, 0.5f), vs = tn::full({3, 50}, 2.0f);
  const auto batched = [&](Array as, Array b, Array vs) {
    return tn::vmap(f, {.in_axes = {0, tn::none, 0}})(as, b, vs);
  };
  EXPECT_EQ(largest(simplify(share_calls(traced(batched, as, b, vs)))), 3 * 40);
  const auto slope = [&](Array a, Array b, Array v) {
    return tn::grad([&](Array v) { return tn::sum(f(a, b, v)); })(v);
  };
  EXPECT_LE(largest(simplify(share_calls(traced(slope, a, b, v)))), 50);
  // Products of nothing cost nothing in any order.
  EXPECT_EQ(largest(simplify(traced(f, tn::zeros({0, 2}), tn::zeros({2, 1}), tn::zeros({1, 1})))), 0);
}

TEST(Simplify, TurnsTransposedProductsRound) {
  const Array a = tn::full({2, 3, 4}, 0.5f), b = tn::full({2, 5, 4}, 0.25f);
  const auto f = [](Array a, Array b) { return tn::transpose(tn::einsum("bik,bjk->bij", a, b), {0, 2, 1}); };
  const ProgramRef program = simplify(traced(f, a, b));
  EXPECT_TRUE(std::ranges::none_of(program->eqns(), [](const Eqn& e) { return e.op->name == "transpose"; }));
}

TEST(Simplify, ReadsSlicesWhereIndicesCount) {
  const Array x = tn::full({8, 3}, 0.5f);
  const auto gathers = [&](auto f) {
    const auto ops = simplified(f, x);
    return std::ranges::count(ops, "gather");
  };
  EXPECT_EQ(gathers([](Array x) { return x(tn::arange(3) + 2); }), 0);
  EXPECT_EQ(gathers([](Array x) { return x(7 - tn::arange(8)); }), 0);
  EXPECT_EQ(gathers([](Array x) { return x(2 * tn::arange(4) - 8); }), 0);
  EXPECT_EQ(gathers([](Array x) { return x(tn::arange(3) + 6); }), 1);  // the last one is moved inside
  EXPECT_EQ(gathers([](Array x) { return x(tn::arange(3) - 1); }), 1);  // the last row, then the first ones
  EXPECT_EQ(gathers([](Array x) { return x(tn::convert(tn::arange(4, DType::u8) * 128, DType::i32)); }), 1);
}

TEST(Simplify, SolvesInPlaceOfInverting) {
  const Array a = {{2.0f, 1.0f}, {0.0f, 3.0f}}, b = {{1.0f, 2.0f}, {3.0f, 4.0f}}, batch = tn::stack({a, b + a}, 0);
  const auto solves = [&](auto f, const Array& x, const Array& y) {
    const auto ops = ops_of(simplify(inline_calls(traced(f, x, y))));
    EXPECT_EQ(std::ranges::count(ops, "dot"), 0) << ::testing::PrintToString(ops);
    EXPECT_EQ(std::ranges::count(ops, "solve"), 1);
    EXPECT_TRUE(tn::allclose(tn::jit(f)(x, y), f(x, y), 1e-5, 1e-5));
  };
  solves([](Array a, Array b) { return tn::matmul(tn::inv(a), b); }, a, b);
  solves([](Array a, Array b) { return tn::matmul(b, tn::inv(a)); }, a, b);
  solves([](Array a, Array b) { return tn::matmul(b(0), tn::inv(a)); }, a, b);
  solves([](Array a, Array b) { return tn::matmul(tn::transpose(tn::inv(a)), b(0)); }, a, b);
  solves([](Array a, Array b) { return tn::matmul(-tn::inv(a) / 2.0f, b); }, a, b);
  solves([](Array a, Array b) { return tn::matmul(tn::inv(a) * b(0), b); }, a, b);
  solves([](Array a, Array b) { return tn::matmul(tn::inv(a) * tn::expand_dims(b(0), 1), b); }, a, b);
  solves([](Array a, Array b) { return tn::matmul(tn::inv(a), b); }, batch, b);
  solves([](Array a, Array b) { return tn::einsum("bij,bjk->bik", tn::inv(a), b); }, batch, batch);
  const auto one = [](Array a, Array b) { return tn::matmul(tn::inv(a), b); };
  solves([=](Array a, Array b) { return tn::vmap(one)(a, b); }, batch, b);
  solves([=](Array a, Array b) { return tn::vmap(one, {.in_axes = {tn::none, 0}})(a, b); }, a, batch);
  solves([=](Array a, Array b) { return tn::vmap(one, {.in_axes = {0, tn::none}})(a, b); }, batch, b);
  // What else reads an inverse has it anyway.
  const auto twice = simplified([](Array a, Array b) { return tn::matmul(tn::inv(a), b) + tn::inv(a); }, a, b);
  EXPECT_EQ(std::ranges::count(twice, "solve"), 1);
}

TEST(Simplify, ReordersChainsOfScaledProductsAndTheirDerivatives) {
  const std::int64_t n = 40;
  const Array a = tn::reshape(tn::sin(tn::arange(n * n, tn::DType::f64)), {n, n}), b = tn::cos(a), v = a(0) + 2.0;
  // How many of the products have n^3 multiplications.
  const auto cubes = [&](auto f) {
    const ProgramRef p = simplify(inline_calls(traced(f, a, b, v)));
    std::int64_t count = 0;
    for (const Eqn& eqn : p->eqns()) {
      if (!is_product(*eqn.op)) continue;
      const ProductForm form = product_form(eqn.params, p->type(eqn.in[0]), p->type(eqn.in[1]));
      count += !form.contract_a.empty() && p->type(eqn.out[0]).shape.elements() == Dim(n * n);
    }
    EXPECT_TRUE(tn::allclose(tn::jit(f)(a, b, v), f(a, b, v), 1e-10, 1e-10));
    return count;
  };
  EXPECT_EQ(cubes([](Array a, Array b, Array v) { return tn::matmul(tn::matmul(a, b) / 2.0, v); }), 0);
  EXPECT_EQ(cubes([](Array a, Array b, Array v) { return tn::matmul(-tn::matmul(a, b) * 3.0, v); }), 0);
  EXPECT_EQ(cubes([](Array a, Array b, Array v) { return tn::matmul(tn::matmul(a, b) / v(0), v); }), 0);
  EXPECT_EQ(cubes([](Array a, Array b, Array v) { return tn::matmul(tn::matmul(a, b) * v, v); }), 0);
  EXPECT_EQ(cubes([](Array a, Array b, Array v) { return tn::matmul(tn::matmul(a, b) * tn::expand_dims(v, 1), v); }),
            0);
  EXPECT_EQ(cubes([](Array a, Array b, Array v) { return tn::matmul(v, tn::matmul(a, b) / tn::expand_dims(v, 1)); }),
            0);
  const auto loss = [](Array a, Array b, Array v) {
    return tn::sum(tn::square(tn::matmul(tn::matmul(a, b) / 2.0, v)));
  };
  EXPECT_EQ(cubes([=](Array a, Array b, Array v) {
              const auto [da, db, dv] = tn::grad<0, 1, 2>(loss)(a, b, v);
              return da + db + dv;
            }),
            0);
  // A result is computed anyway.
  EXPECT_EQ(cubes([](Array a, Array b, Array v) {
              const Array ab = tn::matmul(a, b);
              return tn::matmul(ab, v) + ab;
            }),
            1);
}

TEST(Simplify, LeavesStrictEqnsAsTheyAreSummed) {
  const Array a = tn::full({30, 40}, 0.5f), b = tn::full({40, 50}, 0.25f), v = tn::full({50}, 2.0f);
  const auto f = [](Array a, Array b, Array v) { return tn::matmul(tn::matmul(a, b), v) * 1.0f; };
  const ProgramRef p = [&] {
    const StrictNumerics strict;
    return traced(f, a, b, v);
  }();
  const ProgramRef q = simplify(p);
  EXPECT_EQ(q->type(q->eqns()[0].out[0]).shape, (Shape{Dim(30), Dim(50)}));
  EXPECT_THAT(ops_of(q), ElementsAre("dot", "dot"));  // the exact rules hold
}

TEST(Simplify, ALeftOutRuleIsNotApplied) {
  const ProgramRef p = traced([](Array x) { return -(-x) * 1.0f; }, row);
  const WithoutPasses without({"f(f(x))"});
  EXPECT_THAT(ops_of(simplify(p)), ElementsAre("neg", "neg"));
}

// --- rules of the user's
TEST(UserRules, AreAppliedWhereTheyAreAskedFor) {
  const RuleRef squared = tn::rule(
      "exp(x) * exp(x) = exp(2x)", Exactness::reassociates, [](Array x) { return tn::exp(x) * tn::exp(x); },
      [](Array x) { return tn::exp(x + x); });
  EXPECT_GT(verify(squared).cases, 0);
  const auto f = [](Array x) { return tn::exp(x) * tn::exp(x) + 1.0f; };
  const std::string text = tn::explain(tn::jit(f, {.rewrites = {squared}}))(row);
  EXPECT_THAT(text, HasSubstr("\"exp(x) * exp(x) = exp(2x)\" (reassociates) at "));
  EXPECT_THAT(text, HasSubstr("mul f32[3] as add, exp"));
  EXPECT_THAT(tn::explain(tn::jit(f))(row), Not(HasSubstr("exp(2x)")));
  const Array want = f(row), got = tn::jit(f, {.rewrites = {squared}})(row);
  EXPECT_LT(tn::amax(tn::abs(want - got) / want).item<float>(), 1e-5f);
}

TEST(UserRules, AreAppliedBeforeDifferentiating) {
  // A square root whose slope at 0 is none of the real one's.
  const RuleRef smooth = tn::rule(
      "a smooth root", Exactness::assumes_finite, [](Array x) { return tn::sqrt(x * x); },
      [](Array x) { return tn::abs(x); }, Phase::before_differentiation);
  const auto f = [](Array x) { return tn::sum(tn::sqrt(x * x)); };
  const Array zero = {0.0f, 2.0f};
  EXPECT_TRUE(std::isnan(tn::jit(tn::grad(f))(zero)(0).item<float>()));
  EXPECT_EQ(tn::jit(tn::grad(f), {.rewrites = {smooth}})(zero)(0).item<float>(), 1.0f);
  const Rewrites scope({smooth});
  EXPECT_EQ(tn::grad(f)(zero)(0).item<float>(), 1.0f);
  EXPECT_EQ(tn::jit(tn::grad(f))(zero)(0).item<float>(), 1.0f);
}

TEST(UserRules, GuardsLookAtTypesAndNumbers) {
  const RuleRef halves = tn::rule(
      "x / 4 = x * 0.25", Exactness::exact, [](Array x) { return x / 4.0f; },
      tn::when([](Array x) { return x.dtype() == DType::f64; }), [](Array x) { return x * 0.25f; });
  const RuleSet rules({halves});
  const auto f = [](Array x) { return x / 4.0f; };
  EXPECT_EQ(ops_of(rewrite(traced(f, row), rules, Phase::after_differentiation)).back(), "div");
  EXPECT_EQ(ops_of(rewrite(traced(f, tn::convert(row, DType::f64)), rules, Phase::after_differentiation)).back(),
            "mul");
  EXPECT_EQ(ops_of(rewrite(traced([](Array x) { return x / 5.0f; }, tn::convert(row, DType::f64)), rules,
                           Phase::after_differentiation))
                .back(),
            "div");
}

TEST(UserRules, OperandsOfCommutativeOpsAreFoundInAnyOrder) {
  const RuleRef factored = tn::rule(
      "x*y + x*z", Exactness::reassociates, [](Array x, Array y, Array z) { return x * y + x * z; },
      [](Array x, Array y, Array z) { return x * (y + z); });
  const RuleSet rules({factored});
  const auto count = [&](auto f) {
    return ops_of(rewrite(traced(f, row, row + 1.0f, row + 2.0f), rules, Phase::after_differentiation)).size();
  };
  EXPECT_EQ(count([](Array x, Array y, Array z) { return x * y + x * z; }), 2u);
  EXPECT_EQ(count([](Array x, Array y, Array z) { return y * x + x * z; }), 2u);
  EXPECT_EQ(count([](Array x, Array y, Array z) { return x * y + z * x; }), 2u);
  EXPECT_EQ(count([](Array x, Array y, Array z) { return y * x + z * x; }), 2u);
  EXPECT_EQ(count([](Array x, Array y, Array z) { return y * x + z * y; }), 2u);
}

TEST(UserRules, VerifySaysWhereARuleIsWrong) {
  const RuleRef wrong = tn::rule(
      "x + 0 = x", Exactness::exact, [](Array x) { return x + 0.0f; },
      tn::when([](Array x) { return x.dtype() == DType::f32; }), [](Array x) { return x; });
  EXPECT_THAT(message_of<RewriteError>([&] { verify(wrong); }),
              AllOf(HasSubstr("verify: rule \"x + 0 = x\" does not hold (exact): the pattern at f32["), HasSubstr("-0"),
                    HasSubstr("Narrow it by a guard"), HasSubstr("rules.cpp")));
}

TEST(UserRules, ThoseThatAreNoneAreErrors) {
  const auto message = [](auto pattern, auto replacement) {
    return message_of<RewriteError>([&] { tn::rule("r", Exactness::exact, pattern, replacement); });
  };
  EXPECT_THAT(message([](Array x) { return x; }, [](Array x) { return x; }),
              AllOf(HasSubstr("rule \"r\": its pattern matches everything"), HasSubstr("rules.cpp")));
  EXPECT_THAT(message([](Array x, Array) { return tn::sin(x); }, [](Array, Array y) { return y; }),
              HasSubstr("does not read all of its parameters"));
  EXPECT_THAT(message([](Array x) { return tn::sin(x); }, [](Array x) { return tn::sum(x); }),
              AllOf(HasSubstr("its replacement is f32[] where its pattern is f32[3]"), HasSubstr("one shape")));
  EXPECT_THAT(message([](Array x) { return tn::sin(x); }, [](Array x) { return x(7); }),
              HasSubstr("its replacement cannot be traced"));
  EXPECT_THAT(message([](Array x) { return tn::sin(x) + row; }, [](Array x) { return x; }),
              HasSubstr("reads an array from outside"));
  EXPECT_THAT(message([](Array x, Array y) { return x + y; }, [](Array x, Array y) { return y + x; }),
              HasSubstr("rule \"r\" gives back what it was applied to"));
}

TEST(UserRules, ThoseThatDoNotEndAreNamed) {
  const RuleRef there =
      tn::rule("there", Exactness::exact, [](Array x) { return tn::sin(x); }, [](Array x) { return tn::cos(x); });
  const RuleRef back =
      tn::rule("back", Exactness::exact, [](Array x) { return tn::cos(x); }, [](Array x) { return tn::sin(x); });
  const auto run = [&](std::vector<RuleRef> rules) {
    return message_of<RewriteError>([&] {
      rewrite(traced([](Array x) { return tn::sin(x); }, row), RuleSet(std::move(rules)), Phase::after_differentiation);
    });
  };
  EXPECT_THAT(run({there, back}),
              AllOf(HasSubstr("the rules \"there\" and \"back\" undo each other"), HasSubstr("leave one of them out")));
  EXPECT_THAT(message_of<RewriteError>([&] {
                tn::rule(
                    "grows", Exactness::exact, [](Array x) { return tn::sin(x); },
                    [](Array x) { return tn::sin(x + 1.0f) * 2.0f; });
              }),
              HasSubstr("the rules do not end: what \"grows\" made is rewritten again and again"));
}

TEST(UserRules, TwoOfOneNameAreRefused) {
  const auto one = [] {
    return tn::rule("same", Exactness::exact, [](Array x) { return tn::sin(x); }, [](Array x) { return tn::cos(x); });
  };
  EXPECT_THAT(message_of<RewriteError>([&] { const Rewrites scope({one(), one()}); }),
              HasSubstr("two rules are named"));
  const RuleRef librarys =
      tn::rule("x op e = x", Exactness::exact, [](Array x) { return tn::sin(x); }, [](Array x) { return tn::cos(x); });
  EXPECT_THAT(message_of<RewriteError>([&] { const Rewrites scope({librarys}); }),
              HasSubstr("two rules are named \"x op e = x\", one of them the library's"));
}

TEST(UserRules, ThatAreNullAreRefused) {
  EXPECT_THAT(message_of<RewriteError>([&] { const Rewrites scope({RuleRef()}); }), HasSubstr("a rule is null"));
  EXPECT_THAT(message_of<RewriteError>([&] { verify(RuleRef()); }), HasSubstr("verify: a rule is null"));
}

// Random elementwise programs and random sets of true rules: what comes out is the same to the bit.
TEST(RulesFuzz, RandomProgramsKeepTheirResults) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 random(fuzzing::seed());
  for (std::int64_t n = fuzzing::cases(200); n > 0; --n) {
    Scope scope;
    Arrays values{scope.input(Type::array(DType::i32, {Dim(3)})), scope.input(Type::array(DType::i32, {Dim(3)}))};
    const auto pick = [&] { return values[random() % values.size()]; };
    for (int i = 0; i < 30; ++i) {
      const Array x = pick(), y = random() % 3 == 0 ? tn::full({3}, static_cast<int>(random() % 4) - 1) : pick();
      switch (random() % 12) {
        case 0:
          values.push_back(x + y);
          break;
        case 1:
          values.push_back(x - y);
          break;
        case 2:
          values.push_back(x * y);
          break;
        case 3:
          values.push_back(-x);
          break;
        case 4:
          values.push_back(tn::max(x, y));
          break;
        case 5:
          values.push_back(tn::min(x, y));
          break;
        case 6:
          values.push_back(x & y);
          break;
        case 7:
          values.push_back(x | y);
          break;
        case 8:
          values.push_back(x ^ y);
          break;
        case 9:
          values.push_back(tn::where(!(x < y), x, y));
          break;
        case 10:
          values.push_back(!x);
          break;
        default:
          values.push_back(tn::convert(tn::convert(x, DType::i64), DType::i32));
          break;
      }
    }
    const ProgramRef p = scope.finish(Arrays{values.back(), pick()}).program;
    std::vector<RuleRef> some;
    for (const RuleRef& rule : all_rules())
      if (random() % 3 != 0) some.push_back(rule);
    std::ranges::shuffle(some, random);
    const ProgramRef q = rewrite(p, RuleSet(some), Phase::after_differentiation);
    EXPECT_LE(q->eqns().size(), p->eqns().size() + 8);
    std::vector<Value> in;
    for (int i = 0; i < 2; ++i)
      in.push_back(Array({static_cast<int>(random() % 9) - 4, static_cast<int>(random()), -1}).value());
    expect_same(p, q, in);
  }
}

}  // namespace
}  // namespace tenon
