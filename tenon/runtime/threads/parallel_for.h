// Work on all cores: a small pool that spins briefly, then sleeps. Called by generated code, hence the C names.
#pragma once

#include <cstdint>
#include <memory>

#include "tenon/runtime/threads/threads.h"

extern "C" {

// Splits [0, n) into at most threads() contiguous ranges whose bounds are multiples of `grain`, and calls `body` once
// for each; `worker` is the number of the range, from 0. The ranges depend on n, grain and threads() alone, so that
// partial results combined by `worker` have the same bits in every run. Returns when all are done. Ranges run one after
// another where the pool is in use, by an enclosing parallel loop or by another thread. Bodies must not throw. The
// caller's floating-point mode (MXCSR) holds in every worker. A loop that forks inside a body may only exec or exit in
// the child; forking elsewhere is safe, and the child gets workers of its own.
void tenon_parallel_for(void (*body)(void* context, std::int64_t begin, std::int64_t end, int worker), void* context,
                        std::int64_t n, std::int64_t grain);

// Calls body(context, worker) for worker in [0, workers), all at the same time, so that they may wait for each other.
// Waits for the pool while another thread uses it. Returns false, having called nothing, inside a parallel body or
// where there are not that many threads.
bool tenon_parallel_run(void (*body)(void* context, int worker), void* context, int workers);

// Whether this thread is inside a body, where more parallelism has no use.
bool tenon_inside_parallel();
}

namespace tenon {

// The same of a lambda: body(begin, end) for each range.
template <class Body>
void each_range(std::int64_t n, std::int64_t grain, const Body& body) {
  tenon_parallel_for([](void* context, std::int64_t begin, std::int64_t end,
                        int) { (*static_cast<const Body*>(context))(begin, end); },
                     const_cast<Body*>(std::addressof(body)), n, grain);
}

}  // namespace tenon
