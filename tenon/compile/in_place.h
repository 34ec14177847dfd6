// What a compiled program copies, and the demand that updates copy nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tenon/base/function_ref.h"
#include "tenon/kernel/function.h"

namespace tenon {

struct Compilation;  // tenon/compile/compilation.h

struct Copied {
  double bytes;  // below zero, only a call knows how many: of a list as a whole, and of an array whose size varies
  static constexpr double varies = -2;
  double times;
  kernel::CopyCause cause;
  Source where;
  std::optional<std::size_t> argument;  // of the program, that is copied
  std::string extent() const;           // "4,000 bytes"
  std::string text() const;             // "4,000 bytes, 10 times at a.cpp:3: …"
};

// Copies between arrays in memory, and of lists; those of small arrays in registers are none.
std::vector<Copied> copied(const kernel::Function& function);

// What the user calls an input of a Program, and what to do where it is in the way as the caller's.
struct InputName {
  std::string name, advice;
};

// Throws CompileError where an update of some elements copies its array: it names the op, the array's type, the line
// and what forces the copy. The compilation has its reasons reported.
void require_in_place(const Compilation& compilation, FunctionRef<InputName(std::size_t)> input);

// 1234567 as 1,234,567.
std::string grouped(double value);

}  // namespace tenon
