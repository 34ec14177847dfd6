// Sizes that have been required to be equal.
#pragma once

#include "tenon/ir/unify.h"

namespace tenon {

// What size variables are equal to, as far as checks say. Of two variables, the one with the lower number stands for
// both; a number stands for a variable that must be equal to it. Equalities of longer Dims say nothing of one variable,
// and are not noted.
class EqualSizes {
 public:
  void note(const Dim& a, const Dim& b);
  // In terms of the variables that stand for themselves.
  Dim resolved(Dim d) const;
  bool are_equal(const Dim& a, const Dim& b) const { return a == b || resolved(a) == resolved(b); }
  bool empty() const { return same_.empty(); }

 private:
  SizeBinding same_;  // of variables that another, or a number, stands for
};

}  // namespace tenon
