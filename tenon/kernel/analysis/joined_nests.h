// Nests as one with what is behind them: what the one stores and the other reads is the value itself.
#pragma once

#include <optional>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Rewrites reads of what a nest stores, at the index at which it stores it, as the values that it stores.
class ReadStored : public Rewrite {
 public:
  explicit ReadStored(const Nest& nest) : nest_(nest) {}
  bool elsewhere = false;  // whether other places of what the nest stores are read

 protected:
  Expr load(const Expr& old, const Expr& offset) override;

 private:
  const Nest& nest_;
};

// The indices of some axes as those of one, in their order.
Expr row_major(const std::vector<std::uint32_t>& vars, const Sizes& sizes);

// Two nests as one, where they go through the same indices, each reads of what the other writes its own place alone,
// and they write different arrays. Neither has conditions.
std::optional<Nest> one_behind_other(const Nest& x, const Nest& y);

// Whether what lies so far behind an offset of a nest, or before it, is beyond all that its indices reach from there.
bool leads_beyond(const Nest& nest, const Affine& offset, const Dim& distance);

}  // namespace tenon::kernel
