#include "tenon/api/entry_table.h"

#include <algorithm>
#include <mutex>

#include "tenon/api/jit.h"

namespace tenon::api_detail {

// --- generations ---

EntryTable::Generation::Generation() {
  all_slots_.push_back(std::make_unique<Slots>(8));
  slots_.store(all_slots_.back().get(), std::memory_order_release);
}

void EntryTable::Generation::place(Slots& slots, const JitEntry& entry) {
  std::size_t i = entry.hash() & slots.mask;
  while (slots.at[i].entry.load(std::memory_order_relaxed) != nullptr) i = (i + 1) & slots.mask;
  slots.at[i].hash.store(entry.hash(), std::memory_order_relaxed);
  slots.at[i].entry.store(&entry, std::memory_order_release);
}

void EntryTable::Generation::add(EntryRef entry) {
  const JitEntry& kept = *entries_.emplace_back(std::move(entry));
  if (2 * entries_.size() <= all_slots_.back()->mask + 1) return place(*all_slots_.back(), kept);
  auto larger = std::make_unique<Slots>(2 * (all_slots_.back()->mask + 1));
  for (const EntryRef& e : entries_) place(*larger, *e);
  slots_.store(larger.get(), std::memory_order_release);
  all_slots_.push_back(std::move(larger));
}

bool EntryTable::Generation::holds(const JitEntry& entry) const {
  return find(entry.hash(), [&](const JitEntry& e) { return &e == &entry; }) != nullptr;
}

// --- tables ---

EntryTable::EntryTable() : young_(new Generation), old_(new Generation) {}
EntryTable::~EntryTable() {
  delete young_.load();
  delete old_.load();
}

const JitEntry* EntryTable::keep(EntryRef entry, FunctionRef<bool(const JitEntry&)> same) {
  // What tells entries apart may be code of the user's, which runs under no lock.
  const auto added = [&] {
    const std::lock_guard lock(mutex_);
    return added_;
  };
  for (;;) {
    const std::size_t known = added();
    if (const JitEntry* other = find(entry->hash(), same)) return other;
    const std::lock_guard lock(mutex_);
    if (added_ == known) return add(std::move(entry));
  }
}

// Under the lock.
const JitEntry* EntryTable::add(EntryRef entry) {
  if (young_.load(std::memory_order_relaxed)->size() >= bound / 2) {
    gone_.emplace_back(old_.exchange(young_.load(std::memory_order_relaxed), std::memory_order_seq_cst));
    young_.store(new Generation, std::memory_order_seq_cst);
  }
  const JitEntry* kept = entry.get();
  young_.load(std::memory_order_relaxed)->add(std::move(entry));
  recent_.store(kept, std::memory_order_seq_cst);
  ++added_;
  return kept;
}

void EntryTable::keep_longer(const JitEntry& entry) {
  const std::lock_guard lock(mutex_);
  if (!young_.load(std::memory_order_relaxed)->holds(entry)) add(entry.shared_from_this());
}

void EntryTable::clear() {
  const std::lock_guard lock(mutex_);
  recent_.store(nullptr, std::memory_order_seq_cst);
  gone_.emplace_back(young_.exchange(new Generation, std::memory_order_seq_cst));
  gone_.emplace_back(old_.exchange(new Generation, std::memory_order_seq_cst));
}

EntryTable::Gone EntryTable::take_gone() {
  const std::lock_guard lock(mutex_);
  return std::exchange(gone_, {});
}

std::size_t EntryTable::size() const {
  const std::lock_guard lock(mutex_);
  return young_.load(std::memory_order_relaxed)->size() + old_.load(std::memory_order_relaxed)->size();
}

// --- readers ---

std::size_t Readers::of_thread() {
  static std::atomic<std::size_t> threads{0};
  static thread_local const std::size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % counts;
  return mine;
}

std::vector<EntryTable::Gone> Readers::drop(EntryTable::Gone gone) {
  std::vector<EntryTable::Gone> free;
  const std::lock_guard lock(mutex_);
  if (!gone.empty()) dropped_.push_back({std::move(gone), {}});
  if (dropped_.empty()) return free;
  for (std::size_t k = 0; k < counts; ++k)
    if (counts_[k].state.load(std::memory_order_seq_cst) % begun == 0)
      for (Dropped& each : dropped_) each.left[k] = true;
  for (Dropped& each : dropped_)
    if (std::ranges::all_of(each.left, [](bool left) { return left; })) free.push_back(std::move(each.gone));
  std::erase_if(dropped_, [](const Dropped& each) { return each.gone.empty(); });
  return free;
}

std::size_t Readers::calls() const {
  std::size_t sum = 0;
  for (const Count& count : counts_) sum += count.state.load(std::memory_order_relaxed) / begun;
  return sum;
}

}  // namespace tenon::api_detail
