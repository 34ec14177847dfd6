#include "tenon/runtime/memory/cgroups.h"

#include <fstream>

namespace tenon {

void each_cgroup(std::string_view controller, FunctionRef<void(const std::string& folder)> visit) {
  const std::string version1 = "/sys/fs/cgroup/" + std::string(controller);
  visit("/sys/fs/cgroup");
  visit(version1);
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() &&
        ("," + controllers + ",").find("," + std::string(controller) + ",") == std::string::npos)
      continue;
    const std::string root = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
    for (std::string path = line.substr(second + 1); path.size() > 1; path.resize(path.rfind('/'))) {
      visit(root + path);
      if (path.rfind('/') == std::string::npos) break;
    }
  }
}

}  // namespace tenon
