// A register-tiled f32 product for one core: C = A·B, C += alpha·A·B, or C = bias + A·B. A by strides, B packed 64
// columns at a time.
#pragma once
#include "limits.h"
enum class Into { Zero, Add, Bias };
template <int R, int N>
static inline void tile(long K, const float* a, long ai, long ak, const float* b, long ldb, float* c, long ldc,
                        Into into, float alpha, const float* bias, __mmask16 last) {
  V acc[R][N] = {};
  for (long k = 0; k < K; k++, a += ak, b += ldb) {
    V bv[N];
#pragma GCC unroll 8
    for (int n = 0; n < N; n++) bv[n] = load(b + 16 * n);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
      V av = all(a[r * ai]);
#pragma GCC unroll 8
      for (int n = 0; n < N; n++) acc[r][n] += av * bv[n];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; r++)
#pragma GCC unroll 8
    for (int n = 0; n < N; n++) {
      __mmask16 m = n == N - 1 ? last : 0xffff;
      float* p = c + r * ldc + 16 * n;
      V v = acc[r][n];
      if (into == Into::Add) v = load(p, m) + alpha * v;
      if (into == Into::Bias) v = load(bias + 16 * n, m) + v;
      store(p, v, m);
    }
}
// One panel of n <= 64 columns: B rows of ldb floats (at least n rounded up to 16 of them readable). Tiles of 6 and 5
// rows by 4 vectors: with B in L2 they keep the FMA units full (132 GF/s of a peak of 135), where 4 by 4 reaches 97 and
// 16 by 1 reaches 60.
static inline void panel(long M, long n, long K, const float* A, long ai, long ak, const float* B, long ldb, float* C,
                         long ldc, Into into = Into::Zero, float alpha = 1, const float* bias = nullptr) {
  __mmask16 last = __mmask16(0xffff >> (15 - (n - 1) % 16));
  long i = 0;
  auto rows = [&]<int R, int N>(long end) {
    for (; i + R <= end; i += R) tile<R, N>(K, A + i * ai, ai, ak, B, ldb, C + i * ldc, ldc, into, alpha, bias, last);
  };
  if (n > 48) {
    long tiles = (M + 5) / 6, fives = 6 * tiles - M;
    if (fives <= tiles) rows.template operator()<5, 4>(5 * fives);
    rows.template operator()<6, 4>(M);
    rows.template operator()<4, 4>(M);
    rows.template operator()<1, 4>(M);
  } else if (n > 32) {
    rows.template operator()<8, 3>(M);
    rows.template operator()<4, 3>(M);
    rows.template operator()<1, 3>(M);
  } else if (n > 16) {
    rows.template operator()<8, 2>(M);
    rows.template operator()<1, 2>(M);
  } else {
    rows.template operator()<8, 1>(M);
    rows.template operator()<1, 1>(M);
  }
}
// Packs B[K, n] (element (k, j) at k·bk + j·bj) into rows of `width` floats.
static inline void pack(const float* B, long bk, long bj, long K, long n, long width, float* out) {
  if (bj == 1)
    for (long k = 0; k < K; k++)
      for (long j = 0; j < n; j += 16)
        store(out + k * width + j, load(B + k * bk + j, n - j < 16 ? __mmask16((1 << (n - j)) - 1) : 0xffff));
  else {
    VI idx;
    for (int i = 0; i < 16; i++) idx[i] = int(i * bj);
    for (long k = 0; k < K; k++)
      for (long j = 0; j < n; j += 16)
        store(out + k * width + j, _mm512_mask_i32gather_ps(all(0), n - j < 16 ? __mmask16((1 << (n - j)) - 1) : 0xffff,
                                                            (__m512i)idx, B + k * bk + j * bj, 4));
  }
}
// C[M, N] by blocks of 64 columns and kBlock of K, packing B as it goes: 128 keeps the packed block in L1; a longer one
// spares reading C again.
static inline void gemm(long M, long N, long K, const float* A, long ai, long ak, const float* B, long bk, long bj,
                        float* C, long ldc, Into into = Into::Zero, float alpha = 1, const float* bias = nullptr,
                        long kBlock = 128) {
  alignas(64) static thread_local float packed[1024 * 64];
  for (long j = 0; j < N; j += 64)
    for (long k = 0; k < K; k += kBlock) {
      long n = std::min(64L, N - j), kk = std::min(kBlock, K - k), w = (n + 15) / 16 * 16;
      pack(B + k * bk + j * bj, bk, bj, kk, n, w, packed);
      panel(M, n, kk, A + k * ak, ai, ak, packed, w, C + j, ldc, k ? Into::Add : into,
            k && into != Into::Add ? 1 : alpha, bias ? bias + j : nullptr);
    }
}
