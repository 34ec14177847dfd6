#include "tests/api/agreement.h"

#include "tests/api/values.h"
#include "tests/by_oracle.h"

namespace tenon {

void expect_agreement(const std::function<Array(Array)>& f, const Array& x) {
  const Array plain = f(x);
  expect_close(jit(f)(x), plain, "compiled");
  {
    const ByOracle oracle;
    expect_close(f(x), plain, "evaluated");
  }
  const auto total = [&](const Array& a) { return sum(sin(f(a))); };
  const Array slope = grad(total)(x);
  std::vector<std::int64_t> sizes;
  for (const Dim& d : x.shape()) sizes.push_back(d.value());
  const Array direction = numbers(sizes, 0.3);
  expect_close(jit(grad(total))(x), slope, "compiled gradient");
  {
    const ByOracle oracle;
    expect_close(grad(total)(x), slope, "evaluated gradient");
  }
  constexpr double h = 1e-5;
  const auto difference = [&](const auto& g) { return (g(x + h * direction) - g(x - h * direction)) / (2 * h); };
  expect_close(sum(slope * direction), difference(total), "gradient beside differences", 1e-7);
  const auto along = [&](const Array& a) { return jvp(total, std::tuple(a), std::tuple(direction)).second; };
  expect_close(along(x), difference(total), "jvp beside differences", 1e-7);
  const Array curvature = difference(grad(total));
  expect_close(jit([&](const Array& a) { return hvp(total, a, direction); })(x), curvature, "forward over reverse",
               1e-6);
  expect_close(jit(grad(along))(x), curvature, "reverse over forward", 1e-6);
  const auto slope_along = [&](const Array& a) { return sum(grad(total)(a) * direction); };
  expect_close(jit(grad(slope_along))(x), curvature, "reverse over reverse", 1e-6);
  const Array lanes = stack({x, 1.5 * x, -x});
  const Array batched = jit(vmap(f))(lanes), slopes = jit(vmap(grad(total)))(lanes);
  const auto slope_of_lanes = grad([&](const Array& all) { return sum(vmap(total)(all)); });
  const Array together = jit(slope_of_lanes)(lanes);
  for (int l = 0; l < 3; ++l) {
    SCOPED_TRACE(testing::Message() << "lane " << l);
    expect_close(batched(l), f(lanes(l)), "batched");
    expect_close(slopes(l), grad(total)(lanes(l)), "gradients batched");
    expect_close(together(l), slopes(l), "gradient of the batched");
  }
}

}  // namespace tenon
