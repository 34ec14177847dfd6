// Sizes as code: Dims over size variables, as a few instructions.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "tenon/base/dim.h"
#include "tenon/compile/cpu/function_emitter.h"
#include "tenon/compile/native/codegen.h"

namespace tenon::cpu {

// A Dim where its variables are these values, which are not negative. Rounds down as floor_div and modulo do; a divisor
// that is 0 counts as 1. Where `overflow` is given, it is or-ed with whether a step leaves 64 bits.
llvm::Value* size_value(llvm::IRBuilderBase& b, const Dim& size, llvm::function_ref<llvm::Value*(SizeVar)> variable,
                        llvm::Value** overflow = nullptr);

// Adds `i32 name(ptr sizes, ptr values)`, of type NativeCode::Sizes, to the module.
void emit_sizes(llvm::Module& module, const CallSizes& sizes, const Target& target, const std::string& name);

}  // namespace tenon::cpu
