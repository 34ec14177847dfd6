// Report: what was decided on the way to code, and why. The planner fills it where one is asked for; explain() prints
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/source.h"
#include "tenon/rewrite/rule.h"

namespace tenon {

struct Report {
  // An elementwise value that is stored instead of being computed inside what reads it.
  struct Cut {
    std::string value;  // "exp f32[32,64]"
    std::int64_t bytes = 0;
    std::string reason;  // "an output", "an operand of dot_general"
    Source where;        // the user's line that asked for it
  };
  std::vector<Cut> cuts;

  // What forward code stores for reverse code.
  struct Kept {
    std::string value;
    std::int64_t bytes = 0;
    Source where;
  };
  std::vector<Kept> kept;

  // A reduction that a loop took in while the function was traced.
  struct Taken {
    std::string value;  // "sum f32[32,128]"
    Source where, loop;
  };
  std::vector<Taken> taken;

  // What rules did, the user's before the library's.
  std::vector<Applied> applied;
};

}  // namespace tenon
