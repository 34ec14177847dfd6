// A row of weights has an element a feature, so that those of a place and a channel of the groups multiply rows of
// features: of y as it is, of x with the channel of each feature's group in its place.
#include "tenon/runtime/linear_algebra/channelwise.h"

#include <algorithm>
#include <atomic>

#include "tenon/runtime/context.h"
#include "tenon/runtime/linear_algebra/channel_rows.h"
#include "tenon/runtime/memory/workspace.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {
namespace {

using Count = std::int64_t;
using Places = std::vector<Count>;

template <class T>
class ChannelConvolution {
 public:
  explicit ChannelConvolution(const ConvolutionWindows& w)
      : w_(w), weights_of_place_(w.group_channels * w.features), stop_(*Context::current().flag()) {}

  void make_output(const T* x, const T* w, T* y) {
    const Workspace memory(nullptr, bytes_of_spread());
    const T* const spread = by_features(x, static_cast<T*>(memory.memory()));
    taps_of_places(w_.outputs.back(), [&](Count p, Count k) {
      const Count at = p * w_.strides.back() + k * w_.dilations.back();
      for (Count c = 0; c < w_.group_channels; ++c)
        inner_.push_back({at * weights_of_place_ + c * w_.features, k * weights_of_place_ + c * w_.features});
    });
    const Count row = w_.outputs.back() * w_.features;
    each_row(w_.outputs, w_.inputs.back() * weights_of_place_, false,
             [&](const ChannelRow& taps, Count r) { sum_channel_row(taps, spread, w, y + r * row); });
  }

  // Each channel of the groups by itself, then the features of each group together.
  void make_input(const T* w, const T* y, T* x) {
    taps_of_places(w_.inputs.back(), [&](Count p, Count k) {
      if (const Count at = window_at(p, k, w_.outer); at >= 0)
        inner_.push_back({at * w_.features, k * weights_of_place_});
    });
    const Count row = w_.inputs.back() * w_.channels;
    const bool alone = weights_of_place_ == w_.groups;
    each_row(w_.inputs, w_.outputs.back() * w_.features, true, [&](const ChannelRow& taps, Count r) {
      if (alone) return sum_channel_row(taps, y, w, x + r * row);
      std::vector<T> sums(static_cast<std::size_t>(w_.inputs.back() * w_.features));
      for (Count c = 0; c < w_.group_channels; ++c) {
        sum_channel_row(taps, y, w + c * w_.features, sums.data());
        const T* from = sums.data();
        T* to = x + r * row + c;
        for (Count i = 0; i < w_.inputs.back() * w_.groups; ++i, to += w_.group_channels) {
          *to = *from++;
          for (Count o = 1; o < w_.group_features; ++o) *to += *from++;
        }
      }
    });
  }

  // By outer places of the window and parts of the rows of y, each of which has sums of its own, added up in order.
  void make_weights(const T* x, const T* y, T* w) {
    const Count rows = w_.batch * places_in(w_.outer_of(w_.outputs)), taps = places_in(w_.outer_of(w_.window));
    const Count size = w_.of_w(), last = w_.window.back(), of_tap = last * weights_of_place_;
    if (size == 0) return;
    constexpr Count tasks = 32, most_bytes = Count(64) << 20;
    const Count most = std::max<Count>(most_bytes / (size * Count(sizeof(T))), 1);
    const Count parts = std::clamp<Count>(std::min((tasks + taps - 1) / taps, most), 1, std::max<Count>(rows, 1));
    const Workspace spread_memory(nullptr, bytes_of_spread());
    const T* const spread = by_features(x, static_cast<T*>(spread_memory.memory()));
    const Workspace memory(nullptr, static_cast<std::size_t>(parts * size) * sizeof(T));
    T* const sums = static_cast<T*>(memory.memory());
    each_range(taps * parts, 1, [&](Count begin, Count end) {
      for (Count task = begin; task < end; ++task) {
        const Count tap = task % taps, part = task / taps;
        T* const to = sums + part * size + tap * of_tap;
        std::fill_n(to, of_tap, T(0));
        for (Count r = rows * part / parts; r < rows * (part + 1) / parts && running(); ++r)
          for (Count k = 0; k < last; ++k)
            for (Count c = 0; c < w_.group_channels; ++c)
              add_product_row(
                  w_.outputs.back(), w_.features, w_.strides.back() * weights_of_place_,
                  spread + input_row(r, tap) + k * w_.dilations.back() * weights_of_place_ + c * w_.features,
                  y + r * w_.outputs.back() * w_.features, to + k * weights_of_place_ + c * w_.features);
      }
    });
    each_range(size, 1 << 14, [&](Count begin, Count end) {
      for (Count i = begin; i < end; ++i) {
        T sum = sums[i];
        for (Count part = 1; part < parts; ++part) sum += sums[part * size + i];
        w[i] = sum;
      }
    });
  }

 private:
  bool running() const { return stop_.load(std::memory_order_relaxed) != Context::stopped; }
  // The window whose place k is p, or -1.
  Count window_at(Count p, Count k, std::size_t axis) const {
    const Count from = p - k * w_.dilations[axis];
    if (from < 0 || from % w_.strides[axis] != 0 || from / w_.strides[axis] >= w_.outputs[axis]) return -1;
    return from / w_.strides[axis];
  }

  // x[…, channel of a group, feature]; x itself where both are alone.
  std::size_t bytes_of_spread() const {
    return weights_of_place_ == w_.groups ? 0 : static_cast<std::size_t>(w_.of_x() * w_.group_features) * sizeof(T);
  }
  const T* by_features(const T* x, T* spread) const {
    if (weights_of_place_ == w_.groups) return x;
    const Count places = w_.channels == 0 ? 0 : w_.of_x() / w_.channels;
    each_range(places, std::max<Count>((1 << 14) / std::max<Count>(weights_of_place_, 1), 1),
               [&](Count begin, Count end) {
                 T* to = spread + begin * weights_of_place_;
                 for (Count p = begin; p < end; ++p)
                   for (Count c = 0; c < w_.group_channels; ++c)
                     for (Count g = 0; g < w_.groups; ++g)
                       for (Count o = 0; o < w_.group_features; ++o)
                         *to++ = x[p * w_.channels + g * w_.group_channels + c];
               });
    return spread;
  }

  template <class Add>
  void taps_of_places(Count places, const Add& add) {
    begins_.push_back(0);
    for (Count p = 0; p < places; ++p) {
      for (Count k = 0; k < w_.window.back(); ++k) add(p, k);
      begins_.push_back(static_cast<Count>(inner_.size()));
    }
  }

  // Of what is made each row of the last axis, with the rows that its outer places of the window take, `from_row`
  // apart.
  template <class MakeRow>
  void each_row(const Places& made, Count from_row, bool input, const MakeRow& make_row) const {
    const std::span<const Count> outer_made = w_.outer_of(made), outer_window = w_.outer_of(w_.window);
    const Count rows_of_image = places_in(outer_made), rows = w_.batch * rows_of_image;
    const Count taps = places_in(outer_window);
    if (rows * made.back() * w_.channels * w_.features == 0) return;
    constexpr double worth_a_fork = 1 << 18;
    const double work = double(inner_.size()) * double(taps) * double(w_.features);
    const Count grain = std::clamp<Count>(static_cast<Count>(worth_a_fork / std::max(work, 1.0)), 1, rows);
    each_range(rows, grain, [&](Count begin, Count end) {
      std::vector<ChannelTap> outer;
      Places at, of_window;
      for (Count r = begin; r < end && running(); ++r) {
        outer.clear();
        place_at(r % rows_of_image, outer_made, at);
        for (Count tap = 0; tap < taps; ++tap) {
          place_at(tap, outer_window, of_window);
          Count row = r / rows_of_image;
          for (std::size_t i = 0; i < w_.outer && row >= 0; ++i) {
            const Count p =
                input ? window_at(at[i], of_window[i], i) : at[i] * w_.strides[i] + of_window[i] * w_.dilations[i];
            row = p < 0 ? -1 : row * (input ? w_.outputs : w_.inputs)[i] + p;
          }
          if (row >= 0) outer.push_back({row * from_row, tap * w_.window.back() * weights_of_place_});
        }
        make_row(ChannelRow{outer.data(), static_cast<Count>(outer.size()), inner_.data(), begins_.data(), made.back(),
                            w_.features},
                 r);
      }
    });
  }
  // Where the row of x, by features, begins that an outer place of the window reads for row r of y.
  Count input_row(Count r, Count tap) const {
    const std::span<const Count> rows = w_.outer_of(w_.outputs), taps = w_.outer_of(w_.window);
    Count row = 0, size = 1;
    for (std::size_t i = w_.outer; i-- > 0;) {
      row += size * (r % rows[i] * w_.strides[i] + tap % taps[i] * w_.dilations[i]);
      size *= w_.inputs[i], r /= rows[i], tap /= taps[i];
    }
    return (r * size + row) * w_.inputs.back() * weights_of_place_;
  }

  const ConvolutionWindows& w_;
  Count weights_of_place_;
  const std::atomic<std::uint32_t>& stop_;
  std::vector<ChannelTap> inner_;  // of the places of a row, one behind the other
  Places begins_;
};

}  // namespace

bool has_few_channels(const ConvolutionWindows& w) {
  constexpr Count most_pairs = 4;
  return w.groups > 1 && w.group_channels * w.group_features <= most_pairs;
}

template <class T>
void convolve_channels(const TenonConvolution& c, const ConvolutionWindows& windows, const T* first, const T* second,
                       T* made) {
  ChannelConvolution<T> convolution(windows);
  if (c.makes == TenonConvolution::input)
    convolution.make_input(first, second, made);
  else if (c.makes == TenonConvolution::weights)
    convolution.make_weights(first, second, made);
  else
    convolution.make_output(first, second, made);
}
template void convolve_channels<float>(const TenonConvolution&, const ConvolutionWindows&, const float*, const float*,
                                       float*);
template void convolve_channels<double>(const TenonConvolution&, const ConvolutionWindows&, const double*,
                                        const double*, double*);

}  // namespace tenon
