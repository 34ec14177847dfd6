// custom_jvp, custom_vjp and checkpoint: under every transformation and in every region, what they keep, and their
// errors. A rule that differs from the true derivative shows that it is the rule which is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenon/ir/parse.h"
#include "tenon/tenon.h"
#include "tenon/transform/transforms.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;

namespace {

double at(const Array& a, std::size_t i = 0) { return a.to_buffer().as<double>()[i]; }

// sin with three times its derivative.
auto triple_jvp() {
  return tn::custom_jvp([](Array x) { return tn::sin(x); },
                        [](Array x, Array dx) { return std::pair(tn::sin(x), 3.0 * tn::cos(x) * dx); });
}
auto triple_vjp() {
  return tn::custom_vjp([](Array x) { return tn::sin(x); }, [](Array x) { return std::pair(tn::sin(x), tn::cos(x)); },
                        [](Array c, Array ct) { return 3.0 * c * ct; });
}

// Everything that a function with three times the derivative of sin must do, however it was told.
void expect_triple_sine(const std::function<Array(Array)>& f) {
  const Array xs{0.3, -1.2, 2.0};
  const auto slope = [](double x) { return 3 * std::cos(x); };
  EXPECT_DOUBLE_EQ(at(f(Array(0.3))), std::sin(0.3));
  EXPECT_DOUBLE_EQ(at(tn::jit(f)(Array(0.3))), std::sin(0.3));
  EXPECT_TRUE(tn::allclose(tn::vmap(f)(xs), tn::sin(xs), 1e-15));
  const auto check = [&](const Array& got) {
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(at(got, i), slope(at(xs, i)), 1e-12);
  };
  const auto total = [&](Array v) { return tn::sum(f(v)); };
  check(tn::grad(total)(xs));
  check(tn::jit(tn::grad(total))(xs));
  check(tn::vmap(tn::grad(f))(xs));
  check(tn::jit(tn::vmap(tn::grad(tn::jit(f))))(xs));
  check(tn::grad([&](Array v) { return tn::sum(tn::vmap(f)(v)); })(xs));
  check(tn::jvp([&](Array v) { return f(v); }, std::tuple(xs), std::tuple(tn::ones_like(xs))).second);
  const Array eye = tn::jacfwd([&](Array v) { return f(v); })(xs), rows = tn::jacrev([&](Array v) { return f(v); })(xs);
  EXPECT_TRUE(tn::allclose(eye, rows, 1e-12));
  EXPECT_NEAR(at(eye, 4), slope(-1.2), 1e-12);
  EXPECT_EQ(at(eye, 1), 0);
  // The rule is differentiated in its turn.
  EXPECT_NEAR(at(tn::grad(tn::grad(f))(Array(0.3))), -3 * std::sin(0.3), 1e-12);
  EXPECT_NEAR(at(tn::jit(tn::hessian(f))(Array(0.3))), -3 * std::sin(0.3), 1e-12);
  EXPECT_NEAR(at(tn::jacrev(tn::jacfwd(f))(Array(0.3))), -3 * std::sin(0.3), 1e-12);
  EXPECT_NEAR(at(tn::grad(tn::grad(tn::grad(f)))(Array(0.3))), -3 * std::cos(0.3), 1e-12);
  // Nested in itself, in regions, in a loop whose end the values decide.
  EXPECT_NEAR(at(tn::grad([&](Array x) { return f(f(x)); })(Array(0.3))), slope(std::sin(0.3)) * slope(0.3), 1e-12);
  const auto twice = [&](Array x) {
    return tn::scan([&](Array c, Array k) { return std::pair(f(c) * k, c); }, x, Array{1.0, 2.0}).first;
  };
  EXPECT_NEAR(at(tn::grad(twice)(Array(0.3))), slope(0.3) * 2 * slope(std::sin(0.3)), 1e-12);
  EXPECT_NEAR(at(tn::jit(tn::grad(twice))(Array(0.3))), slope(0.3) * 2 * slope(std::sin(0.3)), 1e-12);
  EXPECT_NEAR(at(tn::vmap(tn::grad(twice))(Array{0.3, 0.5}), 0), slope(0.3) * 2 * slope(std::sin(0.3)), 1e-12);
  const auto until = [&](Array x) {
    return tn::while_loop([](Array c) { return c < 2.0; }, [&](Array c) { return f(c) + c + 0.5; }, x);
  };
  const double x1 = 0.3, x2 = std::sin(x1) + x1 + 0.5, x3 = std::sin(x2) + x2 + 0.5;
  EXPECT_NEAR(at(until(Array(0.3))), x3, 1e-12);
  EXPECT_NEAR(at(tn::grad(until)(Array(0.3))), (slope(x1) + 1) * (slope(x2) + 1), 1e-12);
  const auto branch = [&](Array x) {
    return tn::cond(x > 0.0, [&](Array v) { return f(v); }, [](Array v) { return v * v; }, x);
  };
  EXPECT_NEAR(at(tn::grad(branch)(Array(0.3))), slope(0.3), 1e-12);
  EXPECT_NEAR(at(tn::vmap(tn::grad(branch))(Array{-0.5, 0.3}), 0), -1, 1e-12);
  EXPECT_NEAR(at(tn::vmap(tn::grad(branch))(Array{-0.5, 0.3}), 1), slope(0.3), 1e-12);
  // An array of another trace, captured where f is called.
  EXPECT_NEAR(at(tn::grad([&](Array x) {
                return tn::sum(tn::map([&](Array k) { return f(x * k); }, Array{1.0, 2.0}));
              })(Array(0.3))),
              slope(0.3) + 2 * slope(0.6), 1e-12);
  // No elements.
  EXPECT_EQ(tn::grad(total)(tn::zeros({0}, tn::DType::f64)).size(0), 0);
}

TEST(CustomJvp, UnderEveryTransformation) { expect_triple_sine(triple_jvp()); }
TEST(CustomVjp, UnderEveryTransformation) { expect_triple_sine(triple_vjp()); }

struct Wave {
  Array amplitude, phase;
  int order = 2;  // static
  double scale = 1.5;
};
struct Sample {
  Array value, count;
};

// Trees with static fields, an integer argument, an integer result, and captures: concrete and traced.
TEST(CustomJvp, OfTrees) {
  const Array table{1.0, 10.0};
  const auto run = [&](Array captured) {
    return tn::custom_jvp(
        [captured, table](const Wave& w, Array i) {
          return Sample{w.scale * w.amplitude * tn::sin(w.phase) * captured + tn::sum(table), i + w.order};
        },
        [captured](const Wave& w, Array i, const Wave& dw, Array di) {
          EXPECT_TRUE(di.empty());
          EXPECT_EQ(dw.order, 2);
          const Array s = w.scale * w.amplitude * tn::sin(w.phase) * captured;
          return std::pair(Sample{s + 11.0, i + w.order}, Sample{100.0 * dw.amplitude + dw.phase * captured, Array()});
        });
  };
  const Wave w{Array(2.0), Array(0.5)};
  const auto f = run(Array(4.0));
  EXPECT_NEAR(at(f(w, Array(3)).value), 1.5 * 2 * std::sin(0.5) * 4 + 11, 1e-12);
  const auto loss = [&](const Wave& w, Array i) { return f(w, i).value; };
  const Wave g = tn::jit(tn::grad(loss))(w, Array(3));
  EXPECT_EQ(at(g.amplitude), 100);
  EXPECT_EQ(at(g.phase), 4);
  EXPECT_EQ(g.scale, 1.5);
  EXPECT_EQ(tn::jit(f)(w, Array(3)).count.item<int>(), 5);
  // The captured array belongs to an enclosing trace; it is a constant there.
  const auto outer = [&](Array k, const Wave& w) {
    return tn::grad([&](const Wave& v) { return run(k)(v, Array(1)).value; })(w).phase;
  };
  EXPECT_EQ(at(tn::jit(outer)(Array(7.0), w)), 7);
  const Array lanes = tn::vmap(outer, {.in_axes = {0, tn::none}})(Array{5.0, 6.0}, w);
  EXPECT_EQ(at(lanes, 1), 6);
}

TEST(CustomVjp, OfTrees) {
  // Residuals are a tree with a static field; the integer argument has no cotangent.
  const auto f = tn::custom_vjp(
      [](const Wave& w, Array i) { return Sample{w.amplitude * w.phase, i * w.order}; },
      [](const Wave& w, Array i) { return std::pair(Sample{w.amplitude * w.phase, i * w.order}, std::pair(w, i)); },
      [](const std::pair<Wave, Array>& kept, const Sample& ct) {
        EXPECT_TRUE(ct.count.empty());
        EXPECT_EQ(kept.first.order, 2);
        EXPECT_EQ(kept.second.dtype(), tn::DType::i32);
        const Wave back{ct.value * 10.0, Array(), kept.first.order, kept.first.scale};  // the phase has none: zero
        return std::tuple(back, Array());
      });
  const Wave w{Array(2.0), Array(0.5)};
  const Wave g = tn::grad([&](const Wave& w, Array i) { return f(w, i).value * 2.0; })(w, Array(3));
  EXPECT_EQ(at(g.amplitude), 20);
  EXPECT_EQ(at(g.phase), 0);
  // A result that nothing reads has a cotangent of zeros.
  const auto two =
      tn::custom_vjp([](Array x) { return std::pair(x, x * 2.0); },
                     [](Array x) { return std::pair(std::pair(x, x * 2.0), std::tuple<>()); },
                     [](std::tuple<>, const std::pair<Array, Array>& ct) { return ct.first + 5.0 * ct.second; });
  EXPECT_EQ(at(tn::grad([&](Array x) { return two(x).first; })(Array(1.0))), 1);
  EXPECT_EQ(at(tn::grad([&](Array x) { return two(x).second; })(Array(1.0))), 5);
  // The cotangent of what is one for all lanes is the sum of theirs.
  const auto product = tn::custom_vjp(
      [](Array a, Array b) { return a * b; }, [](Array a, Array b) { return std::pair(a * b, std::pair(a, b)); },
      [](const std::pair<Array, Array>& r, Array ct) { return std::pair(ct * r.second, ct * r.first); });
  const Array b{1.0, 2.0, 4.0};
  const auto lanes = [&](Array a, Array b) { return tn::sum(tn::vmap(product, {.in_axes = {tn::none, 0}})(a, b)); };
  EXPECT_EQ(at(tn::grad(lanes)(Array(3.0), b)), 7);
  EXPECT_EQ(at(tn::jit(tn::grad<1>(lanes))(Array(3.0), b), 2), 3);
  EXPECT_EQ(at(tn::jvp(lanes, std::tuple(Array(3.0), b), std::tuple(Array(1.0), b)).second), 7 + 21);
}

// user-code.md 7.
TEST(CustomVjp, SafeNorm) {
  const auto forward = [](Array x) {
    const Array n = tn::norm(x);
    return std::pair(n, std::pair(x, n));
  };
  const auto backward = [](const std::pair<Array, Array>& r, Array ct) {
    return ct * tn::where(r.second > 0.0, r.first / r.second, 0.0);
  };
  const auto safe_norm = tn::custom_vjp([](Array x) { return tn::norm(x); }, forward, backward);
  const Array g = tn::grad(safe_norm)(Array{0.0, 0.0});
  EXPECT_EQ(at(g, 0), 0);
  EXPECT_NEAR(at(tn::grad(safe_norm)(Array{3.0, 4.0}), 1), 0.8, 1e-15);
}

// A backward that is no derivative: only reverse mode can use it.
TEST(CustomVjp, NotLinear) {
  const auto clipped = tn::custom_vjp([](Array x) { return x * x; }, [](Array x) { return std::pair(x * x, x); },
                                      [](Array x, Array ct) { return tn::min(ct * 2.0 * x, 1.0); });
  EXPECT_EQ(at(tn::grad(clipped)(Array(3.0))), 1);
  EXPECT_EQ(at(tn::grad(clipped)(Array(0.25))), 0.5);
  EXPECT_EQ(at(tn::grad(tn::grad(clipped))(Array(0.25))), 2);
  EXPECT_EQ(at(tn::jit(tn::grad(clipped))(Array(3.0))), 1);
  const auto forward = [&] {
    tn::jvp([&](Array x) { return clipped(x); }, std::tuple(Array(3.0)), std::tuple(Array(1.0)));
  };
  EXPECT_THAT(message_of(forward), AllOf(HasSubstr("DifferentiationError"),
                                         HasSubstr("jvp (custom_vjp): forward mode is asked of a function"),
                                         HasSubstr("linear in the cotangents")));
  // A condition on the cotangent, and a product of two.
  const auto chosen = tn::custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, x); },
                                     [](Array x, Array ct) { return tn::where(ct > 0.0, ct, 0.0 * x); });
  EXPECT_EQ(at(tn::grad(chosen)(Array(3.0))), 1);
  EXPECT_THAT(message_of([&] { tn::jacfwd(chosen)(Array(3.0)); }), HasSubstr("custom_vjp: forward mode"));
  const auto squared = tn::custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, x); },
                                      [](Array, Array ct) { return ct * ct; });
  EXPECT_EQ(at(tn::grad([&](Array x) { return squared(x) * 3.0; })(Array(3.0))), 9);
  EXPECT_THAT(message_of([&] { tn::jacfwd(squared)(Array(3.0)); }), HasSubstr("custom_vjp: forward mode"));
  // A rule of custom_jvp that is not linear cannot be turned round.
  const auto bent = tn::custom_jvp([](Array x) { return x; },
                                   [](Array x, Array dx) { return std::pair(x, tn::where(dx > 0.0, dx, -dx)); });
  EXPECT_EQ(at(tn::jvp([&](Array x) { return bent(x); }, std::tuple(Array(3.0)), std::tuple(Array(-1.0))).second), 1);
  EXPECT_THAT(message_of([&] { tn::grad(bent)(Array(3.0)); }),
              AllOf(HasSubstr("DifferentiationError"), HasSubstr("linear")));
}

// A rule is traced for each derivative that takes it, and not without one; what it calls has rules of one order less.
TEST(CustomDerivatives, RulesAreTracedWhereTheyAreTaken) {
  int traced = 0;
  std::function<Array(Array)> f;
  const auto rule = [&](Array x, Array dx) {
    ++traced;
    return std::pair(f(x), dx * f(x) * 2.0);
  };
  f = [&, with_rule = tn::custom_jvp([](Array x) { return tn::sin(x); }, rule)](Array x) { return with_rule(x); };
  const auto g = [&](Array x) { return f(x); };
  EXPECT_NEAR(at(tn::jit(g)(Array(0.3))), std::sin(0.3), 1e-12);
  EXPECT_NEAR(at(tn::vmap(g)(Array{0.3, 0.4}), 1), std::sin(0.4), 1e-12);
  EXPECT_EQ(traced, 0);
  EXPECT_NEAR(at(tn::grad(g)(Array(0.3))), 2 * std::sin(0.3), 1e-12);
  EXPECT_EQ(traced, 1);
  const auto second = [&](Array x) { return tn::grad(g)(x); };
  EXPECT_NEAR(at(tn::grad([&](Array x) { return tn::grad(second)(x); })(Array(0.3))), 8 * std::sin(0.3), 1e-12);
  // Of one jitted function, each call has what it needs.
  const auto jitted = tn::jit(g);
  const auto of_jitted = [&](Array x) { return jitted(x); };
  EXPECT_NEAR(at(jitted(Array(0.3))), std::sin(0.3), 1e-12);
  EXPECT_NEAR(at(tn::grad(of_jitted)(Array(0.3))), 2 * std::sin(0.3), 1e-12);
  EXPECT_NEAR(at(tn::grad([&](Array x) { return tn::grad(of_jitted)(x); })(Array(0.3))), 4 * std::sin(0.3), 1e-12);
}

TEST(CustomDerivatives, Errors) {
  const auto captures = [](Array k) {
    return tn::custom_jvp([k](Array x) { return x * k; }, [k](Array x, Array dx) { return std::pair(x * k, dx * k); });
  };
  EXPECT_THAT(message_of([&] { tn::grad([&](Array k) { return captures(k)(Array(2.0)); })(Array(3.0)); }),
              AllOf(HasSubstr("DifferentiationError"), HasSubstr("custom_jvp: the function captures an array"),
                    HasSubstr("Pass that array as an argument"), HasSubstr("custom_derivatives.cpp:")));
  const auto wrong = tn::custom_vjp([](Array x, Array y) { return tn::sum(x) * y; },
                                    [](Array x, Array y) { return std::pair(tn::sum(x) * y, x); },
                                    [](Array, Array ct) { return std::pair(ct, ct); });
  EXPECT_THAT(
      message_of([&] { tn::grad(wrong)(Array{1.0, 2.0}, Array(1.0)); }),
      AllOf(HasSubstr("ShapeError"), HasSubstr("custom_vjp: backward's cotangent of argument 0 is f64[], not f64[2]")));
  const auto other = tn::custom_vjp([](Array x) { return x; }, [](Array x) { return std::pair(x, x); },
                                    [](Array, Array ct) { return tn::convert(ct, tn::DType::f32); });
  EXPECT_THAT(message_of([&] { tn::grad(other)(Array(1.0)); }),
              AllOf(HasSubstr("DTypeError"), HasSubstr("is f32[], not f64[]"), HasSubstr("Convert it")));
  const auto taller =
      tn::custom_jvp([](Array x) { return x; }, [](Array x, Array dx) { return std::pair(x, tn::stack({dx, dx})); });
  EXPECT_THAT(message_of([&] { tn::grad(taller)(Array(1.0)); }),
              HasSubstr("custom_jvp: leaf 0 of the rule's tangent is f64[2], not f64[]"));
  const auto fewer = tn::custom_vjp([](std::vector<Array> x) { return x[0]; },
                                    [](std::vector<Array> x) { return std::pair(x[0], x[0]); },
                                    [](Array, Array ct) { return std::vector<Array>{ct}; });
  EXPECT_THAT(message_of([&] {
                tn::grad([&](std::vector<Array> x) { return fewer(x); })(std::vector<Array>{Array(1.0), Array(2.0)});
              }),
              AllOf(HasSubstr("TreeError"), HasSubstr("what backward returns has 1 arrays, not 2")));
}

// The ops as text, and back; with a batch of unknown size.
TEST(CustomDerivatives, TextRoundTrip) {
  const auto expect_same = [](const tn::ProgramRef& p) {
    const std::string text = tn::print(*p);
    const tn::ProgramRef back = tn::parse(text);
    EXPECT_EQ(tn::print(*back), text);
    EXPECT_EQ(back->hash(), p->hash());
  };
  for (const tn::ProgramRef& p :
       {tn::trace([](Array x) { return triple_jvp()(x); })(Array{1.0, 2.0}),
        tn::trace([](Array x) { return triple_vjp()(x); })(Array{1.0, 2.0}),
        tn::trace([](Array x) { return tn::checkpoint([](Array v) { return tn::sin(v); })(x); })(Array{1.0, 2.0})}) {
    expect_same(p);
    expect_same(tn::jvp(p, {true}, {true}));
    expect_same(tn::linearize(p, {true}, {true}).second);
    expect_same(tn::vmap(p, {true}, {true}, tn::Dim::variable(0)));
    expect_same(tn::vmap(tn::jvp(p, {true}, {true}), {true, false}, {true, true}, tn::Dim(3)));
  }
  EXPECT_THAT(message_of([] {
                tn::parse(
                    "program @f(%x: f64[2]) { %y: f64[2] = custom_jvp %x {function=program @g(%a: f64[2]) {\n"
                    "return %a }, sizes=[], rule=program @r(%a: f64[2]) { return %a }, rule_sizes=[], arguments=1}\n"
                    "return %y }");
              }),
              HasSubstr("custom_jvp: the rule is (f64[2]) -> (f64[2])"));
}

// Bytes that reverse mode stores beyond arguments and results.
std::int64_t stored_bytes(const tn::ProgramRef& p) {
  const tn::Partitioned parts =
      tn::linearize(p, tn::Mask(p->inputs().size(), true), tn::Mask(p->outputs().size(), true));
  std::int64_t bytes = 0;
  for (const auto& r : parts.residuals)
    if (r.from == tn::Partitioned::Residual::From::stored)
      bytes += r.type.shape.elements().value() * static_cast<std::int64_t>(tn::size_of(r.type.dtype));
  return bytes;
}

TEST(Checkpoint, KeepsTheArgumentsAlone) {
  const auto layer = [](Array w, Array h) { return tn::tanh(tn::matmul(tn::sin(tn::matmul(h, w)), w)); };
  const auto net = [](auto layer) {
    return [layer](Array w, Array h) {
      for (int i = 0; i < 3; ++i) h = layer(w, h);
      return tn::sum(h);
    };
  };
  const Array w = tn::reshape(tn::sin(tn::arange(16, tn::DType::f64)), {4, 4}),
              h = tn::reshape(tn::cos(tn::arange(8, tn::DType::f64)), {2, 4});
  const auto plain = net(layer);
  const auto frugal = net(tn::checkpoint(layer));
  const std::int64_t kept = stored_bytes(tn::trace(frugal)(w, h));
  EXPECT_EQ(kept, 2 * 8 * 8);  // what enters the second and the third layer
  EXPECT_GE(stored_bytes(tn::trace(plain)(w, h)), 5 * 8 * 8);
  const Array want = tn::grad(plain)(w, h);
  EXPECT_TRUE(tn::allclose(tn::grad(frugal)(w, h), want, 1e-12));
  EXPECT_TRUE(tn::allclose(tn::jit(tn::grad(frugal))(w, h), want, 1e-12));
  EXPECT_TRUE(
      tn::allclose(tn::vmap(tn::grad(frugal), {.in_axes = {tn::none, 0}})(w, tn::stack({h, h * 2.0}))(0), want, 1e-12));
  EXPECT_TRUE(tn::allclose(tn::jvp([&](Array v) { return frugal(v, h); }, std::tuple(w), std::tuple(w)).second,
                           tn::sum(want * w), 1e-12));
  // Grad of grad, and a checkpoint within one.
  const auto curved = [](auto f) { return [f](Array w, Array h) { return tn::sum(tn::square(tn::grad(f)(w, h))); }; };
  EXPECT_TRUE(tn::allclose(tn::jit(tn::grad(curved(frugal)))(w, h), tn::grad(curved(plain))(w, h), 1e-9));
  const auto nested =
      net(tn::checkpoint([layer](Array w, Array h) { return tn::checkpoint(layer)(w, tn::checkpoint(layer)(w, h)); }));
  const auto twice = net([layer](Array w, Array h) { return layer(w, layer(w, h)); });
  EXPECT_TRUE(tn::allclose(tn::jit(tn::grad(nested))(w, h), tn::grad(twice)(w, h), 1e-11));
  EXPECT_EQ(stored_bytes(tn::trace(nested)(w, h)), 2 * 8 * 8);
}

// Within a scan, the body's arguments are all that is stacked; what it captures is differentiated.
TEST(Checkpoint, InAScan) {
  const auto run = [](auto wrap) {
    return [wrap](Array w, Array xs) {
      const auto step = wrap([w](Array h, Array x) { return tn::tanh(tn::matmul(tn::sin(tn::matmul(h, w) + x), w)); });
      return tn::sum(tn::scan([&](Array h, Array x) { return std::pair(step(h, x), std::tuple<>()); },
                              tn::zeros({4}, tn::DType::f64), xs)
                         .first);
    };
  };
  const auto frugal = run([](auto f) { return tn::checkpoint(f); });
  const auto plain = run([](auto f) { return f; });
  const Array w = tn::reshape(tn::sin(tn::arange(16, tn::DType::f64)), {4, 4}),
              xs = tn::reshape(tn::cos(tn::arange(40, tn::DType::f64)), {10, 4});
  EXPECT_EQ(stored_bytes(tn::trace(frugal)(w, xs)), 10 * 4 * 8);  // the carry of each step
  EXPECT_GE(stored_bytes(tn::trace(plain)(w, xs)), 20 * 4 * 8);
  const Array want = tn::grad(plain)(w, xs);
  EXPECT_TRUE(tn::allclose(tn::grad(frugal)(w, xs), want, 1e-12));
  EXPECT_TRUE(tn::allclose(tn::jit(tn::grad(frugal))(w, xs), want, 1e-12));
  EXPECT_TRUE(
      tn::allclose(tn::jit(tn::vmap(tn::grad(frugal), {.in_axes = {tn::none, 0}}))(w, tn::reshape(xs, {1, 10, 4})),
                   tn::reshape(want, {1, 4, 4}), 1e-12));
}

// What is computed again is not merged with what was computed before.
TEST(Checkpoint, IsNotUndone) {
  const auto count_of = [](const tn::ProgramRef& p, std::string_view op) {
    int count = 0;
    const tn::ProgramRef flat = tn::inline_calls(p);
    for (const tn::Eqn& eqn : flat->eqns()) count += eqn.op->name == op;
    return count;
  };
  const auto f = [](Array x) { return tn::sum(tn::exp(tn::exp(x))); };
  const tn::ProgramRef again = tn::trace(tn::value_and_grad(tn::checkpoint(f)))(Array{0.1, 0.2});
  EXPECT_EQ(count_of(again, "exp"), 4);
  EXPECT_EQ(count_of(tn::trace(tn::value_and_grad(f))(Array{0.1, 0.2}), "exp"), 2);
}

}  // namespace
