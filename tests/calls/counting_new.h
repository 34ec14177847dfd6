// How often operator new was called in this process.
#pragma once

#include <atomic>
#include <cstddef>

extern std::atomic<std::size_t> counted_news;
