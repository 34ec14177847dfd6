// The options of transformations: arguments by number, auxiliary results, Jacobians of trees, axes by leaf; and the
// text of their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;

namespace {

double at(const Array& a, std::size_t i = 0) { return a.to_buffer().as<double>()[i]; }
Array ramp(std::vector<std::int64_t> shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(0.1 * static_cast<double>(i + 1));
  return tn::array<double>(v, shape);
}

// --- user-code.md, program 1 ---
TEST(Grad, OfNumbersEagerly) {
  auto f = [](Array x) { return x.item<float>() > 0 ? tn::sin(x) * x : tn::exp(x); };
  auto df = tn::grad(f);
  EXPECT_NEAR(df(0.7f).item<float>(), std::cos(0.7f) * 0.7f + std::sin(0.7f), 1e-6);
  EXPECT_NEAR(df(-0.7f).item<float>(), std::exp(-0.7f), 1e-6);
  EXPECT_NEAR(tn::grad(df)(0.7f).item<float>(), 2 * std::cos(0.7f) - 0.7f * std::sin(0.7f), 1e-5);
  EXPECT_EQ(df(0.7f).dtype(), tn::DType::f32);
  int runs = 0;
  auto counted = [&](Array x) {
    ++runs;
    return x.item<double>() > 0 ? x * x : -x;
  };
  EXPECT_EQ(at(tn::grad(counted)(3.0)), 6);
  EXPECT_EQ(runs, 1);
  // Ordinary control flow under every derivative of concrete arguments.
  EXPECT_EQ(at(tn::jacfwd(counted)(3.0)), 6);
  EXPECT_EQ(at(tn::jacrev(counted)(-3.0)), -1);
  EXPECT_EQ(at(tn::jvp(counted, std::tuple(3.0), std::tuple(2.0)).second), 12);
  EXPECT_EQ(at(std::get<0>(tn::vjp(counted, 3.0).second(2.0))), 12);
  EXPECT_EQ(at(tn::hvp(counted, Array(3.0), Array(5.0))), 10);
}

struct Layer {
  Array w, b;
  int units = 3;
};

TEST(Grad, InArgumentsByNumber) {
  auto loss = [](const Layer& p, Array x, const std::vector<Array>& more) {
    return tn::sum(tn::tanh(tn::matmul(x, p.w) + p.b) * more[0]) + more[1] * more[1];
  };
  const Layer p{ramp({2, 3}), ramp({3})};
  const Array x = ramp({4, 2});
  const std::vector<Array> more{ramp({4, 3}), Array(5.0)};
  const Layer first = tn::grad(loss)(p, x, more);
  EXPECT_EQ(first.units, 3);
  const auto [d_more, d_p] = tn::jit(tn::grad<2, 0>(loss))(p, x, more);
  EXPECT_TRUE(tn::allclose(d_p.w, first.w, 1e-13));
  EXPECT_EQ(at(d_more[1]), 10);
  EXPECT_TRUE(tn::allclose(tn::grad<-1>(loss)(p, x, more)[0], d_more[0], 1e-13));
  EXPECT_EQ(tn::grad<1>(loss)(p, x, more).shape(), (tn::Shape{4, 2}));
  const auto [value, both] = tn::value_and_grad<0, 1>(loss)(p, x, more);
  EXPECT_NEAR(at(value), at(loss(p, x, more)), 1e-13);
  EXPECT_TRUE(tn::allclose(std::get<1>(both), tn::grad<1>(loss)(p, x, more), 1e-13));
  // A number that is not differentiated stays one, and so do static fields.
  auto scaled = [](double k, Array x) { return k * x; };
  EXPECT_EQ(at(tn::grad<1>(scaled)(4.0, Array(1.0))), 4);
}

TEST(Grad, WithAuxiliaryResults) {
  auto loss = [](Array w, Array x) {
    const Array y = w * x;
    return std::pair(tn::sum(y * y), std::map<std::string, Array>{{"y", y}, {"count", tn::arange(2)}});
  };
  const Array w(3.0), x{1.0, 2.0};
  const auto [gradient, aux] = tn::jit(tn::grad(loss, tn::has_aux))(w, x);
  EXPECT_EQ(at(gradient), 30);
  EXPECT_EQ(at(aux.at("y"), 1), 6);
  const auto [result, both] = tn::value_and_grad<0, 1>(loss, tn::has_aux)(w, x);
  EXPECT_EQ(at(result.first), 45);
  EXPECT_EQ(at(result.second.at("y"), 0), 3);
  EXPECT_EQ(at(std::get<1>(both), 1), 36);
  // Second derivatives of a function with auxiliary results; and a batch of them.
  auto slope = [&](Array w) { return tn::grad(loss, tn::has_aux)(w, x).first; };
  EXPECT_EQ(at(tn::grad(slope)(w)), 10);
  EXPECT_EQ(at(tn::vmap(tn::grad(loss, tn::has_aux), {.in_axes = {0, tn::none}})(Array{3.0, 1.0}, x).first, 1), 10);
}

// --- user-code.md, program 2 ---
struct Joint {
  Array angle, velocity;
};
struct Arm {
  std::array<Joint, 7> joints;
  double dt = 0.01;  // static
};
Array tip(const Arm& arm) {
  Array x = Array(0.0), y = Array(0.0), angle = Array(0.0);
  for (const Joint& j : arm.joints) {
    angle = angle + j.angle + arm.dt * j.velocity;
    x = x + tn::cos(angle);
    y = y + tn::sin(angle);
  }
  return tn::stack({x, y});
}
Arm arm_of(auto number) {
  Arm arm;
  for (std::size_t i = 0; i < 7; ++i) arm.joints[i] = {number(0.1 * double(i)), number(0.3)};
  return arm;
}

TEST(Jacobian, OfARobotArm) {
  const Arm arm = arm_of([](double v) { return Array(v); });
  const Arm J = tn::jacfwd(tip)(arm);
  EXPECT_EQ(J.joints[3].angle.shape(), tn::Shape{2});
  EXPECT_EQ(J.dt, 0.01);
  const double h = 1e-6;
  for (std::size_t j : {0u, 4u, 6u}) {
    Arm plus = arm, minus = arm;
    plus.joints[j].angle = arm.joints[j].angle + h;
    minus.joints[j].angle = arm.joints[j].angle - h;
    EXPECT_TRUE(tn::allclose(J.joints[j].angle, (tip(plus) - tip(minus)) / (2 * h), 1e-8));
    EXPECT_TRUE(tn::allclose(J.joints[j].velocity, J.joints[j].angle * 0.01, 1e-12));
  }
  const Arm R = tn::jit(tn::jacrev(tip))(arm);
  for (std::size_t j = 0; j < 7; ++j) EXPECT_TRUE(tn::allclose(R.joints[j].angle, J.joints[j].angle, 1e-12));
  auto jacobian = tn::jit(tn::vmap(tn::jacfwd(tip)));
  const Arm batch = arm_of([](double v) { return Array{v, v + 1.0, v - 1.0}; });
  const Arm lanes = jacobian(batch);
  EXPECT_EQ(lanes.joints[6].angle.shape(), (tn::Shape{3, 2}));
  EXPECT_TRUE(tn::allclose(lanes.joints[2].angle(0), J.joints[2].angle, 1e-12));
}

struct State {
  Array height, velocity;
  int step = 4;
};

TEST(Jacobian, OfTreesInTrees) {
  auto f = [](const State& s, Array k) {
    return State{tn::stack({tn::sum(s.height), s.velocity * k}), s.velocity * s.height, s.step + 1};
  };
  const State s{ramp({3}), Array(2.0)};
  const tn::Jacobian<State, State> J = tn::jit(tn::jacfwd(f))(s, Array(7.0)), R = tn::jacrev(f)(s, Array(7.0));
  EXPECT_EQ(J(&State::height).height.shape(), (tn::Shape{2, 3}));
  EXPECT_EQ(J(&State::height).velocity.shape(), tn::Shape{2});
  EXPECT_EQ(at(J(&State::height).height, 2), 1);
  EXPECT_EQ(at(J(&State::height).velocity, 1), 7);
  EXPECT_EQ(J(&State::velocity).step, 4);
  const auto velocity = [](const State& s) -> const Array& { return s.velocity; };
  EXPECT_TRUE(tn::allclose(J(velocity).height, tn::eye(3, tn::DType::f64) * 2.0, 1e-15));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(tn::allclose(J.blocks()[i].height, R.blocks()[i].height, 1e-14));
    EXPECT_TRUE(tn::allclose(J.blocks()[i].velocity, R.blocks()[i].velocity, 1e-14));
  }
  // In an array: a tree like the result. Of containers: containers of Jacobians. Of several arguments: a tuple.
  const State in_k = tn::jacfwd<1>(f)(s, Array(7.0));
  EXPECT_EQ(at(in_k.height, 1), 2);
  EXPECT_EQ(in_k.step, 5);
  auto g = [](Array x, Array y) {
    return std::pair(x * y, std::map<std::string, std::vector<Array>>{{"sums", {tn::sum(x), tn::sum(y)}}});
  };
  const auto [product, named] = tn::jacrev<0, 1>(g)(ramp({2}), Array(3.0));
  EXPECT_EQ(std::get<0>(product).shape(), (tn::Shape{2, 2}));
  EXPECT_EQ(at(std::get<1>(product), 1), 0.2);
  EXPECT_EQ(std::get<0>(named.at("sums")[0]).shape(), tn::Shape{2});
  EXPECT_EQ(at(std::get<1>(named.at("sums")[1])), 1);
  // Auxiliary results, no elements, and dtypes that differ.
  auto noted = [](Array x) { return std::pair(x * x, tn::convert(x, tn::DType::i32)); };
  const auto [diagonal, note] = tn::jacfwd(noted, tn::has_aux)(Array{2.0, 5.0});
  EXPECT_EQ(at(diagonal, 3), 10);
  EXPECT_EQ(note.dtype(), tn::DType::i32);
  EXPECT_EQ(tn::jacfwd([](Array x) { return x * x; })(tn::zeros({0})).shape(), (tn::Shape{0, 0}));
  EXPECT_EQ(tn::jacrev([](Array x) { return x * x; })(tn::zeros({2, 0})).shape(), (tn::Shape{2, 0, 2, 0}));
  const auto narrow = tn::jacrev<0, 1>([](Array x, Array y) { return tn::sum(tn::convert(x, tn::DType::f64) * y); })(
      Array{1.f, 2.f}, ramp({2}));
  EXPECT_EQ(std::get<0>(narrow).dtype(), tn::DType::f32);
  EXPECT_EQ(std::get<1>(narrow).dtype(), tn::DType::f64);
}

TEST(Jacobian, HessianAndProductsOfTrees) {
  auto f = [](const Layer& p, Array x) { return tn::sum(tn::sin(tn::matmul(x, p.w) * p.b)); };
  const Layer p{ramp({2, 3}), ramp({3})}, v{ramp({2, 3}) * 2.0, ramp({3}) - 1.0};
  const Array x = ramp({4, 2});
  const tn::Jacobian<Layer, Layer> H = tn::hessian(f)(p, x);
  EXPECT_EQ(H(&Layer::w).b.shape(), (tn::Shape{2, 3, 3}));
  EXPECT_TRUE(tn::allclose(tn::transpose(H(&Layer::w).b, {2, 0, 1}), H(&Layer::b).w, 1e-12));
  const Layer Hv = tn::hvp(f, p, v, x);
  const Array want = tn::sum(H(&Layer::b).w * v.w, tn::Axes{1, 2}) + tn::matmul(H(&Layer::b).b, v.b);
  EXPECT_TRUE(tn::allclose(Hv.b, want, 1e-12));
  EXPECT_EQ(Hv.units, 3);
  EXPECT_TRUE(
      tn::allclose(tn::jit([&](const Layer& p, const Layer& v) { return tn::hvp(f, p, v, x); })(p, v).b, want, 1e-12));
}

// --- products ---
TEST(Linearize, AgreesWithBothModes) {
  int runs = 0;
  auto f = [&](const Layer& p, Array x, Array i) {
    ++runs;
    return std::pair(tn::tanh(tn::matmul(x, p.w) + p.b), i + 1);
  };
  const Layer p{ramp({2, 3}), ramp({3})}, dp{ramp({2, 3}) - 0.5, ramp({3}) * 3.0};
  const Array x = ramp({4, 2}), dx = x * x, i{1, 2};
  const auto [y, push] = tn::linearize(f, p, x, i);
  EXPECT_EQ(runs, 1);
  const auto [jy, dy] = tn::jvp(f, std::tuple(p, x, i), std::tuple(dp, dx, Array()));
  const auto pushed = push(dp, dx, Array());
  EXPECT_TRUE(tn::allclose(pushed.first, dy.first, 1e-13));
  EXPECT_TRUE(pushed.second.empty());
  EXPECT_TRUE(dy.second.empty());
  EXPECT_TRUE(tn::allclose(push(dp, dx, Array()).first, dy.first, 1e-13));
  const auto [vy, pull] = tn::vjp(f, p, x, i);
  const Array ct = ramp({4, 3});
  const auto [p_bar, x_bar, i_bar] = pull(std::pair(ct, Array()));
  EXPECT_TRUE(i_bar.empty());
  EXPECT_NEAR(at(tn::sum(dy.first * ct)), at(tn::sum(p_bar.w * dp.w) + tn::sum(p_bar.b * dp.b) + tn::sum(x_bar * dx)),
              1e-12);
  EXPECT_EQ(y.second(0).item<int>(), 2);
}

TEST(StopGradient, OfTrees) {
  auto f = [](const Layer& p) {
    const Layer fixed = tn::stop_gradient(p);
    return tn::sum(p.w * p.w) + tn::sum(fixed.b * p.b);
  };
  const Layer p{ramp({2}), ramp({3})};
  const Layer g = tn::grad(f)(p);
  EXPECT_TRUE(tn::allclose(g.b, p.b, 1e-15));
  EXPECT_EQ(tn::stop_gradient(p).units, 3);
}

// --- vmap ---
TEST(Vmap, AxesByArgumentAndLeaf) {
  auto f = [](const Layer& p, Array x) { return std::pair(tn::matmul(x, p.w) + p.b, p.b); };
  const Layer p{ramp({2, 3, 5}), ramp({3})};  // lanes along the last axis of w
  const Array x = ramp({2, 5});
  const auto [y, b] = tn::vmap(f, {.in_axes = {{-1, tn::none}, 1}, .out_axes = {-1, tn::none}})(p, x);
  EXPECT_EQ(y.shape(), (tn::Shape{3, 5}));
  EXPECT_TRUE(tn::array_equal(b, p.b));
  for (int lane : {0, 4}) {
    const Array w = p.w(tn::all, tn::all, lane), xl = x(tn::all, lane);
    EXPECT_TRUE(tn::allclose(y(tn::all, lane), tn::matmul(xl, w) + p.b, 1e-13));
  }
  // One axis for all; arguments of other structure; results that are the same for all lanes get an axis all the same.
  EXPECT_EQ(tn::vmap([](Array x, Array y) { return x * y; }, {.in_axes = 1, .out_axes = 1})(x, x).shape(),
            (tn::Shape{2, 5}));
  auto pick = [](const std::map<std::string, Array>& m, const std::optional<Array>& o) {
    return m.at("a") * m.at("b") + *o;
  };
  const std::map<std::string, Array> m{{"a", ramp({3})}, {"b", Array(2.0)}};
  EXPECT_EQ(tn::vmap(pick, {.in_axes = {{0, tn::none}, tn::none}})(m, std::optional(Array(1.0))).shape(), tn::Shape{3});
  EXPECT_EQ(tn::vmap([](Array) { return ramp({2}); })(x).shape(), (tn::Shape{2, 2}));
  EXPECT_EQ(tn::vmap([](Array) { return ramp({2}); }, {.out_axes = tn::none})(x).shape(), tn::Shape{2});
  // Nothing mapped, but a number of lanes; none and one of them.
  EXPECT_EQ(tn::vmap([](Array x) { return x; }, {.in_axes = tn::none, .size = tn::Dim(4)})(x).shape(),
            (tn::Shape{4, 2, 5}));
  for (std::int64_t lanes : {0, 1}) {
    const Array z = tn::zeros({lanes, 3}, tn::DType::f64);
    EXPECT_EQ(tn::vmap([](Array v) { return tn::sum(v * 2.0); })(z).shape(), tn::Shape{tn::Dim(lanes)});
    EXPECT_EQ(tn::jit(tn::vmap(tn::grad([](Array v) { return tn::sum(tn::sin(v)); })))(z).shape(),
              (tn::Shape{lanes, 3}));
    EXPECT_EQ(
        tn::grad([](Array v) { return tn::sum(tn::vmap([](Array r) { return tn::prod(r); }, {.in_axes = -1})(v)); })(z)
            .shape(),
        (tn::Shape{lanes, 3}));
  }
  // In a trace of unknown values, and nested with other axes.
  const Array outer = tn::jit(tn::vmap(tn::vmap([](Array a, Array b) { return a - b; }, {.in_axes = {0, tn::none}}),
                                       {.in_axes = {tn::none, 0}, .out_axes = 1}))(ramp({3}), ramp({2}));
  EXPECT_EQ(outer.shape(), (tn::Shape{3, 2}));
  EXPECT_NEAR(at(outer, 1), 0.1 - 0.2, 1e-15);
}

TEST(Vmap, Errors) {
  auto f = [](const Layer& p, Array x) { return tn::sum(p.w) + x; };
  const Layer p{ramp({2, 3}), ramp({3})};
  const auto call = [&](tn::VmapOptions options, Array x = ramp({4})) {
    return message_of([&] { tn::vmap(f, options)(p, x); });
  };
  EXPECT_THAT(call({.in_axes = {{0, 1}, tn::none}}),
              AllOf(HasSubstr("ShapeError"), HasSubstr("vmap: argument 0, leaf .1 is f64[3], which has no axis 1"),
                    HasSubstr("transforms.cpp:")));
  EXPECT_THAT(call({}), HasSubstr("vmap: argument 0, leaf .1 has 3 lanes along axis 0, argument 0, leaf .0 says 2"));
  EXPECT_THAT(call({.in_axes = {{0, tn::none}, -2}}), HasSubstr("argument 1 is f64[4], which has no axis -2"));
  EXPECT_THAT(call({.in_axes = {tn::none, 0}, .size = tn::Dim(9)}),
              HasSubstr("argument 1 has 4 lanes along axis 0, the option `size` says 9"));
  EXPECT_THAT(call({.in_axes = {tn::none, tn::none}}), HasSubstr("vmap: no argument is mapped"));
  EXPECT_THAT(call({.in_axes = {0}}), HasSubstr("in_axes has 1 entry, but the function has more arguments"));
  EXPECT_THAT(call({.in_axes = {0, 0, 0}}), HasSubstr("in_axes has 3 entries where there are arrays for 2"));
  EXPECT_THAT(call({.in_axes = {tn::none, {0, 0}}}), HasSubstr("in_axes has a list where argument 1 is one array"));
  EXPECT_THAT(call({.in_axes = {{0}, 0}}),
              HasSubstr("in_axes has 1 entry, but argument 0 has more fields or elements"));
  EXPECT_THAT(call({.in_axes = {tn::none, 0}, .out_axes = tn::none}),
              HasSubstr("vmap: the result differs from lane to lane, but its out axis is none"));
  EXPECT_THAT(call({.in_axes = {tn::none, 0}, .out_axes = 3}),
              HasSubstr("the result has 1 axes with that of the lanes; there is no axis 3"));
}

// What every branch passes on, and a carry that no step changes, are the same in every lane: no axis is asked for.
TEST(Vmap, KnowsWhatIsPassedOn) {
  const Array x = tn::arange(3, tn::DType::f32), y = tn::sum(Array{7.f});
  const auto branches = [](const Array& x, const Array& y) {
    const auto pass = [](const Array&, const Array& y) { return y; };
    return tn::cond(x < 1.f, pass, pass, x, y);
  };
  const auto loop = [](const Array& x, const Array& y) {
    using Carry = std::pair<Array, Array>;
    return tn::while_loop([](const Carry& c) { return c.first < 5.f; },
                          [](const Carry& c) { return Carry(c.first + 1.f, c.second); }, Carry(x, y))
        .second;
  };
  EXPECT_EQ(tn::vmap(branches, {.in_axes = {0, tn::none}, .out_axes = tn::none})(x, y).item<float>(), 7.f);
  EXPECT_EQ(tn::vmap(loop, {.in_axes = {0, tn::none}, .out_axes = tn::none})(x, y).item<float>(), 7.f);
}

// --- user-code.md, program 3 ---
struct Cell {
  Array w, u, b;
};

TEST(Recurrent, LanesAlongAnInnerAxisAndItsGradient) {
  auto loss = [](const Cell& p, Array xs, Array ys) {  // xs: f64[T,D]
    auto [h, preds] = tn::scan(
        [&](Array h, Array x) {
          h = tn::tanh(tn::matmul(x, p.w) + tn::matmul(h, p.u) + p.b);
          return std::pair(h, h);
        },
        tn::zeros({4}, tn::DType::f64), xs);
    return tn::mean(tn::square(preds - ys));
  };
  const Cell p{ramp({3, 4}) - 0.6, ramp({4, 4}) - 0.8, ramp({4})};
  const Array xs = tn::sin(ramp({5, 2, 3})), ys = tn::cos(ramp({5, 2, 4}));  // [T,B,…]
  auto lanes = [&](const Cell& p, Array xs, Array ys) {
    return tn::mean(tn::vmap(loss, {.in_axes = {tn::none, 1, 1}})(p, xs, ys));
  };
  const auto [value, grads] = tn::jit(tn::value_and_grad(lanes))(p, xs, ys);
  Array sum(0.0), du(0.0);
  for (int lane : {0, 1}) {
    const Array x = xs(tn::all, lane), y = ys(tn::all, lane);
    sum = sum + loss(p, x, y) / 2.0;
    du = du + tn::grad(loss)(p, x, y).u / 2.0;
  }
  EXPECT_NEAR(at(value), at(sum), 1e-13);
  EXPECT_TRUE(tn::allclose(grads.u, du, 1e-12));
  // Every inner step is computed again, or none: the same gradient.
  auto frugal = tn::checkpoint(lanes);
  EXPECT_TRUE(tn::allclose(tn::jit(tn::grad(frugal))(p, xs, ys).w, grads.w, 1e-12));
}

// --- errors ---
TEST(Grad, Errors) {
  auto loss = [](const Layer& p, Array x) { return tn::sum(p.w) * tn::sum(x); };
  EXPECT_THAT(message_of([&] { tn::grad(loss)(Layer{ramp({2}), Array{1, 2}}, ramp({2})); }),
              AllOf(HasSubstr("DifferentiationError"),
                    HasSubstr("grad: argument 0, leaf .1 is i32[2], which has no derivative"),
                    HasSubstr("Convert it to a floating dtype"), HasSubstr("transforms.cpp:")));
  EXPECT_THAT(message_of([&] { tn::value_and_grad([](Array x) { return x; })(ramp({2})); }),
              HasSubstr("value_and_grad: the function returns f64[2], not one real number"));
  EXPECT_THAT(
      message_of([&] { tn::jacfwd([](Array x) { return tn::convert(x, tn::DType::i32); })(ramp({2})); }),
      AllOf(HasSubstr("jacfwd: leaf 0 of the result is i32[2], which has no derivative"), HasSubstr("tn::has_aux")));
  EXPECT_THAT(message_of([&] { tn::jvp([](Array x) { return x; }, std::tuple(ramp({2})), std::tuple(ramp({3}))); }),
              AllOf(HasSubstr("ShapeError"), HasSubstr("jvp: the tangent of argument 0 is f64[3], not f64[2]")));
  EXPECT_THAT(
      message_of([&] { tn::vjp([](Array x) { return x; }, ramp({2})).second(Array{1.f, 2.f}); }),
      AllOf(HasSubstr("DTypeError"), HasSubstr("vjp: the cotangent of leaf 0 of the result is f32[2], not f64[2]")));
  EXPECT_THAT(message_of([&] { tn::linearize([](Array x) { return x; }, ramp({2})).second(ramp({2, 1})); }),
              HasSubstr("linearize: the tangent of leaf 0 of the arguments is f64[2,1], not f64[2]"));
  // The place of an error within a function is its own line, not that of the transformation.
  const auto bad = [](Array x) { return tn::sum(x) + tn::sum(x + ramp({3})); };
  const std::string line = ":" + std::to_string(__LINE__ - 1);
  EXPECT_THAT(message_of([&] { tn::jit(tn::grad(bad))(ramp({2})); }), HasSubstr("transforms.cpp" + line));
}

}  // namespace
