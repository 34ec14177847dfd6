// Arrays of any rank as maps between arrays: systems, and their inverses.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/api/linalg.h"
#include "tenon/base/error.h"
#include "tenon/ops/promotion.h"
#include "tenon/ops/structure/shape.h"

namespace tenon::linalg {
namespace {

// A shape in two: the first `count` axes, and those behind them.
struct Halves {
  Shape front, behind;
};
Halves halves_of(const Shape& shape, std::size_t count) {
  const auto middle = shape.begin() + static_cast<std::ptrdiff_t>(std::min(count, shape.rank()));
  return {Shape(std::vector<Dim>(shape.begin(), middle)), Shape(std::vector<Dim>(middle, shape.end()))};
}

// The axes of an array with these moved behind the others.
std::vector<std::int64_t> moved_behind(const Array& a, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> last, order;
  for (const std::int64_t axis : axes) {
    const auto at = static_cast<std::int64_t>(normalize_axis(axis, a.rank(), "tensorsolve"));
    if (std::ranges::find(last, at) != last.end())
      throw ShapeError(fmt::format("tensorsolve: axis {} of {} is named twice.", at, a.type().text()),
                       "Each axis goes to the end once.");
    last.push_back(at);
  }
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(a.rank()); ++axis)
    if (std::ranges::find(last, axis) == last.end()) order.push_back(axis);
  order.insert(order.end(), last.begin(), last.end());
  return order;
}

}  // namespace

Array tensorsolve(const Operand& a, const Operand& b, const std::vector<std::int64_t>& axes) {
  const SourceScope place(a.where(), "tensorsolve");
  const Array x = axes.empty() ? a.array() : transpose(a, moved_behind(a, axes));
  const Shape behind = halves_of(x.shape(), b->rank()).behind;
  const Dim n = behind.elements();
  if (!decided_equal(x.shape().elements(), n * n).value_or(true) ||
      !decided_equal(b->shape().elements(), n).value_or(true))
    throw ShapeError(fmt::format("tensorsolve: Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == "
                                 "prod(a.shape[:b.ndim]). They are {} and {}.",
                                 x.type().text(), b->type().text()),
                     "Give an a that has b's shape in front, and as many elements behind it.");
  return reshape(solve(reshape(x, {n, n}), reshape(b, {n})), behind);
}

Array tensorinv(const Operand& a, std::int64_t ind) {
  const SourceScope place(a.where(), "tensorinv");
  if (ind <= 0)
    throw ShapeError(fmt::format("tensorinv: ind must be a positive integer; got {}.", ind),
                     "It is how many axes arrays have that the inverse is multiplied with.");
  const auto [front, behind] = halves_of(a->shape(), static_cast<std::size_t>(ind));
  const Dim n = behind.elements();
  if (!decided_equal(front.elements(), n).value_or(true))
    throw ShapeError(
        fmt::format("tensorinv: product of axes before `ind` must equal the product of those behind it: {} "
                    "has {} and {}.",
                    a->type().text(), front.text(), behind.text()),
        "Say by `ind` how many axes are in front.");
  std::vector<Dim> turned(behind.begin(), behind.end());
  turned.insert(turned.end(), front.begin(), front.end());
  return reshape(inv(reshape(a, {n, n})), Shape(std::move(turned)));
}

}  // namespace tenon::linalg
