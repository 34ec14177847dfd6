// Functions of vectors of floats as inlined arithmetic; what has no short form calls the C library lane by lane.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "tenon/kernel/expr.h"

namespace tenon::cpu {

using Builder = llvm::IRBuilder<>;

// x: f32 or f64, or a vector of them.
llvm::Value* emit_unary(Builder& b, kernel::Unary op, llvm::Value* x);
// pow and atan2.
llvm::Value* emit_by_library(Builder& b, kernel::Binary op, llvm::Value* x, llvm::Value* y);
llvm::Value* emit_remainder(Builder& b, llvm::Value* x, llvm::Value* y);

// A constant of a float type, or a vector of it.
inline llvm::Value* number(llvm::Type* type, double value) { return llvm::ConstantFP::get(type, value); }

}  // namespace tenon::cpu
