// A map of bounded size that keeps what was asked for lately.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

namespace tenon {

// Two generations of entries. What is new or found goes to the younger one; when that holds half of the bound, it
// becomes the older one, and what was the older one goes. So nothing goes that was asked for among the latest half, and
// a look-up costs at most two. Addresses of values stay. The caller locks.
template <class Key, class Value>
class Generations {
 public:
  using Map = std::unordered_map<Key, Value>;
  explicit Generations(std::size_t bound) : half_(bound / 2) {}

  Value* find(const Key& key) {
    if (const auto found = young_.find(key); found != young_.end()) return &found->second;
    auto node = old_.extract(key);
    return node.empty() ? nullptr : &young_.insert(std::move(node)).position->second;
  }
  // For a key that is not there. What goes is returned: to end outside of the caller's lock.
  [[nodiscard]] Map insert(const Key& key, Value value) {
    Map gone;
    if (young_.size() >= half_) gone = std::exchange(old_, std::exchange(young_, {}));
    young_.emplace(key, std::move(value));
    return gone;
  }
  [[nodiscard]] std::pair<Map, Map> clear() { return {std::exchange(young_, {}), std::exchange(old_, {})}; }
  std::size_t size() const { return young_.size() + old_.size(); }
  std::size_t bound() const { return 2 * half_; }

 private:
  std::size_t half_;
  Map young_, old_;
};

}  // namespace tenon
