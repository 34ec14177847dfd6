// Convolutions of images, signals and volumes with windows of weights: as neural networks have them, without turning
// the window around.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/ir/array.h"

namespace tenon {

// Which axis is what: of the input the batch, the channels, then the places; of the weights the features that they
// make, the channels, then the places of the window; of the output the batch, the features, then the places.
struct ConvolutionAxes {
  std::vector<std::int64_t> input, weights, output;
};
// From letters, one an axis: N and C of input and output, O and I of the weights; those of places are any, and stand in
// the order that they have in the weights. Throws ShapeError where letters are missing, or one stands twice.
//   convolution_axes("NHWC", "HWIO", "NHWC")
ConvolutionAxes convolution_axes(std::string_view input, std::string_view weights, std::string_view output);

// Zeros around the input: none; so many that there are ⌈n / stride⌉ outputs of n places, the odd one behind (`same`) or
// before (`same_lower`).
enum class Padding { valid, same, same_lower };
// What is not given is 1 for each axis of places; axes stand as in NCHW and OIHW.
struct ConvolutionOptions {
  std::vector<std::int64_t> strides = {};
  std::variant<Padding, std::vector<std::pair<std::int64_t, std::int64_t>>> padding = Padding::valid;  // before, behind
  std::vector<std::int64_t> input_dilation = {}, window_dilation = {};  // places apart, with zeros between
  std::int64_t feature_groups = 1;  // each of the channels of its own, makes as large a part of the features
  std::int64_t batch_groups = 1;    // parts of the batch, each of which makes a part of the features
  std::optional<ConvolutionAxes> axes = {};
};

// y[n, o, p] = Σ x[n, c, p·stride + k·dilation] w[o, c, k] over channels c and places k of the window. Any number of
// axes of places, any layout; negative padding cuts. Operands promote to one dtype; f8, f16 and bf16 are computed in
// f32, integers wrap around. Derivatives of any order in both. As products of matrices on all cores, nothing of the
// size of all windows is stored; with one channel a group, as sums of products. Time grows with the outputs times the
// window times the channels of a group. Throws ShapeError where channels, groups or numbers of axes do not fit,
// DTypeError of booleans.
//   conv_general_dilated(Array{{{1.f, 2.f, 3.f}}}, Array{{{1.f, 10.f}}})   // 21 32
//   conv_general_dilated(images, weights, {.strides = {2, 2}, .padding = Padding::same})
Array conv_general_dilated(const Operand& x, const Operand& w, const ConvolutionOptions& options = {});

// The convolution whose strides lie between the places of its input, for images that grow: with `valid` of (n - 1) ·
// stride + k outputs at least, with `same` of n · stride. `transpose_weights`: the gradient of the convolution with
// these strides and weights, whose window is turned around, and channels and features exchanged. `strides` stand for
// input_dilation, which has to be left out, as groups have.
//   conv_transpose(Array{{{1.f, 2.f}}}, Array{{{1.f, 1.f}}}, {.strides = {2}, .padding = Padding::valid})   // 1 1 2 2
Array conv_transpose(const Operand& x, const Operand& w, const ConvolutionOptions& options = {},
                     bool transpose_weights = false);

// The windows themselves: y[n, c · places + k, p] = x[n, c, p·stride + k·dilation], of a window of these sizes.
//   conv_general_dilated_patches(Array{{{1.f, 2.f, 3.f}}}, {2})   // 1 2, 2 3
Array conv_general_dilated_patches(const Operand& x, const std::vector<std::int64_t>& window,
                                   const ConvolutionOptions& options = {});

// The convolution whose weights are others at each place of the output: w[o, c · places + k, p] in the layout of the
// weights, p those of the output, and windows of these sizes. As a product of matrices at each place, with the windows
// themselves in memory. No groups. Throws ShapeError where channels or places do not fit.
//   conv_general_dilated_local(x, w, {3}, {.padding = Padding::same})
Array conv_general_dilated_local(const Operand& x, const Operand& w, const std::vector<std::int64_t>& window,
                                 const ConvolutionOptions& options = {});

namespace api_detail {

// Places before and behind those of an axis, which are `dilation` apart, for windows that reach `span` places beyond
// their first one. The size is asked for where it matters.
std::pair<std::int64_t, std::int64_t> padding_of(Padding kind, FunctionRef<std::int64_t()> size, std::int64_t dilation,
                                                 std::int64_t stride, std::int64_t span);

}  // namespace api_detail

}  // namespace tenon
