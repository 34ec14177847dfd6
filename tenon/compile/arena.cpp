#include "tenon/compile/arena.h"

#include <algorithm>

#include "tenon/kernel/rows.h"

namespace tenon {
namespace {

constexpr std::int64_t line = 64;  // of a cache: slots begin on one

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
      const kernel::Slot& s = function.slots[slot];
      life.slot = slot;
      // One line between neighbours: what runs over the end of one in whole registers stays out of the other's line.
      life.bytes = (s.elements * static_cast<std::int64_t>(size_of(s.dtype)) + 2 * line - 1) / line * line;
    });
  std::erase_if(found, [&](const Life& life) {
    return life.bytes == 0 || function.slots[life.slot].place != kernel::Slot::Place::arena;
  });
  return found;
}

}  // namespace

void lay_out_arena(kernel::Function& function) {
  std::vector<Life> open = lives(function), placed;
  std::ranges::stable_sort(open, std::ranges::greater(), &Life::bytes);
  function.arena_bytes = 0;
  for (const Life& life : open) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // by those that live at the same time
    for (const Life& other : placed)
      if (other.first <= life.last && life.first <= other.last) {
        const std::int64_t begin = function.slots[other.slot].arena_offset;
        taken.emplace_back(begin, begin + other.bytes);
      }
    std::ranges::sort(taken);
    std::int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + life.bytes <= begin) break;
      offset = std::max(offset, end);
    }
    function.slots[life.slot].arena_offset = offset;
    function.arena_bytes = std::max(function.arena_bytes, offset + life.bytes);
    placed.push_back(life);
  }
}

}  // namespace tenon
