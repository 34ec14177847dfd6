// Functions of floats as inlined arithmetic, for one or for many lanes at once; pow and rem of f64 call the C library
// lane by lane, as do arguments out of the range of a fast form. Errors: at most 4 ulp (tests/cpu/math.cpp measures).
// The function that is written into carries the target in its attributes target-cpu and target-features.
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
