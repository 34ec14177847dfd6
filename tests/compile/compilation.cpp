// Compilations: what they say of Programs with native code and with sizes that vary, what checks them, and units.
#include "tenon/compile/compilation.h"

#include <gtest/gtest.h>

#include <functional>

#include "tenon/compile/executable.h"
#include "tenon/compile/islands.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

ProgramRef traced(const std::function<Array(const Array&)>& f, const Type& type) {
  return trace_types([&](std::span<const Array> in) { return Arrays{f(in[0])}; }, std::vector{type}, {false}, "a test")
      .program;
}
Type vector_of(Dim n) { return Type::array(DType::f32, Shape({n})); }

TEST(Compilation, OfNativeCode) {
  const Compilation c = compilation_of(traced([](const Array& x) { return sin(x) * x; }, vector_of(1000)));
  EXPECT_TRUE(c.native());
  EXPECT_FALSE(c.for_each_size());
  EXPECT_EQ(c.not_native, "");
  EXPECT_EQ(c.planned->function.arguments, 2u);
  EXPECT_NO_THROW(require_native(c));
}

TEST(Compilation, OfAllSizes) {
  const Dim n = Dim::variable(fresh_size());
  const Compilation c = compilation_of(traced([](const Array& x) { return sin(x) * x; }, vector_of(n)));
  EXPECT_TRUE(c.native());
  EXPECT_FALSE(c.for_each_size());
  EXPECT_EQ(c.planned->function.sizes, 1u);
}

// The executable is made of the plan that was checked, and is the one that compile() finds later.
TEST(Compilation, IsCheckedBeforeItIsCompiled) {
  const ProgramRef program = traced([](const Array& x) { return sin(x) * 3.f + 0.625f; }, vector_of(77));
  int checks = 0;
  const auto refuse = [&](const Compilation&) {
    ++checks;
    throw CompileError("refused");
  };
  EXPECT_THROW(compile(program, {}, refuse), CompileError);
  const auto made = compile(program, {}, [&](const Compilation& c) {
    ++checks;
    EXPECT_EQ(c.program, program);
    EXPECT_TRUE(c.native());
  });
  EXPECT_EQ(compile(program), made);
  EXPECT_THROW(compile(program, {}, refuse), CompileError);
  EXPECT_EQ(checks, 3);
}

// Functions that are compiled by themselves, several of them and one within another, on all cores: as by the evaluator.
TEST(Compilation, UnitsCompileSideBySide) {
  const auto before = threads();
  set_threads(4);
  const auto inner = noinline([](const Array& x) { return sin(x) * 0.25f; });
  const auto middle = noinline([&](const Array& x) { return inner(x) + cos(inner(x * 2.f)); });
  const auto other = noinline([](const Array& x) { return exp(x) - 0.75f; });
  const auto f = [&](const Array& x) {
    Array y = x;
    for (int i = 0; i < 3; ++i) y = middle(y) * 0.5f + other(y) * 0.125f + inner(y);
    return y;
  };
  const Array x = arange(50, DType::f32) / 50.f;
  const Array got = jit(f)(x);
  set_threads(before);
  EXPECT_TRUE(all(abs(got - f(x)) < 1e-5f).item<bool>());
}

}  // namespace
}  // namespace tenon
