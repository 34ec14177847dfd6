// What products.cpp asks of the kernels that are compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

// c (+)= a b with strides in elements; c's columns are adjacent unless the product is one of inner products.
template <class T>
struct Product {
  std::int64_t m, n, k;
  const T* a;
  std::int64_t a_row, a_column;
  const T* b;
  std::int64_t b_row, b_column;
  T* c;
  std::int64_t c_row, c_column;
  bool accumulate;
};

struct ProductKernels {
  // By outer products: c_column == 1. False where memory is lacking.
  bool (*f32)(const Product<float>&);
  bool (*f64)(const Product<double>&);
  // By inner products: a_column == 1 and b_row == 1; for few rows or columns.
  void (*inner_f32)(const Product<float>&);
  void (*inner_f64)(const Product<double>&);
  void (*f16_to_f32)(const std::uint16_t* from, float* to, std::int64_t count);
  void (*f32_to_f16)(const float* from, std::uint16_t* to, std::int64_t count);
  void (*bf16_to_f32)(const std::uint16_t* from, float* to, std::int64_t count);
  void (*f32_to_bf16)(const float* from, std::uint16_t* to, std::int64_t count);
};

const ProductKernels& avx2_product_kernels();
const ProductKernels& avx512_product_kernels();

// Memory of this thread, 64-byte aligned, kept for its next product; null where it is lacking.
void* product_scratch(std::size_t bytes);

}  // namespace tenon
