// The machine that compiled code is for. Another target than this process's processors fills it otherwise.
#pragma once

#include "tenon/kernel/target.h"

namespace tenon {

// As the planner, the kernel passes and the code generator have to agree on it. With TENON_BLOCKS=small its limits for
// blocks of rows are the smallest, so that small arrays test everything.
kernel::Target target();

}  // namespace tenon
