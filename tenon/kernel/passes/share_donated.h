// Donated memory: a result is computed in the memory of an argument that the caller gives away.
#pragma once

#include <optional>
#include <vector>

#include "tenon/kernel/function.h"

namespace tenon::kernel {

// For each argument, which one may have its memory, the first of them that does it well; arguments are named by their
// numbers.
using Donated = std::vector<std::vector<std::uint32_t>>;

// Rewrites the Function. An argument takes the memory of one of those it may have, where nothing reads that one once
// this is being written, or only element by element as it is written. Returns for each argument the one whose memory it
// shares, which nothing else does; the two must have the same address then. Run before statements are divided into
// blocks of rows. Cost: a walk over the statements for each pair.
std::vector<std::optional<std::uint32_t>> share_donated(Function& function, const Donated& donated);

}  // namespace tenon::kernel
