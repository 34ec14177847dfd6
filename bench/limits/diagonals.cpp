// Case 7: ChaCha double rounds (10 of them, then + input) on B states of 16 words, in process; and the single complex
// column program.
#include "limits.h"
typedef uint32_t U __attribute__((vector_size(64)));
typedef uint32_t U4 __attribute__((vector_size(16)));
template <class T>
static INLINE T rot(T v, int k) {
  return (v << k) | (v >> (32 - k));
}
template <class T>
static INLINE void quarter(T& a, T& b, T& c, T& d) {
  a += b;
  d = rot(d ^ a, 16);
  c += d;
  b = rot(b ^ c, 12);
  a += b;
  d = rot(d ^ a, 8);
  c += d;
  b = rot(b ^ c, 7);
}
// A 16x16 transpose of words in registers: four stages of two-source permutes.
static INLINE void transpose(U* v) {
  U t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = (U)_mm512_unpacklo_epi32((__m512i)v[i], (__m512i)v[i + 1]);
    t[i + 1] = (U)_mm512_unpackhi_epi32((__m512i)v[i], (__m512i)v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int h = 0; h < 2; h++) {
      v[i + 2 * h] = (U)_mm512_unpacklo_epi64((__m512i)t[i + h], (__m512i)t[i + 2 + h]);
      v[i + 2 * h + 1] = (U)_mm512_unpackhi_epi64((__m512i)t[i + h], (__m512i)t[i + 2 + h]);
    }
  for (int i = 0; i < 16; i += 8)
    for (int k = 0; k < 4; k++) {
      t[i + k] = (U)_mm512_shuffle_i32x4((__m512i)v[i + k], (__m512i)v[i + 4 + k], 0x88);
      t[i + 4 + k] = (U)_mm512_shuffle_i32x4((__m512i)v[i + k], (__m512i)v[i + 4 + k], 0xdd);
    }
  for (int k = 0; k < 8; k++) {
    v[k] = (U)_mm512_shuffle_i32x4((__m512i)t[k], (__m512i)t[8 + k], 0x88);
    v[8 + k] = (U)_mm512_shuffle_i32x4((__m512i)t[k], (__m512i)t[8 + k], 0xdd);
  }
}
static void many(const uint32_t* m, uint32_t* o, long b,
                 long e) {  // 16 states at a time, a word of all of them per register
  for (; b < e; b += 16) {
    U v[16], u[16];
    long n = std::min(16L, e - b);
    for (int k = 0; k < 16; k++) v[k] = k < n ? (U)_mm512_loadu_si512(m + 16 * (b + k)) : U{};
    transpose(v);
    memcpy(u, v, sizeof v);
    for (int r = 0; r < 10; r++) {
      for (int j = 0; j < 4; j++) quarter(v[j], v[4 + j], v[8 + j], v[12 + j]);
      for (int j = 0; j < 4; j++) quarter(v[j], v[4 + (j + 1) % 4], v[8 + (j + 2) % 4], v[12 + (j + 3) % 4]);
    }
    for (int k = 0; k < 16; k++) v[k] += u[k];
    transpose(v);
    for (int k = 0; k < n; k++) _mm512_storeu_si512(o + 16 * (b + k), (__m512i)v[k]);
  }
}
static void one(const uint32_t* m,
                uint32_t* o) {  // one state: a row of four words per register; diagonals by lane rotation
  U4 v[4], u[4];
  memcpy(v, m, 64);
  memcpy(u, v, 64);
  auto turn = [&](int a, int b, int c) {
    v[1] = __builtin_shuffle(v[1], U4{uint32_t(a), uint32_t(a + 1) % 4, uint32_t(a + 2) % 4, uint32_t(a + 3) % 4});
    v[2] = __builtin_shuffle(v[2], U4{uint32_t(b), uint32_t(b + 1) % 4, uint32_t(b + 2) % 4, uint32_t(b + 3) % 4});
    v[3] = __builtin_shuffle(v[3], U4{uint32_t(c), uint32_t(c + 1) % 4, uint32_t(c + 2) % 4, uint32_t(c + 3) % 4});
  };
  for (int r = 0; r < 10; r++) {
    quarter(v[0], v[1], v[2], v[3]);
    turn(1, 2, 3);
    quarter(v[0], v[1], v[2], v[3]);
    turn(3, 2, 1);
  }
  for (int k = 0; k < 4; k++) v[k] += u[k];
  memcpy(o, v, 64);
}
// The thread's program: 7 times { columns; the diagonals, as columns }, then + input; columns: 3 x (a <<= 7; b += a; c
// *= b). The diagonals are not moved back, as in the peers' program (complex column).
static void complex_column(const uint32_t* m, uint32_t* o) {
  U4 v[4], u[4];
  memcpy(v, m, 64);
  memcpy(u, v, 64);
  auto col = [&] {
    for (int k = 0; k < 3; k++) {
      v[0] = v[0] << 7;
      v[1] = v[1] + v[0];
      v[2] = v[2] * v[1];
    }
  };
  for (int r = 0; r < 7; r++) {
    col();
    v[1] = __builtin_shuffle(v[1], U4{1, 2, 3, 0});
    v[2] = __builtin_shuffle(v[2], U4{2, 3, 0, 1});
    v[3] = __builtin_shuffle(v[3], U4{3, 0, 1, 2});
    col();
  }
  for (int k = 0; k < 4; k++) v[k] += u[k];
  memcpy(o, v, 64);
}
int main() {
  for (long B : {1L, 1000L, 100000L}) {
    std::vector<uint32_t> m(16 * B), o(16 * B), p(16 * B);
    for (size_t i = 0; i < m.size(); i++) m[i] = uint32_t(i) * 2654435761u + 12345u;
    std::string c = "P3 chacha B" + std::to_string(B);
    auto us = [&](const char* f, auto g) { emit(c, f, seconds(g) * 1e6, "us"); };
    if (B == 1) {
      us("one state, rows in registers", [&] {
        one(m.data(), o.data());
        keep(o[0]);
      });
      us("complex column, one state", [&] {
        complex_column(m.data(), p.data());
        keep(p[0]);
      });
      uint32_t s = 0;
      for (uint32_t w : p) s = s * 31 + w;
      check(c, "complex column", s);
    } else {
      us("16 states at a time, 1 thread", [&] { many(m.data(), o.data(), 0, B); });
      us("16 states at a time, 2 threads",
         [&] { pool.split(B, 16, [&](long b, long e) { many(m.data(), o.data(), b, e); }); });
    }
    uint32_t s = 0;
    for (uint32_t w : o) s = s * 31 + w;
    check(c, "polynomial hash (base 31)", s);
    if (B > 1) {
      for (long b = 0; b < B; b++) one(&m[16 * b], &p[16 * b]);
      check(c, "words that differ from the one-state program", double(!!memcmp(p.data(), o.data(), 64 * B)));
    }
  }
}
