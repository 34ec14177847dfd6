// What libtenon asks of libtenon_codegen, the only library that holds LLVM; opened at the first compilation.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "tenon/compile/native/code_image.h"
#include "tenon/kernel/analysis/open_numbers.h"
#include "tenon/kernel/function.h"

namespace tenon {

// Machine code of one Function, loaded.
class NativeCode {
 public:
  // Arguments: one address a slot of place `argument`, in order. The arena holds the Function's arena_bytes, 64-byte
  // aligned. Where the flag is found to be set, the code returns early. Returns 0, or the sum of the codes below; the
  // results are unspecified then.
  using Entry = std::int32_t (*)(void* const* arguments, void* arena, const std::atomic<std::uint32_t>* cancelled);
  // Of sizes that vary: writes CallSizes::values of these sizes, and returns whether they are within its limits.
  // Returns 0 too where a number leaves 64 bits: then it is to be found out what is wrong.
  using Sizes = std::int32_t (*)(const std::int64_t* sizes, std::int64_t* values);

  // Throws CompileError where a symbol is not there, MemoryError.
  NativeCode(const CodeImage& image, std::span<const void* const> objects);
  ~NativeCode();
  NativeCode(const NativeCode&) = delete;
  NativeCode& operator=(const NativeCode&) = delete;

  Entry entry = nullptr;
  Sizes sizes = nullptr;  // null where there are no limits and no values
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* at_;
  std::size_t bytes_;
};

inline constexpr std::int32_t lacked_memory = 1;  // a call of the runtime had no memory for its intermediate values
inline constexpr std::int32_t was_cancelled = 2;
inline constinit const std::atomic<std::uint32_t> never_cancelled{0};  // for code that nobody stops

// What a call of code for all sizes works out of its sizes, the size parameters of the Function.
struct CallSizes {
  struct AtLeast {
    Dim size;
    std::int64_t least = 0;
  };
  std::vector<AtLeast> limits;
  std::vector<Dim> values;
};

// Throw CompileError. Functions that differ in their open numbers alone share what was generated for the first of them.
CodeImage generate_code(const kernel::Function& function, const CallSizes& sizes = {});
std::shared_ptr<const NativeCode> compile_native(const kernel::Function& function);

// The one symbol of libtenon_codegen. False and a message where it fails.
using CodegenEntry = bool (*)(const kernel::Function& function, const kernel::OpenNumbers& numbers,
                              const CallSizes& sizes, CodeImage* image, std::string* error);
inline constexpr const char* codegen_symbol = "tenon_codegen_generate";

}  // namespace tenon
