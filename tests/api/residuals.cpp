// What reverse mode keeps: the bytes that the cut leaves to be stored, and how they are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tenon/tenon.h"

namespace tn = tenon;
using testing::AllOf;
using testing::HasSubstr;
using tn::Array;

namespace {

Array ramp(std::vector<std::int64_t> shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  std::vector<double> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(0.1 + 0.01 * static_cast<double>(i));
  return tn::array<double>(v, shape);
}
constexpr std::int64_t f64 = 8;

TEST(SavedResiduals, ElementwiseWorkIsDoneAgainFromTheArguments) {
  const Array x = ramp({5, 5});
  const auto bytes = [&](auto f) { return tn::saved_residuals(f)(x).bytes(); };
  EXPECT_EQ(bytes([](Array x) { return tn::sum(tn::sin(tn::exp(x) * x)); }), 0);
  EXPECT_EQ(bytes([](Array x) { return tn::sum(tn::gelu(x)); }), 0);
  EXPECT_EQ(bytes([](Array x) { return tn::gelu(x, tn::Gelu::exact); }), 0);
  EXPECT_EQ(bytes([](Array x) { return tn::tanh(x); }), 0);
  EXPECT_EQ(bytes([](Array x) { return tn::sum(tn::tanh(x)); }), 0);
  EXPECT_EQ(bytes([](Array x) { return tn::sum(x * x); }), 0);
  EXPECT_EQ(bytes([](Array x) { return tn::sum(tn::slice_in_dim(tn::square(x), 0, 2, 0) * 3.0); }), 0);
  EXPECT_EQ(bytes([](Array x) { return tn::sum(tn::jit([](Array v) { return tn::exp(v) * v; })(x)); }), 0);
  EXPECT_EQ(bytes([](Array x) {
              return tn::cond(
                  tn::sum(x) > 0.0, [](Array v) { return tn::sum(tn::sin(v)); }, [](Array v) { return tn::sum(v * v); },
                  x);
            }),
            1);  // which branch was taken
  // A product with a constant keeps the constant alone, and that is captured.
  const Array c = ramp({5, 5});
  const tn::SavedResiduals scaled = tn::saved_residuals([&](Array x) { return tn::sum(x * c); })(x);
  EXPECT_EQ(scaled.bytes(), 0);
  ASSERT_EQ(scaled.all.size(), 1u);
  EXPECT_EQ(scaled.all[0].from, tn::SavedResidual::From::capture);
}

TEST(SavedResiduals, ReductionsAndProductsAreKept) {
  const Array x = ramp({4, 8});
  const auto bytes = [&](auto f) { return tn::saved_residuals(f)(x).bytes(); };
  EXPECT_LE(bytes([&](Array v) { return tn::sum(tn::softmax(v) * ramp({4, 8})); }),
            2 * 4 * f64);  // rows' maxima and sums
  EXPECT_LE(bytes([&](Array v) { return tn::softmax(v); }), 2 * 4 * f64);
  EXPECT_LE(bytes([&](Array v) { return tn::sum(tn::logsumexp(v, tn::Axes{1})); }), 2 * 4 * f64);
  EXPECT_LE(bytes([&](Array v) { return tn::sum(tn::standardize(v, 1) * ramp({4, 8})); }), 2 * 4 * f64);
  EXPECT_LE(bytes([&](Array v) { return tn::sum(tn::prod(v, tn::Axes{1})); }), 4 * f64);
  // Ties share: their number is kept too.
  EXPECT_EQ(bytes([&](Array v) { return tn::sum(tn::amax(v, tn::Axes{1})); }), 2 * 4 * f64);
  // Of two layers, one array between them: the activation or what it is made of, never both.
  const auto net = [](Array x, Array w, Array u) { return tn::sum(tn::matmul(tn::tanh(tn::matmul(x, w)), u)); };
  EXPECT_EQ((tn::saved_residuals<0, 1, 2>(net)(x, ramp({8, 6}), ramp({6, 3})).bytes()), 4 * 6 * f64);
  EXPECT_EQ((tn::saved_residuals<2>(net)(x, ramp({8, 6}), ramp({6, 3})).bytes()), 4 * 6 * f64);
  EXPECT_EQ((tn::saved_residuals<0>([](Array x, Array w) { return tn::matmul(x, w); })(x, ramp({8, 6})).bytes()), 0);
}

TEST(SavedResiduals, CarriesThatNoStepChangesAreNotStacked) {
  const auto f = [](Array weights) {
    return tn::while_loop([](std::tuple<Array, Array, Array> s) { return std::get<2>(s) < 50; },
                          [](std::tuple<Array, Array, Array> s) {
                            const auto& [w, y, i] = s;
                            return std::tuple(w, tn::sum(tn::sin(w * y)), i + 1);
                          },
                          std::tuple(weights, Array(0.5), Array(0)));
  };
  const auto last = [&](Array w) { return std::get<1>(f(w)); };
  EXPECT_LE(tn::saved_residuals(last)(ramp({100})).bytes(), 1000);  // of each step y, not its weights too: 40,000
}

TEST(SavedResiduals, LoopsStackWhatTheBodyCannotDoAgain) {
  const auto carried = [](Array c) {
    return tn::scan([](Array c, Array x) { return std::pair(tn::sin(c) * x, std::tuple<>()); }, c, ramp({10})).first;
  };
  EXPECT_EQ(tn::saved_residuals(carried)(Array(0.3)).bytes(), 10 * f64);
  // xs and ys are there anyway.
  const auto mapped = [](Array xs) { return tn::map([](Array x) { return tn::sin(tn::exp(x)); }, xs); };
  EXPECT_EQ(tn::saved_residuals(mapped)(ramp({10})).bytes(), 0);
  const auto stacked = [](Array c, Array xs) {
    return tn::scan(
               [](Array c, Array x) {
                 const Array next = tn::exp(c + x);
                 return std::pair(next, next);
               },
               c, xs)
        .second;
  };
  EXPECT_EQ((tn::saved_residuals<0, 1>(stacked)(Array(0.3), ramp({10})).bytes()), 0);  // ys is its own derivative
  // A carry that is stacked at the steps' ends is stacked at their starts but for the first.
  const auto recurrent = [](Array c, Array xs) {
    return tn::scan(
               [](Array c, Array x) {
                 const Array next = tn::sin(c) + x;
                 return std::pair(next, next);
               },
               c, xs)
        .second;
  };
  EXPECT_EQ((tn::saved_residuals<0, 1>(recurrent)(Array(0.3), ramp({10})).bytes()), 0);
  // The number of steps is the data's.
  const auto until = [](Array c) {
    return tn::while_loop([](Array c) { return c < 100.0; }, [](Array c) { return c * c + 1.0; }, c);
  };
  const tn::SavedResiduals listed = tn::saved_residuals(until)(Array(1.5));
  std::int64_t a_step = 0;
  for (const auto& r : listed.all) a_step += r.type.is_list() && r.type.element->dtype == tn::DType::f64 ? r.bytes : 0;
  EXPECT_EQ(a_step, f64);
  EXPECT_THAT(listed.text(), HasSubstr("list<f64[]>  8 bytes a step"));
}

TEST(SavedResiduals, ArraysThatAreUpdatedInPlacesAreKeptAsWhatChanges) {
  constexpr std::int64_t n = 100, steps = 7;
  const auto f = [](Array xs, bool whole) {
    const auto body = [&](std::pair<Array, Array> c, Array t) {
      const Array ys = whole ? c.second * c.first : c.second.at(t).set(tn::sin(c.first));
      return std::pair(std::pair(tn::sin(tn::sum(ys * xs)), ys), std::tuple<>());
    };
    return tn::scan(body, std::pair(Array(0.3), tn::cos(xs)), tn::iota(tn::DType::i64, {steps}, 0)).first.first;
  };
  const tn::SavedResiduals places = tn::saved_residuals([&](Array xs) { return f(xs, false); })(ramp({n}));
  // The last state; a row and its place a step; and two cosines.
  EXPECT_LE(places.bytes(), n * f64 + steps * (f64 + 8) + 2 * steps * f64);
  EXPECT_THAT(places.text(), HasSubstr("f64[7,100]  912 bytes  scatter, as what each step changes, at "));
  EXPECT_GE(tn::saved_residuals([&](Array xs) { return f(xs, true); })(ramp({n})).bytes(), steps * n * f64);
}

TEST(SavedResiduals, AsText) {
  const Array x = ramp({4, 8}), w = ramp({8, 6});
  const auto f = [&](Array x, std::vector<Array> ws) {
    const Array h = tn::matmul(x, ws[0]);
    return tn::sum(tn::matmul(h, ws[1]));
  };
  const std::string line = "residuals.cpp:" + std::to_string(__LINE__ - 3);
  std::ostringstream out;
  out << tn::saved_residuals<0, 1>(f)(x, std::vector<Array>{w, ramp({6, 2})});
  EXPECT_THAT(out.str(), AllOf(HasSubstr("192 bytes are kept for reverse mode, in 1 array\n"),
                               HasSubstr("  f64[4,6]  192 bytes  dot at "), HasSubstr(line),
                               HasSubstr("  f64[8,6]  argument 1, leaf [0]\n"), HasSubstr("  f64[4,8]  argument 0\n")));
  // Within a loop it is the line in the body.
  const auto g = [](Array w) {
    return tn::sum(tn::scan(
                       [&](Array h, Array x) {
                         const Array a = tn::matmul(h, w) + x;
                         return std::pair(tn::sin(a), std::tuple<>());
                       },
                       tn::zeros({8}, tn::DType::f64), ramp({3, 8}))
                       .first);
  };
  EXPECT_THAT(tn::saved_residuals(g)(ramp({8, 8})).text(), HasSubstr("residuals.cpp:" + std::to_string(__LINE__ - 8)));
}

// Bytes a step and in all, encodings, readers, reasons and what would keep less, each with its line.
TEST(SavedResiduals, InDetail) {
  const auto told = [](auto f, const auto&... args) {
    std::ostringstream out;
    tn::print_saved_residuals(f, out)(args...);
    return out.str();
  };
  const auto here = [](int back, int line) { return "residuals.cpp:" + std::to_string(line - back); };
  // Carries that each step needs: for a product with the other one, and a cosine.
  const int loop_line = __LINE__ + 3;
  const auto two = [](Array c) {
    return tn::sum(
        tn::scan([](std::pair<Array, Array> s,
                    Array x) { return std::pair(std::pair(tn::sin(s.first) + x, s.first * s.second), std::tuple<>()); },
                 std::pair(c, c + 1.0), ramp({100}))
            .first.second);
  };
  const std::string recurrent = told(two, ramp({5}));
  EXPECT_THAT(recurrent, HasSubstr("8000 bytes are kept for reverse mode, in 2 arrays\n"));
  EXPECT_THAT(recurrent, HasSubstr("  f64[100,5]  a carry of the loop at "));
  EXPECT_THAT(recurrent, HasSubstr("    4000 bytes, 40 a step of 100\n    for: "));
  EXPECT_THAT(recurrent, HasSubstr("kept: each step is made of the one before\n"));
  EXPECT_THAT(recurrent, HasSubstr("less: the option checkpoint = tn::every(10) of the loop at "));
  EXPECT_THAT(recurrent, HasSubstr(here(0, loop_line) + " keeps about 1600 bytes instead of 8000\n"));
  // A product, outside of loops, and arguments.
  const auto layers = [](Array x, Array w, Array u) { return tn::sum(tn::matmul(tn::matmul(x, w), u)); };
  std::ostringstream out;
  tn::print_saved_residuals<0, 1, 2>(layers, out)(ramp({4, 8}), ramp({8, 6}), ramp({6, 3}));
  EXPECT_THAT(out.str(), AllOf(HasSubstr("  f64[4,6]  dot at "), HasSubstr("    192 bytes\n    for: "),
                               HasSubstr("kept: dot is not computed again\n"),
                               HasSubstr("less: tn::checkpoint of the function that calls dot at "),
                               HasSubstr(" computes it again, from f64[4,8], f64[8,6]\n"),
                               HasSubstr("argument 1\n    for: dot"), HasSubstr("kept: it is there anyway\n")));
  // Data decide the number of steps.
  const std::string until = told(
      [](Array c) { return tn::while_loop([](Array c) { return c < 100.0; }, [](Array c) { return c * c + 1.0; }, c); },
      Array(1.5));
  EXPECT_THAT(until, HasSubstr("8 bytes a step, of as many steps as data count\n"));
  EXPECT_THAT(until, HasSubstr("less: the option checkpoints = n of the loop at "));
  EXPECT_THAT(until, HasSubstr(" keeps n carries of 8 bytes\n"));
  // What a checkpoint keeps.
  const std::string few = told(
      [](Array c) {
        return tn::while_loop([](Array c) { return c < 100.0; }, [](Array c) { return c * c + 1.0; }, c,
                              {.checkpoints = 3});
      },
      Array(1.5));
  EXPECT_THAT(few, AllOf(HasSubstr("kept: the steps behind it are run again from there\n"),
                         HasSubstr("less: fewer checkpoints of the loop at ")));
  // An array that is updated in places.
  const std::string places = told(
      [](Array xs) {
        const auto body = [&](std::pair<Array, Array> c, Array t) {
          const Array ys = c.second.at(t).set(tn::sin(c.first));
          return std::pair(std::pair(tn::sum(ys * xs), ys), std::tuple<>());
        };
        return tn::scan(body, std::pair(Array(0.3), tn::cos(xs)), tn::iota(tn::DType::i64, {7}, 0)).first.first;
      },
      ramp({100}));
  EXPECT_THAT(places, HasSubstr(", as the last one and what each step changes\n"));
}

}  // namespace
