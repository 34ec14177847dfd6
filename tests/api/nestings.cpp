// Transformations in every order, three deep and samples of four: programs × sequences of jit, vmap, gradients,
// forward and reverse Jacobians and products with Hessians, against the reference evaluator and finite differences of
// the program itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tenon/tenon.h"
#include "tests/by_oracle.h"
#include "tests/fuzzing.h"

namespace tn = tenon;
using tn::Array;
using tn::Dim;

namespace {

using Function = std::function<Array(const Array&)>;  // f64[4] -> f64[] or f64[…]

struct Named {
  const char* name;
  Function f;
};

const Array i32_zero = Array(tn::Scalar(std::int32_t(0))), i32_one = Array(tn::Scalar(std::int32_t(1)));
const Array weights = {{0.5, -0.25, 0.75, 1.0}, {0.1, 0.2, -0.3, 0.4}, {-0.6, 0.7, 0.8, 0.9}, {0.2, -0.1, 0.3, 0.5}};

Array indices(std::vector<std::int32_t> values) { return tn::array<std::int32_t>(values); }

Array newton(const Array& a) {  // sqrt(a) by steps until it is close, at most 20
  using State = std::pair<Array, Array>;
  return tn::while_loop([&](const State& s) { return (tn::abs(s.first * s.first - a) > 1e-10) & (s.second < 20); },
                        [&](const State& s) { return State((s.first + a / s.first) * 0.5, s.second + i32_one); },
                        State(a * 0.5 + 0.6, i32_zero))
      .first;
}

// Without loops and branches.
std::vector<Named> straight_programs() {
  return {
      {"elementwise", [](const Array& x) { return tn::sum(tn::sin(x) * tn::exp(-x * 0.5)); }},
      {"reductions", [](const Array& x) { return tn::logsumexp(x) + tn::var(x) * tn::prod(tn::cos(x)); }},
      {"extrema",
       [](const Array& x) { return tn::amax(tn::sin(x) * x) - tn::sum(tn::max(x, tn::reverse(x, {0}) * 0.3)); }},
      {"dot", [](const Array& x) { return tn::dot(x, tn::tanh(tn::matmul(weights, x))); }},
      {"outer", [](const Array& x) { return tn::sum(tn::square(tn::outer(x, tn::sin(x)) - weights)); }},
      {"einsum", [](const Array& x) { return tn::sum(tn::sin(tn::einsum("ij,jk->ik", weights * x, weights))); }},
      {"softmax", [](const Array& x) { return tn::sum(tn::softmax(x * 2.0) * x); }},
      {"gather", [](const Array& x) { return tn::sum(tn::sin(tn::take(x, indices({3, 0, 3, 1}))) * x); }},
      {"scatter",
       [](const Array& x) {
         const Array i = indices({1, 1, 2, 0});
         return tn::sum(tn::square(tn::scatter_add(x, i, tn::sin(x))) * tn::scatter_set(x, i, x * x));
       }},
      {"random",
       [](const Array& x) {
         const Array noise = tn::random::normal(tn::random::key(3), {Dim(4)}, tn::DType::f64);
         return tn::sum(tn::sin(x + noise * 0.1));
       }},
      {"pieces",
       [](const Array& x) {
         const Array joined = tn::concatenate(tn::Arrays{x, tn::sin(x)}, 0);
         return tn::sum(tn::pad(tn::slice_in_dim(joined, 1, 7, 0, 2), 0.5, {1}, {2}) * 1.5) +
                tn::sum(tn::transpose(tn::reshape(joined, {Dim(2), Dim(4)})) *
                        tn::reshape(weights(0), {Dim(4), Dim(1)}));
       }},
  };
}

// Of one loop or branch.
std::vector<Named> loops_and_branches() {
  return {
      {"scan",
       [](const Array& x) {
         auto [end, ys] = tn::scan([](const Array& c, const Array& v) { return std::pair(tn::sin(c + v), c * v); },
                                   tn::sum(x) * 0.1, x);
         return end + tn::sum(ys * ys);
       }},
      {"scan backwards",
       [](const Array& x) {
         return tn::sum(
             tn::scan([&](const Array& c, const Array& v) { return std::pair(tn::tanh(c * v) + x * 0.1, c); }, x,
                      tn::stack(tn::Arrays{x, x * x, tn::sin(x)}), {.reverse = true})
                 .first);
       }},
      {"while", [](const Array& x) { return newton(tn::sum(x * x) + 1.0) * tn::sum(x); }},
      {"cond",
       [](const Array& x) {
         return tn::cond(
             tn::sum(x) > 0.7, [](const Array& v) { return tn::sum(tn::sin(v)); },
             [&](const Array& v) { return tn::dot(v, x) * 0.5; }, x);
       }},
      {"fori",
       [](const Array& x) {
         return tn::sum(
             tn::fori_loop(0, 3, [&](const Array& i, const Array& c) { return tn::sin(c) * 1.1 + x(i); }, x));
       }},
      {"updates",
       [](const Array& x) {
         const Array filled = tn::fori_loop(
             0, 4, [&](const Array& i, const Array& c) { return c.at(i).set(tn::sin(c(i - 1) + x(i))); }, x * 0.5);
         return tn::sum(filled * filled);
       }},
      {"no steps, one step",
       [](const Array& x) {
         const auto step = [&](const Array& c, const Array& v) { return std::pair(tn::sin(c) + v * x(1), c * v); };
         const auto [none, nothing] = tn::scan(step, tn::sum(x), tn::slice_in_dim(x, 2, 2, 0));
         const auto [one, once] = tn::scan(step, none, tn::slice_in_dim(x, 2, 3, 0), {.reverse = true});
         const Array still = tn::while_loop([](const Array& c) { return c > 50.0; },
                                            [&](const Array& c) { return c * 0.5 + tn::sum(x); }, one * one);
         return one + tn::sum(nothing) + tn::sum(once * once) + still * x(0);
       }},
      {"empty arrays",
       [](const Array& x) {
         const Array nothing = tn::slice_in_dim(x, 1, 1, 0);
         const auto step = [&](const std::pair<Array, Array>& c, const Array& v) {
           return std::pair(std::pair(tn::sin(c.first) * v, c.second * v + tn::sum(c.first)), c.first * 2.0);
         };
         const auto [end, all] = tn::scan(step, std::pair(nothing, tn::sum(x * x)), x);
         return end.second + tn::sum(end.first) + tn::sum(all);
       }},
      {"integer and bool carries",
       [](const Array& x) {
         using State = std::tuple<Array, Array, Array>;
         const auto [end, n, up] = tn::while_loop([&](const State& s) { return std::get<1>(s) < 7; },
                                                  [&](const State& s) {
                                                    const auto& [c, i, flag] = s;
                                                    return State(tn::where(flag, tn::sin(c) * 1.5, c * x(i % 4)),
                                                                 i + tn::where(c > 0.3, 2, 1), !flag);
                                                  },
                                                  State(tn::sum(x), i32_zero, tn::sum(x) > 1.0));
         return end * end + tn::convert(n, tn::DType::f64) * tn::convert(up, tn::DType::f64) * x(2);
       }},
  };
}

// Of loops, branches, calls and derivatives in one another.
std::vector<Named> nested_regions() {
  return {
      {"while in scan",
       [](const Array& x) {
         return tn::scan([](const Array& c, const Array& v) { return std::pair(newton(c + v * v + 0.5), c); },
                         tn::sum(x * x), x)
             .first;
       }},
      {"while in cond",
       [](const Array& x) {
         return tn::cond(
             tn::amax(x) > 0.8, [](const Array& v) { return newton(tn::sum(v * v) + 2.0); },
             [](const Array& v) { return tn::sum(tn::cos(v)); }, x);
       }},
      {"carries that nothing reads",
       [](const Array& x) {
         using State = std::tuple<Array, Array, Array>;
         const auto [a, b, c] = tn::fori_loop(
             0, 3,
             [&](const Array& i, const State& s) {
               return State(std::get<2>(s) * 0.5, std::get<1>(s) * tn::sin(tn::sum(std::get<0>(s))) + x(i), x * 2.0);
             },
             State(x, tn::sum(x), x * 0.1));
         return b + tn::sum(a * weights(0));
       }},
      {"while in scan in cond",
       [](const Array& x) {
         return tn::cond(
             tn::amax(x) > 0.85,
             [](const Array& v) {
               return tn::sum(
                   tn::scan([](const Array& c,
                               const Array& u) { return std::pair(newton(tn::square(c) + u * u + 0.3), c * u); },
                            tn::sum(v) * 0.2, v, {.reverse = true})
                       .second);
             },
             [&](const Array& v) { return newton(tn::sum(v * v) + 0.1) * v(0); }, x);
       }},
      {"cond in while in scan",
       [](const Array& x) {
         const auto grow = [](const Array& start, const Array& by) {
           return tn::while_loop([](const Array& c) { return c < 3.0; },
                                 [&](const Array& c) {
                                   return tn::cond(
                                       c > 1.5, [&](const Array& v) { return v + 0.6 + by * by * 0.1; },
                                       [](const Array& v) { return tn::exp(v * 0.3) + v; }, c);
                                 },
                                 start);
         };
         return tn::scan([&](const Array& c, const Array& v) { return std::pair(grow(c * 0.3, v), c); }, tn::sum(x), x)
             .first;
       }},
      {"pullback in a loop",
       [](const Array& x) {
         const auto [y, pull] = tn::vjp([](const Array& v) { return newton(tn::sum(v * v) + 0.2); }, x);
         return tn::scan(
                    [&, p = pull](const Array& c, const Array& v) {
                      return std::pair(c * 0.5 + tn::dot(std::get<0>(p(v * c)), weights(1)), std::tuple<>());
                    },
                    y, x)
             .first;
       }},
      {"jit inside",
       [](const Array& x) {
         static const auto inner = tn::jit([](const Array& v) { return tn::tanh(v) * v; });
         return tn::sum(inner(inner(x)));
       }},
  };
}

const std::vector<Named>& programs() {
  static const std::vector<Named> all = [] {
    std::vector<Named> joined = straight_programs();
    for (const auto& more : {loops_and_branches(), nested_regions()})
      joined.insert(joined.end(), more.begin(), more.end());
    return joined;
  }();
  return all;
}

// --- transformations of f64[4] -> array; what they give is one again, so they nest ---
const Array direction = {0.3, -0.8, 0.5, 0.2};
constexpr double step = 1e-5;

// One number of an array: a sum with different weights, so that elements that change places are seen.
Array weighed(const Array& a) {
  const Dim n = a.shape().elements();
  return tn::sum(tn::reshape(a, {n}) * (tn::convert(tn::arange(n), tn::DType::f64) * 0.3 + 1.0));
}
Function weighed(const Function& f) {
  return [f](const Array& x) { return weighed(f(x)); };
}
tn::Arrays lanes_of(const Array& x) { return {x, x * 0.9, tn::reverse(x, {0}) + 0.1}; }
Array difference(const Function& f, const Array& x, const Array& v) {
  return (f(x + v * step) - f(x - v * step)) / (2 * step);
}
Array differences(const Function& f, const Array& x) {  // result's axes, then x's
  tn::Arrays columns;
  for (std::int64_t i = 0; i < 4; ++i)
    columns.push_back(
        difference(f, x, tn::convert(tn::arange(4) == Array(tn::Scalar(std::int32_t(i))), tn::DType::f64)));
  return tn::stack(columns, -1);
}

struct Transformation {
  const char* name;
  Function (*apply)(const Function&);
  Function (*expected)(const Function&);  // without it: by loops and differences
};
const Transformation transformations[] = {
    {"jit", [](const Function& f) -> Function { return tn::jit(f); }, [](const Function& f) { return f; }},
    {"checkpoint", [](const Function& f) -> Function { return tn::checkpoint(f); },
     [](const Function& f) { return f; }},
    {"vmap",
     [](const Function& f) -> Function { return [f](const Array& x) { return tn::vmap(f)(tn::stack(lanes_of(x))); }; },
     [](const Function& f) -> Function {
       return [f](const Array& x) {
         tn::Arrays results;
         for (const Array& lane : lanes_of(x)) results.push_back(f(lane));
         return tn::stack(results);
       };
     }},
    {"grad", [](const Function& f) -> Function { return [f](const Array& x) { return tn::grad(weighed(f))(x); }; },
     [](const Function& f) -> Function { return [f](const Array& x) { return differences(weighed(f), x); }; }},
    {"jvp",
     [](const Function& f) -> Function {
       return [f](const Array& x) { return tn::jvp(f, std::tuple<Array>(x), std::tuple<Array>(direction)).second; };
     },
     [](const Function& f) -> Function { return [f](const Array& x) { return difference(f, x, direction); }; }},
    {"jacfwd", [](const Function& f) -> Function { return tn::jacfwd(f); },
     [](const Function& f) -> Function { return [f](const Array& x) { return differences(f, x); }; }},
    {"jacrev", [](const Function& f) -> Function { return tn::jacrev(f); },
     [](const Function& f) -> Function { return [f](const Array& x) { return differences(f, x); }; }},
    {"hvp",
     [](const Function& f) -> Function { return [f](const Array& x) { return tn::hvp(weighed(f), x, direction); }; },
     [](const Function& f) -> Function {
       const Function slope = [f](const Array& x) { return tn::grad(weighed(f))(x); };
       return [slope](const Array& x) { return difference(slope, x, direction); };
     }}};

// The outermost transformation against what it means, of everything inside; inside is tested by shorter nestings.
void expect_nesting(const Named& program, const std::vector<const Transformation*>& inside_out) {
  std::string name = program.name;
  for (const Transformation* t : inside_out) name = fmt::format("{}({})", t->name, name);
  SCOPED_TRACE(name);
  const Array x = {0.6, -0.4, 0.9, 0.25};
  try {
    Function f = program.f;
    for (std::size_t i = 0; i + 1 < inside_out.size(); ++i) f = inside_out[i]->apply(f);
    const Array got = inside_out.back()->apply(f)(x);
    const tn::ByOracle reference;
    const Array want = inside_out.back()->expected(f)(x);
    ASSERT_EQ(got.type().text(), want.type().text());
    const tn::Buffer g = got.to_buffer(), w = want.to_buffer();
    double scale = 1;
    for (std::int64_t i = 0; i < w.elements(); ++i) scale = std::max(scale, std::abs(w.as<double>()[i]));
    for (std::int64_t i = 0; i < w.elements(); ++i)
      ASSERT_NEAR(g.as<double>()[i], w.as<double>()[i], 2e-7 * scale) << "element " << i;
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

TEST(Nestings, OfOne) {
  for (const Named& program : programs())
    for (const Transformation& t : transformations) expect_nesting(program, {&t});
}

std::vector<const Transformation*> drawn(std::mt19937_64& random, std::size_t depth) {
  std::vector<const Transformation*> list;
  for (std::size_t i = 0; i < depth; ++i) list.push_back(&transformations[random() % std::size(transformations)]);
  return list;
}
// Each case is a nesting of every program, which takes long: a fraction of the cases.
std::int64_t cases() { return (fuzzing::cases(200) + 24) / 25; }
TEST(Nestings, FuzzOfTwo) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 random(fuzzing::seed());
  for (std::int64_t i = 0; i < cases(); ++i)
    for (const Named& program : programs()) expect_nesting(program, drawn(random, 2));
}
TEST(Nestings, FuzzOfThree) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 random(fuzzing::seed());
  for (std::int64_t i = 0; i < cases(); ++i)
    for (const Named& program : programs()) expect_nesting(program, drawn(random, 3));
}
TEST(Nestings, FuzzOfFour) {
  SCOPED_TRACE(fuzzing::repeat_with());
  std::mt19937_64 random(fuzzing::seed());
  for (std::int64_t i = 0; i < (cases() + 19) / 20; ++i)
    for (const Named& program : programs()) expect_nesting(program, drawn(random, 4));
}

}  // namespace
