// Functions of floats as inlined arithmetic, for one or for many lanes at once; arguments out of the range of a fast
// form call the C library lane by lane. Errors: docs/accuracy.md.
// The function that is written into carries the target in its attributes target-cpu and target-features.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "tenon/kernel/analysis/ranges.h"

namespace tenon::cpu {

using kernel::Range;

struct Builder : llvm::IRBuilder<> {
  using IRBuilder::IRBuilder;
  // Whether the shortest chain of operations matters more than the fewest: scalars, and the bodies of small loops.
  bool short_chains = false;
};

// x: f32 or f64, or a vector of them; its values are NaN or in the range.
llvm::Value* emit_unary(Builder& b, kernel::Unary op, llvm::Value* x, const Range& range = {});
// sin and cos of one argument share what they can.
std::pair<llvm::Value*, llvm::Value*> emit_sin_cos(Builder& b, llvm::Value* x, const Range& range);
// pow, atan2 and rem.
llvm::Value* emit_binary(Builder& b, kernel::Binary op, llvm::Value* x, llvm::Value* y);
// The same by functions that a module has once for each type, and kind of range: a call costs some nanoseconds, and
// much less code.
llvm::Value* call_unary(Builder& b, kernel::Unary op, llvm::Value* x, const Range& range);
std::pair<llvm::Value*, llvm::Value*> call_sin_cos(Builder& b, llvm::Value* x, const Range& range);
llvm::Value* call_binary(Builder& b, kernel::Binary op, llvm::Value* x, llvm::Value* y);

// `count` lanes of a vector from one on, and vectors of equal length, a power of two of them, one after another.
llvm::Value* part(Builder& b, llvm::Value* vector, unsigned from, unsigned count);
llvm::Value* joined(Builder& b, std::vector<llvm::Value*> parts);

// A constant of a float type, or a vector of it.
inline llvm::Value* number(llvm::Type* type, double value) { return llvm::ConstantFP::get(type, value); }

}  // namespace tenon::cpu
