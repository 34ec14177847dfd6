// How freely sums are taken in another order, for all that is traced while an object lives.
#pragma once

#include "tenon/ir/scope.h"

namespace tenon {

// While it lives, on this thread, what is traced is strict: sums are taken in the order in which they are written, and
// only exact rules are applied. Functions that jit is called for meanwhile are strict as a whole. What runs at once, op
// by op, stays as it is.
class StrictNumerics {
 public:
  StrictNumerics();
  ~StrictNumerics();
  StrictNumerics(const StrictNumerics&) = delete;
  StrictNumerics& operator=(const StrictNumerics&) = delete;

 private:
  Numerics before_;
  Scope* scope_;
  Numerics of_scope_ = Numerics::relaxed;
};

Numerics numerics_here();  // of what is traced on this thread

}  // namespace tenon
