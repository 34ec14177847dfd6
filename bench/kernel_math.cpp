// Functions of vectors as the code generator inlines them: nanoseconds an element over 4096 values in L1, one thread,
// beside libm's scalar loop. bench/limits/limits.h holds hand-written twins of exp, log, tanh, sin.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "tenon/compile/native/codegen.h"

namespace {

using namespace tenon;
using kernel::Expr;
using kernel::Unary;

constexpr std::int64_t count = 4096;

template <class T>
void measure(Unary op, T (*library)(T), double low, double high) {
  const DType dtype = sizeof(T) == 4 ? DType::f32 : DType::f64;
  kernel::Function f{.name = "bench", .arguments = 2, .vars = 1};
  for (std::uint32_t i = 0; i < 2; ++i)
    f.slots.push_back({.dtype = dtype, .elements = count, .place = kernel::Slot::Place::argument, .argument = i});
  const Expr i = kernel::variable(0);
  f.body.push_back(kernel::Nest{
      .vars = {0},
      .sizes = {count},
      .stores = {{.slot = 1, .offset = i, .value = kernel::unary(op, kernel::load(0, dtype, i)), .condition = {}}}});
  std::vector<T> x(count), y(count);
  for (std::int64_t k = 0; k < count; ++k) x[k] = static_cast<T>(low + (high - low) * (k * 769 % count) / count);
  void* arguments[] = {x.data(), y.data()};
  const auto code = compile_native(f);
  const std::string which = "math " + std::string(kernel::name(op)) + (sizeof(T) == 4 ? " f32" : " f64");
  bench::emit(which, "inlined",
              bench::median_seconds([&] { code->entry(arguments, nullptr, &tenon::never_cancelled); }) / count * 1e9,
              "ns");
  bench::emit(which, "libm",
              bench::median_seconds([&] {
                for (std::int64_t k = 0; k < count; ++k) y[k] = library(x[k]);
                bench::keep(y[0]);
              }) / count *
                  1e9,
              "ns");
}

void both(Unary op, float (*f32)(float), double (*f64)(double), double low, double high) {
  measure<float>(op, f32, low, high);
  measure<double>(op, f64, low, high);
}

}  // namespace

int main() {
  both(Unary::exp, expf, exp, -10, 10);
  both(Unary::expm1, expm1f, expm1, -3, 3);
  both(Unary::log, logf, log, 0.01, 100);
  both(Unary::log1p, log1pf, log1p, -0.9, 10);
  both(Unary::sin, sinf, sin, -10, 10);
  both(Unary::cos, cosf, cos, -10, 10);
  both(Unary::tan, tanf, tan, -10, 10);
  both(Unary::tanh, tanhf, tanh, -5, 5);
  both(Unary::sinh, sinhf, sinh, -5, 5);
  both(Unary::cosh, coshf, cosh, -5, 5);
  both(Unary::asin, asinf, asin, -1, 1);
  both(Unary::acos, acosf, acos, -1, 1);
  both(Unary::atan, atanf, atan, -5, 5);
  both(Unary::erf, erff, erf, -3, 3);
  both(Unary::erfc, erfcf, erfc, -3, 3);
}
