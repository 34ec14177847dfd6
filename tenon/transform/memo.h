// What is kept of transformations: results by (Program hash, transformation, arguments).
#pragma once

#include <vector>

#include "tenon/base/memo.h"
#include "tenon/ir/program.h"
#include "tenon/ir/recurse.h"

namespace tenon {

// About how many bytes a result holds, Programs inside of Programs left out: they have been results by themselves.
std::size_t held_bytes(const ProgramRef& program);
std::size_t held_bytes(const Partitioned& parts);

inline void hash_mask(Hasher& h, const std::vector<bool>& mask) {
  h(mask.size());
  for (bool bit : mask) h(bit);
}

}  // namespace tenon
