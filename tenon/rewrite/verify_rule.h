// Whether a rule holds, tried on what its own pattern takes.
#pragma once

#include <cstdint>

#include "tenon/rewrite/rule.h"

namespace tenon {

struct VerifyOptions {
  int cases = 100;          // programs that the rule was applied to
  std::uint64_t seed = 1;   // of shapes, dtypes and values
  bool derivatives = true;  // jvp and vmap of both, too
};
struct Verified {
  int cases = 0;  // that the rule was applied to
};

// Draws types that the pattern takes, and values (of exact rules -0, infinities and NaN too), and compares the pattern
// and what the rule makes of it, by the reference evaluator: to the bit where it is exact, else within rounding; also
// their derivatives and batches. Throws RewriteError with the operands and both results where they differ, and where
// the rule was never applied.
Verified verify(const RuleRef& rule, const VerifyOptions& options = {});

}  // namespace tenon
