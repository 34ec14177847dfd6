// Reductions over windows: values, what large arrays give back on any number of threads, selections, pooling, errors.
// The ops' derivatives, batches and code are tested by generation; all paddings and dilations, in Python.
#include "tenon/api/windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"
#include "tenon/tenon.h"

namespace {

namespace tn = tenon;
using testing::ElementsAre;
using testing::HasSubstr;
using tn::Array;
using tn::Shape;
using tn::WindowReduction;

std::vector<float> numbers_of_windows(const Array& x) {
  const tn::Buffer buffer = tn::convert(x, tn::DType::f32).to_buffer();
  return {buffer.as<float>(), buffer.as<float>() + buffer.elements()};
}
Array numbers(const Shape& shape) {
  return tn::reshape(tn::sin(tn::convert(tn::arange(shape.elements()), tn::DType::f32) * 1.7f), shape);
}
void expect_near(const Array& got, const Array& wanted, float tolerance = 1e-4f) {
  const std::vector<float> a = numbers_of_windows(got), b = numbers_of_windows(wanted);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Windows, OfASignal) {
  const Array x{1.f, 4.f, 2.f, 3.f};
  const auto of = [&](WindowReduction r, const tn::WindowOptions& options = {}) {
    return numbers_of_windows(tn::reduce_window(r, x, {2}, options));
  };
  EXPECT_THAT(of(WindowReduction::sum), ElementsAre(5, 6, 5));
  EXPECT_THAT(of(WindowReduction::max, {.padding = tn::Padding::same}), ElementsAre(4, 4, 3, 3));
  EXPECT_THAT(of(WindowReduction::min, {.padding = tn::Padding::same_lower}), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(of(WindowReduction::prod, {.strides = {2}}), ElementsAre(4, 6));
  EXPECT_THAT(of(WindowReduction::sum, {.window_dilation = {3}}), ElementsAre(4));
  EXPECT_THAT(of(WindowReduction::max, {.base_dilation = {2}}), ElementsAre(1, 4, 4, 2, 2, 3));
  EXPECT_THAT(numbers_of_windows(tn::reduce_window(WindowReduction::bit_and, Array{7, 6, 3}, {2})), ElementsAre(6, 2));
  const auto longest = tn::reduce_window([](Array a, Array b) { return tn::max(a, b) + 1.f; }, x, 0.f, {2});
  EXPECT_THAT(numbers_of_windows(longest), ElementsAre(6, 6, 5));
}

TEST(Windows, LongOnesAreMadeOfShorterOnes) {
  const Array x = numbers({100, 3});
  for (const auto reduction : {WindowReduction::max, WindowReduction::sum})
    for (const std::int64_t stride : {1, 4, 40}) {
      const auto made = tn::jit(
          [&](const Array& x) { return tn::reduce_window(reduction, x, {37, 1}, {.strides = {stride, 1}}); })(x);
      std::vector<Array> rows;
      for (std::int64_t i = 0; i + 37 <= 100; i += stride) {
        const Array part = tn::slice_in_dim(x, i, i + 37, 0);
        rows.push_back(reduction == WindowReduction::max ? tn::amax(part, 0) : tn::sum(part, 0));
      }
      expect_near(made, tn::stack(rows));
    }
}

// Against the general form, which is made of other ops.
TEST(Windows, SelectionOfLargeArraysIsThatOfTheGeneralForm) {
  struct Case {
    Shape shape;
    std::vector<std::int64_t> window;
    tn::WindowOptions options;
  };
  const std::vector<Case> cases{
      {{2, 300, 301}, {1, 3, 2}, {.strides = {1, 2, 1}, .padding = tn::Padding::same}},
      {{200000}, {3}, {.strides = {2}, .window_dilation = {2}}},
      {{1, 90, 90, 20}, {1, 2, 3, 1}, {.strides = {1, 2, 2, 1}, .padding = tn::Padding::same_lower}},
      {{120, 700},
       {3, 4},
       {.strides = {3, 3}, .padding = std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 1}, {-1, 3}}}}};
  const int before = tn::threads();
  for (const Case& c : cases) {
    const Array x = numbers(c.shape);
    const auto windows = [&](const Array& x) {
      return tn::reduce_window(WindowReduction::max, x, c.window, c.options);
    };
    const Array ct = numbers(windows(x).shape());
    const Array wanted =
        tn::select_and_scatter([](Array a, Array b) { return a >= b; }, [](Array a, Array b) { return a + b; }, x, ct,
                               0.f, c.window, c.options);
    const auto sums = [&](const Array& x) { return tn::reduce_window(WindowReduction::sum, x, c.window, c.options); };
    std::vector<std::vector<float>> bits;
    for (const int threads : {1, 3}) {
      tn::set_threads(threads);
      const Array made = tn::jit(tn::grad([&](const Array& x) { return tn::sum(windows(x) * ct); }))(x);
      expect_near(made, wanted, 1e-5f);
      bits.push_back(numbers_of_windows(made));
      const Array given = tn::jit(tn::grad([&](const Array& x) { return tn::sum(sums(x) * ct); }))(x);
      EXPECT_NEAR(tn::sum(given * x).item<float>(), tn::sum(sums(x) * ct).item<float>(), 0.05f);
      bits.push_back(numbers_of_windows(given));
    }
    EXPECT_EQ(bits[0], bits[2]);
    EXPECT_EQ(bits[1], bits[3]);
  }
  tn::set_threads(before);
}

TEST(Windows, PoolingOfImages) {
  const Array x = numbers({2, 4, 6, 3});
  const Array max = tn::max_pool(x, {2, 2}, {.strides = {2, 2}});
  EXPECT_EQ(max.shape(), Shape({2, 2, 3, 3}));
  expect_near(tn::min_pool(-x, {2, 2}, {.strides = {2, 2}}), -max, 0);
  const Array ones = tn::ones({3, 1});
  EXPECT_THAT(numbers_of_windows(tn::avg_pool(ones, {2}, {.padding = tn::Padding::same})), ElementsAre(1, 1, 0.5));
  EXPECT_THAT(numbers_of_windows(tn::avg_pool(ones, {2}, {.padding = tn::Padding::same}, false)), ElementsAre(1, 1, 1));
}

TEST(Windows, SelectionsGatherWhatTheyScatter) {
  const Array x{3.f, 1.f, 2.f, 5.f, 4.f}, t{10.f, 20.f, 30.f, 40.f, 50.f}, source{1.f, 2.f, 3.f, 4.f};
  const auto gathered = [&](WindowReduction r) { return tn::select_and_gather_add(r, x, t, {2}); };
  EXPECT_THAT(numbers_of_windows(gathered(WindowReduction::max)), ElementsAre(10, 30, 40, 40));
  EXPECT_THAT(numbers_of_windows(gathered(WindowReduction::min)), ElementsAre(20, 20, 30, 50));
  const Array scattered = tn::select_and_scatter_add(WindowReduction::max, x, source, {2});
  EXPECT_EQ(tn::sum(scattered * t).item<float>(), tn::sum(source * gathered(WindowReduction::max)).item<float>());
}

TEST(Windows, ErrorsSayWhatToDo) {
  const Array x = numbers({2, 3});
  EXPECT_THAT(tn::message_of([&] { tn::reduce_window(WindowReduction::sum, x, {2}); }),
              HasSubstr("reduce_window: a window of 1 sizes over f32[2,3]"));
  EXPECT_THAT(tn::message_of([&] { tn::reduce_window(WindowReduction::sum, x, {2, 2}, {.strides = {1}}); }),
              HasSubstr("1 strides for f32[2,3]"));
  EXPECT_THAT(tn::message_of([&] { tn::reduce_window(WindowReduction::bit_or, x, {2, 2}); }), HasSubstr("has no bits"));
  EXPECT_THAT(tn::message_of([&] { tn::select_and_scatter_add(WindowReduction::sum, x, x, {1, 1}); }),
              HasSubstr("largest or least"));
  EXPECT_THAT(tn::message_of([&] { tn::select_and_scatter_add(WindowReduction::max, x, x, {2, 1}); }),
              HasSubstr("as many elements along axis 0 as there are windows"));
  EXPECT_THAT(tn::message_of([&] { tn::max_pool(Array{1.f}, {2}); }), HasSubstr("max_pool: a window of 1 sizes"));
}

}  // namespace
