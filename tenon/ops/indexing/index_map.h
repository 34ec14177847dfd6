// Ops of one operand whose every result element is one element of the operand: a map of indices, written once for
// numbers (the reference evaluation) and for expressions (the compiler).
#pragma once

#include "tenon/base/function_ref.h"
#include "tenon/ops/families.h"

namespace tenon {

// Index is std::int64_t or kernel::Expr. A rule gets the params, the operand's and the result's sizes, and the result's
// index.
struct IndexMap {
  std::function<std::vector<std::int64_t>(const Params&, std::span<const Dim> in, std::span<const Dim> out,
                                          std::span<const std::int64_t> index)>
      numbers;
  std::function<std::vector<kernel::Expr>(const Params&, std::span<const Dim> in, std::span<const Dim> out,
                                          std::span<const kernel::Expr> index)>
      exprs;
};
// A size among indices.
template <class Index>
Index index_of(std::int64_t size) {
  return Index(size);
}
template <class Index>
Index index_of(const Dim& size) {
  if constexpr (std::is_same_v<Index, std::int64_t>)
    return size.value();
  else
    return kernel::size(size);
}

// From a generic lambda (params, in, out, index) -> std::vector<Index>.
template <class F>
IndexMap index_map(F f) {
  return {f, f};
}

// The operand of such an op; VerifyError or DTypeError where it is not one array.
const Type& one_array(std::string_view op, std::span<const Type> in);

EvalRule eval_index_map(IndexMap map);
// Of a map that goes through the operand in even steps along each axis of the result: as a copy of a strided view.
EvalRule eval_strided_map(IndexMap map);
LowerRule lower_index_map(IndexMap map);

// A linear op of one operand: the tangent goes through the same op.
JvpRule jvp_by_itself(const OpInfo& op);

// Row-major walk over all indices of these sizes.
void for_each_index(std::span<const std::int64_t> sizes, FunctionRef<void(std::span<const std::int64_t>)> f);

// Offset in elements of an index into a row-major array of these sizes.
template <class Index, class Size>
Index row_major(std::span<const Size> sizes, std::span<const Index> index) {
  Index offset(std::int64_t(0));
  for (std::size_t i = 0; i < sizes.size(); ++i) offset = offset * index_of<Index>(sizes[i]) + index[i];
  return offset;
}
template <class Index, class Size>
Index row_major(const std::vector<Size>& sizes, std::span<const Index> index) {
  return row_major<Index>(std::span<const Size>(sizes), index);
}
// Of an offset within. The first axis longer than 1 takes what the axes behind it leave: nothing is divided for it.
template <class Index>
std::vector<Index> from_row_major(std::span<const Dim> sizes, Index offset) {
  std::vector<Index> index(sizes.size(), Index(std::int64_t(0)));
  std::size_t first = 0;
  while (first + 1 < sizes.size() && sizes[first] == Dim(1)) ++first;
  for (std::size_t i = sizes.size(); i-- > first;) {
    if (i == first) {
      index[i] = offset;
    } else {
      const Index size = index_of<Index>(sizes[i] == Dim(0) ? Dim(1) : sizes[i]);
      index[i] = offset % size;
      offset = offset / size;
    }
  }
  return index;
}

}  // namespace tenon
