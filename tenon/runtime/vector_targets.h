// Loops compiled once for each of the vector units that there are (vector_unit() says which one to call).
#pragma once

#define TENON_VECTOR_INLINE __attribute__((always_inline)) inline
#define TENON_AVX512_TARGET target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512")
#define TENON_AVX2_TARGET target("avx2,fma")
