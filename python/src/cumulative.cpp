// Cumulative sums and their kin: one loop along the axis, in the order of its elements.
#include "call.h"
#include "op.h"
#include "operands.h"
#include "order.h"
#include "rooms.h"
#include "tenon/api/loops.h"
#include "tenon/ops/statistics.h"

namespace tenon::python {
namespace {

struct Cumulative {
  const char* name;
  Array (*combine)(const Operand& x, const Operand& y);
  const char* text;
};
constexpr Cumulative all[] = {
    {"cumsum", tenon::operator+, "The sums of the elements up to each, along an axis."},
    {"cumprod", tenon::operator*, "The products of the elements up to each, along an axis."},
    {"cummax", order::maximum, "The largest of the elements up to each, along an axis."},
    {"cummin", order::minimum, "The smallest of the elements up to each, along an axis."},
    {"cumlogsumexp", tenon::logaddexp, "The logarithms of the sums of the exponentials up to each, along an axis."},
};

Array cumulative(const Cumulative& f, const Array& x, std::int64_t axis, bool reverse);

// Where there may be no elements: of one more, which comes last and which nobody wants.
Array of_one_more(const Cumulative& f, const Array& x, std::int64_t axis, bool reverse) {
  const Dim n = x.dim(axis);
  Shape one = x.shape();
  one[normalize_axis(axis, x.type(), f.name)] = 1;
  const Array more = zeros(one, x.dtype());
  const Array all =
      cumulative(f, concatenate(reverse ? Arrays{more, x} : Arrays{x, more}, axis, Source()), axis, reverse);
  return slice_in_dim(op(all), reverse ? 1 : 0, reverse ? n + Dim(1) : n, axis);
}

Array cumulative(const Cumulative& f, const Array& x, std::int64_t axis, bool reverse) {
  if (const Dim n = x.dim(axis); !n.known() && decided_less(Dim(0), n) != true)
    return of_one_more(f, x.with_weak(false), axis, reverse);
  const Array rows = move_axis(op(x), axis, 0).with_weak(false);
  if (rows.shape()[0] == Dim(0)) return x;
  api_detail::FlatLoop loop;
  const bool from_end = reverse;
  const Dim n = rows.shape()[0];
  const Array first =
      squeeze(op(from_end ? slice_in_dim(op(rows), n - Dim(1), n, 0) : slice_in_dim(op(rows), 0, 1, 0)), 0);
  const Array rest = from_end ? slice_in_dim(op(rows), 0, n - Dim(1), 0) : slice_in_dim(op(rows), 1, n, 0);
  loop.length = n - Dim(1);
  loop.reverse = reverse;
  loop.carry_paths = loop.xs_paths = {""};
  const auto body = [&](std::span<const Array> in) {
    const Array next = f.combine(op(in[0]), op(in[1]));
    return Arrays{next, next};
  };
  loop.body = FlatFunction(body);
  const Array others = api_detail::run_loop(f.name, loop, {first}, {rest})[1];
  const Array edge = expand_dims(op(first), 0);
  const Array joined = concatenate(from_end ? Arrays{others, edge} : Arrays{edge, others}, 0, Source());
  return move_axis(op(joined), 0, axis);
}

}  // namespace

void add_cumulative(nb::module_& module) {
  for (const Cumulative& f : all)
    module.def(
        f.name,
        [&f](ArrayLike x, std::int64_t axis, bool reverse) {
          const Array a = x.array(f.name);
          return call_transformation(f.name, [&] { return cumulative(f, a, axis, reverse); });
        },
        f.text);
}

}  // namespace tenon::python
