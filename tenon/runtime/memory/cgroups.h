// Which control groups this process is in.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/function_ref.h"

namespace tenon {

// Calls `visit` with the folder of each group whose `controller` ("cpu", "memory") may bound this process: its own and
// those around it, in versions 1 and 2. Folders may be missing, as inside a container.
void each_cgroup(std::string_view controller, FunctionRef<void(const std::string& folder)> visit);

}  // namespace tenon
