// The sizes of a convolution as its code takes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/runtime/linear_algebra/convolution.h"

namespace tenon {

inline std::int64_t places_in(std::span<const std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t n : sizes) count *= n;
  return count;
}
// The place with this number among `sizes`, the last one counting first.
inline void place_at(std::int64_t number, std::span<const std::int64_t> sizes, std::vector<std::int64_t>& place) {
  place.resize(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) place[i] = number % sizes[i], number /= sizes[i];
}

// With one axis at least.
struct ConvolutionWindows {
  using Count = std::int64_t;
  using Places = std::vector<Count>;

  explicit ConvolutionWindows(const TenonConvolution& c)
      : batch(c.batch),
        channels(c.channels),
        features(c.features),
        groups(c.groups),
        inputs(c.inputs(), c.inputs() + c.axes),
        window(c.window(), c.window() + c.axes),
        outputs(c.outputs(), c.outputs() + c.axes),
        strides(c.strides(), c.strides() + c.axes),
        dilations(c.dilations(), c.dilations() + c.axes) {
    if (c.axes == 0)
      for (Places* each : {&inputs, &window, &outputs, &strides, &dilations}) each->push_back(1);
    outer = inputs.size() - 1;
    group_channels = groups == 0 ? 0 : channels / groups;
    group_features = groups == 0 ? 0 : features / groups;
  }
  std::span<const Count> outer_of(const Places& sizes) const { return {sizes.data(), outer}; }
  Count of_x() const { return batch * places_in(inputs) * channels; }
  Count of_w() const { return places_in(window) * group_channels * features; }
  Count of_y() const { return batch * places_in(outputs) * features; }

  Count batch, channels, features, groups;
  Places inputs, window, outputs, strides, dilations;
  std::size_t outer;  // axes but the last
  Count group_channels, group_features;
};

}  // namespace tenon
