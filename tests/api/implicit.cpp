// custom_root and custom_linear_solve: their derivatives beside closed forms and differences, under every
// transformation and at second order; and the text of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tenon/tenon.h"
#include "tests/api/values.h"
#include "tests/by_oracle.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::expect_close;
using tn::message_of;
using tn::numbers;

namespace {

// --- roots of one number ---
// Newton's method, whose steps nothing can be transposed through cheaply, with a derivative by forward mode.
template <class F>
Array newton(F f, Array start) {
  return tn::while_loop([&](std::pair<Array, Array> s) { return (tn::abs(f(s.first)) > 1e-14) & (s.second < 60); },
                        [&](std::pair<Array, Array> s) {
                          const auto [y, slope] = tn::jvp([&](Array x) { return f(x); }, std::tuple(s.first),
                                                          std::tuple(tn::ones_like(s.first)));
                          return std::pair(s.first - y / slope, s.second + 1);
                        },
                        std::pair(start, Array(0)))
      .first;
}

// x with x³ + x = a.
Array cubic(Array a) {
  return tn::custom_root([&](Array x) { return x * x * x + x - a; }, tn::ones_like(a),
                         [](auto f, Array x) { return newton(f, x); },
                         [](auto g, Array y) { return y / g(tn::ones_like(y)); });
}

TEST(CustomRoot, DerivativesOfEveryOrder) {
  for (const double a : {0.3, 2.0, 10.0}) {
    const Array x = cubic(Array(a)), at = tn::convert(Array(a), tn::DType::f64);
    expect_close(x * x * x + x, Array(a), "root");
    const Array slope = 1.0 / (3.0 * x * x + 1.0);
    const Array second = -6.0 * x * slope * slope * slope;
    const Array third = (-6.0 * slope + 18.0 * x * (6.0 * x * slope) * slope) * slope * slope * slope;
    expect_close(tn::grad(cubic)(at), slope, "reverse");
    expect_close(tn::jacfwd(cubic)(at), slope, "forward");
    expect_close(tn::jit(tn::grad(cubic))(at), slope, "compiled");
    expect_close(tn::jit(tn::grad(tn::grad(cubic)))(at), second, "reverse over reverse");
    expect_close(tn::jit(tn::hessian(cubic))(at), second, "forward over reverse");
    expect_close(tn::jit(tn::jacrev(tn::jacfwd(cubic)))(at), second, "reverse over forward");
    expect_close(tn::jit(tn::grad(tn::grad(tn::grad(cubic))))(at), third, "third", 1e-8);
  }
}

TEST(CustomRoot, OfLanes) {
  const Array a = numbers({6}, 1.0);
  const Array x = tn::jit(tn::vmap(cubic))(a);
  const Array slope = 1.0 / (3.0 * x * x + 1.0);
  expect_close(x * x * x + x, a, "roots");
  expect_close(tn::jit(tn::vmap(tn::grad(cubic)))(a), slope, "vmap of grad");
  expect_close(tn::vmap(tn::grad(cubic))(a), slope, "vmap of grad, eagerly");
  expect_close(tn::jit(tn::grad([](Array a) { return tn::sum(tn::vmap(cubic)(a)); }))(a), slope, "grad of vmap");
  expect_close(tn::jit(tn::vmap(tn::grad(tn::grad(cubic))))(a), -6.0 * x * slope * slope * slope, "second");
}

TEST(CustomRoot, InsideALoop) {
  const auto f = [](Array a) {
    return tn::scan([](Array c, Array t) { return std::pair(cubic(c + t), c); }, a, Array{1.0, 2.0, 3.0}).first;
  };
  const Array a = tn::convert(Array(0.5), tn::DType::f64);
  const double h = 1e-6;
  expect_close(tn::jit(tn::grad(f))(a), (f(a + h) - f(a - h)) / (2 * h), "in a scan", 1e-8);
  const auto g = [&](Array a) {
    return tn::cond(a > 0.0, [](Array v) { return cubic(v) * 2.0; }, [](Array v) { return v; }, a);
  };
  expect_close(tn::jit(tn::grad(g))(a), 2.0 * tn::grad(cubic)(a), "in a branch");
}

// --- roots that are trees ---
struct Point {
  Array x, y;
};

// x·x + y = p, y - sin(x) = q, in arrays; by a fixed number of Newton steps with dense Jacobians.
Point crossing(Array p, Array q) {
  const auto equation = [&](Point at) { return Point{at.x * at.x + at.y - p, at.y - tn::sin(at.x) - q}; };
  // Of 2 unknowns a place: Cramer's rule, place by place.
  const auto system = [](auto g, Point right) {
    const Array one = tn::ones_like(right.x), zero = tn::zeros_like(right.x);
    const Point a = g(Point{one, zero}), b = g(Point{zero, one});
    const Array det = a.x * b.y - b.x * a.y;
    return Point{(right.x * b.y - b.x * right.y) / det, (a.x * right.y - right.x * a.y) / det};
  };
  const auto solve = [&](auto f, Point start) {
    return tn::fori_loop(
        0, 30,
        [&](Array, Point at) {
          const Point right = f(at);
          const auto along = [&](Point v) {
            return std::get<1>(tn::jvp([&](Point z) { return f(z); }, std::tuple(at), std::tuple(v)));
          };
          const Point step = system(along, right);
          return Point{at.x - step.x, at.y - step.y};
        },
        start);
  };
  return tn::custom_root(equation, Point{tn::ones_like(p), tn::zeros_like(p)}, solve, system);
}

TEST(CustomRoot, OfATree) {
  const Array p = Array{2.0, 3.0, 2.5}, q = Array{0.1, 0.2, -0.3};
  const auto loss = [](Array p, Array q) {
    const Point at = crossing(p, q);
    return tn::sum(at.x * 2.0 + at.y * at.y);
  };
  const Point at = crossing(p, q);
  expect_close(at.x * at.x + at.y, p, "root");
  // d(x, y): 2x·dx + dy = dp, dy - cos(x)·dx = dq.
  const Array det = 2.0 * at.x + tn::cos(at.x);
  const Array xp = 1.0 / det, xq = -1.0 / det, yp = tn::cos(at.x) / det, yq = 2.0 * at.x / det;
  const auto [dp, dq] = tn::jit(tn::grad<0, 1>(loss))(p, q);
  expect_close(dp, 2.0 * xp + 2.0 * at.y * yp, "dp");
  expect_close(dq, 2.0 * xq + 2.0 * at.y * yq, "dq");
  const double h = 1e-5;
  const Array v = Array{1.0, -2.0, 0.5};
  const auto slope = [&](Array p) { return tn::sum(std::get<0>(tn::grad<0, 1>(loss)(p, q)) * v); };
  expect_close(tn::sum(tn::jit(tn::grad(slope))(p) * v), (slope(p + h * v) - slope(p - h * v)) / (2 * h), "second",
               1e-7);
}

// What the solver tells beside the root, its steps and the last residual, has no derivative.
TEST(CustomRoot, WithWhatIsAuxiliary) {
  struct Told {
    Array steps, residual;
  };
  const auto told = [](Array a) {
    return tn::custom_root([&](Array x) { return x * x * x + x - a; }, tn::ones_like(a),
                           [](auto f, Array x) {
                             const auto [end, steps] = tn::while_loop(
                                 [&](std::pair<Array, Array> s) { return tn::any(tn::abs(f(s.first)) > 1e-13); },
                                 [&](std::pair<Array, Array> s) {
                                   const Array v = s.first;
                                   return std::pair(v - f(v) / (3.0 * v * v + 1.0), s.second + 1);
                                 },
                                 std::pair(x, Array(0)));
                             return std::pair(end, Told{steps, f(end)});
                           },
                           [](auto g, Array y) { return y / g(tn::ones_like(y)); }, tn::has_aux);
  };
  const Array a(10.0), x = cubic(a);
  const auto [root, beside] = told(a);
  expect_close(root, x, "root");
  EXPECT_GT(beside.steps.item<int>(), 2);
  EXPECT_LT(std::abs(beside.residual.item<double>()), 1e-12);
  const auto slope = tn::grad([&](Array v) { return told(v).first; })(a);
  expect_close(slope, 1.0 / (3.0 * x * x + 1.0), "slope");
  expect_close(tn::jit(tn::grad([&](Array v) {
                 const auto [r, t] = told(v);
                 return r + t.residual * 1e6 + tn::convert(t.steps, tn::DType::f64);
               }))(a),
               slope, "what is auxiliary has no derivative");
  const Array many = tn::array<double>(std::vector<double>{0.3, 2.0, 10.0}, {3});
  const auto [roots, lanes] = tn::jit(tn::vmap(told))(many);
  for (std::int64_t i = 0; i < 3; ++i) expect_close(roots(i), cubic(many(i)), "lane");
  EXPECT_EQ(lanes.steps.shape(), tn::Shape({3}));
  expect_close(tn::vmap(tn::grad([&](Array v) { return told(v).first; }))(many), 1.0 / (3.0 * roots * roots + 1.0),
               "lanes");
  // Outside of any trace, and of second order.
  const auto second = tn::grad(tn::grad([&](Array v) { return told(v).first; }))(a);
  expect_close(second, -6.0 * x * slope * slope * slope, "second");
}

TEST(CustomRoot, DoesNotLookIntoTheSolver) {
  // Roundings and a table that no derivative goes through; and what the solver alone captures moves nothing.
  const auto f = [](Array a, Array tolerance) {
    return tn::custom_root([&](Array x) { return x * x - a; }, tn::ones_like(a),
                           [&](auto f, Array x) {
                             return tn::while_loop([&](Array v) { return tn::abs(f(v)) > tolerance; },
                                                   [&](Array v) { return v - f(v) / (2.0 * v); }, x);
                           },
                           [](auto g, Array y) { return y / g(tn::ones_like(y)); });
  };
  const Array a = tn::convert(Array(3.0), tn::DType::f64), tolerance = tn::convert(Array(1e-13), tn::DType::f64);
  const auto [da, dt] = tn::jit(tn::grad<0, 1>(f))(a, tolerance);
  expect_close(da, Array(0.5 / std::sqrt(3.0)), "da");
  expect_close(dt, Array(0.0), "dt");
}

TEST(CustomRoot, AsTheOracleSays) {
  const Array a = tn::convert(Array(2.0), tn::DType::f64);
  const Array got = [&] {
    const tn::ByOracle oracle;
    return tn::grad(tn::grad(cubic))(a);
  }();
  expect_close(got, tn::jit(tn::grad(tn::grad(cubic)))(a), "evaluated");
}

// --- linear systems ---
// Conjugate gradients of a symmetric positive product.
template <class F>
Array conjugate_gradients(F matvec, Array b) {
  struct State {
    Array x, r, p, rr, steps;
  };
  const Array start = tn::zeros_like(b);
  return tn::while_loop([](const State& s) { return (s.rr > 1e-26) & (s.steps < 100); },
                        [&](const State& s) {
                          const Array q = matvec(s.p), alpha = s.rr / tn::sum(s.p * q);
                          const Array r = s.r - alpha * q, rr = tn::sum(r * r);
                          return State{s.x + alpha * s.p, r, r + rr / s.rr * s.p, rr, s.steps + 1};
                        },
                        State{start, b, b, tn::sum(b * b), Array(0)})
      .x;
}

Array positive(Array m) { return tn::matmul(m, tn::transpose(m)) + tn::eye(m.size(0), tn::DType::f64); }

Array solved(Array m, Array b) {
  const Array a = positive(m);
  return tn::custom_linear_solve([&](Array v) { return tn::matmul(a, v); }, b,
                                 [](auto f, Array b) { return conjugate_gradients(f, b); }, {.symmetric = true});
}
// The same by elimination written out, which ordinary derivatives go through.
Array eliminated(Array m, Array b) {
  Array a = positive(m);
  const std::int64_t n = a.size(0);
  for (std::int64_t k = 0; k < n; ++k)
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const Array factor = a(i, k) / a(k, k);
      const Array row = a(i) - factor * a(k), right = b(i) - factor * b(k);
      a = a.at(i).set(row);
      b = b.at(i).set(right);
    }
  tn::Arrays x;
  for (std::int64_t k = 0; k < n; ++k) x.push_back(b(k) / a(k, k));
  return tn::stack(x);
}

using OfTwo = std::function<Array(Array, Array)>;
using OfOne = std::function<Array(Array)>;

OfTwo weighed(const OfTwo& f) {
  return [f](Array m, Array b) {
    const Array x = f(m, b);
    return tn::sum(x * x * tn::sin(x) + x);
  };
}

TEST(CustomLinearSolve, DerivativesOfEveryOrder) {
  const Array m = numbers({4, 4}), b = numbers({4}, 0.7);
  const auto by_system = weighed(solved), written_out = weighed(eliminated);
  expect_close(solved(m, b), eliminated(m, b), "solution");
  const auto want = tn::jit(tn::grad<0, 1>(written_out))(m, b);
  for (const auto& got : {tn::grad<0, 1>(by_system)(m, b), tn::jit(tn::grad<0, 1>(by_system))(m, b)}) {
    expect_close(std::get<0>(got), std::get<0>(want), "dm");
    expect_close(std::get<1>(got), std::get<1>(want), "db");
  }
  const auto in_b = [&](const OfTwo& f) -> OfOne { return [=](Array b) { return f(m, b); }; };
  expect_close(tn::jit(tn::jacfwd(in_b(by_system)))(b), tn::jacfwd(in_b(written_out))(b), "forward");
  const Array second = tn::jit(tn::hessian(in_b(written_out)))(b);
  expect_close(tn::jit(tn::hessian(in_b(by_system)))(b), second, "forward over reverse");
  expect_close(tn::jit(tn::jacrev(tn::grad(in_b(by_system))))(b), second, "reverse over reverse");
  const auto in_m = [&](const OfTwo& f) -> OfOne { return [=](Array m) { return f(m, b); }; };
  expect_close(tn::jit(tn::jacrev(tn::grad(in_m(by_system))))(m), tn::jit(tn::hessian(in_m(written_out)))(m),
               "second, in the matrix", 1e-9);
}

TEST(CustomLinearSolve, OfLanes) {
  const Array m = numbers({3, 4, 4}), b = numbers({3, 4}, 0.7);
  const auto gradient = tn::grad<0, 1>(weighed(solved)), want = tn::grad<0, 1>(weighed(eliminated));
  const auto both = tn::jit(tn::vmap(gradient))(m, b);
  const auto sides = tn::jit(tn::vmap(gradient, {.in_axes = {tn::none, 0}}))(m(0), b);
  const auto matrices = tn::jit(tn::vmap(gradient, {.in_axes = {0, tn::none}}))(m, b(0));
  for (std::int64_t l = 0; l < 3; ++l) {
    expect_close(std::get<0>(both)(l), std::get<0>(want(m(l), b(l))), "both");
    expect_close(std::get<1>(sides)(l), std::get<1>(want(m(0), b(l))), "right sides");
    expect_close(std::get<0>(matrices)(l), std::get<0>(want(m(l), b(0))), "matrices");
  }
}

// Triangular: the transposed system is solved from the other end.
Array substituted(Array l, Array b, bool upwards) {
  const std::int64_t n = b.size(0);
  tn::Arrays x(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t i = upwards ? n - 1 - k : k;
    Array sum = b(i);
    for (std::int64_t j = 0; j < n; ++j)
      if (upwards ? j > i : j < i) sum = sum - (upwards ? l(j, i) : l(i, j)) * x[static_cast<std::size_t>(j)];
    x[static_cast<std::size_t>(i)] = sum / l(i, i);
  }
  return tn::stack(x);
}

TEST(CustomLinearSolve, ByATransposedSolver) {
  const Array l = numbers({4, 4}) + 2.0 * tn::eye(4, tn::DType::f64), b = numbers({4}, 0.7);
  const auto by_system = [](Array l, Array b) {
    const Array lower = tn::where(tn::arange(4)(tn::all, tn::newaxis) >= tn::arange(4), l, 0.0);
    return tn::custom_linear_solve([&](Array v) { return tn::matmul(lower, v); }, b,
                                   [&](auto, Array b) { return substituted(lower, b, false); },
                                   [&](auto, Array b) { return substituted(lower, b, true); });
  };
  const auto plain = [](Array l, Array b) { return substituted(l, b, false); };
  expect_close(by_system(l, b), plain(l, b), "solution");
  const auto got = tn::jit(tn::grad<0, 1>(weighed(by_system)))(l, b);
  const auto want = tn::grad<0, 1>(weighed(plain))(l, b);
  expect_close(std::get<0>(got), std::get<0>(want), "dl");
  expect_close(std::get<1>(got), std::get<1>(want), "db");
  const auto second = [&](const OfTwo& f) {
    return tn::jit(tn::hessian([=](Array l) { return weighed(f)(l, b); }))(l);
  };
  expect_close(second(by_system), second(plain), "second", 1e-9);
}

// The product is used through vecmat; a tree of complex numbers.
TEST(CustomLinearSolve, OfComplexNumbersThroughTheTransposedProduct) {
  const auto of = [](bool by_system) {
    return [=](Array d) {
      const Array c = tn::convert(d, tn::DType::c128) * tn::complex(Array(1.0), Array(0.5)) + 2.0;
      const Point b{tn::ones_like(c), c * 0.5};
      // Diagonal with one coupling: (x, y) -> (c·x + y, c·y).
      const auto matvec = [&](Point v) { return Point{c * v.x + v.y, c * v.y}; };
      const auto back = [](auto g, Point b) {  // of (x, y) -> (c·x, x + c·y) or the other, by its columns
        const Array one = tn::ones_like(b.x), zero = tn::zeros_like(b.x);
        const Point u = g(Point{one, zero}), v = g(Point{zero, one});
        const Array det = u.x * v.y - v.x * u.y;
        return Point{(b.x * v.y - v.x * b.y) / det, (u.x * b.y - b.x * u.y) / det};
      };
      const Point x = by_system ? tn::custom_linear_solve(matvec, b, back, back) : Point{(b.x - b.y / c) / c, b.y / c};
      return tn::sum(tn::square(tn::abs(x.x)) + tn::square(tn::abs(x.y)));
    };
  };
  const Array d = numbers({3});
  expect_close(tn::jit(tn::grad(of(true)))(d), tn::grad(of(false))(d), "complex");
}

// --- errors ---
TEST(CustomRoot, OfWhatHasNoDerivative) {
  EXPECT_THAT(message_of([] {
                tn::custom_root([](Array x) { return x - 2; }, Array(tn::Scalar(1)), [](auto, Array x) { return x; },
                                [](auto, Array y) { return y; });
              }),
              AllOf(HasSubstr("custom_root: the guess is i32[], which has no derivative"), HasSubstr("implicit.cpp")));
  EXPECT_THAT(
      message_of([] {
        tn::custom_root([](Array x) { return tn::sum(x); }, numbers({3}), [](auto, Array x) { return x; },
                        [](auto, Array y) { return y; });
      }),
      AllOf(HasSubstr("custom_root: what f returns for the guess is f64[], not f64[3]"), HasSubstr("implicit.cpp")));
  EXPECT_THAT(message_of([] {
                tn::custom_root([](std::vector<Array> x) { return std::vector<Array>{x[0], x[0]}; },
                                std::vector<Array>{numbers({3})}, [](auto, std::vector<Array> x) { return x; },
                                [](auto, std::vector<Array> y) { return y; });
              }),
              AllOf(HasSubstr("custom_root: the guess and what f returns")));
}

TEST(CustomLinearSolve, WithoutATransposedSolver) {
  const auto f = [](Array a, Array b) {
    return tn::sum(tn::custom_linear_solve([&](Array v) { return a * v; }, b, [&](auto, Array b) { return b / a; }));
  };
  const Array a = numbers({3}, 1.0) + 0.5, b = numbers({3});
  expect_close(tn::jacfwd<0>(f)(a, b), -b / (a * a), "forward");
  EXPECT_THAT(message_of([&] { tn::grad<0>(f)(a, b); }),
              AllOf(HasSubstr("custom_linear_solve: reverse mode needs solutions of the transposed system"),
                    HasSubstr("{.symmetric = true}"), HasSubstr("implicit.cpp")));
  EXPECT_THAT(message_of([&] {
                tn::custom_linear_solve([&](Array v) { return tn::matmul(numbers({2, 3}), v); }, b,
                                        [&](auto, Array b) { return b; });
              }),
              HasSubstr("custom_linear_solve: what matvec returns for b is f64[2], not f64[3]"));
}

}  // namespace
