// A Program and what a pass made of it, on the same inputs: the same results, to the bit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "tenon/eval/evaluate.h"
#include "tenon/ir/print.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/structure/structure.h"
#include "tenon/tenon.h"

namespace tenon {

// Numbers of both signs for all inputs of a Program.
inline Buffer waves(const Type& type) {
  Buffer b = Buffer::allocate(DType::f64, type.shape.sizes());
  for (std::int64_t i = 0; i < b.elements(); ++i) b.as<double>()[i] = std::sin(1.3 * static_cast<double>(i) + 0.4);
  return std::get<Buffer>(convert(Array(b), type.dtype).value());
}
inline std::vector<Value> waves_for(const Program& p) {
  std::vector<Value> in;
  for (const Type& t : p.input_types()) in.push_back(waves(t));
  return in;
}

// Values of any dtype, of both signs where it has them.
inline Array values_of(const Shape& shape, DType dtype, double phase) {
  const Array x = reshape(sin(arange(shape.elements(), DType::f64) * 1.3 + phase), shape);
  if (dtype == DType::bool_) return x > 0.0;
  if (is_integer(dtype)) return convert(round(is_unsigned_integer(dtype) ? abs(x) * 9.0 : x * 9.0), dtype);
  if (is_complex(dtype)) return convert(complex(x, cos(x * 2.0 + phase)), dtype);
  return convert(x, dtype);
}

// A function of two arrays whose results are the leaves of another one's.
template <class F>
auto leaves_of(const F& f) {
  return [f](const Array& x, const Array& y) {
    auto own = f;
    return tree::leaves(own(x, y));
  };
}

// Names a test by its parameters: a case with a name, and a dtype.
inline constexpr auto case_and_dtype = [](const auto& info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::string(name(std::get<1>(info.param)));
};

// The most elements of what loops outside of regions make, and what is made of that, but for views.
inline std::int64_t most_elements(const Program& p) {
  std::int64_t most = 0;
  std::vector<bool> of_loop(p.vars(), false);
  for (const Eqn& eqn : p.eqns()) {
    if (eqn.op != &loop_op() && std::ranges::none_of(eqn.in, [&](Var v) { return of_loop[v]; })) continue;
    const bool view = eqn.op == &reshape_op() || eqn.op == &broadcast_op() || eqn.op == &transpose_op();
    for (const Var v : eqn.out) {
      of_loop[v] = true;
      if (p.type(v).is_array() && !view) most = std::max(most, p.type(v).shape.elements().value());
    }
  }
  return most;
}

// The step of a scan whose state is sin(state + row), and what it stacks.
inline std::pair<Array, Array> sine_step(const Array& c, const Array& row) {
  const Array next = sin(c + row);
  return {next, next};
}
inline Array stacked_sines(const Array& x) { return scan(sine_step, zeros_like(x(0)), x).second; }

inline void expect_same(const ProgramRef& p, const ProgramRef& q, const std::vector<Value>& in) {
  const auto want = evaluate(*p, {}, in), got = evaluate(*q, {}, in);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(array_equal(Array(std::get<Buffer>(got[i])), Array(std::get<Buffer>(want[i])))) << q;
}

// What native code gave of operands of a dtype, beside what the evaluator gave.
inline void expect_native(const Arrays& got, const std::vector<Value>& want, DType dtype) {
  const double tolerance = is_narrow(dtype) ? 0.05 : dtype == DType::f32 || dtype == DType::c64 ? 1e-4 : 1e-11;
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Array& a = got[i];
    const Array b(std::get<Buffer>(want[i]));
    if (is_integer(dtype))
      EXPECT_TRUE(array_equal(a, b)) << a << b;
    else
      EXPECT_TRUE(allclose(a, b, tolerance, tolerance * 100)) << a << b;
  }
}

}  // namespace tenon
