// Reductions of long columns, which code takes some rows at a time: of every dtype, and several at once.
#include <gtest/gtest.h>

#include "tenon/transform/transforms.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

class Columns : public testing::TestWithParam<DType> {};

TEST_P(Columns, SeveralAtOnce) {
  const DType dtype = GetParam();
  const bool ordered = !is_complex(dtype);
  const auto reduced = [&](const Array& x) {
    Arrays all;
    if (dtype != DType::bool_) all = {sum(x, 0), sum(x * x, 0), prod(x, 0)};
    if (ordered && dtype != DType::bool_) all.insert(all.end(), {amax(x, 0), amin(x * x, 0)});
    if (is_inexact(dtype) && !is_narrow(dtype)) all.push_back(var(x, 0));
    all.push_back(any(x != x(0), 0));
    all.push_back(tenon::all(x == x(0), 0));
    all.push_back(sum(convert(x != x(1), DType::i32), 0));
    return all;
  };
  for (const auto& [rows, columns] : {std::pair(100, 700), {23, 700}, {25, 257}, {300, 64}, {1000, 1025}}) {
    SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(columns));
    const Shape shape{rows, columns};
    const Array x = values_of(shape, dtype, 0);
    const ProgramRef p = inline_calls(trace(reduced)(x));
    const std::vector<Value> want = evaluate(*p, {}, std::vector<Value>{x.value()});
    for (const Sizes sizes : {Sizes::fixed, Sizes::symbolic}) {
      const Arrays got = jit(reduced, {.sizes = sizes})(x);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const Array right(std::get<Buffer>(want[i]));
        const double tolerance = is_narrow(dtype) ? 0.02 : dtype == DType::f32 || dtype == DType::c64 ? 1e-4 : 1e-11;
        const double largest = amax(abs(convert(right, DType::c128))).item<double>();
        EXPECT_TRUE(allclose(convert(got[i], DType::c128), convert(right, DType::c128), tolerance, tolerance * largest))
            << i << got[i] << right;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Of, Columns,
                         testing::Values(DType::f64, DType::f32, DType::f16, DType::bf16, DType::c128, DType::c64,
                                         DType::i64, DType::i32, DType::i16, DType::i8, DType::u8, DType::u64,
                                         DType::bool_),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace tenon
