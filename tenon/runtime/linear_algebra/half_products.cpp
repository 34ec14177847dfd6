#include "tenon/runtime/linear_algebra/half_products.h"

#include <algorithm>
#include <type_traits>

#include "tenon/runtime/context.h"
#include "tenon/runtime/linear_algebra/half_rows.h"

namespace tenon {
namespace {

using Size = std::int64_t;

// A widened block, as its rows or its columns lie in memory.
struct WidenedBlock {
  Size row, column;
};
template <class T>
WidenedBlock widen_block(const T* from, Size row, Size column, Size rows, Size columns, float* to) {
  const bool by_columns = column != 1 && row == 1;
  if (by_columns) std::swap(row, column), std::swap(rows, columns);
  for (Size i = 0; i < rows; ++i) {
    const T* const line = from + i * row;
    float* const wide = to + i * columns;
    if constexpr (!std::is_same_v<T, float>)
      if (column == 1) {
        widen_row(line, wide, columns);
        continue;
      }
    for (Size j = 0; j < columns; ++j) wide[j] = static_cast<float>(line[j * column]);
  }
  return by_columns ? WidenedBlock{1, columns} : WidenedBlock{columns, 1};
}

template <class T>
void round_block(const float* from, T* to, Size row, Size column, Size rows, Size columns) {
  for (Size i = 0; i < rows; ++i, from += columns) {
    T* const line = to + i * row;
    if constexpr (!std::is_same_v<T, float>)
      if (column == 1) {
        round_row(from, line, columns);
        continue;
      }
    for (Size j = 0; j < columns; ++j) line[j * column] = T(from[j]);
  }
}

}  // namespace

// Blocks of 256 KiB as f32: with their like they stay in a second-level cache.
template <class Half, class Result>
HalfProduct<Half, Result>::HalfProduct(const ProductShape& shape) : p_(shape) {
  constexpr Size elements = Size(1) << 16, few = 64;
  const bool along_sum = (p_.m < few && p_.b_row == 1) || (p_.n < few && p_.a_column == 1);  // as memory has the larger
  kb_ = std::clamp<Size>(p_.k, 1, along_sum ? 1024 : 256);
  mb_ = std::min(p_.m, elements / kb_);
  nb_ = std::min(p_.n, elements / kb_);
  if (mb_ * nb_ > elements) mb_ = std::min<Size>(mb_, 256), nb_ = std::min(nb_, elements / mb_);
}

template <class Half, class Result>
bool HalfProduct<Half, Result>::operator()(const Half* a, const Half* b, Result* c,
                                           const std::atomic<std::uint32_t>& stop) const {
  auto* const wide = static_cast<float*>(product_scratch(
      sizeof(float) * static_cast<std::size_t>(mb_ * kb_ + kb_ * nb_ + mb_ * nb_), ScratchOf::blocks_of_blocks));
  if (wide == nullptr) return false;
  float *const left = wide, *const right = wide + mb_ * kb_, *const sums = right + kb_ * nb_;
  for (Size i = 0; i < p_.m; i += mb_)
    for (Size j = 0; j < p_.n; j += nb_) {
      const Size m = std::min(mb_, p_.m - i), n = std::min(nb_, p_.n - j);
      Result* const to = c + i * p_.c_row + j * p_.c_column;
      if (p_.accumulate)
        for (Size r = 0; r < m; ++r)
          for (Size s = 0; s < n; ++s) sums[r * n + s] = static_cast<float>(to[r * p_.c_row + s * p_.c_column]);
      else
        std::fill_n(sums, m * n, 0.f);
      for (Size l = 0; l < p_.k; l += kb_) {
        if (stop.load(std::memory_order_relaxed) == Context::stopped) return true;
        const Size k = std::min(kb_, p_.k - l);
        const WidenedBlock x = widen_block(a + i * p_.a_row + l * p_.a_column, p_.a_row, p_.a_column, m, k, left),
                           y = widen_block(b + l * p_.b_row + j * p_.b_column, p_.b_row, p_.b_column, k, n, right);
        const BlockedProduct<float> product({m, n, k, x.row, x.column, y.row, y.column, n, 1, true});
        if (!product.run(left, right, sums, stop)) return false;
      }
      round_block(sums, to, p_.c_row, p_.c_column, m, n);
    }
  return true;
}

template class HalfProduct<Float16, Float16>;
template class HalfProduct<Float16, float>;
template class HalfProduct<BFloat16, BFloat16>;
template class HalfProduct<BFloat16, float>;

}  // namespace tenon
