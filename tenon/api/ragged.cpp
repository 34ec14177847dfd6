#include "tenon/api/ragged.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>

#include "tenon/api/cumulative.h"
#include "tenon/api/loops.h"
#include "tenon/api/searchsorted.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/index.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/composites/order.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {
namespace {

using Numbers = std::vector<std::int64_t>;

bool holds(const Numbers& axes, std::int64_t axis) { return std::ranges::find(axes, axis) != axes.end(); }

Numbers joined(std::initializer_list<Numbers> parts) {
  Numbers all;
  for (const Numbers& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// One product by groups: its operands, and which axes are what.
struct Ragged {
  Array lhs, rhs, sizes;
  DotAxes axes;
  std::int64_t ragged;
  std::optional<std::int64_t> group;
  std::optional<DType> preferred;

  bool contracts() const { return holds(axes.contract_a, ragged); }
  bool of_batch() const { return holds(axes.batch_a, ragged); }
  Dim groups() const { return sizes.shape()[sizes.rank() - 1]; }
  Dim rows() const { return lhs.shape()[static_cast<std::size_t>(ragged)]; }

  Numbers before() const;
  Array by_all_groups() const;
  Array rows_by_blocks(std::int64_t block) const;
  Array sums_by_blocks(std::int64_t block) const;
};

// The axes of lhs that the sizes may have in front of the groups.
Numbers Ragged::before() const {
  const auto ahead = [&](const Numbers& all) { return Numbers(all.begin(), std::ranges::find(all, ragged)); };
  if (of_batch()) return ahead(axes.batch_a);
  if (contracts()) return joined({axes.batch_a, ahead(axes.contract_a)});
  return joined({axes.batch_a, ahead(free_axes(lhs.rank(), axes.contract_a, axes.batch_a))});
}

void require_fits(std::string_view name, const Ragged& r) {
  const auto at = [](const Array& x, std::int64_t axis) { return x.shape()[static_cast<std::size_t>(axis)]; };
  if (!is_integer(r.sizes.dtype()))
    throw DTypeError(fmt::format("{}: group sizes are {}.", name, r.sizes.type().text()), "They are integers.");
  if (r.sizes.rank() == 0)
    throw ShapeError(fmt::format("{}: group sizes are {}.", name, r.sizes.type().text()),
                     "Give a vector of one for each group.");
  if (r.ragged < 0 || r.ragged >= static_cast<std::int64_t>(r.lhs.rank()))
    throw ShapeError(fmt::format("{}: the ragged axis {} of lhs, {}.", name, r.ragged, r.lhs.type().text()),
                     "It is an axis of lhs, counted from 0.");
  const bool inside = r.contracts() || r.of_batch();
  if (inside == r.group.has_value())
    throw ShapeError(fmt::format("{}: the ragged axis {} is {}, and rhs has {} axis of groups.", name, r.ragged,
                                 inside ? "contracted or of the batch" : "neither contracted nor of the batch",
                                 r.group ? "an" : "no"),
                     "rhs has one where the ragged axis is neither contracted nor of the batch.");
  if (r.group && (*r.group < 0 || *r.group >= static_cast<std::int64_t>(r.rhs.rank()) ||
                  holds(r.axes.contract_b, *r.group) || holds(r.axes.batch_b, *r.group)))
    throw ShapeError(fmt::format("{}: the axis {} of groups of rhs, {}.", name, *r.group, r.rhs.type().text()),
                     "It is an axis of rhs that is neither contracted nor of the batch, counted from 0.");
  std::vector<Dim> expected;
  for (const std::int64_t axis : r.before()) expected.push_back(at(r.lhs, axis));
  expected.push_back(r.group ? at(r.rhs, *r.group) : r.groups());
  const Shape all(expected), shape = r.sizes.shape();
  const Shape own = r.sizes.rank() == 1 ? Shape{all[all.rank() - 1]} : all;
  bool fits = shape.rank() == own.rank();
  for (std::size_t i = 0; fits && i < own.rank(); ++i) fits = decided_equal(shape[i], own[i]) != false;
  if (!fits)
    throw ShapeError(
        fmt::format("{}: group sizes {}, and not {}, of lhs {} and rhs {}.", name, shape.text(), own.text(),
                    r.lhs.type().text(), r.rhs.type().text()),
        "One for each group, with the axes of the batch, and of lhs before the ragged one, in front or not.");
}

// Where each group begins and ends among the rows.
struct Borders {
  Array begins, ends;
};
Borders borders_of(const Array& sizes) {
  const Array numbers = convert(sizes, DType::i64), ends = cumsum(numbers, -1);
  return {ends - numbers, ends};
}

// x with its axes at these places of `rank` axes, the others of size 1.
Array spread(const Array& x, const Numbers& places, std::size_t rank) {
  std::vector<Dim> shape(rank, Dim(1));
  for (std::size_t i = 0; i < places.size(); ++i) shape[static_cast<std::size_t>(places[i])] = x.shape()[i];
  return spread_in_dim(x, Shape(shape), places);
}

// All rows with all groups, which are an axis more, of the batch. What other groups have is replaced by 0, before a
// product and behind it, and not multiplied by 0: what is no number stays in its group, and so do its derivatives.
Array Ragged::by_all_groups() const {
  const Borders borders = borders_of(sizes);
  const Array begins = expand_dims(borders.begins, -1), ends = expand_dims(borders.ends, -1);
  const Array row = arange(rows(), DType::i64), member = (row >= begins) & (row < ends);  // [axes ahead…, groups, rows]
  const Numbers ahead = sizes.rank() > 1 ? before() : Numbers{};
  // x with the groups in front; axis_of says where an axis of lhs is in it.
  const auto masked = [&](const Array& x, std::size_t rank, const auto& axis_of) {
    Numbers places;
    for (const std::int64_t axis : ahead) places.push_back(axis_of(axis) + 1);
    places.insert(places.end(), {0, axis_of(ragged) + 1});
    return where(spread(member, places, rank), x, Array(Scalar::zero(x.dtype())));
  };
  DotAxes moved = axes;
  const auto to_behind_groups = [](Numbers& all) {
    for (std::int64_t& axis : all) ++axis;
  };
  to_behind_groups(moved.contract_a), to_behind_groups(moved.batch_a);
  moved.batch_a.insert(moved.batch_a.begin(), 0);
  const Array parts = masked(lhs, lhs.rank() + 1, std::identity());
  if (group) {
    moved.batch_b.insert(moved.batch_b.begin(), *group);
    const Array made = dot_general(parts, rhs, moved, preferred);
    const Numbers order = joined({axes.batch_a, free_axes(lhs.rank(), axes.contract_a, axes.batch_a)});
    const auto of_made = [&](std::int64_t axis) { return place_of(order, axis); };
    return convert(sum(masked(made, made.rank(), of_made), 0), made.dtype());
  }
  const auto of_rhs = [&](std::int64_t axis) {
    const bool batch = holds(axes.batch_a, axis);
    const Numbers &from = batch ? axes.batch_a : axes.contract_a, &to = batch ? axes.batch_b : axes.contract_b;
    return to[static_cast<std::size_t>(place_of(from, axis))];
  };
  to_behind_groups(moved.contract_b), to_behind_groups(moved.batch_b);
  moved.batch_b.insert(moved.batch_b.begin(), 0);
  return dot_general(parts, masked(rhs, rhs.rank() + 1, of_rhs), moved, preferred);
}

// The rows in blocks that lie in one group each; the last of a group may reach into the next one.
struct Blocks {
  Array group;                // of each block; behind the last one any
  Array first_row;            // of each block, so that all of its rows are there
  Array from, to;             // its rows of the group; none behind the last one
  Array begins, first_block;  // of each group
};
Blocks blocks_of(const Array& sizes, std::int64_t rows, std::int64_t block) {
  const Borders borders = borders_of(sizes);
  const Array begins = clamp(borders.begins, 0, rows), ends = clamp(borders.ends, begins, rows);
  const Array counts = (ends - begins + (block - 1)) / block, last = cumsum(counts), first = last - counts;
  const std::int64_t groups = sizes.size(0), most = rows / block + groups;
  const Array number = arange(most, DType::i64);
  const Array group = order::minimum(convert(searchsorted(last, number, Side::right), DType::i64), groups - 1);
  const Array from = take(begins, group) + (number - take(first, group)) * block;
  const Array to = where(number < take(last, group), order::minimum(take(ends, group), from + block), from);
  return {group, clamp(from, 0, rows - block), from, to, begins, first};
}

// A block of an array whose first axis are rows, the rows of other groups as 0.
Array block_of(const Array& x, std::int64_t block, const Array& first_row, const Array& from, const Array& to) {
  Arrays start(x.rank(), Array(std::int64_t(0)));
  start[0] = first_row;
  std::vector<Dim> sizes = x.shape().dims();
  sizes[0] = block;
  const Array rows = first_row + arange(block, DType::i64);
  std::vector<Dim> column(x.rank(), Dim(1));
  column[0] = block;
  const Array ours = reshape((rows >= from) & (rows < to), Shape(column));
  return where(ours, dynamic_slice(x, start, sizes), Array(Scalar::zero(x.dtype())));
}

Dim product_of(const Array& x, const Numbers& axes) {
  Dim all = 1;
  for (const std::int64_t axis : axes) all = all * x.shape()[static_cast<std::size_t>(axis)];
  return all;
}
void append_dims(std::vector<Dim>& to, const Array& x, const Numbers& axes) {
  for (const std::int64_t axis : axes) to.push_back(x.shape()[static_cast<std::size_t>(axis)]);
}

// Each block times the matrix of its group.
Array Ragged::rows_by_blocks(std::int64_t block) const {
  const std::int64_t m = rows().value();
  const Numbers own{ragged}, groups{*group};
  const Numbers beside = free_axes(lhs.rank(), axes.contract_a, own);
  const Numbers columns = free_axes(rhs.rank(), axes.contract_b, groups);
  const Dim k = product_of(lhs, axes.contract_a), rest = product_of(lhs, beside), n = product_of(rhs, columns);
  const Array x = reshape(transpose(lhs, joined({own, beside, axes.contract_a})), {m, rest, k});
  const Array matrices = reshape(transpose(rhs, joined({groups, axes.contract_b, columns})), {this->groups(), k, n});
  const Blocks blocks = blocks_of(sizes, m, block);
  const auto step = [&](const std::tuple<Array, Array, Array, Array>& of) {
    const auto& [group, first_row, from, to] = of;
    const Array part = reshape(block_of(x, block, first_row, from, to), {block * rest, k});
    return dot_general(part, row_at(matrices, group), {{1}, {0}, {}, {}}, preferred);
  };
  const Array made = map(step, std::tuple(blocks.group, blocks.first_row, blocks.from, blocks.to));
  // Each row out of the block that has it.
  const Array row = arange(m, DType::i64);
  const Array of_row =
      order::maximum(convert(searchsorted(blocks.begins, row, Side::right), DType::i64) - 1, Array(std::int64_t(0)));
  const Array number = order::minimum(take(blocks.first_block, of_row) + (row - take(blocks.begins, of_row)) / block,
                                      made.shape()[0].value() - 1);
  const Array there = (row >= take(blocks.from, number)) & (row < take(blocks.to, number));
  const Array place = number * block + (row - take(blocks.first_row, number));
  const Array rows = take(reshape(made, {made.shape()[0] * block, rest * n}), place);
  const Array filled = where(expand_dims(there, 1), rows, Array(Scalar::zero(rows.dtype())));
  std::vector<Dim> dims{m};
  append_dims(dims, lhs, beside);
  append_dims(dims, rhs, columns);
  const auto to = std::ranges::count_if(beside, [&](std::int64_t axis) { return axis < ragged; });
  return move_axis(reshape(filled, Shape(dims)), 0, to);
}

// The products of each block, summed by groups.
Array Ragged::sums_by_blocks(std::int64_t block) const {
  const std::int64_t m = rows().value();
  const auto at = std::ranges::find(axes.contract_a, ragged) - axes.contract_a.begin();
  const Numbers own{ragged}, other{axes.contract_b[static_cast<std::size_t>(at)]};
  Numbers rest_a = axes.contract_a, rest_b = axes.contract_b;
  rest_a.erase(rest_a.begin() + at), rest_b.erase(rest_b.begin() + at);
  const Numbers free_a = free_axes(lhs.rank(), axes.contract_a, {}),
                free_b = free_axes(rhs.rank(), axes.contract_b, {});
  const Dim rest = product_of(lhs, rest_a);
  const Array x = reshape(transpose(lhs, joined({own, rest_a, free_a})), {m, rest, product_of(lhs, free_a)});
  const Array y = reshape(transpose(rhs, joined({other, rest_b, free_b})), {m, rest, product_of(rhs, free_b)});
  const Blocks blocks = blocks_of(sizes, m, block);
  const auto step = [&](const Array& sums, const std::tuple<Array, Array, Array, Array>& of) {
    const auto& [group, first_row, from, to] = of;
    const Array part = dot_general(block_of(x, block, first_row, from, to), block_of(y, block, first_row, from, to),
                                   {{0, 1}, {0, 1}, {}, {}}, preferred);
    return std::pair(sums.at(group).add(part), std::tuple<>());
  };
  const DType dtype = dot_general(zeros({0}, x.dtype()), zeros({0}, y.dtype()), {{0}, {0}, {}, {}}, preferred).dtype();
  std::vector<Dim> dims{groups(), x.shape()[2], y.shape()[2]};
  const Array sums =
      scan(step, zeros(Shape(dims), dtype), std::tuple(blocks.group, blocks.first_row, blocks.from, blocks.to)).first;
  dims.resize(1);
  append_dims(dims, lhs, free_a);
  append_dims(dims, rhs, free_b);
  return reshape(sums, Shape(dims));
}

// Axes of lhs and as many of rhs that belong together.
void require_pairs(std::string_view name, const Ragged& r, const Numbers& a, const Numbers& b, const char* what) {
  const auto distinct = [](Numbers axes) {
    std::ranges::sort(axes);
    return std::ranges::adjacent_find(axes) == axes.end();
  };
  bool fits = a.size() == b.size() && distinct(a) && distinct(b);
  for (std::size_t i = 0; fits && i < a.size(); ++i)
    fits = decided_equal(r.lhs.shape()[static_cast<std::size_t>(a[i])],
                         r.rhs.shape()[static_cast<std::size_t>(b[i])]) != false;
  if (!fits)
    throw ShapeError(fmt::format("{}: axes ({}) of lhs {} and ({}) of rhs {} do not go together.", name,
                                 fmt::join(a, ", "), r.lhs.type().text(), fmt::join(b, ", "), r.rhs.type().text()),
                     fmt::format("Axes that are {} are as many of both, each once, and of equal sizes.", what));
}

// Rows of a block: 0 where all rows with all groups is as good.
std::int64_t block_for(const Ragged& r) {
  constexpr std::int64_t most = 128, least = 8;
  if (!r.rows().known() || !r.groups().known() || r.sizes.rank() > 1 || !r.axes.batch_a.empty()) return 0;
  const std::int64_t rows = r.rows().value(), groups = r.groups().value();
  if (groups < 2 || rows < 2 * least) return 0;
  const auto mean = static_cast<std::uint64_t>(std::max<std::int64_t>(rows / groups, 1));
  const std::int64_t block = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(mean)), least, most);
  return (rows / block + groups) * block < rows * groups && block <= rows ? block : 0;
}

Array product(std::string_view name, Ragged r) {
  const auto from_front = [&](Numbers& all, const Array& x) {
    for (std::int64_t& axis : all) axis = static_cast<std::int64_t>(normalize_axis(axis, x.type(), name));
  };
  from_front(r.axes.contract_a, r.lhs), from_front(r.axes.batch_a, r.lhs);
  from_front(r.axes.contract_b, r.rhs), from_front(r.axes.batch_b, r.rhs);
  require_fits(name, r);
  require_pairs(name, r, r.axes.contract_a, r.axes.contract_b, "contracted");
  require_pairs(name, r, r.axes.batch_a, r.axes.batch_b, "of the batch");
  if (r.of_batch()) return dot_general(r.lhs, r.rhs, r.axes, r.preferred);
  const std::int64_t block = block_for(r);
  if (block == 0) return r.by_all_groups();
  return r.contracts() ? r.sums_by_blocks(block) : r.rows_by_blocks(block);
}

}  // namespace

Array ragged_dot(const Operand& lhs, const Operand& rhs, const Operand& group_sizes, std::optional<DType> preferred) {
  constexpr std::string_view name = "ragged_dot";
  const SourceScope place(lhs.where(), name);
  if (lhs->rank() != 2 || rhs->rank() != 3)
    throw ShapeError(fmt::format("{}: of {} and {}.", name, lhs->type().text(), rhs->type().text()),
                     "lhs is [m, k], rhs [groups, k, n].");
  return product(name, {lhs, rhs, group_sizes, {{1}, {1}, {}, {}}, 0, 0, preferred});
}

Array ragged_dot_general(const Operand& lhs, const Operand& rhs, const Operand& group_sizes, const DotAxes& axes,
                         std::int64_t ragged, std::optional<std::int64_t> group, std::optional<DType> preferred) {
  constexpr std::string_view name = "ragged_dot_general";
  const SourceScope place(lhs.where(), name);
  return product(name, {lhs, rhs, group_sizes, axes, ragged, group, preferred});
}

}  // namespace tenon
