#include "tenon/base/pass.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>

#include "tenon/base/dump.h"
#include "tenon/base/fork.h"
#include "tenon/base/log.h"
#include "tenon/base/settings.h"

namespace tenon {
namespace {

constexpr const char* variable = "TENON_PASSES";
using Names = std::set<std::string, std::less<>>;

// What TENON_PASSES leaves out: names, each behind a minus, with commas between; a name may have commas itself. Words
// that do not begin with a minus are told.
const Names& left_out() {
  static constinit Lasting<const Names> names;
  return names.get([] {
    Names found;
    std::string_view rest = setting(variable).value_or("");
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(",-"));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (word.size() > 1 && word.front() == '-')
        found.emplace(word.substr(1));
      else
        warn_of_setting(variable, fmt::format("'{}' is not understood; write -name for each pass to leave out.", word));
    }
    return found;
  });
}

constinit std::atomic<WithoutPasses*> innermost{nullptr};  // units compile on other threads, too

}  // namespace

WithoutPasses::WithoutPasses(Names names) : names_(std::move(names)), outer_(innermost.load()) { innermost = this; }
WithoutPasses::~WithoutPasses() { innermost = outer_; }

bool is_left_out(std::string_view pass) {
  for (const WithoutPasses* scope = innermost.load(); scope != nullptr; scope = scope->outer_)
    if (scope->names_.contains(pass)) return true;
  return left_out().contains(pass);
}

void check_left_out(const std::vector<std::string>& known, std::function<const std::string*(const std::string&)> why) {
  for (const std::string& name : left_out()) {
    const std::string* needed = why(name);
    if (needed == nullptr)
      warn_of_setting(variable,
                      fmt::format("there is no pass {}; there are {}. Rules of your own are left out by their names.",
                                  name, fmt::join(known, ", ")));
    else if (!needed->empty())
      warn_of_setting(variable, fmt::format("{} cannot be left out: {}.", name, *needed));
  }
}

bool passes_are_watched() { return log_enabled(LogTopic::rewrite) || dumping(); }

void tell_of_pass(const PassReport& r, std::function<std::string()> text) {
  if (log_enabled(LogTopic::rewrite))
    log_line(LogTopic::rewrite,
             fmt::format("{}: {} {} became {} in {:.3f} ms", r.pass, r.before, r.unit, r.after, r.milliseconds));
  if (dumping()) dump(fmt::format("{}{}", r.pass, r.ending), text());
}

}  // namespace tenon
