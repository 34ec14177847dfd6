#include "tenon/kernel/passes/share_donated.h"

#include "tenon/kernel/analysis/rows.h"
#include "tenon/kernel/passes/forward_copies.h"

namespace tenon::kernel {
namespace {

// Whether a statement that reads `from` and writes `to` does the same where both are one memory.
bool works_in_place(const Statement& s, SlotId from, SlotId to) {
  if (const auto* n = std::get_if<Nest>(&s.held())) return n->independent && reads_where_it_writes(*n, from, to, {});
  if (const auto* c = std::get_if<Copy>(&s.held())) {
    const auto read = affine(c->from_offset), written = affine(c->to_offset);
    return c->from == from && c->to == to && read && read == written;
  }
  return false;
}

bool may_share(const Block& body, SlotId from, SlotId to) {
  std::size_t first = body.size();
  for (std::size_t k = 0; k < body.size() && first == body.size(); ++k)
    if (touches(body[k], to)) first = k;
  for (std::size_t k = first + 1; k < body.size(); ++k)
    if (touches(body[k], from)) return false;
  return first == body.size() || !touches(body[first], from) || works_in_place(body[first], from, to);
}

}  // namespace

std::vector<std::optional<std::uint32_t>> share_donated(Function& function, const Donated& donated) {
  std::vector<SlotId> slot_of(function.arguments);
  for (SlotId s = 0; s < function.slots.size(); ++s)
    if (function.slots[s].place == Slot::Place::argument) slot_of[function.slots[s].argument] = s;
  std::vector<std::optional<std::uint32_t>> shared(donated.size());
  std::vector<bool> taken(function.arguments, false);
  for (std::size_t argument = 0; argument < donated.size(); ++argument)
    for (const std::uint32_t of : donated[argument]) {
      if (taken[of] || !may_share(function.body, slot_of[of], slot_of[argument])) continue;
      replace_slot(function, slot_of[argument], slot_of[of]);
      shared[argument] = of;
      taken[of] = true;
      break;
    }
  return shared;
}

}  // namespace tenon::kernel
