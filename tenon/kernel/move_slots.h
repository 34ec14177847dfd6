// Moving slots: accesses of some slots become accesses of parts of others.
#pragma once

#include <map>

#include "tenon/kernel/analysis/affine.h"
#include "tenon/kernel/function.h"

namespace tenon::kernel {

// Rewrites statements and expressions. What a slot held from element 0 on lies in `slot` from `offset` on afterwards.
class MoveSlots : public Rewrite {
 public:
  struct Target {
    SlotId slot;
    Expr offset;
  };
  explicit MoveSlots(std::map<SlotId, Target> targets) : targets_(std::move(targets)) {}
  void block(Block& statements) {
    for (Statement& s : statements) statement(s);
  }
  void statement(Statement& s);

 protected:
  Expr load(const Expr& old, const Expr& offset) override;

 private:
  std::map<SlotId, Target> targets_;
};

}  // namespace tenon::kernel
