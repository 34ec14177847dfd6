#include "tenon/runtime/product.h"

#include <algorithm>
#include <cstring>

namespace {

using tenon::ProductShape;

// Columns of b that are packed together, and the depth of a packed block: b's block stays in the second-level cache.
constexpr std::int64_t block_n = 64, block_k = 256;

// One block of columns: a tile of Rows rows at a time, accumulated in registers. The compiler vectorises the inner loop
// for each of the processors named below; the right one is chosen when the library is loaded.
template <class T, int Rows>
[[gnu::always_inline]] inline void tile(std::int64_t k, const T* a, std::int64_t a_m, std::int64_t a_k, const T* packed,
                                        T* c, std::int64_t c_m, std::int64_t n, bool add) {
  T sums[Rows][block_n] = {};
  for (std::int64_t p = 0; p < k; ++p)
    for (int r = 0; r < Rows; ++r) {
      const T x = a[r * a_m + p * a_k];
      for (int j = 0; j < block_n; ++j) sums[r][j] += x * packed[p * block_n + j];
    }
  for (int r = 0; r < Rows; ++r)
    for (std::int64_t j = 0; j < n; ++j) c[r * c_m + j] = add ? c[r * c_m + j] + sums[r][j] : sums[r][j];
}

template <class T>
[[gnu::always_inline]] inline void blocked(const ProductShape& s, const T* a, const T* b, T* c) {
  alignas(64) T packed[block_k * block_n];
  for (std::int64_t j = 0; j < s.n; j += block_n) {
    const std::int64_t n = std::min(block_n, s.n - j);
    for (std::int64_t p = 0; p < s.k; p += block_k) {
      const std::int64_t k = std::min(block_k, s.k - p);
      for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t l = 0; l < n; ++l) packed[i * block_n + l] = b[(p + i) * s.b_k + (j + l) * s.b_n];
        for (std::int64_t l = n; l < block_n; ++l) packed[i * block_n + l] = T(0);
      }
      std::int64_t i = 0;
      const T* from = a + p * s.a_k;
      for (; i + 4 <= s.m; i += 4)
        tile<T, 4>(k, from + i * s.a_m, s.a_m, s.a_k, packed, c + i * s.c_m + j, s.c_m, n, p > 0);
      for (; i < s.m; ++i) tile<T, 1>(k, from + i * s.a_m, s.a_m, s.a_k, packed, c + i * s.c_m + j, s.c_m, n, p > 0);
    }
  }
}

#define TENON_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
TENON_CLONES void product_f32(const ProductShape& s, const float* a, const float* b, float* c) { blocked(s, a, b, c); }
TENON_CLONES void product_f64(const ProductShape& s, const double* a, const double* b, double* c) {
  blocked(s, a, b, c);
}

template <class T>
void product_of(const ProductShape& s, const T* a, const T* b, T* c) {
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const T *x = a + batch * s.a_batch, *y = b + batch * s.b_batch;
    T* to = c + batch * s.c_batch;
    if constexpr (std::is_same_v<T, float>)
      product_f32(s, x, y, to);
    else if constexpr (std::is_same_v<T, double>)
      product_f64(s, x, y, to);
    else
      blocked(s, x, y, to);
  }
}

}  // namespace

extern "C" void tenon_product(const ProductShape* shape, const void* a, const void* b, void* c) noexcept {
  tenon::dispatch(static_cast<tenon::DType>(shape->dtype), [&]<class T>(std::type_identity<T>) {
    if (shape->k == 0) {
      for (std::int64_t i = 0; i < shape->batch; ++i)
        for (std::int64_t j = 0; j < shape->m; ++j)
          std::memset(static_cast<char*>(c) + static_cast<std::size_t>(i * shape->c_batch + j * shape->c_m) * sizeof(T),
                      0, static_cast<std::size_t>(shape->n) * sizeof(T));
      return;
    }
    // Integers wrap around: they are multiplied as unsigned ones of at least 32 bits.
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) >= 4)
      product_of(*shape, static_cast<const std::make_unsigned_t<T>*>(a), static_cast<const std::make_unsigned_t<T>*>(b),
                 static_cast<std::make_unsigned_t<T>*>(c));
    else if constexpr (std::is_floating_point_v<T>)
      product_of(*shape, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c));
  });
}
