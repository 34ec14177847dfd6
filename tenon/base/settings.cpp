#include "tenon/base/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

#include "tenon/base/fork.h"

namespace tenon {

std::optional<std::string_view> setting(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

bool units_are_small() {
  static constinit Lasting<const bool> small;
  return small.get([] { return setting("TENON_UNITS") == "small"; });
}

bool blocks_are_small() {
  static constinit Lasting<const bool> small;
  return small.get([] { return setting("TENON_BLOCKS") == "small"; });
}

void warn_of_setting(const char* name, std::string_view what) {
  {
    static constinit ForkMutex mutex;
    static constinit Lasting<std::set<std::string>> warned;
    const std::lock_guard lock(mutex);
    if (!warned.get().insert(name).second) return;
  }
  const std::string line = fmt::format("tenon: {}: {}\n", name, what);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace tenon
