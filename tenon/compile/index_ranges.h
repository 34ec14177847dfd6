// Ranges of indices: what the extents of loops say about expressions of integers, and what that folds.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/kernel/affine.h"

namespace tenon {

struct IndexRange {
  std::int64_t low, high;  // both included
};
using IndexRanges = std::map<std::uint32_t, IndexRange>;  // of loop variables

kernel::Expr truth(bool value);
std::optional<bool> truth_of(const kernel::Expr& e);

// Whether indices of these {stride, size} lead to places apart from each other, also where `reach` is added to a place
// for another reason.
bool lead_apart(std::vector<std::pair<std::int64_t, std::int64_t>> strides, std::int64_t reach = 0);

// Rewrites expressions: comparisons, extrema, quotients and remainders that the ranges decide are decided, and integers
// of other widths become indices where they hold what the index holds. Linear in the nodes; `ranges` are to stay as
// they are while it is used.
class FoldIndices : public kernel::Rewrite {
 public:
  explicit FoldIndices(const IndexRanges& ranges) : ranges_(ranges) {}
  std::optional<IndexRange> range(const kernel::Expr& e);  // of an i64 expression

 protected:
  kernel::Expr finish(const kernel::Expr& e) override;

 private:
  std::optional<IndexRange> range_of(const kernel::Expr& e);
  kernel::Expr index(const kernel::Expr& e);
  kernel::Expr index_of(const kernel::Expr& e);
  kernel::Expr binary(const kernel::Expr& e);
  std::optional<kernel::Expr> divided(kernel::Binary op, const kernel::Expr& x, const kernel::Expr& y);

  const IndexRanges& ranges_;
  // Expressions are kept alive: they are the keys.
  std::unordered_map<const void*, std::pair<kernel::Expr, std::optional<IndexRange>>> known_;
  std::unordered_map<const void*, std::pair<kernel::Expr, kernel::Expr>> indices_;
};

}  // namespace tenon
