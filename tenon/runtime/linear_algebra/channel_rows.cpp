// Sums of four vectors of channels stay in registers, whatever is added to them.
#include "tenon/runtime/linear_algebra/channel_rows.h"

#include "tenon/runtime/linear_algebra/product_kernels.h"
#include "tenon/runtime/vector_targets.h"

namespace tenon {
namespace {

using Length = std::int64_t;

template <class T, int Bytes>
struct ChannelVectors {
  typedef T V __attribute__((vector_size(Bytes)));
  typedef T InMemory __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
  static constexpr Length lanes = Bytes / static_cast<Length>(sizeof(T));
};
// An element alone.
template <class T>
struct ChannelVectors<T, 0> {
  using V = T;
  using InMemory = T;
  static constexpr Length lanes = 1;
};

// N vectors from element i on.
template <class T, int Bytes, int N>
TENON_VECTOR_INLINE void sum_channels(const ChannelRow& row, Length p, Length i, const T* from, const T* weights,
                                      T* made) {
  using Lanes = ChannelVectors<T, Bytes>;
  using InMemory = typename Lanes::InMemory;
  typename Lanes::V sum[N] = {};
  const ChannelTap *const first = row.inner + row.begins[p], *const end = row.inner + row.begins[p + 1];
  for (Length o = 0; o < row.outers; ++o) {
    const T *const rows = from + row.outer[o].from + i, *const of_window = weights + row.outer[o].weights + i;
    for (const ChannelTap* tap = first; tap != end; ++tap) {
      const T *a = rows + tap->from, *b = of_window + tap->weights;
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n)
        sum[n] += *reinterpret_cast<const InMemory*>(a + n * Lanes::lanes) *
                  *reinterpret_cast<const InMemory*>(b + n * Lanes::lanes);
    }
  }
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n) *reinterpret_cast<InMemory*>(made + i + n * Lanes::lanes) = sum[n];
}

template <class T, int Bytes>
TENON_VECTOR_INLINE void sum_row(const ChannelRow& row, const T* from, const T* weights, T* made) {
  constexpr Length lanes = ChannelVectors<T, Bytes>::lanes;
  for (Length p = 0; p < row.places; ++p, made += row.width) {
    Length i = 0;
    for (; i + 4 * lanes <= row.width; i += 4 * lanes) sum_channels<T, Bytes, 4>(row, p, i, from, weights, made);
    for (; i + lanes <= row.width; i += lanes) sum_channels<T, Bytes, 1>(row, p, i, from, weights, made);
    for (; i < row.width; ++i) sum_channels<T, 0, 1>(row, p, i, from, weights, made);
  }
}

template <class T, int Bytes, int N>
TENON_VECTOR_INLINE void multiply_channels(Length places, Length width, Length x_place, const T* x, const T* y,
                                           T* made) {
  using Lanes = ChannelVectors<T, Bytes>;
  using InMemory = typename Lanes::InMemory;
  typename Lanes::V sum[N] = {};
  for (Length p = 0; p < places; ++p, x += x_place, y += width)
#pragma GCC unroll 8
    for (int n = 0; n < N; ++n)
      sum[n] += *reinterpret_cast<const InMemory*>(x + n * Lanes::lanes) *
                *reinterpret_cast<const InMemory*>(y + n * Lanes::lanes);
#pragma GCC unroll 8
  for (int n = 0; n < N; ++n) {
    auto& to = *reinterpret_cast<InMemory*>(made + n * Lanes::lanes);
    to = to + sum[n];
  }
}

template <class T, int Bytes>
TENON_VECTOR_INLINE void multiply_row(Length places, Length width, Length x_place, const T* x, const T* y, T* made) {
  constexpr Length lanes = ChannelVectors<T, Bytes>::lanes;
  Length i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes)
    multiply_channels<T, Bytes, 4>(places, width, x_place, x + i, y + i, made + i);
  for (; i + lanes <= width; i += lanes) multiply_channels<T, Bytes, 1>(places, width, x_place, x + i, y + i, made + i);
  for (; i < width; ++i) multiply_channels<T, 0, 1>(places, width, x_place, x + i, y + i, made + i);
}

template <class T>
__attribute__((TENON_AVX512_TARGET)) void sum_with_avx512(const ChannelRow& row, const T* a, const T* b, T* c) {
  sum_row<T, 64>(row, a, b, c);
}
template <class T>
__attribute__((TENON_AVX2_TARGET)) void sum_with_avx2(const ChannelRow& row, const T* a, const T* b, T* c) {
  sum_row<T, 32>(row, a, b, c);
}
template <class T>
__attribute__((TENON_AVX512_TARGET)) void multiply_with_avx512(Length places, Length width, Length x_place, const T* x,
                                                               const T* y, T* made) {
  multiply_row<T, 64>(places, width, x_place, x, y, made);
}
template <class T>
__attribute__((TENON_AVX2_TARGET)) void multiply_with_avx2(Length places, Length width, Length x_place, const T* x,
                                                           const T* y, T* made) {
  multiply_row<T, 32>(places, width, x_place, x, y, made);
}

}  // namespace

template <class T>
void sum_channel_row(const ChannelRow& row, const T* from, const T* weights, T* made) {
  switch (vector_unit()) {
    case VectorUnit::avx512:
      return sum_with_avx512(row, from, weights, made);
    case VectorUnit::avx2:
      return sum_with_avx2(row, from, weights, made);
    default:
      return sum_row<T, 16>(row, from, weights, made);
  }
}
template <class T>
void add_product_row(Length places, Length width, Length x_place, const T* x, const T* y, T* made) {
  switch (vector_unit()) {
    case VectorUnit::avx512:
      return multiply_with_avx512(places, width, x_place, x, y, made);
    case VectorUnit::avx2:
      return multiply_with_avx2(places, width, x_place, x, y, made);
    default:
      return multiply_row<T, 16>(places, width, x_place, x, y, made);
  }
}
template void sum_channel_row<float>(const ChannelRow&, const float*, const float*, float*);
template void sum_channel_row<double>(const ChannelRow&, const double*, const double*, double*);
template void add_product_row<float>(Length, Length, Length, const float*, const float*, float*);
template void add_product_row<double>(Length, Length, Length, const double*, const double*, double*);

}  // namespace tenon
