#include "tenon/runtime/memory/available_memory.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "tenon/base/fork.h"
#include "tenon/runtime/memory/cgroups.h"

namespace tenon {
namespace {

constexpr auto keep = std::chrono::milliseconds(50);

std::optional<std::size_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::size_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // missing, or "max"
}

// The number beside a name in a file of "name number" lines.
std::size_t read_field(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with(name) && line.size() > name.size() && (line[name.size()] == ' ' || line[name.size()] == ':'))
      return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
  return 0;
}

struct Account {
  ForkMutex mutex;
  std::chrono::steady_clock::time_point read_at{};
  std::size_t left = 0;
};
constinit Account account;

}  // namespace

std::size_t available_memory() {
  std::size_t available = std::numeric_limits<std::size_t>::max();
  if (const std::size_t kib = read_field("/proc/meminfo", "MemAvailable")) available = kib * 1024;
  each_cgroup("memory", [&](const std::string& folder) {
    const auto consider = [&](const char* limit_name, const char* usage_name, const char* dropped) {
      const auto limit = read_number(folder + limit_name), usage = read_number(folder + usage_name);
      if (!limit || !usage) return;
      const std::size_t used = *usage - std::min(*usage, read_field(folder + "/memory.stat", dropped));
      available = std::min(available, *limit > used ? *limit - used : 0);
    };
    consider("/memory.max", "/memory.current", "inactive_file");
    consider("/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file");
  });
  return available;
}

std::size_t promise_memory(std::size_t bytes) {
  const std::lock_guard lock(account.mutex);
  if (const auto now = std::chrono::steady_clock::now(); now - account.read_at > keep) {
    account.left = available_memory();
    account.read_at = now;
  }
  if (bytes > account.left) return std::max<std::size_t>(account.left, 1);
  account.left -= bytes;
  return 0;
}

void return_memory(std::size_t bytes) noexcept {
  const std::lock_guard lock(account.mutex);
  account.left = account.left > std::numeric_limits<std::size_t>::max() - bytes ? account.left : account.left + bytes;
}

}  // namespace tenon
