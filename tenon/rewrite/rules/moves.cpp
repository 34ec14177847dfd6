#include "tenon/rewrite/rules/moves.h"

#include <algorithm>

#include "tenon/ops/elementwise/convert.h"
#include "tenon/ops/structure/shape.h"
#include "tenon/ops/structure/structure.h"

namespace tenon {

Moves::Moves(const Match& m, Array outside) : inside_(std::move(outside)) {
  for (const Eqn* eqn = m.maker(inside_); eqn != nullptr && m.reads(inside_) == 1; eqn = m.maker(inside_)) {
    if (eqn->op != &convert_op() && eqn->op != &transpose_op()) break;
    from_inside_.emplace_back(eqn, inside_.dtype());
    inside_ = m.operand(*eqn, 0);
  }
  std::ranges::reverse(from_inside_);
}

std::vector<std::size_t> Moves::axes() const {
  std::vector<std::size_t> to(inside_.rank());
  for (std::size_t axis = 0; axis < to.size(); ++axis) to[axis] = axis;
  for (const auto& [eqn, dtype] : from_inside_) {
    if (eqn->op != &transpose_op()) continue;
    const auto moved = inverse_permutation(permutation_of(eqn->params));
    for (std::size_t& axis : to) axis = static_cast<std::size_t>(moved[axis]);
  }
  return to;
}

Array Moves::again(Array x) const {
  for (const auto& [eqn, dtype] : from_inside_)
    x = eqn->op == &transpose_op() ? transpose(x, permutation_of(eqn->params)) : convert(x, dtype);
  return x;
}

}  // namespace tenon
