// References that are written under derivatives and batches, and by the backward of a custom_vjp: beside numbers by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;
using tn::Ref;

namespace {

struct Watched {
  Ref calls = tn::make_ref(Array(std::int64_t(1) << 60)), seen = tn::make_ref(Array(0.0));

  // The sine, whose derivative is counted and seen.
  auto sine() const {
    return tn::custom_vjp([](Array x) { return tn::sin(x); }, [](Array x) { return std::pair(tn::sin(x), x); },
                          [calls = calls, seen = seen](Array x, Array ct) {
                            calls.set(calls() + 1);
                            seen.set(ct);
                            return ct * tn::cos(x);
                          });
  }
  std::int64_t count() const { return calls().item<std::int64_t>() - (std::int64_t(1) << 60); }
};

TEST(RefStates, BackwardReadsAndWrites) {
  const Watched w;
  const auto f = [&](Array x) { return tn::fori_loop(0, 3, [&](Array, Array c) { return w.sine()(c); }, x); };
  const double a = std::sin(1.0), b = std::sin(a);
  const double slope = std::cos(1.0) * std::cos(a) * std::cos(b);
  EXPECT_NEAR(tn::grad(f)(1.0).item<double>(), slope, 1e-12);
  EXPECT_EQ(w.count(), 3);
  EXPECT_NEAR(w.seen().item<double>(), std::cos(b) * std::cos(a), 1e-12);
  EXPECT_NEAR(tn::grad(tn::jit(f))(1.0).item<double>(), slope, 1e-12);
  EXPECT_NEAR(tn::jit(tn::grad(f))(1.0).item<double>(), slope, 1e-12);
  EXPECT_EQ(w.count(), 9);
  const auto [y, pull] = tn::vjp(f, 1.0);
  EXPECT_EQ(w.count(), 9);
  pull(Array(2.0)), pull(Array(5.0));
  EXPECT_EQ(w.count(), 15);
  EXPECT_NEAR(w.seen().item<double>(), 5 * std::cos(b) * std::cos(a), 1e-12);
  EXPECT_NEAR(tn::grad(tn::checkpoint(f))(1.0).item<double>(), slope, 1e-12);
  EXPECT_EQ(w.count(), 18);
  tn::vmap([&](Array x) { return f(x); })(tn::zeros({2}));
  EXPECT_EQ(w.count(), 18);
}

TEST(RefStates, WhereItCannotBe) {
  const Watched w;
  const auto f = [&](Array x) { return w.sine()(x); };
  EXPECT_THAT(message_of<tn::RuntimeError>([&] { tn::jacrev(f)(1.0); }), HasSubstr("several at once"));
  EXPECT_THAT(message_of<tn::RuntimeError>(
                  [&] { tn::vmap(tn::grad([&](Array x) { return f(x) * x; }))(tn::arange(2, tn::DType::f64)); }),
              HasSubstr("differs from lane to lane"));
  EXPECT_THAT(message_of<tn::RuntimeError>([&] {
                tn::grad([](Array x) {
                  const Ref r = tn::make_ref(x);
                  return tn::custom_vjp([](Array y) { return y; }, [](Array y) { return std::pair(y, std::tuple<>()); },
                                        [r](std::tuple<>, Array ct) {
                                          r.set(ct);
                                          return ct;
                                        })(x);
                })(1.0);
              }),
              HasSubstr("the function that is differentiated has made"));
  EXPECT_EQ(w.count(), 0);
}

TEST(RefStates, WrittenByTheFunction) {
  const Ref r = tn::make_ref(Array(0.0));
  const auto f = [&](Array x) {
    r.set(r() + 1.0 + tn::stop_gradient(x));
    return x * x;
  };
  EXPECT_EQ(tn::grad(f)(3.0).item<double>(), 6);
  EXPECT_EQ(tn::jvp(f, std::tuple(3.0), std::tuple(1.0)).second.item<double>(), 6);
  EXPECT_EQ(tn::linearize(f, 3.0).second(Array(1.0)).item<double>(), 6);
  EXPECT_EQ(tn::jacfwd(f)(3.0).item<double>(), 6);
  EXPECT_EQ(tn::jacrev(f)(3.0).item<double>(), 6);
  EXPECT_EQ(tn::grad(tn::grad(f))(3.0).item<double>(), 2);
  EXPECT_EQ(r().item<double>(), 24);
  tn::vmap([&](Array x) {
    r.set(1.0);
    return x;
  })(tn::zeros({2}));
  EXPECT_EQ(r().item<double>(), 1);
}

}  // namespace
