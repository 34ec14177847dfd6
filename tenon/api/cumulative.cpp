#include "tenon/api/cumulative.h"

#include <complex>
#include <limits>

#include "tenon/api/elementwise.h"
#include "tenon/api/loops.h"
#include "tenon/ops/promotion.h"

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
  const Scalar of_none = is_complex(dtype) ? Scalar(-std::numeric_limits<double>::infinity()) : lowest(dtype);
  return api_detail::accumulated("cumlogsumexp", logaddexp, of_none, Operand(values, x.where()), axis, options);
}

}  // namespace tenon
