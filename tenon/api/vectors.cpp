#include "tenon/api/vectors.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {

Array cross(const Operand& given_a, const Operand& given_b, const CrossAxes& axes) {
  constexpr std::string_view name = "cross";
  const SourceScope place(given_a.where(), name);
  const Met met = in_one_dtype(Arrays{given_a, given_b});
  const auto vectors = [&](const Array& x, std::int64_t axis) {
    const Array last = move_axis(x, axis, -1);
    const auto n = last.shape()[last.rank() - 1].try_value();
    if (n != 2 && n != 3)
      throw ShapeError(fmt::format("{}: Dimension must be either 2 or 3 for cross product: axis {} of {}.", name, axis,
                                   x.type().text()),
                       "Name the axis of the components.");
    return last;
  };
  const Array a = vectors(met.operands[0], axes.axisa), b = vectors(met.operands[1], axes.axisb);
  const auto part = [](const Array& x, std::int64_t i) { return squeeze(slice_in_dim(x, i, i + 1, -1), -1); };
  const std::int64_t n = a.size(-1), m = b.size(-1);
  const Array third = part(a, 0) * part(b, 1) - part(a, 1) * part(b, 0);
  if (n == 2 && m == 2) return third;
  Array first, second;
  if (n == 3 && m == 3) {
    first = part(a, 1) * part(b, 2) - part(a, 2) * part(b, 1);
    second = part(a, 2) * part(b, 0) - part(a, 0) * part(b, 2);
  } else if (n == 3) {
    first = -part(a, 2) * part(b, 1);
    second = part(a, 2) * part(b, 0);
  } else {
    first = part(a, 1) * part(b, 2);
    second = -part(a, 0) * part(b, 2);
  }
  return move_axis(stack({first, second, third}, static_cast<std::int64_t>(third.rank())), -1, axes.axisc);
}

Array kron(const Operand& a, const Operand& b) {
  const SourceScope place(a.where(), "kron");
  const std::size_t rank = std::max(a->rank(), b->rank());
  std::vector<Dim> of_a, of_b, made;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto size = [&](const Array& x) { return i + x.rank() < rank ? Dim(1) : x.shape()[i + x.rank() - rank]; };
    const Dim n = size(a), m = size(b);
    of_a.insert(of_a.end(), {n, Dim(1)}), of_b.insert(of_b.end(), {Dim(1), m}), made.push_back(n * m);
  }
  const Met met = in_one_dtype(Arrays{a, b});
  const bool bools = met.operands[0].dtype() == DType::bool_;
  const Array x = reshape(met.operands[0], Shape(of_a)), y = reshape(met.operands[1], Shape(of_b));
  return reshape(bools ? x & y : x * y, Shape(made));
}

}  // namespace tenon
