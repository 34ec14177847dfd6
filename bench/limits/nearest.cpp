// Case 6, of the nearest of few points: for 100,000 points in three dimensions the ten nearest of 1,000 others, and a
// step of k-means: the nearest of 1,000 centres for each point, and the means of the points of each. Rows are split
// over two workers; nothing of the size of all pairs is stored.
#include "limits.h"
constexpr long N = 100000, M = 1000, H = (M + 15) / 16 * 16, K = 10;

static INLINE V distance(const V* x, const float* y, long j) {
  V d0 = x[0] - load(y + j), d1 = x[1] - load(y + H + j), d2 = x[2] - load(y + 2 * H + j);
  return d0 * d0 + d1 * d1 + d2 * d2;
}

// The 16 least so far in order, and where they are.
struct Least {
  V value = all(INFINITY);
  __m512i place = _mm512_setzero_si512();
  INLINE void insert(float x, int at) {
    const __m512i before = _mm512_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    const __mmask16 stay = _mm512_cmp_ps_mask(value, all(x), _CMP_LE_OQ), here = __mmask16(stay + 1);
    value = _mm512_mask_mov_ps(_mm512_permutexvar_ps(before, value), stay, value);
    value = _mm512_mask_mov_ps(value, here, all(x));
    place = _mm512_mask_mov_epi32(_mm512_permutexvar_epi32(before, place), stay, place);
    place = _mm512_mask_mov_epi32(place, here, _mm512_set1_epi32(at));
  }
  INLINE V last() const { return _mm512_permutexvar_ps(_mm512_set1_epi32(K - 1), value); }
};

struct Problem {
  Buffer x{3 * N}, y{3 * M}, yt{3 * H}, value{K * N + 16}, centres{3 * M}, part[2]{Buffer{4 * M}, Buffer{4 * M}};
  std::vector<int> place = std::vector<int>(K * N + 16);
  Problem() { x.fill(1, 0, 1), y.fill(2, 0, 1); }
  void prepare() {
    for (int k = 0; k < 3; k++)
      for (long j = 0; j < H; j++) yt[k * H + j] = j < M ? y[3 * j + k] : 1e9f;
  }
  void nearest() {
    prepare();
    pool.split(N, 1, [&](long i, long e) {
      for (; i < e; i++) {
        V q[3];
        for (int k = 0; k < 3; k++) q[k] = all(x[3 * i + k]);
        Least least;
        V last = least.last();
        for (long j = 0; j < H; j += 16) {
          const V v = distance(q, yt, j);
          __mmask16 less = _mm512_cmp_ps_mask(v, last, _CMP_LT_OQ);
          if (!less) continue;
          alignas(64) float of[16];
          store(of, v);
          for (; less; less &= less - 1) {
            const int lane = __builtin_ctz(less);
            least.insert(of[lane], int(j) + lane);
          }
          last = least.last();
        }
        store(value + K * i, least.value, (1 << K) - 1);
        _mm512_mask_storeu_epi32(place.data() + K * i, (1 << K) - 1, least.place);
      }
    });
  }
  void means() {
    prepare();
    pool.run([&](int w) {
      float* sums = part[w];
      memset(sums, 0, 16 * M);
      const long end = w ? N : N / 2;
      for (long i = w ? N / 2 : 0; i < end; i += 4) {
        V q[4][3], m[4];
        __m512i at[4];
        for (int r = 0; r < 4; r++) {
          m[r] = all(INFINITY), at[r] = _mm512_setzero_si512();
          for (int k = 0; k < 3; k++) q[r][k] = all(x[3 * (i + r) + k]);
        }
        for (long j = 0; j < H; j += 16)
          for (int r = 0; r < 4; r++) {
            const V v = distance(q[r], yt, j);
            const __mmask16 less = _mm512_cmp_ps_mask(v, m[r], _CMP_LT_OQ);
            m[r] = _mm512_mask_mov_ps(m[r], less, v);
            at[r] = _mm512_mask_mov_epi32(at[r], less, _mm512_set1_epi32(int(j)));
          }
        const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        for (int r = 0; r < 4; r++) {
          const __mmask16 k = _mm512_cmp_ps_mask(m[r], all(_mm512_reduce_min_ps(m[r])), _CMP_EQ_OQ);
          float* s = sums + 4 * _mm512_mask_reduce_min_epi32(k, _mm512_add_epi32(at[r], lanes));
          for (int d = 0; d < 3; d++) s[d] += x[3 * (i + r) + d];
          s[3] += 1;
        }
      }
    });
    for (long j = 0; j < M; j++) {
      const float *a = part[0] + 4 * j, *b = part[1] + 4 * j, count = std::max(a[3] + b[3], 1.0f);
      for (int d = 0; d < 3; d++) centres[3 * j + d] = (a[d] + b[d]) / count;
    }
  }
};
int main() {
  Problem p;
  const std::string c = "nearest of 1000, 100000 points";
  time_ms(c, "ten nearest", [&] { p.nearest(); });
  check(c, "distances", weighted(p.value, K * N));
  Buffer f(K * N);
  for (long i = 0; i < K * N; i++) f[i] = float(p.place[i]);
  check(c, "places", weighted(f, K * N));
  time_ms(c, "k-means step", [&] { p.means(); });
  check(c, "centres", weighted(p.centres, 3 * M));
}
