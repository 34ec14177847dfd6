// The loop language as it is meant: a slow interpreter that tests compare passes and generated code with. It looks at
// one number at a time and knows nothing of passes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tenon/kernel/function.h"

namespace tenon::kernel {

using Bytes = std::vector<std::byte>;

// In which order statements run that say that any order will do: independent nests, and blocks.
enum class Order { forward, backward };

// Runs a Function. `arguments` are the memory of each argument by its number, `shared` those whose memory another one
// has. Calls are of the function below, and of tenon_found_memory. Throws RuntimeError where an access is outside of
// its slot, where memory of the Function is read that has not been written, where a size that is found is none or
// larger than its slot says, where memory is touched that was asked for too early or by too little, where a loop does
// not end, and of what it does not know.
void interpret(const Function& function, std::vector<Bytes>& arguments, std::span<const std::int64_t> sizes,
               Order order = Order::forward, std::span<const std::optional<std::uint32_t>> shared = {});

// What interpreted code calls, "kernel_test_mix": to[i] = 3·from[i] + i for i below n, of i32.
extern "C" std::int64_t kernel_test_mix(std::int64_t n, const std::int32_t* from, std::int32_t* to);

}  // namespace tenon::kernel
