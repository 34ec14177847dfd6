#include "tenon/api/sets.h"

#include <fmt/format.h>

#include <numeric>

#include "tenon/api/cumulative.h"
#include "tenon/api/searchsorted.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/reductions/sorting.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

bool has_none(const Array& x) { return x.shape()[0].try_value() == 0; }
Array part_of(const Array& x, const Dim& from, const Dim& to) { return slice_in_dim(x, from, to, 0); }
Array behind_first(const Array& x) { return part_of(x, 1, x.shape()[0]); }
Array before_last(const Array& x) { return part_of(x, 0, x.shape()[0] - 1); }
Array one_bool(bool value) { return full({1}, Array(Scalar(value))); }

// Where rows in order are: by the first column, where that is equal by the second, and so on. i32.
Array order_of(const Array& rows) {
  const Dim n = rows.shape()[0];
  const std::int64_t columns = rows.size(1);
  if (columns == 1) return argsort(reshape(rows, {n}), 0);
  const Array at = iota(DType::i32, {n}, 0);
  if (columns == 0) return at;
  Arrays keys;
  for (std::int64_t i = 0; i < columns; ++i) keys.push_back(reshape(slice_in_dim(rows, i, i + 1, 1), {n}));
  keys.push_back(at);
  return sort_together(keys, columns, 0).back();
}

// The same of parts along the first axis, of which there are some; the inverse in a row.
Unique unique_parts(const Array& x, const UniqueOptions& options, const UniqueParts& wanted) {
  const Dim n = x.shape()[0];
  Dim columns = 1;
  for (std::size_t i = 1; i < x.rank(); ++i) columns = columns * x.shape()[i];
  const Array rows = reshape(x, {n, columns}), order = order_of(rows), ordered = take(rows, order);
  const Array after = behind_first(ordered), before = before_last(ordered);
  Array differs = after != before;
  if (options.equal_nan && is_inexact(x.dtype())) differs = differs & !(is_nan(after) & is_nan(before));
  const Array first = concatenate({one_bool(true), any(differs, 1)}, 0);
  const Array number = cumsum(convert(first, DType::i32), 0) - 1;  // of the different part that each is
  const Array at = options.size ? nonzero(first, *options.size)[0] : nonzero(first)[0];
  const Array places = take(order, at);
  Unique made;
  made.values = take(x, places);
  const Dim count = made.values.shape()[0];
  if (options.size) {
    const Array last = reshape(part_of(number, n - 1, n), {});
    const Array there = iota(DType::i32, {count}, 0) <= last;
    const Array other = options.fill ? convert(*options.fill, x.dtype()) : take(x, part_of(order, 0, 1));
    made.values = where(along_axis(there, 0, x.rank()), made.values, other);
  }
  if (wanted.indices) made.indices = places;
  if (wanted.inverse) made.inverse = scatter_set(zeros({n}, DType::i32), order, number);
  if (wanted.counts) made.counts = scatter_add(zeros({count}, DType::i32), number, ones({n}, DType::i32));
  return made;
}

Unique unique_of_none(const Array& x, const UniqueOptions& options, const UniqueParts& wanted) {
  const Dim size = options.size.value_or(0);
  if (size.try_value() != 0 && !options.fill)
    throw ShapeError(
        fmt::format("unique: for zero-sized input with nonzero size argument, fill_value must be specified: "
                    "{} of {}.",
                    size.text(), x.type().text()),
        "Give .fill.");
  Shape shape = x.shape();
  shape[0] = size;
  const Array none = zeros({0}, DType::i32);
  Unique made;
  made.values = full(shape, options.fill ? convert(*options.fill, x.dtype()) : Array(Scalar::zero(x.dtype())));
  if (wanted.indices) made.indices = none;
  if (wanted.inverse) made.inverse = none;
  if (wanted.counts) made.counts = none;
  return made;
}

// Whether x is small enough beside the others that each is compared with each.
bool few(const Array& x, const Array& others) {
  const auto n = x.shape().elements().try_value(), m = others.shape().elements().try_value();
  return m && (*m <= 8 || (n && *n * *m <= 4096));
}

// Elements in a row, of which some count: in order and the first of equal ones, where they may be equal.
struct FirstOnes {
  Array x, first;
};
FirstOnes first_ones(const Array& given, bool unique) {
  const Array x = in_a_row(given);
  if (unique || has_none(x)) return {x, full(x.shape(), Array(Scalar(true)))};
  const Array ordered = sort(x, 0);
  return {ordered, starts_of_runs(ordered)};
}

// The elements where the mask holds; with a size behind them what fills, or the first of them.
Array chosen(const Array& x, const Array& mask, const SetOptions& options) {
  if (!options.size) return compress(x, mask);
  const Array made = compress(x, mask, *options.size, options.fill ? *options.fill : Array(0));
  if (options.size->try_value() == 0 || options.fill) return made;
  const Array count = sum(convert(mask, DType::i32));
  return where(iota(DType::i32, {*options.size}, 0) < count, made, part_of(made, 0, 1));
}

Met rows_of_one_dtype(const Array& x, const Array& y) { return in_one_dtype(Arrays{in_a_row(x), in_a_row(y)}); }

}  // namespace

Unique unique_all(const Operand& given, const UniqueOptions& options, const UniqueParts& parts) {
  constexpr std::string_view name = "unique";
  const SourceScope place(given.where(), name);
  std::optional<std::int64_t> axis;
  if (options.axis) axis = static_cast<std::int64_t>(normalize_axis(*options.axis, given->rank(), name));
  const Array x = axis ? move_axis(given, *axis, 0) : in_a_row(given);
  Unique made = has_none(x) ? unique_of_none(x, options, parts) : unique_parts(x, options, parts);
  if (axis)
    made.values = move_axis(made.values, 0, *axis);
  else if (parts.inverse)
    made.inverse = reshape(made.inverse, given->shape());
  return made;
}
Array unique(const Operand& x, const UniqueOptions& options) {
  return unique_all(x, options, {false, false, false}).values;
}

Array isin(const Operand& given, const Operand& of) {
  constexpr std::string_view name = "isin";
  const SourceScope place(given.where(), name);
  const Met met = in_one_dtype(Arrays{given, in_a_row(of)});
  const Array &x = met.operands[0], &others = met.operands[1];
  if (few(x, others) || is_complex(x.dtype())) {
    std::vector<Dim> columns = x.shape().dims();
    columns.emplace_back(1);
    return any(reshape(x, Shape(columns)) == others, -1);
  }
  const bool bools = x.dtype() == DType::bool_;
  const Array ordered = sort(bools ? convert(others, DType::u8) : others, 0);
  const Array values = bools ? convert(x, DType::u8) : x;
  const Array at = searchsorted(ordered, values), count = size_as_array(ordered.shape()[0], at.dtype());
  // Where all others are less there is none at that place.
  return (take(concatenate({ordered, zeros({1}, ordered.dtype())}, 0), at) == values) & (at < count);
}

Array union1d(const Operand& x, const Operand& y, const SetOptions& options) {
  const SourceScope place(x.where(), "union1d");
  return unique(concatenate(rows_of_one_dtype(x, y).operands, 0), {{options.size, options.fill}});
}

Array setdiff1d(const Operand& x, const Operand& y, const TwoSetsOptions& options) {
  const SourceScope place(x.where(), "setdiff1d");
  const FirstOnes of_x = first_ones(x, options.unique);
  SetOptions filled = options;
  if (!filled.fill) filled.fill = Array(0);
  return chosen(of_x.x, of_x.first & !isin(of_x.x, y), filled);
}

Array intersect1d(const Operand& x, const Operand& y, const TwoSetsOptions& options) {
  const SourceScope place(x.where(), "intersect1d");
  const Met met = rows_of_one_dtype(x, y);
  const FirstOnes of_x = first_ones(met.operands[0], options.unique);
  return chosen(of_x.x, of_x.first & isin(of_x.x, met.operands[1]), options);
}

Intersection intersection_and_places(const Operand& x, const Operand& y, const SetOptions& options) {
  const SourceScope place(x.where(), "intersect1d");
  const Met met = rows_of_one_dtype(x, y);
  const auto places = [&](const Array& of, const Array& first, const Array& found) {
    return chosen(first, found, {options.size, size_as_array(of.shape()[0], DType::i32)});
  };
  const UniqueParts indices{true, false, false};
  const Unique one = unique_all(met.operands[0], {}, indices), other = unique_all(met.operands[1], {}, indices);
  const Array in_both = isin(one.values, other.values);
  return {chosen(one.values, in_both, options), places(met.operands[0], one.indices, in_both),
          places(met.operands[1], other.indices, isin(other.values, one.values))};
}

Array setxor1d(const Operand& x, const Operand& y, const TwoSetsOptions& options) {
  const SourceScope place(x.where(), "setxor1d");
  const Met met = rows_of_one_dtype(x, y);
  const Array &a = met.operands[0], &b = met.operands[1];
  Array all = concatenate({a, b}, 0), alone = concatenate({!isin(a, b), !isin(b, a)}, 0);
  if (!has_none(all)) {
    const std::vector<Array> ordered = sort_together({all, alone}, 1, 0);
    all = ordered[0], alone = ordered[1];
    const Array starts = starts_of_runs(all);
    alone = options.unique ? starts & concatenate({behind_first(starts), one_bool(true)}, 0) : alone & starts;
  }
  return chosen(all, alone, options);
}

std::vector<Array> nonzero(const Operand& x, const Dim& size, std::span<const Array> fill, DType dtype) {
  constexpr std::string_view name = "nonzero";
  const SourceScope place(x.where(), name);
  if (x->rank() == 0)
    throw ShapeError(fmt::format("{}: {} has no axes.", name, x->type().text()), "Give it one with reshape().");
  if (!fill.empty() && fill.size() != x->rank())
    throw ShapeError(fmt::format("{}: {} values that fill indices of {}.", name, fill.size(), x->type().text()),
                     "Give one for each axis.");
  const Array mask = in_a_row(convert(x, DType::bool_));
  const Dim n = mask.shape()[0];
  const Array before = has_none(mask) ? zeros({0}, DType::i32) : cumsum(convert(mask, DType::i32), 0);
  const Array count = has_none(mask) ? Array(0) : reshape(part_of(before, n - 1, n), {});
  const Array where_to = where(mask, before - 1, size_as_array(size, DType::i32));  // outside: not written
  Array at = scatter_set(zeros({size}, DType::i32), where_to, iota(DType::i32, {n}, 0));
  const Array there = iota(DType::i32, {size}, 0) < count;
  std::vector<Array> indices(x->rank());
  for (std::size_t i = x->rank(); i-- > 0;) {
    const Array sizes = size_as_array(max(x->shape()[i], 1), DType::i32);
    const Array index = i == 0 ? at : at % sizes;
    if (i > 0) at = at / sizes;
    indices[i] = where(there, convert(index, dtype), fill.empty() ? Array(0) : convert(fill[i], dtype));
  }
  return indices;
}

Array compress(const Operand& x, const Operand& mask, const Dim& size, const Operand& fill) {
  constexpr std::string_view name = "compress";
  const SourceScope place(x.where(), name);
  if (mask->dtype() != DType::bool_ || mask->rank() != 1 || x->rank() == 0)
    throw ShapeError(fmt::format("{}: {} by {}.", name, x->type().text(), mask->type().text()),
                     "The mask is a vector of bool, as long as the first axis.");
  if (has_none(x)) {
    Shape shape = x->shape();
    shape[0] = size;
    return full(shape, convert(fill, x->dtype()));
  }
  const Array end[] = {size_as_array(x->shape()[0], DType::i32)};
  const Array at = nonzero(mask, size, end)[0];
  const Array there = at < end[0];
  return where(along_axis(there, 0, x->rank()), take(x, at), convert(fill, x->dtype()));
}

}  // namespace tenon
