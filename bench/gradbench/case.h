// One objective as Tenon's program: it has to agree with what is computed by hand, and is timed.
#pragma once

#include <algorithm>
#include <string>

#include "bench/gradbench/data.h"
#include "bench/measure.h"
#include "tenon/tenon.h"

namespace gradbench {

namespace tn = tenon;
using tn::Array;

// Of the largest element: ten digits.
inline constexpr double agreement = 1e-10;

inline Array array(const Values& elements, std::vector<std::int64_t> shape) {
  return tn::array(std::span<const double>(elements), std::move(shape));
}
template <class Tree>
Values elements_of(const Tree& tree) {
  Values all;
  for (const Array& leaf : tn::tree::leaves(tree)) {
    const Array row = tn::reshape(leaf, {-1});
    all.insert(all.end(), row.span<double>().begin(), row.span<double>().end());
  }
  return all;
}

// Whether they agree; says on the standard error where they do not.
bool agree(const std::string& which, const char* what, const Values& got, const Values& wanted);
// Whether there is time to measure: not where main() was told to check alone.
bool timed();

// The objective f and its derivative, jitted, at these arguments.
template <class F, class D, class... Args>
bool measure(const std::string& which, F f, D derivative, const Result& by_hand, const Args&... args) {
  const auto value = tn::jit(f);
  const auto slopes = tn::jit(derivative);
  const double start = bench::now();
  const Values got = elements_of(slopes(args...));
  if (timed()) bench::emit(which, "first derivative", 1e3 * (bench::now() - start), "ms");
  const bool agrees = agree(which, "value", {elements_of(value(args...))[0]}, {by_hand.value}) &&
                      agree(which, "derivative", got, by_hand.derivative);
  if (timed()) {
    bench::emit(which, "forward", 1e3 * bench::median_seconds([&] { auto result = value(args...); }), "ms");
    bench::emit(which, "derivative", 1e3 * bench::median_seconds([&] { auto result = slopes(args...); }), "ms");
  }
  return agrees;
}

// The rooms: each runs its objective at all sizes, and says whether all agree.
bool run_gmm();
bool run_lstm();
bool run_ba();
bool run_ode();
bool run_kmeans();
bool run_lse();
bool run_det();

}  // namespace gradbench
