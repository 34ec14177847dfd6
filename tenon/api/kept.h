// Where derivatives tell explain() what they keep.
#pragma once

#include "tenon/ir/recurse.h"

namespace tenon::api_detail {

// What the first part of a function with that many outputs stores for the second; noted where explain() asks for it on
// this thread.
void note_kept(const Partitioned& parts, std::size_t outputs);

}  // namespace tenon::api_detail
