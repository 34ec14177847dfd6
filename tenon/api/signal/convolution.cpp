// Convolutions of signals: by sums of products, or by Fourier transforms.
#include "tenon/api/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tenon/api/fft.h"
#include "tenon/api/loops.h"
#include "tenon/api/signal.h"
#include "tenon/api/signal/segments.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon::signal {
namespace {

using Dims = std::vector<Dim>;

// Two operands in one dtype in which they are computed, and the dtype of the result.
struct Pair {
  Array a, b;
  DType stored;
  bool weak;
};
Pair pair_of(std::string_view name, const Operand& a, const Operand& b) {
  const Met met = in_one_inexact_dtype(Arrays{a, b});
  if (a->rank() != b->rank())
    throw ShapeError(fmt::format("{}: {} and {} differ in rank.", name, a->type().text(), b->type().text()),
                     "Give both the same axes, with expand_dims.");
  return {widened(met.operands[0]), widened(met.operands[1]), met.operands[0].dtype(), met.weak};
}

bool is_known(const Dims& dims) {
  return std::ranges::all_of(dims, [](const Dim& n) { return n.known(); });
}
std::int64_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t(1),
                         [](std::int64_t so_far, const Dim& n) { return so_far * n.value(); });
}
bool is_zero(const Dim& n) { return n.try_value() == 0; }

// Where a part of all n + m - 1 elements begins, and how many it has.
struct Part {
  Dims from, count;
};
Part part_of(std::string_view name, const Dims& a, const Dims& b, Extent extent) {
  Part part;
  bool larger = true, smaller = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Dim shorter = min(a[i], b[i]), longer = max(a[i], b[i]);
    larger = larger && decided_less(a[i], b[i]) != true;
    smaller = smaller && decided_less(b[i], a[i]) != true;
    switch (extent) {
      case Extent::full:
        part.from.emplace_back(0), part.count.push_back(a[i] + b[i] - 1);
        break;
      case Extent::same:
        part.from.push_back(floor_div(b[i] - 1, 2)), part.count.push_back(a[i]);
        break;
      case Extent::largest:
        part.from.push_back(floor_div(shorter - 1, 2)), part.count.push_back(longer);
        break;
      case Extent::valid:
        part.from.push_back(shorter - 1), part.count.push_back(longer - shorter + 1);
        break;
    }
  }
  if (extent == Extent::valid && !larger && !smaller)
    throw ShapeError(
        fmt::format("{}: of [{}] and [{}] neither lies inside of the other.", name, Shape(a).text(), Shape(b).text()),
        "The valid part needs one that is at least as large along every axis.");
  return part;
}
Array cut(Array x, std::size_t first_axis, const Part& part) {
  for (std::size_t i = 0; i < part.from.size(); ++i)
    x = slice_in_dim(x, part.from[i], part.from[i] + part.count[i], static_cast<std::int64_t>(first_axis + i));
  return x;
}

void require_elements(std::string_view name, const Pair& pair) {
  for (const Array* x : {&pair.a, &pair.b})
    if (std::ranges::any_of(x->shape().dims(), is_zero))
      throw ShapeError(fmt::format("{}: {} has no elements.", name, x->type().text()), "Both have one or more.");
}

std::vector<std::int64_t> all_axes(const Array& x) {
  std::vector<std::int64_t> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Of an operand with zeros around it: what the part needs where sizes are known, else all of it, cut behind the sums.
struct Around {
  Dims before, behind;
  bool whole;  // to be cut
};
Around zeros_around(const Dims& n, const Dims& m, const Part& part) {
  Around around{{}, {}, !is_known(n) || !is_known(m)};
  for (std::size_t i = 0; i < n.size(); ++i) {
    around.before.push_back(around.whole ? m[i] - 1 : m[i] - 1 - part.from[i]);
    around.behind.push_back(around.whole ? m[i] - 1 : part.from[i] + part.count[i] - n[i]);
  }
  return around;
}

// Σ over channels of x [channels, places…] and places of the window w [features, channels, places…], which is not
// turned around: [features, places…].
Array sums_over_windows(Array x, const Array& w, const Around& around) {
  for (std::size_t i = 0; i < around.before.size(); ++i)
    x = with_zeros(x, static_cast<std::int64_t>(i + 1), around.before[i], around.behind[i]);
  return squeeze(conv_general_dilated(expand_dims(x, 0), w), 0);
}

// What elements of the window that are infinite or NaN make of the elements of x they meet: infinite or NaN, and 0
// where they meet none. How many there are of each kind is counted by a convolution; the zeros around x are none of
// them.
Array of_infinite(const Array& x, const Array& w, const Around& around) {
  const DType d = x.dtype();
  const auto counted = [&](const Array& mask) { return convert(mask, d); };
  const Array inf = convert(std::numeric_limits<double>::infinity(), d), zero = zeros_like(w);
  const Array channels = stack({counted(x > 0), counted(x < 0), ones_like(x), counted((x == 0) | is_nan(x))});
  const Array up = counted(w == inf), down = counted(w == -inf), undefined = counted(is_nan(w));
  const Array windows =
      stack({stack({up, down, zero, zero}), stack({down, up, zero, zero}), stack({zero, zero, undefined, up + down})});
  const Array counts = sums_over_windows(channels, windows, around);
  const auto some = [&](std::int64_t i) { return squeeze(slice_in_dim(counts, i, i + 1, 0), 0) > convert(0.5, d); };
  const Array rises = some(0), falls = some(1), none = zeros_like(squeeze(slice_in_dim(counts, 0, 1, 0), 0));
  const Array value = where(rises, inf, where(falls, -inf, none));
  return stop_gradient(where(some(2) | (rises & falls), convert(std::numeric_limits<double>::quiet_NaN(), d), value));
}

// The smaller operand is the window, turned around: places before and behind the other are zeros, with which an
// infinite element of the window has no product.
Array by_sums(const Array& a, const Array& b, const Part& part) {
  if (is_complex(a.dtype())) {
    const auto of = [&](const Array& x, const Array& y) { return by_sums(x, y, part); };
    const Array p = real(a), q = imag(a), s = real(b), t = imag(b);
    return complex(of(p, s) - of(q, t), of(p, t) + of(q, s));
  }
  Array x = a, w = b;
  if (is_known(a.shape().dims()) && is_known(b.shape().dims()) && product(a.shape().dims()) < product(b.shape().dims()))
    std::swap(x, w);
  w = reverse(w, all_axes(w));
  const Around around = zeros_around(x.shape().dims(), w.shape().dims(), part);
  const auto sums = [&around](const Array& of, const Array& window) {
    return squeeze(sums_over_windows(expand_dims(of, 0), expand_dims(expand_dims(window, 0), 0), around), 0);
  };
  const Array y = cond(
      all(is_finite(w)), sums,
      [&](const Array& of, const Array& window) {
        return sums(of, where(is_finite(window), window, zeros_like(window))) + of_infinite(of, window, around);
      },
      x, w);
  return around.whole ? cut(y, 0, part) : y;
}

// Lengths that transforms are fast of: with the factors 2, 3 and 5 alone.
Dim fast_length(const Dim& n) {
  if (!n.known()) return n;
  const std::int64_t least = std::max<std::int64_t>(n.value(), 1);
  std::int64_t best = 1;
  while (best < least) best *= 2;
  for (std::int64_t five = 1; five < best; five *= 5)
    for (std::int64_t three = five; three < best; three *= 3) {
      std::int64_t made = three;
      while (made < least) made *= 2;
      best = std::min(best, made);
    }
  return best;
}

// Along the last axes, as many as the part has; those before are equal.
Array by_transforms(const Array& a, const Array& b, const Part& part) {
  Dims lengths;
  std::vector<std::int64_t> axes;
  const std::size_t first = a.rank() - part.from.size();
  bool lengthens = false;
  for (std::size_t i = first; i < a.rank(); ++i) {
    const Dim n = a.shape()[i], m = b.shape()[i];
    lengthens = lengthens || !(n.try_value() == 1 || m.try_value() == 1);
    lengths.push_back(fast_length(n + m - 1));
    axes.push_back(static_cast<std::int64_t>(i));
  }
  if (!lengthens) return cut(a * b, first, part);
  const fft::ManyOptions options{lengths, axes};
  if (is_complex(a.dtype()))
    return cut(fft::ifftn(fft::fftn(a, options) * fft::fftn(b, options), options), first, part);
  return cut(fft::irfftn(fft::rfftn(a, options) * fft::rfftn(b, options), options), first, part);
}

Array made(const Pair& pair, const Array& result) { return convert(result, pair.stored).with_weak(pair.weak); }

Array convolved(std::string_view name, const Pair& pair, const SignalOptions& options) {
  require_elements(name, pair);
  const Dims n = pair.a.shape().dims(), m = pair.b.shape().dims();
  const Part part = part_of(name, n, m, options.mode);
  if (pair.a.rank() == 0) return made(pair, pair.a * pair.b);
  return made(pair, options.method == ConvolutionMethod::fft ? by_transforms(pair.a, pair.b, part)
                                                             : by_sums(pair.a, pair.b, part));
}

Pair turned(Pair pair) {
  pair.b = conj(reverse(pair.b, all_axes(pair.b)));
  return pair;
}
void require_matrices(std::string_view name, const Operand& a, const Operand& b) {
  if (a->rank() != 2 || b->rank() != 2)
    throw ShapeError(fmt::format("{}: {} and {} are not both matrices.", name, a->type().text(), b->type().text()),
                     "Signals with other axes are for convolve and correlate.");
}

}  // namespace

Array convolve(const Operand& a, const Operand& b, const SignalOptions& options) {
  const SourceScope place(a.where(), "convolve");
  return convolved("convolve", pair_of("convolve", a, b), options);
}
Array correlate(const Operand& a, const Operand& b, const SignalOptions& options) {
  const SourceScope place(a.where(), "correlate");
  return convolved("correlate", turned(pair_of("correlate", a, b)), options);
}
Array convolve2d(const Operand& a, const Operand& b, Extent mode) {
  const SourceScope place(a.where(), "convolve2d");
  require_matrices("convolve2d", a, b);
  return convolved("convolve2d", pair_of("convolve2d", a, b), {mode});
}
Array correlate2d(const Operand& a, const Operand& b, Extent mode) {
  const SourceScope place(a.where(), "correlate2d");
  require_matrices("correlate2d", a, b);
  const Pair pair = turned(pair_of("correlate2d", a, b));
  if (mode == Extent::same) {  // the middle of an even number of elements is the later one, as SciPy has it
    require_elements("correlate2d", pair);
    Part part = part_of("correlate2d", pair.a.shape().dims(), pair.b.shape().dims(), mode);
    for (std::size_t i = 0; i < 2; ++i) part.from[i] = floor_div(pair.b.shape()[i], 2);
    return made(pair, by_sums(pair.a, pair.b, part));
  }
  const Array values = convolved("correlate2d", pair, {mode});
  // Of the larger second operand SciPy conjugates the first one.
  bool larger = mode == Extent::valid, equal = true;
  for (std::size_t i = 0; i < 2; ++i) {
    larger = larger && decided_less(pair.b.shape()[i], pair.a.shape()[i]) != true;
    equal = equal && decided_equal(pair.a.shape()[i], pair.b.shape()[i]) == true;
  }
  return larger && !equal ? conj(values) : values;
}

Array fftconvolve(const Operand& a, const Operand& b, const FftConvolveOptions& options) {
  constexpr std::string_view name = "fftconvolve";
  const SourceScope place(a.where(), name);
  const Pair pair = pair_of(name, a, b);
  std::vector<std::int64_t> axes = options.axes.value_or(all_axes(pair.a)), order;
  for (std::int64_t& axis : axes) axis = static_cast<std::int64_t>(normalize_axis(axis, pair.a.rank(), name));
  std::ranges::sort(axes);
  axes.erase(std::ranges::unique(axes).begin(), axes.end());
  for (const std::int64_t axis : all_axes(pair.a)) {
    if (std::ranges::binary_search(axes, axis)) continue;
    order.push_back(axis);
    const auto i = static_cast<std::size_t>(axis);
    if (decided_equal(pair.a.shape()[i], pair.b.shape()[i]) == false)
      throw ShapeError(fmt::format("{}: {} and {} differ in axis {}, which is not convolved.", name, a->type().text(),
                                   b->type().text(), axis),
                       "Axes that are not named have equal sizes.");
  }
  order.insert(order.end(), axes.begin(), axes.end());
  Dims n, m;
  for (const std::int64_t axis : axes) {
    n.push_back(pair.a.shape()[static_cast<std::size_t>(axis)]);
    m.push_back(pair.b.shape()[static_cast<std::size_t>(axis)]);
  }
  const Part part = part_of(name, n, m, options.mode);
  const std::vector<std::int64_t> back = inverse_permutation(order);
  Array a_in_order = transpose(pair.a, order), b_in_order = transpose(pair.b, order);
  for (Array* x : {&a_in_order, &b_in_order})  // nothing to transform: one zero stands for no element
    for (std::size_t i = order.size() - axes.size(); i < order.size(); ++i)
      if (is_zero(x->shape()[i])) {
        Dims count = a_in_order.shape().dims();
        for (std::size_t k = 0; k < axes.size(); ++k) count[order.size() - axes.size() + k] = max(part.count[k], 0);
        return made(pair, transpose(zeros(Shape(count), pair.a.dtype()), back));
      }
  return made(pair, transpose(by_transforms(a_in_order, b_in_order, part), back));
}

}  // namespace tenon::signal
