#include "tenon/api/searchsorted.h"

#include <fmt/format.h>

#include <bit>

#include "tenon/api/loops.h"
#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

Array comes_before(const Array& x, const Array& v, Side side) {
  const Array before = side == Side::left ? x < v : x <= v;
  if (!is_inexact(v.dtype())) return before;
  return side == Side::left ? before | (is_nan(v) & !is_nan(x)) : before | is_nan(v);
}

}  // namespace

Array searchsorted(const Operand& ordered, const Operand& values, Side side) {
  constexpr std::string_view name = "searchsorted";
  const SourceScope place(ordered.where(), name);
  if (ordered->rank() != 1)
    throw ShapeError(fmt::format("{}: {} is no vector.", name, ordered->type().text()),
                     "Give one axis; of several vectors each its own call, by vmap.");
  const Met met = in_one_dtype(Arrays{ordered, values});
  const Array a = met.operands[0], v = met.operands[1];
  const Dim n = a.shape()[0];
  const DType d = index_dtype(n);
  const Array none = zeros(v.shape(), d), count = size_as_array(n, d);
  if (n.try_value() == 0) return none;
  // `found` elements are known to come before; steps are powers of two, the largest first.
  const auto tried = [&](const Array& found, const Array& step) {
    const Array next = found + step;
    const Array x = take(a, min(next, count) - 1);
    return where((next <= count) & comes_before(x, v, side), next, found);
  };
  const std::int64_t steps = n.known() ? std::bit_width(static_cast<std::uint64_t>(n.value())) : 31;
  const auto next = [&](const Array& i, const Array& found) {
    return tried(found, shift_left(convert(1, d), convert(steps - 1 - i, d)));
  };
  return fori_loop(0, steps, next, none);
}

}  // namespace tenon
