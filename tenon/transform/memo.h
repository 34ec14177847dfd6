// Memo: results of transformations by (Program hash, transformation, arguments), process-wide.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/base/hash.h"

namespace tenon {

// For static storage; never destroyed. Thread-safe, and safe beside forks. Two threads that miss at once both compute;
// the first result stays, so results are shared afterwards.
template <class Result>
class Memo {
 public:
  template <class Compute>
  Result get(const Hash128& key, Compute&& compute) {
    {
      const std::lock_guard lock(mutex_);
      if (results_ == nullptr) results_ = new Results;
      if (const auto found = results_->find(key); found != results_->end()) return found->second;
    }
    Result result = compute();
    const std::lock_guard lock(mutex_);
    if (results_->size() >= capacity) results_->clear();  // bounded: what is asked for again is made again
    return results_->emplace(key, std::move(result)).first->second;
  }

 private:
  static constexpr std::size_t capacity = 4096;
  using Results = std::unordered_map<Hash128, Result>;
  ForkMutex mutex_;
  Results* results_ = nullptr;
};

inline void hash_mask(Hasher& h, const std::vector<bool>& mask) {
  h(mask.size());
  for (bool bit : mask) h(bit);
}

}  // namespace tenon
