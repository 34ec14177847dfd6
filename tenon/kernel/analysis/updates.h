// Nests that combine updates with what is there, at places that data choose: which loops lead to places of their own.
#pragma once

#include <optional>
#include <vector>

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// A nest all of whose stores are slot[offset] = op(slot[offset], update), of one slot, which nothing else in it reads.
struct Updates {
  struct Loop {
    std::uint32_t var;
    Dim size, stride;
  };
  Binary combine;
  SlotId slot;
  // Loops of which different indices never meet in one place, whatever the others are: columns of what is updated, and
  // lanes that have rows of their own. The others' order is that in which a place takes its updates. Both in the nest's
  // order.
  std::vector<Loop> free, ordered;
  // The offset of the first of the stores from `first` on, where all free indices are 0, is `unit` times this, which is
  // at least 0 and less than `rows`. Where each row is a run of `unit` elements: `whole_rows`.
  Expr row;
  Dim unit, rows;
  bool whole_rows;
  // Elements of the slot from `first` on that the stores may touch.
  Dim first, elements;
  // Whether any order gives the same, but for rounding where the nest says that it may.
  bool in_any_order;

  Dim updates() const;  // of each free index
  Dim columns() const;  // the free indices
};

// Nothing where the nest is none of these, or its places are not known to lie in a range. Linear in its expressions.
std::optional<Updates> updates_of(const Nest& nest);

// What combined with x is x.
Expr identity_of(Binary combine, DType dtype);

// Whether the value of an expression depends on a variable.
bool depends_on(const Expr& e, std::uint32_t var);

}  // namespace tenon::kernel
