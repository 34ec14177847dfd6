// Loops over arrays that carry, stack or read a few numbers beside them: their rows are divided among the threads, and
// numbers and rows are what the evaluator finds.
#include <gtest/gtest.h>

#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

constexpr std::int64_t timed_steps = 40, timed_rows = 64, timed_width = 64;

Array moved(const Array& x, const Array& rate) { return x + 0.1 * sin(x * rate); }

struct Timed {
  const char* name;
  std::function<std::vector<Array>(const Array& x, const Array& rates)> f;  // rates: [steps]
};
const Timed timed[]{
    {"ATime",
     [](const Array& x, const Array&) {
       const auto step = [](const std::pair<Array, Array>& c, const Array&) {
         return std::pair(std::pair(c.first * 1.001 + 0.01, moved(c.second, c.first)), std::tuple<>());
       };
       return std::vector{scan(step, std::pair(ones({}, x.dtype()), x), arange(timed_steps)).first.second};
     }},
    {"TimesThatAreStacked",
     [](const Array& x, const Array& rates) {
       const auto step = [](const std::pair<Array, Array>& c, const Array& rate) {
         return std::pair(std::pair(c.first + rate, moved(c.second, c.first)), c.first * rate);
       };
       const auto [last, times] = scan(step, std::pair(zeros({}, x.dtype()), x), rates);
       return std::vector{last.second, last.first, times};
     }},
    {"TheLastTimeReadBehindTheLoop",
     [](const Array& x, const Array& rates) {
       const auto step = [](const std::pair<Array, Array>& c, const Array& rate) {
         return std::pair(std::pair(c.first + rate, moved(c.second, c.first)), std::tuple<>());
       };
       const auto last = scan(step, std::pair(rates(0), x), rates).first;
       return std::vector{last.second * last.first, sum(cos(x) * last.first)};
     }},
    {"TwoPowers",
     [](const Array& x, const Array&) {
       const auto step = [](const std::vector<Array>& c, const Array&) {
         const Array g = 2 * c[2] + cos(c[2]), a = c[3] * 0.9, b = c[4] * 0.99;
         const Array m = 0.9 * c[0] + 0.1 * g, v = 0.99 * c[1] + 0.01 * square(g);
         return std::pair(std::vector{m, v, c[2] - 0.01 * (m / (1 - a)) / (sqrt(v / (1 - b)) + 1e-2), a, b},
                          std::tuple<>());
       };
       const Array one = ones({}, x.dtype());
       const std::vector<Array> first{zeros_like(x), zeros_like(x), x, one, one};
       return std::vector{scan(step, first, arange(timed_steps)).first[2]};
     }},
    {"AShortVector",
     [](const Array& x, const Array& rates) {
       const auto step = [](const std::pair<Array, Array>& c, const Array& rate) {
         const Array turned = c.first * 0.9 + flip(c.first, 0) * rate;
         return std::pair(std::pair(turned, moved(c.second, sum(c.first) + turned(1))), turned);
       };
       const auto [last, all] = scan(step, std::pair(rates(Slice(0, 3)), x), rates);
       return std::vector{last.second, last.first, all};
     }},
    {"LoopsInEachStep",
     [](const Array& x, const Array& rates) {
       const auto inner = [](const std::pair<Array, Array>& c, const Array& rate) {
         return std::pair(std::pair(c.first * 0.9 + rate, moved(c.second, c.first)), c.first);
       };
       const auto step = [&](const std::pair<Array, Array>& c, const Array& rate) {
         auto [next, times] = scan(inner, c, stack({rate, rate * 2, rate * 3}));
         return std::pair(next, times);
       };
       const auto [last, times] = scan(step, std::pair(rates(1), x), rates);
       return std::vector{last.second, last.first, times};
     }},
};

std::vector<Array> arguments(DType d) {
  const Array x = convert(sin(arange(timed_rows * timed_width, DType::f64)), d);
  return {reshape(x, {timed_rows, timed_width}), convert(0.01 * cos(arange(timed_steps, DType::f64)), d)};
}

class NumbersOfSteps : public testing::TestWithParam<std::tuple<Timed, DType>> {};
TEST_P(NumbersOfSteps, KeepNoLoopFromItsBlocks) {
  const auto& [each, dtype] = GetParam();
  const std::vector<Array> in = arguments(dtype);
  const auto& f = each.f;
  const auto total = [&](const Array& x, const Array& rates) {
    Array all = zeros({}, DType::f32);
    for (const Array& y : f(x, rates)) all = all + sum(convert(square(y), DType::f32));
    return all;
  };
  const auto gradient = [&](const Array& x, const Array& rates) {
    const auto [dx, dr] = grad<0, 1>(total)(x, rates);
    return std::vector{dx, dr};
  };
  const std::vector<Value> values{in[0].value(), in[1].value()};
  expect_native(jit(f)(in[0], in[1]), evaluate(*inline_calls(trace(f)(in[0], in[1])), {}, values), dtype);
  if (is_narrow(dtype)) return;
  const ProgramRef p = inline_calls(trace(gradient)(in[0], in[1]));
  expect_native(jit(gradient)(in[0], in[1]), evaluate(*p, {}, values), dtype);
  if (dtype != DType::f32) return;
  EXPECT_NE(explain(f)(in[0], in[1]).find("blocks of rows, divided among the threads:"), std::string::npos)
      << explain(f)(in[0], in[1]);
}
INSTANTIATE_TEST_SUITE_P(All, NumbersOfSteps,
                         testing::Combine(testing::ValuesIn(timed),
                                          testing::Values(DType::f32, DType::f64, DType::bf16)),
                         case_and_dtype);

}  // namespace
}  // namespace tenon
