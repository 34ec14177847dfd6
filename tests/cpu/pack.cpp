// Scalars that a loop computes alike, as lanes of one array: against plain loops over doubles.
#include <gtest/gtest.h>

#include <functional>

#include "tenon/compile/pipeline.h"
#include "tenon/compile/plan/plan.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using Scalars = std::vector<Array>;
using Numbers = std::vector<double>;

template <class T>
using Step = std::function<std::vector<T>(const std::vector<T>&)>;

// Five steps of a body, written once for numbers and once for arrays.
template <class Body>
void expect_same(std::size_t n, Body body, DType dtype = DType::f64) {
  Numbers expected;
  Scalars start;
  for (std::size_t k = 0; k < n; ++k) {
    expected.push_back(0.1 + 0.03 * static_cast<double>(k));
    start.push_back(convert(Array(expected.back()), dtype));
  }
  const auto run = [&](const Scalars& s) {
    const auto step = [&](const Scalars& c, std::tuple<>) { return std::pair(body(c), std::tuple<>()); };
    return scan(step, s, std::tuple<>(), {.length = Dim(5)}).first;
  };
  for (int i = 0; i < 5; ++i) expected = body(expected);
  const Scalars got = jit(run)(start);
  for (std::size_t k = 0; k < n; ++k)
    EXPECT_NEAR(convert(got[k], DType::f64).item<double>(), expected[k], dtype == DType::f64 ? 1e-13 : 1e-5)
        << "scalar " << k << " of " << n;
}

std::string plan_text(std::size_t n) {
  Scalars start(n, Array(1.f));
  const auto run = [](const Scalars& s) {
    const auto step = [](const Scalars& c, std::tuple<>) {
      Scalars next;
      for (std::size_t k = 0; k < c.size(); ++k) next.push_back(c[k] * 0.5 + c[(k + 1) % c.size()]);
      return std::pair(next, std::tuple<>());
    };
    return scan(step, s, std::tuple<>(), {.length = Dim(5)}).first;
  };
  return kernel::print(plan(*run_passes(compile_passes(), trace(run)(start))).function);
}

TEST(Pack, ManyScalarsAreOneArray) {
  EXPECT_NE(plan_text(60).find("[60] local"), std::string::npos) << plan_text(60);
  EXPECT_NE(plan_text(60).find("each [i"), std::string::npos);
}
TEST(Pack, FewStayScalars) { EXPECT_EQ(plan_text(3).find("[3] local"), std::string::npos) << plan_text(3); }

TEST(Pack, Rotations) {
  for (const std::size_t n : {4, 7, 16, 17, 60, 64, 65, 130})
    for (const DType dtype : {DType::f32, DType::f64})
      expect_same(
          n,
          []<class T>(const std::vector<T>& c) {
            std::vector<T> next;
            for (std::size_t k = 0; k < c.size(); ++k) next.push_back(c[k] * 0.75 + c[(k + 3) % c.size()] * 0.25);
            return next;
          },
          dtype);
}

TEST(Pack, OperandsInAnyOrder) {
  expect_same(20, []<class T>(const std::vector<T>& c) {
    std::vector<T> next;
    for (std::size_t k = 0; k < c.size(); ++k)
      next.push_back(k % 2 == 0 ? c[k] * 0.75 + c[(7 * k) % c.size()] * 0.25
                                : 0.25 * c[(7 * k) % c.size()] + c[k] * 0.75);
    return next;
  });
}

TEST(Pack, SeveralFormsThatReadEachOther) {
  expect_same(24, []<class T>(const std::vector<T>& c) {
    std::vector<T> next;
    for (std::size_t k = 0; k < c.size(); ++k)
      next.push_back(k < 10 ? c[k] * 0.5 - c[k + 10] * c[0] : k < 20 ? c[k] * c[k - 10] : c[k] + 0.125);
    return next;
  });
}

TEST(Pack, ConstantsThatDiffer) {
  expect_same(12, []<class T>(const std::vector<T>& c) {
    std::vector<T> next;
    for (std::size_t k = 0; k < c.size(); ++k) next.push_back(c[k] * (k % 3 == 0 ? 0.5 : 0.25) + c[11 - k] * 0.125);
    return next;
  });
}

TEST(Pack, GradientsOfPackedLoops) {
  const std::size_t n = 30;
  const auto loss = [](const Scalars& s) {
    const auto step = [](const Scalars& c, std::tuple<>) {
      Scalars next;
      for (std::size_t k = 0; k < c.size(); ++k) next.push_back(sin(c[k]) * 0.5 + c[(k + 1) % c.size()] * c[k]);
      return std::pair(next, std::tuple<>());
    };
    const Scalars end = scan(step, s, std::tuple<>(), {.length = Dim(4)}).first;
    Array sum = end[0];
    for (std::size_t k = 1; k < end.size(); ++k) sum = sum + end[k] * static_cast<double>(k);
    return sum;
  };
  Scalars start;
  for (std::size_t k = 0; k < n; ++k) start.push_back(Array(0.1 + 0.01 * static_cast<double>(k)));
  const Scalars slopes = jit(grad(loss))(start);
  for (const std::size_t k : {0, 1, 16, 29}) {
    const double h = 1e-6;
    Scalars up = start, down = start;
    up[k] = start[k] + h, down[k] = start[k] - h;
    EXPECT_NEAR(slopes[k].item<double>(), (loss(up).item<double>() - loss(down).item<double>()) / (2 * h), 1e-7);
  }
}

}  // namespace
}  // namespace tenon
