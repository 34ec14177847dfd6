// Loops that count instead of reading numbers, as the evaluator runs them.
#include "tenon/rewrite/count_steps.h"

#include <gtest/gtest.h>

#include "../by_oracle.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

// The result of the evaluator, of loops that count.
template <class F>
Array counted(const F& f, const Array& x) {
  const ProgramRef program = count_steps(trace(f)(x));
  return Array(std::get<Buffer>(evaluate(*program, {}, std::vector<Value>{x.to_buffer()})[0]));
}

// c·x + (what is read of xs), and all of these.
Array read(const Array& x, const Array& xs, bool reverse) {
  const auto [end, all] = scan(
      [&](const Array& c, const Array& n) {
        const Array next = c * x + n;
        return std::pair(next, next);
      },
      x, xs, {.reverse = reverse});
  return end + sum(all);
}
std::size_t arrays_of_numbers(const ProgramRef& program) {
  std::size_t count = 0;
  for (const Eqn& eqn : program->eqns()) count += eqn.op->name == "iota" ? 1 : 0;
  return count;
}

TEST(CountSteps, MakesTheNumbersThatArraysHold) {
  const Array x(std::complex<double>(0.5, 0.25));
  const std::vector<std::function<Array(const Array& x)>> numbers{
      [](const Array&) { return arange(7); },
      [](const Array&) { return arange(7) * 3 - 2; },
      [](const Array& x) { return real(x) * convert(arange(7), DType::f64) + imag(x); },
      [](const Array&) { return convert(arange(7, DType::i32), DType::c128) * arange(7, DType::u8); },
      [](const Array&) { return arange(7) % 3 < 2; },
  };
  for (const auto& xs : numbers)
    for (const bool reverse : {false, true}) {
      const auto f = [&](const Array& x) { return read(x, xs(x), reverse); };
      EXPECT_EQ(arrays_of_numbers(count_steps(trace(f)(x))), 0U);
      EXPECT_TRUE(allclose(counted(f, x), f(x), 1e-12));
    }
}

TEST(CountSteps, InLoopsAndDerivatives) {
  const Array x(std::complex<double>(0.5, 0.25));
  const auto f = [](const Array& x) {
    return fori_loop(
        0, 4,
        [&](const Array& i, const Array& c) {
          return fori_loop(1, 5, [&](const Array& j, const Array& c) { return c * 0.7 + x * j * 0.1 + i; }, c);
        },
        x);
  };
  EXPECT_TRUE(allclose(counted(f, x), f(x), 1e-12));
  const auto g = grad([&](const Array& x) { return real(f(x) * f(x)); });
  EXPECT_TRUE(allclose(counted(g, x), g(x), 1e-12));
}

TEST(CountSteps, ArraysThatOthersReadStay) {
  const Array x(std::complex<double>(0.5, 0.25));
  const auto f = [](const Array& x) {
    const Array n = arange(7);
    return read(x, n, false) + sum(n);
  };
  EXPECT_EQ(arrays_of_numbers(count_steps(trace(f)(x))), 1U);
  EXPECT_TRUE(allclose(counted(f, x), f(x), 1e-12));
}

// As many steps as no memory holds numbers for.
TEST(CountSteps, HoldNoNumberAStep) {
  const auto f = [](const Array& x) {
    return scan([](const Array& c, const Array& n) { return std::pair(c + n, std::tuple<>()); }, x,
                arange(std::int64_t(1) << 40))
        .first;
  };
  const ProgramRef program = count_steps(trace(f)(Array(std::complex<double>(1, 1))));
  for (Var v = 0; v < program->vars(); ++v) EXPECT_EQ(program->type(v).rank(), 0U);
}

}  // namespace
}  // namespace tenon
