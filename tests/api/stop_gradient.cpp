// Derivatives of any order treat what is stopped as a constant: those of f(y, x) in x alone, with y held at x.
#include <gtest/gtest.h>

#include <functional>

#include "tenon/tenon.h"
#include "tests/api/values.h"

namespace tn = tenon;
using tn::Array;
using tn::expect_close;

namespace {

using ArrayFunction = std::function<Array(Array)>;
using OfBoth = std::function<Array(Array y, Array x)>;

// Scalars: all orders of modes of the second derivative, and the third.
std::vector<Array> derivatives(const ArrayFunction& f, const Array& x) {
  return {tn::grad(f)(x),
          tn::grad(tn::grad(f))(x),
          tn::jacfwd(tn::grad(f))(x),
          tn::jacfwd(tn::jacfwd(f))(x),
          tn::grad(tn::jacfwd(f))(x),
          tn::jit(tn::hessian(f))(x),
          tn::grad(tn::grad(tn::grad(f)))(x)};
}

void expect_stopped(const OfBoth& f, const char* what) {
  const Array at(1.7);
  const Array held(1.7);
  const auto got = derivatives([&](Array x) { return f(tn::stop_gradient(x), x); }, at);
  const auto want = derivatives([&](Array x) { return f(held, x); }, at);
  for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], what);
}

TEST(StopGradient, HoldsInDerivativesOfAnyOrder) {
  expect_stopped([](Array y, Array x) { return y * x; }, "y x");
  expect_stopped([](Array y, Array x) { return y * x * x; }, "y x x");
  expect_stopped([](Array y, Array x) { return y / (x * x + 1.0); }, "y / (x x + 1)");
  expect_stopped([](Array y, Array x) { return tn::sin(y * x); }, "sin(y x)");
  expect_stopped([](Array y, Array x) { return tn::pow(x, y); }, "x^y");
  expect_stopped([](Array y, Array x) { return tn::pow(y, x); }, "y^x");
  expect_stopped([](Array y, Array x) { return tn::atan2(y, x); }, "atan2(y, x)");
}

TEST(StopGradient, HoldsOfWhatIsMadeOfTheVariable) {
  const auto straight_through = [](Array x) {
    const Array y = x + tn::stop_gradient(tn::round(x) - x);
    return y * y * y;
  };
  expect_close(tn::grad(tn::grad(ArrayFunction(straight_through)))(Array(1.7)), Array(12.0),
               "straight-through estimator");
}

// A function of x that calls f inside a region, which captures or is given x.
using Region = std::function<Array(const ArrayFunction& f, const Array& x)>;

TEST(StopGradient, HoldsInsideRegions) {
  const std::vector<std::pair<const char*, Region>> regions{
      {"checkpoint", [](const ArrayFunction& f, const Array& x) { return tn::checkpoint(f)(x); }},
      {"jit", [](const ArrayFunction& f, const Array& x) { return tn::jit(f)(x); }},
      {"vmap", [](const ArrayFunction& f, const Array& x) { return tn::sum(tn::vmap(f)(tn::reshape(x, {1}))); }},
      {"cond",
       [](const ArrayFunction& f, const Array& x) { return tn::cond(x > 1.0, f, [](Array v) { return v; }, x); }},
      {"scan",
       [](const ArrayFunction& f, const Array& x) {
         const auto step = [&](Array sum, Array scale) { return std::pair(sum + scale * f(x), sum); };
         return tn::scan(step, Array(0.0), tn::numbers({3}, 0.5)).first;
       }},
      {"custom_jvp",
       [](const ArrayFunction& f, const Array& x) {
         const auto rule = [&](Array v, Array dv) { return tn::jvp(f, std::tuple(v), std::tuple(dv)); };
         return tn::custom_jvp(f, rule)(x);
       }},
  };
  const OfBoth f = [](Array y, Array x) { return tn::sin(y * x) + y * x * x; };
  const Array at(1.7), held(1.7);
  for (const auto& [name, region] : regions) {
    const auto inside = [&](const ArrayFunction& g) { return [&, g](Array x) { return region(g, x); }; };
    const auto got = derivatives(inside([&](Array x) { return f(tn::stop_gradient(x), x); }), at);
    const auto want = derivatives(inside([&](Array x) { return f(held, x); }), at);
    for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], name);
  }
}

}  // namespace
