#include "tenon/base/source.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "tenon/base/library_call.h"

// Where this library begins and ends in memory, by the linker.
extern "C" {
[[gnu::visibility("hidden")]] extern const char __ehdr_start[];  // NOLINT(bugprone-reserved-identifier)
[[gnu::visibility("hidden")]] extern const char _end[];          // NOLINT(bugprone-reserved-identifier)
}

namespace tenon {
namespace {
thread_local Source in_force;
thread_local std::string_view function_in_force;
thread_local bool gives_way = false;
thread_local bool calls_no_user = false;  // of the call in force

// In force where the place of a call is not known: a file without a name.
constexpr char no_file[] = "";
Source unknown_place() {
  Source place;
  place.file = no_file;
  return place;
}

// Of the first place, or of one that user's code asked for; else nothing changes.
bool comes_first() { return !in_force.known() || gives_way; }

// The names of the library's own files are part of it. (Integers, as unrelated pointers have no order.)
bool is_of_library(const Source& where) {
  const auto at = [](const char* p) { return reinterpret_cast<std::uintptr_t>(p); };
  return at(where.file) - at(__ehdr_start) < at(_end) - at(__ehdr_start);
}
}  // namespace

std::string Source::text() const { return known() ? fmt::format("{}:{}", file, line) : std::string(); }
std::string Source::at_text() const { return known() ? " at " + text() : std::string(); }

SourceScope::SourceScope(const Source& where, std::string_view function) : outermost_(comes_first() && where.known()) {
  if (!outermost_) return;
  previous_ = in_force;
  previous_function_ = function_in_force;
  above_user_code_ = std::exchange(gives_way, false);
  if (above_user_code_ && is_of_library(where)) return;  // what was called before is so still
  in_force = where;
  function_in_force = function;
}
SourceScope::~SourceScope() {
  if (!outermost_) return;
  in_force = previous_;
  function_in_force = previous_function_;
  gives_way = above_user_code_;
}
const Source& SourceScope::current() {
  static const Source unknown;
  return in_force.file == no_file ? unknown : in_force;
}
std::string_view SourceScope::function() { return gives_way ? std::string_view() : function_in_force; }

LibraryCall::LibraryCall(const Source& where, std::string_view function) : outermost_(comes_first()) {
  if (!outermost_) return;
  above_user_code_ = std::exchange(gives_way, false);
  previous_ = std::exchange(in_force, where.known() ? where : unknown_place());
  previous_function_ = std::exchange(function_in_force, function);
  calls_no_user = true;
}
LibraryCall::~LibraryCall() {
  if (!outermost_) return;
  in_force = previous_;
  function_in_force = previous_function_;
  gives_way = above_user_code_;
  calls_no_user = false;
}

UserCode::UserCode() : before_(gives_way) { gives_way = gives_way || !calls_no_user; }
UserCode::~UserCode() { gives_way = before_; }

SourceOverride::SourceOverride(const Source& where) : previous_(in_force), above_user_code_(gives_way) {
  if (!where.known()) return;
  in_force = where;
  gives_way = false;
}
SourceOverride::~SourceOverride() {
  in_force = previous_;
  gives_way = above_user_code_;
}

}  // namespace tenon
