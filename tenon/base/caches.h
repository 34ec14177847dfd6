// The caches of the process: what they hold, how much at most, and how often they were of use.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

namespace tenon {

// All caches of one name. `bound`: entries at most; the latest come in place of those that were asked for least
// recently. `bytes`: about what the entries hold; 0 where nobody counts it.
struct CacheInfo {
  std::string name;
  std::size_t entries = 0, bound = 0, hits = 0, misses = 0, bytes = 0;
};

// A cache, from when it is enlisted until the process ends.
class Cache {
 public:
  virtual CacheInfo info() = 0;
  virtual void clear() = 0;

 protected:
  constexpr Cache() = default;
  ~Cache() = default;
  void enlist();  // once

 private:
  friend class Caches;
  Cache* next_ = nullptr;
};

// The caches by name: "traces", of jitted functions; "transformations", derivatives, batches and passes of Programs;
// "executables", what was compiled; "ops", those that run outside of jitted functions; "code", of functions that may
// differ in numbers; "fourier", plans of Fourier transforms, once there was one. Thread-safe.
std::vector<CacheInfo> cache_info();

// Forgets all that caches hold: it is traced and compiled again when it is asked for. What runs goes on.
void clear_caches();

}  // namespace tenon
