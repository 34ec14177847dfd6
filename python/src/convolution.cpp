// Convolutions.
#include "tenon/api/convolution.h"

#include <nanobind/stl/tuple.h>

#include "call.h"
#include "op.h"
#include "operands.h"
#include "padding.h"
#include "rooms.h"

namespace tenon::python {
namespace {

using Integers = std::vector<std::int64_t>;
using AxesOfAll = std::tuple<Integers, Integers, Integers>;

ConvolutionOptions options_of(const char* name, Integers strides, const PaddingLike& padding, Integers input_dilation,
                              Integers window_dilation, AxesOfAll axes) {
  ConvolutionOptions options{std::move(strides), Padding::valid, std::move(input_dilation), std::move(window_dilation)};
  options.padding = padding_from(name, padding);
  options.axes = ConvolutionAxes{std::get<0>(axes), std::get<1>(axes), std::get<2>(axes)};
  return options;
}

}  // namespace

void add_convolutions(nb::module_& module) {
  module.def("conv_general_dilated",
             [](ArrayLike x, ArrayLike w, Integers strides, PaddingLike padding, Integers input_dilation,
                Integers window_dilation, AxesOfAll axes, std::int64_t feature_groups, std::int64_t batch_groups) {
               constexpr const char* name = "conv_general_dilated";
               const Array a = x.array(name), b = w.array(name);
               ConvolutionOptions options = options_of(name, std::move(strides), padding, std::move(input_dilation),
                                                       std::move(window_dilation), std::move(axes));
               options.feature_groups = feature_groups, options.batch_groups = batch_groups;
               return call_op(name, [&] { return conv_general_dilated(op(a), op(b), options); });
             });
  module.def("conv_transpose", [](ArrayLike x, ArrayLike w, Integers strides, PaddingLike padding,
                                  Integers window_dilation, AxesOfAll axes, bool transpose_weights) {
    constexpr const char* name = "conv_transpose";
    const Array a = x.array(name), b = w.array(name);
    const ConvolutionOptions options =
        options_of(name, std::move(strides), padding, {}, std::move(window_dilation), std::move(axes));
    return call_op(name, [&] { return conv_transpose(op(a), op(b), options, transpose_weights); });
  });
  module.def("conv_patches", [](ArrayLike x, Integers window, Integers strides, PaddingLike padding,
                                Integers input_dilation, Integers window_dilation, AxesOfAll axes) {
    constexpr const char* name = "conv_general_dilated_patches";
    const Array a = x.array(name);
    const ConvolutionOptions options = options_of(name, std::move(strides), padding, std::move(input_dilation),
                                                  std::move(window_dilation), std::move(axes));
    return call_op(name, [&] { return conv_general_dilated_patches(op(a), window, options); });
  });
  module.def(
      "conv_general_dilated_local", [](ArrayLike x, ArrayLike w, Integers window, Integers strides, PaddingLike padding,
                                       Integers input_dilation, Integers window_dilation, AxesOfAll axes) {
        constexpr const char* name = "conv_general_dilated_local";
        const Array a = x.array(name), b = w.array(name);
        const ConvolutionOptions options = options_of(name, std::move(strides), padding, std::move(input_dilation),
                                                      std::move(window_dilation), std::move(axes));
        return call_op(name, [&] { return conv_general_dilated_local(op(a), op(b), window, options); });
      });
}

}  // namespace tenon::python
