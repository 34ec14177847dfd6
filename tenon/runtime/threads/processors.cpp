#include "tenon/runtime/threads/processors.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "tenon/base/settings.h"
#include "tenon/runtime/memory/cgroups.h"

namespace tenon {
namespace {

int processors_in_mask() {
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(capacity), [](cpu_set_t* s) { CPU_FREE(s); });
    if (!set) break;
    const std::size_t size = CPU_ALLOC_SIZE(capacity);
    if (::sched_getaffinity(0, size, set.get()) == 0) return std::max(1, CPU_COUNT_S(size, set.get()));
    if (errno != EINVAL) break;  // EINVAL: the kernel's mask is longer
  }
  return 1;
}

std::optional<double> read_number(const std::string& path) {
  std::ifstream file(path);
  double value;
  if (file >> value) return value;
  return std::nullopt;
}

// The quota of one group, in processors: version 2 writes "quota period" or "max period", version 1 two files.
std::optional<double> quota_of(const std::string& folder) {
  if (std::ifstream file(folder + "/cpu.max"); file) {
    double quota, period;
    if (file >> quota >> period && quota > 0 && period > 0) return quota / period;
    return std::nullopt;
  }
  const auto quota = read_number(folder + "/cpu.cfs_quota_us"), period = read_number(folder + "/cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0) return *quota / *period;
  return std::nullopt;
}

// The least quota of this process's group and those around it.
std::optional<double> cgroup_quota() {
  std::optional<double> least;
  each_cgroup("cpu", [&](const std::string& folder) {
    if (const auto quota = quota_of(folder)) least = std::min(least.value_or(*quota), *quota);
  });
  return least;
}

// Of the first processor's cache with this number.
std::int64_t cache_bytes(int number, std::int64_t otherwise) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", number));
  std::int64_t kilobytes = 0;
  char unit = 0;
  return file >> kilobytes >> unit && unit == 'K' && kilobytes > 0 ? kilobytes << 10 : otherwise;
}

}  // namespace

std::int64_t first_cache_bytes() { return cache_bytes(0, 48 << 10); }
std::int64_t last_cache_bytes() { return cache_bytes(3, 32 << 20); }

int available_processors() {
  int count = processors_in_mask();
  if (const auto quota = cgroup_quota()) count = std::min(count, static_cast<int>(std::min(1e6, std::ceil(*quota))));
  return std::max(1, count);
}

int initial_threads(int processors) {
  if (const auto wanted = setting("TENON_NUM_THREADS")) {
    int count = 0;
    const char *begin = std::to_address(wanted->begin()), *end = std::to_address(wanted->end());
    const auto [at, error] = std::from_chars(begin, end, count);
    if (error == std::errc() && at == end && count > 0) return std::min(count, 4096);
    warn_of_setting("TENON_NUM_THREADS", fmt::format("{} is no number of threads; {} are used.", *wanted, processors));
  }
  return processors;
}

}  // namespace tenon
