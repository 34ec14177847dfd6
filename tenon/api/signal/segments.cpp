#include "tenon/api/signal/segments.h"

#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::signal {
namespace {

// So many pieces of a segment are taken one by one; more of them in one array.
constexpr std::int64_t most_pieces = 16;

Shape with_last(const Shape& shape, std::initializer_list<Dim> last, std::size_t instead_of) {
  std::vector<Dim> dims = shape.dims();
  dims.resize(dims.size() - instead_of);
  dims.insert(dims.end(), last);
  return Shape(dims);
}
Array part(const Array& x, const Dim& from, const Dim& to, std::int64_t axis) {
  return slice_in_dim(x, from, to, axis);
}

}  // namespace

Array samples_of(const Operand& x) { return widened(to_inexact(x)); }

Array with_zeros(const Array& x, std::int64_t axis, const Dim& before, const Dim& behind) {
  const auto at = static_cast<std::size_t>(normalize_axis(axis, x.rank(), "pad"));
  if (before.known() && behind.known()) {
    if (before.value() == 0 && behind.value() == 0) return x;
    std::vector<std::int64_t> low(x.rank()), high(x.rank());
    low[at] = before.value(), high[at] = behind.value();
    return pad(x, convert(0, x.dtype()), low, high);
  }
  const auto zeros_of = [&](const Dim& n) {
    Shape shape = x.shape();
    shape[at] = max(n, 0);
    return zeros(shape, x.dtype());
  };
  const Dim n = x.shape()[at], from = max(0 - before, 0), to = n - max(0 - behind, 0);
  return concatenate(
      {zeros_of(before), slice_in_dim(x, from, max(from, to), static_cast<std::int64_t>(at)), zeros_of(behind)},
      static_cast<std::int64_t>(at));
}

// A segment is `pieces` rows of `step` elements, the last of them cut; the next one begins one row later.
Array segments_of(const Array& x, const Dim& count, std::int64_t length, std::int64_t step) {
  const std::int64_t pieces = (length + step - 1) / step;
  const Dim rows = count + (pieces - 1), have = x.shape()[x.rank() - 1];
  const Array whole = with_zeros(x, -1, 0, rows * step - have);
  if (pieces == 1) return part(reshape(whole, with_last(x.shape(), {rows, step}, 1)), 0, length, -1);
  if (pieces <= most_pieces) {
    const Array in_rows = reshape(whole, with_last(x.shape(), {rows, step}, 1));
    Arrays parts;
    for (std::int64_t k = 0; k < pieces; ++k) parts.push_back(part(in_rows, k, count + k, -2));
    return part(concatenate(parts, -1), 0, length, -1);
  }
  // All rows once a piece. Each time they are one row longer than they are read as, the next begins one row later.
  const Array all = broadcast_to(expand_dims(whole, -2), with_last(x.shape(), {pieces, rows * step}, 1));
  const Array flat = with_zeros(reshape(all, with_last(x.shape(), {rows * (pieces * step)}, 1)), -1, 0, pieces * step);
  const Array moved = part(reshape(flat, with_last(x.shape(), {pieces, rows + 1, step}, 1)), 0, count, -2);
  return part(reshape(move_axis(moved, -3, -2), with_last(x.shape(), {count, pieces * step}, 1)), 0, length, -1);
}

Array sum_of_segments(const Array& segments, std::int64_t step) {
  const Shape shape = segments.shape();
  const Dim count = shape[shape.rank() - 2];
  const std::int64_t length = shape[shape.rank() - 1].value(), pieces = (length + step - 1) / step;
  const Dim rows = count + (pieces - 1), total = (count - 1) * step + length;
  const Array whole = with_zeros(segments, -1, 0, pieces * step - length);
  const auto in_line = [&](const Array& x) {
    return part(reshape(x, with_last(shape, {rows * step}, 2)), 0, total, -1);
  };
  if (pieces == 1) return in_line(whole);
  const Array apart = reshape(whole, with_last(shape, {count, pieces, step}, 2));
  if (pieces <= most_pieces) {
    MaybeArray sum;
    for (std::int64_t k = 0; k < pieces; ++k) {
      const Array piece = reshape(part(apart, k, k + 1, -2), with_last(shape, {count, step}, 2));
      const Array there = with_zeros(piece, -2, k, pieces - 1 - k);
      sum = sum ? *sum + there : there;
    }
    return in_line(*sum);
  }
  // [pieces, count + pieces, step] without its last rows is read as rows that are one shorter: each piece then begins
  // one row later than the piece before.
  const Array longer = with_zeros(move_axis(apart, -2, -3), -2, 0, pieces);
  const Array flat = reshape(longer, with_last(shape, {(count + pieces) * (pieces * step)}, 2));
  const Array cut = part(flat, 0, rows * (pieces * step), -1);
  return in_line(sum(reshape(cut, with_last(shape, {pieces, rows, step}, 2)), -3));
}

}  // namespace tenon::signal
