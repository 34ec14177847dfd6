#include "tenon/runtime/available_memory.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "tenon/runtime/cgroups.h"

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
  std::mutex mutex;
  std::chrono::steady_clock::time_point read_at{};
  std::size_t left = 0;
};
Account& account() {
  static auto* made = new Account;  // outlives static destructors, as blocks do
  return *made;
}

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
  Account& a = account();
  const std::lock_guard lock(a.mutex);
  if (const auto now = std::chrono::steady_clock::now(); now - a.read_at > keep) {
    a.left = available_memory();
    a.read_at = now;
  }
  if (bytes > a.left) return std::max<std::size_t>(a.left, 1);
  a.left -= bytes;
  return 0;
}

void return_memory(std::size_t bytes) noexcept {
  Account& a = account();
  const std::lock_guard lock(a.mutex);
  a.left = a.left > std::numeric_limits<std::size_t>::max() - bytes ? a.left : a.left + bytes;
}

}  // namespace tenon
