// Reductions of what a mask chooses: which become reductions under the mask, and that they give the same to the bit.
#include "tenon/rewrite/mask_reductions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/rewrite/share_calls.h"
#include "tenon/tenon.h"
#include "tests/rewrite/same.h"

namespace tenon {
namespace {

using testing::HasSubstr;
using testing::Not;

const Array elements = {2.0, -1.0, 0.0, 4.0, 8.0, -16.0}, some = {true, false, true, true, false, true};
const Array none = {false, false, false, false, false, false};

template <class F>
std::string rewritten_text(F f) {
  const ProgramRef p = share_calls(trace(f)(elements, some)), q = mask_reductions(p);
  for (const Array& mask : {some, none, !none}) expect_same(p, q, {elements.to_buffer(), mask.to_buffer()});
  return print(*q);
}

TEST(MaskReductions, TakeThePlaceOfWhatIsChosen) {
  const auto gone = [](auto f) {
    const std::string text = rewritten_text(f);
    EXPECT_THAT(text, Not(HasSubstr("compress"))) << text;
    return text;
  };
  gone([](Array x, Array m) { return sum(compress(x, m)); });
  gone([](Array x, Array m) { return std::pair(max(compress(x, m) * 2.0), min(-compress(x, m))); });
  gone([](Array x, Array m) { return prod(where(compress(x, m) > 1.0, compress(x, m), 1.0)); });
  gone([](Array x, Array m) { return any(compress(x > 1.0, m)) | all(compress(m, m)); });
  EXPECT_THAT(gone([](Array x, Array m) { return matmul(compress(x, m), compress(x * 0.5, m)); }),
              Not(HasSubstr("dot")));
  gone([](Array x, Array m) { return sum(compress(x, m) * sum(x)); });
  const std::string gradient =
      gone([](Array x, Array m) { return grad([&](Array x) { return sum(square(compress(x, m))); })(x); });
  EXPECT_THAT(gradient, Not(HasSubstr("count"))) << "no size is mentioned";
  EXPECT_THAT(gone([](Array x, Array m) {
                return sum(compress(x, m)) / (convert(size_as_array(compress(x, m).dim(0)), x.dtype()) + 1.0);
              }),
              HasSubstr("count"));
}

TEST(MaskReductions, LeaveWhatIsNeeded) {
  const auto kept = [](auto f) {
    const std::string text = rewritten_text(f);
    EXPECT_THAT(text, HasSubstr("compress")) << text;
  };
  kept([](Array x, Array m) { return std::pair(sum(compress(x, m)), compress(x, m)); });
  kept([](Array x, Array m) { return sum(sort(compress(x, m))); });
  kept([](Array x, Array m) {
    Array y = compress(x, m);  // dear for each row
    for (int i = 0; i < 12; ++i) y = sin(y) * 0.5 + y;
    return sum(y);
  });
  kept([](Array x, Array m) {
    const Array y = compress(x, m), z = compress(abs(x), m);
    return std::tuple(matmul(y, z), y, matmul(z, z));
  });
}

TEST(MaskReductions, LookIntoLoops) {
  const auto f = [](Array x, Array m) {
    return fori_loop(
        0, 3, [&](Array i, Array c) { return c * 0.5 + sum(compress(x, m & (x > convert(i, DType::f64)))); },
        Array(1.0));
  };
  EXPECT_THAT(rewritten_text(f), Not(HasSubstr("compress")));
}

}  // namespace
}  // namespace tenon
