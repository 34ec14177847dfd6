// Branches and steps that return arrays of a size of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenon/tenon.h"
#include "tests/error_message.h"

namespace tn = tenon;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using tn::Array;
using tn::message_of;

namespace {

const Array x = {3.0, -1.0, 4.0, -1.5, 5.0, -9.0, 2.0};
const Array yes = true, no = false;

std::vector<double> of(const Array& a) {
  const tn::Buffer b = tn::convert(a, tn::DType::f64).to_buffer();
  return {b.as<double>(), b.as<double>() + b.elements()};
}
std::vector<std::int64_t> dims_of(const Array& a) {
  const auto dims = a.to_buffer().dims();
  return {dims.begin(), dims.end()};
}
Array positive(const Array& a) { return tn::compress(a, a > 0.0); }
Array columns(const Array& m, const Array& mask) { return tn::transpose(tn::compress(tn::transpose(m), mask)); }
Array positive_or_all(const Array& p, const Array& a) {
  return tn::cond(p, positive, [](const Array& all) { return all * 2.0; }, a);
}

// With the function as it is, and compiled.
template <class F, class Check, class... Args>
void both(const F& f, const Check& check, const Args&... args) {
  {
    SCOPED_TRACE("outside of a trace");
    check(f(args...));
  }
  {
    SCOPED_TRACE("compiled");
    check(tn::jit(f)(args...));
  }
}

TEST(Varying, BranchesReturnArraysOfTheirOwnSize) {
  both(positive_or_all, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(3, 4, 5, 2)); }, yes, x);
  both(positive_or_all, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(6, -2, 8, -3, 10, -18, 4)); }, no, x);
  const Array none = {-1.0, -2.0};
  both(positive_or_all, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre()); }, yes, none);
  both(positive_or_all, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre()); }, no, tn::zeros({0}, tn::DType::f64));
}

TEST(Varying, SwitchOverMasks) {
  const auto pick = [](const Array& i, const Array& a) {
    return tn::switch_case(
        i,
        std::tuple([](const Array& a) { return positive(a); }, [](const Array& a) { return tn::compress(a, a < 0.0); },
                   [](const Array& a) { return a(tn::slice(0, 2)); }),
        a);
  };
  both(pick, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(3, 4, 5, 2)); }, Array(0), x);
  both(pick, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(-1, -1.5, -9)); }, Array(1), x);
  both(pick, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(3, -1)); }, Array(2), x);
}

// Results of one size in every branch have one size behind them: their product needs no check.
TEST(Varying, ResultsShareTheirSize) {
  const auto f = [](const Array& p, const Array& a) {
    const auto [u, v] = tn::cond(
        p, [](const Array& a) { return std::pair(positive(a), tn::compress(a * a, a > 0.0)); },
        [](const Array& a) { return std::pair(a, tn::sin(a)); }, a);
    EXPECT_EQ(u.shape(), v.shape());
    return tn::sum(u * v);
  };
  both(f, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(27 + 64 + 125 + 8)); }, yes, x);
}

TEST(Varying, SeveralAxes) {
  const Array m = tn::reshape(tn::arange(12, tn::DType::f64), {3, 4});
  const auto f = [](const Array& p, const Array& m) {
    return tn::cond(
        p,
        [](const Array& m) {
          const Array rows = tn::compress(m, tn::sum(m, {1}) > 10.0);
          return std::pair(columns(rows, tn::sum(m, {0}) > 13.0), columns(m, tn::sum(m, {0}) > 13.0));
        },
        [](const Array& m) { return std::pair(m, m); }, m);
  };
  both(
      f,
      [](const auto& made) {
        EXPECT_THAT(dims_of(made.first), ElementsAre(2, 3));
        EXPECT_THAT(of(made.first), ElementsAre(5, 6, 7, 9, 10, 11));
        EXPECT_THAT(dims_of(made.second), ElementsAre(3, 3));
        EXPECT_THAT(of(made.second), ElementsAre(1, 2, 3, 5, 6, 7, 9, 10, 11));
      },
      yes, m);
  both(f, [](const auto& made) { EXPECT_THAT(dims_of(made.first), ElementsAre(3, 4)); }, no, m);
}

TEST(Varying, EveryDType) {
  for (const tn::DType dtype :
       {tn::DType::bool_, tn::DType::i8, tn::DType::i16, tn::DType::i32, tn::DType::i64, tn::DType::u8, tn::DType::u16,
        tn::DType::u32, tn::DType::u64, tn::DType::f8e4m3fn, tn::DType::f8e5m2, tn::DType::f16, tn::DType::bf16,
        tn::DType::f32, tn::DType::f64, tn::DType::c64, tn::DType::c128}) {
    SCOPED_TRACE(tn::name(dtype));
    const Array mask = {true, false, true}, values = tn::convert(Array{1, 1, 0}, dtype);
    const auto f = [](const Array& p, const Array& a, const Array& mask) {
      return tn::cond(
          p, [](const Array& a, const Array& mask) { return tn::compress(a, mask); },
          [](const Array& a, const Array&) { return a; }, a, mask);
    };
    both(
        f,
        [&](const Array& a) {
          EXPECT_EQ(a.dtype(), dtype);
          const Array back = dtype == tn::DType::c64 || dtype == tn::DType::c128 ? tn::real(a) : a;
          EXPECT_THAT(of(back), ElementsAre(1, 0));
        },
        yes, values, mask);
  }
}

// Newton's method on those that have not converged, a reduction of candidates: the carry shrinks.
Array halved(const Array& a) {
  return tn::while_loop([](const Array& a) { return tn::size_as_array(a.shape()[0]) > 1; },
                        [](const Array& a) { return tn::compress(a, a >= tn::mean(a)); }, a);
}

TEST(Varying, CarriesThatShrink) {
  both(halved, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(5)); }, x);
  const auto sum = [](const Array& a) { return tn::sum(halved(a)) * 2.0; };
  both(sum, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(10)); }, x);
  const Array many = tn::sin(tn::arange(10'000, tn::DType::f64));
  EXPECT_THAT(of(tn::jit(halved)(many)), of(halved(many)));
}

TEST(Varying, CarriesThatGrow) {
  const auto f = [](const Array& a) {
    return tn::fori_loop(
        0, 3, [](const Array&, const Array& a) { return tn::concatenate({a, positive(a) - 3.0}, 0); }, a);
  };
  const Array a = {1.0, 4.0};
  both(f, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(1, 4, -2, 1, -2, 1, -2, -2, 1, -2, -2)); }, a);
}

TEST(Varying, CarriesOfOneSize) {
  const auto f = [](const Array& a, const Array& w) {
    using State = std::pair<Array, Array>;
    const State end = tn::while_loop([](const State& s) { return tn::size_as_array(s.first.shape()[0]) > 2; },
                                     [](const State& s) {
                                       EXPECT_EQ(s.first.shape(), s.second.shape());
                                       const Array keep = s.first > tn::min(s.first);
                                       return State(tn::compress(s.first, keep), tn::compress(s.second, keep) + 1.0);
                                     },
                                     State(a, w));
    return tn::sum(end.first * end.second);
  };
  both(
      f, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(4 * (2 + 5.0) + 5 * (4 + 5.0))); }, x,
      tn::arange(7, tn::DType::f64));
}

TEST(Varying, ScansWithAndWithoutUnrolling) {
  for (const std::int64_t unroll : {1, 2}) {
    SCOPED_TRACE(unroll);
    const auto f = [&](const Array& a, const Array& levels) {
      return tn::scan(
          [](const Array& a, const Array& level) {
            const Array left = tn::compress(a, a > level);
            return std::pair(left, tn::sum(left));
          },
          a, levels, {.unroll = unroll});
    };
    both(
        f,
        [](const auto& made) {
          EXPECT_THAT(of(made.first), ElementsAre(4, 5));
          EXPECT_THAT(of(made.second), ElementsAre(14 - 2.5, 14, 9));
        },
        x, Array{-3.0, 0.0, 3.0});
  }
}

TEST(Varying, Nested) {
  const auto f = [](const Array& p, const Array& a) {
    return tn::fori_loop(
        0, 2,
        [&](const Array& i, const Array& a) {
          return tn::cond(
              p & (i == 0), [](const Array& a) { return halved(a); },
              [](const Array& a) { return tn::compress(a, a < 4.5); }, a);
        },
        a);
  };
  both(f, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre()); }, yes, x);
  both(f, [](const Array& a) { EXPECT_THAT(of(a), ElementsAre(3, -1, 4, -1.5, -9, 2)); }, no, x);
}

TEST(Varying, BesideListsAndReferences) {
  const auto f = [](const Array& a) {
    tn::List<Array> sizes;
    const Array end = tn::while_loop([](const Array& a, auto&) { return tn::size_as_array(a.shape()[0]) > 1; },
                                     [](const Array& a, auto& sizes) {
                                       sizes.push(tn::size_as_array(a.shape()[0]));
                                       return tn::compress(a, a >= tn::mean(a));
                                     },
                                     a, sizes);
    return std::pair(end, sizes.stack());
  };
  both(
      f,
      [](const auto& made) {
        EXPECT_THAT(of(made.first), ElementsAre(5));
        EXPECT_THAT(of(made.second), ElementsAre(7, 5, 2));
      },
      Array{1.0, 2.0, -3.0, 4.0, 5.0, -9.0, 2.5});
}

TEST(Varying, DerivativesOfBranches) {
  const auto loss = [](const Array& p, const Array& a) { return tn::sum(tn::square(positive_or_all(p, a))); };
  const auto of_positive = [](const Array& g) { EXPECT_THAT(of(g), ElementsAre(6, 0, 8, 0, 10, 0, 4)); };
  both(tn::grad<1>(loss), of_positive, yes, x);
  both(tn::grad<1>(loss), [](const Array& g) { EXPECT_THAT(of(g), ElementsAre(24, -8, 32, -12, 40, -72, 16)); }, no, x);
  const auto forward = [&](const Array& a, const Array& t) {
    return tn::jvp([&](const Array& a) { return loss(yes, a); }, std::tuple(a), std::tuple(t)).second;
  };
  both(forward, [](const Array& t) { EXPECT_THAT(of(t), ElementsAre(28)); }, x, tn::ones_like(x));
  const auto second = [&](const Array& a) { return tn::hvp([&](const Array& a) { return loss(yes, a); }, a, a); };
  both(second, of_positive, x);
}

TEST(Varying, DerivativesOfLoops) {
  const auto loss = [](const Array& a) { return tn::sum(tn::square(halved(a))); };
  both(tn::grad(loss), [](const Array& g) { EXPECT_THAT(of(g), ElementsAre(0, 0, 0, 0, 10, 0, 0)); }, x);
  const auto scanned = [](const Array& a, const Array& levels) {
    const auto made = tn::scan(
        [](const Array& a, const Array& level) {
          const Array left = tn::compress(a * 2.0, a > level);
          return std::pair(left, tn::sum(left * left));
        },
        a, levels);
    return tn::sum(made.second) + tn::sum(made.first);
  };
  // 2a of 3, 4, 5 and 2; of these, 4a of 4 and 5, whose 2a is more than 7.
  both(
      tn::grad(scanned),
      [](const Array& g) { EXPECT_THAT(of(g), ElementsAre(24, 0, 32 + 128 + 4, 0, 40 + 160 + 4, 0, 16)); }, x,
      Array{0.0, 7.0});
}

TEST(Varying, Refused) {
  const auto lanes = tn::vmap([](const Array& a) { return positive_or_all(yes, a); });
  EXPECT_THAT(message_of<tn::ShapeError>([&] { lanes(tn::ones({2, 3})); }), HasSubstr("lane"));
  const auto other = [](const Array& p, const Array& a) {
    return tn::cond(p, positive, [](const Array& a) { return tn::convert(a, tn::DType::f32); }, a);
  };
  EXPECT_THAT(message_of<tn::ShapeError>([&] { other(yes, x); }), HasSubstr("branch 0 gives f32[7] as result 0"));
  const auto ranks = [](const Array& p, const Array& a) {
    return tn::cond(p, positive, [](const Array& a) { return tn::sum(a); }, a);
  };
  EXPECT_THAT(message_of<tn::ShapeError>([&] { ranks(yes, x); }), HasSubstr("as result 0"));
  const auto fewer = [](const Array& p, const Array& m) {
    return tn::cond(
        p, [](const Array& m) { return columns(m, tn::sum(m, {0}) > 1.0); },
        [](const Array& m) { return positive(tn::sum(m, 1)); }, m);
  };
  EXPECT_THAT(message_of<tn::ShapeError>([&] { fewer(yes, tn::ones({2, 3}, tn::DType::f64)); }),
              HasSubstr("as result 0"));
  const auto grows = [](const Array& a) {
    return tn::fori_loop(0, 3, [](const Array&, const Array& a) { return tn::concatenate({a, a}, 0); }, a);
  };
  EXPECT_THAT(message_of<tn::ShapeError>([&] { grows(x); }),
              HasSubstr("enters a step as f64[7] and leaves it as f64[14]"));
  const auto kept = [](const Array& a) {
    return tn::scan([](const Array& a, const Array& l) { return std::pair(tn::compress(a, a > l), l); }, a,
                    Array{0.0, 3.0}, {.checkpoint = tn::every(1)});
  };
  EXPECT_THAT(message_of<tn::ShapeError>([&] { kept(x); }), HasSubstr("no checkpoint can be kept"));
}

}  // namespace
