// What libtenon asks of libtenon_codegen, the only library that holds LLVM; opened at the first compilation.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "tenon/kernel/function.h"

namespace tenon {

// Machine code of one Function. Plain data: it crosses the border of two libraries, one of them without run-time types.
struct NativeCode {
  // Arguments: one address a slot of place `argument`, in order. The arena holds the Function's arena_bytes, 64-byte
  // aligned. Where the flag is found to be set, the code returns early. Returns 0, or the sum of the codes below; the
  // results are unspecified then.
  std::int32_t (*entry)(void* const* arguments, void* arena, const std::atomic<std::uint32_t>* cancelled) = nullptr;
  void (*release)(NativeCode* code) = nullptr;  // unloads it
};

inline constexpr std::int32_t lacked_memory = 1;  // a call of the runtime had no memory for its intermediate values
inline constexpr std::int32_t was_cancelled = 2;
inline constinit const std::atomic<std::uint32_t> never_cancelled{0};  // for code that nobody stops

// Throws CompileError.
std::shared_ptr<const NativeCode> compile_native(const kernel::Function& function);

// The one symbol of libtenon_codegen. Null and a message where it fails.
using CodegenEntry = NativeCode* (*)(const kernel::Function& function, std::string* error);
inline constexpr const char* codegen_symbol = "tenon_codegen_compile";

}  // namespace tenon
