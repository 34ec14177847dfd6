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
// Whether one compares with another as signed integers do; NaN as no float does. By the bits, too.
llvm::Value* powers_compared(Builder& b, llvm::CmpInst::Predicate of_signed, llvm::Value* x, llvm::Value* y);
// Powers of two, held as f32, as f64, and f64 rounded to them: by the bits, for conversions by the processor take
// 2^-127, which is subnormal as f32, for 0.
llvm::Value* powers_as_f64(Builder& b, const FloatFormat& format, llvm::Value* values);
llvm::Value* powers_of_f64(Builder& b, const FloatFormat& format, llvm::Value* values);

}  // namespace tenon::cpu
