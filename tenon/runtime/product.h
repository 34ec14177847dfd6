// Matrix products for generated code: strided, batched, of every dtype that compiles.
#pragma once

#include <cstdint>

#include "tenon/base/dtype.h"

namespace tenon {

// c[batch, m, n] = Σ_k a[batch, m, k]·b[batch, k, n]; strides in elements, c row-major.
struct ProductShape {
  std::int64_t dtype;  // a DType
  std::int64_t batch, m, n, k;
  std::int64_t a_batch, a_m, a_k, b_batch, b_k, b_n, c_batch, c_m;
};

}  // namespace tenon

// Called by generated code: reads, writes, and never throws.
extern "C" void tenon_product(const tenon::ProductShape* shape, const void* a, const void* b, void* c) noexcept;
