// Case 8: contractions, forward and the gradient of sum(square(result)) in both operands. Two workers; outputs reused.
#include <memory>

#include "gemm.h"
// out[r, o] = sum_i a[r, i]·w[o, i]: r = 32·100, o = 600, i = 821.
struct Dense {
  static constexpr long M = 3200, N = 600, K = 821;
  Buffer w{N * K + 16}, a{M * K + 16}, out{M * N + 16}, dw{N * K + 16}, da{M * K + 16};
  Dense() {
    w.n = N * K;
    a.n = M * K;
    w.fill(1);
    a.fill(2);
  }
  void forward(int k) {
    long r = k * M / 2;
    gemm(M / 2, N, K, a + r * K, K, 1, w, 1, K, out + r * N, N, Into::Zero, 1, nullptr, 1024);
  }
  void gradient(int k) {  // da = 2·out·w on the worker's rows; after a meeting dw = 2·outᵀ·a on the worker's half of w
    static Barrier meet;
    long r = k * M / 2, c = k * N / 2;
    forward(k);
    for (long i = r * N; i < (r + M / 2) * N; i += 16) store(out + i, 2.0f * load(out + i));
    gemm(M / 2, K, N, out + r * N, N, 1, w, K, 1, da + r * K, K, Into::Zero, 1, nullptr, 1024);
    meet.wait();
    gemm(N / 2, K, M, out + c, 1, N, a, K, 1, dw + c * K, K, Into::Zero, 1, nullptr, 256);
  }
};
// out[n, m, s] = sum_c A[n, s, c]·B[m, s, c]: n = 100, m = 200, s = 20·20, c = 3. Operands are first put in [row][c][s]
// order.
struct Outer {
  static constexpr long N = 100, M = 200, S = 400;
  Buffer A{N * S * 3}, B{M * S * 3}, pA{N * S * 3}, pB{M * S * 3}, out{N * M * S}, dA{N * S * 3}, dB{M * S * 3},
      gA{N * S * 3}, gB{M * S * 3};
  Outer() {
    A.fill(1);
    B.fill(2);
  }
  static void split(const float* x, float* p, long r0, long r1) {
    VI i;
    for (int k = 0; k < 16; k++) i[k] = 3 * k;
    for (long r = r0; r < r1; r++)
      for (long s = 0; s < S; s += 16)
        for (int c = 0; c < 3; c++)
          store(p + (r * 3 + c) * S + s, (V)_mm512_i32gather_ps((__m512i)i, x + (r * S + s) * 3 + c, 4));
  }
  static void join(const float* p, float* x, long r0, long r1) {
    for (long r = r0; r < r1; r++)
      for (long s = 0; s < S; s++)
        for (int c = 0; c < 3; c++) x[(r * S + s) * 3 + c] = p[(r * 3 + c) * S + s];
  }
  template <bool NT>
  void forward(int k) {
    static Barrier meet;
    split(A, pA, k * N / 2, (k + 1) * N / 2);
    split(B, pB, k * M / 2, (k + 1) * M / 2);
    meet.wait();
    for (long n = k * N / 2; n < (k + 1) * N / 2; n++)
      for (long m = 0; m < M; m++)
        for (long s = 0; s < S; s += 16) {
          const float *a = pA + n * 3 * S + s, *b = pB + m * 3 * S + s;
          V v = load(a) * load(b) + load(a + S) * load(b + S) + load(a + 2 * S) * load(b + 2 * S);
          float* o = out + (n * M + m) * S + s;
          NT ? _mm512_stream_ps(o, v) : store(o, v);
        }
  }
  void gradient(
      int k) {  // the result is never stored: each of its vectors is made, doubled and used for both gradients
    static Barrier meet;
    split(A, pA, k * N / 2, (k + 1) * N / 2);
    split(B, pB, k * M / 2, (k + 1) * M / 2);
    meet.wait();
    for (long s = k ? 208 : 0; s < (k ? 400 : 208); s += 16)
      for (long n = 0; n < N; n += 4) {
        V a[4][3], d[4][3] = {};
        for (int r = 0; r < 4; r++)
          for (int c = 0; c < 3; c++) a[r][c] = load(pA + ((n + r) * 3 + c) * S + s);
        for (long m = 0; m < M; m++) {
          float* q = gB + m * 3 * S + s;
          V b[3], e[3];
          for (int c = 0; c < 3; c++) {
            b[c] = load(pB + (m * 3 + c) * S + s);
            e[c] = n ? load(q + c * S) : V{};
          }
          for (int r = 0; r < 4; r++) {
            V g = 2.0f * (a[r][0] * b[0] + a[r][1] * b[1] + a[r][2] * b[2]);
            for (int c = 0; c < 3; c++) {
              d[r][c] += g * b[c];
              e[c] += g * a[r][c];
            }
          }
          for (int c = 0; c < 3; c++) store(q + c * S, e[c]);
        }
        for (int r = 0; r < 4; r++)
          for (int c = 0; c < 3; c++) store(gA + ((n + r) * 3 + c) * S + s, d[r][c]);
      }
    meet.wait();
    join(gA, dA, k * N / 2, (k + 1) * N / 2);
    join(gB, dB, k * M / 2, (k + 1) * M / 2);
  }
};
// out = P·Q with P[10^6, 3], Q[3, 3]: 16 rows are three vectors; P[row, k] is put into the lanes of its row by
// two-source permutes.
struct Thin {
  static constexpr long N = 1000000;
  Buffer P{3 * N + 16}, Q{16}, out{3 * N}, dP{3 * N};
  float dQ[2][9];
  __m512i pick[3][3];
  V col[3][3], colT[3][3];
  Thin() {
    P.n = 3 * N;
    P.fill(1);
    Q.n = 9;
    Q.fill(2);
    for (int v = 0; v < 3; v++)
      for (int k = 0; k < 3; k++) {
        VI i;
        for (int l = 0; l < 16; l++) {
          int f = 16 * v + l;
          i[l] = f / 3 * 3 + k - (v == 2 ? 16 : v == 1 ? 0 : 0);
        }
        pick[v][k] = (__m512i)i;
      }
  }
  // Vector 0 reads vectors (0, 1); vector 1 reads all three: its first row begins at float 15; vector 2 reads (1, 2).
  INLINE V at(const V* p, int v, int k) const {
    if (v == 0) return _mm512_permutex2var_ps(p[0], pick[0][k], p[1]);
    if (v == 2) return _mm512_permutex2var_ps(p[1], pick[2][k], p[2]);
    VI i = (VI)pick[1][k] - 16;
    V t = _mm512_permutex2var_ps(p[1], (__m512i)i, p[2]);
    return k ? t : (V)_mm512_mask_permutexvar_ps(t, 3, _mm512_set1_epi32(15), p[0]);
  }
  template <bool Grad, bool NT>
  void run(int w) {
    V c[3][3], ct[3][3], acc[3][3] = {};
    for (int v = 0; v < 3; v++)
      for (int k = 0; k < 3; k++)
        for (int l = 0; l < 16; l++) {
          int j = (16 * v + l) % 3;
          c[v][k][l] = Q[3 * k + j];
          ct[v][k][l] = Q[3 * j + k];
        }
    for (long i = w * N / 2; i < (w + 1) * N / 2; i += 16) {  // N/2 is a multiple of 16 (500000 = 31250·16)
      V p[3] = {load(P + 3 * i), load(P + 3 * i + 16), load(P + 3 * i + 32)}, g[3], b[3][3];
      for (int v = 0; v < 3; v++) {
        for (int k = 0; k < 3; k++) b[v][k] = at(p, v, k);
        g[v] = b[v][0] * c[v][0] + b[v][1] * c[v][1] + b[v][2] * c[v][2];
      }
      if (!Grad) {
        for (int v = 0; v < 3; v++)
          NT ? _mm512_stream_ps(out + 3 * i + 16 * v, g[v]) : store(out + 3 * i + 16 * v, g[v]);
        continue;
      }
      for (int v = 0; v < 3; v++) {
        g[v] = 2.0f * g[v];
        for (int k = 0; k < 3; k++) acc[v][k] += b[v][k] * g[v];
      }
      for (int v = 0; v < 3; v++) {
        V d = at(g, v, 0) * ct[v][0] + at(g, v, 1) * ct[v][1] + at(g, v, 2) * ct[v][2];
        NT ? _mm512_stream_ps(dP + 3 * i + 16 * v, d) : store(dP + 3 * i + 16 * v, d);
      }
    }
    if (Grad) {
      for (float& e : dQ[w]) e = 0;
      for (int v = 0; v < 3; v++)
        for (int k = 0; k < 3; k++)
          for (int l = 0; l < 16; l++) dQ[w][3 * k + (16 * v + l) % 3] += acc[v][k][l];
    }
  }
};
// out[r] = A[r]·B[r] for matrices of n x n, r < 100,000. Each product is made in registers: the elements of A go to the
// lanes of their rows, the rows of B to all rows. dA = 2·out·Bᵀ and dB = 2·Aᵀ·out, out never stored.
template <int n>
struct Lanes {  // of one matrix: its elements in order, 16 a vector
  static constexpr int count = (n * n + 15) / 16;
  static constexpr __mmask16 last = __mmask16(0xffff >> (16 * count - n * n));
  V v[count];
  INLINE static Lanes read(const float* p) {
    Lanes m;
    for (int i = 0; i < count; i++) m.v[i] = i + 1 < count ? load(p + 16 * i) : load(p + 16 * i, last);
    return m;
  }
  INLINE void write(float* p) const {
    for (int i = 0; i < count; i++)
      if (i + 1 < count)
        store(p + 16 * i, v[i]);
      else
        store(p + 16 * i, v[i], last);
  }
  // Lane l of vector i takes the element at[i][l].
  INLINE Lanes take(const __m512i (&at)[count], const __mmask16 (&upper)[count]) const {
    Lanes m;
    for (int i = 0; i < count; i++)
      if constexpr (count == 1)
        m.v[i] = (V)_mm512_permutexvar_ps(at[i], v[0]);
      else
        m.v[i] = (V)_mm512_mask_blend_ps(upper[i], _mm512_permutex2var_ps(v[0], at[i], v[1]),
                                         _mm512_permutex2var_ps(v[2], at[i], v[3]));
    return m;
  }
};
template <int n>
struct Batch {
  static constexpr long N = 100000;
  static constexpr int count = Lanes<n>::count;
  Buffer A{N * n * n}, B{N * n * n}, out{N * n * n}, dA{N * n * n}, dB{N * n * n};
  __m512i row[n][count], column[n][count], turned[count];  // A[i, k] at (i, j); B[k, j] at (i, j); B[j, i] at (i, j)
  __mmask16 upper_row[n][count], upper_column[n][count], upper_turned[count];
  Batch() {
    A.fill(1);
    B.fill(2);
    auto set = [](__m512i(&at)[count], __mmask16(&upper)[count], auto index) {
      for (int v = 0; v < count; v++) {
        VI i = {};
        upper[v] = 0;
        for (int l = 0; l < 16; l++) {
          int f = 16 * v + l;
          if (f >= n * n) continue;
          int from = index(f / n, f % n);
          i[l] = from % 32;
          if (from >= 32) upper[v] |= __mmask16(1 << l);
        }
        at[v] = (__m512i)i;
      }
    };
    for (int k = 0; k < n; k++) {
      set(row[k], upper_row[k], [&](int i, int) { return n * i + k; });
      set(column[k], upper_column[k], [&](int, int j) { return n * k + j; });
    }
    set(turned, upper_turned, [&](int i, int j) { return n * j + i; });
  }
  INLINE Lanes<n> times(const Lanes<n>& a, const Lanes<n>& b) const {
    Lanes<n> c{};
    if constexpr (n == 8) {  // a row is half a vector: cheaper than general permutations
      for (int i = 0; i < 4; i++)
        for (int k = 0; k < 8; k++) {
          V row_of_b = k % 2 ? (V)_mm512_shuffle_f32x4(b.v[k / 2], b.v[k / 2], 0xee)
                             : (V)_mm512_shuffle_f32x4(b.v[k / 2], b.v[k / 2], 0x44);
          c.v[i] += (V)_mm512_permutexvar_ps(pick8[k], a.v[i]) * row_of_b;
        }
    } else
      for (int k = 0; k < n; k++) c.v[0] += a.take(row[k], upper_row[k]).v[0] * b.take(column[k], upper_column[k]).v[0];
    return c;
  }
  __m512i pick8[8] = {pair(0), pair(1), pair(2), pair(3), pair(4), pair(5), pair(6), pair(7)};
  static __m512i pair(int k) {
    VI i;
    for (int l = 0; l < 16; l++) i[l] = l / 8 * 8 + k;
    return (__m512i)i;
  }
  INLINE Lanes<n> transposed(const Lanes<n>& a) const { return a.take(turned, upper_turned); }
  template <bool Grad>
  void run(int w) {
    for (long r = w * N / 2; r < (w + 1) * N / 2; r++) {
      long o = r * n * n;
      auto a = Lanes<n>::read(A + o), b = Lanes<n>::read(B + o), c = times(a, b);
      if (!Grad) {
        c.write(out + o);
        continue;
      }
      for (V& v : c.v) v = 2.0f * v;
      times(c, transposed(b)).write(dA + o);
      times(transposed(a), c).write(dB + o);
    }
  }
  void measure() {
    std::string size = std::to_string(n), c = "100000 products of [" + size + "," + size + "]";
    time_ms(c, "forward", [&] { pool.run([&](int w) { run<false>(w); }); });
    check(c, "out", weighted(out, N * n * n));
    time_ms(c, "gradient", [&] { pool.run([&](int w) { run<true>(w); }); });
    check(c, "dA", weighted(dA, N * n * n));
    check(c, "dB", weighted(dB, N * n * n));
  }
};
int main() {
  auto both = [](auto f) { return [f] { pool.run(f); }; };
  {
    Dense d;
    const char* c = "P4 w[600,821] a[32,100,821]";
    double s = time_ms(c, "forward", both([&](int k) { d.forward(k); }));
    emit(c, "forward rate", 2e-9 * d.M * d.N * d.K / s, "GF/s");
    check(c, "out", weighted(d.out, d.M * d.N));
    s = time_ms(c, "value and gradient", both([&](int k) { d.gradient(k); }));
    emit(c, "value and gradient rate", 6e-9 * d.M * d.N * d.K / s, "GF/s");
    check(c, "dw", weighted(d.dw, d.N * d.K));
    check(c, "da", weighted(d.da, d.M * d.K));
  }
  {
    Outer o;
    const char* c = "P4 nxyc,mxyc->nmxy";
    time_ms(c, "forward", both([&](int k) { o.forward<false>(k); }));
    time_ms(c, "forward, non-temporal stores", both([&](int k) { o.forward<true>(k); }));
    check(c, "out", weighted(o.out, o.N * o.M * o.S));
    time_ms(c, "gradient, result never stored", both([&](int k) { o.gradient(k); }));
    check(c, "dA", weighted(o.dA, o.N * o.S * 3));
    check(c, "dB", weighted(o.dB, o.M * o.S * 3));
  }
  {
    Thin t;
    const char* c = "P4 (1e6,3)x(3,3)";
    time_ms(c, "forward", both([&](int k) { t.run<false, false>(k); }));
    time_ms(c, "forward, non-temporal stores", both([&](int k) { t.run<false, true>(k); }));
    check(c, "out", weighted(t.out, 3 * t.N));
    time_ms(c, "gradient, result never stored", both([&](int k) { t.run<true, false>(k); }));
    time_ms(c, "gradient, non-temporal stores", both([&](int k) { t.run<true, true>(k); }));
    check(c, "dP", weighted(t.dP, 3 * t.N));
    float q[9];
    for (int i = 0; i < 9; i++) q[i] = t.dQ[0][i] + t.dQ[1][i];
    check(c, "dQ", weighted(q, 9));
    check(c, "dQ[0][1]", t.dQ[0][1] + t.dQ[1][1]);
    check(c, "dQ[2][0]", t.dQ[0][6] + t.dQ[1][6]);
  }
  std::make_unique<Batch<3>>()->measure();
  std::make_unique<Batch<4>>()->measure();
  std::make_unique<Batch<8>>()->measure();
}
