#include "tenon/base/source.h"

#include <fmt/format.h>

#include <utility>

namespace tenon {
namespace {
thread_local Source in_force;
thread_local bool gives_way = false;
}  // namespace

std::string Source::text() const { return known() ? fmt::format("{}:{}", file, line) : std::string(); }

SourceScope::SourceScope(const Source& where) : outermost_((!in_force.known() || gives_way) && where.known()) {
  if (!outermost_) return;
  above_user_code_ = std::exchange(gives_way, false);
  previous_ = std::exchange(in_force, where);
}
SourceScope::~SourceScope() {
  if (!outermost_) return;
  in_force = previous_;
  gives_way = above_user_code_;
}
const Source& SourceScope::current() { return in_force; }

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
