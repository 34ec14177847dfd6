#include "tenon/base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

#include "tenon/base/fork.h"
#include "tenon/base/settings.h"

namespace tenon {
namespace {

constexpr std::array<std::string_view, 4> names{"trace", "compile", "cache", "rewrite"};

unsigned enabled_topics() {
  std::string_view rest = setting("TENON_LOG").value_or("");
  unsigned mask = 0;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto word = rest.substr(0, comma);
    unsigned meant = 0;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (word == names[i] || word == "all") meant |= 1u << i;
    if (meant == 0 && !word.empty())
      warn_of_setting("TENON_LOG",
                      fmt::format("there is no topic {}; there are {} and all.", word, fmt::join(names, ", ")));
    mask |= meant;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return mask;
}

const auto start = std::chrono::steady_clock::now();

}  // namespace

bool log_enabled(LogTopic topic) {
  static constinit Lasting<const unsigned> mask;
  return (mask.get(enabled_topics) >> static_cast<unsigned>(topic)) & 1u;
}

void log_line(LogTopic topic, std::string_view text) {
  if (!log_enabled(topic)) return;
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const std::string line = fmt::format("tenon {:9.2f} ms {:8} {}\n", ms, names[static_cast<std::size_t>(topic)], text);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace tenon
