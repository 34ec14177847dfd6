// Floats of 8 bits to f32 and back, as integer operations on the bits of one or of many lanes at once: ten to fifteen
// instructions, of AVX2 or any other set.
#pragma once

#include "tenon/base/dtype.h"
#include "tenon/compile/cpu/math.h"

namespace tenon::cpu {

// Codes (i8) as the f32 that they stand for. Of NaN the sign alone is kept.
llvm::Value* float8_decoded(Builder& b, const FloatFormat& format, llvm::Value* codes);
// f32 rounded to nearest even, as codes.
llvm::Value* float8_encoded(Builder& b, const FloatFormat& format, llvm::Value* values);
// f32 rounded likewise, still as f32.
llvm::Value* float8_rounded(Builder& b, const FloatFormat& format, llvm::Value* values);

}  // namespace tenon::cpu
