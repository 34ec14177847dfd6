// Functions of the user's that programs call while they run: from generated code, hence the C name, and by the
// evaluator.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tenon/runtime/memory/buffer.h"

extern "C" {

// Calls a function with the operands at the first addresses; its results go to the others. The description: a
// `const tenon::HostFunction*`, the numbers of guards, of operands and of results, and of each of these its dtype, rank
// and sizes. The first operands are guards, single bools: where one is false the function is not called, and results
// are zeros. Minus tenon::host_call_failed where it throws: what it threw is kept for rethrow_host_failure().
std::int64_t tenon_host_call(const std::int64_t* description, void* const* addresses);
}

namespace tenon {

// An array as a description tells it.
struct HostArray {
  DType dtype;
  std::vector<std::int64_t> dims;
};

// Never changed, and shared. It may run on any thread, in several at once, and under the floating-point mode of other
// code: subnormals are not flushed.
class HostFunction {
 public:
  using Body = std::function<std::vector<Buffer>(std::span<const Buffer>)>;

  HostFunction(std::string name, Body body);
  // Of this process: no other function has it, also after this one is gone.
  std::int64_t id() const { return id_; }
  const std::string& name() const { return name_; }

  // Contiguous results of these dtypes and sizes; RuntimeError where the function gives others. Throws what it throws.
  std::vector<Buffer> call(std::span<const Buffer> operands, std::span<const HostArray> results) const;

 private:
  std::string name_;
  Body body_;
  std::int64_t id_;
};

// While it lives, functions that a program calls on this thread get these arrays as they are where they are operands:
// they are immutable and may be kept, as memory of the program's own may not. Contiguous; they outlive it. To find one
// takes the logarithm of their number.
class GivenArrays {
 public:
  explicit GivenArrays(std::vector<const Buffer*> arrays);
  ~GivenArrays();
  GivenArrays(const GivenArrays&) = delete;
  GivenArrays& operator=(const GivenArrays&) = delete;
  // The one at an address, where there is one of this type; else nullptr.
  static const Buffer* find(const void* address, const HostArray& type);

 private:
  std::vector<const Buffer*> arrays_;  // by address
  GivenArrays* before_;                // of a program around this one
};

inline constexpr std::int32_t host_call_failed = 8;  // a status of generated code
[[noreturn]] void rethrow_host_failure();            // of this thread

}  // namespace tenon
