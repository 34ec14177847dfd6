// How many threads compiled programs use.
#pragma once

namespace tenon {

// The threads that share the work of one call, the caller included. At first TENON_NUM_THREADS, or the processors that
// the affinity mask and the cgroup's quota allow.
int threads();
// At least 1; throws RuntimeError otherwise. Calls that run keep theirs.
//
//   tn::set_threads(1);
void set_threads(int count);

}  // namespace tenon
