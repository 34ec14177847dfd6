// Largest error in ulp of the shared functions against libm in double, over every 61st f32 bit pattern in range; and
// the special values.
#include "limits.h"
static double ulp(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  float w = float(want);
  if (std::isinf(w)) return got == w ? 0 : 1e9;
  if (got == 0 && w == 0) return std::signbit(got) == std::signbit(w) ? 0 : 1e9;
  int e;
  frexp(want, &e);
  return fabs(double(got) - want) / ldexp(1.0, std::max(e - 24, -149));
}
template <class F, class G>
void test(const char* name, F f, G g, float limit, bool positive = false) {
  double worst[2] = {};
  float at[2] = {};
  pool.run([&](int w) {
    float x[16], y[16];
    int k = 0;
    for (uint64_t b = w * 37; b < (1ull << 32); b += 61 * 2) {
      float v = std::bit_cast<float>(uint32_t(b));
      if (std::isfinite(v) && (fabsf(v) > limit || (positive && v < 0))) continue;
      x[k++] = v;
      if (k == 16) {
        store(y, f(load(x)));
        for (int i = 0; i < 16; i++) {
          double u = ulp(y[i], g(double(x[i])));
          if (u > worst[w]) worst[w] = u, at[w] = x[i];
        }
        k = 0;
      }
    }
  });
  int w = worst[1] > worst[0];
  emit("mathcheck", std::string(name) + " max ulp (at " + std::to_string(at[w]) + ")", worst[w], "ulp");
}
int main() {
  test("sin", [](V x) { return sin(x); }, [](double x) { return ::sin(x); }, 3e38f);
  test("cos", [](V x) { return cos(x); }, [](double x) { return ::cos(x); }, 3e38f);
  test(
      "sincos.s",
      [](V x) {
        V s, c;
        sincos(x, s, c);
        return s;
      },
      [](double x) { return ::sin(x); }, 3e38f);
  test(
      "sincos.c",
      [](V x) {
        V s, c;
        sincos(x, s, c);
        return c;
      },
      [](double x) { return ::cos(x); }, 3e38f);
  test("exp", [](V x) { return exp(x); }, [](double x) { return ::exp(x); }, 3e38f);
  test("tanh", [](V x) { return tanh(x); }, [](double x) { return ::tanh(x); }, 3e38f);
  test("sigmoid", [](V x) { return sigmoid(x); }, [](double x) { return 1 / (1 + ::exp(-x)); }, 80);
  test("log", [](V x) { return log(x); }, [](double x) { return ::log(x); }, 3e38f, true);
  std::vector<float> x(4096), y(4096);
  for (int i = 0; i < 4096; i++) x[i] = (i - 2048) * 0.002f;
  auto rate = [&](const char* name, auto f) {
    double s = seconds([&] {
      for (int i = 0; i < 4096; i += 16) store(&y[i], f(load(&x[i])));
      keep(y[0]);
    });
    emit("mathcheck", std::string(name) + " per element, 1 thread, L1", s / 4096 * 1e9, "ns");
  };
  rate("sin", [](V x) { return sin(x); });
  rate("cos", [](V x) { return cos(x); });
  rate("sincos", [](V x) {
    V s, c;
    sincos(x, s, c);
    return s + c;
  });
  rate("exp", [](V x) { return exp(x); });
  rate("tanh", [](V x) { return tanh(x); });
  rate("sigmoid", [](V x) { return sigmoid(x); });
  for (auto& v : x) v = fabsf(v) + 0.1f;
  rate("log", [](V x) { return log(x); });
  double s = seconds([] { pool.run([](int) {}); });
  emit("mathcheck", "fork-join of two workers, back to back", s * 1e9, "ns");
  V a[12];
  for (auto& v : a) v = all(1);
  s = seconds([&] {
    for (int r = 0; r < 10000; r++) {
      for (auto& v : a) v = v * 0.999f + 0.5f;
    }
    keep(a);
  });
  emit("mathcheck", "f32 FMA peak, 1 thread", 12 * 32 * 10000 / s / 1e9, "GF/s");
}
