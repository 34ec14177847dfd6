#include "tenon/ops/composites/window_fold.h"

#include <algorithm>
#include <set>

#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

constexpr std::int64_t most_slices = 32, most_in_line = 16, most_pieces = 16;

class WindowFolder {
 public:
  WindowFolder(Arrays xs, const WindowPlaces& places, const WindowFold& fold)
      : xs_(std::move(xs)), p_(places), fold_(fold) {}

  Arrays run() {
    std::int64_t slices = 1, pieces = 1;
    for (std::size_t axis = p_.window.size(); axis-- > 0;) {
      if (is_left_alone(axis)) continue;
      const std::int64_t window = p_.window[axis], cut = pieces_of(axis);
      if (window > most_in_line) {
        take_slices();
        take_long(axis);
        slices = pieces = 1;
        continue;
      }
      if (slices * window > most_slices || pieces * cut > most_pieces) {
        take_slices();
        slices = pieces = 1;
      }
      slices *= window, pieces *= cut;
      waiting_.insert(waiting_.begin(), axis);
    }
    take_slices();
    return std::move(xs_);
  }

  std::vector<MaybeArray> slices() {
    for (std::size_t axis = 0; axis < p_.window.size(); ++axis)
      if (!is_left_alone(axis)) waiting_.push_back(axis);
    std::vector<MaybeArray> all;
    each_place([&](const std::vector<const Part*>* place) {
      all.push_back(place == nullptr ? MaybeArray() : MaybeArray(slices_at(*place)[0]));
    });
    return all;
  }

 private:
  struct Part {  // of an axis: slices and, of known sizes, how many outputs they leave out before and behind
    Dim start, limit;
    std::int64_t low = 0, high = 0;
    bool empty = false;
  };

  Dim size(std::size_t axis) const { return xs_[0].shape()[axis]; }
  Dim outputs(std::size_t axis) const { return windows_of(size(axis), p_, axis); }
  bool is_left_alone(std::size_t axis) const {
    return p_.window[axis] == 1 && p_.strides[axis] == 1 && p_.low[axis] == 0 && p_.high[axis] == 0;
  }
  // Nests that the slices of an axis are cut into where elements are missing.
  std::int64_t pieces_of(std::size_t axis) const {
    if (!size(axis).known()) return 1;
    std::set<std::int64_t> bounds;
    const std::int64_t all = outputs(axis).value();
    for (std::int64_t k = 0; k < p_.window[axis]; ++k) {
      const Part part = part_of(axis, k, all);
      for (const std::int64_t at : {part.low, all - part.high})
        if (at > 0 && at < all) bounds.insert(at);
    }
    return static_cast<std::int64_t>(bounds.size()) + 1;
  }

  // What place k of each window reads: o · stride + k · dilation - low, of the outputs o where that is an element.
  Part part_of(std::size_t axis, std::int64_t k, const Dim& all) const {
    const std::int64_t stride = p_.strides[axis], at = k * p_.dilations[axis] - p_.low[axis];
    if (!size(axis).known())  // what is not there has been put around it
      return {at, max(at + (all - 1) * stride + 1, at)};
    const std::int64_t n = size(axis).value(), outs = all.value();
    const std::int64_t first = at < 0 ? (-at + stride - 1) / stride : 0;
    const std::int64_t end = std::min(outs, n - 1 - at < 0 ? 0 : (n - 1 - at) / stride + 1);
    if (first >= end) return {0, 0, 0, 0, true};
    return {first * stride + at, (end - 1) * stride + at + 1, first, outs - end};
  }

  void pad_axis(std::size_t axis, std::int64_t low, std::int64_t high) {
    if (low == 0 && high == 0) return;
    std::vector<std::int64_t> before(p_.window.size(), 0), behind = before;
    before[axis] = low, behind[axis] = high;
    for (std::size_t i = 0; i < xs_.size(); ++i) xs_[i] = pad(xs_[i], fold_.fills[i], before, behind);
  }
  void pad_axis(std::size_t axis) {
    pad_axis(axis, p_.low[axis], p_.high[axis]);
    p_.low[axis] = p_.high[axis] = 0;
  }

  // A slice an array for each place of the window over the axes that wait.
  void take_slices() {
    if (waiting_.empty()) return;
    Shape shape = xs_[0].shape();
    for (const std::size_t axis : waiting_) {
      if (!size(axis).known()) pad_axis(axis);
      shape[axis] = outputs(axis);
    }
    Arrays sum;
    each_place([&](const std::vector<const Part*>* place) {
      if (place == nullptr) return;
      const Arrays next = slices_at(*place);
      sum = sum.empty() ? next : fold_.combine(sum, next);
    });
    if (sum.empty())
      for (const Array& fill : fold_.fills) sum.push_back(full(shape, fill));
    xs_ = std::move(sum);
    waiting_.clear();
  }
  // Of the axes that wait; nothing of places where no window has an element.
  template <class Visit>
  void each_place(const Visit& visit) const {
    std::int64_t count = 1;
    std::vector<std::vector<Part>> parts(p_.window.size());
    for (const std::size_t axis : waiting_) {
      const Dim all = outputs(axis);
      for (std::int64_t k = 0; k < p_.window[axis]; ++k) parts[axis].push_back(part_of(axis, k, all));
      count *= p_.window[axis];
    }
    for (std::int64_t number = 0; number < count; ++number) {
      std::vector<const Part*> place(p_.window.size(), nullptr);
      std::int64_t rest = number;
      bool empty = false;
      for (std::size_t i = waiting_.size(); i-- > 0;) {
        const std::size_t axis = waiting_[i];
        place[axis] = &parts[axis][static_cast<std::size_t>(rest % p_.window[axis])];
        rest /= p_.window[axis];
        empty = empty || place[axis]->empty;
      }
      visit(empty ? nullptr : &place);
    }
  }
  Arrays slices_at(const std::vector<const Part*>& place) const {
    std::vector<Dim> start, limit;
    std::vector<std::int64_t> stride, low, high;
    bool padded = false;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const Part part = place[i] != nullptr ? *place[i] : Part{0, size(i)};
      start.push_back(part.start), limit.push_back(part.limit);
      stride.push_back(place[i] != nullptr ? p_.strides[i] : 1);
      low.push_back(part.low), high.push_back(part.high);
      padded = padded || part.low != 0 || part.high != 0;
    }
    Arrays slices;
    for (std::size_t i = 0; i < xs_.size(); ++i) {
      const Array inside = slice(xs_[i], start, limit, stride);
      slices.push_back(padded ? pad(inside, fold_.fills[i], low, high) : inside);
    }
    return slices;
  }

  // --- one axis of many places ---
  void take_long(std::size_t axis) {
    pad_axis(axis);
    const Dim all = outputs(axis);
    const bool apart = p_.dilations[axis] == 1 && p_.strides[axis] >= p_.window[axis];
    if (all.try_value() == 0)
      take_none(axis);
    else if (all.known() && (all.value() == 1 || apart))
      take_apart(axis, all.value());
    else
      take_doubled(axis, all);
  }
  void take_none(std::size_t axis) {
    Shape shape = xs_[0].shape();
    shape[axis] = 0;
    for (std::size_t i = 0; i < xs_.size(); ++i) xs_[i] = full(shape, fold_.fills[i]);
  }

  // Windows that share nothing: an axis of their own, combined by halves.
  void take_apart(std::size_t axis, std::int64_t all) {
    const std::int64_t window = p_.window[axis], step = all == 1 ? p_.dilations[axis] : 1;
    const std::int64_t stride = all == 1 ? window * step : p_.strides[axis];
    pad_axis(axis, 0, all * stride - size(axis).value());
    const auto at = static_cast<std::int64_t>(axis);
    for (Array& x : xs_) {
      std::vector<Dim> dims = x.shape().dims();
      dims[axis] = all;
      dims.insert(dims.begin() + at + 1, stride);
      x = slice_in_dim(reshape(x, Shape(dims)), 0, (window - 1) * step + 1, at + 1, step);
    }
    if (fold_.reduce && xs_.size() == 1) {
      xs_[0] = fold_.reduce(xs_[0], at + 1);
      return;
    }
    for (std::int64_t n = window; n > 1; n -= n / 2) {
      const std::int64_t pairs = n / 2;
      Arrays first, second;
      for (const Array& x : xs_) {
        first.push_back(slice_in_dim(x, 0, 2 * pairs, at + 1, 2));
        second.push_back(slice_in_dim(x, 1, 2 * pairs, at + 1, 2));
      }
      Arrays made = fold_.combine(first, second);
      for (std::size_t i = 0; i < made.size() && n % 2 != 0; ++i)
        made[i] = concatenate({made[i], slice_in_dim(xs_[i], n - 1, n, at + 1)}, at + 1);
      xs_ = std::move(made);
    }
    for (Array& x : xs_) x = squeeze(x, at + 1);
  }

  // Windows of 1, 2, 4, … places at each element; those of which the number of places is made stand side by side.
  void take_doubled(std::size_t axis, const Dim& all) {
    const std::int64_t window = p_.window[axis], dilation = p_.dilations[axis], stride = p_.strides[axis];
    const auto at = static_cast<std::int64_t>(axis);
    const auto part = [&](const Arrays& of, const Dim& from, const Dim& to, std::int64_t step) {
      Arrays parts;
      for (const Array& x : of) parts.push_back(slice_in_dim(x, from, to, at, step));
      return parts;
    };
    std::vector<Arrays> doubled{xs_};
    for (std::int64_t length = 1; 2 * length <= window; length *= 2) {
      const Arrays& last = doubled.back();
      const Dim n = last[0].shape()[axis], moved = length * dilation;
      doubled.push_back(fold_.combine(part(last, 0, n - moved, 1), part(last, moved, n, 1)));
    }
    Arrays sum;
    std::int64_t before = 0;
    for (std::size_t bit = doubled.size(); bit-- > 0;) {
      if ((window >> bit & 1) == 0) continue;
      const Dim from = before * dilation;
      const Arrays next = part(doubled[bit], from, from + (all - 1) * stride + 1, stride);
      sum = sum.empty() ? next : fold_.combine(sum, next);
      before += std::int64_t(1) << bit;
    }
    xs_ = std::move(sum);
  }

  Arrays xs_;
  WindowPlaces p_;
  const WindowFold fold_;
  std::vector<std::size_t> waiting_;  // axes whose slices are taken together
};

}  // namespace

Arrays fold_windows(Arrays xs, const WindowPlaces& places, const WindowFold& fold) {
  return WindowFolder(std::move(xs), places, fold).run();
}

std::vector<MaybeArray> slices_of_windows(const Array& x, const WindowPlaces& places, const Array& fill) {
  return WindowFolder({x}, places, {{}, {fill}}).slices();
}

}  // namespace tenon
