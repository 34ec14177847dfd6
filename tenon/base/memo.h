// Memo: results by the hash of what they are of, process-wide.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/base/caches.h"
#include "tenon/base/fork.h"
#include "tenon/base/hash.h"
#include "tenon/base/stack.h"

namespace tenon {

inline std::size_t held_bytes(const std::vector<bool>& bits) { return sizeof(bits) + bits.size() / 8; }

// For static storage; never destroyed. Thread-safe, and safe beside forks. Two threads that miss at once both compute;
// the first result stays, so results are shared afterwards. What was asked for least recently goes, where there are too
// many results or they hold too much: it is made again when it is asked for. The latest result always stays. About how
// many bytes one holds, `held_bytes(result)` says, beside the result's type.
template <class Result>
class Memo final : public Cache {
 public:
  constexpr Memo() = default;
  // Told as `name` (cache_info), with so many results and bytes at most.
  constexpr Memo(const char* name, std::size_t results, std::size_t bytes)
      : name_(name), most_results_(results), most_bytes_(bytes) {}
  template <class Compute>
  Result get(const Hash128& key, Compute&& compute) {
    {
      const std::lock_guard lock(mutex_);
      if (kept_ == nullptr) {
        kept_ = new Kept;
        enlist();
      }
      if (const auto found = kept_->at.find(key); found != kept_->at.end()) {
        kept_->order.splice(kept_->order.begin(), kept_->order, found->second);
        ++kept_->hits;
        return found->second->result;
      }
    }
    require_stack();
    Result result = compute();
    const std::size_t bytes = held_bytes(result);
    std::list<Entry> gone;  // ends outside of the lock
    const std::lock_guard lock(mutex_);
    ++kept_->misses;
    if (const auto found = kept_->at.find(key); found != kept_->at.end()) return found->second->result;
    kept_->order.push_front({key, std::move(result), bytes});
    kept_->at.emplace(key, kept_->order.begin());
    kept_->bytes += bytes;
    while (kept_->order.size() > 1 && (kept_->order.size() > most_results_ || kept_->bytes > most_bytes_)) {
      kept_->bytes -= kept_->order.back().bytes;
      kept_->at.erase(kept_->order.back().key);
      gone.splice(gone.begin(), kept_->order, std::prev(kept_->order.end()));
    }
    return kept_->order.front().result;
  }

  CacheInfo info() override {
    const std::lock_guard lock(mutex_);
    return {name_, kept_->order.size(), most_results_, kept_->hits, kept_->misses, kept_->bytes};
  }
  void clear() override {
    std::list<Entry> gone;
    const std::lock_guard lock(mutex_);
    gone.swap(kept_->order);
    kept_->at.clear();
    kept_->bytes = 0;
  }

 private:
  struct Entry {
    Hash128 key;
    Result result;
    std::size_t bytes;
  };
  struct Kept {
    std::list<Entry> order;  // the latest first
    std::unordered_map<Hash128, typename std::list<Entry>::iterator> at;
    std::size_t bytes = 0, hits = 0, misses = 0;
  };
  const char* name_ = "transformations";
  std::size_t most_results_ = 4096, most_bytes_ = std::size_t(16) << 20;
  ForkMutex mutex_;
  Kept* kept_ = nullptr;
};

}  // namespace tenon
