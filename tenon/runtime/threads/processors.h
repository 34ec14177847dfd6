// What processors there are, and how many of them this process may use.
#pragma once

#include <cstdint>

namespace tenon {

// Processors of the affinity mask, at most what the cgroup's quota pays for (rounded up); at least 1.
int available_processors();

// Of the first cache for data and of the last one, as the system tells it of its first processor; where it tells none,
// of one that many have.
std::int64_t first_cache_bytes();
std::int64_t last_cache_bytes();

// TENON_NUM_THREADS where it is a positive number, `processors` otherwise.
int initial_threads(int processors);

}  // namespace tenon
