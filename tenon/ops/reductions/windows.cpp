// Sums over windows and the elements that windows select, the other way through: linear in y, so that the derivative is
// the op itself, and its transpose is made of slices.
#include "tenon/ops/reductions/windows.h"

#include <fmt/format.h>

#include "tenon/ir/describe_params.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/composites/window_fold.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/runtime/windows/windows.h"

namespace tenon {

struct WindowParams {
  std::vector<std::int64_t> window, strides, dilations, low, high;
  bool largest;
  std::vector<Dim> sizes;  // of what is made, where no operand says so
};
BOOST_DESCRIBE_STRUCT(WindowParams, (), (window, strides, dilations, low, high, largest, sizes))

Dim windows_of(const Dim& n, const WindowPlaces& p, std::size_t axis) {
  if (p.window[axis] == 1 && p.strides[axis] == 1 && p.low[axis] == 0 && p.high[axis] == 0) return n;
  const std::int64_t span = (p.window[axis] - 1) * p.dilations[axis] + 1;
  return max(floor_div(n + (p.low[axis] + p.high[axis] - span), p.strides[axis]) + 1, 0);
}

namespace {

extern const OpInfo window_spread_info, select_and_scatter_add_info;

WindowPlaces window_places_of(const WindowParams& p) { return {p.window, p.strides, p.dilations, p.low, p.high}; }
WindowParams window_params_of(const WindowPlaces& p) {
  return {p.window, p.strides, p.dilations, p.low, p.high, true, {}};
}

// --- types ---
void require_windows(std::string_view op, const WindowParams& p, const Type& y, const std::vector<Dim>& made,
                     TypeContext& context) {
  if (!y.is_array()) throw DTypeError(fmt::format("{}: {} is not an array.", op, y.text()), "Stack the list first.");
  if (y.dtype == DType::bool_ || is_complex(y.dtype) || is_narrow(y.dtype))
    throw DTypeError(
        fmt::format("{}: {} is not of real numbers or integers that are summed as they are.", op, y.text()),
        "Convert it, with convert(x, DType::f32).");
  const std::size_t rank = y.rank();
  for (const std::size_t n :
       {p.window.size(), p.strides.size(), p.dilations.size(), p.low.size(), p.high.size(), made.size()})
    if (n != rank)
      throw ShapeError(fmt::format("{}: {} and windows of {} axes, over {}.", op, y.text(), n, made.size()),
                       "All have one number of axes.");
  for (std::size_t i = 0; i < rank; ++i) {
    if (p.window[i] < 1 || p.strides[i] < 1 || p.dilations[i] < 1)
      throw ShapeError(
          fmt::format("{}: a window of {}, stride {}, dilation {}.", op, p.window[i], p.strides[i], p.dilations[i]),
          "Each is 1 or more.");
    context.require_equal(y.shape[i], windows_of(made[i], window_places_of(p), i), [&] {
      return fmt::format("{}: {} has not as many elements along axis {} as there are windows.", op, y.text(), i);
    });
  }
}

std::vector<Type> window_spread_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<WindowParams>();
  if (in.size() != 1) throw VerifyError("window_spread: takes one operand.");
  require_windows("window_spread", p, in[0], p.sizes, context);
  return {Type::array(in[0].dtype, Shape(p.sizes))};
}

std::vector<Type> window_scatter_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  constexpr std::string_view op = "select_and_scatter_add";
  if (in.size() != 2) throw VerifyError("select_and_scatter_add: takes two operands.");
  if (!in[0].is_array() || in[0].dtype != in[1].dtype)
    throw DTypeError(fmt::format("{}: {} and {} differ in dtype.", op, in[0].text(), in[1].text()),
                     "Convert one of them.");
  require_windows(op, params.as<WindowParams>(), in[1], in[0].shape.dims(), context);
  return {in[0]};
}

// --- evaluation: as it is written ---
// x may be absent: every place of a window is meant then.
template <class T>
void give_back(const WindowParams& p, const T* x, const Buffer& y, Buffer& made) {
  T* to = made.as<T>();
  const T* from = y.as<T>();
  std::fill_n(to, made.elements(), T(0));
  for_each_index(y.dims(), [&](std::span<const std::int64_t> window) {
    const T value = *from++;
    std::int64_t selected = -1;
    for_each_index(p.window, [&](std::span<const std::int64_t> place) {
      std::int64_t at = 0;
      for (std::size_t i = 0; i < place.size(); ++i) {
        const std::int64_t index = window[i] * p.strides[i] + place[i] * p.dilations[i] - p.low[i];
        if (index < 0 || index >= made.dims()[i]) return;
        at = at * made.dims()[i] + index;
      }
      if (x == nullptr)
        to[at] = wrap([](auto a, auto b) { return a + b; }, to[at], value);
      else if (selected < 0 || !(p.largest ? x[selected] >= x[at] : x[selected] <= x[at]))
        selected = at;
    });
    if (selected >= 0) to[selected] = wrap([](auto a, auto b) { return a + b; }, to[selected], value);
  });
}

std::vector<Value> windows_eval(const Params& params, std::span<const Value> in, const EvalContext& context) {
  const Buffer y = family::contiguous(in.back());
  Buffer made = Buffer::allocate(y.dtype(), context.out[0].shape.sizes());
  dispatch(y.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr ((std::is_integral_v<T> && !std::is_same_v<T, bool>) || std::is_floating_point_v<T>) {
      if (in.size() == 1) return give_back<T>(params.as<WindowParams>(), nullptr, y, made);
      const Buffer x = family::contiguous(in[0]);
      give_back<T>(params.as<WindowParams>(), x.as<T>(), y, made);
    }
  });
  return {made};
}

// --- transformations ---
void window_spread_transpose(const TransposeArgs& args) {
  if (!args.cotangents[0]) return;
  const Array& ct = *args.cotangents[0];
  const auto add = [](const Arrays& a, const Arrays& b) { return Arrays{a[0] + b[0]}; };
  const auto sum = [](const Array& a, std::int64_t axis) { return tenon::sum(a, axis); };
  const WindowFold fold{add, {Array(Scalar::zero(ct.dtype()))}, sum};
  args.sink.add(0, fold_windows({ct}, window_places_of(args.params.as<WindowParams>()), fold)[0]);
}

JvpResult window_scatter_jvp(const JvpArgs& args) {
  const auto of = [&](const Array& y) { return bind1(select_and_scatter_add_info, args.params, {args.primals[0], y}); };
  MaybeArray tangent;
  if (args.tangents[1]) tangent = of(*args.tangents[1]);
  return {{of(args.primals[1])}, {tangent}};
}
void window_scatter_transpose(const TransposeArgs& args) {
  if (!args.cotangents[0] || !args.operands[1].linear()) return;
  if (args.operands[0].linear())
    throw DifferentiationError("select_and_scatter_add: it is not linear in what it compares.");
  const auto& p = args.params.as<WindowParams>();
  args.sink.add(1, select_and_gather_add(p.largest, *args.operands[0].value, *args.cotangents[0], window_places_of(p)));
}

BatchResult windows_batch(const OpInfo& op, const BatchArgs& args) {
  auto p = args.params.as<WindowParams>();
  for (auto* each : {&p.window, &p.strides, &p.dilations}) each->insert(each->begin(), 1);
  for (auto* each : {&p.low, &p.high}) each->insert(each->begin(), 0);
  if (args.operands.size() == 1) p.sizes.insert(p.sizes.begin(), args.size);
  const Params params = make_params(std::move(p));
  return family::batch_in_front(op, {params, args.operands, args.batched, args.size, args.recurse});
}

// --- lowering ---
LibraryForm windows_form(bool selects, const Params& params, std::span<const Type> in) {
  const auto& p = params.as<WindowParams>();
  static_assert(sizeof(TenonWindows) == 3 * sizeof(std::int64_t));
  const auto which = !selects ? TenonWindows::all : p.largest ? TenonWindows::largest : TenonWindows::least;
  const Type& y = in.back();
  LibraryForm form{
      selects ? "tenon_window_scatter" : "tenon_window_spread",
      {static_cast<std::int64_t>(y.dtype), static_cast<std::int64_t>(which), static_cast<std::int64_t>(y.rank())}};
  const auto add = [&](const auto& words) {
    form.description.insert(form.description.end(), words.begin(), words.end());
  };
  add(selects ? in[0].shape.dims() : p.sizes), add(y.shape.dims());
  add(p.window), add(p.strides), add(p.dilations), add(p.low);
  double work = selects ? 2 : 1;
  for (std::size_t i = 0; i < y.rank(); ++i) work *= kernel::estimate(y.shape[i]) * static_cast<double>(p.window[i]);
  form.nanoseconds = 500 + 0.2 * work;
  return form;
}

// --- samples ---
std::vector<SampleCase> windows_samples(bool selects, DType d) {
  std::vector<SampleCase> cases;
  if (d == DType::bool_ || is_complex(d) || is_narrow(d)) return cases;
  const auto add = [&](std::vector<Dim> sizes, WindowParams p) {
    std::vector<Dim> windows;
    for (std::size_t i = 0; i < sizes.size(); ++i) windows.push_back(windows_of(sizes[i], window_places_of(p), i));
    if (!selects) {
      p.sizes = sizes;
      cases.push_back({make_params(p), {Type::array(d, Shape(windows))}, {{-2, 2}}});
    } else {
      cases.push_back(
          {make_params(p), {Type::array(d, Shape(sizes)), Type::array(d, Shape(windows))}, {{-9, 9}, {-2, 2}}});
    }
  };
  add({2, 5, 3}, {{1, 3, 1}, {1, 2, 1}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}, true, {}});
  add({5, 6}, {{2, 3}, {1, 2}, {2, 1}, {0, 2}, {1, -1}, false, {}});
  add({7}, {{2}, {3}, {1}, {0}, {0}, true, {}});
  add({}, {{}, {}, {}, {}, {}, true, {}});
  add({3}, {{5}, {1}, {1}, {0}, {0}, true, {}});
  add({0, 2}, {{1, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 1}, false, {}});
  return cases;
}

OpInfo windows_info(std::string_view name, std::string_view summary, bool selects, const OpInfo& op, TypeRule type,
                    JvpRule jvp, TransposeRule transpose) {
  return {.name = name,
          .summary = summary,
          .params = &describe::params_ops<WindowParams>,
          .type = std::move(type),
          .eval = EvalRule(windows_eval),
          .jvp = std::move(jvp),
          .transpose = std::move(transpose),
          .batch = BatchRule([&op](const BatchArgs& args) { return windows_batch(op, args); }),
          .split = Absent{"wholly known or not"},
          .guard = Absent{"no Programs inside"},
          .lower = LowerRule(LowerLibrary{
              [selects](const Params& params, std::span<const Type> in) { return windows_form(selects, params, in); }}),
          .alias = Absent{"each element reads many"},
          .effect = Absent{"pure"},
          .sample = SampleRule([selects](DType d) { return windows_samples(selects, d); })};
}
const OpInfo window_spread_info =
    windows_info("window_spread", "of each element the sum over the windows that it lies in", false, window_spread_info,
                 window_spread_type, jvp_by_itself(window_spread_info), window_spread_transpose);
const OpInfo select_and_scatter_add_info =
    windows_info("select_and_scatter_add", "y added up where the largest or least element of each window of x is", true,
                 select_and_scatter_add_info, window_scatter_type, window_scatter_jvp, window_scatter_transpose);
const bool windows_installed = (install_op(window_spread_info), install_op(select_and_scatter_add_info), true);

}  // namespace

Array window_spread(const Operand& y, const WindowPlaces& places, std::vector<Dim> sizes) {
  const SourceScope place(y.where(), "window_spread");
  WindowParams p = window_params_of(places);
  p.sizes = std::move(sizes);
  return bind1(window_spread_info, make_params(std::move(p)), {y.array()});
}

Array select_and_scatter_add(bool largest, const Operand& x, const Operand& y, const WindowPlaces& places) {
  const SourceScope place(x.where(), "select_and_scatter_add");
  WindowParams p = window_params_of(places);
  p.largest = largest;
  return bind1(select_and_scatter_add_info, make_params(std::move(p)), {x.array(), y.array()});
}

Array select_and_gather_add(bool largest, const Operand& x, const Operand& t, const WindowPlaces& places) {
  const SourceScope place(x.where(), "select_and_gather_add");
  const auto first = [&](const Arrays& a, const Arrays& b) {
    const Array keep = largest ? a[0] >= b[0] : a[0] <= b[0];
    return Arrays{where(keep, a[0], b[0]), where(keep, a[1], b[1])};
  };
  const DType d = x.array().dtype();
  const WindowFold fold{first, {Array(largest ? lowest(d) : highest(d)), Array(Scalar::zero(t.array().dtype()))}};
  return fold_windows({x.array(), t.array()}, places, fold)[1];
}

}  // namespace tenon
