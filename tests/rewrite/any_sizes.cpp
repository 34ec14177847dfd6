// What passes do to loops whose sizes vary: as to those of sizes that are numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"
#include "tests/peak_memory.h"

namespace tenon {
namespace {

Array ramp(std::int64_t rows, std::int64_t columns) {
  return reshape(0.1 + arange(rows * columns, DType::f64) * (0.9 / static_cast<double>(rows * columns)),
                 {rows, columns});
}

// Each step reads all of a buffer and sets one row of it.
Array filled(const Array& xs, const Array& c0) {
  using State = std::tuple<Array, Array, Array>;
  const auto step = [&](const State& s, std::tuple<>) {
    const auto& [i, c, ys] = s;
    const Array next = sin(mean(einsum("ta,tb->ab", ys, xs), {-1}) + c) + 0.1;
    return std::pair(State(i + 1, next, ys.at(i).set(next)), std::tuple<>());
  };
  const auto [i, c, ys] = scan(step, State(Array(0), c0, zeros_like(xs)), std::tuple<>(), {.length = xs.dim(0)}).first;
  return sum(c * ys);
}

TEST(AnySizes, TheGradientOfAFilledBufferKeepsWhatStepsChange) {
  const auto f = value_and_grad<0, 1>(filled);
  const auto compiled = jit(f);
  const Array c0 = full({6}, Array(0.5));
  for (const std::int64_t rows : {50, 200, 400}) {
    const Array xs = ramp(rows, 6);
    compiled(xs, c0);
    EXPECT_LT(peak_bytes_of([&] { compiled(xs, c0); }), 20 * rows * 6 * 8) << rows;
    const auto [value, slopes] = compiled(xs, c0);
    const auto [plain, plain_slopes] = jit(f, {.sizes = Sizes::fixed})(xs, c0);
    EXPECT_NEAR(value.item<double>(), plain.item<double>(), 1e-9);
    EXPECT_LT(amax(abs(std::get<0>(slopes) - std::get<0>(plain_slopes))).item<double>(),
              1e-9);  // steps amplify last bits
  }
}

}  // namespace
}  // namespace tenon
