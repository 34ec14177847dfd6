// Which control groups this process is in.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tenon {

// Calls `visit` with the folder of each group whose `controller` ("cpu", "memory") may bound this process: its own and
// those around it, in versions 1 and 2. Folders may be missing, as inside a container.
void each_cgroup(std::string_view controller, const std::function<void(const std::string& folder)>& visit);

}  // namespace tenon
