// Matrices that their size alone says: of Hilbert, Pascal, Hadamard, Helmert and Fourier.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tenon/api/float_parts.h"
#include "tenon/api/linalg/operands.h"
#include "tenon/api/structured_matrices.h"
#include "tenon/base/error.h"
#include "tenon/base/function_ref.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/linear_algebra/dot.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {
namespace {

void require_real_elements(std::string_view name, DType dtype) {
  if (!is_real(dtype))
    throw DTypeError(fmt::format("{}: its elements are real numbers, not {}.", name, tenon::name(dtype)),
                     "Give a real dtype, and convert() the result.");
}

// Row and column of each element of a matrix.
struct Numbered {
  Array row, column;
};
Numbered numbered(DType dtype, const Dim& n) {
  const Shape shape{max(n, 0), max(n, 0)};
  return {iota(dtype, shape, 0), iota(dtype, shape, 1)};
}

// A matrix of f64 of which `next` makes a row, the i-th, of the one before, of zeros at first. Numbers have a few bits
// more than those of f64, in which they are rounded once more: whole ones are exact where f64 holds them.
using LongRow = std::vector<long double>;
Array by_rows(std::int64_t rows, std::int64_t columns, FunctionRef<void(LongRow&, std::size_t i)> next) {
  rows = std::max<std::int64_t>(rows, 0), columns = std::max<std::int64_t>(columns, 0);
  const auto size = static_cast<std::size_t>(columns);
  Buffer made = Buffer::allocate(DType::f64, {rows, columns});
  LongRow row(size, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
    next(row, i);
    for (std::size_t j = 0; j < size; ++j) made.as<double>()[i * size + j] = static_cast<double>(row[j]);
  }
  return Array(made);
}

// C(i, j), by Pascal's rule.
Array binomials(std::int64_t n) {
  return by_rows(n, n, [](LongRow& row, std::size_t i) {
    for (std::size_t j = i; j > 0; --j) row[j] += row[j - 1];
    row[0] = 1;
  });
}

}  // namespace

Array hilbert(const Dim& n, DType dtype, const Source& where) {
  const SourceScope place(where, "hilbert");
  require_real_elements("hilbert", dtype);
  const Numbered of = numbered(DType::f64, n);
  return convert(1.0 / (of.row + of.column + 1.0), dtype).with_weak(false);
}

// Elements p[i]·p[j] / (i + j + 1), with p[i] = ±(n + i)! / (i!² (n - i - 1)!), whole numbers (Choi 1983).
Array invhilbert(std::int64_t n, DType dtype, const Source& where) {
  const SourceScope place(where, "invhilbert");
  require_real_elements("invhilbert", dtype);
  LongRow p(static_cast<std::size_t>(std::max<std::int64_t>(n, 0)), static_cast<long double>(n));
  for (std::size_t i = 1; i < p.size(); ++i) {
    const auto k = static_cast<long double>(i), size = static_cast<long double>(n);
    p[i] = std::round(-p[i - 1] * (size + k) * (size - k) / (k * k));
  }
  const Array made = by_rows(n, n, [&](LongRow& row, std::size_t i) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = p[i] * p[j] / static_cast<long double>(i + j + 1);
  });
  return convert(made, dtype);
}

Array pascal(std::int64_t n, PascalKind kind, DType dtype, const Source& where) {
  const SourceScope place(where, "pascal");
  require_real_elements("pascal", dtype);
  if (kind != PascalKind::symmetric) {
    const Array lower = convert(binomials(n), dtype);
    return kind == PascalKind::lower ? lower : matrices::transposed(lower);
  }
  const Array made = by_rows(n, n, [](LongRow& row, std::size_t i) {
    if (i == 0) std::fill(row.begin(), row.end(), 1);
    for (std::size_t j = 1; i > 0 && j < row.size(); ++j) row[j] += row[j - 1];
  });
  return convert(made, dtype);
}

Array invpascal(std::int64_t n, PascalKind kind, DType dtype, const Source& at) {
  const SourceScope place(at, "invpascal");
  require_real_elements("invpascal", dtype);
  const Array lower = binomials(n);
  const Array odd = (matrices::row_index(lower) + matrices::column_index(lower)) % 2 == 1;
  const Array turned = where(odd, -lower, lower), upper = matrices::transposed(turned);
  if (kind == PascalKind::symmetric) return convert(matmul(upper, turned), dtype);
  return convert(kind == PascalKind::lower ? turned : upper, dtype);
}

Array hadamard(std::int64_t n, DType dtype, const Source& where) {
  const SourceScope place(where, "hadamard");
  if (n < 1 || (n & (n - 1)) != 0)
    throw ShapeError(fmt::format("hadamard: n is a positive power of 2, not {}.", n),
                     "Sylvester's matrices are of 1, 2, 4, 8, … rows.");
  const Numbered of = numbered(DType::i32, n);
  return convert(1 - 2 * (convert(popcount(of.row & of.column), DType::i32) % 2), dtype).with_weak(false);
}

Array helmert(std::int64_t n, DType dtype, const HelmertOptions& options, const Source& at) {
  const SourceScope place(at, "helmert");
  require_real_elements("helmert", dtype);
  if (n < 1)
    throw ShapeError(fmt::format("helmert: n must be a positive integer, not {}.", n),
                     "There are contrasts of one value or more.");
  const std::size_t first = options.full ? 0 : 1;
  const Array made = by_rows(n - static_cast<std::int64_t>(first), n, [&](LongRow& row, std::size_t k) {
    const std::size_t i = k + first, square = i == 0 ? row.size() : i * (i + 1);
    const double length = std::sqrt(static_cast<double>(square)), last = -static_cast<double>(i) / length;
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = i == 0 || j < i ? 1 / length : j == i ? last : 0;
  });
  return convert(made, dtype);
}

// Angles are whole numbers of n-th parts of a turn: quarters of a turn are taken out of them, which leaves an eighth at
// most on either side.
Array dft(std::int64_t n, std::optional<DftScale> scale, DType dtype, const Source& at) {
  const SourceScope place(at, "dft");
  if (!is_complex(dtype))
    throw DTypeError(fmt::format("dft: dtype must be complex, not {}.", tenon::name(dtype)), "Give c64 or c128.");
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
  const auto length = static_cast<long double>(size);
  const long double by = !scale ? 1 : *scale == DftScale::n ? length : std::sqrt(length);
  LongRow re(size), im(size);
  for (std::size_t k = 0; k < size; ++k) {
    const std::size_t quarters = (8 * k + size) / (2 * size);
    const auto part = static_cast<long double>(static_cast<std::int64_t>(4 * k - quarters * size));
    const long double angle = part / length * (std::numbers::pi_v<long double> / 2);
    const long double c = std::cos(angle) / by, s = std::sin(angle) / by;
    const long double turned[] = {c, -s, -c, s, c};
    re[k] = turned[quarters % 4], im[k] = turned[quarters % 4 + 1];
  }
  const auto part = [&](const LongRow& roots) {
    return by_rows(n, n, [&](LongRow& row, std::size_t i) {
      for (std::size_t j = 0; j < size; ++j) row[j] = roots[i * j % size];
    });
  };
  return convert(complex(part(re), part(im)), dtype);
}

}  // namespace tenon::linalg
