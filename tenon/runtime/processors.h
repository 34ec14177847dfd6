// How many processors this process may use.
#pragma once

namespace tenon {

// Processors of the affinity mask, at most what the cgroup's quota pays for (rounded up); at least 1.
int available_processors();

// TENON_NUM_THREADS where it is a positive number, `processors` otherwise.
int initial_threads(int processors);

}  // namespace tenon
