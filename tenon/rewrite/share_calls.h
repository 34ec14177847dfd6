// Calls: which become part of their caller, and which stay calls of functions that are compiled once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/ir/program.h"

namespace tenon {

// Replaces calls by what they call, but for those of long functions that the Program calls several times: they stay, as
// `call`s of Programs of which every output is read. A function stays where its eqns, times its calls, are more than
// 150, or 500 where it does so little that a call of native code is felt, or 1,500 where it works element by element
// and does less than passing its arguments and results through memory; one that updates arrays in place, decides sizes
// or has lists never does. With TENON_UNITS=small in the environment all others stay, so that small functions test
// everything. Calls of the ops call_unit and call_inlined are as they say, whatever the price; a unit has no lists and
// decides no sizes. Time: linear in the eqns of what is inlined and of each function that stays.
ProgramRef share_calls(const ProgramRef& program);

// Which calls of a Program, and of the Programs in it, share_calls() leaves calls.
class SharedFunctions {
 public:
  explicit SharedFunctions(const ProgramRef& program);
  ~SharedFunctions();
  bool stays(const Eqn& call) const;

 private:
  std::unique_ptr<const class Functions> functions_;
};

// What share_calls() does with a function that a Program calls, and why.
struct CalledFunction {
  std::string name;  // "" where it has none
  double eqns = 0;   // with those of the functions that it calls
  double times = 0;  // that it is called, each call in a loop counted once
  bool unit = false;
  std::string reason;  // "called once"
  Source where;        // the first call
};
std::vector<CalledFunction> called_functions(const ProgramRef& program);

}  // namespace tenon
