#include "tenon/ops/reductions/sorting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "tenon/ir/describe_params.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/gather.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/with_shape.h"
#include "tenon/runtime/sorting/sorting.h"

namespace tenon {

struct SortParams {
  bool descending;
};
BOOST_DESCRIBE_STRUCT(SortParams, (), (descending))
struct TopKParams {
  Dim k;
  bool smallest = false;
};
BOOST_DESCRIBE_STRUCT(TopKParams, (), (k, smallest))

namespace {

extern const OpInfo sort_info, argsort_info, top_k_info;

// --- types: all three work along the last axis ---
const Type& rows(std::string_view op, std::span<const Type> in) {
  if (in.size() != 1) throw VerifyError(fmt::format("{}: takes one operand.", op));
  const Type& x = in[0];
  if (!x.is_array()) throw DTypeError(fmt::format("{}: {} is not an array.", op, x.text()), "Stack the list first.");
  if (x.rank() == 0)
    throw ShapeError(fmt::format("{}: {} has no axis along which elements could have an order.", op, x.text()),
                     "Give an array of rank 1 or more.");
  const Dim& n = x.shape[x.rank() - 1];
  if (n.known() && n.value() > std::numeric_limits<std::int32_t>::max())
    throw ShapeError(fmt::format("{}: {}: places of {} elements do not fit into i32.", op, x.text(), n.value()),
                     "Sort parts of the axis.");
  return x;
}

std::vector<Type> top_k_type(const Params& params, std::span<const Type> in, TypeContext&) {
  const Type& x = rows("top_k", in);
  const Dim& k = params.as<TopKParams>().k;
  if (is_complex(x.dtype))
    throw DTypeError(fmt::format("top_k: {}: complex numbers have no largest.", x.text()),
                     "Take top_k of abs(x) or real(x); or sort(x), which orders them by their parts.");
  if (k.try_value().value_or(0) < 0)
    throw ShapeError(fmt::format("top_k: {} elements of {} are asked for.", k.text(), x.text()), "k is 0 or more.");
  const Dim& n = x.shape[x.rank() - 1];
  if ((n - k).try_value().value_or(0) < 0)
    throw ShapeError(
        fmt::format("top_k: {} elements of {} are asked for, its last axis has {}.", k.text(), x.text(), n.text()),
        "Take at most as many as there are; move_axis() brings another axis to the end.");
  Shape shape = x.shape;
  shape[x.rank() - 1] = k;
  return {Type::array(x.dtype, shape), Type::array(DType::i32, shape)};
}

// --- evaluation ---
// Numbers before NaN; of complex numbers those without NaN, then with one in the imaginary part, in the real, in both.
template <class T>
bool before(T x, T y) {
  if constexpr (requires { x.real(); }) {
    const auto nans = [](T z) { return 2 * std::isnan(z.real()) + std::isnan(z.imag()); };
    if (nans(x) != nans(y)) return nans(x) < nans(y);
    if (before(x.real(), y.real())) return true;
    return !before(y.real(), x.real()) && before(x.imag(), y.imag());
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(x) ? false : std::isnan(y) ? true : x < y;
  } else {
    return x < y;
  }
}

// Of each row the places of its elements in order.
std::vector<std::int64_t> orders(const Buffer& x, bool descending) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(x.elements()));
  const std::int64_t n = x.dims().back();
  dispatch(x.dtype(), [&]<class T>(std::type_identity<T>) {
    for (std::int64_t first = 0; first < x.elements(); first += n) {
      const auto begin = all.begin() + first;
      std::iota(begin, begin + n, 0);
      std::stable_sort(begin, begin + n, [&](std::int64_t i, std::int64_t j) {
        const auto a = widen(x.as<T>()[first + i]), b = widen(x.as<T>()[first + j]);
        return descending ? before(b, a) : before(a, b);
      });
    }
  });
  return all;
}

// The first k elements of each row in order, and where they are.
std::pair<Buffer, Buffer> in_order(const Buffer& x, bool descending, std::int64_t k) {
  const std::vector<std::int64_t> from = orders(x, descending);
  std::vector<std::int64_t> dims(x.dims().begin(), x.dims().end());
  const std::int64_t n = dims.back(), count = x.elements() == 0 ? 0 : x.elements() / n;
  dims.back() = k;
  Buffer values = Buffer::allocate(x.dtype(), dims), places = Buffer::allocate(DType::i32, dims);
  const std::size_t size = size_of(x.dtype());
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t place = from[static_cast<std::size_t>(r * n + i)];
      places.as<std::int32_t>()[r * k + i] = static_cast<std::int32_t>(place);
      std::memcpy(values.data() + static_cast<std::size_t>(r * k + i) * size,
                  x.data() + static_cast<std::size_t>(r * n + place) * size, size);
    }
  return {values, places};
}

// --- lowering ---
LibraryForm library_form(std::string_view function, const Type& x, bool descending, const Dim& first,
                         std::int64_t (*workspace)(const TenonSort&)) {
  const Dim& size = x.shape[x.rank() - 1];
  Dim rows = size == Dim(0) ? 0 : 1;
  for (std::size_t i = 0; i + 1 < x.rank(); ++i) rows = rows * x.shape[i];
  const auto dtype = static_cast<std::int64_t>(x.dtype);
  LibraryForm form{function, {dtype, rows, size, descending, first, TenonSort::any_parts}};
  form.nanoseconds = 20 + 10 * kernel::estimate(x.shape.elements());
  if (rows.known() && size.known() && first.known()) {
    const std::int64_t parts = sort_parts(rows.value(), size.value());
    form.workspace = workspace({dtype, rows.value(), size.value(), descending, first.value(), parts});
    form.description.back() = parts;
  }
  return form;
}

// --- derivatives: elements move, and their tangents with them ---
// x[…, indices[…, i]], where no place is named twice.
Array along_rows(const Array& x, const Array& indices) {
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  IndexAxes axes{.window = {}, .collapsed = {last}, .map = {last}, .batch = {}, .indices_batch = {}};
  for (std::int64_t i = 0; i < last; ++i) axes.batch.push_back(i);
  axes.indices_batch = axes.batch;
  return gather(x, expand_dims(indices, -1), axes, std::vector<Dim>(x.rank(), Dim(1)),
                {.mode = IndexMode::promise_in_bounds, .hints = {.unique = true}});
}

Array bound_argsort(const Array& x, bool descending) {
  return bind1(argsort_info, make_params(SortParams{descending}), {x});
}

std::vector<SampleCase> samples(DType d) {
  std::vector<SampleCase> cases;
  for (const bool descending : {false, true})
    for (const Shape& shape : {Shape{Dim(6)}, Shape{Dim(2), Dim(3)}, Shape{Dim(1)}, Shape{Dim(2), Dim(0)}}) {
      if (descending && shape.rank() == 1) continue;
      cases.push_back({make_params(SortParams{descending}), {Type::array(d, shape)}, {{-3, 3}}});
    }
  return cases;
}

BatchRule batch_rows(const OpInfo& op) {
  return [&op](const BatchArgs& args) {
    const Arrays out = bind_op(op, args.params, args.operands);
    return BatchResult{out, std::vector<bool>(out.size(), true)};
  };
}

const OpInfo sort_info{
    .name = "sort",
    .summary = "the elements of each row of the last axis in order",
    .params = &describe::params_ops<SortParams>,
    .type =
        TypeRule([](const Params&, std::span<const Type> in, TypeContext&) { return std::vector{rows("sort", in)}; }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext&) {
      const Buffer x = family::contiguous(in[0]);
      return std::vector<Value>{in_order(x, params.as<SortParams>().descending, x.dims().back()).first};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      const Array order = bound_argsort(args.primals[0], args.params.as<SortParams>().descending);
      return JvpResult{{along_rows(args.primals[0], order)}, {along_rows(*args.tangents[0], order)}};
    }),
    .transpose = Absent{"not linear"},
    .batch = BatchRule(batch_rows(sort_info)),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
      return library_form("tenon_sort", in[0], params.as<SortParams>().descending, 0, sort_workspace);
    }}),
    .alias = Absent{"elements change places"},
    .effect = Absent{"pure"},
    .sample = SampleRule(samples)};

const OpInfo argsort_info{
    .name = "argsort",
    .summary = "where the elements of each row of the last axis are, in order",
    .params = &describe::params_ops<SortParams>,
    .type = TypeRule([](const Params&, std::span<const Type> in, TypeContext&) {
      return std::vector{Type::array(DType::i32, rows("argsort", in).shape)};
    }),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext&) {
      const Buffer x = family::contiguous(in[0]);
      return std::vector<Value>{in_order(x, params.as<SortParams>().descending, x.dims().back()).second};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      return JvpResult{bind_op(argsort_info, args.params, args.primals), {std::nullopt}};
    }),
    .transpose = Absent{"not linear"},
    .batch = BatchRule(batch_rows(argsort_info)),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
      return library_form("tenon_argsort", in[0], params.as<SortParams>().descending, 0, argsort_workspace);
    }}),
    .alias = Absent{"elements change places"},
    .effect = Absent{"pure"},
    .sample = SampleRule(samples)};

const OpInfo top_k_info{
    .name = "top_k",
    .summary = "the `k` largest elements of each row of the last axis, or the smallest, and where they are",
    .params = &describe::params_ops<TopKParams>,
    .type = TypeRule(top_k_type),
    .eval = EvalRule([](const Params& params, std::span<const Value> in, const EvalContext&) {
      const auto& p = params.as<TopKParams>();
      const auto [values, places] = in_order(family::contiguous(in[0]), !p.smallest, p.k.value());
      return std::vector<Value>{values, places};
    }),
    .jvp = JvpRule([](const JvpArgs& args) {
      const Arrays out = bind_op(top_k_info, args.params, args.primals);
      return JvpResult{out, {along_rows(*args.tangents[0], out[1]), std::nullopt}};
    }),
    .transpose = Absent{"not linear"},
    .batch = BatchRule(batch_rows(top_k_info)),
    .split = Absent{"wholly known or not"},
    .guard = Absent{"no Programs inside"},
    .lower = LowerRule(LowerLibrary{[](const Params& params, std::span<const Type> in) {
      const auto& p = params.as<TopKParams>();
      return library_form("tenon_top_k", in[0], !p.smallest, p.k, top_k_workspace);
    }}),
    .alias = Absent{"elements change places"},
    .effect = Absent{"pure"},
    .sample = SampleRule([](DType d) -> std::vector<SampleCase> {
      if (is_complex(d)) return {};
      return {{make_params(TopKParams{3}), {Type::array(d, {Dim(6)})}, {{-3, 3}}},
              {make_params(TopKParams{2}), {Type::array(d, {Dim(2), Dim(4)})}, {{-3, 3}}},
              {make_params(TopKParams{2, true}), {Type::array(d, {Dim(2), Dim(5)})}, {{-3, 3}}},
              {make_params(TopKParams{1}), {Type::array(d, {Dim(1)})}, {{-3, 3}}},
              {make_params(TopKParams{0}), {Type::array(d, {Dim(3)})}, {{-3, 3}}}};
    })};
const bool sorting_installed = (install_op(sort_info), install_op(argsort_info), install_op(top_k_info), true);

// op along `axis`, which is its last for the op.
Array along(std::string_view name, const OpInfo& op, const Array& x, std::int64_t axis, const SortOptions& options) {
  if (x.rank() == 0) rows(name, std::vector{x.type()});
  const auto at = static_cast<std::int64_t>(normalize_axis(axis, x.type(), name)),
             last = static_cast<std::int64_t>(x.rank()) - 1;
  const Array in_rows = at == last ? x : move_axis(x, at, last);
  const Array out = bind1(op, make_params(SortParams{options.descending}), {in_rows});
  return at == last ? out : move_axis(out, last, at);
}

}  // namespace

Array sort(const Operand& x, std::int64_t axis, const SortOptions& options) {
  const SourceScope place(x.where(), "sort");
  return along("sort", sort_info, x, axis, options).with_weak(x->weak());
}

Array argsort(const Operand& x, std::int64_t axis, const SortOptions& options) {
  const SourceScope place(x.where(), "argsort");
  return along("argsort", argsort_info, x, axis, options);
}

std::vector<Array> sort_together(std::span<const Array> operands, std::int64_t keys, std::int64_t axis,
                                 const SortOptions& options, const Source& where) {
  const SourceScope place(where, "sort_together");
  if (keys < 1 || keys > static_cast<std::int64_t>(operands.size()))
    throw ShapeError(fmt::format("sort_together: {} keys among {} arrays.", keys, operands.size()),
                     "The first arrays are keys, at least one.");
  Arrays of_one_shape;
  for (const Array& x : operands)
    of_one_shape.push_back(with_shape(x, operands[0].shape(), [&] {
      return ShapeError(
          fmt::format("sort_together: {} and {} differ in shape.", operands[0].type().text(), x.type().text()),
          "All arrays have one shape: broadcast_to() gives it to them.");
    }));
  operands = of_one_shape;
  // By the last key first; each earlier one keeps the order of what it finds equal.
  std::optional<Array> order;
  for (std::int64_t k = keys; k-- > 0;) {
    const Array& key = operands[static_cast<std::size_t>(k)];
    const Array next =
        along("sort_together", argsort_info, order ? take_along_axis(key, *order, axis) : key, axis, options);
    order = order ? take_along_axis(*order, next, axis) : next;
  }
  std::vector<Array> sorted;
  for (const Array& x : operands) sorted.push_back(take_along_axis(x, *order, axis).with_weak(x.weak()));
  return sorted;
}

std::optional<FirstInOrder> first_in_order(const Eqn& eqn) {
  if (eqn.op != &top_k_info) return std::nullopt;
  const auto& p = eqn.params.as<TopKParams>();
  return FirstInOrder{p.k, p.smallest};
}
std::optional<InOrder> in_order(const Eqn& eqn) {
  if (eqn.op != &sort_info && eqn.op != &argsort_info) return std::nullopt;
  return InOrder{eqn.op == &argsort_info, eqn.params.as<SortParams>().descending};
}

TopK top_k(const Operand& x, const Dim& k, const TopKOptions& options) {
  const SourceScope place(x.where(), "top_k");
  if (const Type type = x->type(); type.is_array() && type.rank() > 0 && !(k.known() && x->dim(-1).known())) {
    const auto what = [&] { return fmt::format("top_k: {} elements of {} are asked for.", k.text(), type.text()); };
    require_at_most(Dim(0), k, what);
    require_at_most(k, x->dim(-1), what);
  }
  const Arrays out = bind_op(top_k_info, make_params(TopKParams{k, options.smallest}), {x});
  return {out[0].with_weak(x->weak()), out[1]};
}

Array starts_of_runs(const Array& ordered) {
  const Dim n = ordered.shape()[ordered.rank() - 1];
  const Array first = slice_in_dim(ordered, 0, 1, -1);
  const Array differs = slice_in_dim(ordered, 1, n, -1) != slice_in_dim(ordered, 0, n - 1, -1);
  return concatenate({ones(first.shape(), DType::bool_), differs}, -1);
}

}  // namespace tenon
