// What libtenon asks of libtenon_codegen, the only library that holds LLVM; opened at the first compilation.
#pragma once

#include <memory>
#include <string>

#include "tenon/kernel/function.h"

namespace tenon {

// Machine code of one Function. Plain data: it crosses the border of two libraries, one of them without run-time types.
struct NativeCode {
  // Arguments: one address a slot of place `argument`, in order. The arena holds the Function's arena_bytes, 64-byte
  // aligned. Returns 0, or another number where memory was lacking; the results are unspecified then.
  std::int32_t (*entry)(void* const* arguments, void* arena) = nullptr;
  void (*release)(NativeCode* code) = nullptr;  // unloads it
};

// Throws CompileError.
std::shared_ptr<const NativeCode> compile_native(const kernel::Function& function);

// The one symbol of libtenon_codegen. Null and a message where it fails.
using CodegenEntry = NativeCode* (*)(const kernel::Function& function, std::string* error);
inline constexpr const char* codegen_symbol = "tenon_codegen_compile";

}  // namespace tenon
