// Whether this thread's arithmetic takes numbers nearer to zero than normal ones for zero.
#pragma once

#include <xmmintrin.h>

namespace tenon {

// Flushed, or kept, while it lives; the mode before comes back.
class SubnormalScope {
 public:
  explicit SubnormalScope(bool flushed) : before_(_mm_getcsr()) {
    constexpr unsigned flush = 0x8040;  // results, and operands
    _mm_setcsr(flushed ? before_ | flush : before_ & ~flush);
  }
  ~SubnormalScope() { _mm_setcsr(before_); }
  SubnormalScope(const SubnormalScope&) = delete;
  SubnormalScope& operator=(const SubnormalScope&) = delete;

 private:
  unsigned before_;
};

}  // namespace tenon
