#include "tenon/compile/donate.h"

#include "tenon/compile/copies.h"
#include "tenon/kernel/rows.h"

namespace tenon {
namespace {

using kernel::Block;
using kernel::SlotId;
using kernel::Statement;

// Whether a statement that reads `from` and writes `to` does the same where both are one memory.
bool works_in_place(const Statement& s, SlotId from, SlotId to) {
  if (const auto* n = std::get_if<kernel::Nest>(&s.held()))
    return n->independent && reads_where_it_writes(*n, from, to, {});
  if (const auto* c = std::get_if<kernel::Copy>(&s.held())) {
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

std::vector<std::optional<std::size_t>> share_donated(kernel::Function& function, const Program& program,
                                                      const std::vector<bool>& donated) {
  std::vector<std::optional<std::size_t>> shared;
  if (donated.empty()) return shared;
  const std::size_t inputs = program.inputs().size(), outputs = program.outputs().size();
  shared.resize(outputs);
  std::vector<SlotId> slot_of(inputs + outputs);
  for (SlotId s = 0; s < function.slots.size(); ++s)
    if (function.slots[s].place == kernel::Slot::Place::argument) slot_of[function.slots[s].argument] = s;
  std::vector<bool> taken(inputs, false);
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t i = 0; i < inputs && !shared[o]; ++i) {
      if (!donated[i] || taken[i] || !program.type(program.inputs()[i]).is_array() ||
          program.type(program.inputs()[i]) != program.type(program.outputs()[o]))
        continue;
      const SlotId from = slot_of[i], to = slot_of[inputs + o];
      if (!may_share(function.body, from, to)) continue;
      replace_slot(function, to, from);
      shared[o] = i;
      taken[i] = true;
    }
  return shared;
}

}  // namespace tenon
