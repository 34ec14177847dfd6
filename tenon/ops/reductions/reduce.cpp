#include "tenon/ops/reductions/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tenon/ir/describe_params.h"
#include "tenon/ir/together.h"
#include "tenon/ops/control/region.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/extremum.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_map.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

struct ReduceParams {
  std::vector<std::int64_t> axes;  // ascending
};
BOOST_DESCRIBE_STRUCT(ReduceParams, (), (axes))

namespace {

using kernel::Combine;
extern const OpInfo sum_info, prod_info, max_info, min_info, any_info, all_info;

const std::vector<std::int64_t>& axes_of(const Params& params) { return params.as<ReduceParams>().axes; }

Type reduce_type(std::string_view name, bool (*has)(DType), bool needs_elements, const Params& params,
                 std::span<const Type> in) {
  if (in.size() != 1 || !in[0].is_array()) throw VerifyError(fmt::format("{}: takes one array.", name));
  if (!has(in[0].dtype))
    throw DTypeError(fmt::format("{}: not defined for {}.", name, in[0].text()),
                     family::dtype_advice(has, in[0].dtype));
  std::vector<Dim> dims;
  const auto& axes = axes_of(params);
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= static_cast<std::int64_t>(in[0].rank()) || (i > 0 && axes[i] <= axes[i - 1]))
      throw ShapeError(fmt::format("{}: the axes are not ascending axes of {}.", name, in[0].text()));
  for (std::size_t i = 0; i < in[0].rank(); ++i) {
    const bool reduced = std::ranges::binary_search(axes, static_cast<std::int64_t>(i));
    if (!reduced)
      dims.push_back(in[0].shape[i]);
    else if (needs_elements && in[0].shape[i] == Dim(0))
      throw ShapeError(
          fmt::format("{}: axis {} of {} has no elements, and there is no neutral one.", name, i, in[0].text()),
          "Make sure that there is at least one element.");
  }
  return Type::array(in[0].dtype, Shape(std::move(dims)));
}

// Folds each result's elements in row-major order, computed wide: narrow floats in float.
template <class Set, class F>
EvalRule eval_reduce(Set, Scalar (*initial)(DType), F f) {
  return [=](const Params& params, std::span<const Value> in, const EvalContext& context) {
    const Buffer x = family::contiguous(in[0]);
    const auto sizes = context.out[0].shape.sizes();
    Buffer out = Buffer::allocate(x.dtype(), sizes);
    const auto& axes = axes_of(params);
    dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
      if constexpr (Set::has(*dtype_of<T>)) {
        using Computed = decltype(widen(T()));
        using Wide = std::conditional_t<std::is_same_v<Computed, bool>, char, Computed>;  // no std::vector<bool>
        std::vector<Wide> results(static_cast<std::size_t>(std::max<std::int64_t>(out.elements(), 1)),
                                  widen(initial(x.dtype()).as<T>()));
        std::size_t at = 0;
        for_each_index(x.dims(), [&](std::span<const std::int64_t> index) {
          std::int64_t offset = 0;
          for (std::size_t i = 0, k = 0; i < index.size(); ++i)
            if (!std::ranges::binary_search(axes, static_cast<std::int64_t>(i)))
              offset = offset * sizes[k++] + index[i];
          Wide& result = results[static_cast<std::size_t>(offset)];
          result = static_cast<Wide>(f(result, widen(x.as<T>()[at++])));
        });
        for (std::int64_t i = 0; i < out.elements(); ++i)
          out.as<T>()[i] = narrow<T>(results[static_cast<std::size_t>(i)]);
      }
    });
    return std::vector<Value>{out};
  };
}

// A result of a reduction, with the axes it lost put back as sizes of 1 and broadcast to the operand's shape.
Array spread(const Array& reduced, const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < shape.rank(); ++i)
    if (!std::ranges::binary_search(axes, static_cast<std::int64_t>(i))) dims.push_back(static_cast<std::int64_t>(i));
  return broadcast_in_dim(reduced, shape, dims);
}

struct ReductionSpec {
  std::string_view name, summary;
  bool (*has)(DType);
  bool needs_elements;
  EvalRule eval;
  Slot<JvpRule> jvp;
  Slot<TransposeRule> transpose;
  Combine combine;
  Scalar (*initial)(DType);
  Domain domain;
};

OpInfo reduction(const OpInfo& self, ReductionSpec spec) {
  return OpInfo{
      .name = spec.name,
      .summary = spec.summary,
      .params = &describe::params_ops<ReduceParams>,
      .type = TypeRule([spec](const Params& p, std::span<const Type> in, TypeContext&) {
        return std::vector{reduce_type(spec.name, spec.has, spec.needs_elements, p, in)};
      }),
      .eval = spec.eval,
      .jvp = spec.jvp,
      .transpose = spec.transpose,
      .batch = BatchRule([&self](const BatchArgs& args) {
        auto axes = axes_of(args.params);
        for (auto& axis : axes) ++axis;
        return BatchResult{{bind1(self, make_params(ReduceParams{axes}), {args.operands[0]})}, {true}};
      }),
      .split = Absent{"wholly known or not"},
      .guard = Absent{"no Programs inside"},
      .lower = LowerRule(LowerReduction{[spec](const Params& p, std::span<const Type> in) {
        return ReductionForm{spec.combine, axes_of(p), spec.initial(in[0].dtype)};
      }}),
      .alias = Absent{"the result is smaller"},
      .effect = Absent{"pure"},
      .sample = SampleRule([spec](DType d) -> std::vector<SampleCase> {
        if (!spec.has(d)) return {};
        std::vector<SampleCase> cases;
        for (const auto& [shape, axes] :
             std::vector<std::pair<Shape, std::vector<std::int64_t>>>{{{Dim(4)}, {0}},
                                                                      {{Dim(2), Dim(3)}, {1}},
                                                                      {{Dim(2), Dim(3)}, {0}},
                                                                      {{Dim(2), Dim(3), Dim(2)}, {0, 2}},
                                                                      {{}, {}},
                                                                      {{Dim(0), Dim(2)}, {1}}})
          cases.push_back({make_params(ReduceParams{axes}), {Type::array(d, shape)}, {spec.domain}});
        if (!spec.needs_elements)
          cases.push_back({make_params(ReduceParams{{0}}), {Type::array(d, {Dim(0), Dim(2)})}, {spec.domain}});
        return cases;
      }),
  };
}

// What no number of a real dtype lies beyond: infinity, or its largest number where it has none.
double greatest_real(DType d) {
  return format_of(d).has_infinity() ? std::numeric_limits<double>::infinity() : largest_finite_of(d);
}

}  // namespace

Scalar lowest(DType d) {
  if (is_real(d)) return Scalar(-greatest_real(d)).convert(d);
  return dispatch(d, []<class T>(std::type_identity<T>) -> Scalar {
    if constexpr (std::is_integral_v<T>)
      return Scalar(std::numeric_limits<T>::min());
    else
      return {};
  });
}
Scalar highest(DType d) {
  if (is_real(d)) return Scalar(greatest_real(d)).convert(d);
  return dispatch(d, []<class T>(std::type_identity<T>) -> Scalar {
    if constexpr (std::is_integral_v<T>)
      return Scalar(std::numeric_limits<T>::max());
    else
      return {};
  });
}

namespace {

// Linear: the cotangent is spread over what was summed.
const OpInfo sum_info = reduction(
    sum_info,
    {.name = "sum",
     .summary = "sum over axes",
     .has = dtypes::numbers.has,
     .needs_elements = false,
     .eval = eval_reduce(dtypes::numbers, Scalar::zero, [](auto a, auto b) { return wrap(std::plus<>(), a, b); }),
     .jvp = jvp_by_itself(sum_info),
     .transpose = TransposeRule([](const TransposeArgs& args) {
       if (args.cotangents[0])
         args.sink.add(0, spread(*args.cotangents[0], args.operands[0].type.shape, axes_of(args.params)));
     }),
     .combine = Combine::add,
     .initial = Scalar::zero,
     .domain = {-3, 3}});

// A product with its tangent. Nothing is divided, so that zeros are right.
struct Product {
  Array value, tangent;
  Product operator*(const Product& other) const {
    return {value * other.value, tangent * other.value + value * other.tangent};
  }
  Product part(std::int64_t from, std::int64_t to, std::int64_t axis) const {
    return {slice_in_dim(value, from, to, axis), slice_in_dim(tangent, from, to, axis)};
  }
  Product row(std::int64_t i, std::int64_t axis) const {
    const Shape rest = value.shape().without_axis(static_cast<std::size_t>(axis));
    const Product one = part(i, i + 1, axis);
    return {reshape(one.value, rest), reshape(one.tangent, rest)};
  }
};

// Along an axis of known size: its first half by its second until one row is left, so that all pairs of a level are
// independent; what is over goes in at the end.
Product product_of_halves(Product all, std::int64_t axis) {
  std::optional<Product> over;
  for (std::int64_t n = all.value.size(axis);; n /= 2) {
    if (n % 2 != 0) {
      const Product last = all.row(n - 1, axis);
      over = over ? *over * last : last;
    }
    if (n == 1) return *over;
    if (n / 2 == 1) {
      const Product pair = all.row(0, axis) * all.row(1, axis);
      return over ? pair * *over : pair;
    }
    all = all.part(0, n / 2, axis) * all.part(n / 2, n / 2 * 2, axis);
  }
}

// Along an axis of any size, one element after another.
Product product_in_steps(const Product& all, std::int64_t axis) {
  const Type one = Type::array(all.value.dtype(), all.value.shape().without_axis(static_cast<std::size_t>(axis)));
  TraceResult step;
  {
    Scope scope;
    const Product before{scope.input(one), scope.input(one)}, next{scope.input(one), scope.input(one)};
    const Product product = before * next;
    step = scope.finish(Arrays{product.value, product.tangent}, "prod_step");
  }
  const Arrays ends =
      loop({.body = step.program, .length = all.value.dim(axis), .carries = 2, .body_sizes = step.sizes},
           Arrays{ones_like(one), zeros_like(one), move_axis(all.value, axis, 0), move_axis(all.tangent, axis, 0)});
  return {ends[0], ends[1]};
}

JvpResult prod_jvp(const JvpArgs& args) {
  const Array y = bind1(prod_info, args.params, {args.primals[0]});
  const auto& axes = axes_of(args.params);
  Product product{args.primals[0], *args.tangents[0]};
  for (std::size_t i = axes.size(); i-- > 0;) {
    const Dim n = product.value.dim(axes[i]);
    if (n == Dim(0)) return {{y}, {zeros_like(y.type())}};
    product = n.known() ? product_of_halves(product, axes[i]) : product_in_steps(product, axes[i]);
  }
  return {{y}, {product.tangent}};
}
const OpInfo prod_info = reduction(
    prod_info, {.name = "prod",
                .summary = "product over axes",
                .has = dtypes::numbers.has,
                .needs_elements = false,
                .eval = eval_reduce(dtypes::numbers, Scalar::one, [](auto a, auto b) { return wrap(Times(), a, b); }),
                .jvp = JvpRule(prod_jvp),
                .transpose = Absent{"not linear"},
                .combine = Combine::mul,
                .initial = Scalar::one,
                .domain = {-2, 2}});

// The tangents of the largest (smallest) elements, averaged over ties.
JvpRule extremum_jvp(const OpInfo& op) {
  return [&op](const JvpArgs& args) {
    const Array& x = args.primals[0];
    const Array y = bind1(op, args.params, {x});
    const auto& axes = axes_of(args.params);
    const Array chosen = x == spread(y, x.shape(), axes);
    const Array count = bind1(sum_info, args.params, {convert(chosen, x.dtype())});
    // Not a product: what is not chosen may have an infinite tangent.
    return JvpResult{{y}, {bind1(sum_info, args.params, {where(chosen, *args.tangents[0], 0)}) / count}};
  };
}
const OpInfo max_info = reduction(max_info, {.name = "reduce_max",
                                             .summary = "largest over axes; NaN if any is",
                                             .has = dtypes::ordered_numbers.has,
                                             .needs_elements = true,
                                             .eval = eval_reduce(dtypes::ordered_numbers, lowest,
                                                                 [](auto a, auto b) { return extremum<true>(a, b); }),
                                             .jvp = extremum_jvp(max_info),
                                             .transpose = Absent{"not linear"},
                                             .combine = Combine::max,
                                             .initial = lowest,
                                             .domain = {-3, 3}});
const OpInfo min_info = reduction(min_info, {.name = "reduce_min",
                                             .summary = "smallest over axes; NaN if any is",
                                             .has = dtypes::ordered_numbers.has,
                                             .needs_elements = true,
                                             .eval = eval_reduce(dtypes::ordered_numbers, highest,
                                                                 [](auto a, auto b) { return extremum<false>(a, b); }),
                                             .jvp = extremum_jvp(min_info),
                                             .transpose = Absent{"not linear"},
                                             .combine = Combine::min,
                                             .initial = highest,
                                             .domain = {-3, 3}});

constexpr DTypes<dtypes::bool_bit> booleans;
const OpInfo any_info =
    reduction(any_info, {.name = "any",
                         .summary = "whether any is true",
                         .has = booleans.has,
                         .needs_elements = false,
                         .eval = eval_reduce(booleans, Scalar::zero, [](bool a, bool b) { return a || b; }),
                         .jvp = Absent{"defined for bool"},
                         .transpose = Absent{"defined for bool"},
                         .combine = Combine::or_,
                         .initial = Scalar::zero,
                         .domain = {0, 1}});
const OpInfo all_info =
    reduction(all_info, {.name = "all",
                         .summary = "whether all are true",
                         .has = booleans.has,
                         .needs_elements = false,
                         .eval = eval_reduce(booleans, Scalar::one, [](bool a, bool b) { return a && b; }),
                         .jvp = Absent{"defined for bool"},
                         .transpose = Absent{"defined for bool"},
                         .combine = Combine::and_,
                         .initial = Scalar::one,
                         .domain = {0, 1}});

const bool reduce_installed = [] {
  for (const OpInfo* op : {&sum_info, &prod_info, &max_info, &min_info, &any_info, &all_info}) install_op(*op);
  return true;
}();

// Reduced axes put back with size 1.
Array kept(const Array& reduced, Shape shape, const std::vector<std::int64_t>& axes) {
  for (std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
  return reshape(reduced, shape);
}

Array reduce(std::string_view name, const OpInfo& op, const Operand& x, const Axes& axes) {
  const SourceScope place(x.where(), name);
  const Type type = x->type();
  const auto reduced = axes.of(type, name);
  const Array result = bind1(op, make_params(ReduceParams{reduced}), {x});
  return axes.keeps_dims() ? kept(result, type.shape, reduced) : result;
}

Array counted(const Operand& x) { return x->dtype() == DType::bool_ ? convert(x, DType::i32) : x.array(); }

Array arg_extremum(std::string_view name, const OpInfo& op, const Operand& operand, const Axes& axes) {
  const SourceScope place(operand.where(), name);
  Array x = operand->dtype() == DType::bool_ ? convert(operand, DType::u8) : operand.array();
  const Shape whole = x.shape();
  std::vector<std::int64_t> along = axes.of(x.type(), name);
  const std::vector<std::int64_t> named = along;
  if (along.size() != 1) {
    if (along.size() != whole.rank())
      throw ShapeError(
          fmt::format("{}: {} of the {} axes of {} are named.", name, along.size(), whole.rank(), x.type().text()),
          "An index is along one axis, or of all elements in row-major order: name one axis, or none.");
    x = reshape(x, Shape{Dim(-1)});
    along = {0};
  }
  const Params over = make_params(ReduceParams{along});
  const bool short_axis = !x.dim(along[0]).known() || x.size(along[0]) <= std::numeric_limits<std::int32_t>::max();
  const Scalar none =
      short_axis ? Scalar(std::numeric_limits<std::int32_t>::max()) : Scalar(std::numeric_limits<std::int64_t>::max());
  const Array first = bind_together(x, [&](const Array& among) {
    Array found = among == spread(bind1(op, over, {among}), among.shape(), along);
    if (is_real(among.dtype())) found = found | (among != among);
    const Array index = iota(none.dtype(), among.shape(), along[0]);
    return bind1(min_info, over, {where(found, index, Array(none))});
  });
  return axes.keeps_dims() ? kept(first, whole, named) : first;
}

}  // namespace

std::vector<std::int64_t> Axes::of(const Type& x, std::string_view op) const {
  std::vector<std::int64_t> result(all_ ? x.rank() : 0);
  std::iota(result.begin(), result.end(), 0);
  for (std::int64_t axis : axes_) result.push_back(static_cast<std::int64_t>(normalize_axis(axis, x, op)));
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end())
    throw ShapeError(fmt::format("{}: an axis of {} is named twice in [{}].", op, x.text(), fmt::join(axes_, ", ")),
                     "Name each axis once; -1 is the last.");
  return result;
}

Dim Axes::count(const Type& x, std::string_view op) const {
  Dim count = 1;
  for (const std::int64_t axis : of(x, op)) count = count * x.shape[static_cast<std::size_t>(axis)];
  return count;
}

Shape Axes::results(const Type& x, std::string_view op) const {
  Shape left;
  const std::vector<std::int64_t> reduced = of(x, op);
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool stays = !std::ranges::binary_search(reduced, static_cast<std::int64_t>(i));
    if (stays || keeps_) left.push_back(stays ? x.shape[i] : Dim(1));
  }
  return left;
}

Array sum(const Operand& x, const Axes& axes) { return reduce("sum", sum_info, Operand(counted(x), x.where()), axes); }
Array prod(const Operand& x, const Axes& axes) {
  return reduce("prod", prod_info, Operand(counted(x), x.where()), axes);
}
Array amax(const Operand& x, const Axes& axes) {
  return reduce("max", x->dtype() == DType::bool_ ? any_info : max_info, x, axes);
}
Array amin(const Operand& x, const Axes& axes) {
  return reduce("min", x->dtype() == DType::bool_ ? all_info : min_info, x, axes);
}
Array any(const Operand& x, const Axes& axes) { return reduce("any", any_info, x, axes); }
Array All::operator()(const Operand& x, const Axes& axes) const { return reduce("all", all_info, x, axes); }
Array argmax(const Operand& x, const Axes& axis) { return arg_extremum("argmax", max_info, x, axis); }
Array argmin(const Operand& x, const Axes& axis) { return arg_extremum("argmin", min_info, x, axis); }

Params reduction_params(std::vector<std::int64_t> axes) { return make_params(ReduceParams{std::move(axes)}); }

}  // namespace tenon
