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

// Row and column of each element of a matrix, whose first row has a number.
struct Numbered {
  Array row, column;
};
Numbered numbered(DType dtype, const Dim& rows, const Dim& columns, std::int64_t first = 0) {
  const Shape shape{max(rows, 0), max(columns, 0)};
  return {iota(dtype, shape, 0) + Array(Scalar(first).convert(dtype)), iota(dtype, shape, 1)};
}

// A matrix of f64 of which `next` makes a row, the i-th, of the one before, of zeros at first. Numbers have a few bits
// more than those of f64, in which they are rounded once more: whole ones are exact where f64 holds them.
using LongRow = std::vector<long double>;
Array by_rows(std::int64_t n, FunctionRef<void(LongRow&, std::size_t i)> next) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(n, 0));
  Buffer made = Buffer::allocate(DType::f64, {std::max<std::int64_t>(n, 0), std::max<std::int64_t>(n, 0)});
  LongRow row(size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    next(row, i);
    for (std::size_t j = 0; j < size; ++j) made.as<double>()[i * size + j] = static_cast<double>(row[j]);
  }
  return Array(made);
}

// C(i, j), by Pascal's rule.
Array binomials(std::int64_t n) {
  return by_rows(n, [](LongRow& row, std::size_t i) {
    for (std::size_t j = i; j > 0; --j) row[j] += row[j - 1];
    row[0] = 1;
  });
}

}  // namespace

Array hilbert(const Dim& n, DType dtype, const Source& where) {
  const SourceScope place(where, "hilbert");
  require_real_elements("hilbert", dtype);
  const Numbered of = numbered(DType::f64, n, n, 1);
  return convert(1.0 / (of.row + of.column), dtype).with_weak(false);
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
  const Array made = by_rows(n, [&](LongRow& row, std::size_t i) {
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
  const Array made = by_rows(n, [](LongRow& row, std::size_t i) {
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
  const Numbered of = numbered(DType::i32, n, n);
  return convert(1 - 2 * (convert(popcount(of.row & of.column), DType::i32) % 2), dtype).with_weak(false);
}

Array helmert(const Dim& n, DType dtype, const HelmertOptions& options, const Source& at) {
  const SourceScope place(at, "helmert");
  require_real_elements("helmert", dtype);
  if (n.try_value().value_or(1) < 1)
    throw ShapeError(fmt::format("helmert: n must be a positive integer, not {}.", n.text()),
                     "There are contrasts of one value or more.");
  const auto [i, j] = numbered(DType::f64, options.full ? n : n - 1, n, options.full ? 0 : 1);
  const Array first = i == 0.0, length = sqrt(where(first, size_as_array(n, DType::f64), i * (i + 1.0)));
  const Array sums = where(first | (j < i), 1.0, where(j == i, -i, 0.0));
  return convert(sums / length, dtype).with_weak(false);
}

// Angles are whole numbers of n-th parts of a turn: quarters of a turn are taken out of them, which leaves less than an
// eighth on either side. Cosines of these by sines: that of 0 is 1 exactly.
Array dft(const Dim& n, std::optional<DftScale> scale, DType dtype, const Source& at) {
  const SourceScope place(at, "dft");
  if (!is_complex(dtype))
    throw DTypeError(fmt::format("dft: dtype must be complex, not {}.", tenon::name(dtype)), "Give c64 or c128.");
  const Numbered of = numbered(DType::i64, n, n);
  const Array size = size_as_array(max(n, 1)), length = convert(size, DType::f64);
  const Array part = of.row * of.column % size, quarters = (8 * part + size) / (2 * size);
  const Array angle = convert(4 * part - quarters * size, DType::f64) / length * (std::numbers::pi / 2);
  const Array s = sin(angle), half = sin(angle / 2.0), c = 1.0 - 2.0 * half * half, turn = quarters % 4,
              odd = turn % 2 == 1;
  const Array across = where(odd, s, c), along = where(odd, c, s);
  Array re = where((turn == 1) | (turn == 2), -across, across), im = where(turn < 2, -along, along);
  if (scale) {
    const Array by = *scale == DftScale::n ? length : sqrt(length);
    re = re / by, im = im / by;
  }
  return convert(complex(re, im), dtype).with_weak(false);
}

}  // namespace tenon::linalg
