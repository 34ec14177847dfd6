// Matrices made of vectors: each element of a vector stands where its indices say.
#include <fmt/format.h>

#include "tenon/api/linalg/operands.h"
#include "tenon/api/structured_matrices.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {
namespace {

// Row and column of each element of a matrix [m, n], i32.
struct Places {
  Array row, column;
};
Places places_in(const Dim& m, const Dim& n) { return {iota(DType::i32, {m, n}, 0), iota(DType::i32, {m, n}, 1)}; }
Array is(const Array& x, std::int32_t n) { return x == n; }
Array plus(const Array& x, std::int32_t n) { return x + n; }
// As where(), of arrays: less code where it is called.
Array either(const Array& condition, const Array& one, const Array& other) { return where(condition, one, other); }
Array number_of(const Dim& n) { return size_as_array(n, DType::i32); }

// A number is a vector of one element.
Array as_vectors(const Array& x) { return x.rank() == 0 ? expand_dims(x, 0) : x; }
Dim elements_of(const Array& x) { return x.shape()[x.rank() - 1]; }
Array without_first(const Array& x) { return slice_in_dim(x, min(1, elements_of(x)), elements_of(x), -1); }

// The elements of vectors at a matrix of indices, moved inside.
Array arranged(const Array& x, const Array& at) {
  Shape shape = x.shape();
  shape[shape.rank() - 1] = at.shape()[0];
  shape.push_back(at.shape()[1]);
  if (elements_of(x).try_value() == 0 || at.shape().elements().try_value() == 0) return zeros(shape, x.dtype());
  return take(x, at, -1);
}

// Vectors one behind the other, of batches that broadcast.
Array one_behind_other(std::string_view name, const Array& first, const Array& second) {
  const Array a = expand_dims(first, -1), b = expand_dims(second, -1);
  const Shape batch = matrices::broadcast_batches(name, a, b);
  return squeeze(concatenate({matrices::with_batch(a, batch), matrices::with_batch(b, batch)}, -2), -1);
}

}  // namespace

Array block_diag(const Arrays& blocks, const Source& where) {
  const SourceScope place(where, "block_diag");
  if (blocks.empty()) return zeros({1, 0});
  for (const Array& each : blocks)
    if (each.rank() > 2)
      throw ShapeError(fmt::format("block_diag: {} has more than two axes.", each.type().text()),
                       "Give matrices, vectors (rows) or numbers; of batches take vmap().");
  Arrays all = in_one_dtype(blocks).operands;
  Dim columns = 0;
  for (Array& each : all) {
    while (each.rank() < 2) each = expand_dims(each, 0);
    columns = columns + each.shape()[1];
  }
  Arrays rows;
  Dim before = 0;
  for (const Array& each : all) {
    const Dim height = each.shape()[0], behind = before + each.shape()[1];
    const auto none = [&](const Dim& width) { return zeros({height, width}, each.dtype()); };
    rows.push_back(concatenate({none(before), each, none(columns - behind)}, 1));
    before = behind;
  }
  return concatenate(rows, 0).with_weak(false);
}

// By indices into r backwards without its first element, and c behind it.
Array toeplitz(const Operand& c, const MaybeArray& r) {
  const SourceScope place(c.where(), "toeplitz");
  const Array column = as_vectors(c), row = r ? as_vectors(*r) : conj(column);
  const Dim m = elements_of(column), n = elements_of(row);
  const Array rest = without_first(row);
  const Array all = one_behind_other("toeplitz", reverse(rest, {static_cast<std::int64_t>(rest.rank()) - 1}), column);
  const Places of = places_in(m, n);
  return arranged(all, of.row - of.column + number_of(n - 1));
}

Array hankel(const Operand& c, const MaybeArray& r) {
  const SourceScope place(c.where(), "hankel");
  const Array column = as_vectors(c), row = r ? as_vectors(*r) : zeros_like(column);
  const Places of = places_in(elements_of(column), elements_of(row));
  return arranged(one_behind_other("hankel", column, without_first(row)), of.row + of.column);
}

Array circulant(const Operand& c) {
  const SourceScope place(c.where(), "circulant");
  const Array column = as_vectors(c);
  const Dim n = elements_of(column);
  const Places of = places_in(n, n);
  const Array down = of.row - of.column;
  return arranged(column, either(down < 0, down + number_of(n), down));
}

Array convolution_matrix(const Operand& a, const Dim& n, signal::Extent mode) {
  const SourceScope place(a.where(), "convolution_matrix");
  if (n.try_value().value_or(1) <= 0)
    throw ShapeError(fmt::format("convolution_matrix: n must be a positive integer. It is {}.", n.text()),
                     "n is the number of elements of the vectors.");
  if (a->rank() == 0 || elements_of(a).try_value() == 0)
    throw ShapeError(fmt::format("convolution_matrix: len(a) must be at least 1. Its shape is {}.", a->shape().text()),
                     "Give the coefficients along the last axis.");
  const Dim m = elements_of(a);
  Dim first = 0, rows = m + n - 1;
  if (mode == signal::Extent::valid) first = min(m, n) - 1, rows = max(m, n) - first;
  if (mode == signal::Extent::largest) first = floor_div(min(m, n) - 1, 2), rows = max(m, n);
  if (mode == signal::Extent::same) first = floor_div(n - 1, 2), rows = m;
  const Places of = places_in(rows, n);
  const Array at = of.row - of.column + number_of(first), made = arranged(a, at);
  return either((at >= 0) & (at < number_of(m)), made, zeros_like(made));
}

Array leslie(const Operand& f, const Operand& s) {
  const SourceScope place(f.where(), "leslie");
  const Met met = in_one_dtype(Arrays{f, s});
  const Array &born = met.operands[0], &left = met.operands[1];
  if (born.rank() == 0 || elements_of(born).try_value().value_or(2) < 2)
    throw ShapeError(
        fmt::format("leslie: the length of f along the last axis is at least 2, and f is {}.", f->type().text()),
        "Give a fertility for each age, two or more.");
  const Dim n = elements_of(born);
  if (left.rank() == 0 || !decided_equal(elements_of(left), n - 1).value_or(true))
    throw ShapeError(
        fmt::format("leslie: fertilities f are {} and rates of survival s {}.", f->type().text(), s->type().text()),
        "There is one rate less than there are fertilities.");
  const Array first = expand_dims(born, -2), rates = expand_dims(left, -1);
  const Shape batch = matrices::broadcast_batches("leslie", first, rates);
  const Places of = places_in(n - 1, n);
  const Array wide = broadcast_to(matrices::with_batch(rates, batch), with_axes(batch, {n - 1, n}));
  const Array below = either(of.row == of.column, wide, zeros_like(wide));
  return concatenate({matrices::with_batch(first, batch), below}, -2);
}

Array fiedler(const Operand& a) {
  const SourceScope place(a.where(), "fiedler");
  if (a->dtype() == DType::bool_)
    throw DTypeError(fmt::format("fiedler: {} has no differences.", a->type().text()), "Convert it to integers.");
  const Array x = as_vectors(a);
  return abs(expand_dims(x, -1) - expand_dims(x, -2));
}

// Of 0, 1 and the coefficients, of which those of rows b and b + 1, b even, stand in columns b - 1 and b + 1 of the
// first one; 1 stands in column b + 2 of the first, and b - 1 of the second (Fiedler 2003). Of b = 0 column 0 is b - 1.
Array fiedler_companion(const Operand& given) {
  const SourceScope place(given.where(), "fiedler_companion");
  const Array a = to_inexact(given);
  if (a.rank() == 0 || elements_of(a).try_value() == 0)
    throw ShapeError(
        fmt::format("fiedler_companion: a polynomial has a coefficient or more, and a is {}.", given->type().text()),
        "Give the coefficients along the last axis, the highest first.");
  const Array rest = -without_first(a / slice_in_dim(a, 0, 1, -1));
  const auto [i, j] = places_in(elements_of(rest), elements_of(rest));
  const Array second = i % 2, b = i - second, from = either(is(b + j, 0), -1, j - b), before = is(from, -1);
  const auto number = [](const Array& condition) { return convert(condition, DType::i32); };
  const Array first = either(before, plus(b, 2), either(is(from, 1), plus(b, 3), number(is(from, 2))));
  const Array at = either(is(second, 1), number(before), first);
  return arranged(one_behind_other("fiedler_companion", convert(arange(2, DType::i32), a.dtype()), rest), at);
}

}  // namespace tenon::linalg
