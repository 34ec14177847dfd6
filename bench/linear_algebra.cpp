// Factors and linear systems on one thread beside OpenBLAS, which is opened where it is installed.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "bench/measure.h"
#include "tenon/runtime/threads/parallel_for.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

using Potrf = void (*)(const char*, const int*, double*, const int*, int*, std::size_t);
using Gesv = void (*)(const int*, const int*, double*, const int*, int*, double*, const int*, int*);

void measure(int batch, int n, Potrf potrf, Gesv gesv) {
  const Array x = tn::reshape(tn::sin(tn::convert(tn::arange(batch * n * n), tn::DType::f64)), {batch, n, n});
  const Array a = tn::matmul(x, tn::move_axis(x, 1, 2)) + tn::eye(n, tn::DType::f64) * 3.f,
              b = tn::ones({batch, n, 1}, tn::DType::f64);
  const std::string shape = "f64[" + std::to_string(batch) + "," + std::to_string(n) + "," + std::to_string(n) + "]";
  const tn::Buffer matrices = a.to_buffer();
  std::vector<double> factors(static_cast<std::size_t>(batch) * n * n), right(static_cast<std::size_t>(n));
  std::vector<int> pivots(static_cast<std::size_t>(n));
  const auto row = [&](const std::string& what, auto function, auto direct) {
    const auto f = tn::jit(function);
    bench::emit(what + " of " + shape, "tenon", bench::median_seconds(f, a, b) * 1e6, "us");
    bench::emit(what + " of " + shape, "OpenBLAS", bench::median_seconds([&] {
                                                     std::copy_n(matrices.as<double>(), factors.size(), factors.data());
                                                     for (int i = 0; i < batch; ++i) direct(factors.data() + i * n * n);
                                                     bench::keep(factors);
                                                   }) * 1e6,
                "us");
  };
  int info = 0;
  const int one = 1;
  row(
      "cholesky", [](const Array& m, const Array&) { return tn::cholesky(m, {.symmetrize = false}); },
      [&](double* m) { potrf("U", &n, m, &n, &info, 1); });
  row(
      "solve", [](const Array& m, const Array& r) { return tn::solve(m, r); },
      [&](double* m) {
        std::ranges::fill(right, 1.);
        gesv(&n, &one, m, &n, pivots.data(), right.data(), &n, &info);
      });
}

}  // namespace

int main() {
  tn::set_threads(1);
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* const library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;
  const auto potrf = reinterpret_cast<Potrf>(::dlsym(library, "dpotrf_"));
  const auto gesv = reinterpret_cast<Gesv>(::dlsym(library, "dgesv_"));
  measure(1000, 4, potrf, gesv);
  measure(100, 32, potrf, gesv);
  measure(1, 512, potrf, gesv);
}
