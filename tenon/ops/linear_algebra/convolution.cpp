// Convolutions: a sum of products of three, x, w and the cotangent y, of which each op makes one of the other two. So
// the derivatives of each are the others, and one batching rule serves all.
#include "tenon/ops/linear_algebra/convolution.h"

#include <fmt/format.h>

#include <array>

#include "tenon/ir/describe_params.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/families.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/runtime/linear_algebra/convolution.h"

namespace tenon {

struct ConvolutionParams {
  std::vector<std::int64_t> strides, dilations;
  Dim groups;
  std::vector<Dim> sizes;  // places of the input, or of the window, where that is made
};
BOOST_DESCRIBE_STRUCT(ConvolutionParams, (), (strides, dilations, groups, sizes))

namespace {

enum class ConvolutionPart : std::size_t { x, w, y };
using Part = ConvolutionPart;

extern const OpInfo conv_info, conv_input_info, conv_weights_info;
const OpInfo& op_making(Part part) {
  return part == Part::x ? conv_input_info : part == Part::w ? conv_weights_info : conv_info;
}
// The parts that the op is given, in the order of its operands.
std::array<Part, 2> given_to_make(Part made) {
  if (made == Part::x) return {Part::w, Part::y};
  return {Part::x, made == Part::w ? Part::y : Part::w};
}

// --- types ---
Dim outputs_of(const Dim& inputs, const Dim& window, std::int64_t stride, std::int64_t dilation) {
  return max(floor_div(inputs - (window - 1) * dilation - 1, stride) + 1, 0);
}

const Dim& last_of(const Type& type) { return type.shape[type.rank() - 1]; }
std::vector<Dim> places_of(const Type& type, Part part) {
  const std::vector<Dim> dims = type.shape.dims();
  return part == Part::w ? std::vector<Dim>(dims.begin(), dims.end() - 2)
                         : std::vector<Dim>(dims.begin() + 1, dims.end() - 1);
}

// All sizes, as the operands say them.
struct ConvolutionSizes {
  ConvolutionSizes(Part made, const ConvolutionParams& p, std::span<const Type> in) {
    const Type *of[3] = {}, *&x = of[0], *&w = of[1], *&y = of[2];
    const auto given = given_to_make(made);
    for (std::size_t i = 0; i < 2; ++i) of[static_cast<std::size_t>(given[i])] = &in[i];
    const std::size_t axes = p.strides.size();
    batch = (x != nullptr ? x : y)->shape[0];
    channels = x != nullptr ? last_of(*x) : w->shape[axes] * p.groups;
    features = last_of(w != nullptr ? *w : *y);
    inputs = x != nullptr ? places_of(*x, Part::x) : p.sizes;
    window = w != nullptr ? places_of(*w, Part::w) : p.sizes;
    for (std::size_t i = 0; i < axes; ++i)
      outputs.push_back(outputs_of(inputs[i], window[i], p.strides[i], p.dilations[i]));
  }
  // Of a part, in the order of its axes.
  Shape shape_of(Part part, const Dim& groups) const {
    std::vector<Dim> dims = part == Part::w ? window : part == Part::x ? inputs : outputs;
    if (part == Part::w)
      dims.push_back(floor_div(channels, groups));
    else
      dims.insert(dims.begin(), batch);
    dims.push_back(part == Part::x ? channels : features);
    return Shape(std::move(dims));
  }
  Dim batch, channels, features;
  std::vector<Dim> inputs, window, outputs;
};

void require_numbers(std::string_view op, const Type& type) {
  if (!type.is_array())
    throw DTypeError(fmt::format("{}: {} is not an array.", op, type.text()), "Stack the list first.");
  if (type.dtype == DType::bool_ || is_complex(type.dtype) || is_narrow(type.dtype))
    throw DTypeError(
        fmt::format("{}: {} is not of real numbers or integers that are summed as they are.", op, type.text()),
        "Convert it, with convert(x, DType::f32).");
}

std::vector<Type> convolution_type(Part made, const Params& params, std::span<const Type> in, TypeContext& context) {
  const std::string_view op = op_making(made).name;
  const auto& p = params.as<ConvolutionParams>();
  if (in.size() != 2) throw VerifyError(fmt::format("{}: takes two operands.", op));
  for (const Type& each : in) require_numbers(op, each);
  const std::string both = fmt::format("{}: {} and {}", op, in[0].text(), in[1].text());
  if (in[0].dtype != in[1].dtype) throw DTypeError(both + " differ in dtype.", "Convert one of them.");
  const std::size_t axes = p.strides.size();
  if (in[0].rank() != axes + 2 || in[1].rank() != axes + 2 || p.dilations.size() != axes ||
      p.sizes.size() != (made == Part::y ? 0 : axes))
    throw ShapeError(fmt::format("{}: a window of {} axes takes operands of rank {}.", both, axes, axes + 2),
                     "Each has the axes of the window, and two more.");
  for (std::size_t i = 0; i < axes; ++i)
    if (p.strides[i] < 1 || p.dilations[i] < 1)
      throw ShapeError(fmt::format("{}: stride {}, dilation {}.", both, p.strides[i], p.dilations[i]),
                       "Both are 1 or more.");
  const auto equal = [&](const Dim& a, const Dim& b, std::string_view what) {
    context.require_equal(a, b,
                          [&] { return fmt::format("{}: {} {} where there are {}.", both, a.text(), what, b.text()); });
  };
  const auto divisible = [&](const Dim& n, std::string_view what) {
    if (p.groups.try_value().value_or(1) < 1 || modulo(n, p.groups).try_value().value_or(0) != 0)
      throw ShapeError(fmt::format("{}: {} {} in {} groups.", both, n.text(), what, p.groups.text()),
                       "Groups have the same size.");
  };
  const ConvolutionSizes sizes(made, p, in);
  for (const Dim& n : sizes.window)
    if (n.try_value().value_or(1) < 1)
      throw ShapeError(both + ": a window without places.", "Each axis of the window has 1 or more.");
  divisible(sizes.channels, "channels"), divisible(sizes.features, "features");
  // What both operands say.
  if (made == Part::y) {
    equal(sizes.channels, in[1].shape[axes] * p.groups, "channels");
  } else {
    const std::vector<Dim> outputs = places_of(in[1], Part::y);
    for (std::size_t i = 0; i < axes; ++i) equal(outputs[i], sizes.outputs[i], "outputs");
    if (made == Part::x)
      equal(last_of(in[1]), sizes.features, "features");
    else
      equal(sizes.batch, in[1].shape[0], "images");
  }
  return {Type::array(in[0].dtype, sizes.shape_of(made, p.groups))};
}

// --- evaluation: the sum as it is written ---
template <class Visit>
void each_term(std::span<const std::int64_t> x, std::span<const std::int64_t> w, std::span<const std::int64_t> y,
               const ConvolutionParams& p, Visit visit) {
  const std::size_t axes = p.strides.size();
  const auto next = [&](std::vector<std::int64_t>& at, std::span<const std::int64_t> sizes) {
    for (std::size_t i = at.size(); i-- > 0; at[i] = 0)
      if (++at[i] < sizes[i]) return true;
    return false;
  };
  for (const auto& sizes : {x, w, y})
    if (std::ranges::find(sizes, 0) != sizes.end()) return;
  std::vector<std::int64_t> of_y(y.size()), of_w(w.size());
  do {  // of y: image, outputs, feature; of w: places, channel and feature
    do {
      if (of_w[axes + 1] != of_y[axes + 1]) continue;
      std::int64_t at_x = of_y[0], at_w = 0, at_y = 0;
      for (std::size_t i = 0; i < axes; ++i)
        at_x = at_x * x[i + 1] + of_y[i + 1] * p.strides[i] + of_w[i] * p.dilations[i];
      at_x = at_x * x[axes + 1] + of_y[axes + 1] / (y[axes + 1] / p.groups.value()) * w[axes] + of_w[axes];
      for (std::size_t i = 0; i < w.size(); ++i) at_w = at_w * w[i] + of_w[i];
      for (std::size_t i = 0; i < y.size(); ++i) at_y = at_y * y[i] + of_y[i];
      visit(at_x, at_w, at_y);
    } while (next(of_w, w));
  } while (next(of_y, y));
}

std::vector<Value> convolution_eval(Part made, const Params& params, std::span<const Value> in,
                                    const EvalContext& context) {
  const Buffer first = family::contiguous(in[0]), second = family::contiguous(in[1]);
  std::vector<std::int64_t> dims;
  for (const Dim& n : context.out[0].shape) dims.push_back(n.value());
  Buffer out = Buffer::allocate(first.dtype(), dims);
  const auto given = given_to_make(made);
  const Buffer* of[3];
  of[static_cast<std::size_t>(given[0])] = &first, of[static_cast<std::size_t>(given[1])] = &second;
  of[static_cast<std::size_t>(made)] = &out;
  dispatch(first.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr ((std::is_integral_v<T> && !std::is_same_v<T, bool>) || std::is_floating_point_v<T>) {
      T* const sums = out.as<T>();
      const T *a = first.as<T>(), *b = second.as<T>();
      std::fill_n(sums, out.elements(), T(0));
      each_term(of[0]->dims(), of[1]->dims(), of[2]->dims(), params.as<ConvolutionParams>(),
                [&](std::int64_t x, std::int64_t w, std::int64_t y) {
                  const std::int64_t at[3]{x, w, y};
                  T& sum = sums[at[static_cast<std::size_t>(made)]];
                  const T product =
                      wrap([](auto s, auto t) { return s * t; }, a[at[static_cast<std::size_t>(given[0])]],
                           b[at[static_cast<std::size_t>(given[1])]]);
                  sum = wrap([](auto s, auto t) { return s + t; }, sum, product);
                });
    }
  });
  return {out};
}

// --- transformations ---
// A part of the others: two of them, of which `a` comes before `b`.
Array made_of(Part made, const ConvolutionParams& p, const Array& a, const Array& b, std::vector<Dim> sizes) {
  ConvolutionParams with = p;
  with.sizes = std::move(sizes);
  return bind1(op_making(made), make_params(std::move(with)), {a, b});
}

JvpResult convolution_jvp(Part made, const JvpArgs& args) {
  const OpInfo& op = op_making(made);
  const auto of = [&](const Array& a, const Array& b) { return bind1(op, args.params, {a, b}); };
  MaybeArray tangent;
  if (args.tangents[0]) tangent = of(*args.tangents[0], args.primals[1]);
  if (args.tangents[1]) {
    const Array part = of(args.primals[0], *args.tangents[1]);
    tangent = tangent ? *tangent + part : part;
  }
  return {{of(args.primals[0], args.primals[1])}, {tangent}};
}

void convolution_transpose(Part made, const TransposeArgs& args) {
  if (!args.cotangents[0]) return;
  const auto& p = args.params.as<ConvolutionParams>();
  const auto given = given_to_make(made);
  const std::size_t linear = args.operands[0].linear() ? 0 : 1;
  if (args.operands[1 - linear].linear())
    throw DifferentiationError(fmt::format("{}: it is not linear in both operands at once.", op_making(made).name));
  const Part wanted = given[linear], known = given[1 - linear];
  const Array &cotangent = *args.cotangents[0], &value = *args.operands[1 - linear].value;
  const bool cotangent_first = static_cast<std::size_t>(made) < static_cast<std::size_t>(known);
  const std::vector<Dim> sizes = wanted == Part::y ? std::vector<Dim>() : places_of(args.operands[linear].type, wanted);
  args.sink.add(linear, cotangent_first ? made_of(wanted, p, cotangent, value, sizes)
                                        : made_of(wanted, p, value, cotangent, sizes));
}

// --- batches: lanes become images where w has none, features where x has none, channels where y has none, else groups
// --- x [lanes, …] with the lanes inside of an axis, whose elements are `outer` times others: behind those.
Array with_lanes_inside(const Array& x, std::size_t axis, const Dim& outer) {
  std::vector<Dim> apart = x.shape().dims(), whole(apart.begin() + 1, apart.end());
  const Dim lanes = apart[0];
  const auto at = static_cast<std::ptrdiff_t>(axis) + 1;
  apart[axis + 1] = floor_div(apart[axis + 1], outer);
  apart.insert(apart.begin() + at, outer);
  whole[axis] = whole[axis] * lanes;
  return reshape(move_axis(reshape(x, Shape(apart)), 0, at), Shape(whole));
}
// The other way round.
Array with_lanes_first(const Array& x, std::size_t axis, const Dim& outer, const Dim& lanes) {
  std::vector<Dim> apart = x.shape().dims(), whole = apart;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const Dim inner = floor_div(apart[axis], outer * lanes);
  apart[axis] = inner;
  apart.insert(apart.begin() + at, {outer, lanes});
  whole[axis] = outer * inner;
  whole.insert(whole.begin(), lanes);
  return reshape(move_axis(reshape(x, Shape(apart)), at + 1, 0), Shape(whole));
}

// Of no lanes: what one lane of zeros makes, no time.
BatchResult of_no_lanes(Part made, const BatchArgs& args) {
  Arrays lane;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<Dim> dims = args.operands[i].shape().dims();
    const Shape shape(std::vector<Dim>(dims.begin() + (args.batched[i] ? 1 : 0), dims.end()));
    lane.push_back(zeros(shape, args.operands[i].dtype()));
  }
  return {{add_batch_axis(bind1(op_making(made), args.params, {lane[0], lane[1]}), args.size)}, {true}};
}

BatchResult convolution_batch(Part made, const BatchArgs& args) {
  if (args.size.try_value() == 0) return of_no_lanes(made, args);
  auto p = args.params.as<ConvolutionParams>();
  const auto given = given_to_make(made);
  bool has_lanes[3] = {};
  has_lanes[static_cast<std::size_t>(made)] = true;
  for (std::size_t i = 0; i < 2; ++i) has_lanes[static_cast<std::size_t>(given[i])] = args.batched[i];
  const bool all = has_lanes[0] && has_lanes[1] && has_lanes[2];
  const std::size_t axes = p.strides.size();
  const Dim groups = all ? Dim(1) : p.groups;
  // The axis of a part that takes the lanes, and how many of its elements stand outside of them.
  const auto place = [&](Part part) -> std::pair<std::size_t, Dim> {
    if (!all && !has_lanes[static_cast<std::size_t>(Part::w)]) return {0, 1};
    if (!all && !has_lanes[static_cast<std::size_t>(Part::y)])
      return part == Part::w ? std::pair(axes, Dim(1)) : std::pair(axes + 1, groups);
    return {axes + 1, groups};
  };
  Arrays operands;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto [axis, outer] = place(given[i]);
    operands.push_back(args.batched[i] ? with_lanes_inside(args.operands[i], axis, outer) : args.operands[i]);
  }
  if (all) p.groups = p.groups * args.size;
  const auto [axis, outer] = place(made);
  const Array result = bind1(op_making(made), make_params(p), {operands[0], operands[1]});
  return {{with_lanes_first(result, axis, outer, args.size)}, {true}};
}

// --- lowering ---
LibraryForm convolution_form(Part made, const Params& params, std::span<const Type> in) {
  const auto& p = params.as<ConvolutionParams>();
  const ConvolutionSizes sizes(made, p, in);
  static_assert(sizeof(TenonConvolution) == 7 * sizeof(std::int64_t));
  LibraryForm form{"tenon_convolution",
                   {static_cast<std::int64_t>(in[0].dtype), static_cast<std::int64_t>(made), p.groups,
                    static_cast<std::int64_t>(p.strides.size()), sizes.batch, sizes.channels, sizes.features}};
  double work = kernel::estimate(sizes.batch) * kernel::estimate(sizes.channels) * kernel::estimate(sizes.features) /
                kernel::estimate(p.groups);
  const auto add = [&](const auto& words) {
    form.description.insert(form.description.end(), words.begin(), words.end());
  };
  for (const std::vector<Dim>& each : {sizes.window, sizes.outputs})
    for (const Dim& n : each) work *= kernel::estimate(n);
  add(sizes.inputs), add(sizes.window), add(sizes.outputs), add(p.strides), add(p.dilations);
  form.nanoseconds = 500 + 0.02 * work;
  return form;
}

// --- samples ---
std::vector<SampleCase> convolution_samples(Part made, DType d) {
  std::vector<SampleCase> cases;
  if (d == DType::bool_ || is_complex(d) || is_narrow(d)) return cases;
  const auto add = [&](std::int64_t n, std::vector<std::int64_t> inputs, std::vector<std::int64_t> window,
                       std::vector<std::int64_t> strides, std::vector<std::int64_t> dilations, std::int64_t groups,
                       std::int64_t channels, std::int64_t features) {
    std::vector<Dim> x{n}, w, y{n};
    ConvolutionParams p{strides, dilations, groups, {}};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      x.push_back(inputs[i]), w.push_back(window[i]);
      y.push_back(outputs_of(inputs[i], window[i], strides[i], dilations[i]));
      if (made != Part::y) p.sizes.push_back(made == Part::x ? inputs[i] : window[i]);
    }
    x.push_back(channels), w.push_back(channels / groups), w.push_back(features), y.push_back(features);
    const std::vector<Dim>* all[]{&x, &w, &y};
    std::vector<Type> types;
    for (const Part part : given_to_make(made))
      types.push_back(Type::array(d, Shape(*all[static_cast<std::size_t>(part)])));
    cases.push_back({make_params(p), types, {{-1, 1}, {-1, 1}}});
  };
  add(2, {5}, {3}, {1}, {1}, 1, 2, 3);
  add(1, {4, 5}, {2, 3}, {2, 1}, {1, 2}, 2, 4, 2);
  add(2, {}, {}, {}, {}, 1, 2, 2);
  add(1, {3}, {1}, {2}, {1}, 1, 1, 1);
  add(1, {2}, {3}, {1}, {1}, 1, 2, 2);
  add(0, {3}, {2}, {1}, {1}, 1, 1, 2);
  return cases;
}

template <Part made>
OpInfo convolution_info(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .params = &describe::params_ops<ConvolutionParams>,
          .type = TypeRule([](const Params& params, std::span<const Type> in, TypeContext& context) {
            return convolution_type(made, params, in, context);
          }),
          .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext& context) {
            return convolution_eval(made, params, in, context);
          }),
          .jvp = JvpRule([](const JvpArgs& args) { return convolution_jvp(made, args); }),
          .transpose = TransposeRule([](const TransposeArgs& args) { convolution_transpose(made, args); }),
          .batch = BatchRule([](const BatchArgs& args) { return convolution_batch(made, args); }),
          .split = Absent{"wholly known or not"},
          .guard = Absent{"no Programs inside"},
          .lower = LowerRule(LowerLibrary{
              [](const Params& params, std::span<const Type> in) { return convolution_form(made, params, in); }}),
          .alias = Absent{"each element reads many"},
          .effect = Absent{"pure"},
          .sample = SampleRule([](DType d) { return convolution_samples(made, d); })};
}
const OpInfo conv_info =
    convolution_info<Part::y>("conv", "sums over windows of x, with weights for each place and channel");
const OpInfo conv_input_info =
    convolution_info<Part::x>("conv_input", "what the windows of a convolution give back to x");
const OpInfo conv_weights_info =
    convolution_info<Part::w>("conv_weights", "what the windows of a convolution give back to its weights");
const bool convolution_installed =
    (install_op(conv_info), install_op(conv_input_info), install_op(conv_weights_info), true);

Array bound(Part made, const Operand& a, const Operand& b, const WindowSteps& steps, std::vector<Dim> sizes) {
  const SourceScope place(a.where(), op_making(made).name);
  return made_of(made, {steps.strides, steps.dilations, steps.groups, {}}, a.array(), b.array(), std::move(sizes));
}

}  // namespace

Array convolve(const Operand& x, const Operand& w, const WindowSteps& steps) { return bound(Part::y, x, w, steps, {}); }
Array convolve_to_input(const Operand& w, const Operand& y, const WindowSteps& steps, std::vector<Dim> inputs) {
  return bound(Part::x, w, y, steps, std::move(inputs));
}
Array convolve_to_weights(const Operand& x, const Operand& y, const WindowSteps& steps, std::vector<Dim> window) {
  return bound(Part::w, x, y, steps, std::move(window));
}

}  // namespace tenon
