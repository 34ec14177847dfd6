// Convolutions as products of matrices where their operands lie: a row of x, read with overlapping rows, is a matrix of
// windows. Rows of what is made are shared by the threads, and computed in the same way on any number of them.
#include "tenon/runtime/linear_algebra/convolution.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/error.h"
#include "tenon/runtime/context.h"
#include "tenon/runtime/linear_algebra/channelwise.h"
#include "tenon/runtime/linear_algebra/convolution_windows.h"
#include "tenon/runtime/linear_algebra/product_blocks.h"
#include "tenon/runtime/memory/workspace.h"
#include "tenon/runtime/symbols.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace tenon {
namespace {

using Count = std::int64_t;
using Places = std::vector<Count>;

ProductShape accumulating(ProductShape shape) {
  shape.accumulate = true;
  return shape;
}
// Of one part of the rows: the product as it begins, and as it goes on.
template <class T>
struct Sums {
  explicit Sums(const ProductShape& shape) : first(shape), next(accumulating(shape)) {}
  BlockedProduct<T> first, next;
};

// Products of matrices that convolutions of f32 and f64 come to.
template <class T>
class Convolution {
 public:
  explicit Convolution(const TenonConvolution& c)
      : w_(c), merged_(w_.groups == 1 && w_.dilations.back() == 1), stop_(*Context::current().flag()) {}

  // y, row by row of its last axis: one product an outer place of the window, or one a place and group.
  bool make_output(const T* x, const T* w, T* y) {
    const Count rows = w_.batch * places_in(w_.outer_of(w_.outputs)), taps = places_in(w_.outer_of(w_.window));
    const Count last = w_.window.back(), row = w_.outputs.back() * w_.features;
    const Count depth = merged_ ? last * w_.channels : w_.group_channels;
    if (taps * depth * last == 0) return std::fill_n(y, w_.of_y(), T(0)), true;
    const ProductShape shape{w_.outputs.back(),
                             w_.group_features,
                             depth,
                             w_.strides.back() * w_.channels,
                             1,
                             w_.features,
                             1,
                             w_.features,
                             1,
                             false};
    each_range(rows, grain(rows, double(row) * double(depth) * double(taps)), [&](Count begin, Count end) {
      const Sums<T> sums(shape);
      for (Count r = begin; r < end && running(); ++r)
        for (Count tap = 0; tap < taps; ++tap) {
          const T* from = x + input_row(r, tap);
          const T* weights = w + tap * last * w_.group_channels * w_.features;
          for (Count k = 0; k < (merged_ ? 1 : last); ++k)
            for (Count g = 0; g < w_.groups; ++g)
              multiply(tap + k == 0 ? sums.first : sums.next,
                       from + k * w_.dilations.back() * w_.channels + g * w_.group_channels,
                       weights + k * w_.group_channels * w_.features + g * w_.group_features,
                       y + r * row + g * w_.group_features);
        }
    });
    return !failed_;
  }

  // x, row by row of its last axis: what each window that reads of the row gives it.
  bool make_input(const T* w, const T* y, T* x) {
    const Count rows = w_.batch * places_in(w_.outer_of(w_.inputs)), taps = places_in(w_.outer_of(w_.window));
    const Count last = w_.window.back(), row = w_.inputs.back() * w_.channels;
    const Count cells = w_.group_features * w_.group_channels;
    const Workspace memory(nullptr, static_cast<std::size_t>(std::max<Count>(w_.of_w(), 1)) * sizeof(T));
    T* const turned = static_cast<T*>(memory.memory());
    turn(w, turned);
    if (rows * row == 0) return true;
    const bool nothing = w_.outputs.back() * w_.group_features * last == 0;
    const ProductShape shape{w_.outputs.back(),
                             w_.group_channels,
                             w_.group_features,
                             w_.features,
                             1,
                             w_.group_channels,
                             1,
                             w_.strides.back() * w_.channels,
                             1,
                             true};
    const double work = double(w_.outputs.back() * last) * double(cells) * double(w_.groups * taps);
    each_range(rows, grain(rows, work), [&](Count begin, Count end) {
      std::fill(x + begin * row, x + end * row, T(0));
      if (nothing) return;
      const BlockedProduct<T> sum(shape);
      Places at, of_window;
      for (Count r = begin; r < end && running(); ++r)
        for (Count tap = 0; tap < taps; ++tap) {
          const Count from = output_row(r, tap, at, of_window);
          if (from < 0) continue;
          for (Count k = 0; k < last; ++k)
            for (Count g = 0; g < w_.groups; ++g)
              multiply(sum, y + from + g * w_.group_features, turned + ((tap * last + k) * w_.groups + g) * cells,
                       x + r * row + k * w_.dilations.back() * w_.channels + g * w_.group_channels);
        }
    });
    return !failed_;
  }

  // w, by outer places of the window and parts of the rows of y, each of which has sums of its own.
  bool make_weights(const T* x, const T* y, T* w) {
    const Count rows = w_.batch * places_in(w_.outer_of(w_.outputs)), taps = places_in(w_.outer_of(w_.window));
    const Count last = w_.window.back(), size = w_.of_w(), of_tap = last * w_.group_channels * w_.features;
    if (size == 0) return true;
    if (rows * w_.outputs.back() == 0) return std::fill_n(w, size, T(0)), true;
    constexpr Count tasks = 16, most_bytes = Count(64) << 20;
    const Count parts = std::clamp<Count>(std::min(tasks / taps, most_bytes / (size * Count(sizeof(T)))), 1, rows);
    const Workspace memory(nullptr, static_cast<std::size_t>(parts > 1 ? parts * size : 1) * sizeof(T));
    T* const sums = parts > 1 ? static_cast<T*>(memory.memory()) : w;
    const ProductShape shape{merged_ ? last * w_.channels : w_.group_channels,
                             w_.group_features,
                             w_.outputs.back(),
                             1,
                             w_.strides.back() * w_.channels,
                             w_.features,
                             1,
                             w_.features,
                             1,
                             false};
    each_range(taps * parts, 1, [&](Count begin, Count end) {
      const Sums<T> both(shape);
      for (Count task = begin; task < end; ++task) {
        const Count tap = task % taps, part = task / taps, first = rows * part / parts;
        T* const to = sums + part * size + tap * of_tap;
        for (Count r = first; r < rows * (part + 1) / parts && running(); ++r)
          for (Count k = 0; k < (merged_ ? 1 : last); ++k)
            for (Count g = 0; g < w_.groups; ++g)
              multiply(r == first ? both.first : both.next,
                       x + input_row(r, tap) + k * w_.dilations.back() * w_.channels + g * w_.group_channels,
                       y + r * w_.outputs.back() * w_.features + g * w_.group_features,
                       to + k * w_.group_channels * w_.features + g * w_.group_features);
      }
    });
    if (parts > 1)
      each_range(size, 1 << 14, [&](Count begin, Count end) {
        for (Count i = begin; i < end; ++i) {
          T sum = sums[i];
          for (Count part = 1; part < parts; ++part) sum += sums[part * size + i];
          w[i] = sum;
        }
      });
    return !failed_;
  }

 private:
  bool running() const { return stop_.load(std::memory_order_relaxed) != Context::stopped; }
  void multiply(const BlockedProduct<T>& product, const T* a, const T* b, T* c) {
    if (!product.run(a, b, c, stop_)) failed_.store(true, std::memory_order_relaxed);
  }
  static Count grain(Count rows, double work_of_row) {  // of rows, each that many multiplications
    constexpr double worth_a_fork = 1 << 18;
    return std::clamp<Count>(static_cast<Count>(worth_a_fork / std::max(work_of_row, 1.0)), 1,
                             std::max<Count>(rows, 1));
  }
  // Where the row of x begins that an outer place of the window reads for row r of y.
  Count input_row(Count r, Count tap) const {
    const std::span<const Count> rows = w_.outer_of(w_.outputs), taps = w_.outer_of(w_.window);
    Count row = 0, size = 1;
    for (std::size_t i = w_.outer; i-- > 0;) {
      row += size * (r % rows[i] * w_.strides[i] + tap % taps[i] * w_.dilations[i]);
      size *= w_.inputs[i], r /= rows[i], tap /= taps[i];
    }
    return (r * size + row) * w_.inputs.back() * w_.channels;
  }
  // Where the row of y begins that reads row r of x at an outer place of the window; -1: there is none.
  Count output_row(Count r, Count tap, Places& at, Places& of_window) const {
    place_at(tap, w_.outer_of(w_.window), of_window);
    place_at(r, w_.outer_of(w_.inputs), at);
    Count row = r / std::max<Count>(places_in(w_.outer_of(w_.inputs)), 1);
    for (std::size_t i = 0; i < w_.outer; ++i) {
      const Count from = at[i] - of_window[i] * w_.dilations[i];
      if (from < 0 || from % w_.strides[i] != 0 || from / w_.strides[i] >= w_.outputs[i]) return -1;
      row = row * w_.outputs[i] + from / w_.strides[i];
    }
    return row * w_.outputs.back() * w_.features;
  }
  // The matrices of w, by place and group, transposed.
  void turn(const T* w, T* to) const {
    const Count places = places_in(w_.window);
    for (Count k = 0; k < places; ++k)
      for (Count g = 0; g < w_.groups; ++g)
        for (Count c = 0; c < w_.group_channels; ++c) {
          const T* from = w + (k * w_.group_channels + c) * w_.features + g * w_.group_features;
          T* matrix = to + (k * w_.groups + g) * w_.group_features * w_.group_channels;
          for (Count o = 0; o < w_.group_features; ++o) matrix[o * w_.group_channels + c] = from[o];
        }
  }

  ConvolutionWindows w_;
  bool merged_;  // the last axis of the window is part of the products' depth
  const std::atomic<std::uint32_t>& stop_;
  std::atomic<bool> failed_{false};
};

// The sum as it is written, for integers, which wrap around.
template <class T>
void add_up(const TenonConvolution& of, const T* first, const T* second, T* made) {
  const ConvolutionWindows c(of);
  const bool to_x = of.makes == TenonConvolution::input, to_w = of.makes == TenonConvolution::weights;
  using Sum = std::uint64_t;  // wide enough that the smaller types are not promoted to a signed one
  std::fill_n(made, to_x ? c.of_x() : to_w ? c.of_w() : c.of_y(), T(0));
  const Count outputs = places_in(c.outputs), places = places_in(c.window);
  Places p, k;
  for (Count row = 0; row < c.batch * outputs; ++row)
    for (Count place = 0; place < places; ++place) {
      place_at(row % std::max<Count>(outputs, 1), c.outputs, p), place_at(place, c.window, k);
      Count at = row / outputs;
      for (std::size_t i = 0; i < p.size(); ++i) at = at * c.inputs[i] + p[i] * c.strides[i] + k[i] * c.dilations[i];
      for (Count channel = 0; channel < c.group_channels; ++channel)
        for (Count o = 0; o < c.features; ++o) {
          const Count x = at * c.channels + o / c.group_features * c.group_channels + channel,
                      w = (place * c.group_channels + channel) * c.features + o, y = row * c.features + o;
          const auto add = [](T& sum, T a, T b) {
            sum = static_cast<T>(static_cast<Sum>(sum) + static_cast<Sum>(a) * static_cast<Sum>(b));
          };
          if (to_x)
            add(made[x], first[w], second[y]);
          else if (to_w)
            add(made[w], first[x], second[y]);
          else
            add(made[y], first[x], second[w]);
        }
    }
}

template <class T>
bool convolve_numbers(const TenonConvolution& c, const T* first, const T* second, T* made) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (const ConvolutionWindows windows(c); has_few_channels(windows)) {
      convolve_channels(c, windows, first, second, made);
      return true;
    }
    Convolution<T> convolution(c);
    return c.makes == TenonConvolution::input     ? convolution.make_input(first, second, made)
           : c.makes == TenonConvolution::weights ? convolution.make_weights(first, second, made)
                                                  : convolution.make_output(first, second, made);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    add_up(c, first, second, made);
    return true;
  }
  return false;
}

const RuntimeSymbol symbol_of_convolution("tenon_convolution", &tenon_convolution);

}  // namespace
}  // namespace tenon

std::int64_t tenon_convolution(const TenonConvolution* c, const void* first, const void* second, void* made, void*) {
  using namespace tenon;
  try {
    const bool done = dispatch(static_cast<DType>(c->dtype), [&]<class T>(std::type_identity<T>) {
      return convolve_numbers(*c, static_cast<const T*>(first), static_cast<const T*>(second), static_cast<T*>(made));
    });
    return done ? 0 : no_memory;
  } catch (const MemoryError&) {
    return no_memory;
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}
