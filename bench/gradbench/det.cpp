#include "bench/gradbench/det.h"

#include "bench/gradbench/case.h"

namespace gradbench {
namespace {

// By minors, traced element by element: each of the n! products is written, and equal minors are computed once.
Array determinant(const std::vector<std::vector<Array>>& a, const std::vector<std::size_t>& columns) {
  const std::size_t row = a.size() - columns.size();
  if (columns.size() == 1) return a[row][columns[0]];
  Array sum(0.0);
  for (std::size_t j = 0; j < columns.size(); ++j) {
    std::vector<std::size_t> rest = columns;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(j));
    const Array term = a[row][columns[j]] * determinant(a, rest);
    sum = j % 2 == 0 ? sum + term : sum - term;
  }
  return sum;
}

Array of_matrix(const Array& matrix) {
  const auto n = static_cast<std::size_t>(matrix.size(0));
  std::vector<std::vector<Array>> a(n);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < n; ++i) {
    columns.push_back(i);
    for (std::size_t j = 0; j < n; ++j) a[i].push_back(matrix(i, j));
  }
  return determinant(a, columns);
}

}  // namespace

bool run_det() {
  bool agrees = true;
  for (const int n : {5, 7}) {
    const det::Inputs in(n);
    agrees = measure(in.name(), of_matrix, tn::grad(of_matrix), det::by_hand(in, true), array(in.a, {n, n})) && agrees;
  }
  return agrees;
}

}  // namespace gradbench
