// Sizes as code: Dims over size variables, as a few instructions.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <tuple>

#include "tenon/base/dim.h"
#include "tenon/compile/cpu/function_emitter.h"
#include "tenon/compile/native/codegen.h"

namespace tenon::cpu {

// What steps have given, for sizes that are computed in one place: those that share terms share their code.
using SizeSteps = std::map<std::tuple<Dim::Step::Kind, llvm::Value*, llvm::Value*>, llvm::Value*>;

// A Dim where its variables are these values, which are not negative. Rounds down as floor_div and modulo do; a divisor
// that is 0 counts as 1. Where `overflow` is given, it is or-ed with whether a step leaves 64 bits.
// A step that `steps` has is not computed again.
llvm::Value* size_value(llvm::IRBuilderBase& b, const Dim& size, llvm::function_ref<llvm::Value*(SizeVar)> variable,
                        SizeSteps& steps, llvm::Value** overflow = nullptr);

// Adds `i32 name(ptr sizes, ptr values)`, of type NativeCode::Sizes, to the module.
void emit_sizes(llvm::Module& module, const CallSizes& sizes, const Target& target, const std::string& name);

}  // namespace tenon::cpu
