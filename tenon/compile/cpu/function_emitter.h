// Statements of the loop language as LLVM IR: loop nests with a vector main loop and a remainder of exactly its size.
#pragma once

#include <llvm/IR/Module.h>

#include "tenon/compile/cpu/expr_emitter.h"

namespace tenon::cpu {

struct Target {
  unsigned vector_bytes;     // of the widest registers worth using
  std::int64_t cache_bytes;  // of the last cache, which cores share
  std::string cpu, features;
};

// Adds `i32 name(ptr arguments, ptr arena)` to the module, and its open numbers as `numbers_name`, where there are
// some.
void emit_function(llvm::Module& module, const kernel::Function& function, const kernel::OpenNumbers& numbers,
                   const Target& target, const std::string& name);

}  // namespace tenon::cpu
