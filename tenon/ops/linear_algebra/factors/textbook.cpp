#include "tenon/ops/linear_algebra/factors/textbook.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tenon::textbook {
namespace {

constexpr double tiny = std::numeric_limits<double>::epsilon();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Matrix filled_with_nan(std::int64_t rows, std::int64_t columns) {
  Matrix made{rows, columns};
  std::ranges::fill(made.elements, Number(not_a_number, not_a_number));
  return made;
}
double length_of(const Matrix& a) {
  double sum = 0;
  for (const Number x : a.elements) sum += std::norm(x);
  return std::sqrt(sum);
}

// Columns p and q of x become p·c - q·conj(s) and p·s + q·c.
void rotate_columns(Matrix& x, std::int64_t p, std::int64_t q, double c, Number s) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const Number a = x(i, p), b = x(i, q);
    x(i, p) = a * c - b * std::conj(s);
    x(i, q) = a * s + b * c;
  }
}

// c and s of the rotation that makes (p, q) of the Hermitian [[a, g], [conj(g), b]] zero.
std::pair<double, Number> rotation(double a, double b, Number g) {
  const double size = std::abs(g), ratio = (b - a) / (2 * size);
  const double t = (ratio >= 0 ? 1 : -1) / (std::abs(ratio) + std::hypot(1, ratio));
  const double c = 1 / std::hypot(1, t);
  return {c, g / size * (c * t)};
}

std::vector<std::size_t> order_of(const std::vector<double>& values, bool descending) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{});
  std::ranges::stable_sort(
      order, [&](std::size_t i, std::size_t j) { return descending ? values[i] > values[j] : values[i] < values[j]; });
  return order;
}

// The columns of u from `first` on: of length 1 and at right angles to those before.
void complete(Matrix& u, std::int64_t first) {
  for (std::int64_t j = first, axis = 0; j < u.columns; ++axis) {
    std::vector<Number> x(static_cast<std::size_t>(u.rows));
    x[static_cast<std::size_t>(axis)] = 1;
    for (int again = 0; again < 2; ++again)
      for (std::int64_t k = 0; k < j; ++k) {
        Number along = 0;
        for (std::int64_t i = 0; i < u.rows; ++i) along += std::conj(u(i, k)) * x[static_cast<std::size_t>(i)];
        for (std::int64_t i = 0; i < u.rows; ++i) x[static_cast<std::size_t>(i)] -= along * u(i, k);
      }
    double length = 0;
    for (const Number value : x) length += std::norm(value);
    length = std::sqrt(length);
    if (length < 0.5 / std::sqrt(static_cast<double>(u.rows))) continue;  // along those before
    for (std::int64_t i = 0; i < u.rows; ++i) u(i, j) = x[static_cast<std::size_t>(i)] / length;
    ++j;
  }
}

// Householder's reflection that turns x into a multiple of the first axis, applied to both sides of t from row `at` on,
// and to z from the right.
void reflect(Matrix& t, Matrix& z, std::vector<Number> x, std::int64_t at) {
  double length = 0;
  for (const Number value : x) length += std::norm(value);
  length = std::sqrt(length);
  if (length == 0 || x.size() == 1) return;
  x[0] += (std::abs(x[0]) == 0 ? Number(1) : x[0] / std::abs(x[0])) * length;
  double square = 0;
  for (const Number value : x) square += std::norm(value);
  const auto m = static_cast<std::int64_t>(x.size());
  for (std::int64_t j = 0; j < t.columns; ++j) {
    Number along = 0;
    for (std::int64_t i = 0; i < m; ++i) along += std::conj(x[static_cast<std::size_t>(i)]) * t(at + i, j);
    for (std::int64_t i = 0; i < m; ++i) t(at + i, j) -= 2 / square * along * x[static_cast<std::size_t>(i)];
  }
  for (Matrix* of : {&t, &z})
    for (std::int64_t i = 0; i < of->rows; ++i) {
      Number along = 0;
      for (std::int64_t j = 0; j < m; ++j) along += (*of)(i, at + j) * x[static_cast<std::size_t>(j)];
      for (std::int64_t j = 0; j < m; ++j)
        (*of)(i, at + j) -= 2 / square * along * std::conj(x[static_cast<std::size_t>(j)]);
    }
}

// One step of QR with a shift, of rows and columns [first, last] of an upper Hessenberg matrix.
void step_with_shift(Matrix& t, Matrix& z, std::int64_t first, std::int64_t last, Number shift) {
  std::vector<std::pair<Number, Number>> turns;
  for (std::int64_t i = first; i <= last; ++i) t(i, i) -= shift;
  for (std::int64_t k = first; k < last; ++k) {
    const double length = std::hypot(std::abs(t(k, k)), std::abs(t(k + 1, k)));
    const Number c = length == 0 ? 1 : t(k, k) / length, s = length == 0 ? 0 : t(k + 1, k) / length;
    turns.emplace_back(c, s);
    for (std::int64_t j = k; j < t.columns; ++j) {
      const Number a = t(k, j), b = t(k + 1, j);
      t(k, j) = std::conj(c) * a + std::conj(s) * b;
      t(k + 1, j) = c * b - s * a;
    }
  }
  for (std::int64_t k = first; k < last; ++k) {
    const auto [c, s] = turns[static_cast<std::size_t>(k - first)];
    for (Matrix* of : {&t, &z})
      for (std::int64_t i = 0; i < (of == &t ? std::min(k + 2, last + 1) : of->rows); ++i) {
        const Number a = (*of)(i, k), b = (*of)(i, k + 1);
        (*of)(i, k) = a * c + b * s;
        (*of)(i, k + 1) = b * std::conj(c) - a * std::conj(s);
      }
  }
  for (std::int64_t i = first; i <= last; ++i) t(i, i) += shift;
}

// The eigenvalue of the last two rows that is nearer to the last element.
Number shift_of(const Matrix& t, std::int64_t last) {
  const Number a = t(last - 1, last - 1), b = t(last - 1, last), c = t(last, last - 1), d = t(last, last);
  const Number half = (a - d) / 2.0, root = std::sqrt(half * half + b * c);
  return std::abs(half - root) < std::abs(half + root) ? d + half - root : d + half + root;
}

}  // namespace

bool is_finite_matrix(const Matrix& a) {
  return std::ranges::all_of(a.elements, [](Number x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); });
}
Matrix unit(std::int64_t n) {
  Matrix made{n, n};
  for (std::int64_t i = 0; i < n; ++i) made(i, i) = 1;
  return made;
}
Matrix adjoint(const Matrix& a) {
  Matrix made{a.columns, a.rows};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) made(j, i) = std::conj(a(i, j));
  return made;
}
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix made{a.rows, b.columns};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t j = 0; j < b.columns; ++j) made(i, j) += a(i, k) * b(k, j);
  return made;
}

Hermitian hermitian(Matrix a) {
  const std::int64_t n = a.rows;
  Hermitian made{std::vector<double>(static_cast<std::size_t>(n), not_a_number), filled_with_nan(n, n)};
  if (!is_finite_matrix(a)) return made;
  Matrix v = unit(n);
  const double enough = tiny * 1e-3 * length_of(a);
  for (int sweep = 0; sweep < 60; ++sweep)
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        if (std::abs(a(p, q)) <= enough) continue;
        const auto [c, s] = rotation(a(p, p).real(), a(q, q).real(), a(p, q));
        rotate_columns(a, p, q, c, s);
        a = adjoint(a);
        rotate_columns(a, p, q, c, s);
        rotate_columns(v, p, q, c, s);
      }
  std::vector<double> w;
  for (std::int64_t i = 0; i < n; ++i) w.push_back(a(i, i).real());
  std::size_t to = 0;
  for (const std::size_t from : order_of(w, false)) {
    made.w[to] = w[from];
    for (std::int64_t i = 0; i < n; ++i)
      made.v(i, static_cast<std::int64_t>(to)) = v(i, static_cast<std::int64_t>(from));
    ++to;
  }
  return made;
}

Singular singular(const Matrix& a, bool full) {
  if (a.rows < a.columns) {
    Singular other = singular(adjoint(a), full);
    return {adjoint(other.vh), other.s, adjoint(other.u)};
  }
  const std::int64_t m = a.rows, n = a.columns;
  if (!is_finite_matrix(a))
    return {filled_with_nan(m, full ? m : n), std::vector<double>(static_cast<std::size_t>(n), not_a_number),
            filled_with_nan(n, n)};
  Matrix turned = a, v = unit(n);
  for (int sweep = 0; sweep < 60; ++sweep)
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        double pp = 0, qq = 0;
        Number pq = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          pp += std::norm(turned(i, p)), qq += std::norm(turned(i, q));
          pq += std::conj(turned(i, p)) * turned(i, q);
        }
        if (std::abs(pq) <= tiny * std::sqrt(pp * qq) || std::abs(pq) == 0) continue;
        const auto [c, s] = rotation(pp, qq, pq);
        rotate_columns(turned, p, q, c, s), rotate_columns(v, p, q, c, s);
      }
  std::vector<double> lengths;
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < m; ++i) sum += std::norm(turned(i, j));
    lengths.push_back(std::sqrt(sum));
  }
  Singular made{Matrix{m, full ? m : n}, {}, Matrix{n, n}};
  const double zero = tiny * length_of(a);
  std::int64_t to = 0, found = 0;
  for (const std::size_t from : order_of(lengths, true)) {
    const double s = lengths[from];
    const auto j = static_cast<std::int64_t>(from);
    made.s.push_back(s);
    for (std::int64_t i = 0; i < n; ++i) made.vh(to, i) = std::conj(v(i, j));
    if (s > zero) {
      for (std::int64_t i = 0; i < m; ++i) made.u(i, to) = turned(i, j) / s;
      ++found;
    }
    ++to;
  }
  complete(made.u, found);
  return made;
}

Schur schur(const Matrix& a) {
  const std::int64_t n = a.rows;
  if (!is_finite_matrix(a)) return {filled_with_nan(n, n), filled_with_nan(n, n)};
  Schur made{a, unit(n)};
  Matrix& t = made.t;
  for (std::int64_t k = 0; k + 2 < n; ++k) {
    std::vector<Number> below;
    for (std::int64_t i = k + 1; i < n; ++i) below.push_back(t(i, k));
    reflect(t, made.z, below, k + 1);
    for (std::int64_t i = k + 2; i < n; ++i) t(i, k) = 0;
  }
  const double size = length_of(a);
  std::int64_t last = n - 1;
  for (int steps = 0; last > 0 && steps < 100 * n; ++steps) {
    std::int64_t first = last;
    for (; first > 0; --first) {
      const double beside = std::abs(t(first, first)) + std::abs(t(first - 1, first - 1));
      if (std::abs(t(first, first - 1)) <= tiny * (beside == 0 ? size : beside)) {
        t(first, first - 1) = 0;
        break;
      }
    }
    if (first == last)
      --last;
    else  // now and then another shift, where steps go round in circles
      step_with_shift(t, made.z, first, last,
                      steps % 11 == 10 ? std::abs(t(last, last - 1)) + t(last, last) : shift_of(t, last));
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) t(i, j) = 0;
  return last > 0 ? Schur{filled_with_nan(n, n), filled_with_nan(n, n)} : made;
}

General general(const Matrix& a, bool is_real) {
  const std::int64_t n = a.rows;
  const auto [t, z] = schur(a);
  General made{std::vector<Number>(static_cast<std::size_t>(n)), Matrix{n, n}};
  const double smallest = std::max(tiny * length_of(a), std::numeric_limits<double>::min());
  Matrix x{n, n};
  for (std::int64_t k = 0; k < n; ++k) {  // (t - w)·x = 0, from the diagonal upwards
    made.w[static_cast<std::size_t>(k)] = t(k, k);
    x(k, k) = 1;
    for (std::int64_t i = k - 1; i >= 0; --i) {
      Number rest = 0;
      for (std::int64_t j = i + 1; j <= k; ++j) rest -= t(i, j) * x(j, k);
      const Number apart = t(i, i) - t(k, k);
      x(i, k) = rest / (std::abs(apart) < smallest ? Number(smallest) : apart);
    }
  }
  made.v = product(z, x);
  const double almost_real = 100 * std::sqrt(tiny) * smallest;
  for (std::int64_t k = 0; k < n; ++k) {
    double square = 0;
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      square += std::norm(made.v(i, k));
      if (std::abs(made.v(i, k)) > std::abs(made.v(largest, k)) * (1 + 1e-12)) largest = i;
    }
    const Number turn = std::conj(made.v(largest, k)) / std::abs(made.v(largest, k)) / std::sqrt(square);
    for (std::int64_t i = 0; i < n; ++i) made.v(i, k) *= turn;
    made.v(largest, k) = made.v(largest, k).real();
    Number& w = made.w[static_cast<std::size_t>(k)];
    if (!is_real || std::abs(w.imag()) > std::max(almost_real, 1e-12 * std::abs(w))) continue;
    w = w.real();
    for (std::int64_t i = 0; i < n; ++i) made.v(i, k) = made.v(i, k).real();
  }
  if (!is_real) return made;
  // Pairs beside each other: the second is the conjugate of the first.
  General paired{{}, Matrix{n, n}};
  const auto put = [&](Number w, std::int64_t from, bool conjugate) {
    const auto to = static_cast<std::int64_t>(paired.w.size());
    if (to == n) return;
    paired.w.push_back(w);
    for (std::int64_t i = 0; i < n; ++i) paired.v(i, to) = conjugate ? std::conj(made.v(i, from)) : made.v(i, from);
  };
  for (std::int64_t k = 0; k < n; ++k) {
    const Number w = made.w[static_cast<std::size_t>(k)];
    if (w.imag() < 0) continue;
    put(w, k, false);
    if (w.imag() > 0) put(std::conj(w), k, true);
  }
  return std::cmp_equal(paired.w.size(), n) ? paired : made;
}

Schur real_schur(const Matrix& a) {
  const std::int64_t n = a.rows;
  if (!is_finite_matrix(a)) return {filled_with_nan(n, n), filled_with_nan(n, n)};
  Schur made{a, unit(n)};
  Matrix& t = made.t;
  std::int64_t at = 0;
  while (at < n) {  // an eigenvector of what is left becomes the next axis, or one of a pair the next two
    Matrix rest{n - at, n - at};
    for (std::int64_t i = at; i < n; ++i)
      for (std::int64_t j = at; j < n; ++j) rest(i - at, j - at) = t(i, j);
    const General found = general(rest, true);
    const auto part = [&](bool imaginary) {
      std::vector<Number> x;
      for (std::int64_t i = 0; i < n - at; ++i) x.emplace_back(imaginary ? found.v(i, 0).imag() : found.v(i, 0).real());
      return x;
    };
    const bool pair = found.w[0].imag() != 0;
    if (!pair) {
      reflect(t, made.z, part(false), at);
    } else {  // the real part, then the imaginary one as that reflection leaves it
      Matrix y{n - at, 1}, turn = unit(n - at), aside{n - at, n - at};
      y.elements = part(true);
      reflect(aside, turn, part(false), 0);
      reflect(t, made.z, part(false), at);
      std::vector<Number> below = product(adjoint(turn), y).elements;
      below.erase(below.begin());
      reflect(t, made.z, below, at + 1);
      // Equal diagonals: rotation(…) of the symmetric part of what they differ by.
      const double difference = (t(at, at) - t(at + 1, at + 1)).real();
      const double angle = 0.5 * std::atan2(difference, (t(at, at + 1) + t(at + 1, at)).real());
      const double c = std::cos(angle), s = std::sin(angle);
      rotate_columns(t, at, at + 1, c, s), rotate_columns(made.z, at, at + 1, c, s);
      t = adjoint(t);
      rotate_columns(t, at, at + 1, c, s);
      t = adjoint(t);
    }
    const std::int64_t next = at + (pair ? 2 : 1);
    for (std::int64_t i = next; i < n; ++i)
      for (std::int64_t j = at; j < next; ++j) t(i, j) = 0;
    at = next;
  }
  return made;
}

}  // namespace tenon::textbook
