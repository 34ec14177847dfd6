// Values of expressions in one row of several statements that run as one: what a statement has stored there, another
// one reads as the value itself.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/analysis/index_ranges.h"
#include "tenon/kernel/analysis/shared_values.h"
#include "tenon/kernel/expressions.h"
#include "tenon/kernel/function.h"

namespace tenon::kernel {

// What is known of a slot's elements in a row: those at constants from where the row begins, which `terms` say.
struct RowElement {
  std::map<std::uint32_t, Dim> terms;
  std::int64_t at = 0;
};
// A base that is one node for all elements of a slot, and the element.
inline Expr offset_of(SharedValues& shared, const Affine& at) {
  return shared(shared(to_expr(Affine{0, at.terms})) + size(at.constant));
}
inline std::optional<RowElement> element_of(const Affine& offset) {
  if (!offset.constant.known()) return {};
  return RowElement{offset.terms, offset.constant.value()};
}

// How the rows of a nest touch a slot.
struct SlotOfRows {
  std::optional<std::map<std::uint32_t, Dim>> terms;  // of each access, where all agree
  bool agree = true, written = false, old_read = false;
  std::set<std::int64_t> touched;       // elements
  std::map<std::int64_t, Expr> values;  // of those that have been written

  void touch(const std::optional<RowElement>& e) {
    if (!e || (terms && *terms != e->terms)) agree = false;
    if (!agree) return;
    touched.insert(e->at);
    terms = e->terms;
  }
};
using SlotsOfRows = std::map<SlotId, SlotOfRows>;

// The value of an expression in a row.
class RowValue : public FoldIndices {
 public:
  RowValue(const Function& f, const IndexRanges& ranges, SharedValues& shared, SlotsOfRows& uses)
      : FoldIndices(ranges), f_(f), shared_(shared), uses_(uses) {}
  bool failed() const { return failed_; }  // a slot is read where it cannot be told what stands there

 protected:
  Expr load(const Expr& old, const Expr& offset) override {
    const SlotId slot = old.node().id;
    const auto at = affine(offset);
    const auto e = at ? element_of(*at) : std::nullopt;
    const Slot& s = f_.slots[slot];
    if (s.place == Slot::Place::constant && !s.object) {
      if (e && e->terms.empty() && e->at >= 0 && Dim(e->at) != s.elements && s.dtype == old.dtype())
        return shared_(constant(s.dtype, s.values.data() + static_cast<std::size_t>(e->at) * size_of(s.dtype)));
      return shared_(Rewrite::load(old, offset));
    }
    SlotOfRows& use = uses_[slot];
    use.touch(e);
    if (use.written) {
      if (!use.agree) return failed_ = true, old;
      if (const auto found = use.values.find(e->at); found != use.values.end()) {
        if (found->second.dtype() != old.dtype()) failed_ = true;
        return found->second;
      }
    }
    use.old_read = true;
    return shared_(kernel::load(slot, old.dtype(), at ? offset_of(shared_, *at) : offset));
  }
  Expr finish(const Expr& e) override { return shared_(folded(FoldIndices::finish(e))); }

 private:
  const Function& f_;
  SharedValues& shared_;
  SlotsOfRows& uses_;
  bool failed_ = false;
};

}  // namespace tenon::kernel
