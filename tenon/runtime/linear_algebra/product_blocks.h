// One matrix product of f32 or f64 elements, cut into blocks for the kernels of product_kernels.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenon/runtime/linear_algebra/product_kernels.h"

namespace tenon {

// c (+)= a b, with strides in elements, which may have any value.
struct ProductShape {
  std::int64_t m, n, k;
  std::int64_t a_row, a_column, b_row, b_column, c_row, c_column;
  bool accumulate;
};

// How a product is done, worked out once and then applied to many operands.
template <class T>
class BlockedProduct {
 public:
  explicit BlockedProduct(const ProductShape& shape);  // m, n and k are at least 1

  // False where memory is lacking. Once `stop` is Context::stopped it returns soon, with c unspecified.
  bool run(const T* a, const T* b, T* c, const std::atomic<std::uint32_t>& stop) const;

 private:
  struct Scratch {
    T *a, *b;
    const std::atomic<std::uint32_t>& stop;
  };
  void blocks(std::int64_t m, std::int64_t n, const T* a, const T* b, T* c, std::int64_t c_distance, bool accumulate,
              const Scratch& scratch) const;

  ProductShape p_;          // turned so that vectors run along the columns of c
  bool exchanged_ = false;  // a and b have changed places
  bool inner_ = false;      // sums along contiguous rows of a and columns of b, without a kernel
  bool stage_c_ = false;    // c has neither rows nor columns that are contiguous
  bool pack_a_ = false, pack_b_ = false;
  std::int64_t mb_, nb_, kb_;      // the most that a block has
  ProductKernel whole_ = nullptr;  // where one call does all
};

extern template class BlockedProduct<float>;
extern template class BlockedProduct<double>;

// c (+)= a b where rows of a and columns of b are contiguous: for so few rows or columns that vectors along them would
// be mostly empty.
template <class T>
void inner_products(const ProductShape& shape, const T* a, const T* b, T* c);
extern template void inner_products<float>(const ProductShape&, const float*, const float*, float*);
extern template void inner_products<double>(const ProductShape&, const double*, const double*, double*);

// Memory of this thread, 64-byte aligned, kept for its next product; null where it is lacking. A product that is made
// of blocks, each a product, has the second.
enum class ScratchOf : std::uint8_t { blocks, blocks_of_blocks };
void* product_scratch(std::size_t bytes, ScratchOf of = ScratchOf::blocks);

}  // namespace tenon
