#include "tests/programs/along_axes.h"

#include "tenon/tenon.h"

namespace tenon::sample {
namespace {

std::int64_t some_axis(Choices& c, const Array& x) { return c.between(0, static_cast<std::int64_t>(x.rank()) - 1); }
// Large numbers make small differences meaningless.
Array small(const Array& x) { return is_inexact(x.dtype()) ? sin(x) : x; }

}  // namespace

Array some_order(Choices& c, const Array& x) {
  const std::int64_t axis = some_axis(c, x), n = x.size(axis);
  const bool other_way = c.below(2) == 0, places = !is_inexact(x.dtype());  // rounding may change places
  switch (c.below(3)) {
    case 0:
      return sort(x, axis, {.descending = other_way});
    case 1:
      return places ? argsort(x, axis, {.descending = other_way}) : slice_in_dim(sort(x, axis), 0, (n + 3) / 4, axis);
    default: {
      const TopK found =
          top_k(move_axis(x, axis, -1), c.between(0, std::min<std::int64_t>(n, 5)), {.smallest = other_way});
      return places && c.below(2) == 0 ? found.indices : found.values;
    }
  }
}

Array some_cumulative(Choices& c, const Array& x) {
  const std::int64_t axis = some_axis(c, x);
  const CumulativeOptions options{.reverse = c.below(2) == 0};
  switch (c.below(is_complex(x.dtype()) ? 2 : 4)) {
    case 0:
      return cumsum(x, axis, options);
    case 1:
      return cumprod(small(x), axis, options);
    case 2:
      return cummax(x, axis, options);
    default:
      return cummin(x, axis, options);
  }
}

Array some_composite(Choices& c, const Array& x) {
  switch (c.below(4)) {
    case 0:
      return softmax(x, some_axis(c, x));
    case 1:
      return log_softmax(x, some_axis(c, x));
    case 2:
      return standardize(x, some_axis(c, x), 0.5);
    default:
      return gelu(x);
  }
}

Array some_windows(Choices& c, const Array& x) {
  std::vector<std::int64_t> window, strides, within, between;
  for (const Dim& size : x.shape()) {
    window.push_back(c.between(1, std::min<std::int64_t>(3, size.value())));
    strides.push_back(c.between(1, 2));
    within.push_back(c.chance(20) ? 2 : 1);
    between.push_back(c.chance(20) ? 2 : 1);
  }
  if (c.chance(30)) window.back() = std::min<std::int64_t>(x.dim(-1).value(), c.between(4, 40));
  const Padding padding = c.below(2) == 0 ? Padding::same : Padding::valid;
  static const std::vector<WindowReduction> all{WindowReduction::sum, WindowReduction::prod, WindowReduction::max,
                                                WindowReduction::min};
  const WindowReduction reduction = is_complex(x.dtype()) ? WindowReduction::sum : c.of(all);
  return reduce_window(reduction, reduction == WindowReduction::prod ? small(x) : x, window,
                       {.strides = strides, .padding = padding, .base_dilation = between, .window_dilation = within});
}

Array some_segments(Choices& c, const Array& x, const Array& numbers) {
  const std::int64_t count = c.between(1, 7);
  const bool sorted = c.below(2) == 0;
  const Array rows = sorted ? sort(numbers % count) : numbers % count;
  const Shape shape = x.shape().without_axis(0).with_axis(0, count);
  static const std::vector<ScatterKind> kinds{ScatterKind::add, ScatterKind::add, ScatterKind::max, ScatterKind::min};
  const ScatterKind kind = is_complex(x.dtype()) ? ScatterKind::add : c.of(kinds);
  return scatter_at(kind, zeros(shape, x.dtype()), Arrays{rows}, {0}, x, {.hints = {.sorted = sorted}});
}

}  // namespace tenon::sample
