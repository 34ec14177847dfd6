// Det: the determinant of a small matrix by minors along its rows, element by element; the gradient is the cofactors.
#pragma once

#include "bench/gradbench/data.h"

namespace gradbench::det {

struct Inputs {
  int n;
  Values a;
  explicit Inputs(int n) : n(n), a(values(1, static_cast<std::size_t>(n * n), -1, 1)) {}
  std::string name() const { return "gradbench det n" + std::to_string(n); }
};

// Minors of the rows from `row` on are named by the set of their columns: 2^n of them, each computed once.
inline Values minors(const Inputs& in) {
  Values of(std::size_t(1) << in.n);
  of[0] = 1;
  for (std::size_t columns = 1; columns < of.size(); ++columns) {
    const int row = in.n - __builtin_popcountll(columns);
    double sign = 1;
    for (int j = 0; j < in.n; ++j)
      if (columns >> j & 1) {
        of[columns] += sign * in.a[row * in.n + j] * of[columns ^ std::size_t(1) << j];
        sign = -sign;
      }
  }
  return of;
}

inline Result by_hand(const Inputs& in, bool gradient) {
  const Values of = minors(in);
  Result result{of.back(), Values(gradient ? in.a.size() : 0)};
  if (!gradient) return result;
  Values d(of.size());
  d.back() = 1;
  for (std::size_t columns = of.size() - 1; columns > 0; --columns) {
    const int row = in.n - __builtin_popcountll(columns);
    double sign = d[columns];
    for (int j = 0; j < in.n; ++j)
      if (columns >> j & 1) {
        const std::size_t rest = columns ^ std::size_t(1) << j;
        result.derivative[row * in.n + j] += sign * of[rest];
        d[rest] += sign * in.a[row * in.n + j];
        sign = -sign;
      }
  }
  return result;
}

}  // namespace gradbench::det
