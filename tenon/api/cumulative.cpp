#include "tenon/api/cumulative.h"

#include <cmath>
#include <complex>
#include <limits>

#include "tenon/api/elementwise.h"
#include "tenon/api/loops.h"
#include "tenon/api/numerics.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

Array api_detail::accumulated(std::string_view op, Array (*combine)(const Operand&, const Operand&),
                              const Scalar& start, const Operand& x, std::int64_t axis,
                              const CumulativeOptions& options) {
  const SourceScope place(x.where(), op);
  const Array rows = move_axis(x, normalize_axis(axis, x.array().type(), op), 0).with_weak(false);
  FlatLoop loop;
  loop.length = rows.shape()[0];
  loop.reverse = options.reverse;
  loop.carry_paths = loop.xs_paths = {""};
  const auto body = [&](std::span<const Array> in) {
    const Array next = combine(in[0], in[1]);
    return Arrays{next, next};
  };
  loop.body = FlatFunction(body);
  const Array first = full(rows.shape().without_axis(0), Array(start.convert(rows.dtype())));
  return move_axis(run_loop(op, loop, {first}, {rows})[1], 0, axis);
}

namespace {

// -0 leaves the sign of a zero as it is.
Scalar zero_of(DType d) {
  if (is_complex(d)) return Scalar(std::complex<double>(-0.0, -0.0)).convert(d);
  return is_inexact(d) ? Scalar(-0.0).convert(d) : Scalar::zero(d);
}

// Whether sums of exponentials are taken within blocks, and of whole blocks: where few lanes would leave vectors and
// threads idle, and where so many terms would be added one after the other that each is less than the sum's last digit.
bool has_blocks(const Shape& shape, const Dim& n) {
  constexpr std::int64_t fewest = 4096, many = 1 << 17, lanes = 256;
  if (!shape.known() || numerics_here() == Numerics::strict || n.value() < fewest) return false;
  return n.value() >= many || shape.elements().value() / n.value() < lanes;
}

}  // namespace

Array cumsum(const Operand& x, std::int64_t axis, const CumulativeOptions& options) {
  return api_detail::accumulated("cumsum", operator+, zero_of(x.array().dtype()), x, axis, options);
}
Array cumprod(const Operand& x, std::int64_t axis, const CumulativeOptions& options) {
  return api_detail::accumulated("cumprod", operator*, Scalar::one(x.array().dtype()), x, axis, options);
}
Array cummax(const Operand& x, std::int64_t axis, const CumulativeOptions& options) {
  return api_detail::accumulated("cummax", max, lowest(x.array().dtype()), x, axis, options);
}
Array cummin(const Operand& x, std::int64_t axis, const CumulativeOptions& options) {
  return api_detail::accumulated("cummin", min, highest(x.array().dtype()), x, axis, options);
}
Array cumlogsumexp(const Operand& x, std::int64_t axis, const CumulativeOptions& options) {
  const Array values = to_inexact(x);
  const DType dtype = values.dtype();
  const Scalar none =
      (is_complex(dtype) ? Scalar(-std::numeric_limits<double>::infinity()) : lowest(dtype)).convert(dtype);
  const auto combined = [&](const Array& rows, std::int64_t along) {
    return api_detail::accumulated("cumlogsumexp", logaddexp, none, Operand(rows, x.where()), along, options);
  };
  const Dim n = values.shape()[normalize_axis(axis, values.type(), "cumlogsumexp")];
  if (!has_blocks(values.shape(), n)) return combined(values, axis);
  const SourceScope place(x.where(), "cumlogsumexp");
  const std::int64_t count = n.value(),
                     blocks = static_cast<std::int64_t>(std::sqrt(static_cast<double>(count))) / 16 * 16,
                     length = (count + blocks - 1) / blocks;
  // [length, blocks, …], with nothing behind the last element.
  Array rows = move_axis(values, axis, 0);
  std::vector<std::int64_t> low(rows.rank(), 0), high = low;
  high[0] = blocks * length - count;
  rows = pad(rows, Array(none), low, high);
  rows = move_axis(reshape(rows, rows.shape().without_axis(0).with_axis(0, length).with_axis(0, blocks)), 1, 0);
  const Array within = combined(rows, 0);
  const std::int64_t last = options.reverse ? 0 : length - 1;
  const Array whole = combined(squeeze(slice_in_dim(within, last, last + 1, 0), 0), 0);
  const Array nothing = full(whole.shape().without_axis(0).with_axis(0, 1), Array(none));
  const Array before = options.reverse ? concatenate({slice_in_dim(whole, 1, blocks, 0), nothing}, 0)
                                       : concatenate({nothing, slice_in_dim(whole, 0, blocks - 1, 0)}, 0);
  const Array all = move_axis(logaddexp(within, expand_dims(before, 0)), 0, 1);
  const Shape whole_rows = rows.shape().without_axis(0).without_axis(0).with_axis(0, blocks * length);
  return move_axis(slice_in_dim(reshape(all, whole_rows), 0, count, 0), 0, axis);
}

}  // namespace tenon
