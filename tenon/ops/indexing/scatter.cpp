// scatter: updates written into slices of an array, or combined with what is there. The dual of gather.
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <numeric>

#include "tenon/ir/describe_params.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/elementwise/extremum.h"
#include "tenon/ops/families.h"
#include "tenon/ops/indexing/index_axes.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

BOOST_DESCRIBE_ENUM(ScatterKind, set, add, mul, min, max)
struct ScatterParams {
  ScatterKind kind = ScatterKind::set;
  std::vector<std::int64_t> window, collapsed, map, batch, indices_batch;
  IndexMode mode = IndexMode::fill;
  bool sorted = false;
  bool unique = false;
};
BOOST_DESCRIBE_STRUCT(ScatterParams, (), (kind, window, collapsed, map, batch, indices_batch, mode, sorted, unique))

namespace {

extern const OpInfo scatter_info;
using kernel::Binary;
using kernel::Expr;

IndexAxes axes_of(const ScatterParams& p) { return {p.window, p.collapsed, p.map, p.batch, p.indices_batch}; }

Params params_of(ScatterKind kind, const IndexAxes& axes, const ScatterOptions& options) {
  return make_params(ScatterParams{kind, axes.window, axes.collapsed, axes.map, axes.batch, axes.indices_batch,
                                   options.mode, options.hints.sorted, options.hints.unique});
}
ScatterOptions options_of(const ScatterParams& p) { return {p.mode, {p.sorted, p.unique}}; }

// What is promised not to lie outside is not written where it does.
IndexMode writing(IndexMode mode) { return mode == IndexMode::clip ? IndexMode::clip : IndexMode::fill; }

std::vector<Dim> slice_sizes_of(const IndexGeometry& g, std::size_t rank, const Shape& updates) {
  std::vector<Dim> sizes(rank, Dim(1));
  for (std::size_t k = 0; k < g.slice_axes.size(); ++k) sizes[g.slice_axes[k]] = updates[g.window_axes[k]];
  return sizes;
}

std::vector<Type> scatter_type(const Params& params, std::span<const Type> in, TypeContext& context) {
  const auto& p = params.as<ScatterParams>();
  if (in.size() != 3) throw VerifyError("scatter: takes an array, indices and updates.");
  const Type &x = in[0], &indices = in[1], &updates = in[2];
  const IndexGeometry g = index_geometry("scatter", axes_of(p), x, indices);
  if (!updates.is_array() || updates.dtype != x.dtype)
    throw DTypeError(fmt::format("scatter: updates {} of {}.", updates.text(), x.text()), "Convert the updates first.");
  if (is_complex(x.dtype) && (p.kind == ScatterKind::min || p.kind == ScatterKind::max))
    throw DTypeError(fmt::format("scatter: the least and the largest are not defined for {}.", x.text()));
  if (updates.rank() != g.window_axes.size() + g.lane_axes.size())
    throw ShapeError(fmt::format("scatter: the updates are {}; {} at {} takes {} axes.", updates.text(), x.text(),
                                 indices.text(), g.window_axes.size() + g.lane_axes.size()));
  for (std::size_t k = 0; k < g.lane_axes.size(); ++k)
    context.require_equal(updates.shape[g.lane_axes[k]], indices.shape[k], [&] {
      return fmt::format("scatter: axis {} of the updates {} and axis {} of the indices {} differ.", g.lane_axes[k],
                         updates.text(), k, indices.text());
    });
  check_slices("scatter", g, x, indices, slice_sizes_of(g, x.rank(), updates.shape), updates.shape.elements(),
               writing(p.mode), context);
  return {x};
}

template <class T>
T combined(ScatterKind kind, T old, T update) {
  if constexpr (std::is_same_v<T, bool>) {
    switch (kind) {
      case ScatterKind::set:
        return update;
      case ScatterKind::add:
      case ScatterKind::max:
        return old || update;
      default:
        return old && update;
    }
  } else {
    const auto a = widen(old), b = widen(update);
    if (kind == ScatterKind::set) return update;
    if (kind == ScatterKind::add) return narrow<T>(a + b);
    if (kind == ScatterKind::mul) return narrow<T>(Times()(a, b));
    if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>) {
      return narrow<T>(kind == ScatterKind::max ? extremum<true>(a, b) : extremum<false>(a, b));
    }
    return old;
  }
}

std::vector<Value> scatter_eval(const Params& params, std::span<const Value> in, const EvalContext&) {
  const auto& p = params.as<ScatterParams>();
  const Buffer indices = family::contiguous(in[1]), updates = family::contiguous(in[2]);
  Buffer out = std::get<Buffer>(in[0]).contiguous_copy();
  const IndexGeometry g = index_geometry("scatter", axes_of(p), type_of(in[0]), type_of(in[1]));
  const SliceWalk walk = walk_slices(g, out.dims(), indices, updates.dims(), writing(p.mode));
  // Updates may meet, so they are taken in their own order, not slice by slice.
  std::vector<std::int64_t> target(static_cast<std::size_t>(updates.elements()), -1);
  walk.each([&](std::int64_t slice, std::int64_t update) {
    for (std::size_t k = 0; k < walk.x_offsets.size(); ++k)
      if (slice >= 0) target[static_cast<std::size_t>(update + walk.windowed_offsets[k])] = slice + walk.x_offsets[k];
  });
  dispatch(out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* to = out.as<T>();
    const T* from = updates.as<T>();
    for (std::size_t i = 0; i < target.size(); ++i)
      if (target[i] >= 0) to[target[i]] = combined(p.kind, to[target[i]], from[i]);
  });
  return {out};
}

// --- derivatives ---
// The slices of an array of x's type where the updates go; zeros where none is written.
Array gather_back(const ScatterParams& p, const Array& x, const Array& indices, const Shape& updates) {
  const IndexGeometry g = index_geometry("scatter", axes_of(p), x.type(), indices.type());
  GatherOptions options{p.mode, std::nullopt, {p.sorted, p.unique}};
  if (p.mode == IndexMode::fill) options.fill = Scalar::zero(x.dtype());
  return gather(x, indices, axes_of(p), slice_sizes_of(g, x.rank(), updates), options);
}

// Of a product, each update scales what is there; of an extremum, those that attain the result share its tangent
// equally, which is a linear map: each one's tangent, divided by how many they are.
Array product_tangent(const ScatterParams& p, const JvpArgs& args) {
  const Array &x = args.primals[0], &indices = args.primals[1], &updates = args.primals[2];
  MaybeArray tangent;
  if (args.tangents[0]) tangent = bind1(scatter_info, args.params, {*args.tangents[0], indices, updates});
  if (args.tangents[2]) {
    if (!p.unique)
      throw UnsupportedError("scatter: the derivative of a product by updates that may meet is not there.",
                             "Say that the indices are unique, or combine the updates before.");
    const Array scaled = *args.tangents[2] * gather_back(p, x, indices, updates.shape());
    const Array start = tangent ? *tangent : zeros_like(x.type());
    tangent = scatter(ScatterKind::add, start, indices, scaled, axes_of(p), options_of(p));
  }
  return *tangent;
}
Array extremum_tangent(const ScatterParams& p, const JvpArgs& args, const Array& result) {
  const Array &x = args.primals[0], &indices = args.primals[1], &updates = args.primals[2];
  const auto attains = [&](const Array& value, const Array& extremum) {
    return convert((value == extremum) | (value != value), x.dtype());  // NaN attains NaN
  };
  const auto rows = [&](const Array& of) { return gather_back(p, of, indices, updates.shape()); };
  const Array in_updates = attains(updates, rows(result));
  if (p.unique) {  // only what lies in the slices changes
    const Array start = tangent_or_zero(args, 0);
    const Array in_x = attains(rows(x), rows(result));
    Array total = rows(start) * in_x;
    if (args.tangents[2]) total = total + *args.tangents[2] * in_updates;
    return scatter(ScatterKind::set, start, indices, total / (in_x + in_updates), axes_of(p), options_of(p));
  }
  const auto added = [&](const Array& start, const Array& more) {
    return scatter(ScatterKind::add, start, indices, more, axes_of(p), options_of(p));
  };
  const Array in_x = attains(x, result), count = added(in_x, in_updates);
  Array total = args.tangents[0] ? *args.tangents[0] * in_x : zeros_like(x.type());
  if (args.tangents[2]) total = added(total, *args.tangents[2] * in_updates);
  return total / count;
}

JvpResult scatter_jvp(const JvpArgs& args) {
  const auto& p = args.params.as<ScatterParams>();
  const Array result = bind_op(scatter_info, args.params, args.primals)[0];
  if (p.kind == ScatterKind::mul) return {{result}, {product_tangent(p, args)}};
  if (p.kind == ScatterKind::min || p.kind == ScatterKind::max) return {{result}, {extremum_tangent(p, args, result)}};
  // Linear as well when it sets: the last write to an element decides for value and tangent alike.
  return {{result},
          {bind1(scatter_info, args.params, {tangent_or_zero(args, 0), args.primals[1], tangent_or_zero(args, 2)})}};
}

// Which updates stay when they are set, bool of the updates' shape: the updates are numbered, the numbers are set, and
// those that are found again have stayed. Axes of a slice that no index moves are left out: all along them agree.
Array stayed(const ScatterParams& p, const Shape& x, const Array& indices, const Shape& updates) {
  const IndexGeometry g = index_geometry("scatter", axes_of(p), Type::array(DType::f32, x), indices.type());
  ScatterParams q = p;
  std::vector<std::int64_t> x_place(x.rank(), -1), kept;
  std::vector<bool> dropped(updates.rank(), false), x_dropped(x.rank(), false);
  for (std::size_t k = 0; k < g.slice_axes.size(); ++k)
    if (g.component[g.slice_axes[k]] == IndexGeometry::none)
      x_dropped[g.slice_axes[k]] = dropped[g.window_axes[k]] = true;
  Shape small_x, small;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (x_dropped[i]) continue;
    x_place[i] = static_cast<std::int64_t>(small_x.rank());
    small_x.push_back(x[i]);
  }
  q.window.clear();
  for (std::size_t i = 0; i < updates.rank(); ++i) {
    if (dropped[i]) continue;
    if (std::ranges::find(g.window_axes, i) != g.window_axes.end())
      q.window.push_back(static_cast<std::int64_t>(kept.size()));
    kept.push_back(static_cast<std::int64_t>(i));
    small.push_back(updates[i]);
  }
  for (auto* axes : {&q.collapsed, &q.map, &q.batch})
    for (auto& axis : *axes) axis = x_place[static_cast<std::size_t>(axis)];
  const Array number = reshape(iota(DType::i64, Shape{small.elements()}, 0), small);
  const Array owner = scatter(ScatterKind::set, full(small_x, Array(Scalar(std::int64_t(-1)))), indices, number,
                              axes_of(q), options_of(q));
  const Array found = gather_back(q, owner + std::int64_t(1), indices, small);  // outside: 0
  return broadcast_in_dim(found == number + std::int64_t(1), updates, kept);
}

void scatter_transpose(const TransposeArgs& args) {
  if (!args.cotangents[0]) return;
  const auto& p = args.params.as<ScatterParams>();
  const Array &ct = *args.cotangents[0], &indices = *args.operands[1].value;
  const Type& updates = args.operands[2].type;
  const bool by_x = args.operands[0].linear(), by_updates = args.operands[2].linear();
  if (p.kind == ScatterKind::mul && !by_updates)
    return args.sink.add(0, bind1(scatter_info, args.params, {ct, indices, *args.operands[2].value}));
  if (p.kind != ScatterKind::add && p.kind != ScatterKind::set)
    throw DifferentiationError("scatter: a product or an extremum is not linear in the updates.");
  const bool set = p.kind == ScatterKind::set;
  if (by_updates) {
    Array rows = gather_back(p, ct, indices, updates.shape);
    if (set && !p.unique) rows = where(stayed(p, ct.shape(), indices, updates.shape), rows, zeros_like(updates));
    args.sink.add(2, rows);
  }
  if (by_x) args.sink.add(0, set ? bind1(scatter_info, args.params, {ct, indices, zeros_like(updates)}) : ct);
}

// --- batch ---
BatchResult scatter_batch(const BatchArgs& args) {
  const auto& p = args.params.as<ScatterParams>();
  const auto spread = [&](std::size_t i) {
    return args.batched[i] ? args.operands[i] : add_batch_axis(args.operands[i], args.size);
  };
  std::vector<Dim> none;
  const std::size_t rank = args.operands[0].rank() - (args.batched[0] ? 1 : 0);
  const IndexAxes axes = batch_axes(axes_of(p), rank, true, args.batched[1], args.size, none);
  const ScatterOptions options{p.mode, {p.sorted && !args.batched[1], p.unique}};
  return {{bind1(scatter_info, params_of(p.kind, axes, options), {spread(0), args.operands[1], spread(2)})}, {true}};
}

std::vector<SampleCase> scatter_samples(DType d) {
  std::vector<SampleCase> cases;
  const auto add = [&](ScatterKind kind, const IndexAxes& axes, const ScatterOptions& options, Shape x, DType index,
                       Shape indices, Shape updates, Domain domain) {
    cases.push_back(
        {params_of(kind, axes, options),
         {Type::array(d, std::move(x)), Type::array(index, std::move(indices)), Type::array(d, std::move(updates))},
         {{-3, 3}, domain, {-3, 3}}});
  };
  for (ScatterKind kind : {ScatterKind::set, ScatterKind::add, ScatterKind::mul, ScatterKind::min, ScatterKind::max}) {
    if (is_complex(d) && (kind == ScatterKind::min || kind == ScatterKind::max)) continue;
    const bool one = kind == ScatterKind::mul;  // whose derivative needs unique indices
    for (IndexMode mode : {IndexMode::clip, IndexMode::fill}) {
      const ScatterOptions options{mode, {false, one}};
      // rows; slices of a matrix that may overlap; lanes of their own
      add(kind, {{1}, {0}, {0}, {}, {}}, options, {5, 2}, DType::i32, {one ? 1 : 4, 1}, {one ? 1 : 4, 2}, {-1, 6});
      add(kind, {{0, 2}, {}, {1, 0}, {}, {}}, options, {3, 4}, DType::i64, {one ? 1 : 3, 2}, {2, one ? 1 : 3, 3},
          {-1, 3});
      add(kind, {{2}, {2}, {2}, {1}, {0}}, options, {2, 3, 4}, DType::u32, {3, one ? 1 : 2, 1}, {3, one ? 1 : 2, 2},
          {0, 4});
    }
    add(kind, {{}, {0}, {0}, {}, {}}, {IndexMode::fill, {false, one}}, {0}, DType::i32, {2, 1}, {2}, {0, 1});
  }
  return cases;
}

const OpInfo scatter_info{.name = "scatter",
                          .summary = "x with updates set at, or combined with, slices at indices",
                          .params = &describe::params_ops<ScatterParams>,
                          .type = TypeRule(scatter_type),
                          .eval = EvalRule(scatter_eval),
                          .jvp = JvpRule(scatter_jvp),
                          .transpose = TransposeRule(scatter_transpose),
                          .batch = BatchRule(scatter_batch),
                          .split = Absent{"wholly known or not"},
                          .guard = Absent{"no Programs inside"},
                          .lower = LowerRule(LowerStructure{LowerStructure::Kind::scatter}),
                          .alias = AliasRule{0, 0},
                          .effect = Absent{"pure"},
                          .sample = SampleRule(scatter_samples)};
const bool scatter_installed = (install_op(scatter_info), true);

std::optional<Binary> combine_of(ScatterKind kind, bool logical) {
  switch (kind) {
    case ScatterKind::add:
      return logical ? Binary::or_ : Binary::add;
    case ScatterKind::mul:
      return logical ? Binary::and_ : Binary::mul;
    case ScatterKind::max:
      return logical ? Binary::or_ : Binary::max;
    case ScatterKind::min:
      return logical ? Binary::and_ : Binary::min;
    default:
      return std::nullopt;
  }
}

}  // namespace

// What is set or compared with is the old element; what is added or multiplied changes nothing.
Array guarded_scatter(const Params& params, Arrays operands, const Array& running) {
  const auto& p = params.as<ScatterParams>();
  const Shape shape = operands[2].shape();
  const DType dtype = operands[2].dtype();
  Array nothing;
  if (p.kind == ScatterKind::add && dtype != DType::bool_)
    nothing = full(shape, Array(Scalar(std::complex<double>(-0.0, -0.0)).convert(dtype)));  // a zero keeps its sign
  else if (p.kind == ScatterKind::mul && dtype != DType::bool_)
    nothing = full(shape, Array(Scalar(1).convert(dtype)));
  else
    nothing = gather_back(p, operands[0], operands[1], shape);
  operands[2] = where(running, operands[2], nothing);
  return bind_op(scatter_info, params, operands)[0];
}

const OpInfo& scatter_op() { return scatter_info; }

Array combined_with(ScatterKind kind, const Array& old, const Array& value) {
  const bool logical = old.dtype() == DType::bool_;
  switch (kind) {
    case ScatterKind::add:
      return logical ? old | value : old + value;
    case ScatterKind::mul:
      return logical ? old & value : old * value;
    case ScatterKind::min:
      return min(old, value);
    case ScatterKind::max:
      return max(old, value);
    case ScatterKind::set:
      break;
  }
  return broadcast_to(value, old.shape());
}

Array rows_of_scatter(const Params& params, const Array& x, const Array& indices, const Shape& updates) {
  return gather_back(params.as<ScatterParams>(), x, indices, updates);
}

Array with_rows_of_scatter(const Params& params, const Array& x, const Array& indices, const Array& rows) {
  const auto& p = params.as<ScatterParams>();
  return bind1(scatter_info, params_of(ScatterKind::set, axes_of(p), options_of(p)), {x, indices, rows});
}

std::optional<std::function<Array(const Array& rows)>> rows_updated(const Params& params, const Array& x,
                                                                    const Array& indices, const Array& updates) {
  const auto& p = params.as<ScatterParams>();
  if (p.map.size() != 1 || !p.batch.empty()) return {};
  if (x.dtype() == DType::bool_ && p.kind != ScatterKind::set) return {};
  const IndexGeometry g = index_geometry("scatter", axes_of(p), x.type(), indices.type());
  const auto along = static_cast<std::size_t>(p.map[0]);
  std::vector<Dim> part = slice_sizes_of(g, x.rank(), updates.shape());
  if (part[along] != Dim(1)) return {};
  part[along] = x.shape()[along];
  if (Shape(part) != x.shape()) return {};
  std::vector<std::int64_t> order;
  for (const auto* axes : {&g.lane_axes, &g.window_axes})
    for (const std::size_t axis : *axes) order.push_back(static_cast<std::int64_t>(axis));
  Dim n = 1;
  for (const std::size_t axis : g.lane_axes) n = n * updates.shape()[axis];
  const Array first = reshape(transpose(updates, order), x.shape().without_axis(along).with_axis(0, n));
  const Array rows = move_axis(first, 0, p.map[0]);
  return [kind = p.kind, rows](const Array& old) { return combined_with(kind, old, rows); };
}

// Whatever becomes of them.
std::optional<RowsSet> rows_of_one_index(const ScatterParams& p, const Type& x, const Type& indices,
                                         const Type& updates) {
  if (p.map.size() != 1 || !p.batch.empty() || indices.shape.elements() != Dim(1)) return {};
  const IndexGeometry g = index_geometry("scatter", axes_of(p), x, indices);
  const std::vector<Dim> part = slice_sizes_of(g, x.rank(), updates.shape);
  const auto axis = static_cast<std::size_t>(p.map[0]);
  for (std::size_t i = 0; i < part.size(); ++i)
    if (i != axis && part[i] != x.shape[i]) return {};
  return RowsSet{axis, 1, 2, part[axis]};
}
std::optional<RowsSet> rows_set_by_scatter(const Params& params, const Type& x, const Type& indices,
                                           const Type& updates) {
  const auto& p = params.as<ScatterParams>();
  return p.kind == ScatterKind::set ? rows_of_one_index(p, x, indices, updates) : std::nullopt;
}
std::optional<RowsCombined> rows_combined_by_scatter(const Params& params, const Type& x, const Type& indices,
                                                     const Type& updates) {
  const auto& p = params.as<ScatterParams>();
  const auto rows = rows_of_one_index(p, x, indices, updates);
  if (!rows) return {};
  return RowsCombined{*rows, [kind = p.kind](const Array& x, const Array& y) { return combined_with(kind, x, y); }};
}

std::optional<ElementPoints> elements_added(const Params& params, const Type& x, const Type& indices) {
  const auto& p = params.as<ScatterParams>();
  if (p.kind != ScatterKind::add) return {};
  return points_of(index_geometry("scatter", axes_of(p), x, indices), p.mode);
}

std::optional<RowPoints> row_points_added(const Params& params, const Type& x, const Type& indices,
                                          const Type& updates) {
  const auto& p = params.as<ScatterParams>();
  if (p.kind != ScatterKind::add) return {};
  const IndexGeometry g = index_geometry("scatter", axes_of(p), x, indices);
  std::vector<Dim> sizes(x.rank(), Dim(1));
  for (std::size_t i = 0; i < g.slice_axes.size(); ++i) sizes[g.slice_axes[i]] = updates.shape[g.window_axes[i]];
  return row_points_of(g, p.mode, x.shape, sizes);
}

ScatterKind kind_of_scatter(const Params& params) { return params.as<ScatterParams>().kind; }
IndexAxes axes_of_scatter(const Params& params) { return axes_of(params.as<ScatterParams>()); }
Array scatter_along(const Params& params, const Array& x, const Array& indices, const Array& updates,
                    const IndexAxes& axes) {
  const auto& p = params.as<ScatterParams>();
  return scatter(p.kind, x, indices, updates, axes, {p.mode, {.unique = p.unique}});
}

ScatterForm scatter_form(const Params& params, const Type& x, const Type& indices, const Type& updates) {
  const auto& p = params.as<ScatterParams>();
  const IndexGeometry g = index_geometry("scatter", axes_of(p), x, indices);
  const bool ask = writing(p.mode) == IndexMode::fill;
  return {combine_of(p.kind, x.dtype == DType::bool_),
          [=, whole = x.shape.dims(), part = updates.shape.dims()](std::span<const Expr> index, const auto& load) {
            IndexTarget target = index_target(g, whole, part, ask, index, load);
            return ScatterForm::Target{std::move(target.index), std::move(target.inside), std::move(target.limits)};
          }};
}

Array scatter(ScatterKind kind, const Operand& x, const Operand& indices, const Operand& updates, const IndexAxes& axes,
              const ScatterOptions& options) {
  const SourceScope place(x.where(), "scatter");
  // As many as data decide, and so none: no element can be written.
  if (x->shape().elements() == Dim(0) && !updates->shape().elements().known()) return x;
  return bind1(scatter_info, params_of(kind, axes, options), {x, indices, convert_into("scatter", x, updates)});
}

}  // namespace tenon
