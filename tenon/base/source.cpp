#include "tenon/base/source.h"

#include <fmt/format.h>

#include <utility>

namespace tenon {
namespace {
thread_local Source in_force;
thread_local std::string_view function_in_force;
thread_local bool gives_way = false;
}  // namespace

std::string Source::text() const { return known() ? fmt::format("{}:{}", file, line) : std::string(); }
std::string Source::at_text() const { return known() ? " at " + text() : std::string(); }

SourceScope::SourceScope(const Source& where, std::string_view function)
    : outermost_((!in_force.known() || gives_way) && where.known()) {
  if (!outermost_) return;
  above_user_code_ = std::exchange(gives_way, false);
  previous_ = std::exchange(in_force, where);
  previous_function_ = std::exchange(function_in_force, function);
}
SourceScope::~SourceScope() {
  if (!outermost_) return;
  in_force = previous_;
  function_in_force = previous_function_;
  gives_way = above_user_code_;
}
const Source& SourceScope::current() { return in_force; }
std::string_view SourceScope::function() { return gives_way ? std::string_view() : function_in_force; }

UserCode::UserCode() : before_(std::exchange(gives_way, true)) {}
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
