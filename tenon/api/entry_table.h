// The specialisations of one jitted function, and who reads them while some are dropped.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "tenon/base/fork.h"
#include "tenon/base/function_ref.h"

namespace tenon::api_detail {

class JitEntry;
using EntryRef = std::shared_ptr<const JitEntry>;

// Found without a lock. Of so many, those that were asked for least recently go: there are two generations, as in
// Generations. What goes is not freed before all who may read it have ended: take_gone() gives it to who knows that.
class EntryTable {
 public:
  static constexpr std::size_t bound = 2048;
  class Generation;
  using Gone = std::vector<std::unique_ptr<const Generation>>;

  EntryTable();
  ~EntryTable();
  // The last one that was added. It is not freed before others are added.
  const JitEntry* recent() const { return recent_.load(std::memory_order_seq_cst); }
  template <class Matches>
  const JitEntry* find(std::uint64_t hash, Matches matches) {
    if (const JitEntry* found = young_.load(std::memory_order_seq_cst)->find(hash, matches)) return found;
    const JitEntry* found = old_.load(std::memory_order_seq_cst)->find(hash, matches);
    if (found != nullptr) keep_longer(*found);
    return found;
  }
  // Keeps the entry, unless another thread was faster: then that one's is returned.
  const JitEntry* keep(EntryRef entry, FunctionRef<bool(const JitEntry&)> same);
  void clear();
  Gone take_gone();
  std::size_t size() const;

  class Generation {
   public:
    Generation();
    template <class Matches>
    const JitEntry* find(std::uint64_t hash, Matches matches) const {
      const Slots* slots = slots_.load(std::memory_order_acquire);
      for (std::size_t i = hash & slots->mask;; i = (i + 1) & slots->mask) {
        const Slot& slot = slots->at[i];
        const JitEntry* entry = slot.entry.load(std::memory_order_acquire);
        if (entry == nullptr || (slot.hash.load(std::memory_order_relaxed) == hash && matches(*entry))) return entry;
      }
    }
    void add(EntryRef entry);
    bool holds(const JitEntry& entry) const;
    std::size_t size() const { return entries_.size(); }

   private:
    struct Slot {
      std::atomic<std::uint64_t> hash{0};
      std::atomic<const JitEntry*> entry{nullptr};
    };
    struct Slots {
      explicit Slots(std::size_t size) : mask(size - 1), at(size) {}
      std::size_t mask;
      std::vector<Slot> at;
    };
    static void place(Slots& slots, const JitEntry& entry);
    std::atomic<Slots*> slots_;
    std::vector<EntryRef> entries_;
    std::vector<std::unique_ptr<Slots>> all_slots_;  // older, smaller ones may still be read
  };

 private:
  void keep_longer(const JitEntry& entry);
  const JitEntry* add(EntryRef entry);
  std::atomic<const JitEntry*> recent_{nullptr};
  std::atomic<Generation*> young_, old_;
  mutable ForkMutex mutex_;  // of those who add
  std::size_t added_ = 0;
  Gone gone_;
};

// Who reads a table, in any thread: what was dropped from it is freed once all have ended who were there then. A reader
// adds to one of several counts, so that threads rarely meet.
class Readers {
 public:
  class Reading {
   public:
    explicit Reading(Readers& all) : state_(all.counts_[of_thread()].state) {
      state_.fetch_add(begun + 1, std::memory_order_seq_cst);
    }
    ~Reading() { state_.fetch_sub(1, std::memory_order_release); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    std::atomic<std::uint64_t>& state_;
  };
  // What nobody can read any more, of this and of what was dropped before: for the caller to free, under no lock.
  [[nodiscard]] std::vector<EntryTable::Gone> drop(EntryTable::Gone gone);
  std::size_t calls() const;  // readings that have begun

 private:
  static constexpr std::size_t counts = 8;
  static constexpr std::uint64_t begun = std::uint64_t(1) << 20;  // less: how many are inside
  static std::size_t of_thread();
  struct alignas(64) Count {
    std::atomic<std::uint64_t> state{0};
  };
  struct Dropped {
    EntryTable::Gone gone;
    std::array<bool, counts> left{};  // of the counts that were seen at zero since then
  };
  std::array<Count, counts> counts_;
  ForkMutex mutex_;
  std::vector<Dropped> dropped_;
};

}  // namespace tenon::api_detail
