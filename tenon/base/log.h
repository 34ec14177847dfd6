// TENON_LOG=trace,compile,cache,rewrite: one line an event on stderr, each written at once, with the time since start.
#pragma once

#include <string_view>

namespace tenon {

enum class LogTopic { trace, compile, cache, rewrite };

bool log_enabled(LogTopic topic);
void log_line(LogTopic topic, std::string_view text);

}  // namespace tenon
