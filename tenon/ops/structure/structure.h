// What the planner and the rewrites ask of the ops that they know by structure: the layout of products and scatters,
// the axes of broadcasts, transposes and reductions.
#pragma once

#include <optional>

#include "tenon/ir/op.h"
#include "tenon/kernel/function.h"
#include "tenon/ops/indexing/gather.h"

namespace tenon {

// The op of two operands that does what a reduction of that kind does.
const OpInfo& combining_op(kernel::Combine combine);
// What an eqn may update where it is, if nothing reads it later: which of its operands.
bool may_overwrite(const Eqn& eqn, std::size_t operand);

const OpInfo& div_op();
// x with a·x = b, of a batch of matrices: a, b.
const OpInfo& solve_op();

// x without its derivative.
const OpInfo& stop_gradient_op();

// Changes the dtype of each element.
const OpInfo& convert_op();
// What of a loop with checkpoints is linear; reverse mode runs the rest again.
const OpInfo& loop_again_op();
// How many elements of a mask are true, as a size that is known when it runs.
Dim size_of_chosen(const Array& mask);

// The axes of a product's operand that are neither contracted nor of the batch, ascending.
std::vector<std::int64_t> free_axes(std::size_t rank, const std::vector<std::int64_t>& contract,
                                    const std::vector<std::int64_t>& batch);
// A product as batch, free and summed axes. Indices of the result are: batch, free of a, free of b.
struct ProductForm {
  std::vector<std::int64_t> contract_a, contract_b, batch_a, batch_b, free_a, free_b;
  std::vector<Dim> sum_sizes;

  template <class Index>
  std::vector<Index> index_a(std::span<const Index> out, std::span<const Index> sum) const {
    return index<Index>(batch_a, free_a, contract_a, out, 0, sum);
  }
  template <class Index>
  std::vector<Index> index_b(std::span<const Index> out, std::span<const Index> sum) const {
    return index<Index>(batch_b, free_b, contract_b, out, free_a.size(), sum);
  }
  // So many, of sizes that vary an estimate.
  double multiplications(const Type& result) const;
  // As one strided batch of matrix products, where the axes of each group lie behind each other in memory.
  std::optional<kernel::Product> strides(std::span<const Dim> a, std::span<const Dim> b) const;

 private:
  template <class Index>
  static std::vector<Index> index(const std::vector<std::int64_t>& batch, const std::vector<std::int64_t>& free,
                                  const std::vector<std::int64_t>& contract, std::span<const Index> out,
                                  std::size_t skip, std::span<const Index> sum) {
    std::vector<Index> result(batch.size() + free.size() + contract.size(), Index(std::int64_t(0)));
    for (std::size_t i = 0; i < batch.size(); ++i) result[static_cast<std::size_t>(batch[i])] = out[i];
    for (std::size_t i = 0; i < free.size(); ++i)
      result[static_cast<std::size_t>(free[i])] = out[batch.size() + skip + i];
    for (std::size_t i = 0; i < contract.size(); ++i) result[static_cast<std::size_t>(contract[i])] = sum[i];
    return result;
  }
};
ProductForm product_form(const Params& params, const Type& a, const Type& b);
bool is_product(const OpInfo& op);

// A scatter as stores: for every index of the updates, in row-major order, one element of x is written.
struct ScatterForm {
  std::optional<kernel::Binary> combine;  // the old element with the update; absent: the update alone
  struct Target {
    std::vector<kernel::Expr> index;  // of the element of x; inside of it wherever it has elements
    kernel::Expr inside;              // whether it is written; empty: always
    std::vector<Dim> limits;          // not to be negative wherever the code runs, where that is not known here
  };
  using LoadIndex = std::function<kernel::Expr(std::span<const kernel::Expr> index)>;
  std::function<Target(std::span<const kernel::Expr> update, const LoadIndex& load)> target;
};
// Updates: what the planner knows as update_slice or scatter. Their operands are an array, and then:
//   scatter: indices, updates      update_slice: updates, starts…
bool is_scatter(const OpInfo& op);
bool is_update(const OpInfo& op);
// An update that writes what is there where `running`, bool[], is false.
Array guarded_update_slice(const Params& params, Arrays operands, const Array& running);
Array guarded_scatter(const Params& params, Arrays operands, const Array& running);
Array guarded_update(const OpInfo& op, const Params& params, Arrays operands, const Array& running);  // either
// What stands in x where an update writes, in the shape of its updates; and x with such rows there instead. Updates
// that meet have equal rows, so that what was read after or before all of them can be written back in any order.
Array rows_of_scatter(const Params& params, const Array& x, const Array& indices, const Shape& updates);
Array with_rows_of_scatter(const Params& params, const Array& x, const Array& indices, const Array& rows);

// Of a scatter to whole rows of x, of one axis: what these become, as a function of the rows that are there, one for
// each index along that axis in the indices' order. Nothing of other scatters.
std::optional<std::function<Array(const Array& rows)>> rows_updated(const Params& params, const Array& x,
                                                                    const Array& indices, const Array& updates);
const OpInfo& scatter_op();
// Of a scatter that adds single elements, or a gather that reads them: where these lie along each axis of x. They go in
// step with an axis of the updates or results, or are a number of each index vector.
struct ElementPoints {
  struct Along {
    std::optional<std::size_t> axis, number;
  };
  std::vector<Along> along;
  IndexMode mode = IndexMode::promise_in_bounds;
  std::optional<Scalar> fill = {};  // of a gather, where the mode is fill
};
std::optional<ElementPoints> elements_added(const Params& params, const Type& x, const Type& indices);
std::optional<ElementPoints> elements_read(const Params& params, const Type& x, const Type& indices);
// Of a scatter that adds whole rows of x, or a gather that reads them: each index vector names one place along an axis
// of x. The places along the others go in step with axes of the indices, or a row has all of them.
struct RowPoints {
  struct Along {
    std::size_t axis;                       // of the updates or results
    std::optional<std::size_t> of_indices;  // the axis that goes in step
  };
  std::size_t axis, number;                  // of x; which number of a vector names a place along it
  std::vector<std::optional<Along>> others;  // of each axis of x but that
  IndexMode mode;
  std::optional<Scalar> fill = {};  // of a gather, where the mode is fill
};
std::optional<RowPoints> row_points_added(const Params& params, const Type& x, const Type& indices,
                                          const Type& updates);
std::optional<RowPoints> row_points_read(const Params& params, const Type& x, const Type& indices);

// The axes of a gather or a scatter; and the same one of other axes, whose index vectors name the same places.
IndexAxes axes_of_gather(const Params& params);
Array gather_along(const Params& params, const Array& x, const Array& indices, const IndexAxes& axes);
IndexAxes axes_of_scatter(const Params& params);
ScatterKind kind_of_scatter(const Params& params);
Array scatter_along(const Params& params, const Array& x, const Array& indices, const Array& updates,
                    const IndexAxes& axes);

// An update that overwrites whole rows of x, of some axis, with others: `count` rows from the one whose number is the
// single element of operand `number`, moved inside or left out where they reach out. Operand `rows` holds their
// elements in the order of x's axes. Nothing of updates that combine, or that write elsewhere.
struct RowsSet {
  std::size_t axis, number, rows;
  Dim count;
};
std::optional<RowsSet> rows_set(const Eqn& eqn, const Program& program);
// The same of an update that combines rows with what is there: what that becomes.
struct RowsCombined {
  RowsSet rows;
  std::function<Array(const Array& there, const Array& rows)> combined;
};
std::optional<RowsCombined> rows_combined(const Eqn& eqn, const Program& program);
std::optional<RowsSet> rows_set_by_scatter(const Params& params, const Type& x, const Type& indices,
                                           const Type& updates);
std::optional<RowsCombined> rows_combined_by_scatter(const Params& params, const Type& x, const Type& indices,
                                                     const Type& updates);
std::optional<RowsSet> rows_set_by_update_slice(const Type& x, const Type& updates);
// A dynamic_slice that takes whole rows of x, of some axis, in the same form.
struct RowsTaken {
  std::size_t axis, number;
  Dim count;
};
std::optional<RowsTaken> rows_taken(const Eqn& eqn, const Program& program);

// Axes of a gather that go in step: one of the array, one of the indices, and one of the result.
struct GatherBatch {
  std::int64_t array, indices, result;
};
// Those with that axis of the array, if its slices go along it one by one.
std::optional<GatherBatch> gather_batch(const Params& params, std::int64_t array_axis, std::size_t result_rank);
// What a gather gives of one element of these axes, of operands without them.
Array gather_of_batch(const Params& params, const GatherBatch& batch, const Array& x, const Array& indices);

// A read that takes whole rows of x, along its first axis: which rows, i64[n], and what they become of [n, a row's
// axes…]. Rows that a read with a fill value finds outside are numbered as many as there are. Nothing of other reads.
struct RowsRead {
  Array rows;
  Type type;  // [n, a row's axes…]
  std::function<Array(const Array& rows)> result;
};
std::optional<RowsRead> rows_read(const OpInfo& op, const Params& params, const Type& x,
                                  std::span<const Array> indices);
std::optional<RowsRead> rows_of_slice(const Params& params, const Type& x);
std::optional<RowsRead> rows_of_dynamic_slice(const Params& params, const Type& x, std::span<const Array> starts);
const OpInfo& gather_op();
const OpInfo& slice_op();
const OpInfo& reverse_op();
std::vector<std::int64_t> reversed_axes(const Params& params);
struct SliceForm {
  std::vector<Dim> start;
  std::vector<std::int64_t> stride;
};
SliceForm slice_form(const Params& params);
std::optional<std::int64_t> concatenated_axis(const Eqn& eqn);  // of a concatenate
std::optional<std::int64_t> counted_axis(const Eqn& eqn);       // of an iota
// Widths before, behind and between the elements of each axis.
struct PadForm {
  std::vector<std::int64_t> low, high, interior;
};
const OpInfo& pad_op();
PadForm pad_form(const Params& params);
const OpInfo& dynamic_slice_op();

ScatterForm scatter_form(const Params& params, const Type& x, const Type& indices, const Type& updates);

// Axis i of the operand is axis dims[i] of the result.
struct BroadcastForm {
  Shape shape;
  std::vector<std::int64_t> dims;
};
const OpInfo& broadcast_op();
BroadcastForm broadcast_form(const Params& params);

// Axis i of the result is axis permutation[i] of the operand.
const OpInfo& transpose_op();
std::vector<std::int64_t> permutation_of(const Params& params);
// What stands for each axis of an operand, in the order of the result's axes. Of a permutation: both, one after the
// other.
template <class T>
std::vector<T> permuted(const std::vector<T>& of, const std::vector<std::int64_t>& permutation) {
  std::vector<T> result;
  for (const std::int64_t axis : permutation) result.push_back(of[static_cast<std::size_t>(axis)]);
  return result;
}
// Where an axis stands among others; no_axis where it does not.
inline constexpr std::int64_t no_axis = -1;
std::int64_t place_of(std::span<const std::int64_t> axes, std::int64_t axis);
std::vector<std::int64_t> inverse_permutation(std::span<const std::int64_t> permutation);
// Where numbers that differ stand in ascending order: the smallest first.
std::vector<std::int64_t> ascending(std::span<const std::int64_t> numbers);
// broadcast_in_dim, of a transpose where the axes are not in order.
Array spread_in_dim(const Array& x, const Shape& shape, std::vector<std::int64_t> dims);
// What an axis becomes where others are reduced, which are in order.
std::int64_t axis_left(const std::vector<std::int64_t>& reduced, std::int64_t axis);
const OpInfo& reshape_op();
Eqn reshape_eqn(const Shape& shape, Var from, Var to);

// Elements start, start + stride, … of x, as many along each axis as the shape says; they lie inside.
Array slice_of_shape(const Array& x, std::vector<Dim> start, const Shape& shape, std::vector<std::int64_t> stride);

// Of list_spread: the new axis of every array, and its size.
struct SpreadForm {
  std::int64_t axis, size;
};
SpreadForm spread_form(const Params& params);
std::int64_t collapse_axis(const Params& params);  // of list_collapse

// How many lists deep a type is; 0: an array.
std::int64_t depth_of(const Type& type);

// Of every op that lowers as a LowerReduction: the params that reduce over these axes, ascending.
Params reduction_params(std::vector<std::int64_t> axes);

}  // namespace tenon
