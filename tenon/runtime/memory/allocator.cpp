#include "tenon/runtime/memory/allocator.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/base/fork.h"
#include "tenon/runtime/memory/available_memory.h"

namespace tenon {
namespace {

constexpr std::size_t padding = 64;
constexpr std::size_t smallest = 128;
constexpr std::size_t large = std::size_t(1) << 20;
constexpr std::size_t huge_page = std::size_t(2) << 20;
constexpr std::size_t thread_cache_blocks = 16;  // of each small class, or as many as these bytes hold
constexpr std::size_t thread_cache_bytes = 128 << 10;
constexpr std::ptrdiff_t counting_step = 64 << 10;
constexpr std::size_t thread_cache_limit = 64 << 10;  // larger classes are shared
constexpr std::size_t shared_cache_limit = std::size_t(1) << 30;
constexpr int classes = 64 * 4;

// Four classes a power of two: at most 25 % is lost.
std::size_t class_of(std::size_t bytes) {
  const std::size_t size = std::max(bytes, smallest) - 1;
  const int top = static_cast<int>(std::bit_width(size)) - 1;  // 2^top <= size
  return static_cast<std::size_t>(top) * 4 + ((size >> (top - 2)) & 3);
}
constexpr std::size_t class_bytes(std::size_t index) {
  const std::size_t top = index / 4, quarter = top < 2 ? 0 : std::size_t(1) << (top - 2);  // none is as small as that
  return (std::size_t(1) << top) + (index % 4 + 1) * quarter;
}

std::atomic<std::size_t> live{0}, peak{0}, cached{0};

void to_system(void* block, std::size_t bytes) noexcept {
  std::free(block);
  return_memory(bytes);
}

// Blocks that were freed, by class; shared by all threads.
class SharedCache {
 public:
  void* take(std::size_t index) {
    const std::lock_guard lock(mutex_);
    auto& blocks = blocks_[index];
    if (blocks.empty()) return nullptr;
    void* block = blocks.back();
    blocks.pop_back();
    cached.fetch_sub(class_bytes(index), std::memory_order_relaxed);
    return block;
  }
  void give(void* block, std::size_t index) noexcept {
    if (cached.load(std::memory_order_relaxed) + class_bytes(index) > shared_cache_limit)
      return to_system(block, class_bytes(index));
    if (!put(block, index)) to_system(block, class_bytes(index));
  }
  void hold() noexcept { mutex_.lock(); }
  void let_go() noexcept { mutex_.unlock(); }
  void clear() noexcept {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      std::vector<void*> all;
      {
        const std::lock_guard lock(mutex_);
        all.swap(blocks_[i]);
        cached.fetch_sub(class_bytes(i) * all.size(), std::memory_order_relaxed);
      }
      for (void* block : all) to_system(block, class_bytes(i));
    }
  }

 private:
  bool put(void* block, std::size_t index) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      blocks_[index].push_back(block);
    } catch (...) {
      return false;
    }
    cached.fetch_add(class_bytes(index), std::memory_order_relaxed);
    return true;
  }
  std::mutex mutex_;  // nothing is waited for while it is held: forks take it last
  std::array<std::vector<void*>, classes> blocks_;
};

SharedCache& shared_cache() {
  static constinit Lasting<SharedCache> cache;  // outlives every thread and static destructor
  static constinit ForkLock at_forks{[]() noexcept { shared_cache().hold(); },
                                     []() noexcept { shared_cache().let_go(); }};
  return cache.get([] {
    hold_at_forks(at_forks);
    return SharedCache();
  });
}

void count_now(std::ptrdiff_t bytes) {
  const std::size_t sum =
      live.fetch_add(static_cast<std::size_t>(bytes), std::memory_order_relaxed) + static_cast<std::size_t>(bytes);
  for (std::size_t old = peak.load(std::memory_order_relaxed);
       static_cast<std::ptrdiff_t>(sum - old) > 0 && !peak.compare_exchange_weak(old, sum);) {
  }
}

// Blocks that this thread freed, each holding the address of the next; and what it handed out since it last told the
// others: small blocks touch nothing that threads share.
class ThreadCache {
 public:
  ~ThreadCache() {
    for (std::size_t i = 0; i < lists_.size(); ++i)
      while (void* block = take(i)) shared_cache().give(block, i);
    count(0, true);
  }
  void* take(std::size_t index) {
    List& list = lists_[index];
    if (list.first == nullptr) return nullptr;
    --list.count;
    return std::exchange(list.first, *static_cast<void**>(list.first));
  }
  bool give(void* block, std::size_t index) {
    List& list = lists_[index];
    if (list.count >= most[index]) return false;
    *static_cast<void**>(block) = list.first;
    list.first = block;
    ++list.count;
    return true;
  }
  void count(std::ptrdiff_t bytes, bool now = false) {
    uncounted_ += bytes;
    if (!now && uncounted_ < counting_step && uncounted_ > -counting_step) return;
    count_now(std::exchange(uncounted_, 0));
  }

 private:
  struct List {
    void* first = nullptr;
    std::size_t count = 0;
  };
  static constexpr std::size_t small_classes = 17 * 4;  // up to thread_cache_limit
  static constexpr auto most = [] {
    std::array<std::size_t, small_classes> counts{};
    for (std::size_t i = 8; i < counts.size(); ++i)
      counts[i] = std::max(thread_cache_blocks, thread_cache_bytes / class_bytes(i));
    return counts;
  }();
  std::array<List, small_classes> lists_;
  std::ptrdiff_t uncounted_ = 0;
};

// Found by a pointer, which costs a load. Few bytes of this library are a thread's own: a process such as Python, which
// opens it late, has little room for storage of this model.
thread_local ThreadCache* mine [[gnu::tls_model("initial-exec")]] = nullptr;
thread_local bool ended [[gnu::tls_model("initial-exec")]] = false;

ThreadCache* begin_thread() {
  static thread_local struct Owner {
    Owner() : cache(new(std::nothrow) ThreadCache) { mine = cache.get(); }
    ~Owner() {
      mine = nullptr;
      ended = true;
    }
    std::unique_ptr<ThreadCache> cache;
  } owner;
  return mine;
}
// Null while the thread ends, and where no memory was left for it.
ThreadCache* thread_cache() {
  if (mine != nullptr) [[likely]]
    return mine;
  return ended ? nullptr : begin_thread();
}

// What the cache keeps for reuse is given back before anything is refused.
void* from_system(std::size_t bytes) {
  std::size_t available = promise_memory(bytes);
  if (available != 0 && cached.load(std::memory_order_relaxed) > 0) {
    shared_cache().clear();
    available = promise_memory(bytes);
  }
  if (available != 0)
    throw MemoryError(fmt::format("{} bytes were asked for; {} bytes are available.", bytes, available),
                      "Use a smaller size or dtype, work in smaller batches, or checkpoint what is kept for the "
                      "gradient. Where a container bounds this process, its memory limit counts.");
  const bool is_large = bytes >= large;
  const std::size_t alignment = is_large ? huge_page : 64;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, rounded);
  if (block == nullptr) {
    return_memory(bytes);
    throw MemoryError(fmt::format("{} bytes were asked for; the system refused them.", rounded),
                      "A limit on address space (`ulimit -v`) may be set.");
  }
  if (is_large) ::madvise(block, rounded, MADV_HUGEPAGE);
  return block;
}

}  // namespace

void* allocate_block(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 4)
    throw MemoryError("an array larger than the address space was asked for.", "Check the sizes.");
  const std::size_t index = class_of(bytes + padding), size = class_bytes(index);
  ThreadCache* cache = thread_cache();
  void* block = size <= thread_cache_limit && cache != nullptr ? cache->take(index) : nullptr;
  if (block == nullptr) block = shared_cache().take(index);
  if (block == nullptr) block = from_system(size);
  if (cache != nullptr)
    cache->count(static_cast<std::ptrdiff_t>(size));
  else
    count_now(static_cast<std::ptrdiff_t>(size));
  return block;
}

void free_block(void* block, std::size_t bytes) noexcept {
  if (block == nullptr) return;
  const std::size_t index = class_of(bytes + padding), size = class_bytes(index);
  ThreadCache* cache = thread_cache();
  if (cache == nullptr) {
    count_now(-static_cast<std::ptrdiff_t>(size));
    return shared_cache().give(block, index);
  }
  cache->count(-static_cast<std::ptrdiff_t>(size));
  if (size <= thread_cache_limit && cache->give(block, index)) return;
  shared_cache().give(block, index);
}

void trim_memory() noexcept { shared_cache().clear(); }

MemoryStatistics memory_statistics() noexcept { return {live.load(), peak.load(), cached.load()}; }

void reset_peak_memory() noexcept { peak.store(live.load()); }

}  // namespace tenon
