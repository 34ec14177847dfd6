// The text form of Programs.
#pragma once

#include <iosfwd>
#include <string>

#include "tenon/ir/program.h"

namespace tenon {

struct PrintOptions {
  bool places = false;  // the user's line behind each eqn, as a comment
};

//   program @step[s0](%0: f32[s0,8], %1: f32[]) {
//     %2: f32[s0,8] = broadcast %1 {shape=[s0, 8], dims=[]}
//     %3: f32[s0,8] = add %0, %2
//     return %3
//   }
// Programs inside params are written in place. Parsed back by parse(); equal text means an equal Program.
std::string print(const Program& program, const PrintOptions& options = {});
std::ostream& operator<<(std::ostream& out, const ProgramRef& program);

}  // namespace tenon
