#include "tenon/api/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/custom.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/window_fold.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/reductions/windows.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

using WindowNumbers = std::vector<std::int64_t>;
using Pads = std::vector<std::pair<std::int64_t, std::int64_t>>;

// --- options ---
struct PreparedWindows {
  WindowPlaces places;
  WindowNumbers between;  // places that are not there, behind each element

  bool is_spread() const {
    return std::ranges::any_of(between, [](std::int64_t n) { return n != 0; });
  }
  // Whether windows have places without an element.
  bool has_gaps() const {
    const auto some = [](const WindowNumbers& all) {
      return std::ranges::any_of(all, [](std::int64_t n) { return n > 0; });
    };
    return is_spread() || some(places.low) || some(places.high);
  }
  Array spread(const Array& x, const Array& fill) const {
    const WindowNumbers none(between.size(), 0);
    return is_spread() ? pad(x, fill, none, none, between) : x;
  }
  std::int64_t count() const {
    std::int64_t count = 1;
    for (const std::int64_t n : places.window) count *= n;
    return count;
  }
  bool has_strides() const {
    return std::ranges::any_of(places.strides, [](std::int64_t n) { return n != 1; });
  }
};

WindowNumbers one_an_axis(std::string_view name, const WindowNumbers& given, const Array& x, std::string_view what) {
  if (given.empty()) return WindowNumbers(x.rank(), 1);
  if (given.size() != x.rank())
    throw ShapeError(fmt::format("{}: {} {} for {}.", name, given.size(), what, x.type().text()),
                     "Give one for each axis.");
  for (const std::int64_t each : given)
    if (each < 1) throw ShapeError(fmt::format("{}: {} is among the {}.", name, each, what), "Each is 1 or more.");
  return given;
}

PreparedWindows prepared_windows(std::string_view name, const Array& x, const WindowNumbers& window,
                                 const WindowOptions& options) {
  if (window.size() != x.rank())
    throw ShapeError(fmt::format("{}: a window of {} sizes over {}.", name, window.size(), x.type().text()),
                     "Give one for each axis, 1 where windows do not reach.");
  PreparedWindows w;
  WindowPlaces& p = w.places;
  p.window = one_an_axis(name, window, x, "sizes of the window");
  p.strides = one_an_axis(name, options.strides, x, "strides");
  p.dilations = one_an_axis(name, options.window_dilation, x, "dilations of the window");
  w.between = one_an_axis(name, options.base_dilation, x, "dilations of the array");
  Pads pads;
  if (const auto* given = std::get_if<Pads>(&options.padding)) {
    pads = *given;
    if (pads.size() != x.rank())
      throw ShapeError(fmt::format("{}: {} pairs of padding for {}.", name, pads.size(), x.type().text()),
                       "Give one for each axis.");
  } else {
    const Padding kind = std::get<Padding>(options.padding);
    for (std::size_t i = 0; i < x.rank(); ++i)
      pads.push_back(api_detail::padding_of(
          kind, [&] { return x.size(static_cast<std::int64_t>(i)); }, 1, p.strides[i],
          (p.window[i] - 1) * p.dilations[i]));
  }
  for (const auto& [low, high] : pads) p.low.push_back(low), p.high.push_back(high);
  for (std::int64_t& n : w.between) --n;
  return w;
}

// --- reductions that are known ---
struct KnownReduction {
  Array (*combine)(const Operand&, const Operand&);
  Scalar (*start)(DType);
  Array (*of_axis)(const Operand&, const Axes&);  // none: by pairs
};
Scalar every_bit(DType d) {  // of an unsigned number its largest, else -1
  return lowest(d) == Scalar::zero(d) ? highest(d) : Scalar(std::int64_t(-1)).convert(d);
}
KnownReduction known_reduction(WindowReduction reduction) {
  switch (reduction) {
    case WindowReduction::sum:
      return {operator+, Scalar::zero, sum};
    case WindowReduction::prod:
      return {operator*, Scalar::one, prod};
    case WindowReduction::max:
      return {max, lowest, amax};
    case WindowReduction::min:
      return {min, highest, amin};
    case WindowReduction::bit_and:
      return {operator&, every_bit, nullptr};
    case WindowReduction::bit_or:
      return {operator|, Scalar::zero, nullptr};
    default:
      return {operator^, Scalar::zero, nullptr};
  }
}

void require_reduction(WindowReduction reduction, const Array& x) {
  const DType d = x.dtype();
  const bool bits = reduction >= WindowReduction::bit_and,
             order = reduction == WindowReduction::max || reduction == WindowReduction::min;
  if (!x.type().is_array() || (bits && is_inexact(d)) || (order && is_complex(d)) ||
      (!bits && !order && d == DType::bool_))
    throw DTypeError(fmt::format("reduce_window: {} has no {}.", x.type().text(),
                                 bits    ? "bits"
                                 : order ? "order"
                                         : "sums and products"),
                     d == DType::bool_ ? "Convert it, with convert(x, DType::i32)."
                     : order           ? "Take the windows of its parts, real(x) and imag(x)."
                                       : "Convert it.");
}

Array folded(WindowReduction reduction, const Array& x, const WindowPlaces& places) {
  const KnownReduction known = known_reduction(reduction);
  const auto combine = [&](const Arrays& a, const Arrays& b) { return Arrays{known.combine(a[0], b[0])}; };
  const auto of_axis = [&](const Array& a, std::int64_t axis) { return known.of_axis(a, axis); };
  const Arrays fills{Array(known.start(x.dtype()))};
  if (known.of_axis == nullptr || x.dtype() == DType::bool_) return fold_windows({x}, places, {combine, fills})[0];
  return fold_windows({x}, places, {combine, fills, of_axis})[0];
}

// What comes behind every element.
Array no_choice(bool largest, DType d) { return Array(largest ? lowest(d) : highest(d)); }

// The largest or least elements, chosen so that the derivative of this, too, goes to the first of those that are equal.
Array first_chosen(bool largest, const Array& x, const WindowPlaces& places) {
  const auto choose = [&](const Arrays& a, const Arrays& b) {
    const Array keep = (largest ? a[0] >= b[0] : a[0] <= b[0]) | (a[0] != a[0]);
    return Arrays{where(keep, a[0], b[0])};
  };
  return fold_windows({x}, places, {choose, {no_choice(largest, x.dtype())}})[0];
}

// What sums over windows give back. Windows at each element are such sums again; large ones go axis by axis.
Array sums_given_back(const Array& ct, const PreparedWindows& w, const Shape& shape) {
  if (is_complex(ct.dtype())) return complex(sums_given_back(real(ct), w, shape), sums_given_back(imag(ct), w, shape));
  const WindowPlaces& p = w.places;
  const std::size_t rank = shape.rank();
  // How many elements that gives is known to be what is wanted only where sizes are.
  if (!w.has_strides() && shape.known()) {
    WindowPlaces back = p;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t span = (p.window[i] - 1) * p.dilations[i];
      const Dim missing = shape[i] - ct.shape()[i];  // fewer than the span where there is no window
      back.low[i] = span - p.low[i], back.high[i] = missing.value() + p.low[i];
    }
    return folded(WindowReduction::sum, ct, back);
  }
  constexpr std::int64_t most_places = 64;
  if (w.count() <= most_places) return window_spread(ct, p, shape.dims());
  Array given = ct;
  std::vector<Dim> sizes = ct.shape().dims();
  for (std::size_t i = 0; i < rank; ++i) {
    if (p.window[i] == 1 && p.strides[i] == 1 && p.low[i] == 0 && p.high[i] == 0) continue;
    const WindowNumbers ones(rank, 1), zeros(rank, 0);
    WindowPlaces one{ones, ones, ones, zeros, zeros};
    one.window[i] = p.window[i], one.strides[i] = p.strides[i], one.dilations[i] = p.dilations[i];
    one.low[i] = p.low[i], one.high[i] = p.high[i];
    sizes[i] = shape[i];
    given = window_spread(given, one, sizes);
  }
  return given;
}

// Of x whose places are all there.
Array sum_of_windows(const Array& x, const PreparedWindows& w) {
  const auto value = [w](const Array& a) { return folded(WindowReduction::sum, a, w.places); };
  if (!is_inexact(x.dtype())) return value(x);
  return custom_vjp(
      value, [value](const Array& a) { return std::pair(value(a), std::tuple<>()); },
      [w, shape = x.shape()](const std::tuple<>&, const Array& ct) { return sums_given_back(ct, w, shape); })(x);
}
Array extremum_of_windows(WindowReduction reduction, const Array& x, const PreparedWindows& w) {
  const auto value = [w, reduction](const Array& a) { return folded(reduction, a, w.places); };
  const bool largest = reduction == WindowReduction::max;
  if (!is_inexact(x.dtype())) return value(x);
  return custom_vjp(
      value, [w, largest](const Array& a) { return std::pair(first_chosen(largest, a, w.places), a); },
      [w, largest](const Array& a, const Array& ct) {
        return convert(select_and_scatter_add(largest, widened(a), widened(ct), w.places), a.dtype());
      })(x);
}

}  // namespace

Array reduce_window(WindowReduction reduction, const Operand& x, const WindowNumbers& window,
                    const WindowOptions& options) {
  const SourceScope place(x.where(), "reduce_window");
  require_reduction(reduction, x.array());
  const PreparedWindows w = prepared_windows("reduce_window", x.array(), window, options);
  const bool extremum = reduction == WindowReduction::max || reduction == WindowReduction::min;
  const DType d = x.array().dtype();
  const Array wide = extremum ? x.array() : widened(x.array());
  const Array all = w.spread(wide.with_weak(false), Array(known_reduction(reduction).start(wide.dtype())));
  if (extremum) return extremum_of_windows(reduction, all, w);
  if (reduction == WindowReduction::sum) return convert(sum_of_windows(all, w), d);
  return convert(folded(reduction, all, w.places), d);
}

namespace {

// The flag of all operands that says where an element is, if places lack some; it stands behind the others.
Arrays with_presence(const Arrays& xs, const PreparedWindows& w, const Arrays& fills) {
  Arrays all;
  for (std::size_t i = 0; i < xs.size(); ++i) all.push_back(w.spread(xs[i], fills[i]));
  if (w.has_gaps()) {
    const Array there = full(xs[0].shape(), Array(Scalar(true)));
    all.push_back(w.spread(there, Array(Scalar(false))));
  }
  return all;
}

// Two sets of elements, of which some are absent, as one.
Arrays present_ones(FunctionRef<Arrays(const Arrays&, const Arrays&)> combine, const Arrays& a, const Arrays& b) {
  const Array &in_a = a.back(), &in_b = b.back();
  const Array both = in_a & in_b;
  const Arrays first(a.begin(), a.end() - 1), second(b.begin(), b.end() - 1);
  Arrays made = combine(first, second);
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = where(both, made[i], where(in_a, first[i], second[i]));
  made.push_back(in_a | in_b);
  return made;
}

Arrays fold_present(Arrays xs, const PreparedWindows& w, Arrays fills,
                    FunctionRef<Arrays(const Arrays&, const Arrays&)> combine) {
  Arrays all = with_presence(xs, w, fills);
  if (!w.has_gaps()) return fold_windows(std::move(all), w.places, {combine, std::move(fills)});
  fills.push_back(Array(Scalar(false)));
  const auto present = [&](const Arrays& a, const Arrays& b) { return present_ones(combine, a, b); };
  return fold_windows(std::move(all), w.places, {present, std::move(fills)});
}

void require_numbers_alike(std::string_view name, const Arrays& xs, const Arrays& inits) {
  if (xs.empty() || xs.size() != inits.size())
    throw ShapeError(fmt::format("{}: {} arrays and {} initial values.", name, xs.size(), inits.size()),
                     "Give an initial value an array, and one array at least.");
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (!xs[i].type().is_array() || xs[i].rank() != xs[0].rank())
      throw ShapeError(fmt::format("{}: {} and {}.", name, xs[0].type().text(), xs[i].type().text()),
                       "All arrays have one shape.");
    for (std::size_t axis = 0; axis < xs[0].rank(); ++axis)
      if (decided_equal(xs[i].shape()[axis], xs[0].shape()[axis]) == false)
        throw ShapeError(fmt::format("{}: {} and {}.", name, xs[0].type().text(), xs[i].type().text()),
                         "All arrays have one shape.");
    if (inits[i].rank() != 0)
      throw ShapeError(fmt::format("{}: an initial value is {}.", name, inits[i].type().text()), "It is one number.");
  }
}

}  // namespace

namespace api_detail {

Arrays reduce_windows(FlatFunction f, const Arrays& xs, const Arrays& inits, const WindowNumbers& window,
                      const WindowOptions& options) {
  constexpr std::string_view name = "reduce_window";
  require_numbers_alike(name, xs, inits);
  const PreparedWindows w = prepared_windows(name, xs[0], window, options);
  Arrays starts, all;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    starts.push_back(convert(inits[i], xs[i].dtype()).with_weak(false));
    all.push_back(xs[i].with_weak(false));
  }
  const auto combine = [&](const Arrays& a, const Arrays& b) {
    Arrays both = a;
    both.insert(both.end(), b.begin(), b.end());
    Arrays made = f(both);
    if (made.size() != a.size())
      throw TreeError(fmt::format("{}: the function makes {} numbers of {}.", name, made.size(), a.size()),
                      "It returns as many as it is given of each element.");
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i].dtype() != a[i].dtype())
        throw DTypeError(
            fmt::format("{}: the function makes {} of {}.", name, made[i].type().text(), a[i].type().text()),
            "It keeps the dtype of its operands.");
    return made;
  };
  Arrays made = fold_present(all, w, starts, combine);
  Arrays first;
  for (std::size_t i = 0; i < starts.size(); ++i) first.push_back(broadcast_to(starts[i], made[0].shape()));
  if (!w.has_gaps()) return combine(first, made);
  const Array there = made.back();
  made.pop_back();
  Arrays whole = combine(first, made);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = where(there, whole[i], first[i]);
  return whole;
}

Array select_and_scatter_by(FlatFunction f, FlatFunction combine, const Array& x, const Array& source,
                            const Array& init, const WindowNumbers& window, const WindowOptions& options) {
  constexpr std::string_view name = "select_and_scatter";
  require_numbers_alike(name, {x}, {init});
  const PreparedWindows w = prepared_windows(name, x, window, options);
  if (w.is_spread())
    throw ShapeError(fmt::format("{}: {} with places between its elements.", name, x.type().text()),
                     "Leave base_dilation out.");
  const Array numbers = reshape(arange(x.shape().elements(), DType::i64), x.shape());
  const auto select = [&](const Arrays& a, const Arrays& b) {
    const Arrays keep = f(Arrays{a[0], b[0]});
    return Arrays{where(keep[0], a[0], b[0]), where(keep[0], a[1], b[1])};
  };
  const Arrays fills{Array(Scalar::zero(x.dtype())), Array(Scalar(std::int64_t(-1)))};
  const Arrays selected = fold_present({x, numbers}, w, fills, select);
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (source.rank() != x.rank() || decided_equal(source.shape()[i], selected[0].shape()[i]) == false)
      throw ShapeError(
          fmt::format("{}: a source {} for windows {}.", name, source.type().text(), selected[0].shape().text()),
          "It has an element a window.");
  const Array at = selected.size() == 3 ? where(selected[2], selected[1], std::int64_t(-1)) : selected[1];
  const DType d = source.dtype();
  Array made = broadcast_to(convert(init, d), x.shape());
  // Later places of a window belong to earlier windows.
  for (std::int64_t number = w.count(); number-- > 0;) {
    std::int64_t rest = number;
    WindowNumbers low, high, between;
    for (std::size_t i = x.rank(); i-- > 0; rest /= w.places.window[i]) {
      const std::int64_t before = rest % w.places.window[i] * w.places.dilations[i] - w.places.low[i];
      const std::int64_t windows = source.size(static_cast<std::int64_t>(i)), stride = w.places.strides[i];
      const std::int64_t taken = windows == 0 ? 0 : (windows - 1) * stride + 1;
      low.insert(low.begin(), before);
      high.insert(high.begin(), x.size(static_cast<std::int64_t>(i)) - before - taken);
      between.insert(between.begin(), stride - 1);
    }
    const Array here = pad(at, Array(Scalar(std::int64_t(-1))), low, high, between) == numbers;
    const Array given = pad(source, Array(Scalar::zero(d)), low, high, between);
    made = where(here, convert(combine(Arrays{made, given})[0], d), made);
  }
  return made;
}

}  // namespace api_detail

namespace {

// Of x and one more array: what is done in the dtype of the other, f16 and bf16 in f32.
bool takes_largest(std::string_view name, WindowReduction reduction) {
  if (reduction != WindowReduction::max && reduction != WindowReduction::min)
    throw UnsupportedError(fmt::format("{}: windows select their largest or least elements.", name),
                           "Give WindowReduction::max or min.");
  return reduction == WindowReduction::max;
}

}  // namespace

Array select_and_scatter_add(WindowReduction reduction, const Operand& x, const Operand& source,
                             const WindowNumbers& window, const WindowOptions& options) {
  constexpr std::string_view name = "select_and_scatter_add";
  const SourceScope place(x.where(), name);
  const bool largest = takes_largest(name, reduction);
  const PreparedWindows w = prepared_windows(name, x.array(), window, options);
  const DType d = source.array().dtype();
  const Array compared = widened(x.array());
  const Array all = w.spread(compared, no_choice(largest, compared.dtype()));
  const Array made = select_and_scatter_add(largest, all, convert(widened(source.array()), compared.dtype()), w.places);
  if (!w.is_spread()) return convert(made, d);
  std::vector<Dim> start, limit;
  WindowNumbers step;
  for (std::size_t i = 0; i < made.rank(); ++i)
    start.push_back(0), limit.push_back(made.shape()[i]), step.push_back(w.between[i] + 1);
  return convert(slice(made, start, limit, step), d);
}

Array select_and_gather_add(WindowReduction reduction, const Operand& x, const Operand& t, const WindowNumbers& window,
                            const WindowOptions& options) {
  constexpr std::string_view name = "select_and_gather_add";
  const SourceScope place(x.where(), name);
  const bool largest = takes_largest(name, reduction);
  const PreparedWindows w = prepared_windows(name, x.array(), window, options);
  const DType d = x.array().dtype();
  require_numbers_alike(name, {x.array(), t.array()}, {Array(Scalar::zero(d)), Array(Scalar::zero(d))});
  return select_and_gather_add(largest, w.spread(x.array(), no_choice(largest, d)),
                               w.spread(t.array(), Array(Scalar::zero(t.array().dtype()))), w.places);
}

// --- pooling ---
namespace {

struct Pooling {
  WindowNumbers window;
  WindowOptions options;
};
// With the axes of the batch and the channels.
Pooling over_places(std::string_view name, const Array& x, const WindowNumbers& window, const WindowOptions& options) {
  const std::size_t rank = x.rank(), places = window.size();
  if (rank < places + 1)
    throw ShapeError(fmt::format("{}: a window of {} sizes over {}.", name, places, x.type().text()),
                     "It has one for each axis of places, which stand before that of the channels.");
  const auto widened_to = [&](const WindowNumbers& given) {
    if (given.empty()) return given;
    WindowNumbers all(rank - 1 - places, 1);
    all.insert(all.end(), given.begin(), given.end());
    all.push_back(1);
    return all;
  };
  Pooling all{widened_to(window), options};
  if (window.empty()) all.window = WindowNumbers(rank, 1);
  all.options.strides = widened_to(options.strides);
  all.options.base_dilation = widened_to(options.base_dilation);
  all.options.window_dilation = widened_to(options.window_dilation);
  if (const auto* pads = std::get_if<Pads>(&options.padding)) {
    Pads whole(rank - 1 - places);
    whole.insert(whole.end(), pads->begin(), pads->end());
    whole.emplace_back();
    all.options.padding = whole;
  }
  return all;
}
Array extremum_pool(std::string_view name, WindowReduction reduction, const Operand& x, const WindowNumbers& window,
                    const WindowOptions& options) {
  const SourceScope place(x.where(), name);
  const Pooling all = over_places(name, x.array(), window, options);
  return reduce_window(reduction, Operand(x.array(), x.where()), all.window, all.options);
}

}  // namespace

Array max_pool(const Operand& x, const WindowNumbers& window, const WindowOptions& options) {
  return extremum_pool("max_pool", WindowReduction::max, x, window, options);
}
Array min_pool(const Operand& x, const WindowNumbers& window, const WindowOptions& options) {
  return extremum_pool("min_pool", WindowReduction::min, x, window, options);
}
Array avg_pool(const Operand& x, const WindowNumbers& window, const WindowOptions& options, bool count_padding) {
  constexpr std::string_view name = "avg_pool";
  const SourceScope place(x.where(), name);
  const Array values = to_inexact(Operand(x.array(), x.where()));
  const Pooling all = over_places(name, values, window, options);
  const DType wide = computed_in(values.dtype());
  const Array sums =
      reduce_window(WindowReduction::sum, Operand(convert(values, wide), x.where()), all.window, all.options);
  if (count_padding) {
    std::int64_t count = 1;
    for (const std::int64_t n : window) count *= n;
    return convert(sums / Array(Scalar(static_cast<double>(count)).convert(wide)), values.dtype());
  }
  std::vector<Dim> places(values.rank(), Dim(1));  // the same for each image and channel
  for (std::size_t i = values.rank() - 1 - window.size(); i + 1 < values.rank(); ++i) places[i] = values.shape()[i];
  const Array there = ones(Shape(places), is_complex(wide) ? DType::f32 : wide);
  return convert(sums / reduce_window(WindowReduction::sum, Operand(there, x.where()), all.window, all.options),
                 values.dtype());
}

}  // namespace tenon
