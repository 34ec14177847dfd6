#include "tenon/base/caches.h"

#include <algorithm>

namespace tenon {

// They are only added, each in front of the others.
class Caches {
 public:
  static void add(Cache& cache) {
    cache.next_ = first.load(std::memory_order_relaxed);
    while (!first.compare_exchange_weak(cache.next_, &cache, std::memory_order_release)) {
    }
  }
  template <class Visit>
  static void each(const Visit& visit) {
    for (Cache* at = first.load(std::memory_order_acquire); at != nullptr; at = at->next_) visit(*at);
  }

 private:
  static inline constinit std::atomic<Cache*> first{nullptr};
};

void Cache::enlist() { Caches::add(*this); }

std::vector<CacheInfo> cache_info() {
  std::vector<CacheInfo> all;
  for (const char* name : {"traces", "transformations", "executables", "ops"}) all.push_back({.name = name});
  Caches::each([&](Cache& cache) {
    const CacheInfo one = cache.info();
    auto sum = std::ranges::find(all, one.name, &CacheInfo::name);
    if (sum == all.end()) sum = all.insert(all.end(), {.name = one.name});
    sum->entries += one.entries;
    sum->bound += one.bound;
    sum->hits += one.hits;
    sum->misses += one.misses;
    sum->bytes += one.bytes;
  });
  return all;
}

void clear_caches() {
  Caches::each([](Cache& cache) { cache.clear(); });
}

}  // namespace tenon
