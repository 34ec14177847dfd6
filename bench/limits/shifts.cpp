// Case 11: x = (x + x[at]) / 2 and x = (x + reversed x) / 2, n times on f32[1000]: one loop a step, between two
// buffers.
#include "limits.h"
static void gathers(float* x, float* y, const int32_t* at, long size, int n) {
  for (int k = 0; k < n; k++, std::swap(x, y))
    for (long i = 0; i < size; i++) y[i] = (x[i] + x[at[i]]) * 0.5f;
}
static void reverses(float* x, float* y, long size, int n) {
  for (int k = 0; k < n; k++, std::swap(x, y))
    for (long i = 0; i < size; i++) y[i] = (x[i] + x[size - 1 - i]) * 0.5f;
}
int main() {
  constexpr long size = 1000;
  std::vector<float> x(size), a(size), b(size);
  std::vector<int32_t> at(size);
  for (long i = 0; i < size; i++) x[i] = float(i % 97) / 97, at[i] = int32_t((i * 389 + 11) % size);
  for (int n : {10, 60, 300, 1000}) {
    std::string c = "x + x[at], n = " + std::to_string(n);
    const auto result = [&] {
      double sum = 0;
      for (long i = 0; i < size; i++) sum += double((n % 2 ? b : a)[i]) * (i % 7);
      return sum;
    };
    const auto run = [&](const char* f, auto step) {
      emit(c, f, seconds([&] { a = x, step(), keep(a[0]); }) * 1e6, "us");
      check(c, f, result());
    };
    run("gather", [&] { gathers(a.data(), b.data(), at.data(), size, n); });
    run("reverse", [&] { reverses(a.data(), b.data(), size, n); });
  }
}
