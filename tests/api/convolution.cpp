// Convolutions: layouts, padding and strides beside sums as they are written; the transposed ones as gradients;
// windows; errors. The ops' derivatives, batches and code are tested by generation.
#include "tenon/api/convolution.h"

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

std::vector<float> numbers_of_convolution(const Array& x) {
  const tn::Buffer buffer = tn::convert(x, tn::DType::f32).to_buffer();
  return {buffer.as<float>(), buffer.as<float>() + buffer.elements()};
}
Array numbers(const Shape& shape) {
  return tn::reshape(tn::sin(tn::convert(tn::arange(shape.elements()), tn::DType::f32) * 1.7f), shape);
}

TEST(Convolution, OfASignal) {
  const Array x = tn::reshape(Array{1.f, 2.f, 3.f, 4.f}, {1, 1, 4}), w = tn::reshape(Array{1.f, -1.f}, {1, 1, 2});
  EXPECT_THAT(numbers_of_convolution(tn::conv_general_dilated(x, w)), ElementsAre(-1, -1, -1));
  EXPECT_THAT(numbers_of_convolution(tn::conv_general_dilated(x, w, {.padding = tn::Padding::same})),
              ElementsAre(-1, -1, -1, 4));
  EXPECT_THAT(numbers_of_convolution(tn::conv_general_dilated(x, w, {.padding = tn::Padding::same_lower})),
              ElementsAre(-1, -1, -1, -1));
  EXPECT_THAT(numbers_of_convolution(tn::conv_general_dilated(x, w, {.strides = {2}})), ElementsAre(-1, -1));
  EXPECT_THAT(numbers_of_convolution(tn::conv_general_dilated(x, w, {.window_dilation = {3}})), ElementsAre(-3));
  EXPECT_THAT(numbers_of_convolution(tn::conv_general_dilated(x, w, {.input_dilation = {2}})),
              ElementsAre(1, -2, 2, -3, 3, -4));
  const Array empty = tn::conv_general_dilated(x, tn::ones({3, 1, 5}), {.input_dilation = {2}, .window_dilation = {2}});
  EXPECT_EQ(empty.shape(), (tn::Shape{1, 3, 0}));
  EXPECT_THAT(numbers_of_convolution(tn::conv_transpose(x, w, {.strides = {2}})),
              ElementsAre(-1, 1, -2, 2, -3, 3, -4, 4));
  EXPECT_THAT(numbers_of_convolution(tn::conv_general_dilated_patches(x, {2})), ElementsAre(1, 2, 3, 2, 3, 4));
}

TEST(Convolution, LayoutsAgree) {
  const Array x = numbers({2, 3, 5, 6}), w = numbers({4, 3, 2, 3});
  const Array wanted = tn::conv_general_dilated(x, w, {.strides = {2, 1}, .padding = tn::Padding::same});
  const Array last = tn::conv_general_dilated(
      tn::transpose(x, {0, 2, 3, 1}), tn::transpose(w, {2, 3, 1, 0}),
      {.strides = {2, 1}, .padding = tn::Padding::same, .axes = tn::convolution_axes("NHWC", "HWIO", "NHWC")});
  EXPECT_EQ(numbers_of_convolution(tn::transpose(last, {0, 3, 1, 2})), numbers_of_convolution(wanted));
}

TEST(Convolution, GroupsAreConvolutionsOfTheirOwn) {
  const Array x = numbers({2, 4, 6}), w = numbers({6, 2, 3});
  const Array both = tn::conv_general_dilated(x, w, {.feature_groups = 2});
  for (const std::int64_t g : {0, 1}) {
    const Array one =
        tn::conv_general_dilated(tn::slice_in_dim(x, 2 * g, 2 * g + 2, 1), tn::slice_in_dim(w, 3 * g, 3 * g + 3, 0));
    const std::vector<float> got = numbers_of_convolution(tn::slice_in_dim(both, 3 * g, 3 * g + 3, 1)),
                             wanted = numbers_of_convolution(one);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5);
  }
  // A channel a group goes another way.
  const Array lonely = tn::conv_general_dilated(x, numbers({4, 1, 3}), {.feature_groups = 4});
  const Array first =
      tn::conv_general_dilated(tn::slice_in_dim(x, 0, 1, 1), tn::slice_in_dim(numbers({4, 1, 3}), 0, 1, 0));
  const std::vector<float> got = numbers_of_convolution(tn::slice_in_dim(lonely, 0, 1, 1)),
                           wanted = numbers_of_convolution(first);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5);
}

TEST(Convolution, GradientsRunOnAllThreadsWithTheSameBits) {
  const Array x = numbers({8, 16, 20, 20}), w = numbers({32, 16, 3, 3});
  const auto loss = [](const Array& x, const Array& w) {
    return tn::sum(tn::square(tn::conv_general_dilated(x, w, {.padding = tn::Padding::same})));
  };
  const int before = tn::threads();
  std::vector<std::vector<float>> made;
  for (const int threads : {1, 3}) {
    tn::set_threads(threads);
    const auto [dx, dw] = tn::jit(tn::grad<0, 1>(loss))(x, w);
    made.push_back(numbers_of_convolution(dx)), made.push_back(numbers_of_convolution(dw));
  }
  tn::set_threads(before);
  EXPECT_EQ(made[0], made[2]);
  EXPECT_EQ(made[1], made[3]);
}

// Of few channels a group, beside one group whose weights are mostly zeros.
TEST(Convolution, GroupsOfFewChannels) {
  const int before = tn::threads();
  for (const auto& [channels, features] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 2}, {2, 2}}) {
    constexpr std::int64_t groups = 70;
    const Array x = numbers({3, groups * channels, 9, 8}), w = numbers({groups * features, channels, 3, 2});
    const auto options = [](std::int64_t groups) {
      return tn::ConvolutionOptions{
          .strides = {2, 1}, .padding = tn::Padding::same, .window_dilation = {1, 2}, .feature_groups = groups};
    };
    const auto whole = [&](const Array& x, const Array& w) {
      return tn::sum(tn::square(tn::conv_general_dilated(x, w, options(groups))));
    };
    const auto in_one = [&](const Array& x, const Array& w) {
      const Array own = tn::reshape(w, {groups, features, 1, channels, 3, 2});
      const Array of_all = own * tn::reshape(tn::eye(groups), {groups, 1, groups, 1, 1, 1});
      return tn::sum(tn::square(
          tn::conv_general_dilated(x, tn::reshape(of_all, {groups * features, groups * channels, 3, 2}), options(1))));
    };
    std::vector<std::vector<float>> made;
    for (const int threads : {1, 3}) {
      tn::set_threads(threads);
      const auto [dx, dw] = tn::jit(tn::grad<0, 1>(whole))(x, w);
      made.push_back(numbers_of_convolution(dx)), made.push_back(numbers_of_convolution(dw));
    }
    EXPECT_EQ(made[0], made[2]);
    EXPECT_EQ(made[1], made[3]);
    const auto [dx, dw] = tn::jit(tn::grad<0, 1>(in_one))(x, w);
    const std::vector<float> wanted_x = numbers_of_convolution(dx), wanted_w = numbers_of_convolution(dw);
    for (std::size_t i = 0; i < wanted_x.size(); ++i) ASSERT_NEAR(made[0][i], wanted_x[i], 1e-3) << i;
    for (std::size_t i = 0; i < wanted_w.size(); ++i) ASSERT_NEAR(made[1][i], wanted_w[i], 1e-3) << i;
  }
  tn::set_threads(before);
}

// With the same weights at each place it is the other convolution; weights of a place move that place alone.
TEST(Convolution, WeightsOfEachPlace) {
  const Array x = tn::reshape(tn::sin(tn::convert(tn::arange(2 * 5 * 6 * 3), tn::DType::f32)), {2, 5, 6, 3});
  const Array w = tn::reshape(tn::cos(tn::convert(tn::arange(2 * 3 * 3 * 4), tn::DType::f32)), {2, 3, 3, 4});
  const auto axes = tn::convolution_axes("NHWC", "HWIO", "NHWC");
  const tn::ConvolutionOptions options{{2, 1}, tn::Padding::same, {}, {}, 1, 1, axes};
  const Array shared = tn::conv_general_dilated(x, w, options);  // 2, 3, 6, 4
  const Array flat = tn::reshape(tn::transpose(w, {2, 0, 1, 3}), {1, 1, 18, 4});
  const Array local = tn::broadcast_to(flat, {3, 6, 18, 4});
  const auto of = [&](Array w) { return tn::conv_general_dilated_local(x, w, {2, 3}, options); };
  const std::vector<float> got = numbers_of_convolution(of(local)), wanted = numbers_of_convolution(shared);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-4) << i;
  const Array moved = of(local.at(1, 2).set(0.f));
  EXPECT_EQ(tn::sum(tn::convert(tn::any(tn::abs(moved - shared) > 1e-3f, tn::Axes{0, 3}), tn::DType::i32))
                .item<std::int32_t>(),
            1);
  EXPECT_THAT(tn::message_of([&] { of(tn::zeros({3, 6, 17, 4})); }), HasSubstr("Weights have the windows' channels"));
  EXPECT_THAT(tn::message_of([&] { tn::conv_general_dilated_local(x, local, {2}, options); }),
              HasSubstr("window of 1 axes"));
}

TEST(Convolution, WrongCallsSayWhatToDo) {
  const Array x = tn::ones({1, 2, 5}), w = tn::ones({3, 2, 2});
  const auto said = [](auto f) { return tn::message_of(f); };
  EXPECT_THAT(said([&] { tn::conv_general_dilated(x, tn::ones({3, 1, 2})); }), HasSubstr("has 2 channels"));
  EXPECT_THAT(said([&] { tn::conv_general_dilated(x, tn::ones({3, 2})); }), HasSubstr("They have one rank"));
  EXPECT_THAT(said([&] { tn::conv_general_dilated(x, w, {.strides = {1, 1}}); }), HasSubstr("2 strides of 1 axes"));
  EXPECT_THAT(said([&] { tn::conv_general_dilated(x, w, {.strides = {-1}}); }), HasSubstr("-1 is among the strides"));
  EXPECT_THAT(said([&] { tn::conv_general_dilated(x > 0.f, w > 0.f); }), HasSubstr("has no sums"));
  EXPECT_THAT(said([&] { tn::convolution_axes("NHW", "HWIO", "NHWC"); }), HasSubstr("has not one C"));
  EXPECT_THAT(said([&] { tn::conv_transpose(x, w, {.input_dilation = {2}}); }), HasSubstr("takes no groups"));
  EXPECT_THAT(said([&] { tn::conv_general_dilated_patches(x, {2, 2}); }), HasSubstr("a window of 2 axes"));
}

}  // namespace
