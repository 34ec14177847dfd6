// Loops that end apart: of each of 10^6 points c the steps of z² + c until |z| > 2, at most 256. Rows of the picture
// are split over two workers; 64 points go on together until all have ended.
#include "limits.h"
constexpr long N = 1000;
constexpr int kSteps = 256;

static void escape(int* steps) {
  constexpr int kVectors = 4;
  pool.split(N, 1, [&](long row, long end) {
    for (; row < end; row++) {
      const V b = all(-1.25f + 2.5f / (N - 1) * float(row));
      for (long at = 0; at < N; at += 16 * kVectors) {
        V a[kVectors], x[kVectors], y[kVectors];
        __m512i n[kVectors];
        for (int k = 0; k < kVectors; k++) {
          float of[16];
          for (int i = 0; i < 16; i++) of[i] = -2.0f + 2.5f / (N - 1) * float(at + 16 * k + i);
          a[k] = load(of), x[k] = y[k] = all(0), n[k] = _mm512_setzero_si512();
        }
        for (int step = 0; step < kSteps; step++) {
          __mmask16 any = 0;
          for (int k = 0; k < kVectors; k++) {
            const __mmask16 on = _mm512_cmp_ps_mask(x[k] * x[k] + y[k] * y[k], all(4), _CMP_LE_OQ);
            const V next = x[k] * x[k] - y[k] * y[k] + a[k];
            y[k] = _mm512_mask_mov_ps(y[k], on, 2 * x[k] * y[k] + b);
            x[k] = _mm512_mask_mov_ps(x[k], on, next);
            n[k] = _mm512_mask_add_epi32(n[k], on, n[k], _mm512_set1_epi32(1));
            any |= on;
          }
          if (!any) break;
        }
        for (int k = 0; k < kVectors && at + 16 * k < N; k++)
          _mm512_mask_storeu_epi32(steps + row * N + at + 16 * k,
                                   at + 16 * k + 16 <= N ? 0xffff : (1 << (N - at - 16 * k)) - 1, n[k]);
      }
    }
  });
}

int main() {
  std::vector<int> steps(N * N);
  const std::string c = "P5 escape times of 10^6 points";
  time_ms(c, "forward", [&] { escape(steps.data()); });
  double total = 0;
  for (int n : steps) total += n;
  check(c, "steps", total);
}
