// Register tiles and cache blocks of a matrix product, as Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication" (2008), arrange them. Compiled once for each instruction set, so everything here is local to the
// including file and calls no inline function of another header: the linker must not share code between the sets.
#pragma once

#include "tenon/runtime/product_kernels.h"

namespace tenon {
namespace {

using Size = std::int64_t;
inline Size least(Size a, Size b) { return a < b ? a : b; }
inline Size quotient_up(Size a, Size b) { return (a + b - 1) / b; }

// `Lanes` is one vector of an instruction set: T, V, lanes, and masked memory access.
// A tile of R rows by N vectors of c stays in registers while l runs over k. With fewer than 8 sums the adders' latency
// would show, so even and odd l have sums of their own.
template <class Lanes, int R, int N>
void tile(Size k, const typename Lanes::T* a, Size ai, Size ak, const typename Lanes::T* b, Size bk,
          typename Lanes::T* c, Size ci, typename Lanes::Mask last, bool add) {
  using V = typename Lanes::V;
  constexpr int parts = R * N >= 8 ? 1 : R * N >= 4 ? 2 : 4;
  V sum[parts][R][N];
#pragma GCC unroll 16
  for (int p = 0; p < parts; ++p)
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
      for (int j = 0; j < N; ++j) sum[p][r][j] = Lanes::zero();
  const auto step = [&](int p, const typename Lanes::T* at,
                        const typename Lanes::T* row) __attribute__((always_inline)) {
    V right[N];
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j)
      right[j] = j == N - 1 ? Lanes::load(row + j * Lanes::lanes, last) : Lanes::load(row + j * Lanes::lanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const V left = Lanes::broadcast(at[r * ai]);
#pragma GCC unroll 16
      for (int j = 0; j < N; ++j) sum[p][r][j] = Lanes::fma(left, right[j], sum[p][r][j]);
    }
  };
  Size l = 0;
  for (; l + parts <= k; l += parts, a += parts * ak, b += parts * bk)
#pragma GCC unroll 16
    for (int p = 0; p < parts; ++p) step(p, a + p * ak, b + p * bk);
  if constexpr (parts > 1)
    for (; l < k; ++l, a += ak, b += bk) step(0, a, b);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
      V value = sum[0][r][j];
#pragma GCC unroll 16
      for (int p = 1; p < parts; ++p) value += sum[p][r][j];
      auto* at = c + r * ci + j * Lanes::lanes;
      if (j == N - 1) {
        if (add) value += Lanes::load(at, last);
        Lanes::store(at, value, last);
      } else {
        if (add) value += Lanes::load(at);
        Lanes::store(at, value);
      }
    }
}

template <class Lanes>
using Tile = void (*)(Size, const typename Lanes::T*, Size, Size, const typename Lanes::T*, Size, typename Lanes::T*,
                      Size, typename Lanes::Mask, bool);

// The tiles of N vectors, by rows.
template <class Lanes, int N>
struct TilesOf {
  static constexpr int most = Lanes::most_rows(N);
  Tile<Lanes> by_rows[most + 1] = {};
  template <int R = 1>
  constexpr void fill() {
    by_rows[R] = tile<Lanes, R, N>;
    if constexpr (R < most) fill<R + 1>();
  }
  constexpr TilesOf() { fill(); }
};
template <class Lanes, int N>
inline constexpr TilesOf<Lanes, N> tiles_of{};

template <class Lanes>
const Tile<Lanes>* tiles_by_rows(Size vectors, Size& most) {
  const auto choose = [&]<int N>() {
    most = Lanes::most_rows(N);
    return tiles_of<Lanes, N>.by_rows;
  };
  if (vectors == Lanes::wide) return choose.template operator()<Lanes::wide>();
  if constexpr (Lanes::panel >= 4) {
    if (vectors == 4) return choose.template operator()<4>();
    if (vectors == 3) return choose.template operator()<3>();
  }
  return vectors == 2 ? choose.template operator()<2>() : choose.template operator()<1>();
}

// Rows [0, m) of one panel of columns, in tiles of nearly equal height.
template <class Lanes>
void panel(const Product<typename Lanes::T>& p, Size vectors, typename Lanes::Mask last) {
  Size most;
  const auto* tiles = tiles_by_rows<Lanes>(vectors, most);
  const Size count = quotient_up(p.m, most), height = p.m / count, taller = p.m % count;
  Size row = 0;
  for (Size t = 0; t < count; ++t) {
    const Size rows = height + (t < taller ? 1 : 0);
    tiles[rows](p.k, p.a + row * p.a_row, p.a_row, p.a_column, p.b, p.b_row, p.c + row * p.c_row, p.c_row, last,
                p.accumulate);
    row += rows;
  }
}

// The same with the rows of `a` copied tile by tile: element (r, l) of a tile of R rows is at l * R + r.
template <class Lanes>
void panel_of_packed(const Product<typename Lanes::T>& p, Size vectors, typename Lanes::Mask last, Size most_packed) {
  Size most;
  const auto* tiles = tiles_by_rows<Lanes>(vectors, most);
  const Size count = quotient_up(p.m, most_packed), height = p.m / count, taller = p.m % count;
  Size row = 0;
  for (Size t = 0; t < count; ++t) {
    const Size rows = height + (t < taller ? 1 : 0);
    tiles[rows](p.k, p.a + row * p.k, 1, rows, p.b, p.b_row, p.c + row * p.c_row, p.c_row, last, p.accumulate);
    row += rows;
  }
}

template <class Lanes>
void pack_rows(const Product<typename Lanes::T>& p, Size most, typename Lanes::T* out) {
  const Size count = quotient_up(p.m, most), height = p.m / count, taller = p.m % count;
  const auto* a = p.a;
  for (Size t = 0; t < count; ++t) {
    const Size rows = height + (t < taller ? 1 : 0);
    for (Size r = 0; r < rows; ++r)
      for (Size l = 0; l < p.k; ++l) out[l * rows + r] = a[r * p.a_row + l * p.a_column];
    a += rows * p.a_row;
    out += rows * p.k;
  }
}

// Copies columns [0, n) of b so that they are adjacent, `width` apart in l.
template <class Lanes>
void pack_columns(const typename Lanes::T* b, Size bk, Size bj, Size k, Size n, Size width, typename Lanes::T* out) {
  if (bj == 1) {
    for (Size l = 0; l < k; ++l)
      for (Size j = 0; j < n; ++j) out[l * width + j] = b[l * bk + j];
    return;
  }
  constexpr Size square = Lanes::square;
  Size j = 0;
  if (bk == 1)
    for (; j + square <= n; j += square) {
      Size l = 0;
      for (; l + square <= k; l += square) Lanes::transpose(b + j * bj + l, bj, out + l * width + j, width);
      for (; l < k; ++l)
        for (Size i = j; i < j + square; ++i) out[l * width + i] = b[l + i * bj];
    }
  for (; j < n; ++j)
    for (Size l = 0; l < k; ++l) out[l * width + j] = b[l * bk + j * bj];
}

// Columns in panels of nearly equal width, straight from where they are.
template <class Lanes>
void direct(const Product<typename Lanes::T>& p) {
  const Size most = p.m <= Lanes::most_rows(Lanes::wide) ? Lanes::wide : Lanes::panel;
  Size left = p.n;
  auto part = p;
  while (left > 0) {
    const Size vectors = quotient_up(left, Lanes::lanes);
    Size now;
    if (vectors >= most)
      now = most;
    else
      now = vectors > Lanes::panel ? Lanes::panel : vectors;
    const Size columns = least(left, now * Lanes::lanes);
    panel<Lanes>(part, now, Lanes::mask(columns - (now - 1) * Lanes::lanes));
    part.b += columns;
    part.c += columns;
    left -= columns;
  }
}

// Blocks: 256 of l, so that a panel of b stays in the second-level cache and mostly in the first; 768 rows, so that
// copying a panel of b is a small part of using it.
template <class Lanes>
bool blocked(const Product<typename Lanes::T>& p) {
  using T = typename Lanes::T;
  constexpr Size most_k = 256, most_m = 768, width = Lanes::panel * Lanes::lanes, high = Lanes::most_rows(Lanes::panel);
  auto* scratch = static_cast<T*>(product_scratch(sizeof(T) * most_k * (most_m + width)));
  if (scratch == nullptr) return false;
  T* const columns_of_b = scratch;
  T* const rows_of_a = scratch + most_k * width;
  const Size k_blocks = quotient_up(p.k, most_k), m_blocks = quotient_up(p.m, most_m);
  const Size n_panels = quotient_up(quotient_up(p.n, Lanes::lanes), Lanes::panel);
  const bool pack_a = n_panels >= 16;  // below, the copy costs more than strided reads
  for (Size kb = 0, l = 0; kb < k_blocks; ++kb) {
    const Size depth = p.k / k_blocks + (kb < p.k % k_blocks ? 1 : 0);
    for (Size mb = 0, i = 0; mb < m_blocks; ++mb) {
      auto part = p;
      part.m = p.m / m_blocks + (mb < p.m % m_blocks ? 1 : 0);
      part.k = depth;
      part.a = p.a + i * p.a_row + l * p.a_column;
      part.accumulate = p.accumulate || kb > 0;
      if (pack_a) {
        pack_rows<Lanes>(part, high, rows_of_a);
        part.a = rows_of_a;
      }
      for (Size j = 0; j < p.n; j += width) {
        const Size columns = least(width, p.n - j), vectors = quotient_up(columns, Lanes::lanes);
        pack_columns<Lanes>(p.b + l * p.b_row + j * p.b_column, p.b_row, p.b_column, depth, columns, width,
                            columns_of_b);
        part.b = columns_of_b;
        part.b_row = width;
        part.c = p.c + i * p.c_row + j;
        const auto last = Lanes::mask(columns - (vectors - 1) * Lanes::lanes);
        pack_a ? panel_of_packed<Lanes>(part, vectors, last, high) : panel<Lanes>(part, vectors, last);
      }
      i += part.m;
    }
    l += depth;
  }
  return true;
}

template <class Lanes>
bool multiply(const Product<typename Lanes::T>& p) {
  // Few rows, or a panel of b that stays in the second-level cache, do not pay for a copy.
  const bool cached = p.k * Lanes::panel * Lanes::lanes * Size(sizeof(typename Lanes::T)) <= 256 * 1024;
  if (p.b_column == 1 && (p.m <= 64 || (p.m <= 256 && cached))) {
    direct<Lanes>(p);
    return true;
  }
  return blocked<Lanes>(p);
}

// R rows of a by N columns of b, both contiguous in l: vectors of partial sums, added up at the end.
template <class Lanes, int R, int N>
void inner_tile(const Product<typename Lanes::T>& p, Size i, Size j) {
  using V = typename Lanes::V;
  V sum[R][N];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
    for (int s = 0; s < N; ++s) sum[r][s] = Lanes::zero();
  const auto* a = p.a + i * p.a_row;
  const auto* b = p.b + j * p.b_column;
  const auto step = [&](Size l, typename Lanes::Mask lanes) __attribute__((always_inline)) {
    V left[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) left[r] = Lanes::load(a + r * p.a_row + l, lanes);
#pragma GCC unroll 16
    for (int s = 0; s < N; ++s) {
      const V right = Lanes::load(b + s * p.b_column + l, lanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) sum[r][s] = Lanes::fma(left[r], right, sum[r][s]);
    }
  };
  Size l = 0;
  for (; l + Lanes::lanes <= p.k; l += Lanes::lanes) step(l, Lanes::mask(Lanes::lanes));
  if (l < p.k) step(l, Lanes::mask(p.k - l));
  for (int r = 0; r < R; ++r)
    for (int s = 0; s < N; ++s) {
      auto* at = p.c + (i + r) * p.c_row + (j + s) * p.c_column;
      const auto value = Lanes::total(sum[r][s]);
      *at = p.accumulate ? *at + value : value;
    }
}

template <class Lanes>
void multiply_inner(const Product<typename Lanes::T>& p) {
  constexpr int most = Lanes::panel;  // 4 by 4 sums of 32 registers, 2 by 4 of 16
  Size i = 0;
  const auto rows = [&]<int R>() {
    for (; i + R <= p.m; i += R) {
      Size j = 0;
      for (; j + 4 <= p.n; j += 4) inner_tile<Lanes, R, 4>(p, i, j);
      for (; j < p.n; ++j) inner_tile<Lanes, R, 1>(p, i, j);
    }
  };
  if constexpr (most == 4) rows.template operator()<4>();
  rows.template operator()<2>();
  rows.template operator()<1>();
}

}  // namespace
}  // namespace tenon
