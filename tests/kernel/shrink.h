// A kernel that fails made smaller, as long as it fails.
#pragma once

#include <functional>

#include "tests/kernel/generator.h"

namespace tenon::kernel {

// Leaves out statements and stores, and takes operands for what is computed of them. `fails` is asked of kernels that
// verify.
RandomKernel smaller(RandomKernel kernel, const std::function<bool(const RandomKernel&)>& fails);

}  // namespace tenon::kernel
