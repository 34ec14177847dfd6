// Steps that read the array before at two index maps, x = (x + x[at]) / 2 and x = (x + reversed x) / 2: what is
// computed again, and what is stored. Beside limits/shifts.cpp, with the same input.
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace tn = tenon;
using tn::Array;

namespace {

constexpr std::int64_t size = 1000;

Array weights() { return tn::convert(tn::arange(size) % 7, tn::DType::f64); }

template <class F>
void measure(const std::string& name, const std::string& figure, F f, const Array& x) {
  const double start = bench::now();
  const auto compiled = tn::jit(f).prepare(x);
  bench::emit(name, figure + ", compile", (bench::now() - start) * 1e3, "ms");
  const Array result = compiled(x);
  bench::emit(name, figure, bench::median_seconds(compiled, x) * 1e6, "us");
  const Array sum = tn::sum(tn::convert(result, tn::DType::f64) * weights());
  bench::emit(name, "checksum " + figure, sum.item<double>(), "");
}

}  // namespace

int main() {
  std::vector<float> numbers;
  std::vector<std::int32_t> places;
  for (std::int64_t i = 0; i < size; ++i)
    numbers.push_back(static_cast<float>(i % 97) / 97),
        places.push_back(static_cast<std::int32_t>((i * 389 + 11) % size));
  const Array x = tn::array<float>(numbers, {size}), at = tn::array<std::int32_t>(places, {size});
  for (const int n : {10, 60, 300, 1000}) {
    const std::string name = "x + x[at], n = " + std::to_string(n);
    const auto steps = [n](auto other) {
      return [=](Array x) {
        for (int k = 0; k < n; ++k) x = (x + other(x)) * 0.5f;
        return x;
      };
    };
    measure(name, "gather", steps([&](const Array& x) { return x(at); }), x);
    measure(name, "reverse", steps([](const Array& x) { return tn::reverse(x, {0}); }), x);
  }
}
