// Products with few rows or columns as inner products: vectors of partial sums along k, added up at the end.
#include <utility>

#include "tenon/runtime/linear_algebra/product_blocks.h"

namespace tenon {
namespace {

using Size = std::int64_t;
#define TENON_INLINE __attribute__((always_inline)) inline

template <class T, int Bytes>
struct Vector {
  typedef T V __attribute__((vector_size(Bytes)));
  typedef T InMemory __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
  static constexpr Size lanes = Bytes / static_cast<int>(sizeof(T));
};

// Halves are added until one element is left.
template <class T, int Bytes, std::size_t... I>
TENON_INLINE T total_of(const typename Vector<T, Bytes>::V& v, std::index_sequence<I...>) {
  constexpr std::size_t half = sizeof...(I);
  if constexpr (half == 1)
    return v[0] + v[1];
  else
    return total_of<T, Bytes / 2>(__builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (I + half)...),
                                  std::make_index_sequence<half / 2>());
}

// R rows of a by N columns of b; what is left of k is added one by one.
template <class T, int Bytes, int R, int N>
TENON_INLINE void sums(const ProductShape& p, const T* a, const T* b, T* c) {
  using Lanes = Vector<T, Bytes>;
  using V = typename Lanes::V;
  V sum[R][N] = {};
  Size l = 0;
  for (; l + Lanes::lanes <= p.k; l += Lanes::lanes) {
    V left[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) left[r] = *reinterpret_cast<const typename Lanes::InMemory*>(a + r * p.a_row + l);
#pragma GCC unroll 8
    for (int s = 0; s < N; ++s) {
      const V right = *reinterpret_cast<const typename Lanes::InMemory*>(b + s * p.b_column + l);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum[r][s] += left[r] * right;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int s = 0; s < N; ++s) {
      T total = total_of<T, Bytes>(sum[r][s], std::make_index_sequence<Lanes::lanes / 2>());
      for (Size i = l; i < p.k; ++i) total += a[r * p.a_row + i] * b[s * p.b_column + i];
      T& to = c[r * p.c_row + s * p.c_column];
      to = p.accumulate ? to + total : total;
    }
}

template <class T, int Bytes, int R>
TENON_INLINE void rows(const ProductShape& p, const T* a, const T* b, T* c) {
  Size j = 0;
  for (; j + 4 <= p.n; j += 4) sums<T, Bytes, R, 4>(p, a, b + j * p.b_column, c + j * p.c_column);
  for (; j < p.n; ++j) sums<T, Bytes, R, 1>(p, a, b + j * p.b_column, c + j * p.c_column);
}

// Sums stay in registers: 16 of 32 with AVX-512, 8 of 16 otherwise.
template <class T, int Bytes>
TENON_INLINE void all(const ProductShape& p, const T* a, const T* b, T* c) {
  Size i = 0;
  if constexpr (Bytes == 64)
    for (; i + 4 <= p.m; i += 4) rows<T, Bytes, 4>(p, a + i * p.a_row, b, c + i * p.c_row);
  for (; i + 2 <= p.m; i += 2) rows<T, Bytes, 2>(p, a + i * p.a_row, b, c + i * p.c_row);
  for (; i < p.m; ++i) rows<T, Bytes, 1>(p, a + i * p.a_row, b, c + i * p.c_row);
}

template <class T>
__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512"))) void with_avx512(
    const ProductShape& p, const T* a, const T* b, T* c) {
  all<T, 64>(p, a, b, c);
}
template <class T>
__attribute__((target("avx2,fma"))) void with_avx2(const ProductShape& p, const T* a, const T* b, T* c) {
  all<T, 32>(p, a, b, c);
}

}  // namespace

template <class T>
void inner_products(const ProductShape& p, const T* a, const T* b, T* c) {
  switch (vector_unit()) {
    case VectorUnit::avx512:
      return with_avx512(p, a, b, c);
    case VectorUnit::avx2:
      return with_avx2(p, a, b, c);
    default:
      return all<T, 16>(p, a, b, c);
  }
}
template void inner_products<float>(const ProductShape&, const float*, const float*, float*);
template void inner_products<double>(const ProductShape&, const double*, const double*, double*);

}  // namespace tenon
