// Tasks of milliseconds, such as compilations, on all cores. They may lock and throw, which bodies of parallel_for may
// not.
#pragma once

#include <cstddef>

#include "tenon/base/function_ref.h"

namespace tenon {

// Calls task(0) … task(count - 1), in this order where one thread does all, on this thread and on those of the pool
// that nobody else uses. Returns when all have ended; then throws what the first of them, by number, has thrown. The
// calling thread is in a section (tenon/base/fork.h) meanwhile, and the others share it. Tasks run no parallel loops.
void run_tasks(std::size_t count, FunctionRef<void(std::size_t)> task);

}  // namespace tenon
