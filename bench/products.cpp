// Matrix products of tenon/runtime/linear_algebra/products.h on one thread, beside the processor's FMA peak of the
// moment and beside oneDNN where it is installed. `bench_products --table` prints GF/s instead of JSON.
#include "tenon/runtime/linear_algebra/products.h"

#include <dlfcn.h>
#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "tenon/base/dtype.h"
#include "tenon/runtime/threads/parallel_for.h"

namespace {

using Size = std::int64_t;
using Sgemm = int (*)(char, char, Size, Size, Size, float, const float*, Size, const float*, Size, float, float*, Size);

bool table = false;

void report(const std::string& which, const std::string& figure, double seconds, double flops) {
  if (table)
    std::printf("%-28s %-8s %10.3f us %8.1f GF/s\n", which.c_str(), figure.c_str(), seconds * 1e6,
                flops / seconds * 1e-9);
  else
    bench::emit("products " + which, figure, seconds * 1e6, "us");
}

// Ten independent chains of fused multiply-adds, which hide the latency of two units, for each vector width.
#define TENON_FMA_CHAINS(name, isa, V, set, fma)                                 \
  __attribute__((target(isa))) void name(long rounds) {                          \
    V a = set(0), b = a, c = a, d = a, e = a, f = a, g = a, h = a, i = a, j = a; \
    const V x = set(0.999f), y = set(0.001f);                                    \
    for (long round = 0; round < rounds; ++round) {                              \
      a = fma(a, x, y), b = fma(b, x, y), c = fma(c, x, y), d = fma(d, x, y);    \
      e = fma(e, x, y), f = fma(f, x, y), g = fma(g, x, y), h = fma(h, x, y);    \
      i = fma(i, x, y), j = fma(j, x, y);                                        \
      asm volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e));            \
      asm volatile("" : "+v"(f), "+v"(g), "+v"(h), "+v"(i), "+v"(j));            \
    }                                                                            \
  }
TENON_FMA_CHAINS(chains_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps)
TENON_FMA_CHAINS(chains_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps)

double peak() {
  constexpr long rounds = 100000;
  double best = 2. * 8 * 10 * rounds / bench::median_seconds([] { chains_avx2(rounds); });
  if (__builtin_cpu_supports("avx512f"))
    best = std::max(best, 2. * 16 * 10 * rounds / bench::median_seconds([] { chains_avx512(rounds); }));
  return best;
}

template <class T>
std::vector<T> random_values(Size count) {
  std::mt19937 random(1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& v : values) v = T(std::uniform_real_distribution<float>(-1, 1)(random));
  return values;
}

template <class T>
void measure(Size batch, Size m, Size n, Size k, const char* spelling, Sgemm dnnl) {
  const bool ta = spelling[0] == 'T', tb = spelling[1] == 'T';
  const auto a = random_values<T>(batch * m * k), b = random_values<T>(batch * k * n);
  std::vector<T> c(static_cast<std::size_t>(batch * m * n));
  TenonGemm g{static_cast<std::int32_t>(*tenon::dtype_of<T>),
              0,
              batch,
              m,
              n,
              k,
              m * k,
              ta ? 1 : k,
              ta ? m : 1,
              k * n,
              tb ? 1 : n,
              tb ? k : 1,
              m * n,
              n,
              1};
  const std::string which = std::string(tenon::name(*tenon::dtype_of<T>)) + " " +
                            (batch > 1 ? std::to_string(batch) + "x" : "") + std::to_string(m) + "," +
                            std::to_string(n) + "," + std::to_string(k) + " " + spelling;
  const double flops = 2. * batch * m * n * k;
  report(which, "tenon", bench::median_seconds([&] { tenon_gemm(&g, a.data(), b.data(), c.data()); }), flops);
  if constexpr (std::is_same_v<T, float>)
    if (dnnl != nullptr)
      report(which, "onednn", bench::median_seconds([&] {
               for (Size i = 0; i < batch; ++i)
                 dnnl(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, a.data() + i * m * k, ta ? m : k,
                      b.data() + i * k * n, tb ? k : n, 0, c.data() + i * m * n, n);
             }),
             flops);
}

}  // namespace

int main(int count, char** arguments) {
  table = count > 1 && std::strcmp(arguments[1], "--table") == 0;
  tenon::set_threads(1);
  ::setenv("OMP_NUM_THREADS", "1", 1);
  void* const library = ::dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  const auto dnnl = library ? reinterpret_cast<Sgemm>(::dlsym(library, "dnnl_sgemm")) : nullptr;
  if (table) std::printf("FMA peak of one core, f32: %.0f GF/s\n", peak() * 1e-9);
  struct Shape {
    Size batch, m, n, k;
    const char* spelling;
  };
  for (const auto& [batch, m, n, k, spelling] : std::initializer_list<Shape>{{1, 4, 4, 4, "NN"},
                                                                             {1, 16, 16, 16, "NN"},
                                                                             {64, 32, 32, 32, "NN"},
                                                                             {1, 1, 512, 512, "NN"},
                                                                             {1, 1, 512, 512, "NT"},
                                                                             {1, 512, 1, 512, "NN"},
                                                                             {1, 512, 1, 512, "TN"},
                                                                             {1, 10, 128, 128, "NN"},
                                                                             {1, 10, 128, 128, "NT"},
                                                                             {1, 32, 512, 512, "NN"},
                                                                             {1, 32, 512, 512, "NT"},
                                                                             {1, 512, 512, 32, "TN"},
                                                                             {1, 256, 256, 256, "NN"},
                                                                             {1, 128, 128, 4096, "TN"},
                                                                             {1, 1024, 1024, 1024, "NN"},
                                                                             {1, 1024, 1024, 1024, "TN"},
                                                                             {1, 1024, 1024, 1024, "NT"}}) {
    measure<float>(batch, m, n, k, spelling, dnnl);
    measure<double>(batch, m, n, k, spelling, nullptr);
  }
  measure<tenon::BFloat16>(1, 256, 256, 256, "NN", nullptr);
  measure<tenon::Float16>(1, 256, 256, 256, "NN", nullptr);
}
