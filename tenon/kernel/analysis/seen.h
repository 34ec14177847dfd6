// Seen: which nodes a walk over a graph has been at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::kernel {

// A set of addresses by open addressing. A walk over a few nodes, which most are, takes no memory.
class Seen {
 public:
  // Whether it is new.
  bool insert(const void* node) {
    if (2 * (size_ + 1) > capacity()) grow();
    const bool fresh = put(node);
    size_ += fresh ? 1 : 0;
    return fresh;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t capacity() const { return many_.empty() ? few_.size() : many_.size(); }
  // Capacities are powers of two: the upper bits of a product choose the place (Knuth, TAOCP 3, 6.4).
  bool put(const void* node) {
    const void** table = many_.empty() ? few_.data() : many_.data();
    const std::size_t mask = capacity() - 1;
    const std::uint64_t spread = reinterpret_cast<std::uintptr_t>(node) * 0x9E3779B97F4A7C15;
    std::size_t at = static_cast<std::size_t>(spread >> 32) & mask;
    for (; table[at] != nullptr; at = (at + 1) & mask)
      if (table[at] == node) return false;
    table[at] = node;
    return true;
  }
  void grow() {
    std::vector<const void*> before = std::move(many_);
    if (before.empty()) before.assign(few_.begin(), few_.end());
    many_.assign(4 * before.size(), nullptr);
    for (const void* node : before)
      if (node != nullptr) put(node);
  }

  std::array<const void*, 32> few_{};
  std::vector<const void*> many_;
  std::size_t size_ = 0;
};

}  // namespace tenon::kernel
