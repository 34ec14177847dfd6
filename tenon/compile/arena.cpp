#include "tenon/compile/arena.h"

#include <algorithm>
#include <map>
#include <set>

#include "tenon/kernel/rows.h"

namespace tenon {
namespace {

struct Life {
  kernel::SlotId slot;
  std::int64_t bytes;
  std::size_t first, last;  // statements of the outermost block
};

std::vector<Life> lives(const kernel::Function& function) {
  std::vector<Life> found(function.slots.size());
  for (std::size_t at = 0; at < function.body.size(); ++at)
    visit_slots(function.body[at], [&](kernel::SlotId slot, bool) {
      Life& life = found[slot];
      if (life.bytes == 0) life.first = at;
      life.last = at;
      life.slot = slot;
      // One line between neighbours: what runs over the end of one in whole registers stays out of the other's line.
      life.bytes = kernel::Slot::line;
      if (const auto known = function.slots[slot].bytes_in_lines().try_value()) life.bytes += *known;
    });
  std::erase_if(found, [&](const Life& life) {
    return life.bytes == 0 || function.slots[life.slot].place != kernel::Slot::Place::arena;
  });
  return found;
}

// The largest first, each at the lowest place that is free while it lives. Memory is within a few percent of the most
// that lives at once; time grows with the square of their number.
void place_largest_first(kernel::Function& function, std::vector<Life> open) {
  std::vector<Life> placed;
  std::ranges::stable_sort(open, std::ranges::greater(), &Life::bytes);
  for (const Life& life : open) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // by those that live at the same time
    for (const Life& other : placed)
      if (other.first <= life.last && life.first <= other.last) {
        const std::int64_t begin = function.slots[other.slot].arena_offset.value();
        taken.emplace_back(begin, begin + other.bytes);
      }
    std::ranges::sort(taken);
    std::int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + life.bytes <= begin) break;
      offset = std::max(offset, end);
    }
    function.slots[life.slot].arena_offset = offset;
    function.arena_bytes = max(function.arena_bytes, offset + life.bytes);
    placed.push_back(life);
  }
}

// Free memory below the end of what was ever taken: pieces that do not touch, by offset and by size.
class FreeMemory {
 public:
  // The smallest piece that is large enough, or what lies at the end.
  std::int64_t take(std::int64_t bytes) {
    std::int64_t at = end_;
    if (const auto found = by_size_.lower_bound({bytes, 0}); found != by_size_.end()) {
      const auto [size, offset] = *found;
      remove(offset, size);
      if (size > bytes) add(offset + bytes, size - bytes);
      return offset;
    }
    if (!by_offset_.empty()) {
      const auto [offset, size] = *by_offset_.rbegin();
      if (offset + size == end_) remove(at = offset, size);
    }
    end_ = at + bytes;
    return at;
  }
  void give_back(std::int64_t offset, std::int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        remove(before, size);
        offset = before, bytes += size;
      }
    }
    add(offset, bytes);
  }
  std::int64_t end() const { return end_; }

 private:
  void add(std::int64_t offset, std::int64_t size) { by_offset_.emplace(offset, size), by_size_.emplace(size, offset); }
  void remove(std::int64_t offset, std::int64_t size) { by_offset_.erase(offset), by_size_.erase({size, offset}); }

  std::map<std::int64_t, std::int64_t> by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0;
};

// In the order of statements, as an allocator would: n log n.
void place_in_order(kernel::Function& function, std::vector<Life> open) {
  std::ranges::stable_sort(
      open, [](const Life& x, const Life& y) { return std::pair(x.first, -x.bytes) < std::pair(y.first, -y.bytes); });
  std::set<std::pair<std::size_t, std::size_t>> living;  // by their last statement
  FreeMemory memory;
  for (std::size_t i = 0; i < open.size(); ++i) {
    while (!living.empty() && living.begin()->first < open[i].first) {
      const Life& over = open[living.begin()->second];
      memory.give_back(function.slots[over.slot].arena_offset.value(), over.bytes);
      living.erase(living.begin());
    }
    function.slots[open[i].slot].arena_offset = memory.take(open[i].bytes);
    living.emplace(open[i].last, i);
  }
  function.arena_bytes = memory.end();
}

// Those whose size is known only when the code runs, behind the others: in the memory of one of the same size that
// lives no more, or in more of it.
void place_sized(kernel::Function& function, std::vector<Life> open) {
  std::ranges::stable_sort(open, {}, &Life::first);
  struct Room {
    Dim bytes, offset;
    std::size_t last;
  };
  std::vector<Room> rooms;
  for (const Life& life : open) {
    kernel::Slot& slot = function.slots[life.slot];
    const Dim bytes = slot.bytes_in_lines() + kernel::Slot::line;
    const auto room =
        std::ranges::find_if(rooms, [&](const Room& r) { return r.last < life.first && r.bytes == bytes; });
    if (room != rooms.end()) {
      room->last = life.last;
      slot.arena_offset = room->offset;
      continue;
    }
    slot.arena_offset = function.arena_bytes;
    rooms.push_back({bytes, slot.arena_offset, life.last});
    function.arena_bytes = function.arena_bytes + bytes;
  }
}

// A frame is as large as all local slots together, of which only loops need to be fast: of many, others go to the
// arena, and so do those of loops once there are too many for a stack.
void bound_locals(kernel::Function& function) {
  constexpr std::int64_t few = 64 << 10, most = 512 << 10;  // bytes
  struct Use {
    int statements = 0;
    bool in_loop = false;
  };
  std::map<kernel::SlotId, Use> uses;
  const std::set<kernel::SlotId> own = own_slots(function.body);
  for (const kernel::Statement& s : function.body) {
    const bool loops = std::holds_alternative<kernel::For>(s.held()) || std::holds_alternative<kernel::While>(s.held());
    std::set<kernel::SlotId> touched;
    visit_slots(s, [&](kernel::SlotId slot, bool) {
      if (function.slots[slot].place == kernel::Slot::Place::local) touched.insert(slot);
    });
    for (const kernel::SlotId slot : touched) ++uses[slot].statements, uses[slot].in_loop |= loops;
  }
  const auto bytes = [&](kernel::SlotId slot) { return function.slots[slot].bytes_in_lines().value(); };
  std::int64_t all = 0, in_loops = 0;
  for (const auto& [slot, use] : uses) all += bytes(slot);
  if (all <= few) return;
  for (const auto& [slot, use] : uses) {
    if (own.contains(slot)) continue;
    if (use.in_loop) in_loops += bytes(slot);
    if (use.in_loop ? in_loops > most : use.statements > 1) function.slots[slot].place = kernel::Slot::Place::arena;
  }
}

}  // namespace

void lay_out_arena(kernel::Function& function) {
  bound_locals(function);
  constexpr std::size_t many = 512;
  function.arena_bytes = 0;
  std::vector<Life> open = lives(function), sized;
  std::erase_if(open, [&](const Life& life) {
    const bool known = function.slots[life.slot].elements.known();
    if (!known) sized.push_back(life);
    return !known;
  });
  if (open.size() > many)
    place_in_order(function, open);
  else
    place_largest_first(function, open);
  place_sized(function, std::move(sized));
}

}  // namespace tenon
