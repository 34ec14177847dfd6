// Products of f16 and bf16 by those of f32, a block at a time: only blocks are widened.
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/base/dtype.h"
#include "tenon/runtime/linear_algebra/product_blocks.h"

namespace tenon {

// One product, whose sums are taken in f32 and rounded once where `Result` is a half too.
template <class Half, class Result>
class HalfProduct {
 public:
  explicit HalfProduct(const ProductShape& shape);  // m and n are at least 1

  // False where memory is lacking. Once `stop` is Context::stopped it returns soon, with c unspecified.
  bool operator()(const Half* a, const Half* b, Result* c, const std::atomic<std::uint32_t>& stop) const;

 private:
  ProductShape p_;
  std::int64_t mb_, nb_, kb_;  // the most that a block has
};

extern template class HalfProduct<Float16, Float16>;
extern template class HalfProduct<Float16, float>;
extern template class HalfProduct<BFloat16, BFloat16>;
extern template class HalfProduct<BFloat16, float>;

}  // namespace tenon
