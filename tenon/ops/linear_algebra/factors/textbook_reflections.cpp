#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tenon/ops/linear_algebra/factors/textbook.h"

namespace tenon::textbook {
namespace {

const Number unknown(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN());

std::vector<double> places(std::int64_t n) {
  std::vector<double> made(static_cast<std::size_t>(n));
  std::iota(made.begin(), made.end(), 0.0);
  return made;
}

// Column j from row `at` on becomes a multiple of the first axis, and below that the reflection's vector; gives τ.
Number reflect_column(Matrix& h, std::int64_t at, std::int64_t j) {
  double rest = 0;
  for (std::int64_t i = at + 1; i < h.rows; ++i) rest = std::hypot(rest, std::abs(h(i, j)));
  const Number first = h(at, j);
  if (rest == 0 && first.imag() == 0) return 0;
  const double end = std::copysign(std::hypot(rest, std::abs(first)), -first.real());
  for (std::int64_t i = at + 1; i < h.rows; ++i) h(i, j) /= first - end;
  h(at, j) = end;
  return (end - first) / end;
}

// The vector of a reflection that stands in column j of h, from row `at` on.
std::vector<Number> vector_of(const Matrix& h, std::int64_t at, std::int64_t j) {
  std::vector<Number> v(static_cast<std::size_t>(h.rows));
  v[static_cast<std::size_t>(at)] = 1;
  for (std::int64_t i = at + 1; i < h.rows; ++i) v[static_cast<std::size_t>(i)] = h(i, j);
  return v;
}
// Columns from `begin` on of a become (1 - τ·v·vᴴ)·a.
void reflect_rows(Matrix& a, const std::vector<Number>& v, Number tau, std::int64_t begin) {
  for (std::int64_t j = begin; j < a.columns; ++j) {
    Number along = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) along += std::conj(v[static_cast<std::size_t>(i)]) * a(i, j);
    for (std::int64_t i = 0; i < a.rows; ++i) a(i, j) -= tau * along * v[static_cast<std::size_t>(i)];
  }
}
void reflect_columns(Matrix& a, const std::vector<Number>& v, Number tau, std::int64_t begin) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    Number along = 0;
    for (std::int64_t j = begin; j < a.columns; ++j) along += a(i, j) * v[static_cast<std::size_t>(j)];
    for (std::int64_t j = begin; j < a.columns; ++j) a(i, j) -= tau * along * std::conj(v[static_cast<std::size_t>(j)]);
  }
}

// The column from k on with the longest rest, first.
void exchange_longest(Reflections& made, std::int64_t k) {
  Matrix& h = made.h;
  std::int64_t longest = k;
  double most = -1;
  for (std::int64_t j = k; j < h.columns; ++j) {
    double length = 0;
    for (std::int64_t i = k; i < h.rows; ++i) length = std::hypot(length, std::abs(h(i, j)));
    if (length > most) most = length, longest = j;
  }
  for (std::int64_t i = 0; i < h.rows; ++i) std::swap(h(i, k), h(i, longest));
  std::swap(made.order[static_cast<std::size_t>(k)], made.order[static_cast<std::size_t>(longest)]);
}

}  // namespace

Lu lu(const Matrix& a) {
  const std::int64_t steps = std::min(a.rows, a.columns);
  Lu made{a, places(steps), places(a.rows)};
  Matrix& f = made.factors;
  if (!is_finite_matrix(a)) std::ranges::fill(f.elements, unknown);
  for (std::int64_t k = 0; k < steps && is_finite_matrix(a); ++k) {
    const auto size = [&](std::int64_t i) { return std::abs(f(i, k).real()) + std::abs(f(i, k).imag()); };
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < f.rows; ++i)
      if (size(i) > size(pivot)) pivot = i;
    made.pivots[static_cast<std::size_t>(k)] = static_cast<double>(pivot);
    std::swap(made.order[static_cast<std::size_t>(k)], made.order[static_cast<std::size_t>(pivot)]);
    for (std::int64_t j = 0; j < f.columns; ++j) std::swap(f(k, j), f(pivot, j));
    if (size(k) == 0) continue;
    for (std::int64_t i = k + 1; i < f.rows; ++i) {
      f(i, k) /= f(k, k);
      for (std::int64_t j = k + 1; j < f.columns; ++j) f(i, j) -= f(i, k) * f(k, j);
    }
  }
  return made;
}

Reflections qr(const Matrix& a, bool pivoting) {
  const std::int64_t steps = std::min(a.rows, a.columns);
  Reflections made{a, std::vector<Number>(static_cast<std::size_t>(steps), unknown), places(a.columns)};
  if (!is_finite_matrix(a)) {
    std::ranges::fill(made.h.elements, unknown);
    return made;
  }
  for (std::int64_t k = 0; k < steps; ++k) {
    if (pivoting) exchange_longest(made, k);
    const Number tau = made.taus[static_cast<std::size_t>(k)] = reflect_column(made.h, k, k);
    reflect_rows(made.h, vector_of(made.h, k, k), std::conj(tau), k + 1);
  }
  return made;
}

Matrix reflections_product(const Matrix& h, const std::vector<Number>& taus) {
  Matrix q{h.rows, h.columns};
  for (std::int64_t i = 0; i < h.columns; ++i) q(i, i) = 1;
  if (!is_finite_matrix(h) || !is_finite_matrix({1, static_cast<std::int64_t>(taus.size()), taus}))
    std::ranges::fill(q.elements, unknown);
  for (auto k = static_cast<std::int64_t>(taus.size()); k-- > 0;)
    reflect_rows(q, vector_of(h, k, k), taus[static_cast<std::size_t>(k)], 0);
  return q;
}

Reflections hessenberg(const Matrix& a) {
  const std::int64_t steps = std::max<std::int64_t>(a.rows, 1) - 1;
  Reflections made{a, std::vector<Number>(static_cast<std::size_t>(steps), unknown), {}};
  if (!is_finite_matrix(a)) {
    std::ranges::fill(made.h.elements, unknown);
    return made;
  }
  for (std::int64_t k = 0; k < steps; ++k) {
    const Number tau = made.taus[static_cast<std::size_t>(k)] = reflect_column(made.h, k + 1, k);
    const std::vector<Number> v = vector_of(made.h, k + 1, k);
    reflect_columns(made.h, v, tau, k + 1);
    reflect_rows(made.h, v, std::conj(tau), k + 1);
  }
  return made;
}

Tridiagonal tridiagonal(const Matrix& a) {
  Matrix whole = a;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    whole(i, i) = a(i, i).real();
    for (std::int64_t j = 0; j < i; ++j) whole(j, i) = std::conj(a(i, j));
  }
  if (!is_finite_matrix(a)) whole = a;
  Tridiagonal made{hessenberg(whole), {}, {}};
  Matrix& h = made.of.h;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    made.d.push_back(h(i, i).real());
    if (i > 0) made.e.push_back(h(i, i - 1).real());
    h(i, i) = is_finite_matrix(a) ? h(i, i).real() : unknown;
    for (std::int64_t j = i + 1; j < a.columns && is_finite_matrix(a); ++j) h(i, j) = a(i, j);
  }
  return made;
}

LeastSquares least_squares(const Matrix& a, const Matrix& b, double bound) {
  const std::int64_t steps = std::min(a.rows, a.columns);
  LeastSquares made{Matrix{a.columns, b.columns}, std::vector<double>(static_cast<std::size_t>(steps), unknown.real())};
  if (steps == 0) return made;
  if (!is_finite_matrix(a) || !is_finite_matrix(b) || !std::isfinite(bound)) {
    std::ranges::fill(made.x.elements, unknown);
    return made;
  }
  const Singular of = singular(a, false);
  made.s = of.s;
  Matrix along = product(adjoint(of.u), b);
  for (std::int64_t i = 0; i < steps; ++i)
    for (std::int64_t j = 0; j < b.columns; ++j) {
      const double s = of.s[static_cast<std::size_t>(i)];
      along(i, j) = s <= bound * of.s[0] ? 0 : along(i, j) / s;
    }
  made.x = product(adjoint(of.vh), along);
  return made;
}

}  // namespace tenon::textbook
