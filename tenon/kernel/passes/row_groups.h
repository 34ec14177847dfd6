// Groups of statements that blocks of rows join, and how a block of a group's rows is written: what it has for itself,
// and its parts of sums (row_blocks.cpp).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tenon/kernel/analysis/row_uses.h"
#include "tenon/kernel/target.h"

namespace tenon::kernel {

struct RowGroup {
  Dim rows = 0;
  std::vector<Statement> members;
  Uses uses;
  std::set<SlotId> sums;    // results of divided sums: not there before the group ends
  std::set<SlotId> scores;  // the largest matrices of products outside of loops
  std::set<SlotId> added;   // results of such products that are divided into terms
  std::set<SlotId> reads, writes;
};

class RowGroupWriter {
 public:
  using Own = std::map<SlotId, RestrictToRows::Own>;
  struct Sum {
    Reduce whole;
    SlotId parts;
    Dim elements;  // of one part
    Affine begin;  // of the parts, in the copy of a thread
  };
  // The memory of a thread's blocks, where that is no local: copy number `thread` of so many.
  struct Copies {
    std::optional<std::uint32_t> thread;
    std::int64_t count = 1;
  };
  Copies copies;

  RowGroupWriter(Function& function, const Target& target);

  // How many statements touch each slot within the group.
  std::map<SlotId, int> touched_by(const RowGroup& group) const;
  // Whether nothing outside of the group touches a slot, and each row has its part of it.
  bool is_own(SlotId slot, const Use& use, const std::map<SlotId, int>& inside) const;
  bool is_known_to_none_but(const Statement& s, SlotId slot) const;
  // Whether others than the statements that touch it so often may know a slot, as those that sum its parts do.
  bool is_known_outside(SlotId slot, const std::map<SlotId, int>& inside) const;
  // Whether each block may compute all of a slot: for itself where any reads it, or else none does.
  bool may_be_same(SlotId slot, const Use& use) const;
  // What blocks leave out, or have for themselves, and others read: it is computed once more behind them. `is_read`:
  // whether anything outside of the group may read a slot.
  Block behind(const RowGroup& group, FunctionRef<bool(SlotId)> is_read) const;
  double bytes_of(SlotId slot, const Dim& elements) const;
  double largest_copy() const { return 32. * static_cast<double>(target_.product_bytes); }

  // Slots that nothing outside of the group touches: a block needs no more than its own rows of them; `locals` are
  // those of them that are local. Those too large for that are copies where `may_copy`, and those that there are
  // `already`.
  Own own_slots(const RowGroup& group, std::int64_t step, bool may_copy, std::vector<SlotId>& locals,
                const Own& already = {});
  // The sums of a group that are divided into so many parts.
  std::vector<Sum> divided_sums(const RowGroup& group, const Dim& count);
  // The group for some rows, block `number` of them.
  Block part(const RowGroup& group, RowBlock rows, const Own& own, const std::vector<Sum>& sums, const Affine& number,
             const RestrictToRows::Added& added = {}) const;
  Reduce sum_of_parts(const Sum& s, const Dim& count);
  // A product of a group that is divided into terms. Where threads add their terms up apart, each has a copy of the
  // result as its part.
  struct Terms {
    Product product;              // into the part
    std::optional<Sum> sum = {};  // of the parts
    Affine part = {};             // where it begins
  };
  std::vector<Terms> added_terms(const RowGroup& group, bool apart);
  static RestrictToRows::Added added_to(const std::vector<Terms>& terms);
  // What the sums of the terms begin with.
  Block zeros_of(const std::vector<Terms>& terms);
  // Of own slots, by a statement that has been written.
  void count_references(const Own& own, const Statement& s);

 private:
  Function& f_;
  Target target_;
  std::vector<int> references_;  // of each slot, by all statements; none of parts, which sums behind their blocks read
};

}  // namespace tenon::kernel
