// Loops, branches and calls under all transformations, in every nesting that the design names.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/transform/transforms.h"

namespace tenon {
namespace {

const Type f64 = Type::array(DType::f64, {});
Type vec(std::int64_t n) { return Type::array(DType::f64, {Dim(n)}); }

using Function = std::function<Arrays(std::span<const Array>)>;

ProgramRef trace(const std::vector<Type>& types, const Function& f) {
  Scope scope;
  Arrays in;
  for (const Type& t : types) in.push_back(scope.input(t));
  TraceResult traced = scope.finish(f(in));
  EXPECT_TRUE(traced.captures.empty());
  return traced.program;
}

// A region that captures: the Program and what it captured, as consts of the enclosing scope.
struct Region {
  ProgramRef program;
  Arrays captures;
  std::vector<Dim> sizes;
};
Region region(const std::vector<Type>& types, const Function& f) {
  Scope scope;
  Arrays in;
  for (const Type& t : types) in.push_back(scope.input(t));
  TraceResult traced = scope.finish(f(in));
  return {traced.program, traced.captures, traced.sizes};
}

// scan without captures: carries, xs -> carries, ys.
Arrays scan(std::size_t carries, const std::vector<Type>& types, const Dim& length, const Function& f,
            const Arrays& operands) {
  Region body = region(types, f);
  EXPECT_TRUE(body.captures.empty());
  LoopParams p{
      .body = body.program, .length = length, .carries = static_cast<std::int64_t>(carries), .body_sizes = body.sizes};
  return loop(p, operands);
}
Arrays while_loop(const std::vector<Type>& types, const Function& cond, const Function& body, const Arrays& operands) {
  Region c = region(types, cond), b = region(types, body);
  LoopParams p{.body = b.program,
               .cond = c.program,
               .carries = static_cast<std::int64_t>(types.size()),
               .body_sizes = b.sizes,
               .cond_sizes = c.sizes};
  return loop(p, operands);
}

std::vector<double> numbers(const Value& v) {
  const Buffer b = std::get<Buffer>(v).contiguous_copy();
  return {b.as<double>(), b.as<double>() + b.elements()};
}
Value of(std::vector<double> x, std::vector<std::int64_t> dims) {
  Buffer b = Buffer::allocate(DType::f64, dims);
  std::copy(x.begin(), x.end(), b.as<double>());
  return b;
}
std::vector<Value> run(const ProgramRef& p, const std::vector<Value>& in) {
  std::vector<Type> types;
  for (const Value& v : in) types.push_back(type_of(v));
  std::vector<std::int64_t> sizes;
  for (const Dim& d : infer_sizes(*p, types)) sizes.push_back(d.value());
  return evaluate(*p, sizes, in);
}

// Gradient of the first output (a scalar) in the inputs of the mask, as one Program of calls.
ProgramRef gradient(const ProgramRef& p, const Mask& in) {
  Mask out(p->outputs().size(), false);
  out[0] = true;
  const Partitioned lin = linearize(p, in, out);
  TransposeRequest request{.linear_in = Mask(lin.second->inputs().size(), false), .cotangents = {true}};
  for (std::size_t i = 0, k = 0; i < in.size(); ++i)
    if (in[i]) request.linear_in[k++] = true;
  const ProgramRef pull = transpose(lin.second, request);
  return trace(p->input_types(), [&](std::span<const Array> x) {
    const Arrays first = call(lin.first, x);
    Arrays operands;
    for (const auto& r : lin.residuals) {
      using From = Partitioned::Residual::From;
      operands.push_back(r.from == From::input    ? x[r.index]
                         : r.from == From::output ? first[r.index]
                                                  : first[p->outputs().size() + r.index]);
    }
    operands.push_back(Array(Scalar(1.0)));
    return call(pull, operands);
  });
}

void expect_gradient(const ProgramRef& p, const std::vector<Value>& x, double tolerance = 1e-6) {
  Mask in;
  for (Var v : p->inputs()) in.push_back(has_tangent(p->type(v)));
  const auto grads = run(gradient(p, in), x);
  std::size_t g = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!in[k]) continue;
    const auto got = numbers(grads[g++]);
    for (std::size_t i = 0; i < got.size(); ++i) {
      constexpr double h = 1e-5;
      auto moved = [&](double d) {
        auto copy = x;
        Buffer b = std::get<Buffer>(x[k]).contiguous_copy();
        b.as<double>()[i] += d;
        copy[k] = b;
        return numbers(run(p, copy)[0])[0];
      };
      const double want = (moved(h) - moved(-h)) / (2 * h);
      EXPECT_NEAR(got[i], want, tolerance * (1 + std::abs(want))) << "input " << k << " element " << i;
    }
  }
}

// c <- sin(c * w) + x, stacked; loss sum(ys) * c
ProgramRef scan_program() {
  return trace({f64, f64, vec(5)}, [](std::span<const Array> in) {
    const Region body = region({f64, f64, f64}, [](std::span<const Array> s) {
      const Array c = sin(s[1] * s[0]) + s[2];
      return Arrays{c, c * c};
    });
    const Arrays out =
        loop({.body = body.program, .length = Dim(5), .consts = 1, .carries = 1}, Arrays{in[0], in[1], in[2]});
    return Arrays{sum(out[1]) * out[0]};
  });
}
TEST(Loops, GradientOfScan) {
  expect_gradient(scan_program(), {of({0.7}, {}), of({0.3}, {}), of({1, 2, 3, 4, 5}, {5})});
}

TEST(Loops, SecondDerivativeOfScan) {
  const ProgramRef g = gradient(scan_program(), {true, true, true});
  const ProgramRef total = trace(g->input_types(), [&](std::span<const Array> x) {
    const Arrays d = call(g, x);
    return Arrays{d[0] + d[1] + sum(d[2])};
  });
  expect_gradient(total, {of({0.7}, {}), of({0.3}, {}), of({1, 2, 3, 4, 5}, {5})}, 1e-5);
}

// The carry is what the loop stacks: the derivative reads the rows a step before, and where the loop began.
TEST(Loops, CarryThatIsStackedAnyway) {
  for (const bool reverse : {false, true})
    for (const std::int64_t steps : {0, 1, 5}) {
      const ProgramRef p = trace({f64, f64, vec(steps)}, [&](std::span<const Array> in) {
        const Region body = region({f64, f64, f64}, [](std::span<const Array> s) {
          const Array c = sin(s[1] * s[1] * s[0]) + s[2];
          return Arrays{c, c};
        });
        const Arrays out =
            loop({.body = body.program, .length = Dim(steps), .reverse = reverse, .consts = 1, .carries = 1},
                 Arrays{in[0], in[1], in[2]});
        return Arrays{sum(out[1] * out[1]) * out[0]};
      });
      const std::vector<Value> x = {of({0.7}, {}), of({0.3}, {}),
                                    of(std::vector<double>(static_cast<std::size_t>(steps), 0.4), {steps})};
      SCOPED_TRACE(testing::Message() << steps << " steps, reverse: " << reverse);
      expect_gradient(p, x);
      const ProgramRef g = gradient(p, {true, true, true});
      const ProgramRef total = trace(g->input_types(), [&](std::span<const Array> x) {
        const Arrays d = call(g, x);
        return Arrays{d[0] + d[1] + sum(d[2])};
      });
      expect_gradient(total, x, 1e-5);
    }
}

// Counts in an integer carry beside the float: the integer part is split off and never transposed.
TEST(Loops, IntegerCarryBesideAFloat) {
  const ProgramRef p = trace({f64}, [](std::span<const Array> in) {
    const Arrays out =
        scan(2, {f64, Type::array(DType::i32, {})}, Dim(4),
             [](std::span<const Array> s) { return Arrays{s[0] * sin(s[0] + convert(s[1], DType::f64)), s[1] + 1}; },
             {in[0], Array(Scalar(std::int32_t(0)))});
    return Arrays{out[0]};
  });
  expect_gradient(p, {of({0.8}, {})});
}

// x <- x² / 3 + 1/2 while x < 40 (at most 12 steps, counted): unknown trip count.
Arrays grow(const Array& start) {
  return while_loop(
      {f64, Type::array(DType::i32, {})}, [](std::span<const Array> s) { return Arrays{(s[0] < 40.0) & (s[1] < 12)}; },
      [](std::span<const Array> s) { return Arrays{s[0] * s[0] / 3.0 + sin(s[0]), s[1] + 1}; },
      {start, Array(Scalar(std::int32_t(0)))});
}
TEST(Loops, GradientOfWhile) {
  const ProgramRef p = trace({f64}, [](std::span<const Array> in) { return Arrays{grow(in[0])[0]}; });
  for (double x : {0.4, 4.0, 100.0}) expect_gradient(p, {of({x}, {})}, 1e-5);
}

// The first text test of the design: gradient of a scan that contains a while; then vmap of that.
ProgramRef scan_of_while() {
  return trace({f64, vec(3)}, [](std::span<const Array> in) {
    const Arrays out = scan(1, {f64, f64}, Dim(3),
                            [](std::span<const Array> s) {
                              const Array end = grow(s[0] * 0.5 + s[1])[0];
                              return Arrays{sin(end), end * s[0]};
                            },
                            {in[0], in[1]});
    return Arrays{sum(out[1]) + out[0]};
  });
}
TEST(Loops, GradientOfScanThatContainsAWhile) {
  expect_gradient(scan_of_while(), {of({0.7}, {}), of({0.3, 4.0, 60.0}, {3})}, 1e-5);
}

TEST(Loops, VmapOfGradientOfScanThatContainsAWhile) {
  const ProgramRef g = gradient(scan_of_while(), {true, true});
  const ProgramRef lanes = vmap(g, {true, true}, {true, true}, Dim(4));
  const std::vector<double> c{0.7, 0.1, 3.0, -0.5}, x{0.3, 4, 60, 1, 1, 1, 0.1, 0.2, 0.3, 50, 0.5, 2};
  const auto all = run(lanes, {of(c, {4}), of(x, {4, 3})});
  for (std::size_t l = 0; l < 4; ++l) {
    const auto one = run(g, {of({c[l]}, {}), of({x[3 * l], x[3 * l + 1], x[3 * l + 2]}, {3})});
    EXPECT_NEAR(numbers(all[0])[l], numbers(one[0])[0], 1e-9 * (1 + std::abs(numbers(one[0])[0])));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(numbers(all[1])[3 * l + i], numbers(one[1])[i], 1e-9 * (1 + std::abs(numbers(one[1])[i])));
  }
}

TEST(Loops, GradientOfVmapOfWhile) {
  const ProgramRef one = trace({f64}, [](std::span<const Array> in) { return Arrays{grow(in[0])[0]}; });
  const ProgramRef lanes = vmap(one, {true}, {true}, Dim(3));
  const ProgramRef total = trace({vec(3)}, [&](std::span<const Array> in) { return Arrays{sum(call(lanes, in)[0])}; });
  expect_gradient(total, {of({0.4, 4.0, 100.0}, {3})}, 1e-5);
}

// The third: a loop that updates a buffer in place; its Jacobian by vmap of the pullback.
ProgramRef update_loop() {
  return trace({vec(4)}, [](std::span<const Array> in) {
    const Region body = region({vec(4), vec(4), f64, Type::array(DType::i32, {})}, [](std::span<const Array> s) {
      const Array c = sin(s[0](s[3]) * s[2]) + 0.5;
      return Arrays{s[1].at(s[3]).set(c), c, s[3] + 1};
    });
    const Arrays out = loop({.body = body.program, .length = Dim(4), .consts = 1, .carries = 3},
                            Arrays{in[0], zeros_like(vec(4)), Array(Scalar(1.0)), Array(Scalar(std::int32_t(0)))});
    return Arrays{out[0]};
  });
}
TEST(Loops, JacobianOfAnUpdateLoopByRows) {
  const ProgramRef p = update_loop();
  const Partitioned lin = linearize(p, {true}, {true});
  TransposeRequest request{.linear_in = Mask(lin.second->inputs().size(), false), .cotangents = {true}};
  request.linear_in[0] = true;
  const ProgramRef pull = transpose(lin.second, request);
  Mask batched(pull->inputs().size(), false);
  batched.back() = true;
  const ProgramRef rows = vmap(pull, batched, {true}, Dim(4));
  const std::vector<Value> x{of({0.5, 1.0, 1.5, 2.0}, {4})};
  const auto first = run(lin.first, x);
  std::vector<Value> in;
  for (const auto& r : lin.residuals) {
    using From = Partitioned::Residual::From;
    in.push_back(r.from == From::input ? x[r.index] : r.from == From::output ? first[r.index] : first[1 + r.index]);
  }
  in.push_back(of({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, {4, 4}));
  const auto jacobian = numbers(run(rows, in)[0]);
  const ProgramRef forward = jvp(p, {true}, {true});
  for (std::size_t j = 0; j < 4; ++j) {
    std::vector<double> e(4, 0);
    e[j] = 1;
    const auto column = numbers(run(forward, {x[0], of(e, {4})})[1]);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(jacobian[4 * i + j], column[i], 1e-12);
  }
}
// Per step nothing of the buffer's size is kept.
TEST(Loops, AnUpdateLoopKeepsNoCopyOfItsBuffer) {
  const Partitioned lin = linearize(update_loop(), {true}, {true});
  for (const auto& r : lin.residuals) EXPECT_LE(r.type.rank(), 1u) << r.type.text();
}

// The fourth: sum(x[m] * y[m]) with a size that the mask decides.
TEST(Sizes, ProductOfTwoCompressedArrays) {
  const ProgramRef p = trace({vec(5), vec(5), Type::array(DType::bool_, {Dim(5)})}, [](std::span<const Array> in) {
    return Arrays{sum(compress(in[0], in[2]) * compress(sin(in[1]), in[2]))};
  });
  Buffer mask = Buffer::allocate(DType::bool_, {5});
  const bool bits[]{true, false, true, true, false};
  std::copy(bits, bits + 5, mask.as<bool>());
  EXPECT_NE(print(*p).find("new[s0]"), std::string::npos) << print(*p);
  const std::vector<Value> x{of({1, 2, 3, 4, 5}, {5}), of({5, 4, 3, 2, 1}, {5}), mask};
  EXPECT_NEAR(numbers(run(p, x)[0])[0], 1 * std::sin(5) + 3 * std::sin(3) + 4 * std::sin(2), 1e-12);
  const ProgramRef forward = jvp(p, {true, true, false}, {true});
  const auto tangent = numbers(run(forward, {x[0], x[1], x[2], of({1, 1, 1, 1, 1}, {5}), of({0, 0, 1, 0, 0}, {5})})[1]);
  EXPECT_NEAR(tangent[0], std::sin(5) + std::sin(3) + std::sin(2) + 3 * std::cos(3), 1e-12);
}

TEST(Branches, GradientAndVmapOfCond) {
  const ProgramRef p = trace({f64, f64}, [](std::span<const Array> in) {
    const Region a = region({f64, f64}, [](std::span<const Array> s) { return Arrays{sin(s[0]) * s[1]}; });
    const Region b = region({f64, f64}, [](std::span<const Array> s) { return Arrays{s[0] * s[0] * exp(s[1])}; });
    return Arrays{cond({{a.program, b.program}, {{}, {}}}, convert(in[0] > 1.0, DType::i32), Arrays{in[0], in[1]})[0]};
  });
  for (double x : {0.5, 1.5}) expect_gradient(p, {of({x}, {}), of({0.3}, {})});
  const ProgramRef lanes = vmap(p, {true, false}, {true}, Dim(2));
  const auto out = numbers(run(lanes, {of({0.5, 1.5}, {2}), of({0.3}, {})})[0]);
  EXPECT_NEAR(out[0], std::sin(0.5) * 0.3, 1e-15);
  EXPECT_NEAR(out[1], 2.25 * std::exp(0.3), 1e-15);
  const ProgramRef total =
      trace({vec(2), f64}, [&](std::span<const Array> in) { return Arrays{sum(call(lanes, in)[0])}; });
  expect_gradient(total, {of({0.5, 1.5}, {2}), of({0.3}, {})});
}

}  // namespace
}  // namespace tenon
