#include "tenon/api/diagonals.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/ops/composites/indexing.h"
#include "tenon/ops/elementwise/arithmetic.h"
#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/reductions/reduce.h"
#include "tenon/ops/structure/shape.h"

namespace tenon {
namespace {

// Column less row of each element, i32[n, m].
Array above_diagonal(const Dim& n, const Dim& m) { return iota(DType::i32, {n, m}, 1) - iota(DType::i32, {n, m}, 0); }
// As numbers of diagonals that i32 holds: of those that lie outside one that does.
std::int32_t number_of_diagonal(std::int64_t k) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(k, -(std::int64_t(1) << 30), std::int64_t(1) << 30));
}

Array in_triangle(std::string_view name, const Operand& x, std::int64_t k, bool lower) {
  const SourceScope place(x.where(), name);
  if (x->rank() < 2)
    throw ShapeError(fmt::format("{}: Argument to {} must be at least 2D: {}.", name, name, x->type().text()),
                     "Matrices are the last two axes.");
  const Array above = above_diagonal(x->shape()[x->rank() - 2], x->shape()[x->rank() - 1]);
  return where(lower ? above <= number_of_diagonal(k) : above >= number_of_diagonal(k), x,
               Array(Scalar::zero(x->dtype())));
}

}  // namespace

Array diagonal(const Operand& given, std::int64_t k, std::int64_t axis1, std::int64_t axis2) {
  constexpr std::string_view name = "diagonal";
  const SourceScope place(given.where(), name);
  const std::size_t rank = given->rank(), i = normalize_axis(axis1, rank, name), j = normalize_axis(axis2, rank, name);
  if (i == j)
    throw ShapeError(fmt::format("{}: axis {} of {} is named twice.", name, i, given->type().text()),
                     "Matrices have two axes.");
  std::vector<std::int64_t> order;
  for (std::size_t axis = 0; axis < rank; ++axis)
    if (axis != i && axis != j) order.push_back(static_cast<std::int64_t>(axis));
  order.push_back(static_cast<std::int64_t>(i)), order.push_back(static_cast<std::int64_t>(j));
  const Array x = transpose(given, order);
  const Dim n = x.shape()[rank - 2], m = x.shape()[rank - 1];
  const std::int64_t down = std::max<std::int64_t>(-k, 0), right = std::max<std::int64_t>(k, 0);
  const Dim length = max(min(n - down, m - right), 0);
  const Array at = iota(DType::i32, {length}, 0);
  const Array indices[] = {at + static_cast<std::int32_t>(down), at + static_cast<std::int32_t>(right)};
  const auto last = static_cast<std::int64_t>(rank);
  return gather_at(x, indices, {last - 2, last - 1}, {.hints = {.sorted = true, .unique = true}});
}

Array diag(const Operand& x, std::int64_t k) {
  constexpr std::string_view name = "diag";
  const SourceScope place(x.where(), name);
  if (x->rank() == 2) return diagonal(x, k);
  if (x->rank() != 1)
    throw ShapeError(fmt::format("{}: input must be 1d or 2d: {}.", name, x->type().text()),
                     "Of several matrices take diagonal().");
  const Dim n = x->shape()[0], size = n + std::abs(k);
  const Array at = iota(DType::i32, {n}, 0);
  const Array indices[] = {at + static_cast<std::int32_t>(std::max<std::int64_t>(-k, 0)),
                           at + static_cast<std::int32_t>(std::max<std::int64_t>(k, 0))};
  return scatter_at(ScatterKind::set, zeros({size, size}, x->dtype()), indices, {0, 1}, x,
                    {.hints = {.sorted = true, .unique = true}});
}

Array tril(const Operand& x, std::int64_t k) { return in_triangle("tril", x, k, true); }
Array triu(const Operand& x, std::int64_t k) { return in_triangle("triu", x, k, false); }
Array tri(const Dim& n, const Dim& m, std::int64_t k, DType dtype, const Source& where) {
  const SourceScope place(where, "tri");
  return convert(above_diagonal(n, m) <= number_of_diagonal(k), dtype);
}
Array eye(const Dim& n, const Dim& m, std::int64_t k, DType dtype, const Source& where) {
  const SourceScope place(where, "eye");
  return convert(above_diagonal(n, m) == number_of_diagonal(k), dtype);
}

Array linalg::trace(const Operand& x, std::int64_t k, std::int64_t axis1, std::int64_t axis2) {
  const SourceScope place(x.where(), "trace");
  return sum(diagonal(x, k, axis1, axis2), -1);
}

}  // namespace tenon
