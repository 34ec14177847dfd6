#include "tenon/base/source.h"

#include <fmt/format.h>

namespace tenon {
namespace {
thread_local Source in_force;
}

std::string Source::text() const { return known() ? fmt::format("{}:{}", file, line) : std::string(); }

SourceScope::SourceScope(const Source& where) : outermost_(!in_force.known() && where.known()) {
  if (outermost_) in_force = where;
}
SourceScope::~SourceScope() {
  if (outermost_) in_force = Source();
}
const Source& SourceScope::current() { return in_force; }

SourceOverride::SourceOverride(const Source& where) : previous_(in_force) {
  if (where.known()) in_force = where;
}
SourceOverride::~SourceOverride() { in_force = previous_; }

}  // namespace tenon
