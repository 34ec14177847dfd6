// Norms, condition numbers, powers and products of several matrices.
#include <fmt/format.h>

#include <limits>

#include "tenon/api/linalg.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/ops/composites/statistics.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// The largest of numbers that are not negative: of none 0.
Array largest(const Array& sizes, const Axes& axes, std::string_view op) {
  for (const std::int64_t axis : axes.of(sizes.type(), op))
    if (sizes.shape()[static_cast<std::size_t>(axis)].try_value() == 0) return sum(sizes, axes);
  return amax(sizes, axes);
}

}  // namespace

Array vector_norm(const Operand& x, double ord, const Axes& axes) {
  const SourceScope place(x.where(), "vector_norm");
  const Array given = to_inexact(x.array());
  if (ord == 2) return norm(given, axes);
  const Array sizes = abs(given);
  if (ord == infinite) return largest(sizes, axes, "vector_norm");
  if (ord == -infinite) return amin(sizes, axes);
  if (ord == 0) return sum(convert(sizes != 0, sizes.dtype()), axes);
  if (ord == 1) return sum(sizes, axes);
  return pow(sum(pow(sizes, ord), axes), 1 / ord);
}

Array matrix_norm(const Operand& x, MatrixNorm ord, const MatrixNormOptions& options) {
  const SourceScope place(x.where(), "matrix_norm");
  const Array given = to_inexact(x.array());
  const std::vector<std::int64_t> both = Axes{options.rows, options.columns}.of(given.type(), "matrix_norm");
  const Axes of_rows = Axes(options.rows).keepdims(), of_columns = Axes(options.columns).keepdims();
  const auto rank = static_cast<std::int64_t>(given.rank());
  const auto by_sums = [&](bool greatest, const Axes& along, const Axes& over) {
    const Array sums = sum(abs(given), along);
    return greatest ? largest(sums, over, "matrix_norm") : amin(sums, over);
  };
  const auto by_values = [&](auto f) {
    const std::int64_t rows = options.rows < 0 ? options.rows + rank : options.rows;
    const std::int64_t columns = options.columns < 0 ? options.columns + rank : options.columns;
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < rank; ++i)
      if (i != rows && i != columns) order.push_back(i);
    order.push_back(rows), order.push_back(columns);
    const Array made = f(svdvals(transpose(given, order)));
    Shape shape = given.shape();
    for (const std::int64_t axis : both) shape[static_cast<std::size_t>(axis)] = 1;
    return reshape(made, shape);
  };
  const Array made = [&] {
    switch (ord) {
      case MatrixNorm::one:
      case MatrixNorm::minus_one:
        return by_sums(ord == MatrixNorm::one, of_rows, of_columns);
      case MatrixNorm::infinity:
      case MatrixNorm::minus_infinity:
        return by_sums(ord == MatrixNorm::infinity, of_columns, of_rows);
      case MatrixNorm::nuclear:
        return by_values([](const Array& s) { return sum(s, -1); });
      case MatrixNorm::two:
        return by_values([](const Array& s) { return largest(s, -1, "matrix_norm"); });
      case MatrixNorm::minus_two:
        return by_values([](const Array& s) { return amin(s, -1); });
      case MatrixNorm::frobenius:
        break;
    }
    return norm(given, Axes{options.rows, options.columns}.keepdims());
  }();
  if (options.keepdims) return made;
  std::vector<Dim> dims;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != both[0] && i != both[1]) dims.push_back(made.shape()[static_cast<std::size_t>(i)]);
  return reshape(made, Shape(std::move(dims)));
}

Array cond(const Operand& a, MatrixNorm ord) {
  const SourceScope place(a.where(), "cond");
  const bool by_values = ord == MatrixNorm::two || ord == MatrixNorm::minus_two;
  const Taken x = by_values ? matrix_of("cond", a) : square_of("cond", a);
  if (without_elements(x.a))
    throw ShapeError(fmt::format("cond: the matrices of {} have no elements.", a->type().text()),
                     "A condition number is a quotient of norms, which are 0 of such ones.");
  Array made = x.a;
  if (by_values) {
    const Array s = svdvals(x.a), most = amax(s, -1), least = amin(s, -1);
    made = ord == MatrixNorm::two ? most / least : least / most;
  } else {
    made = matrix_norm(x.a, ord) * matrix_norm(inv(x.a), ord);
  }
  const Array unknown = is_nan(made) & !any(is_nan(real(x.a)) | is_nan(imag(x.a)), Axes{-2, -1});
  return x.narrow(where(unknown, convert(infinite, made.dtype()), made));
}

Array matrix_power(const Operand& a, std::int64_t n) {
  const SourceScope place(a.where(), "matrix_power");
  Array power = a.array();
  if (power.rank() < 2 ||
      !decided_equal(matrices::rows_of(power.type()), matrices::columns_of(power.type())).value_or(true))
    throw ShapeError(fmt::format("matrix_power: {} has no square matrices.", power.type().text()),
                     "Its last two axes have one size.");
  if (n < 0) power = inv(power);
  // |n| of the least integer too
  std::uint64_t left = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  std::optional<Array> made;
  for (; left != 0; left >>= 1) {
    if (left & 1) made = made ? matmul(*made, power) : power;
    if (left > 1) power = matmul(power, power);
  }
  return made ? *made : matrices::unit_like(power);
}

Array multi_dot(const Arrays& factors, const Source& where) {
  const SourceScope place(where, "multi_dot");
  const auto refuse = [&](const Array& x) {
    throw ShapeError(fmt::format("multi_dot: {} is no factor of this chain.", x.type().text()),
                     "Factors are matrices, the first and the last may be vectors, and sizes that meet are equal.");
  };
  if (factors.empty()) throw ShapeError("multi_dot: there are no factors.", "Give one or more.");
  const std::size_t n = factors.size();
  if (n == 1) return factors[0];
  Arrays all = factors;
  const bool row = all.front().rank() == 1, column = all.back().rank() == 1;
  if (row) all.front() = expand_dims(all.front(), 0);
  if (column) all.back() = expand_dims(all.back(), 1);
  std::vector<double> sizes;
  for (std::size_t i = 0; i < n; ++i) {
    if (all[i].rank() != 2) refuse(factors[i]);
    const Dim rows = matrices::rows_of(all[i].type());
    if (i > 0 && !decided_equal(matrices::columns_of(all[i - 1].type()), rows).value_or(true)) refuse(factors[i]);
    sizes.push_back(static_cast<double>(rows.try_value().value_or(1000)));
  }
  sizes.push_back(static_cast<double>(matrices::columns_of(all[n - 1].type()).try_value().value_or(1000)));
  // cost[i][j] of the cheapest product of factors i to j, and behind which one it is cut (Godbole 1973).
  std::vector<std::vector<double>> cost(n, std::vector<double>(n));
  std::vector<std::vector<std::size_t>> cut(n, std::vector<std::size_t>(n));
  for (std::size_t width = 1; width < n; ++width)
    for (std::size_t i = 0; i + width < n; ++i) {
      const std::size_t j = i + width;
      cost[i][j] = infinite;
      for (std::size_t k = i; k < j; ++k) {
        const double here = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (here < cost[i][j]) cost[i][j] = here, cut[i][j] = k;
      }
    }
  // Cuts from the whole on; products the other way round, each put where its first factor stood.
  std::vector<std::pair<std::size_t, std::size_t>> parts{{0, n - 1}};
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const auto [i, j] = parts[at];
    if (i == j) continue;
    parts.emplace_back(i, cut[i][j]), parts.emplace_back(cut[i][j] + 1, j);
  }
  for (std::size_t at = parts.size(); at-- > 0;) {
    const auto [i, j] = parts[at];
    if (i != j) all[i] = matmul(all[i], all[cut[i][j] + 1]);
  }
  Array made = all[0];
  if (row) made = squeeze(made, 0);
  return column ? squeeze(made, static_cast<std::int64_t>(made.rank()) - 1) : made;
}

}  // namespace tenon::linalg
