// The programs that users write, to the letter of the document that the interface follows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;

namespace user_code {  // its names stand beside others where files are compiled together
namespace {

// What a program of the document prints goes here.
std::ostringstream out;
class UserCode : public testing::Test {
 protected:
  void SetUp() override { out.str(""); }
};

// 1: a derivative, eagerly.
TEST_F(UserCode, DerivativeEagerlyWithOrdinaryIf) {
  auto f = [](Array x) { return x.item<float>() > 0 ? tn::sin(x) * x : tn::exp(x); };
  auto df = tn::grad(f);
  out << df(0.7f) << tn::grad(df)(0.7f) << '\n';

  EXPECT_EQ(out.str(), "1.1796072 f32[]1.078732 f32[]\n");
  EXPECT_NEAR(df(0.7f).item<float>(), std::cos(0.7f) * 0.7f + std::sin(0.7f), 1e-6);
  EXPECT_NEAR(df(-0.7f).item<float>(), std::exp(-0.7f), 1e-6);
  EXPECT_NEAR(tn::grad(df)(0.7f).item<float>(), 2 * std::cos(0.7f) - 0.7f * std::sin(0.7f), 1e-5);
}

// 2: a robot arm in the plane.
struct Joint {
  Array angle, velocity;
};
struct Arm {
  std::array<Joint, 7> joints;
  double dt = 0.01;
};
Array tip(const Arm& arm) {
  Array x(0.0), y(0.0), angle(0.0);
  for (const Joint& j : arm.joints) {
    angle = angle + j.angle + arm.dt * j.velocity;
    x = x + tn::cos(angle), y = y + tn::sin(angle);
  }
  return tn::stack({x, y});
}

TEST_F(UserCode, ParametersArePlainStructs) {
  constexpr int lanes = 3;
  Arm batch;
  for (int i = 0; i < 7; ++i) {
    Joint& j = batch.joints[i];
    j.angle = 0.1 * i + Array{0.0, 0.2, 0.4};
    j.velocity = tn::zeros({lanes}, tn::DType::f64) + (1.0 - i);
  }
  const Arm& example_batch = batch;

  auto jacobian = tn::jit(tn::vmap(tn::jacfwd(tip)));
  auto J = jacobian.prepare(example_batch);
  Arm result = J(batch);
  J.into(result, batch);

  // The tip turns about each joint: the derivative is the lever from the joint, turned by a right angle.
  for (int l = 0; l < lanes; ++l) {
    double angle[7], sum = 0;
    for (int i = 0; i < 7; ++i) angle[i] = sum += 0.1 * i + 0.2 * l + 0.01 * (1.0 - i);
    for (int i = 0; i < 7; ++i) {
      double x = 0, y = 0;
      for (int k = i; k < 7; ++k) x -= std::sin(angle[k]), y += std::cos(angle[k]);
      const Joint& j = result.joints[i];
      EXPECT_EQ(j.angle.type().text(), "f64[3,2]");
      EXPECT_NEAR(j.angle(l, 0).item<double>(), x, 1e-12);
      EXPECT_NEAR(j.angle(l, 1).item<double>(), y, 1e-12);
      EXPECT_NEAR(j.velocity(l, 0).item<double>(), 0.01 * x, 1e-14);
    }
  }
  EXPECT_EQ(result.dt, 0.01);
  // dt is static: another one is another program, which J was not prepared for.
  batch.dt = 0.02;
  EXPECT_NEAR(
      jacobian(batch).joints[6].velocity(0, 0).item<double>() / jacobian(batch).joints[6].angle(0, 0).item<double>(),
      0.02, 1e-12);
  EXPECT_THROW(J(batch), tn::TreeError);
}

// 3: a recurrent model.
struct Params {
  Array w, u, b;
};
Array wave(std::vector<std::int64_t> shape) {
  std::int64_t n = 1;
  for (auto d : shape) n *= d;
  std::vector<float> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(std::sin(0.7f * static_cast<float>(i)) * 0.1f);
  return tn::array<float>(v, shape);
}
auto loss = [](Params p, tn::Array xs, tn::Array ys) {
  auto [h, preds] = tn::scan(
      [&](tn::Array h, tn::Array x) {
        h = tn::tanh(tn::matmul(x, p.w) + tn::matmul(h, p.u) + p.b);
        return std::pair(h, h);
      },
      tn::zeros({xs.dim(1), 128}), xs);
  return tn::mean(tn::square(preds - ys));
};
const Params params{wave({3, 128}), wave({128, 128}), wave({128})};

TEST_F(UserCode, RecurrentModel) {
  const Array xs = wave({5, 2, 3}), ys = wave({5, 2, 128});

  auto step = tn::jit(tn::value_and_grad(loss));
  auto [value, grads] = step(params, xs, ys);

  EXPECT_NEAR(value.item<float>(), loss(params, xs, ys).item<float>(), 1e-7);
  // The slope along the gradient is its squared length.
  const auto moved = [&](float by) {
    const Params q = tn::tree::map([&](Array p, Array g) { return p + by * g; }, params, grads);
    return loss(q, xs, ys).item<float>();
  };
  const Params squares = tn::tree::map([](Array g) { return tn::sum(g * g); }, grads);
  const float length = (squares.w + squares.u + squares.b).item<float>(), by = 0.2f;
  EXPECT_NEAR((moved(by) - moved(-by)) / (2 * by), length, 0.02 * length);
}

TEST_F(UserCode, LanesAlongTheSecondAxis) {
  const Array xs = wave({5, 4, 2, 3}), ys = wave({5, 4, 2, 128});
  const Array lanes = tn::vmap(loss, {.in_axes = {tn::none, 1, 1}})(params, xs, ys);
  EXPECT_EQ(lanes.type().text(), "f32[4]");
  for (int l = 0; l < 4; ++l)
    EXPECT_NEAR(lanes(l).item<float>(), loss(params, xs(tn::all, l), ys(tn::all, l)).item<float>(), 1e-6);
}

TEST_F(UserCode, AStepThatTakesTheParametersMemory) {
  const Array xs = wave({5, 2, 3}), ys = wave({5, 2, 128});
  const auto update = [](Params p, Array xs, Array ys) {
    return tn::tree::map([](Array a, Array d) { return a - 0.1f * d; }, p, tn::grad(loss)(p, xs, ys));
  };
  Params given = tn::tree::map([](Array a) { return a + 0.f; }, params);
  const float* memory = given.u.span<float>().data();

  auto step = tn::jit(update, {.donate = {0}});
  Params next = step(given, xs, ys);

  EXPECT_EQ(next.u.span<float>().data(), memory);
  EXPECT_THAT(message_of([&] { given.u + 1.f; }), HasSubstr("donated"));
  EXPECT_TRUE(tn::allclose(next.u, update(params, xs, ys).u, 1e-6));
}

TEST_F(UserCode, AStepThatCanBeStopped) {
  const Array xs = wave({5, 2, 3}), ys = wave({5, 2, 128});
  auto step = tn::jit(tn::value_and_grad(loss));

  tn::Context context;
  auto [value, grads] = step.with(context)(params, xs, ys);

  EXPECT_TRUE(tn::array_equal(grads.u, step(params, xs, ys).second.u));
  context.cancel();
  EXPECT_THROW(step.with(context)(params, xs, ys), tn::CancelledError);
}

// 5: in-place updates.
TEST_F(UserCode, InPlaceUpdatesReadLikeNumPy) {
  const Array m = tn::reshape(tn::arange(12, tn::DType::f32), {3, 4});
  const Array i = Array(tn::Scalar(1)), c(5.f), j = Array(tn::Scalar(2)), rows{0, 2, 2}, delta{1.f, 2.f, 3.f};
  Array ys = tn::zeros({3}), xs = tn::zeros({3});
  ys = ys.at(i).set(c);
  xs = xs.at(rows).add(delta);
  auto col = m(tn::all, j);
  const Array x = m;
  auto part = x(tn::slice(1, -1), tn::newaxis);
  const std::int64_t n = 3;
  tn::Ref r = tn::make_ref(tn::zeros({n}));
  r[i] += c;
  Array result = r.freeze();
  EXPECT_TRUE(tn::array_equal(result, Array{0.f, 5.f, 0.f}));
  EXPECT_TRUE(tn::array_equal(ys, Array{0.f, 5.f, 0.f}));
  EXPECT_TRUE(tn::array_equal(xs, Array{1.f, 0.f, 5.f}));
  EXPECT_TRUE(tn::array_equal(col, Array{2.f, 6.f, 10.f}));
  EXPECT_TRUE(tn::array_equal(part, Array{{{4.f, 5.f, 6.f, 7.f}}}));
  EXPECT_TRUE(tn::array_equal(m(-1, tn::slice(1, -1)), Array{9.f, 10.f}));
  EXPECT_TRUE(tn::array_equal(m(0, tn::slice(tn::none, tn::none, -2)), Array{3.f, 1.f}));
}

// 6: all pairs; the matrix is stored for now.
TEST_F(UserCode, AllPairs) {
  const Array x = Array{{0.0, 0.1, 0.2}, {1.0, 0.5, 0.1}}, b{1.0, 2.0};

  auto energy = [](Array x, Array b) {
    auto d2 = tn::sum(tn::square(x(tn::all, tn::newaxis) - x), -1);
    return tn::sum(tn::exp(-d2) * b, -1);
  };
  auto force = tn::jit(tn::grad([&](Array x) { return tn::sum(energy(x, b)); }));

  const double d2 = 1 + 0.16 + 0.01;
  EXPECT_NEAR(force(x)(0, 0).item<double>(), 3 * std::exp(-d2) * 2 * 1.0, 1e-12);
}

// 7: a user's op: no slope at the origin, where the norm has none.
TEST_F(UserCode, AnOpOfTheUsers) {
  const auto forward = [](Array x) {
    Array n = tn::norm(x);
    return std::pair(n, std::pair(x, n));
  };
  const auto backward = [](std::pair<Array, Array> kept, Array ct) {
    const auto& [x, n] = kept;
    return std::tuple(tn::where(n > 0.f, ct * x / tn::where(n > 0.f, n, 1.f), 0.f));
  };

  auto safe_norm = tn::custom_vjp([](Array x) { return tn::norm(x); }, forward, backward);

  EXPECT_EQ(safe_norm(Array{3.f, 4.f}).item<float>(), 5.f);
  EXPECT_TRUE(tn::array_equal(tn::grad(safe_norm)(Array{0.f, 0.f}), Array{0.f, 0.f}));
  EXPECT_TRUE(tn::allclose(tn::grad(safe_norm)(Array{3.f, 4.f}), Array{0.6f, 0.8f}, 1e-6));
  EXPECT_TRUE(tn::allclose(tn::jit(tn::vmap(tn::grad(safe_norm)))(Array{{3.f, 4.f}, {0.f, 0.f}}),
                           Array{{0.6f, 0.8f}, {0.f, 0.f}}, 1e-6));
}

// 8: seeing.
TEST_F(UserCode, Seeing) {
  const Array xs = wave({5, 2, 3}), ys = wave({5, 2, 128});
  const auto f = [](Array x) { return tn::sin(x) * 2.f; };
  const Array x{1.f, 2.f};
  const auto step = tn::jit(tn::value_and_grad(loss));

  out << tn::trace(f)(x);
  const std::string program = out.str();
  EXPECT_THAT(program, HasSubstr("sin %0"));
  EXPECT_EQ(tn::print(*tn::parse(program)), program);

  out.str("");
  out << tn::explain(step)(params, xs, ys);
  for (const char* what :
       {"kernel", "bytes", "kept for reverse mode", "stored instead", "loop of 5 steps", "user_code.cpp:"})
    EXPECT_THAT(out.str(), HasSubstr(what));

  out.str("");
  out << tn::saved_residuals(loss)(params, xs, ys);
  EXPECT_THAT(out.str(), HasSubstr("5120 bytes  tanh at "));
  EXPECT_THAT(out.str(), HasSubstr("user_code.cpp:"));
}

// 9: data.
TEST_F(UserCode, DataInAndOut) {
  const auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  const float* pointer = owner->data();
  const std::int64_t n = 2;
  const Eigen::MatrixXf eigen_matrix = Eigen::MatrixXf::Identity(2, 2);
  const std::string file = testing::TempDir() + "user_code.npz";
  const Params tree{tn::ones({2}), tn::zeros({3}), Array{4.f}};

  Array a = {{1.f, 2.f}, {3.f, 4.f}};
  Array v = tn::borrow(pointer, {n, 3}, {.strides = {16, 4}, .keep = owner});
  Array m = tn::from(eigen_matrix);
  std::span<const float> s = a.span<float>();
  tn::save(file, tree);
  auto t = tn::load<Params>(file);
  float first = v(0, 1).item<float>();
  bool same = tn::array_equal(a, m);

  EXPECT_EQ(s[3], 4.f);
  EXPECT_EQ(v(1, 0).item<float>(), 5.f);
  EXPECT_EQ(first, 2.f);
  EXPECT_FALSE(same);
  EXPECT_TRUE(tn::array_equal(t.b, tree.b));
  out << a << m;
  EXPECT_EQ(out.str(), "[[1, 2], [3, 4]] f32[2,2][[1, 0], [0, 1]] f32[2,2]");
  // The rows of v lie apart, which a std::span cannot say.
  EXPECT_THAT(message_of([&] { v.span<float>(); }), HasSubstr("f32[2,3] is not contiguous"));
  std::filesystem::remove(file);
}

TEST(Transforms, JacobiansAndHessianAgree) {
  auto f = [](const Array& x) { return tn::stack({tn::sum(x * x), tn::prod(tn::sin(x))}); };
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
                    [](Params c, Array x) {
                      c.u = tn::stack({x, x});
                      return std::pair(c, x);
                    },
                    Params{a, b, b}, Array{{1.f, 2.f}});
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
}  // namespace user_code
