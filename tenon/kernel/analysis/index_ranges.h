// Ranges of indices: what the extents of loops say about expressions of integers, and what that folds.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/kernel/analysis/affine.h"

namespace tenon::kernel {

using IndexRanges = std::map<std::uint32_t, IndexRange>;            // of loop variables
inline IndexRange below(const Dim& size) { return {0, size - 1}; }  // of a variable of a loop

Expr truth(bool value);
std::optional<bool> truth_of(const Expr& e);

// Whether indices of these {stride, size} lead to places apart from each other, also where `reach` is added to a place
// for another reason.
bool lead_apart(std::vector<std::pair<std::int64_t, std::int64_t>> strides, std::int64_t reach = 0);

// Rewrites expressions: comparisons, extrema, quotients and remainders that the ranges decide are decided, and integers
// of other widths become indices where they hold what the index holds. Linear in the nodes; `ranges` are to stay as
// they are while it is used. `most`: no size that varies from call to call is more than that.
class FoldIndices : public Rewrite {
 public:
  explicit FoldIndices(const IndexRanges& ranges, std::optional<std::int64_t> most = {})
      : ranges_(ranges), most_(most) {}
  std::optional<IndexRange> range(const Expr& e);  // of an i64 expression

 protected:
  Expr finish(const Expr& e) override;

 private:
  std::optional<IndexRange> range_of(const Expr& e);
  Expr index(const Expr& e);
  Expr index_of(const Expr& e);
  Expr binary(const Expr& e);
  std::optional<Expr> divided(Binary op, const Expr& x, const Expr& y);

  bool is_held(const Dim& left) const;

  const IndexRanges& ranges_;
  const std::optional<std::int64_t> most_;
  // Expressions are kept alive: they are the keys.
  std::unordered_map<const void*, std::pair<Expr, std::optional<IndexRange>>> known_;
  std::unordered_map<const void*, std::pair<Expr, Expr>> indices_;
};

}  // namespace tenon::kernel
