#include "tenon/ir/equal_sizes.h"

#include <algorithm>

namespace tenon {

void EqualSizes::note(const Dim& a, const Dim& b) {
  const Dim x = resolved(a), y = resolved(b);
  const auto s = bare_variable(x), t = bare_variable(y);
  if (x == y) return;
  if (s && t)
    same_.emplace(std::max(*s, *t), Dim::variable(std::min(*s, *t)));
  else if (s && y.known())
    same_.emplace(*s, y);
  else if (t && x.known())
    same_.emplace(*t, x);
}

Dim EqualSizes::resolved(Dim d) const {
  if (same_.empty()) return d;
  for (Dim next = substitute(d, same_); next != d; next = substitute(d, same_)) d = next;
  return d;
}

}  // namespace tenon
