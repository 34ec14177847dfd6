#include "tenon/kernel/analysis/row_uses.h"

#include <algorithm>

namespace tenon::kernel {
namespace {

// Elements of a row that a read within a loop finds at the same places in each step; of what each step reads elsewhere,
// none.
std::optional<double> read_again(const RowAccess& a) {
  double elements = estimate(a.row);
  for (const RowAccess::Term& term : a.terms) {
    if (term.size == Dim(0) || term.steps) return {};
    if (estimate(term.coefficient) > estimate(a.row)) elements *= estimate(term.size);
  }
  return a.write || !a.known || !a.constant.known() ? std::nullopt : std::optional(elements);
}

}  // namespace

bool agrees(const Uses& uses) {
  return std::ranges::all_of(uses, [](const auto& use) { return !use.second.written || use.second.by_rows; });
}

void merge(Uses& uses, std::span<const RowAccess> accesses, const Dim& rows, bool of_loop) {
  for (const RowAccess& a : accesses) {
    Use& use = uses[a.slot];
    use.read = use.read || !a.write;
    if (a.same) {
      use.by_rows = use.same ? use.by_rows : !use.written;
      use.same = use.written = true;
      continue;
    }
    if (use.same) {
      use.by_rows = use.by_rows && !a.write;
      continue;
    }
    if (a.own) {
      use.by_rows = use.by_rows && !use.written;
      use.own = use.written = true;
      continue;
    }
    const RowStride s = row_stride(a, rows);
    use.by_rows = use.by_rows && s.stride != Dim(0) && (use.stride == Dim(0) || use.stride == s.stride);
    use.stride = s.stride;
    use.written = use.written || a.write;
    use.high = use.high || s.high || (use.around && *use.around != s.around);
    use.around = s.around;
    if (const auto elements = of_loop && s.stride != Dim(0) ? read_again(a) : std::nullopt)
      use.again.emplace(a.constant.value(), *elements);
  }
}

}  // namespace tenon::kernel
