// What windows give back, row of windows by row of windows: a row's elements are found among those of x, a piece of it
// at a time, and given to the rows that the windows lie over. Parts of what is made are shared by the threads; each of
// its elements is the sum of its windows in their order, whatever the parts are.
#include "tenon/runtime/windows/windows.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <type_traits>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/runtime/context.h"
#include "tenon/runtime/memory/workspace.h"
#include "tenon/runtime/symbols.h"
#include "tenon/runtime/threads/parallel_for.h"
#include "tenon/runtime/threads/threads.h"
#include "tenon/runtime/windows/window_rows.h"

namespace tenon {
namespace {

using Size = std::int64_t;

struct WindowAxis {
  Size n, windows, window, stride, dilation, low;
  bool is_whole() const { return window == 1 && stride == 1 && low == 0 && n == windows; }
  // Where place k of a window lies.
  Size at(Size p, Size k) const { return p * stride + k * dilation - low; }
  // The windows p, first to end, whose place k lies in [from, to).
  std::pair<Size, Size> reading(Size k, Size from, Size to) const {
    const auto ceiling = [&](Size a) { return a <= 0 ? 0 : (a + stride - 1) / stride; };
    const Size shift = low - k * dilation;
    const Size end = std::min(ceiling(to + shift), windows);
    return {std::min(ceiling(from + shift), end), end};
  }
};

// Neighbours that windows leave alone are one axis.
std::vector<WindowAxis> window_axes_of(const TenonWindows& w) {
  std::vector<WindowAxis> axes;
  for (Size i = 0; i < w.axes; ++i) {
    const WindowAxis a{w.inputs()[i], w.outputs()[i], w.window()[i], w.strides()[i], w.dilations()[i], w.low()[i]};
    if (!axes.empty() && axes.back().is_whole() && a.is_whole())
      axes.back().n *= a.n, axes.back().windows *= a.n;
    else
      axes.push_back(a);
  }
  if (axes.empty()) axes.push_back({1, 1, 1, 1, 1, 0});
  return axes;
}

// Where an outer place of a row's windows lies.
struct WindowTap {
  Size row;     // the first element of its row of x
  Size number;  // of its first place among those of the window
  bool given;   // whether what is made there belongs to this part
};

template <class T>
class WindowGiver {
 public:
  WindowGiver(const TenonWindows& w, const T* x, const T* y, T* made)
      : axes_(window_axes_of(w)),
        largest_(w.selects != TenonWindows::least),
        x_(w.selects == TenonWindows::all ? nullptr : x),
        y_(y),
        made_(made),
        stop_(*Context::current().flag()) {
    while (first_ + 1 < axes_.size() && axes_[first_].is_whole()) ++first_;
    taps_ = 1;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      elements_ *= axes_[i].n;
      windows_ *= axes_[i].windows;
      if (i < first_) lead_ *= axes_[i].n;
      if (i > first_) slab_ *= axes_[i].n, windows_of_slab_ *= axes_[i].windows;
      if (i + 1 < axes_.size()) taps_ *= axes_[i].window;
    }
  }

  void run() {
    if (elements_ == 0) return;
    if (windows_ == 0) return static_cast<void>(std::fill_n(made_, elements_, T(0)));
    const Size n = axes_[first_].n;
    constexpr Size tasks = 32, least_work = 1 << 16;
    const Size bands = std::clamp<Size>(std::min(tasks / lead_, elements_ / lead_ / least_work), 1, n);
    scratch_.resize(static_cast<std::size_t>(std::max(threads(), 1)));
    for (Scratch& each : scratch_)
      each.taps.reserve(static_cast<std::size_t>(taps_)), each.window.resize(axes_.size()),
          each.place.resize(axes_.size()), each.given.resize(static_cast<std::size_t>(axes_.back().window));
    for (Size k = 0; k < axes_.back().window; ++k) inside_.push_back(axes_.back().reading(k, 0, axes_.back().n));
    bands_ = bands;
    const Size work_of_task = std::max<Size>(windows_ / (lead_ * bands) * taps_ * axes_.back().window, 1);
    const Size grain = std::clamp<Size>((1 << 17) / work_of_task, 1, lead_ * bands);
    tenon_parallel_for(
        [](void* context, Size begin, Size end, int worker) {
          auto& self = *static_cast<WindowGiver*>(context);
          const Size n = self.axes_[self.first_].n;
          for (Size task = begin; task < end && self.running(); ++task) {
            const Size band = task % self.bands_;
            self.give_band(self.scratch_[static_cast<std::size_t>(worker)], task / self.bands_, n * band / self.bands_,
                           n * (band + 1) / self.bands_);
          }
        },
        this, lead_ * bands, grain);
  }

 private:
  using Readings = std::vector<std::pair<Size, Size>>;  // a place of a row's windows: those that have it
  struct Scratch {
    std::vector<WindowTap> taps;
    std::vector<Size> window, place;
    Readings given;  // in this part
  };
  bool running() const { return stop_.load(std::memory_order_relaxed) != Context::stopped; }

  // What lies in [from, to) of the first axis that has windows.
  void give_band(Scratch& scratch, Size lead, Size from, Size to) {
    const WindowAxis& axis = axes_[first_];
    T* const made = made_ + lead * axis.n * slab_;
    const bool is_row = first_ + 1 == axes_.size();
    for (Size k = 0; k < axes_.back().window; ++k)
      scratch.given[static_cast<std::size_t>(k)] =
          is_row ? axis.reading(k, from, to) : inside_[static_cast<std::size_t>(k)];
    const Size first = axis.reading(axis.window - 1, from, to).first, end = axis.reading(0, from, to).second;
    if (is_row) {
      std::fill(made + from, made + to, T(0));
      scratch.taps.assign(1, {lead * axis.n, 0, true});
      return give_row(scratch, y_ + lead * axis.windows, first, end);
    }
    Size cleared = from;
    const auto clear_to = [&](Size at) {
      if (at > cleared) std::fill(made + cleared * slab_, made + at * slab_, T(0)), cleared = at;
    };
    const Size row = axes_.back().windows, rows = windows_of_slab_ / row;
    for (Size p = first; p < end && running(); ++p) {
      clear_to(std::min(to, axis.at(p, axis.window - 1) + 1));
      const T* y = y_ + (lead * axis.windows + p) * windows_of_slab_;
      for (Size r = 0; r < rows; ++r, y += row) {
        find_taps(scratch, lead, p, r, from, to);
        give_row(scratch, y, 0, row);
      }
    }
    clear_to(to);
  }

  // The rows of x that row r of the windows p of the first axis lies over, in the order of the window.
  void find_taps(Scratch& scratch, Size lead, Size p, Size r, Size from, Size to) const {
    const std::size_t last = axes_.size() - 1;
    std::vector<Size>&window = scratch.window, &place = scratch.place;
    window[first_] = p;
    for (std::size_t i = last; i-- > first_ + 1;) window[i] = r % axes_[i].windows, r /= axes_[i].windows;
    std::fill(place.begin(), place.end(), 0);
    scratch.taps.clear();
    for (Size number = 0;; number += axes_[last].window) {
      Size row = lead;
      bool inside = true;
      for (std::size_t i = first_; i < last && inside; ++i) {
        const Size at = axes_[i].at(window[i], place[i]);
        inside = at >= 0 && at < axes_[i].n;
        row = row * axes_[i].n + at;
      }
      if (inside) {
        const Size at = axes_[first_].at(p, place[first_]);
        scratch.taps.push_back({row * axes_[last].n, number, at >= from && at < to});
      }
      std::size_t i = last;
      while (i > first_ && ++place[i - 1] == axes_[i - 1].window) place[--i] = 0;
      if (i == first_) return;
    }
  }

  // Windows of a row, first to end.
  void give_row(const Scratch& scratch, const T* y, Size first, Size end) const {
    const WindowAxis& axis = axes_.back();
    constexpr Size piece = 512;
    WindowPlaceOf<T> which[piece];
    T best[piece];
    for (Size begin = first; begin < end; begin += piece) {
      const Size stop = std::min(end, begin + piece);
      // `visit` of each place: the windows of this piece that have it, where they lie and its number.
      const auto each_place = [&](const Readings& readings, bool only_given, auto visit) {
        for (const WindowTap& tap : scratch.taps)
          for (Size k = 0; k < axis.window && (tap.given || !only_given); ++k) {
            const auto [p, p_end] = readings[static_cast<std::size_t>(k)];
            const Size a = std::max(p, begin), b = std::min(p_end, stop);
            if (a < b) visit(a, b - a, tap.row + axis.at(a, k), static_cast<WindowPlaceOf<T>>(tap.number + k));
          }
      };
      if (x_ == nullptr) {
        each_place(scratch.given, true, [&](Size a, Size count, Size at, WindowPlaceOf<T>) {
          add_row(y + a, made_ + at, axis.stride, count);
        });
        continue;
      }
      std::fill_n(which, stop - begin, WindowPlaceOf<T>(-1));
      std::fill_n(best, stop - begin, T(0));
      each_place(inside_, false, [&](Size a, Size count, Size at, WindowPlaceOf<T> number) {
        select_row(largest_, x_ + at, axis.stride, number, best + (a - begin), which + (a - begin), count);
      });
      each_place(scratch.given, true, [&](Size a, Size count, Size at, WindowPlaceOf<T> number) {
        add_selected_row(y + a, which + (a - begin), number, made_ + at, axis.stride, count);
      });
    }
  }

  std::vector<WindowAxis> axes_;
  std::size_t first_ = 0;  // axis that has windows, or the last one
  bool largest_;
  const T *x_, *y_;
  T* made_;
  const std::atomic<std::uint32_t>& stop_;
  Size elements_ = 1, windows_ = 1, lead_ = 1, slab_ = 1, windows_of_slab_ = 1, taps_ = 1, bands_ = 1;
  Readings inside_;
  std::vector<Scratch> scratch_;
};

std::int64_t give_windows(const TenonWindows& w, const void* x, const void* y, void* made) {
  try {
    dispatch(static_cast<DType>(w.dtype), [&]<class T>(std::type_identity<T>) {
      if constexpr ((std::is_integral_v<T> && !std::is_same_v<T, bool>) || std::is_floating_point_v<T>)
        WindowGiver<T>(w, static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(made)).run();
    });
    return 0;
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}

const RuntimeSymbol symbol_of_window_spread("tenon_window_spread", &tenon_window_spread);
const RuntimeSymbol symbol_of_window_scatter("tenon_window_scatter", &tenon_window_scatter);

}  // namespace
}  // namespace tenon

std::int64_t tenon_window_spread(const TenonWindows* windows, const void* y, void* made, void*) {
  return tenon::give_windows(*windows, nullptr, y, made);
}
std::int64_t tenon_window_scatter(const TenonWindows* windows, const void* x, const void* y, void* made, void*) {
  return tenon::give_windows(*windows, x, y, made);
}
