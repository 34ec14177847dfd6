// Mutable references: values beside plain C++ loops, eagerly, compiled and under every transformation; in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/tenon.h"
#include "tests/api/agreement.h"
#include "tests/api/values.h"
#include "tests/by_oracle.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tn::all_values;
using tn::Array;
using tn::close;
using tn::expect_agreement;
using tn::message_of;
using tn::numbers;
using tn::Ref;

namespace {

// --- eager ---
TEST(Refs, ReadAndWriteLikeNumPy) {
  const Array x = numbers({3, 4});
  Ref r = tn::make_ref(x);
  r[0] = 1.0;
  r[1] += numbers({4});
  r[2] -= 2;
  r.at(tn::all, 3) *= 3.0;
  r.at(0, tn::slice(0, 2)) = r.at(1, tn::slice(2, 4));
  r.at(Array{0, 0}, Array{1, 1}).add(0.5);
  r.at(2, 0).max(7.0);
  std::vector<double> want = all_values(x);
  const std::vector<double> row = all_values(numbers({4}));
  for (int j = 0; j < 4; ++j) want[j] = 1, want[4 + j] += row[j], want[8 + j] -= 2;
  for (int i = 0; i < 3; ++i) want[4 * i + 3] *= 3;
  want[0] = want[6], want[1] = want[7];
  want[1] += 1.0;
  want[8] = std::max(want[8], 7.0);
  EXPECT_TRUE(close(r(), tn::array<double>(want, {3, 4}), 0)) << r();
  EXPECT_TRUE(close(r(tn::all, 1), r()(tn::all, 1), 0));
  EXPECT_TRUE(close(Array(r[1]) + r[2], r()(1) + r()(2), 0));
  EXPECT_TRUE(close(tn::sin(r[1]), tn::sin(r.get()(1)), 0));
  EXPECT_TRUE(tn::array_equal(x, numbers({3, 4}))) << "what it was made of stays";
  const Ref same = r;
  same.set(0.0);
  EXPECT_TRUE(tn::array_equal(r.freeze(), tn::zeros({3, 4}, tn::DType::f64)));
}

TEST(Refs, EveryDtypeAndRank) {
  for (const tn::DType dtype :
       {tn::DType::bool_, tn::DType::i8, tn::DType::u8, tn::DType::i32, tn::DType::u64, tn::DType::f8e4m3fn,
        tn::DType::f8e5m2fnuz, tn::DType::f16, tn::DType::bf16, tn::DType::f32, tn::DType::f64, tn::DType::c64}) {
    SCOPED_TRACE(tn::name(dtype));
    Ref r = tn::make_ref(tn::zeros({3}, dtype));
    const auto step = tn::jit([&](Array x) {
      r[1] = x;
      return r();
    });
    const Array one = tn::ones({}, dtype);
    const Array got = step(one);
    EXPECT_TRUE(tn::array_equal(got, r()));
    EXPECT_TRUE(tn::array_equal(r(1), one));
    EXPECT_EQ(r.type(), tn::Type::array(dtype, {3}));
    if (dtype == tn::DType::bool_) continue;
    r[0] -= one, r[2] += 2, r[2] *= 3;
    EXPECT_TRUE(tn::array_equal(r(0), tn::zeros({}, dtype) - one));
    EXPECT_TRUE(tn::array_equal(r(2), tn::convert(Array(6), dtype)));
  }
  Ref scalar = tn::make_ref(1.5);
  scalar.at(tn::ellipsis) += 1.0;
  EXPECT_EQ(scalar().item<double>(), 2.5);
  EXPECT_FALSE(scalar().weak());
  Ref none = tn::make_ref(tn::zeros({0, 3}));
  none.at(tn::all, 1) += 1.f;
  tn::jit([&](Array x) {
    none.set(x);
    return x;
  })(Array(1.f));
  EXPECT_EQ(none.freeze().type().text(), "f32[0,3]");
}

// --- loops and branches: the reference made inside of the function, and outside ---
const auto recurrence = [](Array x) {  // y[0] = x[0]; y[i] = sin(y[i-1]) + x[i]
  Ref y = tn::make_ref(tn::zeros_like(x));
  y[0] = x(0);
  tn::fori_loop(
      1, x.size(0),
      [&](Array i, Array c) {
        y[i] = tn::sin(y[i - 1]) + x(i) * c;
        return c;
      },
      Array(1.0));
  return y.freeze();
};

TEST(Refs, AreCarriesOfLoops) {
  const Array x = numbers({5}, 0.3);
  std::vector<double> want = all_values(x);
  for (int i = 1; i < 5; ++i) want[i] += std::sin(want[i - 1]);
  EXPECT_TRUE(close(recurrence(x), tn::array<double>(want, {5})));
  expect_agreement(recurrence, x);
}

TEST(Refs, ScanWhileMapWriteWhatIsOutside) {
  const Array x = numbers({6}, 0.3);
  const auto f = [](Array x) {
    Ref sum = tn::make_ref(tn::zeros({3}, tn::DType::f64)), count = tn::make_ref(0), product = tn::make_ref(1.0);
    const Array squares = tn::map(
        [&](Array v) {
          sum[0] += v;
          return v * v;
        },
        x);
    tn::scan(
        [&](Array c, Array v) {
          sum[1] += c * v;
          count.set(count() + 1);
          return std::pair(c * 0.5, std::tuple<>());
        },
        Array(1.0), x);
    tn::while_loop([&](Array) { return count() < 8; },
                   [&](Array i) {
                     count.set(count() + 1);
                     sum[2] += tn::sin(product() + x(i));
                     product.set(product() * 1.1);
                     return i + 1;
                   },
                   Array(0));
    return tn::concatenate(
        {sum(), squares, tn::reshape(tn::convert(count(), tn::DType::f64), {1}), tn::reshape(product(), {1})}, 0);
  };
  const std::vector<double> v = all_values(x);
  double s0 = 0, s1 = 0, c = 1;
  for (const double e : v) s0 += e, s1 += c * e, c *= 0.5;
  const double s2 = std::sin(1 + v[0]) + std::sin(1.1 + v[1]);
  const Array got = f(x);
  EXPECT_NEAR(got(0).item<double>(), s0, 1e-14);
  EXPECT_NEAR(got(1).item<double>(), s1, 1e-14);
  EXPECT_NEAR(got(2).item<double>(), s2, 1e-14);
  EXPECT_EQ(got(9).item<double>(), 8);
  EXPECT_NEAR(got(10).item<double>(), 1.21, 1e-14);
  expect_agreement(f, x);
}

TEST(Refs, UnrolledScans) {
  const Array x = numbers({7}, 0.3);
  for (const std::int64_t unroll : {1, 2, 3, 7, 9})
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(testing::Message() << unroll << " a turn, reverse " << reverse);
      const auto f = [=](Array x) {
        Ref r = tn::make_ref(tn::zeros({3}, tn::DType::f64));
        auto [c, ys] = tn::scan(
            [&](Array c, Array v) {
              r[1] = tn::sin(r[1]) + v;
              return std::pair(c * v, r[1] * c);
            },
            Array(1.0), x, {.reverse = reverse, .unroll = unroll});
        return tn::concatenate({ys, r()}, 0);
      };
      std::vector<double> v = all_values(x), want(7);
      double r = 0, c = 1;
      for (int k = 0; k < 7; ++k) {
        const int i = reverse ? 6 - k : k;
        r = std::sin(r) + v[i], want[i] = r * c, c *= v[i];
      }
      const Array got = f(x);
      for (int i = 0; i < 7; ++i) EXPECT_NEAR(got(i).item<double>(), want[i], 1e-14);
      EXPECT_NEAR(got(8).item<double>(), r, 1e-14);
      if (unroll > 1) expect_agreement(f, x);
    }
}

TEST(Refs, BranchesPassOnWhatTheyDoNotWrite) {
  const auto f = [](Array x) {
    Ref a = tn::make_ref(x), b = tn::make_ref(x * 2.0);
    const Array got = tn::cond(
        x(0) > 0.0,
        [&](Array v) {
          a[1] = v * b[0];
          return v;
        },
        [&](Array v) {
          b[1] += v * v;
          return v * 2.0;
        },
        x(2));
    const Array other = tn::switch_case(tn::convert(x(0) * 10.0, tn::DType::i32),
                                        std::tuple([&](Array v) { return v; },
                                                   [&](Array v) {
                                                     a.set(a() * v);
                                                     return v * 3.0;
                                                   },
                                                   [&](Array v) {
                                                     b[0] = a[0] + v;
                                                     return v * 4.0;
                                                   }),
                                        got);
    return tn::concatenate({a(), b(), tn::reshape(other, {1})}, 0);
  };
  for (const double first : {-0.3, 0.05, 0.1, 0.15, 0.9}) {
    const Array x{first, 0.4, 0.7};
    double a[3] = {first, 0.4, 0.7}, b[3] = {2 * first, 0.8, 1.4}, got;
    if (first > 0)
      a[1] = 0.7 * b[0], got = 0.7;
    else
      b[1] += 0.49, got = 1.4;
    const int branch = std::clamp(static_cast<int>(first * 10), 0, 2);
    if (branch == 1)
      for (double& e : a) e *= got;
    if (branch == 2) b[0] = a[0] + got;
    const Array want{a[0], a[1], a[2], b[0], b[1], b[2], got * (branch == 0 ? 1 : branch + 2)};
    EXPECT_TRUE(close(f(x), want)) << f(x) << want;
    if (first != 0.1) expect_agreement(f, x);
  }
}

// --- every nesting two deep ---
TEST(Refs, LoopInLoop) {
  expect_agreement(
      [](Array x) {
        Ref r = tn::make_ref(x);
        tn::fori_loop(
            0, 3,
            [&](Array i, Array c) {
              Ref local = tn::make_ref(c * x);
              tn::scan(
                  [&](Array k, Array v) {
                    r[i] = r[i] * 0.5 + tn::sin(local[0]) * v;
                    local[0] += v;
                    return std::pair(k, k);
                  },
                  Array(0.0), x);
              r[i] += local[0];
              return c + local[1];
            },
            Array(1.0));
        return r.freeze();
      },
      numbers({4}, 0.2));
}

TEST(Refs, CondInLoopAndLoopInCond) {
  expect_agreement(
      [](Array x) {
        Ref r = tn::make_ref(x), n = tn::make_ref(0.0);
        tn::scan(
            [&](Array c, Array v) {
              tn::cond(
                  v > 0.0,
                  [&](Array v) {
                    r[1] += v * c;
                    return v;
                  },
                  [&](Array v) {
                    n.set(n() + v * v);
                    return v;
                  },
                  v);
              return std::pair(c * 0.9, c);
            },
            Array(1.0), x);
        tn::cond(
            x(0) < 10.0,
            [&](Array v) {
              tn::fori_loop(
                  0, 3,
                  [&](Array i, Array c) {
                    r[i] = r[i] * c + n();
                    return c + v;
                  },
                  v);
              return v;
            },
            [&](Array v) { return v; }, x(1));
        return tn::concatenate({r(), tn::reshape(n(), {1})}, 0);
      },
      numbers({4}, 0.23));
}

TEST(Refs, WhileInScanInBranch) {
  expect_agreement(
      [](Array x) {
        Ref r = tn::make_ref(x);
        return tn::cond(
            x(0) < 10.0,
            [&](Array v) {
              return tn::scan(
                         [&](Array c, Array e) {
                           tn::while_loop([&](Array i) { return i < 3; },
                                          [&](Array i) {
                                            r[i] = tn::sin(r[i]) + e;
                                            return i + 1;
                                          },
                                          Array(0));
                           return std::pair(c, r() * c);
                         },
                         v, x)
                  .second;
            },
            [&](Array) { return tn::zeros({4, 4}, tn::DType::f64); }, x(1));
      },
      numbers({4}, 0.23));
}

// --- jit ---
TEST(Refs, JitWritesWhatItCapturesAndIsTracedOnce) {
  Ref r = tn::make_ref(tn::zeros({4}));
  int traced = 0;
  const auto step = tn::jit([&](Array i, Array v) {
    ++traced;
    r[i] += v;
    return tn::sum(r());
  });
  const Array i(tn::Scalar(1)), j(tn::Scalar(2));
  EXPECT_EQ(step(i, Array(2.f)).item<float>(), 2.f);
  const float* memory = r().span<float>().data();
  EXPECT_EQ(step(j, Array(3.f)).item<float>(), 5.f);
  EXPECT_EQ(step(i, Array(4.f)).item<float>(), 9.f);
  EXPECT_EQ(traced, 1);
  EXPECT_TRUE(tn::array_equal(r(), Array{0.f, 6.f, 3.f, 0.f}));
  EXPECT_EQ(r().span<float>().data(), memory) << "its memory is used again";
  const Array before = r();  // now it is shared, and stays as it is
  step(i, Array(1.f));
  EXPECT_TRUE(tn::array_equal(before, Array{0.f, 6.f, 3.f, 0.f}));
  EXPECT_EQ(r()(1).item<float>(), 7.f);
  Array result;
  step.into(result, i, Array(1.f));
  EXPECT_EQ(r()(1).item<float>(), 8.f);
  EXPECT_EQ(result.item<float>(), 11.f);
  const auto ready = step.prepare(i, Array(1.f));
  EXPECT_EQ(ready(i, Array(1.f)).item<float>(), 12.f);
  EXPECT_EQ(r()(1).item<float>(), 9.f);
}

struct Model {
  Array scale;
  Ref state;
  std::vector<Ref> others;
};

TEST(Refs, JitTakesThemInTrees) {
  int traced = 0;
  const auto step = tn::jit([&](Model m, Array v) {
    ++traced;
    m.state[0] += m.scale * v;
    m.others[1].set(m.state() + m.others[0]());
    return m.state[0] + 0.f;
  });
  const auto make = [](float s) {
    return Model{
        Array{2.f}(0), tn::make_ref(Array{s, 1.f}), {tn::make_ref(Array{1.f, 1.f}), tn::make_ref(Array{0.f, 0.f})}};
  };
  const Model a = make(0), b = make(10);
  EXPECT_EQ(step(a, Array(3.f)).item<float>(), 6.f);
  EXPECT_EQ(step(b, Array(3.f)).item<float>(), 16.f);
  EXPECT_EQ(step(a, Array(1.f)).item<float>(), 8.f);
  EXPECT_EQ(traced, 1);
  EXPECT_TRUE(tn::array_equal(a.state(), Array{8.f, 1.f}));
  EXPECT_TRUE(tn::array_equal(a.others[1](), Array{9.f, 2.f}));
  EXPECT_TRUE(tn::array_equal(b.others[1](), Array{17.f, 2.f}));
  // In a trace: in loops, and below another jit.
  const auto many = tn::jit([&](Model m, Array v) {
    return tn::fori_loop(0, 3, [&](Array, Array c) { return c + step(m, v); }, Array{0.f}(0));
  });
  EXPECT_EQ(many(b, Array(1.f)).item<float>(), 18.f + 20.f + 22.f);
  EXPECT_EQ(b.state()(0).item<float>(), 22.f);
  const auto f = [&](Array x) {
    const Model m{x(0), tn::make_ref(x), {tn::make_ref(x * 2.f), tn::make_ref(x)}};
    const Array got = step(m, x(1));
    return tn::sum(m.others[1]() * got);
  };
  const Array x{0.5f, 0.25f};  // state[0] = x0 + x0·x1; others = (state[0] + 2·x0, 3·x1)
  const double s = 0.625, ds0 = 1.25, ds1 = 0.5;
  EXPECT_TRUE(close(tn::grad(f)(x),
                    Array{static_cast<float>(ds0 * (s + 1 + 0.75) + s * (ds0 + 2)),
                          static_cast<float>(ds1 * (s + 1 + 0.75) + s * (ds1 + 3))},
                    1e-6));
}

TEST(Refs, CheckpointAndReadsUnderDerivatives) {
  expect_agreement(
      [](Array x) {
        Ref r = tn::make_ref(x);
        const Array y = tn::checkpoint([&](Array v) {
          r[0] = tn::sin(r[1]) * v(2);
          return tn::exp(v);
        })(x);
        return y + r();
      },
      numbers({4}, 0.2));
  // A reference from outside is a constant to derivatives, and the same for all lanes.
  const Ref outside = tn::make_ref(Array{1.0, 2.0});
  const auto f = [&](Array x) { return tn::sum(outside() * x * x); };
  EXPECT_TRUE(close(tn::grad(f)(Array{3.0, 4.0}), Array{6.0, 16.0}));
  EXPECT_TRUE(close(tn::vmap(f)(Array{{3.0, 4.0}, {1.0, 1.0}}), Array{41.0, 3.0}));
  // Of the function that is traced around it, a derivative goes through.
  const auto through = [](Array x) {
    const Ref r = tn::make_ref(x);
    return tn::sum(tn::grad([&](Array y) { return tn::sum(r() * y * y); })(x));
  };
  EXPECT_TRUE(close(tn::grad(through)(Array{3.0, 4.0}), Array{12.0, 16.0}));
}

// --- in place ---
TEST(Refs, UpdatesAreInPlace) {
  const auto f = [](Array x, Array rows) {
    Ref r = tn::make_ref(x + 1.f);
    const Array end = tn::scan(
                          [&](Array c, Array i) {
                            r[i] += c;
                            tn::cond(
                                c > 0.f,
                                [&](Array c) {
                                  r[i + 1] = c;
                                  return c;
                                },
                                [](Array c) { return c; }, c);
                            return std::pair(tn::sin(r[i]), std::tuple<>());
                          },
                          Array{0.5f}(0), rows)
                          .first;
    return end + tn::sum(r.freeze());
  };
  const Array x = tn::zeros({100000}), rows = tn::arange(1000);
  EXPECT_THAT(tn::explain(f)(x, rows), Not(HasSubstr("copies")));
  EXPECT_THAT(tn::explain(tn::grad(f))(x, rows), Not(HasSubstr("copies"))) << tn::explain(tn::grad(f))(x, rows);
}

TEST(Refs, WhatJitCapturesIsDonated) {
  const Ref r = tn::make_ref(tn::zeros({1000}));
  const auto step = tn::jit([&](Array i) {
    r[i] += 1.f;
    return i + 1;
  });
  EXPECT_THAT(tn::explain(step)(Array(tn::Scalar(1))),
              AllOf(HasSubstr("donated: 4,000 bytes of results in the arguments' memory"), Not(HasSubstr("copies"))));
}

TEST(Refs, ValuesThatAreKnownAreThere) {
  const Ref r = tn::make_ref(Array{2.0, -1.0});
  const auto f = [&](Array x) {
    Ref own = tn::make_ref(x);
    own[0] *= r[0];
    return own[0].get().item<double>() > 0 ? r(0) * own(0) : r(1) * own(0);
  };
  EXPECT_EQ(tn::grad(f)(Array{3.0})(0).item<double>(), 4.0);
  EXPECT_EQ(tn::grad(f)(Array{-3.0})(0).item<double>(), -2.0);
}

TEST(Refs, SizesThatDataDecide) {
  const auto f = [](Array x) {
    Ref r = tn::make_ref(x(x > 0.0));
    tn::scan(
        [&](Array c, Array v) {
          r[0] += v * c;
          tn::cond(
              v > 0.0,
              [&](Array v) {
                r.set(r() * v);
                return v;
              },
              [](Array v) { return v; }, v);
          return std::pair(c, c);
        },
        Array(0.5), x);
    return tn::sum(r());
  };
  const Array x{0.5, -1.0, 2.0};
  const double first = ((0.5 + 0.25) * 0.5 - 0.5 + 1.0) * 2.0, second = 2.0 * 0.5 * 2.0;
  EXPECT_NEAR(f(x).item<double>(), first + second, 1e-14);
  EXPECT_NEAR(tn::jit(f)(x).item<double>(), first + second, 1e-14);
  const Array slope = tn::grad(f)(x);
  for (int i = 0; i < 3; ++i) {
    std::vector<double> step(3, 0.0);
    step[static_cast<std::size_t>(i)] = 1e-6;
    const Array h = tn::array<double>(step, {3});
    EXPECT_NEAR(slope(i).item<double>(), (f(x + h) - f(x - h)).item<double>() / 2e-6, 1e-8);
  }
}

}  // namespace
