// A strip lies packed in the first-level cache, 64 rows of it at most, as wide as three vectors. Tiles of it and of
// what lies below stay in registers while the products with earlier rows are subtracted.
#include "tenon/runtime/linear_algebra/triangular_strips.h"

#include <algorithm>
#include <cstddef>

#include "tenon/runtime/linear_algebra/product_kernels.h"

namespace tenon {
namespace {

using Size = std::int64_t;
#define TENON_INLINE __attribute__((always_inline)) inline

template <class T, std::size_t Bytes>
struct StripVector {
  typedef T V __attribute__((vector_size(Bytes)));
  typedef T InMemory __attribute__((vector_size(Bytes), aligned(alignof(T)), may_alias));
  static constexpr Size lanes = Bytes / sizeof(T);
  // Accumulators fill the registers but for the row of b and one element of a: 24 of 32, 12 and 8 of 16.
  static constexpr int rows = Bytes == 64 ? 8 : 4, vectors = Bytes == 16 ? 2 : 3;
  static constexpr Size width = lanes * vectors;
};

// c -= a·b of R rows and N vectors; rows of b lie `width` apart.
template <class T, std::size_t Bytes, int R, int N>
TENON_INLINE void tile(const T* a, Size a_row, Size a_column, Size depth, const T* b, T* c, Size c_row) {
  using Lanes = StripVector<T, Bytes>;
  using V = typename Lanes::V;
  using InMemory = typename Lanes::InMemory;
  V sum[R][N] = {};
  for (Size l = 0; l < depth; ++l) {
    V right[N];
#pragma GCC unroll 8
    for (int s = 0; s < N; ++s) right[s] = *reinterpret_cast<const InMemory*>(b + l * Lanes::width + s * Lanes::lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const T left = a[r * a_row + l * a_column];
#pragma GCC unroll 8
      for (int s = 0; s < N; ++s) sum[r][s] += left * right[s];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int s = 0; s < N; ++s) {
      auto& to = *reinterpret_cast<InMemory*>(c + r * c_row + s * Lanes::lanes);
      to = to - sum[r][s];
    }
}

// All rows of c, where it has N whole vectors.
template <class T, std::size_t Bytes, int N>
TENON_INLINE void tiles(const T* a, Size a_row, Size a_column, Size rows, Size depth, const T* b, T* c, Size c_row) {
  constexpr int most = StripVector<T, Bytes>::rows;
  Size i = 0;
  for (; i + most <= rows; i += most)
    tile<T, Bytes, most, N>(a + i * a_row, a_row, a_column, depth, b, c + i * c_row, c_row);
  for (; i + 2 <= rows; i += 2) tile<T, Bytes, 2, N>(a + i * a_row, a_row, a_column, depth, b, c + i * c_row, c_row);
  if (i < rows) tile<T, Bytes, 1, N>(a + i * a_row, a_row, a_column, depth, b, c + i * c_row, c_row);
}

// The same where the last vector of c is not whole: rows of it go by way of a tile that is.
template <class T, std::size_t Bytes, int N>
TENON_INLINE void tiles_of(const T* a, Size a_row, Size a_column, Size rows, Size depth, const T* b, Size columns, T* c,
                           Size c_row) {
  using Lanes = StripVector<T, Bytes>;
  if (columns == N * Lanes::lanes) return tiles<T, Bytes, N>(a, a_row, a_column, rows, depth, b, c, c_row);
  constexpr Size most = Lanes::rows, pitch = N * Lanes::lanes;
  alignas(64) T whole[most * pitch] = {};
  for (Size i = 0; i < rows; i += most) {
    const Size some = std::min(most, rows - i);
    for (Size r = 0; r < some; ++r) std::copy_n(c + (i + r) * c_row, columns, whole + r * pitch);
    tiles<T, Bytes, N>(a + i * a_row, a_row, a_column, some, depth, b, whole, pitch);
    for (Size r = 0; r < some; ++r) std::copy_n(whole + r * pitch, columns, c + (i + r) * c_row);
  }
}

template <class T, std::size_t Bytes>
TENON_INLINE void subtract_packed(const T* a, Size a_row, Size a_column, Size rows, Size depth, const T* b,
                                  Size columns, T* c, Size c_row) {
  using Lanes = StripVector<T, Bytes>;
  if (columns <= Lanes::lanes)
    tiles_of<T, Bytes, 1>(a, a_row, a_column, rows, depth, b, columns, c, c_row);
  else if (Lanes::vectors == 2 || columns <= 2 * Lanes::lanes)
    tiles_of<T, Bytes, 2>(a, a_row, a_column, rows, depth, b, columns, c, c_row);
  else
    tiles_of<T, Bytes, Lanes::vectors>(a, a_row, a_column, rows, depth, b, columns, c, c_row);
}

// Rows of a strip beside each other, the columns that are missing as zeros.
template <class T, std::size_t Bytes>
TENON_INLINE void pack(StripOf<const T> from, Size rows, Size columns, T* strip) {
  constexpr Size width = StripVector<T, Bytes>::width;
  for (Size i = 0; i < rows; ++i) {
    const T* row = from.x + i * from.row;
    T* to = strip + i * width;
    if (from.column == 1)
      std::copy_n(row, columns, to);
    else
      for (Size j = 0; j < columns; ++j) to[j] = row[j * from.column];
    std::fill(to + columns, to + width, T(0));
  }
}
template <class T, std::size_t Bytes>
TENON_INLINE void unpack(const T* strip, Size rows, Size columns, StripOf<T> to) {
  constexpr Size width = StripVector<T, Bytes>::width;
  for (Size i = 0; i < rows; ++i) {
    T* row = to.x + i * to.row;
    if (to.column == 1)
      std::copy_n(strip + i * width, columns, row);
    else
      for (Size j = 0; j < columns; ++j) row[j * to.column] = strip[i * width + j];
  }
}

// N vectors of a packed strip, by as many rows at a time as a tile has.
template <class T, std::size_t Bytes, int N>
TENON_INLINE void substitute_packed(const T* a, Size row, Size column, Size size, bool unit_diagonal, T* strip) {
  using Lanes = StripVector<T, Bytes>;
  using V = typename Lanes::V;
  constexpr Size width = Lanes::width, most = Lanes::rows;
  for (Size first = 0; first < size; first += most) {
    const Size end = std::min(size, first + most);
    if (first > 0)
      tiles<T, Bytes, N>(a + first * row, row, column, end - first, first, strip, strip + first * width, width);
    for (Size i = first; i < end; ++i) {
      V sum[N];
      V* const to = reinterpret_cast<V*>(strip + i * width);
#pragma GCC unroll 8
      for (int s = 0; s < N; ++s) sum[s] = to[s];
      for (Size l = first; l < i; ++l) {
        const T left = a[i * row + l * column];
        const V* const from = reinterpret_cast<const V*>(strip + l * width);
#pragma GCC unroll 8
        for (int s = 0; s < N; ++s) sum[s] -= left * from[s];
      }
      const T diagonal = unit_diagonal ? T(1) : a[i * row + i * column];
#pragma GCC unroll 8
      for (int s = 0; s < N; ++s) to[s] = unit_diagonal ? sum[s] : sum[s] / diagonal;
    }
  }
}

template <class T, std::size_t Bytes>
TENON_INLINE void substitute_strip(const LowerPanel<T>& p, StripOf<T> x, Size columns) {
  using Lanes = StripVector<T, Bytes>;
  alignas(64) T strip[longest_block * Lanes::width];
  for (Size first = 0; first < p.size; first += longest_block) {
    const Size rows = std::min(longest_block, p.size - first), after = first + rows;
    const T* const diagonal = p.a + first * (p.row + p.column);
    const StripOf<T> here{x.x + first * x.row, x.row, x.column};
    pack<T, Bytes>({here.x, x.row, x.column}, rows, columns, strip);
    if (columns <= Lanes::lanes)
      substitute_packed<T, Bytes, 1>(diagonal, p.row, p.column, rows, p.unit_diagonal, strip);
    else
      substitute_packed<T, Bytes, Lanes::vectors>(diagonal, p.row, p.column, rows, p.unit_diagonal, strip);
    unpack<T, Bytes>(strip, rows, columns, here);
    if (after < p.size + p.below)
      subtract_packed<T, Bytes>(p.a + after * p.row + first * p.column, p.row, p.column, p.size + p.below - after, rows,
                                strip, columns, x.x + after * x.row, x.row);
  }
}

template <class T, std::size_t Bytes>
TENON_INLINE void subtract_strip(const T* a, Size a_row, Size a_column, Size rows, Size depth, StripOf<const T> b,
                                 Size columns, T* c, Size c_row) {
  alignas(64) T strip[longest_block * StripVector<T, Bytes>::width];
  pack<T, Bytes>(b, depth, columns, strip);
  subtract_packed<T, Bytes>(a, a_row, a_column, rows, depth, strip, columns, c, c_row);
}

template <class T>
TENON_INLINE Size eliminate_narrow(const T* chosen, Size at, T* rows, Size row, Size count) {
  using Lanes = StripVector<T, narrow_block * sizeof(T)>;
  T right[narrow_block] = {};
  std::copy(chosen + at + 1, chosen + narrow_block, right + at + 1);
  const auto subtrahend = *reinterpret_cast<const typename Lanes::InMemory*>(right);
  const T inverse = 1 / chosen[at];
  const Size next = std::min(at + 1, narrow_block - 1);
  Size largest = 0;
  T magnitude = 0;
  for (Size i = 0; i < count; ++i) {
    T* const to = rows + i * row;
    const T multiplier = to[at] * inverse;
    auto& eight = *reinterpret_cast<typename Lanes::InMemory*>(to);
    eight = eight - multiplier * subtrahend;
    to[at] = multiplier;
    const T size = to[next] < 0 ? -to[next] : to[next];
    if (size > magnitude || i == 0) largest = i, magnitude = size;
  }
  return largest;
}

#define TENON_AVX512 target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")
#define TENON_AVX2 target("avx2,fma")
#define TENON_BASELINE noinline
// One kernel for each processor; what it calls is part of it.
#define TENON_KERNELS(name, bytes, processor)                                                                      \
  template <class T>                                                                                               \
  __attribute__((processor)) void substitute_##name(const LowerPanel<T>& p, StripOf<T> x, Size columns) {          \
    substitute_strip<T, bytes>(p, x, columns);                                                                     \
  }                                                                                                                \
  template <class T>                                                                                               \
  __attribute__((processor)) void subtract_##name(const T* a, Size a_row, Size a_column, Size rows, Size depth,    \
                                                  StripOf<const T> b, Size columns, T* c, Size c_row) {            \
    subtract_strip<T, bytes>(a, a_row, a_column, rows, depth, b, columns, c, c_row);                               \
  }                                                                                                                \
  template <class T>                                                                                               \
  __attribute__((processor)) Size eliminate_##name(const T* chosen, Size at, T* rows, Size row, Size count) {      \
    return eliminate_narrow<T>(chosen, at, rows, row, count);                                                      \
  }                                                                                                                \
  template <class T>                                                                                               \
  constexpr StripKernels<T> kernels_##name{StripVector<T, bytes>::width, substitute_##name<T>, subtract_##name<T>, \
                                           eliminate_##name<T>};
TENON_KERNELS(avx512, 64, TENON_AVX512)
TENON_KERNELS(avx2, 32, TENON_AVX2)
TENON_KERNELS(baseline, 16, TENON_BASELINE)

}  // namespace

template <class T>
const StripKernels<T>& strip_kernels() {
  switch (vector_unit()) {
    case VectorUnit::avx512:
      return kernels_avx512<T>;
    case VectorUnit::avx2:
      return kernels_avx2<T>;
    default:
      return kernels_baseline<T>;
  }
}
template const StripKernels<float>& strip_kernels();
template const StripKernels<double>& strip_kernels();

}  // namespace tenon
