// Another process: from its start to the first result of jit(f)(x), and how long a program that was compiled before
// takes until its first result, with code from disk and without. The program runs itself again.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;

namespace {

double seconds_of(const char* what) {
  const double start = bench::now();
  if (std::string_view(what) == "short") {
    auto f = tn::jit([](tn::Array x) { return tn::sin(x) + 1.0f; });
    f(tn::arange(8, tn::DType::f32));
  } else {
    auto inner = tn::jit([](tn::Array x) {
      for (int i = 0; i < 10; ++i) x = tn::sin(tn::matmul(x, x)) * 0.5f + x;
      return x;
    });
    auto f = tn::jit(tn::grad([inner](tn::Array x) {
      for (int i = 0; i < 100; ++i) x = tn::cos(inner(x) + float(i));
      return tn::sum(x);
    }));
    f(tn::eye(20, tn::DType::f32) * 0.1f);
  }
  return bench::now() - start;
}

// The median of what children print, and of how long they take.
struct Times {
  double inside, outside;
};
Times of_children(const std::string& program, const std::string& what, const std::string& cache) {
  std::vector<double> inside, outside;
  for (int i = 0; i < 11; ++i) {
    const double start = bench::now();
    std::FILE* child = ::popen(fmt::format("TENON_CACHE='{}' '{}' {}", cache, program, what).c_str(), "r");
    double seconds = 0;
    if (child == nullptr || std::fscanf(child, "%lf", &seconds) != 1 || ::pclose(child) != 0) std::exit(1);
    inside.push_back(seconds);
    outside.push_back(bench::now() - start);
  }
  for (auto* times : {&inside, &outside}) std::ranges::sort(*times);
  return {inside[inside.size() / 2] * 1e3, outside[outside.size() / 2] * 1e3};
}

}  // namespace

int main(int count, char** words) {
  if (count > 1) {
    std::printf("%.9f\n", seconds_of(words[1]));
    return 0;
  }
  char folder[] = "/tmp/tenon.bench.XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  const std::string kept = std::string(folder) + "/kept";
  for (const char* what : {"short", "long"}) {
    const Times anew = of_children(words[0], what, "off"), again = of_children(words[0], what, kept);
    const std::string name = what == std::string_view("short") ? "fresh process" : "fresh process, long program";
    bench::emit(name, "first result of jit(f)(x)", anew.outside, "ms");
    bench::emit(name, "first call", anew.inside, "ms");
    bench::emit(name, "first call, code from disk", again.inside, "ms");
  }
  std::filesystem::remove_all(folder);
}
