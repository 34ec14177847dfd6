// The programs that users write, as tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "tenon/tenon.h"

namespace tn = tenon;
using testing::HasSubstr;
using tn::Array;

namespace {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const tn::Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(UserCode, DerivativeEagerlyWithOrdinaryIf) {
  auto f = [](Array x) { return x.item<float>() > 0 ? tn::sin(x) * x : tn::exp(x); };
  auto df = tn::grad(f);
  EXPECT_NEAR(df(0.7f).item<float>(), std::cos(0.7f) * 0.7f + std::sin(0.7f), 1e-6);
  EXPECT_NEAR(df(-0.7f).item<float>(), std::exp(-0.7f), 1e-6);
  EXPECT_NEAR(tn::grad(df)(0.7f).item<float>(), 2 * std::cos(0.7f) - 0.7f * std::sin(0.7f), 1e-5);
  std::ostringstream out;
  out << df(0.7f) << tn::grad(df)(0.7f) << '\n';
  EXPECT_EQ(out.str(), "1.17961 f32[]1.07873 f32[]\n");
}

struct Joint {
  Array angle, velocity;
};
struct Arm {
  std::array<Joint, 3> joints;
  double length = 0.5;
};
Array tip(const Arm& arm) {
  Array x = Array(0.0), angle = Array(0.0);
  for (const Joint& j : arm.joints) {
    angle = angle + j.angle;
    x = x + arm.length * tn::cos(angle);
  }
  return x;
}

TEST(UserCode, ParametersArePlainStructs) {
  Arm arm{{Joint{Array(0.1), Array(0.0)}, Joint{Array(0.2), Array(0.0)}, Joint{Array(0.3), Array(0.0)}}};
  const Arm g = tn::jit(tn::grad(tip))(arm);
  EXPECT_NEAR(g.joints[2].angle.item<double>(), -0.5 * std::sin(0.6), 1e-12);
  EXPECT_NEAR(g.joints[0].angle.item<double>(), -0.5 * (std::sin(0.1) + std::sin(0.3) + std::sin(0.6)), 1e-12);
  EXPECT_EQ(g.joints[0].velocity.item<double>(), 0);
  EXPECT_EQ(g.length, 0.5);
}

struct Cell {
  Array w, u, b;
};
TEST(UserCode, RecurrentModel) {
  auto loss = [](Cell p, Array xs, Array ys) {
    auto [h, preds] = tn::scan(
        [&](Array h, Array x) {
          h = tn::tanh(tn::matmul(x, p.w) + tn::matmul(h, p.u) + p.b);
          return std::pair(h, h);
        },
        tn::zeros({xs.dim(1), 4}, tn::DType::f64), xs);
    return tn::mean(tn::square(preds - ys));
  };
  const auto wave = [](std::vector<std::int64_t> shape) {
    std::int64_t n = 1;
    for (auto d : shape) n *= d;
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i) v.push_back(std::sin(0.7 * static_cast<double>(i)) * 0.5);
    return tn::array<double>(v, shape);
  };
  Cell p{wave({3, 4}), wave({4, 4}), wave({4})};
  const Array xs = wave({5, 2, 3}), ys = wave({5, 2, 4});
  const auto [value, grads] = tn::jit(tn::value_and_grad(loss))(p, xs, ys);
  const double h = 1e-6;
  for (int i : {0, 5, 11}) {
    auto moved = [&](double d) {
      Cell q = p;
      q.w = p.w + tn::reshape(tn::convert(tn::arange(12) == i, tn::DType::f64), {3, 4}) * d;
      return loss(q, xs, ys).item<double>();
    };
    EXPECT_NEAR(tn::reshape(grads.w, {12}).to_buffer().as<double>()[i], (moved(h) - moved(-h)) / (2 * h), 1e-8);
  }
  EXPECT_NEAR(value.item<double>(), loss(p, xs, ys).item<double>(), 1e-12);
  // A batch of targets, weights shared: the mean of the lanes' losses is the loss of the mean gradient's function.
  const auto lanes =
      tn::vmap(loss, {.in_axes = {tn::none, tn::none, 0}})(p, xs, tn::stack(std::vector<Array>{ys, ys * 2.0}));
  EXPECT_NEAR(lanes(0).item<double>(), value.item<double>(), 1e-12);
}

TEST(UserCode, InPlaceUpdatesReadLikeNumPy) {
  const Array m = tn::reshape(tn::arange(12, tn::DType::f32), {3, 4});
  const Array i = Array(tn::Scalar(1)), c(5.f), j = Array(tn::Scalar(2)), rows{0, 2, 2}, delta{1.f, 2.f, 3.f};
  Array ys = tn::zeros({3}), xs = tn::zeros({3});
  ys = ys.at(i).set(c);
  xs = xs.at(rows).add(delta);
  auto col = m(tn::all, j);
  const Array x = m;
  auto part = x(tn::slice(1, -1), tn::newaxis);
  EXPECT_TRUE(tn::array_equal(ys, Array{0.f, 5.f, 0.f}));
  EXPECT_TRUE(tn::array_equal(xs, Array{1.f, 0.f, 5.f}));
  EXPECT_TRUE(tn::array_equal(col, Array{2.f, 6.f, 10.f}));
  EXPECT_TRUE(tn::array_equal(part, Array{{{4.f, 5.f, 6.f, 7.f}}}));
  EXPECT_TRUE(tn::array_equal(m(-1, tn::slice(1, -1)), Array{9.f, 10.f}));
  EXPECT_TRUE(tn::array_equal(m(0, tn::slice(tn::none, tn::none, -2)), Array{3.f, 1.f}));
}

TEST(UserCode, AllPairs) {
  const Array x = Array{{0.0, 0.1, 0.2}, {1.0, 0.5, 0.1}}, b{1.0, 2.0};
  auto energy = [](Array x, Array b) {
    const Array d2 = tn::sum(tn::square(x(tn::all, tn::newaxis) - x), -1);
    return tn::sum(tn::exp(-d2) * b, -1);
  };
  auto force = tn::jit(tn::grad([&](Array x) { return tn::sum(energy(x, b)); }));
  const double d2 = 1 + 0.16 + 0.01;
  EXPECT_NEAR(force(x)(0, 0).item<double>(), 3 * std::exp(-d2) * 2 * 1.0, 1e-12);
}

TEST(UserCode, SeeingAProgram) {
  std::ostringstream out;
  out << tn::trace([](Array x) { return tn::sin(x) * 2.f; })(Array{1.f, 2.f});
  EXPECT_THAT(out.str(), HasSubstr("sin %0"));
}

TEST(UserCode, DataInAndOut) {
  const auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  const float* pointer = owner->data();
  const std::int64_t n = 2;
  const Eigen::MatrixXf eigen_matrix = Eigen::MatrixXf::Identity(2, 2);
  const std::string file = testing::TempDir() + "user_code.npz";
  Cell tree{tn::ones({2}), tn::zeros({3}), Array{4.f}};

  Array a = {{1.f, 2.f}, {3.f, 4.f}};
  Array v = tn::borrow(pointer, {n, 3}, {.strides = {16, 4}, .keep = owner});
  Array m = tn::from(eigen_matrix);
  std::span<const float> s = a.span<float>();
  tn::save(file, tree);
  auto t = tn::load<Cell>(file);
  float first = v(0, 1).item<float>();
  bool same = tn::array_equal(a, m);

  EXPECT_EQ(s[3], 4.f);
  EXPECT_EQ(v(1, 0).item<float>(), 5.f);
  EXPECT_EQ(first, 2.f);
  EXPECT_FALSE(same);
  EXPECT_TRUE(tn::array_equal(t.b, tree.b));
  std::ostringstream out;
  out << a << m;
  EXPECT_EQ(out.str(), "[[1, 2], [3, 4]] f32[2,2][[1, 0], [0, 1]] f32[2,2]");
  std::filesystem::remove(file);
}

TEST(Transforms, JacobiansAndHessianAgree) {
  auto f = [](const Array& x) { return tn::stack(std::vector<Array>{tn::sum(x * x), tn::prod(tn::sin(x))}); };
  const Array x{0.3, 0.7, 1.1};
  EXPECT_TRUE(tn::allclose(tn::jacfwd(f)(x), tn::jacrev(f)(x), 1e-12));
  auto g = [](const Array& x) { return tn::sum(tn::exp(x) * tn::sin(x)); };
  const Array h = tn::hessian(g)(x);
  EXPECT_NEAR(h(1, 1).item<double>(), 2 * std::exp(0.7) * std::cos(0.7), 1e-12);
  EXPECT_NEAR(h(0, 1).item<double>(), 0, 1e-15);
  EXPECT_TRUE(tn::allclose(tn::hvp(g, x, Array{1.0, 2.0, 3.0}), tn::matmul(h, Array{1.0, 2.0, 3.0}), 1e-12));
}

TEST(Transforms, NestedInEveryOrder) {
  auto f = [](const Array& x) { return tn::sin(x) * tn::exp(x * 0.5); };
  auto df = [](double x) { return std::cos(x) * std::exp(0.5 * x) + 0.5 * std::sin(x) * std::exp(0.5 * x); };
  const Array xs{0.1, 0.9, 2.0};
  const auto check = [&](const Array& got) {
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(got.to_buffer().as<double>()[i], df(xs.to_buffer().as<double>()[i]), 1e-12);
  };
  check(tn::vmap(tn::grad(f))(xs));
  check(tn::grad([&](const Array& v) { return tn::sum(tn::vmap(f)(v)); })(xs));
  check(tn::jit(tn::vmap(tn::grad(tn::jit(f))))(xs));
  check(tn::vmap(tn::jit(tn::grad(f)))(xs));
}

TEST(Loops, WhileForiMapCond) {
  EXPECT_EQ(tn::fori_loop(0, 5, [](Array i, Array s) { return s + i; }, Array(0)).item<int>(), 10);
  EXPECT_EQ(tn::while_loop([](Array x) { return x < 100; }, [](Array x) { return x * 2; }, Array(3)).item<int>(), 192);
  EXPECT_TRUE(tn::array_equal(tn::map([](Array x) { return x * x; }, Array{1.f, 2.f, 3.f}), Array{1.f, 4.f, 9.f}));
  auto branchy = [](Array x) {
    return tn::cond(x > 0.0, [](Array x) { return tn::sin(x); }, [](Array x) { return x * x; }, x);
  };
  EXPECT_NEAR(tn::grad(branchy)(Array(0.5)).item<double>(), std::cos(0.5), 1e-12);
  EXPECT_NEAR(tn::grad(branchy)(Array(-0.5)).item<double>(), -1.0, 1e-12);
  EXPECT_TRUE(tn::allclose(tn::vmap(branchy)(Array{0.5, -0.5}), Array{std::sin(0.5), 0.25}, 1e-12));
}

TEST(Errors, Teach) {
  const Array a{1.f, 2.f, 3.f}, b{1.f, 2.f};
  EXPECT_THAT(message_of([&] { a + b; }), testing::AllOf(HasSubstr("add: operands f32[3] and f32[2] do not broadcast"),
                                                         HasSubstr("user_code.cpp:")));
  EXPECT_THAT(message_of([&] { tn::grad([](Array x) { return x * x; })(a); }),
              HasSubstr("grad: the function returns f32[3], not one real number"));
  EXPECT_THAT(message_of([&] { tn::grad([](Array x) { return tn::sum(x); })(Array{1, 2}); }),
              HasSubstr("is i32[2], which has no derivative"));
  EXPECT_THAT(message_of([&] { tn::jit([](Array x) { return x.item<float>() > 0 ? x : -x; })(Array(1.f)); }),
              HasSubstr("ConcretizationError"));
  EXPECT_THAT(message_of([&] {
                tn::scan(
                    [](Cell c, Array x) {
                      c.u = tn::stack(std::vector<Array>{x, x});
                      return std::pair(c, x);
                    },
                    Cell{a, b, b}, Array{{1.f, 2.f}});
              }),
              testing::AllOf(HasSubstr("carry leaf .1"), HasSubstr("f32[2] and leaves it as f32[2,2]")));
  Array leaked;
  tn::jit([&](Array x) {
    leaked = x * 2.f;
    return x;
  })(Array(1.f));
  EXPECT_THAT(message_of([&] { leaked + 1.f; }), HasSubstr("LeakError"));
  EXPECT_THAT(message_of([&] { tn::matmul(a, tn::zeros({2, 2})); }), HasSubstr("matmul: f32[3] and f32[2,2]"));
  EXPECT_THAT(message_of([&] { tn::zeros({std::int64_t(1) << 40, 1 << 10}); }), HasSubstr("bytes"));
  EXPECT_THAT(message_of([&] { tn::sum(a, 3); }), HasSubstr("sum: axis 3 of f32[3], an array of rank 1"));
}

}  // namespace
